"""Turns a ranking into an answer, and an answer into the access event that records it.

Not here: the ranking itself (`rank/ranking`) and the state that is searched (`live/state`).
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.recall.closed_statements import closed_statements
from memory_pipeline.recall.live.search_pool import SearchPool
from memory_pipeline.recall.models import Answer, Part, Recalled
from memory_pipeline.schemas import LIVE, EventType

_MEMORY_COLUMNS: Final = (
    "kind",
    "content",
    "speaker",
    "memory_type",
    "session_id",
    "created_at",
    "said_at",
    "lifecycle",
    "closed_statements",
)
"""Columns of an answer that come from the table `memories`."""
_RANKING_COLUMNS: Final = (
    "memory_id",
    "text",
    "score",
    "rank",
    "tokens",
    "current",
    "holds_from",
    "closed_by",
    "ended",
    "expanded",
)
"""Columns of an answer that come from the ranking."""


def answer(pool: SearchPool, ranked: pl.DataFrame, query: str, *, as_of: datetime, ranking: str) -> Answer:
    """Return a ranking as an answer.

    Args:
        pool: the memories that were searched.
        ranked: what `rank` returned.
        query: the query.
        as_of: instant whose state was searched.
        ranking: name of the ranking.
    """
    rows = pool.rows(ranked["memory_id"].to_list(), _MEMORY_COLUMNS)
    hits = ranked.to_dicts()
    said = _said(pool, {newer for hit in hits for newer in hit["outdated_by"] or ()})
    recalled = [
        _recalled(
            hit, row, as_of=as_of, outdated_from=min((said[newer] for newer in hit["outdated_by"] or ()), default=None)
        )
        for hit, row in zip(hits, rows, strict=True)
    ]
    return Answer(query=query, as_of=as_of, ranking=ranking, recalled=tuple(recalled))


def _said(pool: SearchPool, memory_ids: Collection[str]) -> dict[str, datetime]:
    """Return when each of these memories was said or, if that is known, began to hold."""
    names = sorted(memory_ids)
    rows = pool.rows(names, ["valid_from", "said_at", "created_at"])
    return {
        name: row["valid_from"] or row["said_at"] or row["created_at"] for name, row in zip(names, rows, strict=True)
    }


def _recalled(
    hit: Mapping[str, Any], row: Mapping[str, Any], *, as_of: datetime, outdated_from: datetime | None
) -> Recalled:
    from_ranking = {name: hit[name] for name in _RANKING_COLUMNS}
    from_memory = {name: row[name] for name in _MEMORY_COLUMNS if name not in {"said_at", "closed_statements"}}
    return Recalled(
        **from_ranking,
        **from_memory | {"created_at": row["said_at"] or row["created_at"]},
        parts=tuple(Part(**part) for part in hit["parts"] or ()),
        closed_statements=tuple(closed_statements(row["closed_statements"], as_of)),
        outdated_by=tuple(hit["outdated_by"] or ()),
        outdated_from=outdated_from,
        conflicts=tuple(hit["conflicts"] or ()),
        deep=row["lifecycle"] not in LIVE,
    )


def access_event(answer: Answer) -> dict[str, Any]:
    """Return type and payload of the event that records a recall.

    Memories that only a deep recall returns are counted as regret (see `runs/metrics`).
    """
    payload: dict[str, Any] = {
        "memory_ids": [recalled.memory_id for recalled in answer],
        "ranks": [recalled.rank for recalled in answer],
        "query": answer.query,
    }
    if expanded := [recalled.memory_id for recalled in answer if recalled.expanded]:
        payload["expanded"] = expanded
    if regret := sum(recalled.deep for recalled in answer):
        from memory_pipeline.runs.metrics import REGRET  # noqa: PLC0415 - slow to import and rarely needed

        payload["metadata"] = {REGRET: regret}
    return {"event_type": EventType.ACCESSED.value, "payload": payload}
