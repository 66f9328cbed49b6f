"""What holds when: newer memories that close older ones, and memories that contradict each other.

Only memories of one profile are compared, and only those that share enough rare words or are similar. What is not here:
how two texts are compared (`text.changes`), and what a plan makes of it (`planning`).
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.consolidation import similarity
from memory_pipeline.lake.schemas import INSTANT, LIVE, TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text import changes, statements

Rows = NDArray[np.int64]

KEY: Final = ["profile_id", "memory_id"]
MACHINES: Final = ("assistant", "ai", "bot", "agent", "system", "model", "tool", "chatbot")
"""Speakers whose memories are advice and repetition rather than facts of anybody: they are not compared."""
MOST_SHARED: Final = 128
"""A word in more memories than this pairs each only with its latest `NEAREST_BEFORE`."""
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

    Args:
        memories: table `memories`.
        enrichment: table `enrichment`.
        vectors: table `vectors`; only those of the policy's embedder are read.
        edges: table `association_edges`; SIMILAR_TO pairs are compared too.
        policy: `fact_changes` off: nothing is looked for.
        as_of: instant of the state; what begins to hold later changes nothing yet.
        plan_id: plan that the rows belong to.

    Returns:
        Rows of `fact_changes`. An older memory has at most one update: by the first newer memory that changes its fact.

    Cost: linear in the memories for bounded candidates each; about 4 s for 10,000 short ones.
    """
    points = _points(memories, as_of)
    if not policy.fact_changes or len(points) < 2:  # noqa: PLR2004
        return TABLES["fact_changes"].empty()
    groups = (points["profile_id"].rank("dense") - 1).cast(pl.Int64).to_numpy()
    reading = changes.read(points["content"], instants=points["created_at"], groups=groups)
    older, newer = _candidates(reading, points, edges)
    found = [_judged(reading, points, older[part], newer[part]) for part in _parts(len(older), _PAIRS_AT_ONCE)]
    judged = pl.concat(found) if found else _judged(reading, points, older, newer)
    return TABLES["fact_changes"].conform(_described(_standing(judged, points), points, vectors, policy, plan_id))


def current(as_of: datetime) -> pl.Expr:
    """Which memories hold at an instant: live, and valid_from <= as_of < valid_until."""
    instant = pl.lit(as_of, dtype=INSTANT)
    begun = pl.col("valid_from").is_null() | (pl.col("valid_from") <= instant)
    lasting = pl.col("valid_until").is_null() | (pl.col("valid_until") > instant)
    return pl.col("lifecycle").is_in(LIVE) & begun & lasting


def _points(memories: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Live originals that people said, with `since` when each holds, by profile and age."""
    machine = pl.col("speaker").str.to_lowercase().is_in(MACHINES).fill_null(value=False)
    since = pl.coalesce("valid_from", "created_at")
    return (
        memories.filter(pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") == "original") & ~machine)
        .with_columns(since=since)
        .filter(pl.col("since") <= pl.lit(as_of, dtype=INSTANT))
        .sort("profile_id", "since", "seq", "memory_id")
        .with_row_index("row")
    )


def _candidates(reading: changes.Reading, points: pl.DataFrame, edges: pl.DataFrame) -> tuple[Rows, Rows]:
    """Pairs worth comparing, rows of `points`, older and newer: of each memory the older ones that share most with it."""
    shared = _sharing(reading, len(points))
    similar = _similar(points, edges)
    pairs = np.unique(np.concatenate([shared, similar]), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _sharing(reading: changes.Reading, count: int) -> Rows:
    """Pairs of rows that share telling words: [n, 2], older first."""
    row = reading.clauses["row"].to_numpy().astype(np.int64)
    terms = (
        reading.terms.with_columns(
            row=pl.Series(row[reading.terms["clause"].to_numpy()]),
            group=pl.Series(reading.group[reading.terms["clause"].to_numpy()]),
        )
        .unique(["row", "root"])
        .with_columns(memories=pl.len().over("group", "root"))
        .filter(pl.col("memories") > 1)
        .sort("group", "root", "row")
        .with_columns(key=pl.struct("group", "root").rle_id().cast(pl.Int64))
    )
    key, rows, weight = (terms[name].to_numpy() for name in ("key", "row", "weight"))
    rare = terms["memories"].to_numpy() <= MOST_SHARED
    width = int(key.max(initial=0)) + 1
    has = sparse.csr_matrix((np.ones(rare.sum()), (rows[rare], key[rare])), shape=(count, width))
    weighed = sparse.csr_matrix((weight[rare].astype(np.float64), (rows[rare], key[rare])), shape=(count, width))
    latest = _latest(rows[~rare], key[~rare], weight[~rare], count)
    found = [np.empty((0, 2), dtype=np.int64)]
    for part in _parts(count, _ROWS_AT_ONCE):
        block = (weighed[part] @ has.T).tocoo()
        newer, older, mass = block.row + part.start, block.col, block.data
        near = slice(*np.searchsorted(latest[:, 1], [part.start, part.start + _ROWS_AT_ONCE]))
        newer, older = np.concatenate([newer, latest[near, 1]]), np.concatenate([older, latest[near, 0]])
        found.append(_most(older, newer, np.concatenate([mass, latest[near, 2]]), count))
    return np.concatenate(found)


def _latest(rows: Rows, key: Rows, weight: Rows, count: int) -> Rows:
    """Of words that many memories share: each memory with the latest ones before it, and the word's weight."""
    found = [np.empty((0, 3), dtype=np.int64)]
    for lag in range(1, NEAREST_BEFORE + 1):
        same = key[lag:] == key[:-lag]
        found.append(np.stack([rows[:-lag][same], rows[lag:][same], weight[lag:][same]], axis=1))
    pairs = np.concatenate(found)
    return pairs[np.argsort(pairs[:, 1] * count + pairs[:, 0], kind="stable")]


def _most(older: Rows, newer: Rows, mass: NDArray[np.float64], count: int) -> Rows:
    """Of each newer row the `MOST_CANDIDATES` older ones that share most with it, ties by the later one."""
    earlier = older < newer
    code, at = np.unique(newer[earlier] * count + older[earlier], return_inverse=True)
    total = np.bincount(at, weights=mass[earlier], minlength=len(code))
    newer, older = np.divmod(code, max(1, count))
    order = np.lexsort((-older, -total, newer))
    rank = np.arange(len(order)) - np.searchsorted(newer[order], newer[order])
    kept = order[(rank < MOST_CANDIDATES) & (total[order] >= changes.LEAST_SHARED)]
    return np.stack([older[kept], newer[kept]], axis=1)


def _similar(points: pl.DataFrame, edges: pl.DataFrame) -> Rows:
    """Pairs of rows that a SIMILAR_TO edge joins: [n, 2], older first; of each newer one the most similar."""
    place = points.select("profile_id", "memory_id", "row")
    joined = (
        edges.filter(pl.col("edge_type") == "SIMILAR_TO")
        .join(place.rename({"memory_id": "source", "row": "one"}), on=["profile_id", "source"])
        .join(place.rename({"memory_id": "target", "row": "other"}), on=["profile_id", "target"])
        .select(
            older=pl.min_horizontal("one", "other"), newer=pl.max_horizontal("one", "other"), similarity="similarity"
        )
        .sort("newer", "similarity", "older", descending=[False, True, True])
        .group_by("newer", maintain_order=True)
        .head(MOST_CANDIDATES)
    )
    return joined.select("older", "newer").cast(pl.Int64).to_numpy().reshape(-1, 2)


def _parts(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _judged(reading: changes.Reading, points: pl.DataFrame, older: Rows, newer: Rows) -> pl.DataFrame:
    """The pairs that are related, with their relation."""
    since = points["since"].to_physical().to_numpy()
    speakers = points["speaker"]
    found = changes.judge(reading, older, newer, speakers=speakers, ordered=since[older] < since[newer])
    return found.with_columns(older=pl.Series(older, dtype=pl.Int64), newer=pl.Series(newer, dtype=pl.Int64)).filter(
        pl.col("relation").is_in(["update", "conflict"])
    )


def _standing(judged: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Related pairs without what is settled: each older memory ends with the first update of it.

    A memory that an earlier run closed is not compared with anything newer than its successor, nor is one with a memory
    that began after it was over anyway.
    """
    known = points.select("profile_id", "memory_id", "row", "since", "valid_until", "superseded_by", "superseded_kind")
    rows = points.select(
        pl.col("row").cast(pl.Int64),
        "profile_id",
        "memory_id",
        "since",
        "valid_until",
        "superseded_by",
        "superseded_kind",
    )
    successors = rows.select("profile_id", superseded_by="memory_id", successor="row")
    rows = rows.join(successors, on=["profile_id", "superseded_by"], how="left", maintain_order="left")
    del known
    closed = (pl.col("superseded_kind") == "update").fill_null(value=False)
    return (
        judged.join(rows.rename({"row": "older", "since": "older_since"}), on="older", maintain_order="left")
        .join(rows.select(newer="row", at="since", other_id="memory_id"), on="newer", maintain_order="left")
        .filter(~(closed & (pl.col("newer") > pl.col("successor"))).fill_null(value=False))
        .filter(closed | pl.col("valid_until").is_null() | (pl.col("valid_until") > pl.col("at")))
        .sort("older", "newer")
        .filter((pl.col("relation") != "update") | (pl.col("newer") == _first_sure().over("older")))
    )


def _first_sure() -> pl.Expr:
    """The first of the updates that are about as sure as the surest."""
    sure = pl.col("confidence").filter(pl.col("relation") == "update").max() - SURE
    return pl.col("newer").filter((pl.col("relation") == "update") & (pl.col("confidence") >= sure)).min()


def _described(
    found: pl.DataFrame, points: pl.DataFrame, vectors: pl.DataFrame, policy: Policy, plan_id: str
) -> pl.DataFrame:
    """Rows of `fact_changes`."""
    ends = np.unique(np.concatenate([found["older"].to_numpy(), found["newer"].to_numpy()]))
    own = vectors.filter(pl.col("model") == policy.embedder).select("profile_id", "content_hash", "vector")
    used = points[ends].join(own, on=["profile_id", "content_hash"], how="left", maintain_order="left")
    space = similarity.matrix(used["vector"])
    left, right = (np.searchsorted(ends, found[name].to_numpy()) for name in ("older", "newer"))
    cosine = pl.Series(similarity.pair_similarity(space, left, right)).fill_nan(None)
    about = pl.col("attribute").fill_null("the same")
    updated = pl.format("newer memory says {} where this one says {} ({})", "other_value", "value", about)
    contradicted = pl.format("{} and {} contradict each other ({})", "value", "other_value", about)
    return found.with_columns(
        similarity=cosine,
        reason=pl.when(pl.col("relation") == "update").then(updated).otherwise(contradicted),
        plan_id=pl.lit(plan_id),
    )
