"""Bringing back one memory: the decisions that took it out of the live set, or trimmed it, no longer count.

What is not here: how decisions are taken back, and undoing a run or a merge as a whole (`lake.history`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.state.lifecycle import MOVES
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import commit
from memory_pipeline.schemas import Action

TAKING: Final = (*(move for move in MOVES if move != Action.SUMMARISE.value), Action.TRIM.value)
"""Actions after which less is recalled of a memory."""


class NothingToRestore(ValueError):
    """No decision that stands took the memory out of the live set or trimmed it."""


def restore(lake: Lake, memory_id: str, *, profile_id: str, now: datetime) -> pl.DataFrame:
    """Take back every decision that took a memory out of the live set or trimmed it, and publish the tables anew.

    A summary that stands in its place stays, and goes on standing for its other members. What is taken back is not
    proposed again for the same text, unless a run asks for it.

    Returns:
        The decisions taken back.

    Raises:
        NothingToRestore: no such decision stands.
        Conflict: somebody else changed the profile meanwhile; nothing was changed.
    """
    heads = lake.ledger.heads([profile_id])  # first, so that whoever commits meanwhile makes this a conflict
    standing = commit.in_force(lake, [profile_id])
    chosen = standing.filter(pl.col("memory_id") == memory_id, pl.col("action").is_in(TAKING))
    if chosen.is_empty():
        raise NothingToRestore(
            f"no decision that stands has taken memory {memory_id!r} out of the live set or trimmed it; there is "
            "nothing to restore"
        )
    chosen = pl.concat([chosen, planning.dependants(standing, chosen)])
    commit.take_back(lake, chosen, heads=heads, reason=f"restore of {memory_id}", now=now)
    return chosen
