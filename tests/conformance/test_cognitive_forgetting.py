"""What cognitive-memory moves to the cold, cuts to a stub and makes core."""

from datetime import UTC, datetime, timedelta

import frames
import polars as pl
import pytest
from decided import decisions
from frames import AS_OF, ago
from uses import accesses

from memory_pipeline.consolidation import forgetting, promotion, scoring
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

POLICY = Policy(**preset("cognitive"))
PREFIX = "[archived] "


def ticked(memories, as_of=AS_OF):
    """What leaves at an instant."""
    known = frames.importance(memories)
    scored = scoring.score(memories, known, frames.edges([]), POLICY, as_of=as_of, plan_id="plan")
    return forgetting.select(scored, memories, frames.summaries([]), POLICY, as_of=as_of, plan_id="plan")


def after(memories, archived, as_of=AS_OF, *, used=()):
    """Memories once what leaves has left, and what is accessed then was accessed."""
    moves = decision_rows.moves(archived, frames.summaries([]), memories)
    state = projection.State(memories, TABLES["decided_edges"].empty(), accesses(used))
    return projection.apply(state, decisions(moves, as_of=as_of)).memories


def lifecycles(memories):
    return dict(memories.select("memory_id", "lifecycle").rows())


def core(rows):
    """Category after the promotion of (accesses, stability, sessions, category)."""
    memories = frames.memories(
        {"memory_id": f"m{index}", "access_count": used, "access_sessions": sessions, "category": category}
        for index, (used, _, sessions, category) in enumerate(rows)
    )
    scored = memories.select(
        "profile_id", "memory_id", stability=pl.Series([stability for _, stability, _, _ in rows], dtype=pl.Float64)
    )
    none = [
        TABLES[name].empty() for name in ("events", "accesses", "tier_changes", "association_edges", "fact_changes")
    ]
    found = promotion.promote(memories, scored, *none, POLICY, as_of=AS_OF, plan_id="plan")
    state = projection.State(memories, TABLES["decided_edges"].empty())
    risen = projection.apply(state, decisions(decision_rows.promotions(found, memories))).memories
    return risen.sort("seq")["category"].to_list()


# Our own inputs and numbers


def test_a_week_at_the_floor_moves_a_memory_to_the_cold_however_often_anybody_looks():
    memories = frames.memories([{"memory_id": "m", "created_at": ago(40), "importance_given": 0.2}])
    days = 45 * 0.16 * 1.4 * 3.912023005428146 + 7
    for _ in range(7):
        assert ticked(memories, ago(40) + timedelta(days=days - 0.001)).is_empty()
    assert ticked(memories, ago(40) + timedelta(days=days + 0.001))["action"].to_list() == ["cold"]


def test_a_stub_shows_the_beginning_and_an_access_brings_the_whole_text_back():
    text = "The quick brown fox. " * 20
    row = {"memory_id": "m", "content": text, "lifecycle": "cold", "lifecycle_since": ago(180)}
    memories = frames.memories([row])
    (stub,) = after(memories, ticked(memories)).rows(named=True)
    assert (stub["lifecycle"], stub["content"]) == ("stub", PREFIX + text[:200])
    assert stub["content_hash"] == memories["content_hash"].item()
    later = AS_OF + timedelta(hours=1)
    used = frames.memories([row | {"access_count": 1, "last_accessed_at": later}])
    (back,) = after(used, ticked(memories), used=[{"ids": ["m"], "at": later}]).rows(named=True)
    assert (back["lifecycle"], back["lifecycle_since"], back["content"]) == ("active", later, text)


def test_core_takes_ten_accesses_in_three_sessions_and_stability():
    rows = [(10, 0.85, 3, "episodic"), (9, 0.85, 3, "episodic"), (10, 0.84, 3, "opinion"), (10, 0.85, 2, "semantic")]
    assert core(rows) == ["core", "episodic", "opinion", "semantic"]


# The real system's cases


def instant(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def read(row):
    """A memory of the case. Its stability is what it had at first, before any access."""
    cold = {"lifecycle": "cold", "lifecycle_since": instant(row["cold_since"])} if "cold_since" in row else {}
    superseded = {"superseded_by": row["superseded_by"], "superseded_kind": "summary"} if "superseded_by" in row else {}
    return {
        "memory_id": row["id"],
        "content": row["content"],
        "category": row["category"],
        "importance_given": row["importance"],
        "stability_given": row["stability"],
        "access_count": row["access_count"],
        "created_at": min(instant(row["created_at"]), instant(row["last_accessed_at"])),
        "last_accessed_at": instant(row["last_accessed_at"]),
        **cold,
        **superseded,
    }


@pytest.mark.parametrize("case_id", ["cogmem-19", "cogmem-20"])
def test_ticks_of_the_real_system(real_system, case_id):
    """Ours: the memory has been at its floor for years, so one look is enough; there, seven ticks at whatever pace."""
    case = real_system("cognitive")[case_id]["inputs"]
    memories = frames.memories(map(read, case["memories"]))
    start = instant(case["now"])
    assert lifecycles(after(memories, ticked(memories, start), start)) == {"f": "cold"}
    floored = memories["last_accessed_at"].item() + timedelta(days=45 * 0.1 * 1.4 * 3.912023005428146)
    assert ticked(memories, floored + timedelta(days=6.999)).is_empty()


def test_the_cold_of_the_real_system(real_system):
    """Ours: since when a memory is cold is always known, and what a summary stands for waits for it to be live."""
    case = real_system("cognitive")["cogmem-22"]
    rows = [row for row in case["inputs"]["memories"] if row["id"] != "none"]
    expected = {row["id"]: "stub" if row["id"] in case["expected"]["stubs"] else "cold" for row in rows}
    now = instant(case["inputs"]["now"])
    summary = {"memory_id": "S", "kind": "consolidation", "created_at": now, "members": ["sup"]}
    memories = frames.memories([*map(read, rows), summary])
    later = after(memories, ticked(memories, now), now)
    assert lifecycles(later) == expected | {"S": "active"}
    texts = dict(later.select("memory_id", "content").rows())
    assert {name: texts[name] for name in case["expected"]["stubs"]} == case["expected"]["stubs"]
    alone = frames.memories(map(read, rows))
    assert "sup" not in set(ticked(alone, now)["memory_id"])


def test_promotion_to_core_of_the_real_system(real_system):
    """As release 0.4.0: three sessions."""
    rows = real_system("cognitive")["cogmem-25"]["expected_0_4_0"]["promotion"]
    assert core([row[:4] for row in rows]) == [row[5] for row in rows]
