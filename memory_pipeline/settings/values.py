"""Kinds of values that settings take, what they are called, and how a wrong name is answered."""

import difflib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Annotated, Any, Final
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
"""Types that a memory can have; MetaPattern is that of summaries."""

_FEW: Final = 20
"""Up to so many names are listed where none is near."""


class SettingsError(ValueError):
    """A setting is unknown or out of range; the message names it, its value and the remedy."""


class Values(BaseModel):
    """Named values that never change; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: object, info: ValidationInfo) -> object:
        """Refuse true and false where a number is wanted: Python would take them for 1 and 0."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            kind = takes(cls.model_json_schema()["properties"][info.field_name])
            raise ValueError(f"takes {kind}, not true or false")
        return value


def takes(schema: Mapping[str, Any]) -> str:
    """Say what a setting of this JSON schema takes."""
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
            kind += f" from {low:g}"
        case {"exclusiveMinimum": low}:
            kind += f" above {low:g}"
        case {"examples": examples}:
            kind = f"such as `{'`, `'.join(examples)}`"
    return kind


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the known one that begins like it or is nearest, else all of them."""
    names = list(known)
    lower = {one.lower(): one for one in names}
    asked = str(name).lower()
    longer = [one for one in lower if one.startswith(asked)] if asked else []
    if near := longer[:1] or difflib.get_close_matches(asked, lower, n=1):
        return f"did you mean {lower[near[0]]!r}?"
    return f"known are {', '.join(names)}" if len(names) <= _FEW else "`memory-pipeline config show` lists the known"


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"no such time zone; {nearest(name, ['UTC', *sorted(available_timezones())])}")
    return name


def _memory_type(name: str) -> str:
    known = {one.lower(): one for one in MEMORY_TYPES}
    if name.lower() not in known:
        raise ValueError(f"no such type of memory; {nearest(name, MEMORY_TYPES)}")
    return known[name.lower()]


def clustering_methods() -> tuple[str, ...]:
    """Names of the ways to group memories: those of the modules that hold them."""
    modules = (resources.files("memory_pipeline") / "consolidation" / "groups" / "strategies").iterdir()
    names = (module.name.removesuffix(".py") for module in modules if module.name.endswith(".py"))
    return tuple(sorted(name for name in names if name not in {"__init__", "strategy"}))


def _method(name: str) -> str:
    if name not in clustering_methods():
        raise ValueError(f"no such way to group memories; {nearest(name, clustering_methods())}")
    return name


def _embedder(name: str) -> str:
    kind, _, model = name.partition(":")
    if name != "hashing" and not (kind == "local" and (model.strip() or ":" not in name)):
        raise ValueError("no such embedder; known are hashing, local, and local: with a model or folder")
    return name


def _plain_zero(number: float) -> float:
    """Take the sign off a zero: equal policies are to have equal digests."""
    return number + 0.0


Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), AfterValidator(_plain_zero)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False), AfterValidator(_plain_zero)]
Cron = Annotated[str, AfterValidator(cron), Field(examples=["0 2 * * *", "*/30 6-22 * * 1-5"])]
Zone = Annotated[str, AfterValidator(_zone), Field(examples=["Europe/Zurich"])]
Method = Annotated[str, AfterValidator(_method), Field(json_schema_extra={"enum": list(clustering_methods())})]
MemoryType = Annotated[str, AfterValidator(_memory_type), Field(json_schema_extra={"enum": list(MEMORY_TYPES)})]
EmbedderName = Annotated[str, AfterValidator(_embedder), Field(examples=["hashing", "local", "local:/models/minilm"])]
