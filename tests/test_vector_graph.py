"""The graph of vectors: it finds what comparing all finds, grows, loses what is removed, and is never needed."""

import frames
import numpy as np
import polars as pl
import pytest

from memory_pipeline import MemoryClient
from memory_pipeline.recall.index import kept_index, vector_graph
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.vector_graph import VectorGraph
from memory_pipeline.recall.index.vector_rows import VectorRows
from memory_pipeline.recall.live import state
from memory_pipeline.recall.rank import features
from memory_pipeline.recall.rank.ranking import rank

MODEL = "reader"
DIMENSION = 384


def points(count, seed=0):
    """Unit vectors in groups, as sentences have them."""
    chance = np.random.default_rng(seed)
    rows = chance.standard_normal((1 + count // 20, DIMENSION))[chance.integers(0, 1 + count // 20, count)]
    rows += 0.6 * chance.standard_normal((count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def all_of(rows):
    return np.ones(len(rows.at), dtype=np.bool_)


def rows_of(vectors):
    return VectorRows((vectors,), np.arange(len(vectors)), VectorGraph.build(vectors))


@pytest.fixture(scope="module")
def many():
    return rows_of(points(2_000))


def test_the_nearest_ten_are_found(many):
    found = []
    for query in points(60, seed=1):
        nearest = np.argsort(-many.cosines(query))[:10]
        found.append(np.isin(nearest, many.nearest(query, 300, all_of(many))).mean())
    assert np.mean(found) >= 0.99


def test_the_same_vectors_in_the_same_order_give_the_same_graph(many):
    again = VectorGraph.build(many.chunks[0]).arrays()
    for name, array in many.graph.arrays().items():
        np.testing.assert_array_equal(again[name], array)


def test_what_is_removed_or_not_admitted_is_not_found_and_others_take_its_place(many):
    query = points(1, seed=2)[0]
    best = np.argsort(-many.cosines(query))
    order = np.sort(best[5:])
    fewer = many.arranged(order)
    assert fewer.graph is many.graph
    assert set(order[fewer.nearest(query, 20, all_of(fewer))]) >= set(best[5:20])
    admitted = all_of(many)
    admitted[best[:5]] = False
    assert set(many.nearest(query, 20, admitted)) >= set(best[5:20])


def test_where_few_are_admitted_these_are_compared(many):
    few = np.arange(len(many.at)) < 100
    assert many.nearest(points(1)[0], 10, few) is None
    assert many.nearest(points(1)[0], 10, few & False) is None
    assert many.nearest(np.zeros(DIMENSION, dtype=np.float32), 10, all_of(many)) is None


def test_new_vectors_are_found_before_the_graph_has_them_and_after(many, monkeypatch):
    monkeypatch.setattr(vector_graph, "FROM", 100)
    memories, new = frames.memories({"memory_id": f"n{at}", "content_hash": f"h{at}"} for at in range(150)), points(150)
    table = pl.DataFrame({"content_hash": memories["content_hash"], "model": MODEL, "vector": pl.Series(new)})
    table = table.with_columns(pl.col("vector").arr.to_list())
    grown = many.extended(memories.head(40), table, MODEL)
    assert grown.with_graph() is grown
    assert set(grown.nearest(new[0], 5, all_of(grown))) >= set(range(2_000, 2_040))
    grown = many.extended(memories, table, MODEL)
    taken = grown.with_graph()
    assert taken.graph.height == 2_150
    assert many.graph.height == 2_000
    for at in range(150):
        assert 2_000 + at in taken.nearest(new[at], 5, all_of(taken))


def test_a_graph_of_which_half_is_removed_is_made_again(many, monkeypatch):
    monkeypatch.setattr(vector_graph, "FROM", 100)
    left = many.arranged(np.arange(0, 2_000, 3))
    assert left.graph is None
    again = left.with_graph()
    assert again.graph.height == len(left.at)
    query = points(1, seed=3)[0]
    assert set(again.nearest(query, 300, all_of(again))) >= set(np.argsort(-again.cosines(query))[:10])


def test_below_the_measured_size_and_without_the_module_all_are_compared(many, monkeypatch):
    plain = VectorRows(many.chunks, many.at)
    assert plain.with_graph() is plain
    assert plain.nearest(points(1)[0], 10, all_of(plain)) is None
    monkeypatch.setattr(vector_graph, "FROM", 100)
    monkeypatch.setattr(vector_graph, "available", lambda: False)
    assert plain.with_graph() is plain


def talk(count):
    """An index of memories that share their words, with vectors, and one that only its vector finds."""
    memories = frames.memories(
        {"memory_id": f"m{at:04}", "content": f"It was the day number {at % 7} of the trip.", "content_hash": f"h{at}"}
        for at in range(count)
    )
    vectors = pl.DataFrame(
        {"profile_id": "p", "content_hash": memories["content_hash"], "model": MODEL, "vector": points(count).tolist()}
    )
    return Index.build(memories, vectors, model=MODEL)


@pytest.mark.parametrize("question", ["What was the weather like?", "Which day of the trip was it?"])
def test_recall_gives_the_answers_of_comparing_all(question, monkeypatch):
    monkeypatch.setattr(vector_graph, "FROM", 100)
    monkeypatch.setattr(features, "CANDIDATES", 40)
    monkeypatch.setattr(features, "_LIKELY", 160)
    plain = talk(1_500)
    fast = plain.with_graph()
    assert fast.vectors.graph is not None
    for query in points(8, seed=4):
        given = {"now": frames.AS_OF, "vector": query, "k": 10}
        assert (
            rank(fast, question, **given)["memory_id"].to_list()
            == rank(plain, question, **given)["memory_id"].to_list()
        )


TEXTS = [f"Ana saw {what} in {where}." for what in ("a heron", "two owls", "no bird") for where in ("Porto", "Braga")]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A store whose index is kept with a graph."""
    monkeypatch.setattr(state, "KEPT_FROM", 1)
    monkeypatch.setattr(vector_graph, "FROM", 2)
    monkeypatch.setenv("MEMORY_PIPELINE_EMBEDDER", MODEL)
    with MemoryClient(tmp_path) as client:
        client.remember_many(TEXTS)
    return tmp_path


def read(home):
    (file,) = (home / "index").iterdir()
    kept = kept_index.read(file, profile_id="default", model=MODEL)
    return file, kept and kept.index


def found(home):
    with MemoryClient(home) as client:
        return [(one.text, one.score) for one in client.recall("Where were the owls?", record=False)]


def test_a_kept_graph_is_opened_and_a_damaged_one_is_made_again(home, monkeypatch):
    right = found(home)
    file, index = read(home)
    assert index.vectors.graph.height == len(TEXTS)
    with monkeypatch.context() as patched:
        patched.setattr(VectorGraph, "build", None)
        assert found(home) == right
    vector = index.vectors.chunks[0][0].tobytes()
    content = bytearray(file.read_bytes())
    assert content.count(vector) == 2  # that of the memory, and the graph's
    content[content.rindex(vector) + 5] ^= 1
    file.write_bytes(content)
    assert read(home)[1] is None
    assert found(home) == right
    assert read(home)[1].vectors.graph.height == len(TEXTS)


def test_a_store_that_was_kept_without_the_module_gets_its_graph_later(home, monkeypatch):
    right = found(home)
    file, _ = read(home)
    with monkeypatch.context() as patched:
        patched.setattr(vector_graph, "available", lambda: False)
        assert found(home) == right
        assert read(home)[1].vectors.graph is None
        file.unlink()
        assert found(home) == right
    assert read(home)[1].vectors.graph is None
    assert found(home) == right
    assert read(home)[1].vectors.graph.height == len(TEXTS)


def test_an_erasure_leaves_no_byte_of_a_vector(home):
    found(home)
    _, index = read(home)
    row = index.memories["content"].to_list().index(TEXTS[0])
    vector = index.vectors.chunks[0][index.vectors.at[row]].tobytes()
    with MemoryClient(home) as client:
        client.erase(index.memories["memory_id"][row])
    assert not any(vector in file.read_bytes() for file in home.rglob("*") if file.is_file())
    found(home)
    assert read(home)[1].vectors.graph.height == len(TEXTS) - 1
    assert not any(vector in file.read_bytes() for file in home.rglob("*") if file.is_file())
