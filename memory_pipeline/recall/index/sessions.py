"""The order of memories within their sessions: which memory precedes and follows which in a conversation."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Integers

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
        sessions = _session_of(rows)
        names = {name: at for at, name in enumerate(dict.fromkeys(name for name in sessions if name is not None))}
        number = _numbers(sessions, names)
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
        sessions = _session_of(rows)
        for name in sessions:
            if name is not None:
                names.setdefault(name, len(names))
        added = _numbers(sessions, names)
        number = np.concatenate([self.number, added])
        order, keys = self.order, rows.select(_ORDER)

        def age(row: int) -> tuple[Any, ...]:
            if row >= known.height:
                return keys.row(row - known.height)
            said_at, created_at, *rest = (known[row, name] for name in ("said_at", "created_at", "seq", "memory_id"))
            return said_at or created_at, *rest

        for at in np.flatnonzero(added >= 0).tolist():
            begin, end = np.searchsorted(number[order], [added[at], added[at] + 1])
            key, own = keys.row(at), order[begin:end].tolist()
            latest = not own or age(own[-1]) < key  # as is usual, so that one row is read
            order = np.insert(order, end if latest else begin + bisect_left(own, key, key=age), known.height + at)
        return self._placed(names, number, order, self.members)

    @classmethod
    def _placed(cls, names: dict[str, int], number: Integers, order: Integers, members: frozenset[str]) -> Self:
        place = np.full(len(number), -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(names, number, order, place, members)

    def neighbours(self, rows: Integers, step: int | Integers) -> Integers:
        """Return the memory `step` positions after each in its session (before it, if negative), -1 for none.

        Several steps go along the last axis of the rows.
        """
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


def _session_of(rows: pl.DataFrame) -> list[str | None]:
    """Return the session of each original; None for summaries."""
    return rows.select(pl.when(pl.col("kind") == "original").then("session_id")).to_series().to_list()


def _numbers(sessions: list[str | None], names: Mapping[str, int]) -> Integers:
    return np.array([-1 if name is None else names.get(name, -1) for name in sessions], dtype=np.int64)
