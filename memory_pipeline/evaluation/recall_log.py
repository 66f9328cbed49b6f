"""What was really asked of a memory, as questions: recalls with their query, and which of the answers helped.

Here: how events of recalls and feedback become questions. Not here: where the events come from (`sources.py`,
`conversations.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from memory_pipeline.schemas import EventType

RECALLED: Final = "recalled"
"""Kind of a question of which somebody said what answered it."""
AGREEMENT: Final = "agreement"
"""Kind of a question of which nobody did: it has no evidence until the whole store has answered it."""
USES: Final = (EventType.ACCESSED.value, EventType.FEEDBACK.value)
"""Types of the events that tell of questions."""
COLUMNS: Final = ("occurred_at", "seq", "ordinal", "memory_id", "query", "rank", "helpful")
"""Columns of the table `events` that are needed of them."""
AGREED: Final = 3
"""Best answers of the whole store that count as evidence where nobody said what helped."""
NOBODY: Final = (
    "nobody said which answers helped, so the figures tell of agreement alone: the evidence is what the whole store "
    f"answers first, the {AGREED} best answers of “keep everything” to the very questions that were recalled. With "
    "feedback on answers, what helped is measured."
)


def questions(uses: pl.DataFrame) -> tuple[list[dict[str, Any]], str]:
    """Return the questions of one profile, each wording once, and what a reader of their figures must know.

    What somebody found helpful, of the answers of the last recall that returned it, is the evidence of its query; so
    is what an access without ranks names, as agents report what they used. A recall of a client has ranks: it tells
    what came back, not what helped. Where anything is known to have helped, only such questions count; where nothing
    is, all of them, of kind `AGREEMENT`.

    Args:
        uses: rows of the table `events` of the types `USES`.
    """
    helped: dict[str, dict[str, None]] = {}
    last: dict[str, str] = {}
    # A recall is written behind the answer: of one instant it comes before what is said of its answers.
    ordered = uses.sort("occurred_at", pl.col("query").is_null(), "seq", "ordinal")
    for row in ordered.select(COLUMNS).iter_rows(named=True):
        memory, query = row["memory_id"], row["query"]
        if query is not None:
            own = helped.setdefault(query, {})
            last[memory] = query
            if row["rank"] is None:
                own[memory] = None
        elif memory in last and row["helpful"] is not None:
            own = helped[last[memory]]
            if row["helpful"]:
                own[memory] = None
            else:
                own.pop(memory, None)
    judged = [{"text": query, "kind": RECALLED, "evidence": [*own]} for query, own in helped.items() if own]
    if judged or not helped:
        few = f"{len(judged)} of {len(helped)} recalled questions count: those of which something is known to help."
        return judged, few if len(judged) < len(helped) else ""
    return [{"text": query, "kind": AGREEMENT, "evidence": []} for query in helped], NOBODY


def originals(names: Iterable[str], made: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the memories that agents stored behind some names, through summaries of summaries; each once."""
    found: dict[str, None] = {}
    for name in names:
        members = list(made.get(name) or ())
        found |= dict.fromkeys(originals(members, made) if members else [name])
    return [*found]
