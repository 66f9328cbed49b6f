"""What transcripts of coding agents share: a session is a file of JSON lines, and its folder is its project.

The formats (`claude_code.py`, `codex.py`) change without notice, so unknown lines are counted. Not here: the memory
folders of these agents, which are Markdown (`markdown.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from memory_pipeline.interop.chats import ChatTurn
from memory_pipeline.interop.files import Broken, Member, parsed
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.values import label, text

OTHERS: Final = "lines that are not messages"
UNKNOWN: Final = "lines of unknown kinds"
INSERTED: Final = "messages that the program inserted"
"""Why something is left out, for the counts of an import."""


class Lines:
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

    def turns(self, made: Callable[[Mapping[str, Any], str], ChatTurn | Item]) -> Iterator[ChatTurn | Item]:
        """Yield what `made` makes of every line, and dead letters for those that are not JSON objects."""
        try:
            for number, line in self._member.lines():
                origin, read = f"{self._member.name}:{number}", parsed(line)
                yield made(read, origin) if read is not None else self._source.no_object(line, origin)
        except Broken as error:
            yield self._source.broken(None, self._member.name, str(error))


def beside(member: Member) -> Skipped | None:
    """Return why a file beside the transcripts is left out; None if it is a transcript."""
    if {"subagents", "tool-results"} & set(PurePosixPath(member.name).parts):
        return Skipped("files of subagents and tool results")
    if member.base.endswith(".jsonl"):
        return None
    in_markdown = member.base.endswith(".md")
    return Skipped("notes in Markdown (taken by import markdown)" if in_markdown else "files that are not transcripts")


def folder_of(path: object) -> str | None:
    """Return the last part of a path of any system."""
    whole = text(path)
    if whole is None:
        return None
    return label((PureWindowsPath if "\\" in whole else PurePosixPath)(whole).name)
