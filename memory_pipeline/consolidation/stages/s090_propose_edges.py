"""Proposes new edges. Not here: the rules (`edges.associations`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation import deferral
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Action, Frame, conform, empty


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    deferred: Frame[schemas.Deferred]
    scored_memories: Frame[schemas.ScoredMemories]
    decided_edges: Frame[schemas.DecidedEdges]
    derived_edges: Frame[schemas.DerivedEdges]
    vectors: Frame[schemas.Vectors]
    neighbours: Frame[schemas.Neighbours]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    fact_changes: Frame[schemas.FactChanges]


class Outputs(NamedTuple):
    proposed_edges: Frame[schemas.ProposedEdges]


@stage()
def propose_edges(inputs: Inputs, context: Context) -> Outputs:
    """Propose new edges; none if the run may decide no links."""
    if Action.LINK not in context.actions:
        return Outputs(empty(schemas.ProposedEdges))
    edges = associations.discover(
        memories=deferral.without(inputs.memories, inputs.deferred),
        scored=inputs.scored_memories,
        edges=associations.union(inputs.decided_edges, inputs.derived_edges),
        vectors=inputs.vectors,
        neighbours=inputs.neighbours,
        accesses=inputs.accesses,
        tier_changes=inputs.tier_changes,
        fact_changes=inputs.fact_changes,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return Outputs(conform(schemas.ProposedEdges, edges))
