"""Measures how central each live memory is in the graph of its profile.

Not here: where edges come from (`associations`), and graph measures on plain arrays (`graph`).
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges import associations, edge_rows, graph
from memory_pipeline.consolidation.state.folding import UNDIRECTED
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame
from memory_pipeline.settings import Policy

NO_RELATION: Final = ("SUMMARIZES", "FOLLOWS", "SIMILAR_TO", "REFERENCES")
"""Edge types that, like auto-links, do not count as a relationship, because they arise by themselves."""

NO_POINTER: Final = (*UNDIRECTED, "FOLLOWS", "SUMMARIZES")
"""Edge types that do not count for the in-degree."""

UNKNOWN_IMPORTANCE: Final = 0.5

RAISED: Final[dict[int, float]] = {3: 0.6, 5: 0.8, 10: 1.0}
"""Minimum importance by in-degree, where centrality raises importance (ADR-0008)."""


def measure(
    memories: Frame[schemas.Memories],
    importance: pl.DataFrame,
    edges: Frame[schemas.AssociationEdges],
    policy: Policy,
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Measure every live memory in the graph of the live memories of its profile.

    Args:
        importance: `profile_id`, `memory_id`, `importance` (0..1); 0.5 where it is unknown.
        edges: table `association_edges` at present weight. Edges too light to be followed, links that only propose how
            facts relate, and edges of memories that are not live do not count.

    Returns:
        Table `memory_importance`. With `centrality_importance`, memories with 3, 5 or 10 incoming directed edges have
        an importance of at least 0.6, 0.8 or 1, and no importance falls; `importance_unraised` is the value before,
        which protection uses. `relationship_count` counts neighbours over asserted and decided edges and CAUSED_BY from
        before `as_of`, without the types in `NO_RELATION` and auto-links. PageRank and communities treat every edge as
        undirected, with its weight.

    Cost: O(memories + edges) per step of PageRank, O(edges log edges) per step of label propagation.
    """
    nodes = _nodes(memories.filter(pl.col("lifecycle").is_in(LIVE)), importance)
    linked = _linked(nodes, edges, policy)
    source, target = _arrays(linked)
    weight = linked["weight"].to_numpy()
    profiles = nodes["profile_id"].rle_id().to_numpy()
    rank = graph.pagerank(len(nodes), source, target, weight, groups=profiles)
    community = graph.label_propagation(len(nodes), source, target, weight)
    return TABLES["memory_importance"].conform(
        _related(nodes, linked, policy, as_of=as_of).with_columns(
            (10.0 * pl.col("importance")).alias("importance_score"),
            pl.Series("degree", graph.degrees(len(nodes), source, target)),
            pl.Series("pagerank", rank).clip(0.0, 1.0),
            pl.Series("community", nodes["memory_id"][community]),
        )
    )


def relations(
    memories: pl.DataFrame, importance: pl.DataFrame, edges: pl.DataFrame, policy: Policy, *, as_of: datetime
) -> pl.DataFrame:
    """Return the graph measures that scores need, for memories in every lifecycle; live ones as `measure` gives them.

    Arguments are those of `measure`; only edges to live memories count.

    Returns:
        profile_id, memory_id, importance, importance_unraised, relationship_count, in_degree.

    Cost: O(memories + edges).
    """
    nodes = _nodes(memories, importance)
    related = _related(nodes, _linked(nodes, edges, policy), policy, as_of=as_of)
    return related.select(*KEY, "importance", "importance_unraised", "relationship_count", "in_degree")


def _nodes(memories: pl.DataFrame, importance: pl.DataFrame) -> pl.DataFrame:
    """Return the memories by profile and id, with their importance."""
    nodes = memories.select(*KEY, live=pl.col("lifecycle").is_in(LIVE))
    return (
        nodes.join(importance.select(*KEY, "importance"), on=KEY, how="left", validate="1:1")
        .with_columns(pl.col("importance").fill_null(UNKNOWN_IMPORTANCE))
        .sort(KEY)
    )


def _related(nodes: pl.DataFrame, linked: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Add the relationships and the in-degree of nodes, and their importance before and after centrality raised it."""
    auto_link = (pl.col("edge_type") == "ASSOCIATED") & (pl.col("origin") == "decided")
    related = linked.filter(
        ((pl.col("origin") != "derived") | (pl.col("edge_type") == "CAUSED_BY"))
        & ~pl.col("edge_type").is_in(NO_RELATION)
        & ~auto_link
        & (pl.col("discovered_at") < pl.lit(as_of, dtype=INSTANT))
    )
    live = nodes["live"].to_numpy()
    one, other = _arrays(related)
    size = max(len(nodes), 1)
    pairs = np.sort(np.append(one * size + other, other * size + one))  # np.unique sorts rows, at many times the cost
    first, second = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], size)
    neighbours = first[live[second]]
    source, target = _arrays(linked.filter(~pl.col("edge_type").is_in(NO_POINTER)))
    in_degree = np.bincount(target[live[source]], minlength=len(nodes))
    floor = _floor(in_degree) if policy.centrality_importance else np.zeros(len(nodes))
    return nodes.with_columns(
        pl.max_horizontal("importance", pl.Series(floor)).alias("importance"),
        pl.col("importance").alias("importance_unraised"),
        pl.Series("relationship_count", np.bincount(neighbours, minlength=len(nodes))),
        pl.Series("in_degree", in_degree),
    )


def _floor(in_degree: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the minimum importance for each in-degree."""
    steps = np.array([0.0, *RAISED.values()])
    floor: NDArray[np.float64] = steps[np.searchsorted(list(RAISED), in_degree, side="right")]
    return floor


def _linked(nodes: pl.DataFrame, edges: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the edges between two of the memories that can be followed, with the rows of their ends; no loops."""
    usable = edges.filter(associations.is_usable(policy), ~edge_rows.is_fact_link())
    return edge_rows.with_rows(usable, nodes).filter(pl.col("source_row") != pl.col("target_row"))


def _arrays(linked: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return linked["source_row"].to_numpy(), linked["target_row"].to_numpy()
