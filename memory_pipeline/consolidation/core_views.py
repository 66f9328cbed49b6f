"""Shows core memory to one user, for a project, at an instant or in a time zone: compiled blocks without some facts.

Not here: which facts blocks hold (`core_memory`).
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import core_profile, whereabouts
from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.consolidation.currency import holds
from memory_pipeline.text.score import sections

_EVERY: Final = pl.lit(value=True)


def for_user(blocks: pl.DataFrame, memories: pl.DataFrame, user_id: str) -> pl.DataFrame:
    """Return blocks of a shared profile for one of its users: without what others want, do and are, but their health.

    Facts of nobody in particular stay. `blocks` is table `core_memory_blocks`; `memories` has profile_id, memory_id and
    user_id of their members.
    """
    others = memories.filter(pl.col("user_id") != user_id)
    return _without(blocks, others, pl.col("block") != sections.HEALTH)


def for_project(blocks: pl.DataFrame, memories: pl.DataFrame, project: str) -> pl.DataFrame:
    """Return blocks for work in a project: without the standing instructions of other projects.

    Instructions that belong to none stay. `memories` has profile_id, memory_id, metadata and members of all memories of
    these profiles.
    """
    others = whereabouts.inherited(memories).filter(~whereabouts.of_project(project))
    return _without(blocks, others, pl.col("block") == sections.INSTRUCTION)


def holding(blocks: pl.DataFrame, memories: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return blocks without the facts that do not hold at an instant.

    `memories` has profile_id, memory_id, valid_from and valid_until of their members.
    """
    return _without(blocks, memories.filter(~holds(now)), _EVERY)


def in_zone(blocks: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Return blocks with the days of their facts in a time zone instead of in UTC.

    Blocks that bear no marks, and blocks that a model worded, stay.
    """
    if zone == "UTC":
        return blocks
    numbered = _numbered(blocks, pl.col("marks").is_not_null())
    mark = pl.col("marks")
    local = pl.col("fact").str.strip_suffix(core_profile.shown(mark)) + core_profile.shown(mark, zone)
    facts = _singled(numbered).with_columns(fact=pl.coalesce(local, "fact"))
    return _rewritten(numbered, facts).select(blocks.columns)


def _without(blocks: pl.DataFrame, memories: pl.DataFrame, concerned: pl.Expr) -> pl.DataFrame:
    """Return blocks without the facts of some memories; blocks that a model worded, or not `concerned`, stay."""
    others = memories.select("profile_id", members="memory_id", other=True)
    numbered = _numbered(blocks, concerned)
    kept = (
        _singled(numbered)
        .join(others, on=["profile_id", "members"], how="left", maintain_order="left")
        .filter(pl.col("other").is_null())
    )
    return _rewritten(numbered, kept).select(blocks.columns)


def _numbered(blocks: pl.DataFrame, concerned: pl.Expr = _EVERY) -> pl.DataFrame:
    """Return blocks with their `row`, and each `fact` of those that are `concerned` and no model worded; else null."""
    facts = pl.col("content").str.split(SEPARATOR)
    as_facts = (facts.list.len() == pl.col("members").list.len()) & concerned
    return blocks.with_row_index("row").with_columns(fact=pl.when(as_facts).then(facts))


def _singled(numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the facts of blocks, a row each, in order: row, profile_id, members and marks (one each), and fact."""
    unmarked = pl.lit(None).repeat_by(pl.col("members").list.len())
    facts = numbered.drop_nulls("fact").with_columns(pl.coalesce("marks", unmarked))
    return facts.select("row", "profile_id", "members", "marks", "fact").explode("members", "marks", "fact")


def _rewritten(numbered: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return blocks that hold these facts instead of their own; without those that have none left."""
    own = facts.group_by("row", maintain_order=True).agg("members", "marks", content=pl.col("fact").str.join(SEPARATOR))
    changed = numbered.join(own, on="row", how="left", suffix="_own", maintain_order="left")
    as_facts = pl.col("fact").is_not_null()
    cut = changed.with_columns(
        pl.when(as_facts).then(f"{name}_own").otherwise(name).alias(name) for name in ("members", "marks", "content")
    )
    return cut.drop_nulls("content")
