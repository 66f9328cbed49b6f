"""Imports the items of a LangGraph store: a database of SqliteStore or PostgresStore, or a JSON array of items.

Items that our own export wrote become the memories that they were. Not here: checkpoints of threads, which are pickled.
"""

import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import scopes
from memory_pipeline.interop.exports.langgraph import OWN, PUT, TEXT_FIELD, TEXT_FIELDS
from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Item, Skipped, file_name
from memory_pipeline.interop.records import (
    Source,
    fields_of,
    kind_of,
    label,
    labels,
    listed,
    mapping,
    metadata_of,
    text,
)
from memory_pipeline.interop.sampling import DUMP, Head, Sample
from memory_pipeline.ledger import foreign_postgres, foreign_sqlite
from memory_pipeline.ledger.payloads import canonical_json
from memory_pipeline.ledger.sqlite_file import is_database

FORMAT: Final = "langgraph"

CLASHES: Final = "fields of a value under a name that another has"
_TABLE: Final = "store"
_COLUMNS: Final = {"prefix", "key", "value", "created_at", "updated_at"}
_CHECKPOINTS: Final = "checkpoints"
_DUMPED: Final = re.compile(r"(?:CREATE TABLE|COPY) (?:\w+\.)?store \(\s*prefix\b")


def detect(seen: Sample) -> bool:
    """Return whether a path is such a store."""
    return set(seen.tables.get(_TABLE, ())) >= _COLUMNS or any(
        (one.is_list and one.has("namespace", "key", "value")) or _is_dump(one) for one in seen.heads
    )


def _is_dump(head: Head) -> bool:
    return head.name.lower().endswith(DUMP) and _DUMPED.search(head.text) is not None


def events(
    path: Path, *, recorded_at: datetime, profile: str | None = None, scope: str | None = None
) -> Iterator[Item]:
    """Yield a memory per item.

    Its text is `content` of the value, plain or within an object, else one of `TEXT_FIELDS`, whose name is kept
    as metadata (`text_field`), else the value as JSON; labels of the namespace that `scope` does not name become tags.

    Args:
        path: database, URL of a PostgreSQL server, a plain-text dump of one by pg_dump, or JSON.
        recorded_at: time of the import.
        profile: profile to import into; default the user whom `scope` finds, else `langgraph`.
        scope: where the namespace names the user, such as `memories/{user_id}`.

    Raises:
        ValueError: the template is wrong.
    """
    by = scopes.pattern(scope)
    source = Source(FORMAT, recorded_at, profile)
    return (item for origin, row in _rows(source, path) for item in _item(source, row, origin, by))


def _rows(source: Source, path: Path) -> Iterator[tuple[str, Any]]:
    if foreign_postgres.is_url(path):
        yield from (_named("postgresql", row) for row in foreign_postgres.rows(path, _TABLE))
    elif path.is_file() and is_database(path):
        name = file_name(path)
        yield from (_named(name, row) for row in foreign_sqlite.rows(path, _TABLE))
        if checkpoints := foreign_sqlite.count(path, _CHECKPOINTS):
            yield name, Skipped("checkpoints of threads", checkpoints)
    else:
        yield from (row for member in members(path) for row in _of_file(source, member))


def _of_file(source: Source, member: Member) -> Iterator[tuple[str, Any]]:
    try:
        if member.base.lower().endswith(DUMP):
            with member.reading() as file, io.TextIOWrapper(file, "utf-8", "replace", newline="\n") as lines:
                yield from (_named(member.name, row) for row in foreign_postgres.dumped(lines, _TABLE))
            return
        for place, read in enumerate(member.elements("item")):
            yield f"{member.name}[{place}]", read
    except Broken as error:
        yield member.name, source.broken(None, member.name, str(error))


def _named(place: str, row: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return f"{place}:{row.get('prefix')}/{row.get('key')}", row


def _item(source: Source, row: Any, origin: str, by: Any) -> Iterator[Item]:
    if not isinstance(row, Mapping):
        yield (
            row
            if isinstance(row, Item)
            else source.broken(row, origin, "the item is not an object; give a JSON object")
        )
        return
    value = _value(row.get("value"))
    if value is None:
        yield source.broken(str(row), origin, "value is not a JSON object; correct the item")
        return
    if own := mapping(value.get(OWN)):
        yield from _own(source, row, origin, value, own)
        return
    namespace = listed(row.get("namespace")) or str(row.get("prefix") or "").split(".")
    known = [name for part in namespace if (name := label(part))]
    who = scopes.read("/".join(known), by)
    raw = {"namespace": known, "key": row.get("key"), "value": value}
    record = source.record(
        raw,
        origin,
        at=row.get("created_at"),
        user=who.get("user_id"),
        agent_id=who.get("agent_id"),
        session_id=who.get("session_id"),
    )
    content, rest = _content(value)
    fields, rest = fields_of(rest)
    kind, tag = kind_of(rest.pop("kind", None))
    tags = labels([*fields.pop("tags", []), *(name for name in known if name not in who.values()), *tag])
    kept = {"namespace": ".".join(known), "ttl_minutes": row.get("ttl_minutes")}
    inner = mapping(rest.get("metadata"))
    yield from [Skipped(CLASHES)] * (len(kept.keys() & (rest.keys() | inner.keys())) + len(rest.keys() & inner.keys()))
    metadata = {**rest, **kept}
    if isinstance(rest.get("metadata"), Mapping):
        metadata = {**metadata.pop("metadata"), **metadata}
    payload = {"valid_until": row.get("expires_at"), **fields, **kind, "tags": tags or None}
    key = label(row.get("key"))
    yield from record.stored(
        f"{'.'.join(known)}/{key}" if key else None,
        content,
        {**payload, "metadata": metadata_of(metadata)},
        changed_at=row.get("updated_at"),
    )


def _own(
    source: Source, row: Mapping[str, Any], origin: str, value: Mapping[str, Any], own: Mapping[str, Any]
) -> Iterator[Item]:
    """Yield the memory that our export wrote, with what others added to its value as metadata."""
    raw = {"key": row.get("key"), "value": value}
    value = {name: part for name, part in value.items() if name != OWN}
    if "content" in own:  # an item that an agent put into our store: the value is the agent's
        metadata = mapping(own.get("metadata"))
        metadata = {**metadata, PUT: {**mapping(metadata.get(PUT)), "value": value}}
        value = {**own, "content": text(value.get("content")) or own["content"], "metadata": metadata}
    elif "content" not in value and (name := label(mapping(value.get("metadata")).get(TEXT_FIELD))):
        value["content"] = value.pop(name, None)
    user, session_id, agent_id = (value.get(name) for name in ("user_id", "session_id", "agent_id"))
    record = source.record(raw, origin, at=row.get("created_at"), user=user, session_id=session_id, agent_id=agent_id)
    outside = {*scopes.FIELDS, "content", "profile_id", "memory_id"}
    fields, rest = fields_of({name: part for name, part in value.items() if name not in outside})
    named = {name: found for name in ("speaker", "source") if (found := text(rest.pop(name, None)))}
    metadata = {**mapping(rest.pop("metadata", None)), **rest}
    yield from record.into(source.profile or label(own.get("profile_id"))).stored(
        own.get("memory_id") or row.get("key"),
        value.get("content"),
        {**fields, **named, "metadata": metadata_of(metadata)},
        changed_at=row.get("updated_at"),
    )


def _value(value: object) -> Mapping[str, Any] | None:
    try:
        read = json.loads(value) if isinstance(value, str | bytes) else value
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, Mapping) else None


def _content(value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a value, blank if the value is empty, and what else it has."""
    rest = dict(value)
    inner = rest.pop("content", None)
    if found := text(inner):
        return found, rest
    if isinstance(inner, Mapping):
        if found := text(inner.get("content")):
            return found, {**rest, **{name: part for name, part in inner.items() if name != "content"}}
        return _written(inner), rest
    for field in TEXT_FIELDS if inner is None else ():
        if found := text(rest.get(field)):
            del rest[field]
            return found, {**rest, TEXT_FIELD: field}
    return _written(value), {name: part for name, part in rest.items() if name == "kind"}


def _written(value: Mapping[str, Any]) -> str:
    if not value:
        return ""
    try:
        return canonical_json(dict(value))
    except ValueError:
        return json.dumps(value, sort_keys=True, default=str)
