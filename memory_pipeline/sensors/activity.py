"""Sensors for the activity of agents, and the task that each requests.

Tasks that are due by time alone are left to schedules (`jobs/schedules.py`).
"""

from dataclasses import dataclass
from typing import Final

import dagster as dg

from memory_pipeline.assets.namespace import job_of
from memory_pipeline.assets.resources import store_of
from memory_pipeline.sensors.failures import Automation
from memory_pipeline.sensors.requests import request


@dataclass(frozen=True)
class Watch:
    """What a sensor watches for, and the task it requests."""

    name: str
    task: str
    rules: tuple[str, ...]
    """Triggers that call for the task (see `triggers.due`)."""
    description: str


WATCHES: Final = (
    Watch(
        "reflection",
        "reflect",
        ("reflection",),
        "Fires when the importance stored since the last committed reflection exceeds its threshold "
        "(reflection, reflection_threshold).",
    ),
    Watch(
        "sessions",
        "full",
        ("session_end", "sessions", "nightly"),
        "Consolidates when a session ends or after so many sessions (session_trigger, scheduled_sessions), and makes "
        "up for a nightly run that was missed or failed.",
    ),
    Watch(
        "activity",
        "lightweight",
        ("idle", "steps"),
        "Compiles core memory and prunes faded edges once per pause of activity, and after so many new memories "
        "(idle_timeout_seconds, step_count_trigger).",
    ),
    Watch(
        "ingestion",
        "tick",
        ("ingestion",),
        "Lets faded memories go cold and merges groups of them after so many batches of memories (ingestion_cycles).",
    ),
)
"""Every sensor that requests runs."""


def watcher(watch: Watch, automation: Automation) -> dg.SensorDefinition:
    """Make a sensor that requests runs."""
    names = automation.names

    @dg.sensor(
        **automation.of_sensor(watch.name),
        job_name=names.name(job_of(watch.task)),
        required_resource_keys={names.name("store")},
        description=watch.description,
    )
    def evaluate(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        with automation.ticking(context.log, watch.name):
            return request(context, names, watch.task, watch.rules)

    return evaluate


def projector(automation: Automation) -> dg.SensorDefinition:
    """Make the sensor that copies new events into the lake; starts no run, as one per batch would cost too much.

    Readers take what it has not copied yet from the ledger.
    """
    names = automation.names

    @dg.sensor(
        **automation.of_sensor("projection"),
        job_name=names.name("full"),
        required_resource_keys={names.name("store")},
        description="Copies new events from the ledger into the lake, in its own tick; starts no run.",
    )
    def evaluate(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        with automation.ticking(context.log, "projection"):
            lake = store_of(context, names).lake
            waiting, _ = lake.waiting()
            if not waiting:
                return dg.SkipReason("no new events")
            return dg.SkipReason(f"{waiting:,} new events are in the lake, up to position {lake.project()}")

    return evaluate
