"""Leaves rows out of a plan: what else goes with them, and the plan that remains.

What is left out counts as decided and undone: it is not proposed again for the same texts. Pure. Not here: how a plan's
rows are told (`telling`), and how what is left out is recorded (`ledger/commits`).
"""

from collections.abc import Collection
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import dependants, planning, telling
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.schemas import TABLES, Action

SHORTEST: Final = 6
"""Digits that name a row of a plan, unless they name several."""


def left_out(plan: pl.DataFrame, row_ids: Collection[str]) -> pl.DataFrame:
    """Return the decisions that are left out with rows of a plan: those of the rows, and all that builds on them.

    A link that only says that two memories are related stays, unless it is the row: it holds whatever else is decided.
    Each id is that of a decision, or its first digits, and leaves out the whole row that it is told in.

    Raises ValueError: an id names no row, or several.
    """
    told = telling.rows(plan)
    chosen = {_row(told, asked) for asked in row_ids}
    own = told.filter(pl.col("row_id").is_in(sorted(chosen)))
    rows = own.filter((pl.col("part") != "related") | (pl.col("group") == "related")).select(plan.columns)
    return pl.concat([rows, dependants.of(plan, rows)]).sort("profile_id", "ordinal")


def _row(told: pl.DataFrame, asked: str) -> str:
    """Return the id of the row that an id, or its beginning, names."""
    found = told.filter(pl.col("decision_id").str.starts_with(asked))["row_id"].unique().sort().to_list()
    if len(asked) < SHORTEST or not found:
        raise ValueError(
            f"{asked!r} names no row of the plan; give the id that a row shows, or at least {SHORTEST} digits of it"
        )
    if len(found) > 1:
        raise ValueError(f"{asked!r} names {len(found)} rows of the plan; give more digits: {', '.join(found[:3])}")
    return str(found[0])


def as_undone(left: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what is left out as if it had been decided and undone: rows of the tables `decisions` and `reverted`."""
    undone = left.with_columns(status=pl.lit("committed"))
    return TABLES["decisions"].conform(undone), TABLES["reverted"].conform(undone)


def remaining(plan: pl.DataFrame, left: pl.DataFrame, again: pl.DataFrame, profiles: pl.DataFrame) -> pl.DataFrame:
    """Return a plan without what is left out (`left_out`); core memory as it is then compiled.

    Of the plan made `again` as if that had been undone only its blocks of core memory count, so that nothing is decided
    that nobody was shown.
    """
    compiled = does(Action.COMPILE)
    key = ["profile_id", "decision_id"]
    kept = plan.filter(~compiled).join(left, on=key, how="anti")
    blocks = again.filter(compiled).join(left.filter(compiled), on=["profile_id", "memory_id"], how="anti")
    return planning.numbered(pl.concat([kept, blocks]), profiles)
