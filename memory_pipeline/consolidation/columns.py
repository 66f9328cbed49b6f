"""What all stages share: the key of a memory, the measure of time, and counts in words.

Not here: the columns of tables (`schemas`), and the ages of memories (`scoring`).
"""

from typing import Final

import polars as pl

KEY: Final = ["profile_id", "memory_id"]
"""Columns that identify a memory."""

DAY: Final = 86_400_000_000
"""Microseconds in a day."""


def days_between(earlier: pl.Expr, later: pl.Expr) -> pl.Expr:
    """Return fractional days from `earlier` to `later`, never negative; whole days are exact for up to a century."""
    return ((later - earlier).dt.total_microseconds() * (1.0 / DAY)).clip(lower_bound=0.0)


def counted(count: str | pl.Expr, one: str, many: str) -> pl.Expr:
    """Return a count with its noun, as a reason for people says it: "1 memory", "2 memories"."""
    number = pl.col(count) if isinstance(count, str) else count
    return pl.concat_str(
        number.cast(pl.String), pl.when(number == 1).then(pl.lit(one)).otherwise(pl.lit(many)), separator=" "
    )
