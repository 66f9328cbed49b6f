"""Jobs that act on the store itself: undo, and the daily maintenance with its schedule."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import dagster as dg
import polars as pl
from pydantic import Field

from memory_pipeline.assets import facts
from memory_pipeline.assets.namespace import Namespace, is_own
from memory_pipeline.assets.resources import Store, store_of
from memory_pipeline.assets.run_tags import TASK, WRITES, take_turns
from memory_pipeline.erasure.erase import resume_erasure
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.sqlite_file import BESIDE
from memory_pipeline.runs import status, undo
from memory_pipeline.sensors.failures import Automation
from memory_pipeline.sensors.requests import FINISHED, UNFINISHED, end_abandoned
from memory_pipeline.settings import Settings

LOGGER: Final = logging.getLogger("memory_pipeline")


class Undo(dg.Config):
    """What to undo."""

    target: str = Field(description="Plan id, run id, or memory id (of a summary: the whole merge).")
    profile: str = Field(default="", description="Profile of the memory; needed where two profiles use the same id.")
    cascade: bool = Field(default=False, description="Also undo what builds on it.")


def oldest_kept(lake: Lake, versions: int) -> int:
    """Return the ledger position of the oldest of the last `versions` commits that published; 0 if there are fewer.

    From there on every table can be read as it was. An undo does not depend on this: it rebuilds the tables from the
    ledger and from the table `profiles`, of which every version stays.
    """
    runs = lake.ledger.runs().filter(pl.col("outcome") != "unchanged")
    commits = runs.group_by("run_id").agg(pl.col("commit_seq").min())["commit_seq"].sort(descending=True)
    return int(commits[versions - 1]) if len(commits) >= versions else 0


def jobs(names: Namespace, executor: dg.ExecutorDefinition | None) -> list[dg.JobDefinition]:
    """Make the jobs `undo` and `maintenance`, whose steps this executor runs, or that of the code location."""
    store_key = names.name("store")

    @dg.op(
        name=names.name("revert"),
        description="Appends a revert to the ledger and publishes the tables without it.",
        required_resource_keys={store_key},
        pool=names.name("writes"),
    )
    def revert(context: dg.OpExecutionContext, config: Undo) -> None:
        store = store_of(context, names)
        before = facts.published(store.lake)
        undone = undo.undo(
            store.lake, config.target, profile_id=config.profile or None, cascade=config.cascade, now=datetime.now(UTC)
        )
        path = snapshot.publish_after(store.lake, "the undo is committed")
        facts.report(context, store.lake, names, before, {"undone": config.target})
        context.add_output_metadata({"decisions": undone.height, "snapshot": str(path)})

    @dg.op(
        name=names.name("sweep"),
        description="Finishes an interrupted erasure, deletes unreferenced files, drops old snapshots and runs.",
        required_resource_keys={store_key},
    )
    def sweep(context: dg.OpExecutionContext) -> None:
        store = store_of(context, names)
        take_turns(context.instance, names)
        context.add_output_metadata(maintain(store, context.instance, names))

    @dg.job(
        name=names.name("undo"),
        tags=WRITES | {TASK: "undo"},
        description="Undoes a run, a merge or one decision; the ledger keeps both.",
        executor_def=executor,
    )
    def undo_job() -> None:
        revert()

    @dg.job(
        name=names.name("maintenance"),
        tags={TASK: "maintenance"},
        description="Daily housekeeping of the store and of the run history.",
        executor_def=executor,
    )
    def maintenance_job() -> None:
        sweep()

    return [undo_job, maintenance_job]


def maintain(store: Store, instance: dg.DagsterInstance, names: Namespace) -> dict[str, Any]:
    """Keep the store small, and return what was done; no file goes that a table, an undo or a kept snapshot needs.

    Each part runs even if others fail. Of the run history only runs of the pipeline's own jobs are dropped.

    Raises:
        dagster.Failure: parts failed; names each with its reason. The others are done.
    """
    lake, settings, now = store.lake, store.settings, datetime.now(UTC)
    end_abandoned(instance, store.home)
    live = {run.run_id for run in instance.get_runs(filters=dg.RunsFilter(statuses=list(UNFINISHED)))}
    parts = dict[str, Callable[[], Any]](
        erasure_finished=lambda: resume_erasure(lake) is not None,
        files_swept=lambda: len(lake.sweep(live=live, oldest=oldest_kept(lake, settings.keep_snapshots))),
        scores_dropped=lambda: lake.drop_scores(older_than=timedelta(days=settings.keep_scores_days), now=now),
        payloads_moved=lambda: _compacted(lake, settings, now),
        archived=lambda: _archived(lake, settings, now) or "nothing",
        snapshots_dropped=lambda: len(snapshot.prune(lake, settings.keep_snapshots)),
        runs_dropped=lambda: _dropped(instance, names, before=now - timedelta(days=settings.keep_runs_days)),
        disk_bytes=lambda: status.disk_bytes(lake.home),
    )
    done, failed = dict[str, Any](), dict[str, str]()
    for name, part in parts.items():
        try:
            done[name] = part()
        except Exception as error:
            LOGGER.exception("[maintenance] %s failed; the other parts go on", name)
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())
    if failed:
        reasons = "; ".join(f"{name}: {why}" for name, why in failed.items())
        raise dg.Failure(f"{reasons}; the other parts are done, the next maintenance tries again", metadata=done)
    return done


def _compacted(lake: Lake, settings: Settings, now: datetime) -> int:
    before = now - timedelta(days=settings.ledger_days)
    return compaction.compact(lake.ledger, lake.store, before=before) if settings.ledger_days else 0


def _archived(lake: Lake, settings: Settings, now: datetime) -> str | None:
    before = now - timedelta(days=settings.ledger_archive_days)
    return compaction.archive(lake.ledger, lake.store, before=before) if settings.ledger_archive_days else None


def _dropped(instance: dg.DagsterInstance, names: Namespace, *, before: datetime) -> int:
    """Drop the pipeline's own runs that finished before an instant from the run history, and return their number."""
    finished = dg.RunsFilter(created_before=before, statuses=list(FINISHED))
    old = [record.dagster_run for record in instance.get_run_records(filters=finished)]
    dropped = [run for run in old if is_own(run, names)]
    for run in dropped:
        instance.delete_run(run.run_id)
        _drop_files(instance, run.run_id)
    return len(dropped)


def _drop_files(instance: dg.DagsterInstance, run_id: str) -> None:
    """Remove what Dagster leaves of a dropped run: the file of its events, if each run has one, and its output."""
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    if shard := getattr(instance.event_log_storage, "path_for_shard", None):
        for suffix in ("", *BESIDE):
            Path(f"{shard(run_id)}{suffix}").unlink(missing_ok=True)


def schedule(automation: Automation) -> dg.ScheduleDefinition:
    """Make the schedule of maintenance."""
    return dg.ScheduleDefinition(
        **automation.of_schedule("maintenance_daily"),
        job_name=automation.names.name("maintenance"),
        cron_schedule=automation.settings.maintenance,
        description="Deletes unreferenced files, old snapshots, old versions of tables and old run history, and moves "
        "payloads of old events from the ledger's database to files.",
    )
