"""Scores the live memories. Not here: the formulas (`scoring`)."""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    memory_importance: Frame[schemas.MemoryImportance]
    decided_edges: Frame[schemas.DecidedEdges]
    derived_edges: Frame[schemas.DerivedEdges]


class Outputs(NamedTuple):
    scored_memories: Frame[schemas.ScoredMemories]


@stage()
def score(inputs: Inputs, context: Context) -> Outputs:
    """Score every live memory by every design, each factor in its own column."""
    caused = pl.col("edge_type") == "CAUSED_BY"
    edges = associations.union(inputs.decided_edges.filter(caused), inputs.derived_edges.filter(caused))
    scores = scoring.score(
        memories=inputs.memories,
        importance=inputs.memory_importance,
        edges=edges,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return Outputs(conform(schemas.ScoredMemories, scores))
