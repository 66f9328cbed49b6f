"""Promotes memories. Not here: the rules (`promotion`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation import promotion
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    scored_memories: Frame[schemas.ScoredMemories]
    events: Frame[schemas.Events]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    association_edges: Frame[schemas.AssociationEdges]
    fact_changes: Frame[schemas.FactChanges]


class Outputs(NamedTuple):
    promotions: Frame[schemas.Promotions]


@stage()
def promote(inputs: Inputs, context: Context) -> Outputs:
    """Promote memories to a higher tier, to warm, or to core."""
    rows = promotion.promote(
        memories=inputs.memories,
        scored=inputs.scored_memories,
        events=inputs.events,
        accesses=inputs.accesses,
        tier_changes=inputs.tier_changes,
        edges=inputs.association_edges,
        fact_changes=inputs.fact_changes,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return Outputs(conform(schemas.Promotions, rows))
