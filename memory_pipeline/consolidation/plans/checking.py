"""Checks the plan of a run against the invariants.

Not here: the invariants themselves (`invariants`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import scope
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.plans import invariants
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import Frame


class Inputs(NamedTuple):
    """Tables of a run that the check reads."""

    consolidation_plan: Frame[schemas.ConsolidationPlan]
    profiles: Frame[schemas.Profiles]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    scored_memories: Frame[schemas.ScoredMemories]
    vectors: Frame[schemas.Vectors]
    settled_memories: Frame[schemas.SettledMemories]
    settled_decided_edges: Frame[schemas.SettledDecidedEdges]
    settled_vectors: Frame[schemas.SettledVectors]


def violations(inputs: Inputs, context: Context) -> pl.DataFrame:
    """Return the rows of a plan that break an invariant: `profile_id`, `check`, `memory_id`, `detail`."""
    return invariants.violations(
        plan=inputs.consolidation_plan,
        state=State(inputs.memories, inputs.decided_edges),
        profiles=inputs.profiles,
        policy=context.policy,
        scored=inputs.scored_memories,
        post=State(inputs.settled_memories, inputs.settled_decided_edges),
        within=scope.inside(context.scope, inputs.settled_memories),
        retrievable=invariants.retrievable(
            memories=inputs.settled_memories,
            vectors=pl.concat([inputs.vectors, inputs.settled_vectors]),
            model=context.policy.embedder,
        ),
    )
