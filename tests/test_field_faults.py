"""Faults seen in the code of existing systems: each test here fails where one of them is.

What is not here: faults that the test of the part itself shows; `docs/designs.md` lists all of them.
"""

import math
import time
from datetime import timedelta

import frames
import homes
import numpy as np
import polars as pl
import pytest
from frames import AS_OF, ago

from memory_pipeline.consolidation import core_memory
from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.interop import jsonl
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

NIGHT = homes.NIGHT
BACKUPS = [
    f"The nightly backup of the billing database finished {how}" for how in ("early", "late", "well", "again", "soon")
]


def stored(number, text, days, **payload):
    event = {
        "event_id": f"event {number}",
        "event_type": "memory.stored",
        "memory_id": f"m{number}",
        "profile_id": "p",
        "occurred_at": NIGHT - timedelta(days=days),
        "payload": {"content": text, **payload},
    }
    return parse(event, recorded_at=NIGHT, origin="test")


def decided(lake, settings, days):
    """What a run decides, so many days after the first."""
    at = NIGHT + timedelta(days=days)
    plan = homes.night(lake, as_of=at, run_id=f"run {at}", policy=settings)["consolidation_plan"]
    return sorted(plan.select("action", "memory_id").rows())


# AutoMem


@pytest.mark.drill
def test_running_again_makes_no_meta_memory_again_and_archives_nothing_again(tmp_path):
    told = [stored(number, text, number + 1, importance=0.9) for number, text in enumerate(BACKUPS)]
    old = stored(9, "A walk in the park", 400, importance=0.1)
    with homes.filled(tmp_path, [*told, old]) as lake:
        settings = homes.settings(tmp_path, preset="automem", archive_threshold=0.05)
        assert [row[0] for row in decided(lake, settings, 0)] == ["archive", "summarise"]
        assert decided(lake, settings, 0) == []
        assert decided(lake, settings, 1) == []
        assert decided(lake, settings, 8) == []
        kept = lake.read("memories").select("kind", "lifecycle").rows()
        assert sorted(kept) == [("meta_pattern", "active"), *[("original", "active")] * 5, ("original", "archived")]


LINE = '{{"event_type": "memory.stored", "occurred_at": "2026-05-01", "payload": {{"content": {}}}}}\n'


def test_a_null_content_leaves_nothing_half_applied(tmp_path):
    path = tmp_path / "told.jsonl"
    path.write_text("".join(LINE.format(text) for text in ('"One."', "null", '"Two."')), "utf-8")
    with Lake(tmp_path / "home") as lake:
        report = import_events(lake.ledger, jsonl.events(path, recorded_at=NIGHT), batch=3)
        assert (report.accepted, report.dead_letters) == (2, 1)
        homes.night(lake)
        assert sorted(lake.read("memories")["content"]) == ["One.", "Two."]
        assert lake.read("scored_memories").height == 2


def creative(days, vectors):
    """Kinds of the edges that AutoMem's creative task makes between `a` and `b`, of these ages in days."""
    memories = frames.memories({"memory_id": name, "created_at": ago(age)} for name, age in days.items())
    found = associations.discover(
        memories,
        memories.select("profile_id", "memory_id", relevance=pl.lit(0.5)),
        frames.edges([]),
        frames.vectors(vectors, of=memories),
        neighbours.compare(memories, frames.vectors(vectors, of=memories), Policy(**preset("automem"))).neighbours,
        *(TABLES[name].empty() for name in ("accesses", "tier_changes", "fact_changes")),
        Policy(**preset("automem")),
        as_of=AS_OF,
        plan_id="plan",
    )
    return found["kind"].to_list()


@pytest.mark.parametrize(("apart", "kinds"), [(0, ["parallel_context"]), (6.9, ["parallel_context"]), (7, []), (9, [])])
def test_the_same_week_does_not_depend_on_which_row_comes_first(apart, kinds):
    unlike = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    assert creative({"a": 50, "b": 50 + apart}, unlike) == kinds
    assert creative({"b": 50, "a": 50 + apart}, unlike) == kinds
    assert creative({"a": 50 + apart, "b": 50}, unlike) == kinds


@pytest.mark.parametrize("vector", [[math.nan, 1.0], [0.0, 0.0], [1.0, 0.0, 0.0], []])
def test_a_cosine_that_is_no_number_makes_nothing_alike_and_nothing_unlike(vector):
    vectors = {name: vector if name == "b" else [1.0, 0.0] for name in "abcdef"}
    assert creative({"a": 50, "b": 50}, {name: vectors[name] for name in "ab"}) == []
    clusters = grouped(vectors, Policy(**preset("automem")))
    assert clusters == [["a", "c", "d", "e", "f"]]


def grouped(vectors, policy, **columns):
    """Members of each cluster of memories with these vectors, relevance .5 and retention .1."""
    memories = frames.memories({"memory_id": name, **columns} for name in vectors)
    scored = memories.select("profile_id", "memory_id", relevance=pl.lit(0.5), retention=pl.lit(0.1))
    found = clustering.cluster(
        memories,
        scored,
        frames.enrichment({}, of=memories),
        frames.vectors(vectors, of=memories),
        frames.edges([]),
        policy,
        as_of=AS_OF,
        plan_id="plan",
    )
    members = found.cluster_members.group_by("cluster_id").agg(pl.col("memory_id").sort())
    return sorted(members["memory_id"].to_list())


def subjects(count, of):
    """Vectors of `count` memories about subjects of `of` memories each; near within a subject, far between them."""
    chance = np.random.default_rng(7)
    centres = np.repeat(chance.normal(size=(count // of, 64)), of, axis=0)
    points = centres + 0.2 * chance.normal(size=centres.shape)
    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return {f"m{index:05}": point.tolist() for index, point in enumerate(points)}


def test_clusters_of_thousands_do_not_take_a_loop_over_pairs():
    """At 24 microseconds a pair, 3,000 memories would take 108 seconds of CPU."""
    vectors = subjects(3000, of=10)
    start = time.process_time()
    found = grouped(vectors, Policy(**preset("automem")))
    assert time.process_time() - start < 20.0
    assert [len(members) for members in found] == [10] * 300


# cognitive-memory


@pytest.mark.drill
def test_fading_groups_of_thousands_do_not_take_a_call_for_each_cosine():
    """9.5 million calls and 125 seconds of CPU for 10,000 memories."""
    vectors = subjects(10_000, of=10)
    start = time.process_time()
    found = grouped(vectors, Policy(**preset("cognitive")))
    assert time.process_time() - start < 30.0
    assert [len(members) for members in found] == [5] * 2000


# SuperLocalMemory


@pytest.mark.drill
def test_light_work_on_a_large_store_is_light():
    """38 seconds of CPU at 10,000 facts and 100,000 edges, where 100 milliseconds are promised."""
    count, policy = 10_000, Policy(**preset("superlocal"))
    memories = frames.memories(
        {"content": f"Fact {n}.", "category": "semantic", "access_count": n % 7} for n in range(count)
    )
    ends = [(f"m{n}", f"m{(n + step) % count}") for n in range(count) for step in range(1, 11)]
    edges = frames.edges(
        {"source": min(pair), "target": max(pair), "edge_type": "ASSOCIATED", "origin": "decided", "base_weight": 0.07}
        | {"discovered_at": ago(n % 60)}
        for n, pair in enumerate(ends)
    )
    scored = memories.select("profile_id", "memory_id", importance=pl.lit(0.5), stability=pl.lit(0.5))
    told = frames.enrichment({}, of=memories)
    none = TABLES["core_memory_blocks"].empty(), TABLES["completions"].empty()
    start = time.process_time()
    blocks = core_memory.compile_blocks(memories, scored, told, *none, policy, as_of=AS_OF, plan_id="plan")
    gone = associations.faded(associations.decay(edges, policy, as_of=AS_OF), policy)
    assert time.process_time() - start < 1.0
    assert blocks["block"].to_list() == ["user_profile"]
    assert gone.height == sum(0.07 * math.exp(-0.01 * (n % 60)) < 0.05 for n in range(len(ends)) if n % 60 >= 30)


# Engram


@pytest.mark.drill
def test_every_output_of_enrichment_is_there(tmp_path):
    text = "Anna Berg decided to move the launch of the Harbour project to 12 May 2026."
    with homes.filled(
        tmp_path, [stored(0, text, 1), stored(1, f"{text} {'The rest is small talk. ' * 40}", 1)]
    ) as lake:
        homes.night(lake)
        enrichment, vectors = lake.read("enrichment"), lake.read("vectors").filter(model="hashing")
        assert enrichment.height == vectors.height == 2
        assert enrichment["keywords"].list.len().min() > 0
        assert enrichment["rule_importance"].min() > 0
        assert set(enrichment["gist"]) == {text}
        assert vectors["vector"].list.len().min() > 0
