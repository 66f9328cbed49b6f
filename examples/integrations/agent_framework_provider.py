"""An agent of the Microsoft Agent Framework that remembers. Needs no key: a stand-in for the model answers.

pip install '.[agent-framework]'
"""

import asyncio
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.agent_framework import MemoryProvider


class StandIn(BaseChatClient):
    """Answers with the instructions that a model would read."""

    async def _inner_get_response(
        self, *, messages: Sequence[Message], options: Mapping[str, Any], **_: Any
    ) -> ChatResponse:
        read = [message.text for message in messages if message.role == "system"] + [options.get("instructions") or ""]
        return ChatResponse(messages=[Message(role="assistant", contents=["\n".join(read)])])


async def converse(memory: MemoryClient) -> None:
    """Hold two conversations, and sleep between them."""
    agent = Agent(client=StandIn(), instructions="You are kind.", context_providers=[MemoryProvider(memory)])
    monday = agent.create_session()
    for words in ("I am allergic to peanuts.", "The launch is on 12 June.", "The launch moved to 26 June."):
        await agent.run(words, session=monday)
    memory.consolidate()
    print((await agent.run("When is the launch?", session=agent.create_session())).text)


with TemporaryDirectory() as home, MemoryClient(home, profile_id="ana") as client:
    asyncio.run(converse(client))
