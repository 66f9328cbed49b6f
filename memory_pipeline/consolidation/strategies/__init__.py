"""Ways to group memories: one module each, one signature for all, and the registry that names them.

A way of grouping is a function from a `Scene` to what it `Found`; its line in `STRATEGIES` says what kind of summary
its groups get and whether their members leave the live set for it. A policy names the ways it uses. What is not here:
what is known of the memories, and how groups are described (`clustering`), and what is made of them (`summarising`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import polars as pl

from memory_pipeline.consolidation.strategies import coactivation, episodes, fading_groups, near_duplicates, similar
from memory_pipeline.consolidation.strategies.scene import Found, Scene


@dataclass(frozen=True)
class Strategy:
    """One way to group memories, and what becomes of its groups.

    Attributes:
        find: groups the memories of a scene.
        kind: kind of the summary that a group gets; a group with a level has its level as kind.
        supersedes: the summary takes the place of the members.
    """

    find: Callable[[Scene], Found]
    kind: str
    supersedes: bool = False


STRATEGIES: Final[dict[str, Strategy]] = {
    "near_duplicates": Strategy(near_duplicates.find, "compression", supersedes=True),
    "fading_groups": Strategy(fading_groups.find, "consolidation", supersedes=True),
    "similarity_components": Strategy(similar.find, "meta_pattern"),
    "coactivation": Strategy(coactivation.find, "unit"),
    "episodes": Strategy(episodes.find, "episode"),
}
"""Every method by its name, in the order in which they run: those that supersede come first, so that what they take is
gone for the others already in this run, as it will be in the next."""

KINDS: Final = {name: strategy.kind for name, strategy in STRATEGIES.items()}
"""Kind of the summary that a cluster of each method gets."""
SUPERSEDING: Final = frozenset(name for name, strategy in STRATEGIES.items() if strategy.supersedes)
"""Methods whose members leave the live set."""


def summary_kind() -> pl.Expr:
    """Kind of the summary of a row of `clusters`."""
    return pl.coalesce("level", pl.col("method").replace_strict(KINDS, return_dtype=pl.String))
