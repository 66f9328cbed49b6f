"""How far each profile has come: last runs, what waits, what has been stored since the last reflection."""

from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import projection, triggers
from memory_pipeline.lake.schemas import LIVE
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Settings
from memory_pipeline.text import enriching, importance

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


def unreflected(lake: Lake, settings: Settings) -> pl.DataFrame:
    """Profiles in which enough of importance was stored since their last committed reflection.

    Returns:
        `profile_id`, `importance_score` (the sum), `memories`; see `triggers.reflection`. Cost: linear in the events
        since the oldest last reflection.
    """
    reflected = dict(progress(lake).select("profile_id", "reflected_seq").iter_rows())
    since = pl.col("profile_id").replace_strict(reflected, default=0, return_dtype=pl.Int64)
    memories = projection.project(lake.events().filter(pl.col("seq") > since)).memories
    words = enriching.enrich(enriching.texts(memories))
    scored = memories.join(importance.effective(memories, words), on=["profile_id", "memory_id"])
    due = [
        triggers.reflection(own, reflected, threshold=policy.reflection_threshold)
        for (profile_id,), own in scored.group_by(["profile_id"], maintain_order=True)
        if (policy := settings.policy_of(str(profile_id))).reflection
    ]
    return pl.concat(due).sort("profile_id") if due else pl.DataFrame(schema={"profile_id": pl.String})


def summary(lake: Lake, settings: Settings, *, now: datetime, profile_id: str | None = None) -> dict[str, Any]:
    """Describe the store for a person: profiles, what waits, what ran last, what is due next.

    Returns:
        `profiles` (one a profile), `last_decay` ... `last_forget` (last run of each task, as AutoMem names them),
        `history` (newest first: task, ran_at, memories_processed, duration_seconds, profile_id, plan_id, outcome),
        `tasks` (task, last, next_due), `position`, `lag_seconds`, `dead_letters`, `disk_bytes`, `home`.

    Raises:
        ValueError: the profile has no memory.
    """
    ledger = lake.ledger
    profiles = ledger.profiles().filter(pl.col("memories") > 0)
    if profile_id is not None:
        profiles = profiles.filter(pl.col("profile_id") == profile_id)
        if profiles.is_empty():
            raise ValueError(f"profile {profile_id!r} has no memory; `status` without --profile lists those that have")
    own = profiles["profile_id"].to_list()
    runs = ledger.runs(own).sort("commit_seq", descending=True)
    live = (
        lake.read("memories", profiles=own, columns=["profile_id", "lifecycle"])
        .filter(pl.col("lifecycle").is_in(LIVE))
        .group_by("profile_id")
        .len("live")
    )
    rows = profiles.join(live, on="profile_id", how="left").join(progress(lake), on="profile_id", how="left")
    last = {task: _last(runs, task) for task in TASKS}
    waiting = lake.waiting()
    newest: datetime | None = profiles.select(pl.col("last_event_at").max()).item()
    return {
        "home": str(lake.home),
        "profiles": [
            {
                "profile_id": row["profile_id"],
                "preset": settings.policy_of(row["profile_id"]).preset,
                "memories": row["memories"],
                "live": row["live"] or 0,
                "last_as_of": row["last_as_of"],
                "waiting": ledger.waiting(row["commit_seq"] or 0, profile_id=row["profile_id"]),
            }
            for row in rows.iter_rows(named=True)
        ],
        **{f"last_{task}": last[task] for task in TASKS},
        "tasks": [
            {"task": task, "last": last[task], "next_due": _next_due(task, last[task], settings, now)} for task in TASKS
        ],
        "history": [
            {
                "task": row["task"],
                "ran_at": row["committed_at"],
                "memories_processed": row["memories"],
                "duration_seconds": row["duration_seconds"],
                "profile_id": row["profile_id"],
                "plan_id": row["plan_id"],
                "run_id": row["run_id"],
                "outcome": row["outcome"],
            }
            for row in runs.head(settings.policy.history_limit).iter_rows(named=True)
        ],
        "position": ledger.position(),
        "lag_seconds": max(0.0, (now - newest).total_seconds()) if waiting and newest else 0.0,
        "dead_letters": ledger.dead_letters().height,
        "disk_bytes": disk_bytes(lake.home),
    }


def disk_bytes(home: Path) -> int:
    """Bytes that a data folder takes, Dagster's own storage included; a hard-linked file counts once."""
    files = {
        (stat.st_dev, stat.st_ino): stat.st_size
        for path in home.rglob("*")
        if (stat := path.lstat()) and path.is_file()
    }
    return sum(files.values())


def _last(runs: pl.DataFrame, task: str) -> datetime | None:
    """Clock of the last run that did a task; a full run does them all."""
    did = runs.filter(pl.col("task").is_in([task, "full"]) & (pl.col("outcome") != "reverted"))
    last: datetime | None = did.select(pl.col("as_of").max()).item()
    return last


def _next_due(task: str, last: datetime | None, settings: Settings, now: datetime) -> datetime | None:
    return triggers.next_due(last, getattr(settings.policy, f"{task}_interval_seconds"), now)
