"""Judges the pairs of memories worth comparing, and reuses the judgements while their inputs are unchanged.

A judgement depends on all memories of a profile that are compared: by how rare a word is in it, by the statements
around one in its session, and by the rank of a pair among others. It does not depend on the clock. So the pairs found
are kept with a digest of all that the judge read, and a profile in which it would read the same is not judged again.
Not here: which memories are compared and what follows (`change_detection`), and the judges (`text.compare`).
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.consolidation import readings, relation_guards
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import relation_candidates, relation_reading
from memory_pipeline.text.compare.judge import JUDGEMENT_COLUMNS
from memory_pipeline.text.compare.judges import JUDGES

Rows = NDArray[np.int64]

CERTAIN: Final = ("changed_value", "ended")
"""Rules that show what changed; an update that is only likely is never decided."""

DOUBT: Final = 0.5
"""Minimum confidence of an update that is reported although it makes no link: more likely than not."""

LEAST_ODDS: Final = 0.15
"""Minimum confidence of an update or repetition that counts for what a token budget keeps first."""

MOST_LINKED: Final = 4
"""Maximum number of other memories that a memory is related to in one way: those of the highest confidence."""

_SEEN: Final = list(relation_reading.MEMORY_COLUMNS)
_GUARDED: Final = [*_SEEN, "user_id", "file", "heading"]
_JUDGED: Final = ("older", "newer", *JUDGEMENT_COLUMNS)


def judge(points: pl.DataFrame, similar: Rows, policy: Policy, *, kept: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return table `judgements`: the pairs likely enough for a link or a doubt or, under a token budget, to count.

    Args:
        points: `relation_reading.MEMORY_COLUMNS`, user_id, file and heading of the memories, by profile and
            start of validity; `row` numbers them from 0, `place` those of each profile.
        similar: pairs of rows that are compared whether or not they share words, [n, 2], older first.
        policy: the judge, and the least confidence that is of use.
        kept: table `judgements` as any earlier run left it; default: none.

    Cost: about 0.2 ms per short memory of a profile that is judged; a hundredth of that for others.
    """
    read = _read(points, similar, policy)
    known = TABLES["judgements"].empty() if kept is None else kept.join(read, on=read.columns, how="semi")
    unknown = points.join(known, on="profile_id", how="anti", maintain_order="left")
    new = _judged(unknown, similar, policy).join(read, on="profile_id")
    return TABLES["judgements"].conform(pl.concat([known, new.select(known.columns)]))


def pairs(judgements: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs of table `judgements` with the rows of their memories: older, newer, `JUDGEMENT_COLUMNS`."""
    first = points.group_by("profile_id").agg(first=pl.col("row").min())
    return (
        judgements.select("profile_id", "pairs")
        .explode("pairs")
        .drop_nulls("pairs")
        .unnest("pairs")
        .join(first, on="profile_id", maintain_order="left")
        .with_columns(pl.col("older") + pl.col("first"), pl.col("newer") + pl.col("first"))
        .select(_JUDGED)
    )


def likely(policy: Policy) -> pl.Expr:
    """Return whether a relation is likely enough for a link, or an update for a doubt."""
    least = pl.col("relation").replace_strict(_reported(policy), default=2.0, return_dtype=pl.Float64)
    return (pl.col("confidence") >= least) | sure(policy)


def sure(policy: Policy) -> pl.Expr:
    """Return whether an update is sure and shows what changed."""
    update = (pl.col("relation") == "update") & pl.col("rule").is_in(CERTAIN)
    return update & (pl.col("confidence") >= policy.close_confidence)


def _read(points: pl.DataFrame, similar: Rows, policy: Policy) -> pl.DataFrame:
    """Return for each profile the digest of all that the judge reads of it: profile_id, read."""
    settings = (policy.judge, sorted(_least(policy).items()), policy.fact_confidence, policy.close_confidence)
    older, newer = (points["place"].gather(similar[:, side]) for side in (0, 1))
    linked = pl.DataFrame({"profile_id": points["profile_id"].gather(similar[:, 0]), "older": older, "newer": newer})
    return readings.digests(settings, points.select(_GUARDED), linked)


def _judged(points: pl.DataFrame, similar: Rows, policy: Policy) -> pl.DataFrame:
    """Judge the pairs of some profiles: profile_id and pairs, as in table `judgements`.

    Args:
        points: the memories of these profiles, as `_points` returns them.
        similar: pairs of rows, as `_similar` returns them, of these and other profiles.
        policy: the judge, and the least confidence that is of use.
    """
    if points.is_empty():
        return TABLES["judgements"].empty().drop("read")
    reading = relation_reading.read(points.select(_SEEN))
    rows = points["row"].to_numpy()
    near = np.searchsorted(rows, similar[np.isin(similar[:, 0], rows)])
    older, newer = _candidates(reading, near)
    judged = JUDGES[policy.judge].judge(reading, older, newer, least=_least(policy))
    useful = judged.with_columns(older=older, newer=newer).filter(likely(policy) | _counts(policy))
    kept = relation_guards.permitted(useful, points)
    placed = kept.with_columns(
        points["profile_id"].gather(kept["older"]),
        older=points["place"].gather(kept["older"]),
        newer=points["place"].gather(kept["newer"]),
    )
    found = _best(placed, policy).group_by("profile_id", maintain_order=True).agg(pairs=pl.struct(_JUDGED))
    profiles = points.select("profile_id").unique(maintain_order=True)
    return profiles.join(found, on="profile_id", how="left", maintain_order="left").with_columns(
        pl.col("pairs").fill_null([])
    )


def _candidates(reading: relation_reading.Reading, similar: Rows) -> tuple[Rows, Rows]:
    """Return pairs worth comparing, (older, newer) rows of the reading, each once."""
    sharing = np.stack(relation_candidates.candidates(reading), axis=1)
    return relation_candidates.each_once(np.concatenate([sharing, similar]), len(reading.memories))


def _best(pairs: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the pairs that are among the `MOST_LINKED` best of their kind of both memories, and all sure updates.

    The best are the most confident; of equally confident ones those nearest in time, then the earlier. So 10,000 notes
    of one wording make a number of links that is linear in them.
    """
    distance = pl.col("newer") - pl.col("older")
    ordered = pairs.with_row_index("at").sort(
        pl.col("confidence"), distance, "older", "newer", descending=[True, False, False, False], maintain_order=True
    )
    rank = pl.int_range(pl.len())
    within = [rank.over("profile_id", "relation", side) < MOST_LINKED for side in ("older", "newer")]
    return ordered.filter((within[0] & within[1]) | sure(policy)).sort("at").drop("at")


def _counts(policy: Policy) -> pl.Expr:
    """Return whether a relation counts for what a token budget keeps first, though it may be too unsure for a link."""
    counts = pl.col("relation").is_in(["update", "duplicate"]) & (pl.col("confidence") >= LEAST_ODDS)
    return counts & (policy.token_budget is not None)


def doubtful(policy: Policy) -> pl.Expr:
    """Return whether an update is too unsure to link or close anything."""
    unsure = (pl.col("relation") == "update") & (pl.col("confidence") < policy.fact_confidence)
    return unsure & ~sure(policy)


def _least(policy: Policy) -> dict[str, float]:
    """Return the minimum confidence of each relation to be of use; a token budget uses pairs too unsure for a link."""
    odds = 1.0 if policy.token_budget is None else LEAST_ODDS
    reported = _reported(policy)
    return reported | {name: min(reported[name], odds) for name in ("update", "duplicate")}


def _reported(policy: Policy) -> dict[str, float]:
    """Return the minimum confidence of each relation for a link, a closing or a doubt."""
    return {
        "update": min(policy.fact_confidence, policy.close_confidence, DOUBT),
        "duplicate": policy.repeat_confidence,
        "conflict": policy.conflict_confidence,
    }
