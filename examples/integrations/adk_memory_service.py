"""An agent of Google's Agent Development Kit that remembers. Needs no key: a stand-in for the model answers.

pip install '.[adk]'
"""

import asyncio
from collections.abc import AsyncGenerator
from tempfile import TemporaryDirectory

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.adk import MemoryService, profile_of


class StandIn(BaseLlm):
    """Answers with all that a model would read."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - of the interface
    ) -> AsyncGenerator[LlmResponse, None]:
        """Yield the texts of the request as the answer."""
        read = "\n".join(part.text or "" for content in llm_request.contents for part in content.parts or ())
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=read)]))


async def converse(home: str) -> None:
    """Hold two conversations, and sleep between them."""
    memories, sessions = MemoryService(home), InMemorySessionService()
    agent = Agent(name="assistant", model=StandIn(model="stand-in"), tools=[PreloadMemoryTool()])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memories)

    async def ask(session_id: str, words: str) -> str:
        message, said = types.Content(role="user", parts=[types.Part(text=words)]), ""
        async for event in runner.run_async(user_id="ana", session_id=session_id, new_message=message):
            said = "".join(part.text or "" for part in event.content.parts or ()) if event.content else said
        return said

    monday = await sessions.create_session(app_name="app", user_id="ana")
    for words in ("I am allergic to peanuts.", "The launch is on 12 June.", "The launch moved to 26 June."):
        await ask(monday.id, words)
    told = await sessions.get_session(app_name="app", user_id="ana", session_id=monday.id)
    await memories.add_session_to_memory(told)
    with MemoryClient(home, profile_id=profile_of("app", "ana")) as memory:
        memory.consolidate()
    tuesday = await sessions.create_session(app_name="app", user_id="ana")
    print(await ask(tuesday.id, "When is the launch?"))
    await memories.close()


with TemporaryDirectory() as folder:
    asyncio.run(converse(folder))
