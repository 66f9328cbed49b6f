"""The asynchronous client has the methods of the other, and each does the same."""

import asyncio
import inspect

import pytest

from memory_pipeline import AsyncMemoryClient, MemoryClient
from memory_pipeline.ledger.database import UnknownMemory


def methods(cls):
    return {name: method for name, method in vars(cls).items() if callable(method) and not name.startswith("_")}


def test_both_have_the_same_methods_and_signatures():
    plain, other = methods(MemoryClient), methods(AsyncMemoryClient)
    assert plain.keys() == other.keys()
    for name, method in plain.items():
        assert inspect.signature(method) == inspect.signature(other[name]), name
        assert inspect.iscoroutinefunction(other[name]), name
        assert other[name].__doc__
    assert inspect.signature(MemoryClient) == inspect.signature(AsyncMemoryClient)


def test_what_one_remembers_the_other_finds(tmp_path):
    async def work():
        async with AsyncMemoryClient(tmp_path, session_id="s") as client:
            ids = await asyncio.gather(*(client.remember(f"Ana bought book number {number}.") for number in range(8)))
            answers = await asyncio.gather(*(client.recall(f"book number {number}", 20) for number in range(8)))
            assert all({one.memory_id for one in answer} == set(ids) for answer in answers)
            assert (await client.get(ids[0])).content == "Ana bought book number 0."
            assert len(await client.list({"session_id": "s"}, limit=5)) == 5
            assert (await client.consolidate()).run_id is not None
            with pytest.raises(UnknownMemory):
                await client.get("nobody")
            with pytest.raises(ValueError, match="query"):
                await client.recall(" ")
            await client.end_session()
            return ids, [one.memory_id for one in await client.recall("Which books?", record=False)]

    ids, found = asyncio.run(work())
    with MemoryClient(tmp_path) as client:
        assert [one.memory_id for one in client.recall("Which books?", record=False)] == found
        assert {client.get(one).access_count for one in ids} == {8}
