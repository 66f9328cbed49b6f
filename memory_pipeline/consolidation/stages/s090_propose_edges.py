"""Proposes new edges.

Not here: the rules (`edges.associations`).
"""

from typing import NamedTuple

from memory_pipeline.consolidation import deferral
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import (
    Accesses,
    Action,
    DecidedEdges,
    Deferred,
    DerivedEdges,
    FactChanges,
    Frame,
    Memories,
    Neighbours,
    ProposedEdges,
    ScoredMemories,
    TierChanges,
    Vectors,
    conform,
    empty,
)


class Inputs(NamedTuple):
    """Tables that the stage takes."""

    memories: Frame[Memories]
    deferred: Frame[Deferred]
    scored_memories: Frame[ScoredMemories]
    decided_edges: Frame[DecidedEdges]
    derived_edges: Frame[DerivedEdges]
    vectors: Frame[Vectors]
    neighbours: Frame[Neighbours]
    accesses: Frame[Accesses]
    tier_changes: Frame[TierChanges]
    fact_changes: Frame[FactChanges]


class Outputs(NamedTuple):
    """Table that the stage gives."""

    proposed_edges: Frame[ProposedEdges]


@stage()
def propose_edges(inputs: Inputs, context: Context) -> Outputs:
    """Propose new edges; none if the run may decide no links."""
    if Action.LINK not in context.actions:
        return Outputs(empty(ProposedEdges))
    edges = associations.discover(
        memories=deferral.without(inputs.memories, inputs.deferred),
        scored=inputs.scored_memories,
        edges=associations.union(inputs.decided_edges, inputs.derived_edges),
        vectors=inputs.vectors,
        neighbours=inputs.neighbours,
        accesses=inputs.accesses,
        tier_changes=inputs.tier_changes,
        fact_changes=inputs.fact_changes,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return Outputs(conform(ProposedEdges, edges))
