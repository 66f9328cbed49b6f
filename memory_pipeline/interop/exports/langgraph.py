"""What a profile remembers as items of a LangGraph store, in the layout of LangMem's memories.

The file is a JSON array of `Item.dict()`; `store.put(tuple(item["namespace"]), item["key"], item["value"])` puts one
into any store.
"""

import json
import re
from typing import Any, Final

from memory_pipeline.interop.exports.current import Current
from memory_pipeline.ledger.payloads import written

_ROOT: Final = "memories"


def text(current: Current) -> str:
    """Return the file: an array of items, best first, in the namespace (`memories`, user, else profile).

    A value has the text as `content` and every field of the memory under our names.
    """
    items = [_item(current.profile_id, fields, content) for fields, content in current.rows()]
    return json.dumps(items, ensure_ascii=False, indent=1, default=written) + "\n"


def _item(profile_id: str, fields: dict[str, Any], content: str) -> dict[str, Any]:
    owner = re.sub(r"\.", "_", fields.get("user_id", profile_id))  # a label of a namespace holds no full stop
    rest = {name: value for name, value in fields.items() if name not in {"memory_id", "occurred_at"}}
    at = fields["occurred_at"]
    return {
        "namespace": [_ROOT, owner],
        "key": fields["memory_id"],
        "value": {"content": content, **rest},
        "created_at": at,
        "updated_at": at,
    }
