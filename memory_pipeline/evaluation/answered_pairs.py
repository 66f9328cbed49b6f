"""Measures the judge on the pairs of a store that somebody has answered, and proposes thresholds by them.

Not here: answers (`consolidation/state/answers`), and the judges (`text/compare`).
"""

from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import change_detection
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state import answers
from memory_pipeline.lake.tables import Lake
from memory_pipeline.schemas import Lifecycle
from memory_pipeline.settings import Policy

MEANS: Final = dict.fromkeys(answers.CLOSING, "update") | answers.LINKING
"""Relation of the judge that each answer stands for."""
SETTINGS: Final = {
    "update": {"fact_confidence": 0.75, "close_confidence": 0.95},
    "duplicate": {"repeat_confidence": 0.75, "merge_confidence": 0.95},
    "conflict": {"conflict_confidence": 0.75},
}
"""For each relation the settings that it must reach, with the share of right ones that each stands for."""
FEWEST: Final = 20
"""Minimum number of pairs by which a threshold is set: with fewer, one wrong answer decides."""
_LEAST: Final = 0.15
_OPEN: Final = {
    "lifecycle": pl.lit(Lifecycle.ACTIVE.value),
    "superseded_by": pl.lit(None),
    "superseded_kind": pl.lit(None),
    "closed_by": pl.lit(None),
    "valid_until": pl.lit(None),
    "closed_statements": pl.lit([]),
}


def judged(tables: dict[str, pl.DataFrame], policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Return each answered pair of a profile with what the judge finds, as if nobody had answered.

    `tables` holds memories, enrichment, vectors, events, pair_readings and core_sentences of one profile. Returns
    memory_id (the older), other_id, answered and relation (as in `MEANS`; unrelated if the judge finds nothing), and
    confidence (0 if it finds nothing). Cost: that of judging the whole profile, if there are answers.
    """
    memories = tables["memories"]
    given = answers.standing(tables["events"], memories).filter(pl.col("relation").is_in(list(MEANS)))
    if given.is_empty():
        return pl.DataFrame(schema=_PAIRS)
    ends = pl.concat([given.select("profile_id", memory_id=name) for name in ("memory_id", "other_id")]).unique()
    known = memories.join(ends.with_columns(answered=pl.lit(value=True)), on=KEY, how="left", maintain_order="left")
    whole = pl.col("answered") & ~pl.col("lifecycle").is_in([Lifecycle.DELETED.value, Lifecycle.ERASED.value])
    opened = known.with_columns(
        pl.when(whole).then(value).otherwise(pl.col(name)).cast(memories.schema[name]).alias(name)
        for name, value in _OPEN.items()
    ).select(memories.columns)
    everything = {name: _LEAST for of_relation in SETTINGS.values() for name in of_relation} | {"close_confidence": 1.0}
    found = change_detection.compare(
        opened,
        tables["enrichment"],
        tables["vectors"],
        policy.model_copy(update=everything | {"token_budget": None}),
        as_of=as_of,
        plan_id="answered",
        recorded=tables["pair_readings"],
        sentences=tables["core_sentences"],
    ).fact_changes
    said = found.select(
        "profile_id",
        "confidence",
        found=pl.col("relation").replace("doubt", "update"),
        low=pl.min_horizontal("memory_id", "other_id"),
        high=pl.max_horizontal("memory_id", "other_id"),
    )
    return given.join(said, on=["profile_id", *answers.PAIR], how="left", maintain_order="left").select(
        "memory_id",
        "other_id",
        answered=pl.col("relation").replace_strict(MEANS, return_dtype=pl.String),
        relation=pl.col("found").fill_null("unrelated"),
        confidence=pl.col("confidence").fill_null(0.0),
    )


def of_store(lake: Lake, profile_id: str, policy: Policy, *, as_of: datetime) -> pl.DataFrame:
    """Return the answered pairs of a profile of a store, as `judged` does. Raises LakeError: it cannot be read."""
    names = ("memories", "enrichment", "vectors", "pair_readings", "core_sentences")
    tables = {name: lake.read(name, profiles=[profile_id]) for name in names}
    return judged(tables | {"events": lake.events(profiles=[profile_id])}, policy, as_of=as_of)


def figures(pairs: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return for each setting how often the judge was right from its value on, and the value to set by these answers.

    Returns:
        setting, relation, value, wanted (the share of right ones that it stands for), right, judged (pairs at or above
        the value), answered (pairs that somebody has answered so), known (answered pairs that the judge takes for this
        relation at any confidence), and proposed: the smallest confidence from which the wanted share of at least
        `FEWEST` pairs is right; null if there is none.
    """
    rows = []
    for relation, wanted in SETTINGS.items():
        of_relation = pairs.filter(relation=relation).sort("confidence", descending=True)
        good = of_relation["answered"] == relation
        count = pl.int_range(1, len(good) + 1, eager=True)
        shares = of_relation.select("confidence", share=good.cast(pl.Float64).cum_sum() / count, count=count).unique(
            "confidence", keep="last", maintain_order=True
        )  # a threshold takes all pairs of a confidence
        for setting, least in wanted.items():
            value = float(getattr(policy, setting))
            above = of_relation["confidence"] >= value
            enough = shares.filter(pl.col("share") >= least, pl.col("count") >= FEWEST)
            rows.append(
                {
                    "setting": setting,
                    "relation": relation,
                    "value": value,
                    "wanted": least,
                    "right": int((good & above).sum()),
                    "judged": int(above.sum()),
                    "answered": int((pairs["answered"] == relation).sum()),
                    "known": len(good),
                    "proposed": enough["confidence"].min(),
                }
            )
    return pl.DataFrame(rows, schema=_FIGURES)


def verdict(row: dict[str, Any]) -> str:
    """Return in one sentence what a row of `figures` says of the value of a setting."""
    setting, proposed, wanted = row["setting"], row["proposed"], f"{row['wanted']:.0%}"
    if row["known"] < FEWEST:
        return (
            f"{setting} stays {row['value']:g}: of the answered pairs the judge takes {row['known']} for "
            f"{_PLURAL[row['relation']]}, and {FEWEST} are needed to set it."
        )
    if proposed is None:
        return f"{setting} stays {row['value']:g}: from no confidence on are {wanted} of {FEWEST} or more pairs right."
    if proposed == row["value"]:
        return f"{setting} stays {row['value']:g}: it is the smallest value from which {wanted} are right."
    return f"{setting} = {proposed:g} instead of {row['value']:g}: the smallest value from which {wanted} are right."


_PLURAL: Final = {"update": "updates", "duplicate": "repetitions", "conflict": "contradictions"}
_PAIRS: Final = {
    **dict.fromkeys(("memory_id", "other_id", "answered", "relation"), pl.String),
    "confidence": pl.Float64,
}
_FIGURES: Final = {
    "setting": pl.String,
    "relation": pl.String,
    "value": pl.Float64,
    "wanted": pl.Float64,
    "right": pl.Int64,
    "judged": pl.Int64,
    "answered": pl.Int64,
    "known": pl.Int64,
    "proposed": pl.Float64,
}
