"""The stages of a run: each takes tables of the profiles of one policy and returns tables.

A stage here only hands a policy's values to the module that knows how (`scoring`, `clustering`, ...). The same
functions are the bodies of the assets, of a rebuild and of an undo, so that all three give the same tables.
What is not here: their order, and several policies in one run (`pipeline`).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import (
    change_detection,
    core_memory,
    forgetting,
    promotion,
    row_limits,
    scope,
    scoring,
    trimming,
)
from memory_pipeline.consolidation.edges import associations, centrality
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.groups.strategies import SUPERSEDING
from memory_pipeline.consolidation.plans import decision_rows, planning
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.consolidation.summaries import model_requests, summarising
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Action
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich as enriching
from memory_pipeline.text.embed import embedding
from memory_pipeline.text.score import importance

JOINED: Final = frozenset(Action) - {Action.PRUNE, Action.COMPILE}
"""What is decided by, or changes, the edges that follow from memories: a run that decides nothing of it makes none."""

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


def frames_of(state: State) -> Frames:
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
    return centrality.measure(
        memories, importance.effective(memories, told_of(turn, enrichment)), edges, turn.policy, as_of=turn.as_of
    )


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
    return row_limits.deferred(profiles, memories, measured, in_force, plan_id=turn.plan_id)


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
    return change_detection.compare(memories, told, vectors, edges, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id)


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


def ask(
    turn: Turn,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
) -> pl.DataFrame:
    """What a language model is to be asked for the summaries and blocks of this run; nothing where no model is set."""
    told = told_of(turn, enrichment)
    return model_requests.requests(
        clusters, members, memories, scored, told, turn.policy, as_of=turn.as_of, actions=turn.actions
    )


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
    fact_changes: pl.DataFrame,
) -> pl.DataFrame:
    """What rises in tier, lifecycle or category."""
    return promotion.promote(
        memories,
        scored,
        events,
        accesses,
        tier_changes,
        edges,
        fact_changes,
        turn.policy,
        as_of=turn.as_of,
        plan_id=turn.plan_id,
    )


def forget(
    turn: Turn,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    deferred: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> Two:
    """What leaves the live set, and what is left of texts: `archived_set` and `trims`.

    First what the policy forgets, and summaries whose cluster is gone; then, of what all that leaves, what a token
    budget has no room for, as far as the quota lets it leave.
    """
    leaving = _leaving(turn, scored, memories, summaries, clusters, members, promotions, deferred)
    if turn.policy.token_budget is None or Action.TRIM not in turn.actions or turn.scope != "all":
        return leaving, TABLES["trims"].empty()
    wishes = {"summaries": summaries, "archived_set": leaving, "fact_changes": fact_changes, "promotions": promotions}
    state = State(memories, decided, accesses, tier_changes)
    decided = _decided(turn, profiles, state, decisions, reverted, **wishes)
    left, spare = projection.apply(state, decided).memories, planning.spare(decided, profiles, state)
    told = _read(turn, left, enrichment)
    trims, dropped = trimming.select(left, scored, told, spare, turn.policy, plan_id=turn.plan_id)
    dropped = dropped.join(memories, on=scoring.KEY, how="semi")
    staying = leaving.join(dropped, on=scoring.KEY, how="anti")
    return TABLES["archived_set"].conform(pl.concat([staying, dropped])), trims


def _leaving(
    turn: Turn,
    scored: pl.DataFrame,
    memories: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    promotions: pl.DataFrame,
    deferred: pl.DataFrame,
) -> pl.DataFrame:
    """What the policy forgets, and summaries whose cluster is gone.

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


def compile_blocks(
    turn: Turn,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    accesses: pl.DataFrame,
    tier_changes: pl.DataFrame,
    blocks: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    completions: pl.DataFrame,
    summaries: pl.DataFrame,
    archived: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """Core memory blocks whose text changes, from the memories as all else that the run decides leaves them."""
    if not turn.policy.core_blocks or Action.COMPILE not in turn.actions:
        return TABLES["proposed_blocks"].empty()
    wishes = {"summaries": summaries, "archived_set": archived, "fact_changes": fact_changes, "promotions": promotions}
    state = State(memories, decided, accesses, tier_changes)
    left = projection.apply(state, _decided(turn, profiles, state, decisions, reverted, **wishes)).memories
    earlier = decisions.filter(pl.col("action") == Action.COMPILE.value, pl.col("as_of") < pl.lit(turn.as_of, INSTANT))
    used = earlier.select("profile_id", *decision_rows.read("after", {"version": pl.Int64()}), block="memory_id")
    return core_memory.compile_blocks(
        left,
        scored,
        _read(turn, left, enrichment),
        core_memory.numbered(blocks, used),
        completions,
        turn.policy,
        as_of=turn.as_of,
        plan_id=turn.plan_id,
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
    trims: pl.DataFrame,
    proposed: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    proposed_blocks: pl.DataFrame,
    deferred: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """What to change: the desired state less the present one, held back where it exceeds the quota."""
    state = State(memories, decided, accesses, tier_changes, blocks)
    faded = associations.faded(associate(turn, decided, decided.clear(), decided.clear(), accesses), turn.policy)
    wishes = {
        "summaries": summaries,
        "archived_set": archived,
        "trims": trims,
        "proposed_edges": proposed,
        "pruned_edges": faded,
        "fact_changes": fact_changes,
        "promotions": promotions,
        "proposed_blocks": proposed_blocks,
        "deferred": deferred,
    }
    return planning.hold(_proposal(turn, profiles, state, decisions, reverted, **wishes), profiles, state)


def _proposal(
    turn: Turn,
    profiles: pl.DataFrame,
    state: State,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    **wishes: pl.DataFrame,
) -> pl.DataFrame:
    """What is decided of the wishes of a run (arguments of `planning.propose`)."""
    if turn.scope == "recent":
        recent = scope.recent(profiles, state.memories)
        wishes["summaries"], wishes["archived_set"] = scope.about(recent, wishes["summaries"], wishes["archived_set"])
        wishes["proposed_edges"] = scope.touching(recent, wishes["proposed_edges"], "source", "target")
        wishes["fact_changes"] = scope.touching(recent, wishes["fact_changes"], "memory_id", "other_id")
    return planning.propose(
        profiles,
        state,
        **wishes,
        committed=present(turn, decisions, reverted),
        decisions=decisions,
        reverted=reverted,
        actions=turn.actions,
        superseded_lifecycle=turn.policy.superseded_lifecycle,
    )


def _decided(
    turn: Turn,
    profiles: pl.DataFrame,
    state: State,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    **wishes: pl.DataFrame,
) -> pl.DataFrame:
    """What is in force at this instant if a run decides these wishes alone: what was undone is not among them."""
    others = ("proposed_edges", "pruned_edges", "trims", "proposed_blocks", "deferred")
    nothing = {name: TABLES["decided_edges" if name == "pruned_edges" else name].empty() for name in others}
    proposal = _proposal(turn, profiles, state, decisions, reverted, **(nothing | wishes))
    return planning.effective(proposal, present(turn, decisions, reverted))


def _read(turn: Turn, memories: pl.DataFrame, enrichment: pl.DataFrame) -> pl.DataFrame:
    """What is told of texts, those that the run itself makes among them."""
    unread = enriching.texts(memories).join(enrichment, on=["profile_id", "content_hash"], how="anti")
    return told_of(turn, pl.concat([enrichment, enriching.enrich(unread)]))


def present(turn: Turn, decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """What earlier runs at this very instant decided and nothing has undone."""
    return projection.unmasked(decisions, reverted).filter(pl.col("as_of") == turn.as_of)
