"""Separates what new memories say from what they quote of stored ones, before they are stored.

Of a turn that hands back recalled memories only its own words are stored, with the ids of the quoted memories in its
metadata. A turn without words of its own, and a text that is no memory, become dead letters with the reason. Not here:
how quotations (`text/quoting`) and texts that are no memory (`text/noise`) are found.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import core_memory
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import DeadLetter, Event
from memory_pipeline.ledger.payloads import Stored, canonical_json
from memory_pipeline.recall.index.postings import keys
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.settings import Settings
from memory_pipeline.text import noise, quoting, shown_lines
from memory_pipeline.text.arrays import Integers
from memory_pipeline.text.parse import tokens
from memory_pipeline.text.parse.speakers import ASSISTANTS

if TYPE_CHECKING:
    from memory_pipeline.recall.index.memory_index import Index
    from memory_pipeline.recall.live.state import State, StateCache
    from memory_pipeline.text.arrays import Integers

QUOTED: Final = "quoted_memories"
"""Key of the metadata that holds the ids of the memories that a text quoted."""

_NAMED: Final = 3
"""Most quoted memories that a reason names."""
_UNITS: Final = 400
"""Most passages that are looked at for one word."""
_LANGUAGES: Final = 3
"""Most languages in which a line is read."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Separated:
    """A new memory without its quotations."""

    event: Event | None
    """The event to store; None if the text has no words of its own, or is no memory."""
    quoted: tuple[str, ...]
    """Ids of the memories that it quotes."""
    left_out: DeadLetter | None = None
    """What is kept of an event that is not stored, with the reason."""


def separated(
    events: Sequence[Event],
    state: "Callable[[], State]",
    headings: Collection[str],
    *,
    marked: bool = False,
    filters: bool = True,
) -> list[Separated]:
    """Return events of a profile with texts that quote nothing and are memories (see `text/noise`), in order.

    Events that store no memory stay as they are, and so does what is protected; without `filters` texts that are no
    memory do too. The state is asked for only if a text may quote; the headings are names of blocks of core memory.
    `marked` reads only texts that carry marks, not every turn of an agent. Cost: a glance at each text; for those that
    carry marks, and for turns of agents, proportional to their length.
    """
    noisy = _noise(events) if filters else {}
    read = {
        number: shown_lines.pieces(event.payload.content, headings)
        for number, event in enumerate(events)
        if isinstance(event.payload, Stored)
        and number not in noisy
        and quoting.may_quote(event.payload.content, by_agent=not marked and _by_agent(event))
    }
    if not read:
        return [noisy.get(number) or Separated(event, ()) for number, event in enumerate(events)]
    sources = quoting.Sources()
    _add_candidates(sources, state().pool.index, [piece for pieces in read.values() for piece in pieces])
    found = list[Separated]()
    for number, event in enumerate(events):
        one = noisy.get(number) or Separated(event, ())
        if number in read:
            one = _separated(event, read[number], sources)
        if one.event is not None and isinstance(one.event.payload, Stored):
            content, by_agent = one.event.payload.content, _by_agent(one.event)
            at, speaker = one.event.occurred_at, one.event.payload.speaker
            sources.add(str(one.event.memory_id), content, by_agent=by_agent, at=at, speaker=speaker)
        found.append(one)
    if quotations := sum(bool(one.quoted) for one in found):
        _LOG.info(
            "%d of %d texts quote stored memories; only their own words are stored, for %d nothing",
            quotations,
            len(found),
            sum(one.event is None for one in found if one.quoted),
        )
    return found


def of_store(lake: Lake, settings: Settings) -> Callable[[Sequence[Event]], list[Separated]]:
    """Return `separated` for the turns of conversations that are imported into a store, of any profile.

    Only texts with marks are read. What is no turn, such as a line of a note, stays as it is.
    """
    state_of = states(lake, settings)

    def of_all(events: Sequence[Event]) -> list[Separated]:
        found = [Separated(event, ()) for event in events]
        turns = dict[str, list[int]]()
        for number, event in enumerate(events):
            if isinstance(event.payload, Stored) and event.payload.speaker and event.session_id:
                turns.setdefault(event.profile_id, []).append(number)
        for name, numbers in turns.items():
            headings = core_memory.names(settings.policy_of(name))
            own = separated(
                [events[number] for number in numbers],
                partial(state_of, name),
                headings,
                marked=True,
                filters=settings.filter_noise,
            )
            for number, one in zip(numbers, own, strict=True):
                found[number] = one
        return found

    return of_all


def states(lake: Lake, settings: Settings) -> "Callable[[str], State]":
    """Return a function of a profile's id that returns the current memories, loading what that needs when called."""
    caches: dict[str, StateCache] = {}

    def state_of(name: str) -> "State":
        from memory_pipeline.recall.live.state import StateCache  # noqa: PLC0415 - slow to import and rarely needed

        return caches.setdefault(name, StateCache(lake, name, settings.policy_of(name))).current()

    return state_of


def _noise(events: Sequence[Event]) -> dict[int, Separated]:
    """Return, by position, the events of texts that are no memory."""
    found = dict[int, Separated]()
    for number, event in enumerate(events):
        if isinstance(event.payload, Stored) and not event.payload.protected:
            why = noise.reason(event.payload.content, event.payload.speaker)
            if why is not None:
                found[number] = Separated(None, (), _left_out(event, why))
    return found


def _left_out(event: Event, why: str) -> DeadLetter:
    """Return what is kept of an event that is not stored."""
    # Without the time of recording, so that a second import of the same turn keeps it once.
    raw = event.model_dump_json(include={*Event.model_fields} - {"recorded_at"}, exclude_none=True).encode()
    return DeadLetter(f"memory {event.memory_id}", why, raw, event.recorded_at, noise=True)


def _by_agent(event: Event) -> bool:
    speaker = event.payload.speaker if isinstance(event.payload, Stored) else None
    return speaker is not None and (speaker.lower() in ASSISTANTS or speaker == event.agent_id)


def _separated(event: Event, read: list[shown_lines.Piece], sources: quoting.Sources) -> Separated:
    by = event.occurred_at if event.occurred_at < event.recorded_at else None
    find = partial(sources.find, but=event.memory_id, by=by)
    own = quoting.own(read, find, by_agent=_by_agent(event))
    if own is None or not own.quoted or not isinstance(event.payload, Stored):
        return Separated(event, ())
    if own.text is None:
        return Separated(None, own.quoted, _left_out(event, f"it only quotes memory {', '.join(own.quoted[:_NAMED])}"))
    metadata = canonical_json({**json.loads(event.payload.metadata or "{}"), QUOTED: [*own.quoted]})
    payload = event.payload.model_copy(update={"content": own.text, "metadata": metadata})
    return Separated(event.model_copy(update={"payload": payload}), own.quoted)


def _add_candidates(sources: quoting.Sources, index: "Index", pieces: Iterable[shown_lines.Piece]) -> None:
    """Add the memories that lines may quote: those that their marks name, and those that share their rarest words."""
    read = [one for piece in pieces for one in (*piece.words_within, *(piece.as_lines or (piece,)))]
    own_words = [one for piece in read if not piece.frame for one in (piece, *shown_lines.sentences(piece))]
    lines = dict.fromkeys(part for one in own_words if one.line for part in (one.line, *quoting.told_parts(one.line)))
    named = [name for piece in read for name in (piece.named, *piece.shown) if name]
    rows = index.row_ids.rows(named)
    wanted = {int(row) for row in rows if row >= 0} | _sharing_words(index, [*lines])
    ordered = sorted(wanted)
    memories = index.memories.select("memory_id", "content", SAID_AT, "speaker")[ordered]
    agents = index.by_assistant(np.array(ordered, dtype=np.int64))
    for (memory_id, content, at, speaker), by_agent in zip(memories.iter_rows(), agents.tolist(), strict=True):
        sources.add(memory_id, content, by_agent=by_agent, at=at, speaker=speaker)


def _sharing_words(index: "Index", lines: list[str]) -> set[int]:
    """Return the rows of the memories that have most of the rarest words of each line."""
    if not lines or not index.memories.height:
        return set()
    low = tokens.fold(pl.Series(lines, dtype=pl.String))
    postings: dict[int, Integers] = {}
    rows = set[int]()
    for language in index.passages.spoken[:_LANGUAGES] or (None,):
        words = tokens.occurrences(low, pl.Series([language] * len(lines), dtype=pl.String))
        words = words.filter(~pl.col("stop")).unique(["row", "stem"], maintain_order=True)
        if words.is_empty():
            continue
        hashes = keys(words["stem"].to_list())
        rare = (
            words.select("row", key=pl.Series(hashes), count=pl.Series(index.postings.frequencies(hashes)))
            .filter(pl.col("count") > 0)
            .sort("row", "count", "key")
            .group_by("row", maintain_order=True)
            .agg(pl.col("key").head(quoting.RARE))
        )
        for line_keys in rare["key"]:
            counts = Counter[int]()
            for key in line_keys.to_list():
                if key not in postings:
                    postings[key] = np.unique(index.passages.row[index.postings.postings(np.uint64(key))[0][:_UNITS]])
                counts.update(postings[key].tolist())
            closest = sorted(counts, key=lambda row: (-counts[row], index.root_lengths[row]))
            rows |= {*closest[: quoting.COMPARED]}
    return rows
