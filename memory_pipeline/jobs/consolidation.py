"""Jobs that consolidate: the runs that materialise every asset, and the preview, which materialises none."""

from dataclasses import dataclass
from typing import Any, Final, get_args

import dagster as dg

from memory_pipeline.assets import checks
from memory_pipeline.assets.figures import plan_table
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import RETRY, Preset, Run, refusing, store_of
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.llm.openai import CompletionUnavailable
from memory_pipeline.runs import commit, consolidate

WRITES: Final = {
    "memory_pipeline/writes": "true",  # one at a time: dagster.yaml limits runs with this tag
    "dagster/max_retries": "3",  # retries a run whose process died
    "dagster/retry_strategy": "ALL_STEPS",  # retrying one step would commit a plan made on an older state
    RETRY: "false",  # a refused step would be refused again; the commit sets it after a conflict
    "dagster/max_runtime": "14400",  # a run whose machine went down fails after four hours, which frees its place
}


@dataclass(frozen=True)
class Job:
    """A job that materialises every asset."""

    name: str
    run: Run
    description: str


JOBS: Final = (
    Job("full", Run(), "START HERE. Consolidates everything, commits it, and publishes a snapshot."),
    Job("reflect", Run(task="reflect"), "Part of full: links and summarises the sessions touched since the last one."),
    Job("lightweight", Run(task="lightweight"), "Part of full: compiles core memory and prunes faded edges."),
    Job("tick", Run(task="tick"), "Part of full: lets faded memories go cold, and merges groups of them."),
    Job("promote", Run(task="promote"), "Part of full: moves memories to higher tiers."),
    Job("decay", Run(task="decay"), "Part of full: rescores, and prunes faded edges."),
    Job("creative", Run(task="creative"), "Part of full: looks for associations between memories that nothing links."),
    Job("cluster", Run(task="cluster"), "Part of full: groups and summarises."),
    Job("forget", Run(task="forget"), "Part of full: archives or deletes what fell below a threshold."),
    Job("reembed", Run(task="reembed"), "Embeds every text with the embedder of the settings; decides nothing."),
)
"""Every job that plans and commits, most important first."""

APPLY: Final = "apply"
"""The job that commits a plan from a file."""


def jobs(names: Namespace, executor: dg.ExecutorDefinition | None) -> list[Any]:
    """Make the jobs that consolidate.

    Args:
        names: the namespace of the assets, jobs and resources.
        executor: runs the steps of each job; None: the executor of the code location.

    Returns:
        Job definitions, resolved or not: Dagster names no public type for both.
    """
    everything = dg.AssetSelection.assets(names.key("snapshot")).upstream().required_multi_asset_neighbors()
    committing = [
        dg.define_asset_job(
            names.name(job.name),
            everything,
            description=job.description,
            tags=WRITES,
            config=dg.RunConfig(resources={names.name("run"): job.run}),
            executor_def=executor,
        )
        for job in JOBS
    ]
    applying = dg.define_asset_job(
        names.name(APPLY),
        everything,
        description="Commits exactly the plan that a dry run wrote, or nothing.",
        tags=WRITES,
        config=_applying(names),
        executor_def=executor,
    )
    return [committing[0], applying, *committing[1:], preview(names, executor)]


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
        store = store_of(context, names)
        with refusing(CompletionUnavailable, EngineError):
            profiles = store.participants(preview=True)
            policies = store.policies(profiles)
            tables = consolidate.preview(store.lake, store.settings, profiles)
            broken = commit.violations(tables, policies)
        plan = tables["consolidation_plan"]
        for check in (
            checks.invariants_of(names.key("consolidation_plan"), broken),
            checks.quota_of(names.key("consolidation_plan"), plan, tables),
        ):
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
