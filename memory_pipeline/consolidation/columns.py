"""The key of a memory and the measure of time that all stages share.

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
