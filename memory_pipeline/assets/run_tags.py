"""Tags of the pipeline's runs: by them runs are filtered, take turns, and are retried."""

from datetime import datetime
from typing import Any, Final

import dagster as dg
import polars as pl

from memory_pipeline.assets.namespace import Namespace

TASK: Final = "memory_pipeline/task"
"""Tag that names the task of a run."""

SHARD: Final = "memory_pipeline/shard"
"""Tag of a nightly run of one shard: its number."""

RETRY: Final = "dagster/retry_on_asset_or_op_failure"
"""Tag of a run whose failure another try can fix."""

WRITES: Final = {
    "memory_pipeline/writes": "true",  # one at a time: dagster.yaml limits runs with this tag
    "dagster/max_retries": "3",  # retries a run whose process died
    "dagster/retry_strategy": "ALL_STEPS",  # retrying one step would commit a plan made on an older state
    RETRY: "false",  # a refused step would be refused again; the commit sets it after a conflict
    "dagster/max_runtime": "14400",  # a run whose machine went down fails after four hours, which frees its place
}
"""Tags of every run that writes."""


def describing(profiles: pl.DataFrame) -> dict[str, str]:
    """Return the tags that describe a run: task, preset, as_of, plan and profile, each where the run has only one."""
    columns = {"task": "task", "preset": "preset", "as_of": "as_of", "plan_id": "plan_id", "profile": "profile_id"}
    values = {name: profiles[column].unique() for name, column in columns.items()}
    single = {name: found[0] for name, found in values.items() if len(found) == 1}
    return {
        f"memory_pipeline/{name}": value.isoformat() if isinstance(value, datetime) else value
        for name, value in single.items()
    }


def task_of(run: dg.DagsterRun, names: Namespace) -> str:
    """Return the task of a run: its tag, else what it was launched with, else its job."""
    resources: dict[str, Any] = dict(run.run_config).get("resources", {})  # type: ignore[assignment]
    given = resources.get(names.name("run"), {}).get("config", {})
    job = run.job_name.removeprefix(names.name(""))
    return str(run.tags.get(TASK) or given.get("task") or job)


def take_turns(instance: dg.DagsterInstance, names: Namespace) -> None:
    """Let only one commit of the pipeline happen at a time on an instance, whatever launched the run.

    The instance keeps the limit; a limit that somebody set stays. Places that ended runs hold are freed.
    """
    storage, pool = instance.event_log_storage, names.name("writes")
    if not storage.supports_global_concurrency_limits:
        return
    if pool not in {limit.name for limit in storage.get_pool_limits()}:
        storage.set_concurrency_slots(pool, 1)
    for run_id in storage.get_concurrency_run_ids():
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            storage.free_concurrency_slots_for_run(run_id)
