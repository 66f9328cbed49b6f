"""Imports agent files of Letta (`.af`): memory blocks and what the person said.

Archival passages are not in such files. Not here: folders of Letta Code, which are Markdown (`markdown.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import OF_TOOLS, ChatTurn, conversation, spoken
from memory_pipeline.interop.files import Member
from memory_pipeline.interop.items import Item, Skipped, skipped, stable_id
from memory_pipeline.interop.markdown_text import read as read_markdown
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, instant, label, labels, listed, mapping, shared, text, unpacked

FORMAT: Final = "letta"

_MOST_OWNERS: Final = 100
"""Most agents that get the memories of a block that they share."""
_PERSONA: Final = "persona"
_CORE: Final = {_PERSONA, "human"}
"""Labels of blocks that say who the agent and the person are."""
_UNREAD: Final = ("files", "sources", "tools", "groups", "mcp_servers")
"""Lists of a file that hold no memories."""
_OF_PLATFORM: Final = ("heartbeat", "login", "system_alert")
"""Types of what the platform says as the person, with the time beside it."""
_OF_NONE: Final = "blocks that belong to none of several agents"
_SHARED: Final = f"agents beyond {_MOST_OWNERS} that share a block, of that block"


def detect(seen: Sample) -> bool:
    """Return whether a path is an agent file."""
    return any(one.name.endswith(".af") or one.has("agents", "blocks", "in_context_message_ids") for one in seen.heads)


def events(source: Source, path: Path, *, assistant: bool = False) -> Iterator[Item]:
    """Yield the memories of the blocks of an agent file, and its messages; each agent has a profile, by its name."""
    profiles = _Profiles(source.profile)
    return source.of_files(path, lambda member: _file(source, member, profiles, assistant=assistant))


def _file(source: Source, member: Member, profiles: "_Profiles", *, assistant: bool) -> Iterator[Item]:
    if not member.base.endswith((".af", ".json")):
        return
    read = mapping(member.json())
    for name in _UNREAD:
        yield from skipped(f"{name.replace('_', ' ')} of agents", len(listed(read.get(name))))
    found = listed(read.get("agents")) or [read]  # files of the first version are one agent
    yield from skipped("system prompts of agents", sum(text(mapping(one).get("system")) is not None for one in found))
    agents = [_Agent.of(agent, member, index, profiles) for index, agent in enumerate(map(mapping, found))]
    blocks = listed(read.get("blocks")) or listed(read.get("core_memory"))
    owning = defaultdict[str, list[_Agent]](list)
    for agent in agents:
        for name in agent.blocks:
            owning[name].append(agent)
    for index, block in enumerate(map(mapping, blocks)):
        owners = owning.get(str(block.get("id"))) or (agents if len(agents) == 1 else [])
        yield from skipped(_OF_NONE, int(not owners))
        yield from skipped(_SHARED, len(owners) - _MOST_OWNERS)
        for agent in owners[:_MOST_OWNERS]:
            own, origin = replace(source, profile=agent.profile), f"{member.name}:blocks[{index}]"
            record = own.record(None, origin, at=read.get("created_at"), agent_id=agent.name)
            yield from _block(record, block, agent)
    for index, agent in enumerate(agents):
        origin = f"{member.name}:agents[{index}]:messages"
        messages = enumerate(map(mapping, listed(agent.read.get("messages"))))
        yield from conversation(
            replace(source, profile=agent.profile),
            (_turn(message, f"{origin}[{number}]", agent.name) for number, message in messages),
            session=agent.name,
            assistant=assistant,
            begins=instant(read.get("created_at")),
            agent=agent.name,
            project=agent.project,
        )


class _Profiles:
    """The profiles of agents: each has its own, so that no run compares or merges what two of them know."""

    def __init__(self, given: str | None) -> None:
        self.given, self._taken = given, set[str]()

    def of(self, name: str, file: str, place: int) -> str:
        """Return the profile given, else the name of an agent, with file and place if an earlier one has that name."""
        if self.given is not None:
            return self.given
        own = name if name not in self._taken else label(f"{file} {place}: {name}") or name
        self._taken.add(own)
        return own


@dataclass(frozen=True)
class _Agent:
    name: str
    profile: str
    read: Mapping[str, Any]
    blocks: frozenset[str]
    """Ids of its blocks."""
    project: str | None
    """Its name where it shares a profile with others: what it is told is not for them."""

    @classmethod
    def of(cls, read: Mapping[str, Any], member: Member, place: int, profiles: _Profiles) -> "_Agent":
        name = label(read.get("name")) or identifier(read.get("id")) or label(member.base) or FORMAT
        blocks = frozenset(map(str, listed(read.get("block_ids"))))
        own = profiles.of(name, member.base, place)
        return cls(name, own, read, blocks, name if profiles.given else None)


def _block(record: Record, block: Mapping[str, Any], owner: _Agent) -> Iterator[Item]:
    """Yield the memories of a block; ids in a file count from 0, so they are identified by agent, label and text."""
    name = label(block.get("label"))
    value = text(block.get("value"))
    if value is None:
        yield Skipped("blocks without text")
        return
    ordinals = Counter[str]()
    core = name in _CORE or block.get("read_only") is True
    tags, too_many = shared({"tags": labels(block.get("tags"))})
    note = read_markdown(value)
    beside = {"description": block.get("description"), **note.front, **mapping(block.get("metadata"))}
    about, too_long = shared(beside)
    yield from [*too_many, *too_long, *(Skipped(what, count) for what, count in note.left_out.items())]
    for unit in note.units:
        ordinals[unit.text] += 1
        payload = {
            "category": "core",
            "tags": [name, *unit.tags, *tags.get("tags", ())],
            "protected": core or None,
            "protected_reason": f"block {name}" if core else None,
            "speaker": "assistant" if name == _PERSONA else None,
            "metadata": {**about, "block": name, "project": owner.project or about.get("project")},
        }
        memory_id = stable_id(FORMAT, owner.name, str(name), unit.text, str(ordinals[unit.text]))
        line = replace(record, raw={"block": name, "text": unit.text}, origin=f"{record.origin}:{unit.line}")
        yield from line.stored(memory_id, unit.text, payload)


def _turn(message: Mapping[str, Any], origin: str, name: str) -> ChatTurn:
    found, attached = spoken(message.get("content"))
    wrapped = mapping(unpacked(found)) if found and found.startswith("{") else {}
    kind = wrapped.get("type")
    if kind == "user_message":
        found = text(wrapped.get("message"))
    platform = kind in _OF_PLATFORM or "time" in wrapped
    at = instant(message.get("created_at"))
    return ChatTurn(
        turn_id=stable_id(FORMAT, name, str(at), str(found)),
        role=message.get("role"),
        content=found,
        at=at,
        origin=origin,
        raw=dict(message),
        attached=attached,
        unfit=OF_TOOLS if isinstance(kind, str) and kind != "user_message" and platform else None,
    )
