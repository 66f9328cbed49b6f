"""`MemoryClient`: stores, recalls and changes the memories of one profile, and consolidates them.

Each method is a thin step over lower rooms. What plans, undoes, erases, reviews and explains is imported by the methods
that need it, so that opening a store and recalling start without it.
"""

import builtins
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, Unpack

import polars as pl
from uuid6 import uuid7

from memory_pipeline.consolidation import core_memory
from memory_pipeline.erasure.receipt import Receipt
from memory_pipeline.lake.tables import Conflict, Lake
from memory_pipeline.ledger import profile_events
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.disk import writable
from memory_pipeline.ledger.event import DEFAULT_PROFILE, Event, micros
from memory_pipeline.ledger.payloads import Stored
from memory_pipeline.ledger.validation_errors import nearest, shown
from memory_pipeline.recall.client import answering, quotations, validation
from memory_pipeline.recall.client.access_writer import AccessWriter
from memory_pipeline.recall.client.explanation import Explanation
from memory_pipeline.recall.client.validation import (
    MemoryFields,
    as_list,
    as_rows,
    check_bool,
    check_count,
    check_id,
    check_recall,
    check_text,
    stored_event,
)
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.live.state import State, StateCache
from memory_pipeline.recall.live.together import Alone, Together, TogetherCache
from memory_pipeline.recall.models import (
    Answer,
    Block,
    Consolidated,
    Filters,
    Memory,
    Opening,
    Pair,
    Remembered,
    Review,
    instant,
)
from memory_pipeline.recall.rank import paging
from memory_pipeline.recall.rank.baselines import SCORED
from memory_pipeline.recall.rank.ranking import hits
from memory_pipeline.schemas import Action, EventType
from memory_pipeline.settings import Settings, load
from memory_pipeline.text import quoting
from memory_pipeline.text.embed import embedding

_TOGETHER: Final = 4
"""Most joint indexes of several profiles that a client keeps in memory."""
_CHECKED: Final = 1_000
"""Most pairs of new memories whose ids a client keeps."""
_ATTEMPTS: Final = 4
"""Attempts to plan and commit a run that collides with concurrent commits."""


def now() -> datetime:
    """Return the current time in UTC: the default clock of a client."""
    return datetime.now(UTC)


class MemoryClient:
    """The memory of one profile. Threads may share a client; every process opens its own.

    Each call sees all changes made before it, by any process. Settings are read once, when the client is opened.
    Besides what a method names, it raises ValueError for an argument that is out of range, which it names,
    UnknownMemory for an id of no memory, and LakeError if the store cannot be read or written.

    Examples:
        >>> with MemoryClient("data", profile_id="ana") as client:
        ...     first = client.remember("Ana is allergic to peanuts.")
        ...     second = client.remember("Ana's sister Bea keeps bees.")
        ...     print(client.recall("What is Ana allergic to?")[0].content)
        Ana is allergic to peanuts.
    """

    def __init__(
        self,
        home: Path | str | None = None,
        *,
        profile_id: str | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Open the memory of a profile and create the store if there is none.

        Args:
            home: data folder; default: that of the settings (`MEMORY_PIPELINE_HOME`, else `data`).
            profile_id: the profile; default: that of the settings (`default_profile`), else `default`.
            session_id: session of memories and recalls, unless a call names another.
            agent_id: agent that writes.
            user_id: person whom the agent serves.
            settings: default: read from the data folder and the environment.
            clock: returns the current time with a time zone; for replays and tests.

        Raises:
            ValueError: an argument is of the wrong kind, or a setting is out of range; names it.
            LakeError: the store cannot be opened.
        """
        validation.check_opening(home, settings)
        self._settings = settings or load(home)
        self._clock = clock
        if profile_id is None:
            profile_id = self._settings.default_profile or DEFAULT_PROFILE
        ids = {"profile_id": profile_id, "session_id": session_id, "agent_id": agent_id, "user_id": user_id}
        self._ids = {name: value for name, value in ids.items() if value is not None}
        self._asker = {"session_id": session_id, "user_id": user_id}
        self._event({"event_type": EventType.SESSION_STARTED.value, "session_id": self._ids.get("session_id", "-")})
        self._profile = profile_id
        self._policy = self._settings.policy_of(profile_id)
        self._lake = Lake(Path(home or self._settings.home))
        self._zone = self._settings.zone
        self._state_cache = StateCache(self._lake, profile_id, self._policy, self._zone)
        self._together = dict[tuple[str, ...], TogetherCache]()
        self._checked = OrderedDict[str, tuple[str, str]]()
        self._access_writer = AccessWriter(self._lake.ledger)
        self._process = os.getpid()
        self._closing = weakref.finalize(self, _close, self._access_writer, self._lake)

    def __repr__(self) -> str:
        """Return whose memory it is, and where."""
        return f"MemoryClient({str(self._lake.home)!r}, profile_id={self._profile!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write pending accesses and close the store; the client cannot be used afterwards.

        Also done, without reporting failures, when the client is garbage-collected or the interpreter exits.

        Raises:
            LakeError: accesses could not be written and are lost.
        """
        self._closing()

    def flush(self) -> None:
        """Write the accesses of all recalls so far; those that could not be written are kept and retried."""
        self._check_open()
        self._access_writer.flush()

    def remember(self, text: str, *, supersedes: str | None = None, **fields: Unpack[MemoryFields]) -> str:
        """Store a memory and return its id. On return it is on disk and can be recalled.

        Recalled memories that the text hands back are left out of it; what is no memory is not stored (see `store`).
        `fields` are optional (see `MemoryFields`); session, agent and user default to the client's. A memory that it
        `supersedes`, by id, no longer holds from now on (see `resolve`).

        Raises:
            ValueError: a field is unknown or out of range, or its `memory_id` is or was that of another text; names it.
        """
        return self._remembered(text, supersedes, fields).memory_id

    def _remembered(self, text: str, supersedes: str | None, fields: Mapping[str, Any]) -> Remembered:
        """Store one memory."""
        self._check_open()
        event = self._event(stored_event({**fields, "text": text}, self._now(), self._zone))
        if supersedes is not None:
            self._lake.ledger.append([event, self._superseding(event, supersedes)])
            return Remembered(memory_id=str(event.memory_id), likely=())
        (own,) = self._separated([event])
        if own.event is not None:
            self._lake.ledger.append([own.event])
        return self._all_told_apart([event], [own])[0]

    def _separated(self, events: Sequence[Event]) -> builtins.list[quotations.Separated]:
        """Return new memories without what they quote of stored ones."""
        filters = self._settings.filter_noise
        return quotations.separated(events, self._state_cache.current, core_memory.names(self._policy), filters=filters)

    def _own_words(self, memory_id: str, content: str) -> tuple[str, builtins.list[str]]:
        """Return the new text of a memory without what it quotes of other memories, and their ids."""
        event = self._event(stored_event({"memory_id": memory_id, "text": content}, self._now(), self._zone))
        (own,) = self._separated([event])
        if own.quoted and own.event is None:
            raise ValueError(
                f"content only quotes {', '.join(map(shown, own.quoted[:3]))}; give the new text in its own words"
            )
        payload = None if own.event is None else own.event.payload
        return (payload.content if isinstance(payload, Stored) else content), [*own.quoted]

    def remember_checked(
        self, text: str, *, supersedes: str | None = None, **fields: Unpack[MemoryFields]
    ) -> Remembered:
        """Store a memory as `remember` does, and return with it at most three earlier ones that it may affect.

        It may replace, repeat or contradict them. Answer with `resolve`; what is left unanswered is judged by the next
        run.
        """
        stored = self._remembered(text, supersedes, fields)
        if not stored.stored:
            return stored
        pairs = tuple(pair for pair in self.likely(stored.memory_id) if pair.older.memory_id != supersedes)
        self._checked |= {pair.pair_id: (pair.older.memory_id, pair.newer.memory_id) for pair in pairs}
        while len(self._checked) > _CHECKED:
            self._checked.popitem(last=False)
        return replace(stored, likely=pairs)

    def likely(self, memory_id: str) -> tuple[Pair, ...]:
        """Return at most three earlier memories that a memory may replace, repeat or contradict, the likeliest first.

        Of a memory that no run has compared yet; what runs were unsure of has `review`. Answer with `resolve`; what is
        left unanswered is judged by the next run. Cost: about 0.2 CPU s a memory.
        """
        from memory_pipeline.recall.client import reviewing

        self._check_open()
        check_id("memory_id", memory_id)
        self._memory(self._state_cache.current(), memory_id)
        return reviewing.likely(self._state_cache, memory_id, self._policy)

    def correct(self, older: str, text: str, **fields: Unpack[MemoryFields]) -> str:
        """Store what is true instead of a memory, which no longer holds from then on, and return the id of the new one.

        The old memory stays, marked as closed, and comes back with `undo` of the answer (see `resolve`). To mend a text
        that was never meant so, use `update`. Fields as for `remember`.
        """
        return self.remember(text, supersedes=older, **fields)

    @property
    def zone(self) -> tzinfo:
        """Time zone of the reader: of the days and times that are shown, and of those asked for without an offset."""
        return self._zone

    def review(self, limit: int = 10, *, doubts: bool = False) -> Review:
        """Return the pairs of memories of which the last run was unsure, those most worth an answer first.

        With `doubts`, pairs that are likelier unrelated follow: for an agent, which reads one for some 65 tokens.
        """
        from memory_pipeline.consolidation import questions
        from memory_pipeline.recall.client import reviewing

        self._check_open()
        check_count("limit", limit)
        check_bool("doubts", doubts)
        floor = questions.AGENTS if doubts else questions.PEOPLE
        return reviewing.review(self._lake, self._state_cache, self._profile, limit, floor)

    def answered(self, since: datetime | str) -> pl.DataFrame:
        """Return what answers and corrections have ended since an instant, as people read it (`telling.TOLD`)."""
        from memory_pipeline.consolidation.plans import telling

        self._check_open()
        said = self._state_cache.answered().filter(pl.col("at") >= instant("since", since, self._zone))
        return telling.tell_answers(said, self._state_cache.current().pool.index.memories, self._zone)

    def resolve(
        self,
        pair: str | tuple[str, str],
        relation: str,
        *,
        newer: str | None = None,
        statement: str | None = None,
        answered_by: str | None = None,
    ) -> str | None:
        """Say how two memories relate; it takes effect at once, and every later run keeps to it.

        Returns the id of the answer, with which `undo` withdraws it; None for skip.

        Args:
            pair: the id of a pair of a review or of `remember_checked`, or the ids of two memories, the older first.
            relation: update: the newer one replaces the older; partial: it replaces `statement` only; repeat: both say
                the same, and the next run merges them unless they differ in a number, date, name or negation; conflict:
                they cannot both be true; none: neither; open: withdraws the answer; skip: nothing is recorded.
            newer: the memory that replaces the other, if it is not the one said later.
            statement: with partial, the sentences of the older memory that no longer hold, one per line; default: those
                that the pair names.
            answered_by: owner, agent or model; default: agent if the client has an agent, else owner.

        Raises:
            ValueError: an argument is out of range, or the statement is not in the older memory; names it.
        """
        from memory_pipeline.recall.client import reviewing

        self._check_open()
        if relation not in reviewing.ANSWERS:
            raise ValueError(f"relation is {shown(relation)}; {nearest(relation, reviewing.ANSWERS)}")
        older, later = self._pair(pair)
        if newer is not None:
            if newer not in (older, later):
                raise ValueError(
                    f"newer is {shown(newer)}, which is not one of the two memories; give {older} or {later}"
                )
            older, later = (later if newer == older else older), newer
        state = self._state_cache.current()
        replaced, _ = self._memory(state, older), self._memory(state, later)
        if relation == "skip":
            return None
        if relation == "partial":
            named = statement or reviewing.asked_about(self._lake, self._profile, older, later)
            statement = reviewing.statement_of(replaced, named)
        answer = self._answer(older, later, relation, statement=statement, answered_by=answered_by)
        self._lake.ledger.append([answer])
        if relation != "update":
            self._reopen(older, later)
        return answer.event_id

    def _pair(self, pair: str | tuple[str, str]) -> tuple[str, str]:
        """Return the ids of two memories."""
        from memory_pipeline.recall.client import reviewing

        if isinstance(pair, str):
            checked = self._checked.get(pair)
            return checked or reviewing.find(self._lake, self._state_cache, self._profile, pair)
        if isinstance(pair, tuple | list) and len(pair) == 2:  # noqa: PLR2004 - two memories
            for memory_id in pair:
                check_id("pair", memory_id)
            return pair[0], pair[1]
        raise ValueError(f"pair is {shown(pair)}; give the id of a pair, or the ids of two memories")

    def _answer(
        self, older: str, newer: str, relation: str, *, statement: str | None = None, answered_by: str | None = None
    ) -> Event:
        """Return the event of an answer."""
        by = answered_by or ("agent" if "agent_id" in self._ids else "owner")
        payload = {"target_id": older, "relation": relation, "statement": statement, "answered_by": by}
        return self._event({"event_type": EventType.RESOLVED.value, "memory_id": newer, "payload": payload})

    def _reopen(self, older: str, newer: str) -> None:
        """Undo the closings of a memory by another that runs decided, as an answer says otherwise."""
        from memory_pipeline.runs import undo

        heads = self._lake.ledger.heads([self._profile])
        closing = undo.in_force(self._lake, [self._profile]).filter(
            pl.col("action") == Action.CLOSE.value, pl.col("memory_id") == older, pl.col("target_id") == newer
        )
        if closing.height:
            undo.mask_decisions(self._lake, closing, heads=heads, reason=f"answer about {older}", now=self._now())

    def remember_many(self, rows: Iterable[Mapping[str, Any] | str]) -> list[str]:
        """Store memories in one transaction, all or none, and return their ids in order.

        Rows are texts, or mappings with `text`, the names of `MemoryFields`, and `supersedes` (see `remember`).

        Raises:
            ValueError: a row is invalid, as in `remember`; names row and field.
        """
        return [one.memory_id for one in self.store(rows)]

    def store(self, rows: Iterable[Mapping[str, Any] | str]) -> builtins.list[Remembered]:
        """Store memories as `remember_many` does, and return what became of each, in order.

        What a text quotes of stored memories, as they are shown to agents or word for word in an agent's turn, is left
        out of the new memory, whose metadata names them in `quoted_memories`. Of a text that only quotes, nothing is
        stored, and the id is that of the first memory it quotes. Nor is a text stored that is no memory: a prompt,
        output of a program, encoded bytes, an empty acknowledgement. Both are kept with the reason among the dead
        letters, which `memory-pipeline dead-letters requeue --noise` stores after all, under the id that is returned. A
        text with `supersedes` is stored as it is; one that is protected is no noise.
        """
        self._check_open()
        given = as_rows(rows, self._settings.max_batch)
        events = [
            validation.numbered(lambda row: self._event(stored_event(row, self._now(), self._zone)), row, position)
            for position, row in enumerate(given)
        ]
        answered, read = list[Event](), list[int]()
        for position, row in enumerate(given):
            older = row.get("supersedes") if isinstance(row, Mapping) else None
            if older is None:
                read.append(position)
            else:
                answered.append(validation.numbered(partial(self._superseding, events[position]), older, position))
        found = [quotations.Separated(event, ()) for event in events]
        for position, own in zip(read, self._separated([events[index] for index in read]), strict=True):
            found[position] = own
        stored = {position: own.event for position, own in enumerate(found) if own.event is not None}
        with validation.naming_rows(given, [*stored]):
            self._lake.ledger.append([*stored.values(), *answered])
        return self._all_told_apart(events, found)

    def _all_told_apart(
        self, events: Sequence[Event], found: Sequence[quotations.Separated]
    ) -> builtins.list[Remembered]:
        """Keep what is not stored of new memories among the dead letters, and return what became of each."""
        self._lake.ledger.add_dead_letters([own.left_out for own in found if own.left_out is not None])
        return [_told_apart(event, own) for event, own in zip(events, found, strict=True)]

    def _superseding(self, event: Event, older: Any) -> Event:
        """Return the answer that a new memory replaces an older one."""
        check_id("supersedes", older)
        self._memory(self._state_cache.current(), older)
        return self._answer(older, str(event.memory_id), "update")

    def append(
        self, events: Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]]
    ) -> builtins.list[Remembered]:
        """Append events of several kinds in one transaction, all or none, and return what became of each new memory.

        Events are as in `docs/event-format.md`; profile, session, agent and user default to the client's. New memories
        are stored without what they quote of stored ones (see `store`). A function that reads and then returns events
        is taken at its word: from its call until they are written, no other writer changes or erases memories of the
        profile.

        Raises:
            ValueError: an event is invalid, or of another profile; names row and field.
        """
        self._check_open()
        with self._lake.ledger.database.holding([self._profile]) if callable(events) else nullcontext():
            rows = as_rows(events() if callable(events) else events, self._settings.max_batch)
            parsed = [validation.numbered(self._given_event, row, position) for position, row in enumerate(rows)]
            as_given = [quotations.Separated(event, ()) for event in parsed]
            found = as_given if callable(events) else self._separated(parsed)
            stored = {position: own.event for position, own in enumerate(found) if own.event is not None}
            with validation.naming_rows(rows, [*stored]):
                self._lake.ledger.append([*stored.values()])
        new = [index for index, event in enumerate(parsed) if event.event_type is EventType.STORED]
        return self._all_told_apart([parsed[index] for index in new], [found[index] for index in new])

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        token_budget: int | None = None,
        min_score: float | None = None,
        as_of: datetime | str | None = None,
        deep: bool = False,
        current: bool = False,
        filters: Filters | Mapping[str, Any] | None = None,
        after: str | None = None,
        ranking: str = "default",
        record: bool = True,
        session_id: str | None = None,
        user_id: str | None = None,
        profiles: Sequence[str] | None = None,
    ) -> Answer:
        """Return the memories that answer a query, best first.

        Args:
            query: a question or search words.
            k: most memories to return.
            token_budget: most tokens of all returned memories together. Of the first that does not fit, the sentences
                that answer are given (see `Recalled.passage`), of further ones nothing.
            min_score: lowest score to return, 0..1. What a score means depends on the ranking: that of `default` is a
                weighted mean of features, several of them relative to the best candidate, so it separates good answers
                from weak ones within one answer, and says little about whether the query has an answer at all; that of
                `cosine` is the cosine similarity of the vectors and comparable between queries.
            as_of: instant whose state is searched; default: now. A new instant is folded from the ledger: seconds at
                100,000 memories.
            deep: also search memories that are cold, stubs, archived, expired or superseded, at a penalty.
            current: only memories that hold at that instant: not those whose validity has ended or not begun. What may
                be outdated is returned, marked.
            filters: conditions that returned memories must meet.
            after: cursor of the answer to the same question before, which this one continues. What is stored meanwhile
                may come on a later page; nothing comes twice, and nothing is lost.
            ranking: default, or a published formula (see `rank/ranking`).
            record: record the access, which keeps memories fresh; False leaves no trace, nor does a read-only store.
            session_id: session in which the query is asked; default: the client's.
            user_id: person who asks; default: the client's. The ranking `engram` prefers memories near to the session
                and the person.
            profiles: profiles whose memories are searched together, such as a team's and one's own; default: the
                client's. Each memory names its profile. Every profile records the accesses of its own memories; the
                query is recorded in the client's alone.

        Raises:
            LakeError: the store cannot be read, or the accesses of an earlier recall could not be written.
        """
        self._check_open()
        most = self._settings.max_text_characters
        check_recall(query, most=most, k=k, token_budget=token_budget, min_score=min_score, ranking=ranking)
        check_bool("deep", deep)
        check_bool("current", current)
        check_bool("record", record)
        seen = paging.read(after)
        now, conditions = self._now(), validation.conditions(filters, self._settings.max_tags, self._zone)
        asker = self._asker | validation.given_ids(session_id=session_id, user_id=user_id)
        past = validation.past_instant(as_of, now, self._zone)
        searched = self._searched(profiles, past)
        ranked = hits(
            searched.pool.index,
            query,
            now=past or now,
            zone=self._zone,
            k=k,
            token_budget=token_budget,
            min_score=min_score,
            deep=deep,
            current=current,
            allowed=searched.allowed(conditions),
            seen=frozenset(seen),
            ranking=ranking,
            vector=embedding.of_query(query, self._policy.embedder),
            scored=searched.scored(past or now) if ranking in SCORED else None,
            context=searched.context(**asker, now=past or now) if ranking == "engram" else None,
            links=searched.links,
            compare=searched.compare,
            whom=searched.whom,
            associations=searched.associations(past or now) if deep else None,
        )
        answer = searched.named(
            answering.answer(
                searched.pool, ranked, query, as_of=past or now, ranking=ranking, zone=self._zone, seen=seen
            )
        )
        if record and answer and writable(self._lake.home):
            self._record(answer, asker, now)
        return answer

    def get(self, memory_id: str, *, as_of: datetime | str | None = None) -> Memory:
        """Return a memory in its current state, or its state at an instant; not recorded as an access.

        Raises:
            UnknownMemory: no memory has this id, or it was deleted or erased.
        """
        self._check_open()
        check_id("memory_id", memory_id)
        past = validation.past_instant(as_of, self._now(), self._zone)
        state = self._state_cache.current() if past is None else self._state_cache.past(past)
        return self._memory(state, memory_id)

    def list(
        self,
        filters: Filters | Mapping[str, Any] | None = None,
        limit: int = 100,
        *,
        deep: bool = False,
        current: bool = False,
        after: str | None = None,
    ) -> builtins.list[Memory]:
        """Return at most `limit` memories that meet the filters, newest first; not recorded as an access.

        `deep` and `current` as for `recall`. `after` is the id of the last memory of the page before; what is stored or
        erased meanwhile moves no page.
        """
        self._check_open()
        check_count("limit", limit)
        check_bool("deep", deep)
        check_bool("current", current)
        conditions = validation.conditions(filters, self._settings.max_tags, self._zone)
        state = self._state_cache.current()
        rows = state.pool.index.memories.select("memory_id", SAID_AT)
        allowed = state.pool.allowed(conditions)
        within = state.pool.index.shown(micros(self._now()), deep=deep, current=current)
        matching = rows.filter(within if allowed is None else within & allowed)
        if after is not None:
            at = self._said_at(state, after)
            later = (pl.col("said_at") == at) & (pl.col("memory_id") > after)
            matching = matching.filter((pl.col("said_at") < at) | later)
        newest = matching.sort("said_at", "memory_id", descending=[True, False])["memory_id"].to_list()[:limit]
        return self._state_cache.memories(state, newest)

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
            content: its new text. What it quotes of other memories is left out, as in `store`.
            importance: its new importance, 0..1.
            tags: its new tags, all of them; an empty list clears them.
            metadata: its new metadata, replacing the old object as a whole.
            valid_from: the instant from which it holds.
            valid_until: the instant at which it ceases to hold.

        Raises:
            ValueError: nothing is to be changed, a value is out of range, or the new text only quotes other memories.
        """
        if isinstance(content, str) and quoting.may_quote(content, by_agent=False):
            content, quoted = self._own_words(memory_id, content)
            kept = self.get(memory_id).metadata if quoted and metadata is None else metadata
            metadata = {**(kept or {}), quotations.QUOTED: quoted} if quoted else metadata
        payload = {
            "content": content,
            "importance": importance,
            "tags": as_list(tags),
            "metadata": metadata,
            "valid_from": valid_from,
            "valid_until": valid_until,
        }
        return self._write_about(memory_id, EventType.UPDATED, validation.zoned(payload, self._zone))

    def protect(self, memory_id: str, reason: str | None = None, *, protected: bool = True) -> Memory:
        """Protect a memory from being archived, merged or deleted, for a reason, and return it.

        `protected=False` lifts an explicit protection; a memory that a policy protects stays protected.
        """
        if reason is not None and not protected:
            raise ValueError(f"reason is {shown(reason)}; leave it out to lift the protection")
        return self._write_about(memory_id, EventType.UPDATED, {"protected": protected, "protected_reason": reason})

    def feedback(self, memory_id: str, *, helpful: bool) -> Memory:
        """Record whether a memory helped: True counts as an access, False lowers its confidence by 0.1; return it."""
        return self._write_about(memory_id, EventType.FEEDBACK, {"helpful": helpful})

    def restore(self, memory_id: str) -> Memory:
        """Restore a memory that runs took out of the live set or trimmed, and return it.

        The decisions are undone; a summary that replaced the memory stays. Cost: the tables of the profile are rebuilt.

        Raises:
            ValueError: no decision in force took it out or trimmed it.
            Conflict: the profile was changed concurrently; nothing was written.
        """
        from memory_pipeline.lake import snapshot
        from memory_pipeline.recall.client import restoring

        check_id("memory_id", memory_id)
        self.flush()
        try:
            restoring.restore(self._lake, memory_id, profile_id=self._profile, now=self._now())
        except restoring.NothingToRestore:
            self._memory(self._state_cache.current(), memory_id)  # reports an unknown id first
            raise
        snapshot.publish_after(self._lake, "the memory is restored")
        return self.get(memory_id)

    def session_start(
        self, query: str | None = None, session_id: str | None = None, project: str | None = None
    ) -> Opening:
        """Record that a session starts, if one is named, and return what an agent should read first.

        That is core memory for the project at work (see `core_memory`), and what is recalled for the topic `query`.
        """
        from memory_pipeline.runs import log, status

        self._check_open()
        if query is not None:
            check_text("query", query)
        if project is not None:
            check_id("project", project)
        session = self._ids.get("session_id") if session_id is None else session_id
        if session is not None:
            self._append({"event_type": EventType.SESSION_STARTED.value, "session_id": session})
        held = status.held(self._lake, self._profile)
        return Opening(
            session_id=session,
            blocks=self.core_memory(project),
            answer=None if query is None else self.recall(query),
            notices=tuple(log.held_notice(name, count) for name, count, _ in held.iter_rows()),
        )

    def core_memory(self, project: str | None = None) -> tuple[Block, ...]:
        """Return the blocks of core memory as compiled by the last run; not recorded as an access.

        Facts that have ended since then are left out, by their validity, a correction or an answer. Days are those of
        the setting `timezone`. A client that serves a user (`user_id`) gets the sections of that user and of nobody in
        particular, and what threatens the health of the others. Standing instructions of other projects than the one at
        work are left out; without one all are given, each behind the name of its project.
        """
        self._check_open()
        blocks = self._lake.read("core_memory_blocks", profiles=[self._profile])
        if blocks.height:
            dates = ["profile_id", "memory_id", "valid_from", "valid_until"]
            dated = self._lake.read("memories", profiles=[self._profile], columns=dates)
            ended = dated.update(self._state_cache.ended(), on="memory_id")
            blocks = core_memory.in_zone(core_memory.holding(blocks, ended, self._now()), self._settings.timezone)
        if (user := self._ids.get("user_id")) is not None and blocks.height:
            people = ["profile_id", "memory_id", "user_id"]
            blocks = core_memory.for_user(
                blocks, self._lake.read("memories", profiles=[self._profile], columns=people), user
            )
        if project is not None:
            check_id("project", project)
            places = ["profile_id", "memory_id", "metadata", "members"]
            blocks = core_memory.for_project(
                blocks, self._lake.read("memories", profiles=[self._profile], columns=places), project
            )
        return tuple(Block.of(row) for row in core_memory.in_order(blocks).to_dicts())

    def end_session(self, session_id: str | None = None) -> None:
        """Record that a session, by default the client's, has ended, after all its recalls."""
        self.flush()
        session = self._ids.get("session_id") if session_id is None else session_id
        if session is None:
            raise ValueError("session_id is missing; name the session, here or when the client is opened")
        self._append({"event_type": EventType.SESSION_ENDED.value, "session_id": session})

    def consolidate(
        self, *, lightweight: bool = False, task: str | None = None, scope: str = "all", dry_run: bool = False
    ) -> Consolidated:
        """Consolidate the profile in this process: plan, check, commit, snapshot. It stays usable meanwhile.

        Args:
            lightweight: only core memory blocks and faded edges, and no snapshot.
            task: only this task, such as decay, creative, cluster, forget or promote; default: all.
            scope: all; recent: only sessions touched since the last reflection; or one user, agent, session or tag,
                such as `user:ana`: other memories are read and left as they are.
            dry_run: return the plan and write nothing.

        Raises:
            ValueError: an argument is unknown, the profile has no memory, or the plan breaks an invariant.
            Conflict: every attempt collided with a concurrent commit; nothing was written.
        """
        check_bool("lightweight", lightweight)
        check_bool("dry_run", dry_run)
        if lightweight and task is not None:
            raise ValueError("lightweight and task cannot be combined; give one of them")
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
        """Merge and move fading memories, every few exchanges (cognitive-memory's `tick`); see `consolidate`."""
        return self.consolidate(task="tick")

    def explain(self, memory_id: str, as_of: datetime | str | None = None) -> Explanation:
        """Explain a memory's state, now or at an instant, in sentences; scores, edges, decisions, origin are fields.

        Raises:
            ValueError: an argument is out of range, or `as_of` lies before the first run; names it.
        """
        from memory_pipeline.recall.client.explain import explain

        check_id("memory_id", memory_id)
        past = validation.past_instant(as_of, self._now(), self._zone)
        self.flush()
        return explain(self._lake, memory_id, profile_id=self._profile, as_of=past, zone=self._zone)

    def undo(self, target: str, cascade: bool = False) -> pl.DataFrame:
        """Undo a run, a merge or the decisions about one memory, and return the undone decisions.

        The target is the id of a run, plan or memory; that of a summary undoes the whole merge. The id of an answer
        (see `resolve`) withdraws it; then no decision is undone. With `cascade`, decisions that build on these are
        undone too.

        Raises:
            ValueError: nothing in force has this id, or decisions build on it and `cascade` is off.
            Conflict: the profile was changed concurrently; nothing was written.
        """
        from memory_pipeline.lake import snapshot
        from memory_pipeline.runs import undo

        check_id("target", target)
        check_bool("cascade", cascade)
        self.flush()
        undone = undo.undo(self._lake, target, profile_id=self._profile, cascade=cascade, now=self._now())
        snapshot.publish_after(self._lake, "the undo is committed")
        return undone

    def erase(
        self,
        memory_id: str | None = None,
        *,
        user: str | None = None,
        profile: bool = False,
        questions_since: datetime | str | None = None,
        reason: str = "",
    ) -> Receipt:
        """Erase a memory, all memories of a person, or the whole profile, for good, and return the receipt.

        Or, with `questions_since`, the words of every question asked since this instant, such as that of an erasure.
        The reason is recorded in the ledger; do not repeat in it what is erased.

        Raises:
            ValueError: none or several of the four are given, or an argument is out of range; names it.
        """
        from memory_pipeline.erasure.erase import erase_memories

        check_bool("profile", profile)
        since = instant("questions_since", questions_since, self._zone)
        targets = {name: value for name, value in {"memory_id": memory_id, "user": user}.items() if value is not None}
        if len(targets) + profile + (since is not None) != 1:
            raise ValueError(
                "give exactly one of memory_id, user, profile=True and questions_since to say what to erase"
            )
        for name, value in targets.items():
            check_id(name, value)
        if reason != "":
            check_text("reason", reason)
        self.flush()
        try:
            return erase_memories(
                self._lake,
                profile_id=self._profile,
                memory_ids=None if memory_id is None else [memory_id],
                user_id=user,
                whole_profile=profile,
                questions_since=since,
                now=self._now(),
                reason=reason,
            )
        finally:
            self._state_cache.clear()
            self._together.clear()

    def _check_open(self) -> None:
        """Refuse a closed or forked client, and report failed background writes."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this client was opened by process {self._process}, before a fork; open another one in each process, "
                "and start processes with the spawn method"
            )
        if not self._closing.alive:
            raise RuntimeError("this client is closed; open another one")
        self._access_writer.check()

    def _searched(self, profiles: Sequence[str] | None, past: datetime | None) -> Alone | Together:
        """Return what a recall searches: the state of the client's profile, or those of several."""
        names = (self._profile,) if profiles is None else validation.profile_names(profiles)
        if names == (self._profile,):
            state = self._state_cache.current() if past is None else self._state_cache.past(past)
            return Alone(self._state_cache, state)
        together = self._together.get(names)
        if together is None:
            policies = {name: self._settings.policy_of(name) for name in (*names, self._profile)}
            validation.check_embedders(policies)
            caches = {
                name: self._state_cache
                if name == self._profile
                else StateCache(self._lake, name, policies[name], self._zone)
                for name in names
            }
            together = self._together[names] = TogetherCache(caches)
            for oldest in [*self._together][:-_TOGETHER]:
                self._together.pop(oldest, None)
        return together.current() if past is None else together.past(past)

    def _record(self, answer: Answer, asker: Mapping[str, str | None], now: datetime) -> None:
        """Record a recall in every profile whose memories it returned; who asked, and what, in the client's only."""
        for access in answering.access_events(answer, self._profile):
            own = access["profile_id"] == self._profile
            ids = {**self._ids, **validation.given_ids(**asker)} if own else {}
            self._access_writer.submit(partial(validation.parse_event, {**ids, **access}, now, self._settings))

    def _now(self) -> datetime:
        return validation.read_clock(self._clock)

    def _event(self, fields: Mapping[str, Any]) -> Event:
        """Return an event that happens now, with the client's ids as defaults."""
        return validation.parse_event({**self._ids, **fields}, self._now(), self._settings)

    def _given_event(self, fields: Any) -> Event:
        """Return an event that the caller wrote; refuse one that is invalid, or of another profile."""
        if not isinstance(fields, Mapping):
            raise ValueError(f"it is {shown(fields)}; give an event: a mapping")  # noqa: TRY004 - one class of error
        if (event := self._event(fields)).profile_id != self._profile:
            raise ValueError(
                f"profile_id is {shown(event.profile_id)}, but this client serves {shown(self._profile)}; leave it "
                "out, or open a client of that profile"
            )
        return event

    def _append(self, fields: Mapping[str, Any]) -> None:
        self._lake.ledger.append([self._event(fields)])

    def _write_about(self, memory_id: str, kind: EventType, payload: Mapping[str, Any]) -> Memory:
        """Append an event about an existing memory, and return the changed memory."""
        self._check_open()
        check_id("memory_id", memory_id)
        self._memory(self._state_cache.current(), memory_id)
        self._append({"event_type": kind.value, "memory_id": memory_id, "payload": payload})
        return self._memory(self._state_cache.current(), memory_id)

    def _memory(self, state: State, memory_id: str) -> Memory:
        if memory_id not in state.pool.row_ids:
            raise UnknownMemory(
                f"memory_id is {shown(memory_id)}, which is not a memory of profile {self._profile!r}; correct the id"
            )
        return self._state_cache.memories(state, [memory_id])[0]

    def _said_at(self, state: State, memory_id: str) -> datetime:
        """Return when a memory was said, also of one that was erased since."""
        check_id("after", memory_id)
        if memory_id in state.pool.row_ids:
            at: datetime = state.pool.index.memories.select(SAID_AT)["said_at"][state.pool.row_ids[memory_id]]
            return at
        with self._lake.ledger.reading() as transaction:
            stored_at = profile_events.stored_at(transaction, self._profile, memory_id)
        return stored_at or self._memory(state, memory_id).created_at  # raises: nobody ever stored it

    def _run(self, task: str, scope: str, *, dry_run: bool) -> Consolidated:
        """Plan a run on the current state, and commit it unless it is dry."""
        from memory_pipeline.lake import snapshot
        from memory_pipeline.runs import consolidate, inputs

        now = self._now()
        profiles = inputs.select_profiles(
            self._lake, self._settings, as_of=now, profiles=[self._profile], task=task, scope=scope
        )
        run_id = None if dry_run else str(uuid7())
        if run_id is None:
            tables = consolidate.preview(self._lake, self._settings, profiles)
        else:
            tables = consolidate.consolidate(self._lake, self._settings, profiles, run_id=run_id)
            if task != "lightweight":
                snapshot.publish_after(self._lake, "the run is committed")
        plan = tables["consolidation_plan"]
        memories = tables["memories"]
        at = now.astimezone(self._zone)
        return Consolidated(run_id=run_id, task=task, as_of=at, profiles=profiles, plan=plan, memories=memories)


def _told_apart(event: Event, own: quotations.Separated) -> Remembered:
    """Return what became of a new memory."""
    only_quotes = own.event is None and own.quoted
    return Remembered(
        memory_id=own.quoted[0] if only_quotes else str(event.memory_id),
        likely=(),
        quoted=own.quoted,
        stored=own.event is not None,
        left_out=None if own.left_out is None else own.left_out.reason,
    )


def _close(writer: AccessWriter, lake: Lake) -> None:
    try:
        writer.close()
    finally:
        lake.close()
