"""`consolidation_commit`: the one step that changes anything."""

from datetime import UTC, datetime

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.lake import history


@dg.asset(ins={name: dg.AssetIn() for name in history.COMMITTED_FROM})
def consolidation_commit(
    context: dg.AssetExecutionContext, store: Store, **tables: pl.DataFrame
) -> dg.MaterializeResult[None]:
    """Check the plan once more and make it visible in one transaction, or change nothing."""
    positions = history.commit(
        store.lake, tables, store.policies(tables["profiles"]), run_id=context.run.run_id, started_at=started(context)
    )
    return dg.MaterializeResult(metadata={"profiles": len(positions), "position": max(positions.values(), default=0)})


def started(context: dg.AssetExecutionContext) -> datetime | None:
    """When the run started, as Dagster recorded it."""
    record = context.instance.get_run_record_by_id(context.run.run_id)
    return datetime.fromtimestamp(record.start_time, UTC) if record and record.start_time else None
