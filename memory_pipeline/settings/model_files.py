"""What ships in `memory_pipeline/models/`: linear models, which a fit has written, and the thesaurus; no code."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType

from memory_pipeline.settings.values import SettingsError, nearest


def model_names() -> list[str]:
    """Names of the models that ship, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _models().iterdir() if entry.name.endswith(".toml"))


@cache
def coefficients(name: str) -> Mapping[str, float]:
    """Return the coefficients of a model by the names of its features: the table `coefficients` of its file.

    Raises:
        SettingsError: no such model; names the nearest.
    """
    if name not in model_names():
        raise SettingsError(f"model {name!r} is unknown; {nearest(name, model_names())}")
    read = tomllib.loads((_models() / f"{name}.toml").read_text("utf-8"))
    return MappingProxyType({feature: float(value) for feature, value in read["coefficients"].items()})


@cache
def thesaurus_lines() -> tuple[str, ...]:
    """Lines of `thesaurus.txt`, comments among them."""
    return tuple((_models() / "thesaurus.txt").read_text("utf-8").splitlines())


def _models() -> Traversable:
    return resources.files("memory_pipeline") / "models"
