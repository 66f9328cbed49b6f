"""A Strands agent that remembers. Needs no key: a stand-in for the model answers.

pip install '.[strands]'
"""

from collections.abc import AsyncIterator
from tempfile import TemporaryDirectory
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.strands import PipelineMemoryStore


class StandIn(Model):
    """Answers with all that a model would read."""

    def update_config(self, **_: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        """Nothing is configured."""
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError

    async def stream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """Yield the last message as the answer."""
        read = "\n".join(part.get("text", "") for part in messages[-1]["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": read}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


with TemporaryDirectory() as home, MemoryClient(home, profile_id="ana") as memory:
    memory.remember_many(["I am allergic to peanuts.", "The launch is on 12 June.", "The launch moved to 26 June."])
    memory.consolidate()
    manager = MemoryManager(stores=[PipelineMemoryStore(memory)])
    agent = Agent(model=StandIn(), memory_manager=manager, callback_handler=None)
    print(agent("When is the launch?"))
