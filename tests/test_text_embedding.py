"""Embedders: similarity of vectors and their independence of the batch."""

import hashlib

import numpy as np
import polars as pl
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.embed.embedding import HashingEmbedder, embed_texts, embedder

HASHING = HashingEmbedder()
TEXTS = st.lists(st.text(max_size=30), max_size=8)


def cosine(left: str, right: str) -> float:
    first, second = HASHING.embed([left, right]).astype(np.float64)
    return float(first @ second)


def texts(*rows: tuple[str | None, str | None]) -> pl.DataFrame:
    said = [("p", f"h{index}", speaker, content) for index, (speaker, content) in enumerate(rows)]
    schema = {"profile_id": pl.String, "content_hash": pl.String, "speaker": pl.String, "content": pl.String}
    return pl.DataFrame(said, schema=schema, orient="row")


def test_rows_are_unit_vectors_of_float32():
    rows = HASHING.embed(["Greta plays the viola", "How are you?", "漢字", "🙂 ok"])
    assert rows.shape == (4, HASHING.dimension)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("text", ["", "   ", "😀😀", "?!…", "\n"])
def test_a_text_without_words_is_a_zero_row(text):
    assert not HASHING.embed([text]).any()


def test_no_texts_no_rows():
    assert HASHING.embed([]).shape == (0, HASHING.dimension)


@pytest.mark.parametrize(
    "reworded",
    [
        "greta bought a second hand kayak in turin for the summer trip",
        "Greta bought a second-hand kayak in Turin, for the summer trip!",
        "By the way, Greta bought a second-hand kayak in Turin for the summer trip.",
        "Greta bought a second-hand kayak in Turin for the sumer trip.",
        "Greta buys second-hand kayaks in Turin for the summer trip.",
    ],
)
def test_copies_reach_the_duplicate_threshold(reworded):
    original = "Greta bought a second-hand kayak in Turin for the summer trip."
    assert cosine(original, reworded) >= Policy().duplicate_similarity


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("We decided to keep the ledger in SQLite", "Our team has decided that SQLite keeps the ledger"),
        ("I adopted a puppy from the shelter", "The puppy I adopted came from a shelter"),
    ],
)
def test_paraphrases_lie_between_copies_and_unrelated_texts(left, right):
    assert cosine(left, right) >= 0.6


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Greta bought a kayak in Turin", "The deployment failed because the disk was full"),
        ("Boris: I prefer tea over coffee", "Boris: My flight lands at noon"),
        ("12 March 2024", "twenty people came"),
    ],
)
def test_unrelated_statements_are_far(left, right):
    assert cosine(left, right) < 0.5


def test_word_order_counts_a_little():
    assert 0.8 < cosine("Anna paid Boris for the viola", "Boris paid Anna for the viola") < 0.9999


def test_shared_digits_do_not_make_numbers_similar():
    assert cosine("room 12345", "room 12346") <= cosine("room 12345", "room 99999") + 0.25


def test_vectors_are_stable_across_versions():
    rows = HASHING.embed(["Greta plays the viola in Turin", "1,200 kayaks", "日本語のテキスト"])
    assert hashlib.sha256(rows.tobytes()).hexdigest()[:16] == "bfd27bfaeb3885c9"


@given(TEXTS, st.randoms(use_true_random=False))
def test_a_vector_depends_on_its_text_alone(batch, random):
    together = HASHING.embed(batch)
    order = list(range(len(batch)))
    random.shuffle(order)
    assert HASHING.embed([batch[at] for at in order]).tobytes() == together[order].tobytes()
    for at, text in enumerate(batch):
        assert HASHING.embed([text]).tobytes() == together[at].tobytes()


@examples(1)
@given(st.integers(0, 9000))
def test_a_vector_does_not_depend_on_its_position_in_the_batch(place):
    batch = [f"memory number {at} about kayaks" for at in range(9001)]
    assert HASHING.embed(batch)[place].tobytes() == HASHING.embed([batch[place]]).tobytes()


def test_very_long_text():
    rows = HASHING.embed(["kayak " * 200_000 + "viola", "x" * 1_000_000])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-6)


def test_embedders_are_found_by_name():
    assert embedder("hashing").dimension == 384
    with pytest.raises(
        ValueError, match="embedder = 'minilm' is unknown; choose hashing, reader, local or local:FOLDER"
    ):
        embedder("minilm")


def test_the_speaker_is_embedded_with_the_text():
    rows = embed_texts(texts(("Greta", "I row"), (None, "Greta: I row"), (None, "I row"), ("", "I row")), "hashing")
    vectors = rows["vector"].to_list()
    assert vectors[0] == vectors[1] != vectors[2]
    assert vectors[3] == vectors[2]


def test_texts_without_words_have_no_vector():
    rows = embed_texts(texts((None, "Greta rows"), (None, None), (None, "🙂"), ("Greta", None)), "hashing")
    assert rows["content_hash"].to_list() == ["h0", "h3"]
    assert rows["model"].unique().to_list() == ["hashing"]


def test_vectors_fit_their_table():
    for frame in (texts(("Greta", "I row")), texts()):
        rows = embed_texts(frame, "hashing")
        assert TABLES["vectors"].schema.validate(rows).equals(rows)
        assert rows.schema == TABLES["vectors"].empty().schema


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="choose hashing"):
        embed_texts(texts(), "minilm")
