"""What leaves the graph by age, as ADR-0008 states it."""

import math

import frames
import polars as pl
from frames import AS_OF, ago

from memory_pipeline.consolidation import forgetting, scoring
from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

POLICY = Policy(**preset("engram"))


def pruned(events, *, summarised=True):
    """Rule by which each event leaves: id, age in hours, importance 0..10 and accesses of each."""
    memories = frames.memories(
        {
            "memory_id": name,
            "created_at": ago(hours=hours),
            "importance_given": None if score is None else score / 10,
            "access_count": used,
        }
        for name, hours, score, used in events
    )
    known = frames.importance(memories)
    scored = scoring.score(memories, known, frames.edges([]), POLICY, as_of=AS_OF, plan_id="plan")
    episode = {"kind": "episode", "supersedes": False, "members": sorted(memories["memory_id"]), "summary_id": "s"}
    summaries = frames.summaries([episode] if summarised else [])
    found = forgetting.select(scored, memories, summaries, POLICY, as_of=AS_OF, plan_id="plan")
    return dict(found.select("memory_id", "rule").rows())


# Our own inputs and numbers


def test_after_a_week_only_what_matters_or_is_used_stays_and_after_a_month_only_what_matters_much():
    events = [
        ("fresh", 167, 0, 0),
        ("slight", 168, 4.9, 2),
        ("mattering", 719, 5, 0),
        ("used", 719, 0, 3),
        ("past", 720, 6.9, 99),
        ("great", 9_000, 7, 0),
    ]
    assert pruned(events) == {"slight": "age_tier_cold", "past": "age_tier_archive"}


def test_nothing_leaves_before_it_has_a_summary():
    assert pruned([("slight", 500, 1, 0), ("past", 5_000, 1, 0)], summarised=False) == {}


# The real system's case


def test_pruning_of_the_real_system(real_system):
    """Ours: unknown importance is one half, so d stays; what is very important outlasts a month, so e stays."""
    case = real_system("engram")["adr-prune-1"]
    events = [(row["id"], row["age_hours"], row["importance"], row["access_count"]) for row in case["input"]["events"]]
    gone = [*case["expected"]["delete_nodes"], *case["expected"]["archive"]]
    assert sorted(gone) == ["a", "d", "e"]
    assert pruned(events) == {"a": "age_tier_cold"}
    slight = [(name, hours, 6.9 if name == "e" else score or 0, used) for name, hours, score, used in events]
    assert sorted(pruned(slight)) == sorted(gone)
    assert pruned(events, summarised=False) == {}


def test_edges_of_the_real_system(real_system):
    """Similarity edges of memories between a day and a week old must be stronger, here at a lower threshold."""
    case = real_system("engram")["adr-prune-1"]
    policy = POLICY.model_copy(update={"similar_to_threshold": 0.5})
    kept = []
    for row in case["input"]["events"]:
        pair = [{"memory_id": name, "created_at": ago(hours=row["age_hours"])} for name in (row["id"], "other")]
        memories = frames.memories(pair)
        points = {row["id"]: [1.0, 0.0], "other": [row["similarity"], math.sqrt(1 - row["similarity"] ** 2)]}
        vectors = frames.vectors(points, of=memories)
        known, accesses, decided = frames.enrichment({}, of=memories), TABLES["accesses"].empty(), frames.edges([])
        near = neighbours.compare(memories, vectors, policy).neighbours
        edges = associations.derive(memories, known, near, accesses, decided, policy, as_of=AS_OF)
        kept += [row["id"]] * edges.filter(pl.col("edge_type") == "SIMILAR_TO").height
    assert sorted({row["id"] for row in case["input"]["events"]} - set(kept)) == case["expected"]["delete_edges"]
