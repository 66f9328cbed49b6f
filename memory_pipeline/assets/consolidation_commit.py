"""`consolidation_commit`: the only step with lasting effects."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import polars as pl

from memory_pipeline.assets.figures import plan_table
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, overtaken, refusing, store_of
from memory_pipeline.assets.stage_assets import asset_ins
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.lake.tables import StaleInstant
from memory_pipeline.llm.openai import CompletionUnavailable
from memory_pipeline.runs import commit, consolidate


def commit_asset(names: Namespace, *, code_version: str) -> dg.AssetsDefinition:
    """Make the step that commits the plan."""
    store_key = names.name("store")

    @dg.asset(
        key=names.key("consolidation_commit"),
        description="Checks the plan once more and makes it visible in one transaction, or changes nothing.",
        ins=asset_ins(names, commit.COMMITTED_FROM),
        code_version=code_version,
        required_resource_keys={store_key},
    )
    def consolidation_commit(context: dg.AssetExecutionContext, **tables: pl.DataFrame) -> dg.MaterializeResult[None]:
        store = store_of(context, names)
        run_id = context.run.run_id
        with (
            overtaken(context.instance, run_id),
            refusing(commit.InvariantBroken, CompletionUnavailable, EngineError, StaleInstant),
        ):
            positions, plan = _committed(
                store,
                tables,
                run_id=run_id,
                started_at=_started(context),
                say=context.log.info,
                warn=context.log.warning,
            )
        undo = f"`memory-pipeline --home {store.home} undo {run_id}`"
        return dg.MaterializeResult(metadata=_counts(plan, positions) | {"undo": dg.MetadataValue.md(undo)})

    return consolidation_commit


def _committed(store: Store, tables: Mapping[str, pl.DataFrame], **run: Any) -> tuple[dict[str, int], pl.DataFrame]:
    """Commit the plan: a reviewed one whole or not at all, any other profile by profile.

    Returns:
        Ledger position of each profile's commit, and the plan as it was committed: after a conflict it is made again.
    """
    if store.run.plan_file:
        policies = store.policies(tables["profiles"])
        positions = commit.commit(store.lake, tables, policies, whole=True, left_out=store.left_out, **run)
        return positions, tables["consolidation_plan"]
    positions, committed = consolidate.commit_all(store.lake, store.settings, tables, **run)
    return positions, committed["consolidation_plan"]


def _counts(plan: pl.DataFrame, positions: Mapping[str, int]) -> dict[str, Any]:
    """Return how much a commit changed, and the plan as a table."""
    held = plan.filter(pl.col("status") == "held").height
    return {
        "profiles": len(positions),
        "position": max(positions.values(), default=0),
        "decisions": plan.height - held,
        "held": held,
        "plan": plan_table(plan.with_columns(pl.col("status").replace("proposed", "committed"))),
    }


def _started(context: dg.AssetExecutionContext) -> datetime | None:
    """Return when the run started, as Dagster recorded it."""
    record = context.instance.get_run_record_by_id(context.run.run_id)
    return datetime.fromtimestamp(record.start_time, UTC) if record and record.start_time else None
