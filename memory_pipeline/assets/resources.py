"""What a launch is given: where the store is, and which state of the ledger it reads.

Settings come from the environment, the settings file and the presets (`memory_pipeline.settings`), never from here.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
from pydantic import Field

from memory_pipeline.consolidation.pipeline import R, each
from memory_pipeline.lake import participation
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Policy, Settings, load


class Run(dg.ConfigurableResource[None]):
    """Which state is read and what may be decided; set once a launch."""

    as_of: str = Field(
        default="", description="The one clock of the run, ISO 8601, UTC unless it says otherwise; empty: now."
    )
    seq: int = Field(default=0, ge=0, description="Ledger position to read up to; 0: the head.")
    profiles: list[str] = Field(default=[], description="Profiles that take part; empty: every profile with a memory.")
    task: str = Field(default="full", description="full, reflect, lightweight, decay, creative, cluster or forget.")
    trigger: str = Field(default="manual", description="What started the run: schedule, sensor, manual or cli.")
    preset: str = Field(default="", description="Preset to use instead of each profile's own.")
    dry: bool = Field(default=False, description="Keep every table in memory and write nothing.")
    retry_reverted: bool = Field(default=False, description="Propose again what was undone.")
    max_archived_share: float = Field(
        default=-1.0, le=1.0, description="Quota of this run instead of the policy's; negative: the policy's."
    )
    plan_file: str = Field(default="", description="Plan that a dry run wrote: commit exactly this one or fail.")

    def instant(self) -> datetime:
        """The clock of the run: as configured, else now.

        Raises:
            dagster.Failure: `as_of` is no instant.
        """
        if not self.as_of:
            return datetime.now(UTC)
        try:
            given = datetime.fromisoformat(self.as_of)
        except ValueError as error:
            raise refused(f"run.as_of = {self.as_of!r} is no instant; write it like 2026-03-01T02:00:00Z") from error
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)


class Store(dg.ConfigurableResource[Lake]):
    """The data folder: ledger, lake, snapshots and settings."""

    home: str = Field(description="Data folder.")
    run: dg.ResourceDependency[Run]

    @cached_property
    def lake(self) -> Lake:
        """The lake, opened once a process."""
        return Lake(Path(self.home))

    @cached_property
    def settings(self) -> Settings:
        """Settings in force, under the run's preset if it names one."""
        return load(self.home, preset_name=self.run.preset or None)

    @property
    def document(self) -> dict[str, Any]:
        """The plan file that the run is to apply."""
        try:
            return dict(json.loads(Path(self.run.plan_file).read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise refused(f"plan {self.run.plan_file}: {error}") from error

    def policies(self, profiles: pl.DataFrame) -> dict[str, Policy]:
        """Policies of the profiles of a run, by hash."""
        return participation.policies(self.settings, profiles)

    def each(self, profiles: pl.DataFrame, stage: Callable[..., R], *frames: pl.DataFrame) -> R:
        """Apply a stage under each policy in play (see `pipeline.each`)."""
        return each(profiles, self.policies(profiles), stage, *frames)

    def participants(self) -> pl.DataFrame:
        """Who takes part in the run, from which state, under which policy: the table `profiles`.

        Raises:
            dagster.Failure: the run's configuration or the plan to apply does not fit the store.
        """
        run = self.run
        try:
            if run.plan_file:
                return participation.planned(self.lake, self.settings, self.document)
            return participation.chosen(
                self.lake,
                self.settings,
                as_of=run.instant(),
                seq=run.seq,
                profiles=run.profiles,
                task=run.task,
                trigger=run.trigger,
                max_archived_share=None if run.max_archived_share < 0 else run.max_archived_share,
                retry_reverted=run.retry_reverted,
            )
        except ValueError as error:
            raise refused(str(error)) from error

    def agreed(self, plan: pl.DataFrame) -> pl.DataFrame:
        """Return the plan; when a plan file is applied, only if it is the very same plan.

        Raises:
            dagster.Failure: the plan differs from the file.
        """
        try:
            return participation.agreed(plan, self.document) if self.run.plan_file else plan
        except ValueError as error:
            raise refused(str(error)) from error


def refused(message: str) -> dg.Failure:
    """Make the failure of a launch that no retry can mend."""
    return dg.Failure(message, allow_retries=False)
