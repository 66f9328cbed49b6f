"""Defers what exceeds the run's row limit. Not here: the order of deferral (`deferral`)."""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import deferral
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    profiles: Frame[schemas.Profiles]
    memories: Frame[schemas.Memories]
    memory_importance: Frame[schemas.MemoryImportance]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]


class Outputs(NamedTuple):
    deferred: Frame[schemas.Deferred]


@stage()
def defer(inputs: Inputs, context: Context) -> Outputs:
    """Defer live originals beyond the run's row limit: not compared or grouped now, first in the next run."""
    in_force = projection.unmasked(inputs.decisions, inputs.reverted).filter(pl.col("as_of") < context.as_of)
    rows = deferral.deferred(
        profiles=inputs.profiles,
        memories=inputs.memories,
        measured=inputs.memory_importance,
        decisions=in_force,
        plan_id=context.plan_id,
    )
    return Outputs(conform(schemas.Deferred, rows))
