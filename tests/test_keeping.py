"""What a token budget keeps first: ranks of memories by use, by harm, and by what newer ones say."""

import frames
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import keeping, trimming, worth
from memory_pipeline.consolidation.keeping import Rank
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

PAIR = ("The band rehearses in the hall.", "The band rehearses in the barn now.")


def store(*texts, **columns):
    """Memories m0, m1 and so on, one a day; columns as {place: value}."""
    return frames.memories(
        [
            {"content": text, "created_at": frames.ago(90 - place)}
            | {name: values[place] for name, values in columns.items() if place in values}
            for place, text in enumerate(texts)
        ]
    )


def edges(*links):
    """Decided edges: (type, source, target)."""
    return frames.edges([{"edge_type": kind, "source": source, "target": target} for kind, source, target in links])


def accesses(*uses):
    """Accesses: (memory, position in the answer), each a recall of its own."""
    rows = [
        {"profile_id": "p", "seq": seq, "ordinal": ordinal, "memory_id": name, "at": frames.ago(1)}
        for seq, (name, ordinal) in enumerate(uses, 1)
    ]
    if not rows:
        return TABLES["accesses"].empty()
    return TABLES["accesses"].conform(
        pl.DataFrame(rows).with_columns(session_id=pl.lit(None), expanded=pl.lit(value=False), times=pl.lit(1))
    )


def rows(memories, read, *, links=(), uses=(), changes=None):
    return keeping.ranked(
        memories,
        edges(*links) if links else TABLES["association_edges"].empty(),
        TABLES["fact_changes"].empty() if changes is None else changes,
        accesses(*uses),
        TABLES["change_odds"].empty(),
        read,
        as_of=frames.AS_OF,
    )


def ranks(memories, **told):
    found = rows(memories, worth.of_sentences(memories), **told)
    assert found["memory_id"].to_list() == memories["memory_id"].to_list()
    return [Rank(rank) for rank in found["rank"]]


def reading(memories, **numbers):
    """What a reader would say of one-sentence memories: numbers by memory, else 0."""
    unsaid = dict.fromkeys((name for name, kind in worth.SCHEMA.items() if kind == pl.Float64), 0.0)
    said = [
        {"profile_id": profile, "memory_id": name, "said": text} | unsaid | numbers.get(name, {})
        for profile, name, text in memories.select("profile_id", "memory_id", "content").iter_rows()
    ]
    return pl.DataFrame(said, schema=worth.SCHEMA)


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("Ruben is allergic to walnuts.", Rank.GRAVE),
        ("She takes 20 mg of the tablets at night.", Rank.GRAVE),
        ("Visitors must not feed the goats.", Rank.GRAVE),
        ("Never open the sluice before noon.", Rank.GRAVE),
        ("Grandad is on bisoprolol now.", Rank.GRAVE),
        ("Don't let the twins row out alone.", Rank.GRAVE),
        ("For parcels, always add a customs form.", Rank.REST),
        ("From now on, answer in two lines.", Rank.REST),
        ("Ruben can't eat anything with sesame.", Rank.GRAVE),
        ("The choir sang in the old mill.", Rank.REST),
        ("Is anybody allergic to walnuts?", Rank.REST),
        ("No worries, don't forget your coat!", Rank.REST),
    ],
)
def test_what_surely_does_damage_if_forgotten_ranks_before_the_rest(text, rank):
    assert ranks(store(text)) == [rank]


def test_what_was_first_in_an_answer_or_often_below_was_asked_for():
    texts = ["The choir sang.", "The kiln cooled.", "The ferry left."]
    assert ranks(store(*texts), uses=[("m0", 0), ("m1", 2), ("m1", 2), ("m1", 2), ("m2", 8)]) == [
        Rank.ASKED,
        Rank.ASKED,
        Rank.REST,
    ]


@pytest.mark.parametrize(
    ("speakers", "sessions", "chat"),
    [
        (("Ana", "Ben", "Ana", "Ben"), "ssss", True),
        (("Ana", "Ben", "Ana", "Ben"), "stuv", False),
        (("Ana", "Ana", "Ana", "Ana", "Ben"), "sssss", False),
        (("Ana", "assistant", "Ana", "assistant"), "ssss", False),
        ((None, None), "ss", False),
    ],
    ids=["talk", "notes of several", "one remark", "with an assistant", "nobody named"],
)
def test_a_chat_is_where_people_answer_each_other(speakers, sessions, chat):
    memories = store(*(f"The kiln stands in shed {place}." for place in range(len(speakers)))).with_columns(
        speaker=pl.Series(speakers, dtype=pl.String), session_id=pl.Series(list(sessions))
    )
    assert keeping.chats(memories)["profile_id"].to_list() == ["p"] * chat


def leaves_before(memories, *links):
    none = TABLES["fact_changes"].empty()
    odds, said = TABLES["change_odds"].empty(), worth.SCHEMA.to_frame()
    return keeping.ranked(memories, edges(*links), none, accesses(), odds, said, as_of=frames.AS_OF)["newer"].to_list()


def told_odds(found):
    return [tuple(row) for row in found.select(keeping.ODDS).iter_rows()]


def test_odds_are_those_of_the_judge_or_more_where_something_is_linked():
    odds = [
        {"memory_id": "m0", "updates": 0.0, "outdated": 0.7, "repeats": 0.0},
        {"memory_id": "m1", "updates": 0.3, "outdated": 0.0, "repeats": 0.2},
    ]
    table = pl.DataFrame(odds).with_columns(profile_id=pl.lit("p"), plan_id=pl.lit("plan"))
    memories = store(*PAIR, "The barn is where they play.", "The ferry left.")
    found = keeping.ranked(
        memories,
        edges(("MAY_UPDATE", "m1", "m0"), ("MAY_REPEAT", "m1", "m2")),
        TABLES["fact_changes"].empty(),
        accesses(),
        TABLES["change_odds"].conform(table),
        worth.SCHEMA.to_frame(),
        as_of=frames.AS_OF,
    )
    assert told_odds(found) == [(0.0, 0.7, 0.0), (0.5, 0.0, 0.5), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0)]
    assert set(found["rank"]) == {Rank.REST}, "odds change no rank"


UPDATE = ("MAY_UPDATE", "m1", "m0")


def test_a_link_decides_only_that_the_older_side_leaves_before_the_newer():
    memories = store(*PAIR)
    assert ranks(memories, links=[UPDATE]) == [Rank.REST, Rank.REST]
    assert ranks(memories, links=[UPDATE], uses=[("m0", 0)]) == [Rank.ASKED, Rank.ASKED]
    assert leaves_before(memories, UPDATE) == [["m1"], []]


def test_safety_stays_safety_whatever_a_link_says_of_it():
    memories = store("Ada is allergic to figs.", "Ada is allergic to dried figs.")
    for kind in ("MAY_UPDATE", "MAY_REPEAT"):
        assert ranks(memories, links=[(kind, "m1", "m0")]) == [Rank.GRAVE, Rank.GRAVE]


def test_ranks_are_handed_on_along_a_chain_of_updates():
    links = [(UPDATE), ("MAY_UPDATE", "m2", "m1")]
    memories = store("Ada is allergic to figs.", "Ada may eat figs.", "Figs make Ada ill after all.")
    assert ranks(memories, links=links) == [Rank.GRAVE] * 3
    assert ranks(store("One.", "Two.", "Three."), links=links, uses=[("m0", 0)]) == [Rank.ASKED] * 3


def test_of_copies_the_newest_stands_for_all_and_has_their_use():
    links = [("MAY_REPEAT", "m0", "m1"), ("MAY_REPEAT", "m1", "m2")]
    memories = store("The kiln cools for a day.", "For a day the kiln cools.", "A day of cooling for the kiln.")
    assert ranks(memories, links=links) == [Rank.REST] * 3
    assert ranks(memories, links=links, uses=[("m0", 1), ("m1", 1)])[2] == Rank.ASKED
    assert leaves_before(memories, *links) == [["m2"], ["m2"], []]


def test_a_note_of_several_facts_is_no_copy_of_a_sentence_that_repeats_one_of_them():
    note = "The kiln cools for a day. Its door was mended by Ada, and the shelves are new. Bread is baked on Fridays."
    links = [("MAY_REPEAT", "m0", "m1")]
    memories = store(note, "The kiln takes a day to cool.")
    assert leaves_before(memories, *links) == [[], ["m0"]]


@pytest.mark.parametrize(("kind", "odds"), [("MAY_UPDATE", "updates"), ("MAY_REPEAT", "repeats")])
@pytest.mark.parametrize("lifecycle", ["archived", "cold", "stub", "expired", "deleted"])
def test_what_stays_keeps_its_odds_when_the_older_side_or_copy_has_left(kind, odds, lifecycle):
    memories = store(*PAIR, lifecycle={0: lifecycle})
    found = rows(memories, worth.of_sentences(memories), links=[(kind, "m1", "m0")])
    assert found[odds][1] == (0.0 if lifecycle == "deleted" else 0.5)


def test_what_is_closed_stays_outdated_when_its_successor_has_left():
    closed = {"superseded_by": {0: "m1"}, "superseded_kind": {0: "update"}, "valid_until": {0: frames.ago(5)}}
    assert ranks(store(*PAIR, lifecycle={1: "archived"}, **closed))[0] == Rank.OUTDATED
    assert ranks(store(PAIR[0], **closed)) == [Rank.OUTDATED]


def test_what_is_outdated_in_part_ranks_by_what_still_holds():
    memories = store("Ada keeps bees. Ada keeps goats.", "Ada has given up the goats.")
    row = {"profile_id": "p", "memory_id": "m0", "other_id": "m1", "relation": "update", "decided": True}
    given = row | {"confidence": 1.0, "statement": "Ada keeps goats.", "at": frames.ago(1), "rule": "r", "reason": "r"}
    missing = {name: pl.lit(None) for name in TABLES["fact_changes"].empty().columns if name not in given}
    changes = pl.DataFrame([given]).with_columns(**missing | {"plan_id": pl.lit("")})
    assert ranks(memories, changes=TABLES["fact_changes"].conform(changes))[0] == Rank.REST


def test_links_of_memories_that_are_gone_or_out_of_time_change_nothing():
    assert ranks(store(*PAIR), links=[("MAY_UPDATE", "m0", "m1"), ("MAY_UPDATE", "m9", "m0")]) == [Rank.REST, Rank.REST]
    assert ranks(store(*PAIR, lifecycle={1: "deleted"}), links=[("MAY_UPDATE", "m1", "m0")])[0] == Rank.REST


def test_of_measurements_in_like_words_the_newest_stays_longest():
    memories = store("The cistern holds 812 litres.", "The cistern holds 790 litres.", "The cistern holds 744 litres.")
    links = [("SIMILAR_TO", "m0", "m1"), ("SIMILAR_TO", "m1", "m2"), ("SIMILAR_TO", "m0", "m2")]
    read = reading(memories, **{name: {"measures": 0.9} for name in memories["memory_id"]})
    found = rows(memories, read, links=links)
    assert found["updates"].to_list() == [0.0, 0.5, 0.5]
    assert found["newer"].to_list() == [["m1", "m2"], ["m2"], []]
    unlike = rows(memories, reading(memories), links=links)
    assert unlike["newer"].to_list() == [[], [], []], "no measurements"


NUMBERS = {
    name: st.sampled_from([0.0, 0.45, 0.9])
    for name in ("grave", "likely", "surely", "possible", "safety", "instructs", "measures")
}


@given(
    st.lists(st.fixed_dictionaries(NUMBERS), min_size=4, max_size=9),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=5),
    st.lists(st.integers(0, 8), max_size=6),
    st.floats(0.05, 0.95),
)
def test_under_any_budget_what_is_grave_stays_longer_than_what_is_harmless_and_the_newer_than_the_older(
    numbers, updates, uses, budget
):
    memories = store(*(f"The barrel of shed {place} is full to the brim." for place in range(len(numbers))))
    names = memories["memory_id"].to_list()
    read = reading(memories, **dict(zip(names, numbers, strict=True)))
    pairs = {(min(pair), max(pair)) for pair in updates if len(set(pair)) == 2 and max(pair) < len(names)}
    links = [("MAY_UPDATE", names[newer], names[older]) for older, newer in sorted(pairs)]
    asked = [(names[place], 0) for place in uses if place < len(names)]
    gone = archived(memories, rows(memories, read, links=links, uses=asked), read, budget)
    for older, newer in pairs:
        assert names[newer] not in gone or names[older] in gone
    last = {name for place, name in enumerate(names) if all(older != place for older, _ in pairs)}
    grave = {name for name, said in zip(names, numbers, strict=True) if said["grave"] >= keeping.DAMAGING}
    heirs = {name for place, name in enumerate(names) if any(newer == place for _, newer in pairs)}
    harmless = {name for name, said in zip(names, numbers, strict=True) if said["grave"] == 0.0}
    if gone & grave & last:
        assert harmless - heirs - {name for name, _ in asked} <= gone


@pytest.mark.parametrize("budget", [0.5, 0.2, 0.05, 0.01])
def test_an_allergy_recalled_five_times_and_marked_helpful_is_never_dropped(budget):
    said = [f"Kiln {place} was built by Ada in 18{place} for 900 crowns." for place in range(10, 40)]
    memories = store(*said, "Ruben is allergic to walnuts.").with_columns(content_hash="memory_id")
    often = [(f"m{place}", 0) for place in range(30)]
    read = worth.of_sentences(memories)
    gone = archived(memories, rows(memories, read, uses=[*often, *[("m30", 0)] * 6]), read, budget)
    assert "m30" not in gone
    assert len(gone) >= 15


def archived(memories, ranked, read, budget):
    _, archived_set = trimming.select(
        memories,
        memories.select("profile_id", "memory_id", budget_protected=pl.lit(value=False)),
        memories.select("profile_id", "content_hash", language=pl.lit("en"), question=pl.lit(value=False)),
        ranked,
        read,
        pl.DataFrame({"profile_id": ["p"], "spare": [99]}),
        Policy(token_budget=budget),
        plan_id="plan",
    )
    return set(archived_set["memory_id"])
