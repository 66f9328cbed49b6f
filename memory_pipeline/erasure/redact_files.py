"""Rewrites files without erased content, or removes them.

Everything here may be done again after a crash at any point, and needs to know positions, ids and hashes alone, but for
the logs, which are searched for the words themselves.
What is not here: what is erased, and the ledger's own rows (`erasure/erase.py`).
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl
from filelock import FileLock

from memory_pipeline.erasure.quotes import Quotes
from memory_pipeline.lake import compaction, files, publishing
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.lake.tables import STAGING_PREFIX
from memory_pipeline.ledger import catalog, event, profile_events, sqlite_file
from memory_pipeline.ledger.database import explained
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.schemas import TABLES

CACHES: Final = ("index", "cache")
"""Folders of the data folder that hold nothing of their own: indexes."""

_LOGS: Final = ("dagster", "logs")
"""Folders in which programs write what they did."""
_BLOCK: Final = 1 << 20
_OVERLAP: Final = 1 << 12
"""Bytes that are searched at once, and those of the block before that are searched again."""


def written(ledger: Ledger, seqs: Collection[int]) -> list[tuple[Any, ...]]:
    """Return events at some positions as `Ledger.read` does, in order, with the payloads that have moved."""
    with ledger.reading() as transaction:
        rows = profile_events.at(transaction, seqs)
    return ledger.with_payloads(rows)


def redact_events(ledger: Ledger, store: ObjectStore, seqs: Collection[int]) -> list[str]:
    """Write table `events`, moved payloads and archives anew, with what the ledger says now at some positions.

    Returns:
        The files that were written, in the place of others.
    """
    concerned = pl.col("seq").is_in(sorted(seqs))

    def said_now(frame: pl.DataFrame) -> pl.DataFrame:
        own = frame.filter(concerned)["seq"].unique()
        return pl.concat([frame.filter(~concerned), event.frame(written(ledger, own.to_list()))])

    made = rewrite(ledger, store, "events", concerned, said_now)
    made += rewrite(ledger, store, "payloads", concerned, lambda frame: frame.filter(~concerned))
    for key in compaction.archives(store):
        archived = pl.read_parquet(store.uri(key))
        own = archived.filter(concerned)["seq"].to_list()
        if own:
            new = pl.DataFrame(written(ledger, own), schema=archived.schema, orient="row")
            with explained(ledger.home):
                files.replace(store, key, pl.concat([archived.filter(~concerned), new]).sort("seq"))
            made.append(key)
    return made


def rewrite(
    ledger: Ledger, store: ObjectStore, name: str, concerned: pl.Expr, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> list[str]:
    """Put new files in the place of those of a growing table that have rows to change, and remove the old ones.

    Args:
        ledger: where the catalogue is.
        store: the files of the lake.
        name: the table.
        concerned: which rows are to change; files without any stay.
        change: takes the rows of a file and returns those of the new one.

    Returns:
        The new files; a file that keeps no row has none.
    """
    table, made = TABLES[name], list[str]()
    with ledger.reading() as transaction:
        seen = catalog.visible(transaction, name)
    for file in seen:
        with explained(ledger.home):
            rows = files.collect(store, [file.key], table)
        if rows.filter(concerned).is_empty():
            continue
        new = table.conform(change(rows))
        with publishing.unlisted_removed(ledger, store) as fresh:
            if new.height:
                fresh.append(files.write(store, name, new))
            with ledger.writing() as transaction:
                catalog.forget(transaction, [file])
                for one in fresh:
                    publishing.add_file(
                        transaction, store, table_name=name, file=one, seq=file.added_seq, bucket=file.bucket
                    )
        store.delete(file.key)
        made += [one.key for one in fresh]
    return made


def drop_versions(ledger: Ledger, store: ObjectStore, *, oldest: int) -> list[str]:
    """Remove every file that is not seen now: of earlier states, of unfinished work.

    What a run was made from (table `profiles`) stays: it holds no text, and an undo of any run needs it.

    Args:
        ledger: where the catalogue is.
        store: the files of the lake.
        oldest: position from which on tables can be read as they were.
    """
    with ledger.writing() as transaction:
        old = [file for file in catalog.every(transaction) if file.removed_seq is not None]
        catalog.forget(transaction, [file for file in old if file.table_name != "profiles"])
        catalog.raise_oldest(transaction, oldest)
        kept = {file.key for file in catalog.every(transaction)}
    stored = [*store.list(files.TABLES_PREFIX), *store.list(f"{compaction.ARCHIVE_PREFIX}.")]
    gone = [entry.key for entry in stored if entry.key not in kept]
    for key in gone:
        store.delete(key)
    return [*gone, *(path.name for path in ledger.remove_unfinished())]


def drop_snapshots(home: Path) -> list[Path]:
    """Remove every snapshot, with its linked files, the link, and what unfinished builds left."""
    folder = home / "snapshots"
    if not folder.is_dir():
        return []
    with FileLock(folder / ".lock"):
        return [removed(path) for path in sorted(folder.iterdir()) if path.name != ".lock"]


def drop_caches(home: Path, store: ObjectStore) -> list[str]:
    """Remove what can be made again: staging of runs, indexes. Returns names relative to the data folder."""
    staged = store.list(STAGING_PREFIX)
    for entry in staged:
        store.delete(entry.key)
    runs = sorted({f"{STAGING_PREFIX}{entry.key.split('/')[1]}" for entry in staged})
    caches = [removed(path) for name in CACHES for path in sorted((home / name).glob("*"))]
    return [*runs, *(path.relative_to(home).as_posix() for path in caches)]


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
    databases = {path for path in found if sqlite_file.is_database(path)}
    beside = {path.with_name(path.name + suffix) for path in databases for suffix in sqlite_file.BESIDE}
    return [
        path
        for path in found
        if path not in beside and (_mask_database if path in databases else _mask_file)(path, quotes)
    ]


def holding(home: Path, quotes: Quotes, known: Collection[Path]) -> list[Path]:
    """Return other files of the data folder that hold a run of erased words, such as plans that somebody kept there."""
    skipped = {home / name for name in ("lake", "snapshots", "archive", "runs", *CACHES, *_LOGS)} | set(known)
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


def _mask_database(path: Path, quotes: Quotes) -> bool:
    """Mask the texts of any SQLite file."""
    return sqlite_file.rewrite_texts(path, lambda cell: _masked(cell, quotes), holds=lambda file: _holds(file, quotes))


def _holds(path: Path, quotes: Quotes) -> bool:
    """Say whether the bytes of a file hold a run of erased words."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        last = b""
        while block := file.read(_BLOCK):
            if quotes.verbatim((last + block).decode("utf-8", "replace")):
                return True
            last = block[-_OVERLAP:]
    return False


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
