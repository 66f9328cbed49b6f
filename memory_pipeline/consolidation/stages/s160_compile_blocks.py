"""Compiles core memory.

Not here: what a block holds (`core_memory`, `core_profile`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline.consolidation import core_memory, enrichments
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.plans import proposals
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import (
    INSTANT,
    Accesses,
    Action,
    ArchivedSet,
    Completions,
    CoreMemoryBlocks,
    CoreSentences,
    DecidedEdges,
    Decisions,
    Enrichment,
    FactChanges,
    Frame,
    Memories,
    Profiles,
    Promotions,
    ProposedBlocks,
    ProposedEdges,
    Reverted,
    ScoredMemories,
    Summaries,
    TierChanges,
    conform,
    empty,
)


class Inputs(NamedTuple):
    """Tables that the stage takes."""

    profiles: Frame[Profiles]
    memories: Frame[Memories]
    decided_edges: Frame[DecidedEdges]
    accesses: Frame[Accesses]
    tier_changes: Frame[TierChanges]
    core_memory_blocks: Frame[CoreMemoryBlocks]
    scored_memories: Frame[ScoredMemories]
    enrichment: Frame[Enrichment]
    core_sentences: Frame[CoreSentences]
    completions: Frame[Completions]
    summaries: Frame[Summaries]
    archived_set: Frame[ArchivedSet]
    proposed_edges: Frame[ProposedEdges]
    fact_changes: Frame[FactChanges]
    promotions: Frame[Promotions]
    decisions: Frame[Decisions]
    reverted: Frame[Reverted]


class Outputs(NamedTuple):
    """Table that the stage gives."""

    proposed_blocks: Frame[ProposedBlocks]


@stage()
def compile_blocks(inputs: Inputs, context: Context) -> Outputs:
    """Compile the core memory blocks whose text changes, from the memories as the rest of the plan leaves them."""
    if not context.policy.core_blocks or Action.COMPILE not in context.actions:
        return Outputs(empty(ProposedBlocks))
    state = State(
        memories=inputs.memories, edges=inputs.decided_edges, accesses=inputs.accesses, tier_changes=inputs.tier_changes
    )
    _, remaining = proposals.decided(
        context=context,
        profiles=inputs.profiles,
        state=state,
        decisions=inputs.decisions,
        reverted=inputs.reverted,
        summaries=inputs.summaries,
        archived_set=inputs.archived_set,
        fact_changes=inputs.fact_changes,
        promotions=inputs.promotions,
    )
    compiled = inputs.decisions.filter(
        pl.col("action") == Action.COMPILE.value, pl.col("as_of") < pl.lit(context.as_of, INSTANT)
    )
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
        edges=associations.union(inputs.decided_edges, inputs.proposed_edges),
        changes=inputs.fact_changes,
        known=inputs.core_sentences,
    )
    return Outputs(conform(ProposedBlocks, blocks))
