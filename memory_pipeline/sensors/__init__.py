"""Sensors: each checks what is due (`consolidation.triggers`), and requests one run for all due profiles."""

from collections.abc import Sequence

import dagster as dg

from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.sensors import activity, failures, held
from memory_pipeline.sensors.failures import AlertUrl
from memory_pipeline.settings import Settings


def sensors(settings: Settings, names: Namespace, *, start: bool, alert_url: AlertUrl) -> Sequence[dg.SensorDefinition]:
    """Make every sensor; `start` them as soon as Dagster loads them."""
    return [
        activity.projector(settings, names, start=start, alert_url=alert_url),
        *(activity.watcher(watch, settings, names, start=start, alert_url=alert_url) for watch in activity.WATCHES),
        failures.sensor(settings, names, start=start, alert_url=alert_url),
        held.sensor(settings, names, start=start, alert_url=alert_url),
    ]
