"""Starts a Dagster job in this process, on the home's own Dagster instance, so that the run shows in the UI."""

import logging
import os
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Run
from memory_pipeline.definitions import build_defs
from memory_pipeline.settings import Settings

ATTEMPTS = 3
"""Whole runs tried when another run commits first."""


class RunFailed(RuntimeError):
    """A run failed; the message is the reason, the run's events stand in Dagster."""


@dataclass(frozen=True)
class Launched:
    """A finished run."""

    run_id: str
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    failed_checks: tuple[dg.AssetCheckEvaluation, ...] = ()


def dagster_home(home: Path) -> Path:
    """Return the folder of the home's Dagster instance, made ready on first use."""
    folder = home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "dagster.yaml"
    if not config.exists():
        config.write_text((resources.files("memory_pipeline") / "dagster.yaml").read_text("utf-8"), "utf-8")
    return folder


def instance(home: Path) -> dg.DagsterInstance:
    """Open the home's Dagster instance."""
    os.environ.setdefault("DAGSTER_HOME", str(dagster_home(home)))
    return dg.DagsterInstance.from_config(str(dagster_home(home)))


def execute(settings: Settings, job: str, run: Run | None = None, *, ops: dict[str, Any] | None = None) -> Launched:
    """Run a job to its end.

    Args:
        settings: the deployment.
        job: name of the job.
        run: state and task of the run.
        ops: configuration of the job's ops, by name.

    Raises:
        RunFailed: the run failed; says why.
    """
    definitions = build_defs(settings=settings)
    config: dict[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    if run is not None:
        config["resources"] = {"run": {"config": run.model_dump(exclude_defaults=True)}}
    if ops:
        config["ops"] = ops
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    dry = run is not None and run.dry
    with dg.DagsterInstance.ephemeral() if dry else instance(settings.home) as dagster:
        for attempt in range(1, ATTEMPTS + 1):
            result = definitions.resolve_job_def(job).execute_in_process(
                instance=dagster, run_config=config, raise_on_error=False
            )
            if result.success:
                return _launched(result, wanted=("profiles", "consolidation_plan") if dry else ())
            reason, again = _reason(result)
            if not again or attempt == ATTEMPTS:
                raise RunFailed(reason)
    raise AssertionError


def _launched(result: dg.ExecuteInProcessResult, *, wanted: tuple[str, ...]) -> Launched:
    return Launched(
        run_id=result.run_id,
        tables={name: result.asset_value(name) for name in wanted},
        failed_checks=tuple(check for check in result.get_asset_check_evaluations() if not check.passed),
    )


def _reason(result: dg.ExecuteInProcessResult) -> tuple[str, bool]:
    """Why a run failed, in one line, and whether another try can help."""
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            error = failure.error
            while error is not None and error.cause is not None:
                error = error.cause
            text = failure.user_failure_data.description if failure.user_failure_data else None
            message = text or (error.message.strip() if error else "no reason was recorded")
            name = error.cls_name if error else ""
            return message.removeprefix(f"{name}: ").removeprefix(
                "dagster._core.definitions.events.Failure: "
            ), name == "Conflict"
    failed = [check for check in result.get_asset_check_evaluations() if not check.passed and check.blocking]
    if failed:
        return (
            f"check {failed[0].check_name} of {failed[0].asset_key.to_user_string()} failed: {failed[0].description}",
            False,
        )
    return "the run did not finish; see it in the Dagster UI", False
