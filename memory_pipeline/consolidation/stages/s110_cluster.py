"""Groups memories.

Not here: the methods (`groups.strategies`), and the description of a group (`groups.clustering`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import deferral, enrichments, judging, scope
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import neighbours as near
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import answers
from memory_pipeline.schemas import Action, Frame, conform, empty


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    deferred: Frame[schemas.Deferred]
    scored_memories: Frame[schemas.ScoredMemories]
    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]
    neighbours: Frame[schemas.Neighbours]
    association_edges: Frame[schemas.AssociationEdges]
    groupings: Frame[schemas.Groupings]
    events: Frame[schemas.Events]
    pair_readings: Frame[schemas.PairReadings]


class Outputs(NamedTuple):
    """Groups of memories, near duplicates that were not grouped, and what methods read to find them."""

    clusters: Frame[schemas.Clusters]
    cluster_members: Frame[schemas.ClusterMembers]
    merge_refusals: Frame[schemas.MergeRefusals]
    groupings: Frame[schemas.Groupings]


@stage(reuse=[schemas.Groupings], serves=frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.ARCHIVE}))
def cluster(inputs: Inputs, context: Context) -> Outputs:
    """Group memories by each method of the policy.

    A method that reads the same in a profile as in the last run does not group it again; nothing of a run about a part
    of a profile is kept.
    """
    enabled = enrichments.enabled(inputs.enrichment, context.policy)
    answered = answers.standing(inputs.events, inputs.memories)
    sides = scope.sides(context.scope, deferral.without(inputs.memories, inputs.deferred))
    groups = [
        clustering.cluster(
            memories=side,
            scored=inputs.scored_memories,
            enrichment=enabled,
            vectors=inputs.vectors,
            edges=inputs.association_edges,
            policy=context.policy,
            as_of=context.as_of,
            plan_id=context.plan_id,
            kept=inputs.groupings if len(sides) == 1 else None,
            neighbours=inputs.neighbours
            if near.hold_all(context.policy, context.policy.duplicate_similarity)
            else None,
            answered=answered,
            read=inputs.pair_readings.filter(pl.col("model").is_in([judging.REPEATS, judging.ANSWERED_REPEATS])),
        )
        for side in sides
    ]
    return Outputs(
        clusters=conform(schemas.Clusters, pl.concat([one.clusters for one in groups])),
        cluster_members=conform(schemas.ClusterMembers, pl.concat([one.cluster_members for one in groups])),
        merge_refusals=conform(schemas.MergeRefusals, pl.concat([one.merge_refusals for one in groups])),
        groupings=conform(schemas.Groupings, groups[0].groupings) if len(sides) == 1 else empty(schemas.Groupings),
    )
