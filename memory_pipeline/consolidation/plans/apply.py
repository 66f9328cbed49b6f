"""Applies a plan: the state after it, described by the same stages, and the invariants it breaks.

Not here: how a plan is made (`stages`), and when it is committed (`runs.commit`).
"""

from dataclasses import replace
from typing import Final

import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.plans import invariants, planning
from memory_pipeline.consolidation.stages import (
    JOINED,
    STATE,
    Frames,
    Turn,
    associate,
    derive,
    enrich,
    frames_of,
    measure,
    present,
    score,
)
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import LIVE, TABLES, Lifecycle

TOMBSTONE: Final = "[deleted]"
"""Replaces the text of a deleted memory."""


def settle(
    turn: Turn,
    plan: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    blocks: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    derived: pl.DataFrame,
) -> Frames:
    """Applies a plan and describes the state after it; `derived` edges are recomputed only if the state changes.

    Returns:
        The tables of `SETTLED`: the state after the commit and what describes it; `enrichment` and `vectors` hold only
        the rows added for new summaries.
    """
    before = projection.State(memories, decided, accesses, tier_changes, blocks)
    state = planning.post_state(before, plan, present(turn, decisions, reverted))
    words, points = enrich(turn, state.memories, enrichment, vectors)
    enrichment, vectors = pl.concat([enrichment, words]), pl.concat([vectors, points])
    same = state.memories.equals(TABLES["memories"].conform(memories))
    if turn.actions & JOINED and not (same and state.edges.equals(TABLES["decided_edges"].conform(decided))):
        derived = derive(turn, state.memories, enrichment, vectors, state.accesses, state.edges)
    measured = measure(turn, state.memories, enrichment, derived, state.edges, state.accesses)
    scored = score(turn, state.memories, measured, state.edges, derived)
    edges = associate(turn, state.edges, derived, state.edges.clear(), state.accesses)
    shown = replace(state, memories=_buried(state.memories), blocks=state.blocks.filter(pl.col("content") != ""))
    return *frames_of(shown), derived, measured, scored, edges, words, points


def _buried(memories: pl.DataFrame) -> pl.DataFrame:
    """Replaces deleted memories by tombstones (their text is in the ledger alone); a stub shows its own text."""
    gone = pl.col("lifecycle") == Lifecycle.DELETED.value
    return memories.with_columns(
        content=pl.when(gone).then(pl.lit(TOMBSTONE)).otherwise("content"),
        trimmed=pl.when(~gone & (pl.col("lifecycle") != Lifecycle.STUB.value)).then("trimmed"),
        **{name: pl.when(~gone).then(name) for name in ("index_text", "metadata", "protected_reason")},
    )


SETTLED: Final = (
    *STATE,
    "derived_edges",
    "memory_importance",
    "scored_memories",
    "association_edges",
    "enrichment",
    "vectors",
)
"""The tables that `settle` returns, in order."""


def inspect(
    turn: Turn,
    plan: pl.DataFrame,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    scored: pl.DataFrame,
    after: pl.DataFrame,
    after_edges: pl.DataFrame,
    vectors: pl.DataFrame,
) -> pl.DataFrame:
    """Returns the rows of a plan that break an invariant; the columns are those of `invariants.violations`."""
    post = projection.State(after, after_edges)
    return invariants.violations(
        plan,
        projection.State(memories, decided),
        profiles,
        policy=turn.policy,
        scored=scored,
        post=post,
        retrievable=retrievable(turn, after, vectors),
    )


def retrievable(turn: Turn, memories: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """Live summaries that a search for their own text finds (or a memory at the same point).

    These are the summaries whose vector is comparable. No search is needed: the nearest neighbours of such a summary
    contain either itself or as many others at least as near to its text.
    """
    keys = ["profile_id", "memory_id"]
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*keys, "kind", "content_hash")
    embedded = vectors.filter(pl.col("model") == turn.policy.embedder).drop("model")
    points = live.join(embedded, on=["profile_id", "content_hash"]).sort(keys)
    comparable = pl.Series(~similarity.unknown(similarity.matrix(points["vector"])))
    return points.filter(comparable & (pl.col("kind") != "original")).select(keys)
