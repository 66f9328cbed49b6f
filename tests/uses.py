"""Rows about the use of memories for tests: accesses, promotions and changed facts. No I/O, no randomness."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import polars as pl
from frames import ago

from memory_pipeline.schemas import TABLES


def accesses(events: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Table `accesses`: one event for each of `events`, with the memories it names (`ids`); profile p, no session."""
    rows = [
        {
            "profile_id": event.get("profile_id", "p"),
            "seq": event.get("seq", index + 1),
            "ordinal": ordinal,
            "memory_id": memory_id,
            "at": event.get("at", ago(10)),
            "session_id": event.get("session"),
            "expanded": False,
            "times": event.get("times", 1),
        }
        for index, event in enumerate(events)
        for ordinal, memory_id in enumerate(event["ids"])
    ]
    return table("accesses", rows)


def risen(rows: Mapping[str, datetime], *, tier: str = "short_term") -> pl.DataFrame:
    """Table `tier_changes`: when memories of profile p rose to a tier."""
    return table(
        "tier_changes",
        (
            {
                "profile_id": "p",
                "memory_id": memory_id,
                "at": at,
                "from_tier": "working",
                "to_tier": tier,
                "edge_type": "PROMOTED_TO",
                "energy": 2.5,
                "plan_id": "earlier",
            }
            for memory_id, at in rows.items()
        ),
    )


def changed(older: str, newer: str, relation: str, similarity: float | None = 0.9, **fields: Any) -> pl.DataFrame:
    """Table `fact_changes`: one change of profile p, decided if it is an update."""
    row = {
        "profile_id": "p",
        "memory_id": older,
        "other_id": newer,
        "relation": relation,
        "decided": relation == "update",
        "confidence": 0.9,
        "statement": None,
        "subject": "Ada",
        "attribute": "home",
        "value": "Bath",
        "other_value": "Cork",
        "similarity": similarity,
        "at": ago(1),
        "rule": "changed_value",
        "reason": "Ada's home is Bath, and is Cork.",
        "plan_id": "plan",
    }
    return table("fact_changes", [row | fields])


def table(name: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows as a table of that name."""
    return TABLES[name].conform(pl.DataFrame(list(rows), schema=TABLES[name].empty().schema))
