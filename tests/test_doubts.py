"""What recall says of memories that are outdated in part, may be outdated, or are contradicted or repeated."""

import random
from dataclasses import replace
from datetime import UTC, datetime

import frames
import polars as pl
import pytest
from frames import AS_OF, ago

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation.edges.edge_rows import PROPOSED
from memory_pipeline.recall.client import answering
from memory_pipeline.recall.closed_statements import ClosedStatement, closed_statements, marked
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.models import Answer, Memory
from memory_pipeline.recall.openings import Block, Opening
from memory_pipeline.recall.rank import fact_links
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.recall.rank.ranking import hits, rank
from memory_pipeline.schemas import TABLES

NOTE = "The oven is set to 190 degrees. The tray is greased.\nThe timer rings twice."
LINE = NOTE.replace("\n", " ")
"""The note as it is shown."""


def closed(sentence, days=3):
    return ClosedStatement(sentence=sentence, valid_until=ago(days), closed_by="new")


def test_only_the_sentences_that_ended_are_marked():
    assert marked(NOTE, []) == NOTE
    assert marked(NOTE, [closed("The tray is greased.")]) == (
        "The oven is set to 190 degrees. The tray is greased. [outdated since 2025-12-29]\nThe timer rings twice."
    )
    assert marked("Timer  rings\ntwice. End.", [closed("Timer rings twice.")]) == (
        "Timer  rings\ntwice. [outdated since 2025-12-29] End."
    )
    assert marked("Another text.", [closed("The tray is greased."), closed(" ")]) == "Another text."


def test_of_a_sentence_within_another_the_longer_is_marked_once():
    both = [closed("It rings."), closed("It rings. Twice.", 1)]
    assert marked("It rings. Twice. It rings.", both) == (
        "It rings. Twice. [outdated since 2025-12-31] It rings. [outdated since 2025-12-29]"
    )


def test_a_sentence_is_marked_from_when_it_ended():
    rows = [{"sentence": "One.", "valid_until": AS_OF, "closed_by": "new"}]
    assert closed_statements(rows, ago(1)) == []
    assert [one.sentence for one in closed_statements(rows, AS_OF)] == ["One."]
    assert closed_statements(None) == []


MEMORIES = {
    "old": ("The oven is set to 190 degrees.", 9),
    "new": ("The oven runs at 210 degrees these days.", 2),
    "same": ("190 degrees is what the oven is set to.", 8),
    "away": ("The tram leaves at noon.", 7),
}
HALF = [{"sentence": "The oven is set to 190 degrees.", "valid_until": ago(3), "closed_by": "new"}]


def links(*rows, judged=None, origin="decided"):
    schema = {"source": pl.String, "target": pl.String, "edge_type": pl.String, "kind": pl.String}
    edges = pl.DataFrame(rows, schema, orient="row").with_columns(origin=pl.lit(origin))
    return FactLinks.of(fact_links.pairs(edges, judged=judged))


MAY_UPDATE = ("new", "old", "MAY_UPDATE", None)
MAY_REPEAT = ("old", "same", "MAY_REPEAT", None)
CONFLICT = ("new", "old", "CONTRADICTS", "conflict")


def recalled(*linked, query="What is the oven set to?", k=4, judged=None, origin="decided", **changed):
    rows = [
        {"memory_id": name, "content": text, "content_hash": name, "created_at": ago(days)} | changed.get(name, {})
        for name, (text, days) in MEMORIES.items()
    ]
    memories = frames.memories(rows)
    index = Index.build(memories, TABLES["vectors"].empty(), model="hashing")
    found = rank(index, query, now=AS_OF, k=k, deep=True, links=links(*linked, judged=judged, origin=origin))
    return {row["memory_id"]: row for row in found.to_dicts()}


def test_the_older_side_of_a_possible_update_names_the_newer():
    found = recalled(MAY_UPDATE)
    assert {name: row["outdated_by"] for name, row in found.items()} == {
        "old": ["new"],
        "new": [],
        "same": [],
        "away": [],
    }
    assert {row["current"] for row in found.values()} == {None}


@pytest.mark.parametrize(("linked", "shown"), [(MAY_UPDATE, "outdated_by"), (CONFLICT, "conflicts")])
def test_a_link_too_unsure_to_be_shown_orders_an_answer_and_marks_nothing(linked, shown):
    judged = pl.DataFrame({"memory_id": ["old"], "other_id": ["new"], "confidence": [0.6]})
    sure, unsure = (recalled(linked, judged=table) for table in (judged.with_columns(confidence=0.8), judged))
    assert sure["old"][shown] == ["new"]
    assert not any(row[shown] for row in unsure.values())
    assert recalled(linked, judged=judged, origin="asserted")["old"][shown] == ["new"]
    assert [(row["memory_id"], row["score"]) for row in unsure.values()] == [
        (row["memory_id"], row["score"]) for row in sure.values()
    ]


def test_a_sure_link_is_shown_beside_an_unsure_one_of_the_same_memories():
    judged = pl.DataFrame({"memory_id": ["old"], "other_id": ["new"], "confidence": [0.6]})
    schema = {"source": pl.String, "target": pl.String, "edge_type": pl.String, "kind": pl.String, "origin": pl.String}
    edges = pl.DataFrame([(*MAY_UPDATE, "decided"), (*CONFLICT, "asserted")], schema, orient="row")
    known = FactLinks.of(fact_links.pairs(edges, judged=judged))
    assert (known.newer, known.newer_shown) == ({"old": ["new"]}, {})
    assert known.conflicts_shown == known.conflicts == {"old": ["new"], "new": ["old"]}


BOAT = {"old": ("The boat is moored at Ayr.", 9), "new": ("The boat lies at Troon since the storm.", 2)}


def asked(doubts=(), compared_until=0):
    memories = frames.memories(
        {"memory_id": name, "content": text, "created_at": ago(days)} for name, (text, days) in BOAT.items()
    )
    index = Index.build(memories, TABLES["vectors"].empty(), model="hashing")
    changes = pl.DataFrame(
        [{"memory_id": "old", "other_id": "new", "relation": relation, "confidence": 0.4} for relation in doubts],
        {"memory_id": pl.String, "other_id": pl.String, "relation": pl.String, "confidence": pl.Float64},
    )
    edges = TABLES["decided_edges"].empty()
    return rank(
        *(index, "Where is the boat moored?"),
        now=AS_OF,
        links=FactLinks.of(fact_links.pairs(edges, changes), compared_until=compared_until),
    )


def lead(found):
    scores = dict(found.select("memory_id", "score").iter_rows())
    return scores["old"] - scores["new"]


def test_an_update_too_unsure_for_a_link_lowers_the_older_and_marks_nothing():
    doubted = asked(["doubt"])
    assert lead(doubted) < lead(asked())
    assert doubted["outdated_by"].to_list() == [[], []]
    assert asked(["conflict", "duplicate"]).equals(asked())


PLAN = {"old": ("The boat is moored at Ayr.", 9), "new": ("The boat may be moored at Troon next spring.", 2)}
CHAIN = {
    "old": ("The boat is moored at Ayr.", 9),
    "second": ("The boat is moored at Troon, where the boat has shelter.", 5),
    "third": ("The boat is moored at Largs since the storm.", 2),
}


def best(texts, *changes, question="Where is the boat moored?", compared_until=0, **options):
    memories = frames.memories(
        {"memory_id": name, "content": text, "created_at": ago(days), "seq": seq}
        for seq, (name, (text, days)) in enumerate(texts.items(), start=1)
    )
    index = Index.build(memories, TABLES["vectors"].empty(), model="hashing")
    found = pl.DataFrame(changes, ["memory_id", "other_id", "relation"], orient="row").with_columns(confidence=0.9)
    known = FactLinks.of(fact_links.pairs(TABLES["decided_edges"].empty(), found), compared_until=compared_until)
    return rank(index, question, now=AS_OF, links=known, **options)["memory_id"].to_list()


def test_what_is_only_planned_comes_after_what_is():
    assert best(PLAN, ("old", "new", "aside"), compared_until=2) == ["old", "new"]
    assert best(PLAN, ("old", "new", "aside"), compared_until=2, question="Troon next spring")[0] == "new"


def test_of_a_chain_of_values_the_last_comes_first_though_only_the_first_is_linked_to_each():
    assert best(CHAIN, ("old", "second", "update"), ("old", "third", "update"), compared_until=3)[0] == "third"


def test_what_was_said_since_memories_were_compared_is_compared_when_it_is_first_found():
    asked_of = []

    def compare(index, rows):
        asked_of.extend(index.memories["memory_id"].gather(rows))
        newer = pl.DataFrame(
            {"memory_id": ["second"], "other_id": ["third"], "relation": ["update"], "confidence": [0.9]}
        )
        return fact_links.as_links(newer)

    order = best(CHAIN, ("old", "second", "update"), compared_until=2, compare=compare)
    assert asked_of == ["third"]
    assert order[:2] == ["third", "second"]


def test_that_the_newer_is_alike_counts_less_where_a_run_has_compared_the_two_and_found_no_change():
    until = frames.memories([{}, {}])["seq"].max()
    assert lead(asked(compared_until=until)) > lead(asked())
    assert lead(asked(["doubt"], compared_until=until)) == lead(asked(["doubt"]))
    assert asked(compared_until=until - 1).equals(asked())


@pytest.mark.parametrize(
    "change",
    [
        {"new": {"lifecycle": "archived"}},
        {"new": {"valid_from": ago(-5)}},
        {"old": {"valid_until": ago(1), "closed_by": "same"}},
    ],
)
def test_what_has_left_is_yet_to_come_or_is_closed_anyway_is_no_doubt(change):
    assert recalled(MAY_UPDATE, **change)["old"]["outdated_by"] == []


def test_a_contrast_is_no_conflict():
    assert recalled(CONFLICT)["old"]["conflicts"] == ["new"]
    assert recalled(("new", "old", "CONTRADICTS", "contrast"))["old"]["conflicts"] == []


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.drill) for seed in range(4, 20))])
def test_no_set_of_repeats_moves_any_memory(seed):
    names, chance = sorted(MEMORIES), random.Random(seed)
    repeats = [(*chance.sample(names, 2), "MAY_REPEAT", None) for _ in range(chance.randrange(1, 6))]
    for k in (2, 4):
        assert list(recalled(*repeats, k=k)) == list(recalled(k=k))


def test_a_sentence_that_ended_is_marked_in_the_text_and_its_tokens_count():
    whole, half = recalled()["old"], recalled(old={"closed_statements": HALF})["old"]
    assert half["text"] == "The oven is set to 190 degrees. [outdated since 2025-12-29]"
    assert half["tokens"] > whole["tokens"]
    assert half["current"] is None


def test_what_ended_a_sentence_comes_right_before_it():
    before = list(recalled(new={"content": "It runs at 210 these days."}))
    assert before.index("old") < before.index("new")
    after = list(recalled(new={"content": "It runs at 210 these days."}, old={"closed_statements": HALF}))
    assert after.index("new") + 1 == after.index("old")


def test_every_edge_type_about_facts_is_read():
    every = [("new", "old", edge_type, "conflict") for edge_type in PROPOSED.values()]
    assert links(*every).table["edge_type"].to_list() == sorted(PROPOSED.values())


def test_a_memory_shows_what_ended():
    (row,) = frames.memories([{"memory_id": "old", "content": NOTE, "closed_statements": HALF}]).to_dicts()
    memory = Memory.of(row)
    assert memory.text.startswith("The oven is set to 190 degrees. [outdated since 2025-12-29] The tray")
    assert memory.to_dict()["closed_statements"] == [
        {"sentence": HALF[0]["sentence"], "valid_until": ago(3).isoformat(), "closed_by": "new"}
    ]


def test_the_text_names_dates_and_no_ids(tmp_path):
    with MemoryClient(tmp_path) as client:
        old = client.remember("The oven is set to 190 degrees.")
        new = client.remember("The oven runs at 210 degrees these days.")
        answer = client.recall("oven degrees", record=False)
    hits = {hit.memory_id: hit for hit in answer}
    since = {"outdated_by": (new,), "outdated_from": datetime(2026, 2, 3, tzinfo=UTC)}
    doubtful = replace(hits[old], **since, newer_text=hits[new].content, conflicts=(new,))
    doubtful = replace(doubtful, conflict_text=hits[new].content)
    text = Answer(query="", as_of=AS_OF, ranking="default", recalled=(hits[new], doubtful)).text()
    day = f"{hits[new].created_at:%Y-%m-%d}"
    newer = '"The oven runs at 210 degrees these days."'
    assert f"(possibly outdated since 2026-02-03: {newer}; contradicts that of {day}: {newer})" in text
    assert old not in text
    assert new not in text
    apart = [replace(hits[new], score=first) for first in (0.2, 0.501, 0.9)]
    shown = [Answer(query="", as_of=AS_OF, ranking="default", recalled=(one, replace(doubtful, score=0.503)))
             for one in apart]  # fmt: skip
    assert [answer.rearranged for answer in shown] == [True, False, False]
    alone = Answer(query="", as_of=AS_OF, ranking="default", recalled=(doubtful,))
    assert f"contradicts another memory: {newer})" in alone.text()
    assert "possibly outdated" in Opening(session_id=None, blocks=(), answer=alone).text()


def test_what_core_memory_tells_is_not_told_again_whoever_said_it(tmp_path):
    with MemoryClient(tmp_path) as client:
        known = client.remember("I keep four hives. They stand in Lindholm.", speaker="Malik")
        new = client.remember("The fourth hive is empty.", speaker="Malik")
        answer = client.recall("hives in Lindholm", record=False)
    told = {"name": "user_profile", "content": f"Malik: {answer[0].text} (2026-02-03)", "version": 1}
    assert {hit.memory_id for hit in answer} == {known, new}
    block = Block(**told, compiled_at=AS_OF, members=(known,))
    text = Opening(session_id=None, blocks=(block,), answer=answer).text()
    assert text.count("They stand in Lindholm.") == 1
    assert "The fourth hive is empty." in text
    doubtful = replace(answer[0], outdated_by=(new,), outdated_from=AS_OF)
    again = replace(answer, recalled=(doubtful, *answer[1:]))
    assert "possibly outdated" in Opening(session_id=None, blocks=(block,), answer=again).text(), "more is to know"


def doubted(texts, *updates):
    """The memory `old` as recalled beside others: name to text and age in days."""
    memories = frames.memories(
        [
            {"memory_id": name, "content": text, "content_hash": name, "created_at": ago(days)}
            for name, (text, days) in texts.items()
        ]
    )
    index = Index.build(memories, TABLES["vectors"].empty(), model="hashing")
    found = hits(index, "timer oven", now=AS_OF, k=len(texts), links=links(*updates))
    answer = answering.answer(Pool(memories), found, "timer oven", as_of=AS_OF, ranking="default")
    return next(hit for hit in answer if hit.memory_id == "old")


@pytest.mark.parametrize(
    ("newer", "sentences"),
    [
        ("The timer rings three times these days.", ("The timer rings twice.",)),
        ("The oven and the tray went to the cellar.", ()),
    ],
)
def test_of_several_sentences_the_one_in_doubt_is_marked(newer, sentences):
    old = doubted({"old": (NOTE, 3), "new": (newer, 3)}, MAY_UPDATE)
    assert (old.outdated_by, tuple(one.sentence for one in old.outdated_sentences)) == (("new",), sentences)
    mark = f"possibly outdated since {ago(3):%Y-%m-%d}"
    if sentences:
        assert old.line().endswith(f"- [{ago(3):%Y-%m-%d}] {LINE} [{mark}]".removeprefix("- "))
    else:
        assert old.line().endswith(f'{LINE} ({mark}: "{newer}")')


def test_each_sentence_in_doubt_is_marked_from_its_own_update_on():
    texts = {
        "old": (NOTE, 9),
        "new": ("The oven is set to 210 degrees.", 5),
        "newer": ("The timer rings three times these days.", 2),
    }
    old = doubted(texts, MAY_UPDATE, ("newer", "old", "MAY_UPDATE", "update"))
    assert old.line().endswith(
        f"The oven is set to 190 degrees. [possibly outdated since {ago(5):%Y-%m-%d}] The tray is greased. "
        f"The timer rings twice. [possibly outdated since {ago(2):%Y-%m-%d}]"
    )


class Pool:
    """What an answer reads of the memories that were searched."""

    def __init__(self, memories):
        self._rows = self.row_ids = {row["memory_id"]: row for row in memories.to_dicts()}

    def rows(self, names, columns):
        return [{column: self._rows[name].get(column) for column in columns} for name in names]
