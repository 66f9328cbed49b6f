"""Imports the sessions of the OpenAI Agents SDK from their SQLite database (`SQLiteSession` and its variants).

If a database has branches, `main` is read. Not here: encrypted sessions, which need their key.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import scopes
from memory_pipeline.interop.chats import BRANCHES, OF_TOOLS, ChatTurn, conversation, spoken
from memory_pipeline.interop.items import Item, Skipped, file_name
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import instant, mapping
from memory_pipeline.ledger import foreign_sqlite

_COLUMNS: Final = {"id", "session_id", "message_data", "created_at"}


def detect(seen: Sample) -> bool:
    """Return whether a path is such a database."""
    return any(set(columns) >= _COLUMNS for columns in seen.tables.values())


def events(source: Source, path: Path, *, assistant: bool = False, scope: str | None = None) -> Iterator[Item]:
    """Yield the sessions of a database in order.

    Args:
        scope: where the id of a session names the user, such as `{user_id}:{session_id}`; a ValueError, if it is wrong.
    """
    return _sessions(source, path, scopes.pattern(scope), assistant=assistant)


def _sessions(source: Source, path: Path, by: re.Pattern[str] | None, *, assistant: bool) -> Iterator[Item]:
    branches = _branches(path)
    for table, columns in foreign_sqlite.tables(path).items():
        if not set(columns) >= _COLUMNS:
            continue
        rows = foreign_sqlite.rows(path, table, order=("session_id", "id"))
        for session, own in groupby(rows, key=lambda row: str(row["session_id"])):
            who = scopes.read(session, by)
            yield from conversation(
                source,
                (_turn(source, row, branches, f"{file_name(path)}:{table}:{row['id']}") for row in own),
                session=session,
                assistant=assistant,
                user=who.get("user_id"),
                agent=who.get("agent_id"),
            )


def _branches(path: Path) -> Mapping[int, set[str]]:
    """Return the branches that each message is on; none if the database has no branches."""
    found = defaultdict[int, set[str]](set)
    for row in foreign_sqlite.rows(path, "message_structure"):
        found[row.get("message_id") or 0].add(str(row.get("branch_id")))
    return found


def _turn(source: Source, row: Mapping[str, Any], branches: Mapping[int, set[str]], origin: str) -> ChatTurn | Item:
    try:
        message = mapping(json.loads(row["message_data"]))
    except (ValueError, TypeError, RecursionError):
        return source.broken(str(row), origin, "message_data is not JSON; correct the row")
    if "__enc__" in message:
        return Skipped("encrypted messages")
    if branches.get(row["id"]) and "main" not in branches[row["id"]]:
        return Skipped(BRANCHES)
    if message.get("type", "message") != "message":
        return Skipped(OF_TOOLS)
    found, attached = spoken(message.get("content"))
    return ChatTurn(
        turn_id=f"{row['session_id']}:{row['id']}",
        role=message.get("role"),
        content=found,
        at=instant(row["created_at"]),
        origin=origin,
        raw=dict(message),
        attached=attached,
    )
