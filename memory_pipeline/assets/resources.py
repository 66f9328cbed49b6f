"""What a launch is given: where the store is, and which state of the ledger it reads.

Settings come from the environment, the settings file and the presets (`memory_pipeline.settings`), never from here.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Concatenate, Final

import dagster as dg
import polars as pl
from pydantic import Field

from memory_pipeline.consolidation import pipeline, planning
from memory_pipeline.consolidation.pipeline import TASKS, P, R, Turn, each
from memory_pipeline.lake import status
from memory_pipeline.lake.schemas import TABLES
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Policy, Settings, load

AUTOMATIC: Final = frozenset({"schedule", "sensor"})
"""Triggers whose instant may be older than the last commit: such a tick has nothing left to do."""


class Run(dg.ConfigurableResource[None]):
    """Which state is read and what may be decided; set once a launch."""

    as_of: str = Field("", description="The one clock of the run, ISO 8601, UTC unless it says otherwise; empty: now.")
    seq: int = Field(0, ge=0, description="Ledger position to read up to; 0: the head.")
    profiles: list[str] = Field([], description="Profiles that take part; empty: every profile with a memory.")
    task: str = Field("full", description="full, reflect, lightweight, decay, creative, cluster or forget.")
    trigger: str = Field("manual", description="What started the run: schedule, sensor, manual or cli.")
    preset: str = Field("", description="Preset to use instead of each profile's own.")
    dry: bool = Field(False, description="Keep every table in memory and write nothing.")
    retry_reverted: bool = Field(False, description="Propose again what was undone.")
    max_archived_share: float = Field(
        -1.0, le=1.0, description="Quota of this run instead of the policy's; negative: the policy's."
    )
    plan_file: str = Field("", description="Plan that a dry run wrote: commit exactly this one or fail.")

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
            raise dg.Failure(
                f"run.as_of = {self.as_of!r} is no instant; write it like 2026-03-01T02:00:00Z", allow_retries=False
            ) from error
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

    def policies(self, profiles: pl.DataFrame) -> dict[str, Policy]:
        """Policies of the profiles of a run, by hash."""
        own = [self.settings.policy_of(profile_id) for profile_id in profiles["profile_id"]]
        return {policy.digest: policy for policy in own}

    def each(self, profiles: pl.DataFrame, stage: Callable[Concatenate[Turn, P], R], *frames: pl.DataFrame) -> R:
        """Apply a stage under each policy in play (see `pipeline.each`)."""
        return each(profiles, self.policies(profiles), stage, *frames)  # type: ignore[arg-type]

    def participants(self) -> pl.DataFrame:
        """Who takes part in the run, from which state, under which policy: the table `profiles`.

        Raises:
            dagster.Failure: the task is unknown, a named profile has no memory, or the plan to apply is out of date.
        """
        if self.run.task not in TASKS:
            raise _refused(f"run.task = {self.run.task!r} is unknown; known are {', '.join(TASKS)}")
        return self._planned() if self.run.plan_file else self._chosen()

    def _chosen(self) -> pl.DataFrame:
        ledger = self.lake.ledger
        known = ledger.profiles().filter(pl.col("memories") > 0)["profile_id"].to_list()
        if unknown := sorted(set(self.run.profiles) - set(known)):
            raise _refused(
                f"run.profiles names {unknown[0]!r}, which has no memory; known are {', '.join(known) or 'none'}"
            )
        as_of, seq = self.run.instant(), self.run.seq or ledger.position()
        past = status.progress(self.lake)
        chosen = sorted(set(self.run.profiles) or set(known))
        if self.run.trigger in AUTOMATIC:
            later = past.filter(pl.col("last_as_of") > as_of)["profile_id"]
            chosen = [profile_id for profile_id in chosen if profile_id not in set(later)]
        policies = {profile_id: self.settings.policy_of(profile_id) for profile_id in chosen}
        return pipeline.participants(
            policies,
            ledger_digest=ledger.digest(seq),
            as_of=as_of,
            seq=seq,
            heads=ledger.heads(chosen),
            since=dict(past.select("profile_id", "reflected_seq").iter_rows()),
            task=self.run.task,
            trigger=self.run.trigger,
            max_archived_share=None if self.run.max_archived_share < 0 else self.run.max_archived_share,
            retry_reverted=self.run.retry_reverted,
        )

    def _planned(self) -> pl.DataFrame:
        """Participants of a plan file, if nothing it was made from has moved."""
        try:
            _, profiles = planning.read(json.loads(Path(self.run.plan_file).read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise _refused(f"plan {self.run.plan_file}: {error}") from error
        heads = self.lake.ledger.heads(profiles["profile_id"].to_list())
        for row in profiles.iter_rows(named=True):
            profile_id = row["profile_id"]
            if heads.get(profile_id, 0) != row["head"]:
                raise _refused(f"plan {self.run.plan_file}: profile {profile_id!r} has changed since; plan again")
            if self.settings.policy_of(profile_id).digest != row["policy_hash"]:
                raise _refused(f"plan {self.run.plan_file}: the policy of {profile_id!r} has changed since; plan again")
        return profiles

    def agreed(self, plan: pl.DataFrame) -> pl.DataFrame:
        """Return the plan; when a plan file is applied, only if it is the very same plan.

        Raises:
            dagster.Failure: the plan differs from the file.
        """
        if self.run.plan_file:
            written, _ = planning.read(json.loads(Path(self.run.plan_file).read_text("utf-8")))
            plan = TABLES["consolidation_plan"].conform(plan)
            if not plan.equals(TABLES["consolidation_plan"].conform(written)):
                raise _refused(f"plan {self.run.plan_file} is not what would be decided now; plan again")
        return plan

    def known(self, name: str, profiles: pl.DataFrame) -> pl.DataFrame:
        """What the ledger says at the state of a run: `events`, `decisions` or `reverted`."""
        if profiles.is_empty():
            return TABLES[name].empty()
        state = {"as_of": profiles["as_of"].max(), "seq": profiles["seq"].max()}
        own = profiles["profile_id"].to_list()
        if name == "events":
            return self.lake.events(**state, profiles=own)
        if name == "decisions":
            return self.lake.ledger.decisions(**state, profiles=own)
        return self.lake.ledger.reverted(seq=state["seq"]).filter(pl.col("profile_id").is_in(own))


def _refused(message: str) -> dg.Failure:
    return dg.Failure(message, allow_retries=False)
