"""Keeps what the merge guard said of the pairs of a profile, so that the next run asks only about others.

An answer follows from what the two memories state. Not here: the guard (`text.compare.merge_guard`), and where the
answers are kept (`method_reuse`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Integers, Marks, Rows, fingerprints, text_fingerprints
from memory_pipeline.text.compare import merge_guard
from memory_pipeline.text.compare.merge_guard import FACTS

ANSWERS: Final = pl.Schema(
    {
        "profile_id": pl.String(),
        "asked": pl.Int64(),
        "answered": pl.Struct({"reason": pl.String(), "detail": pl.String()}),
    }
)
"""A fingerprint of all that was asked about a pair, and why the two may not be merged; without a reason they may."""


class GuardAnswers:
    """What the guard says of pairs of memories of some profiles: as known from before, else asked now."""

    def __init__(self, stated: pl.DataFrame, known: pl.DataFrame) -> None:
        """Take the memories, with profile_id and the facts that the guard reads, and `ANSWERS` of the same program."""
        self._stated = stated
        documents = stated.select(pl.struct(FACTS).struct.json_encode()).to_series()
        self._facts = text_fingerprints(documents).view(np.uint64)
        self._known = known.select("asked", "answered").unique("asked", keep="first", maintain_order=True)
        self._asked = [ANSWERS.to_frame()]

    def of(self, left: Rows, right: Rows, *, repeated: Marks, told: Marks) -> pl.DataFrame:
        """Return reason and detail of each pair of memories, as `merge_guard.disagreements` does.

        Args:
            left: number of one memory of each pair; `right` of the other.
            repeated: whether the two were found to say the same.
            told: whether somebody said so.
        """
        asked = self._fingerprints(left, right, (repeated, told))
        found = pl.DataFrame({"asked": asked}).join(self._known, on="asked", how="left", maintain_order="left")
        new = found["answered"].is_null().arg_true()
        read = self._read(left[new.to_numpy()], right[new.to_numpy()]).with_columns(
            pl.Series("repeated", repeated, dtype=pl.Boolean).gather(new),
            pl.Series("told", told, dtype=pl.Boolean).gather(new),
        )
        said = merge_guard.disagreements(read)
        answers = pl.DataFrame(
            found["answered"].struct.field(name).scatter(new, said[name]) for name in ("reason", "detail")
        )
        rows = answers.select(
            self._stated["profile_id"].gather(left), pl.Series("asked", asked), answered=pl.struct("reason", "detail")
        )
        self._asked.append(rows.cast(ANSWERS))
        return answers

    def table(self) -> pl.DataFrame:
        """Return what was asked about the pairs of each profile, each once, and the answers: `ANSWERS` as lists."""
        rows = pl.concat(self._asked).unique(["profile_id", "asked"], keep="first").sort("profile_id", "asked")
        return rows.group_by("profile_id", maintain_order=True).agg("asked", "answered")

    def _read(self, left: Rows, right: Rows) -> pl.DataFrame:
        """Return what the guard reads of both sides of pairs."""
        facts = pl.col(FACTS)
        sides = [
            self._stated[rows].select(facts.name.prefix(f"{side}_"))
            for side, rows in (("left", left), ("right", right))
        ]
        return pl.concat(sides, how="horizontal")

    def _fingerprints(self, left: Rows, right: Rows, marks: Sequence[Marks]) -> Integers:
        """Return a number for all that is asked about each pair."""
        parts = [self._facts[left], self._facts[right], *(mark.astype(np.uint64) for mark in marks)]
        return fingerprints(np.stack(parts, axis=1))
