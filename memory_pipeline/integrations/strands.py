"""`PipelineMemoryStore`: a memory store of Strands Agents, for its `MemoryManager`."""

import asyncio
from typing import Any, Final

from strands.memory.types import AddMessagesContext, MemoryEntry, MemoryStore, Metadata, SearchOptions
from strands.types.content import Message

from memory_pipeline.integrations.conversation import USER, remember_turns
from memory_pipeline.recall.client.memory_client import MemoryClient

_RESULTS: Final = 5


class PipelineMemoryStore(MemoryStore):
    """A memory store over a client's profile: `Agent(memory_manager=MemoryManager(stores=[...]))`.

    With extraction on, what the user says is stored as it is, without a call of a model.
    """

    def __init__(
        self,
        memory: MemoryClient,
        *,
        name: str = "memory_pipeline",
        description: str = "What earlier conversations told, consolidated.",
        max_search_results: int = _RESULTS,
        session_id: str | None = None,
        writable: bool = True,
        extraction: bool = False,
    ) -> None:
        """Serve a client's profile; the caller closes the client.

        Args:
            name: name of the store among those of an agent.
            description: description of the store for the model.
            session_id: session of what is stored.
            writable: whether the agent may store memories.
            extraction: whether every turn of the user is stored.
        """
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._memory = memory
        self._session = session_id

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the memories that answer a query, best first."""
        most = (options or {}).get("max_search_results") or self.max_search_results
        answer = await asyncio.to_thread(self._memory.recall, query, most, session_id=self._session)
        return [
            MemoryEntry(
                content=hit.line(answer).removeprefix("- "),
                metadata={"memory_id": hit.memory_id, "score": hit.score, "created_at": hit.created_at.isoformat()},
            )
            for hit in answer
        ]

    async def add(self, content: str, metadata: Metadata | None = None) -> str:
        """Store one memory and return its id."""
        fields: dict[str, Any] = {"session_id": self._session, "metadata": metadata}
        return await asyncio.to_thread(
            lambda: self._memory.remember(content, **{name: value for name, value in fields.items() if value})
        )

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> list[str]:
        """Store what the user says in messages, and return the ids."""
        del context
        said = [_text(message) for message in messages if message["role"] == USER]
        return await asyncio.to_thread(remember_turns, self._memory, said, session_id=self._session)


def _text(message: Message) -> str:
    return "\n".join(part["text"] for part in message["content"] if "text" in part)
