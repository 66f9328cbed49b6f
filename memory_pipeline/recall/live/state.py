"""The current state of a profile for recall: the published tables plus the events written since.

One immutable state of each profile is kept in memory, so readers need no lock. Each call checks whether the ledger has
grown, at the cost of one lookup at its end; new events change only the memories they affect. What only some recalls
need is imported where it is used, so that the first one starts sooner.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.state import answers, projection
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.lake import kept_indexes
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import event, profile_events, redaction
from memory_pipeline.ledger.profile_events import Row
from memory_pipeline.recall.index import kept_index
from memory_pipeline.recall.index.kept_index import Kept
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.live.ledger_tail import (
    LedgerTail,
    Usage,
    affected,
    assert_links,
    erased_memories,
    load_published,
    republished,
    rows_after,
)
from memory_pipeline.recall.live.search_pool import REVIVABLE, SearchPool, differences, ids_in
from memory_pipeline.recall.models import Memory
from memory_pipeline.recall.rank import fact_links
from memory_pipeline.recall.rank.baselines import Context, recent_names
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.recall.rank.formulas import WEIGHTS
from memory_pipeline.schemas import INSTANT, Action, Lifecycle
from memory_pipeline.settings import Policy, Settings, program
from memory_pipeline.text import enrich, word_cache
from memory_pipeline.text.arrays import Floats
from memory_pipeline.text.embed import embedding

if TYPE_CHECKING:
    from memory_pipeline.recall.live.first_reading import FirstReading

REMOVED: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)
"""Lifecycles of memories that no recall returns."""

NOT_FOLLOWED: Final = ("FOLLOWS", "REFERENCES", "CONTRADICTS")
"""Edge types that lead no recall from one memory to another: order in time, shared names, doubts."""

KEPT_FROM: Final = 5_000
"""Memories from which on an index is kept beside the store; it takes more than half a second to build."""

_WORTH_KEEPING: Final = 0.05
"""Share of its memories that must differ for a kept index to be written again."""

_USED: Final = {"memory_id": pl.String, "count": pl.Int64, "last": pl.Int64, "doubted": pl.Boolean}
"""Columns of the kept uses of memories."""

_PASTS: Final = 2
"""Most past states to keep."""


@dataclass(frozen=True)
class State:
    """What recall searches, at a ledger position."""

    position: int
    pool: SearchPool
    links: FactLinks
    """Links between memories about the same fact."""
    used: Mapping[str, Usage] = field(default_factory=dict)
    """Usage since the row of a memory was folded; it does not affect what recall finds."""
    edges: pl.DataFrame | None = None
    """Edges asserted or decided up to a past instant (table `association_edges`); None for the current state."""
    erasing: bool = False
    """An erasure was in progress, so the published tables could not be trusted yet."""


class StateCache:
    """Keeps the current state of a profile and a few past ones. Threads may share it.

    Every method raises LakeError if the store cannot be read.
    """

    def __init__(self, lake: Lake, profile_id: str, policy: Policy, zone: tzinfo = UTC) -> None:
        self._lake = lake
        self._zone = zone
        self._profile = profile_id
        self._policy = policy
        self._lock = threading.Lock()
        self._tail: LedgerTail | None = None
        self._state: State | None = None
        self._pasts: OrderedDict[datetime, State] = OrderedDict()

    def current(self) -> State:
        """Return the current state.

        Cost: one lookup at the end of the ledger if nothing is new; about ten milliseconds after memories were stored
        or used; some tens more after an old memory was changed. After a commit or an undo the tables are read again and
        the index takes over the differences. The first call reads the index that is kept beside the store, and only the
        ledger's rows since; without one, as after an erasure, it builds everything: seconds at 100,000 memories.
        """
        state = self._state
        if state is not None:
            position, rows = rows_after(self._lake, self._profile, state.position)
            if position <= state.position and not self._erasure_finished(state):
                return state
        with self._lock:
            if state is None or self._state is not state:  # another thread was faster
                state = self._state
                position, rows = (0, []) if state is None else rows_after(self._lake, self._profile, state.position)
            self._state = None  # after a failure below everything is read again
            self._state = self._rebuilt(None) if state is None else self._advanced(state, position, rows)
            return self._state

    def exact(self, state: State, memory_ids: Collection[str]) -> pl.DataFrame:
        """Return the rows of the table `memories` with recent uses counted.

        Cost: a fold of the memories used since the last run, some tens of milliseconds.
        """
        recently_used = {name for name in memory_ids if name in state.used}
        positions = [state.pool.row_ids[name] for name in memory_ids if name not in recently_used]
        rows = state.pool.index.memories[positions]
        if not recently_used:
            return rows
        with self._lock:
            folded, _ = self._current_tail().folded(recently_used)
        return pl.concat([rows, folded.filter(_is_one_of(recently_used))])

    def memories(self, state: State, memory_ids: Sequence[str]) -> list[Memory]:
        """Return memories with recent uses counted; only used summaries need a fold."""
        rows = state.pool.rows(memory_ids, state.pool.index.memories.columns)
        summaries = {row["memory_id"] for row in rows if row["memory_id"] in state.used and row["kind"] != ORIGINAL}
        folded = {row["memory_id"]: row for row in self.exact(state, summaries).to_dicts()} if summaries else {}
        return [Memory.of(folded.get(row["memory_id"]) or self._with_usage(state, row), self._zone) for row in rows]

    def _with_usage(self, state: State, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row of an original with its uses counted, in the fields of `Memory`."""
        if (usage := state.used.get(row["memory_id"])) is None:
            return row
        changed = {"access_count": row["access_count"] + usage.count}
        if usage.count:
            last = max(row["created_at"], event.EPOCH + timedelta(microseconds=usage.last))
            changed |= {"last_accessed_at": max(last, row["last_accessed_at"] or last)}
        if usage.doubted:
            changed |= {"confidence": self._current_tail().confidence(row["memory_id"], state.position)}
        return row | changed

    def past(self, as_of: datetime) -> State:
        """Return the state at an instant, from what had occurred and was decided by then; later undos do not count.

        Cost: a fold of all events up to then and a new index, seconds at 100,000 memories; the last few are kept.
        """
        position = self._lake.ledger.position()
        with self._lock:
            state = self._pasts.get(as_of)
            if state is None or self._changed(state.position, position, as_of):
                state = self._folded_at(as_of, position)
            self._pasts[as_of] = state = replace(state, position=position)
            self._pasts.move_to_end(as_of)
            while len(self._pasts) > _PASTS:
                self._pasts.popitem(last=False)
        return state

    def scored(self, state: State, now: datetime) -> pl.DataFrame:
        """Return the scores of all memories of a state at an instant (see `present_scores`)."""
        from memory_pipeline.recall.rank.present_scores import present_scores

        memories = self.exact(state, list(state.pool.row_ids)) if state.used else state.pool.index.memories
        enrichment = self._lake.scan("enrichment", pl.col("profile_id") == self._profile)
        return present_scores(memories, enrichment, self._edges(state), self._policy, now=now)

    def associations(self, state: State, now: datetime) -> pl.DataFrame:
        """Return the associations that a recall can follow at an instant: `source`, `target`, `weight`."""
        from memory_pipeline.consolidation.edges import associations

        present = associations.decay(self._edges(state), self._policy, as_of=now)
        followed = ~pl.col("edge_type").is_in(NOT_FOLLOWED) & (pl.col("weight") >= self._policy.link_usable_weight)
        return present.filter(followed, ~edge_rows.is_fact_link()).select("source", "target", "weight")

    def ended(self) -> pl.DataFrame:
        """Return the memories that end by what was written since the last run: memory_id, valid_until.

        Cost: a look-up in the ledger; that of the current state if an answer or an update was written.
        """
        runs = self._lake.read("profiles", profiles=[self._profile], columns=["seq"])["seq"].to_list()
        with self._lake.ledger.reading() as transaction:
            if not profile_events.may_end_memories(transaction, self._profile, after=max(runs, default=0)):
                return pl.DataFrame(schema={"memory_id": pl.String, "valid_until": INSTANT})
        return self.current().pool.index.memories.select("memory_id", "valid_until").drop_nulls()

    def answered(self) -> pl.DataFrame:
        """Return the answers that count on pairs of memories (see `answers.standing`), those of the tail included."""
        self.current()
        with self._lock:
            return answers.standing(self._current_tail().answers_and_changes())

    @cached_property
    def first_reading(self) -> "FirstReading":
        """What the judge finds of memories that no run has compared."""
        from memory_pipeline.recall.live.first_reading import FirstReading

        return FirstReading(self._policy, lambda: self._lake.read("core_sentences", profiles=[self._profile]))

    def _forget_readings(self) -> None:
        """Drop what was read of texts that no run has compared, and of words: one of them may be erased now."""
        word_cache.forget()
        if "first_reading" in self.__dict__:
            self.first_reading.forget()

    @property
    def compares(self) -> bool:
        """Whether the policy has facts compared."""
        return self._policy.fact_changes

    def first_links(self, index: Index, rows: Sequence[int]) -> pl.DataFrame:
        """Return the links of memories of the current state that no run has compared (see `FirstReading.links`)."""
        return self.first_reading.links(index, rows, self.answered)

    def others(self, query: str, index: Index, rows: Sequence[int]) -> Floats:
        """Return how surely memories are about another person than a query asks about; see `FirstReading.others`."""
        return self.first_reading.others(query, index, rows)

    def _edges(self, state: State) -> pl.DataFrame:
        if state.edges is not None:
            return state.edges
        with self._lock:
            return self._current_tail().edges()

    def context(self, state: State, *, session_id: str | None, user_id: str | None, now: datetime) -> Context:
        """Return the asking session and user with the policy's weights, for the ranking `engram`."""
        with self._lock:
            returns = {} if session_id is None else self._current_tail().returns(session_id)
        reached = self._similar_to_own(state, user_id)
        weights = {name: getattr(self._policy, f"w_{name}") for name in WEIGHTS}
        names = () if user_id is None else recent_names(state.pool.index, user_id, now)
        return Context(
            session_id=session_id, user_id=user_id, returns=returns, reached=reached, entities=names, weights=weights
        )

    def _similar_to_own(self, state: State, user_id: str | None) -> frozenset[str]:
        """Return other users' memories that a SIMILAR_TO edge connects with one of the user's."""
        if user_id is None:
            return frozenset()
        ends = ["source", "target"]
        edges = self._lake.read("association_edges", profiles=[self._profile], columns=[*ends, "edge_type"])
        similar = edges.filter(pl.col("edge_type") == "SIMILAR_TO").select(ends)
        both = pl.concat([similar, similar.select(source="target", target="source")])
        users_own = state.pool.index.memories.filter(pl.col("user_id") == user_id).select(target="memory_id")
        reached = both.join(users_own.rename({"target": "source"}), on="source", how="semi").join(
            users_own, on="target", how="anti"
        )
        return frozenset(reached["target"])

    def clear(self) -> None:
        """Drop everything in memory; the next call reads it again."""
        with self._lock:
            self._state = None
            self._tail = None
            self._pasts.clear()
            self._forget_readings()

    def _current_tail(self) -> LedgerTail:
        if self._tail is None:
            _, _, self._tail = load_published(self._lake, self._profile)
        return self._tail

    def _erasing(self) -> bool:
        """Return whether an erasure has begun and is not finished. Cost: one query."""
        with self._lake.ledger.reading() as transaction:
            return redaction.pending(transaction) is not None

    def _erasure_finished(self, state: State) -> bool:
        """Return whether an erasure in progress has finished, so that the published tables can be trusted again."""
        return state.erasing and not self._erasing()

    def _advanced(self, state: State, position: int, rows: Sequence[Row]) -> State:
        """Return the state after further rows of the ledger."""
        if republished(rows) or self._erasure_finished(state):
            return self._rebuilt(None if state.erasing or erased_memories(rows) else state.pool)
        tail = self._current_tail()
        tail.add(rows)
        links = state.links
        if assert_links(rows):
            links = FactLinks.of(tail.fact_links(), compared_until=links.compared_until)
        changed, used = affected(rows, state.pool.revivable)
        total = {**state.used, **{name: state.used.get(name, Usage()) + usage for name, usage in used.items()}}
        if not changed:
            return replace(state, position=position, links=links, used=total)
        folded, closure = tail.folded(changed)
        embedded_before = any(name in state.pool.row_ids for name in closure)
        pool = self._extended(state.pool, folded, embedded_before=embedded_before)
        return replace(state, position=position, pool=pool, links=links, used=_without(total, closure))

    def _rebuilt(self, previous: SearchPool | None) -> State:
        """Continue from what is kept beside the store, or read the published tables and fold the tail.

        Where the published tables are read, `previous` is updated; without it, the kept index, or a new one.
        """
        self._forget_readings()
        erasing = self._erasing()  # checked before and after: it may begin or end meanwhile
        last_erasure = kept_indexes.erased(self._lake.ledger)
        kept = self._kept(last_erasure) if previous is None and not erasing else None
        if kept is not None and (state := self._continued(kept, last_erasure)) is not None:
            return state
        position, published, self._tail = load_published(self._lake, self._profile)
        changed, used = affected(self._tail.rows, ids_in(published, REVIVABLE))
        folded, closure = self._tail.folded(changed)
        memories = pl.concat([published.filter(~_is_one_of(closure)), folded]).filter(
            ~pl.col("lifecycle").is_in(REMOVED)
        )
        erased = erased_memories(self._tail.rows)
        if erasing := bool(erased) and (erasing or self._erasing()):
            quotes_erased = pl.col("members").list.set_intersection(sorted(erased)).list.len() > 0
            memories = memories.filter(~_is_one_of(erased), ~quotes_erased)
        opening = previous is None and not erasing and not self._erasing()
        if opening and kept is not None:
            previous = SearchPool.of(kept.index)
        state = State(
            position,
            self._pool_of(memories, previous).with_graph(),
            FactLinks.of(self._tail.fact_links(), compared_until=self._tail.run[0] if self._policy.fact_changes else 0),
            _without(used, closure),
            erasing=erasing,
        )
        if opening:
            self._keep(state, last_erasure)
        return state

    def _pool_of(self, memories: pl.DataFrame, previous: SearchPool | None) -> SearchPool:
        """Return the pool of memories: the previous one with the differences, if there is one."""
        if previous is not None:
            rows = differences(previous.index.memories, memories)
            return self._extended(previous, rows, embedded_before=True)
        return SearchPool.of(Index.build(memories, self.vectors(memories), model=self._policy.embedder))

    def _continued(self, kept: Kept, erased: int) -> State | None:
        """Return the state since a kept one, by the ledger's newer rows alone; None where these do not follow on it."""
        (at,) = kept.tables["state"].to_dicts()
        position, rows = rows_after(self._lake, self._profile, at["position"])
        with self._lake.ledger.reading() as transaction:
            known = profile_events.id_at(transaction, at["position"])
        if known != at["event_id"] or republished(rows) or erased_memories(rows):
            return None
        self._tail = LedgerTail(self._lake, self._profile, seq=at["seq"], as_of=at["as_of"], position=at["position"])
        used = {name: Usage(*usage) for name, *usage in kept.tables["used"].iter_rows()}
        pool = SearchPool.of(kept.index)
        links = FactLinks.of(kept.tables["fact_links"], compared_until=at["compared_until"])
        state = State(at["position"], pool.with_graph(), links, used)
        grown = state.pool is not pool
        if rows:
            state = self._advanced(state, position, rows)
        if grown or len(rows) > _WORTH_KEEPING * state.pool.index.memories.height:
            state = replace(state, pool=state.pool.with_graph())
            self._keep(state, erased)
        return replace(state, position=position)

    def _kept(self, erased: int) -> Kept | None:
        """Return what is kept beside the store of the time since the last erasure, at the given position."""
        if not kept_indexes.exists(self._lake.home, self._profile):  # most stores are small, and a digest takes time
            return None
        return kept_index.read(self._kept_file(erased), profile_id=self._profile, model=self._policy.embedder)

    def _keep(self, state: State, erased: int) -> None:
        """Keep a state that was read after an erasure beside the store, if its index takes long to build."""
        if state.pool.index.memories.height < KEPT_FROM:
            return
        with self._lake.ledger.reading() as transaction:
            event_id = profile_events.id_at(transaction, state.position)
        seq, as_of = self._current_tail().run
        uses = [(name, usage.count, usage.last, usage.doubted) for name, usage in state.used.items()]
        tables = {
            "state": pl.DataFrame(
                {
                    "position": state.position,
                    "event_id": event_id,
                    "seq": seq,
                    "as_of": as_of,
                    "compared_until": state.links.compared_until,
                }
            ),
            "used": pl.DataFrame(uses, schema=_USED, orient="row"),
            "fact_links": state.links.table,
        }
        write = partial(kept_index.write, Kept(state.pool.index, tables))
        kept_indexes.keep(self._lake.ledger, self._kept_file(erased), write, erased=erased)

    def _kept_file(self, erased: int) -> Path:
        policy = self._policy
        chosen = (policy.embedder, "embedding" in policy.enrichments, policy.fact_changes, policy.judge)
        made_by = hashlib.sha256(f"{program.digest('recall')}{chosen}".encode()).hexdigest()
        return kept_indexes.path(self._lake.home, self._profile, made_by=made_by, erased=erased)

    def _extended(self, pool: SearchPool, rows: pl.DataFrame, *, embedded_before: bool) -> SearchPool:
        """Return the pool with rows that are new, have changed or have left the memories."""
        if rows.is_empty():
            return pool
        vectors = self.vectors(pool.index.without_vector(rows), embedded_before=embedded_before)
        return pool.extended(rows, vectors)

    def vectors(self, memories: pl.DataFrame, *, embedded_before: bool = True) -> pl.DataFrame:
        """Return the vectors of memories (table `vectors`): stored ones, if any, and new ones for texts without."""
        model, embeds = self._policy.embedder, "embedding" in self._policy.enrichments
        texts = enrich.texts(memories).with_columns(content="embedded")
        if embeds and not embedded_before:
            return embedding.embed_texts(texts, model)
        # A stub's hash is that of its whole text, whose vector still finds it.
        stored = self._lake.scan(
            "vectors",
            pl.col("profile_id") == self._profile,
            pl.col("model") == model,
            pl.col("content_hash").is_in(memories["content_hash"].unique().to_list()),
        )
        new = texts.join(stored, on=["profile_id", "content_hash"], how="anti")
        return pl.concat([stored, embedding.embed_texts(new, model)]) if embeds and new.height else stored

    def _folded_at(self, as_of: datetime, position: int) -> State:
        """Fold the state as of an instant from the ledger alone."""
        from memory_pipeline.consolidation import memory_types
        from memory_pipeline.consolidation.edges import associations

        profiles = [self._profile]
        events = self._lake.events(as_of=as_of, seq=position, profiles=profiles)
        decisions = self._lake.ledger.decisions(as_of=as_of, seq=position, profiles=profiles)
        in_force = projection.unmasked(decisions, self._lake.ledger.reverted(as_of=as_of, seq=position))
        folded = projection.fold(events, in_force)
        named = memory_types.named(folded.memories, self._lake.read("core_sentences", profiles=profiles))
        memories = named.filter(~pl.col("lifecycle").is_in(REMOVED))
        index = Index.build(memories, self.vectors(memories), model=self._policy.embedder)
        linked = in_force.filter(pl.col("action") == Action.LINK.value).select(
            "memory_id",
            other_id="target_id",
            confidence=pl.col("factors").str.json_path_match("$.confidence").cast(pl.Float64),
        )
        judged = linked.group_by("memory_id", "other_id").agg(pl.col("confidence").max())
        links = FactLinks.of(fact_links.pairs(folded.edges, judged=judged))
        return State(position, SearchPool.of(index), links, edges=associations.union(folded.edges))

    def _changed(self, after: int, until: int, as_of: datetime) -> bool:
        """Return whether any event between two positions changes the state at an instant."""
        with self._lake.ledger.reading() as transaction:
            return profile_events.changes_state(
                transaction, self._profile, after=after, until=until, as_of=event.micros(as_of)
            )


def publish_indexes(lake: Lake, settings: Settings) -> list[str]:
    """Bring the indexes kept beside the store up to date, as runs do after their commit, and return whose these are.

    Whoever opens the store next folds and builds nothing. Profiles of fewer than `KEPT_FROM` memories have none. Cost:
    for each large profile that of opening it after a run: new texts are read, and tables are compared. Raises
    LakeError: the store cannot be read.
    """
    large = lake.ledger.profiles().filter(pl.col("memories") >= KEPT_FROM)["profile_id"].sort().to_list()
    for profile_id in large:
        StateCache(lake, profile_id, settings.policy_of(profile_id)).current()
    return large


def _without(used: Mapping[str, Usage], folded: Collection[str]) -> dict[str, Usage]:
    return {name: usage for name, usage in used.items() if name not in folded}


def _is_one_of(memory_ids: Collection[str]) -> pl.Expr:
    return pl.col("memory_id").is_in(sorted(memory_ids))
