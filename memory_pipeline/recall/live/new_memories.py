"""Builds the rows of memories without a fold: those stored since the last run with no other event about them.

Equal to the result of the fold at a small part of its cost.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.ledger.event import COLUMNS, EPOCH
from memory_pipeline.schemas import TABLES, Lifecycle
from memory_pipeline.text import classification, content_hash

_TYPES: Final = TABLES["memories"].types
_PAYLOAD_COLUMNS: Final = ("content", "speaker", "memory_type", "category", "metadata", "source")
_SHARES: Final = {"importance_given": "importance", "importance_hint": "importance_hint", "confidence": "confidence"}
_EVENT_COLUMNS: Final = ("profile_id", "memory_id", "session_id", "agent_id", "user_id", "event_id", "parent_event_id")
_DEFAULTS: Final[dict[str, Any]] = {
    "kind": ORIGINAL,
    "access_count": 0,
    "access_sessions": 0,
    "stability_gain": 0.0,
    "energy_base": 1.0,
    "tier": "working",
    "reinforcement_count": 0,
    "lifecycle": Lifecycle.ACTIVE.value,
    "members": [],
}


def memory_rows(rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Return the rows of the table `memories`, by id, of memories that one ledger row stores and no other is about."""
    memories = sorted((_row(dict(zip(("seq", *COLUMNS), row, strict=True))) for row in rows), key=_memory_id)
    frame = pl.DataFrame([tuple(memory[name] for name in _TYPES) for memory in memories], _TYPES, orient="row")
    memory_type = classification.canonical_type(pl.col("memory_type"))
    category = classification.canonical_category(pl.col("category"))
    return frame.with_columns(
        memory_type=memory_type.fill_null(classification.FALLBACK_TYPE),
        memory_type_inferred=memory_type.is_null(),
        category=category.fill_null(classification.FALLBACK_CATEGORY),
        category_inferred=category.is_null(),
    )


def _memory_id(row: dict[str, Any]) -> str:
    return str(row["memory_id"])


def _row(event: dict[str, Any]) -> dict[str, Any]:
    payload = json.loads(event["payload"])
    created = EPOCH + timedelta(microseconds=min(event["occurred_at"], event["recorded_at"]))
    valid = {name: datetime.fromisoformat(payload[name]) for name in ("valid_from", "valid_until") if name in payload}
    shares = {column: float(payload[field]) for column, field in _SHARES.items() if field in payload}
    return (
        dict.fromkeys(_TYPES)
        | _DEFAULTS
        | {name: payload.get(name) for name in _PAYLOAD_COLUMNS}
        | {name: event[name] for name in (*_EVENT_COLUMNS, "seq")}
        | dict.fromkeys(("created_at", "energy_at", "tier_since", "lifecycle_since"), created)
        | {"confidence": 0.5}
        | shares
        | valid
        | {
            "valid_until_given": valid.get("valid_until"),
            "content_hash": content_hash.content_hash(payload.get("speaker"), payload["content"]),
            "protected": payload.get("protected", False),
            "protected_reason": payload.get("protected_reason"),
            "tags": payload.get("tags", []),
        }
    )
