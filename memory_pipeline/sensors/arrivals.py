"""The arrivals sensor: new events are read and enriched soon after they come."""

import dagster as dg

from memory_pipeline.assets.resources import Store
from memory_pipeline.consolidation import triggers
from memory_pipeline.sensors.requests import in_flight
from memory_pipeline.settings import Settings


def sensor(settings: Settings) -> dg.SensorDefinition:
    """Make the sensor that requests the job `projection` when the ledger has events the lake has not."""

    @dg.sensor(
        name="arrivals",
        job_name="projection",
        minimum_interval_seconds=settings.sensor_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Reads and enriches new events.",
    )
    def evaluate(context: dg.SensorEvaluationContext, store: Store) -> dg.RunRequest | dg.SkipReason:
        if running := in_flight(context.instance, "projection"):
            return dg.SkipReason(f"run {running} is still reading events")
        waiting = store.lake.waiting()
        if not triggers.projection_due(waiting):
            return dg.SkipReason("no new events")
        return dg.RunRequest(tags={"memory_pipeline/events": str(waiting)})

    return evaluate
