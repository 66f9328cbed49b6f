"""Edges from what memories say: SIMILAR_TO, REFERENCES, and references across sessions.

Not here: the comparison of vectors (`similarity`), and links that a run decides (`links`).
"""

from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.columns import KEY, days_between
from memory_pipeline.consolidation.edges import co_occurrence, edge_rows
from memory_pipeline.consolidation.scoring import AGE_TIERS
from memory_pipeline.consolidation.similarity import Pairs
from memory_pipeline.schemas import INSTANT, Enrichment, Frame
from memory_pipeline.settings import Policy

_ENDS: Final = ["profile_id", "source", "target"]

MENTIONS_LINKED: Final = 5
"""Number of earlier mentions of an entity that a mention is linked to; bounds REFERENCES to 5 edges per mention."""

ROUNDING: Final = 1e-9
"""Rounding tolerance for a share of memories that is meant to be a whole number."""


def derive(
    live: pl.DataFrame, enrichment: Frame[Enrichment], near: pl.DataFrame, policy: Policy, *, as_of: datetime
) -> pl.DataFrame:
    """Return SIMILAR_TO and REFERENCES edges between live memories; see `associations.derive`.

    `near` is table `neighbours`, from which each rule takes the pairs that reach its threshold.
    """
    across = "cross_session" in policy.associations
    rows, entities = _mentions(live, enrichment, policy)
    own = _own_members(live)
    crossing = edge_rows.between(live, rows[:0], rows[:0])
    found = [crossing]
    minima = [policy.similar_to_threshold] if policy.similar_edges else []
    minima += [policy.auto_link_similarity] if across else []
    if minima:
        pairs = similarity.listed_pairs(near, live, min(minima))
    if policy.similar_edges:
        found.append(_similar(live, pairs, policy, as_of=as_of))
    if across:
        crossing = _across_sessions(live, pairs, _mentioned(rows, entities, len(live)), policy)
        crossing = crossing.join(own, on=_ENDS, how="anti", maintain_order="left")
        found.append(crossing)
    if policy.reference_edges:
        plain = _references(live, rows, entities)
        found.append(plain.join(crossing, on=_ENDS, how="anti").join(own, on=_ENDS, how="anti"))
    return pl.concat(found, how="diagonal")


def _own_members(live: pl.DataFrame) -> pl.DataFrame:
    """Return each live summary with each of its members, as ends of an edge: a summary mentions what they mention."""
    members = live.filter(pl.col("members").list.len() > 0).select(*KEY, "members").explode("members")
    ends = ("memory_id", "members")
    return members.select("profile_id", source=pl.min_horizontal(ends), target=pl.max_horizontal(ends))


def _similar(live: pl.DataFrame, pairs: Pairs, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Return SIMILAR_TO edges: pairs strictly above the threshold, compared in float32 like the stored similarity.

    Only the strongest of each memory; so many like notes do not make an edge for every pair.
    """
    above = pairs.similarity > np.float32(policy.similar_to_threshold)
    if policy.warm_prune_weight is not None:
        age = live.select(days_between(pl.col("created_at"), pl.lit(as_of, dtype=INSTANT))).to_series().to_numpy()
        warm = np.maximum(age[pairs.left], age[pairs.right]) >= AGE_TIERS["hot"]
        above &= ~warm | similarity.reaches(pairs.similarity, policy.warm_prune_weight)
    among = np.flatnonzero(above)
    chosen = among[_strongest(live, pairs.left[among], pairs.right[among], pairs.similarity[among], policy)]
    cosine = pl.Series(pairs.similarity[chosen])
    return edge_rows.between(live, pairs.left[chosen], pairs.right[chosen]).with_columns(
        edge_type=pl.lit("SIMILAR_TO"),
        weight=cosine.cast(pl.Float64).clip(0.0, 1.0),
        similarity=cosine,
        algorithm=pl.lit("similarity_join"),
    )


def _strongest(
    live: pl.DataFrame,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weight: NDArray[np.floating[Any]],
    policy: Policy,
) -> NDArray[np.bool_]:
    """Mask of the pairs that are among the `similar_neighbours` strongest of either memory.

    Of equally strong ones those nearest in time count, so that equal notes are linked in a row and not all to one.
    """
    age = edge_rows.by_age(live)
    ends, others = np.concatenate([left, right]), np.concatenate([right, left])
    apart = np.abs(age[ends] - age[others])
    order = np.lexsort((age[others], apart, -np.concatenate([weight, weight]), ends))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(ends[order], ends[order])
    near = place < policy.similar_neighbours
    return near[: len(left)] | near[len(left) :]


def _mentions(
    live: pl.DataFrame, enrichment: Frame[Enrichment], policy: Policy
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of `live` and codes of the rare entities that they mention, by entity and time."""
    text = ["profile_id", "content_hash"]
    mentions = (
        live.with_row_index("row")
        .with_columns(pl.len().over("profile_id").alias("memories"))
        .join(enrichment.select(*text, "entities"), on=text)
        .explode("entities")
        .drop_nulls("entities")
        .unique(["row", "entities"])
        .with_columns(pl.len().over("profile_id", "entities").alias("mentions"))
        .filter(pl.col("mentions") <= policy.reference_share * pl.col("memories") + ROUNDING)
        .sort("profile_id", "entities", "created_at", "row")
    )
    entities = mentions.select(pl.struct("profile_id", "entities").rle_id()).to_series()
    return mentions["row"].cast(pl.Int64).to_numpy(), entities.cast(pl.Int64).to_numpy()


def _references(live: pl.DataFrame, rows: NDArray[np.int64], entities: NDArray[np.int64]) -> pl.DataFrame:
    """Return REFERENCES edges between each mention of an entity and the mentions before it."""
    met = co_occurrence.count_pairs(rows, entities, count=len(live), reach=MENTIONS_LINKED)
    return edge_rows.between(live, met.left, met.right).with_columns(
        edge_type=pl.lit("REFERENCES"), weight=pl.Series(_shared_weight(met.times)), algorithm=pl.lit("shared_entities")
    )


def _mentioned(rows: NDArray[np.int64], entities: NDArray[np.int64], count: int) -> csr_array:
    """Return the sparse matrix of memories by entities."""
    shape = (count, int(entities.max(initial=-1)) + 1)
    return csr_array((np.ones(len(rows), dtype=np.int64), (rows, entities)), shape=shape)


def _across_sessions(live: pl.DataFrame, pairs: Pairs, mentioned: csr_array, policy: Policy) -> pl.DataFrame:
    """Return REFERENCES/cross_session edges (ADR-0008): similar memories of two sessions that share a rare entity."""
    code = live["session_id"].rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
    linkable = (code >= 0) & (np.diff(mentioned.indptr) > 0)
    left, right = pairs.left, pairs.right
    chosen = np.flatnonzero(
        similarity.reaches(pairs.similarity, policy.auto_link_similarity)
        & (code[left] != code[right])
        & linkable[left]
        & linkable[right]
    )
    shared = np.asarray(mentioned[left[chosen]].multiply(mentioned[right[chosen]]).sum(axis=1))
    weight = np.maximum(pairs.similarity[chosen].astype(np.float64), _shared_weight(shared))
    chosen, weight = chosen[shared > 0], weight[shared > 0]
    best = _strongest(live, left[chosen], right[chosen], weight, policy)
    chosen, weight = chosen[best], weight[best]
    cosine = pairs.similarity[chosen]
    return edge_rows.between(live, left[chosen], right[chosen]).with_columns(
        edge_type=pl.lit("REFERENCES"),
        kind=pl.lit("cross_session"),
        weight=pl.Series(weight).clip(0.0, 1.0),
        similarity=pl.Series(cosine),
        algorithm=pl.lit("shared_entities_and_similarity"),
    )


def _shared_weight(count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weight of a number of shared entities: 1 - 1 / (1 + count)."""
    return 1.0 - 1.0 / (1.0 + count.astype(np.float64))
