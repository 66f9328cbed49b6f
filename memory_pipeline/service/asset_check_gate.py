"""Implements the asset-check gate: lists the outcome of every check that a run should have evaluated."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Final

import dagster as dg

from memory_pipeline.assets.namespace import ASSETS, Namespace
from memory_pipeline.definitions import build_defs
from memory_pipeline.service import launch
from memory_pipeline.settings import Settings

_RECENT: Final = 100
"""Runs of an instance among which such jobs are looked for."""

COMMITTING: Final = ("full", "apply")
"""Jobs that commit a full plan: planned in the same run, or reviewed before."""


def evaluate(settings: Settings, run_id: str | None = None, *, key_prefix: str = "") -> list[dict[str, Any]]:
    """Return `asset`, `check`, `outcome` (passed, failed, missing) and `detail` of each check that a run should make.

    Args:
        run_id: id of the run; default: the last finished run of the jobs in `COMMITTING`.
        key_prefix: key prefix of the pipeline in the project that ran it; parts are separated by slashes. Of a run that
            is named by its id, it is read from what the run evaluated, if it is not given.

    Raises:
        ValueError: the run is unknown, no full run has finished, or `DAGSTER_HOME` is no folder of an instance.
    """
    names = Namespace.of(key_prefix.split("/"))
    with ExitStack() as opened:
        instances = [opened.enter_context(one) for one in _instances(settings)]
        found = [
            (record.create_timestamp, record.dagster_run.run_id, instance)
            for instance in instances
            for record in _records(instance, names, run_id)
        ]
        if not found:
            places = " and ".join(str(instance.root_directory) for instance in instances)
            wanted = f"run {run_id!r} is unknown" if run_id else f"no run of the job {names.name('full')} has finished"
            raise ValueError(
                f"{wanted} in {places}{_others(instances)}; start one with: memory-pipeline consolidate, or name where "
                "it ran: the instance by DAGSTER_HOME, the key prefix of a project of your own by --key-prefix"
            )
        named = run_id is not None
        _, run_id, instance = max(found, key=lambda one: one[0])
        evaluations = {
            (evaluation.asset_key, evaluation.check_name): evaluation
            for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
            if entry.dagster_event
            for evaluation in [entry.dagster_event.asset_check_evaluation_data]
        }
    if named and not key_prefix:
        names = next((Namespace.of(key.path[:-1]) for key, _ in evaluations if key.path[-1] in ASSETS), names)
    expected = build_defs(settings=settings, key_prefix=names.prefix).resolve_asset_graph().asset_check_keys
    rows = []
    for key in sorted(expected, key=lambda key: (key.asset_key.to_user_string(), key.name)):
        evaluation = evaluations.get((key.asset_key, key.name))
        outcome = "missing" if evaluation is None else "passed" if evaluation.passed else "failed"
        rows.append(
            {
                "run_id": run_id,
                "asset": key.asset_key.to_user_string(),
                "check": key.name,
                "outcome": outcome,
                "detail": (evaluation.description or "") if evaluation else "the run did not evaluate it",
            }
        )
    return rows


def _instances(settings: Settings) -> list[AbstractContextManager[dg.DagsterInstance]]:
    """Return the instance that the environment names, if any, and that of the data folder; begin none elsewhere."""
    named, own = os.environ.get("DAGSTER_HOME"), settings.home / "dagster"
    if not named or (folder := Path(named)).resolve() == own.resolve():
        return [launch.instance(settings.home)]
    if not folder.is_dir():
        raise ValueError(f"DAGSTER_HOME is {named!r}, which is no folder; correct it, or unset it")
    if not any((folder / one).exists() for one in ("dagster.yaml", "history")):
        raise ValueError(
            f"DAGSTER_HOME is {named!r}, which holds no Dagster instance (neither dagster.yaml nor history); correct "
            "it, or unset it"
        )
    return [launch.opened(folder), launch.instance(settings.home)]


def _others(instances: Sequence[dg.DagsterInstance]) -> str:
    """Return which jobs named like those in `COMMITTING` ran there, each behind a key prefix."""
    runs = [run for instance in instances for run in instance.get_runs(limit=_RECENT)]
    jobs = sorted({run.job_name for run in runs if run.job_name.endswith(tuple(f"_{job}" for job in COMMITTING))})
    return f", where {', '.join(jobs)} ran" if jobs else ""


def _records(instance: dg.DagsterInstance, names: Namespace, run_id: str | None) -> list[dg.RunRecord]:
    """Return the run, or the last finished one of each job in `COMMITTING`."""
    if run_id is not None:
        return list(instance.get_run_records(filters=dg.RunsFilter(run_ids=[run_id])))
    finished = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    return [
        record
        for job in COMMITTING
        for record in instance.get_run_records(
            filters=dg.RunsFilter(job_name=names.name(job), statuses=finished), limit=1
        )
    ]
