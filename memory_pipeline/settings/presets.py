"""The presets that ship, and what belongs to an embedder: `presets/*.toml` and `embedders/*.toml`, no code."""

import tomllib
from importlib import resources
from typing import Any

from memory_pipeline.settings.values import SettingsError, nearest


def preset_names() -> list[str]:
    """Names of the presets that ship, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """Return the file of a preset: comments on what it is for, then the values that it changes.

    Raises:
        SettingsError: no such preset; names the nearest.
    """
    if name not in preset_names():
        raise SettingsError(f"preset {name!r} is unknown; {nearest(name, preset_names())}")
    return str((_presets() / f"{name}.toml").read_text("utf-8"))


def preset(name: str) -> dict[str, Any]:
    """Return the values that a preset changes.

    Raises:
        SettingsError: no such preset; names the nearest.
    """
    return unset(tomllib.loads(preset_text(name)))


def embedder_values(name: object) -> dict[str, Any]:
    """Return the thresholds that belong to an embedder; none for the built-in one, which the defaults are made for."""
    file = resources.files("memory_pipeline") / "embedders" / f"{str(name).partition(':')[0]}.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def unset(values: dict[str, Any]) -> dict[str, Any]:
    """Read an empty string as "no value", since TOML has no null."""
    return {k: unset(v) if isinstance(v, dict) else None if v == "" else v for k, v in values.items()}


def _presets() -> Any:
    return resources.files("memory_pipeline") / "presets"
