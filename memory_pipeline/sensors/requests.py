"""What every sensor asks before it requests a run."""

from typing import Final

import dagster as dg

FINISHED: Final = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
UNFINISHED: Final = tuple(status for status in dg.DagsterRunStatus if status not in FINISHED)


def in_flight(instance: dg.DagsterInstance, job_name: str) -> str | None:
    """Return the id of a run of the job that is queued or running, if any.

    A sensor asks this instead of setting a run key: a run key is used up also by a run that failed.
    """
    runs = instance.get_runs(filters=dg.RunsFilter(job_name=job_name, statuses=list(UNFINISHED)), limit=1)
    return runs[0].run_id if runs else None
