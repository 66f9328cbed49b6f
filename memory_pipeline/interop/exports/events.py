"""A profile as events in our own format, JSON Lines: its whole history, or what holds now.

Not here: the format (`docs/event-format.md`) and its import (`interop/jsonl.py`).
"""

import json
from collections.abc import Iterator
from typing import Final

from memory_pipeline.interop.exports.current import HISTORY, Current
from memory_pipeline.ledger.event import COLUMNS, DEFAULT_PROFILE, PIPELINE, instant
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import ERASED, canonical_json, written
from memory_pipeline.schemas import EventType

_BATCH: Final = 10_000
LOST: Final = HISTORY
"""What the present as events leaves out (see `Current.beside`)."""
_OUTSIDE: Final = ("memory_id", "occurred_at", "session_id", "agent_id", "user_id")
"""Fields of a memory that are beside the payload."""


def history(ledger: Ledger, profile_id: str, left_out: dict[str, int]) -> Iterator[str]:
    """Yield a line for each event of agents, in the order in which the ledger has them; holds one batch in memory.

    Counts the others in `left_out`: those of the pipeline by type, and what was erased.
    """
    after = 0
    while rows := ledger.read(after, limit=_BATCH):
        for seq, *values in rows:
            after = seq
            row = dict(zip(COLUMNS, values, strict=True))
            if row["profile_id"] != profile_id:
                continue
            payload = json.loads(row["payload"])
            reason = row["event_type"] if row["event_type"] in PIPELINE else "erased" if ERASED in payload else None
            if reason is not None:
                left_out[reason] = left_out.get(reason, 0) + 1
                continue
            row |= {name: written(instant(row[name])) for name in ("occurred_at", "recorded_at")}
            yield canonical_json(
                {name: value for name, value in row.items() if value is not None} | {"payload": payload}
            )


def current(held: Current) -> Iterator[str]:
    """Yield a line for each memory as it is now, the oldest first, and for each link that agents asserted.

    A summary is a memory like others; the history (`current.HISTORY`) is left out.
    """
    profile = {} if held.profile_id == DEFAULT_PROFILE else {"profile_id": held.profile_id}
    for fields, content in sorted(held.rows(), key=lambda row: (row[0]["occurred_at"], row[0]["memory_id"])):
        outside = {name: fields[name] for name in _OUTSIDE if name in fields}
        payload = {name: value for name, value in fields.items() if name not in outside} | {"content": content}
        yield _line(profile | outside | {"event_type": EventType.STORED.value, "payload": payload})
    for source, target, edge_type, kind, weight, at, metadata in held.links.iter_rows():
        payload = {"target_id": target, "edge_type": edge_type, "kind": kind, "weight": weight}
        payload["metadata"] = metadata and json.loads(metadata)
        yield _line(
            profile
            | {"event_type": EventType.LINKED.value, "memory_id": source}
            | {"occurred_at": at}
            | {"payload": {name: value for name, value in payload.items() if value is not None}}
        )


def _line(event: dict[str, object]) -> str:
    return json.dumps(event, ensure_ascii=False, sort_keys=True, default=written)
