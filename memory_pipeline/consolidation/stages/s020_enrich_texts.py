"""Extracts from texts what later stages read.

Not here: how a text is read (`text.enrich`, `text.embed`), and its core sentences (`core_profile`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import core_memory, core_profile, enrichments, judging
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import LIVE, Frame, conform
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare.judges import JUDGES


class Inputs(NamedTuple):
    """Tables that the stage takes."""

    memories: Frame[schemas.Memories]
    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]
    core_sentences: Frame[schemas.CoreSentences]


class Outputs(NamedTuple):
    """What is extracted from texts."""

    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]
    core_sentences: Frame[schemas.CoreSentences]


@stage(reuse=schemas.CoreSentences)
def enrich_texts(inputs: Inputs, context: Context) -> Outputs:
    """Extract words from, and embed, texts that have no row in `enrichment` or `vectors` yet; find core sentences."""
    added = enrichments.new_texts(
        memories=inputs.memories, enrichment=inputs.enrichment, vectors=inputs.vectors, policy=context.policy
    )
    live = inputs.memories.filter(pl.col("lifecycle").is_in(LIVE) & _reads_sentences(context.policy))
    return Outputs(
        added.enrichment,
        added.vectors,
        conform(schemas.CoreSentences, core_profile.sentences(live, inputs.core_sentences)),
    )


def _reads_sentences(policy: Policy) -> bool:
    """Return whether anything in a policy reads sentences: a profile of the user, a judge, or a token budget."""
    profiles_user = policy.core_blocks and policy.core_facts == core_memory.PROFILE
    judged = judging.compares(policy) and JUDGES[policy.judge].reads
    return profiles_user or judged or policy.token_budget is not None
