"""Groups of memories: near duplicates, which one summary can stand for, and memories about one thing.

A group of near duplicates holds no two memories that state different facts: the merge guard has looked at every pair.
What is not here: the comparison of vectors (`similarity`), linking rows without a guard (`grouping`), reading texts
(`text.differences`), and what is made of a group (`summarising`).
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import grouping, similarity
from memory_pipeline.consolidation.scoring import KEY, bars_supersession, days_between
from memory_pipeline.consolidation.similarity import Pairs
from memory_pipeline.lake.schemas import LIVE, TABLES, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text import differences

Rows = NDArray[np.int64]
Space = NDArray[np.float32]

KINDS: Final = {"near_duplicates": "compression", "similarity_components": "meta_pattern"}
"""Kind of the summary that a cluster of each method gets."""
SUPERSEDING: Final = frozenset({"near_duplicates"})
"""Methods whose members leave the live set."""
LABEL_WORDS: Final = 5
NEAREST_REFUSALS: Final = 10
"""Refusals kept of a memory: texts of one template ("order 17 shipped") refuse each other by the million."""
_GUARDED_AT_ONCE: Final = 100_000
"""Pairs that the guard reads at once: bounds the scratch memory."""
_REFUSED_AT_ONCE: Final = 2_000_000
"""Plainly different pairs among which the nearest are looked for at once, likewise."""
_TEXT: Final = ["profile_id", "content_hash"]
_KNOWN: Final = (*KEY, "content_hash", "content", "speaker", "memory_type", "created_at", "valid_from", "valid_until")
_STATED: Final = ("content", "numbers", "dates", "entities", "negated", "valid_from", "valid_until")


@dataclass(frozen=True)
class Clustering:
    """Tables `clusters`, `cluster_members` and `merge_refusals`."""

    clusters: pl.DataFrame
    cluster_members: pl.DataFrame
    merge_refusals: pl.DataFrame


def cluster(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,  # noqa: ARG001 - stages are called alike; groups follow from the state at that instant
    plan_id: str,
) -> Clustering:
    """Group memories by each of the policy's methods, in their order.

    - near_duplicates: live originals that may be superseded, and originals that a live compression already stands for,
      so that a group that grew replaces its summary and one that did not proposes nothing. Cosine at least
      `duplicate_similarity`; components of the pairs that agree, split where two members would disagree; at least
      `duplicate_min_size` memories.
    - similarity_components: live originals with relevance above `cluster_min_relevance`. Members of a group of near
      duplicates made before are left out: they leave the live set in the same run, so the next run finds the same
      clusters. Cosine at least `cluster_similarity`, linked as `linkage` says, `cluster_min_size` to
      `cluster_max_size` memories.

    A memory without a vector, or with one of another length than the others, is in no group.

    Args:
        memories: table `memories`, of any number of profiles under one policy.
        scored: table `scored_memories` of the same state.
        enrichment: table `enrichment`; a text without a row counts as one without facts.
        vectors: table `vectors`; only those of the policy's embedder are read.
        policy: methods, thresholds and sizes.
        as_of: instant of the state.
        plan_id: plan that the rows belong to.

    Returns:
        The three tables. Of a memory's refusals the `NEAREST_REFUSALS` nearest are kept, and of memories that say the
        same word for word the oldest stands for all.

    Cost: the similarity joins, then linear in their pairs; about 25 µs for each pair that the guard looks at.
    """
    points = _points(memories, scored, enrichment, vectors, policy)
    space = similarity.matrix(points["vector"])
    taken = similarity.unknown(space)
    found, refused = [], [TABLES["merge_refusals"].empty()]
    for method in dict.fromkeys(policy.methods):
        if method == "near_duplicates":
            rows = np.flatnonzero(points["mergeable"].to_numpy() & ~taken)
            labels, refusals = _near_duplicates(points[rows], space[rows], policy)
            members = _members(points[rows], labels, method, policy.duplicate_min_size)
            refused.append(refusals)
        else:
            rows = np.flatnonzero(points["relevant"].to_numpy() & ~taken)
            labels = _similar(points[rows], space[rows], policy)
            members = _members(points[rows], labels, method, policy.cluster_min_size)
        if method in SUPERSEDING:
            taken[members["row"].to_numpy()] = True
        found.append(_described(members, space))
    described = pl.concat(found) if found else _described(_members(points[:0], np.arange(0), "", 0), space)
    own = described.with_columns(plan_id=pl.lit(plan_id)).unique(["profile_id", "cluster_id"])
    return Clustering(
        TABLES["clusters"].conform(own),
        TABLES["cluster_members"].conform(described),
        TABLES["merge_refusals"].conform(pl.concat(refused)),
    )


def _points(
    memories: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """Originals that can be in a group, with what is known of their texts, by profile and age; `row` numbers them."""
    live = pl.col("lifecycle").is_in(LIVE)
    standing = memories.filter(live & (pl.col("kind") == KINDS["near_duplicates"])).select(
        "profile_id", superseded_by="memory_id", stood_for=pl.lit(value=True)
    )
    stood_for = (pl.col("lifecycle") == Lifecycle.ARCHIVED.value) & pl.col("stood_for")
    own = vectors.filter(pl.col("model") == policy.embedder).select(*_TEXT, "vector")
    facts = enrichment.select(*_TEXT, "keywords", "entities", "numbers", "dates", "negated")
    return (
        memories.filter(pl.col("kind") == "original")
        .join(standing, on=["profile_id", "superseded_by"], how="left")
        .join(scored.select(*KEY, "relevance"), on=KEY, how="left")
        .with_columns(
            mergeable=((live & ~bars_supersession(policy)) | stood_for).fill_null(value=False),
            relevant=(live & (pl.col("relevance") > policy.cluster_min_relevance)).fill_null(value=False),
        )
        .filter(pl.col("mergeable") | pl.col("relevant"))
        .select(*_KNOWN, "mergeable", "relevant")
        .join(facts, on=_TEXT, how="left")
        .join(own, on=_TEXT, how="left")
        .with_columns(
            pl.col("keywords", "entities", "numbers", "dates").fill_null([]), pl.col("negated").fill_null(value=False)
        )
        .sort("profile_id", "created_at", "memory_id")
        .with_row_index("row")
    )


def _profiles(points: pl.DataFrame) -> Rows:
    """A number for the profile of each row: vectors are compared within one number only."""
    return points["profile_id"].rank("dense").cast(pl.Int64).to_numpy()


def _similar(points: pl.DataFrame, space: Space, policy: Policy) -> Rows:
    """The first row of its cluster for each row."""
    near = similarity.threshold_join(space, _profiles(points), policy.cluster_similarity)
    if policy.linkage == "single":
        return _united(len(points), near, largest=policy.cluster_max_size)
    return grouping.average_linkage(
        space,
        near.left,
        near.right,
        near.similarity,
        minimum=policy.cluster_similarity,
        max_size=policy.cluster_max_size,
    )


def _near_duplicates(points: pl.DataFrame, space: Space, policy: Policy) -> tuple[Rows, pl.DataFrame]:
    """The first row of its group for each row, and the pairs that must not be merged.

    Memories of one text, validity and dates are one node. The guard looks at the near pairs of nodes, then at the pairs
    that others would hold together, until no group holds a pair that disagrees.
    """
    stated = _stated(points).with_row_index("place")
    first = pl.col("place").first().over("profile_id", "content_hash", "valid_from", "valid_until", "dated")
    nodes, node = np.unique(stated.select(first).to_series().to_numpy(), return_inverse=True)
    stated, vectors = stated[nodes], space[nodes]
    near = similarity.threshold_join(vectors, _profiles(stated), policy.duplicate_similarity)
    plain = _plainly_apart(stated, near)
    asked = _take(near, ~plain)
    refused = _disagreeing(stated, asked)
    agreeing = _take(asked, ~_contains(_ends(refused), asked))
    apart = _both(_take(near, plain), _ends(refused))
    while True:
        labels = _united(len(nodes), agreeing, apart=apart)
        inner = _inside(labels)
        inner = _take(inner, ~_contains(asked, inner))
        inner = Pairs(inner.left, inner.right, similarity.pair_similarity(vectors, inner.left, inner.right))
        found = _disagreeing(stated, inner)
        if found.is_empty():
            return nodes[labels][node], _refusals(stated, refused, _take(near, plain))
        asked, refused, apart = _both(asked, inner), pl.concat([refused, found]), _both(apart, _ends(found))


def _stated(points: pl.DataFrame) -> pl.DataFrame:
    """Points with what a memory states beyond its text: the speaker is a name, and "yesterday" is a certain day."""
    spoken = pl.when(pl.col("speaker").is_not_null()).then(pl.concat_list("speaker")).otherwise([])
    settled = differences.settled_dates(points["dates"], points["created_at"])
    return points.with_columns(settled.alias("dates"), pl.col("entities").list.set_union(spoken)).with_columns(
        dated=pl.col("dates").list.join("|")
    )


def _plainly_apart(stated: pl.DataFrame, pairs: Pairs) -> NDArray[np.bool_]:
    """Pairs that name one number each, and not the same, or one day each, and not the same, with the same numbers.

    The guard would say so too. But texts of one template ("order 17 shipped", "order 18 shipped") are near each other
    by the million, and here a pair costs nanoseconds.
    """
    numbers = stated.select(pl.col("numbers").list.join("|").rank("dense")).to_series().to_numpy()
    days = stated["dated"].rank("dense").to_numpy()
    one_number = (stated["numbers"].list.len() == 1).to_numpy()
    one_day = stated["dated"].str.contains("^[0-9]{4}-[0-9]{2}-[0-9]{2}$").to_numpy()
    left, right = pairs.left, pairs.right
    plain: NDArray[np.bool_] = np.where(
        numbers[left] != numbers[right],
        one_number[left] & one_number[right],
        one_day[left] & one_day[right] & (days[left] != days[right]),
    )
    return plain


def _disagreeing(stated: pl.DataFrame, pairs: Pairs) -> pl.DataFrame:
    """Those of the pairs that state different facts: left, right, similarity, reason, detail (smaller id first)."""
    unsaid = pl.lit(None, pl.String)
    judged = [_frame(_take(pairs, slice(0))).with_columns(reason=unsaid, detail=unsaid)]
    ids = stated["memory_id"].rank("dense").to_numpy()
    for part in (_take(pairs, slice(at, at + _GUARDED_AT_ONCE)) for at in range(0, len(pairs), _GUARDED_AT_ONCE)):
        ordered = ids[part.left] < ids[part.right]
        ends = {"left": np.where(ordered, part.left, part.right), "right": np.where(ordered, part.right, part.left)}
        sides = [stated[end].select(pl.col(_STATED).name.prefix(f"{side}_")) for side, end in ends.items()]
        verdicts = differences.disagreements(pl.concat(sides, how="horizontal")).select("reason", "detail")
        judged.append(_frame(part).hstack(verdicts).drop_nulls("reason"))
    return pl.concat(judged)


def _refusals(stated: pl.DataFrame, refused: pl.DataFrame, plain: Pairs) -> pl.DataFrame:
    """Table `merge_refusals`: the refused pairs, and of those that are plainly apart, among the nearest of a node."""
    kept = _frame(_take(plain, slice(0)))
    for start in range(0, len(plain), _REFUSED_AT_ONCE):
        kept = _nearest(pl.concat([kept, _frame(_take(plain, slice(start, start + _REFUSED_AT_ONCE)))]))
    kept = _nearest(pl.concat([refused, _disagreeing(stated, _ends(kept))]))
    one, two = (stated["memory_id"].gather(kept[side]) for side in ("left", "right"))
    return TABLES["merge_refusals"].conform(
        kept.with_columns(stated["profile_id"].gather(kept["left"]), one=one, two=two).with_columns(
            memory_id=pl.min_horizontal("one", "two"), other_id=pl.max_horizontal("one", "two")
        )
    )


def _nearest(refused: pl.DataFrame) -> pl.DataFrame:
    """Pairs that are among the nearest of one of their two nodes, the nearest first."""
    ordered = refused.sort("similarity", "left", "right", descending=[True, False, False]).with_row_index("pair")
    ends = pl.concat([ordered.select("pair", node=side) for side in ("left", "right")]).sort("pair")
    near = ends.filter(pl.col("pair").cum_count().over("node") <= NEAREST_REFUSALS)
    return ordered.join(near, on="pair", how="semi", maintain_order="left").drop("pair")


def _united(n: int, near: Pairs, *, apart: Pairs | None = None, largest: int | None = None) -> Rows:
    """Components of pairs, split so that none holds a pair of `apart` or more than `largest` rows.

    Where one would, the closest pairs unite first, ties to the oldest, and a pair that would bring together what must
    stay apart does not.

    Returns:
        The first row of its group for each row. Cost: linear, with about 2 µs for each pair of a component to be split.
    """
    labels = grouping.components(n, near.left, near.right)
    broken = np.bincount(labels, minlength=n) > (n if largest is None else largest)
    enemies: dict[int, set[int]] = defaultdict(set)
    if apart is not None:
        apart = _take(apart, labels[apart.left] == labels[apart.right])
        broken[labels[apart.left]] = True
        for one, other in zip(apart.left.tolist(), apart.right.tolist(), strict=True):
            enemies[one].add(other)
            enemies[other].add(one)
    torn = np.flatnonzero(broken[labels])
    near = _take(near, broken[labels[near.left]])
    roots = _roots(
        _take(near, np.lexsort((near.right, near.left, -near.similarity))), enemies, n if largest is None else largest
    )
    _, first, group = np.unique([roots.get(row, row) for row in torn.tolist()], return_index=True, return_inverse=True)
    labels[torn] = torn[first[group]] if len(torn) else torn
    return labels


def _roots(near: Pairs, enemies: dict[int, set[int]], limit: int) -> dict[int, int]:
    """Unite the ends of pairs in order, unless enemies would meet or a group outgrow the limit: a root for each row."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = defaultdict(lambda: 1)

    def root(row: int) -> int:
        while (parent := parents.get(row, row)) != row:
            parents[row] = row = parents.get(parent, parent)
        return row

    for left, right in zip(near.left.tolist(), near.right.tolist(), strict=True):
        kept, gone = sorted((root(left), root(right)), key=lambda row: (-len(enemies[row]), row))
        if kept == gone or gone in enemies[kept] or sizes[kept] + sizes[gone] > limit:
            continue
        parents[gone] = kept
        sizes[kept] += sizes[gone]
        for enemy in enemies.pop(gone):
            enemies[enemy].discard(gone)
            enemies[enemy].add(kept)
            enemies[kept].add(enemy)
    return {row: root(row) for row in parents}


def _inside(labels: Rows) -> Pairs:
    """All pairs of rows of one group, without similarities; rows that stand `lag` places apart, for every lag."""
    order = np.argsort(labels, kind="stable")
    grouped = labels[order]
    found = [np.empty((2, 0), dtype=np.int64)]
    for lag in range(1, int(np.bincount(labels).max(initial=0))):
        here = np.flatnonzero(grouped[lag:] == grouped[:-lag])
        found.append(np.stack([order[here], order[here + lag]]))
    left, right = np.concatenate(found, axis=1)
    return Pairs(left, right, np.empty(len(left), dtype=np.float32))


def _take(pairs: Pairs, which: NDArray[np.bool_] | Rows | slice) -> Pairs:
    return Pairs(pairs.left[which], pairs.right[which], pairs.similarity[which])


def _both(one: Pairs, other: Pairs) -> Pairs:
    return Pairs(
        np.concatenate([one.left, other.left]),
        np.concatenate([one.right, other.right]),
        np.concatenate([one.similarity, other.similarity]),
    )


def _contains(pairs: Pairs, asked: Pairs) -> NDArray[np.bool_]:
    """Which of the pairs asked about are among `pairs`; left is below right in both."""
    n = 1 + max(int(pairs.right.max(initial=0)), int(asked.right.max(initial=0)))
    found: NDArray[np.bool_] = np.isin(asked.left * n + asked.right, pairs.left * n + pairs.right)
    return found


def _frame(pairs: Pairs) -> pl.DataFrame:
    return pl.DataFrame({"left": pairs.left, "right": pairs.right, "similarity": pairs.similarity})


def _ends(refused: pl.DataFrame) -> Pairs:
    return Pairs(*(refused[name].to_numpy() for name in ("left", "right", "similarity")))


def _members(points: pl.DataFrame, labels: Rows, method: str, least: int) -> pl.DataFrame:
    """Rows of groups of at least `least`, with `cluster_id` and `method`.

    Raises:
        RuntimeError: a group spans two profiles; nothing may be built on it.
    """
    grouped = points.with_columns(group=pl.Series(labels, dtype=pl.Int64), method=pl.lit(method)).filter(
        pl.len().over("group") >= least
    )
    groups = grouped.group_by("group").agg(
        pl.col("profile_id").n_unique().alias("profiles"), pl.col("memory_id").sort().alias("members")
    )
    if mixed := groups.filter(pl.col("profiles") > 1)["members"].to_list():
        raise RuntimeError(f"the cluster of memories {mixed[0]} spans profiles; report this, and do not use the result")
    ids = [cluster_id(method, members) for members in groups["members"]]
    return grouped.join(
        groups.select("group", cluster_id=pl.Series(ids, dtype=pl.String)), on="group", maintain_order="left"
    )


def cluster_id(method: str, members: Iterable[str]) -> str:
    """Id of a cluster: 32 hex digits of the SHA-256 of its method and its members' ids in order."""
    return hashlib.sha256("\x1f".join([method, *members]).encode()).hexdigest()[:32]


def _described(members: pl.DataFrame, space: Space) -> pl.DataFrame:
    """Members with what their cluster is like: label, dominant type, size, span and cohesion."""
    tight = grouping.cohesion(members["group"].to_numpy(), space[members["row"].to_numpy()])
    types = members.group_by("group", "memory_type").len().sort("len", "memory_type", descending=[True, False])
    dominant = types.group_by("group", maintain_order=True).agg(dominant_type=pl.col("memory_type").first())
    span = days_between(pl.col("created_at").min(), pl.col("created_at").max())
    return (
        members.join(dominant, on="group", how="left", maintain_order="left")
        .join(_labels(members), on="group", how="left", maintain_order="left")
        .with_columns(
            pl.col("label").fill_null(pl.col("dominant_type")),
            pl.len().over("group").cast(pl.Int64).alias("cluster_size"),
            span.over("group").alias("temporal_span_days"),
            pl.Series("cohesion", tight, dtype=pl.Float64),
        )
    )


def _labels(members: pl.DataFrame) -> pl.DataFrame:
    """The keywords that most members of a group share, the most telling first; single ones where they share none."""
    ranked = members.select("group", "keywords", rank=pl.int_ranges(pl.col("keywords").list.len())).explode(
        "keywords", "rank"
    )
    return (
        ranked.drop_nulls()
        .group_by("group", "keywords")
        .agg(count=pl.len(), rank=pl.col("rank").sum())
        .filter((pl.col("count") > 1) | (pl.col("count").max().over("group") == 1))
        .sort("count", "rank", "keywords", descending=[True, False, False])
        .group_by("group", maintain_order=True)
        .agg(label=pl.col("keywords").head(LABEL_WORDS).str.join(", "))
    )
