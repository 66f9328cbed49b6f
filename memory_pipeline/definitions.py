"""The one place where assets, checks, jobs, schedules and sensors meet.

Owners, kinds and freshness are mapped here once. What each asset computes stands in `consolidation/`.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import dagster as dg

from memory_pipeline import assets as stages
from memory_pipeline.assets import checks
from memory_pipeline.assets.figures import column_schema
from memory_pipeline.assets.io_manager import frames
from memory_pipeline.assets.resources import Run, store
from memory_pipeline.jobs import consolidation, intervals, maintenance
from memory_pipeline.schemas import TABLES
from memory_pipeline.sensors import sensors
from memory_pipeline.settings import Settings, load

OWNER: Final = "team:memory"
GROUPS: Final = {
    "ledger": ("events", "decisions", "reverted"),
    "memories": (
        "memories",
        "decided_edges",
        "accesses",
        "tier_changes",
        "core_memory_blocks",
        "enrichment",
        "vectors",
    ),
    "associations": (
        "derived_edges",
        "memory_importance",
        "scored_memories",
        "deferred",
        "fact_changes",
        "proposed_edges",
        "association_edges",
    ),
    "consolidation": (
        "clusters",
        "cluster_members",
        "merge_refusals",
        "completions",
        "summaries",
        "promotions",
        "proposed_blocks",
        "archived_set",
        "trims",
    ),
    "publication": ("profiles", "consolidation_plan", "consolidation_commit", "snapshot"),
}
KINDS: Final = {
    "consolidation_commit": {"sqlite", "parquet"},
    "snapshot": {"duckdb"},
    "profiles": {"sqlite", "polars"},
    "events": {"sqlite", "polars"},
    "decisions": {"sqlite", "polars"},
    "reverted": {"sqlite", "polars"},
}
FRESHNESS: Final = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=36), warn_window=timedelta(hours=26))
"""Two hours late is worth a look, half a day is a fault: the nightly run makes everything."""


@dg.definitions
def defs() -> dg.Definitions:
    """What Dagster loads; settings are read only then, so that this module can be imported anywhere."""
    return build_defs()


def build_defs(*, settings: Settings | None = None, resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Put the whole pipeline together, for its own code location or inside somebody else's project.

    Args:
        settings: the deployment; default: read from environment and settings file, afresh in every run.
        resources: resources that replace the pipeline's own `run`, `store` or `frames`.

    Raises:
        SettingsError: settings are to be read, and one is unknown or out of range.
    """
    deployment = settings or load()
    return dg.Definitions(
        assets=dg.map_asset_specs(
            _described,
            [asset for asset in dg.load_assets_from_package_module(stages) if isinstance(asset, dg.AssetsDefinition)],
        ),
        asset_checks=[checks.breakers],
        jobs=[*consolidation.JOBS, *maintenance.JOBS],
        schedules=[consolidation.nightly(deployment), *intervals.schedules(deployment), maintenance.daily(deployment)],
        sensors=sensors(deployment),
        resources={"run": Run(), "store": store(deployment.home, settings), "frames": frames} | dict(resources or {}),
        executor=dg.in_process_executor,
    )


def _described(spec: dg.AssetSpec) -> dg.AssetSpec:
    name = spec.key.path[-1]
    schema = {"dagster/column_schema": column_schema(name)} if name in TABLES else {}
    return spec.replace_attributes(
        owners=[OWNER],
        group_name=next(group for group, names in GROUPS.items() if name in names),
        kinds=KINDS.get(name, {"polars"}),
        freshness_policy=FRESHNESS,
    ).merge_attributes(metadata=schema)
