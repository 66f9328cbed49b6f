"""Decides when a run is due, from tables of activity and of past runs.

Every rule counts what happened since the last successful run, never since the last requested one, so a failed run is
due again, and one run catches up with any backlog. Not here: how the counts are read (`runs/due_work.py`), and what
checks and launches (`sensors/`, `jobs/`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import counted
from memory_pipeline.schemas import INSTANT
from memory_pipeline.settings import Policy, next_tick

NIGHT_GRACE: Final = timedelta(minutes=15)
"""Delay after the nightly schedule's tick before a missed or failed nightly run is due."""

DAY: Final = 86_400

TASKS: Final = ("full", "reflect", "lightweight", "tick", "decay", "creative", "cluster", "forget", "promote")
"""Tasks whose last successful run is tracked."""

INTERVALS: Final[Mapping[str, str]] = {
    "full": "reconsolidate_interval_seconds",
    "promote": "promote_interval_seconds",
    "decay": "decay_interval_seconds",
    "creative": "creative_interval_seconds",
    "cluster": "cluster_interval_seconds",
    "forget": "forget_interval_seconds",
}
"""Tasks with an interval of their own, and the setting that holds it."""

THROUGHPUT: Final = 200.0
"""Assumed memories per second until a run was measured."""

MEASURED_RUNS: Final = 10
"""Number of latest runs used to measure the throughput."""

_SWITCHES: Final = (
    "enabled",
    "nightly_run",
    "reflection",
    "reflection_threshold",
    "session_trigger",
    "scheduled_sessions",
    "step_count_trigger",
    "idle_timeout_seconds",
    "ingestion_cycles",
)

DUE: Final = pl.Schema(
    {"profile_id": pl.String(), "trigger": pl.String(), "task": pl.String(), "reason": pl.String(), "since": INSTANT}
)
"""Columns of what is due: profile, rule, task, a one-sentence reason, and the as_of of the task's last run (null:
none)."""

PROGRESS: Final = pl.Schema({"profile_id": pl.String(), "task": pl.String(), "as_of": INSTANT, "base_seq": pl.Int64()})
"""Last successful run of each task: its as_of, and the ledger position it read up to."""

ACTIVITY: Final = pl.Schema(
    {
        "profile_id": pl.String(),
        "first_event_at": INSTANT,
        "last_event_at": INSTANT,
        "untouched": pl.Int64(),
        "stored": pl.Int64(),
        "sessions_ended": pl.Int64(),
        "sessions_seen": pl.Int64(),
        "batches": pl.Int64(),
        "importance_score": pl.Float64(),
    }
)
"""Activity of agents, one row per profile with a memory; the pipeline's own events never count.

`first_event_at` and `last_event_at` are when the ledger received the first and the last event. `untouched` (events of
any kind) and `stored` (memories) count since the last lightweight or full run, `sessions_ended` and `sessions_seen`
(distinct sessions) since the last full run, `batches` (accepted batches of memories) since the last tick or full run,
`importance_score` (summed over originals by ledger position) since the last reflection or full run."""


@dataclass(frozen=True)
class _Rule:
    """One reason for a run."""

    trigger: str
    task: str
    holds: pl.Expr
    reason: pl.Expr


def due(
    activity: pl.DataFrame,
    progress: pl.DataFrame,
    policies: Mapping[str, Policy],
    *,
    now: datetime,
    night: datetime | None = None,
) -> pl.DataFrame:
    """Return the runs that are due now: `DUE`, sorted by profile and trigger.

    A full run does the work of every other task, so where one is due, nothing else is reported with it. Nothing is due
    for a profile without a policy or with `enabled` off. `night` is the last tick of the nightly schedule at or before
    `now`, in the time zone of the schedule; None: none.
    """
    state = (
        activity.match_to_schema(ACTIVITY)
        .join(_switches(policies), on="profile_id")
        .filter("enabled")
        .join(_settled(progress), on="profile_id", how="left")
    )
    matches = [
        state.filter(rule.holds.fill_null(value=False)).select(
            "profile_id",
            trigger=pl.lit(rule.trigger),
            task=pl.lit(rule.task),
            reason=rule.reason,
            since=_last(rule.task) if rule.task in TASKS else pl.lit(None, INSTANT),
        )
        for rule in _rules(now, night)
    ]
    candidates = pl.concat([DUE.to_frame(), *matches])
    full = candidates.filter(pl.col("task") == "full").select("profile_id").unique()
    lesser = candidates.filter(pl.col("task") != "full")
    reported = candidates.join(lesser.join(full, on="profile_id", how="semi"), on=["profile_id", "trigger"], how="anti")
    return reported.sort("profile_id", "trigger")


def reflection(memories: pl.DataFrame, reflected: Mapping[str, int], *, threshold: float) -> pl.DataFrame:
    """Return profiles that stored over `threshold` importance since the last reflection (ADR-0008; Park et al., 2023).

    Counts `importance` (0..1) times 10 of originals after the ledger position up to which each profile was reflected on
    (0 if missing), so that a reflection never triggers the next one. Returns profile_id, importance_score (rounded to
    six decimals, so that float noise cannot exceed the threshold) and memories (count), sorted by profile.
    """
    since = pl.col("profile_id").replace_strict(dict(reflected), default=0, return_dtype=pl.Int64)
    return (
        memories.filter((pl.col("kind") == "original") & (pl.col("seq") > since))
        .sort("profile_id", "seq")
        .group_by("profile_id", maintain_order=True)
        .agg(
            importance_score=(10.0 * pl.col("importance")).sum().round(6),
            memories=pl.len().cast(pl.Int64),
        )
        .filter(pl.col("importance_score") > threshold)
    )


def settled_by(task: str) -> tuple[str, ...]:
    """Return the tasks whose success counts as a run of `task`: itself, and a full run."""
    return ("full",) if task == "full" else (task, "full")


def interval(policy: Policy, task: str) -> int:
    """Return the seconds after which a task is due on its own; 0 means never.

    The nightly run performs every task, so with it an interval of a day or more triggers no separate run.
    """
    seconds = int(getattr(policy, INTERVALS[task])) if task in INTERVALS else 0
    return 0 if policy.nightly_run and seconds >= DAY else seconds


def next_due(last: datetime | None, interval_seconds: int, now: datetime) -> datetime | None:
    """Return when a task is next due: None for interval 0 (never), `now` if it never ran or is overdue.

    One run catches up with any number of missed intervals.
    """
    if interval_seconds == 0:
        return None
    return now if last is None else max(now, last + timedelta(seconds=interval_seconds))


def last_tick(expression: str, timezone: str, now: datetime) -> datetime | None:
    """Return the last instant at or before `now` that a cron expression names in a time zone; None if none does."""
    for days in (1, 8, 32, 367, 366 * 8 + 2):
        tick = next_tick(expression, timezone, now - timedelta(days=days))
        if tick is not None and tick <= now:
            while (later := next_tick(expression, timezone, tick)) is not None and later <= now:
                tick = later
            return tick
    return None


def row_limit(budget_seconds: int, runs: pl.DataFrame) -> int | None:
    """Return how many memories a run can process within its time budget; None: no limit, as for a budget of 0.

    Throughput is measured over the last ten of `consolidation_runs` that did something, all profiles together, so long
    runs weigh most.
    """
    if budget_seconds == 0:
        return None
    measured = (
        runs.group_by("run_id")
        .agg(pl.col("memories").sum(), pl.col("duration_seconds").max(), pl.col("committed_at").max())
        .filter((pl.col("memories") > 0) & (pl.col("duration_seconds") > 0))
        .sort("committed_at", "run_id")
        .tail(MEASURED_RUNS)
    )
    memories, seconds = measured.select(pl.sum("memories", "duration_seconds")).row(0)
    return max(1, int(budget_seconds * (memories / seconds if seconds else THROUGHPUT)))


def _rules(now: datetime, night: datetime | None) -> Iterable[_Rule]:
    """Return all rules, as expressions over the joined rows of `due`."""
    pause, present = pl.duration(seconds="idle_timeout_seconds"), pl.lit(now, INSTANT)
    every, ended, cycles = pl.col("scheduled_sessions"), pl.col("sessions_ended"), pl.col("ingestion_cycles")
    step, stored, batches = pl.col("step_count_trigger"), pl.col("stored"), pl.col("batches")
    # A session is over when an event says so, or when another has begun.
    over = (ended >= every) | (pl.col("sessions_seen") > every)
    score, threshold = pl.col("importance_score"), pl.col("reflection_threshold")
    yield _Rule(
        "session_end",
        "full",
        pl.col("session_trigger") & (ended > 0),
        pl.format("{} ended since the last full run", counted(ended, "session", "sessions")),
    )
    yield _Rule(
        "sessions",
        "full",
        (every > 0) & over,
        pl.format(
            "{} since the last full run (threshold {})",
            counted(pl.max_horizontal(ended, "sessions_seen"), "session", "sessions"),
            every,
        ),
    )
    yield _Rule(
        "idle",
        "lightweight",
        (pl.col("idle_timeout_seconds") > 0) & (pl.col("untouched") > 0) & (present - pl.col("last_event_at") >= pause),
        pl.format("something new waits, and nothing has come for {}", _length(pl.col("idle_timeout_seconds"))),
    )
    yield _Rule(
        "steps",
        "lightweight",
        (step > 0) & (stored >= step),
        pl.format(
            "{} stored since the last lightweight run (threshold {})", counted(stored, "memory", "memories"), step
        ),
    )
    yield _Rule(
        "ingestion",
        "tick",
        (cycles > 0) & (batches >= cycles),
        pl.format("{} of memories since the last tick (threshold {})", counted(batches, "batch", "batches"), cycles),
    )
    yield _Rule(
        "reflection",
        "reflect",
        pl.col("reflection") & (score > threshold),
        pl.format("importance {} stored since the last reflection (threshold {})", score.round(1), threshold.round(1)),
    )
    yield from _timed(present, night)


def _timed(present: pl.Expr, night: datetime | None) -> Iterable[_Rule]:
    """Return rules that depend on time alone."""
    if night is not None:
        tick = pl.lit(night.astimezone(UTC), INSTANT)
        missed = pl.coalesce(_last("full"), "first_event_at") < tick
        late = pl.col("nightly_run") & missed & (present - tick >= NIGHT_GRACE)
        yield _Rule("nightly", "full", late, pl.lit(f"the nightly run of {night:%Y-%m-%d %H:%M %Z} has not run yet"))
    for task in INTERVALS:
        seconds, last = pl.col(f"{task}_interval"), _last(task)
        over = last.is_null() | (present - last >= pl.duration(seconds=seconds))
        yield _Rule(
            "interval" if task == "full" else task,
            task,
            (seconds > 0) & over,
            pl.format("{} is due every {}", pl.lit(task), _length(seconds)),
        )


def _length(seconds: pl.Expr) -> pl.Expr:
    """Return a number of seconds in words, in the largest unit of which it is a whole number."""
    said = counted(seconds, "second", "seconds")
    for unit, name in ((60, "minute"), (3_600, "hour"), (DAY, "day")):
        said = pl.when(seconds % unit == 0).then(counted(seconds // unit, name, f"{name}s")).otherwise(said)
    return said


def _last(task: str) -> pl.Expr:
    """Return the as_of of the last run that counts as `task`."""
    return pl.max_horizontal(f"{settler}_at" for settler in settled_by(task))


def _switches(policies: Mapping[str, Policy]) -> pl.DataFrame:
    """Return the settings of the policies that concern triggers, one row per profile."""
    rows = [
        {"profile_id": profile_id}
        | {name: getattr(policy, name) for name in _SWITCHES}
        | {f"{task}_interval": interval(policy, task) for task in INTERVALS}
        for profile_id, policy in policies.items()
    ]
    flags = {"enabled", "nightly_run", "reflection", "session_trigger"}
    types: dict[str, pl.DataType] = {"profile_id": pl.String()}
    types |= {name: pl.Boolean() if name in flags else pl.Int64() for name in _SWITCHES}
    types |= {"reflection_threshold": pl.Float64()} | {f"{task}_interval": pl.Int64() for task in INTERVALS}
    return pl.DataFrame(rows, schema=types)


def _settled(progress: pl.DataFrame) -> pl.DataFrame:
    """Return the as_of of the last run of each task, one row per profile."""
    return (
        progress.match_to_schema(PROGRESS)
        .group_by("profile_id")
        .agg(pl.col("as_of").filter(pl.col("task") == task).max().alias(f"{task}_at") for task in TASKS)
    )
