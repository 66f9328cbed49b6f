"""Which relations that a judge found are kept from facts that cannot be one, and which repetitions may merge."""

import polars as pl
import pytest

from memory_pipeline.consolidation import relation_guards

PLACES = ("user_id", "file", "heading", "project")
SAME = ("I live in Graz.", "Graz is where I live.")


def points(*texts, **places):
    """Memories of these texts; a place names that of each."""
    return pl.DataFrame({"profile_id": "p", "content_hash": ["h0", "h1"], "content": texts}).with_columns(
        pl.Series("speaker", places.get("speaker", [None, None]), pl.String),
        *(pl.Series(name, places.get(name, [None, None]), pl.String) for name in PLACES),
        pl.Series("undated", places.get("undated", [False, False])),
    )


def guarded(relation, older, newer, *, rule="reader", **places):
    """The pairs that may hold, of one that was found with a confidence of .9."""
    pairs = pl.DataFrame({"older": [0], "newer": [1], "relation": [relation], "confidence": [0.9], "rule": [rule]})
    return relation_guards.permitted(pairs, points(older, newer, **places))


def permitted(relation, older, newer, **places):
    """Whether a relation of two texts may hold."""
    return guarded(relation, older, newer, **places).height == 1


def may_merge(older, newer):
    """Whether two texts that were found to repeat each other may be one memory."""
    return relation_guards.one_fact(pl.DataFrame({"older": [0], "newer": [1]}), points(older, newer)).height == 1


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("An IGW can only be attached to a single VPC", "And a VPC can also only have a single IGW"),
        ("Petra owes Jonas money for the concert.", "Jonas owes Petra money for the concert."),
        ("Invoices refer to orders.", "Orders refer to invoices."),
    ],
)
def test_what_is_said_the_other_way_round_is_no_one_fact(older, newer):
    assert not may_merge(older, newer)
    assert may_merge(older, older)


def test_another_order_of_few_words_is_one_fact():
    assert may_merge("My dentist is Kern.", "Kern is my dentist.")


@pytest.mark.parametrize("relation", ["update", "duplicate", "conflict"])
@pytest.mark.parametrize(("place", "names"), [("user_id", ["ada", "ben"]), ("heading", ["Shop", "Blog"])])
def test_other_users_and_headings_are_not_related(relation, place, names):
    assert permitted(relation, *SAME)
    assert permitted(relation, *SAME, **{place: names[:1] * 2})
    assert not permitted(relation, *SAME, **{place: names})


@pytest.mark.parametrize(
    "headings", [["Shop", None], [None, "Shop"], ["Shop", "Shop / Log"], ["Shop / Log / Till", "Shop"]]
)
def test_what_is_under_a_heading_or_none_may_change_what_is_below_and_above(headings):
    assert permitted("update", *SAME, heading=headings)
    assert permitted("conflict", *SAME, heading=headings)
    assert not permitted("duplicate", *SAME, heading=headings)


def test_the_same_in_two_files_is_said_twice_on_purpose():
    assert not permitted("duplicate", *SAME, file=["a.md", "b.md"])
    assert permitted("update", *SAME, file=["a.md", "b.md"])


def test_an_instruction_of_one_project_changes_none_of_another():
    spaces = ("Always use tabs for indentation.", "From now on never use tabs for indentation.")
    home = ("I live in Graz.", "I have moved to Linz.")
    assert permitted("update", *spaces)
    assert permitted("update", *spaces, project=["shop", "shop"])
    assert not permitted("update", *spaces, project=["shop", "blog"])
    assert not permitted("update", *spaces, project=[None, "blog"])
    assert permitted("update", *home, project=["shop", "blog"])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The eggs are 3 euros.", "Ten eggs cost 3.60 euros."),
        ("Drive goes to Rosa on Monday.", "On Monday the drive is Nadia's, ask Nadia."),
        ("The lift is serviced on 3 May.", "They service the lift on 4 May."),
        ("Our flat is in stairwell B.", "You find our flat in stairwell C."),
    ],
)
def test_two_texts_with_a_figure_day_or_name_each_of_its_own_do_not_merge(older, newer):
    assert not may_merge(older, newer)


def test_a_second_allergy_is_not_the_first():
    assert not may_merge("I am allergic to penicillin.", "I am allergic to latex.")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        SAME,
        ("The choir meets in the old mill.", "Rehearsals of the choir, with tea, are in the old mill."),
        ("Built in 1968, the boat leaks.", "The boat lets water in."),
        ("For years I parked in row B.", "In row B I parked for years."),
    ],
)
def test_a_detail_more_on_one_side_is_no_other_fact(older, newer):
    assert may_merge(older, newer)


def test_what_has_no_day_of_its_own_outdates_what_has_one_only_if_it_says_so():
    rents = "The rent was raised to 885.", "Rent is 840."

    def confidence(undated, relation="update", rule="reader"):
        return guarded(relation, *rents, rule=rule, undated=undated)["confidence"].to_list()

    assert confidence([False, True]) == [relation_guards.DOUBT]
    for stated in relation_guards.STATED:
        assert confidence([False, True], rule=stated) == [0.9]
    for others in ([False, False], [True, True], [True, False]):
        assert confidence(others) == [0.9]
    assert confidence([False, True], relation="conflict") == [0.9]


@pytest.mark.parametrize("relation", ["update", "conflict"])
@pytest.mark.parametrize(
    ("older", "newer", "may"),
    [
        ("The alarm code of the shop is 4471.", "Alarm code: as last year.", False),
        ("Rent for the studio is 640 euros.", "Studio rent: same as before.", False),
        ("Oskar's insulin dose is 12 units.", "Insulin dose for Oskar: unchanged.", False),
        ("Contact for the roof is Mr Zielinski.", "Roof contact: no change.", False),
        ("Swim practice is on Tuesday.", "Swim practice: not as before.", True),
        ("Swim practice is on Tuesday.", "Swim practice is on Friday, as in 2024.", True),
        ("The gate code is 4471.", "The gate code is the same as that of the shed.", True),
        ("The choir pays 300 for the hall.", "Hall for the choir: we pay what we paid.", False),
        ("Petra waters the plants in August.", "Plants in August: whoever did it so far.", False),
        ("The vet for the goat is Dr Sand.", "Dr Quist is the vet for the goat now.", True),
    ],
)
def test_what_only_refers_back_changes_nothing(relation, older, newer, may):
    assert permitted(relation, older, newer) is may
    assert permitted("duplicate", older, newer)


@pytest.mark.parametrize("speaker", [None, "Signe", "Captain Moor"])
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I speak Finnish.", "I speak a little Estonian."),
        ("I speak Welsh.", "I also speak Norwegian."),
        pytest.param(
            *("I speak Irish.", "I also speak Norwegian."),
            marks=pytest.mark.xfail(strict=True, reason="the reader is less sure that one may also be Irish"),
        ),
        ("I play the fiddle.", "I play the accordion."),
    ],
)
def test_members_of_a_set_deny_each_other_behind_no_name(older, newer, speaker):
    assert not permitted("conflict", older, newer, speaker=[speaker] * 2)
    assert permitted("update", older, newer, speaker=[speaker] * 2)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Kells.", "I live in Trim."),
        ("I like olives.", "I hate olives."),
        ("My name is Signe.", "My name is Penny."),
    ],
)
def test_what_there_is_one_of_and_what_is_said_of_the_same_may_be_denied(older, newer):
    assert permitted("conflict", older, newer)
