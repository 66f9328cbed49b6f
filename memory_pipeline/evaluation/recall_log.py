"""Derives evaluation questions from logged recalls and the feedback on their results.

Not here: reading the events (`sources.py`, `conversations.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from memory_pipeline.schemas import EventType

RECALLED: Final = "recalled"
"""Kind of a question with feedback on its results."""
AGREEMENT: Final = "agreement"
"""Kind of a question without feedback: it has no evidence until the full store has answered it."""
USES: Final = (EventType.ACCESSED.value, EventType.FEEDBACK.value)
"""Types of events that questions are derived from."""
COLUMNS: Final = ("occurred_at", "seq", "ordinal", "memory_id", "query", "rank", "helpful")
"""Columns of the table `events` that are needed."""
AGREED: Final = 3
"""Top results of the full store that count as evidence for questions without feedback."""
NO_FEEDBACK: Final = (
    "there is no feedback on answers, so the figures measure agreement with the full store only: the evidence of a "
    f"question is the top {AGREED} results of “keep everything”. With feedback, they measure what helped."
)


def questions(uses: pl.DataFrame) -> tuple[list[dict[str, Any]], str]:
    """Return the questions of one profile, each wording once, and a caveat for readers of the figures.

    `uses` are rows of the table `events` of the types `USES`. The evidence of a query is the memories that were marked
    helpful after the last recall that returned them, and those named by an access without ranks: agents report what
    they used that way. Recalls by a client have ranks; they show what was returned, not what helped. If any question
    has evidence, only those with evidence count; otherwise all count, with the kind `AGREEMENT`.
    """
    helpful_by_query: dict[str, dict[str, None]] = {}
    last_query: dict[str, str] = {}
    # Recalls are logged in the background: at equal times, a recall sorts before the feedback on its results.
    ordered = uses.sort("occurred_at", pl.col("query").is_null(), "seq", "ordinal")
    for row in ordered.select(COLUMNS).iter_rows(named=True):
        memory, query = row["memory_id"], row["query"]
        if query is not None:
            helpful = helpful_by_query.setdefault(query, {})
            last_query[memory] = query
            if row["rank"] is None:
                helpful[memory] = None
        elif memory in last_query and row["helpful"] is not None:
            helpful = helpful_by_query[last_query[memory]]
            if row["helpful"]:
                helpful[memory] = None
            else:
                helpful.pop(memory, None)
    judged = [{"text": query, "kind": RECALLED, "evidence": [*ids]} for query, ids in helpful_by_query.items() if ids]
    if judged or not helpful_by_query:
        total = len(helpful_by_query)
        note = f"{len(judged)} of {total} recalled questions count: those with an answer that is known to have helped."
        return judged, note if len(judged) < total else ""
    return [{"text": query, "kind": AGREEMENT, "evidence": []} for query in helpful_by_query], NO_FEEDBACK


def originals(ids: Iterable[str], members_by_summary: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the distinct original memories behind some ids, resolving summaries of summaries."""
    resolved: dict[str, None] = {}
    for memory_id in ids:
        members = list(members_by_summary.get(memory_id) or ())
        resolved |= dict.fromkeys(originals(members, members_by_summary) if members else [memory_id])
    return [*resolved]
