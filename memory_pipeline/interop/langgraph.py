"""Imports the items of a LangGraph store: a database of SqliteStore or PostgresStore, or a JSON array of items.

Items that our own export wrote become the memories that they were. Not here: checkpoints of threads, which are pickled.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import scopes
from memory_pipeline.interop.exports.langgraph import OWN, PUT, SAID, TEXT_FIELD, TEXT_FIELDS, digest, plain_value
from memory_pipeline.interop.files import Member
from memory_pipeline.interop.items import Item, file_name, skipped, stable_id
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import DUMP, Sample
from memory_pipeline.interop.values import (
    fields_of,
    kind_of,
    label,
    labels,
    listed,
    mapping,
    metadata_of,
    text,
    unpacked,
)
from memory_pipeline.ledger import foreign_postgres, foreign_sqlite
from memory_pipeline.ledger.payloads import MAX_LEVELS, canonical_json, deeper
from memory_pipeline.ledger.sqlite_file import is_database

UNKEPT: Final = "values of which only text and fields are kept: too long, too deep, or no JSON"
_LONGEST: Final = 90_000
"""Characters of an item that is kept as metadata; a memory's metadata may have as many as its text."""
CLASHES: Final = "fields of a value under a name that another has"
BESIDE: Final = "fields of items beside namespace, key, value and times"
VECTORS: Final = "vectors of items, which an index computes anew"
_TABLE: Final = "store"
_COLUMNS: Final = {"prefix", "key", "value", "created_at", "updated_at"}
_FIELDS: Final = {*_COLUMNS, "namespace", "expires_at", "ttl_minutes", OWN}
_BESIDE: Final = {"prefix", "key", "item"}
_DUMPED: Final = re.compile(r"(?:CREATE TABLE|COPY) (?:\w+\.)?store \(\s*prefix\b")


def detect(seen: Sample) -> bool:
    """Return whether a path is such a store."""
    return set(seen.tables.get(_TABLE, ())) >= _COLUMNS or any(
        (one.is_list and one.has("namespace", "key", "value"))
        or (one.name.lower().endswith(DUMP) and _DUMPED.search(one.text))
        for one in seen.heads
    )


def events(source: Source, path: Path, *, scope: str | None = None) -> Iterator[Item]:
    """Yield a memory per item of a database, a server, a plain-text dump of one by pg_dump, or JSON.

    Its text is `content` of the value, plain or within an object, else one of `TEXT_FIELDS`, whose name is kept
    as metadata (`text_field`), else the value as JSON; labels of the namespace that `scope` does not name become tags.

    Args:
        scope: where the namespace names the user, such as `memories/{user_id}`; a ValueError, if it is wrong.
    """
    by = scopes.pattern(scope)

    def read(rows: Iterable[tuple[str, Any]]) -> Iterator[Item]:
        return (item for origin, row in rows for item in _item(source, row, origin, by))

    if foreign_postgres.is_url(path):
        return read(_named("postgresql", row) for row in foreign_postgres.rows(path, _TABLE))
    if path.is_file() and is_database(path):
        others = {VECTORS: "store_vectors", "checkpoints of threads": "checkpoints"}
        left = (skipped(what, foreign_sqlite.count(path, table)) for what, table in others.items())
        return chain(read(_of_database(path)), *left)
    return source.of_files(path, lambda member: read(_of_file(member)))


def _of_database(path: Path) -> Iterator[tuple[str, Any]]:
    beside = dict[tuple[Any, Any], Any]()
    if set(foreign_sqlite.tables(path).get(OWN, ())) >= _BESIDE:
        beside = {(row["prefix"], row["key"]): _value(row["item"]) for row in foreign_sqlite.rows(path, OWN)}
    for row in foreign_sqlite.rows(path, _TABLE):
        yield _named(file_name(path), {**row, OWN: beside.get((row["prefix"], row["key"]))})


def _of_file(member: Member) -> Iterator[tuple[str, Any]]:
    if member.base.lower().endswith(DUMP):
        with member.reading() as file, io.TextIOWrapper(file, "utf-8", "replace", newline="\n") as lines:
            yield from (_named(member.name, row) for row in foreign_postgres.dumped(lines, _TABLE))
    else:
        yield from member.elements("item")


def _named(place: str, row: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return f"{place}:{row.get('prefix')}/{row.get('key')}", row


def _item(source: Source, row: Any, origin: str, by: Any) -> Iterator[Item]:
    if not isinstance(row, Mapping):
        yield source.broken(row, origin, "the item is not an object; give a JSON object")
        return
    value = _value(row.get("value"))
    if value is None:
        yield source.broken(str(row), origin, "value is not a JSON object; correct the item")
        return
    if "profile_id" in (own := mapping(row.get(OWN))):
        yield from _own(source, row, origin, dict(value), own)
        return
    if "profile_id" in (own := mapping(value.get(OWN))):
        yield from _own(source, row, origin, {name: part for name, part in value.items() if name != OWN}, own)
        return
    namespace = listed(row.get("namespace")) or str(row.get("prefix") or "").split(".")
    known = [name for part in namespace if (name := label(part))]
    who: Mapping[str, Any] = scopes.read("/".join(known), by)
    raw = {"namespace": known, "key": row.get("key"), "value": value}
    record = source.record(raw, origin, at=row.get("created_at"), **who)
    content, rest = _content(value)
    content = content or text(row.get("key")) or ""
    fields, rest = fields_of(rest)
    kind, tag = kind_of(rest.pop("kind", None))
    tags = labels([*fields.pop("tags", []), *(name for name in known if name not in who.values()), *tag])
    kept = {"namespace": ".".join(known), "ttl_minutes": row.get("ttl_minutes")}
    inner = mapping(rest.get("metadata"))
    clashes = len(kept.keys() & (rest.keys() | inner.keys())) + len(rest.keys() & inner.keys())
    yield from skipped(CLASHES, clashes)
    yield from skipped(BESIDE, len(row.keys() - _FIELDS))
    metadata = {**rest, **kept}
    if isinstance(rest.get("metadata"), Mapping):
        metadata = {**metadata.pop("metadata"), **metadata}
    key = label(row.get("key"))
    named = [str(part) for part in namespace] == ".".join(known).split(".") and key == row.get("key")
    if not named or not _same(plain_value(metadata_of(metadata) or {}, content), value):
        put = _put(namespace, row, value, content)
        yield from skipped(UNKEPT, int(not put))
        metadata |= put
    payload = {"valid_until": row.get("expires_at"), **fields, **kind, "tags": tags, "metadata": metadata}
    place = ".".join(known)
    memory_id = (
        None if key is None else f"{place}/{key}" if key == str(row["key"]) else stable_id(place, str(row["key"]))
    )
    yield from record.stored(memory_id, content, payload, changed_at=row.get("updated_at"))


def _own(
    source: Source, row: Mapping[str, Any], origin: str, value: dict[str, Any], own: Mapping[str, Any]
) -> Iterator[Item]:
    """Yield the memory that our export wrote, with what others added to its value as metadata."""
    raw = {"key": row.get("key"), "value": value}
    if "content" in own:  # an item that an agent put into our store, or that was imported: the value is the agent's
        metadata, content = mapping(own.get("metadata")), own["content"]
        changed = own.get("value") != digest(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        if changed:
            content = _content(value)[0] or content
        if changed or PUT in metadata:
            item = {"namespace": row.get("namespace"), "key": row.get("key"), **mapping(metadata.get(PUT))}
            item |= {"value": value} | ({SAID: digest(str(content))} if changed else {})
            metadata = {**metadata, PUT: item}
        value = {**own, "content": content, "metadata": metadata}
        value.pop("value", None)
    elif "content" not in value and (name := label(mapping(value.get("metadata")).get(TEXT_FIELD))):
        value["content"] = value.pop(name, None)
    who = {name: value.get(name) for name in scopes.FIELDS}
    record = source.record(raw, origin, at=row.get("created_at"), **who)
    outside = {*scopes.FIELDS, "content", "profile_id", "memory_id"}
    fields, rest = fields_of({name: part for name, part in value.items() if name not in outside})
    named = {name: found for name in ("speaker", "source") if (found := text(rest.pop(name, None)))}
    metadata = {**mapping(rest.pop("metadata", None)), **rest}
    yield from record.into(source.profile or label(own.get("profile_id"))).stored(
        own.get("memory_id") or row.get("key"),
        value.get("content"),
        {**fields, **named, "metadata": metadata},
        changed_at=row.get("updated_at"),
    )


def _put(namespace: Sequence[Any], row: Mapping[str, Any], value: Mapping[str, Any], content: str) -> dict[str, Any]:
    """Return the item as it is, for metadata: an export gives it back, and our own store has it as its item."""
    item = {"namespace": list(namespace), "key": row.get("key"), "value": value, SAID: digest(content)}
    item |= {"ttl": row["ttl_minutes"]} if row.get("ttl_minutes") is not None else {}
    named = isinstance(item["key"], str) and all(isinstance(part, str) for part in namespace)
    try:
        fits = len(canonical_json(item)) <= _LONGEST
    except ValueError:
        return {}
    return {PUT: item} if fits and named and not deeper(item, MAX_LEVELS - 1) else {}


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two values are the same JSON; 1 and 1.0 are not."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def _value(value: object) -> Mapping[str, Any] | None:
    return read if isinstance(read := unpacked(value), Mapping) else None


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
