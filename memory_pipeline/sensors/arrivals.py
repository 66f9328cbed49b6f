"""The arrivals sensor: new events are read and enriched soon after they come."""

from datetime import UTC, datetime

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
    def evaluate(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.RunRequest | dg.SkipReason:
        if running := in_flight(context.instance, "projection"):
            return dg.SkipReason(f"run {running} is still reading events")
        events, accesses = store.lake.waiting()
        now = datetime.now(UTC)
        if not triggers.projection(events, accesses, last=_last(context.instance), now=now):
            return dg.SkipReason(f"{events} new events, {accesses} of them accesses, which wait a little")
        return dg.RunRequest(tags={"memory_pipeline/events": str(events)})

    return evaluate


def _last(instance: dg.DagsterInstance) -> datetime | None:
    """When the job last succeeded."""
    done = instance.get_run_records(
        filters=dg.RunsFilter(job_name="projection", statuses=[dg.DagsterRunStatus.SUCCESS]), limit=1
    )
    return datetime.fromtimestamp(done[0].end_time, UTC) if done and done[0].end_time else None
