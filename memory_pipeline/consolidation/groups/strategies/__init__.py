"""Ways to group memories: one module each, and nothing else to register.

A module of this package that has a `STRATEGY` is a method of its own name: what it finds, what kind of summary its
groups get, and whether their members leave the live set for it. A policy names the methods it uses. What is not here:
what is known of the memories, and how groups are described (`clustering`), and what is made of them (`summarising`).
"""

import pkgutil
from importlib import import_module
from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups.strategies.strategy import Strategy


def _found() -> dict[str, Strategy]:
    """Every method by its name, in the order in which they run.

    Those that supersede come first, so that what they take is gone for the others already in this run, as it will be in
    the next.
    """
    modules = {module.name: import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)}
    known = {name: module.STRATEGY for name, module in modules.items() if hasattr(module, "STRATEGY")}
    return dict(sorted(known.items(), key=lambda one: (not one[1].supersedes, one[1].place, one[0])))


STRATEGIES: Final[dict[str, Strategy]] = _found()
"""Every method by its name, in the order in which they run."""

KINDS: Final = {name: strategy.kind for name, strategy in STRATEGIES.items()}
"""Kind of the summary that a cluster of each method gets."""
SUPERSEDING: Final = frozenset(name for name, strategy in STRATEGIES.items() if strategy.supersedes)
"""Methods whose members leave the live set."""
SUCCESSORS: Final = frozenset(KINDS[name] for name in SUPERSEDING)
"""Kinds of the summaries that take their place."""


def summary_kind() -> pl.Expr:
    """Kind of the summary of a row of `clusters`."""
    return pl.coalesce("level", pl.col("method").replace_strict(KINDS, return_dtype=pl.String))
