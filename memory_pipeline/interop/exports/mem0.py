"""Exports what a profile remembers as mem0's server returns it: the answer to `GET /memories`, in one JSON object."""

import hashlib
import json
from datetime import datetime, time, timedelta
from typing import Any, Final

from memory_pipeline.interop.exports.current import Current, without_place
from memory_pipeline.ledger.payloads import written

CLASHES: Final = "fields whose name the metadata has too"
_OWN: Final = {"occurred_at", "user_id", "agent_id", "session_id", "memory_id", "metadata", "speaker"}
"""Fields of a record of mem0."""
_ROLES: Final = ("user", "assistant")
"""Speakers that are no names."""


def text(current: Current) -> str:
    """Return the file: an object with the list `results`, best first.

    What mem0 has no field for (importance, tags, type, exact validity and others) is in `metadata` under our names;
    an equal name in a memory's own metadata keeps its value.
    """
    times = current.memories["updated_at"]
    records = [
        _record(current.profile_id, fields, content, at)
        for (fields, content), at in zip(current.rows(), times, strict=True)
    ]
    return json.dumps({"results": records}, ensure_ascii=False, indent=1, default=written) + "\n"


def lost(current: Current) -> dict[str, int]:
    """Return the number of what has no place in this format."""
    clashes = sum(len(_rest(fields).keys() & fields.get("metadata", {}).keys()) for fields, _ in current.rows())
    return without_place(current) | {CLASHES: clashes}


def _rest(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields for which mem0 has no place but metadata; that a memory is from mem0 goes without saying."""
    until = fields.get("valid_until")
    of_day = until is not None and until.time() == time() and fields.get("source") == "mem0"
    said = {*_OWN, "valid_until"} if of_day else _OWN  # the day says it exactly
    return {name: value for name, value in fields.items() if name not in said and (name, value) != ("source", "mem0")}


def _record(profile_id: str, fields: dict[str, Any], content: str, updated_at: datetime | None) -> dict[str, Any]:
    until, speaker, metadata = fields.get("valid_until"), fields.get("speaker"), {**fields.get("metadata", {})}
    owner: str | None = profile_id
    role: str | None = None
    if fields.get("source") == "mem0":  # which has records without a user, and names the role of a speaker apart
        owner = None if fields.keys() & {"agent_id", "session_id"} else profile_id
        role = speaker if speaker in _ROLES else metadata.pop("role", None) if speaker else None
    record = {
        "id": fields["memory_id"],
        "memory": content,
        "hash": hashlib.md5(content.encode(), usedforsecurity=False).hexdigest(),
        "metadata": {**_rest(fields), **metadata} or None,
        "created_at": fields["occurred_at"],
        "updated_at": updated_at,
        "user_id": fields.get("user_id", owner),
        "actor_id": None if role == speaker else speaker,
        "role": role,
        "agent_id": fields.get("agent_id"),
        "run_id": fields.get("session_id"),
        # The last day on which it holds: mem0 knows days only.
        "expiration_date": None if until is None else f"{until - timedelta(microseconds=1):%Y-%m-%d}",
    }
    return {name: value for name, value in record.items() if value is not None}
