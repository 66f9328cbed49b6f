"""Carries updates over to repetitions: what outdates a memory outdates its repetitions, and so does what repeats it.

By the labels of 41 stores 192 of 198 such pairs are updates. Not here: the judge of pairs (`judging`), and closings,
which follow from what somebody answered alone (`change_detection.copies_of_closed`).
"""

from typing import Final

import polars as pl

from memory_pipeline.text.compare.judge import ASIDE

RULE: Final = "carried"
"""Rule of an update that is likely, or likelier, because of what one of the two repeats."""

_REASON: Final = "One of them repeats a memory of which this is likely."
_ENDS: Final = ["older", "newer"]


def carried(pairs: pl.DataFrame, texts: pl.Series, *, least: float, decides: pl.Expr) -> pl.DataFrame:
    """Add the updates that follow from other updates and repetitions, and make those that are judged so surer.

    That A outdates B with one confidence and C repeats A, or B, with another gives their product; with what is judged
    of the two themselves it counts as an independent sign. A pair that is judged to be anything else, and an update
    that `decides`, stay as they are; repetitions have at least the confidence `least`. Pairs are older and newer (rows
    of `texts`, by start of validity) with `JUDGEMENT_COLUMNS`, and come back sorted. Cost: two joins of updates with
    repetitions.
    """
    repeats = pairs.filter(pl.col("relation") == "duplicate", pl.col("confidence") >= least)
    updates = pairs.filter(pl.col("relation") == "update", pl.col("rule") != ASIDE)
    if repeats.is_empty() or updates.is_empty():
        return pairs
    alike = pl.concat([repeats.select(one=one, copy=other, alike="confidence") for one, other in (_ENDS, _ENDS[::-1])])
    likely = pl.col("confidence") * pl.col("alike")
    of_older = updates.join(alike, left_on="older", right_on="one").select("newer", older="copy", likely=likely)
    of_newer = updates.join(alike, left_on="newer", right_on="one").select("older", newer="copy", likely=likely)
    found = (
        pl.concat([one.select(*_ENDS, "likely") for one in (of_older, of_newer)])
        .filter(pl.col("older") < pl.col("newer"))
        .group_by(_ENDS)
        .agg(pl.col("likely").max())
    )
    follows = pl.col("likely").is_not_null()
    surer = follows & (pl.col("relation") == "update") & (pl.col("rule") != ASIDE) & ~decides
    both = 1.0 - (1.0 - pl.col("confidence")) * (1.0 - pl.col("likely"))
    kept = (
        pairs.join(found, on=_ENDS, how="left", maintain_order="left")
        .filter(~(follows & (pl.col("relation") == "unrelated")))
        .with_columns(
            confidence=pl.when(surer).then(both).otherwise("confidence"),
            rule=pl.when(surer).then(pl.lit(RULE)).otherwise("rule"),
        )
    )
    new = found.join(kept, on=_ENDS, how="anti")
    added = new.select(
        *_ENDS,
        relation=pl.lit("update"),
        confidence="likely",
        value=texts.gather(new["older"]),
        other_value=texts.gather(new["newer"]),
        rule=pl.lit(RULE),
        reason=pl.lit(_REASON),
    )
    return pl.concat([kept, added], how="diagonal").select(pairs.columns).sort(_ENDS)
