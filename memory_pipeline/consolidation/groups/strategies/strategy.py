"""What every way of grouping sees, what it gives back, and what it says of itself.

What is not here: where the memories come from (`clustering`), and any rule of grouping.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

Rows = NDArray[np.int64]
Space = NDArray[np.float32]

IN_CONFLICT: Final = (pl.col("edge_type") == "CONTRADICTS") & (pl.col("kind") == "conflict")
"""Edges between two memories that cannot both hold: neither may take the other's place."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The memories that can be grouped, of any number of profiles under one policy.

    Attributes:
        points: originals that are not deleted, by profile, age and id. Columns of `memories` and of their text's
            `enrichment`, `relevance` and `retention` (null unless live), and: `row`, their number from 0; `live`;
            `mergeable`: live and free to give way to a summary; `stood_for`: a live compression has taken their place;
            `told_by_agent`: the live summary of an agent has.
        space: their vectors, float32 [n, d].
        comparable: which of them have a vector that can be compared, Boolean [n].
        free: which of them no earlier method has taken out of the live set, Boolean [n].
        edges: table `association_edges`, at present weight.
        policy: thresholds and sizes.
    """

    points: pl.DataFrame
    space: Space
    comparable: NDArray[np.bool_]
    free: NDArray[np.bool_]
    edges: pl.DataFrame
    policy: Policy

    def rows(self, which: pl.Expr, *, compared: bool = True) -> Rows:
        """Numbers of the free memories for which `which` holds; if they are `compared`, of those with a vector."""
        chosen = self.points.select(which.fill_null(value=False)).to_series().to_numpy() & self.free
        return np.flatnonzero(chosen & self.comparable if compared else chosen)

    def links(self, rows: Rows, which: pl.Expr) -> pl.DataFrame:
        """Edges for which `which` holds between two of the given memories, with `left` < `right`, their places."""
        known = self.points[rows].select("profile_id", "memory_id", place=pl.int_range(pl.len(), dtype=pl.Int64))
        linked = self.edges.filter(which)
        for end in ("source", "target"):
            linked = linked.join(known.rename({"memory_id": end, "place": f"{end}_place"}), on=["profile_id", end])
        ends = ("source_place", "target_place")
        return linked.with_columns(left=pl.min_horizontal(ends), right=pl.max_horizontal(ends)).filter(
            pl.col("left") < pl.col("right")
        )


@dataclass(frozen=True)
class Found:
    """Groups of memories.

    Attributes:
        members: one row a group and member: `row` (its number in the scene) and `group` (any number of the group);
            where it applies also `level` and `parent` (the group of the level above), `strength` and
            `first_coactivated_at`.
        refusals: rows of `merge_refusals`.
    """

    members: pl.DataFrame
    refusals: pl.DataFrame = field(default_factory=TABLES["merge_refusals"].empty)


@dataclass(frozen=True)
class Strategy:
    """One way to group memories, and what becomes of its groups.

    Attributes:
        find: groups the memories of a scene.
        kind: kind of the summary that a group gets; a group with a level has its level as kind.
        supersedes: the summary takes the place of the members.
        place: methods of a smaller one run before it.
    """

    find: Callable[[Scene], Found]
    kind: str
    supersedes: bool = False
    place: int = 100


def profiles(points: pl.DataFrame) -> Rows:
    """A number for the profile of each row: memories are compared within one number only."""
    return points["profile_id"].rank("dense").cast(pl.Int64).to_numpy()


def grouped(rows: Rows, labels: Rows, least: int) -> pl.DataFrame:
    """Members (`row`, `group`) of the groups of at least `least` rows, from a label for each of the rows."""
    return pl.DataFrame({"row": rows, "group": rows[labels]}).filter(pl.len().over("group") >= least)
