import math
from datetime import timedelta

import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import projection
from memory_pipeline.lake.schemas import TABLES

few = settings(max_examples=25, deadline=None)
NO_DECISIONS = TABLES["decisions"].empty()
WEEK = timedelta(days=7)
FIRST, LATER = ago(100), ago(50)


def events(rows):
    """Table `events`: profile p, recorded at AS_OF, positions in the order given."""
    table = TABLES["events"]
    complete = [
        {"profile_id": "p", "ordinal": 0, "seq": place, "recorded_at": AS_OF, "occurred_at": ago(50), **row}
        for place, row in enumerate(rows, 1)
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


def test_types_match_in_any_case_and_are_inferred_and_marked_where_unknown():
    state = fold(
        stored("a", memory_type="decision", category=" SEMANTIC"),
        stored("b", content="We decided to use PostgreSQL."),
        stored("c", memory_type="Nonsense", content="hello"),
    )
    columns = ("memory_type", "memory_type_inferred", "category", "category_inferred")
    assert [memory(state)[column] for column in columns] == ["Decision", False, "semantic", False]
    assert [memory(state, "b")[column] for column in columns[:2]] == ["Decision", True]
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
        accessed("a", ago(4)),
        accessed("unknown", ago(4)),
    )
    row = memory(state)
    assert (row["access_count"], row["access_sessions"], row["last_accessed_at"]) == (4, 2, ago(3))
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


def test_without_events_there_is_an_empty_state():
    state = fold()
    assert_frame_equal(state.memories, TABLES["memories"].empty())
    assert_frame_equal(state.edges, TABLES["decided_edges"].empty())


MOMENTS = st.integers(0, 40).map(lambda quarters: ago(20) + timedelta(hours=6 * quarters))
NAMES = st.sampled_from(["a", "b", "c", "d"])
COMMON = {"occurred_at": MOMENTS, "profile_id": st.sampled_from(["p", "q"])}
SESSIONS = st.sampled_from([None, "s", "t"])
EVENT = st.one_of(
    st.builds(stored, NAMES, content=st.sampled_from(["one", "two"]), confidence=st.none() | st.floats(0, 1), **COMMON),
    st.builds(accessed, NAMES, session_id=SESSIONS, **COMMON),
    st.builds(feedback, NAMES, helpful=st.booleans(), session_id=SESSIONS, **COMMON),
    st.builds(updated, NAMES, content=st.none() | st.just("new"), protected=st.none() | st.booleans(), **COMMON),
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
            }  # fmt: skip
    for row in rows:
        memory = known.get((row["profile_id"], row["memory_id"]))
        if memory is None or row["event_type"] in {"memory.stored", "link.asserted"}:
            continue
        at = max(row["occurred_at"], memory["created_at"])
        if row["event_type"] == "memory.updated":
            memory["content"] = row["content"] or memory["content"]
            memory["protected"] = memory["protected"] if row["protected"] is None else row["protected"]
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


@few
@given(STREAMS)
def test_the_fold_equals_the_plainest_one(stream):
    folded = projection.fold(stream, NO_DECISIONS).memories
    known = one_by_one(stream)
    assert set(folded.select("profile_id", "memory_id").iter_rows()) == set(known)
    for row in folded.iter_rows(named=True):
        wanted = known[row["profile_id"], row["memory_id"]]
        exact = ("content", "created_at", "protected", "access_count", "energy_at")
        assert [row[name] for name in exact] == [wanted[name] for name in exact]
        assert (row["last_accessed_at"], row["access_sessions"]) == (wanted["last"], len(wanted["sessions"]))
        close = (row["confidence"], row["stability_gain"], row["energy_base"])
        assert close == pytest.approx((wanted["confidence"], wanted["stability"], wanted["energy"]), abs=1e-12)


@few
@given(STREAMS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_byte(stream, random):
    places = list(range(stream.height))
    random.shuffle(places)
    one, other = projection.fold(stream, NO_DECISIONS), projection.fold(stream[places], NO_DECISIONS)
    assert written(one.memories) == written(other.memories)
    assert written(one.edges) == written(other.edges)


@few
@given(STREAMS, st.integers(0, 40))
def test_what_is_delivered_twice_counts_once(stream, first):
    again = stream.head(first).with_columns(pl.col("seq") + stream.height)
    same(projection.fold(stream, NO_DECISIONS), projection.fold(pl.concat([stream, again]), NO_DECISIONS))


@few
@given(STREAMS)
def test_a_memory_folded_alone_is_the_same_as_among_others(stream):
    whole = projection.fold(stream, NO_DECISIONS).memories
    groups = stream.group_by("profile_id", "memory_id", maintain_order=True)
    alone = [projection.fold(group, NO_DECISIONS).memories for _, group in groups]
    parts = pl.concat([TABLES["memories"].empty(), *alone]).sort("profile_id", "memory_id")
    assert_frame_equal(whole, parts, check_exact=True)


@few
@given(STREAMS)
def test_every_stored_memory_is_there_exactly_once_and_holds_to_its_schema(stream):
    state = projection.fold(stream, NO_DECISIONS)
    stored_ids = stream.filter(pl.col("event_type") == "memory.stored").select("profile_id", "memory_id").unique()
    assert set(state.memories.select("profile_id", "memory_id").iter_rows()) == set(stored_ids.iter_rows())
    assert TABLES["memories"].violations(state.memories).is_empty()
    assert TABLES["decided_edges"].violations(state.edges).is_empty()


@few
@given(STREAMS)
def test_projecting_is_folding_without_decisions(stream):
    same(projection.project(stream), projection.fold(stream, NO_DECISIONS))


def test_helpers_agree_with_the_fold():
    made = fold(stored("a", content="note a", memory_type="Context", category="episodic")).memories
    columns = ["memory_id", "created_at", "energy_base", "energy_at", "tier", "lifecycle", "confidence", "kind"]
    assert_frame_equal(made.select(columns), frames.memories([{"memory_id": "a"}]).select(columns))
