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


def text(current: Current) -> str:
    """Return the file: an array of items, best first, in the namespace (`memories`, user, else profile).

    A value has the text as `content` and every field of the memory under our names.
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
    at = fields["occurred_at"]
    return {
        "namespace": [_ROOT, owner],
        "key": fields["memory_id"],
        "value": {"content": content, **rest, OWN: {"profile_id": profile_id}},
        "created_at": at,
        "updated_at": at,
    }
