"""`MemoryClient`: what an agent does with its memory, in one object.

Every method is one step over the rooms below: events are checked and appended (`lake`), what stands now is folded
(`state`), searched (`ranking`), explained (`explain`), consolidated and undone (`lake.history`).
What is not here: how any of that is done, and the same methods for asynchronous code (`asynchronous`).
"""

import builtins
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, Unpack

import polars as pl
from uuid6 import uuid7

from memory_pipeline.erasure.erase import Receipt, erase
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Conflict, Lake
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.event import Event
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client import answering, restoring, validation
from memory_pipeline.recall.client.access_writer import Recorder
from memory_pipeline.recall.client.explain import Explanation, explain
from memory_pipeline.recall.client.validation import (
    Fields,
    as_list,
    check_recall,
    named,
    several,
    spoken,
    stored,
    switch,
    whole,
)
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.live.state import State, States
from memory_pipeline.recall.models import Answer, Block, Consolidated, Filters, Memory, Opening
from memory_pipeline.recall.rank.baselines import SCORED
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.runs import commit, inputs
from memory_pipeline.runs.asking import ask
from memory_pipeline.schemas import LIVE, EventType
from memory_pipeline.settings import Settings, load
from memory_pipeline.text.embed import embedding

_ATTEMPTS: Final = 4
"""How often a run is planned anew because others committed meanwhile."""


def now() -> datetime:
    """Return the present instant in UTC: the clock of a client that is given no other."""
    return datetime.now(UTC)


class MemoryClient:
    """The memory of one profile. Threads may share a client; another process opens its own.

    What was stored, changed or erased a moment ago, by whomever, counts at the next call. Settings are those of the
    moment of opening.
    """

    def __init__(
        self,
        home: Path | str | None = None,
        *,
        profile_id: str = "default",
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Open the memory of a profile, after making the store if it is not there.

        Args:
            home: data folder; default: that of the settings (`MEMORY_PIPELINE_HOME`, else `data`).
            profile_id: whose memory.
            session_id: session that memories and recalls belong to, unless a call names another.
            agent_id: agent that writes.
            user_id: person it serves.
            settings: default: read from the data folder and the environment.
            clock: tells the time, timezone-aware; for replays and tests.

        Raises:
            ValueError: an id is no id, the clock tells no time zone, or a setting is out of range; names it.
            LakeError: the store cannot be opened.
        """
        validation.check_opening(home, settings)
        self._settings = settings or load(home)
        self._clock = clock
        given = {"profile_id": profile_id, "session_id": session_id, "agent_id": agent_id, "user_id": user_id}
        self._own = {name: value for name, value in given.items() if value is not None}
        self._asks = {"session_id": session_id, "user_id": user_id}
        self._checked({"event_type": EventType.SESSION_STARTED.value, "session_id": self._own.get("session_id", "-")})
        self._profile = profile_id
        self._policy = self._settings.policy_of(profile_id)
        self._lake = Lake(Path(home or self._settings.home))
        self._states = States(self._lake, profile_id, self._policy)
        self._recorder = Recorder(self._lake.ledger)
        self._process = os.getpid()
        self._closing = weakref.finalize(self, _close, self._recorder, self._lake)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what recalls left to be written, and close the store; the client is of no use afterwards.

        Also done, without a word about failures, when the client is forgotten or the interpreter ends.

        Raises:
            LakeError: accesses could not be written and are lost.
        """
        self._closing()

    def flush(self) -> None:
        """Write the accesses of all recalls so far.

        Raises:
            LakeError: they could not be written; they are kept and tried again.
        """
        self._open()
        self._recorder.flush()

    def remember(self, text: str, **fields: Unpack[Fields]) -> str:
        """Store a memory and return its id. On return it is on the disk, and any recall finds it.

        Args:
            text: what to remember.
            fields: what else is known of it (see `Fields`); session, agent and user default to the client's.

        Raises:
            ValueError: a field is unknown or out of range, or another text has, or had, its `memory_id`; names it.
            LakeError: the store cannot be written.
        """
        self._open()
        event = self._checked(stored({**fields, "text": text}))
        self._lake.ledger.append([event])
        return str(event.memory_id)

    def remember_many(self, rows: Iterable[Mapping[str, Any] | str]) -> list[str]:
        """Store memories in one transaction, all or none, and return their ids in order.

        Args:
            rows: each a text, or a mapping with `text` and the names of `Fields`.

        Raises:
            ValueError: a field of a row is wrong, as in `remember`; names row and field.
            LakeError: the store cannot be written.
        """
        self._open()
        events = [self._stored(row, place) for place, row in enumerate(several(rows))]
        with validation.by_row():
            self._lake.ledger.append(events)
        return [str(event.memory_id) for event in events]

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        token_budget: int | None = None,
        min_score: float | None = None,
        as_of: datetime | str | None = None,
        deep: bool = False,
        filters: Filters | Mapping[str, Any] | None = None,
        ranking: str = "default",
        record: bool = True,
    ) -> Answer:
        """Return the memories that answer a query, best first.

        Args:
            query: the question.
            k: most memories to return.
            token_budget: most tokens that they may cost together.
            min_score: lowest score to return, 0..1. What a score means depends on the ranking: that of `default` is a
                weighted mean of features, several of them relative to the best candidate, so it separates good answers
                from weak ones within one answer, and says little about whether the query has an answer at all; that of
                `cosine` is the cosine similarity of the vectors and comparable between queries.
            as_of: instant whose state is searched; default now. A new instant is folded from the ledger: seconds at
                100,000 memories.
            deep: also search what is cold, a stub, archived, expired or superseded, with half its lead.
            filters: which memories may be named at all.
            ranking: default, or a published formula (see `ranking.rank`).
            record: append that the memories were accessed, as every recall does; False only looks.

        Raises:
            ValueError: an argument is out of range; names it.
            LakeError: the store cannot be read, or the accesses of an earlier recall could not be written.
        """
        self._open()
        check_recall(query, k=k, token_budget=token_budget, min_score=min_score, ranking=ranking)
        switch("deep", deep)
        switch("record", record)
        now, wanted = self._now(), Filters.of(filters)
        past = validation.past(as_of, now)
        state = self._states.current() if past is None else self._states.past(past)
        ranked = rank(
            state.pool.index,
            query,
            now=past or now,
            k=k,
            token_budget=token_budget,
            min_score=min_score,
            deep=deep,
            allowed=state.pool.allowed(wanted),
            ranking=ranking,
            vector=embedding.embedder(self._policy.embedder).embed([query])[0],
            scored=self._states.scored(past) if ranking in SCORED else None,
            context=self._states.context(state, **self._asks) if ranking == "engram" else None,
            conflicts=state.conflicts,
        )
        found = answering.answer(state.pool, ranked, query, as_of=past or now, ranking=ranking)
        if record and found:
            self._recorder.record(partial(validation.said, {**self._own, **answering.accessed(found)}, now))
        return found

    def get(self, memory_id: str, *, as_of: datetime | str | None = None) -> Memory:
        """Return a memory as it stands now, or stood at an instant; not an access.

        Raises:
            UnknownMemory: no memory has that id, or it was deleted or erased.
            ValueError: an argument is out of range; names it.
        """
        self._open()
        named("memory_id", memory_id)
        past = validation.past(as_of, self._now())
        state = self._states.current() if past is None else self._states.past(past)
        return self._found(state, memory_id)

    def list(
        self, filters: Filters | Mapping[str, Any] | None = None, limit: int = 100, *, deep: bool = False
    ) -> builtins.list[Memory]:
        """Return memories, newest first; not an access.

        Args:
            filters: which ones.
            limit: how many at most.
            deep: also those that are no longer live.

        Raises:
            ValueError: an argument is out of range; names it.
        """
        self._open()
        whole("limit", limit)
        switch("deep", deep)
        state = self._states.current()
        rows = state.pool.index.memories.select("memory_id", SAID_AT, "lifecycle")
        allowed = state.pool.allowed(Filters.of(filters))
        chosen = (rows if allowed is None else rows.filter(allowed)).filter(deep | pl.col("lifecycle").is_in(LIVE))
        newest = chosen.sort("said_at", "memory_id", descending=[True, False])["memory_id"].to_list()[:limit]
        return self._states.shown(state, newest)

    def update(
        self,
        memory_id: str,
        *,
        content: str | None = None,
        importance: float | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        valid_from: datetime | str | None = None,
        valid_until: datetime | str | None = None,
    ) -> Memory:
        """Change a memory and return it; arguments left out keep their values.

        Args:
            memory_id: the memory.
            content: its new text.
            importance: its new importance, 0..1.
            tags: its new tags, all of them; an empty list clears them.
            metadata: its new metadata, replacing the old object as a whole.
            valid_from: the instant from which it holds.
            valid_until: the instant at which it ceases to hold.

        Raises:
            UnknownMemory: no memory has this id.
            ValueError: nothing is to be changed, or a value is out of range; names it.
            LakeError: the store cannot be written.
        """
        payload = {
            "content": content,
            "importance": importance,
            "tags": as_list(tags),
            "metadata": metadata,
            "valid_from": valid_from,
            "valid_until": valid_until,
        }
        return self._said(memory_id, EventType.UPDATED, payload)

    def protect(self, memory_id: str, reason: str | None = None, *, protected: bool = True) -> Memory:
        """Bar a memory from ever being archived, merged or deleted, or lift that again, and return it.

        Args:
            memory_id: the memory.
            reason: why it is protected.
            protected: False lifts the protection that was asked for; what a policy protects stays protected.

        Raises:
            UnknownMemory: no memory has that id.
            ValueError: a reason is given where protection is lifted.
            LakeError: the store cannot be written.
        """
        if reason is not None and not protected:
            raise ValueError(f"reason is {shown(reason)}; it says why a memory is protected: leave it out to lift that")
        return self._said(memory_id, EventType.UPDATED, {"protected": protected, "protected_reason": reason})

    def feedback(self, memory_id: str, *, helpful: bool) -> Memory:
        """Say whether a memory helped: True counts as an access, False lowers its confidence by .1. Returns it.

        Raises:
            UnknownMemory: no memory has that id.
            LakeError: the store cannot be written.
        """
        return self._said(memory_id, EventType.FEEDBACK, {"helpful": helpful})

    def restore(self, memory_id: str) -> Memory:
        """Bring back a memory that runs took out of the live set or trimmed, and return it.

        Those decisions no longer count; a summary that stands in its place stays. Cost: the tables of the profile are
        made anew.

        Raises:
            UnknownMemory: no memory has that id.
            ValueError: no decision that stands took it out or trimmed it.
            Conflict: somebody else changed the profile meanwhile; nothing was changed.
            LakeError: the store cannot be written.
        """
        named("memory_id", memory_id)
        self.flush()
        try:
            restoring.restore(self._lake, memory_id, profile_id=self._profile, now=self._now())
        except restoring.NothingToRestore:
            self._found(self._states.current(), memory_id)  # there may be none of that id
            raise
        snapshot.publish(self._lake)
        return self.get(memory_id)

    def session_start(self, query: str | None = None, session_id: str | None = None) -> Opening:
        """Note that a session starts, if one is named, and return what an agent should know then.

        Args:
            query: what the session is about; what is relevant to it is recalled.
            session_id: the session; default the client's.

        Raises:
            ValueError: see `recall`.
            LakeError: the store cannot be read or written.
        """
        self._open()
        if query is not None:
            spoken("query", query)
        own = self._own.get("session_id") if session_id is None else session_id
        if own is not None:
            self._append({"event_type": EventType.SESSION_STARTED.value, "session_id": own})
        rows = self._lake.read("core_memory_blocks", profiles=[self._profile]).to_dicts()
        return Opening(
            session_id=own,
            blocks=tuple(Block.of(row) for row in rows),
            answer=None if query is None else self.recall(query),
        )

    def end_session(self, session_id: str | None = None) -> None:
        """Note that a session has ended, after all its recalls.

        Args:
            session_id: the session; default the client's.

        Raises:
            ValueError: no session is named.
            LakeError: the store cannot be written.
        """
        self.flush()
        own = self._own.get("session_id") if session_id is None else session_id
        if own is None:
            raise ValueError("session_id is missing; name the session, here or when the client is opened")
        self._append({"event_type": EventType.SESSION_ENDED.value, "session_id": own})

    def consolidate(
        self, *, lightweight: bool = False, task: str | None = None, scope: str = "all", dry_run: bool = False
    ) -> Consolidated:
        """Consolidate the profile in this process: plan, check, commit, snapshot. Others go on meanwhile.

        Args:
            lightweight: only core memory blocks and faded edges, and no snapshot.
            task: only this task, such as decay, creative, cluster, forget or promote; default: all.
            scope: all, or recent: only what concerns sessions touched since the last reflection.
            dry_run: return the plan and write nothing.

        Raises:
            ValueError: an argument is unknown, the profile has no memory, or the plan breaks an invariant.
            Conflict: others committed again and again meanwhile; nothing was changed.
            LakeError: the store cannot be written.
        """
        switch("lightweight", lightweight)
        switch("dry_run", dry_run)
        if lightweight and task is not None:
            raise ValueError("lightweight and task exclude each other; give one of them")
        self.flush()
        kind = "lightweight" if lightweight else "full" if task is None else task
        for attempt in range(_ATTEMPTS):
            try:
                return self._run(kind, scope, dry_run=dry_run)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    def tick(self) -> Consolidated:
        """Merge and move fading memories, as an agent does every few exchanges (cognitive-memory's `tick`).

        Raises:
            ValueError, Conflict, LakeError: see `consolidate`.
        """
        return self.consolidate(task="tick")

    def explain(self, memory_id: str, as_of: datetime | str | None = None) -> Explanation:
        """Return why a memory stands where it stands: scores, edges, decisions, origin.

        Args:
            memory_id: the memory.
            as_of: instant of the state to explain; default now.

        Raises:
            UnknownMemory: no memory has that id.
            ValueError: an argument is out of range, or `as_of` lies before the first run; names it.
        """
        named("memory_id", memory_id)
        past = validation.past(as_of, self._now())
        self.flush()
        return explain(self._lake, memory_id, profile_id=self._profile, as_of=past)

    def undo(self, target: str, cascade: bool = False) -> pl.DataFrame:
        """Take back a run, a merge or the decisions about one memory, and return these decisions.

        Args:
            target: run id, plan id or memory id; of a summary: the whole merge.
            cascade: also take back what builds on it.

        Raises:
            ValueError: nothing that stands has that id, or decisions build on it and `cascade` is off.
            Conflict: somebody else changed the profile meanwhile; nothing was changed.
            LakeError: the store cannot be written.
        """
        named("target", target)
        switch("cascade", cascade)
        self.flush()
        undone = commit.undo(self._lake, target, profile_id=self._profile, cascade=cascade, now=self._now())
        snapshot.publish(self._lake)
        return undone

    def erase(
        self, memory_id: str | None = None, *, user: str | None = None, profile: bool = False, reason: str = ""
    ) -> Receipt:
        """Erase a memory, all memories of a person, or the whole profile, for good, and return the receipt.

        Args:
            memory_id: the memory.
            user: the person.
            profile: the whole profile.
            reason: why, as it is to stand in the ledger; keep what is erased out of it.

        Raises:
            UnknownMemory: nothing is known by that name.
            ValueError: none or several of the three are given, or an argument is out of range; names it.
            LakeError: the store cannot be written.
        """
        switch("profile", profile)
        chosen = {name: value for name, value in {"memory_id": memory_id, "user": user}.items() if value is not None}
        if len(chosen) + profile != 1:
            raise ValueError("give exactly one of memory_id, user and profile=True: what shall be erased")
        for name, value in chosen.items():
            named(name, value)
        if reason != "":
            spoken("reason", reason)
        self.flush()
        try:
            return erase(
                self._lake,
                profile_id=self._profile,
                memory_ids=None if memory_id is None else [memory_id],
                user_id=user,
                whole_profile=profile,
                now=self._now(),
                reason=reason,
            )
        finally:
            self._states.forget()

    def _open(self) -> None:
        """Check that the client may be used here and now, and tell what went wrong behind the caller's back."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this client was opened by process {self._process}, before a fork; open another one in each process, "
                "and start processes by the method spawn"
            )
        if not self._closing.alive:
            raise RuntimeError("this client is closed; open another one")
        self._recorder.check()

    def _now(self) -> datetime:
        return validation.told(self._clock)

    def _checked(self, given: Mapping[str, Any]) -> Event:
        """Return the event that says something now, with the client's ids where it has none."""
        return validation.said({**self._own, **given}, self._now())

    def _append(self, said: Mapping[str, Any]) -> None:
        self._lake.ledger.append([self._checked(said)])

    def _said(self, memory_id: str, kind: EventType, payload: Mapping[str, Any]) -> Memory:
        """Append an event about a memory that there is, and return the memory as it is then."""
        self._open()
        named("memory_id", memory_id)
        self._found(self._states.current(), memory_id)
        self._append({"event_type": kind.value, "memory_id": memory_id, "payload": payload})
        return self._found(self._states.current(), memory_id)

    def _found(self, state: State, memory_id: str) -> Memory:
        if memory_id not in state.pool.places:
            raise UnknownMemory(f"memory_id is {shown(memory_id)}, which is no memory of profile {self._profile!r}")
        return self._states.shown(state, [memory_id])[0]

    def _stored(self, row: Mapping[str, Any] | str, place: int) -> Event:
        """Return the event that stores a memory."""
        try:
            return self._checked(stored(row))
        except ValueError as error:
            raise ValueError(f"rows[{place}]: {error}") from error

    def _run(self, task: str, scope: str, *, dry_run: bool) -> Consolidated:
        """Plan a run on the present state, and commit it unless it is dry."""
        now = self._now()
        profiles = inputs.chosen(
            self._lake, self._settings, as_of=now, profiles=[self._profile], task=task, scope=scope
        )
        run_id = None if dry_run else str(uuid7())
        if run_id is None:
            tables = commit.preview(self._lake, self._settings, profiles)
        else:
            ask(self._lake, self._settings, profiles)
            tables = commit.consolidate(self._lake, self._settings, profiles, run_id=run_id)
            if task != "lightweight":
                snapshot.publish(self._lake)
        return Consolidated(run_id=run_id, task=task, as_of=now, profiles=profiles, plan=tables["consolidation_plan"])


def _close(recorder: Recorder, lake: Lake) -> None:
    try:
        recorder.close()
    finally:
        lake.close()
