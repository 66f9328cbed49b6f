"""Tables for tests: rows that say what matters, completed with plain defaults. No I/O, no randomness."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from memory_pipeline.schemas import LIVE, PARSER, TABLES

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


def ago(days: float = 0.0, *, hours: float = 0.0) -> datetime:
    return AS_OF - timedelta(days=days, hours=hours)


def memories(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Table `memories`: originals of profile p, 100 days old, never accessed, active."""
    return _table("memories", (_memory(index, dict(row)) for index, row in enumerate(rows)))


def importance(of: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """Table `memory_importance` for the live ones of `of`; importance as given, else 0.5; no neighbours."""
    live = of.filter(pl.col("lifecycle").is_in(LIVE))
    defaults: dict[str, Any] = {
        "importance": pl.col("importance_given").fill_null(0.5),
        "importance_unraised": pl.col("importance_given").fill_null(0.5),
        "importance_score": 10.0 * pl.col("importance_given").fill_null(0.5),
        "degree": pl.lit(0),
        "relationship_count": pl.lit(0),
        "in_degree": pl.lit(0),
        "pagerank": pl.lit(0.0),
        "community": pl.col("memory_id"),
    }
    return TABLES["memory_importance"].conform(live.with_columns(**(defaults | columns)))


def edges(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Table `association_edges`: asserted RELATES_TO edges of weight 1 in profile p, 10 days old."""
    defaults = {
        "profile_id": "p",
        "edge_type": "RELATES_TO",
        "kind": None,
        "origin": "asserted",
        "base_weight": 1.0,
        "confidence": None,
        "similarity": None,
        "algorithm": "test",
        "discovered_at": ago(10),
        "co_count": 0,
        "plan_id": "",
    }
    complete = ({**defaults, **row} for row in rows)
    return _table(
        "association_edges",
        ({"weight": row["base_weight"], "last_strengthened_at": row["discovered_at"], **row} for row in complete),
    )


def vectors(rows: Mapping[str, Iterable[float]], *, of: pl.DataFrame) -> pl.DataFrame:
    """Table `vectors`: the vector of each memory named, under the text of that memory."""
    texts = of.filter(pl.col("memory_id").is_in(list(rows))).select("profile_id", "content_hash", "memory_id")
    return TABLES["vectors"].conform(
        texts.with_columns(
            model=pl.lit("hashing"),
            vector=pl.Series([list(rows[name]) for name in texts["memory_id"]], dtype=pl.List(pl.Float32)),
        ).unique(["profile_id", "content_hash"])
    )


def enrichment(rows: Mapping[str, Iterable[str]], *, of: pl.DataFrame) -> pl.DataFrame:
    """Table `enrichment`: the entities of each memory named, none for the others."""
    texts = of.unique(["profile_id", "content_hash"])
    entities = [sorted(rows.get(name, ())) for name in texts["memory_id"]]
    words = pl.lit([], dtype=pl.List(pl.String))
    return TABLES["enrichment"].conform(
        texts.with_columns(
            pl.Series("entities", entities, dtype=pl.List(pl.String)),
            parser=pl.lit(PARSER),
            language=pl.lit("en"),
            keywords=words,
            numbers=words,
            dates=words,
            negated=pl.lit(False),
            question=pl.lit(False),
            tokens=pl.lit(3),
            gist="content",
            rule_importance=pl.lit(0.5),
        )
    )


def summaries(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Table `summaries`: compressions of profile p that supersede their members."""
    defaults = {
        "profile_id": "p",
        "cluster_id": "c",
        "kind": "compression",
        "compiled_by": "rules",
        "fallback": None,
        "memory_type": "Context",
        "category": "episodic",
        "content": "a summary",
        "index_text": "summary",
        "content_hash": "h",
        "importance": 0.5,
        "stability": 0.3,
        "access_count": 0,
        "confidence": 0.8,
        "valid_from": None,
        "valid_until": None,
        "protected": False,
        "protected_reason": None,
        "replaces": [],
        "supersedes": True,
        "plan_id": "plan",
    }
    return _table("summaries", ({**defaults, **row} for row in rows))


def _memory(place: int, row: dict[str, Any]) -> dict[str, Any]:
    memory_id = row.setdefault("memory_id", f"m{place}")
    content = row.setdefault("content", f"note {memory_id}")
    created_at = row.setdefault("created_at", ago(100))
    defaults = {
        "profile_id": "p",
        "kind": "original",
        "content_hash": hashlib.sha256(content.encode()).hexdigest()[:32],
        "speaker": None,
        "memory_type": "Context",
        "memory_type_inferred": False,
        "category": "episodic",
        "category_inferred": False,
        "importance_given": None,
        "importance_hint": None,
        "confidence": 0.5,
        "valid_from": None,
        "valid_until": None,
        "protected": False,
        "protected_reason": None,
        "tags": [],
        "metadata": None,
        "source": None,
        "session_id": None,
        "agent_id": None,
        "user_id": None,
        "event_id": f"event of {memory_id}",
        "parent_event_id": None,
        "seq": place + 1,
        "updated_at": None,
        "access_count": 0,
        "last_accessed_at": None,
        "access_sessions": 0,
        "stability_gain": 0.0,
        "energy_base": 1.0,
        "energy_at": row.get("last_accessed_at") or created_at,
        "tier": "working",
        "tier_since": created_at,
        "reinforcement_count": 0,
        "last_reinforced_at": None,
        "lifecycle": "active",
        "lifecycle_since": created_at,
        "superseded_by": None,
        "superseded_kind": None,
        "valid_until_given": row.get("valid_until"),
        "closed_by": None,
        "closed_until": None,
        "members": [],
        "cluster_id": None,
        "index_text": None,
        "stability_given": None,
        "plan_id": None,
    }
    return defaults | row


def _table(name: str, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    table = TABLES[name]
    return table.conform(pl.DataFrame(list(rows), schema=table.empty().schema))
