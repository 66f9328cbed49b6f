"""What the judge is sure of: repetitions that are merged in whatever words, and updates that close."""

import frames
import numpy as np
import polars as pl
import pytest
from test_clustering import clustered, groups

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation import judging
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import alignment

DENTIST = (
    "The dentist moved to the corner house by the station.",
    "You now find the dentist in the house on the corner, next to the trains.",
    "Dentist: corner building beside the railway.",
)


def repeated(memories, *pairs, confidence=0.97):
    """Rows of `pair_readings` that say of pairs of memories, by place, that they repeat each other."""
    hashes = memories["content_hash"]
    rows = [("p", hashes[one], hashes[other], judging.REPEATS, [confidence]) for one, other in pairs]
    return TABLES["pair_readings"].conform(pl.DataFrame(rows, TABLES["pair_readings"].empty().schema, orient="row"))


def test_texts_that_surely_repeat_each_other_are_one_group_through_others_too():
    memories = frames.memories({"content": text} for text in DENTIST)
    assert groups(clustered(memories)) == []
    assert groups(clustered(memories, read=repeated(memories, (0, 1), (1, 2)))) == [["m0", "m1", "m2"]]
    unsure = repeated(memories, (0, 1), confidence=0.7)
    assert groups(clustered(memories, read=unsure)) == []
    assert groups(clustered(memories, Policy(merge_confidence=0.7), read=unsure)) == [["m0", "m1"]]


@pytest.mark.parametrize(
    "texts",
    [
        ("The rent of the workshop is 640 euros.", "For the workshop 460 euros of rent are due."),
        ("Never feed the grey cat fish.", "Feed the grey cat fish."),
        ("The course begins on 3 May.", "The course begins on 13 May."),
        ("Ask Ines before touching the kiln.", "Touch the kiln only after asking Odile."),
    ],
)
def test_no_other_fact_is_merged_however_sure_the_judge_is(texts):
    memories = frames.memories({"content": text} for text in texts)
    assert groups(clustered(memories, read=repeated(memories, (0, 1)))) == []


@pytest.mark.parametrize(
    "texts",
    [
        ("The rent of the workshop is 640 euros.", "For the workshop 640 euros of rent are due on the 3rd."),
        ("No visitors in the kiln room, not even the family.", "Visitors must not enter the kiln room."),
        ("The choir sings on the first Sunday of each month.", "First Sunday of the month: the choir sings."),
    ],
)
def test_what_only_one_of_two_repetitions_adds_keeps_them_apart_only_if_nothing_says_that_they_repeat(texts):
    memories = frames.memories({"content": text} for text in texts)
    assert groups(clustered(memories)) == []
    assert groups(clustered(memories, read=repeated(memories, (0, 1)))) == [["m0", "m1"]]


def test_the_same_words_of_another_day_are_merged_only_if_the_judge_is_sure():
    """A figure that is said again may be measured again, which the words alone do not tell."""
    text = "The plumber is Bo Lind, phone 0117 496 0123."
    memories = frames.memories({"content": text, "created_at": frames.ago(day)} for day in (30, 20, 10))
    assert groups(clustered(memories)) == []
    assert groups(clustered(memories, read=repeated(memories, (0, 1)))) == [["m0", "m1", "m2"]]
    assert groups(clustered(memories, read=repeated(memories, (0, 1), confidence=0.7))) == []


def test_what_was_answered_outranks_what_is_read():
    memories = frames.memories({"content": text} for text in DENTIST[:2])
    answered = pl.DataFrame({"profile_id": ["p"], "low": ["m0"], "high": ["m1"], "relation": ["none"]})
    read = repeated(memories, (0, 1))
    assert groups(clustered(memories, read=read, answered=answered)) == []


def test_of_people_and_places_each_keeps_its_own():
    for column in ("user_id", "agent_id", "speaker"):
        memories = frames.memories(
            {"content": text, column: name} for text, name in zip(DENTIST[:2], ("ana", "bo"), strict=True)
        )
        assert groups(clustered(memories, read=repeated(memories, (0, 1)))) == []


@pytest.mark.parametrize(
    ("statement", "rule", "confidence", "closes"),
    [
        (None, "whole", 0.91, True),
        (None, "whole", 0.89, False),
        (None, "likely", 0.99, False),
        ("The rent is 640 euros.", "whole", 0.99, False),
        ("The rent is 640 euros.", "ended", 0.95, True),
    ],
)
def test_an_update_closes_if_it_is_stated_or_surely_read_of_a_memory_of_one_statement(
    statement, rule, confidence, closes
):
    assert surely_closes(statement=statement, rule=rule, confidence=confidence) is closes


def surely_closes(**row):
    found = pl.DataFrame([{"relation": "update"} | row], schema_overrides={"statement": pl.String})
    return found.select(judging.sure(Policy())).item()


def placed(memories):
    """Memories as they are compared: outside of files and projects."""
    return memories.with_columns(**dict.fromkeys(("file", "heading", "project"), pl.lit(None, pl.String)))


def first_repeats(points, *pairs, recorded=None, left=(0.0, 0.0)):
    """What is recorded of pairs that were judged: older, newer, relation, confidence; `left` of each text unsaid."""
    found = pl.DataFrame(pairs, ["older", "newer", "relation", "confidence"], orient="row")
    known = TABLES["pair_readings"].empty() if recorded is None else recorded
    numbers = np.zeros(len(alignment.NAMES))
    numbers[[alignment.NAMES.index(f"left_share_{side}") for side in ("old", "new")]] = left
    texts = {f"{side}_hash": points["content_hash"].gather(found[side]) for side in ("older", "newer")}
    aligned = pl.DataFrame(texts).select(
        pl.all(), profile_id=pl.lit("p"), model=pl.lit(alignment.MODEL), numbers=pl.lit(numbers.tolist())
    )
    known = pl.concat([known, TABLES["pair_readings"].conform(aligned)])
    return judging.first_repeats(found, points, known, None)


def test_how_surely_two_texts_repeat_is_what_was_judged_first():
    memories = frames.memories({"content": text} for text in DENTIST)
    points = placed(memories)
    judged = [(0, 1, "duplicate", 0.96), (1, 2, "duplicate", 0.7), (0, 2, "update", 0.99)]
    read = first_repeats(points, *judged)
    assert sorted(read["numbers"].to_list()) == [[0.7], [0.96]]
    assert groups(clustered(memories, read=read)) == [["m0", "m1"]]
    assert groups(clustered(memories, Policy(merge_confidence=0.7), read=read)) == [["m0", "m1", "m2"]]
    assert first_repeats(points, (0, 1, "duplicate", 0.5), (1, 2, "duplicate", 0.99), recorded=read).is_empty()


@pytest.mark.parametrize(
    ("left", "sure"),
    [((0.3, 0.0), 0.85), ((0.0, 0.3), 0.85), ((0.2, 0.2), 0.85), ((0.3, 0.4), 0.7), ((0.6, 0.5), 0.6)],
)
def test_texts_of_which_neither_says_what_the_other_does_are_less_surely_one(left, sure):
    points = placed(frames.memories({"content": text} for text in DENTIST))
    ((read,),) = first_repeats(points, (0, 1, "duplicate", 0.85), left=left)["numbers"].to_list()
    assert read == pytest.approx(sure)


def test_a_second_allergy_is_never_merged_with_the_first():
    memories = frames.memories({"content": f"I am allergic to {it}."} for it in ("penicillin", "latex"))
    read = first_repeats(placed(memories), (0, 1, "duplicate", 0.99))
    assert read["numbers"].to_list() == [[0.0]]
    assert groups(clustered(memories, Policy(merge_confidence=0.01), read=read)) == []


REWORDED = (
    (
        "Staging database: Postgres 16 on host heron, port 5433.",
        "Postgres 16 is the staging database; it listens on heron, port 5433.",
    ),
    ("Unit tests are run with `tox -e py312` from `server/`.", "`tox -e py312` in `server/` runs the unit tests."),
)


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_run_merges_what_surely_repeats_in_other_words_and_the_next_finds_nothing_more(tmp_path):
    with MemoryClient(tmp_path) as client:
        ids = [[client.remember(text) for text in pair] for pair in REWORDED]
        client.remember("The heron build is on Monday.")
        client.consolidate()
        stand = [{client.get(name).superseded_by for name in pair} for pair in ids]
        assert all(len(names) == 1 and None not in names for names in stand)
        assert client.consolidate(dry_run=True).plan.is_empty()
