"""Associations between memories: derived edges, proposed edges, and how edges decay.

Derived edges are recomputed by every run and are never decisions; proposed edges become decided ones once their plan is
committed. Directed edges point from the later memory to the earlier one: a memory FOLLOWS the one before it, is
CAUSED_BY its cause and REINFORCES what it resembles. Undirected edges are stored once, source < target.

This module is the entry point. The rules are in `similarity_edges` (what memories say), `coactivation` (sessions that
accessed them), `co_recall` (answers that named them), `links` (auto-links, reinforcements, facts) and `creative`.
Not here: the pairs that say nearly the same (`neighbours`), and graph measures of memories (`centrality`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline import schemas
from memory_pipeline.consolidation.columns import DAY, KEY, days_between
from memory_pipeline.consolidation.edges import co_recall, coactivation, creative, edge_rows, links, similarity_edges
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame, Lifecycle, conform
from memory_pipeline.settings import Policy

FADING: Final = ("DISCOVERED", "ASSOCIATED", "SIMILAR_TO", "SHORTCUT")
"""Edge types whose weight decays, unless an agent asserted the edge."""

_LINK: Final = pl.col("edge_type") == "ASSOCIATED"


def derive(
    memories: Frame[schemas.Memories],
    enrichment: Frame[schemas.Enrichment],
    neighbours: Frame[schemas.Neighbours],
    accesses: Frame[schemas.Accesses],
    decided: Frame[schemas.DecidedEdges],
    policy: Policy,
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Derive the edges that follow from the memories and their use, at their weight at `as_of`, without decayed ones.

    Between memories of any lifecycle but deleted, since they record how memories came about:

    - FOLLOWS: consecutive originals of a session, by (created_at, seq); weight 1.
    - CAUSED_BY: a memory and the memory that its parent event stored; weight 1.

    Between live memories, by what they say:

    - SIMILAR_TO: a cosine above the policy's threshold, which is the weight, if the pair is among the
      `similar_neighbours` strongest of either memory. Once one of the two memories is a day old,
      the cosine must also reach `warm_prune_weight` (ADR-0008; permanently, not only for a week).
    - REFERENCES: mentions of the same entities; weight 1 - 1 / (1 + n) for n shared entities. Entities that more than
      `reference_share` of the profile's live memories mention do not count. Each mention is linked to the five before
      it in time, so an entity shared by k memories makes at most 5 k edges instead of k².
    - REFERENCES/cross_session (ADR-0008): memories of two sessions that share such an entity, with any number of
      mentions in between, and have a cosine of at least `auto_link_similarity`; the weight is the larger of the cosine
      and that of REFERENCES; bounded like SIMILAR_TO.

    Between live memories, by how they are used:

    - COACTIVATED (three-tier): `co_count` sessions accessed both; see `coactivation`.
    - SHORTCUT (ADR-0008): used together, and far apart over all other edges.
    - ASSOCIATED (cognitive-memory, only with `link_lifetime_days`): every event that accesses both strengthens the link
      by `co_recall_gain`, starting from 0. An asserted or decided link is strengthened instead.

    Accesses after `as_of` do not count. Returns table `derived_edges`, independent of earlier runs.

    Cost: a sort of the neighbours and of the pairs that were used together; the rest is linear.
    """
    present = memories.filter(pl.col("lifecycle") != Lifecycle.DELETED.value)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort(KEY)
    past_accesses = accesses.filter(pl.col("at") <= as_of)
    derived = [
        _follows(present),
        _caused_by(present),
        similarity_edges.derive(live, enrichment, neighbours, policy, as_of=as_of),
        _recalled_together(live, past_accesses, decided, policy),
    ]
    edges = _not_faded(edge_rows.complete(pl.concat(derived, how="diagonal")), policy, as_of=as_of)
    usage_edges = _used_together(live, past_accesses, pl.concat([decided, edges]), policy, as_of=as_of)
    return TABLES["derived_edges"].conform(pl.concat([edges, _not_faded(usage_edges, policy, as_of=as_of)]))


def discover(
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    edges: pl.DataFrame,
    vectors: Frame[schemas.Vectors],
    neighbours: Frame[schemas.Neighbours],
    accesses: Frame[schemas.Accesses],
    tier_changes: Frame[schemas.TierChanges],
    fact_changes: Frame[schemas.FactChanges],
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
) -> pl.DataFrame:
    """Propose the edges that a plan decides, as far as the policy enables them.

    - DISCOVERED and CONTRADICTS/contrast by the rules in `creative`;
    - ASSOCIATED and REINFORCES by those in `links`;
    - MAY_UPDATE, MAY_REPEAT and CONTRADICTS/conflict for `fact_changes` that close nothing (see `links.about_facts`).

    A pair that already has an asserted or decided edge of that type, in either direction, gets no second one. A link
    that would weigh too little at `as_of`, after all recalls since its memories exist, is not proposed.

    Accesses after `as_of`, and vectors of other models than the policy's, do not count. Returns table `proposed_edges`,
    at the weight with which the edges begin.

    Cost: a sort of the neighbours for auto-links and reinforcements, and the square of the creative sample.
    """
    parts = [
        links.about_facts(fact_changes, memories, as_of=as_of),
        links.propose(memories, edges, neighbours, tier_changes, policy),
    ]
    if "creative" in policy.associations:
        joined = edges.filter(~edge_rows.is_fact_link())
        parts.append(creative.propose(memories, scored, joined, vectors, policy, as_of=as_of))
    pair = ["profile_id", "edge_type", "low", "high"]
    existing = edge_rows.unordered(edges.filter(pl.col("origin") != "derived"))
    candidates = pl.concat(parts, how="diagonal_relaxed")
    new = (
        candidates.hstack(edge_rows.unordered(candidates).select("low", "high"))
        .unique(pair, keep="first", maintain_order=True)
        .join(existing, on=pair, how="anti")
    )
    table = TABLES["proposed_edges"]
    proposed = table.conform(edge_rows.complete(new.drop("low", "high"), origin="decided", plan_id=plan_id))
    present = decay(strengthen(proposed, accesses, policy, as_of=as_of), policy, as_of=as_of)
    return proposed.join(faded(present, policy), on=table.key, how="anti", maintain_order="left")


def union(*edges: pl.DataFrame) -> Frame[schemas.AssociationEdges]:
    """Return all edges of several tables; of equal edges, the one in the first table is kept."""
    key = TABLES["association_edges"].key
    return conform(schemas.AssociationEdges, pl.concat(edges).unique(key, keep="first", maintain_order=True))


def at_present(
    edges: Sequence[pl.DataFrame], accesses: Frame[schemas.Accesses], policy: Policy, *, as_of: datetime
) -> Frame[schemas.AssociationEdges]:
    """Unite tables of edges (the first one wins), and strengthen and decay them up to `as_of`."""
    strengthened = strengthen(union(*edges), accesses, policy, as_of=as_of)
    return cast("Frame[schemas.AssociationEdges]", decay(strengthened, policy, as_of=as_of))


def strengthen(edges: pl.DataFrame, accesses: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Return `edges` as recalls have left them: decided ASSOCIATED links whose ends one event accessed together.

    Each such event since the link was last strengthened sets its base to min(1, weight at that instant + gain), where
    the weight at that instant is that of `decay` (SuperLocalMemory, cognitive-memory). The result follows from the
    ledger alone, whatever the cadence of runs, and strengthening twice changes nothing. Accesses after `as_of` do not
    count. Strengthened edges have the weight and `base_weight` after the last recall, its instant as
    `last_strengthened_at`, and a `co_count` increased by the recalls; all others stay.

    Cost: linear in the pairs that events name, at most a hundred per access.
    """
    chosen = edges.with_row_index("edge").filter(_LINK & (pl.col("origin") == "decided"))
    if chosen.is_empty() or "co_recall" not in policy.associations:
        return edges
    ends = pl.concat(chosen.select("profile_id", memory_id=end) for end in ("source", "target")).unique().sort(KEY)
    recalls = co_recall.recalls(ends, accesses.filter(pl.col("at") <= as_of))
    since = edge_rows.with_rows(chosen, ends).select(
        "edge", left="source_row", right="target_row", since=pl.col("last_strengthened_at").dt.epoch("us")
    )
    recalled = recalls.join(since, on=["left", "right"]).filter(pl.col("at") > pl.col("since")).sort("edge", "at")
    base = edges["base_weight"].to_numpy()
    strength = _strengths(base, recalled["edge"].cast(pl.Int64).to_numpy(), recalled, policy)
    last = recalled.group_by("edge").agg(pl.col("at").max().cast(INSTANT), recalls=pl.len())
    return (
        edges.with_row_index("edge")
        .with_columns(pl.Series("strength", strength))
        .join(last, on="edge", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("at").is_null()).then(name).otherwise("strength").alias(name)
            for name in ("weight", "base_weight")
        )
        .with_columns(
            pl.coalesce("at", "last_strengthened_at").alias("last_strengthened_at"),
            pl.col("co_count") + pl.col("recalls").fill_null(0),
        )
        .select(edges.columns)
    )


def decay(edges: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Return `edges` with their weight at `as_of`.

    An edge not strengthened for `edge_decay_days` weighs base_weight * exp(-edge_decay_rate * idle days)
    (SuperLocalMemory). With `link_lifetime_days`, ASSOCIATED links weigh base_weight * exp(-idle days / lifetime) from
    the first day on instead (cognitive-memory). Only types in `FADING` decay, and no asserted edge does. The weight
    always follows from `base_weight`, so decaying at any cadence equals decaying once.
    """
    idle = days_between(pl.col("last_strengthened_at"), pl.lit(as_of, dtype=INSTANT))
    share = pl.when(_can_fade()).then(_share(idle, _LINK, policy)).otherwise(1.0)
    return edges.with_columns(weight=pl.col("base_weight") * share)


def faded(edges: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return edges whose present weight is below `edge_prune_weight`; the decided ones among them are pruned."""
    return edges.filter(has_faded(policy))


def has_faded(policy: Policy) -> pl.Expr:
    """Return whether an edge, at its present weight, has become too light to count."""
    return _can_fade() & (pl.col("weight") < policy.edge_prune_weight)


def is_usable(policy: Policy) -> pl.Expr:
    """Return whether an edge, at its present weight, can be followed.

    A faded edge cannot. With `link_lifetime_days`, neither can an ASSOCIATED link below `link_usable_weight`, which
    stays in the table because recalls can strengthen it again.
    """
    if policy.link_lifetime_days is None:
        return ~has_faded(policy)
    too_light = _LINK & _can_fade() & (pl.col("weight") < policy.link_usable_weight)
    return ~(has_faded(policy) | too_light)


def _can_fade() -> pl.Expr:
    return pl.col("edge_type").is_in(FADING) & (pl.col("origin") != "asserted")


def _share(idle: pl.Expr, is_link: pl.Expr, policy: Policy) -> pl.Expr:
    """Return the share of the weight that a decaying edge retains after a number of idle days."""
    slow = pl.when(idle >= policy.edge_decay_days).then((-policy.edge_decay_rate * idle).exp()).otherwise(1.0)
    if policy.link_lifetime_days is None:
        return slow
    return pl.when(is_link).then((-idle * (1.0 / policy.link_lifetime_days)).exp()).otherwise(slow)


def _strengths(
    base: NDArray[np.float64], link: NDArray[np.int64], recalls: pl.DataFrame, policy: Policy
) -> NDArray[np.float64]:
    """Return strengths of links after `recalls` (`at` and `since` in microseconds, by link and time)."""
    before = pl.when(pl.Series(link) == pl.Series(link).shift(1)).then(pl.col("at").shift(1)).otherwise("since")
    idle = (pl.col("at") - before) * (1.0 / DAY)
    share = recalls.select(_share(idle, pl.lit(value=True), policy)).to_series().to_numpy()
    return co_recall.strengths(base, link, share, gain=policy.co_recall_gain)


def _not_faded(edges: pl.DataFrame, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    return decay(edges, policy, as_of=as_of).filter(~has_faded(policy))


def _used_together(
    live: pl.DataFrame, accesses: pl.DataFrame, edges: pl.DataFrame, policy: Policy, *, as_of: datetime
) -> pl.DataFrame:
    """Return COACTIVATED and SHORTCUT edges; paths are searched over the `edges` that can be followed."""
    parts = [TABLES["association_edges"].empty()]
    if {"coactivation", "shortcut"} & set(policy.associations):
        co_occurrences = coactivation.sessions(live, accesses)
    if "coactivation" in policy.associations:
        parts.append(edge_rows.complete(coactivation.coactivated(live, *co_occurrences)))
    if "shortcut" in policy.associations:
        present = decay(strengthen(edges, accesses, policy, as_of=as_of), policy, as_of=as_of)
        usable = present.filter(is_usable(policy), ~edge_rows.is_fact_link())
        parts.append(edge_rows.complete(coactivation.shortcuts(live, *co_occurrences, usable, policy)))
    return pl.concat(parts)


def _recalled_together(
    live: pl.DataFrame, accesses: pl.DataFrame, decided: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """Return ASSOCIATED links that recalls alone have made; asserted or decided ones are strengthened instead."""
    no_links = edge_rows.between(live, np.empty(0, np.int64), np.empty(0, np.int64))
    if "co_recall" not in policy.associations or policy.link_lifetime_days is None:
        return no_links
    recalls = co_recall.recalls(live, accesses)
    if recalls.is_empty():
        return no_links
    pairs = recalls.group_by("left", "right").agg(since=pl.col("at").min(), last=pl.col("at").max(), count=pl.len())
    pairs = pairs.sort("left", "right")
    recalls = recalls.join(pairs.with_row_index("link"), on=["left", "right"]).sort("link", "at")
    strength = _strengths(np.zeros(len(pairs)), recalls["link"].cast(pl.Int64).to_numpy(), recalls, policy)
    ends = edge_rows.between(live, pairs["left"].to_numpy(), pairs["right"].to_numpy())
    return ends.with_columns(
        edge_type=pl.lit("ASSOCIATED"),
        weight=pl.Series(strength),
        algorithm=pl.lit("co_recall"),
        discovered_at=pairs["since"].cast(INSTANT),
        last_strengthened_at=pairs["last"].cast(INSTANT),
        co_count=pairs["count"].cast(pl.Int64),
    ).join(decided.filter(_LINK), on=["profile_id", "source", "target"], how="anti")


def _follows(present: pl.DataFrame) -> pl.DataFrame:
    """Return FOLLOWS edges between consecutive originals of a session."""
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
    """Return CAUSED_BY edges from a memory to the memory that its parent event stored."""
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
