"""`completions`: what a language model is asked and answers, once."""

import polars as pl

from memory_pipeline.assets.resources import Store, refusing
from memory_pipeline.assets.tables import Each, table
from memory_pipeline.consolidation import stages
from memory_pipeline.consolidation.plans import plan_document
from memory_pipeline.consolidation.summaries import model_requests
from memory_pipeline.llm import openai
from memory_pipeline.schemas import TABLES


@table
def completions(
    each: Each,
    store: Store,
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    memories: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
) -> pl.DataFrame:
    """Wordings of new summaries and core memory blocks by a language model; none where no model is set."""
    if store.run.plan_file:
        return plan_document.carried(store.run.plan())
    requests = each(stages.ask, clusters, cluster_members, memories, scored_memories, enrichment)
    if requests.is_empty():
        return TABLES["completions"].empty()
    known = store.lake.read("completions", profiles=requests["profile_id"].unique().to_list())
    completer = openai.OpenAICompletionClient(store.settings)
    with refusing(openai.CompletionUnavailable):
        return model_requests.complete(requests, known, completer, store.settings)
