# ruff: noqa: PLC0415, T201, RUF017 - each part runs where its own packages are installed
"""Makes the stores in this folder with the packages that write them; see README.md. Every sentence is made up.

python make.py FOLDER PART...      parts: langgraph agents cognitive superlocal mem0 graphiti mcp
"""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

OUT = Path(sys.argv[1])


def fresh(name):
    (OUT / name).unlink(missing_ok=True)
    return OUT / name


def langgraph():
    from langgraph.store.sqlite import SqliteStore
    from langmem import create_manage_memory_tool

    connection = sqlite3.connect(fresh("langgraph.sqlite"), check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    store.setup()
    store.put(("memories", "ana"), "tea", {"content": "Ana prefers green tea.", "importance": 0.7})
    inner = {"content": "Ana likes short answers.", "topic": "style"}
    store.put(("memories", "ana"), "style", {"kind": "Preference", "content": inner})
    store.put(("memories", "ben"), "boat", {"kind": "Boat", "content": {"name": "Vega", "length": 7}})
    store.put(("memories", "ben"), "gone", {"content": "Ben sold the bike."})
    store.delete(("memories", "ben"), "gone")
    tool = create_manage_memory_tool(namespace=("memories", "ana"), store=store)
    tool.invoke({"action": "create", "content": "Ana works in Bergen."})
    connection.close()


def agents():
    from agents import SQLiteSession

    async def talk():
        file = str(fresh("openai_agents.sqlite"))
        ana, ben = SQLiteSession("ana:monday", file), SQLiteSession("ben:tuesday", file)
        said = [{"type": "output_text", "text": "Noted.", "annotations": []}]
        parts = [{"type": "input_text", "text": "And they cost 40 euros."}, {"type": "input_image", "image_url": "x"}]
        await ana.add_items(
            [
                {"role": "user", "content": "The tiles come from Delft."},
                {"type": "message", "role": "assistant", "status": "completed", "id": "m1", "content": said},
                {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "x"},
                {"role": "user", "content": parts},
            ]
        )
        await ben.add_items([{"role": "user", "content": "I sold the boat."}])
        ana.close()
        ben.close()

    asyncio.run(talk())


def cognitive():
    from cognitive_memory import SyncCognitiveMemory
    from cognitive_memory.adapters.jsonl import JsonlFileAdapter
    from cognitive_memory.types import MemoryCategory

    file = fresh("cognitive_memory.jsonl")
    memory = SyncCognitiveMemory(embedder="hash", adapter=JsonlFileAdapter(str(file)))
    memory.add("Ana is allergic to hazelnuts.", category=MemoryCategory.CORE, importance=0.9)
    memory.add("Ana went to Oslo on Monday.", category=MemoryCategory.EPISODIC, importance=0.4)
    for query in ("hazelnuts allergy", "hazelnuts", "Oslo"):
        memory.search(query)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        if "embedding" in line.get("memory", {}):
            line["memory"]["embedding"] = line["memory"]["embedding"][:2]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def superlocal():
    from superlocalmemory.storage import schema

    connection = sqlite3.connect(fresh("superlocalmemory.sqlite"), isolation_level=None)
    schema.create_all_tables(connection)
    kept = {"profiles", "memories", "atomic_facts", "graph_edges", "association_edges", "fact_access_log"}
    kept |= {"feedback_records"}
    for kind in ("trigger", "view", "table"):
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,)).fetchall()
        for (name,) in names:
            if name not in kept and not name.startswith("sqlite_"):
                try:
                    connection.execute(f'DROP {kind} IF EXISTS "{name}"')
                except sqlite3.OperationalError:
                    print("kept", name)
    put = connection.execute
    put("INSERT OR IGNORE INTO profiles(profile_id, name) VALUES ('ana', 'Ana')")
    put(
        "INSERT INTO memories(memory_id, profile_id, content, session_id, speaker, role, created_at, metadata_json) "
        "VALUES ('m1', 'ana', 'Talk.', 's1', 'Ana', 'user', '2026-03-01 09:00:00', '{\"place\": \"office\"}')"
    )
    fact = (
        "INSERT INTO atomic_facts(fact_id, memory_id, profile_id, content, fact_type, importance, confidence, "
        "access_count, pinned, quarantined, session_id, canonical_entities_json, created_at, embedding) "
        "VALUES (?, 'm1', 'ana', ?, ?, ?, 0.9, ?, ?, ?, 's1', '[\"Ana\"]', ?, '[0.1]')"
    )
    at = "2026-03-01 09:00:00"
    put(fact, ("f1", "Ana is allergic to hazelnuts.", "semantic", 0.9, 2, 1, 0, at))
    put(fact, ("f2", "Ana went to Oslo.", "episodic", 0.4, 7, 0, 0, at))
    put(fact, ("f3", "Ana will call the bank.", "prospective", 0.5, 0, 0, 0, "2026-03-02T10:00:00+01:00"))
    put(fact, ("f4", "Noise.", "semantic", 0.1, 0, 0, 1, at))
    for log_id, kind in (("l1", "recall"), ("l2", "search"), ("l3", "consolidation")):
        put(
            "INSERT INTO fact_access_log(log_id, fact_id, profile_id, accessed_at, access_type) "
            "VALUES (?, 'f1', 'ana', '2026-03-05 08:00:00', ?)",
            (log_id, kind),
        )
    put(
        "INSERT INTO feedback_records(feedback_id, profile_id, fact_id, feedback_type, timestamp) "
        "VALUES ('x1', 'ana', 'f2', 'negative', '2026-03-06 08:00:00')"
    )
    for edge, kind in (("e1", "causal"), ("e2", "entity")):
        put(
            "INSERT INTO graph_edges(edge_id, profile_id, source_id, target_id, edge_type, weight) "
            "VALUES (?, 'ana', 'f1', 'f2', ?, 0.6)",
            (edge, kind),
        )
    put(
        "INSERT INTO association_edges(edge_id, profile_id, source_fact_id, target_fact_id, association_type) "
        "VALUES ('a1', 'ana', 'f2', 'f3', 'user_defined')"
    )
    put("PRAGMA journal_mode=DELETE")
    put("PRAGMA page_size=1024")
    put("VACUUM")
    connection.close()


def mem0():
    os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=tempfile.mkdtemp(), OPENAI_API_KEY="none")
    from mem0 import Memory
    from mem0.embeddings.mock import MockEmbeddings
    from mem0.memory import main

    main.EmbedderFactory.create = staticmethod(lambda *_, **__: MockEmbeddings())
    folder = OUT / "mem0"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    qdrant = {
        "path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 10, "collection_name": "mem0",
    }  # fmt: skip
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": qdrant},
            "history_db_path": str(folder / "history.db"),
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
        }
    )
    about = {"category": "drinks", "importance": 0.8}
    tea = memory.add("Ana prefers green tea.", user_id="ana", infer=False, metadata=about)["results"][0]["id"]
    memory.add(
        [{"role": "user", "content": "I sold the boat.", "name": "Ben"}], user_id="ben", run_id="r1", infer=False
    )
    wrong = memory.add("Wrong entry.", user_id="ana", infer=False)["results"][0]["id"]
    memory.update(tea, "Ana prefers black tea.")
    memory.update(tea, "Ana prefers coffee.")
    memory.delete(wrong)
    found = [memory.get_all(filters={"user_id": user})["results"] for user in ("ana", "ben")]
    (OUT / "mem0.json").write_text(json.dumps({"results": sum(found, [])}, indent=1) + "\n")
    memory.vector_store.client.close()
    (folder / "qdrant" / ".lock").unlink(missing_ok=True)


def graphiti():
    from graphiti_core.driver.kuzu_driver import KuzuDriver
    from graphiti_core.edges import EntityEdge
    from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

    def at(month, day):
        return datetime(2026, month, day, 9, tzinfo=UTC)

    async def graph():
        driver = KuzuDriver(db=f"{tempfile.mkdtemp()}/graph.kuzu")
        episode = EpisodicNode(
            name="talk", group_id="ana", source=EpisodeType.message, source_description="chat", entity_edges=[],
            content="Ana: I moved to Bergen.", created_at=at(3, 2), valid_at=at(3, 1),
        )  # fmt: skip
        vector = [0.0] * 1024
        ana, oslo, bergen = (
            EntityNode(name=name, group_id="ana", created_at=at(3, 2), summary="", name_embedding=vector)
            for name in ("Ana", "Oslo", "Bergen")
        )
        common = {"group_id": "ana", "name": "LIVES_IN", "source_node_uuid": ana.uuid, "fact_embedding": vector}
        before = EntityEdge(
            target_node_uuid=oslo.uuid, fact="Ana lives in Oslo.", episodes=[], created_at=at(1, 5),
            valid_at=at(1, 1), invalid_at=at(3, 1), expired_at=at(3, 2), **common,
        )  # fmt: skip
        now = EntityEdge(
            target_node_uuid=bergen.uuid, fact="Ana lives in Bergen.", episodes=[episode.uuid], created_at=at(3, 2),
            valid_at=at(3, 1), **common,
        )  # fmt: skip
        for one in (episode, ana, oslo, bergen, before, now):
            await one.save(driver)
        found = {
            "episodes": await EpisodicNode.get_by_group_ids(driver, ["ana"]),
            "nodes": await EntityNode.get_by_group_ids(driver, ["ana"]),
            "edges": await EntityEdge.get_by_group_ids(driver, ["ana"]),
        }
        plain = {
            name: [json.loads(one.model_dump_json(exclude={"name_embedding", "fact_embedding"})) for one in ones]
            for name, ones in found.items()
        }
        (OUT / "graphiti.json").write_text(json.dumps(plain, indent=1) + "\n")

    asyncio.run(graph())


def mcp():
    server = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    process = subprocess.Popen(
        ["node", server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"MEMORY_FILE_PATH": str(fresh("mcp_memory.jsonl").resolve())},
    )

    def send(method, number=None, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if number:
            process.stdout.readline()

    send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "make", "version": "1"})
    send("notifications/initialized")
    ana = {"name": "Ana", "entityType": "person", "observations": ["lives in Bergen", "Ana likes tea"]}
    vega = {"name": "Vega", "entityType": "boat", "observations": ["is red"]}
    ghost = {"name": "Ghost", "entityType": "thing", "observations": []}
    send("tools/call", 2, name="create_entities", arguments={"entities": [ana, vega, ghost]})
    owns = {"from": "Ana", "to": "Vega", "relationType": "owns"}
    fears = {"from": "Ana", "to": "Ghost", "relationType": "fears"}
    send("tools/call", 3, name="create_relations", arguments={"relations": [owns, fears]})
    added = [{"entityName": "Ana", "contents": ["is a carpenter"]}]
    send("tools/call", 4, name="add_observations", arguments={"observations": added})
    process.kill()


for part in sys.argv[2:]:
    globals()[part]()
