"""Exports tables of the store as of one state: now, after a run, or at a past instant; as Parquet or Delta Lake.

Not here: what a profile remembers in the formats of other tools (the modules beside this one), and snapshots, which add
views and macros (`lake/snapshot`).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger import disk
from memory_pipeline.runs import rebuild
from memory_pipeline.schemas import TABLES

NAMES: Final = tuple(name for name, table in TABLES.items() if table.write_mode not in {"per_run", "moved"})
"""Tables that can be exported."""

OF_NOW: Final = ("completions", "verdicts", "pair_readings", "dead_letters")
"""Tables without past states: stored answers of models and readings of the reader belong to no run, and a dead letter
goes when it is requeued."""

WITHOUT_OWNER: Final = tuple(name for name in NAMES if "profile_id" not in TABLES[name].schema.columns())
"""Tables whose rows belong to no profile."""

_OF_TEXTS: Final = ("enrichment", "vectors")
"""Tables that are made from texts alone; a past state has the rows of the texts that its memories have."""


@dataclass(frozen=True, kw_only=True)
class State:
    """A state of the store."""

    names: tuple[str, ...]
    """Tables that it has."""
    seq: int
    """Ledger position of the run, else of the time of reading."""
    as_of: datetime | None = None
    """Instant; None: as published at the position."""
    run_id: str | None = None
    """The run after which it was; None: no run was named."""
    profiles: tuple[str, ...] | None = None
    """Profile of the rows; None: all profiles."""
    remade: rebuild.PastState | None = None
    """What was computed of a past instant."""

    @property
    def is_past(self) -> bool:
        """Whether a run or an instant was named."""
        return self.as_of is not None or self.run_id is not None

    @property
    def labels(self) -> dict[str, str]:
        """Metadata of the files that identify the state."""
        instant = None if self.as_of is None else self.as_of.isoformat()
        values = {"seq": str(self.seq), "as_of": instant, "run_id": self.run_id}
        return {f"memory_pipeline.{name}": value for name, value in values.items() if value is not None}


def state(lake: Lake, *, as_of: datetime | None = None, run: str | None = None, profile_id: str | None = None) -> State:
    """Choose a state: as published now, after a run (its id, or that of its plan), or at a past instant.

    Raises:
        ValueError: there is no such run, or nothing was remembered at the instant.
        LakeError: the run's tables are no longer available.

    Cost: for an instant, that of a run over the events until then; otherwise none.
    """
    owners = None if profile_id is None else (profile_id,)
    names = tuple(name for name in NAMES if profile_id is None or name not in WITHOUT_OWNER)
    past = tuple(name for name in names if name not in OF_NOW)
    if as_of is not None:
        remade = rebuild.past_state(lake, as_of, profiles=owners)
        return State(names=past, seq=remade.seq, as_of=as_of, profiles=owners, remade=remade)
    if run is None:
        return State(names=names, seq=lake.ledger.position(), profiles=owners)
    made = lake.ledger.runs(owners).filter((pl.col("run_id") == run) | (pl.col("plan_id") == run)).sort("commit_seq")
    if made.is_empty():
        raise ValueError(f"run {run!r} is unknown; the table consolidation_runs lists the runs")
    last = made.row(-1, named=True)
    try:
        lake.keys("memories", last["commit_seq"])
    except LakeError as error:
        raise LakeError(
            f"run {run!r}: its tables are no longer available (see keep_snapshots); rebuild that instant with: "
            f"--as-of {last['as_of']:%Y-%m-%dT%H:%M:%S.%fZ}"
        ) from error
    return State(names=past, seq=last["commit_seq"], run_id=last["run_id"], profiles=owners)


def check(chosen: State, names: Collection[str]) -> None:
    """Refuse tables that a state does not have; a ValueError names one."""
    for name in names:
        if name in chosen.names:
            continue
        if chosen.profiles is not None and name in WITHOUT_OWNER:
            raise ValueError(f"table {name!r} belongs to no profile; export it without --profile")
        if name in OF_NOW:
            raise ValueError(f"table {name!r} has no past states; export it as it is now")
        raise ValueError(f"table {name!r} cannot be exported; tables are {', '.join(chosen.names)}")


def read(lake: Lake, chosen: State, name: str) -> pl.DataFrame:
    """Return a table as of a state, in canonical order.

    Of a past state, tables that only grow have the rows that belong to it: events that counted, what was made of the
    texts that the memories had, scores of the runs in force.
    """
    if name == "events":
        lake.project()
        counted = lake.read(name, profiles=chosen.profiles).filter(pl.col("seq") <= chosen.seq)
        return counted if chosen.remade is None else _only(counted, chosen.remade.events, TABLES[name].key)
    if name in _OF_TEXTS and chosen.is_past:
        memories = read(lake, chosen, "memories")
        return _only(lake.read(name, profiles=chosen.profiles), memories, ["profile_id", "content_hash"])
    if TABLES[name].write_mode == "accumulated" and chosen.is_past:
        stood = read(lake, chosen, "consolidation_runs").filter(pl.col("outcome") != "reverted")
        return _only(lake.read(name, profiles=chosen.profiles), stood, ["profile_id", "plan_id"])
    profiles = None if name in WITHOUT_OWNER else chosen.profiles
    if chosen.remade is None:
        return lake.read(name, seq=chosen.seq, profiles=profiles)
    rows = chosen.remade.tables[name]
    own = rows if profiles is None else rows.filter(pl.col("profile_id").is_in(profiles))
    return own.sort(TABLES[name].key)


def _only(rows: pl.DataFrame, others: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return rows.join(others.select(columns), on=list(columns), how="semi", maintain_order="left")


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of exported tables."""

    suffix: str
    """Follows the name of a table in the name of its file or folder."""
    write: Callable[[Path, str, pl.DataFrame, State], None]
    """Writes a table in place of what is there, given the path, the table's name, its rows and their state."""


def export(
    lake: Lake, folder: Path, chosen: State, *, names: Sequence[str], written_as: Format
) -> Iterator[tuple[str, int]]:
    """Write tables one by one into a folder; yield the name and the rows of each that is written.

    Cost: memory for one table at a time, and of a past instant for all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        rows = read(lake, chosen, name)
        written_as.write(folder / f"{name}{written_as.suffix}", name, rows, chosen)
        yield name, rows.height


def _parquet(path: Path, _: str, rows: pl.DataFrame, chosen: State) -> None:
    """Write a file, aside and renamed; its metadata identify its state."""
    with disk.replacing(path) as unfinished, unfinished.open("wb") as file:  # Polars takes no path that is not UTF-8
        rows.write_parquet(file, compression="zstd", metadata=chosen.labels)


def _delta(path: Path, name: str, rows: pl.DataFrame, chosen: State) -> None:
    """Write a Delta table, as a new version if there is one; the version's metadata identify its state."""
    from deltalake import CommitProperties, write_deltalake  # noqa: PLC0415 - an optional extra

    write_deltalake(
        path,
        rows.to_arrow(compat_level=pl.CompatLevel.oldest()),
        mode="overwrite",
        schema_mode="overwrite",
        name=name,
        description=TABLES[name].description,
        commit_properties=CommitProperties(custom_metadata=chosen.labels),
    )


FORMATS: Final = {
    "parquet": Format(suffix=".parquet", write=_parquet),
    "delta": Format(suffix="", write=_delta),
}
"""Formats by name."""
