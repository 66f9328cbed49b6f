"""The judge of relations reads the clauses of likely pairs alone, and misses none."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from memory_pipeline.interop import sample
from memory_pipeline.text.compare import relation_candidates, relation_features, relation_reading
from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.compare.relation_model import LEAST_CONFIDENCE, probabilities, screened


@pytest.fixture(scope="module")
def reading():
    told = [event["payload"] for event in sample.generate(profiles=1, memories=400, days=30, seed=5)]
    texts = [payload["content"] for payload in told if "content" in payload]
    texts += [f"{one} {two} " * 4 for one, two in zip(texts[::40], texts[1::40], strict=False)]  # of many statements
    memories = pl.DataFrame({"content": texts}).with_columns(
        profile_id=pl.lit("ana"),
        content_hash="content",
        speaker=pl.lit(None, pl.String),
        session_id=pl.lit(None, pl.String),
        since=pl.lit(datetime(2026, 1, 1, tzinfo=UTC)).dt.offset_by(pl.format("{}h", pl.int_range(pl.len()))),
    )
    return relation_reading.read(memories.select(list(relation_reading.MEMORY_COLUMNS)))


@pytest.mark.parametrize("needed", [LEAST_CONFIDENCE, 0.9])
def test_a_pair_whose_clauses_are_not_read_is_related_by_none(reading, needed):
    older, newer = relation_candidates.candidates(reading)
    pair, left, right = relation_features.statement_pairs(reading, older, newer)
    in_full = probabilities(*relation_features.features(reading, left, right))
    found = screened(reading, pair, left, right, np.full(len(RELATIONS) - 1, needed))
    read = (found == in_full).all(axis=1)
    assert 0.01 < read.mean() < 0.5
    assert in_full[~read, :-1].max() < max(needed / 2, LEAST_CONFIDENCE)
