"""SQL of a snapshot's views: some read the snapshot's tables, some Parquet files beside it.

DuckDB 1.0 must be able to bind them: named arguments are given with `=`, since a `:=` that DuckDB 2.0 has stored in a
view cannot be bound by older versions.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from memory_pipeline.lake.snapshot_macros import quoted
from memory_pipeline.lake.snapshot_schemas import Relation
from memory_pipeline.schemas import LIVE, PARSER

_INSTANT: Final = "coalesce(s.as_of, s.created_at)"
_OF_MEMORIES: Final = """WHERE (profile_id, content_hash) IN (
    SELECT (profile_id, content_hash) FROM memories WHERE lifecycle NOT IN ('deleted', 'erased'))"""
"""Leaves out texts that only deleted or erased memories had."""
_OF_RUNS_IN_FORCE: Final = """WHERE (profile_id, plan_id) IN (
    SELECT (profile_id, plan_id) FROM consolidation_runs WHERE outcome <> 'reverted')"""

LINKED: Final = {
    "vectors": _OF_MEMORIES,
    "score_history": _OF_RUNS_IN_FORCE,
    "cluster_lineage": _OF_RUNS_IN_FORCE,
    "enrichment": f"{_OF_MEMORIES} AND parser = {PARSER}",
}
"""Tables of the lake that a snapshot reads from Parquet files, each with the condition that its rows must meet."""

VIEWS: Final = (
    f"""
    CREATE VIEW current_memories AS SELECT m.* FROM memories m JOIN snapshot_info s USING (profile_id)
    WHERE m.lifecycle IN ({", ".join(map(quoted, LIVE))})
      AND (m.superseded_by IS NULL OR m.superseded_kind = 'update')
      AND (m.valid_from IS NULL OR m.valid_from <= {_INSTANT})
      AND (m.valid_until IS NULL OR {_INSTANT} < m.valid_until)""",  # noqa: S608 -- built from constants
    """
    CREATE VIEW keywords AS SELECT m.profile_id, m.memory_id,
      generate_subscripts(e.keywords, 1) AS rank, unnest(e.keywords) AS keyword
    FROM memories m JOIN enrichment e USING (profile_id, content_hash)
    WHERE m.lifecycle NOT IN ('deleted', 'erased')""",
    """
    CREATE VIEW names AS SELECT m.profile_id, m.memory_id, unnest(e.entities) AS name
    FROM memories m JOIN enrichment e USING (profile_id, content_hash)
    WHERE m.lifecycle NOT IN ('deleted', 'erased')""",
)
"""Views over the snapshot's tables and linked files."""


def linked_view(relation: Relation, files: Sequence[str], present: Collection[str]) -> str:
    """Return the SQL of a view over Parquet files, absolute paths or addresses that are taken literally.

    Columns that are not `present` in any file, and those that one file lacks, are null.
    """
    if not files:
        columns = ", ".join(f"NULL::{kind} AS {column(name)}" for name, kind in relation.types.items())
        return f"CREATE OR REPLACE VIEW {relation.name} AS SELECT {columns} LIMIT 0"
    columns = ", ".join(
        f"{column(name) if name in present else 'NULL'}::{kind} AS {column(name)}"
        for name, kind in relation.types.items()
    )
    return (
        f"CREATE OR REPLACE VIEW {relation.name} AS SELECT * FROM (SELECT {columns} "  # noqa: S608
        f"FROM read_parquet({literal(files)}, hive_partitioning = false, union_by_name = true)) {LINKED[relation.name]}"
    )


def literal(files: Sequence[str]) -> str:
    """Return the SQL list of files, taken literally and not as patterns."""
    paths = (quoted(re.sub(r"([*?\[])", r"[\1]", path)) for path in files)
    return f"[{', '.join(paths)}]"


def column(name: str) -> str:
    """Return a column's name as an SQL identifier."""
    return f'"{name}"'
