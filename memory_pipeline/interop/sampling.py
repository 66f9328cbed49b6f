"""Looks at a path without reading it whole, so that its format can be recognised.

Not here: the formats, each of which says how it is recognised (`formats.py` asks them).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.files import UTF_16, Broken, Member, members, objects
from memory_pipeline.interop.unpacking import unread
from memory_pipeline.ledger import foreign_postgres, foreign_sqlite
from memory_pipeline.ledger.sqlite_file import is_database

DUMP: Final = ".sql"
"""Suffix of plain-text dumps by pg_dump."""
_HEAD: Final = 65_536
"""Bytes read of a file."""
_FIRST_LINE: Final = 8 * 1024 * 1024
"""Bytes to which it is read further where its first line, an object, does not end there."""
_FILES: Final = 3_000
"""Files of a folder or archive whose names are read."""
_HEADS: Final = 20
"""Of these, files of JSON whose first bytes are read."""
_LINES: Final = 50
_DATABASES: Final = (".db", ".sqlite", ".sqlite3")


@dataclass(frozen=True)
class Head:
    """The beginning of a file of JSON."""

    name: str
    """Path within the export."""
    text: str
    objects: Sequence[Mapping[str, Any]]
    """The JSON objects that its first lines are, if they are."""

    @property
    def is_list(self) -> bool:
        """Whether the file is a JSON list."""
        return self.text.lstrip("\ufeff \r\n\t").startswith("[")

    def has(self, *keys: str) -> bool:
        """Return whether the beginning has all these keys."""
        return all(f'"{key}"' in self.text for key in keys)


@dataclass(frozen=True)
class Sample:
    """What a quick look at a path shows."""

    path: Path
    names: Sequence[str]
    """Files of a folder or archive, or the file itself; hidden ones are left out."""
    heads: Sequence[Head]
    tables: Mapping[str, Sequence[str]]
    """Columns by table, if it is a database."""
    damaged: Sequence[str] = ()
    """Of the files whose beginnings were to be read those that cannot be, each with the reason."""
    closed: Sequence[str] = ()
    """Files that are not read where they are: databases in archives, and what is packed in other ways."""


def sample(path: Path) -> Sample:
    """Look at a path; a ValueError says why it cannot be read."""
    tables: Mapping[str, Sequence[str]] = {}
    if foreign_postgres.is_url(path):
        return Sample(path, (), (), foreign_postgres.tables(path))
    if path.is_file() and is_database(path):
        return Sample(path, (path.name,), (), foreign_sqlite.tables(path))
    names, heads, damaged, closed = list[str](), list[Head](), list[str](), list[str]()
    for member in islice(members(path), _FILES):
        names.append(member.name)
        if unread(member.name) or (member.path is None and member.base.lower().endswith(_DATABASES)):
            closed.append(member.name)
        if member.base.lower().endswith((".json", ".jsonl", ".af", DUMP)) and len(heads) < _HEADS:
            try:
                text = _beginning(member)
            except Broken as error:
                damaged.append(f"{member.name} {error}")
                continue
            heads.append(Head(member.name, text, _objects(text)))
    return Sample(path, names, heads, tables, damaged, closed)


def _beginning(member: Member) -> str:
    with member.reading() as file:
        read = file.read(_HEAD)
        if b"\n" not in read and read.startswith(b"{"):
            read += file.readline(_FIRST_LINE)
    return read.decode("utf-16" if read.startswith(UTF_16) else "utf-8", "replace")


def _objects(text: str) -> list[Mapping[str, Any]]:
    found = list[Mapping[str, Any]]()
    for line in text.lstrip("\ufeff").split("\n")[:_LINES]:
        found += objects(line.encode())[0]
    return found
