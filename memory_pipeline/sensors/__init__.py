"""Sensors: each asks whether something is due (`consolidation.triggers`), and requests one run for all who are."""

from collections.abc import Sequence

import dagster as dg

from memory_pipeline.sensors import activity, failures
from memory_pipeline.settings import Settings


def sensors(settings: Settings) -> Sequence[dg.SensorDefinition]:
    """Make every sensor for a deployment."""
    return [*(activity.sensor(question, settings) for question in activity.QUESTIONS), failures.sensor(settings)]
