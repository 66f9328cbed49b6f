"""The reflection sensor: enough of importance was stored since the last committed reflection."""

import dagster as dg

from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.lake import status
from memory_pipeline.sensors.requests import in_flight
from memory_pipeline.settings import Settings


def sensor(settings: Settings) -> dg.SensorDefinition:
    """Make the sensor that requests the job `reflect` for the profiles that crossed their threshold."""

    @dg.sensor(
        name="reflection",
        job_name="reflect",
        minimum_interval_seconds=settings.sensor_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Fires when the importance stored since the last committed reflection exceeds its threshold.",
    )
    def evaluate(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.RunRequest | dg.SkipReason:
        if running := in_flight(context.instance, "reflect"):
            return dg.SkipReason(f"run {running} is still reflecting")
        due = status.unreflected(store.lake, store.settings)
        if due.is_empty():
            return dg.SkipReason("no profile has crossed its reflection threshold")
        run = Run(profiles=due["profile_id"].to_list(), task="reflect", trigger="sensor")
        return dg.RunRequest(run_config=dg.RunConfig(resources={"run": run}))

    return evaluate
