"""What stands now, for recall: what the last commit published, and on top of it what agents have written since.

One state a profile is kept in memory, immutable, so that readers need no lock. Whoever asks looks whether the ledger
has grown, which costs one look at its end; what is new changes only the memories that it concerns.
What is not here: how the tail is folded (`tail`), the index and its order of rows (`index`), ranking (`ranking`).
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import polars as pl
import sqlalchemy as sa
from numpy.typing import NDArray

from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.erasure import erase
from memory_pipeline.lake import files
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import event
from memory_pipeline.ledger.database import EVENTS
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.row_ids import Places
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.live.ledger_tail import (
    Row,
    Tail,
    Use,
    concerned,
    contradicting,
    erased,
    linked,
    look,
    moved,
    published,
)
from memory_pipeline.recall.models import Filters, Memory
from memory_pipeline.recall.rank.baselines import Context
from memory_pipeline.recall.rank.formulas import WEIGHTS
from memory_pipeline.schemas import TABLES, EventType, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich
from memory_pipeline.text.embed import embedding

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
    resting: frozenset[str]
    """Memories that a use brings back."""

    @classmethod
    def of(cls, index: Index) -> Self:
        """Return a pool of all memories of an index."""
        return cls(index, _ids(index.memories, RESTING))

    @property
    def places(self) -> Places:
        """Row of each memory in the index."""
        return self.index.places

    def extended(self, memories: pl.DataFrame, vectors: pl.DataFrame) -> Self:
        """Return a pool with rows that are new or have changed (see `Index.extended`)."""
        resting = self.resting.difference(memories["memory_id"]) | _ids(memories, RESTING)
        return type(self)(self.index.extended(memories, vectors), resting)

    @cached_property
    def _masks(self) -> "OrderedDict[Filters, NDArray[np.bool_]]":
        return OrderedDict()

    def allowed(self, filters: Filters) -> NDArray[np.bool_] | None:
        """Return which rows the filters admit; None if they admit all."""
        if filters == Filters():
            return None
        mask = self._masks.get(filters)
        if mask is None:
            mask = self._admitted(filters)
            self._masks[filters] = mask
            while len(self._masks) > _MASKS:
                self._masks.popitem(last=False)
        return mask

    def _admitted(self, filters: Filters) -> NDArray[np.bool_]:
        """Which rows filters admit: what they describe, and what took the place of that and says the same."""
        memories = self.index.memories
        if filters.since is not None or filters.until is not None:
            memories = memories.with_columns(said_at=_said(memories))
        mask = memories.select(_admitted(filters)).to_series()
        heirs = memories.filter(mask, pl.col("superseded_kind") == "summary")["superseded_by"].unique()
        rows = self.places.rows(heirs.to_list())
        rows = rows[rows >= 0]
        admitted: NDArray[np.bool_] = mask.to_numpy().copy()
        admitted[rows] |= self.index.memories["said_at"][rows].is_not_null().to_numpy()
        return admitted

    def rows(self, memory_ids: Sequence[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return columns of the table `memories` of these ids, in their order."""
        return self.index.memories.select(columns)[self.places.rows(memory_ids)].to_dicts()


@dataclass(frozen=True)
class State:
    """What recall searches, as of a ledger position."""

    position: int
    pool: Pool
    conflicts: pl.DataFrame
    """Pairs `memory_id`, `other_id` of memories that contradict each other."""
    used: Mapping[str, Use] = field(default_factory=dict)
    """Memories that were used since their row was folded; nothing that recall searches by has changed."""
    erasing: bool = False
    """An erasure was under way, whose published tables were not to be trusted yet."""


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

        Cost: one look at the end of the ledger where nothing is new; some ten milliseconds where something was stored,
        or used; some tens more where a memory of old was changed. After a commit or an undo the tables are read again,
        and the index takes what has changed; at first, and after an erasure, all of it is made: seconds at 100,000.

        Raises:
            LakeError: the store cannot be read.
        """
        state = self._state
        if state is not None:
            position, rows = look(self._lake, self._profile, state.position)
            if position <= state.position and not self._erased(state):
                return state
        with self._lock:
            if state is None or self._state is not state:  # somebody else was faster
                state = self._state
                position, rows = (0, []) if state is None else look(self._lake, self._profile, state.position)
            self._state = None  # if what follows fails, everything is read anew
            self._state = self._anew(None) if state is None else self._with(state, position, rows)
            return self._state

    def exact(self, state: State, memory_ids: Collection[str]) -> pl.DataFrame:
        """Return the rows of memories (table `memories`) with everything counted, recent uses too.

        Cost: a fold of those used since the last run, some tens of milliseconds.
        """
        places = state.pool.places
        late = {one for one in memory_ids if one in state.used}
        rows = state.pool.index.memories[[places[one] for one in memory_ids if one not in late]]
        if not late:
            return rows
        with self._lock:
            folded, _ = self._held().folded(late)
        return pl.concat([rows, folded.filter(_named(late))])

    def shown(self, state: State, memory_ids: Sequence[str]) -> list[Memory]:
        """Return memories as they stand, recent uses counted, without a fold where only originals were used."""
        rows = state.pool.rows(memory_ids, state.pool.index.memories.columns)
        folded = {row["memory_id"] for row in rows if row["memory_id"] in state.used and row["kind"] != ORIGINAL}
        exact = {row["memory_id"]: row for row in self.exact(state, folded).to_dicts()} if folded else {}
        return [Memory.of(exact.get(row["memory_id"]) or self._used(state, row)) for row in rows]

    def _used(self, state: State, row: dict[str, Any]) -> dict[str, Any]:
        """A row of an original with its uses counted, as far as `Memory` tells of them."""
        if (use := state.used.get(row["memory_id"])) is None:
            return row
        counted = {"access_count": row["access_count"] + use.count}
        if use.count:
            last = max(row["created_at"], event.EPOCH + timedelta(microseconds=use.last))
            counted |= {"last_accessed_at": max(last, row["last_accessed_at"] or last)}
        if use.doubted:
            counted |= {"confidence": self._held().confidence(row["memory_id"], state.position)}
        return row | counted

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

    def context(self, state: State, *, session_id: str | None, user_id: str | None) -> Context:
        """Return who asks, what that makes of each memory, and the policy's weights, for the ranking `engram`."""
        with self._lock:
            returns = {} if session_id is None else self._held().returns(session_id)
        reached, weights = self._reached(state, user_id), {name: getattr(self._policy, f"w_{name}") for name in WEIGHTS}
        return Context(session_id=session_id, user_id=user_id, returns=returns, reached=reached, weights=weights)

    def _reached(self, state: State, user_id: str | None) -> frozenset[str]:
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

    def _erased(self, state: State) -> bool:
        """Whether an erasure that was under way is done, and the published tables can be trusted again."""
        return state.erasing and erase.pending(self._lake) is None

    def _with(self, state: State, position: int, rows: Sequence[Row]) -> State:
        """Return a state with what came after it."""
        if moved(rows) or self._erased(state):
            return self._anew(None if state.erasing or erased(rows) else state.pool)
        tail = self._held()
        tail.add(rows)
        conflicts = tail.conflicts() if linked(rows) else state.conflicts
        changed, used = concerned(rows, state.pool.resting)
        total = {**state.used, **{name: state.used.get(name, Use()) + use for name, use in used.items()}}
        if not changed:
            return replace(state, position=position, conflicts=conflicts, used=total)
        folded, closure = tail.folded(changed)
        pool = self._extended(state.pool, folded, known=any(name in state.pool.places for name in closure))
        return replace(state, position=position, pool=pool, conflicts=conflicts, used=_without(total, closure))

    def _anew(self, before: Pool | None) -> State:
        """Read what is published, fold what came since, and give the index what has changed since `before`."""
        erasing = erase.pending(self._lake) is not None  # before the look, and after it: it may begin or end meanwhile
        position, known, self._tail = published(self._lake, self._profile)
        changed, used = concerned(self._tail.rows, _ids(known, RESTING))
        folded, closure = self._tail.folded(changed)
        memories = pl.concat([known.filter(~_named(closure)), folded]).filter(~pl.col("lifecycle").is_in(GONE))
        lost = erased(self._tail.rows)
        if erasing := bool(lost) and (erasing or erase.pending(self._lake) is not None):
            told = pl.col("members").list.set_intersection(sorted(lost)).list.len() > 0
            memories = memories.filter(~_named(lost), ~told)
        return State(position, self._pooled(memories, before), self._tail.conflicts(), _without(used, closure), erasing)

    def _pooled(self, memories: pl.DataFrame, before: Pool | None) -> Pool:
        """Return the pool of memories: the one before with what has changed, if there is one."""
        if before is None:
            return Pool.of(Index.build(memories, self._vectors(memories), model=self._policy.embedder))
        old = before.index.memories.select(memories.columns)
        left = old.join(memories, on="memory_id", how="anti").with_columns(lifecycle=pl.lit(Lifecycle.DELETED.value))
        known = pl.DataFrame({"memory_id": old["memory_id"], "was": old.hash_rows()})
        hashed = memories.with_columns(now=memories.hash_rows())
        changed = hashed.join(known, on="memory_id", how="left", maintain_order="left").filter(
            pl.col("now").ne_missing(pl.col("was"))
        )
        return self._extended(before, pl.concat([changed.select(memories.columns), left]), known=True)

    def _extended(self, pool: Pool, news: pl.DataFrame, *, known: bool) -> Pool:
        """Return a pool with rows that are new, have changed or left the memories."""
        return pool.extended(news, self._vectors(pool.index.wanting(news), known=known)) if news.height else pool

    def _vectors(self, memories: pl.DataFrame, *, known: bool = True) -> pl.DataFrame:
        """Vectors of the texts of memories (table `vectors`): those that are kept, and those of texts that are new.

        Args:
            memories: table `memories`.
            known: some of the texts may have been embedded before.
        """
        model, embeds = self._policy.embedder, "embedding" in self._policy.enrichments
        texts = enrich.texts(memories).with_columns(content="embedded")
        if embeds and not known:
            return embedding.embed_texts(texts, model)
        kept = files.collect(
            self._lake.paths("vectors"),
            TABLES["vectors"],
            pl.col("profile_id") == self._profile,
            pl.col("model") == model,
            pl.col("content_hash").is_in(texts["content_hash"].to_list()),
        )
        new = texts.join(kept, on=["profile_id", "content_hash"], how="anti")
        return pl.concat([kept, embedding.embed_texts(new, model)]) if embeds and new.height else kept

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
        at = event.micros(as_of)
        known = (EVENTS.c.occurred_at <= at) | (EVENTS.c.recorded_at <= at)
        masks = EVENTS.c.event_type.in_((EventType.RUN_REVERTED.value, EventType.ERASED.value))
        query = sa.select(EVENTS.c.seq).where(
            EVENTS.c.profile_id == self._profile, EVENTS.c.seq > after, EVENTS.c.seq <= until, known | masks
        )
        with self._lake.ledger.reading() as connection:
            return connection.scalar(query.limit(1)) is not None


def _ids(memories: pl.DataFrame, lifecycles: Collection[str]) -> frozenset[str]:
    return frozenset(memories.filter(pl.col("lifecycle").is_in(lifecycles))["memory_id"])


def _without(used: Mapping[str, Use], folded: Collection[str]) -> dict[str, Use]:
    return {name: use for name, use in used.items() if name not in folded}


def _named(names: Collection[str]) -> pl.Expr:
    return pl.col("memory_id").is_in(sorted(names))


def _said(memories: pl.DataFrame) -> pl.Series:
    """When each memory was said: a summary beside its members when the newest of them was, not when it was made."""
    said = memories.select(
        "memory_id", "members", at=pl.when(pl.col("kind") == ORIGINAL).then(SAID_AT).otherwise("said_at")
    )
    while (open_ := said.filter(pl.col("at").is_null() & (pl.col("members").list.len() > 0))).height:
        known = said.filter(pl.col("at").is_not_null()).select("at", members="memory_id")
        newest = (
            open_.select("memory_id", "members")
            .explode("members")
            .join(known, on="members")
            .group_by("memory_id")
            .agg(newest=pl.col("at").max())
        )
        if newest.is_empty():
            break
        said = said.join(newest, on="memory_id", how="left", maintain_order="left")
        said = said.with_columns(at=pl.coalesce("at", "newest")).drop("newest")
    return said["at"]


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
        conditions.append(SAID_AT.ge(filters.since))
    if filters.until is not None:
        conditions.append(SAID_AT.lt(filters.until))
    return pl.all_horizontal(conditions).fill_null(value=False)
