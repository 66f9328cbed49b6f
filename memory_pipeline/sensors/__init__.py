"""Sensors: each checks what is due (`consolidation.triggers`), and requests one run for all due profiles."""

from collections.abc import Sequence

import dagster as dg

from memory_pipeline.sensors import activity, failures, held
from memory_pipeline.sensors.failures import Automation


def sensors(automation: Automation) -> Sequence[dg.SensorDefinition]:
    """Make every sensor."""
    watchers = (activity.watcher(watch, automation) for watch in activity.WATCHES)
    return [activity.projector(automation), *watchers, failures.sensor(automation), held.sensor(automation)]
