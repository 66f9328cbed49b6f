"""Column lineage of tables, for Dagster.

It covers only columns that are carried over unchanged: keys, and those listed here. A computed column is described in
the schema and explained row by row by `explain`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import dagster as dg

from memory_pipeline.assets import catalogue
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.schemas import TABLES

CARRIED: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "memories": {
        column: ("events", column)
        for column in ("content", "speaker", "session_id", "agent_id", "user_id", "parent_event_id", "source")
    },
    "enrichment": {"content_hash": ("memories", "content_hash")},
    "vectors": {"content_hash": ("memories", "content_hash")},
    "pair_readings": {
        "older_hash": ("memories", "content_hash"),
        "newer_hash": ("memories", "content_hash"),
    },
    "scored_memories": {
        "importance": ("memory_importance", "importance"),
        "confidence": ("memories", "confidence"),
        "relationship_count": ("memory_importance", "relationship_count"),
    },
    "summaries": {"cluster_id": ("clusters", "cluster_id")},
    "promotions": {"category": ("memories", "category")},
    "archived_set": {"strength": ("scored_memories", "strength"), "target_id": ("summaries", "summary_id")},
}
"""Columns that are carried over, with the table and column they come from; keys of the same name need no entry."""


def column_lineage(name: str, takes: Sequence[str], names: Namespace) -> dg.TableColumnLineage | None:
    """Return the sources of the columns that a table carries over; None if it carries none."""
    deps: dict[str, list[dg.TableColumnDep]] = {}
    sources = [other for other in takes if other != name and other in catalogue.TABLES]
    for column in TABLES[name].key:
        source = next((other for other in sources if column in TABLES[other].key), None)
        if source:
            deps[column] = [dg.TableColumnDep(asset_key=names.key(source), column_name=column)]
    for column, (source, of) in CARRIED.get(name, {}).items():
        deps[column] = [dg.TableColumnDep(asset_key=names.key(source), column_name=of)]
    return dg.TableColumnLineage(deps_by_column=deps) if deps else None
