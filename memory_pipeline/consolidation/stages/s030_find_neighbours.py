"""Finds pairs of memories that say nearly the same. Not here: the comparison (`edges.neighbours`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation.context import EDGES, Context
from memory_pipeline.consolidation.edges import neighbours as near
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    vectors: Frame[schemas.Vectors]
    comparisons: Frame[schemas.Comparisons]


class Outputs(NamedTuple):
    """Pairs of memories that say nearly the same, and what was compared to find them."""

    neighbours: Frame[schemas.Neighbours]
    comparisons: Frame[schemas.Comparisons]


@stage(reuse=[schemas.Comparisons], serves=EDGES)
def find_neighbours(inputs: Inputs, context: Context) -> Outputs:
    """Find the pairs of live memories that say nearly the same: compared once, for all edges of the run.

    Profiles whose live memories have not changed since the last run are not compared again.
    """
    found = near.compare(inputs.memories, inputs.vectors, context.policy, kept=inputs.comparisons)
    return Outputs(conform(schemas.Neighbours, found.neighbours), conform(schemas.Comparisons, found.comparisons))
