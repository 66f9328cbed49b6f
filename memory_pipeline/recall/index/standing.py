"""Which memories are live, which stand for themselves, and when each of them holds."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import polars as pl

from memory_pipeline.consolidation.expiry import EXPIRES
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import LIVE
from memory_pipeline.text.arrays import Integers, Marks


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """The standing of each memory.

    Attributes:
        live: ordinary recall may return it.
        alone: it is an original or replaced its members, as opposed to a summary beside its members.
        begins: when it begins to hold, microseconds since 1970; the beginning of time where unlimited.
        ends: when it ceases to hold; the end of time where unlimited.
        timed: it was stored for a time (see `expiry`).
        closed: another memory ended it.
    """

    live: Marks
    alone: Marks
    begins: Integers
    ends: Integers
    timed: Marks
    closed: Marks

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Self:
        """Read the standing of rows of `memories`."""
        columns = rows.select(
            live=pl.col("lifecycle").is_in(LIVE),
            alone=(pl.col("kind") == ORIGINAL) | pl.col("said_at").is_not_null(),
            begins=pl.col("valid_from").dt.epoch("us").fill_null(np.iinfo(np.int64).min),
            ends=pl.col("valid_until").dt.epoch("us").fill_null(np.iinfo(np.int64).max),
            timed=pl.col("metadata").str.contains(f'"{EXPIRES}":true', literal=True).fill_null(value=False),
            closed=pl.col("closed_by").is_not_null(),
        )
        return cls(*(columns[field.name].to_numpy() for field in fields(cls)))

    def joined(self, later: Self) -> Self:
        """Append that of further memories."""
        pairs = ((getattr(self, field.name), getattr(later, field.name)) for field in fields(self))
        return type(self)(*map(np.concatenate, pairs))

    def arranged(self, order: Integers) -> Self:
        """Select memories in the given order."""
        return type(self)(*(getattr(self, field.name)[order] for field in fields(self)))

    def replaced(self, rows: Integers, others: Self) -> Self:
        """Put other values in the place of those of some memories."""
        arrays = [getattr(self, field.name).copy() for field in fields(self)]
        for array, field in zip(arrays, fields(self), strict=True):
            array[rows] = getattr(others, field.name)
        return type(self)(*arrays)
