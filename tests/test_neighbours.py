"""Neighbours: found once a run, and of the state after it only what is new is compared."""

import frames
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.edges import edge_rows, neighbours
from memory_pipeline.schemas import LIVE, TABLES
from memory_pipeline.settings import Policy

POLICY = Policy(similar_to_threshold=0.5)


def told(count, profiles=2):
    """Memories of some profiles with vectors about five directions, a few unknown, some memories not live."""
    lifecycles = np.where(np.arange(count) % 7 == 3, "archived", "active")
    memories = frames.memories(
        {"memory_id": f"m{n:03}", "profile_id": f"p{n % profiles}", "content": f"t{n}", "lifecycle": str(lifecycles[n])}
        for n in range(count)
    )
    random = np.random.default_rng(1)
    points = np.eye(5)[np.arange(count) // 2 % 5] + 0.4 * random.normal(size=(count, 5))
    points[::13] = 0.0
    column = pl.Series("vector", points.tolist(), dtype=pl.List(pl.Float32))
    vectors = memories.sort("memory_id").select("profile_id", "content_hash", column, model=pl.lit("hashing"))
    return memories, TABLES["vectors"].conform(vectors)


def test_the_pairs_are_those_of_a_join_at_any_threshold_from_the_lowest_on():
    memories, vectors = told(120)
    near = neighbours.compare(memories, vectors, POLICY).neighbours
    assert TABLES["neighbours"].violations(near).is_empty()
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort("profile_id", "memory_id")[::2]
    points, profiles = edge_rows.matrix(live, vectors, POLICY), edge_rows.profiles(live)
    for least in (0.5, 0.8, 0.97):
        pairs, joined = similarity.listed_pairs(near, live, least), similarity.threshold_join(points, profiles, least)
        for part in ("left", "right", "similarity"):
            assert np.array_equal(getattr(pairs, part), getattr(joined, part))
    assert len(joined) > 0


def test_of_another_state_only_what_is_new_is_compared_and_the_table_is_the_same():
    after, vectors = told(120)
    name = pl.col("memory_id")
    changed = pl.when(name == "m010").then(pl.lit("other")).otherwise("content_hash").alias("content_hash")
    revived = pl.when(name.is_in(["m020", "m022"])).then(pl.lit("cold")).otherwise("lifecycle").alias("lifecycle")
    left = pl.when(name == "m003").then(pl.lit("active")).otherwise("lifecycle").alias("lifecycle")
    before = after.filter(name < "m110").with_columns(changed).with_columns(revived).with_columns(left)
    known = neighbours.compare(before, vectors, POLICY)
    found = neighbours.compare(after, vectors, POLICY, kept=known.comparisons).neighbours
    assert_frame_equal(found, neighbours.compare(after, vectors, POLICY).neighbours)
    assert found.height > known.neighbours.height
    again = neighbours.compare(before, vectors, POLICY, kept=known.comparisons)
    assert again.neighbours.equals(known.neighbours)


@pytest.mark.parametrize(
    ("policy", "lowest"),
    [
        (Policy(), 0.7),
        (Policy(associations=()), 0.75),
        (Policy(associations=("reinforcement",), reinforcement_similarity=0.6), 0.6),
        (Policy(associations=("creative",), similar_edges=False), None),
    ],
)
def test_the_lowest_threshold_in_play_decides(policy, lowest):
    assert neighbours.minimum(policy) == lowest
    memories, vectors = told(30)
    assert neighbours.compare(memories, vectors, policy).neighbours.is_empty() == (lowest is None)


@pytest.mark.parametrize("places", [slice(0, 100), slice(20, 120), slice(0, 120, 3)])
def test_what_an_earlier_run_compared_is_not_compared_again_and_the_tables_are_the_same(places, monkeypatch):
    memories, vectors = told(120)
    whole = neighbours.compare(memories, vectors, POLICY)
    earlier = memories.sort("memory_id")[places]
    kept = neighbours.compare(earlier, vectors, POLICY).comparisons
    joined = []
    join = similarity.threshold_join
    monkeypatch.setattr(
        similarity,
        "threshold_join",
        lambda points, groups, least, *, fresh: joined.append(fresh) or join(points, groups, least, fresh=fresh),
    )
    found = neighbours.compare(memories, vectors, POLICY, kept=kept)
    for one, other in zip(found, whole, strict=True):
        assert_frame_equal(one, other)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    assert sum(fresh.sum() for fresh in joined) == live.join(earlier, on="memory_id", how="anti").height


def test_a_memory_with_another_vector_or_another_threshold_is_compared_again():
    memories, vectors = told(120)
    moved = vectors.with_columns(
        vector=pl.when(pl.col("content_hash") == vectors["content_hash"][40])
        .then(pl.lit([1.0, 0, 0, 0, 0], pl.List(pl.Float32)))
        .otherwise("vector")
    )
    kept = neighbours.compare(memories, moved, POLICY).comparisons
    for policy in (POLICY, Policy(similar_to_threshold=0.4)):
        whole = neighbours.compare(memories, vectors, policy)
        found = neighbours.compare(memories, vectors, policy, kept=kept)
        for one, other in zip(found, whole, strict=True):
            assert_frame_equal(one, other)
    assert kept.height == 2
