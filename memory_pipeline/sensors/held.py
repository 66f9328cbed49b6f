"""The sensor for held profiles: logs which profiles a successful run held back, and posts them to `alert_url`."""

from pathlib import Path
from typing import Any

import dagster as dg

from memory_pipeline.assets.namespace import is_own
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import log
from memory_pipeline.runs import status as run_status
from memory_pipeline.sensors.failures import Automation


def sensor(automation: Automation) -> dg.SensorDefinition:
    """Make the sensor that reports every profile whose plan a run held back."""

    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.SUCCESS,
        **automation.of_sensor("held"),
        description="Logs each profile that the quota held back in a run, and posts it as JSON to alert_url, if set.",
    )
    def evaluate(context: dg.RunStatusSensorContext) -> None:
        if not is_own(context.dagster_run, automation.names):
            return
        with automation.ticking(context.log, "held"):
            found = document(context.dagster_run, automation.settings.home)
        for profile in found["held"]:
            context.log.warning("[consolidation] %s: %s", profile["profile_id"], profile["reason"])
        if found["held"]:
            automation.alert(context.log, found)

    return evaluate


def document(run: dg.DagsterRun, home: Path) -> dict[str, Any]:
    """Return `job`, `run_id`, and `held`: profile_id, decisions and reason of each profile that the run held back."""
    with Lake(home) as lake:
        rows = run_status.held(lake).filter(run_id=run.run_id)
    held = [
        {
            "profile_id": row["profile_id"],
            "decisions": row["held"],
            "reason": log.held_notice(row["profile_id"], row["held"]),
        }
        for row in rows.iter_rows(named=True)
    ]
    return {"job": run.job_name, "run_id": run.run_id, "held": held}
