"""Enrichment: keywords, gist, rule importance and effective importance."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.schemas import TABLES
from memory_pipeline.text.enrich import GIST_LENGTH, enrich, texts
from memory_pipeline.text.score.importance import effective

LONG = (
    "Hello again, it is so good to hear from you! How was your week? The weather here was fine. "
    "We decided on March 12 to move the workshop from Lisbon to Turin because the hall costs $400 less. "
    "Anyway, take care and have a lovely evening, my friend."
)


def frame(*contents: str | None) -> pl.DataFrame:
    rows = [("p", f"h{index:04}", None, content) for index, content in enumerate(contents)]
    schema = {"profile_id": pl.String, "content_hash": pl.String, "speaker": pl.String, "content": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def row(content: str | None) -> dict:
    return enrich(frame(content)).row(0, named=True)


def rule(content: str) -> float:
    return row(content)["rule_importance"]


def test_rows_fit_their_table():
    for given_texts in (frame(LONG, None, "", "😀"), frame()):
        rows = enrich(given_texts)
        assert TABLES["enrichment"].schema.validate(rows).equals(rows)
        assert len(rows) == len(given_texts)


def test_keywords_are_content_words_in_order_of_weight():
    keywords = row("The kayaks: our kayak club repaired two kayaks and a people carrier on Sunday")["keywords"]
    assert keywords[0] == "kayaks"
    assert keywords.index("carrier") < keywords.index("people")
    assert {"the", "and", "our"}.isdisjoint(keywords)
    assert len(row(" ".join(f"zweig{letter}holz" for letter in "abcdefghijkl"))["keywords"]) == 8


def test_keywords_are_whole_words_as_written_most_often():
    assert row("Three movies in a series; the series of movies began with one movie.")["keywords"][:2] == [
        "movies",
        "series",
    ]
    assert row("Ana's wedding")["keywords"] == ["ana", "wedding"]


def test_equal_keywords_are_in_alphabetical_order():
    assert row("viola oboe kayak")["keywords"] == ["kayak", "oboe", "viola"]


def test_a_question_has_keywords_too():
    assert row("Where is the kayak?")["keywords"] == ["kayak"]


def test_a_short_text_is_its_own_gist():
    assert row("Greta rows.\nShe  likes it.")["gist"] == "Greta rows. She likes it."


def test_the_gist_of_a_long_text_is_its_most_important_sentence():
    gist = row(LONG)["gist"]
    assert gist.startswith("We decided on March 12 to move the workshop from Lisbon to Turin")
    assert len(gist) <= GIST_LENGTH


def test_a_sentence_is_not_cut_in_a_number_or_an_address():
    text = (
        "Nothing much to say here today, really, as I said. " * 3
        + "Use release 2.3.1 of example.org for the Turin trip."
    )
    assert row(text)["gist"] == "Use release 2.3.1 of example.org for the Turin trip."


@pytest.mark.parametrize(
    "text", ["viola kayak " * 100, "x" * 1000, "漢字" * 300, "word, " * 200, "\n" * 300 + "-" * 300]
)
def test_a_gist_is_one_line_of_bounded_length(text):
    gist = row(text)["gist"]
    assert len(gist) <= GIST_LENGTH
    assert "\n" not in gist
    assert "viola kay…" not in gist


def test_facts_matter_more_than_chit_chat():
    facts = [
        "I signed the lease in Turin on March 12 for $900 a month",
        "We decided to move the ledger to PostgreSQL by Friday",
        "My sister Greta is allergic to peanuts",
    ]
    chat = ["Hey! How are you?", "Wow, that sounds amazing!", "Thanks, Boris! You too, take care!", "Haha, yes!"]
    assert min(map(rule, facts)) > max(map(rule, chat)) + 0.2


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I keep the viola in Turin", "You keep the viola in Turin"),
        ("We rehearse on March 12", "We rehearse on the hill"),
        ("Our singer came from Turin", "Our singer came from abroad"),
        ("I own 14 violas", "I own fine violas"),
        ("I prefer the viola", "I saw the viola"),
        ("They keep the viola there.", "Do they keep the viola there?"),
        ("I'll repair the viola", "I saw the viola"),
    ],
)
def test_each_cue_counts(more, less):
    assert rule(more) > rule(less)


@given(st.text(max_size=300))
def test_any_text_can_be_enriched(text):
    found = row(text)
    assert 0.0 <= found["rule_importance"] <= 1.0
    assert len(found["gist"]) <= GIST_LENGTH
    assert len(found["keywords"]) <= 8


@given(st.lists(st.text(max_size=200), max_size=6), st.randoms(use_true_random=False))
def test_an_increment_equals_a_rebuild(contents, random):
    whole = frame(*contents, LONG)
    order = list(range(len(whole)))
    random.shuffle(order)
    parts = [enrich(whole[order[:2]]), enrich(whole[order[2:]])]
    assert TABLES["enrichment"].conform(pl.concat(parts)).equals(enrich(whole))


def test_duplicate_texts_are_enriched_once():
    assert len(enrich(pl.concat([frame(LONG), frame(LONG)]))) == 1


def test_profiles_are_enriched_separately():
    both = pl.concat([frame("Greta rows"), frame("Greta rows").with_columns(profile_id=pl.lit("q"))])
    assert enrich(both)["profile_id"].to_list() == ["p", "q"]


def memories(*rows: tuple[str, float | None, float | None]) -> pl.DataFrame:
    known = [(f"m{index}", hashed, given, hint) for index, (hashed, given, hint) in enumerate(rows)]
    schema = {"memory_id": pl.String, "content_hash": pl.String}
    shares = {"importance_given": pl.Float64, "importance_hint": pl.Float64}
    return pl.DataFrame(known, schema=schema | shares, orient="row").with_columns(
        profile_id=pl.lit("p"), importance_read=pl.lit(None, pl.Float64)
    )


def test_importance_is_given_else_hinted_else_read_else_by_rule_else_a_half():
    enrichment = enrich(frame("I signed the lease in Turin on March 12"))
    by_rule = enrichment["rule_importance"][0]
    found = effective(
        memories(
            ("h0000", 0.0, 0.9), ("h0000", None, 1.0), ("h0000", None, None), ("none", None, None), ("none", None, 1.0)
        ),
        enrichment,
    )
    assert found.columns == ["profile_id", "memory_id", "importance"]
    assert found["memory_id"].to_list() == ["m0", "m1", "m2", "m3", "m4"]
    assert found["importance"].to_list() == [0.0, (1.0 + by_rule) / 2, by_rule, 0.5, 0.75]
    read = memories(("h0000", 0.0, 0.9), ("h0000", None, 1.0), ("none", None, None)).with_columns(importance_read=0.2)
    assert effective(read, enrichment)["importance"].to_list() == [0.0, 0.6, 0.2]


def test_importance_of_another_profile_is_not_used():
    foreign = enrich(frame("I signed the lease in Turin")).with_columns(profile_id=pl.lit("q"))
    assert effective(memories(("h0000", None, None)), foreign)["importance"].to_list() == [0.5]


def test_memories_with_one_text_share_a_row():
    rows = memories(("h0", None, None), ("h0", None, None), ("h1", None, None)).with_columns(
        speaker=pl.lit("Greta"),
        content="content_hash",
        index_text=pl.lit(None, dtype=pl.String),
        lifecycle=pl.lit("active"),
    )
    found = texts(rows[::-1])
    assert found.columns == ["profile_id", "content_hash", "speaker", "content", "embedded"]
    assert found["embedded"].to_list() == ["h0", "h1"]
    assert texts(rows.with_columns(lifecycle=pl.lit("stub"))).is_empty(), "a stub shows but the beginning of its text"
