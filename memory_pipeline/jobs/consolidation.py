"""Jobs that consolidate: the runs that materialise what changed, and the preview, which materialises nothing."""

from typing import Any, Final, get_args

import dagster as dg

from memory_pipeline.assets import checks
from memory_pipeline.assets.consolidation import ASSETS
from memory_pipeline.assets.figures import plan_table
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Preset, Run, store_of
from memory_pipeline.assets.run_tags import TASK, WRITES, describing
from memory_pipeline.runs import commit

APPLY: Final = "apply"
"""The job that commits a plan from a file."""


def jobs(names: Namespace, executor: dg.ExecutorDefinition | None) -> list[Any]:
    """Make the jobs that consolidate, resolved or not: Dagster names no public type for both."""
    # A run evaluates the checks itself, before it changes anything.
    everything = dg.AssetSelection.assets(*map(names.key, ASSETS)).without_checks()
    run = names.name("run")
    return [
        dg.define_asset_job(
            names.name("full"),
            everything,
            description="START HERE. Consolidates everything, commits it, and publishes a snapshot.",
            tags=WRITES | {TASK: "full"},
            config=dg.RunConfig(resources={run: Run()}),
            executor_def=executor,
        ),
        preview(names, executor),
        dg.define_asset_job(
            names.name(APPLY),
            everything,
            description="Commits exactly the plan that a dry run wrote, or nothing.",
            tags=WRITES,
            config=_applying(names),
            executor_def=executor,
        ),
        dg.define_asset_job(
            names.name("task"),
            everything,
            description="Part of full: what the task that `run.task` names may decide, such as decay or promote.",
            tags=WRITES,
            config=dg.RunConfig(resources={run: Run(task="decay")}),
            executor_def=executor,
        ),
    ]


def _applying(names: Namespace) -> dg.ConfigMapping:
    """Make the configuration of the job that applies a plan: its path, without which no launch is accepted."""
    path = dg.Field(str, description="Plan that a dry run wrote.")
    rows = dg.Field([str], default_value=[], description="Ids of rows to leave out of it.")
    trigger = dg.Field(str, default_value="manual", description="What started the run: manual or cli.")
    names_of_presets = dg.Enum("ApplyPreset", [dg.EnumValue(name) for name in get_args(Preset)])
    preset = dg.Field(names_of_presets, default_value="", description="Preset that the plan was made under, if named.")
    level = dg.Field(str, default_value="DEBUG", description="Lowest level of what the run prints.")

    fields = {"plan_file": path, "without": rows, "trigger": trigger, "preset": preset}

    @dg.config_mapping(config_schema=fields | {"log_level": level})
    def applying(given: dict[str, Any]) -> dict[str, Any]:
        if not given["plan_file"].strip():  # without a plan, the run would commit one of its own
            raise ValueError("plan_file is empty; give the path of the plan that a dry run wrote")
        run = {name: given[name] for name in fields}
        return {
            "loggers": {"console": {"config": {"log_level": given["log_level"]}}},
            "resources": {names.name("run"): {"config": run}},
        }

    return applying


def preview(names: Namespace, executor: dg.ExecutorDefinition | None) -> dg.JobDefinition:
    """Make the job that shows what `full` would do; it touches no asset, ledger, lake or snapshot."""
    store_key = names.name("store")

    @dg.op(name=names.name("plan_only"), required_resource_keys={store_key})
    def plan_only(context: dg.OpExecutionContext) -> None:
        tables, broken = checks.planned(store_of(context, names))
        profiles, plan = tables["profiles"], tables["consolidation_plan"]
        context.instance.add_run_tags(context.run_id, describing(profiles) | {TASK: "preview"})
        for check in checks.of_plan(names, broken, tables):
            (context.log.info if check.passed else context.log.error)(f"{check.check_name}: {check.description}")
        context.add_output_metadata({"profiles": profiles.height, "decisions": plan.height, "plan": plan_table(plan)})
        if broken.height:
            raise dg.Failure(str(commit.InvariantBroken(broken)), allow_retries=False)

    @dg.job(
        name=names.name("preview"),
        description="LOOK FIRST. Plans what full would do and checks it; writes nothing to ledger, lake or snapshots.",
        config=dg.RunConfig(resources={names.name("run"): Run()}),
        executor_def=executor,
    )
    def preview_job() -> None:
        plan_only()

    return preview_job
