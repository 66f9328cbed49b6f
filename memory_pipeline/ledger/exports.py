"""Records where copies of the store's texts were written, so that the receipt of an erasure can name them."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

import sqlalchemy as sa

from memory_pipeline.ledger import statements
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.disk import printable
from memory_pipeline.ledger.payloads import canonical_json, written
from memory_pipeline.ledger.tables import META

_PREFIX: Final = "export "
"""Beginning of the keys in the table `meta`; the rest is the path."""

_URI: Final = "file://"


def note(transaction: Transaction, path: Path, *, at: datetime, profile_id: str | None = None) -> None:
    """Note that a copy was written to a file or folder outside the store; `profile_id` None: of all profiles."""
    key = f"{_PREFIX}{_as_text(path.resolve())}"
    statements.note(transaction, key, canonical_json([written(at), profile_id]))


def noted(transaction: Transaction, profile_id: str) -> list[tuple[str, str]]:
    """Return the paths of copies that may hold texts of a profile and are still there, and when they were written."""
    query = sa.select(META.c.key, META.c.value).where(META.c.key.startswith(_PREFIX)).order_by(META.c.key)
    found = [
        (_as_path(key.removeprefix(_PREFIX)), *json.loads(value))
        for key, value in transaction.connection.execute(query)
    ]
    return [(printable(path), at) for path, at, owner in found if owner in {None, profile_id} and _is_there(path)]


def _is_there(path: Path) -> bool:
    """Return whether a path exists, or may: its folder or disk cannot be looked at."""
    try:
        return path.exists()
    except OSError:
        return True


def _as_text(path: Path) -> str:
    """Return an absolute path as valid text: one that is not UTF-8 as a URI."""
    return str(path) if str(path).isprintable() else path.as_uri()


def _as_path(text: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(text.removeprefix(_URI)))) if text.startswith(_URI) else Path(text)
