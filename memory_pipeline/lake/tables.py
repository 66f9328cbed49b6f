"""The lake: every table as immutable Parquet files, catalogued in the ledger's database.

Not here: events and decisions themselves (`ledger/ledger.py`), how files replace others (`lake/publishing.py`), and
what the tables mean (`schemas/`).
"""

import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, Self

import polars as pl

from memory_pipeline.lake import compaction, files, identity, in_place, object_stores, publishing
from memory_pipeline.lake.object_store import LocalObjectStore
from memory_pipeline.ledger import catalog, clocks, commits, database, databases, disk, erasure_guards, event, redaction
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.commits import Commit, Conflict, StaleInstant
from memory_pipeline.ledger.database import LakeError, MissingFile, explained
from memory_pipeline.ledger.event import CLOCK_SKEW, PIPELINE
from memory_pipeline.ledger.ledger import Ledger, Revert
from memory_pipeline.ledger.tables import File
from memory_pipeline.schemas import INSTANT, TABLES
from memory_pipeline.settings import SETTINGS_FILE, SQLITE, ledger_address, new_stores

__all__ = ["Commit", "Conflict", "Lake", "LakeError", "Revert", "StaleInstant"]

PROJECTED_AT_ONCE: Final = 100_000
"""Events that one step of the projection copies."""

STAGING_PREFIX: Final = "runs/"
"""Keys of staged tables start with it; the run's id follows."""

PLANS_PREFIX: Final = "cache/plans/"
"""Keys, in the data folder, of plans that await their run; erasures remove them with the caches."""

_REMEDY: Final = "restore the file from a backup, or rebuild its rows from the ledger: memory-pipeline doctor --repair"
_MOVED_REMEDY: Final = "restore the file from a backup: nothing else holds its rows"


class Lake:
    """The tables of a data folder. Threads and processes may share it; readers never wait."""

    def __init__(
        self,
        home: Path,
        *,
        ledger: str | None = None,
        timeout: float = database.WRITE_SECONDS,
        checked: bool = True,
    ) -> None:
        """Open the lake of a data folder, creating it if it is missing; `ledger` and `timeout` as for `Ledger.at`.

        Unless `checked`, the ledger may be another one than that of these files; only `doctor` opens such a store.
        Raises Mismatch: the ledger of these files is missing, or the one found is another one or an older state of it.
        LakeError: it cannot be opened, was written by a newer version, is a backup, or is refused by `check_path`.
        """
        self.home = home.resolve()
        identity.check_path(self.home)
        identity.refuse_backup(self.home)
        self.store = object_stores.opened(self.home)
        if is_new := not databases.exists(self.home, ledger):
            identity.check_ledger_there(self.home, self.store)
        self.ledger = Ledger.at(
            home, address=ledger, timeout=timeout, moved_payloads=partial(compaction.read_payloads, self.store)
        )
        if is_new and (ledger or ledger_address(self.home)) == SQLITE:
            new_stores.begin(self.home / SETTINGS_FILE)
        try:
            if checked:
                identity.check(self.home, self.ledger, self.store)
            with explained(self.home):
                object_stores.note(self.home, self.store)
            if checked:
                in_place.update(self.ledger, self.store)
        except LakeError:
            self.ledger.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        self.ledger.close()

    def read(
        self,
        table: str,
        *,
        seq: int | None = None,
        profiles: Collection[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """Return the rows of a table in canonical order; without rows, the empty table with its types.

        By default all columns of all profiles as of now. To read several tables as of one commit, give them the same
        `seq`. Raises LakeError: a file is missing or damaged, or the position is older than what is kept.
        """
        definition = TABLES[table]
        if definition.write_mode == "in_ledger":
            rows = self._in_ledger(table, seq, profiles)
        else:
            needed = None if columns is None else sorted({*definition.key, *columns})
            rows = self.scan(table, *_of_profiles(profiles), seq=seq, columns=needed)
            rows = rows.sort(definition.key) if rows.height > 1 else rows
        return rows if columns is None else rows.select(columns)

    def scan(
        self, table: str, *conditions: pl.Expr, seq: int | None = None, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Return the rows of a table's files that meet the conditions, in no particular order, by default as of now.

        Conditions are pushed down to the files, so that most of a file without a match is not read. Rows that an older
        version of the parser made are left out. Raises LakeError: as for `read`.
        """
        if seq is not None and table == "events":
            conditions = (*conditions, pl.col("seq") <= seq)
        if (version := TABLES[table].version) is not None:
            conditions = (*conditions, pl.col("parser") == version)
        keys = self.keys(table, seq)
        while True:
            try:
                with explained(self.home):
                    return files.collect(self.store, keys, TABLES[table], *conditions, columns=columns)
            except MissingFile:
                before, keys = keys, self.keys(table, seq)
                if keys == before:
                    raise

    def keys(self, table: str, seq: int | None = None) -> list[str]:
        """Return the keys of the Parquet files that make up a table as of a position, default now.

        Raises LakeError: the position is older than what is kept.
        """
        with self.ledger.reading() as transaction:
            oldest = catalog.mark(transaction, Mark.OLDEST)
            if seq is not None and seq < oldest and TABLES[table].write_mode == "replaced" and table != "profiles":
                raise LakeError(
                    f"table {table!r} as of position {seq} is no longer available; ask for {oldest} or later, or run "
                    "the pipeline for that position again"
                )
            return [file.key for file in catalog.visible(transaction, table, seq)]

    def events(
        self, *, as_of: datetime | None = None, seq: int | None = None, profiles: Collection[str] | None = None
    ) -> pl.DataFrame:
        """Return the events known at a state, in the order in which they fold: by instant, then position.

        `as_of` is the instant, `seq` the position of the last events that count; by default all do. What the table
        `events` does not hold yet comes from the ledger, so that reading needs no projection first. An agent's event
        that claims to have occurred after it was recorded counts here from when it was recorded. Cost: linear in the
        events; those that are not projected yet cost some 10 s per million.
        """
        pipeline = pl.col("event_type").is_in(PIPELINE)
        occurred, recorded = pl.col("occurred_at"), pl.col("recorded_at")
        conditions = _of_profiles(profiles)
        if as_of is not None:
            conditions.append((occurred <= as_of) | ((recorded <= as_of) & ~pipeline))
        folds_at = pl.when(pipeline).then(occurred).otherwise(pl.min_horizontal(occurred, recorded))
        projected = self.ledger.mark(Mark.PROJECTED)
        stored = self.scan("events", pl.col("seq") <= projected, *conditions, seq=seq)
        newer = event.frame(self.ledger.read(projected, seq)).filter(*conditions)
        return pl.concat([stored, newer]).with_columns(occurred_at=folds_at).sort("occurred_at", "seq", "ordinal")

    def waiting(self) -> tuple[int, int]:
        """Return how many agents' events the table `events` lacks, and how many of them are accesses."""
        return self.ledger.waiting(self.ledger.mark(Mark.PROJECTED))

    @contextmanager
    def copying(self) -> Iterator[None]:
        """Keep erasures out while texts are read, written outside the store and noted (see `Ledger.note_export`).

        So nothing is written that was erased meanwhile, and the receipt of an erasure that waited names the copy. Where
        the data folder is read-only, nothing is kept out. Raises Conflict if an erasure was interrupted, LakeError if
        one takes too long.
        """
        if not disk.writable(self.home):
            yield
            return
        with self.ledger.database.erasing():
            erasure_guards.refuse(self.ledger)
            yield

    def refuse_stale(self, profiles: pl.DataFrame) -> None:
        """Raise StaleInstant if a run could not be committed, since its clock lies before a profile's last commit."""
        with self.ledger.reading() as transaction:
            commits.check_order(transaction, profiles)

    def append(self, table: str, frame: pl.DataFrame, *, since: int | None = None) -> int:
        """Add rows to a table that only grows, skip those whose key exists, and return how many are new.

        Rows of profiles in which anything was erased after `since` are left out: the ledger position up to which was
        read what they are made from, by default the head. Raises ValueError: the table cannot be appended to, or the
        frame does not fit it. LakeError: the store cannot be written.
        """
        definition = TABLES[table]
        if definition.write_mode != "appended" or table == "events":
            raise ValueError(f"table {table!r} cannot be appended to; a commit or the projection writes it")
        rows = definition.conform(frame)
        if rows.is_empty():
            return 0
        rows = rows.unique(definition.key, keep="first", maintain_order=True)
        read_to = self.ledger.position() if since is None else since
        added = publishing.add_rows(self.ledger, self.store, table=definition, rows=rows, since=read_to)
        publishing.merge_small(self.ledger, self.store, table=definition)
        return added

    def project(self) -> int:
        """Copy new events from the ledger into the table `events`, and return the position up to which it is complete.

        Several processes may do this at once. Cost: some 10 s per million events.
        """
        while (complete := publishing.add_events(self.ledger, self.store, limit=PROJECTED_AT_ONCE)) is None:
            pass
        publishing.merge_small(self.ledger, self.store, table=TABLES["events"])
        return complete

    def stage(self, run_id: str, table: str, frame: pl.DataFrame, *, since: int | None = None) -> None:
        """Store a table that only this run can see; `since` as for `append`.

        Raises ValueError: the run's id is not a plain name, or the frame does not fit the table. LakeError: the store
        cannot be written.
        """
        key, rows = _staging_key(run_id, table), TABLES[table].conform(frame)
        read_to, left_out = self.ledger.position() if since is None else since, set[str]()
        while True:
            with explained(self.home):
                files.replace(self.store, key, rows.filter(~pl.col("profile_id").is_in(sorted(left_out))))
            with self.ledger.reading() as transaction:  # after the file, so that an erasure sees it or is seen
                erased = redaction.erased_since(transaction, read_to)
            if erased == left_out:
                return
            left_out = erased

    def staged(self, run_id: str, table: str) -> pl.DataFrame | None:
        """Return a staged table of a run, or None if the run has staged none."""
        key = _staging_key(run_id, table)
        with explained(self.home), suppress(FileNotFoundError):
            return files.with_current_columns(files.read(self.store, key), TABLES[table])
        return None

    def commit(self, commit: Commit) -> dict[str, int]:
        """Commit a plan and make its tables visible, in one transaction; return each profile's ledger position.

        Profiles that others changed are left out and have no position; commits of other profiles may go on meanwhile.
        Cost: writing the replaced tables (only the buckets of these profiles, once a table is large); the ledger is
        locked for milliseconds.

        Raises:
            Conflict: what the plan rests on has changed in every profile, or in any if the commit is all or none; or
                the plan is committed already.
            StaleInstant: the clock of the run lies before a profile's last commit.
            ValueError: the tables do not fit the profiles.
            LakeError: the store cannot be written.
        """
        commits.check(commit.profiles, commit.tables, commit.decisions)
        try:
            positions = publishing.replace_rows(
                self.ledger,
                self.store,
                standing=lambda transaction: commits.standing(transaction, commit),
                tables=commit.tables,
                record=lambda transaction, names: commits.record(transaction, commit.of(names)),
                unchanged=commit.unchanged,
            )
        except Conflict:
            self.note_attempt(commit.run_id, "conflict", started_at=commit.started_at)
            raise
        if len(positions) < commit.profiles.height:
            self.note_attempt(commit.run_id, "conflict", started_at=commit.started_at)
        self._note_identity(positions)
        for table in TABLES.values():
            if table.write_mode == "accumulated":
                publishing.merge_small(self.ledger, self.store, table=table)
        return positions

    def note_attempt(self, run_id: str, outcome: str, *, started_at: datetime) -> None:
        """Record an attempt to commit that changed nothing: a conflict, or a plan that was refused."""
        with self.ledger.writing() as transaction:
            commits.note(transaction, run_id, outcome, started_at=started_at)

    def republish(
        self, profiles: pl.DataFrame, tables: Mapping[str, pl.DataFrame], *, revert: Sequence[Revert]
    ) -> dict[str, int]:
        """Undo decisions and make the tables without them visible, in one transaction; return each profile's position.

        Args:
            profiles: whose tables change, and the head from which they were computed (the table `profiles`).
            tables: for every replaced table the new rows of those profiles.
            revert: what is undone, one per profile.

        Raises:
            Conflict: a profile has changed since the tables were computed.
            ValueError: tables or reverts do not fit the profiles.
            LakeError: the store cannot be written.
        """
        commits.check(profiles, tables)
        if sorted(undo.profile_id for undo in revert) != sorted(profiles["profile_id"]):
            raise ValueError("revert must name each profile of `profiles` once, and no other")
        positions = publishing.replace_rows(
            self.ledger,
            self.store,
            standing=lambda transaction: commits.verify(transaction, profiles),
            tables=tables,
            record=lambda transaction, _: commits.undo(transaction, revert),
        )
        self._note_identity(positions)
        return positions

    def verify(self) -> pl.DataFrame:
        """Read every catalogued file and return the missing and damaged ones: `table`, `path`, `problem`, `remedy`."""
        rows = []
        for file in self._files():
            missing = not self.store.exists(file.key)
            if missing or files.checksum(self.store, file.key) != file.sha256:
                moved = TABLES[file.table_name].write_mode == "moved"
                problem, remedy = "missing" if missing else "damaged", _MOVED_REMEDY if moved else _REMEDY
                rows.append((file.table_name, self.store.uri(file.key), problem, remedy))
        columns = ("table", "path", "problem", "remedy")
        return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")

    def mend(self) -> pl.DataFrame:
        """Replace or forget missing and damaged files and return what `verify` reported.

        Those of `events` are made again from the ledger at once. The others lack those rows, and `lost` names them,
        until they are made again; `gone` counts the rows that nothing makes again. Files of `payloads` stay catalogued
        until they are restored from a backup. Raises LakeError: events that the ledger no longer holds were in damaged
        files; nothing was changed.
        """
        problems = self.verify()
        paths = set(problems["path"])
        damaged = [file for file in self._files() if self.store.uri(file.key) in paths]
        if events := [file for file in damaged if file.table_name == "events"]:
            publishing.replace_events(self.ledger, self.store, damaged=events, limit=PROJECTED_AT_ONCE)
            self.project()
        forgotten = [file for file in damaged if TABLES[file.table_name].write_mode != "moved" and file not in events]
        with self.ledger.writing() as transaction:
            publishing.forget_files(transaction, self.store, forgotten)
            catalog.set_lost(transaction, {*catalog.lost(transaction), *(file.table_name for file in forgotten)})
            catalog.raise_oldest(transaction, max((file.removed_seq or 0 for file in forgotten), default=0))
            rows = Counter[str]()
            for file in forgotten:
                if not TABLES[file.table_name].rebuilt and file.removed_seq is None:
                    rows[file.table_name] += file.rows
            catalog.add_gone(transaction, rows)
        return problems

    def set_back(self, now: datetime) -> Counter[str]:
        """Date back the events that a clock recorded ahead of `now` (`clocks.set_back`), in ledger and table `events`.

        Returns how many of each profile the ledger dated anew; after a crash in between, a second call does the rest.
        `unshown` names the profiles until `note_shown`.
        Raises LakeError if the store cannot be written, or others published meanwhile; try again. Cost: reads the
        instants of all events.
        """
        with self.ledger.writing() as transaction:
            counts = clocks.set_back(transaction, now)
        ahead = pl.col("recorded_at") > now + CLOCK_SKEW, ~pl.col("event_type").is_in(PIPELINE)
        dated = [
            file
            for file in self._files()
            if file.table_name == "events"
            and file.removed_seq is None
            and files.collect(self.store, [file.key], TABLES["events"], *ahead, columns=["seq"]).height
        ]
        if dated:
            publishing.replace_events(self.ledger, self.store, damaged=dated, limit=PROJECTED_AT_ONCE)
            self.project()
        return counts

    def unshown(self) -> list[str]:
        """Return the profiles of which something was dated back that their published tables do not show yet."""
        with self.ledger.reading() as transaction:
            return clocks.unshown(transaction)

    def note_shown(self, profiles: Collection[str]) -> None:
        """Note that profiles were published with what was dated back."""
        with self.ledger.writing() as transaction:
            clocks.set_shown(transaction, profiles)

    def ahead(self, now: datetime) -> dict[str, int]:
        """Return how many memories of each profile were stored by a clock that ran ahead of `now`."""
        with self.ledger.reading() as transaction:
            return clocks.ahead(transaction, now)

    def gone(self) -> dict[str, int]:
        """Return how many rows of which tables were lost for good."""
        with self.ledger.reading() as transaction:
            return catalog.gone(transaction)

    def lost(self) -> list[str]:
        """Return the tables that `mend` left without rows, also in a process that was killed before it was done."""
        with self.ledger.reading() as transaction:
            return catalog.lost(transaction)

    def mended(self) -> None:
        """Note that the tables that lacked rows have been made again."""
        with self.ledger.writing() as transaction:
            catalog.set_lost(transaction, ())

    def sweep(
        self, *, older_than: timedelta = timedelta(days=1), live: Collection[str] = (), oldest: int = 0
    ) -> list[str]:
        """Remove files of unfinished work and staged tables of finished runs; return keys of files, prefixes of runs.

        Args:
            older_than: how long something must have been left alone: longer than any commit takes.
            live: runs whose staged tables stay, whatever their age.
            oldest: ledger position from which on tables must stay readable; files replaced before it are forgotten,
                except those of `profiles`, which an undo of any run needs. Default: every state is kept.

        Raises Mismatch: the ledger does not account for these files; nothing is removed.
        """
        identity.check(self.home, self.ledger, self.store)
        with self.ledger.writing() as transaction:
            replaced = catalog.replaced_before(transaction, oldest)
            publishing.forget_files(
                transaction, self.store, [file for file in replaced if file.table_name != "profiles"]
            )
            catalog.raise_oldest(transaction, oldest)
        latest = time.time() - older_than.total_seconds()
        with explained(self.home), self.ledger.exclusive():
            identity.check(self.home, self.ledger, self.store)
            catalogued = {file.key for file in self._files()}
            unlisted = [stored for stored in self.store.list(files.TABLES_PREFIX) if stored.key not in catalogued]
            removed = {stored.key: [stored] for stored in unlisted}
            for staged in self.store.list(STAGING_PREFIX):
                if (run_id := staged.key.split("/")[1]) not in live:
                    removed.setdefault(f"{STAGING_PREFIX}{run_id}", []).append(staged)
            removed = {name: parts for name, parts in removed.items() if all(part.modified < latest for part in parts)}
            for part in (part for parts in removed.values() for part in parts):
                self.store.delete(part.key)
            unfinished = [path.name for path in self.ledger.database.remove_unfinished(before=latest)]
            local = LocalObjectStore(self.home)
            plans = [stored.key for stored in local.list(PLANS_PREFIX) if stored.modified < latest]
            for key in plans:
                local.delete(key)
        return [*removed, *plans, *unfinished]

    def drop_scores(self, *, older_than: timedelta, now: datetime) -> int:
        """Drop the score history from longer before the last run of its profile, and return the number of rows.

        A run that was undone does not count, and one in the future counts as now: a clock that ran ahead drops nothing.
        A file is rewritten only once a tenth of its rows can go. Cost: reading two columns of the history.
        """
        standing = self.ledger.runs().filter(pl.col("outcome") != "reverted")
        latest = pl.min_horizontal(pl.col("as_of").max(), pl.lit(now, dtype=INSTANT))
        last = standing.group_by("profile_id").agg(as_of=latest - older_than)
        oldest = pl.col("profile_id").replace_strict(
            last["profile_id"], last["as_of"], default=None, return_dtype=last.schema["as_of"]
        )
        which = (pl.col("as_of") < oldest).fill_null(value=False)
        return publishing.drop_rows(self.ledger, self.store, table=TABLES["score_history"], which=which)

    def _note_identity(self, positions: Mapping[str, int]) -> None:
        if positions:
            with explained(self.home):
                identity.note(self.ledger, self.store, position=max(positions.values()))

    def _in_ledger(self, table: str, seq: int | None, profiles: Collection[str] | None) -> pl.DataFrame:
        """Return a table that is kept in the ledger's database."""
        match table:
            case "decisions":
                return self.ledger.decisions(seq=seq, profiles=profiles)
            case "consolidation_runs":
                return self.ledger.runs(profiles, seq=seq)
            case "reverted":
                return self.ledger.reverted(seq=seq).filter(*_of_profiles(profiles))
        return self.ledger.dead_letters()

    def _files(self) -> list[File]:
        with self.ledger.reading() as transaction:
            return catalog.every(transaction)


def _staging_key(run_id: str, table: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*", run_id):
        raise ValueError(f"run_id = {run_id!r} is not a plain name; give letters, digits and dashes")
    return f"{STAGING_PREFIX}{run_id}/{TABLES[table].name}.parquet"


def _of_profiles(profiles: Collection[str] | None) -> list[pl.Expr]:
    """Return the condition that a row belongs to the given profiles; none for all profiles."""
    return [] if profiles is None else [pl.col("profile_id").is_in(sorted(profiles))]
