"""Plans the run.

Not here: what follows from the proposals (`plans.proposals`), and the order and numbers of decisions
(`plans.planning`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import judging
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations, links
from memory_pipeline.consolidation.plans import planning, proposals
from memory_pipeline.consolidation.plans.planning import Proposals
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import Action, Frame, conform


class Inputs(NamedTuple):
    profiles: Frame[schemas.Profiles]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    summaries: Frame[schemas.Summaries]
    archived_set: Frame[schemas.ArchivedSet]
    trims: Frame[schemas.Trims]
    proposed_edges: Frame[schemas.ProposedEdges]
    fact_changes: Frame[schemas.FactChanges]
    promotions: Frame[schemas.Promotions]
    proposed_blocks: Frame[schemas.ProposedBlocks]
    deferred: Frame[schemas.Deferred]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]


class Outputs(NamedTuple):
    consolidation_plan: Frame[schemas.ConsolidationPlan]


@stage()
def plan(inputs: Inputs, context: Context) -> Outputs:
    """Plan the run: the desired state less the present one, held back for a profile that exceeds its quota."""
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
            inputs.summaries,
            inputs.archived_set,
            inputs.fact_changes,
            inputs.promotions,
            proposed_edges=inputs.proposed_edges,
            pruned_edges=faded,
            retired_links=_retired(inputs, context),
            trims=inputs.trims,
            proposed_blocks=inputs.proposed_blocks,
            deferred=inputs.deferred,
        ),
    )
    return Outputs(
        conform(schemas.ConsolidationPlan, planning.hold(plan=proposal, profiles=inputs.profiles, state=state))
    )


def _retired(inputs: Inputs, context: Context) -> pl.DataFrame:
    """Return links about facts that no longer hold; none where this run has not compared the facts."""
    if not judging.compares(context.policy) or Action.LINK not in context.actions:
        return inputs.decided_edges.clear()
    return links.no_longer_held(
        decided=inputs.decided_edges,
        fact_changes=inputs.fact_changes,
        memories=inputs.memories,
        deferred=inputs.deferred,
        as_of=context.as_of,
    )
