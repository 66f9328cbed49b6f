"""Names of the pipeline's definitions in a code location, so that they do not collide with others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import dagster as dg

from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.schemas import TABLES

ASSETS: Final = frozenset({*TABLES, "consolidation_commit", "snapshot"})
"""Bare names of the pipeline's assets, and of tables that no asset makes."""


@dataclass(frozen=True)
class Namespace:
    """A prefix of asset keys, and of the names of groups, jobs, schedules, sensors, ops and resources."""

    prefix: tuple[str, ...] = ()

    @classmethod
    def of(cls, key_prefix: str | Sequence[str]) -> Self:
        """Return the namespace of a key prefix, of Dagster names; an empty one leaves every name bare."""
        parts = (key_prefix,) if isinstance(key_prefix, str) else tuple(key_prefix)
        prefix = tuple(part for part in parts if part)
        if wrong := [part for part in prefix if not re.fullmatch(r"[A-Za-z0-9_]+", part)]:
            raise ValueError(f"key_prefix {wrong[0]!r} is not a Dagster name; use letters, digits and underscores")
        return cls(prefix)

    def key(self, name: str) -> dg.AssetKey:
        """Return the key of an asset."""
        return dg.AssetKey([*self.prefix, name])

    def name(self, name: str) -> str:
        """Return the name of anything that has no key: a job, a group, a resource."""
        return "_".join([*self.prefix, name])


JOBS: Final = ("full", "preview", "apply", "task", "undo", "maintenance")
"""Bare names of the pipeline's jobs, most important first."""


def job_of(task: str) -> str:
    """Return the bare name of the job that runs a task, or that is named so itself."""
    return task if task in JOBS else "task"


def is_own(run: dg.DagsterRun, names: Namespace) -> bool:
    """Return whether a run is one of the pipeline, and not of the project around it.

    Earlier versions had a job for each task, of which an instance may still keep runs.
    """
    steps = run.asset_selection or frozenset()
    return run.job_name in {names.name(job) for job in (*JOBS, *TASKS)} or (
        bool(steps) and all(tuple(key.path[:-1]) == names.prefix and key.path[-1] in ASSETS for key in steps)
    )
