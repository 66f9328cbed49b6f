"""Finds neighbours, pairs of live memories that say nearly the same, by one exact join per run.

Every edge rule takes its pairs from this table instead of joining again. Not here: the comparison of vectors
(`similarity`), what follows from a pair (`similarity_edges`, `links`), and groups of memories, whose thresholds lie
elsewhere (`groups`).
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import reuse, similarity
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.schemas import LIVE, TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.arrays import fingerprints


def minimum(policy: Policy) -> float | None:
    """Return the lowest cosine that any rule of edges asks for; None if no rule compares vectors."""
    rules = set(policy.associations)
    asked = (
        (policy.similar_to_threshold, policy.similar_edges),
        (policy.auto_link_similarity, rules & {"auto_link", "cross_session"}),
        (policy.reinforcement_similarity, "reinforcement" in rules),
    )
    return min((cosine for cosine, wanted in asked if wanted), default=None)


class Compared(NamedTuple):
    """The tables of these names."""

    neighbours: pl.DataFrame
    comparisons: pl.DataFrame


def compare(
    memories: pl.DataFrame, vectors: pl.DataFrame, policy: Policy, *, kept: pl.DataFrame | None = None
) -> Compared:
    """Return the pairs of live memories of a profile whose cosine reaches `minimum`, and what was compared for them.

    Rows of `vectors` of other models than the policy's are ignored. `kept` is table `comparisons` of any state, or
    none: what it says was compared is not compared again.

    Cost: one exact join of the memories that are new or have another vector with all live ones of their profile; for
    the others, a digest and a fingerprint of their vectors.
    """
    least, live, table = minimum(policy), _live(memories), TABLES["comparisons"]
    if least is None or live.is_empty():
        return Compared(TABLES["neighbours"].empty(), table.empty())
    live = live.with_columns(row=pl.int_range(pl.len())).with_columns(first=pl.col("row").min().over("profile_id"))
    points = edge_rows.matrix(live, vectors, policy)
    before = table.empty() if kept is None else kept
    compared = reuse.reused("comparisons", before, reuse.digests((least,), live.select(KEY), vectors=points))
    unknown, made_by = compared.missing(live), reuse.digest((least,))
    positions = unknown.select(
        *KEY,
        position=pl.col("row") - pl.col("first"),
        vector=pl.Series(fingerprints(points[unknown["row"]].view(np.uint32)), dtype=pl.Int64),
    )
    found = _places(positions, points[unknown["row"]], least, before.filter(pl.col("made_by") == made_by))
    members = positions.group_by("profile_id").agg(members=pl.struct("memory_id", "vector"))
    made = members.join(found, on="profile_id", how="left")
    comparisons = compared.completed(made.with_columns(pl.col("pairs").fill_null([]), made_by=pl.lit(made_by)))
    return Compared(_named(comparisons, live), comparisons)


def _places(live: pl.DataFrame, points: NDArray[np.float32], least: float, before: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of each profile that has any by the positions of their memories in it, as in `comparisons`.

    `live` has the memories by profile and id, with their position in it and the fingerprint of their vector; those
    with the same vector in `before`, rows of `comparisons` with the same smallest cosine, are not compared again.
    """
    own = before.join(live, on="profile_id", how="semi")
    members = own.select("profile_id", "members").explode("members").drop_nulls("members").unnest("members")
    members = members.with_columns(before=pl.int_range(pl.len(), dtype=pl.Int64).over("profile_id"))
    same = members.join(live, on=[*KEY, "vector"]).select("profile_id", "before", "position")
    taken = own.select("profile_id", "pairs").explode("pairs").drop_nulls("pairs").unnest("pairs")
    for end in ("one", "other"):
        moved = same.rename({"before": end, "position": f"{end}_position"})
        taken = taken.join(moved, on=["profile_id", end])
    fresh = live.join(same, on=["profile_id", "position"], how="left", maintain_order="left")["before"].is_null()
    near = similarity.threshold_join(points, edge_rows.profiles(live), least, fresh=fresh.to_numpy())
    pairs = pl.DataFrame(
        {
            "profile_id": live["profile_id"].gather(near.left),
            "one": live["position"].gather(near.left),
            "other": live["position"].gather(near.right),
            "similarity": pl.Series(near.similarity, dtype=pl.Float32),
        }
    )
    kept = taken.select("profile_id", one="one_position", other="other_position", similarity="similarity")
    return (
        pl.concat([pairs, kept.cast(pairs.schema)])
        .sort("profile_id", "one", "other")
        .group_by("profile_id", maintain_order=True)
        .agg(pairs=pl.struct("one", "other", "similarity"))
    )


def _named(comparisons: pl.DataFrame, live: pl.DataFrame) -> pl.DataFrame:
    """Return table `neighbours` from pairs of positions."""
    pairs = comparisons.select("profile_id", "pairs").explode("pairs").drop_nulls("pairs").unnest("pairs")
    first = live.select("profile_id", "first").unique()
    rows = pairs.join(first, on="profile_id", maintain_order="left")
    ids = {
        name: live["memory_id"].gather(rows[side] + rows["first"])
        for name, side in (("memory_id", "one"), ("other_id", "other"))
    }
    return TABLES["neighbours"].conform(rows.with_columns(**ids))


def hold_all(policy: Policy, least: float) -> bool:
    """Return whether the neighbours under a policy are all pairs from a cosine on."""
    lowest = minimum(policy)
    return lowest is not None and lowest <= least


def _live(memories: pl.DataFrame) -> pl.DataFrame:
    return memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*KEY, "content_hash").sort(KEY)
