"""Type, category and importance of a memory: given, and by what the reader says."""

from pathlib import Path

import polars as pl
import pytest

from memory_pipeline.text.classification import HOLDING, PASSING, Meaning, canonical_category, canonical_type, inferred
from memory_pipeline.text.score import core_facts
from memory_pipeline.text.score.sections import SECTIONS
from memory_pipeline.text.score.sentence_kinds import GROUPS
from memory_pipeline.text.score.state_heads import HEADS, REFERENCES


def labelled(*sentences: str, refers: float = 0.0) -> list[float]:
    """Return a reading that is sure of the labels of each sentence: whom, kind, how long, harm, worth, stance."""
    numbers: list[float] = []
    for sentence in sentences:
        known = zip(GROUPS.values(), sentence.split(), strict=True)
        numbers += [float(name == label) for group, label in known for name in group]
        numbers += [refers if head == REFERENCES else 0.0 for head in HEADS]
        numbers += [0.0 for _ in SECTIONS]
    return numbers


def classified(*readings: list[float]) -> pl.DataFrame:
    return inferred(pl.Series(readings, dtype=pl.List(pl.Float64)))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("owner decision current 1 2 stated", ("Decision", "episodic", 0.5)),
        ("owner preference lasting 0 2 stated", ("Preference", "opinion", 2 / 6)),
        ("agent instruction lasting 1 3 stated", ("Style", "procedural", 4 / 6)),
        ("owner event current 0 1 stated", ("Habit", "episodic", 1 / 6)),
        ("owner event moment 0 1 happened", ("Memory", "episodic", 1 / 6)),
        ("thing measurement current 0 1 stated", ("Pattern", "semantic", 1 / 6)),
        ("owner opinion lasting 0 1 stated", ("Insight", "opinion", 1 / 6)),
        ("person home current 0 2 stated", ("Context", "semantic", 2 / 6)),
        ("person home moment 0 2 stated", ("Memory", "episodic", 2 / 6)),
        ("owner health lasting 3 3 stated", ("Context", "core", 1.0)),
        ("person health lasting 3 3 stated", ("Context", "semantic", 1.0)),
        ("owner health lasting 3 3 possible", ("Memory", "episodic", 1.0)),
        ("nobody chatter moment 0 0 idle", ("Memory", "episodic", 0.0)),
        ("owner question moment 0 0 asked", ("Memory", "episodic", 0.0)),
    ],
)
def test_what_a_sentence_means(label, expected):
    found = classified(labelled(label, refers=0.25)).row(0)
    assert found == (*expected[:2], pytest.approx(expected[2]), 0.25)


def test_the_most_important_sentence_speaks_for_a_text():
    chatter, allergy = "nobody chatter moment 0 0 idle", "owner health lasting 3 3 stated"
    found = classified(labelled(chatter, allergy, chatter), labelled(chatter, chatter))
    assert found.rows() == [("Context", "core", 1.0, 0.0), ("Memory", "episodic", 0.0, 0.0)]


def test_a_text_refers_back_as_far_as_the_sentence_that_does_so_least():
    told, chatter = "thing fact current 0 1 stated", "nobody chatter moment 0 0 idle"
    found = classified(labelled(told, refers=0.9) + labelled(chatter, refers=0.1), labelled(told, refers=0.8))
    assert found["refers_back"].to_list() == [0.1, 0.8]


def test_a_text_that_was_not_read_is_a_plain_memory():
    assert classified([], []).rows() == [("Memory", "episodic", None, None)] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We decided to keep the ledger in SQLite.", ("Decision", "episodic")),
        ("I prefer tea over coffee.", ("Preference", "opinion")),
        ("Keep the coding style: snake_case everywhere.", ("Style", "procedural")),
        ("I'm allergic to peanuts.", ("Context", "core")),
        ("Greta works as a nurse.", ("Context", "semantic")),
        ("We saw dolphins near the pier.", ("Memory", "episodic")),
        ("Which tea do you prefer?", ("Memory", "episodic")),
        ("Das Boot liegt in Kiel.", ("Memory", "episodic")),
        ("", ("Memory", "episodic")),
    ],
)
def test_the_reader_tells_type_and_category(text, expected):
    assert inferred(core_facts.read(pl.Series([text]))).row(0)[:2] == expected


def test_the_table_of_the_page_is_that_of_the_program():
    page = (Path(__file__).parents[1] / "docs" / "what-to-store.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.partition("| kind of the sentence |")[2].splitlines()[2:]]
    told = {kind: row[1:] for row in rows if len(row) == 4 for kind in row[0].split(", ")}
    assert set(told) == set(GROUPS["kind"])
    for kind, (memory_type, category, passing) in told.items():
        held = HOLDING.get(kind, Meaning())
        assert held == (memory_type, category), kind
        assert PASSING.get(kind, Meaning()) == (held if passing == "the same" else tuple(passing.split(", "))), kind


def test_given_names_are_case_insensitive():
    frame = pl.DataFrame(
        {"given": ["decision", " INSIGHT ", "Style", "MetaPattern", "", None]}, schema={"given": pl.String}
    )
    found = frame.select(canonical_type(pl.col("given"))).to_series().to_list()
    assert found == ["Decision", "Insight", "Style", None, None, None]
    core = pl.DataFrame({"given": ["CORE", "Procedural", "fact"]}).select(canonical_category(pl.col("given")))
    assert core.to_series().to_list() == ["core", "procedural", None]
