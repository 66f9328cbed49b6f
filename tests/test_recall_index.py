"""The index of recall: growing it step by step gives the answers of building it at once."""

from datetime import timedelta

import frames
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from memory_pipeline.recall.index import Index
from memory_pipeline.recall.ranking import rank
from memory_pipeline.text.embedding import embed_texts

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
            "memory_id": f"m{place}",
            "content": content,
            "speaker": speaker,
            "session_id": f"s{place // 4}",
            "created_at": frames.ago(50) + timedelta(minutes=place),
            "seq": place + 1,
            **columns,
        }
        for place, (speaker, content) in enumerate(rows)
    )


def vectors(memories):
    return embed_texts(memories.unique("content_hash"), "hashing")


def build(memories):
    return Index.build(memories, vectors(memories), model="hashing")


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


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_does_not_matter(seed):
    memories = talk()
    same(build(memories), build(memories.sample(fraction=1.0, shuffle=True, seed=seed)))


@pytest.mark.parametrize("known", [0, 1, 5, 7])
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


def test_a_changed_memory_replaces_the_old_one():
    memories = talk()
    rows = [("Ben", "My sister opened a bookshop.") if place == 3 else row for place, row in enumerate(TALK)]
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
    found = rank(build(memories), "Where is the spare key?", now=frames.AS_OF, k=1)
    assert found["memory_id"].to_list() == ["m0"]


def test_memories_without_vectors_are_found_by_their_words():
    memories = talk()
    index = Index.build(memories, vectors(memories).clear(), model="hashing")
    assert rank(index, "Where did Ann move to?", now=frames.AS_OF, k=1)["memory_id"].to_list() == ["m0"]


def test_an_empty_index_answers_nothing():
    index = build(talk().clear())
    assert index.memories.is_empty()
    assert rank(index, "anything?", now=frames.AS_OF).is_empty()
    assert not len(np.flatnonzero(index.live))
