"""Jobs that act on the store itself: undo, and the daily maintenance with its schedule."""

from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg
import polars as pl
from pydantic import Field

from memory_pipeline.assets.resources import Store
from memory_pipeline.erasure import erase
from memory_pipeline.jobs.consolidation import WRITES
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import commit, status
from memory_pipeline.sensors.requests import FINISHED, UNFINISHED
from memory_pipeline.settings import Settings


class Undo(dg.Config):
    """What to take back."""

    target: str = Field(description="Plan id, run id, or memory id (of a summary: the whole merge).")
    profile: str = Field(default="", description="Profile of the memory; needed where two profiles use the same id.")
    cascade: bool = Field(default=False, description="Also take back what builds on it.")


@dg.op(description="Append a revert to the ledger and publish the tables without it.")
def revert(context: dg.OpExecutionContext, config: Undo, store: dg.ResourceParam[Store]) -> None:
    """Undo a run, a merge or one decision."""
    undone = commit.undo(
        store.lake, config.target, profile_id=config.profile or None, cascade=config.cascade, now=datetime.now(UTC)
    )
    context.add_output_metadata({"decisions": undone.height, "snapshot": str(snapshot.publish(store.lake))})


@dg.op(description="Finish a broken-off erasure, sweep what nothing refers to, drop old snapshots and run history.")
def sweep(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Keep the store small; never touches a file that a table, an undo or a kept snapshot needs."""
    settings, now = store.settings, datetime.now(UTC)
    erase.resume(store.lake)
    live = {run.run_id for run in context.instance.get_runs(filters=dg.RunsFilter(statuses=list(UNFINISHED)))}
    swept = store.lake.sweep(live=live, oldest=oldest_kept(store.lake, settings.keep_snapshots))
    moved = 0
    if settings.ledger_days:
        moved = compaction.compact(
            store.lake.ledger, store.lake.store, before=now - timedelta(days=settings.ledger_days)
        )
    archived = None
    if settings.ledger_archive_days:
        before = now - timedelta(days=settings.ledger_archive_days)
        archived = compaction.archive(store.lake.ledger, store.lake.store, before=before)
    pruned = snapshot.prune(store.lake.home, settings.keep_snapshots)
    old = context.instance.get_run_records(
        filters=dg.RunsFilter(
            created_before=now - timedelta(days=settings.keep_runs_days),
            statuses=list(FINISHED),
        )
    )
    for record in old:
        context.instance.delete_run(record.dagster_run.run_id)
    context.add_output_metadata(
        {
            "files_swept": len(swept),
            "payloads_moved": moved,
            "archived": str(archived or "nothing"),
            "snapshots_dropped": len(pruned),
            "runs_dropped": len(old),
            "disk_bytes": status.disk_bytes(store.lake.home),
        }
    )


def oldest_kept(lake: Lake, versions: int) -> int:
    """Return the ledger position of the oldest of so many last commits; 0 while there are fewer.

    From there on every table can be read as it was. An undo needs none of this: it makes the tables again from the
    ledger, and from the table `profiles`, of which every version stays.
    """
    commits = lake.ledger.runs().group_by("run_id").agg(pl.col("commit_seq").min())["commit_seq"].sort(descending=True)
    return int(commits[versions - 1]) if len(commits) >= versions else 0


@dg.job(tags=WRITES, description="Take back a run, a merge or one decision; the ledger keeps both.")
def undo() -> None:
    """Undo through Dagster."""
    revert()


@dg.job(description="Daily housekeeping of store and run history.")
def maintenance() -> None:
    """Housekeeping through Dagster."""
    sweep()


JOBS: Final = [undo, maintenance]


def daily(settings: Settings) -> dg.ScheduleDefinition:
    """Make the schedule of the maintenance."""
    return dg.ScheduleDefinition(
        name="upkeep",
        job=maintenance,
        cron_schedule=settings.maintenance,
        execution_timezone=settings.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Sweeps what nothing refers to, drops old snapshots, old versions of tables and old run history, "
        "and moves what old events said from the ledger's database to files.",
    )
