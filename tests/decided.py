"""Decisions for tests: desired changes as if a run had committed them. No I/O, no randomness."""

from datetime import datetime

import polars as pl
from frames import AS_OF

from memory_pipeline.schemas import TABLES


def decisions(changes: pl.DataFrame, *, as_of: datetime = AS_OF, seq: int = 1_000) -> pl.DataFrame:
    """Table `decisions`: the changes, in their order, committed by one run."""
    numbered = changes.with_row_index("ordinal").with_columns(
        plan_id=pl.format("plan {}", pl.lit(seq)),
        decision_id=pl.format("decision {} of {}", "ordinal", pl.lit(seq)),
        signature=pl.concat_str("action", "memory_id", "subject", separator=" "),
        status=pl.lit("committed"),
        as_of=pl.lit(as_of),
        seq=pl.lit(seq),
    )
    return TABLES["decisions"].conform(numbered)
