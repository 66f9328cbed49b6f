"""What the tools of the MCP server take, do and answer: each one call of the client of a profile, or a run.

Descriptions are written for the agents that read them, and answers are short, since an agent reads every word. What is
not here: which tools there are and what is noted of them (`mcp_server`), and what is done (`recall.client`, `runs`,
`lake.status`).
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import polars as pl
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field, ValidationError

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import InvalidEvent
from memory_pipeline.ledger.payloads import Instant
from memory_pipeline.ledger.validation_errors import reason
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.models import Memory, Recalled
from memory_pipeline.runs import status as progress
from memory_pipeline.service import rank_explanation
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.client_pool import Clients
from memory_pipeline.service.request_bodies import MANY, Conditions, NewMemory, given
from memory_pipeline.settings import load

SHOWN: Final = 20
"""Decisions of a plan that an agent is shown; more would fill its context."""

Profile = Annotated[str, Field(min_length=1, description="Whose memories: the tenant or user. Keep to one.")]
MemoryId = Annotated[str, Field(min_length=1, description="Id of the memory, as other tools name it.")]
SessionId = Annotated[
    str | None, Field(min_length=1, description="The conversation it comes from; the same id all along.")
]
Filters = Annotated[Conditions | None, Field(description="Only among these; leave out for all.")]


class Tools:
    """What an agent can do."""

    def __init__(self, home: Path, clients: Clients, runs: Runs) -> None:
        """Name the data folder, the memories that stay open, and where runs are made."""
        self._home = home
        self._clients = clients
        self._runs = runs

    def session_start(
        self,
        query: Annotated[
            str | None, Field(min_length=1, description="What the conversation is about; leave out if not yet known.")
        ] = None,
        profile_id: Profile = "default",
        session_id: SessionId = None,
    ) -> str:
        """Give what to read when a conversation begins: core memory, then what is relevant to the query."""
        with self._memory(profile_id) as memory:
            return memory.session_start(query, session_id=session_id).text() or "Nothing is remembered yet."

    def recall(
        self,
        query: Annotated[str, Field(min_length=1, description="What you want to know, as a question in plain words.")],
        profile_id: Profile = "default",
        k: Annotated[int, Field(ge=1, le=100, description="At most so many memories.")] = 10,
        token_budget: Annotated[
            int | None, Field(ge=1, description="At most so many tokens in all; leave out for no limit.")
        ] = None,
        min_score: Annotated[
            float | None, Field(ge=0, le=1, description="Only memories with at least this score; leave out for all.")
        ] = None,
        as_of: Annotated[
            Instant | None, Field(description="What was known at this instant, such as 2026-03-01T00:00:00Z.")
        ] = None,
        deep: Annotated[
            bool, Field(description="Also search what was archived or replaced; if the first try found too little.")
        ] = False,
        filters: Filters = None,
        ranking: Annotated[
            str, Field(description="default, engram, automem, cognitive, cosine or lexical; leave out if unsure.")
        ] = "default",
    ) -> dict[str, Any]:
        """Find memories that answer a question, best first.

        `current` false marks what does not hold: no longer, `closed_by` being the newer memory, or only from
        `holds_from` on; `conflicts` names memories that contradict it: tell the user of both. `said_at` is when
        something was said.
        """
        with self._memory(profile_id) as memory:
            answer = memory.recall(
                query,
                k,
                token_budget=token_budget,
                min_score=min_score,
                as_of=as_of,
                deep=deep,
                filters=None if filters is None else given(filters),
                ranking=ranking,
            )
        return {"memories": [_recalled(one) for one in answer], "tokens": answer.tokens}

    def get_memory(
        self,
        memory_id: MemoryId,
        profile_id: Profile = "default",
        as_of: Annotated[
            Instant | None, Field(description="As it stood at this instant, such as 2026-03-01T00:00:00Z.")
        ] = None,
    ) -> dict[str, Any]:
        """Show one memory whole: its text and everything that was said of it. Does not count as a use."""
        with self._memory(profile_id) as memory:
            return _shown(memory.get(memory_id, as_of=as_of))

    def list_memories(
        self,
        profile_id: Profile = "default",
        filters: Filters = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="At most so many.")] = 20,
        deep: Annotated[bool, Field(description="Also what was archived or replaced.")] = False,
    ) -> dict[str, Any]:
        """List memories, newest first, by conditions and not by a question. Does not count as a use."""
        with self._memory(profile_id) as memory:
            found = memory.list(None if filters is None else given(filters), limit, deep=deep)
        return {"memories": [_listed(one) for one in found]}

    def remember(
        self,
        text: Annotated[
            str, Field(min_length=1, description="What to remember: one fact, complete without the conversation.")
        ],
        profile_id: Profile = "default",
        memory_type: Annotated[
            Literal["Decision", "Insight", "Pattern", "Preference", "Style", "Habit", "Context", "Memory"] | None,
            Field(description="What kind of memory it is; leave out if unsure, then the text decides."),
        ] = None,
        importance: Annotated[
            float | None, Field(ge=0, le=1, description="0 trivial, 1 vital; leave out if unsure.")
        ] = None,
        session_id: SessionId = None,
        agent_id: Annotated[str | None, Field(min_length=1, description="You, if several agents share these.")] = None,
        user_id: Annotated[str | None, Field(min_length=1, description="The person it belongs to.")] = None,
        speaker: Annotated[str | None, Field(min_length=1, description="Who said it.")] = None,
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
        occurred_at: Annotated[
            Instant | None, Field(description="When it was said, such as 2026-03-01T00:00:00Z; leave out for now.")
        ] = None,
        valid_from: Annotated[Instant | None, Field(description="It holds from this instant on.")] = None,
        valid_until: Annotated[Instant | None, Field(description="It holds until this instant.")] = None,
        protect: Annotated[
            bool, Field(description="Never let it be forgotten. Only if the user asks for that.")
        ] = False,
    ) -> dict[str, str]:
        """Store one memory for later conversations. Answers at once with its memory_id; duplicates are merged later."""
        said = {
            "memory_type": memory_type,
            "importance": importance,
            "session_id": session_id,
            "agent_id": agent_id,
            "user_id": user_id,
            "speaker": speaker,
            "tags": tags,
            "occurred_at": occurred_at,
            "valid_from": valid_from,
            "valid_until": valid_until,
            "protected": protect or None,
        }
        with self._memory(profile_id) as memory:
            return {"memory_id": memory.remember(text, **said), "profile_id": profile_id}  # type: ignore[arg-type]

    def remember_many(
        self,
        memories: Annotated[
            list[NewMemory], Field(min_length=1, max_length=MANY, description="What to remember, one fact each.")
        ],
        profile_id: Profile = "default",
    ) -> dict[str, Any]:
        """Store several memories at once, all or none. Answers with their memory_ids, in the order given."""
        with self._memory(profile_id) as memory:
            stored = memory.remember_many([given(one) for one in memories])
        return {"memory_ids": stored, "profile_id": profile_id}

    def update(
        self,
        memory_id: MemoryId,
        profile_id: Profile = "default",
        content: Annotated[str | None, Field(min_length=1, description="Its new text; leave out to keep it.")] = None,
        importance: Annotated[float | None, Field(ge=0, le=1, description="0 trivial, 1 vital.")] = None,
        tags: Annotated[list[str] | None, Field(description="Its new tags, all of them; [] clears them.")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="Replaces its metadata as a whole.")] = None,
        valid_from: Annotated[Instant | None, Field(description="It holds from this instant on.")] = None,
        valid_until: Annotated[Instant | None, Field(description="It holds until this instant.")] = None,
    ) -> dict[str, Any]:
        """Correct a memory's text, importance, tags, metadata or validity; what is left out stays.

        For what was stored wrongly. What has become out of date needs no update: remember the new fact, and the old
        one is marked.
        """
        changes = {
            "content": content,
            "importance": importance,
            "tags": tags,
            "metadata": metadata,
            "valid_from": valid_from,
            "valid_until": valid_until,
        }
        if all(value is None for value in changes.values()):
            raise ToolError(f"nothing to change: give at least one of {', '.join(changes)}")
        with self._memory(profile_id) as memory:
            return _shown(memory.update(memory_id, **changes))  # type: ignore[arg-type]

    def protect(
        self,
        memory_id: MemoryId,
        profile_id: Profile = "default",
        reason: Annotated[str | None, Field(min_length=1, description="Why; explain tells it.")] = None,
        protected: Annotated[bool, Field(description="False: protect it no longer.")] = True,
    ) -> dict[str, Any]:
        """Keep a memory from being archived, trimmed or deleted, or lift that again. Only if the user asks for it."""
        with self._memory(profile_id) as memory:
            return _shown(memory.protect(memory_id, reason, protected=protected))

    def restore(self, memory_id: MemoryId, profile_id: Profile = "default") -> dict[str, Any]:
        """Bring back a memory that a run has archived, merged or trimmed; a summary of it stays."""
        with self._memory(profile_id) as memory:
            return _shown(memory.restore(memory_id))

    def feedback(
        self,
        memory_id: MemoryId,
        helpful: Annotated[bool, Field(description="True if it helped to answer, false if it misled.")],
        profile_id: Profile = "default",
    ) -> str:
        """Say whether a recalled memory helped; what helps is kept longer."""
        with self._memory(profile_id) as memory:
            memory.feedback(memory_id, helpful=helpful)
        return "noted"

    def forget(self, memory_id: MemoryId, profile_id: Profile = "default") -> dict[str, Any]:
        """Erase one memory for good, from every place: text, summaries and past states. Nothing brings it back.

        Only when the user asks for exactly this. What is merely out of date needs no erasing: remember the new fact,
        and the old one is marked. Answers with a receipt.
        """
        with self._memory(profile_id) as memory:
            return dict(memory.erase(memory_id).to_dict())

    def erase_user(
        self,
        user_id: Annotated[str, Field(min_length=1, description="The person, as user_id of the memories says.")],
        profile_id: Profile = "default",
    ) -> dict[str, Any]:
        """Erase everything of one person in a profile for good, from every place. Nothing brings it back.

        Only when the user asks for exactly this. Answers with a receipt.
        """
        with self._memory(profile_id) as memory:
            return dict(memory.erase(user=user_id).to_dict())

    def end_session(
        self,
        session_id: Annotated[str, Field(min_length=1, description="The conversation that is over.")],
        profile_id: Profile = "default",
    ) -> str:
        """Say that a conversation is over, so that what it brought can be consolidated soon."""
        with self._memory(profile_id) as memory:
            memory.end_session(session_id)
        return "noted"

    def consolidate(
        self,
        profile_id: Profile = "default",
        lightweight: Annotated[
            bool, Field(description="Only what takes a moment: refresh core memory blocks, prune faded links.")
        ] = False,
        task: Annotated[
            Literal["decay", "creative", "cluster", "forget", "promote"] | None,
            Field(description="Only this task; leave out to do everything. Not together with lightweight."),
        ] = None,
        scope: Annotated[
            Literal["all", "recent"], Field(description="recent: only sessions touched since the last reflection.")
        ] = "all",
        dry_run: Annotated[
            bool, Field(description="Only show what would be decided and why; nothing is changed.")
        ] = False,
    ) -> dict[str, Any]:
        """Put the memories of a profile in order: merge duplicates, link, summarise, promote, forget by its policy.

        Takes seconds to minutes and answers when it is done, with how many decisions of each kind were made and the
        run_id by which undo takes them back. Use it at the end of a session, or when the user asks; once is enough.
        With dry_run, nothing is changed: the answer shows the first decisions that would be made, each with its reason.
        """
        with _refusing():
            wanted = Consolidation.model_validate(
                {
                    "profile_id": profile_id,
                    "lightweight": lightweight,
                    "task": task,
                    "scope": scope,
                    "dry_run": dry_run,
                }
            )
            if dry_run:
                return _planned(self._runs.plan(wanted, trigger="mcp"))
            done = self._runs.start(wanted, trigger="mcp").result.result()
        return {"run_id": done["run_id"], "profiles": [_ran(row) for row in done["profiles"]]}

    def tick(self, profile_id: Profile = "default") -> dict[str, Any]:
        """Merge and move fading memories only; takes a moment. Every few exchanges, instead of a whole consolidation.

        Answers with how many decisions of each kind were made, and the run_id by which undo takes them back.
        """
        with self._memory(profile_id) as memory:
            return memory.tick().to_dict()

    def undo(
        self,
        target: Annotated[
            str, Field(min_length=1, description="Run id, plan id, or memory id (of a summary: the whole merge).")
        ],
        profile_id: Profile = "default",
        cascade: Annotated[bool, Field(description="Also take back what builds on it.")] = False,
    ) -> dict[str, Any]:
        """Take back a run, a merge or one decision within the profile. Nothing is lost: the ledger keeps both."""
        with self._memory(profile_id) as memory:
            return _undone(memory.undo(target, cascade))

    def explain(
        self,
        memory_id: MemoryId,
        profile_id: Profile = "default",
        query: Annotated[
            str | None, Field(min_length=1, description="Also say why it ranks where it does for this question.")
        ] = None,
    ) -> str:
        """Say everything about one memory: text, scores, links, what was decided about it and why, its origin."""
        with self._memory(profile_id) as memory:
            told = memory.explain(memory_id)
            return "\n".join((told if query is None else rank_explanation.placed(memory, told, query)).lines())

    def status(self, profile_id: Profile = "default") -> dict[str, Any]:
        """Say how many memories a profile has, what waits to be consolidated, what ran last and what is due next."""
        with _refusing(), Lake(self._home) as lake:
            found = progress.summary(lake, load(self._home), now=datetime.now(UTC), profile_id=profile_id)
        told = {name: found[name] for name in ("profiles", "tasks", "history", "waiting_seconds")}
        return dict(json.loads(json.dumps(told, default=_plain)))

    @contextmanager
    def _memory(self, profile_id: str) -> Iterator[MemoryClient]:
        with _refusing(), self._clients.of(profile_id) as memory:
            yield memory


def _recalled(one: Recalled) -> dict[str, Any]:
    """Return what an agent needs of a memory; what says nothing is left out, since it reads every word."""
    told = {
        "memory_id": one.memory_id,
        "said_at": f"{one.created_at:%Y-%m-%d}",
        "speaker": one.speaker,
        "text": one.text,
        "score": round(one.score, 2),
        "current": one.current,
        "holds_from": one.holds_from and f"{one.holds_from:%Y-%m-%d}",
        "closed_by": one.closed_by,
        "conflicts": list(one.conflicts) or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _shown(one: Memory) -> dict[str, Any]:
    """Return all that is known of a memory."""
    return {name: value for name, value in one.to_dict().items() if value not in (None, [])}


def _listed(one: Memory) -> dict[str, Any]:
    """Return what tells a memory from others."""
    told = {
        "memory_id": one.memory_id,
        "said_at": f"{one.created_at:%Y-%m-%d}",
        "speaker": one.speaker,
        "text": one.text,
        "memory_type": one.memory_type,
        "lifecycle": one.lifecycle,
    }
    return {name: value for name, value in told.items() if value is not None}


def _undone(decisions: pl.DataFrame) -> dict[str, Any]:
    counts = decisions.group_by("action").len().sort("action")
    shown = decisions.select("action", "memory_id", "target_id", "rule", "reason").head(SHOWN)
    return {"decisions": decisions.height, "actions": dict(counts.iter_rows()), "first": shown.to_dicts()}


def _ran(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("profile_id", "task", "outcome", "memories", "actions")}


def _planned(document: dict[str, Any]) -> dict[str, Any]:
    plan = document["plan"]
    counts = Counter((row["action"], row["rule"], row["status"]) for row in plan)
    shown = ("action", "memory_id", "target_id", "rule", "reason", "status")
    return {
        "decisions": len(plan),
        "counts": [
            {"action": action, "rule": rule, "status": state, "decisions": count}
            for (action, rule, state), count in sorted(counts.items())
        ],
        "first": [{name: row[name] for name in shown} for row in plan[:SHOWN]],
    }


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what is wrong into one line that the agent can read."""
    try:
        yield
    except ValidationError as error:
        raise ToolError(reason(error, Consolidation)) from None
    except InvalidEvent as error:
        raise ToolError(error.reason) from None
    except (ValueError, RuntimeError, OSError) as error:
        raise ToolError(" ".join(str(error).split())) from None
