"""Implements the asset-check gate: lists the outcome of every check that a run should have evaluated."""

from typing import Any, Final

import dagster as dg

from memory_pipeline.definitions import build_defs
from memory_pipeline.service import launch
from memory_pipeline.settings import Settings

COMMITTING: Final = ("full", "apply")
"""Jobs that commit a full plan: planned in the same run, or reviewed before."""


def evaluate(settings: Settings, run_id: str | None = None) -> list[dict[str, Any]]:
    """Compare the checks that a run should have evaluated with those it did.

    Args:
        settings: settings of the deployment.
        run_id: id of the run; default: the last finished run of the jobs in `COMMITTING`.

    Returns:
        One row per check: `asset`, `check`, `outcome` (passed, failed or missing), `detail`.

    Raises:
        ValueError: the run is unknown, or no full run has finished.
    """
    with launch.instance(settings.home) as instance:
        if run_id is None:
            finished = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
            newest = [
                run
                for job in COMMITTING
                for run in instance.get_run_records(filters=dg.RunsFilter(job_name=job, statuses=finished), limit=1)
            ]
            if not newest:
                raise ValueError("no full run has finished; start one with: memory-pipeline consolidate")
            run_id = max(newest, key=lambda record: record.create_timestamp).dagster_run.run_id
        elif instance.get_run_by_id(run_id) is None:
            raise ValueError(f"run {run_id!r} is unknown; the Dagster UI lists the runs")
        evaluations = {
            (evaluation.asset_key.to_user_string(), evaluation.check_name): evaluation
            for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
            if entry.dagster_event
            for evaluation in [entry.dagster_event.asset_check_evaluation_data]
        }
    expected = build_defs(settings=settings, key_prefix="").resolve_asset_graph().asset_check_keys
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
