"""Requests runs: one for all profiles that are due, and one per task at a time.

Not here: when something is due (`consolidation/triggers.py`), and who asks (`activity.py`, `jobs/schedules.py`).
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, cast

import dagster as dg

from memory_pipeline.assets.namespace import Namespace, job_of
from memory_pipeline.assets.resources import Run, Task, store_of
from memory_pipeline.assets.run_tags import TASK, task_of
from memory_pipeline.consolidation import triggers
from memory_pipeline.runs import due_work, live_runs

FINISHED: Final = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
UNFINISHED: Final = tuple(status for status in dg.DagsterRunStatus if status not in FINISHED)

LONGEST_PAUSE: Final = timedelta(hours=1)
"""A task that fails again and again is tried at least this often."""

KILLED: Final = "the process of the run was killed; nothing was half written, request the run again"
"""Reason for a run that is reported as failed because its process was killed."""

_REMEMBERED: Final = 12
"""Number of runs examined: by then the pause has reached its longest."""


def in_flight(instance: dg.DagsterInstance, names: Namespace, *tasks: str) -> str | None:
    """Return the id of a run of one of the tasks that is queued or running, if any.

    Sensors check this instead of setting a run key, which a failed run would use up.
    """
    for job in dict.fromkeys(map(job_of, tasks)):
        runs = instance.get_runs(filters=dg.RunsFilter(job_name=names.name(job), statuses=list(UNFINISHED)))
        for run in runs:
            if task_of(run, names) in tasks:
                return run.run_id
    return None


def end_abandoned(instance: dg.DagsterInstance, home: Path) -> None:
    """Report the runs of killed servers and commands as failed, since other runs wait for them to end.

    Runs that Dagster launched are watched by its own monitoring.
    """
    for run_id in live_runs.abandoned(home):
        run = instance.get_run_by_id(run_id)
        if run is not None and run.status in UNFINISHED:
            instance.report_run_failed(run, KILLED)
        live_runs.forget(home, run_id)


def request(
    context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext,
    names: Namespace,
    task: str,
    rules: Collection[str],
    *,
    clock: datetime | None = None,
) -> dg.RunRequest | dg.SkipReason:
    """Request one run of a task for all profiles to which one of the rules applies, or say why there is none.

    While a run of that task, or a full one, is queued or running, nothing is requested. After a failure the next tick
    tries again; after several in a row, the pause grows and profiles are tried one at a time, so that one that fails
    does not keep the others waiting.

    Args:
        rules: triggers that call for it.
        clock: instant of a schedule's tick, which is the run's own clock; default: the present, and the run's start.
    """
    store = store_of(context, names)
    end_abandoned(context.instance, store.home)
    if running := in_flight(context.instance, names, *triggers.settled_by(task)):
        return dg.SkipReason(f"run {running} has not ended")
    now = clock or datetime.now(UTC)
    found = due_work.due(store.lake, store.settings, now=now)
    found = found.filter(found["trigger"].is_in(list(rules)))
    if found.is_empty():
        return dg.SkipReason("nothing is due")
    failed, last = _failures(context.instance, names, task)
    # Twice as long after each failure in a row.
    again = last + min(LONGEST_PAUSE, timedelta(seconds=store.settings.sensor_seconds * 2 ** max(0, failed - 1)))
    if failed > 1 and datetime.now(UTC) < again:
        return dg.SkipReason(f"{failed} runs failed in a row; the next is tried at {again:%Y-%m-%d %H:%M:%S} UTC")
    profiles = found["profile_id"].unique().sort().to_list()
    if failed > 1:
        profiles = [profiles[failed % len(profiles)]]
    for profile_id, reason in found.select("profile_id", "reason").iter_rows():
        context.log.info("[consolidation] %s is due for %s: %s", task, profile_id, reason)
    run = Run(
        profiles=profiles,
        task=cast("Task", task),
        trigger="schedule" if clock else "sensor",
        as_of=clock.isoformat() if clock else "",
    )
    return dg.RunRequest(
        # Dagster wants a key where one tick requests several runs; the next tick, which tries again, has another.
        run_key=f"{task} {clock.isoformat()}" if clock else None,
        run_config=dg.RunConfig(resources={names.name("run"): run}),
        tags={TASK: task, "memory_pipeline/due": ",".join(found["trigger"].unique().sort())},
    )


def _failures(instance: dg.DagsterInstance, names: Namespace, task: str) -> tuple[int, datetime]:
    """Return how many runs of a task failed since its last success, and when the last of them ended."""
    ended = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    job = job_of(task)
    tags = {} if job == task else {TASK: task}
    records = instance.get_run_records(
        filters=dg.RunsFilter(job_name=names.name(job), statuses=ended, tags=tags), limit=_REMEMBERED
    )
    failed = 0
    while failed < len(records) and records[failed].dagster_run.status == dg.DagsterRunStatus.FAILURE:
        failed += 1
    last = records[0].end_time if failed else None
    return failed, datetime.fromtimestamp(last or 0.0, UTC)
