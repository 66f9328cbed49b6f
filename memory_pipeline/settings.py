"""Every setting: its name, type, default and meaning, and where its value came from.

A `Policy` is what one profile's memories are consolidated by; `Settings` is the deployment: folders, schedules and
the policy of each profile. Environment beats file beats preset beats default. What is not here: what a setting does
(`consolidation/`), and the presets themselves (`presets/*.toml`, one file each, no code).
"""

import difflib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

ENVIRONMENT_PREFIX: Final = "MEMORY_PIPELINE_"
HOME_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}HOME"
SETTINGS_FILE: Final = "memory_pipeline.toml"
MEMORY_TYPES: Final = (
    "Decision",
    "Insight",
    "Pattern",
    "Preference",
    "Style",
    "Habit",
    "Context",
    "Memory",
    "MetaPattern",
)
"""Types that a memory can have; MetaPattern is that of summaries."""

AUTOMEM_PREFIX: Final = "CONSOLIDATION_"
AUTOMEM_VARIABLES: Final[dict[str, str]] = {
    "CONSOLIDATION_TICK_SECONDS": "sensor_seconds",
    "CONSOLIDATION_DECAY_INTERVAL_SECONDS": "decay_interval_seconds",
    "CONSOLIDATION_CREATIVE_INTERVAL_SECONDS": "creative_interval_seconds",
    "CONSOLIDATION_CLUSTER_INTERVAL_SECONDS": "cluster_interval_seconds",
    "CONSOLIDATION_FORGET_INTERVAL_SECONDS": "forget_interval_seconds",
    "CONSOLIDATION_HISTORY_LIMIT": "history_limit",
    "CONSOLIDATION_PROTECTED_TYPES": "protected_types",
    "CONSOLIDATION_GRACE_PERIOD_DAYS": "grace_period_days",
    "CONSOLIDATION_ARCHIVE_THRESHOLD": "archive_threshold",
    "CONSOLIDATION_DELETE_THRESHOLD": "delete_threshold",
}
"""Variables of AutoMem deployments that are understood by their own names."""

_CRON_FIELDS: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_CRON_PART: Final = re.compile(r"(\d{1,2})|(?:\*|(\d{1,2})-(\d{1,2}))(?:/(\d{1,2}))?", re.ASCII)
_CRON_DAYS: Final = 366 * 8 + 2
"""Days within which every date comes: 29 February, over a century without a leap day."""

Given = dict[str, tuple[Any, str]]
"""Values by setting, each with where it was given."""
M = TypeVar("M", bound=BaseModel)


class SettingsError(ValueError):
    """A setting is unknown or out of range; the message names it, its value and the remedy."""


def cron(text: str) -> str:
    """Return a cron expression, if it is one: minute, hour, day of the month, month, day of the week (0 is Sunday).

    Raises:
        ValueError: it is none; names the field.
    """
    _cron_sets(text)
    return text


def next_tick(expression: str, timezone: str, after: datetime) -> datetime | None:
    """Return the first instant after `after` that a cron expression names, in UTC; None if it never comes.

    A day counts if it fits month and both kinds of day; where both are restricted, either is enough.

    Args:
        expression: see `cron`.
        timezone: zone of the clock that it means.
        after: timezone-aware.
    """
    minutes, hours, days, months, weekdays = _cron_sets(expression)
    _, _, day_text, _, weekday_text = expression.split()
    zone = ZoneInfo(timezone)
    either = "*" not in (day_text, weekday_text)
    local = after.astimezone(zone)
    for later in range(_CRON_DAYS):
        day = local.date() + timedelta(days=later)
        fits = (day.day in days, day.isoweekday() % 7 in weekdays)
        if day.month not in months or not (any(fits) if either else all(fits)):
            continue
        for hour in sorted(hours):
            for minute in sorted(minutes):
                tick = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).astimezone(UTC)
                if tick > after:
                    return tick
    return None


def _cron_sets(expression: str) -> list[set[int]]:
    texts = expression.split()
    if len(texts) != len(_CRON_FIELDS):
        raise ValueError("give five fields: minute, hour, day of the month, month, day of the week")
    sets = [_cron_set(text, *limits) for text, limits in zip(texts, _CRON_FIELDS, strict=True)]
    sets[-1] = {weekday % 7 for weekday in sets[-1]}
    return sets


def _cron_set(text: str, what: str, low: int, high: int) -> set[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        said = _CRON_PART.fullmatch(part)
        single, first, last, step = said.groups() if said else (None,) * 4
        start, end = int(single or first or low), int(single or last or high)
        # Dagster reads a range of one number as every number.
        if said is None or (first and first == last) or not low <= start <= end <= high or int(step or 1) == 0:
            raise ValueError(f"{what} {part!r}: give *, a number or a range from {low} to {high}, such as */5 or 1-5")
        numbers |= set(range(start, end + 1, int(step or 1)))
    return numbers


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"no such time zone; {_nearest(name, ['UTC', *sorted(available_timezones())])}")
    return name


def _memory_type(name: str) -> str:
    known = {one.lower(): one for one in MEMORY_TYPES}
    if name.lower() not in known:
        raise ValueError(f"no such type of memory; {_nearest(name, MEMORY_TYPES)}")
    return known[name.lower()]


def _plain_zero(number: float) -> float:
    """Take the sign off a zero: equal policies are to have equal digests."""
    return number + 0.0


Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), AfterValidator(_plain_zero)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False), AfterValidator(_plain_zero)]
Cron = Annotated[str, AfterValidator(cron), Field(examples=["0 2 * * *", "*/30 6-22 * * 1-5"])]
Zone = Annotated[str, AfterValidator(_zone), Field(examples=["Europe/Zurich"])]
MemoryType = Annotated[str, AfterValidator(_memory_type), Field(json_schema_extra={"enum": list(MEMORY_TYPES)})]


class Policy(BaseModel):
    """How the memories of one profile are consolidated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    preset: str = Field("default", description="Preset these values start from.")
    embedder: Literal["hashing"] = Field("hashing", description="What turns texts into vectors.")
    enrichments: tuple[Literal["keywords", "entities", "embedding", "importance", "gist"], ...] = Field(
        ("keywords", "entities", "embedding", "importance", "gist"), description="What is read out of a text."
    )
    seed: int = Field(0, description="Seed of every sampled choice, together with profile and interval.")

    strength: Literal["relevance", "retention", "recency_importance", "energy"] = Field(
        "relevance", description="The score that decisions use."
    )
    base_decay_rate: NotNegative = Field(0.01, description="Relevance lost to age, per day.")
    access_base: NotNegative = Field(0.0, description="Constant part of the access factor.")
    access_weight: NotNegative = Field(1.0, description="Weight of the decaying part of the access factor.")
    importance_floor_factor: Share = Field(0.0, description="Relevance never falls below this times importance.")
    relationship_preservation: NotNegative = Field(0.3, description="How much neighbours slow the decay.")
    decay_importance_threshold: Share | None = Field(
        None, description="Memories less important than this keep the relevance of their last access; unset: all decay."
    )
    retention_curve: Literal["exponential", "power"] = Field(
        "exponential", description="Shape of the forgetting curve."
    )
    recency_stability: Literal["linear", "log"] = Field(
        "linear", description="How accesses lengthen the lifetime of recency."
    )
    recency_base_hours: Positive = Field(168.0, description="Mean lifetime of recency without an access, in hours.")
    recency_access_hours: NotNegative = Field(24.0, description="What an access adds to it, in hours.")
    centrality_importance: bool = Field(False, description="Central memories are raised to at least .6, .8 or 1.")

    protect_flagged: bool = Field(True, description="Memories flagged by the agent are protected.")
    protected_importance: Share | None = Field(
        0.7, description="Importance from which a memory is protected; unset: none."
    )
    grace_period_days: NotNegative = Field(90.0, description="Memories younger than this many days are protected.")
    protected_types: tuple[MemoryType, ...] = Field(("Decision", "Insight"), description="Types that are protected.")
    protect_core: bool = Field(True, description="Memories of category core are protected.")
    protected_causes: int | None = Field(
        3, ge=1, description="In-degree over CAUSED_BY from which a memory is protected; unset: none."
    )

    similar_to_threshold: Share = Field(
        0.75, description="Cosine above which SIMILAR_TO edges are made; calibrated for the embedder hashing."
    )
    reference_share: Share = Field(
        0.05, description="Entities in a larger share of the memories make no REFERENCES edge."
    )
    similar_edges: bool = Field(True, description="SIMILAR_TO edges are made.")
    reference_edges: bool = Field(True, description="REFERENCES edges are made.")
    associations: tuple[
        Literal["creative", "coactivation", "reinforcement", "auto_link", "co_recall", "shortcut", "cross_session"], ...
    ] = Field(
        ("creative", "coactivation", "reinforcement", "auto_link", "co_recall", "shortcut", "cross_session"),
        description="Associations that are looked for.",
    )
    auto_link_similarity: Share = Field(0.70, description="Cosine from which a new memory is linked to others.")
    auto_link_neighbours: int = Field(10, ge=1, description="Most neighbours that a new memory is linked to.")
    co_recall_gain: Share = Field(0.05, description="Weight that a link gains when both ends are recalled together.")
    reinforcement_similarity: Share = Field(
        0.70, description="Cosine above which a new memory reinforces one of a higher tier."
    )
    shortcut_accesses: int = Field(4, ge=1, description="Sessions that accessed both ends of a shortcut, at least.")
    shortcut_hops: int = Field(2, ge=1, description="Ends of a shortcut are further apart than this.")
    warm_prune_weight: Share | None = Field(
        None,
        description="Similarity edges of memories between a day and a week old are pruned below this; unset: none.",
    )
    creative_sample: int = Field(20, ge=2, le=1000, description="Memories drawn by the creative task.")
    creative_min_relevance: Share = Field(0.0, description="Relevance above which a memory can be drawn.")
    creative_contrast: bool = Field(False, description="Two unlike Decisions are linked as CONTRADICTS/contrast.")
    edge_decay_days: NotNegative = Field(30.0, description="Edges idle for this long start to decay.")
    edge_decay_rate: NotNegative = Field(0.01, description="Edge weight lost per idle day.")
    edge_prune_weight: Share = Field(0.05, description="Edges lighter than this are pruned.")
    link_lifetime_days: Positive | None = Field(
        None, description="Links weigh exp(-days/this) of their base from the first day on; unset: edge_decay applies."
    )
    link_usable_weight: Share = Field(0.30, description="Below this weight such a link is not followed.")

    methods: tuple[
        Literal["near_duplicates", "fading_groups", "similarity_components", "coactivation", "episodes"], ...
    ] = Field(
        ("near_duplicates", "similarity_components", "coactivation", "episodes"),
        description="How memories are grouped, in order.",
    )
    summarised: tuple[
        Literal["near_duplicates", "fading_groups", "similarity_components", "coactivation", "episodes"], ...
    ] = Field(
        ("near_duplicates", "fading_groups", "similarity_components", "episodes"),
        description="Methods whose groups get a summary.",
    )
    duplicate_similarity: Share = Field(0.85, description="Cosine from which two memories can be near duplicates.")
    duplicate_min_size: int = Field(2, ge=2, description="Smallest group of near duplicates that is merged.")
    cluster_similarity: Share = Field(
        0.5, description="Cosine from which memories join a cluster; calibrated for the embedder hashing."
    )
    cluster_min_size: int = Field(5, ge=2, description="Smallest cluster.")
    cluster_max_size: int | None = Field(30, ge=2, description="Largest cluster; unset: no limit.")
    cluster_min_relevance: Share = Field(0.0, description="Relevance above which a memory can join a cluster.")
    linkage: Literal["single", "average"] = Field(
        "average", description="single: connected components; average: average linkage."
    )
    fading_retention: Share = Field(0.20, description="Retention below which a memory can join a fading group.")
    fading_similarity: Share = Field(0.70, description="Cosine to its seed from which a memory joins a fading group.")
    fading_size: int = Field(5, ge=2, description="Size of a fading group.")
    fading_fill: bool = Field(False, description="A fading group takes every match, not only as many as its size.")
    coactivation_min: int = Field(3, ge=1, description="Shared sessions above which two memories are one unit.")
    episode_gap_minutes: Positive = Field(30.0, description="A longer pause ends an episode.")
    episode_levels: tuple[Literal["episode", "session", "agent"], ...] = Field(
        ("episode", "session"), description="Levels of episodes that are made."
    )
    summary_text: Literal["extractive", "sentence", "concat"] = Field(
        "extractive", description="How cluster summaries are worded."
    )
    llm_model: str | None = Field(
        None, description="Model that words summaries and core memory; unset: rules do. See llm_base_url."
    )
    fact_changes: bool = Field(True, description="Changed and contradicting facts are looked for.")

    promote_tiers: bool = Field(True, description="Energy moves memories to higher tiers.")
    short_term_energy: Positive = Field(2.0, description="Energy above which a working memory becomes short-term.")
    long_term_energy: Positive = Field(5.0, description="Energy above which a short-term memory becomes long-term.")
    session_end_energy: Positive = Field(1.5, description="The former, for a session's memories when it ends.")
    promotion_batch: int = Field(
        0, ge=0, description="Most tier changes in one run, highest energy first; 0: no limit."
    )
    promote_warm: bool = Field(True, description="Active memories that are used become warm.")
    promotion_min_access: int = Field(3, ge=0, description="Accesses from which an active memory becomes warm.")
    promotion_min_confidence: Share = Field(0.5, description="Confidence from which an active memory becomes warm.")
    promote_core: bool = Field(True, description="Memories that are used again and again become core.")
    core_min_access: int = Field(10, ge=0, description="Accesses from which a memory can become core.")
    core_min_stability: Share = Field(0.85, description="Stability from which a memory can become core.")
    core_min_sessions: int = Field(3, ge=0, description="Sessions with an access from which a memory can become core.")
    core_blocks: bool = Field(True, description="Core memory blocks are compiled.")
    core_memory_char_limit: int = Field(2000, ge=1, description="Characters of all core memory blocks together.")
    block_char_limit: int = Field(500, ge=1, description="Characters of a core memory block.")

    forgetting: tuple[Literal["relevance", "retention", "age_tiers", "energy"], ...] = Field(
        ("relevance",), description="What may take memories out of the live set."
    )
    superseded_lifecycle: Literal["archived", "cold"] = Field(
        "archived", description="Where memories go whose place a summary takes."
    )
    cold_after_days: NotNegative = Field(7.0, description="Days at the floor of retention until a memory goes cold.")
    stub_after_days: NotNegative = Field(180.0, description="Days in the cold until a memory becomes a stub.")
    cold_keep_importance: Share = Field(0.5, description="Importance from which a memory stays beyond a week of age.")
    cold_keep_access: int = Field(3, ge=0, description="Accesses from which a memory stays beyond a week of age.")
    cold_min_strength: Share = Field(0.0, description="Beyond a week of age, strength below which none stays; 0: off.")
    archive_keep_importance: Share = Field(0.7, description="Importance from which a memory stays beyond 30 days.")
    expire_energy: NotNegative = Field(0.1, description="Energy below which a working memory expires.")
    archive_threshold: Share = Field(0.0, description="Relevance below which a memory is archived; 0: never.")
    delete_threshold: Share = Field(0.0, description="Relevance below which a memory is deleted; 0: never.")
    max_archived_share: Share = Field(0.10, description="Largest share of the live memories that may leave in one run.")

    reflection_threshold: Positive = Field(150.0, description="Summed importance_score that triggers a reflection.")
    reflection: bool = Field(True, description="The reflection trigger is on.")
    nightly_run: bool = Field(True, description="The nightly full run includes this profile.")
    enabled: bool = Field(True, description="Sensors and schedules act on this profile; by hand it can always be run.")
    session_trigger: bool = Field(True, description="The end of a session triggers a full run.")
    scheduled_sessions: int = Field(5, ge=0, description="A full run after so many sessions; 0: never.")
    step_count_trigger: int = Field(50, ge=0, description="A lightweight run after so many new memories; 0: never.")
    idle_timeout_seconds: int = Field(300, ge=0, description="A lightweight run after such a pause; 0: never.")
    ingestion_cycles: int = Field(0, ge=0, description="A full run after so many accepted batches; 0: never.")
    decay_interval_seconds: int = Field(86_400, ge=0, description="How often decay runs; 0: never.")
    creative_interval_seconds: int = Field(604_800, ge=0, description="How often the creative task runs; 0: never.")
    cluster_interval_seconds: int = Field(2_592_000, ge=0, description="How often clustering runs; 0: never.")
    forget_interval_seconds: int = Field(0, ge=0, description="How often forgetting runs; 0: never.")
    promote_interval_seconds: int = Field(0, ge=0, description="How often tiers are looked at; 0: with full runs only.")
    reconsolidate_interval_seconds: int = Field(0, ge=0, description="How often a full run is due; 0: nightly only.")
    history_limit: int = Field(20, ge=1, description="Runs listed by status.")

    @cached_property
    def digest(self) -> str:
        """Hash of every value: two policies with the same digest decide alike."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]


class Origin(BaseModel):
    """A value together with where it came from."""

    model_config = ConfigDict(frozen=True)
    name: str
    value: Any
    origin: str
    description: str


class Settings(BaseModel):
    """The deployment: where things are, when they run, and the policy of each profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


def preset_names() -> list[str]:
    """Names of the presets that ship, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """Return the file of a preset: comments on what it is for, then the values that it changes.

    Raises:
        SettingsError: no such preset; names the nearest.
    """
    if name not in preset_names():
        raise SettingsError(f"preset {name!r} is unknown; {_nearest(name, preset_names())}")
    return str((_presets() / f"{name}.toml").read_text("utf-8"))


def preset(name: str) -> dict[str, Any]:
    """Return the values that a preset changes.

    Raises:
        SettingsError: no such preset; names the nearest.
    """
    return _unset(tomllib.loads(preset_text(name)))


def load(
    home: Path | str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    preset_name: str | None = None,
) -> Settings:
    """Read settings from environment, `memory_pipeline.toml` in the home folder, presets and defaults.

    Args:
        home: data folder; overrides `MEMORY_PIPELINE_HOME`.
        environment: variables to read instead of the process's own.
        preset_name: preset that overrides the one of file and environment.

    Raises:
        SettingsError: a name is unknown or a value is out of range; names it and the remedy.
    """
    variables = os.environ if environment is None else environment
    folder = _home(home, variables)
    top, common, own = _from_file(folder[0] / SETTINGS_FILE)
    spoken = _from_environment(variables)
    deployment = {"home": folder} | top | {k: v for k, v in spoken.items() if k in Settings.model_fields}
    spoken_policy = {k: v for k, v in spoken.items() if k in Policy.model_fields}
    chosen: Given = {"preset": (preset_name, "--preset")} if preset_name else {}
    settings = _validated(Settings, deployment, "")
    policies: dict[str, Policy] = {}
    origins: dict[str, tuple[Origin, ...]] = {}
    for profile_id, values in {"": Given(), **own}.items():
        given = common | values | spoken_policy | chosen
        name = given.get("preset", ("default", ""))[0]
        given = {key: (value, f"preset {name}") for key, value in preset(name).items()} | given
        policies[profile_id] = _validated(Policy, given, "policy.")
        origins[profile_id] = (
            *_origins(settings, deployment, ""),
            *_origins(policies[profile_id], given, "policy."),
        )
    return settings.model_copy(update={"policy": policies.pop(""), "profiles": policies, "origins": origins})


def _unset(values: dict[str, Any]) -> dict[str, Any]:
    """Read an empty string as "no value", since TOML has no null."""
    return {k: _unset(v) if isinstance(v, dict) else None if v == "" else v for k, v in values.items()}


def _presets() -> Any:
    return resources.files("memory_pipeline") / "presets"


def _nearest(name: object, known: Iterable[str]) -> str:
    names = list(known)
    lower = {one.lower(): one for one in names}
    near = difflib.get_close_matches(str(name).lower(), lower, n=1)
    return f"did you mean {lower[near[0]]!r}?" if near else f"known are {', '.join(names)}"


def _home(home: Path | str | None, variables: Mapping[str, str]) -> tuple[Path, str]:
    """Return the data folder and where it was named."""
    named = variables.get(HOME_VARIABLE)
    origin = "--home" if home else f"environment {HOME_VARIABLE}" if named else "default"
    return Path(home or named or "data").expanduser().resolve(), origin


def _from_file(file: Path) -> tuple[Given, Given, dict[str, Given]]:
    """Read deployment values, common policy values and policy values of single profiles from a settings file."""
    try:
        written = _unset(tomllib.loads(file.read_text("utf-8"))) if file.exists() else {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file}: cannot be read as TOML: {error}; correct or remove it") from error
    deployment = sorted(set(Settings.model_fields) - {"policy", "profiles", "origins", "home"})
    common = _table(written.pop("policy", {}), file, "[policy]", Policy.model_fields)
    own = _table(written.pop("profiles", {}), file, "[profiles]", None)
    profiles = {
        name: _table(values, file, f"[profiles.{name}]", Policy.model_fields) for name, (values, _) in own.items()
    }
    return _table(written, file, "", deployment), common, profiles


def _table(values: Any, file: Path, header: str, known: Iterable[str] | None) -> Given:
    """Return the values of a table of the settings file, if it has no unknown ones."""
    if not isinstance(values, dict):
        raise SettingsError(f"{file}: {header.strip('[]')} = {values!r} is no table; write its settings below {header}")
    if known is not None and (unknown := sorted(set(values) - set(known))):
        where = f"{header} {unknown[0]}".strip()
        raise SettingsError(f"{file}: setting {where} is unknown; {_place(unknown[0]) or _nearest(unknown[0], known)}")
    return {name: (value, f"{file.name} {header}".strip()) for name, value in values.items()}


def _place(name: str) -> str | None:
    """Say where in the settings file a setting belongs."""
    if name in Policy.model_fields:
        return "write it below [policy] or [profiles.NAME]"
    return "write it at the top, above every table" if name in Settings.model_fields else None


def _from_environment(variables: Mapping[str, str]) -> Given:
    """Settings given by variables: AutoMem's by their own names, then ours by `MEMORY_PIPELINE_` + name."""
    ours = (set(Policy.model_fields) | set(Settings.model_fields)) - {"policy", "profiles", "origins", "home"}
    names = AUTOMEM_VARIABLES | {f"{ENVIRONMENT_PREFIX}{name.upper()}": name for name in sorted(ours)}
    for variable in variables:
        if variable.startswith((ENVIRONMENT_PREFIX, AUTOMEM_PREFIX)) and variable not in {*names, HOME_VARIABLE}:
            raise SettingsError(f"environment {variable} names no setting; {_nearest(variable, names)}")
    return {
        name: (_literal(variables[variable], name), f"environment {variable}")
        for variable, name in names.items()
        if variable in variables
    }


def _literal(raw: str, name: str) -> Any:
    """Read a variable: lists are comma-separated, an empty value unsets, all else is checked by the setting's type."""
    if name in {"protected_types", "methods"}:
        return [part.strip() for part in raw.split(",") if part.strip()]
    return None if raw.strip().lower() in {"", "none"} else raw


def _validated(model: type[M], given: Given, prefix: str) -> M:
    try:
        return model(**{name: value for name, (value, _) in given.items()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, said = str(first["loc"][0]), first["msg"].removeprefix("Value error, ")
        raise SettingsError(
            f"{given[name][1]}: {prefix}{name} = {first['input']!r}: {said}; correct the value or remove it"
        ) from error


def _origins(model: BaseModel, given: Given, prefix: str) -> tuple[Origin, ...]:
    return tuple(
        Origin(
            name=f"{prefix}{name}",
            value=getattr(model, name),
            origin=given[name][1] if name in given else "default",
            description=field.description or "",
        )
        for name, field in type(model).model_fields.items()
        if name not in {"policy", "profiles", "origins"}
    )
