"""Content hash: the key under which everything derived from a text is stored."""

import hashlib

import polars as pl

_SEPARATOR = "\u001f"


def content_hash(speaker: str | None, content: str | None) -> str:
    """Return 32 hex digits of the SHA-256 of speaker and content, joined by the unit separator; null is empty."""
    return hashlib.sha256(f"{speaker or ''}{_SEPARATOR}{content or ''}".encode("utf-8", "surrogatepass")).hexdigest()[
        :32
    ]


def content_hashes(speakers: pl.Series, contents: pl.Series) -> pl.Series:
    """Return `content_hash` of each pair, as a series named content_hash; each distinct pair is hashed once."""
    pairs = pl.DataFrame({"speaker": speakers.cast(pl.String), "content": contents.cast(pl.String)})
    distinct = pairs.unique(maintain_order=True)
    hashed = distinct.with_columns(
        content_hash=pl.Series([content_hash(*pair) for pair in distinct.iter_rows()], dtype=pl.String)
    )
    return pairs.join(hashed, on=["speaker", "content"], how="left", nulls_equal=True, maintain_order="left")[
        "content_hash"
    ]
