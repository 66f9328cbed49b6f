"""Imports transcripts of Codex: what the person typed, and not what the program inserted as user messages."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import ATTACHED, EMPTY, ChatTurn, conversation, left_out, speaker, spoken
from memory_pipeline.interop.files import members
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Source, identifier, instant, label, mapping
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.transcripts import INSERTED, OTHERS, UNKNOWN, Lines, beside, folder_of

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


def events(path: Path, *, recorded_at: datetime, profile: str | None = None, assistant: bool = False) -> Iterator[Item]:
    """Yield the sessions of Codex in a folder such as ~/.codex/sessions, or in one file.

    A message counts as typed if the program also recorded it as typed input; in a file without such records, messages
    that begin with "<" are left out.
    """
    source = Source("codex", recorded_at, profile or "codex")
    for member in members(path):
        if other := beside(member):
            yield other
            continue
        lines = Lines(source, member)
        typed, about = _typed(lines)
        name = identifier(about.get("id")) or member.base.removesuffix(".jsonl")
        git = mapping(about.get("git"))
        folder = folder_of(about.get("cwd"))
        tags = tuple(tag for tag in (folder, label(git.get("branch"))) if tag)

        def taken(
            line: Mapping[str, Any],
            origin: str,
            *,
            tags: tuple[str, ...] = tags,
            name: str = name,
            typed: Counter[str] | None = typed,
        ) -> Iterator[ChatTurn | Item]:
            return _message(line, origin, name=name, tags=tags, typed=typed, assistant=assistant)

        yield from conversation(
            source,
            lines.turns(taken),
            session=name,
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


def _message(
    line: Mapping[str, Any],
    origin: str,
    *,
    name: str,
    tags: tuple[str, ...],
    typed: Counter[str] | None,
    assistant: bool,
) -> Iterator[ChatTurn | Item]:
    payload = mapping(line.get("payload")) or line
    if payload.get("type") != "message":
        yield Skipped(OTHERS if str(line.get("type", "session_meta")) in _KINDS else UNKNOWN)
        return
    if skipped := left_out(payload.get("role"), assistant=assistant):
        yield skipped
        return
    found, attached = spoken(payload.get("content"))
    yield from [Skipped(ATTACHED, attached)] * bool(attached)
    if found is None:
        yield Skipped(EMPTY)
    elif payload.get("role") == "user" and (
        found.lstrip().startswith("<") if typed is None else _words(found) not in typed
    ):
        yield Skipped(INSERTED)
    else:
        turn_id = f"{name}:{origin.rpartition(':')[2]}"
        at = instant(line.get("timestamp"))
        yield ChatTurn(turn_id, found, at, origin, line, speaker(payload.get("role")), tags)
