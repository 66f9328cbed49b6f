"""Ids of summaries and facts: hashes of the members and texts that they were made from.

The same group therefore gives the same summary at any instant, and the id shows whether the members still have the
texts that a summary was made from. Not here: which memories are summarised (`groups.lineage`), and what becomes of one
that is no longer true (`lifecycle`).
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from memory_pipeline.consolidation.state.folding import FACT

METHODS: Final = {
    "compression": "near_duplicates",
    "consolidation": "fading_groups",
    "meta_pattern": "similarity_components",
    "unit": "coactivation",
    "episode": "episodes",
    "session": "episodes",
    "agent": "episodes",
}
"""Clustering method by the kind of summary that its clusters get."""
SUPERSEDING: Final = ("compression", "consolidation")
"""Kinds of summaries that supersede their members."""


def summary_id(method: str, kind: str, members: Iterable[str], content_hashes: Iterable[str]) -> str:
    """Return the id of a summary: 32 hex digits of the SHA-256 of method, kind, and members' sorted ids and texts."""
    parts = ["\x1f".join(part) for part in ((method, kind), members, content_hashes)]
    return hashlib.sha256("\x1e".join(parts).encode()).hexdigest()[:32]


def entry_id(memory_id: str, content_hash: str) -> str:
    """Return the id that groups the facts of an entry with this text: 32 hex digits of the SHA-256 of both."""
    text = f"{FACT}\x1f{memory_id}\x1f{content_hash}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def made_of(
    memory_id: str, cluster_id: str | None, kind: str, members: Sequence[str], content_hash: Sequence[str]
) -> bool:
    """Return whether a summary or fact was made from these texts of its members; true for an unknown kind.

    Members and hashes of their texts are sorted; the cluster of a fact is the hash of its entry and the entry's text.
    """
    if kind == FACT:
        return cluster_id == entry_id(members[0], content_hash[0])
    return kind not in METHODS or memory_id == summary_id(METHODS[kind], kind, members, content_hash)
