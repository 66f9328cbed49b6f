"""Derives the edges that are never decided. Not here: the rules (`edges.associations`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation import enrichments
from memory_pipeline.consolidation.context import EDGES, Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    enrichment: Frame[schemas.Enrichment]
    neighbours: Frame[schemas.Neighbours]
    accesses: Frame[schemas.Accesses]
    decided_edges: Frame[schemas.DecidedEdges]


class Outputs(NamedTuple):
    derived_edges: Frame[schemas.DerivedEdges]


@stage(serves=EDGES)
def derive_edges(inputs: Inputs, context: Context) -> Outputs:
    """Derive the edges that follow from the memories and from how they are used: never decided, always recomputed."""
    enabled = enrichments.enabled(inputs.enrichment, context.policy)
    edges = associations.derive(
        memories=inputs.memories,
        enrichment=enabled,
        neighbours=inputs.neighbours,
        accesses=inputs.accesses,
        decided=inputs.decided_edges,
        policy=context.policy,
        as_of=context.as_of,
    )
    return Outputs(conform(schemas.DerivedEdges, edges))
