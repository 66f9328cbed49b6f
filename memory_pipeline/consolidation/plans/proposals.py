"""Turns the proposals of a run into the decisions of a plan, within the scope of the run.

Not here: the proposals themselves (the stages before), and which decisions a plan may hold (`planning`).
"""

from typing import cast

import polars as pl

from memory_pipeline.consolidation import scope
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import TABLES, Decisions, Frame, Memories, Reverted


def propose(
    context: Context,
    profiles: pl.DataFrame,
    state: State,
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    **proposals: pl.DataFrame,
) -> pl.DataFrame:
    """Return the decisions that follow from the proposals of a run (arguments of `planning.propose`)."""
    within = scope.inside(context.scope, state.memories, proposals["summaries"])
    if within is not None:
        proposals["summaries"], proposals["archived_set"] = scope.without_partial(
            within, summaries=proposals["summaries"], archived=proposals["archived_set"]
        )
    elif context.scope == "recent":
        recent = scope.recent(profiles, state.memories)
        proposals["summaries"], proposals["archived_set"] = scope.about(
            recent_memories=recent, summaries=proposals["summaries"], archived=proposals["archived_set"]
        )
        for edges in ("proposed_edges", "retired_links"):
            proposals[edges] = scope.touching(recent, proposals[edges], "source", "target")
        proposals["fact_changes"] = scope.touching(recent, proposals["fact_changes"], "memory_id", "other_id")
    return planning.propose(
        profiles,
        state,
        **proposals,
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
    **proposals: pl.DataFrame,
) -> tuple[pl.DataFrame, Frame[Memories]]:
    """Return the decisions in force at this instant if a run decided these proposals alone, and the memories then."""
    others = ("proposed_edges", "trims", "proposed_blocks", "deferred")
    nothing = {name: TABLES[name].empty() for name in others}
    nothing |= dict.fromkeys(("pruned_edges", "retired_links"), TABLES["decided_edges"].empty())
    proposal = propose(
        context=context, profiles=profiles, state=state, decisions=decisions, reverted=reverted, **(nothing | proposals)
    )
    in_force = planning.effective(proposal, committed_now(context=context, decisions=decisions, reverted=reverted))
    return in_force, cast("Frame[Memories]", projection.apply(state, in_force).memories)


def committed_now(context: Context, decisions: Frame[Decisions], reverted: Frame[Reverted]) -> pl.DataFrame:
    """Return the decisions that earlier runs committed at this very instant and nothing has undone."""
    return projection.unmasked(decisions, reverted).filter(pl.col("as_of") == context.as_of)
