"""Digests the inputs of a reusable result, one per profile: a result is reused only if its digest is unchanged.

The program itself is part of every digest. Not here: what each result reads and how it is kept (`judging`,
`edges.neighbours`, `groups.reuse`).
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.settings import program

_OWNER: Final = "profile_id"


def digests(
    settings: Sequence[object], *parts: pl.DataFrame, vectors: NDArray[np.float32] | None = None
) -> pl.DataFrame:
    """Return the digest of everything read of each profile in the first part: profile_id, read.

    Args:
        settings: what is read of the policy, and what else is the same for all profiles.
        parts: rows that are read, in order, sorted by profile_id; of the other parts, only these profiles.
        vectors: a row for each of the first part; default: none.

    Cost: about a microsecond for each short row, and one for a vector of 384 numbers.
    """
    by = str((program.digest(), *settings))
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


def _documents(part: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of each profile as one text: profile_id, for the first part their number, and the text."""
    count = [pl.len().alias("count")] if name == "0" else []
    return (
        part.select(_OWNER, row=pl.struct(pl.exclude(_OWNER)).struct.json_encode())
        .group_by(_OWNER, maintain_order=True)
        .agg(*count, pl.col("row").str.join("\n").alias(name))
    )
