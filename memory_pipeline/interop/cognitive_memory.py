"""Imports the log of cognitive-memory's JSONL adapter: every change in order, so the accesses are exact.

Both the Python package's log and the TypeScript one, which differs, are read. Not here: its SQL databases.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.files import Broken, Member, parsed
from memory_pipeline.interop.items import ImportedAs, Item, Skipped, skipped
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import (
    identifier,
    instant,
    kind_of,
    label,
    labels,
    listed,
    mapping,
    metadata_of,
    share,
    text,
    times,
)

_OTHER_KINDS: Final = {"meta", "delete", "memory_delete", "unlink", "link_delete", "clear"}
_ENDS: Final = (("a", "sourceId"), ("b", "targetId"))
_STATES: Final = ("is_cold", "cold_since", "is_stub", "stability", "contradicted_by")
_RENAMED: Final = {"last_accessed": "last_accessed_at", "semantic_type": "memory_type"}
"""Names of the TypeScript package, as far as they differ by more than their case."""


def detect(seen: Sample) -> bool:
    """Return whether a path is such a log."""
    return any(
        (line.get("type") in ("create", "memory") and "content" in mapping(line.get("memory")))
        for one in seen.heads
        for line in one.objects
    )


def events(source: Source, path: Path) -> Iterator[Item]:
    """Yield memories, their changes and accesses as logged, and links."""

    def read(member: Member) -> Iterator[Item]:
        if member.base.endswith((".jsonl", ".json")):
            log = _Log(source, _removed(member))
            yield from source.of_member(member, log.items(member))
            yield from log.superseded()

    return source.of_files(path, read)


@dataclass
class _Removed:
    """What a log takes back."""

    memories: set[object] = field(default_factory=set)
    """Memories that it deletes and does not create again."""
    links: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Number of the last line that removes a link, by its ends."""
    cleared: int = 0
    """Number of the last line that removes everything."""


def _removed(member: Member) -> _Removed:
    """Return what a log takes back, as far as it can be read."""
    gone = _Removed()
    known = set[object]()
    with suppress(Broken):
        for number, line in member.lines():
            read = mapping(parsed(line))
            match read.get("type"):
                case "create" | "memory" | "update":
                    name = identifier(mapping(read.get("memory")).get("id"))
                    known.add(name)
                    gone.memories.discard(name)
                case "delete" | "memory_delete":
                    gone.memories.add(identifier(read.get("id")))
                case "unlink" | "link_delete":
                    gone.links[_ends(read)] = number
                case "clear":
                    gone.memories |= known
                    gone.cleared = number
    return gone


def _ends(read: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ends of a link in order of their names, whichever comes first in the log; fewer if one is missing."""
    return tuple(sorted(end for a, b in _ENDS if (end := identifier(read.get(a)) or identifier(read.get(b)))))


@dataclass
class _Log:
    source: Source
    removed: _Removed
    memories: dict[str, dict[str, Any]] = field(default_factory=dict)
    """State of each memory, under the names of the Python package."""
    records: dict[str, Record] = field(default_factory=dict)
    weights: dict[tuple[str, str], float] = field(default_factory=dict)

    def items(self, member: Member) -> Iterator[Item]:
        for number, line in member.lines():
            origin, read = f"{member.name}:{number}", parsed(line)
            yield from self._line(read, origin, number) if read is not None else [self.source.no_object(line, origin)]

    def _line(self, read: Mapping[str, Any], origin: str, number: int) -> Iterator[Item]:
        kind = str(read.get("type"))
        if kind == "link":
            yield from self._link(read, origin, number)
        elif kind in {"create", "update", "memory"}:
            memory = _snake(mapping(read.get("memory")))
            name = identifier(memory.get("id"))
            if name is None:
                yield self.source.broken(dict(read), origin, "memory.id is missing; correct the line")
            elif name in self.removed.memories:
                yield from skipped("memories that were deleted there", int(name not in self.memories))
                self.memories[name] = memory
            elif name in self.memories:
                yield from self._changed(name, memory, origin)
            else:
                yield from self._created(name, memory, origin)
        elif kind in {"migrate_to_cold", "migrate_to_hot", "convert_to_stub"}:
            yield Skipped("changes of the other system's own lifecycle")
        elif kind not in _OTHER_KINDS:
            yield Skipped("lines of unknown kinds")

    def _created(self, name: str, memory: dict[str, Any], origin: str) -> Iterator[Item]:
        record = self._record(memory, origin)
        self.memories[name], self.records[name] = memory, record
        yield from record.stored(name, memory.get("content"), _payload(memory), imported_as=ImportedAs.IF_NEW)
        count = times(memory.get("access_count"))
        used = instant(memory.get("last_accessed_at")) or record.at
        yield from _unfit(memory)
        yield from record.dated(used).accessed(name, f"{memory.get('last_accessed_at')} {count}", count=count)

    def _changed(self, name: str, memory: dict[str, Any], origin: str) -> Iterator[Item]:
        before = self.memories[name]
        record = self._record(memory, origin)
        used = instant(memory.get("last_accessed_at"))
        count = times(memory.get("access_count"))
        more = count - times(before.get("access_count"))
        yield from _unfit(memory)
        yield from record.dated(used).accessed(name, f"{memory.get('last_accessed_at')} {count}", count=more)
        fields, old = _payload(memory), _payload(before)
        changes = {
            key: fields[key]
            for key in ("importance", "valid_from", "valid_until")
            if fields.get(key) is not None and fields[key] != old.get(key)
        }
        if (content := text(memory.get("content"))) and content != before.get("content") and not memory.get("is_stub"):
            changes["content"] = content
        if mapping(memory.get("metadata")) != mapping(before.get("metadata")):
            changes["metadata"] = fields["metadata"]
        at = used or self.records.get(name, record).at
        yield from record.dated(at).updated(name, origin, **changes)
        self.memories[name] = {**before, **memory}

    def _link(self, read: Mapping[str, Any], origin: str, number: int) -> Iterator[Item]:
        ends = _ends(read)
        if len(ends) < len(_ENDS) or not all(end in self.records and end not in self.removed.memories for end in ends):
            yield Skipped("links of memories that are gone")
            return
        if number < max(self.removed.cleared, self.removed.links.get(ends, 0)):
            yield Skipped("links that were removed there")
            return
        one, other = ends
        added, absolute = share(read.get("weight")), share(read.get("strength"))
        weight = absolute if absolute is not None else min(1.0, self.weights.get((one, other), 0.0) + (added or 0.0))
        self.weights[one, other] = weight
        at = read.get("updated_at") or read.get("updatedAt") or read.get("created_at") or read.get("createdAt")
        record = self.source.record(dict(read), origin, at=at).of(self.records[one])
        kind = label(read.get("link_type"))
        yield from record.linked(one, other, "RELATES_TO", weight=weight, **({"kind": kind} if kind else {}))

    def superseded(self) -> Iterator[Item]:
        """Yield links from newer memories to those that they replace, whose validity ends with them."""
        for name, memory in self.memories.items():
            newer = identifier(memory.get("superseded_by"))
            if newer in self.records and name in self.records:
                yield from self.records[newer].linked(newer, name, "SUPERSEDES")
                if memory.get("valid_until") is None:
                    ended = self.records[newer].of(self.records[name])
                    yield from ended.updated(name, f"superseded by {newer}", valid_until=ended.at)

    def _record(self, memory: Mapping[str, Any], origin: str) -> Record:
        session = next(iter(labels(listed(memory.get("session_ids")))), None)
        return self.source.record(
            {key: value for key, value in memory.items() if key != "embedding"},
            origin,
            at=memory.get("created_at"),
            user_id=memory.get("user_id"),
            session_id=session,
        )


def _unfit(memory: Mapping[str, Any]) -> Iterator[Item]:
    """Yield what is left out of a memory: numbers that are none."""
    for name in ("access_count", "ttl_seconds"):
        if (value := memory.get(name)) not in (None, 0) and not times(value):
            yield Skipped(f"values of {name} that do not fit")


def _snake(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory under the names of the Python package."""
    plain = {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in str(name)): value
        for name, value in memory.items()
    }
    return {_RENAMED.get(name, name): value for name, value in plain.items()}


def _payload(memory: Mapping[str, Any]) -> dict[str, Any]:
    category, tag = kind_of(memory.get("category"))
    kind, other = kind_of(memory.get("memory_type") if memory.get("memory_type") != "other" else None)
    until = memory.get("valid_until")
    created, seconds = instant(memory.get("created_at")), times(memory.get("ttl_seconds"))
    if until is None and created and seconds:
        until = created + timedelta(seconds=seconds)
    state = metadata_of({name: memory.get(name) for name in _STATES if memory.get(name) is not False})
    own = {**mapping(memory.get("metadata")), "source_state": state, "source_turn_ids": memory.get("source_turn_ids")}
    return {
        **category,
        **kind,
        "importance": memory.get("importance"),
        "valid_from": memory.get("valid_from"),
        "valid_until": until,
        "tags": [*tag, *other],
        "metadata": own,
    }
