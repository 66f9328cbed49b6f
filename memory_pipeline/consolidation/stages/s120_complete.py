"""Asks a language model for wordings and facts. Not here: what is asked (`model_requests`), and the client (`llm/`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation import currency, enrichments, model_requests, scope
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform, empty


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
    completions: Frame[schemas.Completions]


@stage()
def complete(inputs: Inputs, context: Context) -> Outputs:
    """Ask a language model for the wording of summaries and blocks and the facts of entries not recorded yet.

    Nothing is asked where the policy names no model.
    """
    requests = model_requests.requests(
        clusters=inputs.clusters,
        cluster_members=inputs.cluster_members,
        memories=inputs.memories,
        scored=inputs.scored_memories,
        enrichment=enrichments.enabled(inputs.enrichment, context.policy),
        policy=context.policy,
        as_of=context.as_of,
        actions=context.actions,
        edges=inputs.association_edges,
        outdated=currency.past(
            memories=inputs.memories,
            edges=inputs.association_edges,
            fact_changes=inputs.fact_changes,
            policy=context.policy,
            as_of=context.as_of,
        ),
        changes=inputs.fact_changes,
    )
    within = scope.inside(context.scope, inputs.memories)
    if within is not None:
        requests = scope.requested(within, requests, memories=inputs.memories, cluster_members=inputs.cluster_members)
    if requests.is_empty():
        return Outputs(empty(schemas.Completions))
    share = model_requests.texts_share(context.policy)
    return Outputs(conform(schemas.Completions, context.complete(requests, inputs.completions, share)))
