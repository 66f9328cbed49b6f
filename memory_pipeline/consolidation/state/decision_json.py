"""What a decision holds: the fields of each kind, and their canonical JSON.

The `after` of a decision holds everything that applying it needs, so that a plan can be applied, stored and replayed
without the tables it was made from. Canonical JSON: sorted keys, no spaces, numbers that read back bit for bit,
instants in UTC with microseconds. Not here: which changes become decisions (`plans.decision_rows`), and what decisions
do to a state (`projection`, `lifecycle`).
"""

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl
from polars.datatypes import DataTypeClass

from memory_pipeline.schemas import INSTANT, TABLES, Action, Lifecycle

Fields = Mapping[str, pl.DataType]

ORDER: Final = {action.value: place for place, action in enumerate(Action)}
"""Rank of an action within a plan."""

EDGE_KEY: Final = TABLES["decided_edges"].key
INSTANT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S%.6fZ"


def _fields(table: str, *names: str) -> dict[str, pl.DataType]:
    types = TABLES[table].types
    return {name: types[name] for name in sorted(names)}


EDGE: Final = _fields(
    "decided_edges",
    *("source", "target", "edge_type", "kind", "weight", "base_weight", "confidence", "similarity"),
    *("algorithm", "discovered_at", "last_strengthened_at", "co_count"),
)
"""Fields of an edge that a decision adds or prunes."""

MOVE: Final = _fields("memories", "lifecycle", "superseded_by", "superseded_kind")
"""Fields that a decision about a memory's lifecycle sets."""

STATED: Final = _fields("memories", "content_hash", "protected", "valid_from", "valid_until")
"""What an original stated when a summary superseded it; the decision holds for that alone, not for anything it states
later."""

SUMMARY: Final = _fields(
    "memories",
    *MOVE,
    *("kind", "content", "content_hash", "memory_type", "category", "importance_given", "confidence", "valid_from"),
    *("valid_until", "protected", "protected_reason", "seq", "access_count", "members", "cluster_id", "index_text"),
    *("stability_given", "speaker", "session_id", "agent_id", "user_id", "tags", "said_at", "metadata"),
)
"""Fields of a summary that a decision makes."""

WORDED: Final = _fields("summaries", "compiled_by", "fallback")
"""Who worded the summary."""

CLOSED: Final = _fields("memories", "valid_until", "superseded_by", "superseded_kind", "content_hash") | {
    "other_hash": pl.String()
}
"""Fields of a closed memory: its end of validity, and the two texts for which the closing holds. Without `other_hash`,
the newer text was erased and the closing stands."""

STATEMENT: Final = {"statement": pl.String()}
"""Field of a closing that ends only some sentences of a memory, which it names, one per line."""

TRIMMED: Final = _fields("memories", "trimmed", "content_hash")
"""What a trim leaves of a text, and the text for which it holds; null restores the whole text."""

BUDGET: Final = "token_budget"
"""Rule of the trims and archivals that a token budget causes."""

PROMOTED: Final = _fields("promotions", "tier", "at", "energy", "lifecycle", "category")
"""Fields that a promotion raises; null means unchanged."""

LEAVES: Final = {
    Action.DELETE.value: Lifecycle.DELETED.value,
    Action.ARCHIVE.value: Lifecycle.ARCHIVED.value,
    Action.EXPIRE.value: Lifecycle.EXPIRED.value,
    Action.COLD.value: Lifecycle.COLD.value,
    Action.STUB.value: Lifecycle.STUB.value,
}
"""Lifecycle after each action that removes a memory from the live set; the policy names that of superseded ones."""

BLOCK: Final = _fields("core_memory_blocks", "content", "members", "marks", "version", "compiled_by")
"""Fields of a core memory block."""


def write(fields: Fields, *, suffix: str = "") -> pl.Expr:
    """Return the columns of a row as canonical JSON; `suffix` is the end of their names."""
    return pl.struct(_written(name, kind, suffix) for name, kind in sorted(fields.items())).struct.json_encode()


def does(*actions: Action) -> pl.Expr:
    """Return whether a decision has one of some actions."""
    return pl.col("action").is_in([action.value for action in actions])


def read(column: str, fields: Fields, *, suffix: str = "") -> list[pl.Expr]:
    """Return columns held by the JSON in `column`, their names with a suffix; null where it has no value."""
    decoded = pl.col(column).str.json_decode(pl.Struct({name: _json(kind) for name, kind in fields.items()})).struct

    def instant(value: pl.Expr) -> pl.Expr:
        return value.str.to_datetime(INSTANT_FORMAT, time_unit="us", time_zone="UTC")

    values = ((name, _with_instants(decoded.field(name), kind, instant).cast(kind)) for name, kind in fields.items())
    return [value.alias(name + suffix) for name, value in values]


def link_algorithm() -> pl.Expr:
    """Return the algorithm that found the link which a decision adds; null for other decisions."""
    return pl.when(does(Action.LINK)).then(pl.col("after").str.json_path_match("$.algorithm"))


def _written(name: str, kind: pl.DataType, suffix: str) -> pl.Expr:
    value = _with_instants(pl.col(name + suffix), kind, lambda value: value.dt.strftime(INSTANT_FORMAT))
    return value.cast(_json(kind)).alias(name)


def _with_instants(value: pl.Expr, kind: pl.DataType, convert: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """Convert a column of instants, and the instants within a list of structures."""
    if kind == INSTANT:
        return convert(value)
    if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
        instants = [convert(pl.field(part.name)) for part in kind.inner.fields if part.dtype == INSTANT]
        return value.list.eval(pl.element().struct.with_fields(instants))
    return value


def _json(kind: pl.DataType | DataTypeClass) -> pl.DataType | DataTypeClass:
    """Return the type in JSON: instants as text, single precision as the equal double, which reads back exactly."""
    if isinstance(kind, pl.List):
        return pl.List(_json(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({part.name: _json(part.dtype) for part in kind.fields})
    return pl.String() if kind == INSTANT else pl.Float64() if kind == pl.Float32 else kind
