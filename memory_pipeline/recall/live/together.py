"""Searches the memories of several profiles as if they were of one: one index, one ranking, comparable scores.

Ids and sessions of the profiles are kept apart by a prefix, and profiles stay apart in every store and run.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Final, Self

import numpy as np
import polars as pl

from memory_pipeline.recall.filters import Filters
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.live.search_pool import SearchPool, differences
from memory_pipeline.recall.live.state import State, StateCache
from memory_pipeline.recall.models import Answer, Recalled
from memory_pipeline.recall.rank.baselines import Context
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.recall.rank.ranking import Compare, Whom
from memory_pipeline.text.arrays import Marks
from memory_pipeline.text.embed import encoder

_MARK: Final = "\x1f"
"""Ends the prefix of an id; no id of an agent holds a control character."""
FEW: Final = 1_000
"""Most memories of a profile that recall compares before any run has: as many as somebody tries a memory with."""
_IDS: Final = ("memory_id", "session_id", "superseded_by", "closed_by", "cluster_id")


@dataclass(frozen=True)
class Alone:
    """The searched state of one profile."""

    cache: StateCache
    state: State

    @property
    def pool(self) -> SearchPool:
        """The memories."""
        return self.state.pool

    @property
    def links(self) -> FactLinks:
        """Links between memories about the same fact."""
        return self.state.links

    @property
    def compare(self) -> Compare | None:
        """Finds the links of memories that no run has compared; None of a past state.

        Before any run only few are compared, and those that the reader has embedded: it is loaded then.
        """
        few = len(self.pool.row_ids) <= FEW and self.pool.index.model == encoder.NAME
        some = self.links.compared_until > 0 or few
        reads = self.state.edges is None and some and self.cache.compares and not encoder.missing()
        return self.cache.first_links if reads else None

    @property
    def whom(self) -> Whom | None:
        """Reads whom memories are about; None without the reader."""
        return None if encoder.missing() else self.cache.others

    def scored(self, now: datetime) -> pl.DataFrame:
        """Return the scores of all memories at an instant."""
        return self.cache.scored(self.state, now)

    def associations(self, now: datetime) -> pl.DataFrame:
        """Return the associations that a recall can follow."""
        return self.cache.associations(self.state, now)

    def context(self, *, session_id: str | None, user_id: str | None, now: datetime) -> Context:
        """Return the asking session and user."""
        return self.cache.context(self.state, session_id=session_id, user_id=user_id, now=now)

    def allowed(self, filters: Filters) -> Marks | None:
        """Return a mask of the rows that the filters admit; None if they admit all."""
        return self.pool.allowed(filters)

    def named(self, answer: Answer) -> Answer:
        """Return the answer."""
        return answer


@dataclass(frozen=True)
class Together:
    """The searched states of several profiles, and one pool of their memories."""

    caches: Mapping[str, StateCache]
    states: Sequence[State]
    pool: SearchPool

    @cached_property
    def links(self) -> FactLinks:
        """Links between memories of one profile about the same fact."""
        tables = [_prefixed(place, state.links.table, ("memory_id", "other_id")) for place, state in self._placed()]
        return FactLinks.of(pl.concat(tables), compared_until=min(state.links.compared_until for state in self.states))

    @property
    def compare(self) -> None:
        """Memories of several profiles are compared by their own runs alone."""

    @property
    def whom(self) -> None:
        """Several profiles have no one owner."""

    def scored(self, now: datetime) -> pl.DataFrame:
        """Return the scores of all memories at an instant, each by the policy of its profile."""
        parts = zip(self._placed(), self.caches.values(), strict=True)
        return pl.concat(
            [_prefixed(place, cache.scored(state, now), ("memory_id",)) for (place, state), cache in parts],
            how="diagonal",
        )

    def associations(self, now: datetime) -> pl.DataFrame:
        """Return the associations that a recall can follow; none leads from one profile to another."""
        parts = zip(self._placed(), self.caches.values(), strict=True)
        return pl.concat(
            [_prefixed(place, cache.associations(state, now), ("source", "target")) for (place, state), cache in parts]
        )

    def context(self, **_: object) -> Context:
        """Refuse: proximity to the asking session and user exists within one profile only."""
        raise ValueError("ranking = 'engram' searches one profile; leave out profiles, or choose another ranking")

    def allowed(self, filters: Filters) -> Marks | None:
        """Return a mask of the rows that the filters admit; None if they admit all."""
        if filters.session_id is None:
            return self.pool.allowed(filters)
        sessions = [_prefix(place) + filters.session_id for place in range(len(self.states))]
        masks = [self.pool.allowed(replace(filters, session_id=session)) for session in sessions]
        return np.asarray(np.logical_or.reduce([mask for mask in masks if mask is not None]), dtype=np.bool_)

    def named(self, answer: Answer) -> Answer:
        """Return an answer with the profile of each memory, and with the ids that memories have there."""
        return replace(answer, recalled=tuple(self._named(hit) for hit in answer.recalled))

    def _named(self, hit: Recalled) -> Recalled:
        place, _, memory_id = hit.memory_id.partition(_MARK)
        return replace(
            hit,
            memory_id=memory_id,
            profile_id=list(self.caches)[int(place)],
            session_id=_plain(hit.session_id),
            closed_by=_plain(hit.closed_by),
            closed_statements=tuple(
                replace(one, closed_by=one.closed_by.partition(_MARK)[2]) for one in hit.closed_statements
            ),
            outdated_by=tuple(name.partition(_MARK)[2] for name in hit.outdated_by),
            conflicts=tuple(name.partition(_MARK)[2] for name in hit.conflicts),
        )

    def _placed(self) -> Sequence[tuple[int, State]]:
        return list(enumerate(self.states))

    @classmethod
    def of(cls, caches: Mapping[str, StateCache], states: Sequence[State], previous: SearchPool | None = None) -> Self:
        """Combine states for one search: the previous pool with the differences, if there is one."""
        memories = pl.concat([_rows(place, state, caches) for place, state in enumerate(states)])
        if previous is None or previous.index.memories.join(memories, on="memory_id", how="anti").height:
            # A pool that has lost a memory is rebuilt too: nothing of an erased one may remain.
            model = states[0].pool.index.model
            pool = SearchPool.of(Index.build(memories, _vectors(caches, states, memories), model=model))
        else:
            rows = differences(previous.index.memories, memories)
            pool = previous.extended(rows, _vectors(caches, states, previous.index.without_vector(rows)))
        return cls(caches, states, pool)


class TogetherCache:
    """Caches the joint search state of several profiles. Threads may share it."""

    def __init__(self, caches: Mapping[str, StateCache]) -> None:
        self._caches = caches
        self._lock = threading.Lock()
        self._last: Together | None = None

    def current(self) -> Together:
        """Return the current joint state.

        Cost: that of each profile's state; the first call builds an index of all, seconds at 100,000 memories; after a
        change of one profile the index takes over the differences, some tens of milliseconds.
        """
        states = [cache.current() for cache in self._caches.values()]
        with self._lock:
            last = self._last
            if last is None or any(old.pool is not new.pool for old, new in zip(last.states, states, strict=True)):
                self._last = Together.of(self._caches, states, None if last is None else last.pool)
            elif any(old is not new for old, new in zip(last.states, states, strict=True)):
                self._last = replace(last, states=states)
            return self._last or Together.of(self._caches, states)

    def past(self, as_of: datetime) -> Together:
        """Return the joint state at an instant. Cost: that of each past state, and an index of all."""
        return Together.of(self._caches, [cache.past(as_of) for cache in self._caches.values()])


def _rows(place: int, state: State, caches: Mapping[str, StateCache]) -> pl.DataFrame:
    """Return the memories of a state with ids that are unique across profiles."""
    prefix = _prefix(place)
    statement = pl.element().struct.with_fields(closed_by=prefix + pl.element().struct.field("closed_by"))
    return _prefixed(place, state.pool.index.memories, _IDS).with_columns(
        pl.lit(_MARK.join(caches)).alias("profile_id"),
        pl.col("members").list.eval(prefix + pl.element()),
        pl.col("closed_statements").list.eval(statement),
    )


def _vectors(caches: Mapping[str, StateCache], states: Sequence[State], rows: pl.DataFrame) -> pl.DataFrame:
    """Return the vectors of rows whose ids have a prefix."""
    parts = []
    for place, (cache, state) in enumerate(zip(caches.values(), states, strict=True)):
        names = rows.filter(pl.col("memory_id").str.starts_with(_prefix(place)))["memory_id"].to_list()
        own = state.pool.index.row_ids.rows([name.partition(_MARK)[2] for name in names])
        parts.append(cache.vectors(state.pool.index.memories[own[own >= 0]]))
    return pl.concat(parts)


def _prefixed(place: int, frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return frame.with_columns((_prefix(place) + pl.col(name)).alias(name) for name in columns)


def _prefix(place: int) -> str:
    return f"{place}{_MARK}"


def _plain(name: str | None) -> str | None:
    return None if name is None else name.partition(_MARK)[2]
