"""Schedules of the tasks that have an interval of their own, made from the settings.

A schedule looks more often than its task is due, and asks what the last successful run says: a run that failed is due
again at the next look, and however many were missed, one catches up.
What is not here: the nightly run (`consolidation.py`) and the maintenance (`upkeep.py`).
"""

from collections.abc import Sequence
from typing import Final

import dagster as dg

from memory_pipeline.assets.resources import Store
from memory_pipeline.consolidation import triggers
from memory_pipeline.sensors.requests import request
from memory_pipeline.settings import Settings

LOOKS: Final = 10
"""A schedule looks at least this often within an interval, but at most once a minute and at least once an hour."""

_MINUTES: Final = (60, 30, 20, 15, 12, 10, 6, 5, 4, 3, 2, 1)
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def schedules(settings: Settings) -> Sequence[dg.ScheduleDefinition]:
    """Make a schedule for each task that can have an interval; those that no policy asks for are off."""
    return [_schedule(task, settings) for task in triggers.INTERVALS]


def _schedule(task: str, settings: Settings) -> dg.ScheduleDefinition:
    setting = triggers.INTERVALS[task]
    found = {
        policy.preset: seconds
        for policy in (settings.policy, *settings.profiles.values())
        if policy.enabled and (seconds := triggers.interval(policy, task))
    }
    said = "; ".join(f"{spoken(seconds)} under preset {preset}" for preset, seconds in found.items())
    status = dg.DefaultScheduleStatus

    @dg.schedule(
        name=setting.removesuffix("_seconds"),
        job_name=task,
        cron_schedule=_cron(min(found.values(), default=triggers.DAY)),
        execution_timezone=settings.timezone,
        default_status=status.RUNNING if found else status.STOPPED,
        description=f"Runs {task} every {said} ({setting})." if found else f"Off: no policy sets {setting}.",
    )
    def schedule(
        context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
    ) -> dg.RunRequest | dg.SkipReason:
        rule = "interval" if task == "full" else task
        return request(context, store, task, (rule,), clock=context.scheduled_execution_time)

    return schedule


def spoken(seconds: int) -> str:
    """Return a duration in its largest whole unit."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return unit if seconds == size else f"{seconds // size} {unit}s"


def _cron(seconds: int) -> str:
    """Return when to look for a task of this interval."""
    minutes = next((step for step in _MINUTES if step * 60 * LOOKS <= seconds), 1)
    return {60: "0 * * * *", 1: "* * * * *"}.get(minutes, f"*/{minutes} * * * *")
