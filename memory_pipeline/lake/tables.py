"""The lake: every table as immutable Parquet files, catalogued in the ledger's database.

Here: reading tables as of any position, the tables that only grow, a run's staging folder, the one commit, and care of
the files. What is not here: events and decisions themselves (`ledger/ledger.py`), how files take the place of others
(`lake/publishing.py`), and what the tables mean (`schemas/`).
"""

import re
import shutil
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Self

import polars as pl

from memory_pipeline.lake import catalog, compaction, files, publishing
from memory_pipeline.lake.catalog import File, Mark
from memory_pipeline.ledger import commits, database, event
from memory_pipeline.ledger.commits import Commit, Conflict, StaleInstant
from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.event import PIPELINE
from memory_pipeline.ledger.ledger import Ledger, Revert
from memory_pipeline.schemas import TABLES

__all__ = ["Commit", "Conflict", "Lake", "LakeError", "Revert", "StaleInstant"]

PROJECTED_AT_ONCE: Final = 100_000
"""Events that one step of the projection copies."""


_REMEDY: Final = (
    "put the file back from a backup, or run `memory-pipeline doctor --repair`: its rows are made again from the ledger"
)


class Lake:
    """The tables of a data folder. Threads and processes may share it; readers wait for nobody."""

    def __init__(self, home: Path, *, timeout: float = database.WRITE_SECONDS) -> None:
        """Open the lake of a data folder, after making it if it is not there.

        Args:
            home: data folder.
            timeout: seconds that a writer waits for the one before it.

        Raises:
            LakeError: it cannot be opened, or was made by a newer version.
        """
        self.ledger = Ledger.at(home, timeout=timeout, moved_payloads=compaction.moved_payloads)
        self.home = self.ledger.home
        self._known = threading.local()

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

        Several tables are read as of one commit by giving them the same `seq`.

        Args:
            table: any table of `schemas.TABLES`.
            seq: ledger position as of which to read; default now.
            profiles: whose rows; default all.
            columns: which columns; default all.

        Raises:
            LakeError: a file is missing or damaged, or the position lies before what is kept.
        """
        kept = TABLES[table]
        if kept.write_mode == "ledger":
            found = self._recorded(table, seq, profiles)
        else:
            needed = None if columns is None else sorted({*kept.key, *columns})
            found = self._stored(table, seq, profiles, columns=needed).sort(kept.key)
        return found if columns is None else found.select(columns)

    def paths(self, table: str, seq: int | None = None) -> list[Path]:
        """Return the Parquet files that make up a table as of a position, default now.

        Raises:
            LakeError: the position lies before what is kept.
        """
        with self.ledger.reading() as connection:
            oldest = catalog.marked(connection, Mark.OLDEST)
            if seq is not None and seq < oldest and TABLES[table].write_mode == "replaced" and table != "profiles":
                raise LakeError(
                    f"table {table!r} as of position {seq} is no longer kept; ask for {oldest} or later, or run the "
                    "pipeline for that position again"
                )
            return [self.home / file.path for file in catalog.visible(connection, table, seq)]

    def events(
        self, *, as_of: datetime | None = None, seq: int | None = None, profiles: Collection[str] | None = None
    ) -> pl.DataFrame:
        """Return the events known at a state, in the order in which they fold: by instant, then position.

        What the table `events` does not hold yet comes from the ledger, so that a look at the store needs no projection
        first. An agent's event that claims to have occurred after it was recorded counts, here, from when it was
        recorded.

        Args:
            as_of: instant of the last events that count; default all.
            seq: position of the last event that counts; default the head.
            profiles: whose; default all.

        Cost: linear in the events; those that are not projected yet cost some 10 s a million.
        """
        own, occurred, recorded = pl.col("event_type").is_in(PIPELINE), pl.col("occurred_at"), pl.col("recorded_at")
        known = [] if as_of is None else [(occurred <= as_of) | ((recorded <= as_of) & ~own)]
        folds = pl.when(own).then(occurred).otherwise(pl.min_horizontal(occurred, recorded))
        self._known.erased = self._erased()
        projected = self._projected()
        stored = self._stored("events", seq, profiles, pl.col("seq") <= projected, *known)
        newer = event.frame(self.ledger.read(projected, seq)).filter(*_wanted(profiles), *known)
        return pl.concat([stored, newer]).with_columns(occurred_at=folds).sort("occurred_at", "seq", "ordinal")

    def waiting(self) -> tuple[int, int]:
        """Return how many events of agents the table `events` lacks, and how many of them are accesses."""
        return self.ledger.waiting(self._projected())

    def append(self, table: str, frame: pl.DataFrame) -> int:
        """Add rows to a table that only grows; rows whose key is there already are skipped.

        Returns:
            How many rows are new.

        Raises:
            ValueError: the table does not grow by hand, or the frame does not fit it.
            Conflict: memories were erased since this thread read the events.
            LakeError: the store cannot be written.
        """
        self._unspoilt()
        kept = TABLES[table]
        if kept.write_mode != "appended" or table == "events":
            raise ValueError(f"table {table!r} takes no rows by hand; a commit or the projection writes it")
        rows = kept.conform(frame).unique(kept.key, keep="first", maintain_order=True)
        added = publishing.add_rows(self.ledger, kept, rows)
        publishing.merge_small(self.ledger, kept)
        return added

    def project(self) -> int:
        """Copy what is new in the ledger into the table `events`, and return the position up to which it is there.

        Several processes may do this at once. Cost: some 10 s a million events.
        """
        while True:
            after = self._projected()
            rows = self.ledger.read(after, limit=PROJECTED_AT_ONCE)
            if not rows:
                publishing.merge_small(self.ledger, TABLES["events"])
                return after
            publishing.add_events(self.ledger, event.frame(rows), after=after)

    def stage(self, run_id: str, table: str, frame: pl.DataFrame) -> None:
        """Keep a table of a run that nobody else sees.

        Raises:
            ValueError: the run's id is no plain name, or the frame does not fit the table.
            Conflict: memories were erased since this thread read the events.
            LakeError: the store cannot be written.
        """
        self._unspoilt()
        with explained(self.home):
            files.replace(self._staging(run_id, table), TABLES[table].conform(frame))

    def staged(self, run_id: str, table: str) -> pl.DataFrame | None:
        """Return a table of a run, or None if the run has kept none."""
        path = self._staging(run_id, table)
        with explained(self.home):
            return files.collect([path], TABLES[table]) if path.is_file() else None

    def commit(self, commit: Commit) -> dict[str, int]:
        """Make a plan part of history and its tables visible, in one transaction: all of it, or nothing.

        Commits of other profiles may go on meanwhile. Cost: writing the replaced tables (the parts of these profiles,
        once they are large); the ledger is locked for milliseconds.

        Returns:
            Ledger position of the commit of each profile.

        Raises:
            Conflict: a profile has changed since the plan was made, or the plan is committed already.
            StaleInstant: the clock of the run lies before a profile's last commit.
            ValueError: the tables do not fit the profiles.
            LakeError: the store cannot be written.
        """
        commits.check(commit.profiles, commit.tables, commit.decisions)
        try:
            positions = publishing.replace_rows(
                self.ledger, commit.profiles, commit.tables, lambda connection: commits.record(connection, commit)
            )
        except Conflict:
            with self.ledger.writing() as connection:
                commits.note(connection, commit, "conflict")
            raise
        for table in TABLES.values():
            if table.write_mode == "accrued":
                publishing.merge_small(self.ledger, table)
        return positions

    def republish(
        self, profiles: pl.DataFrame, tables: Mapping[str, pl.DataFrame], *, revert: Sequence[Revert]
    ) -> dict[str, int]:
        """Undo decisions and make the tables without them visible, in one transaction.

        Args:
            profiles: whose tables change, and the head from which they were made (the table `profiles`).
            tables: for every replaced table the new rows of those profiles.
            revert: what is undone, one a profile.

        Returns:
            Ledger position of the undo of each profile.

        Raises:
            Conflict: a profile has changed since the tables were made.
            ValueError: tables or reverts do not fit the profiles.
            LakeError: the store cannot be written.
        """
        commits.check(profiles, tables)
        if sorted(one.profile_id for one in revert) != sorted(profiles["profile_id"]):
            raise ValueError("revert must name each profile of `profiles` once, and no other")
        return publishing.replace_rows(
            self.ledger, profiles, tables, lambda connection: commits.undo(connection, revert)
        )

    def verify(self) -> pl.DataFrame:
        """Read every file that is seen at any position and return the missing and damaged ones.

        Returns:
            `table`, `path`, `problem` (missing or damaged), `remedy`; no row if all is well.
        """
        found = [
            (file.table_name, str(self.home / file.path), problem, _REMEDY)
            for file in self._files()
            if (problem := self._problem(file))
        ]
        columns = ("table", "path", "problem", "remedy")
        return pl.DataFrame(found, schema=dict.fromkeys(columns, pl.String), orient="row")

    def mend(self) -> pl.DataFrame:
        """Let go of missing and damaged files and return what `verify` said of them; nothing is lost for good.

        The table `events` is projected anew at once. The others miss those rows until the next run makes them again.
        Files of `payloads` exist only once: those stay catalogued until a backup is put in their place.
        """
        found = self.verify()
        bad, again = set(found["path"]), {"events"} & set(found["table"])
        with self.ledger.writing() as connection:
            gone = [
                file
                for file in catalog.every(connection)
                if file.table_name in again
                or (str(self.home / file.path) in bad and TABLES[file.table_name].write_mode != "moved")
            ]
            catalog.forget(connection, gone, self.home)
            catalog.keep_from(connection, max((file.removed_seq or 0 for file in gone), default=0))
            if again:
                catalog.set_mark(connection, Mark.PROJECTED, 0)
        if again:
            self.project()
        return found

    def sweep(
        self, *, older_than: timedelta = timedelta(days=1), live: Collection[str] = (), oldest: int = 0
    ) -> list[Path]:
        """Remove what nobody refers to: files of unfinished work, and staging folders of finished runs.

        Args:
            older_than: how long something must have been left alone: longer than any commit takes.
            live: runs whose staging folders stay, whatever their age.
            oldest: ledger position from which on tables shall be readable as they were; what was replaced before it
                is let go, but for `profiles`, which an undo of any run needs. Default: every state is kept.

        Returns:
            What was removed.
        """
        with self.ledger.writing() as connection:
            replaced = catalog.replaced_before(connection, oldest)
            gone = [file for file in replaced if file.table_name != "profiles"]
            catalog.forget(connection, gone, self.home)
            catalog.keep_from(connection, oldest)
        latest = time.time() - older_than.total_seconds()
        with explained(self.home), self.ledger.exclusive():
            made = [*self.home.glob("lake/*/*"), *self.home.glob(".ledger-*")]
            runs = [path for path in self.home.glob("runs/*") if path.name not in live]
            old = [path for path in (*made, *runs) if _last_change(path) < latest]
            kept = {self.home / file.path for file in self._files()}
            removed = [path for path in old if path not in kept]
            for path in removed:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return removed

    def _projected(self) -> int:
        """Return the position up to which the table `events` holds the ledger."""
        with self.ledger.reading() as connection:
            return catalog.marked(connection, Mark.PROJECTED)

    def _erased(self) -> int:
        """Return the position of the last erasure."""
        with self.ledger.reading() as connection:
            return catalog.marked(connection, Mark.ERASED)

    def _unspoilt(self) -> None:
        """Refuse to keep what was made from events of which some were erased since."""
        if getattr(self._known, "erased", None) not in (None, self._erased()):
            raise Conflict(f"{self.home}: memories were erased since the events were read; plan again")

    def _recorded(self, table: str, seq: int | None, profiles: Collection[str] | None) -> pl.DataFrame:
        """Return a table that stands in the ledger's database."""
        match table:
            case "decisions":
                return self.ledger.decisions(seq=seq, profiles=profiles)
            case "consolidation_runs":
                return self.ledger.runs(profiles, seq=seq)
            case "reverted":
                undone = self.ledger.reverted(seq=seq)
                return undone if profiles is None else undone.filter(pl.col("profile_id").is_in(sorted(profiles)))
        return self.ledger.dead_letters()

    def _stored(
        self,
        table: str,
        seq: int | None,
        profiles: Collection[str] | None,
        *conditions: pl.Expr,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """Return the rows of the visible files that fulfil the conditions, in no particular order."""
        wanted = [*_wanted(profiles), *conditions]
        if seq is not None and table == "events":
            wanted.append(pl.col("seq") <= seq)
        with explained(self.home):
            return files.collect(self.paths(table, seq), TABLES[table], *wanted, columns=columns)

    def _staging(self, run_id: str, table: str) -> Path:
        if not re.fullmatch(r"\w[\w.-]*", run_id):
            raise ValueError(f"run_id = {run_id!r} is no plain name; give letters, digits and dashes")
        return self.home / "runs" / run_id / f"{TABLES[table].name}.parquet"

    def _files(self) -> list[File]:
        """Return every file that is seen at any position."""
        with self.ledger.reading() as connection:
            return catalog.every(connection)

    def _problem(self, file: File) -> str | None:
        path = self.home / file.path
        if not path.is_file():
            return "missing"
        return None if files.checksum(path) == file.sha256 else "damaged"


def _wanted(profiles: Collection[str] | None) -> list[pl.Expr]:
    """Return the condition that a row is of the given profiles; none for all of them."""
    return [] if profiles is None else [pl.col("profile_id").is_in(sorted(profiles))]


def _last_change(path: Path) -> float:
    """Return when a file, or anything in a folder, was last written; infinity if it is gone."""
    try:
        return max(one.stat().st_mtime for one in (path, *path.glob("*")))
    except FileNotFoundError:
        return float("inf")
