"""Turns a ranking into an answer, and an answer into the access event that records it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.recall.closed_statements import DoubtedSentence, closed_statements
from memory_pipeline.recall.live.search_pool import SearchPool
from memory_pipeline.recall.models import Answer, Part, Passage, Recalled, in_zone
from memory_pipeline.recall.rank import paging
from memory_pipeline.recall.rank.confidence import CONFIDENT
from memory_pipeline.schemas import LIVE, EventType
from memory_pipeline.text.compare.nearest_sentences import nearest_sentences

_DECIMALS: Final = 6
"""Decimals of a score that is recorded."""


def answer(
    pool: SearchPool,
    hits: Sequence[Mapping[str, Any]],
    query: str,
    *,
    as_of: datetime,
    ranking: str,
    zone: tzinfo = UTC,
    seen: Iterable[bytes] = (),
) -> Answer:
    """Convert what `ranking.hits` returned of a pool into an answer, with days and times in a zone.

    `as_of` is the instant whose state was searched, `seen` are keys of what earlier pages returned (see `rank/paging`).
    """
    linked = ((*hit["outdated_by"], *hit["conflicts"], hit["closed_by"]) for hit in hits)
    newer = _newer(pool, {name for names in linked for name in names})
    sentences = _outdated_sentences(hits, newer)
    recalled = [
        _recalled(
            hit,
            as_of,
            zone,
            outdated_from=min((newer[name]["at"] for name in hit["outdated_by"]), default=None),
            outdated_sentences=[
                replace(one, since=one.since.astimezone(zone)) for one in sentences.get(hit["memory_id"], ())
            ],
            newer_text=_newest(newer, (hit["closed_by"],)) or _newest(newer, hit["outdated_by"]),
            conflict_text=_newest(newer, hit["conflicts"]),
        )
        for hit in hits
    ]
    sure = [hit["confidence"] >= CONFIDENT for hit in hits if hit["confidence"] is not None]
    confident = any(sure) if sure or ranking == "default" else None
    cursor = paging.written([*seen, *(paging.key(hit["memory_id"]) for hit in hits)]) if hits else None
    return Answer(
        query=query,
        as_of=as_of.astimezone(zone),
        ranking=ranking,
        recalled=tuple(recalled),
        confident=confident,
        cursor=cursor,
    )


def _newer(pool: SearchPool, memory_ids: Collection[str | None]) -> dict[str, dict[str, Any]]:
    """Return the content of each of these memories, and when it began to hold or, if unknown, was said (`at`)."""
    names = sorted(name for name in memory_ids if name is not None and name in pool.row_ids)
    if not names:
        return {}
    rows = pool.rows(names, ["content", "valid_from", "said_at", "created_at"])
    return {
        name: {"content": row["content"], "at": row["valid_from"] or row["said_at"] or row["created_at"]}
        for name, row in zip(names, rows, strict=True)
    }


def _newest(newer: Mapping[str, Mapping[str, Any]], memory_ids: Collection[str | None]) -> str | None:
    """Return what the newest of some memories says; None if none is known."""
    known = [newer[name] for name in memory_ids if name is not None and name in newer]
    return max(known, key=lambda one: one["at"])["content"] if known else None


def _outdated_sentences(
    hits: Iterable[Mapping[str, Any]], newer: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[DoubtedSentence, ...]]:
    """Return the sentences of each memory that newer ones may have outdated, each since the first of these.

    Memories of one sentence are left out, and those where it is unclear which sentence a newer memory is about: their
    whole text is in doubt.
    """
    linked = [
        (hit["memory_id"], hit["memory"]["content"], newer[name]["content"], newer[name]["at"])
        for hit in hits
        for name in hit["outdated_by"]
    ]
    if not linked:
        return {}
    pairs = pl.DataFrame(linked, ["memory_id", "whole", "newer", "since"], orient="row").with_row_index("pair")
    nearest = pairs.join(nearest_sentences(pairs), on="pair", how="left", maintain_order="left")
    part = ((pl.col("sentences") > 1) & pl.col("alone")).fill_null(value=False)
    doubts = (
        nearest.filter(part.all().over("memory_id"))
        .group_by("memory_id", "sentence", maintain_order=True)
        .agg(pl.col("since").min())
        .group_by("memory_id", maintain_order=True)
        .agg(pl.struct("sentence", "since").alias("doubts"))
    )
    return {name: tuple(DoubtedSentence(**one) for one in found) for name, found in doubts.iter_rows()}


def _recalled(hit: Mapping[str, Any], as_of: datetime, zone: tzinfo, **found: Any) -> Recalled:
    """Return the memory of a row of a ranking, with what was found of newer ones, its instants in a time zone."""
    row = hit["memory"]
    known: dict[str, Any] = {
        **row,
        **hit,
        **found,
        "created_at": row["said_at"] or row["created_at"],
        "passage": None if hit["passage"] is None else Passage(**hit["passage"]),
        "parts": [Part(**part) for part in hit["parts"]],
        "closed_statements": closed_statements(row["closed_statements"], as_of, zone),
        "deep": row["lifecycle"] not in LIVE,
        "undated": whereabouts.is_undated(json.loads(row["metadata"] or "{}")),
    }
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
    return Recalled(**in_zone({field.name: values[field.name] for field in fields(Recalled)}, zone))


def access_events(answer: Answer, profile_id: str) -> list[dict[str, Any]]:
    """Return the profile, type and payload of the events that record a recall, one for each profile of its memories.

    The query is recorded in the asking profile alone. Memories that only a deep recall returns are counted as regret
    (see `runs/metrics`).
    """
    owners = sorted({recalled.profile_id for recalled in answer})
    return [_access_event(answer, owner, asked=owner == profile_id) for owner in owners]


def _access_event(answer: Answer, profile_id: str, *, asked: bool) -> dict[str, Any]:
    own = [recalled for recalled in answer if recalled.profile_id == profile_id]
    payload: dict[str, Any] = {
        "memory_ids": [recalled.memory_id for recalled in own],
        "ranks": [recalled.rank for recalled in own],
        "scores": [round(recalled.score, _DECIMALS) for recalled in own],
    }
    if asked:
        payload["query"] = answer.query
        if answer.confident is not None:
            payload["unsure"] = not answer.confident
    if expanded := [recalled.memory_id for recalled in own if recalled.expanded]:
        payload["expanded"] = expanded
    if regret := sum(recalled.deep for recalled in own):
        from memory_pipeline.runs.metrics import REGRET  # noqa: PLC0415 - slow to import and rarely needed

        payload["metadata"] = {REGRET: regret}
    return {"profile_id": profile_id, "event_type": EventType.ACCESSED.value, "payload": payload}
