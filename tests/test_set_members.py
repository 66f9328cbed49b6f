"""Statements about different members of a set: neither replaces nor denies the other."""

import polars as pl
import pytest

from memory_pipeline import MemoryClient
from memory_pipeline.text.compare import set_members

pytestmark = pytest.mark.usefixtures("unpublished")


def told_apart(find, older, newer):
    (found,) = find(pl.Series([older]), pl.Series([newer]))
    return found


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My eldest daughter is Signe.", "My middle daughter is Tuva."),
        ("Our third cat is called Mop.", "Our fourth cat is called Rag."),
        ("The front tyre has 2.4 bar.", "The rear tyre has 2.9 bar."),
        ("Jem's locker is number 12.", "Penny's locker is number 31."),
        ("The key of the workshop is green.", "The key of the boathouse is red."),
        ("My winter job is at the mill.", "My summer job is on the ferry."),
        ("The firstborn is called Ottoline.", "The lastborn is called Tilly."),
        ("Berth 26 is leased to Jem.", "Berth 27 is rented by Signe."),
        ("Shed 4 holds the trailer.", "Shed 5 contains the dinghy."),
        ("Door of cabin 7 broken.", "Door of cabin 8 repaired."),
    ],
)
def test_other_values_of_two_things_of_a_kind(older, newer):
    assert told_apart(set_members.name_two_subjects, older, newer)
    assert told_apart(set_members.name_two_subjects, newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My daughter is Signe.", "My daughter is Tuva."),
        ("The front tyre has 2.4 bar.", "The front tyre has 2.9 bar."),
        ("The meeting with Jem is on Monday at 3.", "The meeting with Jem is on Tuesday at 4."),
        ("The ferry is late.", "The ferry is on time."),
        ("My eldest daughter is Signe.", "My middle daughter is Signe."),
        ("I live in Leith.", "I live in Kells."),
        ("The car is blue.", "The Volvo is green."),
        ("", "My middle daughter is Tuva."),
        ("The mooring fee is 640 since May.", "The mooring fee is 655 since June."),
        ("Mooring fee 640 euros, paid.", "Mooring fee 655 euros, due."),
        ("Water level 4.1 on Monday.", "Water level 3.9 on Tuesday."),
        ("Shed 4 holds the trailer.", "Shed 4 contains the dinghy."),
        ("The queue has 14 open tickets.", "The queue has 9 closed tickets."),
    ],
)
def test_another_value_of_one_thing(older, newer):
    assert not told_apart(set_members.name_two_subjects, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I take eplerenone at breakfast.", "I take melatonin at night."),
        ("Grandad uses a nitrate spray.", "Grandad uses a steroid inhaler."),
        ("I'm hypersensitive to aspirin.", "I'm hypersensitive to nickel."),
        ("Jem was prescribed 5 mg of bisoprolol.", "Jem was prescribed 20 mg of torasemide."),
    ],
)
def test_the_same_of_two_things(older, newer):
    assert told_apart(set_members.name_two_objects, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I take 50 mg of eplerenone.", "I take 25 mg of eplerenone."),
        ("I take eplerenone at eight.", "I take eplerenone at nine."),
        ("I take eplerenone.", "Melatonin replaced my eplerenone."),
        ("I'm hypersensitive to aspirin.", "I'm hypersensitive to nothing, aspirin included."),
        ("User has asthma.", "User has given up the inhaler."),
        ("Jem Quist is deaf.", "Jem Moor is lame."),
    ],
)
def test_another_figure_an_end_or_a_beginning_that_only_names_someone(older, newer):
    assert not told_apart(set_members.name_two_objects, older, newer)


def test_members_of_a_set_stand_in_core_memory_without_a_mark(tmp_path):
    sets = (
        ("My elder brother is Tadeo.", "My younger brother is Abel."),
        ("I've been prescribed eplerenone.", "I've been prescribed torasemide."),
        ("I own a dinghy.", "I own a tractor."),
        ("I speak Finnish.", "I speak a little Estonian."),
    )
    with MemoryClient(tmp_path) as memory:
        for older, newer in sets:
            memory.remember(older)
            memory.remember(newer)
        memory.consolidate()
        shown = memory.session_start().text()
    assert "disputed" not in shown
    assert "outdated" not in shown
    assert all(text in shown for pair in sets for text in pair)
