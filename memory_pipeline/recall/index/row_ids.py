"""Places: in which row of an index each memory stands.

A memory keeps one number for good, under which the row is noted, so that rows may move, and memories come and go,
without the ids being looked at again. What is not here: the rows (`index`).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_SPARSE: Final = 2
"""Numbers are given anew once there are so many times as many as memories."""


class Places(Mapping[str, int]):
    """Rows by the ids of their memories. Never changed; threads may share it.

    Those that came about from one another share the numbers, which are only ever added to: a number that is higher than
    one knows of is that of a memory one does not have.
    """

    __slots__ = ("_at", "_number", "_numbers")

    def __init__(self, numbers: dict[str, int], number: Integers, at: Integers) -> None:
        self._numbers, self._number, self._at = numbers, number, at

    @classmethod
    def of(cls, memory_ids: Sequence[str]) -> Self:
        """Memories in the order of their rows."""
        number = np.arange(len(memory_ids))
        return cls({memory_id: place for place, memory_id in enumerate(memory_ids)}, number, number)

    def __getitem__(self, memory_id: str) -> int:
        number = self._numbers[memory_id]
        row = int(self._at[number]) if number < len(self._at) else -1
        if row < 0:
            raise KeyError(memory_id)
        return row

    def __iter__(self) -> Iterator[str]:
        known = islice(list(self._numbers), len(self._at))  # in one step, since others may be adding
        return (memory_id for memory_id, row in zip(known, self._at.tolist(), strict=False) if row >= 0)

    def __len__(self) -> int:
        return len(self._number)

    def rows(self, memory_ids: Sequence[str]) -> Integers:
        """Row of each memory, -1 for none."""
        unknown = len(self._at)
        number = np.fromiter((self._numbers.get(one, unknown) for one in memory_ids), np.int64, len(memory_ids))
        known = number < unknown
        return np.where(known, self._at[np.where(known, number, 0)] if unknown else -1, -1)

    def extended(self, memory_ids: Sequence[str]) -> Self:
        """Add memories behind the others; one that is there already moves there, its old row is nobody's."""
        numbers = self._numbers
        if len(numbers) > len(self._at):  # others have added to them
            numbers = dict(islice(list(numbers.items()), len(self._at)))
        given = [numbers.setdefault(memory_id, len(numbers)) for memory_id in memory_ids]
        at = np.concatenate([self._at, np.full(len(numbers) - len(self._at), -1)])
        at[given] = len(self._number) + np.arange(len(given))
        return type(self)(numbers, np.concatenate([self._number, np.array(given, dtype=np.int64)]), at)

    def arranged(self, order: Integers) -> Self:
        """Take the memories of these rows alone, in this order."""
        number = self._number[order]
        if len(self._at) > _SPARSE * len(order):
            names = list(self._numbers)
            return self.of([names[one] for one in number.tolist()])
        at = np.full(len(self._at), -1, dtype=np.int64)
        at[number] = np.arange(len(order))
        return type(self)(self._numbers, number, at)
