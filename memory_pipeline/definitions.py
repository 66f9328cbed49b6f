"""The one place where assets, checks, jobs, schedules and sensors meet.

Owners, kinds and freshness are mapped here once. What each asset computes stands in `consolidation/`.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg

from memory_pipeline import assets as stages
from memory_pipeline.assets.checks import CHECKS
from memory_pipeline.assets.figures import column_schema
from memory_pipeline.assets.io_manager import LakeIOManager
from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.jobs import consolidation, upkeep
from memory_pipeline.lake.schemas import TABLES
from memory_pipeline.sensors import sensors
from memory_pipeline.settings import Settings, load

OWNER = "team:memory"
GROUPS = {
    "ledger": ("profiles", "events", "decisions", "reverted"),
    "memories": ("memories", "decided_edges", "enrichment", "vectors"),
    "associations": ("derived_edges", "memory_importance", "scored_memories", "proposed_edges", "association_edges"),
    "consolidation": ("clusters", "cluster_members", "merge_refusals", "summaries", "archived_set"),
    "publication": ("consolidation_plan", "consolidation_commit", "snapshot"),
}
KINDS = {"consolidation_commit": {"sqlite", "parquet"}, "snapshot": {"duckdb"}, "events": {"sqlite", "polars"}}


def build_defs(*, settings: Settings | None = None, resources: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Put the whole pipeline together, for its own code location or inside somebody else's project.

    Args:
        settings: the deployment; default: read from environment and settings file.
        resources: resources that replace the pipeline's own `run`, `store` or `io_manager`.
    """
    settings = settings or load()
    run = Run()
    store = Store(home=str(settings.home), run=run)
    return dg.Definitions(
        assets=dg.map_asset_specs(
            _described,
            [asset for asset in dg.load_assets_from_package_module(stages) if isinstance(asset, dg.AssetsDefinition)],
        ),
        asset_checks=CHECKS,
        jobs=[*consolidation.JOBS, *upkeep.JOBS],
        schedules=[consolidation.nightly(settings), upkeep.daily(settings)],
        sensors=sensors(settings),
        resources={"run": run, "store": store, "io_manager": LakeIOManager(store=store, run=run)}
        | dict(resources or {}),
        executor=dg.in_process_executor,
    )


def _described(spec: dg.AssetSpec) -> dg.AssetSpec:
    name = spec.key.path[-1]
    schema = {"dagster/column_schema": column_schema(name)} if name in TABLES else {}
    return spec.replace_attributes(
        owners=[OWNER],
        group_name=next(group for group, names in GROUPS.items() if name in names),
        kinds=KINDS.get(name, {"polars"}),
        freshness_policy=dg.FreshnessPolicy.time_window(
            fail_window=timedelta(hours=36), warn_window=timedelta(hours=26)
        ),
    ).merge_attributes(metadata=schema)
