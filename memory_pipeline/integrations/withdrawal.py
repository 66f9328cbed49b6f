"""Takes back summaries that say what their members say no longer. Not here: any framework."""

from collections.abc import Collection
from contextlib import suppress
from typing import Final

from memory_pipeline.recall.client.memory_client import MemoryClient

_EVERYTHING: Final = 10**9


def undo_summaries(memory: MemoryClient, memory_ids: Collection[str]) -> None:
    """Undo the merges and summaries of memories that were deleted or have other words now; other members come back.

    Cost: every memory of the profile is read; an undo builds the tables of the profile anew.

    Raises:
        Conflict: the profile was changed concurrently; nothing was undone.
        LakeError: the store cannot be written.
    """
    changed = set(memory_ids)
    if not changed:
        return
    for summary in memory.list(None, _EVERYTHING, deep=True):
        if changed & set(summary.members):
            with suppress(ValueError):  # taken back already, with another
                memory.undo(summary.memory_id, cascade=True)
