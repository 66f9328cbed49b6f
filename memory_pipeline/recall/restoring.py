"""Bringing back one memory: the decisions that took it out of the live set, or trimmed it, no longer count.

What is not here: undoing a run or a merge as a whole (`lake.history`).
"""

import json
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.settling import MOVES
from memory_pipeline.lake import history
from memory_pipeline.lake.schemas import TABLES, Action
from memory_pipeline.lake.tables import Lake, Revert
from memory_pipeline.settings import Policy

TAKING: Final = (*(move for move in MOVES if move != Action.SUMMARISE.value), Action.TRIM.value)
"""Actions after which less is recalled of a memory."""


def restore(lake: Lake, memory_id: str, *, profile_id: str, now: datetime) -> pl.DataFrame:
    """Take back every decision that took a memory out of the live set or trimmed it, and publish the tables anew.

    A summary that stands in its place stays, and goes on standing for its other members. What is taken back is not
    proposed again for the same text, unless a run asks for it.

    Returns:
        The decisions taken back.

    Raises:
        ValueError: no such decision stands.
        Conflict: somebody else changed the profile meanwhile; nothing was changed.
    """
    head = lake.ledger.heads([profile_id])[profile_id]  # first, so that whoever commits meanwhile makes this a conflict
    reverted = lake.ledger.reverted()
    standing = projection.unmasked(lake.ledger.decisions(profiles=[profile_id]), reverted)
    chosen = standing.filter(pl.col("memory_id") == memory_id, pl.col("action").is_in(TAKING))
    if chosen.is_empty():
        raise ValueError(
            f"no decision that stands has taken memory {memory_id!r} out of the live set or trimmed it; there is "
            "nothing to restore"
        )
    chosen = pl.concat([chosen, planning.dependants(standing, chosen)])
    now_at = pl.lit(lake.ledger.position() + 1, pl.Int64)
    masked = pl.concat([reverted, chosen.select("profile_id", "decision_id", seq=now_at)])
    lake.republish(
        pl.DataFrame({"profile_id": [profile_id], "head": [head]}),
        _without(lake, profile_id, masked),
        revert=[
            Revert(
                profile_id=profile_id,
                decision_ids=chosen["decision_id"].to_list(),
                reason=f"restore of {memory_id}",
                occurred_at=now,
                recorded_at=now,
            )
        ],
    )
    return chosen


def _without(lake: Lake, profile_id: str, reverted: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables of a profile as its last run published them, less what is reverted."""
    runs = lake.ledger.runs([profile_id]).filter(pl.col("outcome") != "reverted").sort("commit_seq")
    if runs.is_empty():
        return {name: TABLES[name].empty() for name in history.PUBLISHED}
    until = runs.row(-1, named=True)["commit_seq"]
    profiles = lake.read("profiles", seq=until, profiles=[profile_id])
    said = json.loads(lake.ledger.read(until - 1, until=until)[0][-1])
    policy = Policy(**said["policy"])
    return history.state(lake, profiles, {policy.digest: policy}, until=until, reverted=reverted)
