"""`MemoryProvider`: a context provider of the Microsoft Agent Framework."""

import asyncio
from typing import Any, Final

from agent_framework import AgentSession, ContextProvider, SessionContext, SupportsAgentRun

from memory_pipeline.integrations.conversation import USER, before_answering, remember_turns
from memory_pipeline.recall.client.memory_client import MemoryClient

SOURCE: Final = "memory_pipeline"
"""Id of the provider, unless it is given another."""


class MemoryProvider(ContextProvider):
    """Adds memories to the instructions of each run, and remembers what its user said: `Agent(context_providers=[..])`.

    Only turns that were answered are remembered.
    """

    def __init__(self, memory: MemoryClient, *, source_id: str = SOURCE, k: int = 5) -> None:
        """Serve a client's profile; the caller closes the client.

        Args:
            source_id: id of the provider among those of an agent.
            k: most memories that answer the user's words.
        """
        super().__init__(source_id)
        self._memory = memory
        self._k = k

    async def before_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add core memory, and memories that answer the user's words, to the instructions."""
        del agent, session, state
        question = "\n".join(_user_texts(context))
        read = await asyncio.to_thread(
            before_answering, self._memory, question, k=self._k, session_id=context.session_id
        )
        if read:
            context.extend_instructions(self.source_id, read)

    async def after_run(
        self, *, agent: SupportsAgentRun, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Remember what the user said."""
        del agent, session, state
        await asyncio.to_thread(remember_turns, self._memory, _user_texts(context), session_id=context.session_id)


def _user_texts(context: SessionContext) -> list[str]:
    return [message.text for message in context.input_messages if message.role == USER and message.text]
