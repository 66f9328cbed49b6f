"""Answers: what people, agents and models have said about how two memories relate.

An answer is an event (`relation.resolved`). On each pair one counts: the last of the highest authority. It holds while
both texts stay as they were; an answer that withdraws (`open`) leaves the pair unanswered. An update closes the older
memory as a run's closing does, at once; every answer outranks what a judge infers. Not here: asking (`recall.client`),
and the links that a run makes of answers (`change_detection`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.schemas import INSTANT, Action, EventType, Lifecycle

OPEN: Final = "open"
"""Answer that withdraws an earlier one."""
CLOSING: Final = ("update", "partial")
"""Answers that end what the older memory states, or a part of it."""
LINKING: Final[dict[str, str]] = {"repeat": "duplicate", "conflict": "conflict", "none": "unrelated"}
"""The other answers, and the relation of `fact_changes` that each means."""
RULE: Final = "answered"
"""Rule of what follows from an answer."""
PAIR: Final = ("low", "high")
"""The two memories of a pair, the smaller id first."""

_GIVEN: Final = (
    "profile_id",
    "memory_id",
    "other_id",
    *PAIR,
    "relation",
    "statement",
    "answered_by",
    "event_id",
    "seq",
)
_AUTHORITY: Final = {"model": 0, "agent": 1, "owner": 2}


def standing(events: pl.DataFrame, memories: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the answer that counts on each pair of memories.

    Of table `events` only answers and changes of texts are read. With `memories`, answers about a memory that is not
    there or was erased do not count; else those of all events are there.

    Returns:
        profile_id, memory_id (the older), other_id (the newer), `PAIR`, relation, statement, answered_by, event_id, at
        (when it was said) and seq; withdrawn and lapsed answers are left out. Sorted by profile and pair.

    Cost: a sort of the answers; a join with the updates of texts.
    """
    given = events.filter(pl.col("event_type") == EventType.RESOLVED.value, pl.col("relation").is_not_null())
    rows = given.select(
        pl.exclude("memory_id", "target_id"),
        memory_id="target_id",
        other_id="memory_id",
        low=pl.min_horizontal("memory_id", "target_id"),
        high=pl.max_horizontal("memory_id", "target_id"),
        at=pl.min_horizontal("occurred_at", "recorded_at"),
    ).select(*_GIVEN, "at")
    if rows.is_empty():
        return rows
    texts = events.filter(pl.col("event_type") == EventType.UPDATED.value, pl.col("content").is_not_null())
    changed = texts.group_by(KEY).agg(changed=pl.min_horizontal("occurred_at", "recorded_at").max())
    if memories is not None:
        present = memories.filter(pl.col("lifecycle") != Lifecycle.ERASED.value).select(*KEY, "created_at")
        for end in ("memory_id", "other_id"):
            rows = rows.join(present.rename({"memory_id": end, "created_at": f"{end}_from"}), on=["profile_id", end])
        rows = rows.with_columns(at=pl.max_horizontal("at", "memory_id_from", "other_id_from"))
    for end in ("memory_id", "other_id"):
        later = changed.rename({"memory_id": end, "changed": f"{end}_changed"})
        rows = rows.join(later, on=["profile_id", end], how="left", maintain_order="left")
    lapsed = pl.max_horizontal("memory_id_changed", "other_id_changed") > pl.col("at")
    holding = rows.filter(~lapsed.fill_null(value=False))
    authority = pl.col("answered_by").replace_strict(_AUTHORITY, default=1, return_dtype=pl.Int64)
    return (
        holding.sort(authority, "at", "seq")
        .unique(["profile_id", *PAIR], keep="last", maintain_order=True)
        .filter(pl.col("relation") != OPEN)
        .select(*_GIVEN, "at")
        .sort("profile_id", *PAIR)
    )


def closings(answered: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions that follow at once from answers (`standing`): closings of memories and of their statements.

    What the older memory states ends where the newer one begins, at the earliest where the older one begins; of several
    that replace it as a whole the first one does.

    Returns:
        Columns of table `decisions` that applying them needs; decision_id is the id of the answer's event.
    """
    since = pl.coalesce("valid_from", "said_at", "created_at")
    texts = memories.select(*KEY, "content_hash", since=since)
    newer = texts.rename({"memory_id": "other_id", "content_hash": "other_hash", "since": "other_since"})
    rows = (
        answered.filter(pl.col("relation").is_in(CLOSING))
        .join(texts, on=KEY, maintain_order="left")
        .join(newer, on=["profile_id", "other_id"], maintain_order="left")
    )
    filled = rows.with_columns(
        valid_until=pl.max_horizontal("since", "other_since").cast(INSTANT),
        superseded_by="other_id",
        superseded_kind=pl.lit("update"),
    )
    whole = pl.col("relation") == "update"
    first = pl.struct("valid_until", "seq", "event_id").rank("ordinal").over(*KEY, whole) == 1
    fields = decision_json.CLOSED | decision_json.STATEMENT
    return filled.filter(~whole | first).select(
        "profile_id",
        "seq",
        "memory_id",
        decision_id="event_id",
        plan_id=pl.lit(None, pl.String),
        as_of="at",
        ordinal=pl.lit(0, pl.Int64),
        action=pl.lit(Action.CLOSE.value),
        target_id="other_id",
        after=decision_json.write(fields),
    )
