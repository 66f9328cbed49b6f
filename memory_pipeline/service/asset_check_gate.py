"""Implements the asset-check gate: lists the outcome of every check that a run should have evaluated."""

import os
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Final

import dagster as dg

from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.definitions import build_defs
from memory_pipeline.service import launch
from memory_pipeline.settings import Settings

COMMITTING: Final = ("full", "apply")
"""Jobs that commit a full plan: planned in the same run, or reviewed before."""


def evaluate(settings: Settings, run_id: str | None = None, *, key_prefix: str = "") -> list[dict[str, Any]]:
    """Compare the checks that a run should have evaluated with those it did.

    Args:
        settings: settings of the deployment.
        run_id: id of the run; default: the last finished run of the jobs in `COMMITTING`.
        key_prefix: key prefix of the pipeline in the project that ran it; parts are separated by slashes.

    Returns:
        One row per check: `asset`, `check`, `outcome` (passed, failed or missing), `detail`.

    Raises:
        ValueError: the run is unknown, no full run has finished, or `DAGSTER_HOME` is no folder.
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
                f"{wanted} in {places}; start one with: memory-pipeline consolidate, or name where it ran: the "
                "instance by DAGSTER_HOME, the key prefix of a project of your own by --key-prefix"
            )
        _, run_id, instance = max(found, key=lambda one: one[0])
        evaluations = {
            (evaluation.asset_key.to_user_string(), evaluation.check_name): evaluation
            for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
            if entry.dagster_event
            for evaluation in [entry.dagster_event.asset_check_evaluation_data]
        }
    expected = build_defs(settings=settings, key_prefix=names.prefix).resolve_asset_graph().asset_check_keys
    rows = []
    for key in sorted(expected, key=lambda key: (key.asset_key.to_user_string(), key.name)):
        evaluation = evaluations.get((key.asset_key.to_user_string(), key.name))
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
    """Return the instance that the environment names, if any, and that of the data folder.

    Raises:
        ValueError: the environment names what is no folder.
    """
    named = os.environ.get("DAGSTER_HOME")
    own = settings.home / "dagster"
    elsewhere = bool(named) and Path(str(named)).resolve() != own.resolve()
    if elsewhere and not Path(str(named)).is_dir():
        raise ValueError(f"DAGSTER_HOME is {named!r}, which is no folder; correct it, or unset it")
    return [*([launch.opened(Path(str(named)))] if elsewhere else []), launch.instance(settings.home)]


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
