"""What stands now, for recall: what the last commit published, and on top of it what agents have written since.

One state a profile is kept in memory, immutable, so that readers need no lock. Whoever asks looks whether the ledger
has grown, which costs one look at its end; what is new changes only the memories that it concerns.
What is not here: how the tail is folded (`tail`), the index and its order of rows (`index`), ranking (`ranking`).
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import polars as pl
import sqlalchemy as sa
from numpy.typing import NDArray

from memory_pipeline.consolidation.state import projection
from memory_pipeline.lake import events, files
from memory_pipeline.lake.database import EVENTS
from memory_pipeline.lake.schemas import TABLES, EventType, Lifecycle
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.answers import Filters
from memory_pipeline.recall.index import Index
from memory_pipeline.recall.tail import Row, Tail, concerned, contradicting, erased, linked, look, moved, published
from memory_pipeline.settings import Policy
from memory_pipeline.text import embedding, enriching

GONE: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)
"""Where memories stand that nobody can recall."""

RESTING: Final = (Lifecycle.EXPIRED.value, Lifecycle.COLD.value, Lifecycle.STUB.value)
"""Where memories stand that come back once an agent turns to them."""

_SAME: Final = ("session_id", "agent_id", "user_id")
"""Filters that name the value of a column."""
_MASKS: Final = 16
_PASTS: Final = 2


@dataclass(frozen=True)
class Pool:
    """Memories to search, with what is looked up beside the index."""

    index: Index
    places: dict[str, int]
    """Row of each memory in the index."""
    resting: frozenset[str]
    """Memories that a use brings back."""

    @classmethod
    def of(cls, index: Index) -> Self:
        """Return a pool of all memories of an index."""
        places = {memory_id: place for place, memory_id in enumerate(index.memories["memory_id"])}
        return cls(index, places, _ids(index.memories, RESTING))

    def extended(self, memories: pl.DataFrame, vectors: pl.DataFrame) -> Self:
        """Return a pool with rows that are new or have changed (see `Index.extended`)."""
        index = self.index.extended(memories, vectors)
        height, ids = self.index.memories.height, index.memories["memory_id"]
        newest = ids[height:].to_list()
        if ids.len() != height + memories.height or set(newest) != set(memories["memory_id"]):
            return self.of(index)
        places = self.places | {memory_id: height + place for place, memory_id in enumerate(newest)}
        return type(self)(index, places, self.resting | _ids(memories, RESTING))

    @cached_property
    def _masks(self) -> "OrderedDict[Filters, NDArray[np.bool_]]":
        return OrderedDict()

    def allowed(self, filters: Filters) -> NDArray[np.bool_] | None:
        """Return which rows the filters admit; None if they admit all."""
        if filters == Filters():
            return None
        mask = self._masks.get(filters)
        if mask is None:
            mask = self.index.memories.select(_admitted(filters)).to_series().to_numpy()
            self._masks[filters] = mask
            while len(self._masks) > _MASKS:
                self._masks.popitem(last=False)
        return mask

    def rows(self, memory_ids: Sequence[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return columns of the table `memories` of these ids, in their order."""
        return self.index.memories.select(columns)[[self.places[one] for one in memory_ids]].to_dicts()


@dataclass(frozen=True)
class State:
    """What recall searches, as of a ledger position."""

    position: int
    pool: Pool
    conflicts: pl.DataFrame
    """Pairs `memory_id`, `other_id` of memories that contradict each other."""
    used: frozenset[str] = frozenset()
    """Memories that were used since their row was folded; nothing that recall searches by has changed."""


class States:
    """Keeps the state of a profile, and a few past ones. Threads may share it."""

    def __init__(self, lake: Lake, profile_id: str, policy: Policy) -> None:
        self._lake = lake
        self._profile = profile_id
        self._policy = policy
        self._lock = threading.Lock()
        self._tail: Tail | None = None
        self._state: State | None = None
        self._pasts: OrderedDict[datetime, State] = OrderedDict()

    def current(self) -> State:
        """Return what stands now.

        Cost: one look at the end of the ledger where nothing is new; some ten milliseconds where something was stored;
        some tens more where a memory of old was changed. After a commit or an undo, and at first, everything is read:
        seconds at 100,000 memories, most of it for the index; of the index only what has changed is made again.

        Raises:
            LakeError: the store cannot be read.
        """
        state = self._state
        if state is not None:
            position, rows = look(self._lake, self._profile, state.position)
            if position <= state.position:
                return state
        with self._lock:
            if state is None or self._state is not state:  # somebody else was faster
                state = self._state
                position, rows = (0, []) if state is None else look(self._lake, self._profile, state.position)
            self._state = None  # if what follows fails, everything is read anew
            self._state = self._anew(None) if state is None else self._with(state, position, rows)
            return self._state

    def exact(self, state: State, memory_ids: Collection[str]) -> pl.DataFrame:
        """Return the rows of memories (table `memories`) with everything counted, recent uses too."""
        places = state.pool.places
        late = {one for one in memory_ids if one in state.used}
        rows = state.pool.index.memories[[places[one] for one in memory_ids if one not in late]]
        if not late:
            return rows
        with self._lock:
            folded, _ = self._held().folded(late)
        return pl.concat([rows, folded.filter(pl.col("memory_id").is_in(sorted(late)))])

    def past(self, as_of: datetime) -> State:
        """Return what stood at an instant, by what was known by then and is not undone.

        Cost: a fold of all events up to then and an index of the memories, seconds at 100,000; the last few are kept.

        Raises:
            LakeError: the store cannot be read.
        """
        position = self._lake.ledger.position()
        with self._lock:
            kept = self._pasts.get(as_of)
            if kept is None or self._changed(kept.position, position, as_of):
                kept = self._remembered(as_of, position)
            self._pasts[as_of] = kept = replace(kept, position=position)
            self._pasts.move_to_end(as_of)
            while len(self._pasts) > _PASTS:
                self._pasts.popitem(last=False)
        return kept

    def scored(self, as_of: datetime | None) -> pl.DataFrame:
        """Return what the last run up to an instant, default now, scored every memory (table `score_history`)."""
        runs = self._lake.ledger.runs([self._profile]).filter(pl.col("outcome") != "reverted").sort("commit_seq")
        before = runs if as_of is None else runs.filter(pl.col("as_of") <= as_of)
        scores = self._lake.read("score_history", profiles=[self._profile])
        return scores.join(before.tail(1), on=["profile_id", "plan_id"], how="semi")

    def returns(self, session_id: str | None) -> Mapping[str, int]:
        """Return how often recalls of a session named each memory since the last run."""
        if session_id is None:
            return {}
        with self._lock:
            return self._held().returns(session_id)

    def reached(self, state: State, user_id: str | None) -> frozenset[str]:
        """Return others' memories to which a SIMILAR_TO edge leads from one that was stored for a person."""
        if user_id is None:
            return frozenset()
        ends = ["source", "target"]
        edges = self._lake.read("association_edges", profiles=[self._profile], columns=[*ends, "edge_type"])
        similar = edges.filter(pl.col("edge_type") == "SIMILAR_TO").select(ends)
        both = pl.concat([similar, similar.select(source="target", target="source")])
        mine = state.pool.index.memories.filter(pl.col("user_id") == user_id).select(target="memory_id")
        found = both.join(mine.rename({"target": "source"}), on="source", how="semi").join(
            mine, on="target", how="anti"
        )
        return frozenset(found["target"])

    def forget(self) -> None:
        """Let go of everything in memory; the next look reads it anew."""
        with self._lock:
            self._state = None
            self._tail = None
            self._pasts.clear()

    def _held(self) -> Tail:
        """The tail below the present state."""
        if self._tail is None:
            _, _, self._tail = published(self._lake, self._profile)
        return self._tail

    def _with(self, state: State, position: int, rows: Sequence[Row]) -> State:
        """Return a state with what came after it."""
        if moved(rows):
            return self._anew(None if erased(rows) else state.pool)
        tail = self._held()
        tail.add(rows)
        conflicts = tail.conflicts() if linked(rows) else state.conflicts
        changed, used = concerned(rows, state.pool.resting)
        if not changed:
            return replace(state, position=position, conflicts=conflicts, used=state.used | used)
        folded, closure = tail.folded(changed)
        kept = folded.filter(~pl.col("lifecycle").is_in(GONE))
        known = not closure.isdisjoint(state.pool.places)
        pool = state.pool.extended(kept, self._vectors(kept, known=known))
        return State(position, pool, conflicts, (state.used | used) - closure)

    def _anew(self, before: Pool | None) -> State:
        """Read what is published, fold what came since, and give the index what has changed since `before`."""
        position, known, self._tail = published(self._lake, self._profile)
        changed, used = concerned(self._tail.rows, _ids(known, RESTING))
        folded, closure = self._tail.folded(changed)
        memories = pl.concat([known.filter(~_named(closure)), folded]).filter(~pl.col("lifecycle").is_in(GONE))
        if lost := erased(self._tail.rows):  # whoever erases may not have come to the published tables yet
            told = pl.col("members").list.set_intersection(sorted(lost)).list.len() > 0
            memories = memories.filter(~_named(lost), ~told)
        return State(position, self._pooled(memories, before), self._tail.conflicts(), frozenset(used - closure))

    def _pooled(self, memories: pl.DataFrame, before: Pool | None) -> Pool:
        """Return the pool of memories: the one before with what has changed, unless memories have left it."""
        if before is None or not before.places.keys() <= set(memories["memory_id"]):
            return Pool.of(Index.build(memories, self._vectors(memories), model=self._policy.embedder))
        old = before.index.memories
        known = pl.DataFrame({"memory_id": old["memory_id"], "was": old.select(memories.columns).hash_rows()})
        hashed = memories.with_columns(now=memories.hash_rows())
        changed = hashed.join(known, on="memory_id", how="left", maintain_order="left").filter(
            pl.col("now").ne_missing(pl.col("was"))
        )
        news = changed.select(memories.columns)
        return before.extended(news, self._vectors(news)) if news.height else before

    def _vectors(self, memories: pl.DataFrame, *, known: bool = True) -> pl.DataFrame:
        """Vectors of the texts of memories (table `vectors`): those that are kept, and those of texts that are new.

        Args:
            memories: table `memories`.
            known: some of the texts may have been embedded before.
        """
        model = self._policy.embedder
        texts = enriching.texts(memories).with_columns(content="embedded")
        kept = files.collect(
            self._lake.paths("vectors") if known else [],
            TABLES["vectors"],
            pl.col("profile_id") == self._profile,
            pl.col("model") == model,
            pl.col("content_hash").is_in(texts["content_hash"].to_list()),
        )
        if "embedding" not in self._policy.enrichments:
            return kept
        new = texts.join(kept, on=["profile_id", "content_hash"], how="anti")
        return pl.concat([kept, embedding.embed_texts(new, model)])

    def _remembered(self, as_of: datetime, position: int) -> State:
        """The state as of an instant, folded from the ledger alone."""
        own = [self._profile]
        told = self._lake.events(as_of=as_of, seq=position, profiles=own)
        decisions = self._lake.ledger.decisions(as_of=as_of, seq=position, profiles=own)
        standing = projection.unmasked(decisions, self._lake.ledger.reverted(seq=position))
        folded = projection.fold(told, standing)
        stood = folded.memories.filter(~pl.col("lifecycle").is_in(GONE))
        pool = Pool.of(Index.build(stood, self._vectors(stood), model=self._policy.embedder))
        return State(position, pool, contradicting(folded.edges))

    def _changed(self, after: int, until: int, as_of: datetime) -> bool:
        """Whether anything that came between two positions changes what stood at an instant."""
        at = events.micros(as_of)
        known = (EVENTS.c.occurred_at <= at) | (EVENTS.c.recorded_at <= at)
        masks = EVENTS.c.event_type.in_((EventType.RUN_REVERTED.value, EventType.ERASED.value))
        query = sa.select(EVENTS.c.seq).where(
            EVENTS.c.profile_id == self._profile, EVENTS.c.seq > after, EVENTS.c.seq <= until, known | masks
        )
        with self._lake.ledger.reading() as connection:
            return connection.scalar(query.limit(1)) is not None


def _ids(memories: pl.DataFrame, lifecycles: Collection[str]) -> frozenset[str]:
    return frozenset(memories.filter(pl.col("lifecycle").is_in(lifecycles))["memory_id"])


def _named(names: Collection[str]) -> pl.Expr:
    return pl.col("memory_id").is_in(sorted(names))


def _admitted(filters: Filters) -> pl.Expr:
    """Return the condition that filters stand for; unknown values are not admitted."""
    conditions = [pl.col(name) == value for name in _SAME if (value := getattr(filters, name)) is not None]
    if filters.speaker is not None:
        conditions.append(pl.col("speaker").str.to_lowercase() == filters.speaker.lower())
    if filters.memory_types is not None:
        conditions.append(pl.col("memory_type").str.to_lowercase().is_in([one.lower() for one in filters.memory_types]))
    if filters.tags is not None:
        conditions.append(pl.any_horizontal(pl.col("tags").list.contains(tag) for tag in filters.tags))
    if filters.since is not None:
        conditions.append(pl.col("created_at") >= filters.since)
    if filters.until is not None:
        conditions.append(pl.col("created_at") < filters.until)
    return pl.all_horizontal(conditions).fill_null(value=False)
