"""Which sentences state something that an agent should know before every session."""

import polars as pl
import pytest

from memory_pipeline.text.score import core_facts
from memory_pipeline.text.score.core_facts import HEALTH, IDENTITY, INSTRUCTION, PREFERENCE, PROJECT


def read(*texts):
    """Sentences and kinds of the facts of texts."""
    return core_facts.core_facts(pl.Series(texts, dtype=pl.String)).select("sentence", "section").rows()


@pytest.mark.parametrize(
    ("section", "text"),
    [
        (IDENTITY, "My name is Odalys Brandt and I grew up in Uppsala."),
        (IDENTITY, "Tadeo is a carpenter in a shipyard."),
        (IDENTITY, "Ottoline's brother Jem is seventeen and plays the oboe."),
        (IDENTITY, "We have two rabbits and a tortoise."),
        (IDENTITY, "I live in a converted barn near Kells."),
        (IDENTITY, "Signe speaks Danish and a little Icelandic."),
        (HEALTH, "I'm allergic to walnuts; last year I ended up in hospital."),
        (HEALTH, "He takes metformin 500 mg with every meal."),
        (HEALTH, "Mireille can't eat anything with gluten in it."),
        (HEALTH, "My cardiologist is Dr. Abelard at the Western."),
        (INSTRUCTION, "Always quote prices without tax."),
        (INSTRUCTION, "Please never book me an aisle seat."),
        (INSTRUCTION, "Tadeo would like answers in short sentences."),
        (INSTRUCTION, "Visitors may not photograph the laboratory."),
        (INSTRUCTION, "From now on invoices go to the new address."),
        (PREFERENCE, "I would rather take the train than fly."),
        (PREFERENCE, "Signe doesn't eat mushrooms."),
        (PREFERENCE, "My favourite painter is Hammershøi."),
        (PROJECT, "I'm building a cedar canoe in the garage."),
        (PROJECT, "Ottoline plans to walk the coast path in May."),
    ],
)
def test_a_standing_fact_has_its_kind(section, text):
    assert read(text) == [(text, section)]


@pytest.mark.parametrize(
    "text",
    [
        "Do you have any allergies?",
        "We went to the harbour yesterday and ate chips.",
        "Jem finished the regatta in fourth place.",
        "Wow, that's lovely! I love it!",
        "I love how you painted the door.",
        "You always make me laugh so much.",
        "Don't worry about it at all.",
        "The dentist moved my appointment to 4 June.",
        "The bridge is eleven metres long.",
        "Thanks, your help is much appreciated.",
        "Blood pressure was fine this morning.",
        "",
        None,
    ],
)
def test_a_deed_a_question_and_small_talk_state_none(text):
    assert read(text) == []


def test_a_sentence_stands_with_the_one_it_leans_on():
    told = "Penny has a spaniel. He must never have chocolate. It rained all day."
    assert read(told) == [("Penny has a spaniel. He must never have chocolate. It rained all day.", INSTRUCTION)]
    assert read("The shop shut. I never drink coffee after noon.") == [("I never drink coffee after noon.", PREFERENCE)]


def test_what_leans_on_nothing_and_what_commands_is_marked():
    found = core_facts.core_facts(pl.Series(["She prefers the window seat.", "Never call before ten in the morning."]))
    assert found.select("row", "leans", "commands", "lasting").rows() == [
        (0, True, False, False),
        (1, False, True, False),
    ]
