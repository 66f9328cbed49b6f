"""Imports mem0: what its server or library returns as JSON, its local Qdrant collection, and its history database.

A folder may hold several of them: memories then begin with their first text and are updated as the history says.
Pickled points are read without being unpickled. Not here: exports of the hosted platform in a custom schema.
"""

import base64
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import inert_pickle
from memory_pipeline.interop.files import Member
from memory_pipeline.interop.items import ImportedAs, Item, Skipped, skipped
from memory_pipeline.interop.markdown_text import unix
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import (
    fields_of,
    identifier,
    instant,
    label,
    labels,
    listed,
    mapping,
    text,
    unpacked,
)
from memory_pipeline.ledger import foreign_sqlite
from memory_pipeline.ledger.sqlite_file import is_database

_TEXT: Final = re.compile(r'"memory"\s*:\s*"')
"""How a record of JSON gives its text."""
_HISTORY: Final = {"memory_id", "old_memory", "new_memory", "event"}
_POINTS: Final = {"id", "point"}
_LISTS: Final = ("item", "results.item", "records.item", "memories.item")
_OWN: Final = {
    *("id", "memory", "data", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "actor_id", "role"),
    *("expiration_date", "score", "text_lemmatized", "metadata", "source_payload", "categories"),
    *("linked_memory_ids", "entity_type"),
}
_HEAD: Final = re.compile(r"^---[ \t]*\n((?:(?:\w+:.*)?\n)++)(?=(---[ \t]*)$)", re.MULTILINE)
"""What stands before a text in an export of mem0's plugin: `key: value` lines between lines of dashes, one an `id`."""
_SHARED: Final = 20
"""Most memories of an entity that are linked with each other."""
_DELETED: Final = "memories that were deleted there"


def detect(seen: Sample) -> bool:
    """Return whether a path holds data of mem0."""
    if set(seen.tables.get("history", ())) >= _HISTORY or set(seen.tables.get("points", ())) == _POINTS:
        return True
    names = {Path(name).name for name in seen.names}
    exported = any(name.startswith("mem0-export") and name.endswith(".md") for name in names)
    return (
        exported
        or bool(names & {"history.db", "storage.sqlite"})
        or any(
            one.name.endswith(".json")
            and _TEXT.search(one.text)
            and one.has("id")
            and (one.has("user_id") or one.has("created_at"))
            for one in seen.heads
        )
    )


def events(source: Source, path: Path) -> Iterator[Item]:
    """Yield the memories of a file or a folder of files, their changes, and links among those of one entity."""
    histories = _Histories.of(path)
    entities = list[tuple[str, Mapping[str, Any]]]()
    found = dict[str, Record]()

    def taken(records: Iterable[tuple[str, Any]]) -> Iterator[Item]:
        for origin, read in records:
            if not isinstance(read, Mapping):
                yield read if isinstance(read, Item) else source.broken(read, origin, "the record is not a JSON object")
            elif "linked_memory_ids" in read and "entity_type" in read:
                entities.append((origin, read))
            else:
                yield from _memory(source, read, origin, histories, found)

    yield from taken(_points(source, path))
    yield from source.of_files(path, lambda member: taken(_of_file(member)))
    yield from _only_in_history(source, histories, found)
    yield from _links(source, entities, found)


@dataclass(frozen=True)
class _Histories:
    """What history databases say, by memory, in order."""

    rows: Mapping[str, list[tuple[str, Mapping[str, Any]]]]

    @classmethod
    def of(cls, path: Path) -> "_Histories":
        rows = defaultdict[str, list[tuple[str, Mapping[str, Any]]]](list)
        for file in _databases(path):
            if set(foreign_sqlite.tables(file).get("history", ())) >= _HISTORY:
                for index, row in enumerate(foreign_sqlite.rows(file, "history")):
                    if name := identifier(row["memory_id"]):
                        rows[name].append((f"{file.name}:{index}", row))
        return cls(rows)

    def first(self, memory_id: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return the row that added a memory."""
        return next((row for row in self.rows.get(memory_id, ()) if row[1]["event"] == "ADD"), None)

    def deleted(self, memory_id: str) -> bool:
        """Return whether a memory was deleted and not added again."""
        last = self.rows.get(memory_id, [])[-1:]
        return bool(last) and (last[0][1]["event"] == "DELETE" or last[0][1].get("is_deleted") == 1)


def _databases(path: Path) -> Iterator[Path]:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    yield from (file for file in files if file.is_file() and is_database(file))


def _points(source: Source, path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the points of every local Qdrant below a path with their origins."""
    for file in _databases(path):
        if set(foreign_sqlite.tables(file).get("points", ())) == _POINTS:
            for index, row in enumerate(foreign_sqlite.rows(file, "points")):
                yield f"{file.parent.name}/{file.name}:{index}", _point(source, row, f"{file.name}:{index}")


def _of_file(member: Member) -> Iterator[tuple[str, Any]]:
    if member.base.endswith(".json") and member.base != "meta.json":
        yield from member.elements(*_LISTS)
    elif member.base.endswith(".md") and member.base.startswith("mem0-export"):
        yield from _blocks(member)


def _blocks(member: Member) -> Iterator[tuple[str, Any]]:
    """Yield the blocks of an export of mem0's plugin: a head (see `_HEAD`), then the text until the next one."""
    whole, heads = unix(member.text()), list[re.Match[str]]()
    for found in _HEAD.finditer(whole):
        begins = not heads or found.start() >= heads[-1].end(2)
        if begins and re.search("^id:", found[1], re.MULTILINE):  # else a rule within a text
            heads.append(found)
    ends = [*(head.start() for head in heads[1:]), len(whole)]
    for index, (head, end) in enumerate(zip(heads, ends, strict=False)):
        pairs = (line.partition(":") for line in head[1].split("\n"))
        fields = {key.strip(): value.strip() for key, colon, value in pairs if colon}
        known = {key: fields.pop(key, None) for key in ("id", "created_at")}
        metadata = {key: value for key, value in fields.items() if key not in {"categories", "type"}}
        categories = [part.strip() for part in f"{fields.get('categories', '')},{fields.get('type', '')}".split(",")]
        own = {"memory": whole[head.end(2) : end].strip(), "categories": categories, "metadata": metadata}
        yield f"{member.name}:{index}", known | own


def _point(source: Source, row: Mapping[str, Any], origin: str) -> Any:
    """Return the payload of a point of local Qdrant with its id, or a dead letter."""
    try:
        point = inert_pickle.read(row["point"])
        point_id = inert_pickle.read(base64.b64decode(row["id"]))
    except (ValueError, TypeError) as error:
        return source.broken(None, origin, f"the point {error}; export the memories as JSON")
    state = mapping(getattr(point, "state", None))
    fields = mapping(state.get("__dict__", state))
    return {**mapping(fields.get("payload")), "id": fields.get("id", point_id)}


def _memory(
    source: Source, read: Mapping[str, Any], origin: str, histories: _Histories, found: dict[str, Record]
) -> Iterator[Item]:
    name = identifier(read.get("id"))
    record = source.record(
        dict(read),
        origin,
        at=read.get("created_at"),
        user_id=read.get("user_id"),
        agent_id=read.get("agent_id"),
        session_id=read.get("run_id"),
    )
    content = text(read.get("memory")) or text(read.get("data"))
    if name is None or content is None:
        yield record.broken("id or memory is missing; give each record both")
        return
    if histories.deleted(name):
        yield Skipped(_DELETED)
        return
    found[name] = replace(record, raw=None)
    metadata = unpacked(read.get("metadata"))
    yield from skipped(
        "metadata that is no object", int(bool(read.get("metadata")) and not isinstance(metadata, Mapping))
    )
    payload = _payload(read)
    if histories.first(name):
        yield from _history(record, name, payload, histories)
    yield from record.stored(name, content, payload, changed_at=read.get("updated_at"))


def _payload(read: Mapping[str, Any]) -> dict[str, Any]:
    beside = {key: value for key, value in read.items() if key not in _OWN}
    if "source_payload" in read:  # of an export, whose `source` is the store; elsewhere it is the caller's
        beside.pop("source", None)
    fields, rest = fields_of({**beside, **mapping(unpacked(read.get("metadata")))})
    until = instant(read.get("expiration_date"))
    if until and "valid_until" not in fields:
        with suppress(OverflowError):  # the last day that there is says that it has no end
            fields["valid_until"] = (datetime.combine(until, time(), UTC) + timedelta(days=1)).isoformat()
    tags = [*fields.pop("tags", []), *labels(listed(read.get("categories")))]
    actor, role = label(read.get("actor_id")), label(read.get("role"))
    speaker = actor or role or label(rest.pop("speaker", None))
    metadata = {"role": role if actor else None, **rest}
    return {**fields, "tags": tags, "speaker": speaker, "metadata": metadata}


def _history(record: Record, name: str, payload: Mapping[str, Any], histories: _Histories) -> Iterator[Item]:
    """Yield a memory with its first text, if it is new, and its changes."""
    first = histories.first(name)
    if first is None:
        return
    dated = record.dated(first[1].get("created_at"))
    yield from dated.stored(name, first[1].get("new_memory"), payload, imported_as=ImportedAs.IF_NEW)
    for origin, row in histories.rows[name]:
        if row["event"] == "UPDATE" and (content := text(row.get("new_memory"))):
            change = record.source.record(dict(row), origin, at=row.get("updated_at") or row.get("created_at"))
            yield from change.of(record).updated(name, str(row.get("id")), content=content)


def _only_in_history(source: Source, histories: _Histories, found: Mapping[str, Record]) -> Iterator[Item]:
    """Yield memories that only the history has, which has no users; deleted ones are counted."""
    others = dict.fromkeys(name for name in histories.rows if name not in found)
    for name in others:
        first = histories.first(name)
        if histories.deleted(name):
            yield Skipped(_DELETED)
        elif first is None:
            yield Skipped("memories whose beginning the history lacks")
        elif not found:
            row = first[1]
            record = source.record(dict(row), first[0], at=row.get("created_at"))
            speaker = label(row.get("actor_id")) or label(row.get("role"))
            yield from _history(record, name, {"speaker": speaker}, histories)
        else:
            yield Skipped("memories of the history that the store lacks")


def _links(
    source: Source, entities: list[tuple[str, Mapping[str, Any]]], found: Mapping[str, Record]
) -> Iterator[Item]:
    for origin, entity in entities:
        linked = set(map(identifier, listed(entity.get("linked_memory_ids"))))
        names = sorted(name for name in linked if name is not None and name in found)
        if len(names) > _SHARED:
            yield Skipped("entities that too many memories name")
            continue
        for one, other in combinations(names, 2):
            record = source.record(dict(entity), origin, at=entity.get("created_at")).of(found[one])
            yield from record.linked(one, other, "RELATES_TO", kind="shared_entity")
