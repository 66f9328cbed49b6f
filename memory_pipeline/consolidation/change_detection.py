"""What holds when: newer memories that close older ones, and memories that contradict each other.

Only memories of one profile are compared, and only those that share enough telling words or are similar. What is not
here: how two texts are compared (`text.changes`), and what a plan makes of it (`planning`).
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.consolidation import similarity
from memory_pipeline.schemas import INSTANT, LIVE, TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import changes
from memory_pipeline.text.compare.cases import LEAST_SHARED

Rows = NDArray[np.int64]

MACHINES: Final = ("assistant", "ai", "bot", "agent", "system", "model", "tool", "chatbot")
"""Speakers whose memories are advice and repetition rather than facts of anybody: they are not compared."""
MOST_SHARED: Final = 128
"""A word in more memories than this pairs each of them only with the `NEAREST_BEFORE` before it."""
NEAREST_BEFORE: Final = 12
MOST_CANDIDATES: Final = 48
"""Older memories with which one is compared: those that share most with it."""
SURE: Final = 0.05
"""Updates of one memory whose confidence differs by no more are equally sure: the first of them counts."""
_ROWS_AT_ONCE: Final = 2048
_PAIRS_AT_ONCE: Final = 100_000
"""Memories and pairs that are looked at together: bounds the scratch memory."""


def compare(
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,  # noqa: ARG001 - stages are called alike; statements are read from the texts
    vectors: pl.DataFrame,
    edges: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Find memories whose fact a newer one changes (update), and memories that contradict each other (conflict).

    Live originals that people said are compared, the older being the one that began to hold earlier (valid_from, else
    created_at, then seq). Of memories that began at one instant none updates the other unless it announces a change.

    Args:
        memories: table `memories`.
        enrichment: table `enrichment`.
        vectors: table `vectors`; only those of the policy's embedder are read.
        edges: table `association_edges`; what SIMILAR_TO joins is compared too.
        policy: `fact_changes` off: nothing is looked for; how sure a change must be.
        as_of: instant of the state; what begins to hold later changes nothing yet.
        plan_id: plan that the rows belong to.

    Returns:
        Rows of `fact_changes`. An older memory has at most one update: by the first of the newer ones that are surest
        to change its fact. One that a committed update closed is not compared with what is newer than its successor.

    Cost: linear in the memories, for candidates are bounded for each: about 0.5 ms a short memory.
    """
    points = _points(memories, as_of)
    if not policy.fact_changes or len(points) < 2:  # noqa: PLR2004
        return TABLES["fact_changes"].empty()
    groups = (points["profile_id"].rank("dense") - 1).cast(pl.Int64).to_numpy()
    reading = changes.read(points["content"], instants=points["created_at"], groups=groups)
    older, newer = _candidates(reading, points, edges)
    judged = pl.concat(_judged(reading, points, older[part], newer[part]) for part in _parts(len(older)))
    found = _standing(judged.filter(pl.col("confidence") >= policy.fact_confidence), points)
    return TABLES["fact_changes"].conform(
        _described(found, points, vectors, policy).with_columns(plan_id=pl.lit(plan_id))
    )


def _points(memories: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """What people said and is live, also as merged, with `since` when each holds, by profile and age; `row` numbers."""
    machine = pl.col("speaker").str.to_lowercase().is_in(MACHINES).fill_null(value=False)
    said = pl.col("kind").is_in(["original", "compression"])
    return (
        memories.filter(pl.col("lifecycle").is_in(LIVE) & said & ~machine)
        .with_columns(created_at=pl.coalesce("said_at", "created_at"))
        .with_columns(since=pl.coalesce("valid_from", "created_at"))
        .filter(pl.col("since") <= pl.lit(as_of, dtype=INSTANT))
        .sort("profile_id", "since", "seq", "memory_id")
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64))
    )


def _parts(count: int, size: int = _PAIRS_AT_ONCE) -> list[slice]:
    """Slices of so many; one even of nothing."""
    return [slice(start, start + size) for start in range(0, max(count, 1), size)]


def _candidates(reading: changes.Reading, points: pl.DataFrame, edges: pl.DataFrame) -> tuple[Rows, Rows]:
    """Pairs worth comparing, older and newer row, each once."""
    pairs = np.concatenate([_sharing(reading, len(points)), _similar(points, edges)])
    older, newer = np.unique(pairs, axis=0).T
    return older, newer


def _sharing(reading: changes.Reading, count: int) -> Rows:
    """Pairs of rows that share telling words, [n, 2], older first."""
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
    has = sparse.csr_matrix((np.ones(len(places[0])), places), shape=shape)
    weighed = sparse.csr_matrix((weight[rare].astype(np.float64), places), shape=shape)
    latest = _latest(rows[~rare], key[~rare], weight[~rare], count)
    found = []
    for part in _parts(count, _ROWS_AT_ONCE):
        block = (weighed[part] @ has.T).tocoo()
        near = slice(*np.searchsorted(latest[:, 1], [part.start, part.stop]))
        older = np.concatenate([block.col, latest[near, 0]])
        newer = np.concatenate([block.row + part.start, latest[near, 1]])
        found.append(_most(older, newer, np.concatenate([block.data, latest[near, 2]]), count))
    return np.concatenate(found)


def _latest(rows: Rows, key: Rows, weight: Rows, count: int) -> Rows:
    """Of words that many memories share: each memory with the latest before it and the word's weight, by memory."""
    found = [np.empty((0, 3), dtype=np.int64)]
    for lag in range(1, NEAREST_BEFORE + 1):
        same = key[lag:] == key[:-lag]
        found.append(np.stack([rows[:-lag][same], rows[lag:][same], weight[lag:][same]], axis=1))
    pairs = np.concatenate(found)
    return pairs[np.argsort(pairs[:, 1] * count + pairs[:, 0], kind="stable")]


def _most(older: Rows, newer: Rows, weight: NDArray[np.float64], count: int) -> Rows:
    """Of each newer row the `MOST_CANDIDATES` older ones that share most with it, ties by the later one."""
    earlier = older < newer
    code, place = np.unique(newer[earlier] * count + older[earlier], return_inverse=True)
    total = np.bincount(place, weights=weight[earlier], minlength=len(code))
    newer, older = np.divmod(code, count)
    order = np.lexsort((-older, -total, newer))
    rank = np.arange(len(order)) - np.searchsorted(newer[order], newer[order])
    kept = order[(rank < MOST_CANDIDATES) & (total[order] >= LEAST_SHARED)]
    return np.stack([older[kept], newer[kept]], axis=1)


def _similar(points: pl.DataFrame, edges: pl.DataFrame) -> Rows:
    """Pairs of rows that a SIMILAR_TO edge joins, [n, 2], older first: of each newer one the most similar."""
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


def _judged(reading: changes.Reading, points: pl.DataFrame, older: Rows, newer: Rows) -> pl.DataFrame:
    """The pairs that are related, with their relation."""
    since = points["since"].to_physical().to_numpy()
    found = changes.judge(reading, older, newer, speakers=points["speaker"], ordered=since[older] < since[newer])
    pairs = found.with_columns(older=pl.Series(older, dtype=pl.Int64), newer=pl.Series(newer, dtype=pl.Int64))
    return pairs.filter(pl.col("relation") != "unrelated")


def _standing(judged: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Related pairs without what is settled: what is newer than a successor, or began when the older was over."""
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
    """The first of the updates that are about as sure as the surest."""
    update = pl.col("relation") == "update"
    sure = pl.col("confidence") >= pl.col("confidence").filter(update).max() - SURE
    return pl.col("newer").filter(update & sure).min()


def _described(found: pl.DataFrame, points: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Add the exact cosine, as far as it is known, and a sentence that a person can read."""
    used = np.unique(found.select("older", "newer").to_numpy())
    own = vectors.filter(pl.col("model") == policy.embedder).select("profile_id", "content_hash", "vector")
    ends = points[used].join(own, on=["profile_id", "content_hash"], how="left", maintain_order="left")
    left, right = (np.searchsorted(used, found[name].to_numpy()) for name in ("older", "newer"))
    cosine = similarity.pair_similarity(similarity.matrix(ends["vector"]), left, right)
    about = pl.format(" ({})", "attribute").fill_null("")
    newer = pl.format("A newer memory says '{}' where this one says '{}'{}.", "other_value", "value", about)
    both = pl.format("'{}' and '{}' contradict each other{}.", "value", "other_value", about)
    return found.with_columns(
        similarity=pl.Series(cosine).fill_nan(None),
        reason=pl.when(pl.col("relation") == "update").then(newer).otherwise(both),
    )
