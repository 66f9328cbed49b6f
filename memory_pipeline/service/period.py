"""What happened to a profile's memories since an instant: what was stored, updated, answered and decided meanwhile.

What counts is when the store learnt of it, not the day that a memory tells of: notes of years that were imported today
were stored today. Not here: how it is told (`consolidation/plans/digest`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import telling
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import profile_events
from memory_pipeline.ledger.event import micros
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.models import Memory
from memory_pipeline.runs import undo

_EVERYTHING: Final = 10**9


@dataclass(frozen=True)
class Period:
    """The time since an instant."""

    stored: list[Memory]
    """Memories stored in it, those said last first."""
    updated: list[Memory]
    """Earlier memories that were updated in it."""
    changes: pl.DataFrame
    """What answers and runs made of memories in it (`telling.TOLD`)."""


def since(lake: Lake, memory: MemoryClient, profile_id: str, start: datetime) -> Period:
    """Return what happened to a profile since an instant.

    Cost: reads all memories of the profile, and the decisions in force.
    """
    with lake.ledger.reading() as transaction:
        new = profile_events.stored_since(transaction, profile_id, micros(start))
    memories = [row for row in memory.list(None, _EVERYTHING, deep=True) if row.kind == ORIGINAL]
    committed = lake.ledger.runs([profile_id]).filter(pl.col("committed_at") >= start)
    decided = undo.in_force(lake, [profile_id]).join(committed, on=["profile_id", "plan_id"], how="semi")
    told = telling.tell(decided, lake.read("memories", profiles=[profile_id]), memory.zone)
    return Period(
        stored=[row for row in memories if row.memory_id in new],
        updated=[
            row
            for row in memories
            if row.memory_id not in new and row.updated_at is not None and row.updated_at >= start
        ],
        changes=pl.concat([memory.answered(start), told]),
    )
