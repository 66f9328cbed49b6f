"""Rewrites files without erased content, or removes them.

Every step can be repeated after a crash at any point and needs only positions, ids and hashes, except for the logs,
which are searched for the texts themselves.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.erasure.quotes import Quotes, strings
from memory_pipeline.lake import bucket_snapshots, compaction, files, publishing
from memory_pipeline.lake.object_store import ObjectStore
from memory_pipeline.lake.tables import STAGING_PREFIX
from memory_pipeline.ledger import catalog, dagster_postgres, event, profile_events, sqlite_file
from memory_pipeline.ledger.catalog import NewFile
from memory_pipeline.ledger.database import MissingFile, Transaction, explained
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import ERASED, rewritten
from memory_pipeline.ledger.tables import File
from memory_pipeline.schemas import TABLES

CACHES: Final = ("index", "cache")
"""Folders of the data folder that contain only derived files: indexes."""

_LOGS: Final = ("dagster", "logs")
"""Folders that contain logs."""
_BLOCK: Final = 1 << 20
_OVERLAP: Final = 1 << 12
"""Bytes searched at once, and the bytes of the previous block that are searched again with the next."""


def read_events(ledger: Ledger, seqs: Collection[int]) -> list[tuple[Any, ...]]:
    """Return the events at some positions as `Ledger.read` does, in order, including payloads that have moved."""
    with ledger.reading() as transaction:
        rows = profile_events.at(transaction, seqs)
    return ledger.with_payloads(rows)


def redact_events(ledger: Ledger, store: ObjectStore, seqs: Collection[int]) -> list[str]:
    """Rewrite table `events`, moved payloads and archives with the ledger's present events at some positions.

    Returns the files that replace others.
    """
    selected = pl.col("seq").is_in(sorted(seqs))

    def with_present_events(frame: pl.DataFrame) -> pl.DataFrame:
        positions = frame.filter(selected)["seq"].unique()
        return pl.concat([frame.filter(~selected), event.frame(read_events(ledger, positions.to_list()))])

    new_files = rewrite(ledger, store, "events", selected, with_present_events)
    new_files += rewrite(ledger, store, "payloads", selected)
    for key in compaction.archives(store):
        if files.read(store, key, columns=["seq"]).filter(selected).is_empty():
            continue
        rows = files.read(store, key)
        positions = rows.filter(selected)["seq"].to_list()
        present = pl.DataFrame(read_events(ledger, positions), schema=rows.schema, orient="row")
        new = pl.concat([rows.filter(~selected), present]).sort("seq")
        if not new.equals(rows.sort("seq")):
            with explained(ledger.home):
                files.replace(store, key, new)
            new_files.append(key)
    return new_files


def archived(store: ObjectStore, seqs: Collection[int]) -> list[str]:
    """Return the keys of the archives that hold events at some positions as they were before they were redacted."""
    whole = pl.col("seq").is_in(sorted(seqs)) & ~pl.col("payload").str.contains(f'"{ERASED}_at":"', literal=True)
    keys = compaction.archives(store)
    return [key for key in keys if files.read(store, key, columns=["seq", "payload"]).filter(whole).height]


def rewrite(
    ledger: Ledger,
    store: ObjectStore,
    name: str,
    selected: pl.Expr,
    change: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> list[str]:
    """Replace the files of an append-only table that contain rows to change; `drop_versions` removes the old ones.

    `change` maps the rows of a file with `selected` rows to those of the new one; by default these leave. Concurrent
    readers of the old files are not disturbed; files published or merged meanwhile are rewritten too. Returns the new
    files; none for a file that loses all rows.
    """
    table, new_files, clean = TABLES[name], list[str](), set[str]()
    change = change or (lambda rows: rows.filter(~selected))
    while True:
        with ledger.reading() as transaction:
            file = next((file for file in catalog.visible(transaction, name) if file.key not in clean), None)
        if file is None:
            return new_files
        with suppress(MissingFile), publishing.unlisted_removed(ledger, store) as fresh:
            rows = files.collect(store, [file.key], table)
            new = rows if rows.filter(selected).is_empty() else table.conform(change(rows))
            if new.equals(rows):
                clean.add(file.key)
                continue
            if new.height:
                fresh.append(files.write(store, name, new))
            with ledger.writing() as transaction:
                if not catalog.still_visible(transaction, [file]):  # merged with others meanwhile
                    continue
                _exchange(transaction, store, file, fresh)
            clean |= {new_file.key for new_file in fresh}
            new_files += [new_file.key for new_file in fresh]


def rename_scopes(ledger: Ledger, store: ObjectStore, profile_id: str, scopes: Mapping[str, str]) -> None:
    """Replace the scopes of a profile's runs in the inputs of runs, which stay readable at their positions."""
    with ledger.reading() as transaction:
        inputs = [file for file in catalog.every(transaction) if file.table_name == "profiles"]
    renamed = (pl.col("profile_id") == profile_id) & pl.col("scope").is_in(list(scopes))
    for file in inputs if scopes else ():
        with suppress(MissingFile):
            rows = files.collect(store, [file.key], TABLES["profiles"])
            if rows.filter(renamed).is_empty():
                continue
            scope = pl.when(renamed).then(pl.col("scope").replace(dict(scopes))).otherwise("scope")
            new = files.write(store, "profiles", rows.with_columns(scope=scope))
            with ledger.writing() as transaction:
                _exchange(transaction, store, file, [new])
                if file.removed_seq is not None:
                    added = [one for one in catalog.every(transaction) if one.key == new.key]
                    catalog.remove(transaction, added, seq=file.removed_seq)


def _exchange(transaction: Transaction, store: ObjectStore, file: File, others: Iterable[NewFile]) -> None:
    """Put other files in the place of one in the catalogue."""
    catalog.forget(transaction, [file])
    place: dict[str, Any] = {"table_name": file.table_name, "seq": file.added_seq, "bucket": file.bucket}
    for other in others:
        publishing.add_file(transaction, store, file=other, **place)


def drop_versions(ledger: Ledger, store: ObjectStore, *, oldest: int) -> list[str]:
    """Remove every file that is not visible now: of earlier states and of unfinished work.

    Afterwards tables can be read from position `oldest` on. A live run writes its new files again, and a reader that
    lost a file looks up the current files. The inputs of runs (table `profiles`) stay: they contain no text, and an
    undo of any run needs them.
    """
    with ledger.writing() as transaction:
        old = [file for file in catalog.every(transaction) if file.removed_seq is not None]
        catalog.forget(transaction, [file for file in old if file.table_name != "profiles"])
        catalog.raise_oldest(transaction, oldest)
        listed = {file.key for file in catalog.every(transaction)}
    stored = [*store.list(files.TABLES_PREFIX), *store.list(f"{compaction.ARCHIVE_PREFIX}.")]
    unlisted = [entry.key for entry in stored if entry.key not in listed]
    for key in unlisted:
        store.delete(key)
    return [*unlisted, *(path.name for path in ledger.database.remove_unfinished())]


def drop_snapshots(home: Path, store: ObjectStore) -> list[Path]:
    """Remove every snapshot with its linked files, the link to the newest, and the remains of unfinished builds.

    Those in the bucket of the lake are removed too. The caller holds `snapshot.building`.
    """
    folder = home / "snapshots"
    if store.elsewhere:
        bucket_snapshots.follow(store, ())
    return [removed(path) for path in sorted(folder.iterdir()) if path.name != ".lock"]


def drop_caches(home: Path, store: ObjectStore, profile_id: str) -> list[str]:
    """Remove a profile's rows from the staged tables of runs, and indexes; return names relative to the data folder.

    Rows of other profiles stay, since a live run may need them.
    """
    staged = [entry.key for entry in store.list(STAGING_PREFIX) if _drop_rows(store, entry.key, profile_id)]
    runs = sorted({f"{STAGING_PREFIX}{key.split('/')[1]}" for key in staged})
    caches = [removed(path) for name in CACHES for path in sorted((home / name).glob("*"))]
    return [*runs, *(path.relative_to(home).as_posix() for path in caches)]


def _drop_rows(store: ObjectStore, key: str, profile_id: str) -> bool:
    """Remove a profile's rows from a staged table, or a file that is not a table; return whether it did."""
    try:
        rows = files.read(store, key)
        others = rows.filter(pl.col("profile_id") != profile_id)
    except FileNotFoundError:
        return False
    except pl.exceptions.PolarsError:  # half of a file, or without profiles
        store.delete(key)
        return True
    if others.height < rows.height:
        files.replace(store, key, others)
    return others.height < rows.height


def removed(path: Path) -> Path:
    """Remove a file, a link or a folder, even while others change its content; return its path."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return path
    aside = path.with_name(f".{secrets.token_hex(8)}.gone")  # so that no process adds files under the old name
    with suppress(FileNotFoundError):
        path.rename(aside)
        shutil.rmtree(aside, onerror=lambda _function, _path, raised: _unless_gone(raised[1]))
    return path


def mask_logs(home: Path, quotes: Quotes) -> list[Path]:
    """Mask phrases of erased texts in Dagster's storage and in logs, which should contain none; return changed files.

    A history that Dagster keeps in PostgreSQL is reported as the file `dagster.yaml` that configures it. Other programs
    may keep using the files. A database is treated as one with the files that SQLite keeps beside it; a file that
    disappears meanwhile is skipped. Cost: reads everything once, databases twice. Raises LakeError: a database with
    such phrases is damaged, or was in use for too long, or PostgreSQL cannot be reached.
    """
    if not quotes.phrases and not quotes.ids:
        return []
    paths = [path for name in _LOGS for path in _files(home / name)]
    databases = {path for path in paths if sqlite_file.is_database(path)}
    beside = {path.with_name(path.name + suffix) for path in databases for suffix in sqlite_file.BESIDE}
    url = dagster_postgres.url_of(home)
    elsewhere = url is not None and dagster_postgres.rewrite_texts(url, lambda cell: _masked(cell, quotes))
    return [home / "dagster" / "dagster.yaml"] * elsewhere + [
        path
        for path in paths
        if path not in beside and (_mask_database if path in databases else _mask_file)(path, quotes)
    ]


def quoting_files(home: Path, quotes: Quotes, excluded: Collection[Path]) -> list[Path]:
    """Return other files of the data folder that contain a phrase of an erased text, such as saved plans."""
    skipped = {home / name for name in ("lake", "snapshots", "archive", "runs", *CACHES, *_LOGS)} | set(excluded)
    other = [path for path in sorted(home.iterdir()) if path not in skipped]
    inner = [file for path in other for file in (_files(path) if path.is_dir() else [path]) if file.is_file()]
    return [path for path in inner if quotes.verbatim(_text(path))]


def _files(folder: Path) -> list[Path]:
    """Return the files below a folder, in order, without those that disappear meanwhile."""
    walk = os.walk(folder, onerror=_unless_gone)
    return sorted(path for place, _, names in walk for name in names if (path := Path(place, name)).is_file())


def _unless_gone(error: BaseException) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _mask_file(path: Path, quotes: Quotes) -> bool:
    text = _text(path)
    if not quotes.verbatim(text):
        return False
    aside = path.with_name(f".{path.name}.aside")
    with suppress(FileNotFoundError):
        aside.write_text(quotes.masked(text), "utf-8")
        aside.replace(path)
    return True


def _mask_database(path: Path, quotes: Quotes) -> bool:
    """Mask the texts in an SQLite file of any schema."""
    return sqlite_file.rewrite_texts(path, lambda cell: _masked(cell, quotes), holds=lambda file: _holds(file, quotes))


def _holds(path: Path, quotes: Quotes) -> bool:
    """Return whether the bytes of a file contain a phrase of an erased text."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        last = b""
        while block := file.read(_BLOCK):
            if quotes.verbatim((last + block).decode("utf-8", "replace")):
                return True
            last = block[-_OVERLAP:]
    return False


def _masked(cell: str, quotes: Quotes) -> str:
    """Mask a text; in a JSON document each text separately, so that it stays valid JSON."""
    try:
        document = json.loads(cell)
    except ValueError:
        return quotes.masked(cell)
    whole = "\n".join(strings(document))
    if whole.isascii() and not quotes.verbatim(whole):  # as is nearly every cell
        return cell
    new = rewritten(document, quotes.masked)
    return cell if new == document else json.dumps(new)
