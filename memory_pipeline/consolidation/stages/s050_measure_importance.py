"""Measures importance and centrality. Not here: the measures (`edges.centrality`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation import enrichments
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations, centrality
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform
from memory_pipeline.text.score import importance


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    enrichment: Frame[schemas.Enrichment]
    derived_edges: Frame[schemas.DerivedEdges]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]


class Outputs(NamedTuple):
    memory_importance: Frame[schemas.MemoryImportance]


@stage()
def measure_importance(inputs: Inputs, context: Context) -> Outputs:
    """Measure how important and how central each live memory is, over edges at their present weight."""
    edges = associations.at_present(
        [inputs.decided_edges, inputs.derived_edges], inputs.accesses, context.policy, as_of=context.as_of
    )
    given = importance.effective(inputs.memories, enrichments.enabled(inputs.enrichment, context.policy))
    measured = centrality.measure(
        memories=inputs.memories, importance=given, edges=edges, policy=context.policy, as_of=context.as_of
    )
    return Outputs(conform(schemas.MemoryImportance, measured))
