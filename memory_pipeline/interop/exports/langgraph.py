"""Exports what a profile remembers as items of a LangGraph store, in the layout of LangMem's memories.

As JSON, an array of `Item.dict()`: `store.put(tuple(item["namespace"]), item["key"], item["value"])` puts one into any
store. As a database, what SqliteStore opens.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.exports.current import Current, fields, without_place
from memory_pipeline.interop.values import mapping
from memory_pipeline.ledger import langgraph_store
from memory_pipeline.ledger.payloads import written

OWN: Final = "memory_pipeline"
"""What an item is as a memory, so that an import restores it: a key of the values that we make, which names the
profile; of values that came from agents, which stay as they are, a key of the item, in a database a table."""

PUT: Final = "langgraph"
"""Key of a memory's metadata that holds its item, where an agent put one (`integrations/langgraph`)."""
TEXT_FIELD: Final = "text_field"
"""Key of a memory's metadata that names the field of its item's value that has the text, if not `content`."""
_NOT_OF_VALUE: Final = {"namespace", "ttl_minutes", TEXT_FIELD}
"""Keys of the metadata of an imported item that say where it was and how it was read."""
SAID: Final = "said"
"""Key of such an item: digest of the text that its value had; if the memory has another, the text was changed here."""
TEXT_FIELDS: Final = ("content", "text", "memory", "data")
"""Fields that hold the words of a value, unless a store names others; the first one present counts."""

lost: Final = without_place
"""Counts what has no place in this format."""


def text(current: Current) -> str:
    """Return the file: an array of items, best first.

    What came from a LangGraph store, or was put into ours, goes back under its namespace and key with its value, in
    which only a text that was changed here is another; the others are in the namespace (`memories`, user, else
    profile). Other values have the text as `content` and every field of the memory under our names.
    """
    return json.dumps([*_items(current)], ensure_ascii=False, indent=1, default=written) + "\n"


def database(current: Current, path: Path) -> None:
    """Write the same items as a database of SqliteStore."""
    langgraph_store.write(path, map(_row, _items(current)), table=OWN)


def digest(text: str) -> str:
    """Return the digest of a text or value that an item notes, to tell later whether it was changed."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def text_field(value: Mapping[str, Any]) -> str | None:
    """Return the field of a value that has its words, if it is one of `TEXT_FIELDS` and a text."""
    return next((name for name in TEXT_FIELDS if isinstance(value.get(name), str) and value[name].strip()), None)


def with_text(value: Mapping[str, Any], content: str) -> dict[str, Any]:
    """Return a value with another text: where it had one, else as `content`."""
    inner = value.get("content")
    if isinstance(inner, Mapping) and isinstance(inner.get("content"), str):
        return {**value, "content": {**inner, "content": content}}
    return {**value, text_field(value) or "content": content}


def _row(item: dict[str, Any]) -> langgraph_store.Row:
    expires_at = item.get("expires_at")
    return (
        ".".join(item["namespace"]),
        item["key"],
        _json(item["value"]).encode(),
        _timestamp(item["created_at"]),
        _timestamp(item["updated_at"]),
        expires_at and _timestamp(expires_at),
        item.get("ttl_minutes"),
        _json(item[OWN]) if OWN in item else None,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=written)


def _timestamp(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def _items(current: Current) -> Iterator[dict[str, Any]]:
    for row in current.memories.iter_rows(named=True):
        known = fields(row)
        item = _item(current.profile_id, known, row["content"], made=bool(row["members"]))
        metadata = known.get("metadata", {})
        ttl = metadata.get("ttl_minutes", mapping(metadata.get(PUT)).get("ttl"))
        came_from_store = not metadata.keys().isdisjoint({"namespace", "ttl_minutes", PUT})
        lives = {"expires_at": known.get("valid_until"), "ttl_minutes": ttl} if came_from_store else {}
        lives = {name: value for name, value in lives.items() if value is not None}
        times = {"created_at": known["occurred_at"], "updated_at": row["updated_at"] or known["occurred_at"]}
        yield item | times | lives


def _item(profile_id: str, fields: dict[str, Any], content: str, *, made: bool) -> dict[str, Any]:
    """Return the item of a memory; one that a run has `made` is in the namespace that all its members have."""
    owner = re.sub(r"\.", "_", fields.get("user_id", profile_id))  # a label of a namespace holds no full stop
    rest = {name: value for name, value in fields.items() if name not in {"memory_id", "occurred_at"}}
    own, metadata = {"profile_id": profile_id}, fields.get("metadata", {})
    namespace, key = ["memories", owner], fields["memory_id"]
    value = {"content": content, **rest}
    came_from, put = metadata.get("namespace"), metadata.get(PUT)
    if isinstance(put, dict) and {"namespace", "key"} <= put.keys() and isinstance(put.get("value"), dict):
        value = _value(put, content)
        item = {name: part for name, part in put.items() if name != "value"}
        own |= {"memory_id": fields["memory_id"], "content": content, **rest, "metadata": metadata | {PUT: item}}
        own |= {"value": digest(_json(value))}
        place = {"namespace": put["namespace"], "key": put["key"]}
        return place | {"value": value, OWN: own}
    if isinstance(came_from, str) and came_from and (made or key.startswith(f"{came_from}/")):
        own |= {"memory_id": key, "content": content, **rest}
        namespace, key, value = came_from.split("."), key.removeprefix(f"{came_from}/"), plain_value(metadata, content)
        own |= {"value": digest(_json(value))}
        return {"namespace": namespace, "key": key, "value": value, OWN: own}
    return {"namespace": namespace, "key": key, "value": value | {OWN: own}}


def plain_value(metadata: Mapping[str, Any], content: str) -> dict[str, Any]:
    """Return the value of an item whose memory has its words as the text and all else as metadata."""
    field = metadata.get(TEXT_FIELD)
    beside = {name: part for name, part in metadata.items() if name not in _NOT_OF_VALUE}
    return {field if isinstance(field, str) else "content": content, **beside}


def _value(put: Mapping[str, Any], content: str) -> dict[str, Any]:
    """Return the value of an item that an agent put or another store had, with its text if that was changed here."""
    value: dict[str, Any] = put["value"]
    if SAID in put:
        return value if put[SAID] == digest(content) else with_text(value, content)
    return value | {"content": content} if isinstance(value.get("content"), str) else value
