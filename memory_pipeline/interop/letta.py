"""Imports agent files of Letta (`.af`): memory blocks and what the person said.

Archival passages are not in such files. Not here: folders of Letta Code, which are Markdown (`markdown.py`).
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import ATTACHED, EMPTY, OF_TOOLS, ChatTurn, conversation, left_out, speaker, spoken
from memory_pipeline.interop.files import Broken, members
from memory_pipeline.interop.items import Item, Skipped, stable_id
from memory_pipeline.interop.markdown_text import read as read_markdown
from memory_pipeline.interop.records import Record, Source, identifier, instant, label, labels, listed, mapping, text
from memory_pipeline.interop.sampling import Sample

FORMAT: Final = "letta"

_CORE: Final = {"persona", "human"}
"""Labels of blocks that say who the agent and the person are."""


def detect(seen: Sample) -> bool:
    """Return whether a path is an agent file."""
    return any(one.name.endswith(".af") or one.has("agents", "blocks", "in_context_message_ids") for one in seen.heads)


def events(path: Path, *, recorded_at: datetime, profile: str | None = None, assistant: bool = False) -> Iterator[Item]:
    """Yield the memories of the blocks of an agent file, and its messages.

    Args:
        path: file or folder of such files.
        recorded_at: time of the import.
        profile: profile to import into; default `letta`.
        assistant: take what the assistant said too.
    """
    source = Source(FORMAT, recorded_at, profile or FORMAT)
    for member in members(path):
        if not member.base.endswith((".af", ".json")):
            continue
        try:
            read = mapping(member.json())
        except Broken as error:
            yield source.broken(None, member.name, str(error))
            continue
        files = len(listed(read.get("files")))
        yield from [Skipped("files of agents", files)] * bool(files)
        agents = listed(read.get("agents")) or [read]  # files of the first version are one agent
        blocks = listed(read.get("blocks")) or listed(read.get("core_memory"))
        owners = _owners(agents)
        for place, block in enumerate(map(mapping, blocks)):
            owner = owners.get(str(block.get("id"))) or label(mapping(agents[0]).get("name")) or member.base
            record = source.record(None, f"{member.name}:blocks[{place}]", at=read.get("created_at"), agent_id=owner)
            yield from _block(record, block, owner)
        for place, agent in enumerate(agents):
            origin = f"{member.name}:agents[{place}]"
            yield from _agent(source, mapping(agent), origin, read.get("created_at"), assistant=assistant)


def _owners(agents: Sequence[Any]) -> dict[str, str]:
    """Return the name of the agent that has a block, by the block's id; of several agents the first."""
    found = dict[str, str]()
    for agent in map(mapping, agents):
        for block in listed(agent.get("block_ids")):
            if name := label(agent.get("name")):
                found.setdefault(str(block), name)
    return found


def _block(record: Record, block: Mapping[str, Any], owner: str) -> Iterator[Item]:
    """Yield the memories of a block; ids in a file count from 0, so they are identified by agent, label and text."""
    name = label(block.get("label"))
    value = text(block.get("value"))
    if value is None:
        yield Skipped("blocks without text")
        return
    ordinals = Counter[str]()
    core = name in _CORE or block.get("read_only") is True
    for unit in read_markdown(value).units:
        ordinals[unit.text] += 1
        payload = {
            "category": "core",
            "tags": labels([name, *unit.tags, *labels(block.get("tags"))]) or None,
            "protected": core or None,
            "protected_reason": f"block {name}" if core else None,
            "metadata": {"block": name, "description": block.get("description"), **mapping(block.get("metadata"))},
        }
        memory_id = stable_id(FORMAT, owner, str(name), unit.text, str(ordinals[unit.text]))
        line = replace(record, raw={"block": name, "text": unit.text}, origin=f"{record.origin}:{unit.line}")
        yield from line.stored(memory_id, unit.text, payload)


def _agent(
    source: Source, agent: Mapping[str, Any], origin: str, created: object, *, assistant: bool
) -> Iterator[Item]:
    name = label(agent.get("name")) or identifier(agent.get("id"))
    turns = (
        turn
        for place, message in enumerate(listed(agent.get("messages")))
        for turn in _turns(mapping(message), f"{origin}:messages[{place}]", name, assistant=assistant)
    )
    yield from conversation(source, turns, session=name, begins=instant(created), agent=name)


def _turns(message: Mapping[str, Any], origin: str, name: str | None, *, assistant: bool) -> Iterator[ChatTurn | Item]:
    if skipped := left_out(message.get("role"), assistant=assistant):
        yield skipped
        return
    found, attached = spoken(message.get("content"))
    yield from [Skipped(ATTACHED, attached)] * bool(attached)
    found, is_event = _unpacked(found)
    if is_event:
        yield Skipped(OF_TOOLS)
    elif found is None:
        yield Skipped(EMPTY)
    else:
        at = instant(message.get("created_at"))
        turn_id = stable_id(FORMAT, str(name), str(at), found)
        yield ChatTurn(turn_id, found, at, origin, dict(message), speaker(message.get("role")))


def _unpacked(found: str | None) -> tuple[str | None, bool]:
    """Return the text of a message that Letta wraps as JSON, and whether it is an event of the system instead."""
    if found is None or not found.startswith("{"):
        return found, False
    try:
        event = mapping(json.loads(found))
    except (ValueError, RecursionError):
        return found, False
    kind = event.get("type")
    if kind == "user_message":
        return text(event.get("message")), False
    return found, isinstance(kind, str)
