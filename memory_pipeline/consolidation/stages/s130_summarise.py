"""Summarises groups, and states the facts of entries.

Not here: the wording of a summary (`summaries.summarising`) and of a fact (`atomic_facts`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import atomic_facts, currency, enrichments
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.summaries import summarising
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    clusters: Frame[schemas.Clusters]
    cluster_members: Frame[schemas.ClusterMembers]
    memories: Frame[schemas.Memories]
    scored_memories: Frame[schemas.ScoredMemories]
    enrichment: Frame[schemas.Enrichment]
    association_edges: Frame[schemas.AssociationEdges]
    fact_changes: Frame[schemas.FactChanges]
    completions: Frame[schemas.Completions]


class Outputs(NamedTuple):
    summaries: Frame[schemas.Summaries]


@stage()
def summarise(inputs: Inputs, context: Context) -> Outputs:
    """Summarise the clusters that get a summary and have none yet, and state the facts of entries one by one."""
    enabled = enrichments.enabled(inputs.enrichment, context.policy)
    rows = summarising.summarise(
        clusters=inputs.clusters,
        cluster_members=inputs.cluster_members,
        memories=inputs.memories,
        scored=inputs.scored_memories,
        enrichment=enabled,
        completions=inputs.completions,
        policy=context.policy,
        plan_id=context.plan_id,
        outdated=currency.past(
            memories=inputs.memories,
            edges=inputs.association_edges,
            fact_changes=inputs.fact_changes,
            policy=context.policy,
            as_of=context.as_of,
        ),
    )
    stated = atomic_facts.split(
        candidates=atomic_facts.entries(inputs.memories, context.policy),
        recorded=inputs.completions,
        policy=context.policy,
    )
    facts = atomic_facts.summaries(
        accepted=stated,
        memories=inputs.memories,
        scored=inputs.scored_memories,
        enrichment=enabled,
        changes=inputs.fact_changes,
        policy=context.policy,
        plan_id=context.plan_id,
    )
    return Outputs(conform(schemas.Summaries, pl.concat([rows, facts])))
