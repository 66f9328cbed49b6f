"""Which memories close older ones, which contradict each other, and what holds at an instant."""

from datetime import timedelta
from functools import cache
from random import Random

import frames
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline.consolidation import change_detection, currency
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings import Policy

PLACES = ("Riga", "Quito", "Osaka", "Zagreb")
RENTS = ("My rent is $900 a month.", "My rent went up to $950 a month.", "My rent went up to $990 a month.")


def told(*texts, days=10.0, **columns):
    """Memories a, b, c ... one after the other, `days` apart."""
    names = "abcdefghij"
    return [
        {"memory_id": names[at], "content": text, "created_at": ago(200 - at * days), **columns}
        for at, text in enumerate(texts)
    ]


def compared(rows, *, vectors=None, policy=None, as_of=AS_OF):
    memories = frames.memories(rows)
    return change_detection.compare(
        memories,
        frames.enrichment({}, of=memories),
        frames.vectors(vectors or {}, of=memories),
        policy or Policy(),
        as_of=as_of,
        plan_id="plan",
    ).fact_changes


def pairs(found, relation="update"):
    return found.filter(pl.col("relation") == relation).select("memory_id", "other_id").rows()


def decided(found):
    return found.filter("decided")


def test_a_newer_value_closes_the_older_one():
    found = compared(told(RENTS[0], "The soup was cold.", RENTS[1]))
    row = found.row(0, named=True)
    assert len(found) == 1
    assert (row["memory_id"], row["other_id"], row["relation"], row["decided"]) == ("a", "c", "update", True)
    assert (row["value"], row["other_value"], row["at"]) == (RENTS[0], RENTS[1], ago(180))
    assert RENTS[1].rstrip(".") in row["reason"]
    assert row["plan_id"] == "plan"


@cache
def closed_alone(cases):
    """The pairs of which the newer surely closes the older, of each case in a profile of its own; all at once."""
    rows = [row | {"profile_id": f"p{number}"} for number, texts in enumerate(cases) for row in told(*texts)]
    found = decided(compared(rows))
    return {texts: pairs(found.filter(profile_id=f"p{number}")) for number, texts in enumerate(cases)}


SURE = (
    ("The team meeting is on Monday.", "The team meeting was moved to Thursday."),
    ("I drink coffee.", "I no longer drink coffee."),
    ("The office closes at 17:00.", "The office now closes at 18:30."),
    ("The locker code is 2204.", "The locker code changed, it is 2404."),
)


@pytest.mark.parametrize("texts", SURE)
def test_another_value_or_an_end_of_the_only_thing_said_closes_it(texts):
    assert closed_alone(SURE)[texts] == [("a", "b")]


UNSURE = (
    ("Our API docs live in Confluence.", "The API moved to Dublin."),
    ("My friend lives in Rome.", "My friend from college lives in Milan."),
    ("I weigh 81 kilos.", "I weigh 80 kilos today."),
    ("The flight out leaves at 10:40.", "The flight back leaves at 17:20."),
    ("I have a dog.", "I have another dog now."),
    ("The roofer offered 9,000 euros.", "The roof now costs 9,400 euros."),
    ("The party is on Monday, with 40 guests.", "The party was moved to Friday."),
    ("Do you still drink coffee?", "I no longer drink coffee."),
    ("Anna left the bakery on Monday.", "Bruno no longer likes the bakery."),
)


@pytest.mark.parametrize("texts", UNSURE)
def test_what_is_not_sure_closes_nothing(texts):
    assert closed_alone(UNSURE)[texts] == []


def test_an_allergy_is_outdated_only_by_what_names_one():
    allergy, news = "Nadia is allergic to bee stings", "Nadia's new pen has arrived."
    assert pairs(compared(told("Nadia is at the bus stop and keeps a pen in the blue box.", news)))
    for said in (news, "Check Nadia's allergy to bee stings against the blue box."):
        assert not pairs(compared(told(f"{allergy} and keeps a pen in the blue box.", said))), said
    assert pairs(compared(told(f"{allergy}.", "Nadia is no longer allergic to bee stings.")))


def test_a_chain_closes_link_by_link():
    assert pairs(decided(compared(told(*RENTS)))) == [("a", "b"), ("b", "c")]


def test_the_newer_holds_from_its_own_start():
    rows = told(*RENTS[:2])
    rows[1]["valid_from"] = ago(5)
    assert compared(rows)["at"].to_list() == [ago(5)]


def test_what_holds_earlier_is_older_whenever_it_was_stored():
    rows = told(RENTS[1], RENTS[0])
    rows[1]["valid_from"] = ago(900)
    assert pairs(compared(rows)) == [("b", "a")]


def test_what_does_not_hold_yet_changes_nothing():
    rows = told(*RENTS[:2])
    rows[1]["valid_from"] = AS_OF + timedelta(days=1)
    assert compared(rows).is_empty()
    assert len(compared(rows, as_of=AS_OF + timedelta(days=2))) == 1


def test_a_contradiction_leaves_both():
    policy = Policy(conflict_confidence=0.3)
    found = compared(told("The hall seats forty people.", "The plan of the hall shows sixty seats."), policy=policy)
    assert pairs(found, "conflict") == [("a", "b")]
    assert pairs(found) == []


def test_of_one_instant_none_closes_the_other():
    assert pairs(decided(compared(told(*RENTS, days=0.0)))) == []


def test_what_another_person_says_of_oneself_closes_nothing():
    rows = told(*RENTS[:2])
    for row, speaker in zip(rows, ("ana", "ben"), strict=True):
        row["speaker"] = speaker
    assert pairs(decided(compared(rows))) == []


@examples(2)
@example("AA0AU:\U0001d428ver", "")
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_judged_and_none_changes_or_contradicts_itself(one, other):
    found = compared(told(one, one, other))
    assert set(found["relation"]) <= {"update", "conflict", "duplicate"}
    assert found.filter(
        pl.col("memory_id") == "a", pl.col("other_id") == "b", pl.col("relation") != "duplicate"
    ).is_empty()


def test_nothing_is_looked_for_when_switched_off():
    assert compared(told(*RENTS), policy=Policy(fact_changes=False)).is_empty()


@pytest.mark.parametrize(
    "change",
    [
        {"lifecycle": "archived"},
        {"lifecycle": "cold"},
        {"lifecycle": "deleted"},
        {"kind": "episode"},
        {"speaker": "assistant"},
    ],
)
def test_only_live_originals_of_people_are_compared(change):
    rows = told(*RENTS[:2])
    rows[0] |= change
    assert compared(rows).is_empty()


def test_warm_memories_are_compared():
    assert len(compared(told(*RENTS[:2], lifecycle="warm"))) == 1


def test_what_was_over_anyway_is_not_closed_again():
    rows = told(*RENTS[:2])
    rows[0]["valid_until"] = ago(195)
    assert compared(rows).is_empty()
    rows[0]["valid_until"] = ago(10)
    assert len(compared(rows)) == 1


def test_a_closed_memory_is_not_compared_with_what_is_newer_than_its_successor():
    rows = told(*RENTS)
    rows[0] |= {"superseded_by": "b", "superseded_kind": "update", "valid_until": ago(190)}
    assert pairs(decided(compared(rows))) == [("a", "b"), ("b", "c")]
    rows[1]["content"] = "The soup was cold."
    assert pairs(compared(rows)) == []


def test_the_plan_is_the_same_after_it_was_committed():
    rows = told(*RENTS)
    first = compared(rows)
    for at, successor in ((0, "b"), (1, "c")):
        closed = {"superseded_by": successor, "superseded_kind": "update", "valid_until": rows[at + 1]["created_at"]}
        rows[at] |= closed
    assert compared(rows).equals(first)


def test_profiles_never_meet():
    rows = told(*RENTS[:2])
    rows[1]["profile_id"] = "q"
    assert compared(rows).is_empty()
    both = told(*RENTS[:2]) + [row | {"profile_id": "q"} for row in told(*RENTS[:2])]
    found = compared(both)
    assert found.select("profile_id", "memory_id", "other_id").rows() == [("p", "a", "b"), ("q", "a", "b")]
    assert found.filter(pl.col("profile_id") == "p").equals(compared(told(*RENTS[:2])))


def test_the_cosine_is_exact_and_null_where_unknown():
    rows = told(*RENTS[:2])
    assert compared(rows)["similarity"].to_list() == [None]
    known = compared(rows, vectors={"a": [3.0, 4.0], "b": [4.0, 3.0]})
    assert known["similarity"].to_list() == pytest.approx([0.96])
    assert compared(rows, vectors={"a": [3.0, 4.0], "b": [0.0, 0.0]})["similarity"].to_list() == [None]


@pytest.mark.drill
def test_an_old_fact_is_found_among_many_memories():
    rng = Random(4)
    chat = [f"We saw {rng.choice(PLACES)} and talked about item{rng.randrange(10_000)}." for _ in range(200)]
    texts = ["My allotment is number 14.", *chat, "My allotment changed, it is number 22 now."]
    rows = [
        {"memory_id": f"m{at:04}", "content": text, "created_at": ago(200) + timedelta(minutes=at)}
        for at, text in enumerate(texts)
    ]
    assert ("m0000", "m0201") in pairs(compared(rows))


@examples(2)
@given(st.permutations(range(8)), st.integers(0, 3))
def test_the_order_of_rows_does_not_matter(order, seed):
    rows = _mixed(seed)
    assert compared([rows[place] for place in order]).equals(compared(rows))


@examples(2)
@given(st.integers(0, 30))
def test_no_memory_is_closed_twice_or_by_an_older_one(seed):
    found = compared(_mixed(seed))
    started = {row["memory_id"]: row["created_at"] for row in _mixed(seed)}
    updates = pairs(decided(found))
    assert len({older for older, _ in updates}) == len(updates)
    assert all(started[older] < started[newer] for older, newer in updates)
    assert found.select("profile_id", "memory_id", "other_id").is_duplicated().sum() == 0


def _mixed(seed):
    rng = Random(seed)
    patterns = ("I live in {}.", "I moved to {}.", "We had dinner in {}.", "My sister lives in {}.", "I never saw {}.")
    texts = [rng.choice(patterns).format(rng.choice(PLACES)) for _ in range(8)]
    return [row | {"seq": at + 1} for at, row in enumerate(told(*texts))]


def test_what_holds_at_an_instant():
    rows = [
        {"memory_id": "always"},
        {"memory_id": "begun", "valid_from": AS_OF},
        {"memory_id": "later", "valid_from": AS_OF + timedelta(microseconds=1)},
        {"memory_id": "until", "valid_until": AS_OF + timedelta(microseconds=1)},
        {"memory_id": "over", "valid_until": AS_OF},
        {"memory_id": "warm", "lifecycle": "warm"},
        {"memory_id": "cold", "lifecycle": "cold"},
    ]
    live = frames.memories(rows).filter(pl.col("lifecycle").is_in(LIVE))
    holding = live.filter(currency.holds(AS_OF))["memory_id"].to_list()
    assert sorted(holding) == ["always", "begun", "until", "warm"]


def test_nothing_follows_from_an_empty_table():
    assert compared([]).is_empty()
    assert compared(told("…", "!")).is_empty()
