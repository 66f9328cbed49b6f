"""The formats that can be imported: what each reads, how it is detected, and its options.

A format is a module of its name (`claude-code`: `claude_code.py`) with the functions `detect(seen)`, whether a path
looks like it, and `events(source, path)`, which yields what the path holds and takes the options of the format by name.
It is loaded when it is first used, so that a list of the formats loads none. Not here: the import loop
(`importing.py`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memory_pipeline.interop.items import Item
    from memory_pipeline.interop.sampling import Sample
    from memory_pipeline.ledger.ledger import Ledger


@dataclass(frozen=True)
class Format:
    """A format that can be imported."""

    name: str
    title: str
    """What it is, for a list: begins with a capital, no full stop."""
    reads: str
    """Which files or folders, for messages: "give {reads}"."""
    options: tuple[str, ...] = ("profile",)
    """Names of the options it takes (see `OPTIONS`)."""
    checks: bool = False
    """Whether its events are ours: `events` takes path, recorded_at and profile, and refuses all else."""
    asks_ledger: bool = False
    """Whether it takes the ledger, to recognise what it imported before."""
    personal: bool = False
    """Whether its records name no users, so that all of it is one person's."""

    @property
    def _module(self) -> Any:
        return import_module(f"memory_pipeline.interop.{self.name.replace('-', '_')}")

    def detect(self, seen: "Sample") -> bool:
        """Return whether a path looks like it."""
        return bool(self._module.detect(seen))

    def events(
        self, path: Path, *, recorded_at: datetime, profile: str | None = None, **options: Any
    ) -> "Iterator[Item]":
        """Yield what a path holds, with the options that the format takes; see its module."""
        from memory_pipeline.interop.records import Source

        found: Iterator[Item]
        if self.checks:
            found = self._module.events(path, recorded_at=recorded_at, profile=profile)
        else:
            found = self._module.events(Source(self.name, recorded_at, profile), path, **options)
        return found


OPTIONS: Final[Mapping[str, str]] = {
    "profile": "Profile to import into; default: the user that a record names; where a format names none, the setting "
    "default_profile; or else one named after the format.",
    "assistant": "Also import what the assistant said.",
    "episodes": "Also import the texts of episodes, with links to them.",
    "observations": "Also import what was concluded from facts, with links to it.",
    "scope": "How to read a namespace or session id, such as memories/{user_id}; also: agent_id, session_id.",
    "name": "Name by which later imports recognise this folder; default: its path.",
}
"""Options by name, and their meaning."""

NOTHING: Final = "files, folders or stores that hold nothing of their format"
UNREAD: Final = "databases and packed files that have to be unpacked first"

FLAGS: Final = frozenset({"assistant", "episodes", "observations"})
"""Options without a value."""

FORMATS: Final[Mapping[str, Format]] = {
    one.name: one
    for one in (
        Format(
            "markdown",
            "A folder of Markdown notes: MEMORY.md, a vault of Obsidian or Logseq, auto memory, OpenClaw, "
            "memory tools, wikis, our own export",
            "a folder with .md files, or one such file",
            options=("profile", "name"),
            asks_ledger=True,
            personal=True,
        ),
        Format(
            "chatgpt",
            "The data export of ChatGPT: what the person said, and custom instructions",
            "its ZIP file, the unpacked folder, or conversations.json",
            options=("profile", "assistant"),
            personal=True,
        ),
        Format(
            "claude",
            "The data export of claude.ai: what the person said, Claude's memory, project instructions",
            "its ZIP file, the unpacked folder, or one of its JSON files",
            options=("profile", "assistant"),
            personal=True,
        ),
        Format(
            "claude-code",
            "Transcripts of Claude Code: what the person typed",
            "~/.claude/projects, a folder in it, or a .jsonl file",
            options=("profile", "assistant"),
            personal=True,
        ),
        Format(
            "codex",
            "Transcripts of Codex: what the person typed",
            "~/.codex/sessions, a folder in it, or a .jsonl file",
            options=("profile", "assistant"),
            personal=True,
        ),
        Format(
            "gemini",
            "Gemini in Google Takeout: what the person asked",
            "its ZIP file, the unpacked folder, MyActivity.json or MyActivity.html",
            options=("profile", "assistant"),
            personal=True,
        ),
        Format(
            "claude-mem",
            "The database of claude-mem: what was observed and learned, and what the person typed",
            "its claude-mem.db",
            personal=True,
        ),
        Format(
            "mem0",
            "Memories of mem0: with every change if its history is there",
            "JSON of its server, history.db, the folder of its local Qdrant, or a folder with these",
        ),
        Format(
            "langgraph",
            "Items of a LangGraph store: those of LangMem too",
            "a database of SqliteStore, the URL or a dump (.sql) of a PostgresStore, or a JSON array of items",
            options=("profile", "scope"),
        ),
        Format(
            "mcp-memory",
            "The file of the MCP reference memory server",
            "its memory.jsonl",
            personal=True,
        ),
        Format(
            "openai-agents",
            "Sessions of the OpenAI Agents SDK: what the person said",
            "a database of SQLiteSession",
            options=("profile", "assistant", "scope"),
        ),
        Format(
            "letta",
            "Agent files of Letta: memory blocks, and what the person said",
            "an .af file or a folder of them",
            options=("profile", "assistant"),
        ),
        Format(
            "graphiti",
            "Graphiti and Zep threads (docs/imports.md)",
            "a JSON or JSON Lines file of nodes, edges or messages, or a folder of them",
            options=("profile", "episodes", "assistant"),
        ),
        Format(
            "automem",
            "A backup of AutoMem: memories and relations",
            "its falkordb and qdrant files, their folder, or its archive",
            personal=True,
        ),
        Format(
            "cognitive-memory",
            "The JSONL log of cognitive-memory: memories with every access",
            "a file of that adapter",
        ),
        Format(
            "superlocalmemory",
            "The database of SuperLocalMemory: facts, accesses, feedback, links",
            "its memory.db",
        ),
        Format(
            "hindsight",
            "Documents that Hindsight exported: facts and their causes",
            "its ZIP file, or the unpacked folder",
            options=("profile", "observations"),
        ),
        Format(
            "jsonl",
            "Our own events: one JSON object per line (docs/event-format.md)",
            "a file of JSON lines with event_type",
            checks=True,
        ),
        Format(
            "locomo",
            "Conversations in LoCoMo's format: each becomes a profile",
            "a file in the LoCoMo layout",
            checks=True,
        ),
        Format(
            "beam",
            "Chats in BEAM's format: each becomes a profile",
            "a file in the BEAM layout",
            checks=True,
        ),
    )
}
"""The formats by name."""


def detect(path: Path) -> list[Format]:
    """Return the formats that a path looks like, most specific first; a ValueError says why it cannot be read."""
    from memory_pipeline.interop.sampling import sample

    return _seen_in(sample(path))


def _seen_in(seen: "Sample") -> list[Format]:
    return sorted((one for one in FORMATS.values() if one.detect(seen)), key=lambda one: one is FORMATS["markdown"])


def events(
    form: Format, path: Path, *, recorded_at: datetime, ledger: "Ledger | None" = None, **options: Any
) -> "Iterator[Item]":
    """Return what a path holds in a format, with the options that the format takes.

    What the beginnings of its files do not show as another format is read once to its first event, before all of it is.

    Args:
        ledger: ledger that is imported into; None: it does not exist yet.

    Raises:
        ValueError: the path cannot be read, or holds nothing of that format. Raised before the first event.
    """
    from memory_pipeline.interop.items import skipped
    from memory_pipeline.interop.sampling import sample
    from memory_pipeline.ledger.event import Event

    if form.checks:
        return form.events(path, recorded_at=recorded_at, **options)
    known = options | ({"ledger": ledger} if form.asks_ledger else {})

    def found() -> "Iterator[Item]":
        return form.events(path, recorded_at=recorded_at, **known)

    seen = sample(path)
    if not form.detect(seen):
        others = _seen_in(seen)
        unlike = any(one is not FORMATS["markdown"] for one in others)  # notes may lie beside anything
        if unlike or not any(isinstance(one, Event) for one in found()):
            closed = [f"{name} is not read where it is; unpack it" for name in seen.closed]
            remedies = [f"it looks like {one.name}" for one in others] + [*seen.damaged, *closed, f"give {form.reads}"]
            raise ValueError(f"{path}: holds no data in the format {form.name}; {remedies[0]}")
    said = found() if form is FORMATS["markdown"] else _or_nothing(found())  # an export of ours may be empty
    return chain(skipped(UNREAD, len(seen.closed)), said)


def _or_nothing(items: "Iterator[Item]") -> "Iterator[Item]":
    """Yield what a path holds, and say so where that is nothing at all."""
    from memory_pipeline.interop.items import Skipped

    yield next(items, Skipped(NOTHING))
    yield from items
