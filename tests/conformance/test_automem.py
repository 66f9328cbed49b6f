"""Relevance, creative associations and forgetting as AutoMem computes them.

Release 0.16.1 has other constants than the published design (`RELEASE`) and takes every confidence for 0.5 when it
forgets; where its numbers are compared, the confidence is 0.5 here too.
"""

import math
from datetime import datetime

import frames
import polars as pl
import pytest
from frames import AS_OF, ago

from memory_pipeline.consolidation import forgetting, scoring
from memory_pipeline.consolidation.edges import associations, centrality, neighbours
from memory_pipeline.ledger.event import InvalidEvent, parse
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

CONSTANTS = {"access_base": 0.3, "access_weight": 0.3, "importance_floor_factor": 0.3}
RELEASE = Policy(**preset("automem"), **CONSTANTS)
FORGETFUL = Policy(**preset("automem"), **CONSTANTS, delete_threshold=0.05, archive_threshold=0.2)


def scored(memories, policy=RELEASE, edges=()):
    """Scores, importance as given, neighbours counted over `edges`."""
    known = memories.select("profile_id", "memory_id", importance="importance_given")
    measured = centrality.measure(memories, known, frames.edges(edges), policy, as_of=AS_OF)
    return scoring.score(memories, measured, frames.edges(edges), policy, as_of=AS_OF, plan_id="plan")


def relevance(rows, neighbours=None):
    """Relevance of memories with so many neighbours each, in order."""
    memories = frames.memories(rows)
    count = pl.Series(neighbours or [0] * len(memories), dtype=pl.Int64)
    known = frames.importance(memories, relationship_count=count)
    result = scoring.score(memories, known, frames.edges([]), RELEASE, as_of=AS_OF, plan_id="plan")
    return result["relevance"].to_list()


def forgotten(memories, policy=FORGETFUL, edges=()):
    archived = forgetting.select(
        scored(memories, policy, edges), memories, frames.summaries([]), policy, as_of=AS_OF, plan_id=""
    )
    return dict(archived.select("memory_id", "action").rows())


def creative(memories, vectors, edges=(), relevance=None):
    """Edges that the creative task proposes, as (source, target, type, kind, confidence, similarity)."""
    live = scored(memories)
    found = associations.discover(
        memories,
        live.with_columns(pl.Series("relevance", relevance or [0.5] * len(live), dtype=pl.Float64)),
        frames.edges(edges),
        frames.vectors(vectors, of=memories),
        neighbours.compare(memories, frames.vectors(vectors, of=memories), RELEASE).neighbours,
        TABLES["accesses"].empty(),
        TABLES["tier_changes"].empty(),
        TABLES["fact_changes"].empty(),
        RELEASE,
        as_of=AS_OF,
        plan_id="plan",
    )
    return found.select("source", "target", "edge_type", "kind", "confidence", "similarity").rows()


# Our own inputs and numbers


def stored(age, idle, importance=0.5, confidence=0.8):
    return {
        "created_at": ago(age),
        "last_accessed_at": ago(idle),
        "importance_given": importance,
        "confidence": confidence,
    }


@pytest.mark.parametrize(
    ("age", "idle", "expected"),
    [
        (0, 0, 0.564),
        (1, 0.5, 0.5583881062345308),
        (10, 5, 0.45388619318681767),
        (30, 15, 0.3075931834815902),
        (100, 50, 0.15),
        (1000, 500, 0.15),
        (100, 0.999, 0.20748400482069346),
        (100, 1, 0.20242444765969256),
        (100, 7, 0.17684775591248814),
    ],
)
def test_relevance_by_age_and_last_access(age, idle, expected):
    assert relevance([stored(age, idle)]) == pytest.approx([expected], abs=1e-9)


def test_relevance_is_at_most_one_and_at_least_three_tenths_of_the_importance():
    rows = [stored(0, 0, 1.0, 1.0), stored(2000, 2000, 0.8), stored(2000, 2000, 0.1)]
    assert relevance(rows, [50, 0, 0]) == pytest.approx([1.0, 0.24, 0.03], abs=1e-9)


@pytest.mark.parametrize(
    ("importance", "days"), [(0.29, [(5, 0), (5, 0), (5, 0)]), (0.3, [(5, 0), (10, 5), (405, 400)])]
)
def test_below_the_threshold_a_memory_keeps_the_relevance_of_its_last_access(importance, days):
    """With a threshold of .3 the design's constants are kept; the real system leaves the row as it was last written."""
    policy = Policy(**preset("automem"), decay_importance_threshold=0.3)
    found = []
    for later in (0, 5, 400):
        memories = frames.memories([stored(5 + later, later, importance)])
        found.append(scored(memories, policy)["relevance"].item())
    factor = (0.5 + importance) * 0.94
    expected = [factor * math.exp(-0.01 * age) * (1.0 if idle < 1 else math.exp(-0.05 * idle)) for age, idle in days]
    assert found == pytest.approx(expected, abs=1e-9)


def test_nothing_given_is_one_half_not_zero():
    rows = [stored(10, 5, None), stored(10, 5, 0.0), stored(10, 5, confidence=0.5)]
    assert relevance(rows) == pytest.approx([0.45388619318681767, 0.22694309659340883, 0.4104290044774415], abs=1e-9)


def test_neighbours_keep_a_memory():
    edges = [{"source": "linked", "target": f"n{n}"} for n in range(6)]
    rows = [{"memory_id": name, **stored(91, 20, confidence=0.5)} for name in ("lone", "linked")]
    rows += [{"memory_id": f"n{n}", **stored(1, 1, 0.9, 0.5)} for n in range(6)]
    memories = frames.memories(rows)
    values = dict(scored(memories, edges=edges).select("memory_id", "relevance").rows())
    assert values["lone"] == pytest.approx(0.15, abs=1e-9)
    assert values["linked"] == pytest.approx(0.22236834885581563, abs=1e-9)
    assert values["n0"] == pytest.approx(0.8330680222890496, abs=1e-9)
    assert forgotten(memories, edges=edges) == {"lone": "archive"}


@pytest.mark.parametrize(
    ("importance", "days", "action"),
    [
        (0.1, 400, "delete"),
        (0.3, 400, "archive"),
        (0.6, 95, "archive"),
        (0.16, 3000, "delete"),
        (0.17, 3000, "archive"),
        (0.69, 3000, None),
    ],
)
def test_bands_of_forgetting(importance, days, action):
    memories = frames.memories([{"memory_id": "m", **stored(days, days, importance)}])
    assert forgotten(memories).get("m") == action


def test_thresholds_of_zero_forget_nothing():
    memories = frames.memories([stored(400, 400, 0.1), stored(400, 400, 0.3)])
    assert forgotten(memories, RELEASE) == {}


def angle(degrees):
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


@pytest.mark.parametrize(
    ("types", "days", "degrees", "expected"),
    [
        (("Insight", "Pattern"), 90, 59, [("DISCOVERED", "explains", 0.7)]),
        (("Insight", "Pattern"), 90, 61, []),
        (("Insight", "Pattern"), 0, 70, [("DISCOVERED", "parallel_context", 0.5)]),
        (("Context", "Pattern"), 90, 45, [("DISCOVERED", "shares_theme", pytest.approx(math.sqrt(0.5)))]),
        (("Context", "Context"), 90, 5, []),
        (("Decision", "Decision"), 90, 90, [("CONTRADICTS", "contrast", 0.6)]),
        (("Decision", "Decision"), 0, 70, []),
    ],
)
def test_creative_rules(types, days, degrees, expected):
    rows = [{"memory_id": name, "memory_type": kind} for name, kind in zip("ab", types, strict=True)]
    rows[1]["created_at"] = ago(100 + days)
    found = creative(frames.memories(rows), {"a": angle(0), "b": angle(degrees)})
    assert [row[2:5] for row in found] == expected


# What AutoMem itself does, read from its cases


def memory(row):
    """A row of AutoMem as a memory, with what the door makes of it: names in their usual case, one half for null."""
    flag = row.get("protected", False)
    return {
        "memory_id": row.get("id", "m"),
        "content": row.get("id", "m"),
        "memory_type": (row.get("type") or "Memory").title(),
        "created_at": datetime.fromisoformat(row["timestamp"]),
        "last_accessed_at": datetime.fromisoformat(row["last_accessed"]),
        "importance_given": None if row.get("importance") is None else float(row["importance"]),
        "confidence": 0.5 if row.get("confidence") is None else float(row["confidence"]),
        "protected": flag in {True, "yes"},
        "protected_reason": row.get("protected_reason"),
        "lifecycle": "archived" if row.get("archived") else "active",
    }


@pytest.mark.parametrize(
    ("case_id", "ours"),
    [
        ("automem-01", {}),
        ("automem-02", {}),
        ("automem-04", {3: None, 4: None}),
        ("automem-05", {0: 0.45388619318681767, 3: 0.4104290044774415}),
    ],
)
def test_relevance_of_the_release(real_system, case_id, ours):
    """Ours: what is out of range is refused at the door; null is one half."""
    case = real_system("automem")[case_id]
    for index, (row, theirs) in enumerate(zip(case["inputs"]["memories"], case["expected"]["relevance"], strict=True)):
        expected = ours.get(index, theirs)
        if expected is None:
            assert_refused(row["importance"])
        else:
            value = relevance([memory(row)], [row.get("relationship_count", 0)])
            assert value == pytest.approx([expected], abs=1e-9), index


def assert_refused(importance):
    event = {"event_type": "memory.stored", "payload": {"content": "x", "importance": importance}}
    with pytest.raises(InvalidEvent, match="importance"):
        parse(event, recorded_at=AS_OF, origin="test")


USED_LAST = math.exp(-0.05) * 0.6 * 0.79 * 0.85
"""Relevance of `low`, of importance .29, when it was used last: five days old."""


@pytest.mark.parametrize(
    ("case_id", "ours"),
    [
        ("automem-07", {"low": USED_LAST, "nullimp": 0.4104290044774415}),
        ("automem-08", {"nullimp": 0.4104290044774415}),
    ],
)
def test_decay_of_the_release(real_system, case_id, ours):
    """Ours: null is one half, what is archived has no score, and what does not decay has that of its last access."""
    case = real_system("automem")[case_id]
    rows = case["inputs"]["memories"]
    memories = frames.memories(memory(row) | {"confidence": 0.5} for row in rows)
    neighbours = {row["id"]: row.get("relationship_count", 0) for row in rows}
    live = memories.filter(pl.col("lifecycle") == "active")
    counts = pl.Series([neighbours[name] for name in live["memory_id"]])
    known = frames.importance(memories, relationship_count=counts)
    policy = RELEASE.model_copy(update={"decay_importance_threshold": case["inputs"]["importance_threshold"]})
    result = scoring.score(memories, known, frames.edges([]), policy, as_of=AS_OF, plan_id="plan")
    expected = {k: v for k, v in case["expected"]["relevance_score"].items() if k != "arch"} | ours
    found = dict(result.select("memory_id", "relevance").rows())
    assert found == {name: pytest.approx(value, abs=1e-9) for name, value in expected.items()}


def test_a_stored_confidence_counts(real_system):
    """Ours: AutoMem's decay never reads it, so its a and b score alike."""
    rows = [row for row in real_system("automem")["automem-07"]["inputs"]["memories"] if row["id"] in {"a", "b"}]
    a, b = scored(frames.memories(map(memory, rows)))["relevance"]
    assert a == pytest.approx(0.4104290044774415 * 0.70 / 0.85)
    assert b == pytest.approx(0.4104290044774415 * 1.00 / 0.85)


CONTRAST = {"type": "CONTRADICTS", "kind": "contrast", "confidence": 0.6, "similarity": 0.0}


@pytest.mark.parametrize(("case_id", "ours"), [("automem-10", {}), ("automem-11", {5: CONTRAST}), ("automem-13", {})])
def test_pairs_of_the_creative_task(real_system, case_id, ours):
    """Ours: types match whatever their case, so two `decision` are two Decisions. Similarities are float32."""
    case = real_system("automem")[case_id]
    for index, (pair, theirs) in enumerate(zip(case["inputs"]["pairs"], case["expected"]["edge"], strict=True)):
        expected = ours.get(index, theirs)
        vectors = {row["id"]: row["embedding"] for row in pair}
        edges = [{"source": e["source"], "target": e["target"]} for e in case["inputs"]["edges"]]
        found = creative(frames.memories(map(memory, pair)), vectors, edges)
        names = ("type", "kind", "confidence", "similarity")
        wanted = [] if expected is None else [tuple(expected[name] for name in names)]
        assert [row[2:] for row in found] == [
            (*row[:2], pytest.approx(row[2], abs=1e-7), pytest.approx(row[3], abs=1e-7)) for row in wanted
        ], index


def test_a_run_of_the_creative_task(real_system):
    """Ours: only live memories take part, so those with the archived `ar` are missing."""
    case = real_system("automem")["automem-14"]
    rows = case["inputs"]["memories"]
    memories = frames.memories(map(memory, rows))
    live = [row for row in sorted(rows, key=lambda row: row["id"]) if not row["archived"]]
    found = creative(
        memories,
        {row["id"]: row["embedding"] for row in rows},
        relevance=[row["relevance_score"] for row in live],
    )
    expected = [edge for edge in case["expected"]["edges_unordered"] if "ar" not in edge[:2]]
    assert [row[:4] for row in found] == [
        (source, target, edge_type, values.get("kind", "contrast")) for source, target, edge_type, values in expected
    ]
    for name, place in (("confidence", 4), ("similarity", 5)):
        assert [row[place] for row in found] == pytest.approx([edge[3][name] for edge in expected], abs=1e-7)


@pytest.mark.parametrize(
    ("case_id", "policy", "ours"),
    [
        ("automem-19", FORGETFUL, {"nullimp": "archive"}),
        ("automem-20", FORGETFUL, {"dec_lower": "preserve"}),
        ("automem-22", RELEASE, {}),
        ("automem-23", FORGETFUL, {}),
    ],
)
def test_verdicts_of_forgetting(real_system, case_id, policy, ours):
    """Ours: null is one half, and types match whatever their case. A memory without a date cannot be stored."""
    case = real_system("automem")[case_id]
    rows = [row for row in case["inputs"]["memories"] if row["timestamp"]]
    memories = frames.memories(memory(row) | {"confidence": 0.5} for row in rows)
    edges = [{"source": edge["source"], "target": edge["target"]} for edge in case["inputs"]["edges"]]
    values = {row["id"]: case["expected"]["verdict"][row["id"]]["verdict"] for row in rows} | ours
    assert forgotten(memories, policy, edges) == {name: v for name, v in values.items() if v != "preserve"}
    found = dict(scored(memories, policy, edges).select("memory_id", "relevance").rows())
    for name, after in case["expected"]["after"].items():
        if name in found:
            assert found[name] == pytest.approx(after["relevance_score"], abs=1e-9), name


def test_reasons_of_protection(real_system):
    rows = [row for row in real_system("automem")["automem-20"]["inputs"]["memories"] if row["timestamp"]]
    result = scored(frames.memories(map(memory, rows)), FORGETFUL)
    assert dict(result.select("memory_id", "protection_reason").rows()) == {
        "flag": "legal hold",
        "flag_no": None,
        "flag_yes": "explicitly protected",
        "grace89": "younger than 90 days",
        "grace90": None,
        "dec": "protected type: Decision",
        "dec_lower": "protected type: Decision",
        "ins": "protected type: Insight",
    }
