"""`MemoryClient`: stores, recalls and changes the memories of one profile, and consolidates them.

Each method is a thin step over lower rooms. What plans, undoes, erases, reviews and explains is imported by the methods
that need it, so that opening a store and recalling start without it.
"""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Self, Unpack

import polars as pl

from memory_pipeline.erasure.receipt import Receipt
from memory_pipeline.ledger.disk import writable
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client import listing, validation, writing
from memory_pipeline.recall.client.explanation import Explanation
from memory_pipeline.recall.client.open_profile import OpenProfile, now
from memory_pipeline.recall.client.searches import Searches
from memory_pipeline.recall.client.validation import MemoryFields, check_bool, check_count, check_id, check_text
from memory_pipeline.recall.filters import Filters, instant
from memory_pipeline.recall.models import Answer, Memory
from memory_pipeline.recall.openings import Block, Consolidated, Opening
from memory_pipeline.recall.rank import paging
from memory_pipeline.recall.reviews import Pair, Remembered, Review
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import Settings


class MemoryClient:
    """The memory of one profile. Threads may share a client; every process opens its own.

    Each call sees all changes made before it, by any process. Settings are read once, when the client is opened.
    Besides what a method names, it raises ValueError for an argument of the wrong kind or out of range, which it names
    with its row, UnknownMemory for an id of no memory, and LakeError if the store cannot be read or written.

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
        """
        ids = {"profile_id": profile_id, "session_id": session_id, "agent_id": agent_id, "user_id": user_id}
        self._own = OpenProfile(home, ids, settings, clock)
        self._asker = {"session_id": session_id, "user_id": user_id}
        self._searches = Searches(self._own)

    def __repr__(self) -> str:
        """Return whose memory it is, and where."""
        return f"MemoryClient({str(self._own.lake.home)!r}, profile_id={self._own.profile_id!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write pending accesses and close the store; the client cannot be used afterwards.

        Also done, without reporting failures, when the client is garbage-collected or the interpreter exits. Raises
        LakeError if accesses could not be written and are lost.
        """
        self._own.close()

    def flush(self) -> None:
        """Write the accesses of all recalls so far; those that could not be written are kept and retried."""
        self._own.flush()

    def remember(self, text: str, *, supersedes: str | None = None, **fields: Unpack[MemoryFields]) -> str:
        """Store a memory and return its id. On return it is on disk and can be recalled.

        Recalled memories that the text hands back are left out of it; what is no memory is not stored (see `store`).
        `fields` are optional (see `MemoryFields`); session, agent and user default to the client's. A memory that it
        `supersedes`, by id, no longer holds from now on (see `resolve`). A `memory_id` that is or was that of another
        text is refused.
        """
        return writing.remember(self._own, {**fields, "text": text}, supersedes).memory_id

    def remember_checked(
        self, text: str, *, supersedes: str | None = None, **fields: Unpack[MemoryFields]
    ) -> Remembered:
        """Store a memory as `remember` does, and return with it at most three earlier ones that it may affect.

        It may replace, repeat or contradict them. Answer with `resolve`; what is left unanswered is judged by the next
        run.
        """
        from memory_pipeline.recall.client import reviewing

        stored = writing.remember(self._own, {**fields, "text": text}, supersedes)
        return reviewing.checked(self._own, stored, but=supersedes) if stored.stored else stored

    def likely(self, memory_id: str) -> tuple[Pair, ...]:
        """Return at most three earlier memories that a memory may replace, repeat or contradict, the likeliest first.

        Of a memory that no run has compared yet; what runs were unsure of has `review`. Answer with `resolve`; what is
        left unanswered is judged by the next run. Cost: about 0.2 CPU s a memory.
        """
        from memory_pipeline.recall.client import reviewing

        self._own.check()
        check_id("memory_id", memory_id)
        return reviewing.likely(self._own, memory_id)

    def correct(self, older: str, text: str, **fields: Unpack[MemoryFields]) -> str:
        """Store what is true instead of a memory, which no longer holds from then on, and return the id of the new one.

        The old memory stays, marked as closed, and comes back with `undo` of the answer (see `resolve`). To mend a text
        that was never meant so, use `update`. Fields as for `remember`.
        """
        self._own.check()
        check_id("older", older)
        self._own.memory(older, name="older")
        return self.remember(text, supersedes=older, **fields)

    @property
    def zone(self) -> tzinfo:
        """Time zone of the reader: of the days and times that are shown, and of those asked for without an offset."""
        return self._own.zone

    def review(self, limit: int = 10, *, doubts: bool = False) -> Review:
        """Return the pairs of memories of which the last run was unsure, those most worth an answer first.

        With `doubts`, pairs that are likelier unrelated follow: for an agent, which reads one for some 65 tokens.
        """
        from memory_pipeline.recall.client import reviewing

        self._own.check()
        check_count("limit", limit)
        check_bool("doubts", doubts)
        return reviewing.review(self._own, limit, doubts=doubts)

    def answered(self, since: datetime | str) -> pl.DataFrame:
        """Return what answers and corrections have ended since an instant, as people read it (`telling.TOLD`)."""
        from memory_pipeline.recall.client import reviewing

        self._own.check()
        return reviewing.answered(self._own, instant("since", since, self.zone))

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
            statement: with partial, the sentences of the older memory that no longer hold, one per line, copied
                exactly; default: those that the pair names.
            answered_by: owner, agent or model; default: agent if the client has an agent, else owner.
        """
        from memory_pipeline.recall.client import resolving

        self._own.check()
        return resolving.resolve(self._own, pair, relation, newer=newer, statement=statement, answered_by=answered_by)

    def remember_many(self, rows: Iterable[Mapping[str, Any] | str]) -> list[str]:
        """Store memories in one transaction, all or none, and return their ids in order.

        Rows are texts, or mappings with `text`, the names of `MemoryFields`, and `supersedes` (see `remember`).
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
        return writing.store(self._own, rows)

    def append(
        self, events: Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]]
    ) -> builtins.list[Remembered]:
        """Append events of several kinds in one transaction, all or none, and return what became of each new memory.

        Events are as in `docs/event-format.md`, of this profile; session, agent and user default to the client's. New
        memories are stored without what they quote of stored ones (see `store`). A function that reads and then returns
        events is taken at its word: from its call until they are written, no other writer changes or erases memories of
        the profile.
        """
        return writing.append(self._own, events)

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
        """Return the memories that answer a query, a question or search words, best first; at most `k`.

        Args:
            token_budget: most tokens of all returned memories together. Of the first that does not fit, the sentences
                that answer are given (see `Recalled.passage`), of further ones nothing.
            min_score: lowest score to return, 0..1. That of the ranking `cosine` is comparable between queries; that of
                `default` separates good answers from weak ones within one answer, and says little about whether the
                query has an answer at all.
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
            user_id: person who asks; default: the client's. The ranking `engram` prefers memories near to both.
            profiles: profiles whose memories are searched together, such as a team's and one's own; default: the
                client's. Each memory names its profile, which records its access; the query is recorded in the client's
                alone.

        Raises:
            LakeError: the store cannot be read, or the accesses of an earlier recall could not be written.
        """
        own = self._own
        own.check()
        most = own.settings.max_text_characters
        validation.check_recall(query, most=most, k=k, token_budget=token_budget, min_score=min_score, ranking=ranking)
        for name, value in (("deep", deep), ("current", current), ("record", record)):
            check_bool(name, value)
        seen, now = paging.read(after), own.now()
        conditions = validation.conditions(filters, own.settings.max_tags, own.zone)
        asker = self._asker | validation.given_ids(session_id=session_id, user_id=user_id)
        past = validation.past_instant(as_of, now, own.zone)
        answer = self._searches.answer(
            query,
            self._searches.of(profiles, past),
            at=past or now,
            conditions=conditions,
            asker=asker,
            seen=seen,
            ranking=ranking,
            deep=deep,
            k=k,
            token_budget=token_budget,
            min_score=min_score,
            current=current,
        )
        if record and answer and writable(own.lake.home):
            self._searches.record(answer, asker, now)
        return answer

    def get(self, memory_id: str, *, as_of: datetime | str | None = None) -> Memory:
        """Return a memory in its current state, or its state at an instant; not recorded as an access.

        A memory that was deleted or erased is unknown.
        """
        self._own.check()
        check_id("memory_id", memory_id)
        past = validation.past_instant(as_of, self._own.now(), self.zone)
        return self._own.memory(memory_id, None if past is None else self._own.cache.past(past))

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
        self._own.check()
        return listing.newest(self._own, filters, limit, deep=deep, current=current, after=after)

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

        What a new text quotes of other memories is left out, as in `store`; one that only quotes is refused. Importance
        is 0..1. Tags and metadata replace the old ones as a whole; an empty list clears the tags. The memory holds from
        `valid_from` until `valid_until`.
        """
        given = {"content": content, "importance": importance, "tags": validation.as_list(tags), "metadata": metadata}
        return writing.update(self._own, memory_id, given | {"valid_from": valid_from, "valid_until": valid_until})

    def protect(self, memory_id: str, reason: str | None = None, *, protected: bool = True) -> Memory:
        """Protect a memory from being archived, merged or deleted, for a reason, and return it.

        `protected=False` lifts an explicit protection; a memory that a policy protects stays protected.
        """
        if reason is not None and not protected:
            raise ValueError(f"reason is {shown(reason)}; leave it out to lift the protection")
        return self._own.write_about(memory_id, EventType.UPDATED, {"protected": protected, "protected_reason": reason})

    def feedback(self, memory_id: str, *, helpful: bool) -> Memory:
        """Record whether a memory helped: True counts as an access, False lowers its confidence by 0.1; return it."""
        return self._own.write_about(memory_id, EventType.FEEDBACK, {"helpful": helpful})

    def restore(self, memory_id: str) -> Memory:
        """Restore a memory that runs took out of the live set or trimmed, and return it.

        The decisions are undone; a summary that replaced the memory stays. Cost: the tables of the profile are rebuilt.
        Raises ValueError if no decision in force took it out or trimmed it, Conflict if others changed the profile
        meanwhile: then nothing was written.
        """
        from memory_pipeline.recall.client import restoring

        check_id("memory_id", memory_id)
        self.flush()
        return restoring.restored(self._own, memory_id)

    def session_start(
        self, query: str | None = None, session_id: str | None = None, project: str | None = None
    ) -> Opening:
        """Record that a session starts, if one is named, and return what an agent should read first.

        That is core memory for the project at work (see `core_memory`), and what is recalled for the topic `query`.
        """
        from memory_pipeline.runs import log, status

        self._own.check()
        if query is not None:
            check_text("query", query)
        if project is not None:
            check_id("project", project)
        session = self._own.mark_session(EventType.SESSION_STARTED, session_id)
        held = status.held(self._own.lake, self._own.profile_id)
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
        self._own.check()
        return listing.blocks(self._own, project)

    def end_session(self, session_id: str | None = None) -> None:
        """Record that a session, by default the client's, has ended, after all its recalls."""
        self.flush()
        if self._own.mark_session(EventType.SESSION_ENDED, session_id) is None:
            raise ValueError("session_id is missing; name the session, here or when the client is opened")

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
        from memory_pipeline.recall.client import consolidating

        return consolidating.run(self._own, lightweight=lightweight, task=task, scope=scope, dry_run=dry_run)

    def tick(self) -> Consolidated:
        """Merge and move fading memories, every few exchanges (cognitive-memory's `tick`); see `consolidate`."""
        return self.consolidate(task="tick")

    def explain(self, memory_id: str, as_of: datetime | str | None = None) -> Explanation:
        """Explain a memory's state, now or at an instant, in sentences; scores, edges, decisions, origin are fields.

        An instant before the first run is refused.
        """
        from memory_pipeline.recall.client.explain import explain

        check_id("memory_id", memory_id)
        past = validation.past_instant(as_of, self._own.now(), self.zone)
        self.flush()
        return explain(self._own.lake, memory_id, profile_id=self._own.profile_id, as_of=past, zone=self.zone)

    def undo(self, target: str, cascade: bool = False) -> pl.DataFrame:
        """Undo a run, a merge or the decisions about one memory, and return the undone decisions.

        The target is the id of a run, plan or memory; that of a summary undoes the whole merge. The id of an answer
        (see `resolve`) withdraws it; then no decision is undone. With `cascade`, decisions that build on these are
        undone too. Raises ValueError if nothing in force has this id, or decisions build on it and `cascade` is off,
        Conflict if others changed the profile meanwhile: then nothing was written.
        """
        from memory_pipeline.lake import snapshot
        from memory_pipeline.runs import undo

        check_id("target", target)
        check_bool("cascade", cascade)
        self.flush()
        undone = undo.undo(
            self._own.lake, target, profile_id=self._own.profile_id, cascade=cascade, now=self._own.now()
        )
        snapshot.publish_after(self._own.lake, "the undo is committed")
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
        Give exactly one of the four. The reason is recorded in the ledger; do not repeat in it what is erased.
        """
        from memory_pipeline.recall.client import erasing

        return erasing.erase(
            self._own,
            self._searches,
            memory_id,
            user=user,
            profile=profile,
            questions_since=questions_since,
            reason=reason,
        )
