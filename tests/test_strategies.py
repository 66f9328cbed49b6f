"""Ways of grouping: fading groups, memories used together, episodes; floods of copies; and a way of one's own."""

import hashlib
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import frames
import numpy as np
import polars as pl
import pytest
import sampling
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation.groups import clustering, strategies
from memory_pipeline.consolidation.groups.strategies import episodes
from memory_pipeline.consolidation.groups.strategies.strategy import ClusteringResult, Strategy
from memory_pipeline.schemas import LIVE, TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.settings.values import clustering_methods
from memory_pipeline.text import enrich
from memory_pipeline.text.embed import embedding

FADING = Policy(methods=("fading_groups",))
TOGETHER = Policy(methods=("coactivation",))
LEVELS = ("episode", "session", "agent")
TOLD = Policy(methods=("episodes",), episode_levels=LEVELS)


def scores(memories, retention=0.1):
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    kept = retention if isinstance(retention, dict) else dict.fromkeys(live["memory_id"], retention)
    return live.select(
        "profile_id",
        "memory_id",
        relevance=pl.lit(0.5),
        retention=pl.Series([kept.get(name) for name in live["memory_id"]], dtype=pl.Float64),
    )


def clustered(memories, policy, *, vectors=None, edges=(), retention=0.1):
    texts = enrich.texts(memories)
    if vectors is None:
        given_texts = texts.select("profile_id", "content_hash", "speaker", content="embedded")
        known = embedding.embed_texts(given_texts, "hashing")
    else:
        known = frames.vectors(vectors, of=memories)
    linked = edges if isinstance(edges, pl.DataFrame) else frames.edges(edges)
    return clustering.cluster(
        memories,
        scores(memories, retention),
        enrich.enrich(texts),
        known,
        linked,
        policy,
        as_of=AS_OF,
        plan_id="plan",
    )


def groups(found, **which):
    """Members of each cluster, sorted."""
    kept = found.clusters.filter(*(pl.col(name) == value for name, value in which.items()))
    members = kept.join(found.cluster_members, on=["profile_id", "cluster_id"])
    return sorted(sorted(names) for names in members.group_by("cluster_id").agg("memory_id")["memory_id"])


def notes(count, **columns):
    """Notes m00, m01, ... of one age."""
    return frames.memories(
        {"memory_id": f"m{index:02}", "content": f"note {index:02}", **columns} for index in range(count)
    )


def at(memories, *degrees):
    """Unit vectors in the plane."""
    turned = np.deg2rad(degrees)
    return {
        name: [float(np.cos(turn)), float(np.sin(turn))]
        for name, turn in zip(memories["memory_id"], turned, strict=True)
    }


def conflict(one, other, **columns):
    return {"source": one, "target": other, "edge_type": "CONTRADICTS", "kind": "conflict", **columns}


def together(one, other, count, **columns):
    return {"source": one, "target": other, "edge_type": "COACTIVATED", "co_count": count, **columns}


# Fading groups


def test_groups_are_exactly_as_large_as_asked_and_the_rest_stays():
    memories = notes(12)
    vectors = at(memories, *[0.0] * 12)
    found = clustered(memories, FADING, vectors=vectors)
    names = memories["memory_id"].to_list()
    assert groups(found) == [names[:5], names[5:10]]
    assert found.clusters["method"].unique().to_list() == ["fading_groups"]
    filled = Policy(methods=("fading_groups",), fading_fill=True)
    assert groups(clustered(memories, filled, vectors=vectors)) == [names]
    assert groups(clustered(memories[:4], filled, vectors=vectors)) == []
    sevens = Policy(methods=("fading_groups",), fading_size=7)
    assert groups(clustered(memories, sevens, vectors=vectors)) == [names[:7]]


def test_the_oldest_takes_first_and_equals_go_by_id():
    """Not by the order of rows, nor by how close they are."""
    rows = [
        {"memory_id": name, "content": name, "created_at": ago(age)}
        for name, age in zip("gfedcba", (9, 8, 8, 8, 7, 7, 1), strict=True)
    ]
    memories = frames.memories(rows)
    found = clustered(memories, FADING, vectors=at(memories, *[0.0] * 7))
    assert groups(found) == [["b", "d", "e", "f", "g"]]
    assert clustered(frames.memories(rows[::-1]), FADING, vectors=at(memories, *[0.0] * 7)).clusters.equals(
        found.clusters
    )


def test_only_fading_memories_that_may_give_way_take_part():
    """Strictly below the threshold, live, not core, not protected, not superseded."""
    memories = frames.memories(
        [{"memory_id": f"m{index}"} for index in range(4)]
        + [
            {"memory_id": "at the threshold"},
            {"memory_id": "core", "category": "core"},
            {"memory_id": "flagged", "protected": True},
            {"memory_id": "changed", "superseded_by": "m0", "superseded_kind": "update"},
            {"memory_id": "gone", "lifecycle": "archived"},
            {"memory_id": "summary", "kind": "consolidation", "members": ["x", "y"]},
            {"memory_id": "other kind", "category": "semantic"},
            {"memory_id": "other time", "valid_until": ago(1)},
            {"memory_id": "not yet", "valid_from": ago(-1)},
            {"memory_id": "another's", "user_id": "ann"},
            {"memory_id": "of another agent", "agent_id": "g"},
        ]
    )
    vectors = at(memories, *[0.0] * 15)
    retention = dict.fromkeys(memories["memory_id"], 0.19) | {"at the threshold": 0.2}
    assert groups(clustered(memories, FADING, vectors=vectors, retention=retention)) == []
    retention["at the threshold"] = 0.1999
    found = clustered(memories, FADING, vectors=vectors, retention=retention)
    assert groups(found) == [["at the threshold", "m0", "m1", "m2", "m3"]]
    lenient = Policy(methods=("fading_groups",), protect_core=False, protect_flagged=False)
    members = groups(clustered(memories, lenient, vectors=vectors, retention=retention))
    assert "core" not in members[0]


def test_similarity_to_the_first_counts_and_is_inclusive():
    memories = notes(6)
    exact = [0.7, float(np.sqrt(0.51))]
    vectors = at(memories, 0, 44, -44, 40, -40, 90) | {"m05": exact}
    assert groups(clustered(memories, FADING, vectors=vectors)) == [[f"m{index:02}" for index in range(5)]]
    six = Policy(methods=("fading_groups",), fading_size=6)
    assert groups(clustered(memories, six, vectors=vectors)) == [[f"m{index:02}" for index in range(6)]]
    above = Policy(methods=("fading_groups",), fading_size=6, fading_similarity=0.7001)
    assert groups(clustered(memories, above, vectors=vectors)) == []


def test_members_in_conflict_are_never_merged():
    memories = notes(7)
    vectors = at(memories, *[0.0] * 7)
    found = clustered(memories, FADING, vectors=vectors, edges=[conflict("m00", "m02"), conflict("m03", "m04")])
    assert groups(found) == [["m00", "m01", "m03", "m05", "m06"]]
    copies = frames.memories({"memory_id": f"m{index:02}", "content": "one note"} for index in range(7))
    found = clustered(
        copies, FADING, vectors={"m00": [1.0, 0.0]}, edges=[conflict("m00", "m02"), conflict("m03", "m04")]
    )
    assert groups(found) == [["m00", "m01", "m03", "m05", "m06"]]
    contrast = conflict("m00", "m02") | {"kind": "contrast"}
    assert groups(clustered(memories, FADING, vectors=vectors, edges=[contrast])) == [
        [f"m{index:02}" for index in range(5)]
    ]


def test_near_duplicates_in_conflict_both_stay():
    memories = frames.memories(
        {"content": text} for text in ("We use Postgres", "We use Postgres.", "we use Postgres!")
    )
    policy = Policy(methods=("near_duplicates",))
    found = clustered(memories, policy, edges=[conflict("m0", "m1")])
    assert groups(found) == [["m0", "m2"]]
    assert found.merge_refusals.select("memory_id", "other_id", "reason").rows() == [("m0", "m1", "conflict")]
    elsewhere = clustered(memories, policy, edges=[conflict("m0", "m1", profile_id="q")])
    assert groups(elsewhere) == [["m0", "m1", "m2"]]


def test_near_duplicates_go_before_fading_groups():
    """Whatever the order in a policy: what is merged is not consolidated."""
    memories = frames.memories(
        {"memory_id": f"m{index}", "content": content}
        for index, content in enumerate(
            ["We use Postgres", "We use Postgres.", *(f"note {index}" for index in range(5))]
        )
    )
    policy = Policy(methods=("fading_groups", "near_duplicates"))
    found = clustered(memories, policy, vectors=at(memories, 0, 0, 40, 40, 40, 40, 40))
    assert groups(found, method="near_duplicates") == [["m0", "m1"]]
    assert groups(found, method="fading_groups") == [["m2", "m3", "m4", "m5", "m6"]]


# Memories that are used together


def test_units_are_components_over_shared_sessions():
    memories = notes(7)
    edges = [
        together("m00", "m01", 3),
        together("m01", "m02", 4, discovered_at=ago(3)),
        together("m02", "m03", 5, discovered_at=ago(7)),
        together("m05", "m06", 4, discovered_at=ago(1)),
        {"source": "m00", "target": "m05", "base_weight": 1.0, "co_count": 9},
    ]
    found = clustered(memories, TOGETHER, edges=edges)
    assert groups(found) == [["m01", "m02", "m03"], ["m05", "m06"]]
    described = found.clusters.sort("cluster_size").select("strength", "first_coactivated_at").rows()
    assert described == [(4.0, ago(1)), (5.0, ago(7))]
    more = Policy(methods=("coactivation",), coactivation_min=4)
    assert groups(clustered(memories, more, edges=edges)) == [["m02", "m03"]]


def test_what_is_gone_is_in_no_unit_and_a_vector_is_not_needed():
    memories = notes(4).with_columns(
        lifecycle=pl.when(pl.col("memory_id") == "m02").then(pl.lit("archived")).otherwise("lifecycle")
    )
    edges = [together("m00", "m01", 9), together("m01", "m02", 9), together("m02", "m03", 9)]
    assert groups(clustered(memories, TOGETHER, vectors={}, edges=edges)) == [["m00", "m01"]]


def test_a_chain_of_units_is_cut_at_its_weakest_links():
    """142 memories in a chain are no unit: the strongest links hold, up to the largest size."""
    memories = frames.memories({"memory_id": f"m{index:03}"} for index in range(142))
    edges = [together(f"m{index:03}", f"m{index + 1:03}", 4 + index % 3) for index in range(141)]
    found = clustered(memories, Policy(methods=("coactivation",), cluster_max_size=10), vectors={}, edges=edges)
    assert found.clusters["cluster_size"].max() <= 10
    assert sum(found.clusters["cluster_size"]) > 120
    whole = Policy(methods=("coactivation",), cluster_max_size=None)
    assert clustered(memories, whole, vectors={}, edges=edges).clusters["cluster_size"].to_list() == [142]


# Episodes


def said(session, *minutes, agent=None, **columns):
    """Memories of a session, so many minutes after its day began."""
    return [
        {
            "memory_id": f"{session}-{index}",
            "content": f"{session} says {index}",
            "session_id": session,
            "agent_id": agent,
            "created_at": ago(10) + timedelta(minutes=minute),
            **columns,
        }
        for index, minute in enumerate(minutes)
    ]


def test_a_pause_splits_and_levels_stand_above_each_other():
    memories = frames.memories(
        [
            *said("s", 0, 10, 40, 71, 80, agent="a"),
            *said("t", 0, 5, agent="a"),
            *said("u", 0, agent="a"),
            *said("v", 0, 500),
            *said(None, 0, 1, 2),
        ]
    )
    found = clustered(memories, TOLD)
    assert groups(found, level="episode") == [["s-0", "s-1", "s-2"], ["s-3", "s-4"], ["t-0", "t-1"]]
    assert groups(found, level="session") == [["s-0", "s-1", "s-2", "s-3", "s-4"], ["v-0", "v-1"]]
    assert groups(found, level="agent") == [["s-0", "t-0", "u-0"]]
    rows = {tuple(sorted(members)): row for *row, members in _rows(found)}
    agent = rows["s-0", "t-0", "u-0"][0]
    session = rows["s-0", "s-1", "s-2", "s-3", "s-4"]
    assert session[1:] == ["session", agent]
    assert rows["s-3", "s-4"][1:] == ["episode", session[0]]
    assert rows["t-0", "t-1"][1:] == ["episode", agent]  # its session has no other episode
    assert rows["v-0", "v-1"][1:] == ["session", None]


def _rows(found):
    return (
        found.clusters.join(found.cluster_members.group_by("cluster_id").agg("memory_id"), on="cluster_id")
        .select("cluster_id", "level", "parent_id", "memory_id")
        .iter_rows()
    )


def test_a_pause_of_exactly_the_gap_does_not_split():
    memories = frames.memories(said("s", 0, 30, 60))
    assert groups(clustered(memories, TOLD)) == [["s-0", "s-1", "s-2"]]
    shorter = Policy(methods=("episodes",), episode_gap_minutes=29.99, episode_levels=LEVELS)
    assert groups(clustered(memories, shorter)) == [["s-0", "s-1", "s-2"]]
    assert clustered(memories, shorter).clusters["level"].to_list() == ["session"]


def test_only_the_levels_asked_for_are_made():
    memories = frames.memories([*said("s", 0, 10, agent="a"), *said("t", 0, 5, 300, agent="a")])
    for levels, expected in (
        (("session",), [["s-0", "s-1"], ["t-0", "t-1", "t-2"]]),
        (("episode",), [["s-0", "s-1"], ["t-0", "t-1"]]),
        (("agent",), [["s-0", "t-0"]]),
        ((), []),
    ):
        policy = Policy(methods=("episodes",), episode_levels=levels)
        assert groups(clustered(memories, policy)) == expected


def test_a_long_episode_is_cut_so_that_what_comes_later_changes_no_part_before():
    policy = Policy(methods=("episodes",), cluster_max_size=3)
    parts = [["s-0", "s-1", "s-2"], ["s-3", "s-4", "s-5"]]
    assert groups(clustered(frames.memories(said("s", *range(6))), policy)) == parts
    assert groups(clustered(frames.memories(said("s", *range(7))), policy)) == parts
    assert groups(clustered(frames.memories(said("s", *range(8))), policy)) == [*parts, ["s-6", "s-7"]]


def test_an_episode_is_history():
    """What was archived, merged or expired still happened; what was deleted did not."""
    rows = said("s", 0, 1, 2, 3, 4)
    for row, state in zip(rows, ("active", "archived", "cold", "expired", "deleted"), strict=True):
        row["lifecycle"] = state
    assert groups(clustered(frames.memories(rows), TOLD)) == [["s-0", "s-1", "s-2", "s-3"]]


def test_an_agent_is_told_by_the_most_important_memory_of_each_of_its_sessions():
    rows = [*said("s", 0, 1, agent="a"), *said("t", 0, 1, agent="a"), *said("u", 0, 1, agent="b")]
    for row in rows:
        row["importance_given"] = 0.9 if row["memory_id"] in {"s-1", "u-1"} else 0.2
    assert groups(clustered(frames.memories(rows), TOLD), level="agent") == [["s-1", "t-0"]]
    many = [row for index in range(episodes.AGENT_SESSIONS + 5) for row in said(f"s{index:03}", 0, agent="a")]
    for index, row in enumerate(many):
        row["importance_given"] = index / 1000
    (members,) = groups(clustered(frames.memories(many), TOLD, vectors={}), level="agent")
    assert members == [f"s{index:03}-0" for index in range(5, episodes.AGENT_SESSIONS + 5)]


def test_sessions_of_two_profiles_are_two():
    rows = said("s", 0, 10)
    memories = frames.memories([*rows, *({**row, "profile_id": "q"} for row in rows)])
    found = clustered(memories, TOLD, vectors={})
    assert found.clusters["profile_id"].to_list() == ["p", "q"]
    assert found.clusters["cluster_size"].to_list() == [2, 2]


# Floods


@pytest.mark.parametrize("linkage", sampling.first("average", "single"))
def test_thousands_of_copies_are_grouped_at_once(linkage):
    """5,000 copies of one text, and as many of one that differs in when it holds: no pair of copies is looked at."""
    memories = frames.memories(
        {"memory_id": f"m{index:05}", "content": "the build has passed", "valid_from": None if index < 5000 else ago(5)}
        for index in range(10_000)
    )
    policy = Policy(methods=("near_duplicates", "similarity_components"), summarised=(), linkage=linkage)
    start = time.process_time()
    found = clustered(memories, policy)
    assert time.process_time() - start < 20.0
    sizes = found.clusters.group_by("method").agg("cluster_size").sort("method")["cluster_size"].to_list()
    assert sorted(sizes[0]) == [10_000]
    assert sorted(sizes[1]) == [10, *[30] * 333]
    every = Policy(methods=("similarity_components",), cluster_max_size=None, linkage=linkage)
    assert clustered(memories, every).clusters["cluster_size"].to_list() == [10_000]


def test_thousands_of_fading_copies_are_grouped_at_once():
    memories = frames.memories(
        {"memory_id": f"m{index:05}", "content": "the build has passed"} for index in range(5003)
    )
    start = time.process_time()
    found = clustered(memories, FADING)
    assert time.process_time() - start < 20.0
    assert found.clusters["cluster_size"].to_list() == [5] * 1000
    assert "m05000" not in found.cluster_members["memory_id"]


def test_copies_group_as_if_each_were_compared_with_each():
    """The same memories with texts of their own and equal vectors."""
    rng = np.random.Generator(np.random.PCG64(7))
    source = rng.integers(0, 12, 120)
    vectors = rng.standard_normal((12, 4)).tolist()
    copies = frames.memories(
        {"memory_id": f"m{index:03}", "content": f"text {one}"} for index, one in enumerate(source)
    )
    single = frames.memories(
        {"memory_id": f"m{index:03}", "content": f"text {one} of {index}"} for index, one in enumerate(source)
    )
    known = {f"m{index:03}": vectors[one] for index, one in enumerate(source)}
    for linkage in ("single", "average"):
        for largest in (None, 7):
            policy = Policy(
                methods=("similarity_components",),
                linkage=linkage,
                cluster_max_size=largest,
                cluster_similarity=0.6,
                cluster_min_size=2,
            )
            assert groups(clustered(copies, policy, vectors=known)) == groups(clustered(single, policy, vectors=known))
    assert groups(clustered(copies, FADING, vectors=known)) == groups(clustered(single, FADING, vectors=known))


# A way of one's own


def test_a_new_way_of_grouping_is_one_function_and_its_line(monkeypatch):
    def of_one_speaker(inputs):
        spoken = inputs.points.filter("live").drop_nulls("speaker")
        groups = spoken.select("row", group=pl.struct("profile_id", "speaker").rank("dense").cast(pl.Int64))
        return ClusteringResult(groups.filter(pl.len().over("group") > 1))

    monkeypatch.setitem(strategies.STRATEGIES, "speakers", Strategy(of_one_speaker, "portrait"))
    memories = frames.memories(
        {"content": f"text {index}", "speaker": name} for index, name in enumerate(["Ann", "Ben", "Ann", None])
    )
    policy = Policy().model_copy(update={"methods": ("speakers",)})
    found = clustered(memories, policy)
    assert groups(found) == [["m0", "m2"]]
    assert found.clusters["method"].to_list() == ["speakers"]


def test_every_way_of_grouping_has_its_kind_and_its_setting():
    assert set(strategies.STRATEGIES) == set(clustering_methods())
    assert list(strategies.STRATEGIES)[:2] == ["near_duplicates", "fading_groups"], "they go first"
    assert (
        strategies.KINDS.items()
        >= {
            "near_duplicates": "compression",
            "fading_groups": "consolidation",
            "similarity_components": "meta_pattern",
            "coactivation": "unit",
            "episodes": "episode",
        }.items()
    )
    assert frozenset({"near_duplicates", "fading_groups"}) <= strategies.SUPERSEDING


PROBE = """
import sys
sys.path[:0] = {paths!r}
import test_strategies
print(test_strategies.digest())
"""


def digest():
    """The bytes of the groups of a store, as a hash."""
    memories, edges = store_of_many()
    found = clustered(memories, EVERY, edges=edges)
    whole = [table.rechunk() for table in (found.clusters, found.cluster_members, found.merge_refusals)]
    plain = [table.write_ipc(None, compat_level=pl.CompatLevel.oldest()).getvalue() for table in whole]
    return hashlib.sha256(b"".join(plain)).hexdigest()


def store_of_many():
    """Memories with ties in type, time and words, and edges among them."""
    kinds = ("Habit", "Insight", "Context", "Pattern")
    memories = frames.memories(
        {
            "content": f"{('red', 'blue', 'green')[index % 3]} car number {index % 7} of Anna",
            "memory_type": kinds[index % 4],
            "created_at": ago(30, hours=index // 9),
            "session_id": f"s{index // 30}",
            "agent_id": "ab"[index % 2],
        }
        for index in range(120)
    )
    edges = frames.edges(together(f"m{index}", f"m{index + 7}", 3 + index % 4) for index in range(100))
    return memories, edges


@pytest.mark.drill
def test_neither_hash_seed_nor_threads_change_a_byte():
    here = Path(__file__).parent
    script = PROBE.format(paths=[str(here), str(here.parent)])
    other = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "1", "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout
    assert other.strip() == digest()


# Properties

WORDS = ["red", "blue", "car", "bike", "May", "Anna", "2", "not", "yesterday"]


@st.composite
def stores(draw):
    """Memories of two profiles that share ids, sessions and texts, and the edges between some of them."""
    count = draw(st.integers(0, 14))
    memories = frames.memories(
        {
            "profile_id": draw(st.sampled_from("pq")),
            "memory_id": f"m{index}",
            "content": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
            "created_at": AS_OF - timedelta(minutes=draw(st.integers(0, 20)) * 17),
            "session_id": draw(st.sampled_from([None, "s", "t"])),
            "agent_id": draw(st.sampled_from([None, "a", "b"])),
            "category": draw(st.sampled_from(["episodic", "semantic", "core"])),
            "lifecycle": draw(st.sampled_from(["active", "active", "warm", "archived"])),
        }
        for index in range(count)
    )
    edges = {
        (profile, *sorted(draw(st.lists(st.sampled_from(range(14)), min_size=2, max_size=2, unique=True))))
        for profile in draw(st.lists(st.sampled_from("pq"), max_size=12))
    }
    rows = [
        (together if (one + other) % 2 else lambda *ends: conflict(*ends[:2]))(
            f"m{one}", f"m{other}", 2 + (one + other) % 5
        )
        | {"profile_id": profile}
        for profile, one, other in sorted(edges)
    ]
    return memories, frames.edges(rows)


EVERY = Policy(
    methods=("episodes", "coactivation", "fading_groups", "similarity_components", "near_duplicates"),
    summarised=("fading_groups", "near_duplicates"),
    duplicate_similarity=0.6,
    fading_similarity=0.3,
    fading_size=2,
    cluster_similarity=0.3,
    cluster_min_size=2,
    cluster_max_size=4,
    coactivation_min=3,
    episode_levels=LEVELS,
)


@examples(2)
@given(stores(), st.randoms(use_true_random=False))
def test_groups_depend_on_the_set_of_rows_alone(store, random):
    memories, edges = store
    found = clustered(memories, EVERY, edges=edges)
    order = random.sample(range(len(memories)), len(memories))
    shuffled = clustered(memories[order], EVERY, edges=edges[::-1])
    for name in ("clusters", "cluster_members", "merge_refusals"):
        assert getattr(found, name).equals(getattr(shuffled, name))
        ours = getattr(found, name)
        TABLES[name].schema.validate(
            ours.with_columns(pl.col("cohesion").fill_null(0.0)) if name == "clusters" else ours
        )
    for profile in "pq":
        mine = pl.col("profile_id") == profile
        alone = clustered(memories.filter(mine), EVERY, edges=edges.filter(mine))
        for name in ("clusters", "cluster_members", "merge_refusals"):
            ours = getattr(found, name).filter(mine)
            assert ours.drop("cohesion", strict=False).equals(getattr(alone, name).drop("cohesion", strict=False))


@examples(2)
@given(stores())
def test_members_that_leave_belong_to_one_group(store):
    memories, edges = store
    found = clustered(memories, EVERY, edges=edges)
    members = found.cluster_members.join(found.clusters, on=["profile_id", "cluster_id"])
    leaving = members.filter(pl.col("method").is_in(sorted(strategies.SUPERSEDING)))
    assert leaving.select("profile_id", "memory_id").is_unique().all()
    staying = members.filter(~pl.col("method").is_in(["episodes", *strategies.SUPERSEDING]))
    assert staying.join(leaving, on=["profile_id", "memory_id"], how="semi").is_empty()
    one_each = members.group_by("profile_id", "memory_id", "method", "level").len()
    assert one_each["len"].max() in {None, 1}
    kin = members.filter(pl.col("method") == "fading_groups").join(memories, on=["profile_id", "memory_id"])
    assert (kin.group_by("cluster_id").agg(pl.col("category").n_unique())["category"] == 1).all()
    ends = [members.select("profile_id", "cluster_id", **{end: "memory_id"}) for end in ("source", "target")]
    quarrels = edges.filter(pl.col("edge_type") == "CONTRADICTS").join(ends[0], on=["profile_id", "source"])
    inside = quarrels.join(ends[1], on=["profile_id", "cluster_id", "target"])
    merged = found.clusters.filter(pl.col("method").is_in(sorted(strategies.SUPERSEDING)))
    assert inside.join(merged, on="cluster_id", how="semi").is_empty()
