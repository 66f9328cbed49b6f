"""Changes that a sentence states outright, and all that states none."""

from datetime import UTC, datetime, timedelta
from functools import cache

import frames
import pytest

from memory_pipeline.consolidation import change_detection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

ENDED = [
    ("I cycle to work in summer.", "I no longer cycle to work."),
    ("I live in Bremen.", "I no longer live in Bremen; I moved to Jena."),
    ("I live in Bremen with Ida.", "I don't live in Bremen any more."),
    ("Pavel works at Nordwind as a welder.", "Pavel no longer works at Nordwind."),
    ("I'm vegetarian.", "I'm not vegetarian anymore."),
    ("I'm renting a garage in Kiel.", "I used to rent a garage in Kiel."),
    ("I practise the oboe every week.", "Sadly, I stopped practising the oboe."),
    ("Maya drinks espresso.", "Maya gave up espresso."),
    ("The regatta is on Sunday.", "The regatta was called off because it storms."),
    ("I have a locker at the pool.", "I cancelled the locker."),
    ("I have a meeting with Ida on Monday.", "I cancelled the meeting with Ida."),
]
REPLACED = [
    ("The regatta is on Sunday.", "The regatta moved to Saturday 9 May."),
    ("The regatta is on 3 May.", "Actually, the regatta moved to 10 May."),
    ("The regatta moved to 10 May.", "The regatta was postponed to 17 May."),
    ("My standup is at 10:00.", "We moved the standup to 11:00."),
    ("The rent of the boathouse is 300 euros a month.", "The rent of the boathouse was raised to 340 euros a month."),
    ("I live in Bremen.", "I moved from Bremen to Jena."),
    ("I live in Bremen.", "I live in Jena now."),
    ("Our skipper is Ida Holm.", "Our skipper is now Pavel Reiss."),
    ("We use Gitea for reviews.", "We switched from Gitea to Forgejo."),
    ("I drink coffee.", "I drink tea instead of coffee now."),
    ("I ride a Vespa.", "I replaced the Vespa with a Brompton."),
]
LIKELY = [("I live in Bremen.", "I live in Jena."), ("Pavel works at Nordwind.", "Pavel works at Seewerk.")]
NEITHER = [
    ("I drink coffee.", "I no longer drink coffee after lunch."),
    ("I live in Bremen.", "My cousin no longer lives in Bremen."),
    ("I like espresso.", "I gave up espresso."),
    ("I drink tea and coffee.", "I no longer drink tea."),
    ("I live in Bremen.", "If I no longer live in Bremen, forward my mail."),
    ("I live in Bremen.", "Pavel said I no longer live in Bremen."),
    ("I live in Bremen.", "Do I no longer live in Bremen?"),
    ("I live in Bremen.", "I will no longer live in Bremen."),
    ("The kiosk opens at 9:00.", "The kiosk now opens at 10:00 on Sundays."),
    ("The ferry leaves at 10:00.", "The ferry was delayed to 10:30."),
    ("I lived in Bremen.", "I no longer live in Bremen."),
    ("I don't eat fish.", "I no longer eat fish."),
    ("I run a bakery.", "I no longer run."),
    ("It is on Monday.", "It moved to Tuesday."),
    ("The regatta is on Monday in lane 4.", "The regatta moved to Tuesday."),
    ("The regatta is on Monday.", "The regatta might be moved to Tuesday."),
    ("The rent is 300 euros.", "The rent for new boats is now 340 euros."),
    ("The rent is 300 euros.", "The rent of a kayak is 340 euros."),
    ("I have a dog.", "I now have a cat."),
    ("My weight is 80 kg.", "My weight this morning: 82 kg."),
    ("We use Gitea for reviews.", "We switched from Gitea to Forgejo for mirrors."),
    ("The budget is 300 euros.", "The quote is now 340 euros."),
    ("My flight to Oslo is on Monday.", "My flight back is now on Friday."),
    ("I live in Bremen.", "I lived in Jena."),
    ("The price is 300 euros.", "The price is still 300 euros now."),
    ("I am a pescatarian.", "I am no longer a pescatarian, joked my aunt."),
    ("Rhea is my neighbour.", "Rhea is no longer my neighbour. Just kidding."),
    ("I play the organ.", "I no longer play the organ, according to the parish letter."),
    ("My tram leaves at 6:20.", "My tram leaves at 6:50 now because of the roadworks."),
    ("My desk is in room 12.", "My desk is now in room 30 while they lay the carpet."),
    ("The stall is at Kirkgate 4.", "The stall is now at Kirkgate 9 for the weekend."),
    ("The depot opens at 8.", "The depot opens at 10 now as we are on holiday."),
    ("The path at Crag End is open to dogs.", "Board, updated: the path at Widow Ridge is closed to dogs."),
    ("The kiln in Delft fires at noon, says Joost.", "No, the kiln in Leiden fires at one, says Mieke."),
    ("The office closes at 16:30, phones go to Petra.", "The office closes at 15:00."),
    ("The office: closed on Fridays.", "The office is open on Fridays."),
]
MEASURED = [
    ("The ferry costs 12 euros.", "The ferry costs 14 euros now."),
    ("My resting pulse is 60.", "My resting pulse is now 66."),
    ("The tank is at 40 litres.", "The tank is now at 25 litres."),
    ("The queue is 15 minutes.", "The queue is now 50 minutes."),
    ("My balance is 310 pounds.", "My balance is now 290 pounds."),
]


def pair(older, newer, *, speakers=("ida", "ida"), profile="p"):
    return [
        {
            "profile_id": profile,
            "memory_id": name,
            "content": text,
            "content_hash": name,
            "speaker": speaker,
            "seq": day,
            "created_at": datetime(2026, 1, day, tzinfo=UTC),
        }
        for day, (name, text, speaker) in enumerate(zip("ab", (older, newer), speakers, strict=True), 1)
    ]


@cache
def listed():
    """What is found of each pair above: all at once, each in a profile of its own."""
    pairs = [*ENDED, *REPLACED, *LIKELY, *NEITHER, *MEASURED]
    rows = compared([row for at, texts in enumerate(pairs) for row in pair(*texts, profile=f"p{at}")])
    return {texts: [row for row in rows if row["profile_id"] == f"p{at}"] for at, texts in enumerate(pairs)}


def found(older, newer, *, speakers=("ida", "ida")):
    return compared(pair(older, newer, speakers=speakers))


def compared(rows):
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors")]
    as_of = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=60)
    found = change_detection.compare(frames.memories(rows), *empty, Policy(), as_of=as_of, plan_id="plan")
    return found.fact_changes.to_dicts()


@pytest.mark.parametrize(
    ("older", "newer", "rule"),
    [(*pair, "ended") for pair in ENDED] + [(*pair, "changed_value") for pair in REPLACED],
)
def test_what_a_newer_sentence_ends_or_replaces_is_closed(older, newer, rule):
    (row,) = listed()[older, newer]
    assert (row["memory_id"], row["other_id"], row["decided"], row["rule"]) == ("a", "b", True, rule)
    assert row["confidence"] >= 0.95


@pytest.mark.parametrize(("older", "newer"), LIKELY + MEASURED)
def test_another_place_without_a_word_of_change_and_another_measurement_are_links(older, newer):
    (row,) = listed()[older, newer]
    assert (row["relation"], row["decided"]) == ("update", False)


@pytest.mark.parametrize(("older", "newer"), NEITHER)
def test_what_is_open_narrower_or_of_another_closes_nothing(older, newer):
    assert not any(row["decided"] for row in listed()[older, newer])


@pytest.mark.parametrize(("older", "newer"), [ENDED[0], REPLACED[1], REPLACED[6]])
def test_another_persons_word_closes_nothing(older, newer):
    assert not any(row["decided"] for row in found(older, newer, speakers=("ida", "pavel")))


def test_what_somebody_else_says_of_a_named_person_is_a_link():
    (row,) = found(*ENDED[3], speakers=("ida", "noor"))
    assert (row["relation"], row["decided"]) == ("update", False)


def test_of_a_memory_with_several_sentences_only_the_one_that_ended_closes():
    (row,) = found("My boat is green. I live in Bremen. It leaks.", "News: I no longer live in Bremen.")
    assert (row["decided"], row["statement"]) == (True, "I live in Bremen.")
    assert found("I live in Bremen, and my boat is green.", "I no longer live in Bremen.")[0]["decided"] is False


def test_of_several_values_the_latest_is_replaced():
    texts = ("The regatta is on Monday.", "The regatta is on Friday.", "The regatta moved to Sunday.")
    rows = [
        {
            "memory_id": str(day),
            "content": text,
            "content_hash": text,
            "seq": day,
            "created_at": datetime(2026, 1, day, tzinfo=UTC),
        }
        for day, text in enumerate(texts, 1)
    ]
    decided = [(row["memory_id"], row["other_id"]) for row in compared(rows) if row["decided"]]
    assert decided == [("2", "3")]


def test_a_reason_and_the_shared_words_are_those_of_the_pair():
    texts = ("A kite flew.", "Rain fell all day.", "The regatta is on Monday.", "The regatta moved to Sunday.")
    rows = [
        {
            "memory_id": str(day),
            "content": text,
            "content_hash": text,
            "seq": day,
            "created_at": datetime(2026, 1, day, tzinfo=UTC),
        }
        for day, text in enumerate(texts, 1)
    ]
    (row,) = compared(rows)
    assert (row["value"], row["other_value"], row["attribute"]) == (texts[2], texts[3], "regatta")
    assert f"'{texts[3][:-1]}'" in row["reason"]
