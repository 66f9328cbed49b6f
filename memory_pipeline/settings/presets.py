"""Loads the shipped presets (`presets/*.toml`) and the thresholds of embedders (`embedders/*.toml`)."""

import tomllib
from importlib import resources
from typing import Any

from memory_pipeline.settings.values import SettingsError, encoder_family, nearest


def preset_names() -> list[str]:
    """Return the names of the shipped presets, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """Return the file of a preset: comments on its purpose, then the values that it changes."""
    if name not in preset_names():
        raise SettingsError(f"preset {name!r} is unknown; {nearest(name, preset_names())}")
    return str((_presets() / f"{name}.toml").read_text("utf-8"))


def preset(name: str) -> dict[str, Any]:
    """Return the values that a preset changes; a SettingsError suggests the nearest name of an unknown one."""
    return unset(tomllib.loads(preset_text(name)))


def embedder_values(name: object) -> dict[str, Any]:
    """Return the thresholds of an embedder; empty for the built-in one, for which the defaults are calibrated."""
    shipped = {file.name: file for file in (resources.files("memory_pipeline") / "embedders").iterdir()}
    file = shipped.get(f"{encoder_family(str(name))}.toml")  # a name is not a path: it may be long, or lead elsewhere
    return tomllib.loads(file.read_text("utf-8")) if file else {}


def unset(values: dict[str, Any]) -> dict[str, Any]:
    """Replace empty strings with None: TOML has no null."""
    return {k: unset(v) if isinstance(v, dict) else None if v == "" else v for k, v in values.items()}


def _presets() -> Any:
    return resources.files("memory_pipeline") / "presets"
