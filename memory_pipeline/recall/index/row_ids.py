"""The row of each memory in an index, by its id.

Each id has a permanent number, and rows are stored by number, so rows can move and memories can come and go without
hashing the ids again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Self

import numpy as np

from memory_pipeline.text.arrays import Integers

_SPARSE: Final = 2
"""Ratio of numbers to memories above which the numbers are assigned anew."""


class RowIds(Mapping[str, int]):
    """Maps memory ids to rows. Immutable; threads may share it.

    Versions derived from one another share the dictionary of numbers, which only grows: a number beyond the length of a
    version's own arrays belongs to a memory that this version does not have.
    """

    __slots__ = ("_at", "_number", "_numbers")

    def __init__(self, numbers: dict[str, int], number: Integers, at: Integers) -> None:
        self._numbers, self._number, self._at = numbers, number, at

    @classmethod
    def of(cls, memory_ids: Sequence[str]) -> Self:
        """Assign numbers to memories in the order of their rows."""
        number = np.arange(len(memory_ids))
        return cls({memory_id: row for row, memory_id in enumerate(memory_ids)}, number, number)

    def __getitem__(self, memory_id: str) -> int:
        number = self._numbers[memory_id]
        row = int(self._at[number]) if number < len(self._at) else -1
        if row < 0:
            raise KeyError(memory_id)
        return row

    def __iter__(self) -> Iterator[str]:
        own_ids = islice(list(self._numbers), len(self._at))  # list() copies in one step: other threads may add
        return (memory_id for memory_id, row in zip(own_ids, self._at.tolist(), strict=False) if row >= 0)

    def __len__(self) -> int:
        return len(self._number)

    def rows(self, memory_ids: Sequence[str]) -> Integers:
        """Return the row of each memory, -1 for unknown ones."""
        unknown = len(self._at)
        number = np.fromiter((self._numbers.get(name, unknown) for name in memory_ids), np.int64, len(memory_ids))
        present = number < unknown
        return np.where(present, self._at[np.where(present, number, 0)] if unknown else -1, -1)

    def extended(self, memory_ids: Sequence[str]) -> Self:
        """Append memories; one that is already present moves to the end and leaves its old row unowned."""
        numbers = self._numbers
        if len(numbers) > len(self._at):  # another version has added to the shared dictionary
            numbers = dict(islice(list(numbers.items()), len(self._at)))
        appended = [numbers.setdefault(memory_id, len(numbers)) for memory_id in memory_ids]
        at = np.concatenate([self._at, np.full(len(numbers) - len(self._at), -1)])
        at[appended] = len(self._number) + np.arange(len(appended))
        return type(self)(numbers, np.concatenate([self._number, np.array(appended, dtype=np.int64)]), at)

    def arranged(self, order: Integers) -> Self:
        """Select rows in the given order."""
        number = self._number[order]
        if len(self._at) > _SPARSE * len(order):
            names = list(self._numbers)
            return self.of([names[at] for at in number.tolist()])
        at = np.full(len(self._at), -1, dtype=np.int64)
        at[number] = np.arange(len(order))
        return type(self)(self._numbers, number, at)
