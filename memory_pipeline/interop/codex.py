"""Imports transcripts of Codex: what the person typed, and not what the program inserted as user messages."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import ChatTurn, conversation, spoken
from memory_pipeline.interop.files import members
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.transcripts import INSERTED, OTHERS, UNKNOWN, Lines, beside, folder_of
from memory_pipeline.interop.values import identifier, instant, label, mapping

_KINDS: Final = {
    *("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"),
    *("reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *("local_shell_call", "web_search_call", "ghost_snapshot"),
}
"""Kinds of lines, with those from before there were envelopes."""


def detect(seen: Sample) -> bool:
    """Return whether a path holds transcripts of Codex."""
    return any(
        "payload" in line and line.get("type") in ("session_meta", "response_item", "event_msg", "turn_context")
        for one in seen.heads
        for line in one.objects
    )


def events(source: Source, path: Path, *, assistant: bool = False) -> Iterator[Item]:
    """Yield the sessions of Codex in a folder such as ~/.codex/sessions, or in one file.

    A message counts as typed if the program also recorded it as typed input; in a file without such records, messages
    that begin with "<" are left out.
    """
    for member in members(path):
        if other := beside(member):
            yield other
            continue
        lines = Lines(source, member)
        typed, about = _typed(lines)
        name = identifier(about.get("id")) or member.base.removesuffix(".jsonl")
        folder = folder_of(about.get("cwd"))
        tags = tuple(tag for tag in (folder, label(mapping(about.get("git")).get("branch"))) if tag)
        yield from conversation(
            source,
            lines.turns(partial(_turn, name=name, tags=tags, typed=typed)),
            session=name,
            assistant=assistant,
            begins=instant(about.get("timestamp")),
            project=folder,
            about={"folder": folder},
        )


def _words(typed: str) -> str:
    """Return a text without line ends and indentation, which the program changes in what it records as typed."""
    return " ".join(typed.split())


def _typed(lines: Lines) -> tuple[Counter[str] | None, Mapping[str, Any]]:
    """Return the texts that the program records as typed (None without such records), and its record of the session."""
    typed, about = Counter[str](), dict[str, Any]()
    for _, line in lines.objects():
        payload = mapping(line.get("payload"))
        if line.get("type") == "session_meta":
            about = about or dict(payload)
        elif line.get("type") == "event_msg" and payload.get("type") == "user_message":
            typed[_words(str(payload.get("message")))] += 1
        elif "type" not in line and "id" in line and not about:  # before there were envelopes
            about = dict(line)
    return typed or None, about


def _turn(
    line: Mapping[str, Any], origin: str, *, name: str, tags: tuple[str, ...], typed: Counter[str] | None
) -> ChatTurn | Item:
    payload = mapping(line.get("payload")) or line
    if payload.get("type") != "message":
        return Skipped(OTHERS if str(line.get("type", "session_meta")) in _KINDS else UNKNOWN)
    found, attached = spoken(payload.get("content"))
    inserted = False
    if found and payload.get("role") == "user":
        inserted = found.lstrip().startswith("<") if typed is None else _words(found) not in typed
    return ChatTurn(
        turn_id=f"{name}:{origin.rpartition(':')[2]}",
        role=payload.get("role"),
        content=found,
        at=instant(line.get("timestamp")),
        origin=origin,
        raw=line,
        attached=attached,
        unfit=INSERTED if inserted else None,
        tags=tags,
    )
