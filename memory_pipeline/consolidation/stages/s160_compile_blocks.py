"""Compiles core memory. Not here: what a block holds (`core_memory`, `core_profile`)."""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import core_memory, enrichments
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.plans import proposals
from memory_pipeline.consolidation.plans.planning import Proposals
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import INSTANT, TABLES, Action, Frame, conform, empty


class Inputs(NamedTuple):
    profiles: Frame[schemas.Profiles]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    scored_memories: Frame[schemas.ScoredMemories]
    enrichment: Frame[schemas.Enrichment]
    core_sentences: Frame[schemas.CoreSentences]
    completions: Frame[schemas.Completions]
    summaries: Frame[schemas.Summaries]
    archived_set: Frame[schemas.ArchivedSet]
    proposed_edges: Frame[schemas.ProposedEdges]
    fact_changes: Frame[schemas.FactChanges]
    promotions: Frame[schemas.Promotions]
    deferred: Frame[schemas.Deferred]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]


class Outputs(NamedTuple):
    proposed_blocks: Frame[schemas.ProposedBlocks]


@stage()
def compile_blocks(inputs: Inputs, context: Context) -> Outputs:
    """Compile the core memory blocks whose text changes, from the memories as the rest of the plan leaves them."""
    if not context.policy.core_blocks or Action.COMPILE not in context.actions:
        return Outputs(empty(schemas.ProposedBlocks))
    state = State(
        memories=inputs.memories, edges=inputs.decided_edges, accesses=inputs.accesses, tier_changes=inputs.tier_changes
    )
    _, remaining = proposals.decided(
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
        ),
    )
    retired = proposals.retired_links(
        context=context,
        decided_edges=inputs.decided_edges,
        fact_changes=inputs.fact_changes,
        memories=inputs.memories,
        deferred=inputs.deferred,
    )
    kept = inputs.decided_edges.join(retired, on=TABLES["decided_edges"].key, how="anti")
    compiled = inputs.decisions.filter(does(Action.COMPILE), pl.col("as_of") < pl.lit(context.as_of, INSTANT))
    versions = compiled.select("profile_id", *decision_json.read("after", {"version": pl.Int64()}), block="memory_id")
    blocks = core_memory.compile_blocks(
        memories=remaining,
        scored=inputs.scored_memories,
        enrichment=enrichments.of(remaining, inputs.enrichment, context.policy),
        blocks=core_memory.numbered(inputs.core_memory_blocks, versions),
        completions=inputs.completions,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
        edges=associations.union(kept, inputs.proposed_edges),
        changes=inputs.fact_changes,
        known=inputs.core_sentences,
    )
    return Outputs(conform(schemas.ProposedBlocks, blocks))
