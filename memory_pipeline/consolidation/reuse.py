"""Reuses results of the last run: rows whose column `read`, a digest of all that they were made from, is unchanged.

A stage declares the table (`@stage(reuse=...)`), takes it as the last run left it, and gives it anew: the rows that
hold, and those made for the profiles that changed. The program itself is part of every digest. Not here: what each
result reads (`judging`, `edges.neighbours`, `groups.method_reuse`, `state.foldings`, `core_sentences`).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import program
from memory_pipeline.text.arrays import Matrix

_OWNER: Final = "profile_id"


def unchanged(kept: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `kept` that were made from the same: those with a row in `read`, which has key and digest."""
    return kept.join(read, on=read.columns, how="semi")


@dataclass(frozen=True)
class Reused:
    """What of a table still holds, and what is to be made anew."""

    name: str
    """Name of the table."""
    known: pl.DataFrame
    """Rows of profiles that read the same."""
    changed: pl.DataFrame
    """Digests of the other profiles."""

    def missing(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of profiles for which the table is to be made, in their order."""
        return rows.join(self.known, on=_OWNER, how="anti", maintain_order="left")

    def completed(self, made: pl.DataFrame) -> pl.DataFrame:
        """Return the table, with what was made for the changed profiles: its columns without the digest."""
        stamped = self.changed.join(made, on=_OWNER).select(self.known.columns).cast(self.known.schema)
        return TABLES[self.name].conform(pl.concat([self.known, stamped]))


def reused(name: str, kept: pl.DataFrame | None, read: pl.DataFrame) -> Reused:
    """Divide profiles into those whose rows of a table, as any earlier run left it, still hold, and the others.

    `read` has profile_id, read, and what else tells rows of the table apart.
    """
    known = TABLES[name].empty() if kept is None else unchanged(kept, read)
    return Reused(name, known, read.join(known, on=_OWNER, how="anti", maintain_order="left"))


def digests(settings: Sequence[object], *parts: pl.DataFrame, vectors: Matrix | None = None) -> pl.DataFrame:
    """Return the digest of everything read of each profile in the first part: profile_id, read.

    The settings are what is the same for all profiles, the parts rows that are read, in order, sorted by profile_id (of
    the other parts, only these profiles), the vectors one for each row of the first part. Cost: about a microsecond for
    each short row, and one for a vector of 384 numbers.
    """
    by = _settings(settings)
    rows = [_documents(part, str(place)) for place, part in enumerate(parts)]
    documents = rows[0]
    for other in rows[1:]:
        documents = documents.join(other, on=_OWNER, how="left", maintain_order="left")
    read, start = [], 0
    for _, count, *texts in documents.iter_rows():
        digest = hashlib.sha256("\n\n".join((by, *(text or "" for text in texts))).encode())
        if vectors is not None:
            digest.update(str(vectors.shape[1]).encode() + np.ascontiguousarray(vectors[start : start + count]).data)
        start += count
        read.append(digest.hexdigest())
    return documents.select(_OWNER, read=pl.Series(read, dtype=pl.String))


def digest(settings: Sequence[object]) -> str:
    """Return the digest of settings and of the program itself."""
    return hashlib.sha256(_settings(settings).encode()).hexdigest()


def _settings(settings: Sequence[object]) -> str:
    return str((program.digest(), *settings))


def _documents(part: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of each profile as one text: profile_id, for the first part their number, and the text."""
    count = [pl.len().alias("count")] if name == "0" else []
    return (
        part.select(_OWNER, row=pl.struct(pl.exclude(_OWNER)).struct.json_encode())
        .group_by(_OWNER, maintain_order=True)
        .agg(*count, pl.col("row").str.join("\n").alias(name))
    )
