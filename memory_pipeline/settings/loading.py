"""Loads settings and records the origin of each value.

Precedence: environment, settings file, component, preset, embedder, default.
"""

import codecs
import itertools
import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, get_origin

from pydantic import BaseModel, ValidationError

from memory_pipeline.settings import aliases, new_stores
from memory_pipeline.settings.deployment import STRUCTURE, Origin, Settings
from memory_pipeline.settings.policy import Policy
from memory_pipeline.settings.presets import embedder_values, preset, unset
from memory_pipeline.settings.values import LOCAL, SQLITE, SettingsError, check_lake, check_ledger, masked, nearest

ENVIRONMENT_PREFIX: Final = "MEMORY_PIPELINE_"
HOME_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}HOME"
LEDGER_VARIABLE: Final = f"{ENVIRONMENT_PREFIX}LEDGER"
SETTINGS_FILE: Final = "memory_pipeline.toml"

POLICY_NAMES: Final = (*Policy.model_fields, *(alias.name for alias in aliases.ALIASES if alias.setting is None))
"""Settings of a policy, and aliases that are accepted without effect."""

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_TABLE: Final = re.compile(r"\s*\[{1,2}\s*[A-Za-z]")
"""How a table of the settings file begins, unlike a line of a list."""
_SHOWN: Final = 200
"""Characters of a wrong value that an error shows."""

Given = dict[str, tuple[Any, str]]
"""Values with their origins, by setting."""
Layer = tuple[Given, Given, dict[str, Given]]
"""Values of one source: of the deployment, of every policy, and of single profiles."""
M = TypeVar("M", bound=BaseModel)


def load(
    home: Path | str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    preset_name: str | None = None,
    text: str | None = None,
    component: Mapping[str, Any] | None = None,
) -> Settings:
    """Load settings from the environment, `memory_pipeline.toml` in the home folder, presets and defaults.

    Settings without effect are logged as warnings, once per process.

    Args:
        home: data folder; overrides `MEMORY_PIPELINE_HOME`.
        environment: variables to use instead of those of the process; what a new store begins with is left out then.
        preset_name: preset that overrides file and environment.
        text: content of the settings file, for checking it before it is written.
        component: settings of a Dagster component, in the layout of the settings file, which takes precedence.

    Raises:
        SettingsError: a name is unknown or a value is invalid; the message gives the remedy.
    """
    variables = os.environ if environment is None else environment
    folder = home_folder(home, variables)
    overrides = _from_environment(variables)
    if preset_name:
        overrides["preset"] = (preset_name, "--preset")
    file = folder[0] / SETTINGS_FILE
    in_force = overrides.get("preset", ("default", ""))[0]
    below = _from_file(Path("component"), unset(dict(component or {})), in_force=in_force)
    if placed := [name for name in ("ledger", "lake") if name in below[0]]:
        raise SettingsError(
            f"component: {placed[0]} cannot be set here, where commands do not look; set it in the settings file"
        )
    top, common, own = _layered(below, _from_file(file, _parsed(file, text), in_force=in_force))
    begins = LEDGER_VARIABLE not in os.environ and "ledger" not in top and new_stores.is_new(folder[0])
    if environment is None and text is None and begins:
        common = {"embedder": (new_stores.EMBEDDER, "new store")} | common
    _refuse_password(top)
    settings = _validated(Settings, {"home": folder} | top | _only(Settings, overrides), "")
    deployment = _origins(settings, {"home": folder} | top | _only(Settings, overrides), "")
    policies: dict[str, Policy] = {}
    origins: dict[str, tuple[Origin, ...]] = {}
    for profile_id, values in {"": Given(), **own}.items():
        given = _with_layers_below(common | values | _only(Policy, overrides))
        known = _only(Policy, given)
        policies[profile_id] = _validated(Policy, known, "policy.")
        origins[profile_id] = (*deployment, *_origins(policies[profile_id], known, "policy."), *_idle(given))
    return settings.model_copy(update={"policy": policies.pop(""), "profiles": policies, "origins": origins})


def ledger_address(home: Path) -> str:
    """Return where the ledger of a data folder is, with its password: the setting `ledger`, which masks it."""
    return _place(home, "ledger", SQLITE, check_ledger)


def lake_address(home: Path) -> str:
    """Return where the files of a data folder's lake are: the setting `lake`."""
    return _place(home, "lake", LOCAL, check_lake)


def _place(home: Path, name: str, default: str, check: Callable[[str], str]) -> str:
    """Return a setting that says where a part of the store is, without loading the others; SettingsError, if wrong."""
    variable = f"{ENVIRONMENT_PREFIX}{name.upper()}"
    given, origin = literal(os.environ.get(variable, ""), name), f"environment {variable}"
    if given is None:
        file = home / SETTINGS_FILE
        given, origin = _parsed(file, None).get(name, default), file.name
    try:
        return check(str(given))
    except ValueError as error:
        raise SettingsError(f"{origin}: {name} = {masked(str(given))!r}: {error}; correct the value") from None


def alert_address(home: Path, *, environment: Mapping[str, str] | None = None) -> str | None:
    """Return the setting `alert_url`, even if any other setting is wrong or the settings file is not TOML.

    One that stands in a table where it does not belong counts where there is no other: the run says that it is wrong
    there, and the alarm tells whom it is meant for.

    Raises:
        SettingsError: the setting itself is invalid, or the settings file cannot be opened.
    """
    name, file = "alert_url", home / SETTINGS_FILE
    given = _readable(home, os.environ if environment is None else environment)
    elsewhere = ((value, file.name) for value in _below(_written(file, whole=True), name))
    found = given.get(name) or next(elsewhere, None)
    return _validated(Settings, {name: found} if found else {}, "").alert_url


def salvaged(home: Path | str | None = None, *, environment: Mapping[str, str] | None = None) -> Settings:
    """Return those settings of the deployment that are valid, without policies; all others have their defaults.

    For what must work while the settings are wrong, such as definitions whose runs then say what is wrong.
    """
    variables = os.environ if environment is None else environment
    folder, _ = home_folder(home, variables)
    valid = dict[str, Any]()
    with suppress(SettingsError):
        for name, (value, _) in _readable(folder, variables).items():
            with suppress(ValidationError):
                Settings(**{name: value})
                valid[name] = value
    return Settings(**{"home": folder} | valid)


def _readable(home: Path, variables: Mapping[str, str]) -> Given:
    """Return the settings of the deployment that can be read, by themselves, from file and environment; unchecked."""
    file, names = home / SETTINGS_FILE, deployment_names()
    given = {name: (value, file.name) for name, value in unset(_written(file)).items() if name in names}
    for name in names:
        if (raw := variables.get(f"{ENVIRONMENT_PREFIX}{name.upper()}")) is not None:
            given[name] = (literal(raw, name), f"environment {ENVIRONMENT_PREFIX}{name.upper()}")
    return given


def _written(file: Path, *, whole: bool = False) -> dict[str, Any]:
    """Return what a settings file says; of one that is not TOML, what its lines say that are.

    Those above its tables, or, with `whole`, all of them.
    """
    try:
        data = file.read_bytes() if file.exists() else b""
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error}; correct or remove it") from error
    encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"  # some shells write the former
    text, written = data.decode(encoding, errors="replace"), dict[str, Any]()
    with suppress(ValueError, RecursionError):
        return tomllib.loads(text)
    for line in itertools.takewhile(lambda line: whole or not _TABLE.match(line), text.splitlines()):
        with suppress(ValueError, RecursionError):
            written |= tomllib.loads(line)
    return written


def _below(written: Mapping[str, Any], name: str) -> Iterator[Any]:
    """Yield the values of a name in tables at any depth."""
    for key, value in written.items():
        if key == name:
            yield value
        elif isinstance(value, Mapping):
            yield from _below(value, name)


def under_preset(settings: Settings, preset_name: str) -> Settings:
    """Return settings with another preset under their policies; what was set explicitly stays, or conflicts with it."""
    policies: dict[str, Policy] = {}
    for profile_id, policy in {"": settings.policy, **settings.profiles}.items():
        given = _set_in(policy, settings.origins.get(profile_id, ())) | {"preset": (preset_name, "--preset")}
        policies[profile_id] = _validated(Policy, _only(Policy, _with_layers_below(given)), "policy.")
    return settings.model_copy(update={"policy": policies.pop(""), "profiles": policies})


def _refuse_password(given: Given) -> None:
    """Refuse a password in the settings file, which backups copy."""
    address, origin = given.get("ledger", ("", ""))
    if masked(str(address)) != address:
        raise SettingsError(
            f"{origin} ledger: a password must not be in the settings file, which backups copy; set it in the "
            f"variable {LEDGER_VARIABLE}, in PGPASSWORD or in a password file"
        )


def _set_in(policy: Policy, origins: Iterable[Origin]) -> Given:
    """Return the values of a policy that come from neither a preset nor an embedder nor a default."""
    origin_of = {row.name.removeprefix("policy."): row.origin for row in origins}
    return {
        name: (getattr(policy, name), origin_of.get(name, "settings"))
        for name in policy.model_fields_set
        if not origin_of.get(name, "").startswith(("preset ", "embedder "))
    }


def _with_layers_below(given: Given) -> Given:
    """Lay the given values of a policy over those of its preset and its embedder."""
    name = given.get("preset", ("default", ""))[0]
    given = {key: (value, f"preset {name}") for key, value in preset(name).items()} | given
    embedder = given.get("embedder", ("hashing", ""))[0]
    return {key: (value, f"embedder {embedder}") for key, value in embedder_values(embedder).items()} | given


def home_folder(home: Path | str | None, variables: Mapping[str, str]) -> tuple[Path, str]:
    """Return the data folder and the origin of its name."""
    variable = variables.get(HOME_VARIABLE)
    origin = "--home" if home else f"environment {HOME_VARIABLE}" if variable else "default"
    return Path(home or variable or "data").expanduser().resolve(), origin


def deployment_names() -> list[str]:
    """Return the names of the deployment settings, sorted."""
    return sorted(set(Settings.model_fields) - STRUCTURE)


def _only(model: type[BaseModel], given: Given) -> Given:
    return {name: value for name, value in given.items() if name in model.model_fields}


def _parsed(file: Path, text: str | None) -> dict[str, Any]:
    try:
        if text is None:
            text = file.read_text("utf-8-sig") if file.exists() else ""
        return unset(tomllib.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{file}: cannot be read as TOML: {error}; correct or remove it") from error


def _from_file(file: Path, written: dict[str, Any], *, in_force: str) -> Layer:
    """Split a settings file into deployment values, common policy values and policy values per profile.

    Aliases are resolved under the preset named in their own table, else in the common table, else the one in force.
    """
    common = _is_table(written.pop("policy", {}), file, "[policy]")
    own = _is_table(written.pop("profiles", {}), file, "[profiles]")
    known = common.get("preset", in_force)
    profiles = {}
    for name, values in own.items():
        header = f"[profiles.{name}]"
        table = _is_table(values, file, header)
        profiles[name] = _table(table, file, header, POLICY_NAMES, table.get("preset", known))
    top = _table(written, file, "", deployment_names(), known)
    return top, _table(common, file, "[policy]", POLICY_NAMES, known), profiles


def _layered(below: Layer, above: Layer) -> Layer:
    """Lay the values of one source over those of another, table by table."""
    profiles = {name: below[2].get(name, {}) | above[2].get(name, {}) for name in {**below[2], **above[2]}}
    return below[0] | above[0], below[1] | above[1], profiles


def _is_table(values: Any, file: Path, header: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise SettingsError(
            f"{file}: {header.strip('[]')} = {values!r} is not a table; write its settings below {header}"
        )
    return values


def _table(values: dict[str, Any], file: Path, header: str, known: Iterable[str], preset_name: object) -> Given:
    """Return the values of a table of the settings file, with aliases resolved; each is known and given once."""
    place = f"{file.name} {header}".strip()
    settings = set(known)
    given: Given = {}
    for name, value in _flat(values).items():
        try:
            alias = None if name in settings else aliases.find(name, str(preset_name))
        except SettingsError as error:
            raise SettingsError(f"{file}: {f'{header} {error}'.strip()}") from None
        setting = alias.setting or name if alias else name
        if setting not in settings:
            raise SettingsError(f"{file}: setting {f'{header} {name}'.strip()} is unknown; {_remedy(setting, known)}")
        if setting in given:
            raise SettingsError(f"{file}: {header} {name} is given twice: it means {setting}; remove one of them")
        given[setting] = (alias.converted(value), f"{place} {name}") if alias else (value, place)
    return given


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Flatten the nested table of SuperLocalMemory: its settings get the name of the table as prefix."""
    nested = values.get(aliases.NESTED)
    if not isinstance(nested, dict):
        return values
    rest = {name: value for name, value in values.items() if name != aliases.NESTED}
    return rest | {f"{aliases.NESTED}.{name}": value for name, value in nested.items()}


def _remedy(name: str, known: Iterable[str]) -> str:
    """Return where in the settings file a setting belongs, or the nearest known name."""
    if name in Policy.model_fields:
        return "write it below [policy] or [profiles.NAME]"
    if name in Settings.model_fields:
        return "write it at the top, above every table"
    names = set(known)
    return nearest(name, [*names, *(alias.name for alias in aliases.ALIASES if alias.setting in names)])


def _from_environment(variables: Mapping[str, str]) -> Given:
    """Return the settings in environment variables: AutoMem's names, then `MEMORY_PIPELINE_` + name."""
    ours = [*deployment_names(), *sorted(Policy.model_fields)]
    names = aliases.VARIABLES | {f"{ENVIRONMENT_PREFIX}{name.upper()}": name for name in ours}
    prefixes = (ENVIRONMENT_PREFIX, aliases.AUTOMEM_PREFIX)
    for variable in variables:
        if variable.startswith(prefixes) and variable not in {*names, HOME_VARIABLE}:
            raise SettingsError(f"environment {variable} names no setting; {nearest(variable, names)}")
    return {
        name: (literal(variables[variable], name), f"environment {variable}")
        for variable, name in names.items()
        if variable in variables
    }


def literal(raw: str, name: str) -> Any:
    """Parse text as the value of a setting: commas separate list items, empty text or `none` unsets.

    Other values stay text and are converted by the type of the setting.
    """
    field = Policy.model_fields.get(name)
    if field is not None and get_origin(field.annotation) is tuple:
        return [part.strip() for part in raw.split(",") if part.strip()]
    return None if raw.strip().lower() in {"", "none"} else raw


def _validated(model: type[M], given: Given, prefix: str) -> M:
    try:
        return model(**{name: value for name, (value, _) in given.items()})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:  # two settings that conflict
            raise SettingsError(message) from error
        name = str(first["loc"][0])
        value = masked(repr(first["input"]))
        value = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
        raise SettingsError(
            f"{given[name][1]}: {prefix}{name} = {value}: {message}; correct the value or remove it"
        ) from None  # pydantic's error quotes the input, which may hold a password


def _origins(model: BaseModel, given: Given, prefix: str) -> tuple[Origin, ...]:
    return tuple(
        Origin(
            name=f"{prefix}{name}",
            value=getattr(model, name),
            origin=given[name][1] if name in given else "default",
            description=field.description or "",
        )
        for name, field in type(model).model_fields.items()
        if name not in STRUCTURE - {"home"}
    )


def _idle(given: Given) -> list[Origin]:
    """Return the values of aliases without effect, and warn about them once per process."""
    rows = []
    for alias in aliases.ALIASES:
        if alias.setting is None and alias.name in given:
            value, origin = given[alias.name]
            description = f"No effect: {alias.why}."
            rows.append(Origin(name=f"policy.{alias.name}", value=value, origin=origin, description=description))
            if value != alias.fixed:
                _warn(f"{origin}: {alias.name} = {value!r} has no effect: {alias.why}")
    return rows


@cache
def _warn(message: str) -> None:
    logging.getLogger("memory_pipeline").warning("%s", message)
