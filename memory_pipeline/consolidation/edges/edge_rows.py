"""Rows of edge tables: how the edges that a rule finds become a complete table, and the vectors of their ends.

What is not here: which edges there are (`associations` and the modules it is made of).
"""

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

UNDIRECTED: Final = (
    "SIMILAR_TO",
    "REFERENCES",
    "DISCOVERED",
    "CONTRADICTS",
    "COACTIVATED",
    "ASSOCIATED",
    "SHORTCUT",
)
"""Types that have no direction."""


def complete(found: pl.DataFrame, *, origin: str = "derived", plan_id: str = "") -> pl.DataFrame:
    """Give edges that were just found every column of an edge table, in the order in which they come.

    Args:
        found: ends, `edge_type`, `weight`, `algorithm` and `discovered_at`, and whatever else is known. A new edge has
            its weight as base, was strengthened last when it was discovered, and has no `co_count`.
        origin: origin of all of them.
        plan_id: plan that proposes them.
    """
    types = TABLES["association_edges"].empty()
    new = {
        "base_weight": pl.col("weight"),
        "last_strengthened_at": pl.col("discovered_at"),
        "co_count": pl.lit(0, pl.Int64),
    }
    whole = pl.concat([types.drop("origin", "plan_id"), found], how="diagonal_relaxed")
    return whole.with_columns(
        *(pl.coalesce(name, value).alias(name) for name, value in new.items()),
        origin=pl.lit(origin),
        plan_id=pl.lit(plan_id),
    ).select(types.columns)


def between(live: pl.DataFrame, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> pl.DataFrame:
    """Ends of the edges between two lists of rows of `live`, and their date: the creation of the later memory.

    `live` is sorted by profile and memory and the left row is the smaller one, so source < target.
    """
    source, target = live.select(*KEY, "created_at")[left], live.select("memory_id", "created_at")[right]
    return source.select(
        "profile_id",
        target["memory_id"].alias("target"),
        source="memory_id",
        discovered_at=pl.max_horizontal("created_at", target["created_at"]),
    )


def unordered(edges: pl.DataFrame) -> pl.DataFrame:
    """Profile, type and ends of edges, the ends as `low` and `high`: what a pair has, in whichever direction."""
    return edges.select(
        "profile_id",
        "edge_type",
        low=pl.min_horizontal("source", "target"),
        high=pl.max_horizontal("source", "target"),
    )


def profiles(memories: pl.DataFrame) -> NDArray[np.int64]:
    """One number a profile for each of `memories`, which are sorted by profile."""
    numbers: NDArray[np.int64] = memories["profile_id"].rle_id().cast(pl.Int64).to_numpy()
    return numbers


def matrix(memories: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> NDArray[np.float32]:
    """One row a memory, in order; zero, that is unknown, where the vector is missing or not of its profile's length."""
    text = ["profile_id", "content_hash"]
    own = vectors.filter(pl.col("model") == policy.embedder).select(*text, "vector", size=pl.col("vector").list.len())
    found = memories.join(own, on=text, how="left", maintain_order="left")
    usual = pl.col("size").drop_nulls().mode().max().over("profile_id")
    size = found.select(pl.when(pl.col("size") == usual).then("size").fill_null(0)).to_series().to_numpy()
    result = np.zeros((len(found), size.max(initial=1)), dtype=np.float32)
    for width in np.unique(size[size > 0]):
        rows = np.flatnonzero(size == width)
        result[rows, :width] = found["vector"][rows].explode().to_numpy().reshape(len(rows), width)
    return result
