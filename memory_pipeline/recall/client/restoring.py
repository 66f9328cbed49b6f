"""Restores one memory by undoing the decisions that took it out of the live set or trimmed it."""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import dependants
from memory_pipeline.consolidation.state.lifecycle import MOVES
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.models import Memory
from memory_pipeline.runs import undo
from memory_pipeline.schemas import Action

REMOVING: Final = (*(move for move in MOVES if move != Action.SUMMARISE.value), Action.TRIM.value)
"""Actions that take a memory out of the live set or shorten it."""


class NothingToRestore(ValueError):
    """No decision in force took the memory out of the live set or trimmed it."""


def restored(own: OpenProfile, memory_id: str) -> Memory:
    """Restore a memory, publish the snapshot, and return the memory."""
    try:
        restore(own.lake, memory_id, profile_id=own.profile_id, now=own.now())
    except NothingToRestore:
        own.memory(memory_id)  # reports an unknown id first
        raise
    snapshot.publish_after(own.lake, "the memory is restored")
    return own.memory(memory_id)


def restore(lake: Lake, memory_id: str, *, profile_id: str, now: datetime) -> pl.DataFrame:
    """Undo every decision that took a memory out of the live set or trimmed it, and return them.

    A summary that replaced it stays and keeps representing its other members. The undone decisions are not proposed
    again for the same text unless a run asks for it. Raises NothingToRestore: no such decision is in force; Conflict:
    the profile was changed concurrently, and nothing was written.
    """
    heads = lake.ledger.heads([profile_id])  # read first, so that a concurrent commit makes this a conflict
    in_force = undo.in_force(lake, [profile_id])
    undone = in_force.filter(pl.col("memory_id") == memory_id, pl.col("action").is_in(REMOVING))
    if undone.is_empty():
        raise NothingToRestore(
            f"no decision in force has taken memory {memory_id!r} out of the live set or trimmed it; there is nothing "
            "to restore"
        )
    undone = pl.concat([undone, dependants.of(in_force, undone)])
    undo.mask_decisions(lake, undone, heads=heads, reason=f"restore of {memory_id}", now=now)
    return undone
