"""Jobs that materialise assets, from a preview to the nightly run, and the nightly schedule."""

from typing import Final

import dagster as dg

from memory_pipeline.assets.resources import RETRY, Run, Store
from memory_pipeline.runs import due_work
from memory_pipeline.settings import Settings

WRITES: Final = {
    "memory_pipeline/writes": "true",  # one at a time: dagster.yaml limits runs with this tag
    "dagster/max_retries": "3",  # a run whose process died is run again
    "dagster/retry_strategy": "ALL_STEPS",  # a step retry would commit a plan made on a state that moved on
    RETRY: "false",  # what a step refuses it would refuse again; the commit says so when it was only late
    "dagster/max_runtime": "14400",  # a run whose machine went down is failed after four hours, and makes room
}


def _up_to(*names: str) -> dg.AssetSelection:
    """Select assets and all before them; what is made in one step is made together."""
    return dg.AssetSelection.assets(*names).upstream().required_multi_asset_neighbors()


EVERYTHING: Final = _up_to("snapshot")
PLAN: Final = _up_to("consolidation_plan")
PROJECTION: Final = _up_to("enrichment", "vectors")
JOBS: Final = [
    dg.define_asset_job(
        name,
        selection,
        description=description,
        tags={} if run.dry else WRITES,
        config=dg.RunConfig(resources={"run": run}),
        executor_def=dg.in_process_executor,
    )
    for name, selection, run, description in (
        ("full", EVERYTHING, Run(), "Consolidate everything and publish a snapshot."),
        ("lightweight", EVERYTHING, Run(task="lightweight"), "Compile core memory and prune faded edges; no more."),
        ("reflect", EVERYTHING, Run(task="reflect"), "Link and summarise the sessions touched since the last one."),
        ("tick", EVERYTHING, Run(task="tick"), "Let faded memories go cold, and merge groups of them."),
        ("promote", EVERYTHING, Run(task="promote"), "Move memories to higher tiers."),
        ("decay", EVERYTHING, Run(task="decay"), "Rescore and prune faded edges."),
        ("creative", EVERYTHING, Run(task="creative"), "Look for associations between memories that nothing links."),
        ("cluster", EVERYTHING, Run(task="cluster"), "Group and summarise."),
        ("forget", EVERYTHING, Run(task="forget"), "Archive or delete what fell below a threshold."),
        ("apply", EVERYTHING, Run(plan_file="plan.json"), "Commit exactly the plan that a dry run wrote."),
        ("projection", PROJECTION, Run(), "Read new events and enrich new texts; decides nothing."),
        ("preview", PLAN, Run(dry=True), "Plan and check; writes nothing to ledger, lake or snapshots."),
    )
]


def nightly(settings: Settings) -> dg.ScheduleDefinition:
    """Make the schedule of the nightly run; its clock is the instant of the tick."""

    @dg.schedule(
        name="nightly",
        job_name="full",
        cron_schedule=settings.nightly,
        execution_timezone=settings.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Consolidates every profile whose policy has a nightly run, as of the instant of the tick.",
    )
    def schedule(
        context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
    ) -> dg.RunRequest | dg.SkipReason:
        names = due_work.profiles(store.lake)["profile_id"]
        policies = {name: store.settings.policy_of(name) for name in names}
        chosen = [name for name, policy in policies.items() if policy.enabled and policy.nightly_run]
        if not chosen:
            return dg.SkipReason("no profile with a memory has a nightly run")
        run = Run(profiles=chosen, as_of=context.scheduled_execution_time.isoformat(), trigger="schedule")
        return dg.RunRequest(run_config=dg.RunConfig(resources={"run": run}))

    return schedule
