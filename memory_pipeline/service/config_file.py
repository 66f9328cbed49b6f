"""Edits the settings file: one setting at a time, validated before it is written, with comments and layout kept."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import filelock
import tomlkit
from tomlkit.exceptions import TOMLKitError

from memory_pipeline.ledger.disk import replacing
from memory_pipeline.settings import (
    ENVIRONMENT_PREFIX,
    HOME_VARIABLE,
    SETTINGS_FILE,
    Alias,
    Origin,
    Policy,
    Settings,
    SettingsError,
    aliases,
    load,
)
from memory_pipeline.settings.loading import deployment_names, literal
from memory_pipeline.settings.values import nearest

_LOCK_SECONDS: Final = 30.0
_PRESET: Final = f"{ENVIRONMENT_PREFIX}PRESET"


@dataclass(frozen=True)
class Change:
    """The outcome of an edit."""

    now: Origin
    """The setting as it is in force now, and its origin."""
    place: str
    """Where in the settings file it is or was: file and table."""
    written: bool
    """Whether it is there now."""


def put(home: Path, name: str, raw: str, *, profile_id: str | None = None) -> Change:
    """Write a setting to the settings file under its own name, replacing any alias of it.

    Args:
        name: the setting, with or without `policy.`, or its name in another system.
        raw: its value as text; lists are comma-separated, an empty text unsets.

    Raises:
        SettingsError: the name is unknown or the value invalid; nothing was written.
    """
    with _file(home) as file:
        preset = load(home).policy_of(profile_id or "").preset
        setting, alias = _setting_of(name, preset, profile_id)
        path = _path(setting, profile_id)
        document = _document(file)
        _remove(document, path, setting, preset, keep_own_name=True)
        table = _ensured(document, path)
        table[setting] = _value(raw, setting, alias)
        checked = load(home, environment=_preset_alone(), text=tomlkit.dumps(document))
        value = _origin(checked, setting, profile_id).value
        table[setting] = list(value) if isinstance(value, tuple) else "" if value is None else value
        replace_file(file, tomlkit.dumps(document))
    return _change(home, setting, profile_id, written=True)


def remove(home: Path, name: str, *, profile_id: str | None = None) -> Change:
    """Remove a setting from the settings file, so that the preset's value or the default applies again.

    Raises:
        SettingsError: the file does not set it, or would be invalid without it; nothing was written.
    """
    with _file(home) as file:
        document = _document(file)
        tables = (_existing(document, path) for path in (["profiles", profile_id or ""], ["policy"]))
        written = [str(table["preset"]) for table in tables if "preset" in table]
        preset = next(iter([*written, os.environ.get(_PRESET, "default")]))
        setting, _ = _setting_of(name, preset, profile_id)
        path = _path(setting, profile_id)
        if not _remove(document, path, setting, preset):
            where = f"{_header(path)} {setting}".strip()
            raise SettingsError(f"{file}: {where} is not set there; `config show` says where its value comes from")
        load(home, environment=_preset_alone(), text=tomlkit.dumps(document))
        replace_file(file, tomlkit.dumps(document))
    return _change(home, setting, profile_id, written=False)


@contextmanager
def _file(home: Path) -> Iterator[Path]:
    """Yield the path of the settings file while holding its lock."""
    if not home.is_dir():
        raise SettingsError(f"{home}: there is no such folder; create it with: memory-pipeline init")
    file = (home / SETTINGS_FILE).resolve()
    try:
        with filelock.FileLock(home / "settings.lock", timeout=_LOCK_SECONDS):
            yield file
    except filelock.Timeout as error:
        raise SettingsError(f"{file}: another process is editing it; try again") from error


def _setting_of(name: str, preset: str, profile_id: str | None) -> tuple[str, Alias | None]:
    """Return the setting that a name means, and the alias if the name is one."""
    bare = name.removeprefix("policy.")
    known = {*deployment_names(), *Policy.model_fields}
    alias = None if bare in known else aliases.find(bare, preset)
    if alias is not None and alias.setting is None:
        raise SettingsError(f"{name} would have no effect: {alias.why}; nothing was written")
    setting = (alias.setting if alias else None) or bare
    if setting == "home":
        raise SettingsError(f"home is set with --home or {HOME_VARIABLE}, not in its own settings file")
    if setting not in known:
        raise SettingsError(
            f"setting {name} is unknown; {nearest(bare, [*known, *(one.name for one in aliases.ALIASES)])}"
        )
    if profile_id and setting not in Policy.model_fields:
        raise SettingsError(f"{setting} is a setting of the deployment, not of a profile; leave --profile out")
    return setting, alias


def _path(setting: str, profile_id: str | None) -> list[str]:
    if setting not in Policy.model_fields:
        return []
    return ["profiles", profile_id] if profile_id else ["policy"]


def _header(path: list[str]) -> str:
    return f"[{'.'.join(path)}]" if path else ""


def _document(file: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(file.read_text("utf-8-sig") if file.exists() else "")
    except (OSError, ValueError, TOMLKitError) as error:
        raise SettingsError(f"{file}: cannot be read as TOML: {error}; fix or remove it") from error


def _existing(table: Mapping[str, Any], path: list[str]) -> Any:
    """Return the table at a path, or a detached empty one."""
    for name in path:
        table = table.get(name, {})
    return table


def _ensured(table: MutableMapping[str, Any], path: list[str]) -> MutableMapping[str, Any]:
    """Return the table at a path, created if missing."""
    for depth, name in enumerate(path, 1):
        if name not in table:
            table[name] = tomlkit.table(is_super_table=depth < len(path))
        table = table[name]
    return table


def _remove(
    document: tomlkit.TOMLDocument, path: list[str], setting: str, preset: str, *, keep_own_name: bool = False
) -> bool:
    """Remove a setting from a table under all of its names; return whether any was there."""
    table = _existing(document, path)
    removed = False
    for name in [*([] if keep_own_name else [setting]), *aliases.names(setting, preset)]:
        owner, _, bare = name.rpartition(".")
        place = _existing(table, [owner] if owner else [])
        if bare in place:
            del place[bare]
            removed = True
    return removed


def _value(raw: str, setting: str, alias: Alias | None) -> Any:
    """Parse a text as the value of a setting, in the setting's own unit."""
    value = literal(raw, setting)
    if alias is not None and alias.factor != 1.0:
        try:
            value = alias.converted(float(raw))
        except ValueError:
            raise SettingsError(f"{alias.name} = {raw!r} is not a number; nothing was written") from None
    return "" if value is None else value


def _preset_alone() -> dict[str, str]:
    """Return the only environment variable that affects what a settings file means."""
    return {name: value for name, value in os.environ.items() if name == _PRESET}


def _origin(settings: Settings, setting: str, profile_id: str | None) -> Origin:
    return next(row for row in settings.explained(profile_id) if row.name.removeprefix("policy.") == setting)


def _change(home: Path, setting: str, profile_id: str | None, *, written: bool) -> Change:
    place = f"{SETTINGS_FILE} {_header(_path(setting, profile_id))}".strip()
    return Change(_origin(load(home), setting, profile_id), place, written)


def replace_file(file: Path, text: str) -> None:
    """Replace a file atomically; it keeps its mode, and is never readable by more people meanwhile."""
    with replacing(file) as unfinished:
        unfinished.touch(0o600 if file.exists() else 0o666, exist_ok=False)
        unfinished.write_text(text, "utf-8")
        if file.exists():
            unfinished.chmod(file.stat().st_mode)
