"""Shredding: files that may hold what was erased are written anew without it, or removed.

Everything here may be done again after a crash at any point, and needs to know positions, ids and hashes alone, but for
the logs, which are searched for the words themselves.
What is not here: what is erased, and the ledger's own rows (`erasure/erase.py`).
"""

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import polars as pl
from filelock import FileLock

from memory_pipeline.erasure.quotes import Quotes
from memory_pipeline.lake import catalog, files, publishing
from memory_pipeline.ledger import event
from memory_pipeline.ledger.database import EVENTS, LakeError, explained
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.schemas import TABLES

CACHES: Final = ("runs", "index", "cache")
"""Folders of the data folder that hold nothing of their own: staging of runs, indexes."""

_AT_ONCE: Final = 500
_LOGS: Final = ("dagster", "logs")
"""Folders in which programs write what they did."""
_BESIDE: Final = ("-wal", "-shm", "-journal")
"""How the names of files end that SQLite keeps beside a database, and removes when its last user closes it."""
_PATIENCE: Final = 30.0
"""Seconds that a database may be in use by others before that is an error."""
_BLOCK: Final = 1 << 20
_OVERLAP: Final = 1 << 12
"""Bytes that are searched at once, and those of the block before that are searched again."""

Change = tuple[str, tuple[str, int]]
"""A statement and its values."""


def written(ledger: Ledger, seqs: Collection[int]) -> list[tuple[Any, ...]]:
    """Return events at some positions as `Ledger.read` does, in order, with the payloads that have moved."""
    wanted, found = sorted(seqs), list[tuple[Any, ...]]()
    columns = [EVENTS.c[name] for name in ("seq", *event.COLUMNS)]
    with ledger.reading() as connection:
        for start in range(0, len(wanted), _AT_ONCE):
            some = EVENTS.c.seq.in_(wanted[start : start + _AT_ONCE])
            found += [tuple(row) for row in connection.execute(EVENTS.select().with_only_columns(*columns).where(some))]
    return ledger.with_payloads(sorted(found))


def redact_events(ledger: Ledger, seqs: Collection[int]) -> list[Path]:
    """Write table `events`, moved payloads and archives anew, with what the ledger says now at some positions.

    Returns:
        The files that were written, in the place of others.
    """
    concerned = pl.col("seq").is_in(sorted(seqs))

    def said_now(frame: pl.DataFrame) -> pl.DataFrame:
        own = frame.filter(concerned)["seq"].unique()
        return pl.concat([frame.filter(~concerned), event.frame(written(ledger, own.to_list()))])

    made = rewrite(ledger, "events", concerned, said_now)
    made += rewrite(ledger, "payloads", concerned, lambda frame: frame.filter(~concerned))
    for file in sorted(ledger.home.glob("archive/events-*.parquet")):
        archived = pl.read_parquet(file)
        own = archived.filter(concerned)["seq"].to_list()
        if own:
            new = pl.DataFrame(written(ledger, own), schema=archived.schema, orient="row")
            with explained(ledger.home):
                files.replace(file, pl.concat([archived.filter(~concerned), new]).sort("seq"))
            made.append(file)
    return made


def rewrite(
    ledger: Ledger, name: str, concerned: pl.Expr, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> list[Path]:
    """Put new files in the place of those of a growing table that have rows to change, and remove the old ones.

    Args:
        ledger: where the catalogue is.
        name: the table.
        concerned: which rows are to change; files without any stay.
        change: takes the rows of a file and returns those of the new one.

    Returns:
        The new files; a file that keeps no row has none.
    """
    table, made = TABLES[name], list[Path]()
    with ledger.reading() as connection:
        seen = catalog.visible(connection, name)
    for file in seen:
        path = ledger.home / file.path
        with explained(ledger.home):
            rows = files.collect([path], table)
        if rows.filter(concerned).is_empty():
            continue
        new = table.conform(change(rows))
        with publishing.tidy(ledger) as fresh:
            if new.height:
                fresh.append(files.write(publishing.folder(ledger.home, name), new))
            with ledger.writing() as connection:
                catalog.forget(connection, [file], ledger.home)
                for one in fresh:
                    catalog.add(connection, name, one, ledger.home, seq=file.added_seq, bucket=file.bucket)
        path.unlink(missing_ok=True)
        made += [one.path for one in fresh]
    return made


def drop_versions(ledger: Ledger, *, oldest: int) -> list[Path]:
    """Remove every file that is not seen now: of earlier states, of unfinished work.

    What a run was made from (table `profiles`) stays: it holds no text, and an undo of any run needs it.

    Args:
        ledger: where the catalogue is.
        oldest: position from which on tables can be read as they were.
    """
    with ledger.writing() as connection:
        old = [file for file in catalog.every(connection) if file.removed_seq is not None]
        catalog.forget(connection, [file for file in old if file.table_name != "profiles"], ledger.home)
        catalog.keep_from(connection, oldest)
        kept = {ledger.home / file.path for file in catalog.every(connection)}
    made = [*ledger.home.glob("lake/*/*"), *ledger.home.glob("archive/.*"), *ledger.home.glob(".ledger-*")]
    return [removed(path) for path in sorted(made) if path not in kept]


def drop_snapshots(home: Path) -> list[Path]:
    """Remove every snapshot, with its linked files, the link, and what unfinished builds left."""
    folder = home / "snapshots"
    if not folder.is_dir():
        return []
    with FileLock(folder / ".lock"):
        return [removed(path) for path in sorted(folder.iterdir()) if path.name != ".lock"]


def drop_caches(home: Path) -> list[Path]:
    """Remove what can be made again: staging of runs, indexes."""
    return [removed(path) for name in CACHES for path in sorted((home / name).glob("*"))]


def removed(path: Path) -> Path:
    """Remove a file, a link or a folder and return its path, whatever others put into it or take out meanwhile."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return path
    aside = path.with_name(f".{secrets.token_hex(8)}.gone")  # where nobody who knows the folder's name finds it
    with suppress(FileNotFoundError):
        path.rename(aside)
        shutil.rmtree(aside, onerror=lambda _function, _path, raised: _unless_gone(raised[1]))
    return path


def mask_logs(home: Path, quotes: Quotes) -> list[Path]:
    """Mask runs of erased words in Dagster's storage and in logs, which never ought to hold any; return what had some.

    Programs may go on using them: a database is one thing with the files that SQLite keeps beside it, and a file that
    is gone when it is looked at holds nothing any more.

    Raises:
        LakeError: a database had some, and is damaged or in use for too long to be rid of them.

    Cost: reads all of it once, databases twice.
    """
    if not quotes.phrases:
        return []
    found = [path for name in _LOGS for path in _files(home / name)]
    databases = {path for path in found if _is_database(path)}
    beside = {path.with_name(path.name + end) for path in databases for end in _BESIDE}
    return [
        path
        for path in found
        if path not in beside and (_mask_database if path in databases else _mask_file)(path, quotes)
    ]


def holding(home: Path, quotes: Quotes, known: Collection[Path]) -> list[Path]:
    """Return other files of the data folder that hold a run of erased words, such as plans that somebody kept there."""
    skipped = {home / name for name in ("lake", "snapshots", "archive", *CACHES, *_LOGS)} | set(known)
    other = [path for path in sorted(home.iterdir()) if path not in skipped]
    inner = [one for path in other for one in (_files(path) if path.is_dir() else [path]) if one.is_file()]
    return [path for path in inner if quotes.verbatim(_text(path))]


def _files(folder: Path) -> list[Path]:
    """Return the files below a folder, in order; what is removed meanwhile is left out."""
    told = os.walk(folder, onerror=_unless_gone)
    return sorted(path for place, _, names in told for name in names if (path := Path(place, name)).is_file())


def _unless_gone(error: BaseException) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _mask_file(path: Path, quotes: Quotes) -> bool:
    said = _text(path)
    if not quotes.verbatim(said):
        return False
    aside = path.with_name(f".{path.name}.aside")
    with suppress(FileNotFoundError):
        aside.write_text(quotes.masked(said), "utf-8")
        aside.replace(path)
    return True


def _is_database(path: Path) -> bool:
    with suppress(FileNotFoundError), path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
    return False


def _mask_database(path: Path, quotes: Quotes) -> bool:
    """Mask the texts of any SQLite file, row by row, and let nothing of them stay on its unused pages or in its log."""
    with suppress(FileNotFoundError):
        path = path.resolve(strict=True)
        try:
            # Unlike a path, this never makes a file that was removed a moment ago.
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", timeout=_PATIENCE, uri=True)) as connection:
                connection.isolation_level = None
                return _mask_rows(connection, path, quotes)
        except sqlite3.Error as error:
            path.stat()
            remedy = "let programs that use it finish, or remove it if it is damaged, then erase again"
            raise LakeError(f"{path}: {error}: nothing was erased; {remedy}") from error
    return False


def _mask_rows(connection: sqlite3.Connection, path: Path, quotes: Quotes) -> bool:
    if not _changes(connection, quotes) and not any(
        _holds(path.with_name(path.name + end), quotes) for end in ("", *_BESIDE)
    ):
        return False
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute("BEGIN IMMEDIATE")
    for statement, values in _changes(connection, quotes):  # anew: others may have written since
        connection.execute(statement, values)
    connection.execute("COMMIT")
    connection.execute("VACUUM")
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("its old pages, which hold words, are still being read")
    return True


def _holds(path: Path, quotes: Quotes) -> bool:
    """Say whether the bytes of a file hold a run of erased words."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        last = b""
        while block := file.read(_BLOCK):
            if quotes.verbatim((last + block).decode("utf-8", "replace")):
                return True
            last = block[-_OVERLAP:]
    return False


def _changes(connection: sqlite3.Connection, quotes: Quotes) -> list[Change]:
    """Return what is to be done to the cells of all tables that quote erased words."""
    return [change for table in _tables(connection) for change in _masks(connection, table, quotes)]


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%WITHOUT ROWID%'")
    return [name for (name,) in names.fetchall() if not name.startswith("sqlite_")]


def _masks(connection: sqlite3.Connection, table: str, quotes: Quotes) -> Iterator[Change]:
    """Yield what is to be done to the cells of a table that quote erased words."""
    name = table.replace('"', '""')
    columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
    rows = connection.execute(f'SELECT rowid, * FROM "{name}"')  # noqa: S608
    for rowid, *cells in rows.fetchall():
        for column, cell in zip(columns, cells, strict=True):
            if isinstance(cell, str) and (new := _masked(cell, quotes)) != cell:
                yield f'UPDATE "{name}" SET "{column}" = ? WHERE rowid = ?', (new, rowid)  # noqa: S608


def _masked(cell: str, quotes: Quotes) -> str:
    """Mask a text; in a JSON document each of its texts for itself, so that it stays one."""
    try:
        document = json.loads(cell)
    except ValueError:
        return quotes.masked(cell)
    new = _walked(document, quotes)
    return cell if new == document else json.dumps(new)


def _walked(value: Any, quotes: Quotes) -> Any:
    match value:
        case str():
            return quotes.masked(value)
        case dict():
            return {quotes.masked(name): _walked(inner, quotes) for name, inner in value.items()}
        case list():
            return [_walked(inner, quotes) for inner in value]
    return value
