"""Creative associations: AutoMem's rules for pairs of a small sample that nothing joins yet.

What is not here: every other kind of association (`associations`).
"""

import hashlib
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.scoring import DAY, KEY
from memory_pipeline.schemas import INSTANT, LIVE
from memory_pipeline.settings import Policy

COSINE: Final = {"contrast": 0.3, "explains": 0.5, "shares_theme": 0.7, "parallel_context": 0.4}
"""Cosine below which (contrast, parallel_context) or above which a rule matches, strictly."""

CONFIDENCE: Final = {"contrast": 0.6, "explains": 0.7, "parallel_context": 0.5}
"""Confidence of the edge that a rule makes; that of shares_theme is the cosine."""


def propose(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    edges: pl.DataFrame,
    vectors: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Edges among a sample of each profile's live originals.

    The sample is the `creative_sample` smallest SHA-256 of (profile, interval, seed, memory), among originals with
    relevance above `creative_min_relevance`, so it changes with the interval of the creative task, not with each run:
    the place of one that has left the live set since the interval began stays empty.
    Of the sample's pairs that no edge joins, in whatever direction, the first rule that matches makes an edge:

    1. two Decisions: cosine < .3 makes CONTRADICTS/contrast, confidence .6, and any other cosine nothing. With
       `creative_contrast` off there is no such rule, and two Decisions are judged by the rules below;
    2. an Insight and a Pattern, cosine > .5: DISCOVERED/explains, .7;
    3. different types, cosine > .7: DISCOVERED/shares_theme, the cosine;
    4. less than seven days apart, cosine < .4: DISCOVERED/parallel_context, .5.

    A cosine that is unknown matches no rule. The confidence is the weight, and the edges date from `as_of`: they come
    about because they were drawn.

    A switched-off interval counts as one second. Cost: one hash a live original, then the square of the sample.
    """
    interval = max(1, policy.creative_interval_seconds)
    turn = int(pl.select(pl.lit(as_of, dtype=INSTANT).dt.epoch("s")).item()) // interval
    live = pl.col("lifecycle").is_in(LIVE)
    left = pl.col("lifecycle_since").dt.epoch("s") >= turn * interval
    originals = memories.filter((pl.col("kind") == "original") & (live | left))
    fit = scored.filter(pl.col("relevance") > policy.creative_min_relevance)
    eligible = pl.concat([originals.filter(live).join(fit, on=KEY, how="semi"), originals.filter(~live)])
    sample = _sample(eligible, f"{turn}|{policy.seed}", policy.creative_sample).filter(live).sort(KEY)
    pairs = _unlinked_pairs(sample, edges)
    compared = similarity.pair_similarity(
        edge_rows.matrix(sample, vectors, policy), pairs["row"].to_numpy(), pairs["row_right"].to_numpy()
    )
    return (
        pairs.with_columns(pl.Series("similarity", compared).fill_nan(None))
        .with_columns(_rule(policy).alias("rule"))
        .drop_nulls("rule")
        .unnest("rule")
        .select(
            "profile_id",
            "edge_type",
            "kind",
            "confidence",
            "similarity",
            source="memory_id",
            target="memory_id_right",
            weight="confidence",
            algorithm=pl.lit("creative_association"),
            discovered_at=pl.lit(as_of, dtype=INSTANT),
        )
    )


def _sample(eligible: pl.DataFrame, turn: str, size: int) -> pl.DataFrame:
    """Draw the memories with the smallest hashes of each profile."""
    tickets = [
        hashlib.sha256(f"{profile_id}|{turn}|{memory_id}".encode()).hexdigest()
        for profile_id, memory_id in eligible.select(KEY).iter_rows()
    ]
    return (
        eligible.with_columns(pl.Series("ticket", tickets, dtype=pl.String))
        .sort("profile_id", "ticket", "memory_id")
        .filter(pl.int_range(pl.len()).over("profile_id") < size)
    )


def _unlinked_pairs(sample: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a profile's sample, each once, that no edge joins in either direction; with their rows in `sample`."""
    drawn = sample.with_row_index("row").select("row", *KEY, "memory_type", "created_at")
    pairs = drawn.join(drawn, on="profile_id").filter(pl.col("memory_id") < pl.col("memory_id_right"))
    ends = ["profile_id", "memory_id", "memory_id_right"]
    for direction in (["profile_id", "source", "target"], ["profile_id", "target", "source"]):
        pairs = pairs.join(edges, left_on=ends, right_on=direction, how="anti")
    return pairs


def _rule(policy: Policy) -> pl.Expr:
    """The first rule that matches a pair, as a struct of edge type, kind and confidence; null where none does."""
    cosine, one, other = pl.col("similarity"), pl.col("memory_type"), pl.col("memory_type_right")
    apart = (pl.col("created_at") - pl.col("created_at_right")).dt.total_microseconds().abs()
    both_decisions = (one == "Decision") & (other == "Decision")
    insight_and_pattern = ((one == "Insight") & (other == "Pattern")) | ((one == "Pattern") & (other == "Insight"))
    return (
        pl.when(both_decisions & policy.creative_contrast)
        .then(pl.when(cosine < COSINE["contrast"]).then(_edge("CONTRADICTS", "contrast")))
        .when(insight_and_pattern & (cosine > COSINE["explains"]))
        .then(_edge("DISCOVERED", "explains"))
        .when((one != other) & (cosine > COSINE["shares_theme"]))
        .then(_edge("DISCOVERED", "shares_theme"))
        .when((apart < 7 * DAY) & (cosine < COSINE["parallel_context"]))
        .then(_edge("DISCOVERED", "parallel_context"))
    )


def _edge(edge_type: str, kind: str) -> pl.Expr:
    given = CONFIDENCE.get(kind)
    confidence = pl.col("similarity").cast(pl.Float64).clip(0.0, 1.0) if given is None else pl.lit(given)
    return pl.struct(edge_type=pl.lit(edge_type), kind=pl.lit(kind), confidence=confidence)
