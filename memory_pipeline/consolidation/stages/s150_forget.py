"""Selects what leaves the live set, and what of a text recall still shows.

Not here: the rules of forgetting (`forgetting`), what is worth keeping (`keeping`, `worth`), and how a text is trimmed
(`trimming`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import (
    atomic_facts,
    currency,
    enrichments,
    forgetting,
    keeping,
    trimming,
    worth,
)
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.groups.strategies import SUPERSEDING
from memory_pipeline.consolidation.plans import proposals, quota
from memory_pipeline.consolidation.plans.planning import Proposals
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.consolidation.summaries import summarising
from memory_pipeline.schemas import LIVE, Action, Frame, conform, empty


class Inputs(NamedTuple):
    profiles: Frame[schemas.Profiles]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    scored_memories: Frame[schemas.ScoredMemories]
    enrichment: Frame[schemas.Enrichment]
    completions: Frame[schemas.Completions]
    summaries: Frame[schemas.Summaries]
    clusters: Frame[schemas.Clusters]
    cluster_members: Frame[schemas.ClusterMembers]
    change_odds: Frame[schemas.ChangeOdds]
    fact_changes: Frame[schemas.FactChanges]
    association_edges: Frame[schemas.AssociationEdges]
    promotions: Frame[schemas.Promotions]
    deferred: Frame[schemas.Deferred]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]
    core_sentences: Frame[schemas.CoreSentences]


class Outputs(NamedTuple):
    """What leaves the live set, and what recall shows of the rest."""

    archived_set: Frame[schemas.ArchivedSet]
    trims: Frame[schemas.Trims]


@stage()
def forget(inputs: Inputs, context: Context) -> Outputs:
    """Select what leaves the live set, and trim texts to the token budget.

    What the policy forgets and stale summaries come first; then, of the remaining memories, those that do not fit the
    token budget, as far as the quota permits.
    """
    leaving = _leaving(inputs, context)
    if context.policy.token_budget is None or Action.TRIM not in context.actions or context.scope != "all":
        return Outputs(leaving, empty(schemas.Trims))
    state = State(
        memories=inputs.memories, edges=inputs.decided_edges, accesses=inputs.accesses, tier_changes=inputs.tier_changes
    )
    decided, remaining = proposals.decided(
        context=context,
        profiles=inputs.profiles,
        state=state,
        decisions=inputs.decisions,
        reverted=inputs.reverted,
        proposed=Proposals(
            summaries=inputs.summaries,
            archived_set=leaving,
            fact_changes=inputs.fact_changes,
            promotions=inputs.promotions,
        ),
    )
    said = worth.of_sentences(remaining, inputs.core_sentences)
    trims, dropped = trimming.select(
        memories=remaining,
        scored=inputs.scored_memories,
        enrichment=enrichments.of(remaining, inputs.enrichment, context.policy),
        ranks=keeping.ranked(
            memories=remaining,
            edges=inputs.association_edges,
            fact_changes=inputs.fact_changes,
            accesses=inputs.accesses,
            odds=inputs.change_odds,
            said=said,
            as_of=context.as_of,
        ),
        said=said,
        spare=quota.spare(decided=decided, profiles=inputs.profiles, state=state),
        policy=context.policy,
        plan_id=context.plan_id,
    )
    dropped = dropped.join(inputs.memories, on=KEY, how="semi")
    staying = leaving.join(dropped, on=KEY, how="anti")
    return Outputs(conform(schemas.ArchivedSet, pl.concat([staying, dropped])), conform(schemas.Trims, trims))


def _leaving(inputs: Inputs, context: Context) -> Frame[schemas.ArchivedSet]:
    """Select what the policy forgets, stale summaries, and facts that their entry no longer states.

    Where memories were deferred, it is unknown which clusters are gone.
    """
    past = currency.past(
        memories=inputs.memories,
        edges=inputs.association_edges,
        fact_changes=inputs.fact_changes,
        policy=context.policy,
        as_of=context.as_of,
    )
    lasting = pl.concat(
        [
            inputs.summaries,
            _remaining_summaries(memories=inputs.memories, summaries=inputs.summaries, clusters=inputs.clusters),
        ],
        how="diagonal",
    )
    selected = forgetting.select(
        scored=inputs.scored_memories,
        memories=inputs.memories,
        summaries=lasting,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
        promotions=inputs.promotions,
    )
    successors = selected.select("profile_id", memory_id="target_id").drop_nulls().unique()
    replaced = inputs.summaries.select("profile_id", memory_id="replaces").explode("memory_id")
    stated = atomic_facts.split(
        candidates=atomic_facts.entries(inputs.memories, context.policy),
        recorded=inputs.completions,
        policy=context.policy,
    )
    withdrawn = atomic_facts.withdrawn(accepted=stated, memories=inputs.memories, changes=inputs.fact_changes)
    untold = summarising.stale(
        memories=inputs.memories,
        clusters=inputs.clusters,
        cluster_members=inputs.cluster_members,
        policy=context.policy,
        outdated=past,
    )
    stale = (
        pl.concat([untold, withdrawn])
        .join(inputs.deferred, on="profile_id", how="anti")
        .join(successors, on=KEY, how="anti")
        .join(replaced, on=KEY, how="anti")
        .join(selected, on=KEY, how="anti")
        .join(inputs.scored_memories.select(*KEY, "strength"), on=KEY, how="left")
        .with_columns(
            action=pl.lit(Action.ARCHIVE.value), rule=pl.lit("stale_summary"), plan_id=pl.lit(context.plan_id)
        )
    )
    return conform(schemas.ArchivedSet, pl.concat([selected, stale], how="diagonal"))


def _remaining_summaries(memories: pl.DataFrame, summaries: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Return live summaries whose cluster gets no new one; they supersede again members that became live again."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", "cluster_id", "memory_id", "members")
    return (
        live.rename({"memory_id": "summary_id"})
        .join(clusters, on=["profile_id", "cluster_id"])
        .join(summaries, on=["profile_id", "cluster_id"], how="anti")
        .select("profile_id", "summary_id", "members", supersedes=pl.col("method").is_in(SUPERSEDING))
    )
