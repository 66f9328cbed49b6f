"""The stages of a run: each takes tables of the profiles of one policy and returns tables.

A stage here only hands a policy's values to the module that knows how (`scoring`, `clustering`, ...). The same
functions are the bodies of the assets, of a rebuild and of an undo, so that all three give the same tables.
What is not here: their order, and several policies in one run (`pipeline`).
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import (
    associations,
    budgeting,
    centrality,
    clustering,
    core_memory,
    forgetting,
    planning,
    projection,
    promotion,
    scoring,
    similarity,
    summarising,
    validity,
)
from memory_pipeline.consolidation.strategies import SUPERSEDING
from memory_pipeline.lake.schemas import LIVE, TABLES, Action, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text import embedding, enriching, importance

TOMBSTONE: Final = "[deleted]"
"""Stands where a deleted memory's text stood."""

Frames = tuple[pl.DataFrame, ...]
Two = tuple[pl.DataFrame, pl.DataFrame]
Three = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the profiles of one policy share in a run."""

    policy: Policy
    as_of: datetime
    plan_id: str
    actions: frozenset[Action] = frozenset(Action)
    scope: str = "all"


def project(turn: Turn, events: pl.DataFrame, decisions: pl.DataFrame, reverted: pl.DataFrame) -> Frames:
    """Fold the ledger into the tables of `STATE`, before anything was decided at this very instant."""
    before = projection.unmasked(decisions, reverted).filter(pl.col("as_of") < turn.as_of)
    return frames_of(projection.fold(events, before))


STATE: Final = ("memories", "decided_edges", "accesses", "tier_changes", "core_memory_blocks")
"""The tables that a state consists of."""


def frames_of(state: projection.State) -> Frames:
    """The tables of a state, in the order of `STATE`."""
    return state.memories, state.edges, state.accesses, state.tier_changes, state.blocks


def enrich(turn: Turn, memories: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame) -> Two:
    """Words and vectors of texts that have none yet: the rows to add to `enrichment` and `vectors`."""
    known = vectors.filter(pl.col("model") == turn.policy.embedder)
    keys = ["profile_id", "content_hash"]
    own = enriching.texts(memories)
    bare = own.join(known, on=keys, how="anti").with_columns(content="embedded")
    wanted = bare if "embedding" in turn.policy.enrichments else bare.clear()
    return (
        enriching.enrich(own.join(enrichment, on=keys, how="anti")),
        embedding.embed_texts(wanted, turn.policy.embedder),
    )


def told_of(turn: Turn, enrichment: pl.DataFrame) -> pl.DataFrame:
    """What the policy wants to know of each text; the rest is as if nothing had been read out of it."""
    on = turn.policy.enrichments
    nothing = {
        "keywords": pl.lit([], pl.List(pl.String)),
        "entities": pl.lit([], pl.List(pl.String)),
        "importance": pl.lit(centrality.UNKNOWN_IMPORTANCE),
        "gist": pl.lit(None, pl.String),
    }
    columns = {"importance": "rule_importance"}
    return enrichment.with_columns(
        value.alias(columns.get(name, name)) for name, value in nothing.items() if name not in on
    )


def derive(
    turn: Turn,
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    accesses: pl.DataFrame,
    decided: pl.DataFrame,
) -> pl.DataFrame:
    """Edges that follow from the memories themselves and from how they are used."""
    return associations.derive(
        memories, told_of(turn, enrichment), vectors, accesses, decided, turn.policy, as_of=turn.as_of
    )


def measure(
    turn: Turn,
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    derived: pl.DataFrame,
    decided: pl.DataFrame,
    accesses: pl.DataFrame,
) -> pl.DataFrame:
    """How central each live memory is, over edges at their present weight."""
    edges = associate(turn, decided, derived, decided.clear(), accesses)
    return centrality.measure(memories, importance.effective(memories, told_of(turn, enrichment)), edges, turn.policy)


def score(
    turn: Turn, memories: pl.DataFrame, measured: pl.DataFrame, decided: pl.DataFrame, derived: pl.DataFrame
) -> pl.DataFrame:
    """Every score of every live memory."""
    edges = associations.union(decided, derived)
    return scoring.score(memories, measured, edges, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id)


def defer(
    turn: Turn,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    measured: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """Live originals beyond the run's row limit: they are not compared and grouped now, and come first next time."""
    in_force = projection.unmasked(decisions, reverted).filter(pl.col("as_of") < turn.as_of)
    return budgeting.deferred(profiles, memories, measured, in_force, plan_id=turn.plan_id)


def _worked_on(memories: pl.DataFrame, deferred: pl.DataFrame) -> pl.DataFrame:
    return memories.join(deferred, on=scoring.KEY, how="anti", maintain_order="left")


def compare(
    turn: Turn,
    memories: pl.DataFrame,
    deferred: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    decided: pl.DataFrame,
    derived: pl.DataFrame,
) -> pl.DataFrame:
    """Facts that a newer memory states anew or contradicts."""
    edges = associations.union(decided, derived)
    told, memories = told_of(turn, enrichment), _worked_on(memories, deferred)
    return validity.compare(memories, told, vectors, edges, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id)


def discover(
    turn: Turn,
    memories: pl.DataFrame,
    deferred: pl.DataFrame,
    scored: pl.DataFrame,
    decided: pl.DataFrame,
    derived: pl.DataFrame,
    vectors: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    fact_changes: pl.DataFrame,
) -> pl.DataFrame:
    """Edges that a plan would decide; none if the run decides no links."""
    if Action.LINK not in turn.actions:
        return TABLES["proposed_edges"].empty()
    return associations.discover(
        _worked_on(memories, deferred),
        scored,
        associations.union(decided, derived),
        vectors,
        accesses,
        tier_changes,
        fact_changes,
        turn.policy,
        as_of=turn.as_of,
        plan_id=turn.plan_id,
    )


def associate(
    turn: Turn, decided: pl.DataFrame, derived: pl.DataFrame, proposed: pl.DataFrame, accesses: pl.DataFrame
) -> pl.DataFrame:
    """All edges at their present weight; where two say the same, what was decided stands."""
    edges = associations.union(decided, proposed, derived)
    strengthened = associations.strengthen(edges, accesses, turn.policy, as_of=turn.as_of)
    return associations.decay(strengthened, turn.policy, as_of=turn.as_of)


def cluster(
    turn: Turn,
    memories: pl.DataFrame,
    deferred: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    edges: pl.DataFrame,
) -> Three:
    """Groups of memories: `clusters`, `cluster_members`, `merge_refusals`."""
    told, memories = told_of(turn, enrichment), _worked_on(memories, deferred)
    found = clustering.cluster(
        memories, scored, told, vectors, edges, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id
    )
    return found.clusters, found.cluster_members, found.merge_refusals


def summarise(
    turn: Turn,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    completions: pl.DataFrame,
) -> pl.DataFrame:
    """New summaries of the clusters that have none yet."""
    told = told_of(turn, enrichment)
    return summarising.summarise(
        clusters, members, memories, scored, told, completions, turn.policy, plan_id=turn.plan_id
    )


def promote(
    turn: Turn,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    events: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    edges: pl.DataFrame,
) -> pl.DataFrame:
    """What rises in tier, lifecycle or category."""
    return promotion.promote(
        memories,
        scored,
        events,
        accesses,
        tier_changes,
        edges,
        turn.policy,
        as_of=turn.as_of,
        plan_id=turn.plan_id,
    )


def compile_blocks(
    turn: Turn,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    blocks: pl.DataFrame,
    completions: pl.DataFrame,
    summaries: pl.DataFrame,
    archived: pl.DataFrame,
    fact_changes: pl.DataFrame,
) -> pl.DataFrame:
    """Core memory blocks whose text changes, from the memories as merging, forgetting and closing leave them."""
    expected = core_memory.expected(memories, summaries, archived, fact_changes, actions=turn.actions, as_of=turn.as_of)
    unread = enriching.texts(expected).join(enrichment, on=["profile_id", "content_hash"], how="anti")
    return core_memory.compile_blocks(
        expected,
        scored,
        told_of(turn, pl.concat([enrichment, enriching.enrich(unread)])),
        blocks,
        completions,
        turn.policy,
        as_of=turn.as_of,
        plan_id=turn.plan_id,
    )


def forget(
    turn: Turn,
    scored: pl.DataFrame,
    memories: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    promotions: pl.DataFrame,
    deferred: pl.DataFrame,
) -> pl.DataFrame:
    """What leaves the live set, and why: what the policy forgets, and summaries whose cluster is gone.

    Where memories were deferred nobody knows which clusters are gone.
    """
    standing = pl.concat([summaries, _standing(memories, summaries, clusters)], how="diagonal")
    chosen = forgetting.select(
        scored, memories, standing, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id, promotions=promotions
    )
    named = chosen.select("profile_id", memory_id="target_id").drop_nulls().unique()
    key = ["profile_id", "memory_id"]
    replaced = summaries.select("profile_id", memory_id="replaces").explode("memory_id")
    stale = (
        summarising.stale(memories, clusters, members)
        .join(deferred, on="profile_id", how="anti")
        .join(named, on=key, how="anti")
        .join(replaced, on=key, how="anti")
        .join(chosen, on=key, how="anti")
        .join(scored.select(*key, "strength"), on=key, how="left")
        .with_columns(action=pl.lit(Action.ARCHIVE.value), rule=pl.lit("stale_summary"), plan_id=pl.lit(turn.plan_id))
    )
    return TABLES["archived_set"].conform(pl.concat([chosen, stale], how="diagonal"))


def _standing(memories: pl.DataFrame, summaries: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Live summaries of clusters that get no new one: a member that came back live is theirs again."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", "cluster_id", "memory_id", "members")
    return (
        live.rename({"memory_id": "summary_id"})
        .join(clusters, on=["profile_id", "cluster_id"])
        .join(summaries, on=["profile_id", "cluster_id"], how="anti")
        .select("profile_id", "summary_id", "members", supersedes=pl.col("method").is_in(SUPERSEDING))
    )


def plan(
    turn: Turn,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    blocks: pl.DataFrame,
    summaries: pl.DataFrame,
    archived: pl.DataFrame,
    proposed: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    proposed_blocks: pl.DataFrame,
    deferred: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """What to change: the desired state less the present one, held back where it exceeds the quota."""
    state = projection.State(memories, decided, accesses, tier_changes, blocks)
    if turn.scope == "recent":
        recent = _recent(profiles, memories)
        summaries, archived = _about(recent, summaries, archived)
        proposed = _touching(recent, proposed, "source", "target")
        fact_changes = _touching(recent, fact_changes, "memory_id", "other_id")
    faded = associations.faded(associate(turn, decided, decided.clear(), decided.clear(), accesses), turn.policy)
    proposal = planning.propose(
        profiles,
        state,
        summaries=summaries,
        archived_set=archived,
        proposed_edges=proposed,
        pruned_edges=faded,
        fact_changes=fact_changes,
        promotions=promotions,
        proposed_blocks=proposed_blocks,
        deferred=deferred,
        committed=present(turn, decisions, reverted),
        decisions=decisions,
        reverted=reverted,
        actions=turn.actions,
        superseded_lifecycle=turn.policy.superseded_lifecycle,
    )
    return planning.hold(proposal, profiles, state)


def _recent(profiles: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Memories of the sessions in which something was stored since the last reflection."""
    originals = memories.filter(pl.col("kind") == "original").join(profiles, on="profile_id", suffix="_profile")
    new = originals.filter(pl.col("seq") > pl.col("since")).select(*scoring.KEY, "session_id")
    touched = originals.join(new, on=["profile_id", "session_id"], how="semi")
    return pl.concat([touched.select(scoring.KEY), new.select(scoring.KEY)]).unique()


def _about(recent: pl.DataFrame, summaries: pl.DataFrame, archived: pl.DataFrame) -> Two:
    """Summaries with a recent member, and what they take the place of."""
    made = _touching(recent, summaries.explode("members"), "members").select("profile_id", "summary_id").unique()
    about = made.rename({"summary_id": "target_id"})
    return (
        summaries.join(made, on=["profile_id", "summary_id"], how="semi"),
        archived.join(about, on=["profile_id", "target_id"], how="semi"),
    )


def _touching(recent: pl.DataFrame, rows: pl.DataFrame, *ends: str) -> pl.DataFrame:
    """Rows of which one end is recent."""
    numbered = rows.with_row_index("row")
    found = [
        numbered.join(recent.rename({"memory_id": end}), on=["profile_id", end], how="semi").select("row")
        for end in ends
    ]
    return numbered.join(pl.concat(found).unique(), on="row", how="semi", maintain_order="left").drop("row")


def present(turn: Turn, decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """What earlier runs at this very instant decided and nothing has undone."""
    return projection.unmasked(decisions, reverted).filter(pl.col("as_of") == turn.as_of)


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
    """Apply a plan and describe the state after it; `derived` edges are made anew if the state changes.

    Returns:
        The tables of `SETTLED`: the state, and what describes it, once the plan is committed; then the rows that new
        summaries add to `enrichment` and `vectors`.
    """
    before = projection.State(memories, decided, accesses, tier_changes, blocks)
    state = planning.post_state(before, plan, present(turn, decisions, reverted))
    words, points = enrich(turn, state.memories, enrichment, vectors)
    enrichment, vectors = pl.concat([enrichment, words]), pl.concat([vectors, points])
    same = state.memories.equals(TABLES["memories"].conform(memories))
    if not (same and state.edges.equals(TABLES["decided_edges"].conform(decided))):
        derived = derive(turn, state.memories, enrichment, vectors, state.accesses, state.edges)
    measured = measure(turn, state.memories, enrichment, derived, state.edges, state.accesses)
    scored = score(turn, state.memories, measured, state.edges, derived)
    edges = associate(turn, state.edges, derived, state.edges.clear(), state.accesses)
    shown = replace(state, memories=_buried(state.memories))
    return *frames_of(shown), derived, measured, scored, edges, words, points


def _buried(memories: pl.DataFrame) -> pl.DataFrame:
    """Leave a tombstone of each deleted memory: what it said stands in the ledger alone."""
    gone = pl.col("lifecycle") == Lifecycle.DELETED.value
    return memories.with_columns(
        content=pl.when(gone).then(pl.lit(TOMBSTONE)).otherwise("content"),
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
"""What `settle` returns, in order."""


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
    """Rows of a plan that break an invariant: `profile_id`, `check`, `memory_id`, `detail`; none if all is well."""
    post = projection.State(after, after_edges)
    return planning.violations(
        plan,
        projection.State(memories, decided),
        profiles,
        policy=turn.policy,
        scored=scored,
        post=post,
        retrievable=retrievable(turn, after, vectors),
    )


def retrievable(turn: Turn, memories: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """Live summaries that a search for their own words finds among the ten nearest live memories."""
    keys = ["profile_id", "memory_id"]
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*keys, "kind", "content_hash")
    own = vectors.filter(pl.col("model") == turn.policy.embedder).drop("model")
    points = live.join(own, on=["profile_id", "content_hash"]).sort(keys)
    summaries = points.filter(pl.col("kind") != "original")
    if summaries.is_empty():
        return summaries.select(keys)
    space = similarity.matrix(points["vector"])
    places = points.with_row_index("place").join(summaries, on=keys, how="semi")["place"].to_numpy()
    groups = points["profile_id"].rank("dense").cast(pl.Int64).to_numpy()
    found = similarity.top_k(space[places], space, groups[places], groups, 10)
    hit = places[found.left[places[found.left] == found.right]]
    return points[np.unique(hit)].select(keys)
