"""Finds memories that no longer speak for the present: closed, not valid now, or probably outdated by a newer one.

Summaries and core memory leave them out. Not here: what closes a memory (`change_detection`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import INSTANT, Frame, Lifecycle
from memory_pipeline.settings import Policy

MAY_UPDATE: Final = "MAY_UPDATE"
"""Type of the edge from a memory to an older one that it probably outdates."""
UPDATE: Final = "update"
"""Relation of a change that closes the older memory."""
GONE: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)


def closed(memories: Frame[schemas.Memories], fact_changes: Frame[schemas.FactChanges]) -> pl.DataFrame:
    """Return memories (KEY) that a newer one has closed, wholly or in one statement, including by changes of this run.

    Memories that a run only links count as outdated by the edge (see `outdated`).
    """
    partly = pl.col("closed_statements").list.len() > 0
    ended = memories.filter((pl.col("superseded_kind") == UPDATE) | partly).select(KEY)
    ending = fact_changes.filter(pl.col("relation") == UPDATE, "decided").select(KEY)
    return pl.concat([ended, ending]).unique(maintain_order=True)


def outdated(memories: Frame[schemas.Memories], edges: pl.DataFrame) -> pl.DataFrame:
    """Return the older memory (KEY) of each MAY_UPDATE, and of each CONTRADICTS but contrasts, if the newer exists.

    An archived memory still exists: what it outdated stays outdated. Of two memories of one instant the one with the
    smaller id counts as older.
    """
    present = memories.filter(~pl.col("lifecycle").is_in(GONE)).select(*KEY, "created_at")
    doubts = edges.filter(
        (pl.col("edge_type") == MAY_UPDATE)
        | ((pl.col("edge_type") == "CONTRADICTS") & pl.col("kind").ne_missing(pl.lit("contrast")))
    ).select("profile_id", "source", "target", "edge_type")
    for end in ("source", "target"):
        doubts = doubts.join(present.rename({"memory_id": end, "created_at": f"{end}_at"}), on=["profile_id", end])
    earlier = pl.col("target_at") < pl.col("source_at")
    smaller = (pl.col("target_at") == pl.col("source_at")) & (pl.col("target") < pl.col("source"))
    target_is_older = (pl.col("edge_type") == MAY_UPDATE) | earlier | smaller
    older = pl.when(target_is_older).then("target").otherwise("source")
    return doubts.select("profile_id", memory_id=older).unique(maintain_order=True)


def past(
    memories: Frame[schemas.Memories],
    edges: Frame[schemas.AssociationEdges],
    fact_changes: Frame[schemas.FactChanges],
    *,
    policy: Policy,
    as_of: datetime,
) -> pl.DataFrame:
    """Return memories (KEY) that no longer speak for the present, also by changes and links that this run proposes.

    The policy says whether what is not valid now is left out of summaries.
    """
    parts = [closed(memories, fact_changes), outdated(memories, edges)]
    if policy.summaries != "all":
        parts.append(memories.filter(~holds(as_of)).select(KEY))
    return pl.concat(parts).unique(maintain_order=True)


def holds(as_of: datetime) -> pl.Expr:
    """Return whether a memory is valid at an instant: valid_from <= as_of < valid_until."""
    now = pl.lit(as_of, dtype=INSTANT)
    begun = pl.col("valid_from").is_null() | (pl.col("valid_from") <= now)
    ended = pl.col("valid_until").is_not_null() & (pl.col("valid_until") <= now)
    return begun & ~ended
