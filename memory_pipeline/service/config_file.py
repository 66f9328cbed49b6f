"""Changes the settings file: one setting at a time, checked before it is written, with comments and layout kept.

What is not here: what a setting may be (`memory_pipeline.settings`).
"""

import os
import secrets
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import filelock
import tomlkit
from tomlkit.exceptions import TOMLKitError

from memory_pipeline.ledger.disk import sync
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
    """What became of a setting."""

    now: Origin
    """The setting as it is in force now."""
    place: str
    """Where in the settings file it stands or stood: the file and its table."""
    written: bool
    """Whether it stands there now."""


def put(home: Path, name: str, raw: str, *, profile_id: str | None = None) -> Change:
    """Write a setting to the settings file, under its own name, in place of any other name for it.

    Args:
        home: data folder.
        name: the setting, with or without `policy.`, or what another system calls it.
        raw: its value as text: lists take commas, an empty one unsets.
        profile_id: the profile it is for; default: all.

    Raises:
        SettingsError: the name is unknown, or the value is not for it; nothing was written.
        OSError: the file cannot be written.
    """
    with _file(home) as file:
        preset = load(home).policy_of(profile_id or "").preset
        setting, alias = _meant(name, preset, profile_id)
        path = _path(setting, profile_id)
        document = _document(file)
        _remove(document, path, setting, preset, but_itself=True)
        table = _made(document, path)
        table[setting] = _value(raw, setting, alias)
        checked = load(home, environment=_preset_alone(), text=tomlkit.dumps(document))
        table[setting] = _spelled(_found(checked, setting, profile_id).value)
        _replace(file, tomlkit.dumps(document))
    return _changed(home, setting, profile_id, written=True)


def remove(home: Path, name: str, *, profile_id: str | None = None) -> Change:
    """Take a setting out of the settings file, so that what lies below it is in force again.

    Raises:
        SettingsError: the file does not have it, or would be wrong without it; nothing was written.
        OSError: the file cannot be written.
    """
    with _file(home) as file:
        document = _document(file)
        tables = (_existing(document, path) for path in (["profiles", profile_id or ""], ["policy"]))
        written = [str(table["preset"]) for table in tables if "preset" in table]
        preset = next(iter([*written, os.environ.get(_PRESET, "default")]))
        setting, _ = _meant(name, preset, profile_id)
        path = _path(setting, profile_id)
        if not _remove(document, path, setting, preset):
            where = f"{_header(path)} {setting}".strip()
            raise SettingsError(f"{file}: {where} is not set there; `config show` says where its value comes from")
        load(home, environment=_preset_alone(), text=tomlkit.dumps(document))
        _replace(file, tomlkit.dumps(document))
    return _changed(home, setting, profile_id, written=False)


@contextmanager
def _file(home: Path) -> Iterator[Path]:
    """Give the settings file, one change at a time."""
    if not home.is_dir():
        raise SettingsError(f"{home}: there is no such folder; make it with: memory-pipeline init")
    file = (home / SETTINGS_FILE).resolve()
    try:
        with filelock.FileLock(home / "settings.lock", timeout=_LOCK_SECONDS):
            yield file
    except filelock.Timeout as error:
        raise SettingsError(f"{file}: another program is changing it; try again when it is done") from error


def _meant(name: str, preset: str, profile_id: str | None) -> tuple[str, Alias | None]:
    """Return the setting that a name means, and the alias if it is one."""
    bare = name.removeprefix("policy.")
    known = {*deployment_names(), *Policy.model_fields}
    alias = None if bare in known else aliases.find(bare, preset)
    if alias is not None and alias.setting is None:
        raise SettingsError(f"{name} would have no effect: {alias.why}; nothing was written")
    setting = (alias.setting if alias else None) or bare
    if setting == "home":
        raise SettingsError(f"home is chosen with --home or {HOME_VARIABLE}, not in its own settings file")
    if setting not in known:
        raise SettingsError(
            f"setting {name} is unknown; {nearest(bare, [*known, *(one.name for one in aliases.ALIASES)])}"
        )
    if profile_id and setting not in Policy.model_fields:
        raise SettingsError(f"{setting} is a setting of the deployment, not of a profile; leave --profile out")
    return setting, alias


def _path(setting: str, profile_id: str | None) -> list[str]:
    """Return where in the file a setting stands: the names of the tables above it."""
    if setting not in Policy.model_fields:
        return []
    return ["profiles", profile_id] if profile_id else ["policy"]


def _header(path: list[str]) -> str:
    return f"[{'.'.join(path)}]" if path else ""


def _document(file: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(file.read_text("utf-8") if file.exists() else "")
    except (OSError, ValueError, TOMLKitError) as error:
        raise SettingsError(f"{file}: cannot be read as TOML: {error}; correct or remove it") from error


def _existing(table: Mapping[str, Any], path: list[str]) -> Any:
    """Return the table at a path, or an empty one that belongs to nothing."""
    for name in path:
        table = table.get(name, {})
    return table


def _made(table: MutableMapping[str, Any], path: list[str]) -> MutableMapping[str, Any]:
    """Return the table at a path, after making it if it is not there."""
    for depth, name in enumerate(path, 1):
        if name not in table:
            table[name] = tomlkit.table(is_super_table=depth < len(path))
        table = table[name]
    return table


def _remove(
    document: tomlkit.TOMLDocument, path: list[str], setting: str, preset: str, *, but_itself: bool = False
) -> bool:
    """Take a setting out of a table under all of its names; say whether it had any."""
    table = _existing(document, path)
    removed = False
    for name in [*([] if but_itself else [setting]), *aliases.names(setting, preset)]:
        owner, _, bare = name.rpartition(".")
        place = _existing(table, [owner] if owner else [])
        if bare in place:
            del place[bare]
            removed = True
    return removed


def _value(raw: str, setting: str, alias: Alias | None) -> Any:
    """Read a text as the value of a setting, in the setting's own unit."""
    value = literal(raw, setting)
    if alias is not None and alias.factor != 1.0:
        try:
            value = alias.converted(float(raw))
        except ValueError:
            raise SettingsError(f"{alias.name} = {raw!r} is no number; nothing was written") from None
    return "" if value is None else value


def _spelled(value: Any) -> Any:
    """Return a checked value as TOML has it."""
    return list(value) if isinstance(value, tuple) else "" if value is None else value


def _preset_alone() -> dict[str, str]:
    """The one variable that changes what a settings file means; the others say nothing about the file."""
    return {name: value for name, value in os.environ.items() if name == _PRESET}


def _found(settings: Settings, setting: str, profile_id: str | None) -> Origin:
    return next(row for row in settings.explained(profile_id) if row.name.removeprefix("policy.") == setting)


def _changed(home: Path, setting: str, profile_id: str | None, *, written: bool) -> Change:
    place = f"{SETTINGS_FILE} {_header(_path(setting, profile_id))}".strip()
    return Change(_found(load(home), setting, profile_id), place, written)


def _replace(file: Path, text: str) -> None:
    """Write the file in one step: a reader finds the old one or the new one."""
    aside = file.with_name(f".{file.name}.{secrets.token_hex(8)}.aside")
    try:
        aside.write_text(text, "utf-8")
        if file.exists():
            aside.chmod(file.stat().st_mode)
        sync(aside)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)
    sync(file.parent)
