"""Imports transcripts of coding agents: Claude Code's and Codex's sessions, a file of JSON lines each.

Imports what the person typed, and not what the programs insert as user messages (command output, reminders, project
instructions, tool results). The folder in which a session began is its project. Both formats change without notice:
unknown lines are counted. Not here: their memory
folders, which are Markdown (`markdown.py`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from memory_pipeline.interop.chats import ATTACHED, EMPTY, OF_TOOLS, ChatTurn, conversation, left_out, speaker, spoken
from memory_pipeline.interop.files import Broken, Member, members, parsed
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Source, identifier, instant, label, listed, mapping, text
from memory_pipeline.interop.sampling import Sample

CLAUDE_CODE: Final = "claude-code"
CODEX: Final = "codex"

_SUBAGENTS: Final = {"subagents", "tool-results"}
_INJECTED: Final = re.compile(
    r"<(command-name|command-message|command-args|command-contents|local-command-stdout|local-command-stderr|"
    r"local-command-caveat|system-reminder|bash-input|bash-stdout|bash-stderr|user-memory-input|task-notification|"
    r"ide_opened_file|ide_selection)>.*?</\1>",
    re.DOTALL,
)
_CAVEATS: Final = ("Caveat:", "[Request interrupted")
_NO_MESSAGES: Final = {
    *("system", "summary", "ai-title", "custom-title", "agent-name", "continued-in", "file-history-snapshot"),
    *("queue-operation", "attachment", "last-prompt", "pr-link", "progress", "permission-mode"),
}
"""Kinds of lines of Claude Code that hold no message."""
_CODEX_KINDS: Final = {
    *("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"),
    *("reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
    *("local_shell_call", "web_search_call", "ghost_snapshot"),
}
"""Kinds of lines of Codex, with those from before there were envelopes."""
_OTHERS: Final = "lines that are not messages"
_UNKNOWN: Final = "lines of unknown kinds"
_SUBAGENT_FILES: Final = "files of subagents and tool results"
_NOTES: Final = "notes in Markdown (taken by import markdown)"
_INSERTED: Final = "messages that the program inserted"


def detect_claude_code(seen: Sample) -> bool:
    """Return whether a path holds transcripts of Claude Code."""
    return any("sessionId" in line and "uuid" in line for one in seen.heads for line in one.objects)


def detect_codex(seen: Sample) -> bool:
    """Return whether a path holds transcripts of Codex."""
    return any(
        "payload" in line and line.get("type") in ("session_meta", "response_item", "event_msg", "turn_context")
        for one in seen.heads
        for line in one.objects
    )


def claude_code_events(
    path: Path, *, recorded_at: datetime, profile: str | None = None, assistant: bool = False
) -> Iterator[Item]:
    """Yield the sessions of Claude Code in a folder such as ~/.claude/projects, or in one file.

    Args:
        path: folder or file.
        recorded_at: time of the import.
        profile: profile to import into; default `claude-code`.
        assistant: take what the assistant wrote too.
    """
    source = Source(CLAUDE_CODE, recorded_at, profile or CLAUDE_CODE)
    for member in members(path):
        if beside := _beside(member):
            yield beside
            continue
        lines = _Lines(source, member)
        first = next((line for _, line in lines.objects() if isinstance(line.get("sessionId"), str)), None)
        if first is None:
            yield Skipped("files without a session")
            continue
        folder = next((found for _, line in lines.objects() if (found := _folder(line.get("cwd")))), None)
        turns = lines.turns(lambda line, origin: _claude_code(line, origin, assistant=assistant))
        yield from conversation(
            source,
            turns,
            session=first["sessionId"],
            begins=instant(first.get("timestamp")),
            project=folder,
            about={"folder": folder},
        )


def codex_events(
    path: Path, *, recorded_at: datetime, profile: str | None = None, assistant: bool = False
) -> Iterator[Item]:
    """Yield the sessions of Codex in a folder such as ~/.codex/sessions, or in one file.

    A message counts as typed if the program also recorded it as typed input; in a file without such records, messages
    that begin with "<" are left out.

    Args:
        path: folder or file.
        recorded_at: time of the import.
        profile: profile to import into; default `codex`.
        assistant: take what the assistant wrote too.
    """
    source = Source(CODEX, recorded_at, profile or CODEX)
    for member in members(path):
        if beside := _beside(member):
            yield beside
            continue
        lines = _Lines(source, member)
        typed, about = _typed(lines)
        name = identifier(about.get("id")) or member.base.removesuffix(".jsonl")
        git = mapping(about.get("git"))
        folder = _folder(about.get("cwd"))
        tags = tuple(tag for tag in (folder, label(git.get("branch"))) if tag)

        def taken(
            line: Mapping[str, Any],
            origin: str,
            *,
            tags: tuple[str, ...] = tags,
            name: str = name,
            typed: Counter[str] | None = typed,
        ) -> Iterator[ChatTurn | Item]:
            return _codex(line, origin, name=name, tags=tags, typed=typed, assistant=assistant)

        yield from conversation(
            source,
            lines.turns(taken),
            session=name,
            begins=instant(about.get("timestamp")),
            project=folder,
            about={"folder": folder},
        )


class _Lines:
    """A file of JSON lines, read as often as needed."""

    def __init__(self, source: Source, member: Member) -> None:
        self._source, self._member = source, member

    def objects(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the lines that are JSON objects with their origins, as far as the file can be read."""
        try:
            for number, line in self._member.lines():
                read = parsed(line)
                if read is not None:
                    yield f"{self._member.name}:{number}", read
        except Broken:
            return

    def turns(self, taken: Callable[[Mapping[str, Any], str], Iterator[ChatTurn | Item]]) -> Iterator[ChatTurn | Item]:
        """Yield what `taken` makes of every line, and dead letters for those that are not JSON objects."""
        try:
            for number, line in self._member.lines():
                origin, read = f"{self._member.name}:{number}", parsed(line)
                if read is None:
                    raw = line.decode("utf-8", "replace")
                    yield self._source.broken(raw, origin, "the line is not a JSON object; copy the whole file again")
                else:
                    yield from taken(read, origin)
        except Broken as error:
            yield self._source.broken(None, self._member.name, str(error))


def _beside(member: Member) -> Skipped | None:
    """Return why a file beside the transcripts is left out; None if it is a transcript."""
    if _SUBAGENTS & set(PurePosixPath(member.name).parts):
        return Skipped(_SUBAGENT_FILES)
    if member.base.endswith(".jsonl"):
        return None
    return Skipped(_NOTES if member.base.endswith(".md") else "files that are not transcripts")


def _folder(path: object) -> str | None:
    """Return the last part of a path of any system."""
    whole = text(path)
    if whole is None:
        return None
    return label((PureWindowsPath if "\\" in whole else PurePosixPath)(whole).name)


def _claude_code(line: Mapping[str, Any], origin: str, *, assistant: bool) -> Iterator[ChatTurn | Item]:
    role = line.get("type")
    if role not in ("user", "assistant"):
        yield Skipped(_OTHERS if str(role) in _NO_MESSAGES else _UNKNOWN)
        return
    if any(line.get(flag) is True for flag in ("isMeta", "isSidechain", "isCompactSummary")):
        yield Skipped(_INSERTED)
        return
    if skipped := left_out(role, assistant=assistant):
        yield skipped
        return
    content = mapping(line.get("message")).get("content")
    blocks = [mapping(block).get("type") for block in listed(content)]
    if blocks and all(block in ("tool_result", "tool_use", "thinking", "redacted_thinking") for block in blocks):
        yield Skipped(OF_TOOLS)
        return
    found, _ = spoken(content)
    attached = sum(block in ("image", "document") for block in blocks)
    yield from [Skipped(ATTACHED, attached)] * bool(attached)
    typed = text(_INJECTED.sub("", found)) if found else None
    if found and (typed is None or typed.startswith(_CAVEATS)):
        yield Skipped(_INSERTED)
    elif typed is None:
        yield Skipped(EMPTY)
    else:
        tags = tuple(tag for tag in (_folder(line.get("cwd")), label(line.get("gitBranch"))) if tag)
        at = instant(line.get("timestamp"))
        yield ChatTurn(line.get("uuid"), typed.strip(), at, origin, line, speaker(role), tags)


def _words(typed: str) -> str:
    """Return a text without line ends and indentation, which the program changes in what it records as typed."""
    return " ".join(typed.split())


def _typed(lines: _Lines) -> tuple[Counter[str] | None, Mapping[str, Any]]:
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


def _codex(
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
        yield Skipped(_OTHERS if str(line.get("type", "session_meta")) in _CODEX_KINDS else _UNKNOWN)
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
        yield Skipped(_INSERTED)
    else:
        turn_id = f"{name}:{origin.rpartition(':')[2]}"
        at = instant(line.get("timestamp"))
        yield ChatTurn(turn_id, found, at, origin, line, speaker(payload.get("role")), tags)
