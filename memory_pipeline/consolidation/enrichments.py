"""Says what stages read of texts: new rows of `enrichment` and `vectors`, and only what the policy has switched on.

Not here: how a text is read (`text.enrich`) and embedded (`text.embed`).
"""

from typing import NamedTuple, cast

import polars as pl

from memory_pipeline.consolidation import judging
from memory_pipeline.consolidation.edges import centrality
from memory_pipeline.schemas import Enrichment, Frame, Memories, Vectors, conform, empty
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich
from memory_pipeline.text.embed import embedding, encoder


class Added(NamedTuple):
    """What is extracted from new texts, for good."""

    enrichment: Frame[Enrichment]
    vectors: Frame[Vectors]


def new_texts(
    memories: Frame[Memories], enrichment: Frame[Enrichment], vectors: Frame[Vectors], policy: Policy
) -> Added:
    """Return the rows that the texts of memories lack in `enrichment` and `vectors`.

    The judge reads vectors of its own where the policy's embedder is another one.
    """
    keys = ["profile_id", "content_hash"]
    texts = enrich.texts(memories)
    models = {policy.embedder} if "embedding" in policy.enrichments else set[str]()
    if judging.compares(policy):
        models.add(encoder.NAME)
    added = [empty(Vectors)]
    for model in sorted(models):
        embedded = vectors.filter(pl.col("model") == model)
        missing = texts.join(embedded, on=keys, how="anti").with_columns(content="embedded")
        added.append(conform(Vectors, embedding.embed_texts(missing, model)))
    return Added(
        conform(Enrichment, enrich.enrich(texts.join(enrichment, on=keys, how="anti"))),
        conform(Vectors, pl.concat(added)),
    )


def enabled(enrichment: Frame[Enrichment], policy: Policy) -> Frame[Enrichment]:
    """Replace the enrichments that the policy disables by those of a text without any."""
    nothing = {
        "keywords": pl.lit([], pl.List(pl.String)),
        "entities": pl.lit([], pl.List(pl.String)),
        "importance": pl.lit(centrality.UNKNOWN_IMPORTANCE),
        "gist": pl.lit(None, pl.String),
    }
    columns = {"importance": "rule_importance"}
    masked = enrichment.with_columns(
        value.alias(columns.get(name, name)) for name, value in nothing.items() if name not in policy.enrichments
    )
    return cast("Frame[Enrichment]", masked)


def of(memories: Frame[Memories], enrichment: Frame[Enrichment], policy: Policy) -> Frame[Enrichment]:
    """Return the enabled enrichment of memories, including texts that the run itself writes."""
    missing = enrich.texts(memories).join(enrichment, on=["profile_id", "content_hash"], how="anti")
    return enabled(cast("Frame[Enrichment]", pl.concat([enrichment, enrich.enrich(missing)])), policy)
