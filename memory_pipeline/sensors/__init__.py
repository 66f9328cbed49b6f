"""Sensors: each checks what is due (`consolidation.triggers`), and requests one run for all due profiles."""

from collections.abc import Callable, Sequence

import dagster as dg

from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.sensors import activity, failures, held
from memory_pipeline.settings import Settings


def sensors(
    settings: Settings, names: Namespace, *, start: bool, in_force: Callable[[], Settings]
) -> Sequence[dg.SensorDefinition]:
    """Make every sensor.

    Args:
        settings: the deployment.
        names: the namespace of jobs and resources.
        start: start them as soon as Dagster loads them.
        in_force: returns the settings at the time of an evaluation.
    """
    return [
        activity.projector(settings, names, start=start),
        *(activity.watcher(watch, settings, names, start=start) for watch in activity.WATCHES),
        failures.sensor(settings, names, start=start, in_force=in_force),
        held.sensor(settings, names, start=start, in_force=in_force),
    ]
