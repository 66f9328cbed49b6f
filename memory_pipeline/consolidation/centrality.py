"""How central each live memory is in the graph of its profile's associations.

What is not here: where edges come from (`associations`), and the measures on plain arrays (`graph`).
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import associations, graph
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.lake.schemas import LIVE, TABLES
from memory_pipeline.settings import Policy

NO_RELATION: Final = ("SUMMARIZES", "FOLLOWS", "SIMILAR_TO", "ASSOCIATED", "REFERENCES")
"""Types that make no relationship: they come about by themselves."""

NO_POINTER: Final = (*associations.UNDIRECTED, "FOLLOWS", "SUMMARIZES")
"""Types that do not count for the in-degree."""

UNKNOWN_IMPORTANCE: Final = 0.5


def measure(memories: pl.DataFrame, importance: pl.DataFrame, edges: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Measure every live memory in the graph of the live memories of its profile.

    Args:
        memories: table `memories`.
        importance: `profile_id`, `memory_id`, `importance` (0..1); 0.5 stands in where it is not known.
        edges: table `association_edges` at present weight. Edges that have faded, and edges of memories that are not
            live, do not count.
        policy: below which weight an edge has faded.

    Returns:
        Table `memory_importance`. The importance is handed on, not raised by centrality. `relationship_count` counts
        neighbours over asserted and decided edges and over CAUSED_BY, without the types of `NO_RELATION`; PageRank and
        communities take every edge for undirected, with its weight.

    Cost: O(memories + edges) for each step of PageRank, O(edges log edges) for each step of label propagation.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(KEY)
    known = importance.select(*KEY, "importance")
    nodes = (
        live.join(known, on=KEY, how="left", validate="1:1")
        .with_columns(pl.col("importance").fill_null(UNKNOWN_IMPORTANCE))
        .sort(KEY)
        .with_row_index("node")
    )
    linked = _ends(nodes, edges.filter(~associations.has_faded(policy)))
    related = linked.filter(
        ((pl.col("origin") != "derived") | (pl.col("edge_type") == "CAUSED_BY"))
        & ~pl.col("edge_type").is_in(NO_RELATION)
    )
    pointed = linked.filter(~pl.col("edge_type").is_in(NO_POINTER))["to"].to_numpy()
    source, target = _arrays(linked)
    weight = linked["weight"].to_numpy()
    profiles = nodes["profile_id"].rle_id().to_numpy()
    rank = graph.pagerank(len(nodes), source, target, weight, groups=profiles)
    community = graph.label_propagation(len(nodes), source, target, weight)
    return TABLES["memory_importance"].conform(
        nodes.with_columns(
            (10.0 * pl.col("importance")).alias("importance_score"),
            pl.Series("degree", graph.degrees(len(nodes), source, target)),
            pl.Series("relationship_count", graph.degrees(len(nodes), *_arrays(related))),
            pl.Series("in_degree", np.bincount(pointed, minlength=len(nodes))),
            pl.Series("pagerank", rank).clip(0.0, 1.0),
            pl.Series("community", nodes["memory_id"][community]),
        )
    )


def _ends(nodes: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Edges between two live memories, with the number of the node at either end (`from`, `to`); no loops."""
    for end, name in (("source", "from"), ("target", "to")):
        numbers = nodes.select("profile_id", pl.col("memory_id").alias(end), pl.col("node").cast(pl.Int64).alias(name))
        edges = edges.join(numbers, on=["profile_id", end])
    return edges.filter(pl.col("from") != pl.col("to"))


def _arrays(linked: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return linked["from"].to_numpy(), linked["to"].to_numpy()
