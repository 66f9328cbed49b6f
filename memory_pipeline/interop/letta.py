"""Imports agent files of Letta (`.af`): memory blocks and what the person said.

Archival passages are not in such files. Not here: folders of Letta Code, which are Markdown (`markdown.py`).
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import ATTACHED, EMPTY, OF_TOOLS, Said, conversation, left_out, speaker, spoken
from memory_pipeline.interop.files import Broken, members
from memory_pipeline.interop.items import Item, Skipped, stable_id
from memory_pipeline.interop.markdown_text import read as read_markdown
from memory_pipeline.interop.records import Source, identifier, instant, label, labels, listed, mapping, text
from memory_pipeline.interop.sampling import Sample

FORMAT: Final = "letta"

_CORE: Final = {"persona", "human"}
"""Labels of blocks that say who the agent and the person are."""


def detect(seen: Sample) -> bool:
    """Tell whether a path is an agent file."""
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
        for place, block in enumerate(listed(read.get("blocks"))):
            yield from _block(source, mapping(block), f"{member.name}:blocks[{place}]", read.get("created_at"))
        for place, agent in enumerate(listed(read.get("agents"))):
            yield from _agent(
                source, mapping(agent), f"{member.name}:agents[{place}]", read.get("created_at"), assistant=assistant
            )


def _block(source: Source, block: Mapping[str, Any], origin: str, created: object) -> Iterator[Item]:
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
        owner = str(block.get("id") or name)
        record = source.record({"block": name, "text": unit.text}, f"{origin}:{unit.line}", at=created)
        memory_id = stable_id(FORMAT, owner, unit.text, str(ordinals[unit.text]))
        yield from record.stored(memory_id, unit.text, payload)


def _agent(
    source: Source, agent: Mapping[str, Any], origin: str, created: object, *, assistant: bool
) -> Iterator[Item]:
    name = identifier(agent.get("id")) or identifier(agent.get("name"))
    turns = (
        turn
        for place, message in enumerate(listed(agent.get("messages")))
        for turn in _turns(mapping(message), f"{origin}:messages[{place}]", name, assistant=assistant)
    )
    yield from conversation(
        source, turns, session=name, begins=instant(created), agent=name, about={"agent": agent.get("name")}
    )


def _turns(message: Mapping[str, Any], origin: str, name: str | None, *, assistant: bool) -> Iterator[Said | Item]:
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
        turn_id = identifier(message.get("id")) or stable_id(str(name), origin)
        at = instant(message.get("created_at"))
        yield Said(turn_id, found, at, origin, dict(message), speaker(message.get("role")))


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
