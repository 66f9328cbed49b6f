"""Rows of edge tables: completes the edges that a rule finds, recognises links about facts, and looks up vectors.

Not here: which edges there are (`associations` and the modules it uses).
"""

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

FACT_COMPARISON: Final = "fact_comparison"
"""Algorithm of the links between memories about the same fact."""

PROPOSED: Final[dict[str, str]] = {
    "update": "MAY_UPDATE",
    "duplicate": "MAY_REPEAT",
    "conflict": "CONTRADICTS",
    "unrelated": "DISTINCT",
}
"""Edge type of the link that each relation of `fact_changes` makes where nothing is decided."""


def is_fact_link() -> pl.Expr:
    """Return whether an edge only says how two statements of fact may relate.

    Such a link changes what recall shows, and which memories may be merged, but no score, path or place in the graph.
    That holds for every MAY_UPDATE, MAY_REPEAT and DISTINCT, and for the CONTRADICTS that comparing facts has found;
    what an agent asserts or `creative` finds under that name counts like any edge.
    """
    doubtful = pl.col("edge_type").is_in([PROPOSED[name] for name in ("update", "duplicate", "unrelated")])
    return doubtful | ((pl.col("edge_type") == PROPOSED["conflict"]) & (pl.col("algorithm") == FACT_COMPARISON))


def complete(found: pl.DataFrame, *, origin: str = "derived", plan_id: str = "") -> pl.DataFrame:
    """Add every missing column of an edge table to newly found edges, keeping their order.

    They have ends, `edge_type`, `weight`, `algorithm` and `discovered_at`, and any other column. By default a new edge
    has its weight as base, was last strengthened when it was discovered, and has `co_count` 0.
    """
    types = TABLES["association_edges"].empty()
    defaults = {
        "base_weight": pl.col("weight"),
        "last_strengthened_at": pl.col("discovered_at"),
        "co_count": pl.lit(0, pl.Int64),
    }
    whole = pl.concat([types.drop("origin", "plan_id"), found], how="diagonal_relaxed")
    return whole.with_columns(
        *(pl.coalesce(name, value).alias(name) for name, value in defaults.items()),
        origin=pl.lit(origin),
        plan_id=pl.lit(plan_id),
    ).select(types.columns)


def between(live: pl.DataFrame, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> pl.DataFrame:
    """Return the ends of the edges between two lists of rows of `live`, dated by the creation of the later memory.

    `live` is sorted by profile and memory and each left row is the smaller one, so source < target.
    """
    source, target = live.select(*KEY, "created_at")[left], live.select("memory_id", "created_at")[right]
    return source.select(
        "profile_id",
        target["memory_id"].alias("target"),
        source="memory_id",
        discovered_at=pl.max_horizontal("created_at", target["created_at"]),
    )


def with_rows(edges: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return the edges between two of some memories, in order, with the row of each end: source_row, target_row."""
    for end in ("source", "target"):
        rows = memories.select("profile_id", pl.col("memory_id").alias(end), pl.int_range(pl.len()).alias(f"{end}_row"))
        edges = edges.join(rows, on=["profile_id", end], maintain_order="left")
    return edges


def by_age(live: pl.DataFrame) -> NDArray[np.int64]:
    """Return the place of each row by profile, age and id."""
    places = np.empty(len(live), dtype=np.int64)
    places[live.with_row_index("row").sort("profile_id", "created_at", "memory_id")["row"]] = np.arange(len(live))
    return places


def unordered(edges: pl.DataFrame) -> pl.DataFrame:
    """Return the profile, type and ends of edges, the ends sorted as `low` and `high`."""
    return edges.select(
        "profile_id",
        "edge_type",
        low=pl.min_horizontal("source", "target"),
        high=pl.max_horizontal("source", "target"),
    )


def profiles(memories: pl.DataFrame) -> NDArray[np.int64]:
    """Return one number per profile for each of `memories`, which are sorted by profile."""
    numbers: NDArray[np.int64] = memories["profile_id"].rle_id().cast(pl.Int64).to_numpy()
    return numbers


def matrix(memories: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> NDArray[np.float32]:
    """Return one vector per memory, in order; zero (unknown) if it is missing or not of its profile's usual length."""
    text = ["profile_id", "content_hash"]
    embedded = vectors.filter(pl.col("model") == policy.embedder).select(
        *text, "vector", size=pl.col("vector").list.len()
    )
    joined = memories.join(embedded, on=text, how="left", maintain_order="left")
    usual = pl.col("size").drop_nulls().mode().max().over("profile_id")
    size = joined.select(pl.when(pl.col("size") == usual).then("size").fill_null(0)).to_series().to_numpy()
    result = np.zeros((len(joined), size.max(initial=1)), dtype=np.float32)
    for width in np.unique(size[size > 0]):
        rows = np.flatnonzero(size == width)
        result[rows, :width] = joined["vector"][rows].explode().to_numpy().reshape(len(rows), width)
    return result
