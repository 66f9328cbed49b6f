"""Associations between memories: those that follow from the memories, those that a run proposes, and how they fade.

Derived edges (FOLLOWS, CAUSED_BY, SIMILAR_TO, REFERENCES) are made anew by every run and are never decisions. Proposed
edges (DISCOVERED, CONTRADICTS) become decided ones once their plan is committed. Directed edges point from the later
memory to the earlier one: a memory FOLLOWS the one before it and is CAUSED_BY its cause. Undirected ones are stored
once, source < target.
What is not here: the comparison of vectors (`similarity`), and what the graph says about a memory (`centrality`).
"""

import hashlib
from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.scoring import DAY, KEY, days_between
from memory_pipeline.lake.schemas import INSTANT, LIVE, TABLES, Lifecycle
from memory_pipeline.settings import Policy

UNDIRECTED: Final = (
    "SIMILAR_TO",
    "REFERENCES",
    "DISCOVERED",
    "CONTRADICTS",
    "COACTIVATED",
    "ASSOCIATED",
    "SHORTCUT",
)
"""Types that have no direction."""

FADING: Final = ("DISCOVERED", "ASSOCIATED", "SIMILAR_TO", "SHORTCUT")
"""Types whose weight decays, unless an agent asserted the edge."""

MENTIONS_LINKED: Final = 5
"""How many of the mentions before it a mention of an entity is linked to; bounds REFERENCES to 5 edges a mention."""

ROUNDING: Final = 1e-9
"""Keeps a share of memories that is a whole number from falling short of it."""

CREATIVE_COSINE: Final = {"contrast": 0.3, "explains": 0.5, "shares_theme": 0.7, "parallel_context": 0.4}
"""Cosine below which (contrast, parallel_context) or above which a creative rule matches, strictly."""

CREATIVE_CONFIDENCE: Final = {"contrast": 0.6, "explains": 0.7, "parallel_context": 0.5}
"""Confidence of the edge that a creative rule makes; that of shares_theme is the cosine."""


def derive(
    memories: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame, policy: Policy, *, as_of: datetime
) -> pl.DataFrame:
    """Edges that follow from the memories themselves, at their weight at `as_of`; what has faded is left out.

    - FOLLOWS: consecutive originals of a session, by (created_at, seq); weight 1.
    - CAUSED_BY: a memory and the memory that its parent event stored; weight 1.
    - SIMILAR_TO: live memories with a cosine above the policy's threshold; the cosine is the weight.
    - REFERENCES: live memories that mention the same entities; weight 1 - 1 / (1 + n) for n shared entities. An entity
      that more than `reference_share` of the profile's live memories mention counts for nothing. An entity links each
      mention to the five before it in time, so that one that k memories share makes 5 k edges at most, not k².

    FOLLOWS and CAUSED_BY join memories of any lifecycle but deleted: they tell how memories came about.

    Args:
        memories: table `memories`.
        enrichment: table `enrichment`; its `entities` are read.
        vectors: table `vectors`; rows of other models than the policy's are ignored.
        policy: thresholds, and how edges fade.
        as_of: instant of the weights.

    Returns:
        Table `derived_edges`.

    Cost: the exact join of similar memories; all else is linear in memories and mentions.
    """
    present = memories.filter(pl.col("lifecycle") != Lifecycle.DELETED.value)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort(KEY)
    found = [_follows(present), _caused_by(present), _similar(live, vectors, policy)]
    edges = decay(
        _edges(pl.concat([*found, _references(live, enrichment, policy)], how="diagonal")), policy, as_of=as_of
    )
    return edges.filter(~has_faded(policy))


def union(*edges: pl.DataFrame) -> pl.DataFrame:
    """All edges of several tables; where two tables hold the same one, the table named first stands."""
    table = TABLES["association_edges"]
    return table.conform(pl.concat(edges).unique(table.key, keep="first", maintain_order=True))


def decay(edges: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Return `edges` with their weight at `as_of`.

    An edge that was not strengthened for `edge_decay_days` weighs base_weight * exp(-edge_decay_rate * idle days). Only
    types in `FADING` decay, and nothing that an agent asserted. The weight always follows from `base_weight`, so
    decaying at any cadence equals decaying once (SuperLocalMemory's rule, made idempotent).
    """
    idle = days_between(pl.col("last_strengthened_at"), pl.lit(as_of, dtype=INSTANT))
    factor = pl.when(_can_fade() & (idle >= policy.edge_decay_days)).then((-policy.edge_decay_rate * idle).exp())
    return edges.with_columns(weight=pl.col("base_weight") * factor.otherwise(1.0))


def faded(edges: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Edges whose present weight is below `edge_prune_weight`; of the decided ones, those to prune."""
    return edges.filter(has_faded(policy))


def has_faded(policy: Policy) -> pl.Expr:
    """Whether an edge, at its present weight, has become too light to count."""
    return _can_fade() & (pl.col("weight") < policy.edge_prune_weight)


def _can_fade() -> pl.Expr:
    return pl.col("edge_type").is_in(FADING) & (pl.col("origin") != "asserted")


def discover(
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    edges: pl.DataFrame,
    vectors: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Propose creative associations among a sample of each profile's live originals (AutoMem's rules).

    The sample is the `creative_sample` smallest SHA-256 of (profile, interval, seed, memory), among originals with
    relevance above `creative_min_relevance`, so it changes with the interval of the creative task, not with each run.
    Of the sample's pairs that no edge joins, in whatever direction, the first rule that matches makes an edge:

    1. two Decisions: cosine < .3 makes CONTRADICTS/contrast, confidence .6, and any other cosine nothing. With
       `creative_contrast` off there is no such rule, and two Decisions are judged by the rules below;
    2. an Insight and a Pattern, cosine > .5: DISCOVERED/explains, .7;
    3. different types, cosine > .7: DISCOVERED/shares_theme, the cosine;
    4. less than seven days apart, cosine < .4: DISCOVERED/parallel_context, .5.

    A cosine that is unknown matches no rule.

    Args:
        memories: table `memories`.
        scored: table `scored_memories`, of the same memories.
        edges: every edge there is.
        vectors: table `vectors`; rows of other models than the policy's are ignored.
        policy: the sample, and whether two Decisions can contradict each other.
        as_of: instant of the run.
        plan_id: plan that proposes the edges.

    Returns:
        Table `proposed_edges`; the confidence is the weight.

    Cost: one hash a live original, then the square of the sample.
    """
    eligible = memories.filter(pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") == "original")).join(
        scored.filter(pl.col("relevance") > policy.creative_min_relevance), on=KEY, how="semi"
    )
    sample = _sample(eligible, policy, as_of=as_of).sort(KEY)
    pairs = _unlinked_pairs(sample, edges)
    compared = similarity.pair_similarity(
        _matrix(sample, vectors, policy), pairs["row"].to_numpy(), pairs["row_right"].to_numpy()
    )
    found = (
        pairs.with_columns(pl.Series("similarity", compared).fill_nan(None))
        .with_columns(_creative_rule(policy).alias("rule"))
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
    return _edges(found, origin="decided", plan_id=plan_id)


def _sample(eligible: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Draw the memories with the smallest hashes of each profile; a switched-off interval counts as one second."""
    seconds = pl.select(pl.lit(as_of, dtype=INSTANT).dt.epoch("s")).item()
    turn = f"{seconds // max(1, policy.creative_interval_seconds)}|{policy.seed}"
    tickets = [
        hashlib.sha256(f"{profile_id}|{turn}|{memory_id}".encode()).hexdigest()
        for profile_id, memory_id in eligible.select(KEY).iter_rows()
    ]
    return (
        eligible.with_columns(pl.Series("ticket", tickets, dtype=pl.String))
        .sort("profile_id", "ticket", "memory_id")
        .filter(pl.int_range(pl.len()).over("profile_id") < policy.creative_sample)
    )


def _unlinked_pairs(sample: pl.DataFrame, edges: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a profile's sample, each once, that no edge joins in either direction; with their rows in `sample`."""
    drawn = sample.with_row_index("row").select("row", *KEY, "memory_type", "created_at")
    pairs = drawn.join(drawn, on="profile_id").filter(pl.col("memory_id") < pl.col("memory_id_right"))
    ends = ["profile_id", "memory_id", "memory_id_right"]
    for direction in (["profile_id", "source", "target"], ["profile_id", "target", "source"]):
        pairs = pairs.join(edges, left_on=ends, right_on=direction, how="anti")
    return pairs


def _creative_rule(policy: Policy) -> pl.Expr:
    """The first rule that matches a pair, as a struct of edge type, kind and confidence; null where none does."""
    cosine, one, other = pl.col("similarity"), pl.col("memory_type"), pl.col("memory_type_right")
    apart = (pl.col("created_at") - pl.col("created_at_right")).dt.total_microseconds().abs()
    both_decisions = (one == "Decision") & (other == "Decision")
    insight_and_pattern = ((one == "Insight") & (other == "Pattern")) | ((one == "Pattern") & (other == "Insight"))
    return (
        pl.when(both_decisions & policy.creative_contrast)
        .then(pl.when(cosine < CREATIVE_COSINE["contrast"]).then(_creative_edge("CONTRADICTS", "contrast")))
        .when(insight_and_pattern & (cosine > CREATIVE_COSINE["explains"]))
        .then(_creative_edge("DISCOVERED", "explains"))
        .when((one != other) & (cosine > CREATIVE_COSINE["shares_theme"]))
        .then(_creative_edge("DISCOVERED", "shares_theme"))
        .when((apart < 7 * DAY) & (cosine < CREATIVE_COSINE["parallel_context"]))
        .then(_creative_edge("DISCOVERED", "parallel_context"))
    )


def _creative_edge(edge_type: str, kind: str) -> pl.Expr:
    given = CREATIVE_CONFIDENCE.get(kind)
    confidence = pl.col("similarity").cast(pl.Float64).clip(0.0, 1.0) if given is None else pl.lit(given)
    return pl.struct(edge_type=pl.lit(edge_type), kind=pl.lit(kind), confidence=confidence)


def _follows(present: pl.DataFrame) -> pl.DataFrame:
    session = ["profile_id", "session_id"]
    ordered = present.filter((pl.col("kind") == "original") & pl.col("session_id").is_not_null()).sort(
        *session, "created_at", "seq", "memory_id"
    )
    before = pl.col("memory_id").shift(1).over(session)
    return (
        ordered.with_columns(target=before)
        .drop_nulls("target")
        .select(
            "profile_id",
            "target",
            source="memory_id",
            edge_type=pl.lit("FOLLOWS"),
            weight=pl.lit(1.0),
            algorithm=pl.lit("session_order"),
            discovered_at="created_at",
        )
    )


def _caused_by(present: pl.DataFrame) -> pl.DataFrame:
    causes = present.select("profile_id", parent_event_id="event_id", target="memory_id", caused_at="created_at")
    return (
        present.join(causes, on=["profile_id", "parent_event_id"])
        .filter(pl.col("memory_id") != pl.col("target"))
        .select(
            "profile_id",
            "target",
            source="memory_id",
            edge_type=pl.lit("CAUSED_BY"),
            weight=pl.lit(1.0),
            algorithm=pl.lit("parent_event"),
            discovered_at=pl.max_horizontal("created_at", "caused_at"),
        )
    )


def _similar(live: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Pairs above the threshold; equality does not count, and is judged in float32 like the stored similarity."""
    threshold = policy.similar_to_threshold
    profiles = live["profile_id"].rle_id().cast(pl.Int64).to_numpy()
    pairs = similarity.threshold_join(_matrix(live, vectors, policy), profiles, threshold)
    above = pairs.similarity > np.float32(threshold)
    cosine = pl.Series(pairs.similarity[above])
    return _between(live, pairs.left[above], pairs.right[above]).with_columns(
        edge_type=pl.lit("SIMILAR_TO"),
        weight=cosine.cast(pl.Float64).clip(0.0, 1.0),
        similarity=cosine,
        algorithm=pl.lit("similarity_join"),
    )


def _references(live: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    text = ["profile_id", "content_hash"]
    mentions = (
        live.with_row_index("row")
        .with_columns(pl.len().over("profile_id").alias("memories"))
        .join(enrichment.select(*text, "entities"), on=text)
        .explode("entities")
        .drop_nulls("entities")
        .unique(["row", "entities"])
        .with_columns(pl.len().over("profile_id", "entities").alias("mentions"))
        .filter(pl.col("mentions") <= policy.reference_share * pl.col("memories") + ROUNDING)
        .sort("profile_id", "entities", "created_at", "row")
    )
    entity = mentions.select(pl.struct("profile_id", "entities").rle_id()).to_series().to_numpy()
    left, right, shared = _neighbours(mentions["row"].cast(pl.Int64).to_numpy(), entity, len(live))
    return _between(live, left, right).with_columns(
        edge_type=pl.lit("REFERENCES"),
        weight=1.0 - 1.0 / (1.0 + pl.Series(shared).cast(pl.Float64)),
        algorithm=pl.lit("shared_entities"),
    )


def _neighbours(
    rows: NDArray[np.int64], groups: NDArray[np.integer[Any]], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of rows that stand at most `MENTIONS_LINKED` places apart in a group, and in how many groups they do."""
    codes = []
    for lag in range(1, MENTIONS_LINKED + 1):
        same = groups[lag:] == groups[:-lag]
        one, other = rows[:-lag][same], rows[lag:][same]
        codes.append(np.minimum(one, other) * count + np.maximum(one, other))
    pairs, shared = np.unique(np.concatenate(codes), return_counts=True)
    left, right = np.divmod(pairs, max(1, count))
    return left, right, shared


def _between(live: pl.DataFrame, left: NDArray[np.int64], right: NDArray[np.int64]) -> pl.DataFrame:
    """Ends and date of the edges between two lists of rows of `live`; `live` is sorted, so source < target."""
    source, target = live.select(*KEY, "created_at")[left], live.select("memory_id", "created_at")[right]
    return source.select(
        "profile_id",
        target["memory_id"].alias("target"),
        source="memory_id",
        discovered_at=pl.max_horizontal("created_at", target["created_at"]),
    )


def _edges(found: pl.DataFrame, *, origin: str = "derived", plan_id: str = "") -> pl.DataFrame:
    """Complete the table: a new edge has its base weight, and counts as strengthened when it was discovered."""
    table = TABLES["association_edges"]
    complete = found.with_columns(
        origin=pl.lit(origin),
        base_weight="weight",
        last_strengthened_at="discovered_at",
        co_count=pl.lit(0),
        plan_id=pl.lit(plan_id),
    )
    return table.conform(pl.concat([table.empty(), complete], how="diagonal_relaxed"))


def _matrix(memories: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> NDArray[np.float32]:
    """One row a memory, in order; zero, that is unknown, where the vector is missing or not of its profile's length."""
    text = ["profile_id", "content_hash"]
    own = vectors.filter(pl.col("model") == policy.embedder).select(*text, "vector", size=pl.col("vector").list.len())
    found = memories.join(own, on=text, how="left", maintain_order="left")
    usual = pl.col("size").drop_nulls().mode().max().over("profile_id")
    size = found.select(pl.when(pl.col("size") == usual).then("size").fill_null(0)).to_series().to_numpy()
    matrix = np.zeros((len(found), size.max(initial=1)), dtype=np.float32)
    for width in np.unique(size[size > 0]):
        rows = np.flatnonzero(size == width)
        matrix[rows, :width] = found["vector"][rows].explode().to_numpy().reshape(len(rows), width)
    return matrix
