"""Asks how memories relate: which pairs are worth an answer, and what a new memory may replace.

Pairs come from the last run's comparison (table `fact_changes`); those that are decided or answered are left out. Not
here: what an answer does (`consolidation/state/answers`), and the judge (`text/compare`).
"""

import hashlib
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, get_args

import polars as pl

from memory_pipeline.consolidation import questions
from memory_pipeline.consolidation.change_detection import unanswered
from memory_pipeline.consolidation.plans import telling
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import payloads
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.live.state import State, StateCache
from memory_pipeline.recall.models import Memory
from memory_pipeline.recall.reviews import Pair, Remembered, Review
from memory_pipeline.schemas import LIVE

ANSWERS: Final = (*get_args(payloads.Answer), "skip")
"""What can be answered about a pair; `skip` leaves it for later and records nothing."""
MOST_LIKELY: Final = 3
"""Most earlier memories that a new one is shown to relate to."""

_CHECKED: Final = 1_000
"""Most pairs of new memories whose ids a client keeps."""
_NEW: Final = 20
"""Memories stored since the last run, the latest, of whose pairs an id is looked for."""
_ID_DIGITS: Final = 8


def pair_id(one: str, other: str) -> str:
    """Return the id of a pair of memories: 8 hex digits of the SHA-256 of their ids, in order."""
    return hashlib.sha256("\x1f".join(sorted((one, other))).encode()).hexdigest()[:_ID_DIGITS]


def review(own: OpenProfile, limit: int, *, doubts: bool) -> Review:
    """Return the pairs of a profile that are most worth an answer, in the order of `questions.ranked`.

    Cost: reads the profile's pairs of the last run.
    """
    state = own.cache.current()
    changes = own.lake.read("fact_changes", profiles=[own.profile_id]).with_columns(likelihood="confidence")
    possible = changes.filter(pl.col("relation").is_in(list(questions.ANSWERS)), ~pl.col("decided"))
    sentences = own.lake.read("core_sentences", profiles=[own.profile_id])
    unsaid = unanswered(possible, own.cache.answered())
    waiting = questions.ranked(
        unsaid, state.pool.index.memories, sentences, floor=questions.AGENTS if doubts else questions.PEOPLE
    )
    return Review(pairs=_described(own.cache, state, waiting.head(limit)), waiting=waiting.height)


def answered(own: OpenProfile, since: datetime | None) -> pl.DataFrame:
    """Return what answers and corrections have ended since an instant, as people read it (`telling.TOLD`)."""
    said = own.cache.answered().filter(pl.col("at") >= since)
    return telling.tell_answers(said, own.cache.current().pool.index.memories, own.zone)


def find(lake: Lake, cache: StateCache, profile_id: str, pair: str) -> tuple[str, str]:
    """Return the older and the newer memory of a pair that the last run compared, or of a memory stored since.

    Raises ValueError if there is none of this id.
    """
    changes = lake.read("fact_changes", profiles=[profile_id], columns=["memory_id", "other_id"])
    by_id = {pair_id(*ends): ends for ends in changes.iter_rows()}
    by_id |= {pair_id(*ends): ends for ends in cache.answered().select("memory_id", "other_id").iter_rows()}
    found = by_id.get(pair) or _of_new_memory(cache, pair)
    if found is None:
        raise ValueError(
            f"pair is {shown(pair)}, which is no pair of the last run; give an id that `review` shows, or the ids of "
            "both memories"
        )
    return found


def _of_new_memory(cache: StateCache, pair: str) -> tuple[str, str] | None:
    """Return the older and the newer memory of a pair of which one was stored since the last run; None if none is.

    Another process may have shown it (see `likely`). Cost: a hash for each of the latest new memories and each memory.
    """
    state = cache.current()
    memories = state.pool.index.memories.filter(pl.col("lifecycle").is_in(LIVE))
    new = memories.filter(pl.col("seq") > state.links.compared_until).sort("seq").tail(_NEW)["memory_id"]
    since = {row[0]: row[1:] for row in memories.select("memory_id", pl.coalesce("valid_from", SAID_AT), "seq").rows()}
    for memory_id in reversed(new.to_list()):
        for other_id in since:
            if other_id != memory_id and pair_id(memory_id, other_id) == pair:
                older, newer = sorted((memory_id, other_id), key=since.__getitem__)
                return older, newer
    return None


def asked_about(lake: Lake, profile_id: str, older: str, newer: str) -> str | None:
    """Return the sentences of the older memory that the last run asks about; None if it asks about all of it."""
    changes = lake.read("fact_changes", profiles=[profile_id], columns=["memory_id", "other_id", "statement"])
    named: list[str] = changes.filter(memory_id=older, other_id=newer)["statement"].drop_nulls().to_list()
    return next(iter(named), None)


def statement_of(memory: Memory, statement: str | None) -> str:
    """Return the sentences of a memory that no longer hold, as written; raises ValueError for none, or others."""
    if not statement or not statement.strip():
        raise ValueError("statement is missing; give the sentences of the older memory that no longer hold")
    lines = [line.strip() for line in statement.split("\n") if line.strip()]
    for line in lines:
        if line not in memory.content:
            raise ValueError(f"statement is {shown(line)}, which is not in the older memory; copy its words exactly")
    return "\n".join(lines)


def checked(own: OpenProfile, stored: Remembered, *, but: str | None) -> Remembered:
    """Return a memory that was stored with the earlier ones that it may affect, save one; remember these pairs."""
    pairs = tuple(pair for pair in likely(own, stored.memory_id) if pair.older.memory_id != but)
    own.checked |= {pair.pair_id: (pair.older.memory_id, pair.newer.memory_id) for pair in pairs}
    while len(own.checked) > _CHECKED:
        own.checked.popitem(last=False)
    return replace(stored, likely=pairs)


def likely(own: OpenProfile, memory_id: str) -> tuple[Pair, ...]:
    """Return the live memories that a new one may replace, repeat or contradict, the likeliest first.

    There are none if the policy compares no facts, and none of the same words, which a run merges unasked. Cost: see
    `FirstReading.pairs`.
    """
    own.memory(memory_id)
    if not own.policy.fact_changes:
        return ()
    cache, state = own.cache, own.cache.current()
    row_ids, hashes = state.pool.row_ids, state.pool.index.memories["content_hash"]
    pairs = cache.first_reading.pairs(state.pool.index, [row_ids[memory_id]])
    same = [hashes[row_ids[one]] == hashes[row_ids[other]] for one, other in pairs[["memory_id", "other_id"]].rows()]
    found = pairs.filter(pl.col("relation").is_in(list(questions.ANSWERS)), ~pl.Series(same, dtype=pl.Boolean))
    return _described(cache, state, found.sort("confidence", "memory_id", descending=[True, False]).head(MOST_LIKELY))


def _described(cache: StateCache, state: State, rows: pl.DataFrame) -> tuple[Pair, ...]:
    """Return rows of memory_id, other_id, relation, confidence and statement as pairs."""
    ends = [*rows["memory_id"], *rows["other_id"]]
    memories = {memory.memory_id: memory for memory in cache.memories(state, ends)}

    def pair(row: dict[str, Any]) -> Pair:
        answer = questions.ANSWERS[row["relation"]]
        return Pair(
            pair_id=pair_id(row["memory_id"], row["other_id"]),
            relation="partial" if answer == "update" and row["statement"] else answer,
            confidence=row["confidence"],
            statement=row["statement"] if answer == "update" else None,
            older=memories[row["memory_id"]],
            newer=memories[row["other_id"]],
        )

    return tuple(map(pair, rows.to_dicts()))
