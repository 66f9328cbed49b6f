"""The one place where assets, checks, jobs, schedules and sensors meet.

Owners, groups, kinds and freshness are mapped here once. What each asset computes stands in `consolidation/`.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import dagster as dg

from memory_pipeline.assets import catalogue, checks
from memory_pipeline.assets.consolidation import consolidation
from memory_pipeline.assets.figures import column_schema
from memory_pipeline.assets.io_manager import io_manager
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Run, store
from memory_pipeline.jobs import consolidation as consolidation_jobs
from memory_pipeline.jobs import maintenance, schedules
from memory_pipeline.schemas import TABLES
from memory_pipeline.sensors import sensors
from memory_pipeline.sensors.failures import Automation
from memory_pipeline.settings import Settings, SettingsError, alert_address, load, program, salvaged

KINDS: Final = {
    "events": {"sqlite", "parquet"},
    "vectors": {"numpy", "parquet"},
    "pair_readings": {"numpy", "parquet"},
    "enrichment": {"polars", "parquet"},
    "memory_importance": {"scipy"},
    "clusters": {"scipy"},
    "completions": {"openai"},
    "verdicts": {"openai"},
    "consolidation_commit": {"sqlite", "parquet"},
    "snapshot": {"duckdb"},
}
"""What an asset is made with or kept in, where that is not Polars alone."""

DESCRIPTIONS: Final = {
    catalogue.COMMIT: "What full runs committed: each materialises this, whether or not anything was new. Partial runs "
    "only leave an observation.",
    catalogue.SNAPSHOT: "The committed state as one DuckDB file; materialised if it shows something new.",
}
"""What the assets are that are no tables."""

FRESHNESS: Final = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=36), warn_window=timedelta(hours=26))
"""Of the record of full runs: two hours late is worth a look, half a day is a fault."""


@dg.definitions
def defs() -> dg.Definitions:
    """Load the pipeline as a code location of its own; settings are read only then."""
    settings = _deployment()
    return dg.Definitions.merge(
        build_defs(settings=None, key_prefix="", start=settings.start_automation),
        dg.Definitions(executor=dg.in_process_executor),
    )


def build_defs(
    *,
    settings: Settings | None = None,
    key_prefix: str | Sequence[str] = "memory_pipeline",
    start: bool = False,
    owners: Sequence[str] = (),
    executor: dg.ExecutorDefinition | None = dg.in_process_executor,
    resources: Mapping[str, Any] | None = None,
) -> dg.Definitions:
    """Return the whole pipeline as definitions that join any project.

    Nothing is claimed that another project may have: keys, groups, jobs, schedules, sensors and resources carry the
    prefix, no default IO manager is replaced, and no executor is set for the code location.

    Args:
        settings: the deployment; default: read from environment and settings file, afresh in every run.
        key_prefix: prefix of the asset keys; joined by underscores, of all other names. Empty: bare names.
        start: start schedules and sensors as soon as Dagster loads them; else a person switches them on.
        owners: owners of the assets, such as `team:memory` or an e-mail address.
        executor: runs the steps of the pipeline's jobs. In process by default: a step takes milliseconds, a process
            for it seconds. None: the executor of the code location.
        resources: resources that take the place of the pipeline's own, by bare name: `run`, `store`, `io_manager`.

    If settings are to be read and one is wrong, that is logged, and the definitions have those that are valid: a run
    then fails at its first step with the reason, and the alarm works.

    Raises:
        ValueError: `key_prefix` is not a Dagster name, or `resources` names none of the pipeline's resources.
    """
    deployment = settings or _deployment()

    def alert_url() -> str | None:
        return settings.alert_url if settings else alert_address(deployment.home)

    names = Namespace.of(key_prefix)
    automation = Automation(settings=deployment, names=names, start=start, alert_url=alert_url)
    own = {"run": Run(), "store": store(deployment.home, settings, names), "io_manager": io_manager(names)}
    if unknown := sorted(set(resources or {}) - set(own)):
        raise ValueError(f"resources names {unknown[0]!r}; the pipeline has {', '.join(own)}")
    policies = (deployment.policy, *deployment.profiles.values())
    freshness = FRESHNESS if any(policy.enabled and policy.nightly_run for policy in policies) else None
    return dg.Definitions(
        assets=dg.map_asset_specs(lambda spec: _described(spec, names, owners, freshness), [consolidation(names)]),
        asset_checks=[checks.alone(names)],
        jobs=[*consolidation_jobs.jobs(names, executor), *maintenance.jobs(names, executor)],
        schedules=[*schedules.schedules(automation), maintenance.schedule(automation)],
        sensors=sensors(automation),
        resources={names.name(name): resource for name, resource in (own | dict(resources or {})).items()},
    )


def _deployment() -> Settings:
    """Return the settings in force, or those that are valid where one is not."""
    try:
        return load()
    except SettingsError as error:
        logging.getLogger("memory_pipeline").critical("[consolidation] every run will fail: %s", error)
        return salvaged()


def _described(
    spec: dg.AssetSpec, names: Namespace, owners: Sequence[str], freshness: dg.FreshnessPolicy | None
) -> dg.AssetSpec:
    name = spec.key.path[-1]
    schema = {"dagster/column_schema": column_schema(name)} if name in TABLES else {}
    return spec.replace_attributes(
        owners=list(owners),
        description=TABLES[name].description if name in TABLES else DESCRIPTIONS[name],
        group_name=names.name(next(group for group, members in catalogue.GROUPS.items() if name in members)),
        kinds=KINDS.get(name, {"polars"}),
        code_version=program.digest()[:12],
        freshness_policy=freshness if name == catalogue.COMMIT else None,
    ).merge_attributes(metadata=schema)
