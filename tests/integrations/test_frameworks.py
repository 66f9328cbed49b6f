"""The adapters of LangChain, OpenAI Agents, Agent Framework, ADK and Strands do what those frameworks ask for."""

import asyncio

import pytest

from memory_pipeline import MemoryClient

TOLD = ("I am allergic to peanuts.", "I live in Lisbon.", "The website launch is on 12 June.")


@pytest.fixture
def memory(tmp_path):
    with MemoryClient(tmp_path, profile_id="ana") as client:
        yield client


def test_the_retriever_gives_dated_documents_and_takes_the_options_of_a_recall(memory):
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from memory_pipeline.integrations.langchain import MemoryRetriever  # noqa: PLC0415

    ids = memory.remember_many({"text": text, "tags": [text[:1]]} for text in TOLD)
    retriever = MemoryRetriever(memory=memory, k=2)
    first, _ = retriever.invoke("When is the website launch?")
    assert (first.id, first.metadata["content"]) == (ids[2], TOLD[2])
    assert first.page_content.startswith("[20")
    assert first.page_content.endswith(TOLD[2])
    assert len(retriever.invoke("Ana", filters={"tags": ["T"]})) == 1
    assert len(asyncio.run(retriever.ainvoke("Ana", k=3))) == 3


def test_a_session_keeps_the_history_of_its_inner_one_and_remembers_what_the_user_says(memory):
    agents = pytest.importorskip("agents", reason="the extra openai-agents is not installed")
    from memory_pipeline.integrations.openai_agents import RememberingSession  # noqa: PLC0415

    inner = agents.SQLiteSession("s1")
    session = RememberingSession(inner, memory)
    items = [
        {"role": "user", "content": TOLD[0]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]},
        {"type": "function_call", "name": "f", "call_id": "1", "arguments": "{}"},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": TOLD[1]}, {"type": "input_image", "image_url": "x"}],
        },
        {"role": "user", "content": " "},
    ]

    async def work():
        await session.add_items(items)
        assert await session.get_items() == await inner.get_items() == items
        assert await session.get_items(2) == items[-2:]
        assert await session.pop_item() == items[-1]
        await session.clear_session()
        assert await session.get_items() == []
        await session.end()

    asyncio.run(work())
    stored = memory.list({"session_id": "s1"})
    assert {(row.content, row.speaker) for row in stored} == {(TOLD[0], "user"), (TOLD[1], "user")}


def test_a_provider_remembers_what_the_user_says_and_not_what_is_answered(memory):
    framework = pytest.importorskip("agent_framework", reason="the extra agent-framework is not installed")
    from memory_pipeline.integrations.agent_framework import MemoryProvider  # noqa: PLC0415

    provider = MemoryProvider(memory)

    async def turn(words):
        asked = framework.Message(role="user", contents=[words])
        context = framework.SessionContext(session_id="s1", input_messages=[asked])
        await provider.before_run(agent=None, session=None, context=context, state={})
        await provider.after_run(agent=None, session=None, context=context, state={})
        return "\n".join(context.instructions)

    assert asyncio.run(turn(TOLD[2])) == ""
    assert asyncio.run(turn("When is the website launch?")).endswith(TOLD[2])
    assert {row.content for row in memory.list({"session_id": "s1"})} == {TOLD[2], "When is the website launch?"}


def test_a_memory_service_takes_events_once_keeps_users_apart_and_deletes(tmp_path):
    pytest.importorskip("google.adk", reason="the extra adk is not installed")
    from google.adk.events import Event  # noqa: PLC0415
    from google.adk.memory.memory_entry import MemoryEntry  # noqa: PLC0415
    from google.adk.sessions import Session  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    from memory_pipeline.integrations.adk import MemoryService  # noqa: PLC0415

    def content(text):
        return types.Content(parts=[types.Part(text=text)])

    def event(name, author, text):
        return Event(id=name, author=author, content=content(text), timestamp=1_780_000_000.5)

    told = [event("e1", "user", TOLD[0]), event("e2", "agent", "Noted."), event("e3", "user", TOLD[2])]
    ana, bob = {"app_name": "a/b", "user_id": "ana"}, {"app_name": "a", "user_id": "b/ana"}

    async def work():
        service = MemoryService(tmp_path)
        session = Session(id="s1", events=told, **ana)
        await service.add_session_to_memory(session)
        await service.add_session_to_memory(session)
        found = (await service.search_memory(query="When is the website launch?", **ana)).memories
        assert [entry.id for entry in found] == ["e3", "e1"]
        assert (found[0].author, found[0].timestamp) == ("user", "2026-05-28T20:26:40.500000+00:00")
        assert found[0].content.parts[0].text == f"[2026-05-28] {TOLD[2]}"
        assert not (await service.search_memory(query="website launch", **bob)).memories
        await service.delete_memory(memory_id="e3", **ana)
        await service.delete_memory(memory_id="e3", **ana)
        session.events.append(event("e4", "user", TOLD[1]))
        await service.add_session_to_memory(session)
        await service.add_memory(memories=[MemoryEntry(id="m1", content=content("Plays chess."), author="bob")], **bob)
        assert (await service.search_memory(query="chess", **bob)).memories[0].author == "bob"
        await service.close()

    asyncio.run(work())
    with MemoryClient(tmp_path, profile_id="a%2Fb/ana") as client:
        assert {row.memory_id for row in client.list(deep=True)} == {"e1", "e4"}


def test_a_memory_store_searches_and_takes_what_a_manager_gives_it(memory):
    strands = pytest.importorskip("strands.memory", reason="the extra strands is not installed")
    from memory_pipeline.integrations.strands import PipelineMemoryStore  # noqa: PLC0415

    store = PipelineMemoryStore(memory, session_id="s1")
    manager = strands.MemoryManager(stores=[store], add_tool_config=True)

    async def work():
        await manager.add(TOLD[2], {"metadata": {"by": "model"}})
        said = [
            {"role": "user", "content": [{"text": TOLD[0]}]},
            {"role": "assistant", "content": [{"text": "Noted."}]},
        ]
        await store.add_messages(said)
        return await manager.search("When is the website launch?", {"max_search_results": 1})

    (found,) = asyncio.run(work())
    assert (found.store_name, found.content.partition("] ")[2]) == ("memory_pipeline", TOLD[2])
    assert {row.content: row.metadata for row in memory.list({"session_id": "s1"})} == {
        TOLD[2]: {"by": "model"},
        TOLD[0]: None,
    }
