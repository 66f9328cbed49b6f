"""Schedules: the nightly run, and the tasks that have an interval of their own.

A schedule ticks more often than its task is due, and checks when the last run succeeded: a failed run is due again at
the next tick, and one run makes up for any number of missed ones.
Not here: the schedule of maintenance (`maintenance.py`).
"""

from collections.abc import Sequence
from typing import Final

import dagster as dg

from memory_pipeline.assets.namespace import job_of
from memory_pipeline.assets.resources import Run, store_of
from memory_pipeline.assets.run_tags import SHARD
from memory_pipeline.consolidation import triggers
from memory_pipeline.consolidation.triggers import INTERVALS
from memory_pipeline.runs import due_work, shards
from memory_pipeline.sensors.failures import Automation
from memory_pipeline.sensors.requests import request

LOOKS: Final = 10
"""A schedule ticks at least this often within an interval, but at most once a minute and at least once an hour."""

_MINUTES: Final = (60, 30, 20, 15, 12, 10, 6, 5, 4, 3, 2, 1)
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def schedules(automation: Automation) -> Sequence[dg.ScheduleDefinition]:
    """Make the nightly schedule, and those of full runs and of partial tasks that have an interval."""
    partial = [task for task in INTERVALS if task != "full"]
    return [
        _nightly(automation),
        _intervals("reconsolidate_interval", ["full"], automation),
        _intervals("task_intervals", partial, automation),
    ]


def _nightly(automation: Automation) -> dg.ScheduleDefinition:
    """Make the schedule of the nightly run; its clock is the instant of the tick."""
    names = automation.names

    @dg.schedule(
        **automation.of_schedule("nightly"),
        job_name=names.name("full"),
        cron_schedule=automation.settings.nightly,
        required_resource_keys={names.name("store")},
        description="Consolidates every profile whose policy has a nightly run, as of the instant of the tick; where "
        "the setting `shards` is set, in one run for each shard.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        with automation.ticking(context.log, "nightly"):
            store = store_of(context, names)
            profiles = due_work.profiles(store.lake)["profile_id"]
            policies = {profile_id: store.settings.policy_of(profile_id) for profile_id in profiles}
            chosen = [name for name, policy in policies.items() if policy.enabled and policy.nightly_run]
            if not chosen:
                return dg.SkipReason("no profile with a memory has a nightly run")
            clock = context.scheduled_execution_time.isoformat()
            requests = []
            for number, own in shards.split(chosen, store.settings).items():
                run = Run(profiles=own, as_of=clock, trigger="schedule")
                requests.append(
                    dg.RunRequest(
                        run_key=f"{clock} shard {number}" if store.settings.shards else None,
                        run_config=dg.RunConfig(resources={names.name("run"): run}),
                        tags={SHARD: str(number)} if store.settings.shards else None,
                    )
                )
            return requests

    return schedule


def _intervals(name: str, tasks: Sequence[str], automation: Automation) -> dg.ScheduleDefinition:
    """Make the schedule of tasks with an interval; off where no policy asks for one of them."""
    settings, names = automation.settings, automation.names
    asked = [
        (task, policy.preset, seconds)
        for task in tasks
        for policy in (settings.policy, *settings.profiles.values())
        if policy.enabled and (seconds := triggers.interval(policy, task))
    ]
    every = "; ".join(
        dict.fromkeys(f"{task} every {spoken(seconds)} under preset {preset}" for task, preset, seconds in asked)
    )
    settings_of_tasks = ", ".join(INTERVALS[task] for task in tasks)

    @dg.schedule(
        **automation.of_schedule(name, asked=bool(asked)),
        job_name=names.name(job_of(tasks[0])),
        cron_schedule=_cron(min((seconds for *_, seconds in asked), default=triggers.DAY)),
        required_resource_keys={names.name("store")},
        description=f"Runs {every}." if every else f"Off: no policy sets {settings_of_tasks}.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
        with automation.ticking(context.log, name):
            clock, answers = context.scheduled_execution_time, list[dg.RunRequest | dg.SkipReason]()
            for task in tasks:
                rule = "interval" if task == "full" else task
                answers.append(request(context, names, task, (rule,), clock=clock))
            requested = [answer for answer in answers if isinstance(answer, dg.RunRequest)]
            reasons = dict.fromkeys(str(one.skip_message) for one in answers if isinstance(one, dg.SkipReason))
            return requested or dg.SkipReason("; ".join(reasons))

    return schedule


def spoken(seconds: int) -> str:
    """Return a duration in its largest whole unit."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return unit if seconds == size else f"{seconds // size} {unit}s"


def _cron(seconds: int) -> str:
    """Return the ticks for a task of this interval, as a cron expression."""
    minutes = next((step for step in _MINUTES if step * 60 * LOOKS <= seconds), 1)
    return {60: "0 * * * *", 1: "* * * * *"}.get(minutes, f"*/{minutes} * * * *")
