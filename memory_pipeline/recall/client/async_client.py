"""`AsyncMemoryClient`: the methods of `MemoryClient` for asynchronous code, each run by a thread of a small pool."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.client.open_profile import now
from memory_pipeline.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")

_THREADS: Final = 4
"""Most calls that run at the same time; further ones wait."""


def _asynchronous(
    method: Callable[Concatenate[MemoryClient, P], R],
) -> Callable[Concatenate["AsyncMemoryClient", P], Coroutine[Any, Any, R]]:
    """Return the method as a coroutine function of the same signature."""

    @wraps(method)
    async def call(self: "AsyncMemoryClient", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._in_thread(partial(method, self._client, *args, **kwargs))

    return call


class AsyncMemoryClient:
    """The memory of one profile, for asynchronous code; see `MemoryClient`. Tasks may share it.

    A cancelled call still runs to its end in its thread, including its writes.
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
        """Open the memory of a profile; see `MemoryClient`. Takes some milliseconds in the calling thread."""
        self._client = MemoryClient(
            home,
            profile_id=profile_id,
            session_id=session_id,
            agent_id=agent_id,
            user_id=user_id,
            settings=settings,
            clock=clock,
        )
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="memory-pipeline")

    def __repr__(self) -> str:
        """Return whose memory it is, and where."""
        return f"Async{self._client!r}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for running calls, then close; see `MemoryClient.close`."""
        await asyncio.to_thread(self._shut_down)

    def _shut_down(self) -> None:
        self._threads.shutdown()
        self._client.close()

    async def _in_thread(self, call: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    flush = _asynchronous(MemoryClient.flush)
    remember = _asynchronous(MemoryClient.remember)
    remember_many = _asynchronous(MemoryClient.remember_many)
    store = _asynchronous(MemoryClient.store)
    append = _asynchronous(MemoryClient.append)
    recall = _asynchronous(MemoryClient.recall)
    get = _asynchronous(MemoryClient.get)
    list = _asynchronous(MemoryClient.list)
    update = _asynchronous(MemoryClient.update)
    protect = _asynchronous(MemoryClient.protect)
    feedback = _asynchronous(MemoryClient.feedback)
    remember_checked = _asynchronous(MemoryClient.remember_checked)
    likely = _asynchronous(MemoryClient.likely)
    correct = _asynchronous(MemoryClient.correct)
    review = _asynchronous(MemoryClient.review)
    answered = _asynchronous(MemoryClient.answered)
    resolve = _asynchronous(MemoryClient.resolve)
    restore = _asynchronous(MemoryClient.restore)
    session_start = _asynchronous(MemoryClient.session_start)
    core_memory = _asynchronous(MemoryClient.core_memory)
    end_session = _asynchronous(MemoryClient.end_session)
    consolidate = _asynchronous(MemoryClient.consolidate)
    tick = _asynchronous(MemoryClient.tick)
    explain = _asynchronous(MemoryClient.explain)
    undo = _asynchronous(MemoryClient.undo)
    erase = _asynchronous(MemoryClient.erase)
