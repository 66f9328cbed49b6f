"""Plans the run, and finds which profiles the clock leaves alone for some days.

Not here: what follows from the proposals (`plans.proposals`), the order and numbers of decisions (`plans.planning`),
and which runs pass over a profile (`runs/resting.py`).
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.context import Context, recorded_only
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.plans import proposals, quota
from memory_pipeline.consolidation.plans.planning import Proposals
from memory_pipeline.consolidation.stage import DECLARED, stage
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import INSTANT, Action, EventType, Frame, conform, empty

REST: Final = timedelta(days=7)
"""How far ahead of a run its plan looks for what the clock alone would decide."""

_DAYS_TRIED: Final = 2
"""Days of each `REST` since anything happened in a profile on which a plan looks ahead: where it found a decision, one
will come, and looking again every night would cost more than it saves."""

_CLOCKED: Final = (
    "derive_edges",
    "measure_importance",
    "score",
    "propose_edges",
    "associate",
    "cluster",
    "summarise",
    "promote",
    "forget",
    "compile_blocks",
)
"""Stages of which the clock alone can change a result; the others depend on texts and on what happened."""


class Inputs(NamedTuple):
    profiles: Frame[schemas.Profiles]
    events: Frame[schemas.Events]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    core_sentences: Frame[schemas.CoreSentences]
    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]
    neighbours: Frame[schemas.Neighbours]
    pair_readings: Frame[schemas.PairReadings]
    derived_edges: Frame[schemas.DerivedEdges]
    association_edges: Frame[schemas.AssociationEdges]
    memory_importance: Frame[schemas.MemoryImportance]
    scored_memories: Frame[schemas.ScoredMemories]
    clusters: Frame[schemas.Clusters]
    cluster_members: Frame[schemas.ClusterMembers]
    groupings: Frame[schemas.Groupings]
    completions: Frame[schemas.Completions]
    summaries: Frame[schemas.Summaries]
    archived_set: Frame[schemas.ArchivedSet]
    trims: Frame[schemas.Trims]
    proposed_edges: Frame[schemas.ProposedEdges]
    change_odds: Frame[schemas.ChangeOdds]
    fact_changes: Frame[schemas.FactChanges]
    promotions: Frame[schemas.Promotions]
    proposed_blocks: Frame[schemas.ProposedBlocks]
    deferred: Frame[schemas.Deferred]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]


class Outputs(NamedTuple):
    consolidation_plan: Frame[schemas.ConsolidationPlan]
    rests: Frame[schemas.Rests]


@stage()
def plan(inputs: Inputs, context: Context) -> Outputs:
    """Plan the run: the desired state less the present one, held back for a profile that exceeds its quota."""
    planned = _planned(inputs._asdict(), context)
    return Outputs(planned, _rests(inputs, planned=planned, context=context))


def _planned(tables: Mapping[str, pl.DataFrame], context: Context) -> Frame[schemas.ConsolidationPlan]:
    """Return the plan that follows from tables of the stage."""
    inputs = Inputs(*(tables[name] for name in Inputs._fields))  # type: ignore[arg-type]  # by name
    state = State(
        memories=inputs.memories,
        edges=inputs.decided_edges,
        accesses=inputs.accesses,
        tier_changes=inputs.tier_changes,
        blocks=inputs.core_memory_blocks,
    )
    faded = associations.faded(
        associations.at_present([inputs.decided_edges], inputs.accesses, context.policy, as_of=context.as_of),
        context.policy,
    )
    proposal = proposals.propose(
        context=context,
        profiles=inputs.profiles,
        state=state,
        decisions=inputs.decisions,
        reverted=inputs.reverted,
        proposed=Proposals(
            summaries=inputs.summaries,
            archived_set=inputs.archived_set,
            fact_changes=inputs.fact_changes,
            promotions=inputs.promotions,
            proposed_edges=inputs.proposed_edges,
            pruned_edges=faded,
            retired_links=proposals.retired_links(
                context=context,
                decided_edges=inputs.decided_edges,
                fact_changes=inputs.fact_changes,
                memories=inputs.memories,
                deferred=inputs.deferred,
            ),
            trims=inputs.trims,
            proposed_blocks=inputs.proposed_blocks,
            deferred=inputs.deferred,
        ),
    )
    return conform(schemas.ConsolidationPlan, quota.hold(plan=proposal, profiles=inputs.profiles, state=state))


def _rests(inputs: Inputs, *, planned: pl.DataFrame, context: Context) -> Frame[schemas.Rests]:
    """Return the profiles for which no decision would follow at the end of `REST` either, if nothing happens.

    What fades or ends stays so, hence what is decided at no end of that time is decided at no instant within it.
    """
    idle = _idle(inputs, planned=planned, context=context)
    if idle.is_empty():
        return empty(schemas.Rests)
    ahead = replace(context, as_of=context.as_of + REST, complete=recorded_only)
    tables = {name: rows.join(idle, on="profile_id", how="semi") for name, rows in inputs._asdict().items()}
    tables["profiles"] = tables["profiles"].with_columns(as_of=pl.lit(ahead.as_of, INSTANT))
    for one in DECLARED:
        if one.name in _CLOCKED:
            tables |= one.made(tables, ahead)
    resting = idle.join(_planned(tables, ahead), on="profile_id", how="anti")
    return conform(
        schemas.Rests,
        resting.with_columns(until=pl.lit(ahead.as_of, INSTANT), plan_id=pl.lit(context.plan_id)),
    )


def _idle(inputs: Inputs, *, planned: pl.DataFrame, context: Context) -> pl.DataFrame:
    """Return the profiles about which a whole run decides nothing, and of which nothing begins to hold later."""
    profiles = inputs.profiles.filter(row_limit=0, retry_reverted=False).select("profile_id")
    profiles = profiles.join(planned, on="profile_id", how="anti")
    whole = context.scope == "all" and context.actions == frozenset(Action)
    if profiles.is_empty() or not whole or not _steady(context):
        return profiles.clear()
    now = pl.lit(context.as_of, INSTANT)
    written = inputs.events.filter(pl.col("event_type") != EventType.RUN_COMMITTED.value)
    last = [written.select("profile_id", at="occurred_at"), inputs.decisions.select("profile_id", at="as_of")]
    since = (now - pl.col("at").max()).dt.total_days() % REST.days
    tried = pl.concat(last).group_by("profile_id").agg(since=since).filter(pl.col("since") < _DAYS_TRIED)
    profiles = profiles.join(tried, on="profile_id", how="semi")
    begin = inputs.memories.filter(pl.max_horizontal("valid_from", "said_at") > now)
    committed = proposals.committed_now(context=context, decisions=inputs.decisions, reverted=inputs.reverted)
    for busy in (committed, inputs.deferred, begin):
        profiles = profiles.join(busy, on="profile_id", how="anti")
    return profiles


def _steady(context: Context) -> bool:
    """Return whether neither a model, nor sampling, nor groups by present scores can decide anything under a policy."""
    policy = context.policy
    grouped_by_score = "fading_groups" in policy.methods or policy.cluster_min_relevance > 0
    return policy.llm_model is None and "creative" not in policy.associations and not grouped_by_score
