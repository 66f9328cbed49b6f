"""Snapshots: one DuckDB file a ledger position, for people with nothing but `duckdb`.

A snapshot holds every published table with comments, a data dictionary and macros. It is derived: deleting one loses
nothing, and any position can be built again. Most tables are copied in; the large ones that only grow, vectors and the
history of scores, stay immutable Parquet, hard-linked under `snapshots/files/`, so that they outlive a sweep of the
lake.
What is not here: the tables' meaning (`schemas/`, `lake/dictionary.py`) and their making (`consolidation/`).
"""

import contextlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
from filelock import FileLock

from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.plans.planning import LEAVING
from memory_pipeline.consolidation.state import projection
from memory_pipeline.lake import catalog, dictionary
from memory_pipeline.lake.catalog import Mark
from memory_pipeline.lake.dictionary import RECALLS, RELATIONS, Relation
from memory_pipeline.lake.snapshot_macros import MACROS, quoted
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import explained
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Action, EventType

LINK: Final = "memories.duckdb"
"""Name of the link, in the folder of snapshots, to the newest one."""

STORAGE_VERSION: Final = "v1.0.0"
"""Storage format of the files: DuckDB 1.0 and every later version reads it."""

SOURCES: Final = (
    "memories",
    "scored_memories",
    "association_edges",
    "clusters",
    "cluster_members",
    "merge_refusals",
    "memory_importance",
    "core_memory_blocks",
    "tier_changes",
    "fact_changes",
    "decisions",
    "reverted",
    "consolidation_runs",
    "dead_letters",
)
"""Tables of the lake that are copied into a snapshot."""

LINKED: Final = ("vectors", "score_history")
"""Tables of the lake of which a snapshot shows the files themselves."""

_NAME: Final = re.compile(r"\d{12}-\w+")
"""Ledger position and beginning of a plan's id: the snapshot of what was published at that position."""
_ANY: Final = re.compile(r"\d{12}-\w+(-\w+)?")
"""The same, or with a suffix: the snapshot of a past instant, to which the link never points."""
_ABANDONED_SECONDS: Final = 86_400
"""Files of a build that nobody finished are removed after a day."""


def publish(lake: Lake, *, seq: int | None = None) -> Path:
    """Make the snapshot of what was published at a ledger position, unless it is there, and link to the newest one.

    A snapshot carries the position of the last commit, undo or erasure up to then. Publishers in several processes wait
    for each other; the second finds the first one's file. The link never moves back: making an old position's snapshot
    leaves it where it is. Dead letters are those of the moment of the build.

    Args:
        lake: where the tables are.
        seq: ledger position to show; default the head.

    Raises:
        ValueError: `seq` lies beyond the ledger's head.
        LakeError: the store cannot be read or written.
    """
    folder = lake.home / "snapshots"
    with explained(lake.home):
        folder.mkdir(exist_ok=True)
        with FileLock(folder / ".lock"):
            made = _made(lake, seq)
            _point(folder / LINK, _files(lake.home)[-1])
    return made


def _made(lake: Lake, seq: int | None) -> Path:
    """Return the snapshot of a position, built unless it is there."""
    head = lake.ledger.position()
    if seq is not None and not 0 <= seq <= head:
        raise ValueError(f"seq = {seq} is no ledger position; give one from 0 to {head}")
    at = head if seq is None else seq
    runs, reverted = lake.read("consolidation_runs", seq=at), lake.read("reverted", seq=at)
    with lake.ledger.reading() as connection:
        erased, oldest = (catalog.marked(connection, mark) for mark in (Mark.ERASED, Mark.OLDEST))
    position = max((0, *runs["commit_seq"], *reverted["seq"], *([erased] if erased <= at else ())))
    kept = max(position, min(oldest, at))  # nothing was published between the two
    for path in _files(lake.home):
        if _position(path) == position:
            return path
    return build(
        lake.home,
        {name: lake.read(name, seq=kept) for name in SOURCES},
        {name: lake.paths(name, seq=kept) for name in LINKED},
        name=f"{position:012d}-{_last_plan(runs)}",
        created_at=datetime.now(UTC),
    )


def build(
    home: Path,
    tables: Mapping[str, pl.DataFrame],
    files: Mapping[str, Sequence[Path]],
    *,
    name: str,
    created_at: datetime,
    as_of: datetime | None = None,
) -> Path:
    """Write `<home>/snapshots/<name>.duckdb` from given tables; the same rows in any order give the same content.

    The file is written aside, synced and renamed, so that a reader sees all of it or nothing. Seconds for a million
    memories: tables go in as Arrow, linked files not at all.

    Args:
        home: data folder.
        tables: tables named in `SOURCES`; one that is left out is empty.
        files: immutable Parquet files of the tables named in `LINKED`.
        name: ledger position in 12 digits, a dash, the beginning of a plan's id; for the state at a past instant a
            dash and that instant besides.
        created_at: stands in `snapshot_info`.
        as_of: the instant of the tables; default: for each profile the clock of its last run.

    Raises:
        ValueError: a table or the name is not as described, or a table lacks a column.
    """
    if not _ANY.fullmatch(name):
        raise ValueError(f"snapshot name {name!r} must be 12 digits, then a dash and letters or digits once or twice")
    if unknown := sorted(set(tables) - set(SOURCES)):
        raise ValueError(f"table {unknown[0]!r} is no source of a snapshot; known are {', '.join(SOURCES)}")
    folder = home.resolve() / "snapshots"
    (folder / "files").mkdir(parents=True, exist_ok=True)
    given = {table: TABLES[table].conform(tables.get(table, TABLES[table].empty())) for table in SOURCES}
    frames = _relations(given) | {"snapshot_info": _information(given, name, created_at, as_of)}
    linked = {table: _keep(files.get(table, ()), folder / "files" / name / table) for table in LINKED}
    final = folder / f"{name}.duckdb"
    with _aside(final) as aside, _database(aside) as connection:
        connection.execute("BEGIN")
        for table, frame in frames.items():
            _fill(connection, RELATIONS[table], frame)
        connection.execute(_current_memories())
        for table, paths in linked.items():
            connection.execute(
                _linked(RELATIONS[table], paths, only={"vectors": _KEPT, "score_history": _STANDING}[table])
            )
        for macro in MACROS:
            connection.execute(f"CREATE MACRO {macro.signature} AS TABLE {macro.query}")
            connection.execute(f"COMMENT ON MACRO TABLE {macro.name} IS {quoted(macro.description)}")
        for relation in RELATIONS.values():
            _describe(connection, relation)
        connection.execute("COMMIT")
    return final


def export(source: Lake | Path, file: Path) -> Path:
    """Write one self-contained file, linked tables included, that works wherever it is taken.

    Args:
        source: the store, for its present state with all that was asked of it (table `recalls`), or a snapshot.
        file: the file to make.

    Raises:
        ValueError: the file exists, or the snapshot does not.
    """
    if file.exists():
        raise ValueError(f"{file} exists; remove it or choose another name")
    snapshot = source if isinstance(source, Path) else publish(source)
    if not snapshot.is_file():
        raise ValueError(f"{snapshot} is no snapshot; publish one or choose from the listing")
    file.parent.mkdir(parents=True, exist_ok=True)
    with _aside(file) as aside:
        shutil.copyfile(snapshot, aside)
        with _database(aside) as connection:
            views = connection.execute("SELECT view_name FROM duckdb_views()").fetchall()
            for table in LINKED:
                if (table,) in views:
                    connection.execute(f"CREATE TABLE {table}_within AS FROM {table}")
                    connection.execute(f"DROP VIEW {table}")
                    connection.execute(f"ALTER TABLE {table}_within RENAME TO {table}")
                    _describe(connection, Relation(table, RELATIONS[table].schema))
            if isinstance(source, Lake):
                _fill(connection, RECALLS, _recalls(source))
                _describe(connection, RECALLS)
    return file


def _recalls(lake: Lake) -> pl.DataFrame:
    """Return what was asked of the memories, what came back, and whether it helped."""
    asked = pl.col("event_type").is_in([EventType.ACCESSED.value, EventType.FEEDBACK.value])
    told = lake.events().filter(asked, pl.col("erased_at").is_null())
    return told.select(list(RECALLS.types)).sort("profile_id", "seq", "ordinal")


def newest(home: Path) -> Path | None:
    """Return the snapshot of the highest ledger position, if there is one: its own name, not the link's."""
    files = _files(home)
    return files[-1] if files else None


def listing(home: Path) -> pl.DataFrame:
    """Return the snapshots of a store, newest position first, those of past instants included.

    Returns:
        name, ledger_position, plan (beginning of its id), bytes (without linked files), created_at, newest, path.
    """
    files, linked = _files(home, _ANY)[::-1], newest(home)
    states = [path.stat() for path in files]
    return pl.DataFrame(
        {
            "name": [path.stem for path in files],
            "ledger_position": [_position(path) for path in files],
            "plan": [path.stem.split("-")[1] for path in files],
            "bytes": [state.st_size for state in states],
            "created_at": [datetime.fromtimestamp(state.st_mtime, UTC) for state in states],
            "newest": [path == linked for path in files],
            "path": [str(path) for path in files],
        },
        schema={
            "name": pl.String,
            "ledger_position": pl.Int64,
            "plan": pl.String,
            "bytes": pl.Int64,
            "created_at": pl.Datetime("us", "UTC"),
            "newest": pl.Boolean,
            "path": pl.String,
        },
    )


def prune(home: Path, keep: int) -> list[Path]:
    """Remove all but the newest `keep` snapshots, with their linked files, and what unfinished builds left behind.

    Of the snapshots of past instants those made last stay, `keep` too. The newest one, to which the link points, always
    stays. Returns the snapshots that were removed.

    Raises:
        ValueError: `keep` is less than 1.
    """
    if keep < 1:
        raise ValueError(f"keep = {keep} would remove the newest snapshot; give 1 or more")
    folder = home.resolve() / "snapshots"
    if not folder.is_dir():
        return []
    with FileLock(folder / ".lock"):
        published, files = _files(home), _files(home, _ANY)
        past = sorted(set(files) - set(published), key=lambda path: path.stat().st_mtime_ns)
        removed = [*published[:-keep], *past[:-keep]]
        for path in removed:
            path.unlink()
            shutil.rmtree(folder / "files" / path.stem, ignore_errors=True)
        kept = {path.stem for path in files} - {path.stem for path in removed}
        abandoned = [path for path in folder.glob("files/*") if path.name not in kept]
        for path in (*abandoned, *folder.glob(".*.aside*")):
            if path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                _remove(path)
    return removed


def _files(home: Path, name: re.Pattern[str] = _NAME) -> list[Path]:
    """Return the finished snapshots by ledger position; without the link."""
    files = (home.resolve() / "snapshots").glob("*.duckdb")
    return sorted((path for path in files if name.fullmatch(path.stem)), key=lambda path: path.stem)


def _position(path: Path) -> int:
    return int(path.stem.partition("-")[0])


def _last_plan(runs: pl.DataFrame) -> str:
    """Beginning of the id of the plan that was committed last; zeros before the first."""
    last = runs.sort("commit_seq", "profile_id").tail(1)["plan_id"].to_list()
    return str(last[0])[:8] if last else "0" * 8


@contextlib.contextmanager
def _aside(final: Path) -> Iterator[Path]:
    """Give a path to write to; afterwards sync it and rename it to `final`, or remove it if writing failed."""
    aside = final.with_name(f".{final.name}.{uuid.uuid4().hex}.aside")
    try:
        yield aside
        _sync(aside)
        aside.replace(final)
        _sync(final.parent)
    finally:
        for rest in final.parent.iterdir():
            if rest.name.startswith(aside.name):
                _remove(rest)


def _database(file: Path) -> duckdb.DuckDBPyConnection:
    """Open a database file for writing in the storage format of `STORAGE_VERSION`."""
    return duckdb.connect(str(file), config={"storage_compatibility_version": STORAGE_VERSION})


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _point(link: Path, target: Path) -> None:
    """Let `link` lead to `target`, in the same folder, in one step: a relative symlink, else a copy."""
    if link.is_symlink() and link.readlink() == Path(target.name):
        return
    with _aside(link) as aside:
        try:
            aside.symlink_to(target.name)
        except OSError:
            shutil.copyfile(target, aside)


def _keep(files: Sequence[Path], folder: Path) -> list[Path]:
    """Return hard links to immutable files in `folder`, each made unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = [folder / path.name for path in sorted(files)]
    for source, link in zip(sorted(files), kept, strict=True):
        if not link.exists():
            try:
                link.hardlink_to(source)
            except OSError:
                with _aside(link) as aside:
                    shutil.copyfile(source, aside)
    _sync(folder)
    return kept


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _relations(given: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Tables of the snapshot from those of the lake, without `snapshot_info`."""
    plain = {name: given[name] for name in RELATIONS if name in given}
    undone = given["reverted"].select("profile_id", "decision_id", reverted=True).unique()
    decisions = given["decisions"].join(undone, on=["profile_id", "decision_id"], how="left", maintain_order="left")
    decisions = decisions.with_columns(pl.col("reverted").fill_null(value=False))
    return plain | {
        "decisions": decisions,
        "summaries": _summaries(given["memories"], given["decisions"]),
        "archived_set": _left(given["memories"], projection.unmasked(given["decisions"], given["reverted"])),
        "data_dictionary": dictionary.rows(),
    }


def _summaries(memories: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    """Every summary, from the memories, since a run's own table has only those it made."""
    made = decisions.filter(pl.col("action") == Action.SUMMARISE.value).sort("seq", "ordinal")
    worded = made.unique(["profile_id", "memory_id"], keep="last", maintain_order=True).select(
        "profile_id", *decision_rows.read("factors", decision_rows.WORDED), summary_id="memory_id"
    )
    key = ["profile_id", "summary_id"]
    replaced = memories.filter(pl.col("superseded_kind") == "summary").select(
        "profile_id", "memory_id", "kind", summary_id="superseded_by"
    )
    effects = replaced.group_by(key, maintain_order=True).agg(
        replaces=pl.col("memory_id").filter(pl.col("kind") != "original"),
        supersedes=(pl.col("kind") == "original").any(),
    )
    summaries = memories.filter(pl.col("kind") != "original").rename(
        {"memory_id": "summary_id", "importance_given": "importance", "stability_given": "stability"}
    )
    return (
        summaries.join(effects, on=key, how="left", maintain_order="left")
        .join(worded, on=key, how="left", maintain_order="left")
        .with_columns(
            pl.col("replaces").fill_null([]),
            pl.col("supersedes").fill_null(value=False),
            pl.col("compiled_by").fill_null("rules"),
        )
    )


def _left(memories: pl.DataFrame, in_force: pl.DataFrame) -> pl.DataFrame:
    """Memories that are not live, with the last decision in force that took each of them out."""
    leaving = in_force.filter(pl.col("action").is_in(list(LEAVING)))
    last = (
        leaving.sort("seq", "ordinal")
        .unique(["profile_id", "memory_id"], keep="last", maintain_order=True)
        .select(
            "profile_id",
            "memory_id",
            "action",
            "rule",
            "reason",
            "decision_id",
            "plan_id",
            *(
                pl.col("factors").str.json_path_match(f"$.{factor}").cast(pl.Float64, strict=False).alias(factor)
                for factor in ("strength", "threshold")
            ),
        )
    )
    left = memories.filter(~pl.col("lifecycle").is_in(LIVE)).select(
        "profile_id", "memory_id", "lifecycle", left_at="lifecycle_since", summary_id="superseded_by"
    )
    return left.join(last, on=["profile_id", "memory_id"], how="left", maintain_order="left")


def _information(
    given: Mapping[str, pl.DataFrame], name: str, created_at: datetime, as_of: datetime | None
) -> pl.DataFrame:
    """Table `snapshot_info`: one row a profile, or one without a profile."""
    counts = given["memories"].group_by("profile_id").agg(memories=pl.len(), live=pl.col("lifecycle").is_in(LIVE).sum())
    runs = given["consolidation_runs"].sort("commit_seq").unique("profile_id", keep="last")
    clock = pl.col("as_of") if as_of is None else pl.lit(as_of, INSTANT)
    profiles = counts.join(runs.select("profile_id", "plan_id", "as_of"), on="profile_id", how="full", coalesce=True)
    if profiles.is_empty():
        profiles = profiles.clear(1)
    return profiles.sort("profile_id").select(
        "profile_id",
        "plan_id",
        pl.col("memories", "live").fill_null(0),
        as_of=clock,
        name=pl.lit(name),
        ledger_position=pl.lit(int(name.partition("-")[0])),
        created_at=pl.lit(created_at, INSTANT),
    )


def _fill(connection: duckdb.DuckDBPyConnection, relation: Relation, frame: pl.DataFrame) -> None:
    """Make a table of the snapshot from a frame, column by column as its schema says."""
    columns = ", ".join(f"{_column(name)}::{kind} AS {_column(name)}" for name, kind in relation.types.items())
    instants = pl.col(pl.Datetime("us", "UTC")).dt.replace_time_zone(None)
    connection.register("given", frame.with_columns(instants))
    connection.execute(f"CREATE TABLE {relation.name} AS SELECT {columns} FROM given")  # noqa: S608
    connection.unregister("given")


def _describe(connection: duckdb.DuckDBPyConnection, relation: Relation) -> None:
    """Comment a table or view and each of its columns."""
    kind = "VIEW" if relation.is_view else "TABLE"
    connection.execute(f"COMMENT ON {kind} {relation.name} IS {quoted(relation.description)}")
    for name, column in relation.schema.columns().items():
        connection.execute(f"COMMENT ON COLUMN {relation.name}.{_column(name)} IS {quoted(column.description or '')}")


def _current_memories() -> str:
    at = "coalesce(s.as_of, s.created_at)"
    return f"""
    CREATE VIEW current_memories AS SELECT m.* FROM memories m JOIN snapshot_info s USING (profile_id)
    WHERE m.lifecycle IN ({", ".join(map(quoted, LIVE))})
      AND (m.superseded_by IS NULL OR m.superseded_kind = 'update')
      AND (m.valid_from IS NULL OR m.valid_from <= {at}) AND (m.valid_until IS NULL OR {at} < m.valid_until)"""  # noqa: S608


_KEPT: Final = """WHERE (profile_id, content_hash) IN (
    SELECT (profile_id, content_hash) FROM memories WHERE lifecycle NOT IN ('deleted', 'erased'))"""
"""Vectors of texts that are not only those of deleted or erased memories."""
_STANDING: Final = """WHERE (profile_id, plan_id) IN (
    SELECT (profile_id, plan_id) FROM consolidation_runs WHERE outcome <> 'reverted')"""
"""Rows of runs that stand."""


def _linked(relation: Relation, files: Sequence[Path], *, only: str) -> str:
    """SQL of a view over Parquet files; their paths are absolute and taken as they are, not as patterns.

    Options are given with `=`: DuckDB before 1.5 cannot bind `:=` in a view that a later version has stored.
    """
    if not files:
        nothing = ", ".join(f"NULL::{kind} AS {_column(name)}" for name, kind in relation.types.items())
        return f"CREATE VIEW {relation.name} AS SELECT {nothing} LIMIT 0"
    columns = ", ".join(f"{_cast(name, kind)} AS {_column(name)}" for name, kind in relation.types.items())
    literal = ", ".join(quoted(re.sub(r"([*?\[])", r"[\1]", str(path))) for path in files)
    return (
        f"CREATE VIEW {relation.name} AS SELECT {columns} "  # noqa: S608
        f"FROM read_parquet([{literal}], hive_partitioning = false) {only}"
    )


def _cast(name: str, kind: str) -> str:
    """SQL of a Parquet column in the snapshot's type; instants in UTC whatever the session's time zone is."""
    column = _column(name)
    return f"make_timestamp(epoch_us({column}))" if kind == "TIMESTAMP" else f"{column}::{kind}"


def _column(name: str) -> str:
    return f'"{name}"'
