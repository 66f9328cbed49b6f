"""Real Dagster runs for tests: in this process, on a real instance, over a real store."""

import os
from pathlib import Path

import dagster as dg
import dagster_storage  # noqa: F401 - for its effect: runs in this process take less time
import homes

from memory_pipeline import Settings, build_defs
from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.ledger.catalog import every

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def run(home, instance, job="full", *, only=None, checks=(), resources=None, run_id=None, **options):
    """Run a job, or the launch of chosen assets and checks, to its end; a failure is part of the result."""
    definitions = build_defs(settings=homes.settings(home), key_prefix="", resources=resources)
    if only is None:
        definition = definitions.resolve_job_def(job)
    else:
        definition = definitions.resolve_implicit_global_asset_job_def().get_subset(
            asset_selection={dg.AssetKey(name) for name in only},
            asset_check_selection={dg.AssetCheckKey(dg.AssetKey(asset), name) for asset, name in checks},
        )
    return definition.execute_in_process(
        instance=instance,
        run_config=QUIET | {"resources": {"run": {"config": Run(**options).model_dump(exclude_defaults=True)}}},
        raise_on_error=False,
        run_id=run_id,
    )


def unplugged():
    """Make the job `full` of the home that the environment names; its plan fails once."""
    home = Path(os.environ["MEMORY_PIPELINE_HOME"])

    def agreed(store, plan, tables):
        if not (home / "unplugged").exists():
            (home / "unplugged").touch()
            raise dg.Failure("the plug was pulled")
        return Store.agreed(store, plan, tables)

    resources = store_that(home, agreed=agreed)
    return build_defs(settings=Settings(home=home), key_prefix="", resources=resources).resolve_job_def("full")


def why(result):
    """What Dagster shows of a failed run: the description of each failure, by step; else what ended the run."""
    failures = {event.step_key: event.step_failure_data for event in result.all_events if event.is_step_failure}
    ended = [str(event.event_specific_data.error) for event in result.all_events if event.is_run_failure]
    return {
        step: failure.user_failure_data.description if failure.user_failure_data else failure.error.to_string()
        for step, failure in failures.items()
    } or dict(enumerate(ended))


def materialized(result):
    return {event.asset_key.path[-1] for event in result.get_asset_materialization_events()}


def checked(result):
    return {(one.asset_key.path[-1], one.check_name): one for one in result.get_asset_check_evaluations()}


def store_that(home, **changed):
    """Make the resource of a store that differs from the real one in some methods."""
    kind = type("Changed", (Store,), changed)

    @dg.resource(required_resource_keys={"run"})
    def opened(context):
        store = kind(home, context.resources.run, None)
        try:
            yield store
        finally:
            store.close()

    return {"store": opened}


def state(lake):
    """Everything that readers of a store can see or that a commit moves."""
    with lake.ledger.reading() as transaction:
        files = every(transaction)
    snapshots = sorted((path.name, path.stat().st_mtime_ns) for path in lake.home.glob("snapshots/*"))
    return lake.ledger.position(), files, lake.ledger.heads(), snapshots


def forgetful(home, section):
    """Let a policy archive everything, so that it exceeds its quota."""
    (home / "memory_pipeline.toml").write_text(
        f"[{section}]\narchive_threshold = 1.0\nprotected_importance = ''\ngrace_period_days = 0\n"
        "protected_types = []\nprotect_flagged = false\nprotected_causes = ''\n",
        "utf-8",
    )


def committing(instance):
    """Return the run that has come to its commit, when there is one."""
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
        for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_START):
            if entry.step_key == "consolidation.commit":
                return run.run_id
    return None
