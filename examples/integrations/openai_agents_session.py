"""An agent of the OpenAI Agents SDK that remembers across sessions. Needs no key: a stand-in for the model answers.

pip install '.[openai-agents]'
"""

import asyncio
from collections.abc import AsyncIterator
from tempfile import TemporaryDirectory
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.openai_agents import RememberingSession, instructions


class StandIn(Model):
    """Answers with the instructions that a model would read."""

    async def get_response(self, system_instructions: str | None, *_: Any, **__: Any) -> ModelResponse:
        """Return the instructions as the answer."""
        text = ResponseOutputText(annotations=[], text=system_instructions or "", type="output_text")
        said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Not needed here."""
        raise NotImplementedError


async def converse(memory: MemoryClient) -> None:
    """Hold two conversations, and sleep between them."""
    agent = Agent(name="Assistant", model=StandIn(), instructions=instructions(memory, "You are kind."))
    quiet = RunConfig(tracing_disabled=True)
    first = RememberingSession(SQLiteSession("monday"), memory)
    for words in ("I am allergic to peanuts.", "The launch is on 12 June.", "The launch moved to 26 June."):
        await Runner.run(agent, words, session=first, run_config=quiet)
    await first.end()
    memory.consolidate()
    second = RememberingSession(SQLiteSession("tuesday"), memory)
    print((await Runner.run(agent, "When is the launch?", session=second, run_config=quiet)).final_output)


with TemporaryDirectory() as home, MemoryClient(home, profile_id="ana") as client:
    asyncio.run(converse(client))
