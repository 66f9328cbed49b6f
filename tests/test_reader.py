"""The reader: a text's vectors depend on the text alone; what lies between two texts, and which are worth comparing."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import readings
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text.compare import alignment, rivals
from memory_pipeline.text.compare.relation_trees import SCORES
from memory_pipeline.text.embed.embedding import embedder
from memory_pipeline.text.embed.encoder import (
    DIMENSION,
    MOST_TOKENS,
    Encoder,
    PairReader,
    SentenceReader,
    encoder,
    pair_reader,
    sentence_reader,
)
from memory_pipeline.text.score import core_facts, sentence_kinds

TEXTS = (
    "User works at Siemens as an engineer.",
    "",
    "User quit Siemens and now works at Bosch.",
    "The ferry to Bergen leaves at 7:40 from pier four, and the last one back is at 22:15. " * 4,
    "x",
    "Ich wohne in Köln.",
    "我住在上海。",
    "The cat sleeps on the sofa.",
)
SHIPPED = {
    "encoder.npz": "9e7dfaa25d1399d74a98a547da301cf38531b1e1545446b3446f700933f299f9",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "pairs.npz": "10d72d7fc23b5a97b830874b9c5c752bafd0836f29b92014a1e0446b3e510065",
    "sentences.npz": "34c651d14b27dd2a8fb05e92a99cf92663c7151c9d99fa0d341e03550d0f9ee7",
}


@pytest.fixture(autouse=True, scope="module")
def anew():
    """Read each text again, however often it was read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Encoder, "read", readings.READ)
        patch.setattr(PairReader, "read", readings.READ_PAIRS)
        patch.setattr(SentenceReader, "read", readings.READ_SENTENCES)
        patch.setattr("memory_pipeline.text.embed.encoder._KEPT", 0)
        yield


def same(one, other):
    return (
        np.array_equal(one.vector, other.vector)
        and np.array_equal(one.tokens.vectors, other.tokens.vectors)
        and np.array_equal(one.tokens.ids, other.tokens.ids)
    )


def test_the_weights_are_those_of_the_notice():
    folder = resources.files("memory_pipeline") / "models" / "reader"
    notice = (folder / "NOTICE").read_text("utf-8")
    for name, digest in SHIPPED.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
        assert digest in notice


@cache
def alone_texts():
    return [next(encoder().read([text])) for text in TEXTS]


@cache
def alone_pairs(kind):
    return np.concatenate([kind().read([pair]) for pair in pairwise(TEXTS)])


@examples(2)
@given(st.permutations(range(len(TEXTS))), st.integers(1, len(TEXTS)))
def test_what_is_read_of_a_text_depends_neither_on_order_nor_on_its_batch(order, size):
    alone = alone_texts()
    for start in range(0, len(order), size):
        part = order[start : start + size]
        for place, read in zip(part, encoder().read([TEXTS[place] for place in part]), strict=True):
            assert same(read, alone[place])


@examples(2)
@given(st.permutations(range(len(TEXTS) - 1)), st.integers(1, len(TEXTS) - 1))
def test_what_is_read_of_a_pair_depends_neither_on_order_nor_on_its_batch(order, size):
    pairs = list(pairwise(TEXTS))
    for kind in (pair_reader, sentence_reader):
        read, alone = kind().read, alone_pairs(kind)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            assert np.array_equal(read([pairs[place] for place in part]), alone[part])


def test_no_pairs_are_read_as_none():
    assert pair_reader().read([]).shape == (0, len(SCORES))
    assert core_facts.read(pl.Series([], dtype=pl.String)).to_list() == []


def test_the_labels_of_each_group_are_shares_of_one():
    texts = pl.Series(["User is allergic to peanuts.", "I moved in May. The flat is small."])
    read = core_facts.unpacked(core_facts.read(texts))[1][[0, 2]]
    for group, labels in sentence_kinds.GROUPS.items():
        assert sentence_kinds.probability(read, group, *labels) == pytest.approx(1.0)
    assert sentence_kinds.probability(read, "kind", "health")[0] > 0.5
    assert sentence_kinds.expected(read, "harm")[0] > sentence_kinds.expected(read, "harm")[1]


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("User works at Siemens as an engineer.", "User quit Siemens and works at Bosch.", "update"),
        ("The locker code is 2204.", "To open the locker enter two-two-zero-four.", "duplicate"),
        ("User is allergic to peanuts.", "The dentist moved to Harbour Street.", "unrelated"),
    ],
)
def test_two_texts_are_read_together(older, newer, relation):
    assert SCORES[int(pair_reader().read([(older, newer)])[0].argmax())] == f"reader_{relation}"


@pytest.mark.drill
def test_what_is_read_of_a_text_does_not_depend_on_the_number_of_threads():
    script = (
        "import hashlib, sys; from memory_pipeline.text.embed.encoder import encoder\n"
        f"texts = {TEXTS!r}\n"
        "print(hashlib.sha256(b''.join(r.vector.tobytes() + r.tokens.vectors.tobytes() "
        "for r in encoder().read(texts))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | readings.ANEW | {"OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1


def test_vectors_are_of_unit_length_and_a_text_without_words_has_none():
    vectors = embedder("reader").embed([*TEXTS, "  "])
    assert vectors.shape == (len(TEXTS) + 1, DIMENSION)
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1, 0, 1, 1, 1, 1, 1, 1, 0], abs=1e-5)


def test_statements_of_one_fact_are_nearer_than_others():
    old, again, new, other = embedder("reader").embed(
        [TEXTS[0], "Siemens employs the user; an engineer.", TEXTS[2], TEXTS[7]]
    )
    assert old @ again > old @ new > 0.5
    assert old @ other < 0.2


def test_only_the_beginning_of_a_long_text_is_read():
    long = "word " * 1000
    assert len(next(encoder().read([long])).tokens.ids) == MOST_TOKENS - 2


def aligned(older, newer):
    """Features of one pair by name."""
    return dict(zip(alignment.NAMES, alignment.aligned([older, newer], np.array([0]), np.array([1]))[0], strict=True))


def test_a_pair_aligns_the_same_whatever_pairs_are_beside_it():
    tokens = [read.tokens for read in encoder().read([*TEXTS, "", "word " * 40])]
    older, newer = (side.ravel() for side in np.meshgrid(np.arange(len(tokens)), np.arange(len(tokens))))
    together = alignment.aligned(tokens, older, newer)
    alone = [list(aligned(tokens[one], tokens[other]).values()) for one, other in zip(older, newer, strict=True)]
    assert together.tolist() == alone


def test_alignment_says_what_each_text_covers_of_the_other():
    old, new, other = (read.tokens for read in encoder().read([TEXTS[0], TEXTS[2], TEXTS[7]]))
    features, itself, apart = (aligned(old, one) for one in (new, old, other))
    assert itself["covered_old"] == itself["covered_new"] == itself["same_old"] == itself["same_new"] == 1
    assert itself["left_old"] == itself["left_new"] == 0
    assert 1 > features["covered_old"] > apart["covered_old"] > 0
    assert features["left_new"] < apart["left_new"]


def test_a_text_without_tokens_aligns_with_nothing():
    empty, full = (read.tokens for read in encoder().read(["", TEXTS[0]]))
    assert not any(aligned(empty, full).values())
    assert not any(aligned(full, empty).values())


def test_digits_that_the_other_text_lacks_are_counted():
    tokens = [read.tokens for read in encoder().read(["The code is 5518.", "The code is 5581."])]
    features = aligned(*tokens)
    assert features["digits_old"] > 0
    assert features["other_digits_old"] > 0


def units(count, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 8)).astype(np.float32)
    rows[1::3] = rows[::3][: len(rows[1::3])]  # equal ones
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.integers(1, 40), st.integers(0, 5), st.integers(1, 3))
def test_the_nearest_older_ones_of_a_profile_are_paired(count, seed, profiles):
    vectors, profile = units(count, seed), np.sort(np.arange(count) % profiles)
    expected = set()
    for newer in range(count):
        older = [row for row in range(newer) if profile[row] == profile[newer]]
        cosines = {row: round(float(vectors[row] @ vectors[newer]), 4) for row in older}
        best = sorted((row for row in older if cosines[row] > 0), key=lambda row: (-cosines[row], -row))
        expected |= {(row, newer) for row in best[: rivals.NEAREST]}
    assert set(map(tuple, rivals.nearest(vectors, profile).tolist())) == expected


@given(st.integers(2, 25), st.integers(0, 5), st.integers(1, 2))
def test_ranks_are_counted_among_the_memories_of_the_profile(count, seed, profiles):
    vectors, profile = units(count, seed), np.sort(np.arange(count) % profiles)
    pairs = [(old, new) for new in range(count) for old in range(new) if profile[old] == profile[new]]
    older, newer = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    table = rivals.features(vectors, profile, older, newer)
    cosines = np.round(vectors @ vectors.T, 4)
    for (old, new), row in zip(pairs, table, strict=True):
        values = dict(zip(rivals.NAMES, row, strict=True))
        own = cosines[old, new]
        before = [cosines[new, other] for other in range(new) if profile[other] == profile[new] and other != old]
        after = [
            cosines[old, other] for other in range(old + 1, count) if profile[other] == profile[old] and other != new
        ]
        between = range(old + 1, new)
        assert values["reader_cosine"] == pytest.approx(own, abs=2e-4)
        assert values["cosine_above_older"] == pytest.approx(own - max([0, *before]), abs=2e-4)
        assert values["cosine_above_newer"] == pytest.approx(own - max([0, *after]), abs=2e-4)
        assert values["rank_among_older"] == sum(other > own for other in before)
        assert values["rank_among_newer"] == sum(other > own for other in after)
        assert values["between_nearer_to_older"] == sum(cosines[old, other] > own for other in between)
        assert values["between_nearer_to_newer"] == sum(cosines[new, other] > own for other in between)
