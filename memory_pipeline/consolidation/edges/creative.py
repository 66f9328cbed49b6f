"""Creative associations: AutoMem's rules for unconnected pairs of a small sample.

Not here: every other kind of association (`associations`).
"""

import hashlib
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.columns import DAY, KEY
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.schemas import INSTANT, LIVE, Frame, Memories, Vectors
from memory_pipeline.settings import Policy

COSINE: Final = {"contrast": 0.3, "explains": 0.5, "shares_theme": 0.7, "parallel_context": 0.4}
"""Cosine below which (contrast, parallel_context) or above which (explains, shares_theme) a rule matches, strictly."""

CONFIDENCE: Final = {"contrast": 0.6, "explains": 0.7, "parallel_context": 0.5}
"""Confidence of each rule's edge; that of shares_theme is the cosine."""


def propose(
    memories: Frame[Memories],
    scored: pl.DataFrame,
    edges: pl.DataFrame,
    vectors: Frame[Vectors],
    policy: Policy,
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Propose edges among a sample of each profile's live originals.

    The sample has the `creative_sample` smallest SHA-256 of (profile, interval, seed, memory) among originals with
    relevance above `creative_min_relevance`, so it changes with each interval of the creative task and not with each
    run: the place of a memory that has left the live set since the interval began stays empty. For each pair of the
    sample that no edge joins in either direction, the first matching rule makes an edge:

    1. two Decisions: cosine < .3 makes CONTRADICTS/contrast with confidence .6, any other cosine nothing. With
       `creative_contrast` off this rule does not exist, and two Decisions are judged by the rules below;
    2. an Insight and a Pattern, cosine > .5: DISCOVERED/explains, .7;
    3. different types, cosine > .7: DISCOVERED/shares_theme, the cosine;
    4. less than seven days apart, cosine < .4: DISCOVERED/parallel_context, .5.

    An unknown cosine matches no rule. The confidence is the weight, and the edges date from `as_of`, since they exist
    because the run sampled them. An interval of 0 counts as one second.

    Cost: one hash per live original, then the square of the sample.
    """
    interval = max(1, policy.creative_interval_seconds)
    interval_number = int(pl.select(pl.lit(as_of, dtype=INSTANT).dt.epoch("s")).item()) // interval
    live = pl.col("lifecycle").is_in(LIVE)
    departed = pl.col("lifecycle_since").dt.epoch("s") >= interval_number * interval
    originals = memories.filter((pl.col("kind") == "original") & (live | departed))
    relevant = scored.filter(pl.col("relevance") > policy.creative_min_relevance)
    eligible = pl.concat([originals.filter(live).join(relevant, on=KEY, how="semi"), originals.filter(~live)])
    sample = _sample(eligible, f"{interval_number}|{policy.seed}", policy.creative_sample).filter(live).sort(KEY)
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


def _sample(eligible: pl.DataFrame, salt: str, size: int) -> pl.DataFrame:
    """Draw the memories with the smallest hashes of each profile."""
    tickets = [
        hashlib.sha256(f"{profile_id}|{salt}|{memory_id}".encode()).hexdigest()
        for profile_id, memory_id in eligible.select(KEY).iter_rows()
    ]
    return (
        eligible.with_columns(pl.Series("ticket", tickets, dtype=pl.String))
        .sort("profile_id", "ticket", "memory_id")
        .filter(pl.int_range(pl.len()).over("profile_id") < size)
    )


def _unlinked_pairs(sample: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of a profile's sample, each once, that no edge joins either way, with their rows in `sample`."""
    drawn = sample.with_row_index("row").select("row", *KEY, "memory_type", "created_at")
    pairs = drawn.join(drawn, on="profile_id").filter(pl.col("memory_id") < pl.col("memory_id_right"))
    ends = ["profile_id", "memory_id", "memory_id_right"]
    for direction in (["profile_id", "source", "target"], ["profile_id", "target", "source"]):
        pairs = pairs.join(edges, left_on=ends, right_on=direction, how="anti")
    return pairs


def _rule(policy: Policy) -> pl.Expr:
    """Return the first rule that matches a pair, as a struct of edge type, kind and confidence; null if none does."""
    cosine, first_type, second_type = pl.col("similarity"), pl.col("memory_type"), pl.col("memory_type_right")
    apart = (pl.col("created_at") - pl.col("created_at_right")).dt.total_microseconds().abs()
    both_decisions = (first_type == "Decision") & (second_type == "Decision")
    insight_and_pattern = ((first_type == "Insight") & (second_type == "Pattern")) | (
        (first_type == "Pattern") & (second_type == "Insight")
    )
    return (
        pl.when(both_decisions & policy.creative_contrast)
        .then(pl.when(cosine < COSINE["contrast"]).then(_edge("CONTRADICTS", "contrast")))
        .when(insight_and_pattern & (cosine > COSINE["explains"]))
        .then(_edge("DISCOVERED", "explains"))
        .when((first_type != second_type) & (cosine > COSINE["shares_theme"]))
        .then(_edge("DISCOVERED", "shares_theme"))
        .when((apart < 7 * DAY) & (cosine < COSINE["parallel_context"]))
        .then(_edge("DISCOVERED", "parallel_context"))
    )


def _edge(edge_type: str, kind: str) -> pl.Expr:
    fixed = CONFIDENCE.get(kind)
    confidence = pl.col("similarity").cast(pl.Float64).clip(0.0, 1.0) if fixed is None else pl.lit(fixed)
    return pl.struct(edge_type=pl.lit(edge_type), kind=pl.lit(kind), confidence=confidence)
