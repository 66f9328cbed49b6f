"""Settings of the deployment: folders, schedules, retention, and the policy of each profile."""

from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.settings.language_model import LanguageModel
from memory_pipeline.settings.policy import Policy
from memory_pipeline.settings.values import (
    LOCAL,
    SQLITE,
    Cron,
    Days,
    EngineAddress,
    LakeAddress,
    LedgerAddress,
    Seconds,
    Zone,
)

STRUCTURE: Final = frozenset({"home", "policy", "profiles", "origins"})
"""Fields of `Settings` that are not settings of the file: its location and its parsed tables."""


class Origin(BaseModel):
    """A value with its origin."""

    model_config = ConfigDict(frozen=True)
    name: str
    value: Any
    origin: str
    description: str


class Settings(LanguageModel):
    """Settings of the deployment: folders, schedules, retention, and the policy of each profile."""

    home: Path = Field(Path("data"), description="Folder of ledger, lake and snapshots.")
    ledger: LedgerAddress = Field(
        SQLITE,
        description="Where the ledger is: in a SQLite file of the data folder, or in a PostgreSQL database. A password "
        "must not be in the settings file: use the environment variable, PGPASSWORD or a password file.",
    )
    lake: LakeAddress = Field(
        LOCAL,
        description="Where the files of tables and archives are: in the data folder, or in a bucket of object storage "
        "with the interface of S3. Endpoint and credentials are those of AWS's variables, such as AWS_ENDPOINT_URL, "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    )
    engine: EngineAddress = Field(
        LOCAL,
        description="Where runs are computed: on this machine, or on a Spark cluster through its Spark Connect server. "
        "Its workers need this package in the same version; they open neither ledger nor lake.",
    )
    workers: int = Field(
        0,
        ge=0,
        le=1024,
        description="Processes that compute a run side by side, at most one a core, or its jobs at once on a cluster. "
        "0: one process for each core from 50,000 memories on, else none; 8 jobs on a cluster. 1: none.",
    )
    shards: int = Field(
        0,
        ge=0,
        le=4096,
        description="Parts in which a store is consolidated, one after another or by runs of their own (`shards` of a "
        "run): each holds the profiles of one hash, and is in memory and committed by itself. 0: one for each 100,000 "
        "memories, rounded up to a power of two.",
    )
    default_profile: str | None = Field(
        None,
        min_length=1,
        max_length=256,
        description="Profile of commands, MCP calls and Python clients that name none, and of imports that name "
        "nobody. Unset: the store's only profile on the command line and over MCP, `default` in Python.",
    )
    timezone: Zone = Field(
        "UTC",
        description="Time zone of the schedules, of the days and times that are shown, and of those that are asked for "
        "without an offset.",
    )
    nightly: Cron = Field(
        "0 2 * * *",
        description="Cron expression of the nightly full run: minute, hour, day of the month, month, day of the week.",
    )
    maintenance: Cron = Field("30 3 * * *", description="Cron expression of maintenance.")
    start_automation: bool = Field(
        False, description="Start schedules and sensors when Dagster loads them; otherwise a person switches them on."
    )
    sensor_seconds: Seconds = Field(30, ge=1, description="Interval of the sensors, in seconds.")
    keep_snapshots: int = Field(30, ge=1, description="Snapshots that maintenance keeps.")
    keep_runs_days: Days = Field(90, ge=1, description="Days of Dagster run history that maintenance keeps.")
    keep_scores_days: Days = Field(
        365, ge=1, description="Days of score history, before the last run of its profile, that maintenance keeps."
    )
    ledger_days: Days = Field(
        7, ge=0, description="Days after which event payloads move from the ledger database to files; 0: never."
    )
    ledger_archive_days: Days = Field(
        0, ge=0, description="Days after which events are archived and their payloads leave the store; 0: never."
    )
    time_budget_seconds: int = Field(
        1800,
        ge=0,
        description="Maximum duration of a run; memories that it leaves out come first in the next run. 0: no limit.",
    )
    max_idle_days: Days = Field(
        365,
        ge=1,
        description="Days without any event or run of a profile after which a run removes no memories for their age: "
        "either the clock is wrong or nobody was there. `--max-archived-share` overrides it.",
    )
    alert_url: str | None = Field(
        None,
        pattern="^https?://",
        description="URL to which failed runs and held profiles are posted as JSON; unset: none.",
    )
    max_text_characters: int = Field(
        100_000, ge=100, description="Longest text of an event, in characters; a longer one is refused."
    )
    redact_credentials: bool = Field(
        True,
        description="Replace credentials in documented formats (tokens, keys, passwords in addresses) before anything "
        "is stored. Imports are always redacted.",
    )
    filter_noise: bool = Field(
        True,
        description="Keep what is no memory (prompts, output of programs, encoded bytes, empty acknowledgements) among "
        "the dead letters, with the reason (`dead-letters list --noise`).",
    )
    max_tags: int = Field(
        1_000, ge=1, description="Maximum number of tags of a memory, and of tags or memory types of a filter."
    )
    max_batch: int = Field(10_000, ge=1, description="Maximum number of memories that one call stores.")
    max_body_bytes: int = Field(
        16_000_000, ge=1_000, description="Largest request body that the HTTP and MCP servers read, in bytes."
    )
    max_heavy_requests: int = Field(
        16,
        ge=1,
        le=32,
        description="Consolidations, dry runs, ticks, undos and erasures that a server executes or queues at once; "
        "more are answered with 503.",
    )
    max_heavy_requests_per_token: int = Field(
        4, ge=1, description="The same for one token; more are answered with 429."
    )
    dry_run_seconds: int = Field(300, ge=1, description="Longest dry run that a server executes, in seconds.")
    run_seconds: int = Field(
        7200, ge=1, description="Longest run that a server executes, in seconds; a longer one is ended."
    )
    max_connections: int = Field(
        512,
        ge=16,
        description="Connections that a server holds at once, at most half as many as the files it may open; for more, "
        "the one idle longest is closed.",
    )
    max_connections_per_address: int = Field(
        256,
        ge=8,
        description="The same for one address; behind a proxy, all clients have its address.",
    )
    body_seconds: int = Field(120, ge=1, description="Longest time that the body of a request may take to arrive.")
    idle_seconds: int = Field(
        30,
        ge=1,
        description="Seconds for which a server waits for the header of a request, for more of its body, and for the "
        "next request of a connection.",
    )
    stop_seconds: int = Field(
        5, ge=0, description="Seconds that a stopping server gives the run and the requests in progress."
    )
    policy: Policy = Field(default_factory=Policy, description="Policy of profiles without their own settings.")
    profiles: dict[str, Policy] = Field(default_factory=dict, description="Policies of single profiles.")
    origins: dict[str, tuple[Origin, ...]] = Field(
        default_factory=dict,
        exclude=True,
        description="Origin of each value, by profile; '' is the common policy.",
    )

    def policy_of(self, profile_id: str) -> Policy:
        """Return the policy of a profile: its own, or the common one."""
        return self.profiles.get(profile_id, self.policy)

    @property
    def zone(self) -> ZoneInfo:
        """Time zone of the reader (`timezone`)."""
        return ZoneInfo(self.timezone)

    def chosen(self, profile_id: str, name: str) -> bool:
        """Return whether somebody set a policy's value, which comes from neither preset nor embedder nor default."""
        origins = {row.name: row.origin for row in self.explained(profile_id)}
        origin = origins.get(f"policy.{name}", "settings")
        set_by_hand = origin != "default" and not origin.startswith(("preset ", "embedder "))
        return set_by_hand and name in self.policy_of(profile_id).model_fields_set

    def explained(self, profile_id: str | None = None) -> tuple[Origin, ...]:
        """Return every setting with value and origin, for one profile or for profiles without their own policy."""
        return self.origins.get(profile_id or "", self.origins.get("", ()))
