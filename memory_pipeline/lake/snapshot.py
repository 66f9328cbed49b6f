"""Snapshots: one DuckDB file per ledger position, for people who have nothing but `duckdb`.

A snapshot holds every published table with comments, a data dictionary, views and macros. It is derived: deleting one
loses nothing, and any position can be built again. Most tables are copied in; the large ones that only grow (vectors,
enrichment, the history of scores) stay immutable Parquet, hard-linked under `snapshots/files/`, so that they outlive a
sweep of the lake; a lake on a server is fetched from there, each file once.
"""

import contextlib
import errno
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

import duckdb
import polars as pl
from filelock import FileLock

from memory_pipeline.lake import bucket_snapshots, policies, snapshot_file, snapshot_tables
from memory_pipeline.lake.object_store import LocalObjectStore, ObjectStore
from memory_pipeline.lake.snapshot_schemas import RECALLS, RELATIONS, Relation
from memory_pipeline.lake.snapshot_tables import SOURCES, USE_COLUMNS, USES
from memory_pipeline.lake.snapshot_views import LINKED
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog, disk
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.disk import writable
from memory_pipeline.schemas import INSTANT, TABLES
from memory_pipeline.settings import Policy

LINK: Final = "memories.duckdb"
"""Name of the link, in the folder of snapshots, to the newest one."""

_NAME: Final = re.compile(r"\d{12}-\w+")
"""Ledger position and prefix of a plan's id: the snapshot of what was published at that position."""
_ANY_NAME: Final = re.compile(r"\d{12}-\w+(-\w+)?")
"""The same, or with a suffix: the snapshot of a past instant, to which the link never points."""
_SPARSE_BYTES: Final = 100_000_000
"""Size below which pages of zeros are removed from a snapshot."""
_LISTED: Final = pl.Schema(
    {
        "name": pl.String(),
        "ledger_position": pl.Int64(),
        "plan": pl.String(),
        "bytes": pl.Int64(),
        "created_at": INSTANT,
        "newest": pl.Boolean(),
        "path": pl.String(),
        "address": pl.String(),
    }
)
"""Columns of `listing`."""
_ABANDONED_SECONDS: Final = 86_400
"""Age at which the files of an unfinished build are removed: a day."""


def publish(lake: Lake, *, seq: int | None = None) -> Path:
    """Write the snapshot of what was published at a position or the head, unless it exists, and link to the newest.

    If the lake is in a bucket, the snapshot is put there too (see `bucket_snapshots`). A snapshot carries the position
    of the last commit, undo or erasure up to then. Publishers in several processes wait for each other; the second one
    finds the first one's file. The link never moves back: the snapshot of an old position leaves it alone. Dead letters
    are those present at the time of the build.

    Raises ValueError: `seq` lies beyond the ledger's head. LakeError: the store cannot be read or written.
    """
    with explained(lake.home), building(lake.home):
        path = _built(lake, seq)
        if writable(lake.home):
            _update_link(path.with_name(LINK), _finished(lake.home)[-1])
        _publish_in_bucket(lake)
    return path


def _publish_in_bucket(lake: Lake) -> None:
    """Make the snapshots in the bucket of the lake, if it is in one, those of the data folder."""
    if lake.store.elsewhere and writable(lake.home):
        bucket_snapshots.follow(lake.store, _finished(lake.home))


def unpublished(lake: Lake) -> str | None:
    """Return how the snapshots in the bucket of the lake differ from those of the data folder, or None."""
    return bucket_snapshots.differs(lake.store, _finished(lake.home)) if lake.store.elsewhere else None


def publish_after(lake: Lake, done: str) -> Path:
    """Publish the snapshot of a change that is committed; an error says what is `done` even so, and the remedy.

    Raises LakeError: the snapshot cannot be written.
    """
    try:
        return publish(lake)
    except LakeError as error:
        raise LakeError(
            f"{done}, only its snapshot is missing ({error}); make it with: memory-pipeline doctor --repair"
        ) from error


@contextlib.contextmanager
def building(home: Path) -> Iterator[None]:
    """Keep others from building and removing snapshots, and erasures from removing what a snapshot is built from.

    Read the store only while holding it: an erasure then removes the snapshot if it holds erased texts. Take
    it before the lock of the ledger's writers.
    """
    folder = home.resolve() / "snapshots"
    if not writable(home):  # no process can build or remove any
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        yield


def _built(lake: Lake, seq: int | None) -> Path:
    """Return the snapshot of a position, after building it if it does not exist."""
    head = lake.ledger.position()
    if seq is not None and not 0 <= seq <= head:
        raise ValueError(f"seq = {seq} is not a ledger position; give one from 0 to {head}")
    at = head if seq is None else seq
    runs = lake.read("consolidation_runs", seq=at)
    with lake.ledger.reading() as transaction:
        erased, oldest = (catalog.mark(transaction, mark) for mark in (Mark.ERASED, Mark.OLDEST))
    position = max(shown_position(runs, lake.ledger.last_undo(seq=at)), erased if erased <= at else 0)
    readable = max(position, min(oldest, at))  # nothing was published between the two
    for path in _finished(lake.home):
        if _position(path) == position:
            return path
    lake.project()
    return build(
        lake.home,
        {name: lake.read(name, seq=readable) for name in SOURCES},
        {name: lake.keys(name, seq=readable) for name in LINKED},
        store=lake.store,
        name=f"{position:012d}-{_last_plan(runs)}",
        created_at=datetime.now(UTC),
        uses=lake.read("events", seq=position, columns=USE_COLUMNS).filter(pl.col("event_type").is_in(USES)),
        policies_in_force=policies.in_force(lake.ledger, runs),
        run_policies=policies.of_runs(lake.ledger, runs),
    )


def shown_position(runs: pl.DataFrame, last_undo: int) -> int:
    """Return the position of the last of some runs that published tables, or undo; 0 without any."""
    published = runs.filter(pl.col("outcome") != "unchanged")["commit_seq"]
    last: int = max((last_undo, *published))
    return last


def standing_position(lake: Lake) -> int:
    """Return the position of the last commit that published tables, undo or erasure: the one a snapshot shows.

    Rows that are made again must stand from there on, or a snapshot of it lacks them.
    """
    return max(shown_position(lake.ledger.runs(), lake.ledger.last_undo()), lake.ledger.mark(Mark.ERASED))


def build(
    home: Path,
    tables: Mapping[str, pl.DataFrame],
    files: Mapping[str, Sequence[str]],
    *,
    store: ObjectStore,
    name: str,
    created_at: datetime,
    as_of: datetime | None = None,
    uses: pl.DataFrame | None = None,
    policies_in_force: Mapping[str, Policy] | None = None,
    run_policies: Mapping[str, Policy] | None = None,
) -> Path:
    """Write `<home>/snapshots/<name>.duckdb`; the same rows in any order give the same content.

    The file is written aside, synced and renamed, so that a reader sees all of it or nothing. Cost: seconds for a
    million memories; tables are passed as Arrow, linked files are not read, but fetched if they are on a server.

    Args:
        tables: tables named in `snapshot_tables.SOURCES`; a missing one is empty.
        files: keys in `store` of the Parquet files of the tables named in `snapshot_views.LINKED`.
        name: ledger position in 12 digits, a dash, a prefix of a plan's id; for the state at a past instant another
            dash and that instant.
        created_at: shown in `snapshot_info`.
        as_of: instant of the tables; default: for each profile the clock of its last run.
        uses: accesses and feedback, columns `USE_COLUMNS` of the types `USES`; default none.
        policies_in_force: policy of each profile's last run; default none.
        run_policies: every policy that a run used, by its hash; default none.

    Raises:
        ValueError: a table or the name is not as described, or a table lacks a column.
        LakeError: the disk is full.
    """
    if not _ANY_NAME.fullmatch(name):
        raise ValueError(f"snapshot name {name!r} must be 12 digits, then a dash and letters or digits once or twice")
    if unknown := sorted(set(tables) - set(SOURCES)):
        raise ValueError(f"table {unknown[0]!r} is not in a snapshot; tables are {', '.join(SOURCES)}")
    folder = home.resolve() / "snapshots"
    (folder / "files").mkdir(parents=True, exist_ok=True)
    frames = snapshot_tables.relations(
        {table: TABLES[table].conform(tables.get(table, TABLES[table].empty())) for table in SOURCES},
        uses=TABLES["events"].empty().select(USE_COLUMNS) if uses is None else uses,
        policies_in_force=policies_in_force or {},
        run_policies=run_policies or {},
        name=name,
        created_at=created_at,
        as_of=as_of,
    )
    linked = {table: _linked(store, files.get(table, ()), folder / "files" / name / table) for table in LINKED}
    final = folder / f"{name}.duckdb"
    with (
        explained(home),
        _full_disk_explained(),
        _replacing(final) as aside,
        snapshot_file.begun(aside) as connection,
    ):
        snapshot_file.write(connection, frames, linked)
        connection.close()
        if aside.stat().st_size < _SPARSE_BYTES:
            disk.without_zeros(aside)
    return final


@contextlib.contextmanager
def _full_disk_explained() -> Iterator[None]:
    """Turn DuckDB's error for a full disk into the operating system's, which has a remedy."""
    try:
        yield
    except duckdb.Error as error:
        if os.strerror(errno.ENOSPC) not in str(error):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error


def export(source: Lake | Path, file: Path) -> Path:
    """Write one self-contained file, linked tables included, that can be taken anywhere.

    The source is the store, for its present state with all recalls (table `recalls`), or a snapshot. Raises ValueError:
    the file exists, or the snapshot does not.
    """
    if file.exists():
        raise ValueError(f"{file} exists; remove it or choose another name")
    with source.copying() if isinstance(source, Lake) else contextlib.nullcontext():
        _export(source, file)
    return file


def _export(source: Lake | Path, file: Path) -> None:
    snapshot = source if isinstance(source, Path) else publish(source)
    if not snapshot.is_file():
        raise ValueError(f"{snapshot} is not a snapshot; publish one or choose from the listing")
    file.parent.mkdir(parents=True, exist_ok=True)
    with _replacing(file) as aside:
        shutil.copyfile(snapshot, aside)
        with snapshot_file.database(aside) as connection:
            views = connection.execute("SELECT view_name FROM duckdb_views()").fetchall()
            tables = [
                (replace(RELATIONS[table], is_view=False), connection.sql(f"FROM {table}").pl())
                for table in LINKED
                if (table,) in views
            ]
            for relation, _ in tables:
                connection.execute(f"DROP VIEW {relation.name}")
            if isinstance(source, Lake):  # up to now, without events of which anything was erased
                uses = source.events().filter(pl.col("event_type").is_in(USES), pl.col("erased_at").is_null())
                recalls = uses.select(list(RECALLS.types)).sort("profile_id", "seq", "ordinal")
                tables.append((RECALLS, recalls))
            snapshot_file.create_tables(connection, tables)
        if isinstance(source, Lake):
            source.ledger.note_export(file, at=datetime.now(UTC))


def newest(home: Path) -> Path | None:
    """Return the snapshot of the highest ledger position, by its own name and not the link's; None without any."""
    paths = _finished(home)
    return paths[-1] if paths else None


def address(lake: Lake) -> str | None:
    """Return where the snapshots of the data folder are published too; None if the lake is not in a bucket."""
    return lake.store.uri(bucket_snapshots.PREFIX) if lake.store.elsewhere else None


def listing(home: Path, *, address: str | None = None) -> pl.DataFrame:
    """Return the snapshots of a store, highest position first, those of past instants included.

    Columns: name, ledger_position, plan (prefix of its id), bytes (without linked files), created_at, newest, path,
    address (below the one given, see `address`; null for those that are not published there).
    """
    last = newest(home)
    rows = [
        {
            "name": path.stem,
            "ledger_position": _position(path),
            "plan": path.stem.split("-")[1],
            "bytes": state.st_size,
            "created_at": datetime.fromtimestamp(state.st_mtime, UTC),
            "newest": path == last,
            "path": str(path),
            "address": f"{address}{path.name}" if address and _NAME.fullmatch(path.stem) else None,
        }
        for path in _finished(home, _ANY_NAME)[::-1]
        for state in (path.stat(),)
    ]
    return pl.DataFrame(rows, schema=_LISTED)


def prune(lake: Lake, keep: int) -> list[Path]:
    """Remove all but the newest `keep` snapshots, with their linked files and those of abandoned builds; return them.

    The `keep` snapshots of past instants that were built last stay. The newest snapshot, to which the link points,
    always stays. Raises ValueError: `keep` is less than 1. LakeError: the bucket of the lake cannot be reached.
    """
    if keep < 1:
        raise ValueError(f"keep = {keep} would remove the newest snapshot; give 1 or more")
    folder = lake.home.resolve() / "snapshots"
    if not folder.is_dir():
        return []
    with building(lake.home):
        published, paths = _finished(lake.home), _finished(lake.home, _ANY_NAME)
        past = sorted(set(paths) - set(published), key=lambda path: path.stat().st_mtime_ns)
        removed = [*published[:-keep], *past[:-keep]]
        for path in removed:
            path.unlink()
            shutil.rmtree(folder / "files" / path.stem, ignore_errors=True)
        remaining = {path.stem for path in paths} - {path.stem for path in removed}
        unowned = [path for path in folder.glob("files/*") if path.name not in remaining]
        for path in (*unowned, *folder.glob(".*.aside*")):
            if path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                _remove(path)
        _publish_in_bucket(lake)
    return removed


def drop_newer(lake: Lake, position: int) -> list[Path]:
    """Remove and return the snapshots after a position, which belong to a ledger that was replaced."""
    home = lake.home
    with building(home):
        newer = [path for path in _finished(home, _ANY_NAME) if _position(path) > position]
        for path in newer:
            path.unlink()
            shutil.rmtree(path.with_name("files") / path.stem, ignore_errors=True)
        link = home.resolve() / "snapshots" / LINK
        if newer and (left := _finished(home)):
            _update_link(link, left[-1])
        elif newer:
            link.unlink(missing_ok=True)
        _publish_in_bucket(lake)
    return newer


def problem(path: Path) -> str | None:
    """Return why a snapshot cannot be read, or None."""
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("FROM snapshot_info").fetchall()
            connection.execute("SELECT count(*) FROM memories JOIN vectors USING (profile_id, content_hash)").fetchall()
            views = connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    own = f"{path.resolve().parent}/"
    read = (file for (sql,) in views for file in snapshot_file.files_in(sql))
    foreign = next((file for file in read if not file.startswith(own)), None)
    return None if foreign is None else f"it reads {foreign}, of another data folder"


def lacks_rows(lake: Lake, path: Path) -> str | None:
    """Return how the newest snapshot differs from the tables of the lake in their numbers of rows, or None.

    Tables that snapshots of earlier versions did not have are left out.
    """
    names = [name for name in SOURCES if TABLES[name].write_mode == "replaced"]
    with lake.ledger.reading() as transaction:
        files = catalog.visible_by_table(transaction, names)
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            present = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
            for name in present.intersection(names):
                ((shown,),) = connection.execute(f"SELECT count(*) FROM {name}").fetchall()  # noqa: S608
                if shown != (stored := sum(file.rows for file in files[name])):
                    return f"{path} has {shown} rows of {name}, the lake {stored}"
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return None


def read_exported(path: Path, relation: Relation, names: Sequence[str]) -> pl.DataFrame:
    """Read columns of a table of a snapshot in the types of its schema.

    Raises ValueError: the file is not a snapshot, or lacks the table or a column; the message says so in one line.
    """
    columns = relation.schema.columns()
    instants = [name for name in names if columns[name].dtype == INSTANT]
    types = {name: pl.Int64() if name in instants else columns[name].dtype for name in names}
    # Earlier versions wrote instants without a time zone, in UTC: their microseconds are the same.
    selected = ", ".join(f"epoch_us({name})" if name in instants else name for name in names)
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            rows = connection.execute(f"SELECT {selected} FROM {relation.name}").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return pl.DataFrame(rows, schema=types, orient="row").with_columns(pl.col(instants).cast(INSTANT))


def _finished(home: Path, name: re.Pattern[str] = _NAME) -> list[Path]:
    """Return the finished snapshots by ledger position, without the link."""
    paths = (home.resolve() / "snapshots").glob("*.duckdb")
    return sorted((path for path in paths if name.fullmatch(path.stem)), key=lambda path: path.stem)


def _position(path: Path) -> int:
    return int(path.stem.partition("-")[0])


def _last_plan(runs: pl.DataFrame) -> str:
    """Return the first 8 digits of the id of the plan that was published last; zeros before the first commit."""
    last = runs.filter(pl.col("outcome") != "unchanged").sort("commit_seq", "profile_id").tail(1)["plan_id"].to_list()
    return str(last[0])[:8] if last else "0" * 8


@contextlib.contextmanager
def _replacing(final: Path) -> Iterator[Path]:
    """Yield a path to write to, then sync it and rename it to `final`; remove it if writing failed."""
    aside = final.with_name(f".{final.name}.{uuid.uuid4().hex}.aside")
    try:
        yield aside
        disk.sync(aside)
        aside.replace(final)
        disk.sync(final.parent)
    finally:
        for leftover in final.parent.iterdir():
            if leftover.name.startswith(aside.name):
                _remove(leftover)


def _update_link(link: Path, target: Path) -> None:
    """Point `link` to `target`, in the same folder, atomically: by a relative symlink, else by a copy."""
    if link.is_symlink() and link.readlink() == Path(target.name):
        return
    with _replacing(link) as aside:
        try:
            aside.symlink_to(target.name)
        except OSError:
            shutil.copyfile(target, aside)


def _linked(store: ObjectStore, keys: Sequence[str], folder: Path) -> list[Path]:
    """Return immutable objects as files in `folder`, created if missing: links to an earlier snapshot's, or fetched."""
    folder.mkdir(parents=True, exist_ok=True)
    snapshots = folder.parent.parent
    links = [folder / PurePosixPath(key).name for key in sorted(keys)]
    for left in set(folder.iterdir()) - set(links):  # by an earlier build of this snapshot
        _remove(left)
    for key, link in zip(sorted(keys), links, strict=True):
        if not link.exists():
            earlier = next(snapshots.glob(f"*/{folder.name}/{link.name}"), None)
            with _replacing(link) as aside:
                if earlier is None:
                    store.fetch(key, aside)
                else:
                    LocalObjectStore(snapshots).fetch(str(earlier), aside)
    disk.sync(folder)
    return links


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
