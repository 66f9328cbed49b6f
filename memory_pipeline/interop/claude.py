"""Imports the data export of claude.ai: conversations, what Claude remembers of the person, and project instructions.

Reads a ZIP file, a folder of such, or the JSON files themselves. Not here: transcripts of Claude Code
(`transcripts.py`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import BRANCHES, ChatTurn, conversation, spoken
from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Item, skipped, stable_id
from memory_pipeline.interop.markdown_text import read as read_markdown
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, instant, label, listed, mapping, text

_CONVERSATIONS: Final = re.compile(r"conversations(?:[-_]\d+)?\.json")
_MEMORIES: Final = re.compile(r"(?:.*/)?memories(?:[-_]\d+)?\.json|(?:.*/)?memories/[^/]+\.json")
_PROJECTS: Final = re.compile(r"(?:.*/)?projects\.json|(?:.*/)?projects/[^/]+\.json")
_REMEMBERED: Final = ("conversations_memory", "project_memories", "memory_files")


def detect(seen: Sample) -> bool:
    """Return whether a path is such an export."""
    return any(one.has("chat_messages") or one.has("conversations_memory") for one in seen.heads)


def events(source: Source, path: Path, *, assistant: bool = False) -> Iterator[Item]:
    """Yield conversations, memories and project instructions, one record held in memory at a time."""
    titles = _titles(path)

    def read(member: Member) -> Iterator[Item]:
        if _CONVERSATIONS.fullmatch(member.base):
            for origin, one in member.elements("item", "conversations.item"):
                yield from _conversation(source, one, origin, assistant=assistant)
        elif _MEMORIES.fullmatch(member.name):
            yield from _memories(source, member, titles)
        elif _PROJECTS.fullmatch(member.name):
            yield from _projects(source, member)

    return source.of_files(path, read)


def _conversation(source: Source, read: Any, origin: str, *, assistant: bool) -> Iterator[Item]:
    name = identifier(mapping(read).get("uuid"))
    if name is None:
        yield source.broken(read, origin, "uuid is missing; give each conversation its uuid")
        return
    standing, beside = _branch(read)
    yield from skipped(BRANCHES, beside)
    project = label(mapping(read.get("project")).get("name"))
    about = {"title": read.get("name"), "summary": read.get("summary"), "project": project}
    yield from conversation(
        source,
        (_turn(message, f"{origin}:{number}", name) for number, message in standing),
        session=name,
        assistant=assistant,
        begins=instant(read.get("created_at")),
        project=project,
        about=about,
    )


def _branch(read: Mapping[str, Any]) -> tuple[list[tuple[int, Mapping[str, Any]]], int]:
    """Return the messages of the current branch with their numbers, and how many lie on others."""
    messages = [(number, mapping(message)) for number, message in enumerate(listed(read.get("chat_messages")))]
    known = {message["uuid"]: (number, message) for number, message in messages if isinstance(message.get("uuid"), str)}
    if not any(text(message.get("parent_message_uuid")) in known for _, message in messages):
        return messages, 0
    leaf = text(read.get("current_leaf_message_uuid"))
    if leaf not in known:
        leaf = max(known, key=lambda name: (str(known[name][1].get("created_at")), known[name][0]))
    chain = list[tuple[int, Mapping[str, Any]]]()
    while isinstance(leaf, str) and leaf in known:
        chain.append(known.pop(leaf))
        leaf = chain[-1][1].get("parent_message_uuid")
    return chain[::-1], len(messages) - len(chain)


def _turn(message: Mapping[str, Any], origin: str, name: str) -> ChatTurn:
    return ChatTurn(
        turn_id=identifier(message.get("uuid")) or stable_id(name, origin),
        role=message.get("sender"),
        content=spoken(message.get("content"))[0] or text(message.get("text")),
        at=instant(message.get("created_at")),
        origin=origin,
        raw=message,
        attached=len(listed(message.get("attachments"))) + len(listed(message.get("files"))),
    )


def _records(member: Member) -> Iterator[tuple[str, Any]]:
    """Yield the records of a file, which is a list of them or one, with their origins."""
    read = member.json()
    for index, one in enumerate(read if isinstance(read, list) else [read]):
        yield f"{member.name}[{index}]", one


def _titles(path: Path) -> Mapping[str, str]:
    """Return the names of the projects of an export by their ids."""
    titles = dict[str, str]()
    for member in members(path):
        with suppress(Broken):
            for _, one in _records(member) if _PROJECTS.fullmatch(member.name) else ():
                if title := label(mapping(one).get("name")):
                    titles[str(mapping(one).get("uuid"))] = title
    return titles


def _memories(source: Source, member: Member, titles: Mapping[str, str]) -> Iterator[Item]:
    """Yield what Claude remembers, an item or paragraph each, dated to the export."""
    for origin, one in _records(member):
        about = mapping(one)
        yield from _remembered(source, member, about.get("conversations_memory"), origin, ())
        for project, notes in mapping(about.get("project_memories")).items():
            scope, title = ("project", label(project) or ""), label(titles.get(project, project))
            yield from _remembered(source, member, notes, f"{origin}:{project}", scope, project=title)
        for file in listed(about.get("memory_files")):
            notes = mapping(file).get("content", file)
            yield from _remembered(source, member, notes, f"{origin}:memory_files", ())
        if not any(name in about for name in _REMEMBERED):
            yield source.broken(one, origin, "conversations_memory is missing; export the data again")


def _remembered(
    source: Source, member: Member, notes: object, origin: str, scope: tuple[str, ...], *, project: str | None = None
) -> Iterator[Item]:
    ordinals = Counter[tuple[str, ...]]()
    for unit in read_markdown(notes).units if isinstance(notes, str) else ():
        key = (*scope, *unit.heading, unit.text)
        ordinals[key] += 1
        record = source.record({"text": unit.text}, f"{origin}:{unit.line}", file_at=member.modified)
        payload = {"category": "semantic", "tags": [*unit.tags, *scope[:1]], "metadata": {"project": project}}
        memory_id = stable_id(source.file_format, "memory", *key, str(ordinals[key]))
        yield from record.stored(memory_id, unit.text, payload)


def _projects(source: Source, member: Member) -> Iterator[Item]:
    for origin, one in _records(member):
        project = mapping(one)
        name, title = identifier(project.get("uuid")), label(project.get("name"))
        record = source.record(one, origin, at=project.get("created_at"))
        yield from skipped("documents of projects", len(listed(project.get("docs"))))
        for field in ("description", "prompt_template"):
            if name and (content := text(project.get(field))):
                payload = {"tags": ["project", title], "metadata": {"project": title}}
                yield from record.stored(f"{name}/{field}", content, payload, changed_at=project.get("updated_at"))
