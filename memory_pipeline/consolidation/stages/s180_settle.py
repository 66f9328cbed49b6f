"""Applies the plan, and describes the state after it.

Not here: how a decision changes the state (`state.projection`).
"""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import enrichments
from memory_pipeline.consolidation.context import EDGES, Context
from memory_pipeline.consolidation.edges import neighbours as near
from memory_pipeline.consolidation.enrichments import Added
from memory_pipeline.consolidation.plans import planning, proposals
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.stages import s040_derive_edges, s050_measure_importance, s060_score, s100_associate
from memory_pipeline.consolidation.state import foldings as folded
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import Frame, conform, empty


class Inputs(NamedTuple):
    consolidation_plan: Frame[schemas.ConsolidationPlan]
    events: Frame[schemas.Events]
    memories: Frame[schemas.Memories]
    decided_edges: Frame[schemas.DecidedEdges]
    accesses: Frame[schemas.Accesses]
    tier_changes: Frame[schemas.TierChanges]
    core_memory_blocks: Frame[schemas.CoreMemoryBlocks]
    foldings: Frame[schemas.Foldings]
    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]
    decisions: Frame[schemas.Decisions]
    reverted: Frame[schemas.Reverted]
    comparisons: Frame[schemas.Comparisons]
    derived_edges: Frame[schemas.DerivedEdges]
    memory_importance: Frame[schemas.MemoryImportance]
    scored_memories: Frame[schemas.ScoredMemories]


class Outputs(NamedTuple):
    """The state once the plan is committed, what describes it, and the rows that new summaries add."""

    settled_memories: Frame[schemas.SettledMemories]
    settled_decided_edges: Frame[schemas.SettledDecidedEdges]
    settled_accesses: Frame[schemas.SettledAccesses]
    settled_tier_changes: Frame[schemas.SettledTierChanges]
    settled_core_memory_blocks: Frame[schemas.SettledCoreMemoryBlocks]
    settled_foldings: Frame[schemas.SettledFoldings]
    settled_derived_edges: Frame[schemas.SettledDerivedEdges]
    settled_memory_importance: Frame[schemas.SettledMemoryImportance]
    settled_scored_memories: Frame[schemas.SettledScoredMemories]
    settled_association_edges: Frame[schemas.SettledAssociationEdges]
    settled_enrichment: Frame[schemas.SettledEnrichment]
    settled_vectors: Frame[schemas.SettledVectors]


@stage()
def settle(inputs: Inputs, context: Context) -> Outputs:
    """Apply the plan, and describe the state after it by the same stages; a profile without a decision stays as it is.

    Derived edges are recomputed only if the plan changes what they derive from; then only new texts are compared.
    """
    committed = proposals.committed_now(context=context, decisions=inputs.decisions, reverted=inputs.reverted)
    decided = pl.concat([rows.select("profile_id") for rows in (inputs.consolidation_plan, committed)]).unique()
    before: dict[str, pl.DataFrame] = {
        "memories": inputs.memories,
        "decided_edges": inputs.decided_edges,
        "accesses": inputs.accesses,
        "tier_changes": inputs.tier_changes,
        "core_memory_blocks": inputs.core_memory_blocks,
        "derived_edges": inputs.derived_edges,
        "memory_importance": inputs.memory_importance,
        "scored_memories": inputs.scored_memories,
    }
    texts = {"enrichment": inputs.enrichment, "vectors": inputs.vectors, "comparisons": inputs.comparisons}
    after, added, read = (
        before,
        Added(empty(schemas.Enrichment), empty(schemas.Vectors)),
        inputs.foldings.select("profile_id", "read"),
    )
    if decided.height:
        touched = {
            name: rows.join(decided, on="profile_id", how="semi", maintain_order="left")
            for name, rows in (before | texts).items()
        }
        changed, added = _after(context, touched, plan=inputs.consolidation_plan, committed=committed)
        after = {
            name: pl.concat([rows.join(decided, on="profile_id", how="anti", maintain_order="left"), changed[name]])
            for name, rows in before.items()
        }
        in_force = planning.in_force_after(inputs.consolidation_plan, inputs.decisions, reverted=inputs.reverted)
        reread = folded.digests(inputs.events, in_force).join(decided, on="profile_id", how="semi")
        read = pl.concat([read.join(decided, on="profile_id", how="anti"), reread])
    settled_edges, settled_accesses = (
        conform(schemas.DecidedEdges, after["decided_edges"]),
        conform(schemas.Accesses, after["accesses"]),
    )
    settled_derived = conform(schemas.DerivedEdges, after["derived_edges"])
    edges = s100_associate.associate(
        s100_associate.Inputs(
            decided_edges=settled_edges,
            derived_edges=settled_derived,
            proposed_edges=empty(schemas.ProposedEdges),
            accesses=settled_accesses,
        ),
        context,
    ).association_edges
    blocks = after["core_memory_blocks"].filter(pl.col("content") != "")
    return Outputs(
        settled_memories=conform(schemas.SettledMemories, planning.with_tombstones(after["memories"])),
        settled_decided_edges=conform(schemas.SettledDecidedEdges, settled_edges),
        settled_accesses=conform(schemas.SettledAccesses, settled_accesses),
        settled_tier_changes=conform(schemas.SettledTierChanges, after["tier_changes"]),
        settled_core_memory_blocks=conform(schemas.SettledCoreMemoryBlocks, blocks),
        settled_foldings=conform(
            schemas.SettledFoldings, folded.whole(read, after["memories"], after["core_memory_blocks"])
        ),
        settled_derived_edges=conform(schemas.SettledDerivedEdges, settled_derived),
        settled_memory_importance=conform(schemas.SettledMemoryImportance, after["memory_importance"]),
        settled_scored_memories=conform(schemas.SettledScoredMemories, after["scored_memories"]),
        settled_association_edges=conform(schemas.SettledAssociationEdges, edges),
        settled_enrichment=conform(schemas.SettledEnrichment, added.enrichment),
        settled_vectors=conform(schemas.SettledVectors, added.vectors),
    )


def _after(
    context: Context, before: Mapping[str, pl.DataFrame], *, plan: pl.DataFrame, committed: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], Added]:
    """Return the tables of a state, and what describes it, after decisions; and the rows that new summaries add.

    `before` has the tables of profiles about which something was decided; `committed` the decisions in force that were
    committed at the plan's instant.
    """
    after = planning.post_state(
        state=State(
            memories=before["memories"],
            edges=before["decided_edges"],
            accesses=before["accesses"],
            tier_changes=before["tier_changes"],
            blocks=before["core_memory_blocks"],
        ),
        plan=plan,
        committed=committed,
    )
    memories, edges, accesses = (
        conform(schemas.Memories, after.memories),
        conform(schemas.DecidedEdges, after.edges),
        conform(schemas.Accesses, after.accesses),
    )
    known, points = conform(schemas.Enrichment, before["enrichment"]), conform(schemas.Vectors, before["vectors"])
    added = enrichments.new_texts(memories=memories, enrichment=known, vectors=points, policy=context.policy)
    words = conform(schemas.Enrichment, pl.concat([known, added.enrichment]))
    derived = conform(schemas.DerivedEdges, before["derived_edges"])
    unchanged = memories.equals(before["memories"]) and edges.equals(before["decided_edges"])
    if context.actions & EDGES and not unchanged:
        vectors = pl.concat([points, added.vectors])
        near_pairs = near.compare(memories, vectors, context.policy, kept=before["comparisons"]).neighbours
        derived = s040_derive_edges.derive_edges(
            s040_derive_edges.Inputs(
                memories=memories,
                enrichment=words,
                neighbours=conform(schemas.Neighbours, near_pairs),
                accesses=accesses,
                decided_edges=edges,
            ),
            context,
        ).derived_edges
    measured = s050_measure_importance.measure_importance(
        s050_measure_importance.Inputs(
            memories=memories, enrichment=words, derived_edges=derived, decided_edges=edges, accesses=accesses
        ),
        context,
    ).memory_importance
    scored = s060_score.score(
        s060_score.Inputs(memories=memories, memory_importance=measured, decided_edges=edges, derived_edges=derived),
        context,
    ).scored_memories
    tables = {
        "memories": memories,
        "decided_edges": edges,
        "accesses": accesses,
        "tier_changes": after.tier_changes,
        "core_memory_blocks": after.blocks,
        "derived_edges": derived,
        "memory_importance": measured,
        "scored_memories": scored,
    }
    return tables, added
