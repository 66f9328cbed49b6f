"""`RememberingSession`: a session of the OpenAI Agents SDK that remembers what its user says.

The history of the chat stays in the session that this one wraps; what the user says is also stored as memories.
`instructions` lets an agent read them.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

from agents import Agent, RunContextWrapper, TResponseInputItem
from agents.memory import Session, SessionABC

from memory_pipeline.integrations.conversation import USER, before_answering, remember_turns
from memory_pipeline.recall.client.memory_client import MemoryClient


class RememberingSession(SessionABC):
    """A session around another one: `Runner.run(agent, words, session=RememberingSession(SQLiteSession(id), memory))`.

    Items that are removed from the history stay remembered; erase memories with the client.
    """

    def __init__(self, inner: Session, memory: MemoryClient) -> None:
        """Wrap a session; the caller closes the client of the profile."""
        self._inner = inner
        self._memory = memory
        self.session_id = inner.session_id
        self.session_settings = inner.session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history of the inner session."""
        return [*await self._inner.get_items(limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items to the history, and remember those that the user says."""
        await self._inner.add_items(items)
        said = [said_by_user(item) for item in items]
        await asyncio.to_thread(remember_turns, self._memory, said, session_id=self.session_id)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item of the history and return it."""
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Clear the history."""
        await self._inner.clear_session()

    async def end(self) -> None:
        """Record that the conversation is over, so that it can be consolidated soon."""
        await asyncio.to_thread(self._memory.end_session, self.session_id)


def instructions(
    memory: MemoryClient, base: str = "", *, k: int = 5
) -> Callable[[RunContextWrapper[Any], Agent[Any]], Coroutine[Any, Any, str]]:
    """Return instructions for an `Agent`: its own, core memory, and `k` memories at most that answer the user."""

    async def with_memories(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        del agent
        question = next(_words_of_user(context.turn_input), "")
        read = await asyncio.to_thread(before_answering, memory, question, k=k)
        return "\n\n".join(part for part in (base, read) if part)

    return with_memories


def said_by_user(item: Mapping[str, Any]) -> str:
    """Return the words of an input item that the user says; empty for any other."""
    if item.get("role") != USER:
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content or () if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _words_of_user(items: Any) -> Iterator[str]:
    """Yield what the user says in the input of a turn, the last first."""
    for item in reversed(items if isinstance(items, list) else [{"role": USER, "content": items}]):
        if isinstance(item, Mapping) and (text := said_by_user(item)):
            yield text
