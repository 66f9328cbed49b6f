"""Imports transcripts of Claude Code: what the person typed.

Not what the program inserts as user messages: command output, reminders, project instructions, results of tools.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import OF_TOOLS, ChatTurn, conversation, spoken
from memory_pipeline.interop.files import members
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.transcripts import INSERTED, OTHERS, UNKNOWN, Lines, beside, folder_of
from memory_pipeline.interop.values import instant, label, listed, mapping, text

_INJECTED: Final = re.compile(
    r"<(command-name|command-message|command-args|command-contents|local-command-stdout|local-command-stderr|"
    r"local-command-caveat|system-reminder|bash-input|bash-stdout|bash-stderr|user-memory-input|task-notification|"
    r"ide_opened_file|ide_selection)>"
)
"""How what the program inserts begins; it ends with the tag that closes it."""
_NO_MESSAGES: Final = {
    *("system", "summary", "ai-title", "custom-title", "agent-name", "continued-in", "file-history-snapshot"),
    *("queue-operation", "attachment", "last-prompt", "pr-link", "progress", "permission-mode"),
}
"""Kinds of lines that hold no message."""


def detect(seen: Sample) -> bool:
    """Return whether a path holds transcripts of Claude Code."""
    return any("sessionId" in line and "uuid" in line for one in seen.heads for line in one.objects)


def events(source: Source, path: Path, *, assistant: bool = False) -> Iterator[Item]:
    """Yield the sessions of Claude Code in a folder such as ~/.claude/projects, or in one file."""
    for member in members(path):
        if other := beside(member):
            yield other
            continue
        lines = Lines(source, member)
        first = next((line for _, line in lines.objects() if isinstance(line.get("sessionId"), str)), None)
        if first is None:
            yield Skipped("files without a session")
            continue
        folder = next((found for _, line in lines.objects() if (found := folder_of(line.get("cwd")))), None)
        yield from conversation(
            source,
            lines.turns(_turn),
            session=first["sessionId"],
            assistant=assistant,
            begins=instant(first.get("timestamp")),
            project=folder,
            about={"folder": folder},
        )


def _turn(line: Mapping[str, Any], origin: str) -> ChatTurn | Item:
    role = line.get("type")
    if role not in ("user", "assistant"):
        return Skipped(OTHERS if str(role) in _NO_MESSAGES else UNKNOWN)
    if any(line.get(flag) is True for flag in ("isMeta", "isSidechain", "isCompactSummary")):
        return Skipped(INSERTED)
    content = mapping(line.get("message")).get("content")
    blocks = [mapping(block).get("type") for block in listed(content)]
    of_tools = blocks and all(block in ("tool_result", "tool_use", "thinking", "redacted_thinking") for block in blocks)
    found, _ = spoken(content)
    typed = text(_without_injected(found)) if found else None
    inserted = found and (typed is None or typed.startswith(("Caveat:", "[Request interrupted")))
    return ChatTurn(
        turn_id=line.get("uuid"),
        role=role,
        content=typed and typed.strip(),
        at=instant(line.get("timestamp")),
        origin=origin,
        raw=line,
        attached=sum(block in ("image", "document") for block in blocks),
        unfit=OF_TOOLS if of_tools else INSERTED if inserted else None,
        tags=tuple(tag for tag in (folder_of(line.get("cwd")), label(line.get("gitBranch"))) if tag),
    )


def _without_injected(said: str) -> str:
    """Return a text without what the program inserted; a tag that is not closed stays. Cost: linear in its length."""
    kept, begun, unclosed = list[str](), 0, set[str]()
    for opening in _INJECTED.finditer(said):
        closing = f"</{opening[1]}>"
        if opening.start() < begun or closing in unclosed:
            continue
        if (end := said.find(closing, opening.end())) < 0:
            unclosed.add(closing)
            continue
        kept.append(said[begun : opening.start()])
        begun = end + len(closing)
    return "".join([*kept, said[begun:]])
