"""The deployment: where things are, when they run, and the policy of each profile."""

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.settings.language_model import LanguageModel
from memory_pipeline.settings.policy import Policy
from memory_pipeline.settings.values import Cron, Zone

STRUCTURE: Final = frozenset({"home", "policy", "profiles", "origins"})
"""Fields of `Settings` that are no settings of the file: where it lies, and what is made of its tables."""


class Origin(BaseModel):
    """A value together with where it came from."""

    model_config = ConfigDict(frozen=True)
    name: str
    value: Any
    origin: str
    description: str


class Settings(LanguageModel):
    """The deployment: where things are, when they run, and the policy of each profile."""

    home: Path = Field(Path("data"), description="Folder of ledger, lake and snapshots.")
    timezone: Zone = Field("UTC", description="Time zone of the schedules.")
    nightly: Cron = Field(
        "0 2 * * *",
        description="When everything is consolidated: minute, hour, day of the month, month, day of the week.",
    )
    maintenance: Cron = Field("30 3 * * *", description="When the store is tidied up.")
    sensor_seconds: int = Field(30, ge=1, description="How often sensors look.")
    keep_snapshots: int = Field(30, ge=1, description="Snapshots kept by maintenance.")
    keep_runs_days: int = Field(90, ge=1, description="Days of Dagster's run history kept by maintenance.")
    ledger_days: int = Field(
        7, ge=0, description="Days after which what events said moves from the ledger's database to files; 0: never."
    )
    ledger_archive_days: int = Field(
        0, ge=0, description="Days after which old events are archived and what they said leaves the store; 0: never."
    )
    time_budget_seconds: int = Field(
        1800, ge=0, description="Most seconds that a run may take; what it leaves is first next time. 0: no limit."
    )
    alert_url: str | None = Field(
        None, pattern="^https?://", description="Where a failed run is reported, as JSON by POST; unset: nowhere."
    )
    policy: Policy = Field(default_factory=Policy, description="Policy of profiles without their own.")
    profiles: dict[str, Policy] = Field(default_factory=dict, description="Policies of single profiles.")
    origins: dict[str, tuple[Origin, ...]] = Field(
        default_factory=dict,
        exclude=True,
        description="Where each value came from, by profile; '' is the common policy.",
    )

    def policy_of(self, profile_id: str) -> Policy:
        """Return the policy of a profile: its own, else the common one."""
        return self.profiles.get(profile_id, self.policy)

    def explained(self, profile_id: str | None = None) -> tuple[Origin, ...]:
        """Return every setting with its value and where it came from, for a profile or for those without their own."""
        return self.origins.get(profile_id or "", self.origins.get("", ()))
