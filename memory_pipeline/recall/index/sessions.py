"""The order of memories within their sessions: which memory precedes and follows which in a conversation.

Not here: how neighbours count in a ranking (`rank/features`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
SAID_AT: Final = pl.coalesce("said_at", "created_at")
"""When a memory was said; a summary that replaced its members counts as said with the newest of them."""
_ORDER: Final = (SAID_AT, "seq", "memory_id")


@dataclass(frozen=True, eq=False)
class Sessions:
    """Memories by session and time.

    A summary that replaced its members takes the position of the newest of them, which the index still has.

    Attributes:
        names: number of each session.
        number: session of each memory, -1 for none (other summaries, and memories stored outside a session).
        order: rows of the originals with a session, by session and age.
        place: position of each memory in `order`, -1 for none.
        members: memories replaced by such summaries.
    """

    names: dict[str, int]
    number: Integers
    order: Integers
    place: Integers
    members: frozenset[str]

    @classmethod
    def build(cls, rows: pl.DataFrame) -> Self:
        """Order rows of `memories`, which are sorted by age."""
        names = {
            name: at for at, name in enumerate(_session_of(rows).drop_nulls().unique(maintain_order=True).to_list())
        }
        number = _numbers(rows, names)
        order = np.argsort(number, kind="stable")
        built = cls._placed(names, number, order[number[order] >= 0], frozenset())
        merged, newest = _replacing(rows)
        number, place = built.number.copy(), built.place
        number[merged], place[merged] = number[newest], place[newest]
        replaced = rows.filter(pl.col("said_at").is_not_null())["members"].explode(empty_as_null=False)
        return replace(built, number=number, place=place, members=frozenset(replaced.to_list()))

    def extended(self, rows: pl.DataFrame, known: pl.DataFrame) -> Self:
        """Insert further rows of `memories` among those already ordered."""
        if rows["said_at"].null_count() < rows.height or not self.members.isdisjoint(rows["memory_id"]):
            return self.build(pl.concat([known, rows.select(known.columns)]))
        names = dict(self.names)
        for name in _session_of(rows).drop_nulls().to_list():
            names.setdefault(name, len(names))
        added = _numbers(rows, names)
        number = np.concatenate([self.number, added])
        order, keys = self.order, rows.select(_ORDER)
        for at in np.flatnonzero(added >= 0):
            session = added[at]
            begin, end = np.searchsorted(number[order], [session, session + 1])
            later = 0
            if end > begin:
                key = keys.row(int(at))
                older = known[order[begin:end][order[begin:end] < known.height]].select(_ORDER).rows()
                fresh = [keys.row(int(place - known.height)) for place in order[begin:end] if place >= known.height]
                later = sum(other < key for other in (*older, *fresh))
            order = np.insert(order, begin + later, known.height + at)
        return self._placed(names, number, order, self.members)

    @classmethod
    def _placed(cls, names: dict[str, int], number: Integers, order: Integers, members: frozenset[str]) -> Self:
        place = np.full(len(number), -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(names, number, order, place, members)

    @cached_property
    def before(self) -> Integers:
        """The memory right before each in its session, -1 for none."""
        return self.neighbours(np.arange(len(self.number)), -1)

    @cached_property
    def after(self) -> Integers:
        """The memory right after each in its session, -1 for none."""
        return self.neighbours(np.arange(len(self.number)), 1)

    def neighbours(self, rows: Integers, step: int) -> Integers:
        """Return the memory `step` positions after each in its session (before it, if negative), -1 for none."""
        place = self.place[rows]
        at = place + step
        inside = (place >= 0) & (at >= 0) & (at < len(self.order))
        neighbours = np.where(inside, self.order[np.where(inside, at, 0)] if len(self.order) else -1, -1)
        return np.where(inside & (self.number[neighbours] == self.number[rows]), neighbours, -1)


def _replacing(rows: pl.DataFrame) -> tuple[Integers, Integers]:
    """Return the rows of summaries that replaced their members, and of the newest member of each, where present."""
    merged = rows.with_row_index("row").filter(pl.col("said_at").is_not_null())
    if merged.is_empty():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ends = merged.select("row", "session_id", "said_at", memory_id="members").explode("memory_id")
    originals = rows.with_row_index("newest").filter(pl.col("kind") == "original").drop("said_at")
    originals = originals.select("newest", "session_id", "memory_id", said_at="created_at")
    pairs = ends.join(originals, on=["session_id", "said_at", "memory_id"]).group_by("row").agg(pl.col("newest").max())
    return pairs["row"].cast(pl.Int64).to_numpy(), pairs["newest"].cast(pl.Int64).to_numpy()


def _session_of(rows: pl.DataFrame) -> pl.Series:
    """Return the session of each original; null for summaries."""
    return rows.select(pl.when(pl.col("kind") == "original").then("session_id")).to_series()


def _numbers(rows: pl.DataFrame, names: dict[str, int]) -> Integers:
    return _session_of(rows).replace_strict(names, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
