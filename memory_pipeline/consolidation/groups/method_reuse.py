"""Runs a clustering method only in profiles whose inputs have changed, and reuses its groups in the others.

The groups of a method are stored with a digest of its inputs (table `groupings`) if the method declares them. In
profiles that it groups again, what the merge guard said of pairs in which nothing changed is taken over.
Not here: the methods themselves (`strategies`).
"""

from dataclasses import replace
from typing import Final

import polars as pl

from memory_pipeline.consolidation import reuse
from memory_pipeline.consolidation.groups.guard_answers import ANSWERS
from memory_pipeline.consolidation.groups.strategies.strategy import (
    ClusteringInput,
    ClusteringResult,
    Reading,
    Strategy,
)
from memory_pipeline.schemas import TABLES

_REFUSED: Final = ("memory_id", "other_id", "similarity", "reason", "detail")


def grouped(
    method: str, strategy: Strategy, inputs: ClusteringInput, *, kept: pl.DataFrame | None = None
) -> tuple[ClusteringResult, pl.DataFrame]:
    """Return what a method finds, and its rows of table `groupings`: none if it does not declare what it reads.

    `kept` is table `groupings` as any earlier run left it; default: none.
    """
    if strategy.reads is None:
        return strategy.find(inputs), TABLES["groupings"].empty()
    reading = strategy.reads(inputs)
    rows = inputs.points.select("profile_id", "row")[reading.rows].with_columns(position=pl.int_range(pl.len()))
    rows = rows.with_columns(place=pl.col("position") - pl.col("position").min().over("profile_id"))
    read = _read(method, inputs, reading, rows).with_columns(method=pl.lit(method))
    reused = reuse.reused("groupings", kept, read)
    changed = ~inputs.points["profile_id"].is_in(reused.known["profile_id"].implode()).to_numpy()
    made_by = reuse.digest((method,))
    answers = _answers(TABLES["groupings"].empty() if kept is None else kept, made_by, reused.changed)
    found = strategy.find(replace(inputs, free=inputs.free & changed, answers=answers))
    made = reused.changed.select("profile_id", made_by=pl.lit(made_by))
    for part in (_groups(found, rows), _refusals(found), found.answers):
        made = made.join(part, on="profile_id", how="left")
    filled = pl.col("groups", "refusals", "asked", "answered").fill_null([])
    groupings = reused.completed(made.with_columns(filled))
    return _found(groupings, rows), groupings


def _answers(kept: pl.DataFrame, made_by: str, changed: pl.DataFrame) -> pl.DataFrame:
    """Return what the merge guard said in earlier runs of the same program about these profiles."""
    own = kept.filter(pl.col("made_by") == made_by).join(changed, on="profile_id", how="semi")
    return own.select(*ANSWERS).explode("asked", "answered").drop_nulls("asked")


def _read(method: str, inputs: ClusteringInput, reading: Reading, rows: pl.DataFrame) -> pl.DataFrame:
    """Return for each profile the digest of all that the method reads of it: profile_id, read."""
    seen = inputs.points.select("profile_id", *reading.columns)[reading.rows]
    pairs = reading.pairs.select(
        rows["profile_id"].gather(reading.pairs["left"]),
        *(rows["place"].gather(reading.pairs[side]).alias(side) for side in ("left", "right")),
        "kind",
    )
    return reuse.digests((method, *reading.settings), seen, pairs, vectors=inputs.space[reading.rows])


def _groups(found: ClusteringResult, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the groups of each profile by the places of their members: profile_id, groups."""
    members = found.members.select("row", "group").join(rows, on="row").sort("position")
    groups = members.group_by("profile_id", "group", maintain_order=True).agg("place")
    return groups.group_by("profile_id", maintain_order=True).agg(groups="place")


def _refusals(found: ClusteringResult) -> pl.DataFrame:
    """Return the refusals of each profile: profile_id, refusals."""
    ordered = found.refusals.sort(TABLES["merge_refusals"].key)
    return ordered.group_by("profile_id", maintain_order=True).agg(refusals=pl.struct(_REFUSED))


def _found(groupings: pl.DataFrame, rows: pl.DataFrame) -> ClusteringResult:
    """Return what a method found, as its rows of table `groupings` say; a group is numbered by its first member."""
    first = rows.select("profile_id", first=pl.col("position") - pl.col("place")).unique()
    groups = groupings.select("profile_id", "groups").explode("groups").drop_nulls("groups")
    members = (
        groups.join(first, on="profile_id", maintain_order="left")
        .with_columns(head=pl.col("groups").list.first())
        .explode("groups")
        .select(pl.col("groups", "head") + pl.col("first"))
    )
    refusals = groupings.select("profile_id", "refusals").explode("refusals").drop_nulls("refusals").unnest("refusals")
    return ClusteringResult(
        pl.DataFrame({"row": rows["row"].gather(members["groups"]), "group": rows["row"].gather(members["head"])}),
        refusals,
    )
