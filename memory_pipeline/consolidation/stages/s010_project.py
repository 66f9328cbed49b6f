"""Folds the ledger into the state of every memory, and reads what the memories say.

Not here: the fold (`state.projection`), what of it is taken over from the last run (`state.foldings`), the sentences
(`core_sentences`), and what they say of a memory (`memory_types`).
"""

from typing import Final, NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import core_sentences, judging, memory_types
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import foldings as folded
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import Frame, Lifecycle, conform
from memory_pipeline.settings import Policy


class Inputs(NamedTuple):
    events: Frame[schemas.Events]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    foldings: Frame[schemas.Foldings]
    core_sentences: Frame[schemas.CoreSentences]


class Outputs(NamedTuple):
    """The tables that a state consists of, what they were folded from, and what was read."""

    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    foldings: Frame[schemas.Foldings]
    core_sentences: Frame[schemas.CoreSentences]


@stage(reuse=[schemas.Foldings, schemas.CoreSentences])
def project(inputs: Inputs, context: Context) -> Outputs:
    """Fold the ledger into the state before anything was decided at this instant.

    Profiles in which nothing was written or decided since the last run have the state that it left. Texts are read
    once; types, categories and importance that no agent gave follow from what was read, also in a run about a part of a
    profile.
    """
    before = projection.unmasked(inputs.decisions, inputs.reverted).filter(pl.col("as_of") < context.as_of)
    read = folded.digests(inputs.events, before)
    published = State(
        inputs.memories, inputs.decided_edges, tier_changes=inputs.tier_changes, blocks=inputs.core_memory_blocks
    )
    state = folded.state(inputs.events, before, read=read, published=published, foldings=inputs.foldings)
    read_texts = state.memories.filter(~pl.col("lifecycle").is_in(_UNREADABLE) & _reads_sentences(context.policy))
    sentences = core_sentences.sentences(read_texts, inputs.core_sentences)
    named = memory_types.named(state.memories, sentences)
    if "importance" not in context.policy.enrichments:
        named = named.with_columns(importance_read=pl.lit(None, pl.Float64))
    return Outputs(
        memories=conform(schemas.Memories, named),
        decided_edges=conform(schemas.DecidedEdges, state.edges),
        accesses=conform(schemas.Accesses, state.accesses),
        tier_changes=conform(schemas.TierChanges, state.tier_changes),
        core_memory_blocks=conform(schemas.CoreMemoryBlocks, state.blocks),
        foldings=conform(schemas.Foldings, folded.whole(read, state.memories, state.blocks)),
        core_sentences=conform(schemas.CoreSentences, sentences),
    )


_UNREADABLE: Final = tuple(one.value for one in (Lifecycle.STUB, Lifecycle.DELETED, Lifecycle.ERASED))
"""Lifecycles whose texts are gone, or cut."""


def _reads_sentences(policy: Policy) -> bool:
    """Return whether anything in a policy reads sentences, or types, categories and importance that no agent gave."""
    typed = policy.protected_types or "creative" in policy.associations or policy.strength == "retention"
    return bool(policy.core_blocks or judging.compares(policy) or typed or policy.token_budget is not None)
