"""Keeps what trees answer about the pairs of a profile, so that the next run asks only what was not asked.

What a word weighs depends on all memories of its profile, so one new memory changes the features of every pair. Few of
them pass a threshold of the trees, and where none does, the answer is the same. Not here: the trees
(`text.compare.relation_trees`), and where the answers are kept (`judging`).
"""

from collections.abc import Callable

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Floats, Integers, Rows
from memory_pipeline.text.compare.relation_trees import ANSWER


class TreeAnswers:
    """Answers about the pairs of some profiles: those known before, and those found now."""

    def __init__(self, owners: Rows, known: pl.DataFrame) -> None:
        """Take the number of the profile of each pair, and rows of table `judgements` of the same judge and program."""
        self._owners = owners
        asked = known["asked"].explode(empty_as_null=False).to_numpy().astype(np.int64)
        order = asked.argsort(kind="stable")
        self._asked = asked[order]
        answered = known["answered"].explode(empty_as_null=False).to_numpy().astype(np.float64)
        self._answered = answered.reshape(-1, ANSWER)[order]
        self._parts = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty((0, ANSWER)))]

    def of(self, pairs: Rows, asked: Integers, answer: Callable[[Rows], Floats]) -> Floats:
        """Answer what is asked about pairs: see `closeness.Answers`."""
        place = np.searchsorted(self._asked, asked)
        known = np.append(self._asked, 0)[place] == asked
        known &= place < len(self._asked)
        result = np.empty((len(asked), ANSWER))
        result[known] = self._answered[place[known]]
        if not known.all():
            result[~known] = answer(np.flatnonzero(~known))
        self._parts.append((pairs, asked, result))
        return result

    def table(self) -> pl.DataFrame:
        """Return what was asked about the pairs of each profile, each once, and the answers: owner, asked, answered."""
        pairs, asked, answered = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        owner = self._owners[pairs]
        order = np.lexsort((asked, owner))
        owner, asked = owner[order], asked[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (owner[1:] != owner[:-1]) | (asked[1:] != asked[:-1])
        owner, asked, answered = owner[first], asked[first], answered[order[first]]
        lists = [
            pl.DataFrame({"owner": of, name: values}).group_by("owner", maintain_order=True).agg(name)
            for name, of, values in (
                ("asked", owner, asked),
                ("answered", np.repeat(owner, ANSWER), answered.ravel()),
            )
        ]
        return lists[0].join(lists[1], on="owner", maintain_order="left")
