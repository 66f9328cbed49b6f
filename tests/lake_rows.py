"""Events, tables and commits made up for the tests of the store: every row says which plan it belongs to."""

import multiprocessing
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import polars as pl

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import commits
from memory_pipeline.ledger.commits import Commit
from memory_pipeline.ledger.event import Event
from memory_pipeline.ledger.ledger import Ledger, Revert
from memory_pipeline.ledger.payloads import Accessed, Stored, Updated
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy

PROCESSES = multiprocessing.get_context("forkserver")
"""Starts the tests' processes: forked from one that has the libraries loaded and no threads."""
PROCESSES.set_forkserver_preload(["memory_pipeline.lake.tables", "pytest", "hypothesis"])

T0 = datetime(2026, 1, 1, tzinfo=UTC)
REPLACED = [name for name, table in TABLES.items() if table.write_mode == "replaced"]
ACCUMULATED = [name for name, table in TABLES.items() if table.write_mode == "accumulated"]
POLICY = Policy()


def files_of(lake: Lake, table: str, seq: int | None = None) -> list[Path]:
    """Return the files of a table whose lake is in the data folder."""
    return [lake.home / key for key in lake.keys(table, seq)]


def stored(number: int, *, profile_id: str = "ana", origin: str = "e") -> Event:
    """The n-th memory of a profile."""
    return Event(
        event_id=f"{origin}-{profile_id}-{number}",
        profile_id=profile_id,
        event_type=EventType.STORED,
        occurred_at=T0 + timedelta(minutes=number),
        recorded_at=T0 + timedelta(minutes=number),
        memory_id=f"m{number}",
        session_id=f"s{number // 10}",
        payload=Stored(content=f"Fact number {number} of {profile_id}.", tags=("a", "b"), importance=0.5),
    )


def batch(count: int, *, profile_id: str = "ana", origin: str = "e") -> list[Event]:
    """The first memories of a profile."""
    return [stored(number, profile_id=profile_id, origin=origin) for number in range(count)]


def updated(event_id: str, *, profile_id: str = "ana") -> Event:
    """A change of the first memory."""
    return Event(
        event_id=event_id,
        profile_id=profile_id,
        event_type=EventType.UPDATED,
        occurred_at=T0,
        recorded_at=T0,
        memory_id="m0",
        payload=Updated(content="It is otherwise."),
    )


def accessed(event_id: str, *memory_ids: str, occurred_at: datetime, recorded_at: datetime) -> Event:
    """A recall of some memories."""
    return Event(
        event_id=event_id,
        profile_id="ana",
        event_type=EventType.ACCESSED,
        occurred_at=occurred_at,
        recorded_at=recorded_at,
        payload=Accessed(memory_ids=memory_ids, query="which?"),
    )


@cache
def rows(table: str, profile_id: str, plan_id: str, count: int = 2) -> pl.DataFrame:
    """Rows of a table whose every text says `plan_id`."""
    kept = TABLES[table]
    types = kept.empty().schema
    names = [f"{plan_id}/{number}" for number in range(count)]
    return kept.conform(
        pl.DataFrame(
            {
                name: [profile_id] * count
                if name == "profile_id"
                else names
                if name in kept.key and kind == pl.String
                else [kept.version] * count
                if name == "parser"
                else [*range(1, count + 1)]
                if name in kept.key and kind == pl.Int64
                else [_value(kind, plan_id)] * count
                for name, kind in types.items()
            },
            schema=types,
        )
    )


def _value(kind: pl.DataType, plan_id: str) -> object:
    if kind == pl.String:
        return plan_id
    if isinstance(kind, pl.List):
        return [_value(kind.inner, plan_id)]  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return {field.name: _value(field.dtype, plan_id) for field in kind.fields}  # type: ignore[arg-type]
    if kind == pl.Boolean:
        return False
    if isinstance(kind, pl.Datetime):
        return T0
    return 1 if kind.is_integer() else 0.5


def profiles(
    heads: Mapping[str, int], plan_id: str, *, as_of: datetime = T0, seq: int = 0, task: str = "full"
) -> pl.DataFrame:
    """Who takes part in a run, from which head."""
    own = sorted(heads)
    return TABLES["profiles"].conform(
        pl.concat([rows("profiles", profile_id, plan_id, 1) for profile_id in own]).with_columns(
            head=pl.Series([heads[profile_id] for profile_id in own], dtype=pl.Int64),
            as_of=pl.lit(as_of),
            seq=pl.lit(seq, pl.Int64),
            task=pl.lit(task),
            policy_hash=pl.lit(POLICY.digest),
        )
    )


def plan(own: Sequence[str], plan_id: str, *, as_of: datetime = T0, decided: int = 1, held: int = 0) -> pl.DataFrame:
    """Decisions of a plan."""
    frames = [
        rows("decisions", profile_id, plan_id, decided + held).with_columns(
            decision_id=pl.format("{}/{}", pl.lit(plan_id), pl.int_range(pl.len())),
            as_of=pl.lit(as_of),
            seq=pl.lit(0, pl.Int64),
            status=pl.when(pl.int_range(pl.len()) < decided).then(pl.lit("proposed")).otherwise(pl.lit("held")),
        )
        for profile_id in own
    ]
    return TABLES["decisions"].conform(pl.concat(frames))


def tables(
    own: Sequence[str], plan_id: str, count: int = 2, *, names: Sequence[str] = (*REPLACED, *ACCUMULATED)
) -> dict[str, pl.DataFrame]:
    """New rows of some profiles for every table that a commit writes, or those named."""
    return {name: pl.concat([rows(name, profile_id, plan_id, count) for profile_id in own]) for name in names}


def commit_of(
    lake: Lake,
    own: Sequence[str],
    plan_id: str,
    *,
    as_of: datetime = T0,
    heads: Mapping[str, int] | None = None,
    count: int = 2,
    decided: int = 1,
    held: int = 0,
) -> Commit:
    """A commit of some profiles, from their present heads unless others are given."""
    return Commit(
        profiles=profiles(
            lake.ledger.heads(own) if heads is None else heads, plan_id, as_of=as_of, seq=lake.ledger.position()
        ),
        decisions=plan(own, plan_id, as_of=as_of, decided=decided, held=held),
        tables=tables(own, plan_id, count),
        policies={POLICY.digest: POLICY},
        live=dict.fromkeys(own, 7),
        run_id=f"run-{plan_id}",
        started_at=T0,
        committed_at=T0 + timedelta(seconds=3),
    )


def plans_seen(lake: Lake, seq: int) -> dict[str, set[str]]:
    """Plans that the rows of each profile say they belong to, over all replaced tables as of a position."""
    seen: dict[str, set[str]] = {}
    for name in REPLACED:
        frame = lake.read(name, seq=seq)
        text = next(column for column in reversed(frame.columns) if frame.schema[column] == pl.String)
        for profile_id, value in frame.select("profile_id", text).unique().iter_rows():
            seen.setdefault(profile_id, set()).add(value.partition("/")[0])
        for profile_id in set(seen) - set(frame["profile_id"]):
            seen[profile_id].add(f"no rows in {name}")
    return seen


def revert(ledger: Ledger, profile_id: str, decision_ids: list[str], **options) -> int:
    """Mask decisions of a profile and return the position of the undo."""
    undo = Revert(profile_id=profile_id, decision_ids=decision_ids, **options)
    with ledger.writing() as transaction:
        return commits.undo(transaction, [undo])[profile_id]
