"""Sessions: which memory stands before and behind which in a talk.

What is not here: what neighbours are worth (`features`).
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_ORDER: Final = ["created_at", "seq", "memory_id"]


@dataclass(frozen=True, slots=True, eq=False)
class Sessions:
    """Memories by session and time.

    Attributes:
        names: the sessions and their numbers.
        number: session of each memory, -1 for none (summaries, and memories stored outside a session).
        order: memories with a session, by session and age.
        place: of each memory its place in `order`, -1 for none.
    """

    names: dict[str, int]
    number: Integers
    order: Integers
    place: Integers

    @classmethod
    def build(cls, rows: pl.DataFrame) -> Self:
        """Order rows of `memories`, which stand in the order of their age."""
        names = {name: at for at, name in enumerate(_spoken(rows).drop_nulls().unique(maintain_order=True).to_list())}
        number = _numbers(rows, names)
        order = np.argsort(number, kind="stable")
        return cls._placed(names, number, order[number[order] >= 0])

    def extended(self, rows: pl.DataFrame, known: pl.DataFrame) -> Self:
        """Put further rows of `memories` between the known ones."""
        names = dict(self.names)
        for name in _spoken(rows).drop_nulls().to_list():
            names.setdefault(name, len(names))
        added = _numbers(rows, names)
        number = np.concatenate([self.number, added])
        order = self.order
        for at in np.flatnonzero(added >= 0):
            session = added[at]
            begin, end = np.searchsorted(number[order], [session, session + 1])
            later = 0
            if end > begin:
                own = rows.row(int(at), named=True)
                key = tuple(own[name] for name in _ORDER)
                older = known[order[begin:end][order[begin:end] < known.height]].select(_ORDER).rows()
                fresh = [
                    tuple(rows.row(int(place - known.height), named=True)[name] for name in _ORDER)
                    for place in order[begin:end]
                    if place >= known.height
                ]
                later = sum(other < key for other in (*older, *fresh))
            order = np.insert(order, begin + later, known.height + at)
        return self._placed(names, number, order)

    @classmethod
    def _placed(cls, names: dict[str, int], number: Integers, order: Integers) -> Self:
        place = np.full(len(number), -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(names, number, order, place)

    def neighbours(self, rows: Integers, step: int) -> Integers:
        """The memory `step` places behind each (before it, if negative) in its session, -1 for none."""
        place = self.place[rows]
        at = place + step
        inside = (place >= 0) & (at >= 0) & (at < len(self.order))
        found = np.where(inside, self.order[np.where(inside, at, 0)] if len(self.order) else -1, -1)
        return np.where(inside & (self.number[found] == self.number[rows]), found, -1)


def _spoken(rows: pl.DataFrame) -> pl.Series:
    """Session of each original; none for summaries."""
    return rows.select(pl.when(pl.col("kind") == "original").then("session_id")).to_series()


def _numbers(rows: pl.DataFrame, names: dict[str, int]) -> Integers:
    return _spoken(rows).replace_strict(names, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
