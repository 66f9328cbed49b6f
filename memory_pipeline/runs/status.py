"""The store described for a person: how far each profile has come, what ran last, what is due, what waits."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.consolidation import triggers
from memory_pipeline.runs import due_work
from memory_pipeline.ledger.database import EVENTS
from memory_pipeline.ledger.event import PIPELINE
from memory_pipeline.schemas import INSTANT, LIVE
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.validation_errors import nearest
from memory_pipeline.settings import Policy, Settings, next_tick

TASKS: Final = ("decay", "creative", "cluster", "forget")
"""AutoMem's tasks, in order."""

REFLECTING: Final = ("full", "reflect")
"""Tasks that count as a reflection."""


def progress(lake: Lake) -> pl.DataFrame:
    """How far runs have come, one row a profile with a committed run.

    Returns:
        `profile_id`, `last_as_of`, `commit_seq`, and `reflected_seq`, the position up to which it was reflected on.
    """
    runs = lake.ledger.runs().filter(pl.col("outcome") != "reverted")
    reflected = pl.col("base_seq").filter(pl.col("task").is_in(REFLECTING))
    return (
        runs.group_by("profile_id")
        .agg(
            last_as_of=pl.col("as_of").max(),
            commit_seq=pl.col("commit_seq").max(),
            reflected_seq=reflected.max().fill_null(0),
        )
        .sort("profile_id")
    )


def summary(lake: Lake, settings: Settings, *, now: datetime, profile_id: str | None = None) -> dict[str, Any]:
    """Describe the store for a person: profiles, what waits, what ran last, what is due next.

    Args:
        lake: the store.
        settings: schedules, and the policy of each profile.
        now: the present.
        profile_id: whose; default all. What is due is told by this profile's policy, else by the common one.

    Returns:
        See `docs/json.md`, at `status`.

    Raises:
        ValueError: the profile has no memory.

    Cost: one pass over an index of the ledger, and the columns of two tables.
    """
    profiles = lake.ledger.profiles().filter(pl.col("memories") > 0)
    if profile_id is not None:
        known = profiles["profile_id"].to_list()
        profiles = profiles.filter(pl.col("profile_id") == profile_id)
        if profiles.is_empty():
            remedy = nearest(profile_id, known) if known else "nothing is remembered yet"
            raise ValueError(f"profile {profile_id!r} has no memory; {remedy}")
    runs = lake.ledger.runs(profiles["profile_id"].to_list()).sort("commit_seq", descending=True)
    standing = runs.filter(pl.col("outcome") != "reverted")
    due = due_work.due(lake, settings, now=now)
    rows = [
        row
        | {
            "preset": policy.preset,
            "enabled": policy.enabled,
            "tasks": _tasks(runs.filter(profile_id=row["profile_id"]), settings, policy, now),
            "due": due.filter(profile_id=row["profile_id"]).select("trigger", "task", "reason").to_dicts(),
        }
        for row in _profiles(lake, profiles, standing).iter_rows(named=True)
        if (policy := settings.policy_of(row["profile_id"]))
    ]
    policy = settings.policy_of(profile_id or "")
    tasks = _tasks(runs, settings, policy, now)
    oldest = min((row["waiting_since"] for row in rows if row["waiting_since"]), default=None)
    return {
        "home": str(lake.home),
        "profiles": rows,
        **{f"last_{row['task']}": row["last"] for row in tasks if row["task"] in TASKS},
        "tasks": tasks,
        "history": [_ran(row) for row in runs.head(policy.history_limit).iter_rows(named=True)],
        "position": lake.ledger.position(),
        "waiting_seconds": max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        "dead_letters": lake.ledger.dead_letters().height,
        "disk_bytes": disk_bytes(lake.home),
    }


def disk_bytes(home: Path) -> int:
    """Bytes that a data folder takes, Dagster's own storage included; a hard-linked file counts once."""
    sizes = {}
    for path in home.rglob("*"):
        with suppress(FileNotFoundError):  # what a run or a sweep removes meanwhile
            if path.is_file():
                stat = path.lstat()
                sizes[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(sizes.values())


def _profiles(lake: Lake, profiles: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """One row a profile: what it has, how far it has come, and what waits since when."""
    own = profiles["profile_id"].to_list()
    live = (
        lake.read("memories", profiles=own, columns=["profile_id", "lifecycle"])
        .group_by("profile_id")
        .agg(live=pl.col("lifecycle").is_in(LIVE).sum().cast(pl.Int64))
    )
    come = runs.group_by("profile_id").agg(last_as_of=pl.col("as_of").max(), base_seq=pl.col("base_seq").max())
    rows = profiles.join(live, on="profile_id", how="left").join(come, on="profile_id", how="left")
    after = rows.select("profile_id", pl.col("base_seq").fill_null(0)).iter_rows()
    waiting = pl.DataFrame(
        [(profile_id, *_waiting(lake, profile_id, seq)) for profile_id, seq in after],
        schema={"profile_id": pl.String, "waiting": pl.Int64, "waiting_since": pl.Int64},
        orient="row",
    )
    return (
        rows.join(waiting, on="profile_id")
        .with_columns(pl.col("waiting_since").cast(INSTANT))
        .select("profile_id", "memories", "live", "last_as_of", "waiting", "waiting_since")
        .sort("profile_id")
    )


def _waiting(lake: Lake, profile_id: str, after: int) -> tuple[int, int | None]:
    """How many events of a profile came after a position, and when the first of them was recorded, in microseconds."""
    query = sa.select(sa.func.count(), sa.func.min(EVENTS.c.recorded_at)).where(
        EVENTS.c.profile_id == profile_id, EVENTS.c.seq > after, EVENTS.c.event_type.not_in(PIPELINE)
    )
    with lake.ledger.reading() as connection:
        count, since = connection.execute(query).one()
    return count, since


def _ran(run: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a run, in AutoMem's names where it has one."""
    return {
        "task": run["task"],
        "ran_at": run["committed_at"],
        "memories_processed": run["memories"],
        "duration_seconds": run["duration_seconds"],
        **{name: run[name] for name in ("profile_id", "as_of", "plan_id", "run_id", "scope", "outcome")},
    }


def _tasks(runs: pl.DataFrame, settings: Settings, policy: Policy, now: datetime) -> list[dict[str, Any]]:
    """Say of each task when it was last done and stands, and when time alone calls for it again.

    A run that was undone no longer stands, but still counts for what is due: an undo is no reason to run again.
    """
    standing = runs.filter(pl.col("outcome") != "reverted")
    return [
        {"task": task, "last": _last(standing, task), "next_due": _next_due(task, runs, settings, policy, now)}
        for task in triggers.TASKS
    ]


def _last(runs: pl.DataFrame, task: str) -> datetime | None:
    """Clock of the last run that did a task; a full run does them all."""
    done = pl.col("task").is_in(triggers.settled_by(task))
    last: datetime | None = runs.filter(done).select(pl.col("as_of").max()).item()
    return last


def _next_due(task: str, runs: pl.DataFrame, settings: Settings, policy: Policy, now: datetime) -> datetime | None:
    """When a task is next due: by its own interval, or with the next full run, whichever comes first."""
    if not policy.enabled:
        return None
    ways = [
        triggers.next_due(_last(runs, one), triggers.interval(policy, one), now) for one in triggers.settled_by(task)
    ]
    if policy.nightly_run:
        ways.append(next_tick(settings.nightly, settings.timezone, now))
    return min((way for way in ways if way is not None), default=None)
