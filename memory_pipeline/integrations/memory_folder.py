"""`MemoryFolder`: text files stored as memories, so that what agents write into notes is consolidated.

A file is cut into list items and paragraphs, each a memory; headings, blank lines and markers belong to what follows
them, so that the parts in their order are the file, character by character. An edit changes the memories of the parts
that it touches: a new part is stored, a changed one updated, and the validity of a removed one ends. Folders are
implied by paths.

What a run decides about a part does not change the file: files belong to the agent, and recall shows what is in force.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.client.validation import InvalidRow, TooManyRows
from memory_pipeline.recall.models import Memory
from memory_pipeline.schemas import EventType

NAME: Final = "file"
"""Key of a memory's metadata that holds its file, its place in it and its part of the text."""
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_MARKER: Final = re.compile(r"^(?:\s*(?:#+|[-*+]|\d{1,9}[.)])(?:\s+|$))+(?:\[[ xX]\]\s+)?")
_FIELD: Final = re.compile(r"^payload\.(?:content|metadata) ")
"""Beginning of the reason why a part cannot be stored: which of its two fields it is says nothing about the file."""
_CLOSE: Final = 1e-6
"""Places in a file that are closer than this are renumbered."""
_EVERYTHING: Final = 10**9


@dataclass(frozen=True)
class _Part:
    """A memory as a part of a file."""

    memory: Memory
    path: str
    place: float
    text: str


def plain_path(path: str) -> str:
    """Return a path in the one of its forms (NFC) in which a letter and its accent are one character."""
    return unicodedata.normalize("NFC", path)


class MemoryFolder:
    """The text files of one profile. Writers of different files do not disturb each other.

    Paths with the same `plain_path` are one path.
    """

    def __init__(self, client: MemoryClient) -> None:
        """Open the folder of a client's profile; the caller closes the client."""
        self._client = client

    def files(self) -> dict[str, str]:
        """Return the text of every file by path, in order of paths. Cost: every memory of the profile is read."""
        parts = self._parts()
        return {path: "".join(part.text for part in parts[path]) for path in sorted(parts)}

    def write(self, path: str, text: str) -> None:
        """Create or change a file in one transaction.

        Raises:
            ValueError: the path cannot be a tag, a part of the text is longer than a memory may be, or there are too
                many; names the file, the beginning of the part, and the remedy.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the text of {path} has half of a surrogate pair; write whole characters") from error
        self._append(lambda: self._written(plain_path(path), text))

    def _written(self, path: str, text: str) -> Iterator[dict[str, Any]]:
        old, now = self._parts().get(path, []), datetime.now(UTC)
        kept = _aligned(old, parts_of(text))
        staying = {part.memory.memory_id for part, _ in kept if part is not None}
        yield from (_removed(part, now) for part in old if part.memory.memory_id not in staying)
        for (part, new), place in zip(kept, _places([part for part, _ in kept]), strict=True):
            if part is None:
                yield _stored(path, new, place)
            elif (part.text, part.place) != (new, place):
                yield _changed(part, path, new, place)

    def remove(self, *paths: str) -> None:
        """Remove files; the validity of their memories ends. Missing files are ignored."""
        self._append(lambda: self._removals(paths, datetime.now(UTC)))

    def _removals(self, paths: Collection[str], now: datetime) -> Iterator[dict[str, Any]]:
        parts = self._parts()
        return (_removed(part, now) for path in paths for part in parts.get(plain_path(path), []))

    def move(self, moves: Mapping[str, str]) -> None:
        """Move files from old to new paths; their texts stay the same."""
        self._append(lambda: self._moves(moves))

    def _moves(self, moves: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        parts = self._parts()
        named = {plain_path(old): plain_path(new) for old, new in moves.items()}
        whole = ((new, part) for old, new in named.items() for part in parts.get(old, []))
        return (_changed(part, new, part.text, part.place) for new, part in whole)

    def _append(self, make: Callable[[], Iterator[dict[str, Any]]]) -> None:
        """Append the events of a change, all or none; a ValueError speaks of files and their parts."""
        try:
            self._client.append(make)
        except InvalidRow as error:
            kept = error.row["payload"]["metadata"][NAME]
            reason = _FIELD.sub("it ", error.reason)
            raise ValueError(f"the part {shown(kept['text'].strip())} of {kept['path']}: {reason}") from error
        except TooManyRows as error:
            raise ValueError(
                f"this changes more than {error.most} list items and paragraphs; make several files of it"
            ) from error

    def _parts(self) -> dict[str, list[_Part]]:
        files = dict[str, list[_Part]]()
        for memory in self._client.list(None, _EVERYTHING, deep=True):
            kept = (memory.metadata or {}).get(NAME)
            if isinstance(kept, dict) and {"path", "place", "text"} <= kept.keys() and not kept.get("removed"):
                part = _Part(memory, kept["path"], kept["place"], kept["text"])
                files.setdefault(plain_path(part.path), []).append(part)
        return {
            path: sorted(parts, key=lambda part: (part.place, part.memory.memory_id)) for path, parts in files.items()
        }


def parts_of(text: str) -> list[str]:
    """Cut a text before list items, paragraphs and headings, each with all before its first words; at least one."""
    parts, current, spoken, blank = list[str](), "", False, True
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        heading = line.startswith("#")
        begins = heading or _ITEM.match(line) or (blank and not line[0].isspace())
        if spoken and begins:
            parts.append(current)
            current, spoken = "", False
        current += line
        blank = not line.strip()
        spoken = spoken or not (heading or blank)
    if parts and not spoken:
        parts[-1] += current  # the end of a file without words
        return parts
    return [*parts, current]


def words_of(part: str) -> str:
    """Return what a part says: without headings around it and the marker of a list; all of it if nothing is left."""
    lines = part.strip().split("\n")
    said = [number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")] or [0]
    return _MARKER.sub("", "\n".join(lines[said[0] : said[-1] + 1])).strip() or part.strip()


def _aligned(old: Sequence[_Part], new: Sequence[str]) -> list[tuple[_Part | None, str]]:
    """Return the new parts, each with the old one that it is or replaces."""
    aligned = list[tuple[_Part | None, str]]()
    matcher = difflib.SequenceMatcher(None, [part.text for part in old], new, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        before = [*old[start:end], *[None] * (new_end - new_start)]
        aligned += zip(before, new[new_start:new_end], strict=False)
    return aligned


def _places(parts: Sequence[_Part | None]) -> list[float]:
    """Return a place for every part of a file: those that have one keep it, as far as there is room between them."""
    places, position = list[float](), 0
    while position < len(parts):
        part = parts[position]
        if part is not None:
            places.append(part.place)
            position += 1
            continue
        count = next((n for n, later in enumerate(parts[position:]) if later is not None), len(parts) - position)
        low = places[-1] if places else None
        high = parts[position + count].place if position + count < len(parts) else None  # type: ignore[union-attr]
        low = (0.0 if high is None else high - count - 1) if low is None else low
        step = 1.0 if high is None else (high - low) / (count + 1)
        places += [low + step * (number + 1) for number in range(count)]
        position += count
    near = any(later - earlier < _CLOSE for earlier, later in pairwise(places))
    return [float(number) for number in range(1, len(parts) + 1)] if near else places


def _stored(path: str, text: str, place: float) -> dict[str, Any]:
    payload = {"content": words_of(text) or path, "tags": [path], "metadata": {NAME: _kept(path, text, place)}}
    return {"event_type": EventType.STORED.value, "payload": payload}


def _changed(part: _Part, path: str, text: str, place: float) -> dict[str, Any]:
    content = words_of(text) or path
    payload: dict[str, Any] = {"metadata": (part.memory.metadata or {}) | {NAME: _kept(path, text, place)}}
    payload |= {"content": content} if content != part.memory.content else {}
    payload |= {"tags": [path if tag == part.path else tag for tag in part.memory.tags]} if path != part.path else {}
    return {"event_type": EventType.UPDATED.value, "memory_id": part.memory.memory_id, "payload": payload}


def _removed(part: _Part, now: datetime) -> dict[str, Any]:
    kept = _kept(part.path, part.text, part.place) | {"removed": True}
    payload = {"valid_until": now, "metadata": (part.memory.metadata or {}) | {NAME: kept}}
    return {"event_type": EventType.UPDATED.value, "memory_id": part.memory.memory_id, "payload": payload}


def _kept(path: str, text: str, place: float) -> dict[str, Any]:
    return {"path": path, "text": text, "place": place}
