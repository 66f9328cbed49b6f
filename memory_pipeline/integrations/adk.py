"""`MemoryService`: a memory service of Google's Agent Development Kit.

An app's user is a profile: `app/user`, so that no run mixes the memories of two users.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from memory_pipeline.integrations.conversation import USER
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.models import Answer, Recalled

R = TypeVar("R")


class MemoryService(BaseMemoryService):
    """A memory service over a data folder: `Runner(memory_service=MemoryService("data"), ...)`.

    Of sessions and events it remembers what the user says, each event once.
    """

    def __init__(self, home: Path | str | None = None, *, k: int = 10) -> None:
        """Open the store, which is created with the first memory; `k`: most memories that a search returns."""
        self._clients = Clients(home)
        self._k = k

    async def close(self) -> None:
        """Close the store after its pending writes."""
        await asyncio.to_thread(self._clients.close)

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember what the user says in a session; what was added before is skipped."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember what the user says in some events."""
        rows = [
            {
                "text": text,
                "event_id": event.id,
                "memory_id": event.id,
                "occurred_at": datetime.fromtimestamp(event.timestamp, UTC),
                "session_id": session_id,
                "speaker": USER,
                "metadata": custom_metadata,
            }
            for event in events
            if event.author == USER and (text := _text(event.content)).strip()
        ]
        await self._with(app_name, user_id, lambda memory: _remember_new(memory, rows))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember entries as they are given."""
        rows = [
            {
                "text": text,
                "memory_id": entry.id,
                "occurred_at": entry.timestamp,
                "speaker": entry.author,
                "metadata": {**(custom_metadata or {}), **entry.custom_metadata},
            }
            for entry in memories
            if (text := _text(entry.content)).strip()
        ]
        await self._with(app_name, user_id, lambda memory: memory.remember_many(rows))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories that answer a query, best first."""
        answer = await self._with(app_name, user_id, lambda memory: memory.recall(query, self._k))
        return SearchMemoryResponse(memories=[_entry(hit, answer) for hit in answer])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Erase a memory for good; if there is none, nothing happens."""
        if memory_id:
            with suppress(UnknownMemory):
                await self._with(app_name, user_id, lambda memory: memory.erase(memory_id))

    async def _with(self, app_name: str, user_id: str, call: Callable[[MemoryClient], R]) -> R:
        def in_thread() -> R:
            with self._clients.of(profile_of(app_name, user_id)) as memory:
                return call(memory)

        return await asyncio.to_thread(in_thread)


def profile_of(app_name: str, user_id: str) -> str:
    """Return the profile of an app's user."""
    return f"{app_name.replace('%', '%25').replace('/', '%2F')}/{user_id}"


def _remember_new(memory: MemoryClient, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store events, except those whose memory was deleted or has another text."""
    try:
        memory.remember_many(rows)
    except ValueError as error:
        if not isinstance(known := error.__cause__, KnownMemory):
            raise
        memory.remember_many([row for position, row in enumerate(rows) if position not in known.refused])


def _text(content: types.Content | None) -> str:
    return "\n".join(part.text for part in (content.parts if content else None) or () if part.text)


def _entry(hit: Recalled, answer: Answer) -> MemoryEntry:
    """Return a hit as an entry: its text dated, and marked if it no longer holds or may no longer hold."""
    marked: dict[str, Any] = {"score": hit.score, "current": hit.current}
    return MemoryEntry(
        id=hit.memory_id,
        content=types.Content(
            role=USER, parts=[types.Part(text=replace(hit, speaker=None).line(answer).removeprefix("- "))]
        ),
        author=hit.speaker,
        timestamp=hit.created_at.isoformat(),
        custom_metadata={name: value for name, value in marked.items() if value is not None},
    )
