"""What decisions say: the JSON of each action, before and after, and what it is about."""

import json
from datetime import UTC, datetime

import frames
import polars as pl
import pytest
from frames import ago
from hypothesis import given
from hypothesis import strategies as st
from planned import archived, compiled, fact_changes, rising, rows, superseded
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.schemas import INSTANT

NO_SUMMARIES = frames.summaries([])


def only(changes):
    """The one change, with its JSON read."""
    (row,) = changes.iter_rows(named=True)
    return row | {name: json.loads(row[name]) for name in ("factors", "before", "after")}


def moved(leaving, *memories, made=NO_SUMMARIES, **options):
    return decision_rows.moves(archived([leaving]), made, frames.memories(memories), **options)


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("delete", "active", "deleted"),
        ("archive", "warm", "archived"),
        ("expire", "active", "expired"),
        ("cold", "active", "cold"),
        ("stub", "cold", "stub"),
    ],
)
def test_a_memory_that_leaves_goes_where_its_action_says(action, before, after):
    own = {"memory_id": "a", "lifecycle": before, "content_hash": "text of a"}
    change = only(moved({"memory_id": "a", "action": action}, own))
    assert change["before"] == {"lifecycle": before, "superseded_by": None, "superseded_kind": None}
    assert change["after"] == {"lifecycle": after, "superseded_by": None, "superseded_kind": None}
    assert change["factors"] == {"strength": 0.1, "threshold": 0.2}
    assert (change["action"], change["target_id"], change["subject"]) == (action, None, "text of a")


@pytest.mark.parametrize("place", ["archived", "cold"])
def test_a_superseded_original_goes_where_the_policy_says_with_all_that_it_said_then(place):
    own = {"memory_id": "a", "content_hash": "text of a", "valid_from": ago(9)}
    change = only(moved(superseded("a", "S"), own, superseded_lifecycle=place))
    assert change["after"] == {
        "lifecycle": place,
        "superseded_by": "S",
        "superseded_kind": "summary",
        "content_hash": "text of a",
        "protected": False,
        "valid_from": "2025-12-23T00:00:00.000000Z",
        "valid_until": None,
    }
    assert change["subject"] == "text of a"


def test_an_archive_in_favour_of_a_summary_marks_the_memory_as_superseded_by_it():
    change = only(moved({"memory_id": "a", "target_id": "S"}, {"memory_id": "a"}))
    assert (change["action"], change["target_id"]) == ("archive", "S")
    assert change["after"].keys() == {*decision_json.MOVE, *decision_json.STATED}
    assert (change["after"]["superseded_by"], change["after"]["superseded_kind"]) == ("S", "summary")
    plain = only(moved({"memory_id": "a"}, {"memory_id": "a"}))
    assert (plain["after"]["superseded_by"], plain["after"].keys()) == (None, set(decision_json.MOVE))


def test_a_replaced_summary_says_only_where_it_goes():
    made = frames.summaries([{"summary_id": "T", "members": ["a"], "replaces": ["S"]}])
    summary = {"memory_id": "S", "kind": "compression"}
    change = only(decision_rows.moves(archived([]), made, frames.memories([summary])))
    assert (change["action"], change["rule"], change["target_id"]) == ("supersede", "replaced_by_summary", "T")
    assert change["after"] == {"lifecycle": "archived", "superseded_by": "T", "superseded_kind": "summary"}


@pytest.mark.parametrize("action", ["archive", "cold", "expire", "delete"])
def test_what_a_newer_memory_changed_stays_marked_when_it_leaves(action):
    closed = {"memory_id": "a", "superseded_by": "b", "superseded_kind": "update"}
    change = only(moved({"memory_id": "a", "action": action}, closed))
    assert (change["after"]["superseded_by"], change["after"]["superseded_kind"]) == ("b", "update")
    assert change["before"]["superseded_by"] == "b"


@pytest.mark.parametrize("lifecycle", ["active", "warm", "expired", "archived", "stub", "deleted"])
def test_only_what_is_cold_becomes_a_stub(lifecycle):
    assert moved({"memory_id": "a", "action": "stub"}, {"memory_id": "a", "lifecycle": lifecycle}).is_empty()


@pytest.mark.parametrize("lifecycle", ["cold", "stub", "expired", "archived", "deleted"])
@pytest.mark.parametrize("action", ["delete", "archive", "expire", "cold"])
def test_only_what_is_live_leaves(action, lifecycle):
    assert moved({"memory_id": "a", "action": action}, {"memory_id": "a", "lifecycle": lifecycle}).is_empty()


def test_a_summary_can_take_the_place_of_what_has_left_but_for_the_deleted():
    for lifecycle, count in (("cold", 1), ("stub", 1), ("expired", 1), ("archived", 1), ("deleted", 0)):
        own = {"memory_id": "a", "lifecycle": lifecycle, "superseded_by": "S", "superseded_kind": "summary"}
        assert moved(superseded("a", "T"), own).height == count, lifecycle
        assert moved(superseded("a", "S"), own).is_empty(), lifecycle


PAIR = ({"memory_id": "a", "content_hash": "old"}, {"memory_id": "b", "content_hash": "new"})


def closed(*memories, **fields):
    return decision_rows.closings(
        fact_changes([{"memory_id": "a", "other_id": "b", **fields}]), frames.memories(memories or PAIR)
    )


def test_a_changed_fact_ends_with_the_text_of_both_memories():
    change = only(closed())
    assert (change["action"], change["memory_id"], change["target_id"]) == ("close", "a", "b")
    assert (change["rule"], change["factors"]) == ("changed_value", {"confidence": 0.9, "similarity": 0.75})
    assert change["before"] == {"superseded_by": None, "superseded_kind": None, "valid_until": None}
    assert change["after"] == {
        "content_hash": "old",
        "other_hash": "new",
        "superseded_by": "b",
        "superseded_kind": "update",
        "valid_until": "2025-12-31T00:00:00.000000Z",
    }
    assert change["subject"] == "old new"


def test_a_fact_that_was_to_end_earlier_still_does():
    earlier, later = ({**PAIR[0], "valid_until": instant} for instant in (ago(5), ago(-5)))
    assert only(closed(earlier, PAIR[1]))["after"]["valid_until"] == "2025-12-27T00:00:00.000000Z"
    change = only(closed(later, PAIR[1]))
    assert change["before"]["valid_until"] == "2026-01-06T00:00:00.000000Z"
    assert change["after"]["valid_until"] == "2025-12-31T00:00:00.000000Z"


def test_conflicts_what_is_ended_already_and_what_is_not_there_end_nothing():
    assert closed(relation="conflict").is_empty()
    assert closed({**PAIR[0], "superseded_by": "b", "superseded_kind": "update"}, PAIR[1]).is_empty()
    assert closed(PAIR[0]).is_empty()
    assert closed(PAIR[0], {**PAIR[1], "profile_id": "q"}).is_empty()
    again = closed({**PAIR[0], "superseded_by": "c", "superseded_kind": "update"}, PAIR[1])
    assert only(again)["before"]["superseded_by"] == "c"


def raised(*risen, **fields):
    own = {"memory_id": "a", "content_hash": "text of a", **fields}
    return decision_rows.promotions(rising([{"memory_id": "a", **row} for row in risen]), frames.memories([own]))


def test_a_promotion_says_what_rises_and_nothing_else():
    change = only(raised({}))
    assert (change["action"], change["target_id"], change["rule"]) == ("promote", None, "energy")
    assert (change["factors"], change["before"]) == ({"energy": 2.5}, {"tier": "working"})
    assert change["after"] == {
        "at": "2025-12-30T00:00:00.000000Z",
        "category": None,
        "energy": 2.5,
        "lifecycle": None,
        "tier": "short_term",
    }
    warm, core = only(raised({"lifecycle": "warm"})), only(raised({"category": "core"}, category="semantic"))
    nothing = dict.fromkeys(decision_json.PROMOTED)
    assert (warm["before"], warm["after"]) == ({"lifecycle": "active"}, nothing | {"lifecycle": "warm"})
    assert (core["before"], core["after"]) == ({"category": "semantic"}, nothing | {"category": "core"})


THRICE = {
    "tier": "long_term",
    "at": ago(2),
    "energy": 5.5,
    "lifecycle": "warm",
    "category": "core",
    "rules": ["session_end", "used", "core"],
    "reasons": ["Energy 5.5 is above 5.0.", "3 accesses, confidence 0.5: it becomes warm.", "It becomes core."],
}


def test_what_rises_in_several_ways_rises_by_as_many_decisions_each_with_its_own_reason():
    changes = raised(THRICE)
    assert changes.select("rule", "reason", "subject").rows() == [
        ("session_end", "Energy 5.5 is above 5.0.", f"long_term {round(ago(2).timestamp())}000000"),
        ("used", "3 accesses, confidence 0.5: it becomes warm.", "warm"),
        ("core", "It becomes core.", "core"),
    ]
    said = [{name for name, value in json.loads(text).items() if value is not None} for text in changes["after"]]
    assert said == [{"tier", "at", "energy"}, {"lifecycle"}, {"category"}]
    lower = {"tier": None, "at": None, "energy": None, "rules": ["used", "core"], "reasons": ["Warm.", "Core."]}
    two = raised(THRICE | lower)
    assert two.select("rule", "reason").rows() == [("used", "Warm."), ("core", "Core.")]


def test_a_block_says_its_text_what_it_was_made_from_and_what_it_was_before():
    first = only(decision_rows.blocks(compiled([{}]), compiled([], "core_memory_blocks")))
    assert (first["action"], first["memory_id"], first["target_id"]) == ("compile", "user_profile", None)
    assert (first["rule"], first["before"], first["factors"]) == ("rules", {}, {"size": 1})
    text = {"compiled_by": "rules", "content": "Ada lives in Cork.", "marks": None, "members": ["a"], "version": 1}
    assert (first["after"], first["subject"]) == (text, "1 Ada lives in Cork.")
    emptied = compiled([{"content": "", "members": [], "version": 2}])
    second = only(decision_rows.blocks(emptied, compiled([{}, {"profile_id": "q"}], "core_memory_blocks")))
    assert second["before"] == text
    assert second["after"] == {"compiled_by": "rules", "content": "", "marks": None, "members": [], "version": 2}


def test_a_deferral_says_its_place_and_changes_nothing():
    change = only(decision_rows.deferrals(rows("deferred", [{"memory_id": "a", "place": 7}])))
    assert (change["action"], change["rule"], change["factors"]) == ("defer", "time_budget", {"place": 7})
    assert change["before"] == change["after"] == {}


FIELDS = {
    "at": INSTANT,
    "name": pl.String(),
    "share": pl.Float64(),
    "cosine": pl.Float32(),
    "words": pl.List(pl.String),
}
VALUES = st.lists(
    st.tuples(
        st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)) | st.none(),  # noqa: DTZ001
        st.text(st.characters(codec="utf-8")) | st.none(),
        st.floats(allow_nan=False, allow_infinity=False) | st.none(),
        st.floats(allow_nan=False, allow_infinity=False, width=32) | st.none(),
        st.lists(st.text(max_size=3), max_size=3),
    ),
    max_size=5,
)


@given(VALUES)
def test_what_is_written_reads_back_to_the_bit(given_rows):
    frame = pl.DataFrame(given_rows, FIELDS, orient="row")
    written = frame.select(said=decision_json.write(FIELDS))
    assert_frame_equal(written.select(decision_json.read("said", FIELDS)), frame, check_exact=True)
    assert all(list(json.loads(text)) == sorted(FIELDS) for text in written["said"])
