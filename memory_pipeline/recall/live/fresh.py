"""Memories that were stored a moment ago, and about which nothing else has been said: their rows without a fold.

Equal to what the fold gives, for a small part of its cost. What is not here: which memories are such (`tail`), and the
fold itself (`consolidation/state/projection`).
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

_TYPES: Final = TABLES["memories"].empty().schema
_GIVEN: Final = ("content", "speaker", "memory_type", "category", "metadata", "source")
_SHARES: Final = {"importance_given": "importance", "importance_hint": "importance_hint", "confidence": "confidence"}
_BESIDE: Final = ("profile_id", "memory_id", "session_id", "agent_id", "user_id", "event_id", "parent_event_id")
_NEW: Final[dict[str, Any]] = {
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


def memories(rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Return the rows of the table `memories`, by id, of memories that nothing has happened to but their storing.

    Args:
        rows: of each memory the one row of the ledger (`seq`, then `events.COLUMNS`) that stores it.
    """
    told = sorted((_row(dict(zip(("seq", *COLUMNS), row, strict=True))) for row in rows), key=_by_id)
    frame = pl.DataFrame({name: [row[name] for row in told] for name in _TYPES}, schema=_TYPES)
    given = {
        "memory_type": classification.canonical_type(pl.col("memory_type")),
        "category": classification.canonical_category(pl.col("category")),
    }
    read = {"memory_type": classification.memory_type, "category": classification.category}
    return frame.with_columns(
        *(pl.coalesce(given[name], infer(pl.col("content"))).alias(name) for name, infer in read.items()),
        *(given[name].is_null().alias(f"{name}_inferred") for name in read),
    )


def _by_id(row: dict[str, Any]) -> str:
    return str(row["memory_id"])


def _row(event: dict[str, Any]) -> dict[str, Any]:
    said = json.loads(event["payload"])
    created = EPOCH + timedelta(microseconds=min(event["occurred_at"], event["recorded_at"]))
    valid = {name: datetime.fromisoformat(said[name]) for name in ("valid_from", "valid_until") if name in said}
    shares = {name: float(said[given]) for name, given in _SHARES.items() if given in said}
    return (
        dict.fromkeys(_TYPES)
        | _NEW
        | {name: said.get(name) for name in _GIVEN}
        | {name: event[name] for name in (*_BESIDE, "seq")}
        | dict.fromkeys(("created_at", "energy_at", "tier_since", "lifecycle_since"), created)
        | {"confidence": 0.5}
        | shares
        | valid
        | {
            "valid_until_given": valid.get("valid_until"),
            "content_hash": content_hash.content_hash(said.get("speaker"), said["content"]),
            "protected": said.get("protected", False),
            "protected_reason": said.get("protected_reason"),
            "tags": said.get("tags", []),
        }
    )
