"""Imports the sessions of the OpenAI Agents SDK from their SQLite database (`SQLiteSession` and its variants).

If a database has branches, `main` is read. Not here: encrypted sessions, which need their key.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import scopes
from memory_pipeline.interop.chats import (
    ATTACHED,
    BRANCHES,
    EMPTY,
    OF_TOOLS,
    ChatTurn,
    conversation,
    left_out,
    speaker,
    spoken,
)
from memory_pipeline.interop.items import Item, Skipped, file_name
from memory_pipeline.interop.records import Source, instant, mapping
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.ledger import foreign_sqlite

FORMAT: Final = "openai-agents"

_COLUMNS: Final = {"id", "session_id", "message_data", "created_at"}
_MAIN: Final = "main"


def detect(seen: Sample) -> bool:
    """Return whether a path is such a database."""
    return any(set(columns) >= _COLUMNS for columns in seen.tables.values())


def events(
    path: Path, *, recorded_at: datetime, profile: str | None = None, assistant: bool = False, scope: str | None = None
) -> Iterator[Item]:
    """Yield the sessions of a database in order.

    Args:
        profile: profile to import into; default the user whom `scope` finds, else `openai-agents`.
        scope: where the id of a session names the user, such as `{user_id}:{session_id}`.

    Raises:
        ValueError: the template is wrong.
    """
    by = scopes.pattern(scope)
    source = Source(FORMAT, recorded_at, profile)
    branches = _branches(path)
    return (
        item
        for table, columns in foreign_sqlite.tables(path).items()
        if set(columns) >= _COLUMNS
        for session, rows in groupby(
            foreign_sqlite.rows(path, table, order=("session_id", "id")), key=lambda row: str(row["session_id"])
        )
        for item in _session(source, session, rows, branches, f"{file_name(path)}:{table}", assistant, by)
    )


def _session(
    source: Source,
    session: str,
    rows: Iterator[Mapping[str, Any]],
    branches: Mapping[int, set[str]],
    origin: str,
    assistant: bool,
    by: Any,
) -> Iterator[Item]:
    who = scopes.read(session, by)
    turns = (turn for row in rows for turn in _turns(source, row, branches, origin, assistant=assistant))
    yield from conversation(source, turns, session=session, user=who.get("user_id"), agent=who.get("agent_id"))


def _branches(path: Path) -> Mapping[int, set[str]]:
    """Return the branches that each message is on; none if the database has no branches."""
    found = defaultdict[int, set[str]](set)
    for row in foreign_sqlite.rows(path, "message_structure"):
        found[row.get("message_id") or 0].add(str(row.get("branch_id")))
    return found


def _turns(
    source: Source, row: Mapping[str, Any], branches: Mapping[int, set[str]], origin: str, *, assistant: bool
) -> Iterator[ChatTurn | Item]:
    where = f"{origin}:{row['id']}"
    try:
        message = mapping(json.loads(row["message_data"]))
    except (ValueError, TypeError, RecursionError):
        yield source.broken(str(row), where, "message_data is not JSON; correct the row")
        return
    if "__enc__" in message:
        yield Skipped("encrypted messages")
    elif branches.get(row["id"]) and _MAIN not in branches[row["id"]]:
        yield Skipped(BRANCHES)
    elif message.get("type", "message") != "message":
        yield Skipped(OF_TOOLS)
    elif skipped := left_out(message.get("role"), assistant=assistant):
        yield skipped
    else:
        found, attached = spoken(message.get("content"))
        yield from [Skipped(ATTACHED, attached)] * bool(attached)
        if found is None:
            yield Skipped(EMPTY)
            return
        turn_id = f"{row['session_id']}:{row['id']}"
        at = instant(row["created_at"])
        yield ChatTurn(turn_id, found, at, where, dict(message), speaker(message.get("role")))
