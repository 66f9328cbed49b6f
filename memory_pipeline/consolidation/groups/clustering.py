"""Clusters memories: prepares the memories that can be grouped, runs the methods, and describes the groups.

Not here: the methods themselves (`strategies`, one module each), and the summaries of groups (`summarising`).
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import judging, languages, similarity, whereabouts
from memory_pipeline.consolidation.columns import KEY, days_between
from memory_pipeline.consolidation.groups import labels, linkage, method_reuse
from memory_pipeline.consolidation.groups.strategies import KINDS, STRATEGIES, near_duplicates
from memory_pipeline.consolidation.groups.strategies.strategy import ClusteringInput, Space
from memory_pipeline.consolidation.scoring import bars_supersession
from memory_pipeline.consolidation.state import answers
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame, Lifecycle, Vectors
from memory_pipeline.settings import Policy
from memory_pipeline.text.score import importance

_TEXT: Final = ["profile_id", "content_hash"]
_KNOWN: Final = (
    *(*KEY, "content_hash", "content", "speaker", "memory_type", "category", "created_at", "valid_from", "valid_until"),
    *("session_id", "agent_id", "user_id", "superseded_by"),
)
"""Columns of `memories` that the methods and the descriptions use."""
_EXTRAS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "level": pl.String,
    "parent": pl.Int64,
    "strength": pl.Float64,
    "first_coactivated_at": INSTANT,
}
"""Columns that only some methods fill."""


@dataclass(frozen=True)
class Clustering:
    """The tables of these names."""

    clusters: pl.DataFrame
    cluster_members: pl.DataFrame
    merge_refusals: pl.DataFrame
    groupings: pl.DataFrame


def cluster(
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    enrichment: Frame[schemas.Enrichment],
    vectors: Frame[schemas.Vectors],
    edges: Frame[schemas.AssociationEdges],
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
    kept: Frame[schemas.Groupings] | None = None,
    neighbours: Frame[schemas.Neighbours] | None = None,
    answered: pl.DataFrame | None = None,
    read: pl.DataFrame | None = None,
) -> Clustering:
    """Group memories by each of the policy's methods.

    Each method is documented in its own module of `strategies`. They run in the order of the registry and not in that
    of the policy: methods whose summaries supersede come first, and the memories they take are left out of later
    methods, so that the next run, which finds them superseded, finds the same clusters. Summaries are never members, no
    group spans two profiles, and a memory without a vector (or with one of another length) is in no group that needs
    one.

    Args:
        edges: table `association_edges` at present weight; COACTIVATED and CONTRADICTS are read.
        kept: table `groupings` as any earlier run left it; default: none.
        neighbours: table `neighbours` of the same memories, if it holds all pairs from `duplicate_similarity` on;
            default: it does not, and near duplicates are compared anew.
        answered: answers about pairs of memories, as `answers.standing` returns them; default: none.
        read: rows of `pair_readings` of texts that repeat each other (see `judging.first_repeats`); default: none.

    Cost: the similarity joins, then linear in their pairs; for a profile in which a method would read what it read
    before, a digest of that.
    """
    points = _points(memories, scored, enrichment, vectors, policy, as_of)
    space = similarity.matrix(points["vector"])
    comparable, free = ~similarity.unknown(space), np.ones(len(points), dtype=np.bool_)
    repeats = _repeats(points, read, answered, policy)
    described_parts, refusals = list[pl.DataFrame](), list[pl.DataFrame]()
    groupings = [TABLES["groupings"].empty()]
    for method, strategy in STRATEGIES.items():
        if method not in policy.methods:
            continue
        inputs = ClusteringInput(
            points=points,
            space=space,
            comparable=comparable,
            free=free,
            edges=edges,
            policy=policy,
            repeats=repeats,
            neighbours=neighbours,
        )
        groups, found = method_reuse.grouped(method, strategy, inputs, kept=kept)
        groupings.append(found)
        if groups.members.height:
            described_parts.append(_described(_named(points, groups.members, method), space))
        refusals.append(groups.refusals)
        if strategy.supersedes and method in policy.summarised:
            free = free & ~np.isin(np.arange(len(points)), groups.members["row"].to_numpy())
    nobody = points.select("row", group="row").clear()
    described = pl.concat(described_parts or [_described(_named(points, nobody, ""), space)])
    one_per_cluster = described.with_columns(plan_id=pl.lit(plan_id)).unique(["profile_id", "cluster_id"])
    return Clustering(
        TABLES["clusters"].conform(one_per_cluster),
        TABLES["cluster_members"].conform(described),
        TABLES["merge_refusals"].conform(pl.concat([TABLES["merge_refusals"].empty(), *refusals])),
        TABLES["groupings"].conform(pl.concat(groupings)),
    )


def _repeats(
    points: pl.DataFrame, read: pl.DataFrame | None, answered: pl.DataFrame | None, policy: Policy
) -> pl.DataFrame:
    """Return the pairs of memories that say the same: profile_id, `answers.PAIR`, and `told` if somebody answered so.

    An answer outranks what was read. Of memories with the same text, owner and place the oldest stands for all. The
    same words of another day are a repeat only if the reader is sure: they may tell of another occasion.
    """
    pair = ["profile_id", *answers.PAIR]
    given = pl.DataFrame(schema=dict.fromkeys((*pair, "relation"), pl.String)) if answered is None else answered
    recorded = TABLES["pair_readings"].empty() if read is None else read
    sure = recorded.filter(pl.col("numbers").list.first() >= policy.merge_confidence)
    copies = [*near_duplicates.KIN, "content_hash"]
    oldest = points.select(*copies, "memory_id").unique(copies, keep="first", maintain_order=True)
    older, newer = (oldest.rename({"content_hash": f"{side}_hash", "memory_id": side}) for side in ("older", "newer"))
    found = sure.join(older, on=["profile_id", "older_hash"]).join(
        newer, on=[*near_duplicates.KIN, "newer_hash"], nulls_equal=True
    )
    ends = ["older", "newer"]
    again = sure.filter(pl.col("older_hash") == pl.col("newer_hash")).select("profile_id", content_hash="older_hash")
    repeated = points.join(again, on=["profile_id", "content_hash"], how="semi").select(*copies, newer="memory_id")
    same_words = repeated.join(oldest.rename({"memory_id": "older"}), on=copies, nulls_equal=True)
    told = pl.col("model") == judging.ANSWERED_REPEATS
    both = pl.concat(
        [
            found.select("profile_id", *ends, told=told),
            same_words.select("profile_id", *ends, told=pl.lit(value=False)),
        ]
    )
    named = both.select("profile_id", "told", low=pl.min_horizontal(ends), high=pl.max_horizontal(ends))
    read_so = named.group_by(pair).agg(pl.col("told").any())
    said = given.filter(pl.col("relation") == "repeat").select(*pair, told=pl.lit(value=True))
    return pl.concat([said, read_so.join(given, on=pair, how="anti")])


def cluster_id(method: str, members: Iterable[str], level: str | None = None) -> str:
    """Return the id of a cluster: 32 hex digits of the SHA-256 of its method, level if any, and sorted members."""
    parts = [method, *([level] if level else []), *members]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]


def _points(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: Frame[Vectors],
    policy: Policy,
    as_of: datetime,
) -> pl.DataFrame:
    """Return originals that can be grouped, with the features of their texts, by profile and age, numbered by `row`."""
    live = pl.col("lifecycle").is_in(LIVE)
    stub = pl.col("lifecycle") == Lifecycle.STUB.value  # its text is cut, so its facts are unknown
    summaries = memories.filter(live).select("profile_id", superseded_by="memory_id", stands="kind")
    originals = memories.filter((pl.col("kind") == "original") & (pl.col("lifecycle") != Lifecycle.DELETED.value))
    has_begun = pl.col("valid_from").is_null() | (pl.col("valid_from") <= pl.lit(as_of, dtype=INSTANT))
    embedded = vectors.filter(pl.col("model") == policy.embedder).select(*_TEXT, "vector")
    facts = enrichment.select(*_TEXT, "keywords", "entities", "numbers", "dates", "negated")
    return (
        originals.with_columns(
            judged=languages.judged(originals, enrichment),
            live=live,
            mergeable=live & has_begun & pl.col("closed_by").is_null() & ~bars_supersession(policy),
            file=whereabouts.file(),
            heading=whereabouts.heading(),
            project=whereabouts.project(),
        )
        .join(summaries, on=["profile_id", "superseded_by"], how="left")
        .select(
            *(*_KNOWN, "live", "mergeable", "judged", "file", "heading", "project"),
            *(
                ((pl.col("stands") == kind).fill_null(value=False) & ~pl.col("live") & ~stub).alias(name)
                for name, kind in (("compressed", KINDS["near_duplicates"]), ("in_agent_summary", "agent"))
            ),
        )
        .join(importance.effective(originals, enrichment), on=KEY, how="left")
        .join(scored.select(*KEY, "relevance", "retention"), on=KEY, how="left")
        .join(facts, on=_TEXT, how="left")
        .join(embedded, on=_TEXT, how="left")
        .with_columns(
            pl.col("keywords", "entities", "numbers", "dates").fill_null([]), pl.col("negated").fill_null(value=False)
        )
        .sort("profile_id", "created_at", "memory_id")
        .with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    )


def _named(points: pl.DataFrame, members: pl.DataFrame, method: str) -> pl.DataFrame:
    """Return members with the columns of `_KNOWN`, the id of their cluster and that of its parent.

    Raises RuntimeError: a group spans two profiles; no result may be built on it.
    """
    missing = [pl.lit(None, kind).alias(name) for name, kind in _EXTRAS.items() if name not in members.columns]
    grouped = members.with_columns(*missing, method=pl.lit(method)).join(points, on="row", maintain_order="left")
    groups = grouped.group_by("group", maintain_order=True).agg(
        pl.col("profile_id").n_unique().alias("profiles"),
        pl.col("level").first(),
        pl.col("memory_id").sort().alias("members"),
    )
    if mixed := groups.filter(pl.col("profiles") > 1)["members"].to_list():
        raise RuntimeError(f"the cluster of memories {mixed[0]} spans profiles; report this, and do not use the result")
    ids = [cluster_id(method, members, level) for level, members in groups.select("level", "members").iter_rows()]
    named = groups.select("group", cluster_id=pl.Series(ids, dtype=pl.String))
    parents = named.select(parent="group", parent_id="cluster_id")
    return (
        grouped.join(named, on="group", maintain_order="left")
        .join(parents, on="parent", how="left", maintain_order="left")
        .select(*_KNOWN, "row", "group", "method", "keywords", *_EXTRAS, "cluster_id", "parent_id")
    )


def _described(members: pl.DataFrame, space: Space) -> pl.DataFrame:
    """Return members with a description of their cluster: label, dominant type, size, time span and cohesion."""
    cohesion = linkage.cohesion(members["group"].to_numpy(), space[members["row"].to_numpy()])
    types = members.group_by("group", "memory_type").len().sort("len", "memory_type", descending=[True, False])
    dominant = types.group_by("group", maintain_order=True).agg(dominant_type=pl.col("memory_type").first())
    span_days = days_between(pl.col("created_at").min(), pl.col("created_at").max())
    return (
        members.join(dominant, on="group", how="left", maintain_order="left")
        .join(labels.labels(members), on="group", how="left", maintain_order="left")
        .with_columns(
            pl.col("label").fill_null(pl.col("dominant_type")),
            pl.len().over("group").cast(pl.Int64).alias("cluster_size"),
            span_days.over("group").alias("temporal_span_days"),
            pl.Series("cohesion", cohesion, dtype=pl.Float64).fill_nan(None),
        )
    )
