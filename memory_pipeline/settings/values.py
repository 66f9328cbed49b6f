"""Types of setting values, their descriptions, and suggestions for misspelled names."""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Annotated, Any, Final
from urllib.parse import parse_qs, urlsplit
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from memory_pipeline.settings.schedule import cron

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
"""Types of a memory; MetaPattern is the type of summaries."""

LEDGER_FILE: Final = "ledger.sqlite"
"""File of a ledger in a data folder."""

SQLITE: Final = "sqlite"
"""Value of the setting `ledger` for a SQLite file in the data folder."""

LOCAL: Final = "local"
"""Value of the setting `lake` for files in the data folder, and of `engine` for runs on this machine."""

_LAKE: Final = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*/?")

_ENGINE: Final = re.compile(r"sc://[^\s/;]+(:\d+)?(/(;[^\s;=]+=[^\s;]*)*)?")

_FEW: Final = 20
"""Maximum number of names listed when none is similar."""


class SettingsError(ValueError):
    """A setting is unknown or invalid; the message names it, its value and the remedy."""


class Values(BaseModel):
    """Immutable named values; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_booleans_as_numbers(cls, value: object, info: ValidationInfo) -> object:
        """Refuse booleans for numbers: Python would accept them as 1 and 0."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            kind = takes(cls.model_json_schema()["properties"][info.field_name])
            raise ValueError(f"takes {kind}, not true or false")
        return value


def takes(schema: Mapping[str, Any]) -> str:
    """Describe the values that a setting with this JSON schema accepts."""
    options = schema.get("anyOf", [schema])
    unset = ", or unset" if len(options) > 1 else ""
    return _kind(options[0]) + unset


def _kind(schema: Mapping[str, Any]) -> str:
    kind = {"integer": "a whole number", "number": "a number"}.get(schema.get("type", ""), "text")
    match schema:
        case {"enum": values}:
            kind = ", ".join(f"`{value}`" for value in values)
        case {"const": value}:
            kind = f"`{value}`"
        case {"type": "array", "items": items}:
            kind = f"a list of {_kind(items)}"
        case {"type": "boolean"}:
            kind = "`true`, `false`"
        case {"minimum": low, "maximum": high}:
            kind += f" from {low:g} to {high:g}"
        case {"minimum": low}:
            kind += f" of at least {low:g}"
        case {"exclusiveMinimum": low}:
            kind += f" above {low:g}"
        case {"examples": examples}:
            kind = f"such as `{'`, `'.join(examples)}`"
    return kind


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the name that it begins or that is most similar, else all known names."""
    names = list(known)
    by_lower = {candidate.lower(): candidate for candidate in names}
    typed = str(name).lower()
    completions = [candidate for candidate in by_lower if candidate.startswith(typed)] if typed else []
    if similar := completions[:1] or difflib.get_close_matches(typed, by_lower, n=1):
        return f"did you mean {by_lower[similar[0]]!r}?"
    if len(names) <= _FEW:
        return f"known names: {', '.join(names)}"
    return "`memory-pipeline config show` lists all settings"


def _known(what: str, names: Callable[[], Sequence[str]]) -> AfterValidator:
    """Return the validator of a value that must be one of some names."""

    def check(name: str) -> str:
        if name not in names():
            raise ValueError(f"unknown {what}; {nearest(name, names())}")
        return name

    return AfterValidator(check)


def _zones() -> list[str]:
    return ["UTC", *sorted(available_timezones())]


def _memory_type(name: str) -> str:
    by_lower = {memory_type.lower(): memory_type for memory_type in MEMORY_TYPES}
    if name.lower() not in by_lower:
        raise ValueError(f"unknown memory type; {nearest(name, MEMORY_TYPES)}")
    return by_lower[name.lower()]


def _modules(*folders: str) -> tuple[str, ...]:
    """Return the names of the modules in a folder of the package."""
    modules = resources.files("memory_pipeline").joinpath(*folders).iterdir()
    names = (module.name.removesuffix(".py") for module in modules if module.name.endswith(".py"))
    return tuple(sorted(name for name in names if name != "__init__"))


def clustering_methods() -> tuple[str, ...]:
    """Return the names of the clustering methods: the modules in `consolidation/groups/strategies`."""
    return tuple(name for name in _modules("consolidation", "groups", "strategies") if name != "strategy")


def encoder_family(embedder: str) -> str:
    """Return the family whose thresholds and ranking an embedder has: `reader` and `local` are one network."""
    name = embedder.partition(":")[0]
    return "local" if name == "reader" else name


def judges() -> tuple[str, ...]:
    """Return the names of the judges of pairs of memories: the modules in `text/compare/judges`."""
    return _modules("text", "compare", "judges")


def _embedder(name: str) -> str:
    kind, _, model = name.partition(":")
    if name not in {"hashing", "reader"} and not (kind == "local" and (model.strip() or ":" not in name)):
        raise ValueError("unknown embedder; use hashing, reader, local, local:MODEL or local:FOLDER")
    return name


def check_ledger(address: str) -> str:
    """Return the value of the setting `ledger`, if it is valid; the ValueError does not quote it."""
    if address == SQLITE:
        return address
    parts = urlsplit(address)
    if parts.scheme != "postgresql" or len(parts.path) <= 1:
        raise ValueError("not a ledger; write sqlite, or an address like postgresql://USER@HOST:5432/DATABASE")
    if "password" in parse_qs(parts.query):
        raise ValueError("the password is in the query; write it before the @, or use PGPASSWORD or ~/.pgpass")
    return address


def check_lake(address: str) -> str:
    """Return the value of the setting `lake`, if it is valid; the ValueError does not quote it."""
    if address != LOCAL and not _LAKE.fullmatch(address):
        raise ValueError(
            "not a lake; write local, or an address like s3://BUCKET/PREFIX of letters, digits, dots, dashes and "
            "underscores; credentials and endpoint belong in AWS's variables"
        )
    return address


def check_engine(address: str) -> str:
    """Return the value of the setting `engine`, if it is valid; the ValueError does not quote it."""
    if ";token=" in address:
        raise ValueError("the token is in the address; set it in the variable SPARK_CONNECT_AUTHENTICATE_TOKEN")
    if address != LOCAL and not _ENGINE.fullmatch(address):
        raise ValueError("not an engine; write local, or the address of a Spark Connect server like sc://HOST:15002")
    return address


def masked(text: str) -> str:
    """Return a text with the passwords of the addresses in it masked."""
    masked_users = re.sub(r"(://[^:/@\s]*:)[^\s]*@", r"\1***@", text)
    return re.sub(r"((?:password|token)=)[^&;\s'\"]*", r"\1***", masked_users)


def _plain_zero(number: float) -> float:
    """Normalise negative zero, so that equal policies have equal digests."""
    return number + 0.0


Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), AfterValidator(_plain_zero)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False), AfterValidator(_plain_zero)]
Days = Annotated[int, Field(le=365_000)]
"""Whole days, at most a thousand years: beyond that, dates would leave the calendar's range."""
Seconds = Annotated[int, Field(le=31_536_000_000)]
"""Whole seconds, at most a thousand years."""
Cron = Annotated[str, AfterValidator(cron), Field(examples=["0 2 * * *", "*/30 6-22 * * 1-5"])]
Zone = Annotated[str, _known("time zone", _zones), Field(examples=["Europe/Zurich"])]
Method = Annotated[
    str,
    _known("clustering method", clustering_methods),
    Field(json_schema_extra={"enum": list(clustering_methods())}),
]
Judge = Annotated[str, _known("judge", judges), Field(json_schema_extra={"enum": list(judges())})]
MemoryType = Annotated[str, AfterValidator(_memory_type), Field(json_schema_extra={"enum": list(MEMORY_TYPES)})]
EmbedderName = Annotated[
    str, AfterValidator(_embedder), Field(examples=["hashing", "reader", "local", "local:/models/minilm"])
]
LedgerAddress = Annotated[
    str,
    AfterValidator(check_ledger),
    AfterValidator(masked),  # so that no settings object holds a password: see `loading.ledger_address`
    Field(examples=["sqlite", "postgresql://memory@db.internal:5432/memory"]),
]
EngineAddress = Annotated[str, AfterValidator(check_engine), Field(examples=["local", "sc://spark.internal:15002"])]
LakeAddress = Annotated[str, AfterValidator(check_lake), Field(examples=["local", "s3://memories/production"])]
