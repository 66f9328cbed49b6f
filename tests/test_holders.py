"""Whom a statement is about: what concerns different people, users or speakers is never related."""

from datetime import timedelta

import frames
import polars as pl
import pytest

from memory_pipeline.consolidation import change_detection, judging
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import holders, relation_reading

COLUMNS = list(relation_reading.MEMORY_COLUMNS)


def differ(older, newer, *others):
    """Whether two statements, texts or (speaker, text), are about different subjects in a store of these alone."""
    said = [one if isinstance(one, tuple) else (None, one) for one in (older, newer, *others)]
    rows = [
        {"memory_id": f"m{index}", "content": text, "speaker": speaker, "created_at": frames.ago(50 - index)}
        for index, (speaker, text) in enumerate(said)
    ]
    memories = frames.memories(rows).with_columns(since="created_at").select(COLUMNS)
    reading = relation_reading.read(memories)
    first, second = reading.start[[0]], reading.start[[1]]
    return bool(holders.read(reading).differ(first, second)[0])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Emil is allergic to shellfish.", "Hana is allergic to penicillin."),
        ("Emil's phone number is 0171 555.", "Hana's phone number is 0171 556."),
        ("My sister's birthday is 3 May.", "My brother's birthday is 9 May."),
        ("My sister lives in Dresden.", "I live in Leipzig."),
        ("Emil's teacher is called Ms Brandt.", "Hana's teacher is called Ms Kurz."),
        ("Dr. Okafor works at the clinic.", "Dr. Lindqvist works at the practice."),
        (("Anna", "My locker number is 112."), ("Ben", "My locker number is 214.")),
        (("Anna", "Locker: 112"), ("Ben", "Locker: 214")),
        (("Anna", "I work nights."), ("Ben", "I work days.")),
        (("Anna", "I work nights."), ("Anna", "Ben works days.")),
        ("User works at Siemens.", "Hana works at Bosch."),
    ],
)
def test_statements_about_different_people(older, newer):
    assert differ(older, newer)
    assert differ(newer, older)


@pytest.mark.parametrize(
    ("older", "newer", "others"),
    [
        ("User quit Siemens.", "I quit Siemens.", ()),
        ("The user's favourite tea is oolong.", ("user", "My favourite tea is sencha."), ()),
        (("Marta", "I live in Porto."), ("Nova", "Marta lives in Braga."), ()),
        ("The user lives in Porto.", ("Marta", "I live in Braga."), ()),
        ("My sister lives in Ulm.", "Hana moved to Trier.", ()),
        ("My sister lives in Ulm.", "Hana moved to Trier.", ("My sister Hana paints.",)),
        ("Hana never eats pork.", "Pork is something Hana never eats.", ()),
        ("The standup is on Monday.", "Standup moved to Friday.", ()),
        ("Lena is the team lead.", "Marc is the team lead now.", ()),
        (("Anna", "The meeting is on Monday."), ("Ben", "I moved the meeting to Friday."), ()),
        ("My locker number is 112.", "Locker: 214", ()),
        ("I live in Porto.", "We live in Braga.", ()),
        ("My name is Hana.", "Hana lives in Trier.", ()),
    ],
)
def test_statements_about_one_subject_or_an_unknown_one(older, newer, others):
    assert not differ(older, newer, *others)


def test_a_sister_by_name_is_not_another_person():
    known = "Karin is my sister."
    assert differ("My sister lives in Ulm.", "Tobias moved to Trier.", known)
    assert not differ("My sister lives in Ulm.", "Karin moved to Trier.", known)


def compared(rows):
    memories = frames.memories(rows)
    enrichment = frames.enrichment({}, of=memories)
    found = change_detection.compare(
        memories,
        enrichment,
        TABLES["vectors"].empty(),
        TABLES["association_edges"].empty(),
        Policy(),
        as_of=frames.AS_OF,
        plan_id="plan",
    )
    return found.fact_changes


def rows(texts, **columns):
    return [
        {
            "memory_id": f"m{index:03}",
            "content": text,
            "content_hash": f"h{index:03}",
            "created_at": frames.ago(9) + timedelta(minutes=index),
            "seq": index + 1,
            **{name: values[index] for name, values in columns.items()},
        }
        for index, text in enumerate(texts)
    ]


def test_a_condition_and_a_wish_of_one_person_do_not_contradict_each_other():
    texts = ["Omar is diabetic.", "Omar prefers to be served first.", "Omar hates coriander.", "Omar is not diabetic."]
    found = compared(rows(texts))
    assert {(row["memory_id"], row["other_id"]) for row in found.to_dicts()} <= {("m000", "m003")}


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("User lives in Porto.", "User lives in Lisbon."),
        ("I work at the harbour office.", "I quit the harbour office and work at the town library now."),
    ],
)
def test_what_two_users_say_is_not_compared(text, again):
    assert compared(rows([text, again], user_id=["ann", "ann"])).height == 1
    assert compared(rows([text, again], user_id=["ann", "bob"])).is_empty()


def test_links_of_one_kind_are_bounded_by_memory_and_the_nearest_of_equals_are_kept():
    texts = [f"User lives in {chr(65 + index // 5)}{'aeiou'[index % 5]}rton." for index in range(40)]
    found = compared(rows(texts))
    ends = pl.concat([found.select("relation", name=side) for side in ("memory_id", "other_id")])
    assert ends.group_by("relation", "name").len()["len"].max() <= 2 * judging.MOST_LINKED
    assert found.height <= judging.MOST_LINKED * len(texts)
