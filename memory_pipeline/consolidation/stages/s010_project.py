"""Folds the ledger into the state of every memory.

Not here: the fold (`state.projection`), and what of it is taken over from the last run (`state.foldings`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import foldings as folded
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    """Tables that the stage takes."""

    events: Frame[schemas.Events]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    foldings: Frame[schemas.Foldings]


class Outputs(NamedTuple):
    """The tables that a state consists of, and what they were folded from."""

    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    foldings: Frame[schemas.Foldings]


@stage(reuse=schemas.Foldings)
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
        memories=conform(schemas.Memories, state.memories),
        decided_edges=conform(schemas.DecidedEdges, state.edges),
        accesses=conform(schemas.Accesses, state.accesses),
        tier_changes=conform(schemas.TierChanges, state.tier_changes),
        core_memory_blocks=conform(schemas.CoreMemoryBlocks, state.blocks),
        foldings=conform(schemas.Foldings, folded.whole(read, state.memories, state.blocks)),
    )
