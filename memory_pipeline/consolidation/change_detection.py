"""Finds newer memories that update older ones, and memories that contradict each other.

Only memories of one profile are compared, and only if they share enough informative words or are similar. Not here: how
two texts are compared (`text.compare.changes`), and what a plan makes of the result (`planning`).
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.consolidation import languages, similarity
from memory_pipeline.schemas import INSTANT, LIVE, TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import changes
from memory_pipeline.text.compare.statement_pair import MIN_SHARED_WEIGHT
from memory_pipeline.text.parse.speakers import by_assistant

Rows = NDArray[np.int64]

MOST_SHARED: Final = 128
"""A word in more memories than this pairs each of them only with the `NEAREST_BEFORE` memories before it."""
NEAREST_BEFORE: Final = 12
"""Earlier memories paired by a frequent word."""
MOST_CANDIDATES: Final = 48
"""Maximum number of older memories compared with each memory: those that share most with it."""
SURE: Final = 0.05
"""Updates whose confidence differs by no more count as equally sure; the earliest of them wins."""
_ROWS_AT_ONCE: Final = 2048
_PAIRS_AT_ONCE: Final = 100_000
"""Memories and pairs processed at once; bounds the scratch memory."""


def compare(
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    edges: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Find memories whose fact a newer memory changes (update), and memories that contradict each other (conflict).

    Live originals and compressions of people's statements are compared. The older one is the one valid earlier
    (valid_from, else created_at, then seq). Of memories valid from the same instant, neither updates the other unless
    it announces a change.

    Args:
        memories: table `memories`.
        enrichment: table `enrichment`; what is in a language without full rules is not compared.
        vectors: table `vectors`; only those of the policy's embedder are read.
        edges: table `association_edges`; pairs joined by SIMILAR_TO are compared too.
        policy: whether facts are compared (`fact_changes`), and the minimum confidence.
        as_of: instant of the state; memories valid only later change nothing yet.
        plan_id: plan that the rows belong to.

    Returns:
        Rows of `fact_changes`. A memory has at most one update: the earliest among the surest. A memory closed by a
        committed update is not compared with anything newer than its successor.

    Cost: linear in the memories, because the candidates per memory are bounded: about 0.5 ms per short memory.
    """
    points = _points(memories, enrichment, as_of)
    if not policy.fact_changes or len(points) < 2:  # noqa: PLR2004
        return TABLES["fact_changes"].empty()
    groups = (points["profile_id"].rank("dense") - 1).cast(pl.Int64).to_numpy()
    reading = changes.parse(points["content"], instants=points["created_at"], groups=groups)
    older, newer = _candidates(reading, points, edges)
    judged = pl.concat(_judged(reading, points, older[part], newer[part]) for part in _parts(len(older)))
    found = _standing(judged.filter(pl.col("confidence") >= policy.fact_confidence), points)
    return TABLES["fact_changes"].conform(
        _described(found, points, vectors, policy).with_columns(plan_id=pl.lit(plan_id))
    )


def _points(memories: pl.DataFrame, enrichment: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Return comparable memories by profile and start of validity (`since`); `row` numbers them."""
    spoken = pl.col("kind").is_in(["original", "compression"])
    return (
        memories.filter(
            pl.col("lifecycle").is_in(LIVE)
            & spoken
            & ~by_assistant(pl.col("speaker"))
            & languages.judged(memories, enrichment)
        )
        .with_columns(created_at=pl.coalesce("said_at", "created_at"))
        .with_columns(since=pl.coalesce("valid_from", "created_at"))
        .filter(pl.col("since") <= pl.lit(as_of, dtype=INSTANT))
        .sort("profile_id", "since", "seq", "memory_id")
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64))
    )


def _parts(count: int, size: int = _PAIRS_AT_ONCE) -> list[slice]:
    """Return slices of at most `size` items; at least one slice, even of nothing."""
    return [slice(start, start + size) for start in range(0, max(count, 1), size)]


def _candidates(reading: changes.ParsedTexts, points: pl.DataFrame, edges: pl.DataFrame) -> tuple[Rows, Rows]:
    """Return pairs worth comparing, (older, newer) rows, each once."""
    pairs = np.concatenate([_sharing(reading, len(points)), _similar(points, edges)])
    older, newer = np.unique(pairs, axis=0).T
    return older, newer


def _sharing(reading: changes.ParsedTexts, count: int) -> Rows:
    """Return pairs of rows that share informative words, [n, 2], older first."""
    terms = (
        reading.terms.select("row", "group", "root", "weight")
        .unique()
        .with_columns(memories=pl.len().over("group", "root"))
        .filter(pl.col("memories") > 1)
        .sort("group", "root", "row")
        .with_columns(key=pl.struct("group", "root").rle_id().cast(pl.Int64))
    )
    key, rows, weight = (terms[name].to_numpy() for name in ("key", "row", "weight"))
    rare = terms["memories"].to_numpy() <= MOST_SHARED
    places, shape = (rows[rare], key[rare]), (count, int(key.max(initial=0)) + 1)
    occurrence = sparse.csr_matrix((np.ones(len(places[0])), places), shape=shape)
    weighted = sparse.csr_matrix((weight[rare].astype(np.float64), places), shape=shape)
    latest = _latest(rows[~rare], key[~rare], weight[~rare], count)
    pairs = []
    for part in _parts(count, _ROWS_AT_ONCE):
        block = (weighted[part] @ occurrence.T).tocoo()
        near = slice(*np.searchsorted(latest[:, 1], [part.start, part.stop]))
        older = np.concatenate([block.col, latest[near, 0]])
        newer = np.concatenate([block.row + part.start, latest[near, 1]])
        pairs.append(_most(older, newer, np.concatenate([block.data, latest[near, 2]]), count))
    return np.concatenate(pairs)


def _latest(rows: Rows, key: Rows, weight: Rows, count: int) -> Rows:
    """Return pairs by frequent words, by memory: each memory with the latest ones before it, and the word's weight."""
    blocks = [np.empty((0, 3), dtype=np.int64)]
    for lag in range(1, NEAREST_BEFORE + 1):
        same = key[lag:] == key[:-lag]
        blocks.append(np.stack([rows[:-lag][same], rows[lag:][same], weight[lag:][same]], axis=1))
    pairs = np.concatenate(blocks)
    return pairs[np.argsort(pairs[:, 1] * count + pairs[:, 0], kind="stable")]


def _most(older: Rows, newer: Rows, weight: NDArray[np.float64], count: int) -> Rows:
    """Keep for each newer row the `MOST_CANDIDATES` older rows that share most with it; ties go to the later one."""
    earlier = older < newer
    code, place = np.unique(newer[earlier] * count + older[earlier], return_inverse=True)
    total = np.bincount(place, weights=weight[earlier], minlength=len(code))
    newer, older = np.divmod(code, count)
    order = np.lexsort((-older, -total, newer))
    rank = np.arange(len(order)) - np.searchsorted(newer[order], newer[order])
    best = order[(rank < MOST_CANDIDATES) & (total[order] >= MIN_SHARED_WEIGHT)]
    return np.stack([older[best], newer[best]], axis=1)


def _similar(points: pl.DataFrame, edges: pl.DataFrame) -> Rows:
    """Return pairs of rows joined by SIMILAR_TO, [n, 2], older first: for each newer row the most similar ones."""
    place = points.select("profile_id", "memory_id", "row")
    joined = (
        edges.filter(pl.col("edge_type") == "SIMILAR_TO")
        .join(place.rename({"memory_id": "source", "row": "one"}), on=["profile_id", "source"])
        .join(place.rename({"memory_id": "target", "row": "other"}), on=["profile_id", "target"])
        .select("similarity", older=pl.min_horizontal("one", "other"), newer=pl.max_horizontal("one", "other"))
        .sort("newer", "similarity", "older", descending=[False, True, True], nulls_last=True)
        .group_by("newer", maintain_order=True)
        .head(MOST_CANDIDATES)
    )
    return joined.select("older", "newer").to_numpy().reshape(-1, 2)


def _judged(reading: changes.ParsedTexts, points: pl.DataFrame, older: Rows, newer: Rows) -> pl.DataFrame:
    """Return the related pairs with their relation."""
    since = points["since"].to_physical().to_numpy()
    verdicts = changes.judge(reading, older, newer, speakers=points["speaker"], ordered=since[older] < since[newer])
    pairs = verdicts.with_columns(older=pl.Series(older, dtype=pl.Int64), newer=pl.Series(newer, dtype=pl.Int64))
    return pairs.filter(pl.col("relation") != "unrelated")


def _standing(judged: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Drop pairs that are settled: newer than the older memory's successor, or begun after the older one ended."""
    ends = points.select("row", "profile_id", "memory_id", "since", "valid_until", "superseded_by", "superseded_kind")
    successors = ends.select("profile_id", superseded_by="memory_id", successor="row")
    ends = ends.join(successors, on=["profile_id", "superseded_by"], how="left", maintain_order="left")
    closed = pl.col("superseded_kind").eq_missing("update")
    passed = closed & (pl.col("newer") > pl.col("successor"))
    over = ~closed & (pl.col("valid_until") <= pl.col("at"))
    return (
        judged.join(ends.rename({"row": "older"}).drop("since"), on="older", how="left", maintain_order="left")
        .join(ends.select(newer="row", at="since", other_id="memory_id"), on="newer", how="left", maintain_order="left")
        .filter(~(passed | over).fill_null(value=False))
        .sort("older", "newer")
        .filter((pl.col("relation") == "conflict") | (pl.col("newer") == _first_sure().over("older")))
    )


def _first_sure() -> pl.Expr:
    """Return the earliest of the updates that are about as confident as the best."""
    update = pl.col("relation") == "update"
    sure = pl.col("confidence") >= pl.col("confidence").filter(update).max() - SURE
    return pl.col("newer").filter(update & sure).min()


def _described(pairs: pl.DataFrame, points: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Add the exact cosine, null where unknown, and a readable reason."""
    members = np.unique(pairs.select("older", "newer").to_numpy())
    embedded = vectors.filter(pl.col("model") == policy.embedder).select("profile_id", "content_hash", "vector")
    ends = points[members].join(embedded, on=["profile_id", "content_hash"], how="left", maintain_order="left")
    left, right = (np.searchsorted(members, pairs[name].to_numpy()) for name in ("older", "newer"))
    cosine = similarity.pair_similarity(similarity.matrix(ends["vector"]), left, right)
    about = pl.format(" ({})", "attribute").fill_null("")
    newer = pl.format("A newer memory says '{}' where this one says '{}'{}.", "other_value", "value", about)
    both = pl.format("'{}' and '{}' contradict each other{}.", "value", "other_value", about)
    return pairs.with_columns(
        similarity=pl.Series(cosine).fill_nan(None),
        decided=pl.col("relation") == "update",
        statement=pl.lit(None, pl.String),
        reason=pl.when(pl.col("relation") == "update").then(newer).otherwise(both),
    )
