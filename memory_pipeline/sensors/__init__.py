"""Sensors: each asks a pure function of `consolidation.triggers` whether something is due, and yields requests."""

from collections.abc import Sequence

import dagster as dg

from memory_pipeline.sensors import arrivals, reflection
from memory_pipeline.settings import Settings


def sensors(settings: Settings) -> Sequence[dg.SensorDefinition]:
    """Make every sensor for a deployment."""
    return [arrivals.sensor(settings), reflection.sensor(settings)]
