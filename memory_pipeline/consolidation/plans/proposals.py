"""Turns the proposals of a run into the decisions of a plan, within the scope of the run.

Not here: the proposals themselves (the stages before), and which decisions a plan may hold (`planning`).
"""

from typing import cast

import polars as pl

from memory_pipeline.consolidation import judging, scope
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import links
from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.plans.planning import Proposals
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import Action, DecidedEdges, Decisions, Deferred, FactChanges, Frame, Memories, Reverted


def propose(
    context: Context,
    profiles: pl.DataFrame,
    state: State,
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    proposed: Proposals,
) -> pl.DataFrame:
    """Return the decisions that follow from the proposals of a run."""
    within = scope.inside(context.scope, state.memories, proposed.summaries)
    if within is not None:
        summaries, archived = scope.without_partial(
            within, summaries=proposed.summaries, archived=proposed.archived_set
        )
        proposed = proposed._replace(summaries=summaries, archived_set=archived)
    elif context.scope == "recent":
        recent = scope.recent(profiles, state.memories)
        summaries, archived = scope.about(
            recent_memories=recent, summaries=proposed.summaries, archived=proposed.archived_set
        )
        proposed = proposed._replace(
            summaries=summaries,
            archived_set=archived,
            proposed_edges=scope.touching(recent, proposed.proposed_edges, "source", "target"),
            retired_links=scope.touching(recent, proposed.retired_links, "source", "target"),
            fact_changes=scope.touching(recent, proposed.fact_changes, "memory_id", "other_id"),
        )
    return planning.propose(
        profiles,
        state,
        proposed,
        committed=committed_now(context=context, decisions=decisions, reverted=reverted),
        decisions=decisions,
        reverted=reverted,
        actions=context.actions,
        superseded_lifecycle=context.policy.superseded_lifecycle,
        within=within,
    )


def decided(
    context: Context,
    profiles: pl.DataFrame,
    state: State,
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    proposed: Proposals,
) -> tuple[pl.DataFrame, Frame[Memories]]:
    """Return the decisions in force at this instant if a run decided these proposals alone, and the memories then."""
    proposal = propose(context, profiles, state, decisions, reverted, proposed)
    in_force = planning.in_force_after(proposal, committed_now(context=context, decisions=decisions, reverted=reverted))
    return in_force, cast("Frame[Memories]", projection.apply(state, in_force).memories)


def committed_now(context: Context, decisions: Frame[Decisions], reverted: Frame[Reverted]) -> pl.DataFrame:
    """Return the decisions that earlier runs committed at this very instant and nothing has undone."""
    now = pl.col("as_of") == context.as_of
    if decisions.select(now.any()).item() is not True:
        return decisions.clear()
    return projection.unmasked(decisions, reverted).filter(now)


def retired_links(
    context: Context,
    decided_edges: Frame[DecidedEdges],
    fact_changes: Frame[FactChanges],
    memories: Frame[Memories],
    deferred: Frame[Deferred],
) -> pl.DataFrame:
    """Return links about facts that no longer hold; none where this run has not compared the facts."""
    if not judging.compares(context.policy) or Action.LINK not in context.actions:
        return decided_edges.clear()
    return links.no_longer_held(decided_edges, fact_changes, memories, deferred, as_of=context.as_of)
