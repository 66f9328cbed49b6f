"""Loads the data files of the package: fitted linear models, the thesaurus, and the word lists of languages."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Any

from memory_pipeline.settings.values import SettingsError, encoder_family, nearest


@cache
def model_names() -> tuple[str, ...]:
    """Return the names of the shipped models, sorted."""
    names = [entry.name for entry in _models().iterdir()]
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def ranking_names(embedder: str) -> tuple[str, str]:
    """Return the names of the default ranking's models for an embedder: of conversations, and of notes.

    They are those of its family, if some were fitted to it.
    """
    family = encoder_family(embedder)
    known = [name for name in (f"ranking_{family}", f"notes_{family}") if name in model_names()]
    return (known[0], known[-1]) if known else ("ranking", "ranking")


_fitted: ContextVar[Mapping[str, Mapping[str, float]]] = ContextVar("fitted", default=MappingProxyType({}))


@contextmanager
def fitted(models: Mapping[str, Mapping[str, float]]) -> Iterator[None]:
    """Use other coefficients by model and feature within a block, to evaluate models on held-out data."""
    token = _fitted.set(models)
    try:
        yield
    finally:
        _fitted.reset(token)


def coefficients(name: str) -> Mapping[str, float]:
    """Return the coefficients of a model by feature name, as shipped or as set by `fitted`."""
    return _fitted.get().get(name) or _shipped(name)


def replaced() -> Mapping[str, Mapping[str, float]]:
    """Return the coefficients that `fitted` put in place of shipped ones, by name of the model."""
    return _fitted.get()


@cache
def _shipped(name: str) -> Mapping[str, float]:
    if name not in model_names():
        raise SettingsError(f"model {name!r} is unknown; {nearest(name, model_names())}")
    model = tomllib.loads((_models() / f"{name}.toml").read_text("utf-8"))
    return MappingProxyType({feature: float(value) for feature, value in model["coefficients"].items()})


@cache
def thesaurus_lines() -> tuple[str, ...]:
    """Return the lines of `thesaurus.txt`, including comments."""
    return tuple((_models() / "thesaurus.txt").read_text("utf-8").splitlines())


@cache
def word_lists(language: str) -> Mapping[str, Any]:
    """Return the word lists of a language as `text/lang/<code>.toml` has them; `text/lang/word_lists` reads them."""
    file = resources.files("memory_pipeline") / "text" / "lang" / f"{language}.toml"
    return MappingProxyType(tomllib.loads(file.read_text("utf-8")))


def _models() -> Traversable:
    return resources.files("memory_pipeline") / "models"
