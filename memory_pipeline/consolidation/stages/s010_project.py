"""Folds the ledger into the state of every memory.

Not here: the fold (`state.projection`), and what of it is taken over from the last run (`state.foldings`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import foldings as folded
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import (
    Accesses,
    CoreMemoryBlocks,
    DecidedEdges,
    Decisions,
    Events,
    Foldings,
    Frame,
    Memories,
    Reverted,
    TierChanges,
    conform,
)


class Inputs(NamedTuple):
    """Tables that the stage takes."""

    events: Frame[Events]
    decisions: Frame[Decisions]
    reverted: Frame[Reverted]
    memories: Frame[Memories]
    decided_edges: Frame[DecidedEdges]
    tier_changes: Frame[TierChanges]
    core_memory_blocks: Frame[CoreMemoryBlocks]
    foldings: Frame[Foldings]


class Outputs(NamedTuple):
    """The tables that a state consists of, and what they were folded from."""

    memories: Frame[Memories]
    decided_edges: Frame[DecidedEdges]
    accesses: Frame[Accesses]
    tier_changes: Frame[TierChanges]
    core_memory_blocks: Frame[CoreMemoryBlocks]
    foldings: Frame[Foldings]


@stage(reuse=Foldings)
def project(inputs: Inputs, context: Context) -> Outputs:
    """Fold the ledger into the state before anything was decided at this instant.

    Profiles in which nothing was written or decided since the last run have the state that it left.
    """
    before = projection.unmasked(inputs.decisions, inputs.reverted).filter(pl.col("as_of") < context.as_of)
    read = folded.digests(inputs.events, before)
    published = State(
        inputs.memories, inputs.decided_edges, tier_changes=inputs.tier_changes, blocks=inputs.core_memory_blocks
    )
    state = folded.state(inputs.events, before, read=read, published=published, foldings=inputs.foldings)
    return Outputs(
        memories=conform(Memories, state.memories),
        decided_edges=conform(DecidedEdges, state.edges),
        accesses=conform(Accesses, state.accesses),
        tier_changes=conform(TierChanges, state.tier_changes),
        core_memory_blocks=conform(CoreMemoryBlocks, state.blocks),
        foldings=conform(Foldings, folded.whole(read, state.memories, state.blocks)),
    )
