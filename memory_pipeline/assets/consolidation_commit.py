"""`consolidation_commit`: the one step that changes anything."""

from datetime import UTC, datetime
from typing import Final

import dagster as dg

from memory_pipeline.assets.io_manager import Frames
from memory_pipeline.assets.resources import Store, overtaken, refusing
from memory_pipeline.consolidation import pipeline
from memory_pipeline.lake.tables import StaleInstant
from memory_pipeline.runs import commit

LAST: Final = tuple(name for name in commit.COMMITTED_FROM if not any(name in one.takes for one in pipeline.STAGES))
"""Tables that nothing else is made from; all others lie before them."""


@dg.asset(deps=LAST)
def consolidation_commit(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store], frames: dg.ResourceParam[Frames]
) -> dg.MaterializeResult[None]:
    """Check the plan once more and make it visible in one transaction, or change nothing."""
    if not (frames.own("profiles") and frames.own("consolidation_plan")):
        raise dg.Failure(
            "consolidation_commit commits the plan of its own run, and this run has none; launch the job full, or "
            "select everything before it too",
            allow_retries=False,
        )
    run_id = context.run.run_id
    with overtaken(context.instance, run_id), refusing(commit.InvariantBroken, StaleInstant):
        tables = {name: frames.table(name) for name in commit.COMMITTED_FROM}
        positions = commit.commit(
            store.lake,
            tables,
            store.policies(tables["profiles"]),
            run_id=run_id,
            started_at=_started(context),
            say=context.log.info,
        )
    return dg.MaterializeResult(metadata={"profiles": len(positions), "position": max(positions.values(), default=0)})


def _started(context: dg.AssetExecutionContext) -> datetime | None:
    """When the run started, as Dagster recorded it."""
    record = context.instance.get_run_record_by_id(context.run.run_id)
    return datetime.fromtimestamp(record.start_time, UTC) if record and record.start_time else None
