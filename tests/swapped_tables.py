"""A swapped table is an error of types: `mypy` says so of each of two, and complains of an ignore that is none.

Not run: `make types` checks it.
"""

from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stages import s060_score
from memory_pipeline.schemas import DecidedEdges, DerivedEdges, Frame, Memories, MemoryImportance


def score(
    context: Context,
    memories: Frame[Memories],
    importance: Frame[MemoryImportance],
    decided_edges: Frame[DecidedEdges],
    derived_edges: Frame[DerivedEdges],
) -> None:
    """Give a stage its tables, then two of them swapped."""
    s060_score.score(s060_score.Inputs(memories, importance, decided_edges, derived_edges), context)
    s060_score.score(
        s060_score.Inputs(
            memories,
            importance,
            derived_edges,  # type: ignore[arg-type]
            decided_edges,  # type: ignore[arg-type]
        ),
        context,
    )
