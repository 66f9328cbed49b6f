import json
import math
from datetime import datetime, timedelta

import frames
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.state import derived_ids, projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.text import content_hash

NO_DECISIONS = TABLES["decisions"].empty()
WEEK = timedelta(days=7)
FIRST, LATER = ago(100), ago(50)


def events(rows):
    """Table `events`: profile p, recorded at AS_OF, positions in the order given."""
    table = TABLES["events"]
    complete = [
        {"profile_id": "p", "ordinal": 0, "seq": index, "recorded_at": AS_OF, "occurred_at": ago(50), **row}
        for index, row in enumerate(rows, 1)
    ]
    return table.conform(
        pl.DataFrame([{"event_id": f"e{row['seq']}", **row} for row in complete], schema=table.empty().schema)
    )


def stored(memory_id, occurred_at=FIRST, **fields):
    return {
        "event_type": "memory.stored",
        "memory_id": memory_id,
        "occurred_at": occurred_at,
        "content": f"note {memory_id}",
        **fields,
    }


def accessed(memory_id, occurred_at=LATER, **fields):
    return {"event_type": "memory.accessed", "memory_id": memory_id, "occurred_at": occurred_at, **fields}


def updated(memory_id, occurred_at=LATER, **fields):
    return {"event_type": "memory.updated", "memory_id": memory_id, "occurred_at": occurred_at, **fields}


def feedback(memory_id, *, helpful, occurred_at=LATER, **fields):
    return {
        "event_type": "feedback.given",
        "memory_id": memory_id,
        "occurred_at": occurred_at,
        "helpful": helpful,
        **fields,
    }


def linked(memory_id, target_id, occurred_at=LATER, **fields):
    return {
        "event_type": "link.asserted",
        "memory_id": memory_id,
        "target_id": target_id,
        "occurred_at": occurred_at,
        "edge_type": "RELATES_TO",
        **fields,
    }


def fold(*rows):
    return projection.fold(events(rows), NO_DECISIONS)


def memory(state, memory_id="a"):
    return state.memories.row(by_predicate=pl.col("memory_id") == memory_id, named=True)


def test_a_stored_memory_has_plain_defaults():
    row = memory(fold(stored("a", importance=0.7, importance_hint=0.2, tags=["x"], speaker="Ana", session_id="s")))
    assert row["created_at"] == row["lifecycle_since"] == row["energy_at"] == ago(100)
    assert (row["kind"], row["tier"], row["lifecycle"], row["event_id"], row["seq"]) == (
        "original",
        "working",
        "active",
        "e1",
        1,
    )
    assert (row["confidence"], row["protected"], row["access_count"], row["access_sessions"]) == (0.5, False, 0, 0)
    assert (row["energy_base"], row["stability_gain"], row["last_accessed_at"]) == (1.0, 0.0, None)
    assert (row["importance_given"], row["importance_hint"], row["tags"], row["speaker"]) == (0.7, 0.2, ["x"], "Ana")
    assert (row["members"], row["superseded_by"], row["plan_id"]) == ([], None, None)
    assert len(row["content_hash"]) == 32


def test_types_match_in_any_case_and_are_plain_and_marked_where_unknown():
    state = fold(
        stored("a", memory_type="decision", category=" SEMANTIC"),
        stored("b", content="We decided to use PostgreSQL."),
        stored("c", memory_type="Nonsense", content="hello"),
    )
    columns = ("memory_type", "memory_type_inferred", "category", "category_inferred")
    assert [memory(state)[column] for column in columns] == ["Decision", False, "semantic", False]
    assert [memory(state, "b")[column] for column in columns[:2]] == ["Memory", True]
    assert [memory(state, "c")[column] for column in columns] == ["Memory", True, "episodic", True]


def test_what_occurs_after_it_was_recorded_counts_as_recorded():
    assert memory(fold(stored("a", AS_OF + WEEK)))["created_at"] == AS_OF


def test_the_first_event_that_stores_a_memory_wins_whenever_it_arrives():
    state = fold(stored("a", ago(10), content="later"), stored("a", ago(20), content="earlier"))
    assert (memory(state)["content"], memory(state)["created_at"], memory(state)["seq"]) == ("earlier", ago(20), 2)


def test_the_latest_value_given_for_each_field_wins_and_a_new_text_gets_its_own_hash():
    state = fold(
        stored("a", protected=True, protected_reason="legal"),
        stored("b", content="new text"),
        updated("a", ago(10), content="new text"),
        updated("a", ago(20), content="old text", valid_until=ago(1)),
        updated("b", ago(5), protected=True, protected_reason="said so"),
        updated("b", ago(4), protected=False),
    )
    a, b = memory(state, "a"), memory(state, "b")
    assert (a["content"], a["valid_until"], a["updated_at"]) == ("new text", ago(1), ago(10))
    assert a["content_hash"] == b["content_hash"]
    assert (a["protected"], a["protected_reason"], b["protected"], b["protected_reason"]) == (
        True,
        "legal",
        False,
        None,
    )


def test_accesses_count_with_their_sessions_and_the_last_instant():
    state = fold(
        stored("a"),
        accessed("a", ago(3), session_id="s"),
        accessed("a", ago(9), session_id="s"),
        accessed("a", ago(5), session_id="t"),
        accessed("a", ago(4), times=7),
        accessed("unknown", ago(4)),
    )
    row = memory(state)
    assert (row["access_count"], row["access_sessions"], row["last_accessed_at"]) == (10, 2, ago(3))
    assert state.memories.height == 1


def test_stability_grows_with_the_time_since_the_access_before_up_to_two_weeks():
    row = memory(fold(stored("a", ago(100)), accessed("a", ago(96.5)), accessed("a", ago(50)), accessed("a", ago(49))))
    assert row["stability_gain"] == pytest.approx(0.1 * (0.5 + 2.0 + 1.0 / 7.0))


@pytest.mark.parametrize(
    ("hours", "energy"),
    [((), 1.0), ((0.0, 0.0), 3.0), ((2.0,), 1.367879), ((1.0, 2.0), 1.974410)],
)
def test_energy_is_the_decayed_sum_over_creation_and_accesses_at_the_last_of_them(hours, energy):
    state = fold(stored("a", ago(100)), *(accessed("a", ago(100, hours=-after)) for after in hours))
    assert memory(state)["energy_base"] == pytest.approx(energy, abs=1e-6)
    assert memory(state)["energy_at"] == ago(100, hours=-max(hours, default=0.0))


def test_what_happens_before_creation_counts_as_at_creation():
    row = memory(fold(accessed("a", ago(200)), updated("a", ago(200), content="fixed"), stored("a", ago(100))))
    assert (row["access_count"], row["last_accessed_at"], row["energy_base"]) == (1, ago(100), 2.0)
    assert (row["stability_gain"], row["content"], row["updated_at"]) == (0.0, "fixed", ago(100))


def test_helpful_feedback_is_an_access_and_wrong_feedback_costs_confidence_down_to_zero():
    wrong = [feedback("a", helpful=False)] * 3
    row = memory(fold(stored("a", confidence=0.5), feedback("a", helpful=True, session_id="s"), *wrong))
    assert (row["access_count"], row["access_sessions"], row["confidence"]) == (1, 1, 0.2)
    assert memory(fold(stored("a", confidence=0.2), *wrong))["confidence"] == 0.0


def test_asserted_links_are_edges_undirected_ones_stored_once():
    state = fold(
        stored("a"),
        stored("b", ago(70)),
        linked("b", "a", ago(80)),
        linked("b", "a", ago(9), edge_type="contradicts", edge_kind="conflict", weight=0.4),
        linked("a", "b", ago(8), edge_type="CONTRADICTS", weight=0.6),
        linked("a", "a"),
        linked("a", "unknown"),
    )
    rows = state.edges.select(
        "source", "target", "edge_type", "kind", "weight", "discovered_at", "last_strengthened_at"
    )
    assert rows.rows() == [
        ("a", "b", "CONTRADICTS", "conflict", 0.6, ago(9), ago(8)),
        ("b", "a", "RELATES_TO", None, 1.0, ago(70), ago(70)),
    ]
    assert set(state.edges["origin"]) == {"asserted"}


def test_profiles_do_not_meet():
    state = fold(
        stored("a"),
        stored("b", profile_id="q"),
        stored("a", profile_id="q"),
        accessed("a", profile_id="q"),
        linked("a", "b"),
    )
    assert state.edges.is_empty()
    counts = state.memories.select("profile_id", "memory_id", "access_count")
    assert counts.rows() == [("p", "a", 0), ("q", "a", 1), ("q", "b", 0)]


def test_what_happened_before_a_memory_was_stored_counts_in_the_order_it_happened():
    state = fold(
        stored("a", LATER),
        stored("b", LATER),
        updated("a", LATER, importance=0.9),
        linked("a", "b", LATER, weight=0.9),
        updated("a", FIRST, importance=0.1, tags=["early"]),
        linked("a", "b", FIRST, weight=0.1),
    )
    (row,) = state.memories.filter(memory_id="a").to_dicts()
    assert (row["importance_given"], row["tags"], row["updated_at"]) == (0.9, ["early"], LATER)
    assert state.edges.select("base_weight", "discovered_at").rows() == [(0.9, LATER)]


def test_without_events_there_is_an_empty_state():
    state = fold()
    assert_frame_equal(state.memories, TABLES["memories"].empty())
    assert_frame_equal(state.edges, TABLES["decided_edges"].empty())


MOMENTS = st.integers(0, 40).map(lambda quarters: ago(20) + timedelta(hours=6 * quarters))
NAMES = st.sampled_from(["a", "b", "c", "d"])
COMMON = {"occurred_at": MOMENTS, "profile_id": st.sampled_from(["p", "q"])}
SESSIONS = st.sampled_from([None, "s", "t"])
EVENT = st.one_of(
    st.builds(
        stored,
        NAMES,
        content=st.sampled_from(["one", "two"]),
        confidence=st.none() | st.floats(0, 1),
        tags=st.sampled_from([None, [], ["x"]]),
        importance=st.none() | st.just(0.25),
        **COMMON,
    ),
    st.builds(accessed, NAMES, session_id=SESSIONS, **COMMON),
    st.builds(feedback, NAMES, helpful=st.booleans(), session_id=SESSIONS, **COMMON),
    st.builds(updated, NAMES, content=st.none() | st.just("new"), protected=st.none() | st.booleans(), **COMMON),
    st.builds(
        updated,
        NAMES,
        tags=st.none() | st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True),
        importance=st.none() | st.floats(0, 1),
        metadata=st.none() | st.sampled_from(['{"a":1}', "{}"]),
        **COMMON,
    ),
    st.builds(linked, NAMES, NAMES, edge_type=st.sampled_from(["SIMILAR_TO", "RELATES_TO"]), **COMMON),
)
STREAMS = st.lists(EVENT, max_size=40).map(events)


def same(one, other):
    assert_frame_equal(one.memories, other.memories, check_exact=True)
    assert_frame_equal(one.edges, other.edges, check_exact=True)


def written(frame):
    return frame.rechunk().write_ipc(None).getvalue()


def one_by_one(stream):
    """The plainest fold: a dictionary, and each event in turn."""
    rows = sorted(stream.to_dicts(), key=lambda row: (min(row["occurred_at"], row["recorded_at"]), row["seq"]))
    known = {}
    for row in rows:
        key = (row["profile_id"], row["memory_id"])
        if row["event_type"] == "memory.stored" and key not in known:
            confidence = 0.5 if row["confidence"] is None else row["confidence"]
            known[key] = {
                "content": row["content"], "created_at": row["occurred_at"], "confidence": confidence,
                "protected": False, "access_count": 0, "last": None, "sessions": set(), "stability": 0.0,
                "energy": 1.0, "energy_at": row["occurred_at"],
                "tags": row["tags"] or [], "importance_given": row["importance"], "metadata": row["metadata"],
            }  # fmt: skip
    for row in rows:
        memory = known.get((row["profile_id"], row["memory_id"]))
        if memory is None or row["event_type"] in {"memory.stored", "link.asserted"}:
            continue
        at = max(row["occurred_at"], memory["created_at"])
        if row["event_type"] == "memory.updated":
            memory["content"] = row["content"] or memory["content"]
            memory["protected"] = memory["protected"] if row["protected"] is None else row["protected"]
            memory["tags"] = memory["tags"] if row["tags"] is None else row["tags"]
            memory["metadata"] = row["metadata"] or memory["metadata"]
            memory["importance_given"] = memory["importance_given"] if row["importance"] is None else row["importance"]
        elif row["helpful"] is False:
            memory["confidence"] = max(0.0, memory["confidence"] - 0.1)
        else:
            memory["access_count"] += 1
            memory["sessions"] |= {row["session_id"]} - {None}
            idle = (at - (memory["last"] or memory["created_at"])) / timedelta(days=1)
            memory["stability"] += 0.1 * min(2.0, idle / 7.0)
            hours = (at - memory["energy_at"]) / timedelta(hours=1)
            memory["energy"] = memory["energy"] * math.exp(-0.5 * hours) + 1.0
            memory["last"] = memory["energy_at"] = at
    return known


@given(STREAMS)
def test_the_fold_equals_the_plainest_one(stream):
    folded = projection.fold(stream, NO_DECISIONS).memories
    known = one_by_one(stream)
    assert set(folded.select("profile_id", "memory_id").iter_rows()) == set(known)
    for row in folded.iter_rows(named=True):
        wanted = known[row["profile_id"], row["memory_id"]]
        exact = (
            *("content", "created_at", "protected", "access_count", "energy_at"),
            *("tags", "importance_given", "metadata"),
        )
        assert [row[name] for name in exact] == [wanted[name] for name in exact]
        assert (row["last_accessed_at"], row["access_sessions"]) == (wanted["last"], len(wanted["sessions"]))
        close = (row["confidence"], row["stability_gain"], row["energy_base"])
        assert close == pytest.approx((wanted["confidence"], wanted["stability"], wanted["energy"]), abs=1e-12)


@examples(2)
@given(STREAMS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_byte(stream, random):
    places = list(range(stream.height))
    random.shuffle(places)
    one, other = projection.fold(stream, NO_DECISIONS), projection.fold(stream[places], NO_DECISIONS)
    assert written(one.memories) == written(other.memories)
    assert written(one.edges) == written(other.edges)


@examples(2)
@given(STREAMS, st.integers(0, 40))
def test_what_is_delivered_twice_counts_once(stream, first):
    again = stream.head(first).with_columns(pl.col("seq") + stream.height)
    same(projection.fold(stream, NO_DECISIONS), projection.fold(pl.concat([stream, again]), NO_DECISIONS))


@examples(1)
@given(STREAMS)
def test_a_memory_folded_alone_is_the_same_as_among_others(stream):
    whole = projection.fold(stream, NO_DECISIONS).memories
    groups = stream.group_by("profile_id", "memory_id", maintain_order=True)
    alone = [projection.fold(group, NO_DECISIONS).memories for _, group in groups]
    parts = pl.concat([TABLES["memories"].empty(), *alone]).sort("profile_id", "memory_id")
    assert_frame_equal(whole, parts, check_exact=True)


@examples(2)
@given(STREAMS)
def test_every_stored_memory_is_there_exactly_once_and_holds_to_its_schema(stream):
    state = projection.fold(stream, NO_DECISIONS)
    stored_ids = stream.filter(pl.col("event_type") == "memory.stored").select("profile_id", "memory_id").unique()
    assert set(state.memories.select("profile_id", "memory_id").iter_rows()) == set(stored_ids.iter_rows())
    assert TABLES["memories"].violations(state.memories).is_empty()
    assert TABLES["decided_edges"].violations(state.edges).is_empty()


@examples(2)
@given(STREAMS)
def test_projecting_is_folding_without_decisions(stream):
    same(projection.project(stream), projection.fold(stream, NO_DECISIONS))


def said(value):
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value


def decision(action, memory_id, as_of=AS_OF, *, target_id=None, profile_id="p", **after):
    """A committed decision of a run with that clock; what it sets is given by name."""
    return {
        "profile_id": profile_id,
        "action": action,
        "memory_id": memory_id,
        "target_id": target_id,
        "as_of": as_of,
        "after": json.dumps({name: said(value) for name, value in after.items()}),
        "plan_id": f"plan of {as_of:%Y-%m-%d %H:%M}",
    }


def decisions(*rows):
    """Table `decisions`: numbered within their plans in the order given, plans in the order of their clocks."""
    table = TABLES["decisions"]
    complete = [
        {
            "decision_id": f"d{index}",
            "ordinal": index,
            "seq": 1_000 + int((row["as_of"] - ago(1_000)) / timedelta(hours=1)),
            **dict.fromkeys(("rule", "reason", "factors", "before", "signature"), ""),
            "status": "committed",
            **row,
        }
        for index, row in enumerate(rows)
    ]
    return table.conform(pl.DataFrame(complete, schema=table.empty().schema))


LIFECYCLES = {
    "archive": "archived", "delete": "deleted", "expire": "expired", "cold": "cold", "stub": "stub",
}  # fmt: skip


def moved(action, memory_id, as_of=AS_OF, **after):
    return decision(action, memory_id, as_of, lifecycle=LIFECYCLES[action], **after)


def summarised(memory_id, as_of=AS_OF, members=("a", "b"), **fields):
    after = {
        "kind": "compression", "content": f"summary {memory_id}", "content_hash": f"hash of {memory_id}",
        "memory_type": "Context", "category": "episodic", "importance_given": 0.5, "confidence": 0.5,
        "protected": False, "seq": 1, "access_count": 0, "members": members, "cluster_id": "c", "index_text": "words",
        "stability_given": 0.3, "lifecycle": "active",
    }  # fmt: skip
    return decision("summarise", memory_id, as_of, **after | fields)


def superseded(memory_id, summary_id, as_of=AS_OF, *, lifecycle="archived", **fields):
    spoken = {"content_hash": digest(f"note {memory_id}"), "protected": False} | fields
    target = {"superseded_by": summary_id, "superseded_kind": "summary", "lifecycle": lifecycle}
    return decision("supersede", memory_id, as_of, target_id=summary_id, **target, **spoken)


def closed(memory_id, newer, valid_until, as_of=AS_OF, *, text=None, newer_text=None, **fields):
    return decision(
        "close",
        memory_id,
        as_of,
        target_id=newer,
        valid_until=valid_until,
        superseded_by=newer,
        superseded_kind="update",
        content_hash=digest(text or f"note {memory_id}"),
        other_hash=digest(newer_text or f"note {newer}"),
        **fields,
    )


def promoted(memory_id, as_of=AS_OF, **after):
    return decision("promote", memory_id, as_of, **after)


def reinforced(source, target, as_of=AS_OF, *, similarity=0.8, **fields):
    return decision(
        "link",
        source,
        as_of,
        target_id=target,
        **{
            "source": source, "target": target, "edge_type": "REINFORCES", "weight": 0.8, "base_weight": 0.8,
            "similarity": similarity, "algorithm": "reinforcement", "discovered_at": as_of,
            "last_strengthened_at": as_of, "co_count": 0,
        } | fields,
    )  # fmt: skip


def compiled(block, content, as_of=AS_OF, *, version=1, profile_id="p"):
    after = {"content": content, "members": ["a"], "version": version, "compiled_by": "rules"}
    return decision("compile", block, as_of, profile_id=profile_id, **after)


def digest(content):
    return content_hash.content_hash(None, content)


def state_of(rows, *decided):
    return projection.fold(events(rows), decisions(*decided))


def stands(state, memory_id="a"):
    row = memory(state, memory_id)
    return row["lifecycle"], row["lifecycle_since"], row["superseded_by"], row["superseded_kind"]


def test_accesses_say_when_in_which_session_and_whether_only_over_an_association():
    rows = [
        stored("a", ago(20)),
        accessed("a", ago(9), session_id="s", expanded=True, event_id="twice"),
        accessed("a", ago(30)),
        feedback("a", helpful=True, occurred_at=ago(8)),
        feedback("a", helpful=False),
        accessed("unknown"),
        accessed("a", ago(9), session_id="s", expanded=True, event_id="twice"),
    ]
    used = fold(*rows).accesses.drop("profile_id", "ordinal", "times").rows()
    assert used == [(2, "a", ago(9), "s", True), (3, "a", ago(20), None, False), (4, "a", ago(8), None, False)]


def test_an_access_over_an_association_makes_less_stable():
    row = memory(fold(stored("a", ago(50)), accessed("a", ago(43), expanded=True), accessed("a", ago(36))))
    assert row["stability_gain"] == pytest.approx(0.03 + 0.1)
    assert row["access_count"] == 2


def test_replaying_the_ledger_resets_no_count():
    """A rebuild of the real system starts every access count at zero again."""
    rows = [stored("a"), *[accessed("a", ago(40 - n)) for n in range(5)]]
    first = fold(*rows)
    again = projection.fold(events(rows), NO_DECISIONS)
    assert memory(first)["access_count"] == memory(again)["access_count"] == 5


def test_a_tier_holds_from_its_instant_on_and_leaves_a_trace():
    rows = [stored("a", ago(10)), accessed("a", ago(10)), accessed("a", ago(10)), accessed("a", ago(9))]
    state = state_of(
        rows,
        promoted("a", tier="short_term", at=ago(10), energy=3.0),
        promoted("a", AS_OF + WEEK, tier="long_term", at=AS_OF + WEEK, energy=5.5),
    )
    trace = state.tier_changes.select("at", "from_tier", "to_tier", "edge_type", "energy").rows()
    assert trace == [
        (ago(10), "working", "short_term", "PROMOTED_TO", 3.0),
        (AS_OF + WEEK, "short_term", "long_term", "CRYSTALLIZED_INTO", 5.5),
    ]
    row = memory(state)
    assert (row["tier"], row["tier_since"], row["energy_at"]) == ("long_term", AS_OF + WEEK, AS_OF + WEEK)
    nine = 3 * math.exp(-0.05 * 24) + 1
    assert row["energy_base"] == pytest.approx(nine * math.exp(-0.05 * 16 * 24))
    assert row["plan_id"] == state.tier_changes["plan_id"][1]


def test_a_late_access_lands_in_the_tier_that_was_in_force_then():
    promotion = promoted("a", tier="short_term", at=ago(9), energy=2.5)
    rows = [stored("a", ago(10)), accessed("a", ago(9))]
    late = [*rows, accessed("a", ago(9, hours=10))]
    before, after = memory(state_of(rows, promotion)), memory(state_of(late, promotion))
    assert (after["energy_at"], after["tier_since"]) == (ago(9), ago(9))
    assert after["energy_base"] - before["energy_base"] == pytest.approx(math.exp(-0.5 * 10))


def test_a_tier_is_reached_only_from_the_one_below_and_once():
    skipping = state_of([stored("a")], promoted("a", tier="long_term", at=ago(3), energy=9.0))
    assert skipping.tier_changes.is_empty()
    assert memory(skipping)["tier"] == "working"
    twice = state_of(
        [stored("a")],
        promoted("a", tier="short_term", at=ago(3), energy=7.0),
        promoted("a", AS_OF + WEEK, tier="short_term", at=ago(1), energy=7.0),
        promoted("a", AS_OF + 2 * WEEK, tier="long_term", at=ago(3), energy=7.0),
    )
    microsecond = timedelta(microseconds=1)
    assert twice.tier_changes.select("to_tier", "at").rows() == [
        ("short_term", ago(3)),
        ("long_term", ago(3) + microsecond),
    ]
    assert TABLES["tier_changes"].violations(twice.tier_changes).is_empty()


def test_undoing_a_promotion_undoes_the_next_one_with_it():
    both = decisions(
        promoted("a", tier="short_term", at=ago(3), energy=7.0),
        promoted("a", AS_OF + WEEK, tier="long_term", at=ago(2), energy=7.0),
    )
    state = projection.fold(events([stored("a")]), both.tail(1))
    assert (memory(state)["tier"], state.tier_changes.height) == ("working", 0)


def test_reinforcement_adds_energy_counts_and_goes_with_its_edge():
    rows = [stored("a", ago(1)), stored("b", ago(1)), stored("c", ago(1))]
    links = [reinforced("b", "a", ago(0.5)), reinforced("c", "a", similarity=None), reinforced("c", "b", ago(0.25))]
    row = memory(state_of(rows, *links))
    assert (row["reinforcement_count"], row["last_reinforced_at"], row["energy_at"]) == (1, ago(0.5), ago(0.5))
    assert row["energy_base"] == pytest.approx(math.exp(-6) + 0.4)
    assert (row["access_count"], row["last_accessed_at"]) == (0, None)
    without = memory(state_of(rows, *links, moved("delete", "b", AS_OF + WEEK)))
    assert (without["reinforcement_count"], without["last_reinforced_at"]) == (0, None)
    assert (without["energy_base"], without["energy_at"]) == (1.0, ago(1))


@pytest.mark.parametrize("action", ["expire", "cold", "stub"])
def test_what_rests_is_active_again_from_its_next_use_or_change_on(action):
    rest = moved(action, "a", ago(20))
    rows = [stored("a", content="x" * 300), accessed("a", ago(20))]
    asleep = state_of(rows, rest)
    assert stands(asleep) == (LIFECYCLES[action], ago(20), None, None)
    used = state_of([*rows, accessed("a", ago(9)), accessed("a", ago(19))], rest)
    assert stands(used) == ("active", ago(19), None, None)
    changed = state_of([*rows, updated("a", ago(18), content="y" * 300)], rest)
    assert stands(changed) == ("active", ago(18), None, None)
    assert memory(used)["content"] == "x" * 300
    assert memory(changed)["content"] == "y" * 300
    again = state_of([*rows, accessed("a", ago(19))], rest, moved(action, "a", ago(5)))
    assert stands(again) == (LIFECYCLES[action], ago(5), None, None)


@pytest.mark.parametrize("action", ["archive", "delete"])
def test_what_was_archived_or_deleted_does_not_come_back_by_itself(action):
    state = state_of(
        [stored("a"), accessed("a", ago(9)), updated("a", ago(9), content="new")], moved(action, "a", ago(20))
    )
    assert memory(state)["lifecycle"] == LIFECYCLES[action]


def test_a_stub_shows_the_beginning_of_its_text_and_keeps_its_hash():
    full = "é" * 150 + "z" * 150
    rows = [stored("a", content=full), stored("b", content="short")]
    state = state_of(rows, moved("stub", "a"), moved("stub", "b"))
    assert memory(state)["content"] == "[archived] " + full[:200]
    assert memory(state)["content_hash"] == memory(fold(*rows))["content_hash"]
    assert memory(state, "b")["content"] == "[archived] short"


def test_what_a_summary_stands_for_is_not_brought_back_by_use():
    merge = [summarised("S", ago(30)), superseded("a", "S", ago(30), lifecycle="cold")]
    rows = [stored("a"), stored("b"), accessed("a", ago(9))]
    assert stands(state_of(rows, *merge)) == ("cold", ago(30), "S", "summary")
    stub = moved("stub", "a", ago(20), superseded_by="S", superseded_kind="summary")
    assert stands(state_of(rows, *merge, stub)) == ("stub", ago(20), "S", "summary")
    changed = [*rows, updated("a", ago(8), content="new")]
    assert stands(state_of(changed, *merge, stub)) == ("active", ago(8), None, None)
    assert memory(state_of(changed, *merge, stub))["content"] == "new"


def test_a_fact_stands_while_its_entry_has_the_text_and_the_end_that_it_had():
    fact = summarised("f", ago(30), members=("a",), kind="fact", cluster_id=derived_ids.entry_id("a", digest("note a")))
    changes = [{"content": "new"}, {"valid_until": ago(9)}, {"importance": 0.9}]
    found = [stands(state_of([stored("a"), updated("a", ago(8), **change)], fact), "f")[:2] for change in changes]
    assert found == [("archived", ago(8)), ("archived", ago(8)), ("active", ago(30))]


def test_a_stub_without_its_summary_waits_to_be_used():
    merge = [summarised("S", ago(30)), superseded("a", "S", ago(30), lifecycle="cold")]
    stub = moved("stub", "a", ago(20), superseded_by="S", superseded_kind="summary")
    gone = moved("archive", "S", ago(15))
    rows = [stored("a"), stored("b"), accessed("a", ago(18))]
    waiting = state_of(rows, *merge, stub, gone)
    assert stands(waiting) == ("stub", ago(20), None, None)
    assert memory(waiting)["content"] == "[archived] note a"
    used = state_of([*rows, accessed("a", ago(9))], *merge, stub, gone)
    assert stands(used) == ("active", ago(9), None, None)
    assert memory(used)["content"] == "note a"


def test_a_summary_that_is_used_again_stands_for_its_members_again():
    merge = [summarised("S", ago(30)), superseded("a", "S", ago(30)), moved("cold", "S", ago(20))]
    rows = [stored("a"), stored("b")]
    assert stands(state_of(rows, *merge)) == ("active", ago(20), None, None)
    used = state_of([*rows, accessed("S", ago(9))], *merge)
    assert stands(used, "S") == ("active", ago(9), None, None)
    assert stands(used) == ("archived", ago(30), "S", "summary")


def test_a_newer_fact_ends_the_validity_of_an_older_one_that_stays_live():
    rows = [stored("a"), stored("b", LATER)]
    row = memory(state_of(rows, closed("a", "b", LATER, ago(20))))
    assert (row["valid_until"], row["superseded_by"], row["superseded_kind"]) == (LATER, "b", "update")
    assert (row["lifecycle"], row["lifecycle_since"], row["plan_id"]) == (
        "active",
        FIRST,
        f"plan of {ago(20):%Y-%m-%d %H:%M}",
    )
    earlier = [stored("a", valid_until=ago(70)), rows[1]]
    assert memory(state_of(earlier, closed("a", "b", LATER, ago(20))))["valid_until"] == ago(70)


OPEN = (None, None, None)


def validity(state, memory_id="a"):
    row = memory(state, memory_id)
    return row["valid_until"], row["superseded_by"], row["superseded_kind"]


@pytest.mark.parametrize(
    ("more", "decided", "expected"),
    [
        ([updated("a", ago(9), content="new")], [], OPEN),
        ([updated("b", ago(9), content="new")], [], OPEN),
        ([updated("a", ago(9), protected=True)], [], (LATER, "b", "update")),
        ([], [moved("delete", "b", ago(5))], (LATER, "b", "update")),
        ([], [moved("archive", "b", ago(5))], (LATER, "b", "update")),
        ([], [moved("cold", "b", ago(5))], (LATER, "b", "update")),
        ([], [summarised("S", ago(5)), superseded("b", "S", ago(5))], (LATER, "b", "update")),
        ([], [moved("archive", "a", ago(5), superseded_by="b", superseded_kind="update")], (LATER, "b", "update")),
        ([], [summarised("S", ago(5)), superseded("a", "S", ago(5), valid_until=LATER)], (LATER, "S", "summary")),
        (
            [],
            [
                summarised("S", ago(5)),
                superseded("a", "S", ago(5), valid_until=LATER),
                moved("archive", "S", ago(4)),
            ],
            (LATER, "b", "update"),
        ),
    ],
)
def test_what_takes_the_end_of_validity_back(more, decided, expected):
    rows = [stored("a"), stored("b", LATER), *more]
    assert validity(state_of(rows, closed("a", "b", LATER, ago(20)), *decided)) == expected


def test_of_two_newer_facts_the_last_that_still_stands_ends_the_older():
    rows = [stored("a"), stored("b", LATER), stored("c", ago(30))]
    closings = [closed("a", "b", LATER, ago(20)), closed("a", "c", ago(30), ago(10))]
    assert validity(state_of(rows, *closings)) == (ago(30), "c", "update")
    rows.append(updated("c", ago(9), content="new"))
    assert validity(state_of(rows, *closings)) == (LATER, "b", "update")


def test_the_last_move_decides_and_a_promotion_to_warm_is_one():
    rows = [stored("a")]
    warm = promoted("a", ago(20), lifecycle="warm")
    assert stands(state_of(rows, warm)) == ("warm", ago(20), None, None)
    assert stands(state_of(rows, warm, moved("archive", "a", ago(10)))) == ("archived", ago(10), None, None)
    rows.append(accessed("a", ago(9)))
    assert stands(state_of(rows, moved("cold", "a", ago(30)), warm)) == ("warm", ago(20), None, None)
    assert stands(state_of(rows, warm, moved("cold", "a", ago(10)))) == ("active", ago(9), None, None)


def test_a_promotion_to_core_changes_the_category_alone():
    before = fold(stored("a"))
    row = memory(state_of([stored("a")], promoted("a", ago(20), category="core")))
    differs = {name for name, value in memory(before).items() if row[name] != value}
    assert differs == {"category", "category_inferred", "plan_id"}
    assert (row["category"], row["category_inferred"]) == ("core", False)


def test_the_last_text_of_a_block_stands_and_an_emptied_one_keeps_its_version():
    early, late = ago(20), ago(10)
    state = state_of(
        [],
        compiled("user_profile", "old", early),
        compiled("user_profile", "new", late, version=2),
        compiled("project_context", "text", early),
        compiled("project_context", "", late, version=2),
        compiled("project_context", "other", early, profile_id="q"),
    )
    columns = ["profile_id", "block", "content", "members", "version", "compiled_by", "compiled_at"]
    assert state.blocks.select(columns).rows() == [
        ("p", "project_context", "", ["a"], 2, "rules", late),
        ("p", "user_profile", "new", ["a"], 2, "rules", late),
        ("q", "project_context", "other", ["a"], 1, "rules", early),
    ]


def test_a_state_of_memories_and_edges_alone_can_be_applied_to():
    rows = [stored("a"), accessed("a", ago(9)), stored("b")]
    whole = fold(*rows)
    bare = projection.State(whole.memories, whole.edges)
    after = projection.apply(bare, decisions(moved("archive", "b")))
    assert_frame_equal(after.memories, state_of(rows, moved("archive", "b")).memories, check_exact=True)


CLOCKS = st.integers(0, 12).map(lambda days: ago(20) + timedelta(days=days, hours=3))
CHOICES = {"profile_id": st.sampled_from(["p", "q"]), "as_of": CLOCKS}
TIERS = st.sampled_from(["short_term", "long_term"])
DECISION = st.one_of(
    st.builds(moved, st.sampled_from(["archive", "delete", "expire", "cold"]), NAMES | st.just("S"), **CHOICES),
    st.builds(promoted, NAMES, tier=TIERS, at=MOMENTS, energy=st.just(3.0), **CHOICES),
    st.builds(promoted, NAMES, lifecycle=st.just("warm"), **CHOICES),
    st.builds(promoted, NAMES, category=st.just("core"), **CHOICES),
    st.builds(reinforced, NAMES, NAMES, similarity=st.sampled_from([0.75, 0.9]), discovered_at=MOMENTS, **CHOICES),
    st.builds(summarised, st.just("S"), **CHOICES),
    st.builds(superseded, NAMES, st.just("S"), **CHOICES),
    st.builds(
        closed,
        *(NAMES, NAMES, MOMENTS),
        text=st.sampled_from(["one", "two"]),
        newer_text=st.just("one"),
        statement=st.sampled_from([None, None, "One.", "One.\nTwo."]),
        **CHOICES,
    ),
    st.builds(compiled, st.sampled_from(["x", "y"]), st.sampled_from(["", "one", "two"]), **CHOICES),
)
PLANS = st.lists(DECISION, max_size=14).map(lambda rows: decisions(*rows))
TABLE_NAMES = ("memories", "edges", "accesses", "tier_changes", "blocks")


def equal(one, other):
    for name in TABLE_NAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)


@examples(2)
@given(STREAMS, PLANS, st.integers(-1, 13))
def test_decisions_in_lots_are_decisions_at_once(stream, decided, day):
    cut = pl.col("as_of") <= ago(20) + timedelta(days=day, hours=3)
    first, second = decided.filter(cut), decided.filter(~cut)
    whole = projection.fold(stream, decided)
    equal(projection.apply(projection.fold(stream, first), second), whole)
    equal(projection.apply(projection.apply(projection.fold(stream, NO_DECISIONS), first), second), whole)


STUBS = st.builds(moved, st.just("stub"), NAMES, **CHOICES) | st.builds(
    moved, st.just("stub"), NAMES, superseded_by=st.just("S"), superseded_kind=st.just("summary"), **CHOICES
)


@examples(2)
@given(STREAMS, st.lists(DECISION | STUBS, min_size=1, max_size=14).map(lambda rows: decisions(*rows)))
def test_what_a_run_publishes_is_what_a_rebuild_finds(stream, decided):
    """A run sees what happened up to its clock, and applies its plan to what earlier runs left."""
    clock = decided["as_of"].max()
    known, own = stream.filter(pl.col("occurred_at") <= clock), pl.col("as_of") == clock
    published = projection.apply(projection.fold(known, decided.filter(~own)), decided.filter(own))
    equal(published, projection.fold(known, decided))


@examples(2)
@given(STREAMS, PLANS, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_of_rows_changes_any_table(stream, decided, random):
    again = pl.concat([stream, stream.head(9).with_columns(pl.col("seq") + stream.height)])
    shuffled = []
    for frame in (again, decided):
        places = list(range(frame.height))
        random.shuffle(places)
        shuffled.append(frame[places])
    equal(projection.fold(*shuffled), projection.fold(stream, decided))


@examples(2)
@given(STREAMS, PLANS)
def test_every_table_holds_to_its_schema_and_profiles_do_not_meet(stream, decided):
    state = projection.fold(stream, decided)
    names = ("memories", "decided_edges", "accesses", "tier_changes", "core_memory_blocks")
    for name, attribute in zip(names, TABLE_NAMES, strict=True):
        assert TABLES[name].violations(getattr(state, attribute)).is_empty(), name
    own = pl.col("profile_id") == "p"
    alone = projection.fold(stream.filter(own), decided.filter(own))
    for name in TABLE_NAMES:
        assert_frame_equal(getattr(alone, name), getattr(state, name).filter(own), check_exact=True)


def test_helpers_agree_with_the_fold():
    made = fold(stored("a", content="note a", memory_type="Context", category="episodic")).memories
    columns = ["memory_id", "created_at", "energy_base", "energy_at", "tier", "lifecycle", "confidence", "kind"]
    assert_frame_equal(made.select(columns), frames.memories([{"memory_id": "a"}]).select(columns))
