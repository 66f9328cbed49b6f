"""Links that a run decides from what memories say: auto-links, reinforcements, and how facts may relate.

Each link dates from the later of its two memories and is a function of the memories, not of the run that finds it, so
runs at any cadence decide the same links. Not here: creative associations (`creative`), which exist because a run
sampled them, and how the relations of facts are recognised (`change_detection`).
"""

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline import schemas
from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.similarity import Pairs
from memory_pipeline.consolidation.state import answers
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame, Lifecycle, Memories, TierChanges
from memory_pipeline.settings import Policy

RISEN: Final = ("short_term", "long_term")
"""Tiers in which a memory can be reinforced."""


def propose(
    memories: Frame[schemas.Memories],
    edges: pl.DataFrame,
    near: Frame[schemas.Neighbours],
    tier_changes: Frame[schemas.TierChanges],
    policy: Policy,
) -> pl.DataFrame:
    """Propose auto-links and reinforcements among live memories, each once, whether or not it exists already.

    - ASSOCIATED (SuperLocalMemory): each memory, original or summary, with its `auto_link_neighbours` nearest older
      memories of a cosine of at least `auto_link_similarity`. A summary is not linked to its own members.
    - REINFORCES (three-tier): a new original with a cosine > `reinforcement_similarity` to an older memory that was
      short-term or long-term by then reinforces it.

    The later of two memories is the one created later, or with the larger id at the same instant. The cosine is the
    weight. `near` is table `neighbours`; of the edges SUMMARIZES is read.

    Cost: a sort of the neighbours.
    """
    minima = {}
    if "auto_link" in policy.associations:
        minima["auto_link"] = policy.auto_link_similarity
    if "reinforcement" in policy.associations and not tier_changes.is_empty():
        minima["reinforcement"] = policy.reinforcement_similarity
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).sort(KEY)
    if not minima or live.is_empty():
        return edge_rows.between(live, np.empty(0, np.int64), np.empty(0, np.int64))
    pairs = similarity.listed_pairs(near, live, min(minima.values()))
    rank = edge_rows.by_age(live)
    proposals = []
    if "auto_link" in minima:
        proposals.append(_auto_links(live, pairs, rank, edges, policy))
    if "reinforcement" in minima:
        proposals.append(_reinforcements(live, pairs, rank, tier_changes, policy))
    return pl.concat(proposals, how="diagonal")


def about_facts(
    fact_changes: Frame[schemas.FactChanges], memories: Frame[schemas.Memories], *, as_of: datetime
) -> pl.DataFrame:
    """Return the links between memories about the same fact, whether or not they exist already.

    - MAY_UPDATE from the newer memory to the older, for an update that is not sure enough to close anything, unless the
      statement it concerns is closed;
    - MAY_REPEAT, for the same fact in other words;
    - CONTRADICTS/conflict, for two that cannot both hold.

    Both memories are live and neither is closed, by an earlier run or by a decided update of `fact_changes` itself;
    but an update that somebody answered stays where another has closed the older memory. Such a link either holds or
    does not, so its weight is 1. How likely the relation is depends on the other memories of the store and is judged
    anew by every run, so it is recorded in `fact_changes` and in the decision, not on the edge.
    """
    closing = fact_changes.filter(
        pl.col("relation") == "update", "decided", pl.col("statement").is_null() & (pl.col("at") <= _instant(as_of))
    )
    over = (pl.col("valid_until") <= _instant(as_of)).fill_null(value=False)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    holding = live.filter(~over).join(closing, on=KEY, how="anti")
    statements = pl.col("closed_statements").list.eval(pl.element().struct.field("sentence"))
    held = holding.select(*KEY, held=pl.lit(value=True))
    older = live.select(*KEY, "created_at", "closed_by", closed=statements).join(held, on=KEY, how="left")
    answered = (pl.col("relation") == "update") & (pl.col("rule") == answers.RULE)
    stays = pl.coalesce("held", answered & (pl.col("closed_by") != pl.col("other_id")), pl.lit(value=False))
    doubted = pl.col("relation").is_in(list(edge_rows.PROPOSED)) & ~(
        (pl.col("relation") == "update") & pl.col("decided")
    )
    return (
        fact_changes.filter(doubted)
        .join(older, on=KEY)
        .join(
            holding.select("profile_id", "created_at", other_id="memory_id"),
            on=["profile_id", "other_id"],
            suffix="_other",
        )
        .filter(stays, ~((pl.col("relation") == "update") & _all_closed()).fill_null(value=False))
        .sort("confidence", descending=True, maintain_order=True)
        .select(
            *_ends(),
            "profile_id",
            "similarity",
            kind=pl.when(pl.col("relation") == "conflict").then(pl.lit("conflict")),
            weight=pl.lit(1.0),
            algorithm=pl.lit(edge_rows.FACT_COMPARISON),
            discovered_at=pl.max_horizontal("created_at", "created_at_other"),
        )
        .unique(["profile_id", "source", "target", "edge_type"], keep="first", maintain_order=True)
    )


def _ends() -> list[pl.Expr]:
    """Return the type and ends of a link: an update points from the newer memory to the older."""
    directed = pl.col("relation") == "update"
    low, high = pl.min_horizontal("memory_id", "other_id"), pl.max_horizontal("memory_id", "other_id")
    return [
        pl.col("relation").replace_strict(edge_rows.PROPOSED, return_dtype=pl.String).alias("edge_type"),
        pl.when(directed).then("other_id").otherwise(low).alias("source"),
        pl.when(directed).then("memory_id").otherwise(high).alias("target"),
    ]


def _all_closed() -> pl.Expr:
    """Return whether every sentence of `statement` is among the `closed` ones; null where there is no sentence."""
    return pl.col("statement").str.split("\n").list.set_difference("closed").list.len() == 0


def _instant(at: datetime) -> pl.Expr:
    return pl.lit(at, dtype=INSTANT)


def no_longer_held(
    decided: Frame[schemas.DecidedEdges],
    fact_changes: Frame[schemas.FactChanges],
    memories: Frame[schemas.Memories],
    deferred: Frame[schemas.Deferred],
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Return the links about facts that earlier runs decided and that the present comparison no longer finds.

    The facts of a link to a memory that has since left the live set can no longer be compared. It is kept until either
    text changes, so that the memory that remains of an update or of copies still counts as the newest; a link to a
    memory that is closed, merged or deleted is dropped. Links to a deferred memory, which was not compared, stay.
    """
    present = decided.filter(pl.col("origin") == "decided", edge_rows.is_fact_link())
    missing = present.join(about_facts(fact_changes, memories, as_of=as_of), on=TABLES["decided_edges"].key, how="anti")
    for end in ("source", "target"):
        missing = missing.join(deferred, left_on=["profile_id", end], right_on=KEY, how="anti")
    return missing.join(_at_rest(missing, memories), on=TABLES["decided_edges"].key, how="anti")


def _at_rest(edges: pl.DataFrame, memories: Frame[Memories]) -> pl.DataFrame:
    """Return edges with an end that is not live, both ends being unchanged and neither closed, merged nor deleted."""
    unclosed = memories.filter(
        ~pl.col("lifecycle").is_in([Lifecycle.DELETED.value, Lifecycle.ERASED.value]), pl.col("superseded_by").is_null()
    ).select("profile_id", "updated_at", "memory_id", left=~pl.col("lifecycle").is_in(LIVE))
    for end in ("source", "target"):
        edges = edges.join(
            unclosed.rename({"memory_id": end, "left": f"{end}_left", "updated_at": f"{end}_changed"}),
            on=["profile_id", end],
        )
    changed = pl.max_horizontal("source_changed", "target_changed") > pl.col("discovered_at")
    return edges.filter(pl.col("source_left") | pl.col("target_left"), ~changed.fill_null(value=False))


def _auto_links(
    live: pl.DataFrame, pairs: Pairs, rank: NDArray[np.int64], edges: pl.DataFrame, policy: Policy
) -> pl.DataFrame:
    """Return the nearest older memories of each memory; ties go to the earlier, then the smaller id."""
    eligible = similarity.reaches(pairs.similarity, policy.auto_link_similarity) & ~_summarised(live, pairs, edges)
    left, right, cosine = pairs.left[eligible], pairs.right[eligible], pairs.similarity[eligible]
    later, earlier = np.maximum(rank[left], rank[right]), np.minimum(rank[left], rank[right])
    order = np.lexsort((earlier, -cosine, later))
    place = np.arange(len(order)) - np.searchsorted(later[order], later[order])
    chosen = order[place < policy.auto_link_neighbours]
    return _with_cosine(edge_rows.between(live, left[chosen], right[chosen]), cosine[chosen]).with_columns(
        edge_type=pl.lit("ASSOCIATED"), algorithm=pl.lit("auto_link")
    )


def _summarised(live: pl.DataFrame, pairs: Pairs, edges: pl.DataFrame) -> NDArray[np.bool_]:
    """Mask of the pairs that are a summary and its member."""
    members = edge_rows.with_rows(edges.filter(pl.col("edge_type") == "SUMMARIZES"), live)
    source, target = members["source_row"].to_numpy(), members["target_row"].to_numpy()
    codes = np.minimum(source, target) * len(live) + np.maximum(source, target)
    return np.isin(pairs.left * len(live) + pairs.right, codes)


def _reinforcements(
    live: pl.DataFrame, pairs: Pairs, rank: NDArray[np.int64], tier_changes: Frame[TierChanges], policy: Policy
) -> pl.DataFrame:
    """Return REINFORCES edges from new originals to similar memories of a higher tier."""
    risen = tier_changes.filter(pl.col("to_tier").is_in(RISEN)).group_by(KEY).agg(pl.col("at").min())
    timing = live.join(risen, on=KEY, how="left", maintain_order="left").select(
        risen=pl.col("at").dt.epoch("us").fill_null(np.iinfo(np.int64).max),
        created=pl.col("created_at").dt.epoch("us"),
        new=pl.col("kind") == "original",
    )
    forward = rank[pairs.left] > rank[pairs.right]
    later, earlier = np.where(forward, pairs.left, pairs.right), np.where(forward, pairs.right, pairs.left)
    chosen = (
        (pairs.similarity > np.float32(policy.reinforcement_similarity))
        & timing["new"].to_numpy()[later]
        & (timing["risen"].to_numpy()[earlier] <= timing["created"].to_numpy()[later])
    )
    ends = edge_rows.between(live, later[chosen], earlier[chosen])
    return _with_cosine(ends, pairs.similarity[chosen]).with_columns(
        edge_type=pl.lit("REINFORCES"), algorithm=pl.lit("reinforcement")
    )


def _with_cosine(ends: pl.DataFrame, cosine: NDArray[np.float32]) -> pl.DataFrame:
    similar = pl.Series(cosine)
    return ends.with_columns(similarity=similar, weight=similar.cast(pl.Float64).clip(0.0, 1.0))
