"""The interface of a clustering method: what it receives, what it returns, and what it declares.

Not here: where the memories come from (`clustering`), and any rule of grouping.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.groups.guard_answers import ANSWERS
from memory_pipeline.consolidation.similarity import Pairs
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

Rows = NDArray[np.int64]
Space = NDArray[np.float32]

IN_CONFLICT: Final = ((pl.col("edge_type") == "CONTRADICTS") & (pl.col("kind") == "conflict")) | (
    pl.col("edge_type") == "DISTINCT"
)
"""Edges between two memories that cannot both be true or were said to be different: neither may supersede the other."""

PAIRED: Final = pl.Schema({"left": pl.Int64, "right": pl.Int64, "kind": pl.String})


@dataclass(frozen=True, kw_only=True)
class ClusteringInput:
    """The memories that can be grouped, of any number of profiles under one policy.

    Attributes:
        points: originals that are not deleted, by profile, age and id. Columns of `memories` and of their text's
            `enrichment`, `relevance` and `retention` (null unless live), and: `row`, their number from 0; `live`;
            `mergeable`: live, not closed, and allowed to be superseded; `compressed`: superseded by a live compression;
            `in_agent_summary`: covered by the live summary of an agent.
        space: their vectors, float32 [n, d].
        comparable: mask of those with a comparable vector, Boolean [n].
        free: mask of those that no earlier method has superseded, Boolean [n].
        edges: table `association_edges` at present weight.
        repeats: `profile_id`, `low` and `high` of the memories that were answered or surely judged to say the same, and
            `told`: whether somebody answered so.
        neighbours: table `neighbours`, if it holds all pairs from `duplicate_similarity` on; None: it does not.
        answers: what the merge guard said in earlier runs of this program (`guard_answers.ANSWERS`).
        policy: thresholds and sizes.
    """

    points: pl.DataFrame
    space: Space
    comparable: NDArray[np.bool_]
    free: NDArray[np.bool_]
    edges: pl.DataFrame
    policy: Policy
    repeats: pl.DataFrame
    neighbours: pl.DataFrame | None = None
    answers: pl.DataFrame = field(default_factory=ANSWERS.to_frame)

    def rows(self, which: pl.Expr, *, compared: bool = True) -> Rows:
        """Return numbers of free memories that match `which`; with `compared`, only those with a comparable vector."""
        chosen = self.points.select(which.fill_null(value=False)).to_series().to_numpy() & self.free
        return np.flatnonzero(chosen & self.comparable if compared else chosen)

    def links(self, rows: Rows, which: pl.Expr) -> pl.DataFrame:
        """Return edges that match `which` between two of the memories; `left` < `right` are positions in `rows`."""
        return self._placed(rows, self.edges.filter(which), "source", "target")

    def repeated(self, rows: Rows) -> pl.DataFrame:
        """Return the pairs of the memories that say the same, as `links` does, with `told`."""
        return self._placed(rows, self.repeats, "low", "high")

    def _placed(self, rows: Rows, pairs: pl.DataFrame, *ends: str) -> pl.DataFrame:
        """Return pairs of two of the memories; `left` < `right` are positions in `rows`."""
        positions = self.points[rows].select("profile_id", "memory_id", position=pl.int_range(pl.len(), dtype=pl.Int64))
        for end in ends:
            pairs = pairs.join(
                positions.rename({"memory_id": end, "position": f"{end}_position"}), on=["profile_id", end]
            )
        sides = [f"{end}_position" for end in ends]
        return pairs.with_columns(left=pl.min_horizontal(sides), right=pl.max_horizontal(sides)).filter(
            pl.col("left") < pl.col("right")
        )

    def near(self, rows: Rows, groups: Rows, minimum: float) -> Pairs:
        """Return the pairs of some memories whose cosine reaches a minimum, as `similarity.threshold_join` does.

        Live ones that are among the neighbours are not compared again. Only memories with the same number in `groups`
        are paired; the minimum is at least `duplicate_similarity`.
        """
        space, points = self.space[rows], self.points[rows]
        if self.neighbours is None:
            return similarity.threshold_join(space, groups, minimum)
        listed = similarity.listed_pairs(self.neighbours, points, minimum)
        others = similarity.threshold_join(space, groups, minimum, fresh=~points["live"].to_numpy())
        left, right, cosine = (
            np.concatenate([getattr(part, name) for part in (listed, others)])
            for name in ("left", "right", "similarity")
        )
        order = np.lexsort((right, left))
        order = order[groups[left[order]] == groups[right[order]]]
        return Pairs(left[order], right[order], cosine[order])


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a method reads of its input; nothing else affects its groups.

    Attributes:
        rows: the memories that it groups, by number; it reads their vectors and their order too.
        columns: columns of the points that it reads.
        settings: values of the policy that it reads.
        pairs: pairs of positions in `rows`, `left` and `right`, and the `kind` of pair (apart, alike, told alike).
    """

    rows: Rows
    columns: Sequence[str]
    settings: Sequence[object]
    pairs: pl.DataFrame = field(default_factory=PAIRED.to_frame)


@dataclass(frozen=True)
class ClusteringResult:
    """Groups of memories.

    Attributes:
        members: one row per group and member: `row` (its number in the input) and `group` (any number that identifies
            the group); where it applies also `level` and `parent` (the group of the level above), `strength` and
            `first_coactivated_at`.
        refusals: rows of `merge_refusals`.
        answers: what the merge guard said: `guard_answers.ANSWERS`, a row for each profile, with lists.
    """

    members: pl.DataFrame
    refusals: pl.DataFrame = field(default_factory=TABLES["merge_refusals"].empty)
    answers: pl.DataFrame = field(default_factory=TABLES["groupings"].empty().select(*ANSWERS).clone)


@dataclass(frozen=True)
class Strategy:
    """A clustering method, and what becomes of its groups.

    Attributes:
        find: groups the memories of an input.
        kind: kind of the summary that a group gets; a group with a level has its level as kind.
        supersedes: the summary supersedes the members.
        order: methods with a smaller value run first.
        reads: returns all that `find` reads, if its groups are no more than rows and groups, are formed within each
            profile, and depend on the clock only through what it returns: they are then kept for the next run (see
            `groups.method_reuse`). None: the method runs every time.
    """

    find: Callable[[ClusteringInput], ClusteringResult]
    kind: str
    supersedes: bool = False
    order: int = 100
    reads: Callable[[ClusteringInput], Reading] | None = None


def profiles(points: pl.DataFrame) -> Rows:
    """Return the profile number of each row; only memories with the same number are compared."""
    return points["profile_id"].rank("dense").cast(pl.Int64).to_numpy()


def grouped(rows: Rows, labels: Rows, least: int) -> pl.DataFrame:
    """Return members (`row`, `group`) of the groups of at least `least` rows, from a label per row."""
    return pl.DataFrame({"row": rows, "group": rows[labels]}).filter(pl.len().over("group") >= least)
