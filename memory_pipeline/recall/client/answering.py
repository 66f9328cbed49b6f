"""From a ranking to an answer: what is returned of each memory, and what is remembered of its being recalled.

What is not here: the ranking itself (`ranking`), and which state is searched (`state`).
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.recall.live.state import Pool
from memory_pipeline.recall.models import Answer, Part, Recalled
from memory_pipeline.schemas import LIVE, EventType

_SHOWN: Final = ("kind", "content", "speaker", "memory_type", "session_id", "created_at", "said_at", "lifecycle")
"""What an answer tells of a memory, from its row of the table."""
_FOUND: Final = ("memory_id", "text", "score", "rank", "tokens", "current", "holds_from", "closed_by")
"""Likewise, from the ranking."""


def answer(pool: Pool, ranked: pl.DataFrame, query: str, *, as_of: datetime, ranking: str) -> Answer:
    """Return what `ranking.rank` found as an answer.

    Args:
        pool: the memories that were searched.
        ranked: what `rank` returns.
        query: the question.
        as_of: instant whose state was searched.
        ranking: name of the ranking.
    """
    rows = pool.rows(ranked["memory_id"].to_list(), _SHOWN)
    found = [_recalled(hit, row) for hit, row in zip(ranked.to_dicts(), rows, strict=True)]
    return Answer(query=query, as_of=as_of, ranking=ranking, recalled=tuple(found))


def _recalled(hit: Mapping[str, Any], row: Mapping[str, Any]) -> Recalled:
    given = {name: hit[name] for name in _FOUND}
    told = {name: row[name] for name in _SHOWN if name != "said_at"}
    return Recalled(
        **given,
        **told | {"created_at": row["said_at"] or row["created_at"]},
        parts=tuple(Part(**part) for part in hit["parts"] or ()),
        conflicts=tuple(hit["conflicts"] or ()),
        deep=row["lifecycle"] not in LIVE,
    )


def accessed(found: Answer) -> dict[str, Any]:
    """Return what an event says of a recall: type and payload.

    Memories that only a deep recall finds count as regret: see `lake.metrics`.
    """
    payload: dict[str, Any] = {
        "memory_ids": [one.memory_id for one in found],
        "ranks": [one.rank for one in found],
        "query": found.query,
    }
    if regret := sum(one.deep for one in found):
        from memory_pipeline.runs.metrics import REGRET  # noqa: PLC0415 - it takes long to load, and is seldom needed

        payload["metadata"] = {REGRET: regret}
    return {"event_type": EventType.ACCESSED.value, "payload": payload}
