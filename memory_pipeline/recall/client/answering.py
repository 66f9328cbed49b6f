"""Turns a ranking into an answer, and an answer into the access event that records it.

Not here: the ranking itself (`rank/ranking`) and the state that is searched (`live/state`).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

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
    recalled = [_recalled(hit, row) for hit, row in zip(ranked.to_dicts(), rows, strict=True)]
    return Answer(query=query, as_of=as_of, ranking=ranking, recalled=tuple(recalled))


def _recalled(hit: Mapping[str, Any], row: Mapping[str, Any]) -> Recalled:
    from_ranking = {name: hit[name] for name in _RANKING_COLUMNS}
    from_memory = {name: row[name] for name in _MEMORY_COLUMNS if name != "said_at"}
    return Recalled(
        **from_ranking,
        **from_memory | {"created_at": row["said_at"] or row["created_at"]},
        parts=tuple(Part(**part) for part in hit["parts"] or ()),
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
