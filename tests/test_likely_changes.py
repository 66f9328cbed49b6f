"""Low-confidence change rules on pairs of related texts."""

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import polars as pl
import pytest

from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import changes

MORNING = datetime(2025, 3, 3, 9, tzinfo=UTC)

UPDATES = {
    "the same words, another place": [
        ("I rent a studio in Ghent.", "I rent a studio in Namur."),
        ("We host the wiki on Hetzner.", "We host the wiki on OVH."),
        ("The bees stand in the orchard of our farm.", "The bees stand in the meadow of our farm."),
    ],
    "the same words, another number": [
        ("The parcel locker opens for 48 hours.", "The parcel locker opens for 72 hours."),
        ("The sauna pass costs 60 euros a month.", "The sauna pass costs 75 euros a month."),
    ],
    "who does what one does": [
        ("Iris maintains the parser.", "Pablo maintains the parser."),
        ("Nurse Ada handles my file.", "Nurse Bo has taken over my file."),
    ],
    "when and how often": [
        ("My ferry to Oban leaves at 9:40.", "My ferry to Oban leaves at 11:15."),
        ("I water the ferns once a week.", "I water the ferns three times a week."),
        ("I have fencing on Mondays.", "I have fencing on Thursdays."),
    ],
    "one's own in another way": [
        ("I take my porridge with honey.", "I take my porridge with salt now."),
        ("Our emblem is a heron.", "Our emblem is an otter."),
        ("Our treasurer is Ilse.", "Our treasurer is Tariq."),
    ],
    "sides of life": [
        ("I have a small flat in Turin.", "The boxes are packed, so I moved to Parma."),
        ("I'm working as a baker.", "From this month on I'm a glazier."),
        ("I'm a vegan, so I bring my own food.", "These days I eat pescatarian, it suits me."),
        ("I get up at seven.", "I don't sleep in any more, I get up at half past five now."),
        ("I report to Selma.", "My boss is Viktor now."),
    ],
    "something in the place of something": [
        ("I use Bear for my notes.", "I've switched over to Joplin for my notes."),
        ("My thesis is about moss.", "My supervisor talked me into a different thesis topic."),
        ("My blog runs on Ghost.", "I rebuilt my blog with Zola."),
        ("I want the kitten to be called Pip.", "Pip was taken, so we ended up calling the kitten Nori."),
    ],
    "something against something": [
        ("My pick for the logo is the fern.", "The thistle, not the fern."),
    ],
    "as it is now": [("The car park of the clinic is free.", "They charge for the car park of the clinic now.")],
    "the next stage": [
        ("My knee is still sprained.", "My knee has healed, I can dance again."),
        ("I'm waiting for my residence card.", "My residence card came in the mail."),
        ("I'm reading Ulysses.", "I finished Ulysses on the train."),
        ("I'm single.", "I've been seeing someone since June."),
        ("I'm on chapter two of the textbook.", "I'm already on chapter six of the textbook."),
    ],
    "given up": [
        ("I'm training for the Ghent triathlon.", "I had to drop out of the Ghent triathlon."),
        ("We're going to the harvest fair.", "We won't be able to make it to the harvest fair."),
        ("I sing in a choir called Lark.", "I left Lark in the spring."),
    ],
    "a number said to be new": [
        ("The budget for the attic is $9,000.", "We had to raise the attic budget to $12,500 after the storm."),
        ("My data plan has 5 GB.", "I upgraded my data plan, it's 20 GB now."),
    ],
    "a day said to be new": [
        ("We want to launch the atlas in May.", "The launch of the atlas slipped to July."),
        ("The hearing is scheduled for Monday morning.", "The hearing is scheduled for Friday afternoon."),
        ("The wedding is on 3 May.", "The wedding is on 17 May."),
    ],
    "standing requests": [("Please use metric units.", "Please use imperial units from now on.")],
    "at last": [("Our parrot isn't tame.", "Our parrot is finally tame.")],
}
CONFLICTS = {
    "a kind of thing": [
        ("I don't have any siblings.", "My older sister came to dinner."),
        ("I have no pets.", "My hamster is asleep."),
        ("I don't own a canoe.", "My canoe needs new paint."),
    ],
    "what happens once": [
        ("The avalanche happened on a Tuesday night.", "The avalanche happened on a Sunday morning."),
        ("My first boat was a dinghy.", "My first boat was a catamaran."),
        ("I was in Lucca on Friday.", "I was in Siena on Friday."),
    ],
    "what never was and long was": [
        ("I never learned to juggle.", "I learned to juggle when I was six."),
        ("I have never been to Malta.", "When I went to Malta I saw the harbour."),
        ("I never joined the guild.", "I joined the guild in March."),
    ],
}
APART = [
    ("Ada owns a boat in Bergen.", "Joris owns a boat in Bergen."),
    ("Ada leads one of the choirs.", "Joris leads one of the choirs."),
    ("My horse lives in a stable.", "My donkey lives in a shed."),
    ("Ola plays the lute.", "Per plays the fife."),
    ("The inn has 12 beds.", "The inn has 3 cooks now."),
    ("I pay my tailor 15 pounds an hour.", "I pay my gardener 18 pounds an hour now."),
    ("The timeout for logins is 5 seconds.", "The timeout for uploads is 10 seconds now."),
    ("The ferry to Oban leaves from pier 2.", "The ferry to Mull will leave from pier 5 instead."),
    ("The ford at Dorn is closed.", "The ford at Kell has reopened."),
    ("My flight to Riga is on Friday.", "My flight from Riga is on Sunday."),
    ("I wake up at 6 on weekdays.", "I wake up at 9 on Sundays."),
    ("I want to paint the shed.", "I painted the shed on Sunday."),
    ("I'm saving for a house.", "I finally finished the budget for the house."),
    ("I replaced the strap of my watch.", "I replaced the glass of my watch."),
    ("I love my new desk.", "My new desk has four drawers."),
    ("I have a ferret.", "I have a gecko."),
    ("I enjoy carving spoons.", "I recently sold a spoon that I carved."),
    ("Episode 3 takes 42 minutes.", "Episode 4 takes 51 minutes."),
    ("Hey Ola, I'm fine.", "Hey Ola, I'm down to join the meeting now."),
    ("I live with two roommates.", "I live with two roommates, 520 km from home, and also a cat."),
]


def related(older, newer, **columns):
    frame = pl.DataFrame({"left_content": [older], "right_content": [newer]})
    given = {name: pl.Series([value]) for name, value in columns.items()}
    return changes.relations(frame.with_columns(**given)).row(0, named=True)


@cache
def listed_relations():
    """The relation found for each listed pair, from one call."""
    pairs = [*(pair for groups in (UPDATES, CONFLICTS) for group in groups.values() for pair in group), *APART]
    frame = pl.DataFrame(pairs, schema=["left_content", "right_content"], orient="row")
    return dict(zip(pairs, changes.relations(frame)["relation"], strict=True))


def cases(groups):
    return [pytest.param(*pair, id=f"{name}: {pair[1]}") for name, pairs in groups.items() for pair in pairs]


@pytest.mark.parametrize(("older", "newer"), cases(UPDATES))
def test_another_value_is_an_update(older, newer):
    assert listed_relations()[older, newer] == "update"


@pytest.mark.parametrize(("older", "newer"), cases(CONFLICTS))
def test_incompatible_statements_contradict(older, newer):
    assert listed_relations()[older, newer] == "conflict"


@pytest.mark.parametrize(("older", "newer"), APART)
def test_two_facts_that_both_hold_are_left_alone(older, newer):
    assert listed_relations()[older, newer] == "unrelated"


def test_low_confidence_changes_close_no_fact_in_a_store():
    older, newer = "Iris maintains the parser.", "Pablo maintains the parser."
    assert related(older, newer)["confidence"] < Policy().fact_confidence
    reading = changes.parse(pl.Series([older, newer]))
    speakers = pl.Series([None, None], dtype=pl.String)
    places = np.array([0]), np.array([1])
    found = changes.judge(reading, *places, speakers=speakers, ordered=np.array([True]))
    assert found["relation"].to_list() == ["unrelated"]


def test_a_change_since_the_older_text_is_an_update():
    pair = "I haven't booked the barn.", "I booked the barn in March."
    assert related(*pair)["relation"] == "conflict"
    later = {"left_at": MORNING, "right_at": MORNING + timedelta(days=60)}
    assert related(*pair, **later)["relation"] == "update"


def test_another_frequency_is_a_change():
    assert (
        related("The pond is cleaned every month.", "The pond is cleaned every two months.")["relation"] != "duplicate"
    )


def test_texts_of_one_instant_have_no_order():
    pair = "Our treasurer is Ilse.", "Our treasurer is Tariq."
    assert related(*pair, left_at=MORNING, right_at=MORNING)["relation"] == "conflict"
