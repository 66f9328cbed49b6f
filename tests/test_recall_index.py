"""The index of recall: growing it step by step gives the answers of building it at once."""

from datetime import timedelta

import frames
import numpy as np
import polars as pl
import pytest
import sampling
from example_counts import examples
from hypothesis import Phase, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.text.content_hash import content_hash
from memory_pipeline.text.embed.embedding import embed_texts

TALK = [
    ("Ann", "I moved to Lisbon in March and found a flat near the river."),
    ("Ben", "How was the move? Did the piano arrive?"),
    ("Ann", "It took three weeks, but nothing broke."),
    ("Ben", "My sister started a bakery last Friday."),
    ("Ann", "What does she bake?"),
    ("Ben", "Rye bread mostly, and a cake with plums on Sundays."),
    ("Ann", "I adopted a cat called Miso because the flat felt empty."),
    ("Ben", "I have never owned a cat, I am allergic."),
]


def talk(rows=TALK, **columns):
    return frames.memories(
        {
            "memory_id": f"m{index}",
            "content": content,
            "speaker": speaker,
            "session_id": f"s{index // 4}",
            "created_at": frames.ago(50) + timedelta(minutes=index),
            "seq": index + 1,
            **columns,
        }
        for index, (speaker, content) in enumerate(rows)
    )


def vectors(memories):
    return embed_texts(memories.unique("content_hash"), "hashing")


def build(memories):
    return Index.build(memories, vectors(memories), model="hashing")


def merged(memories, name, *members, **columns):
    """Rows in which a compression took the place of some of them, of one speaker and the newest one's session."""
    own = memories.filter(pl.col("memory_id").is_in(members)).sort("created_at")
    newest = own.row(-1, named=True)
    given = {"memory_id": name, "kind": "compression", "created_at": frames.ago(1), "said_at": newest["created_at"]}
    voice = {column: newest[column] for column in ("content", "content_hash", "speaker", "session_id")}
    gone = {"lifecycle": "archived", "superseded_by": name, "superseded_kind": "summary"}
    left = memories.with_columns(
        pl.when(pl.col("memory_id").is_in(members)).then(pl.lit(value)).otherwise(column).alias(column)
        for column, value in gone.items()
    )
    return pl.concat([left, frames.memories([given | voice | {"members": sorted(members)} | columns])])


QUESTIONS = [
    "Where did Ann move to?",
    "What does Ben's sister bake?",
    "Why did Ann adopt a cat?",
    "What happened last Friday?",
]


def answers(index):
    return [rank(index, question, now=frames.AS_OF, k=5) for question in QUESTIONS]


def same(one, other):
    for left, right in zip(answers(one), answers(other), strict=True):
        assert_frame_equal(left, right)


@pytest.mark.parametrize("seed", sampling.first(1, 2))
def test_the_order_of_rows_does_not_matter(seed):
    memories = talk()
    same(build(memories), build(memories.sample(fraction=1.0, shuffle=True, seed=seed)))


@pytest.mark.parametrize("known", sampling.first(0, 1, 5, 7))
def test_a_memory_stored_a_moment_ago_is_found_as_if_it_had_always_been_there(known):
    memories = talk()
    index = build(memories.head(known))
    for place in range(known, memories.height):
        one = memories[place : place + 1]
        index = index.extended(one, vectors(one))
    same(index, build(memories))


def test_a_memory_that_comes_late_takes_its_place_in_the_session():
    memories = talk()
    late = memories.filter(pl.col("memory_id") == "m1")
    index = build(memories.filter(pl.col("memory_id") != "m1")).extended(late, vectors(late))
    same(index, build(memories))


def test_what_took_the_place_of_others_stands_where_the_newest_of_them_stood():
    rows = [*TALK, ("Ann", "I moved to Lisbon in March and found a flat near the river!"), ("Ben", "So you said.")]
    memories = talk(rows)
    before, after = build(memories), build(merged(memories, "sum", "m0", "m8"))
    asked = "Where did Ann move to?"
    (old,), (new,) = (
        rank(index, asked, now=frames.AS_OF, k=20).filter(pl.col("memory_id") == name)["parts"].to_list()
        for index, name in ((before, "m8"), (after, "sum"))
    )
    values = [{part["name"]: part["value"] for part in parts} for parts in (old, new)]
    for name in ("speaker", "said", "close", "window", "topic", "reply", "answer", "self"):
        assert values[0].get(name) == pytest.approx(values[1].get(name)), name
    places = [
        index.sessions.neighbours(np.array([index.row_ids[name]]), -1)[0]
        for index, name in ((before, "m9"), (after, "m9"))
    ]
    assert [before.memories["memory_id"][int(places[0])], after.memories["memory_id"][int(places[1])]] == ["m8", "m8"]


def test_a_merge_and_its_undoing_grow_an_index_as_if_built_at_once():
    memories = talk([*TALK, ("Ann", "I moved to Lisbon in March and found a flat near the river!")])
    after = merged(memories, "sum", "m0", "m8")
    index = build(memories).extended(after, vectors(after))
    same(index, build(after))
    undone = pl.concat([memories, after.filter(memory_id="sum").with_columns(lifecycle=pl.lit("deleted"))])
    same(index.extended(undone, vectors(memories)), build(memories))
    without = after.filter(pl.col("memory_id") != "m8")
    late = build(without).extended(after.filter(memory_id="m8"), vectors(after))
    same(late, build(after))


def test_a_changed_memory_replaces_the_old_one():
    memories = talk()
    rows = [("Ben", "My sister opened a bookshop.") if index == 3 else row for index, row in enumerate(TALK)]
    new = talk(rows)
    changed = new.filter(pl.col("memory_id") == "m3")
    same(build(memories).extended(changed, vectors(changed)), build(new))


def test_deleted_and_erased_memories_are_not_in_the_index():
    memories = talk()
    index = build(memories)
    for lifecycle in ("deleted", "erased"):
        gone = memories.filter(pl.col("memory_id") == "m0").with_columns(lifecycle=pl.lit(lifecycle))
        assert "m0" not in index.extended(gone, vectors(gone)).memories["memory_id"]


def test_an_index_is_never_changed_by_growing():
    memories = talk()
    index = build(memories.head(6))
    before = answers(index)
    index.extended(memories.tail(2), vectors(memories.tail(2)))
    for left, right in zip(before, answers(index), strict=True):
        assert_frame_equal(left, right)


def test_one_profile_and_one_row_a_memory():
    memories = talk()
    with pytest.raises(ValueError, match="one profile"):
        build(memories.with_columns(profile_id=pl.Series(["p"] * 7 + ["q"])))
    with pytest.raises(ValueError, match="more than once"):
        Index.build(pl.concat([memories, memories.head(1)]), vectors(memories), model="hashing")


def test_long_memories_are_found_by_a_piece():
    filler = "We talked about many things that day and nothing was decided. " * 30
    memories = talk([("Ann", filler + "The spare key is under the blue flowerpot. " + filler), ("Ann", filler), *TALK])
    for query in ("Where is the spare key?", "What is under the blue flowerpot?", "spare key flowerpot"):
        assert rank(build(memories), query, now=frames.AS_OF, k=1)["memory_id"].to_list() == ["m0"]


def test_memories_without_vectors_are_found_by_their_words():
    memories = talk()
    index = Index.build(memories, vectors(memories).clear(), model="hashing")
    assert rank(index, "Where did Ann move to?", now=frames.AS_OF, k=1)["memory_id"].to_list() == ["m0"]


def test_an_empty_index_answers_nothing():
    index = build(talk().clear())
    assert index.memories.is_empty()
    assert rank(index, "anything?", now=frames.AS_OF).is_empty()
    assert not len(np.flatnonzero(index.live))


TEXTS = [content for _, content in TALK] + [
    "I sold the flat in Lisbon last Friday.",
    "Ben's sister no longer bakes rye bread.",
    "Why?",
    "We talked about the cat and the piano. " * 40 + "The key is under the flowerpot.",
]
INSTANTS = st.integers(0, 5)
CHANGES = st.fixed_dictionaries(
    {"memory_id": st.sampled_from([f"m{place}" for place in range(9)])},
    optional={
        "content": st.sampled_from(TEXTS),
        "created_at": INSTANTS.map(lambda minutes: frames.ago(50) + timedelta(minutes=minutes)),
        "speaker": st.sampled_from(["Ann", "Ben", "Cleo", None]),
        "session_id": st.sampled_from(["s0", "s1", None]),
        "lifecycle": st.sampled_from(["active", "warm", "cold", "archived", "deleted", "erased"]),
        "trimmed": st.sampled_from([None, "Lisbon."]),
        "valid_until": st.sampled_from([None, frames.ago(1)]),
        "closed_by": st.sampled_from([None, "m1", "m7"]),
        "access_count": st.integers(0, 3),
        "kind": st.sampled_from(["original", "compression"]),
        "members": st.sampled_from([[], ["m0", "m3"], ["m1", "m2", "m8"]]),
        "said_at": st.sampled_from([None, frames.ago(50), frames.ago(50) + timedelta(minutes=2)]),
    },
)
RANKED = [("default", False), ("default", True), ("lexical", False), ("cosine", True)]


def written(changes, known):
    """Rows of the memories that changes name, as they are after them; a new one has a text of its own."""
    for one in changes:
        name = one["memory_id"]
        fresh = {"content": TEXTS[int(name[1:])], "speaker": "Ann", "session_id": "s0", "seq": int(name[1:])}
        row = {"created_at": frames.ago(50)} | fresh | known.get(name, {}) | one
        known[name] = row | {"content_hash": content_hash(row["speaker"], row["content"])}
    return frames.memories(known[name] for name in dict.fromkeys(one["memory_id"] for one in changes))


@given(lots=st.lists(st.lists(CHANGES, min_size=1, max_size=4), min_size=1, max_size=6))
@examples(2, phases=[Phase.generate])
def test_whatever_changes_the_answers_are_those_of_an_index_built_at_once(lots):
    known = {}
    index = build(talk().clear())
    for lot in lots:
        rows = written(lot, known)
        wanted = index.without_vector(rows)
        index = index.extended(rows, vectors(wanted))
    at_once = build(frames.memories(known.values()))
    assert_frame_equal(index.memories, at_once.memories)
    assert dict(index.row_ids) == dict(at_once.row_ids)
    assert set(index.speakers) == set(at_once.speakers)
    for question in QUESTIONS:
        for ranking, deep in RANKED:
            one, other = (
                rank(built, question, now=frames.AS_OF, k=5, ranking=ranking, deep=deep) for built in (index, at_once)
            )
            assert_frame_equal(one, other, check_exact=True)


def test_what_came_from_one_index_does_not_know_of_each_other():
    memories = talk()
    index = build(memories.head(6))
    one = index.extended(memories[6:7], vectors(memories[6:7]))
    other = index.extended(memories[7:8], vectors(memories[7:8]))
    assert dict(one.row_ids) == {f"m{place}": place for place in range(7)}
    assert list(other.row_ids) == ["m0", "m1", "m2", "m3", "m4", "m5", "m7"]
    assert list(index.row_ids) == [f"m{place}" for place in range(6)]
    same(other, build(memories.filter(pl.col("memory_id") != "m6")))


def test_many_changed_texts_are_put_together():
    memories = talk()
    index = build(memories)
    for number in range(30):
        row = talk([*TALK[:3], ("Ben", f"My sister opened bookshop number {number}."), *TALK[4:]])[3:4]
        index = index.extended(row, vectors(row))
    same(index, build(pl.concat([memories.head(3), row, memories.tail(4)])))
    assert len(index.postings.place) <= 2 * len(index.postings.number)


def test_rows_of_another_profile_are_refused():
    memories = talk()
    with pytest.raises(ValueError, match="one profile"):
        build(memories.head(3)).extended(memories.tail(1).with_columns(profile_id=pl.lit("q")), vectors(memories))
