"""Extracts from texts what later stages read. Not here: how a text is read (`text.enrich`, `text.embed`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation import enrichments
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]


class Outputs(NamedTuple):
    """What is extracted from texts."""

    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]


@stage()
def enrich_texts(inputs: Inputs, context: Context) -> Outputs:
    """Extract words from, and embed, texts that have no row in `enrichment` or `vectors` yet."""
    added = enrichments.new_texts(
        memories=inputs.memories, enrichment=inputs.enrichment, vectors=inputs.vectors, policy=context.policy
    )
    return Outputs(added.enrichment, added.vectors)
