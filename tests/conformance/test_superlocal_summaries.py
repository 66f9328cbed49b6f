"""Compression as SuperLocalMemory documents it.

Its code compresses nothing. What its documents say is what we do; the text is another one: theirs takes the first
sentence of three members, ours the fullest member and every date, number and name of the others.
"""

import frames
import polars as pl
from grouping import grouped

from memory_pipeline.consolidation.summaries import extracts
from memory_pipeline.settings import Policy, preset

SUPERLOCAL = Policy(**preset("superlocal"))


# Our own inputs and numbers


def test_three_near_duplicates_are_one_compression_and_two_are_none():
    texts = ["I like green tea", "I like green tea.", "so, I like green tea"]
    memories = frames.memories({"content": text, "access_count": index} for index, text in enumerate(texts))
    vectors = {f"m{index}": [1.0, 0.01 * index] for index in range(3)}
    _, clusters, made = grouped(memories, SUPERLOCAL, vectors=vectors)
    assert clusters.select("method", "cluster_size").rows() == [("near_duplicates", 3)]
    (row,) = made.rows(named=True)
    assert (row["kind"], row["supersedes"], row["access_count"]) == ("compression", True, 2)
    assert row["members"] == ["m0", "m1", "m2"]
    assert row["content"] == "I like green tea"
    assert grouped(memories[:2], SUPERLOCAL, vectors=vectors).summaries.is_empty()


def test_a_text_that_says_more_is_no_near_duplicate():
    texts = ["Our office is in Oslo.", "our office is in Oslo", "Our office is in Oslo. It opens at 8 am."]
    memories = frames.memories({"content": text} for text in texts)
    assert grouped(memories, SUPERLOCAL, vectors={f"m{index}": [1.0, 0.0] for index in range(3)}).summaries.is_empty()


# The system's cases


def test_compression_of_the_documents(real_system):
    case = real_system("superlocal")["slm-comp-1"]["expected_by_wiki"]
    memories = frames.memories({"content": text} for text in ("We use Postgres", "We use Postgres.", "we use Postgres"))
    vectors = {"m0": [1.0, 0.0], "m1": [1.0, 0.01], "m2": [1.0, 0.015]}
    _, clusters, made = grouped(memories, SUPERLOCAL, vectors=vectors)
    assert len(clusters) == case["clusters_found"]
    assert clusters["cluster_size"].sum() == case["facts_compressed"]
    assert len(made) == case["summaries_created"]
    assert SUPERLOCAL.superseded_lifecycle == case["originals"]


def test_a_summary_of_the_heuristic(real_system):
    """Theirs drops the fourth text and all second sentences; ours keeps what is new, within its budget."""
    case = real_system("superlocal")["slm-sum-1"]
    assert case["expected_by_code"]["summary"] == "First one. Second without stop"
    memories = frames.memories({"content": text} for text in case["input"]["members"])
    (content,) = extracts.extracts(
        memories.with_columns(
            summary_id=pl.lit("s"),
            whole=pl.lit(value=False),
            tokens=pl.lit(5),
            **{name: pl.lit([], pl.List(pl.String)) for name in extracts.FACTS},
        )
    )["content"]
    assert content == "2025-09-23: First one. More text. Second without stop. Fourth."
