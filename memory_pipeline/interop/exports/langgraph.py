"""Exports what a profile remembers as items of a LangGraph store, in the layout of LangMem's memories.

As JSON, an array of `Item.dict()`: `store.put(tuple(item["namespace"]), item["key"], item["value"])` puts one into any
store. As a database, what SqliteStore opens.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.exports.current import Current
from memory_pipeline.ledger import langgraph_store
from memory_pipeline.ledger.payloads import written

_ROOT: Final = "memories"

DATABASE: Final = (".db", ".sqlite", ".sqlite3")
"""Endings of the names of databases."""

OWN: Final = "memory_pipeline"
"""Key of a value that names the profile it was exported from, so that an import restores the memory."""

PUT: Final = "langgraph"
"""Key of a memory's metadata that holds its item, where an agent put one (`integrations/langgraph`)."""
TEXT_FIELDS: Final = ("content", "text", "memory", "data")
"""Fields that hold the words of a value, unless a store names others; the first one present counts."""
TEXT_FIELD: Final = "text_field"
"""Key of a memory's metadata that names the field of its item's value that has the text, if not `content`."""


def text(current: Current) -> str:
    """Return the file: an array of items, best first.

    What came from a LangGraph store, or was put into ours, goes back under its namespace and key, the latter with its
    value; the others are in the namespace (`memories`, user, else profile). Other values have the text as `content`
    and every field of the memory under our names.
    """
    items = [_item(current.profile_id, fields, content) for fields, content in current.rows()]
    return json.dumps(items, ensure_ascii=False, indent=1, default=written) + "\n"


def database(current: Current, path: Path) -> None:
    """Write the same items as a database of SqliteStore."""
    items = (_item(current.profile_id, fields, content) for fields, content in current.rows())
    langgraph_store.write(
        path,
        (
            (
                ".".join(item["namespace"]),
                item["key"],
                json.dumps(item["value"], ensure_ascii=False, separators=(",", ":"), default=written).encode(),
                _timestamp(item["created_at"]),
                _timestamp(item["updated_at"]),
            )
            for item in items
        ),
    )


def _timestamp(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ")


def _item(profile_id: str, fields: dict[str, Any], content: str) -> dict[str, Any]:
    owner = re.sub(r"\.", "_", fields.get("user_id", profile_id))  # a label of a namespace holds no full stop
    rest = {name: value for name, value in fields.items() if name not in {"memory_id", "occurred_at"}}
    own, at, metadata = {"profile_id": profile_id}, fields["occurred_at"], fields.get("metadata", {})
    namespace, key = [_ROOT, owner], fields["memory_id"]
    value = {"content": content, **rest}
    came_from, put = metadata.get("namespace"), metadata.get(PUT)
    if isinstance(put, dict) and {"namespace", "key"} <= put.keys() and isinstance(put.get("value"), dict):
        namespace, key, value = put["namespace"], put["key"], put["value"]
        if isinstance(value.get("content"), str):
            value = value | {"content": content}
        item = {name: part for name, part in put.items() if name != "value"}
        own |= {"memory_id": fields["memory_id"], "content": content, **rest, "metadata": metadata | {PUT: item}}
    elif isinstance(came_from, str) and key.startswith(f"{came_from}/"):
        namespace, key = came_from.split("."), key.removeprefix(f"{came_from}/")
        own |= {"memory_id": fields["memory_id"]}
        if isinstance(name := metadata.get(TEXT_FIELD), str) and name not in value:
            value = {name: value.pop("content"), **value}
    return {"namespace": namespace, "key": key, "value": value | {OWN: own}, "created_at": at, "updated_at": at}
