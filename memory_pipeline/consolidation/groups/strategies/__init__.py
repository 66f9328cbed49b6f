"""Clustering methods: one module each, registered by existing.

A module of this package with a `STRATEGY` is a method named after the module: what it groups, the kind of summary its
groups get, and whether the summary supersedes their members. A policy names the methods it uses. Not here: the memories
to group and the description of groups (`clustering`), and their summaries (`summarising`).
"""

import pkgutil
from importlib import import_module
from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups.strategies.strategy import Strategy


def _discovered() -> dict[str, Strategy]:
    """Return every method by its name, in the order in which they run.

    Superseding methods come first, so that the memories they take are unavailable to the others in this run as they
    will be in the next.
    """
    modules = {module.name: import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)}
    methods = {name: module.STRATEGY for name, module in modules.items() if hasattr(module, "STRATEGY")}
    return dict(sorted(methods.items(), key=lambda item: (not item[1].supersedes, item[1].order, item[0])))


STRATEGIES: Final[dict[str, Strategy]] = _discovered()
"""Every method by its name, in the order in which they run."""

KINDS: Final = {name: strategy.kind for name, strategy in STRATEGIES.items()}
"""Kind of the summary that a cluster of each method gets."""
SUPERSEDING: Final = frozenset(name for name, strategy in STRATEGIES.items() if strategy.supersedes)
"""Methods whose summaries supersede their members."""
SUCCESSORS: Final = frozenset(KINDS[name] for name in SUPERSEDING)
"""Kinds of superseding summaries."""


def summary_kind() -> pl.Expr:
    """Return the kind of the summary of a row of `clusters`."""
    return pl.coalesce("level", pl.col("method").replace_strict(KINDS, return_dtype=pl.String))
