"""Executes Dagster jobs in this process, on the Dagster instance of the data folder, so that runs appear in the UI."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from memory_pipeline.assets.namespace import job_of
from memory_pipeline.assets.resources import Run
from memory_pipeline.assets.run_tags import RETRY, TASK
from memory_pipeline.definitions import build_defs
from memory_pipeline.jobs.consolidation import APPLY
from memory_pipeline.ledger.database import LakeError, database_problem
from memory_pipeline.ledger.disk import private
from memory_pipeline.runs import live_runs
from memory_pipeline.sensors.failures import root_cause
from memory_pipeline.sensors.requests import end_abandoned
from memory_pipeline.service.event_log import kept_open
from memory_pipeline.settings import Settings

_UNKNOWN: Final = "no reason was recorded"
ATTEMPTS: Final = 3
"""Number of whole runs tried while other runs commit first."""
_PASSING: Final = ("full", "disk I/O", "unable to open", "locked", "readonly")
"""In SQLite's messages about a database that is as it should be: only the disk, or the user's rights, are not."""


class RunFailed(RuntimeError):
    """A run failed; the message is the reason, and Dagster has the run's events."""


def dagster_home(home: Path) -> Path:
    """Return the folder of the data folder's Dagster instance; create and configure it on first use."""
    folder = private(home) / "dagster"
    folder.mkdir(exist_ok=True)
    config = folder / "dagster.yaml"
    if not config.exists():
        config.write_text((resources.files("memory_pipeline") / "dagster.yaml").read_text("utf-8"), "utf-8")
    return folder


def instance(home: Path) -> AbstractContextManager[dg.DagsterInstance]:
    """Open the Dagster instance of the data folder, which is created on first use; see `opened`."""
    return opened(dagster_home(home))


@contextmanager
def opened(folder: Path) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance of a folder; LakeError, if its databases are damaged or the disk is full."""
    try:
        with dg.DagsterInstance.from_ref(kept_open(InstanceRef.from_dir(str(folder)))) as dagster:
            yield dagster
    except Exception as error:
        if (problem := database_problem(error)) is None:
            raise
        remedy = (
            "free some disk space, see whether this user may write there, then try again"
            if any(passing in problem for passing in _PASSING)
            else "move the folder away; run history is lost, memories are not, and the next run begins a new one"
        )
        raise LakeError(f"{folder}: its databases cannot be read: {problem}; {remedy}") from error


def execute(settings: Settings, task: str, run: Run | None = None, *, run_id: str | None = None) -> str:
    """Execute a task, or a job such as `apply`, on the Dagster instance of the data folder; return the id of its run.

    Args:
        run_id: id of the first attempt; None: a new one, as for every later attempt.

    Raises:
        RunFailed: the run failed; the message is the reason.
    """
    run = run or Run()
    definition = build_defs(settings=settings, key_prefix="").resolve_job_def(job_of(task))
    given = run.model_dump(exclude_defaults=True)
    config: dict[str, Any] = {
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        "resources": {"run": {"config": given}},
    }
    if task == APPLY:
        config = {name: given[name] for name in ("plan_file", "without", "trigger", "preset") if name in given} | {
            "log_level": "CRITICAL"
        }
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    with instance(settings.home) as dagster:
        end_abandoned(dagster, settings.home)
        for attempts_left in reversed(range(ATTEMPTS)):
            attempt_id = run_id if run_id and attempts_left == ATTEMPTS - 1 else str(uuid4())
            with live_runs.held(settings.home, attempt_id):
                result = definition.execute_in_process(
                    instance=dagster,
                    run_config=config,
                    raise_on_error=False,
                    run_id=attempt_id,
                    tags={} if task == APPLY else {TASK: task},
                )
            if result.success or not (attempts_left and _lost_race(dagster, result.run_id)):
                break
    if not result.success:
        raise RunFailed(_reason(result))
    return str(result.run_id)


def _lost_race(dagster: dg.DagsterInstance, run_id: str) -> bool:
    """Return whether a run failed only because another run committed first."""
    run = dagster.get_run_by_id(run_id)
    return run is not None and run.tags.get(RETRY) == "true"


def _reason(result: dg.ExecuteInProcessResult) -> str:
    for check in result.get_asset_check_evaluations():
        if check.blocking and not check.passed:
            return f"check {check.check_name} of {check.asset_key.to_user_string()} failed: {check.description}"
    for event in result.all_events:
        if event.is_step_failure:
            failure = event.step_failure_data
            description = failure.user_failure_data.description if failure.user_failure_data else None
            return description or f"step {event.step_key} failed: {root_cause(failure.error) or _UNKNOWN}"
        if event.is_run_failure:
            return f"the run failed: {root_cause(event.job_failure_data.error) or _UNKNOWN}"
    return "the run did not finish; see it in the Dagster UI"
