import math
from datetime import timedelta

import frames
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from planned import fact_changes
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import promotion
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

TIERS = Policy(promote_warm=False, promote_core=False)
WARM = Policy(promote_tiers=False, promote_core=False)
CORE = Policy(promote_tiers=False, promote_warm=False)


def table(name, rows, **defaults):
    complete = [{"profile_id": "p", **defaults, **row} for row in rows]
    return TABLES[name].conform(pl.DataFrame(complete, schema=TABLES[name].empty().schema))


def accesses(rows):
    """Table `accesses` of (memory, instant), in profile p or the one named third."""
    numbered = [
        {"memory_id": row[0], "at": row[1], "seq": index + 1, "profile_id": row[2] if len(row) > 2 else "p"}
        for index, row in enumerate(rows)
    ]
    return table("accesses", numbered, ordinal=0, session_id=None, expanded=False, times=1)


def tier_changes(rows):
    return table("tier_changes", rows, edge_type="PROMOTED_TO", energy=3.0, plan_id="earlier")


def session_ends(rows):
    """The columns of table `events` that tell when sessions ended."""
    columns = {"profile_id": pl.String, "event_type": pl.String, "session_id": pl.String}
    instants = dict.fromkeys(("occurred_at", "recorded_at"), pl.Datetime("us", "UTC"))
    return pl.DataFrame(
        [
            {"profile_id": "p", "event_type": "session.ended", "recorded_at": at, **row, "occurred_at": at}
            for at, row in rows
        ],
        schema=columns | instants,
    )


def promoted(memories, policy, *, used=(), changes=(), ends=(), edges=(), facts=(), as_of=AS_OF, stability=0.5):
    """Rows of `promotions`; of the scores only the stability matters."""
    return promotion.promote(
        memories,
        memories.select("profile_id", "memory_id", stability=pl.lit(stability)),
        session_ends(ends),
        used if isinstance(used, pl.DataFrame) else accesses(used),
        changes if isinstance(changes, pl.DataFrame) else tier_changes(changes),
        frames.edges(edges),
        fact_changes(facts),
        policy,
        as_of=as_of,
        plan_id="plan",
    )


def hour(number):
    return ago(10) + timedelta(hours=number)


def memory(name="m", **fields):
    return {"memory_id": name, "created_at": hour(0), **fields}


def higher(name="m", tier="short_term", since=0, **fields):
    return memory(name, tier=tier, tier_since=hour(since), **fields)


def test_a_working_memory_rises_at_the_first_touch_that_leaves_enough_energy():
    memories = frames.memories([memory("busy"), memory("twice"), memory("lazy")])
    used = [
        ("busy", hour(1)),
        ("busy", hour(2)),
        ("busy", hour(2.5)),
        ("busy", hour(9)),
        ("lazy", hour(9)),
        ("twice", hour(0)),
    ]
    (row,) = promoted(memories, TIERS, used=used).rows(named=True)
    energy = 1 + math.exp(-0.25) * (1 + math.exp(-0.5) * (1 + math.exp(-0.5)))
    assert row == {
        "profile_id": "p",
        "memory_id": "busy",
        "tier": "short_term",
        "at": hour(2.5),
        "energy": pytest.approx(energy, rel=1e-12),
        "lifecycle": None,
        "category": None,
        "rule": "energy",
        "reason": row["reason"],
        "rules": ["energy"],
        "reasons": [row["reason"]],
        "plan_id": "plan",
    }
    assert row["reason"] == "Energy 2.5377 at 2025-12-22 02:30:00 is above 2.0: it rises from working to short_term."


def test_thresholds_are_strict():
    """Creation and one access at once are exactly 2; four more than that exactly 6, of which 5 is not enough."""
    memories = frames.memories([memory()])
    assert promoted(memories, TIERS, used=[("m", hour(0))]).is_empty()
    assert promoted(memories, TIERS, used=[("m", hour(0))] * 2)["energy"].to_list() == [3.0]
    short = frames.memories([higher()])
    change = [{"memory_id": "m", "from_tier": "working", "to_tier": "short_term", "at": hour(0)}]
    assert promoted(short, TIERS, used=[("m", hour(0))] * 4, changes=change).is_empty()
    (row,) = promoted(short, TIERS, used=[("m", hour(0))] * 5, changes=change).rows(named=True)
    assert (row["tier"], row["at"], row["energy"]) == ("long_term", hour(0), 6.0)


def test_a_memory_rises_one_tier_a_run_and_the_next_one_goes_on_from_the_same_instant():
    used = [("m", hour(0))] * 6
    memories = frames.memories([memory()])
    first = promoted(memories, TIERS, used=used).row(0, named=True)
    assert (first["tier"], first["at"], first["energy"]) == ("short_term", hour(0), 7.0)
    change = [{"memory_id": "m", "from_tier": "working", "to_tier": "short_term", "at": hour(0)}]
    second = promoted(frames.memories([higher()]), TIERS, used=used, changes=change).row(0, named=True)
    assert (second["tier"], second["at"], second["energy"]) == ("long_term", hour(0), 7.0)
    top = frames.memories([higher(tier="long_term")])
    assert promoted(top, TIERS, used=used).is_empty()


def test_touches_before_the_last_change_of_tier_do_not_count():
    change = [{"memory_id": "m", "from_tier": "working", "to_tier": "short_term", "at": hour(2)}]
    used = [("m", hour(1))] * 7
    memories = frames.memories([higher(since=2)])
    assert promoted(memories, TIERS, used=used, changes=change).is_empty()
    (row,) = promoted(memories, TIERS, used=[*used, ("m", hour(3))], changes=change).rows(named=True)
    energy = 1 + math.exp(-0.05) * math.exp(-0.5) * (7 + math.exp(-0.5))
    assert (row["tier"], row["at"], row["energy"]) == ("long_term", hour(3), pytest.approx(energy, rel=1e-12))


def test_a_reinforcement_is_a_touch():
    memories = frames.memories([higher(), memory("new", created_at=hour(1))])
    change = [{"memory_id": "m", "from_tier": "working", "to_tier": "short_term", "at": hour(0)}]
    reinforced = {
        "source": "new",
        "target": "m",
        "edge_type": "REINFORCES",
        "similarity": 0.8,
        "discovered_at": hour(1),
    }
    used = [("m", hour(0))] * 4
    assert promoted(memories, TIERS, used=used, changes=change).is_empty()
    (row,) = promoted(memories, TIERS, used=used, changes=change, edges=[reinforced]).rows(named=True)
    energy = 5 * math.exp(-0.05) + 0.4
    assert (row["memory_id"], row["at"], row["energy"]) == ("m", hour(1), pytest.approx(energy, abs=1e-7))


def test_when_a_session_ends_its_memories_need_less_energy():
    rows = [memory(name, session_id="s") for name in ("often", "once", "never")]
    rows += [memory("elsewhere", session_id="t"), memory("nowhere"), memory("other", session_id="s", profile_id="q")]
    rows += [higher("up", session_id="s"), memory("late", session_id="s", created_at=hour(2))]
    used = [(name, hour(0.9)) for name in ("often", "elsewhere", "nowhere", "up")]
    used += [("once", hour(0)), ("late", hour(2)), ("other", hour(0.9), "q")]
    found = promoted(frames.memories(rows), TIERS, used=used, ends=[(hour(1), {"session_id": "s"})])
    assert found.select("memory_id", "tier", "at", "rule").rows() == [("often", "short_term", hour(1), "session_end")]
    energy = math.exp(-0.05) * (1 + math.exp(-0.45))
    assert found["energy"].item() == pytest.approx(energy, rel=1e-12)
    assert "1.5578 at 2025-12-22 01:00:00, when its session ended, is above 1.5: it rises" in found["reason"].item()


@pytest.mark.parametrize(
    ("ends", "rule", "at"),
    [((1, 3), "session_end", 1), ((3,), "energy", 2), ((2,), "energy", 2), ((0.5,), "energy", 2)],
)
def test_the_earliest_instant_that_calls_for_it_wins(ends, rule, at):
    memories = frames.memories([memory(session_id="s")])
    used = [("m", hour(0.9)), ("m", hour(2)), ("m", hour(2))]
    found = promoted(memories, TIERS, used=used, ends=[(hour(end), {"session_id": "s"}) for end in ends])
    assert found.select("rule", "at").rows() == [(rule, hour(at))]


def test_a_batch_takes_the_highest_energies_of_each_profile():
    rows = [memory(name) for name in "abc"] + [memory("d", profile_id="q")]
    used = [(name, hour(0)) for name, times in (("a", 2), ("b", 3), ("c", 2)) for _ in range(times)]
    used += [("d", hour(0), "q")] * 2
    for batch, names in ((1, ["b", "d"]), (2, ["a", "b", "d"]), (0, ["a", "b", "c", "d"])):
        policy = TIERS.model_copy(update={"promotion_batch": batch})
        assert promoted(frames.memories(rows), policy, used=used)["memory_id"].to_list() == names


@pytest.mark.parametrize(
    "fields",
    [
        {"lifecycle": "archived"},
        {"lifecycle": "expired"},
        {"superseded_by": "n", "superseded_kind": "summary", "lifecycle": "cold"},
    ],
)
def test_only_live_memories_whose_place_no_summary_takes_rise(fields):
    used = [("m", hour(0))] * 10
    usage = {"access_count": 10, "access_sessions": 3, "confidence": 0.9}
    memories = frames.memories([memory(**usage, **fields)])
    assert promoted(memories, Policy(), used=used, stability=1.0).is_empty()
    (row,) = promoted(frames.memories([memory(**usage)]), Policy(), used=used, stability=1.0).rows(named=True)
    assert (row["tier"], row["lifecycle"], row["category"]) == ("short_term", "warm", "core")
    assert row["rule"] == "energy+used+core"
    assert row["reason"] == (
        "Energy 11.0 at 2025-12-22 00:00:00 is above 2.0: it rises from working to short_term. "
        "10 accesses, confidence 0.9, and it is valid: it becomes warm. "
        "10 accesses over 3 sessions, stability 1.0: it becomes core."
    )


def test_a_memory_whose_fact_has_changed_rises_by_its_use_alone():
    """Whether a run looked before or after the change must make no difference to its tier."""
    used = [("m", hour(0))] * 10
    usage = {"access_count": 10, "access_sessions": 3, "confidence": 0.9}
    memories = frames.memories([memory(**usage, superseded_by="n", superseded_kind="update")])
    (row,) = promoted(memories, Policy(), used=used, stability=1.0).rows(named=True)
    assert (row["tier"], row["lifecycle"], row["category"], row["rule"]) == ("short_term", None, None, "energy")


@pytest.mark.parametrize(
    ("fields", "warm"),
    [
        ({}, True),
        ({"access_count": 2}, False),
        ({"confidence": 0.49}, False),
        ({"lifecycle": "warm"}, False),
        ({"valid_until": AS_OF + timedelta(days=30)}, True),
        ({"valid_until": AS_OF}, False),
        ({"valid_from": AS_OF}, True),
        ({"valid_from": AS_OF + timedelta(microseconds=1)}, False),
    ],
)
def test_an_active_memory_that_is_used_trusted_and_holds_becomes_warm(fields, warm):
    memories = frames.memories([memory(**({"access_count": 3, "confidence": 0.5} | fields))])
    assert promoted(memories, WARM)["lifecycle"].to_list() == ["warm"] * warm


@pytest.mark.parametrize(
    ("kind", "other", "rises"),
    [
        ("conflict", "live", False),
        (None, "live", False),
        ("contrast", "live", True),
        ("conflict", "gone", True),
    ],
)
def test_a_contradicted_memory_becomes_neither_warm_nor_core(kind, other, rises):
    used = {"access_count": 10, "access_sessions": 3}
    memories = frames.memories(
        [memory("m", **used), memory("live"), memory("gone", lifecycle="archived"), memory("m", profile_id="q", **used)]
    )
    policy = Policy(promote_tiers=False)
    for ends in (("m", other), (other, "m")):
        edge = {"source": min(ends), "target": max(ends), "edge_type": "CONTRADICTS", "kind": kind}
        found = promoted(memories, policy, edges=[edge], stability=0.9)
        assert found["profile_id"].to_list() == ["p"] * rises + ["q"]
        assert set(found["rule"]) == {"used+core"}


@pytest.mark.parametrize(
    ("accesses", "stability", "sessions", "category", "rises"),
    [
        (10, 0.85, 3, "episodic", True),
        (9, 0.85, 3, "episodic", False),
        (10, 0.84, 3, "semantic", False),
        (10, 0.85, 2, "episodic", False),
        (99, 1.0, 9, "core", False),
        (12, 1.0, 5, "procedural", True),
    ],
)
def test_a_memory_that_is_used_again_and_again_becomes_core(accesses, stability, sessions, category, rises):
    memories = frames.memories([memory(access_count=accesses, access_sessions=sessions, category=category)])
    assert promoted(memories, CORE, stability=stability)["category"].to_list() == ["core"] * rises


def test_what_is_switched_off_is_left_out():
    off = Policy(promote_tiers=False, promote_warm=False, promote_core=False)
    memories = frames.memories([memory(access_count=10, access_sessions=3)])
    assert promoted(memories, off, used=[("m", hour(0))] * 9, stability=1.0).is_empty()
    assert promoted(memories.clear(), Policy()).is_empty()


HOURS = st.integers(0, 96).map(lambda quarter: quarter / 4)
LIVES = st.lists(st.tuples(HOURS, st.lists(HOURS, max_size=8)), min_size=1, max_size=4)


def world(lives, ends):
    """Memories of one session with their accesses, never before they were made, and when the session ended."""
    names = [f"m{index}" for index in range(len(lives))]
    rows = [memory(name, created_at=hour(made), session_id="s") for name, (made, _) in zip(names, lives, strict=True)]
    used = [(name, hour(max(made, at))) for name, (made, touches) in zip(names, lives, strict=True) for at in touches]
    return (
        frames.memories(rows),
        sorted(used, key=lambda row: row[1]),
        [(hour(end), {"session_id": "s"}) for end in ends],
    )


def runs(memories, used, ends, hours, policy=TIERS):
    """The changes of tier after runs at these instants; every run sees what had happened until then."""
    changes = tier_changes([])
    for number in hours:
        until = [row for row in used if row[1] <= hour(number)]
        closed = [row for row in ends if row[0] <= hour(number)]
        known = memories.filter(pl.col("created_at") <= hour(number))
        risen = promoted(known, policy, used=until, changes=changes, ends=closed, as_of=hour(number))
        raised = risen.select("profile_id", "memory_id", "at", "energy", after="tier")
        memories = memories.join(raised, on=["profile_id", "memory_id"], how="left", maintain_order="left")
        made = memories.drop_nulls("after").with_columns(
            from_tier="tier", to_tier="after", edge_type=pl.lit("any"), plan_id=pl.lit("any")
        )
        changes = TABLES["tier_changes"].conform(pl.concat([changes, made.select(changes.columns)]))
        memories = memories.with_columns(
            tier=pl.coalesce("after", "tier"), tier_since=pl.coalesce("at", "tier_since")
        ).drop("after", "at", "energy")
    return changes.drop("plan_id").sort("memory_id", "at", "to_tier")


@examples(1, drill=320)
@given(LIVES, st.lists(HOURS, max_size=2), st.lists(HOURS, max_size=5), st.integers(1, 3))
def test_tiers_do_not_depend_on_when_anybody_looks(lives, ends, looks, batch):
    """Runs at any instants, and one run with others that catch up, end with the same changes of tier."""
    memories, used, closed = world(lives, ends)
    often = runs(memories, used, closed, [*sorted(looks), *[24] * 3])
    late = runs(memories, used, closed, [24] * 3)
    assert_frame_equal(often, late, check_exact=True)
    policy = TIERS.model_copy(update={"promotion_batch": batch})
    assert_frame_equal(runs(memories, used, closed, [24] * 8, policy), late, check_exact=True)


@given(LIVES, st.lists(HOURS, max_size=2), st.randoms())
def test_neither_the_order_of_rows_nor_other_profiles_matter(lives, ends, random):
    memories, used, closed = world(lives, ends)
    alone = promoted(memories, TIERS, used=used, ends=closed)
    assert TABLES["promotions"].violations(alone).is_empty()
    twin = memories.with_columns(profile_id=pl.lit("q"))
    places = list(range(2 * len(memories)))
    random.shuffle(places)
    random.shuffle(used)
    busy = [(name, hour(24), "q") for name in memories["memory_id"] for _ in range(4)]
    both = promoted(
        pl.concat([memories, twin])[places],
        TIERS,
        used=accesses([*used, *busy])[::-1],
        ends=[*closed, (hour(24), {"session_id": "s", "profile_id": "q"})],
    )
    assert_frame_equal(both.filter(pl.col("profile_id") == "p"), alone, check_exact=True)


@pytest.mark.parametrize(("relation", "days", "risen"), [("update", 1, 0), ("update", -1, 1), ("conflict", 1, 1)])
def test_a_fact_that_the_same_run_ends_makes_no_memory_warm(relation, days, risen):
    memories = frames.memories([{"memory_id": "old", "access_count": 5}, {"memory_id": "new"}])
    change = {"memory_id": "old", "other_id": "new", "relation": relation, "decided": True, "at": ago(days)}
    assert promoted(memories, WARM, facts=[change]).height == risen
