"""Describes the store for people: the progress of each profile, the last runs, what is due, what waits."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import scope, triggers
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import activity
from memory_pipeline.ledger.validation_errors import CORRECT_PROFILE
from memory_pipeline.runs import due_work
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings import Policy, Settings, next_tick

TASKS: Final = ("decay", "creative", "cluster", "forget")
"""AutoMem's tasks, in order."""

REFLECTING: Final = ("full", "reflect")
"""Tasks that count as a reflection."""

REFLECTED: Final = (
    pl.col("base_seq")
    .filter(pl.col("task").is_in(REFLECTING) & ~scope.NARROW)
    .max()
    .fill_null(0)
    .alias("reflected_seq")
)
"""Of some runs: the position that the last reflection read up to."""


def progress(lake: Lake) -> pl.DataFrame:
    """Return how far runs have come, one row per profile with a committed run.

    Columns: `profile_id`, `last_as_of`, `commit_seq`, and `reflected_seq`, the position that its last reflection read
    up to.
    """
    runs = lake.ledger.runs().filter(pl.col("outcome") != "reverted")
    return (
        runs.group_by("profile_id")
        .agg(REFLECTED, last_as_of=pl.col("as_of").max(), commit_seq=pl.col("commit_seq").max())
        .select("profile_id", "last_as_of", "commit_seq", "reflected_seq")
        .sort("profile_id")
    )


def held(lake: Lake, profile_id: str | None = None) -> pl.DataFrame:
    """Return the profiles whose last run was held back by the quota: `profile_id`, `held` (decisions) and `run_id`."""
    runs = lake.ledger.runs(None if profile_id is None else [profile_id]).filter(pl.col("outcome") != "reverted")
    last = runs.sort("commit_seq").unique("profile_id", keep="last", maintain_order=True)
    return last.filter(pl.col("held") > 0).select("profile_id", "held", "run_id").sort("profile_id")


def summary(lake: Lake, settings: Settings, *, now: datetime, profile_id: str | None = None) -> dict[str, Any]:
    """Describe the store for people: profiles, what waits, what ran last, what is due next (`docs/json.md`, `status`).

    What is due follows the policy of the given profile, else the common one. Cost: one pass over an index of the
    ledger, and the columns of two tables. Raises ValueError: the profile has no memory.
    """
    profiles = lake.ledger.profiles().filter(pl.col("memories") > 0)
    if profile_id is not None:
        profiles = profiles.filter(pl.col("profile_id") == profile_id)
        if profiles.is_empty():
            raise ValueError(f"profile {profile_id!r} has no memory; {CORRECT_PROFILE}")
    runs = lake.ledger.runs(profiles["profile_id"].to_list()).sort("commit_seq", descending=True)
    whole = runs.filter(~scope.NARROW)
    due = _by_profile(due_work.due(lake, settings, now=now).select("profile_id", "trigger", "task", "reason"))
    held_back = dict(held(lake, profile_id).select("profile_id", "held").iter_rows())
    done = _by_profile(_done(whole, "profile_id", "task"))
    night = next_tick(settings.nightly, settings.timezone, now)
    rows = [
        row
        | {
            "held": held_back.get(row["profile_id"], 0),
            "preset": policy.preset,
            "enabled": policy.enabled,
            "tasks": _tasks(done.get(row["profile_id"], []), policy, now=now, night=night),
            "due": due.get(row["profile_id"], []),
        }
        for row in _profiles(lake, profiles, whole.filter(pl.col("outcome") != "reverted")).iter_rows(named=True)
        if (policy := settings.policy_of(row["profile_id"]))
    ]
    policy = settings.policy_of(profile_id or "")
    tasks = _tasks(_done(whole, "task").to_dicts(), policy, now=now, night=night)
    oldest = min((row["waiting_since"] for row in rows if row["waiting_since"]), default=None)
    return {
        "home": str(lake.home),
        "default_profile": settings.default_profile,
        "profiles": rows,
        **{f"last_{row['task']}": row["last"] for row in tasks if row["task"] in TASKS},
        "tasks": tasks,
        "history": [_run(row) for row in runs.head(policy.history_limit).iter_rows(named=True)],
        "position": lake.ledger.position(),
        "waiting_seconds": max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        "dead_letters": lake.ledger.dead_letters(noise=False).height,
        "disk_bytes": disk_bytes(lake.home),
    }


def disk_bytes(home: Path) -> int:
    """Return the disk use of a data folder in bytes; a hard-linked file counts once, unwritten pages do not count."""
    sizes = {}
    for path in home.rglob("*"):
        with suppress(FileNotFoundError):  # removed by a run or a sweep meanwhile
            if path.is_file():
                stat = path.lstat()
                sizes[stat.st_dev, stat.st_ino] = min(stat.st_size, 512 * int(getattr(stat, "st_blocks", stat.st_size)))
    return sum(sizes.values())


def _profiles(lake: Lake, profiles: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per profile: its memories, how far it has come, and what waits since when."""
    names = profiles["profile_id"].to_list()
    live = (
        lake.read("memories", profiles=names, columns=["profile_id", "lifecycle"])
        .group_by("profile_id")
        .agg(live=pl.col("lifecycle").is_in(LIVE).sum().cast(pl.Int64))
    )
    last = runs.group_by("profile_id").agg(last_as_of=pl.col("as_of").max(), base_seq=pl.col("base_seq").max())
    rows = profiles.join(live, on="profile_id", how="left").join(last, on="profile_id", how="left")
    with lake.ledger.reading() as transaction:
        waiting = activity.waiting(transaction, rows.select("profile_id", pl.col("base_seq").fill_null(0)))
    return (
        rows.join(waiting, on="profile_id")
        .select("profile_id", "memories", "live", "last_as_of", "waiting", "waiting_since")
        .sort("profile_id")
    )


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a run, with AutoMem's names where it has them."""
    return {
        "task": run["task"],
        "ran_at": run["committed_at"],
        "memories_processed": run["memories"],
        "duration_seconds": run["duration_seconds"],
        **{name: run[name] for name in ("profile_id", "as_of", "plan_id", "run_id", "scope", "outcome")},
    }


def _by_profile(rows: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each profile, without its name."""
    parts = rows.partition_by("profile_id", include_key=False, as_dict=True)
    return {str(profile_id): part.to_dicts() for (profile_id,), part in parts.items()}


def _done(runs: pl.DataFrame, *of: str) -> pl.DataFrame:
    """Return the last clock of the runs of each task: `counted`, of all of them, and `last`, of those not undone."""
    last = pl.col("as_of").filter(pl.col("outcome") != "reverted").max()
    return runs.group_by(of).agg(counted=pl.col("as_of").max(), last=last)


def _tasks(
    done: Sequence[Mapping[str, Any]], policy: Policy, *, now: datetime, night: datetime | None
) -> list[dict[str, Any]]:
    """Return for each task when it was last `done` and when it is due again by time alone; `night`: the next full run.

    An undone run is not the last one, but still counts for what is due: an undo is no reason to run again.
    """
    last, counted = ({row["task"]: row[name] for row in done} for name in ("last", "counted"))
    return [
        {"task": task, "last": _latest(last, task), "next_due": _next_due(task, counted, policy, now, night)}
        for task in triggers.TASKS
    ]


def _latest(done: Mapping[str, datetime | None], task: str) -> datetime | None:
    """Return the clock of the last run that did a task; a full run does them all."""
    return max((at for one in triggers.settled_by(task) if (at := done.get(one))), default=None)


def _next_due(
    task: str, done: Mapping[str, datetime | None], policy: Policy, now: datetime, night: datetime | None
) -> datetime | None:
    """Return when a task is next due: by its own interval or with the next full run, whichever comes first."""
    if not policy.enabled:
        return None
    instants = [
        triggers.next_due(_latest(done, settling), triggers.interval(policy, settling), now)
        for settling in triggers.settled_by(task)
    ]
    if policy.nightly_run:
        instants.append(night)
    return min((instant for instant in instants if instant is not None), default=None)
