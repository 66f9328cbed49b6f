"""Finds what stands against facts of core memory: newer memories that may outdate, deny or repeat them.

Not here: which facts there are, and which of these doubts count (`core_profile`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation import currency
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.ownership import OWNER
from memory_pipeline.text.parse import tokens

LEAST: Final = 0.2
"""Minimum confidence of an update, too unsure for a link, that dates a line as perhaps outdated: a third of them are
right, and an outdated line without a mark does more harm than a mark too many."""
LINKED: Final = 1.0
"""Confidence of an update that is linked."""
MOST_QUOTED: Final = 120
"""Characters that are quoted of what contradicts a fact or may outdate it."""
_REPEATED: Final = 0.5
"""Minimum likelihood of a repetition for which the newer fact tells the older: an unlikely one takes no fact's room."""

LINE: Final = tokens.one_line(pl.col("content"))
SAID: Final = pl.concat_str(pl.when(pl.col("voice") != OWNER).then("speaker"), LINE, separator=": ", ignore_nulls=True)
"""What a memory says, after the name of a speaker who is not the owner."""


def against(
    memories: pl.DataFrame, edges: pl.DataFrame, changes: pl.DataFrame, *, others: pl.DataFrame
) -> pl.DataFrame:
    """Add what stands against memories: `doubted`, `disputed_by`, `disputed_at`, and the latter two as the owner says.

    `doubted` is a list of statement (null for all of the memory), at, confidence, by and foreign: whether somebody
    else than the owner says so. Takes what `core_profile.facts` takes.
    """
    everything = pl.concat(
        [frame.select(*KEY, "lifecycle", "created_at", "voice", said=SAID) for frame in (memories, others)]
    )
    doubted = _doubted(changes, _of_whole(edges, changes), everything)
    return memories.join(doubted, on=KEY, how="left").join(_disputed(edges, everything), on=KEY, how="left")


def with_quotes(facts: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Put the words of what doubts each fact in the place of its id; none if core memory tells it anyway.

    What is told so is past, and needs room only if it is for years.
    """
    told = facts.select("profile_id", doubted_by="memory_id", told=True).unique()
    said = memories.select("profile_id", doubted_by="memory_id", said=SAID).with_columns(said=_short("said"))
    joined = facts.join(told, on=["profile_id", "doubted_by"], how="left", maintain_order="left").join(
        said, on=["profile_id", "doubted_by"], how="left", maintain_order="left"
    )
    past = pl.col("past") & pl.col("told").fill_null(value=False)
    quoted = pl.when(pl.col("told").is_null()).then("said")
    return joined.with_columns(doubted_by=quoted, past=past, vital=pl.col("vital") & (pl.col("lasting") | ~past)).drop(
        "told", "said"
    )


def with_repeats(facts: pl.DataFrame, edges: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Count what a newer fact of the same block probably repeats among what is past: the newer one tells it.

    What never lacks room keeps it: two blood groups that are taken for a repetition are both to be read.
    """
    told = facts.filter(pl.col("doubted_since").is_null()).select("profile_id", "index", "memory_id", "created_at")
    newer = _likely_repeats(edges, changes).join(
        told.rename({"memory_id": "target", "created_at": "at"}), on=["profile_id", "target"]
    )
    last = newer.group_by("profile_id", "index", memory_id="source").agg(pl.col("at").max())
    joined = facts.join(last, on=["profile_id", "index", "memory_id"], how="left", maintain_order="left")
    repeated = (pl.col("at") > pl.col("created_at")).fill_null(value=False) & ~pl.col("vital")
    return joined.with_columns(past=pl.col("past") | repeated).drop("at")


def _partly(changes: pl.DataFrame) -> pl.DataFrame:
    """Return statements that a newer memory may outdate while the rest of their memory holds."""
    updates = changes.filter(pl.col("relation") == currency.UPDATE, pl.col("statement").is_not_null())
    return updates.select(*KEY, "other_id", "statement", "at")


def _doubted(changes: pl.DataFrame, edges: pl.DataFrame, everything: pl.DataFrame) -> pl.DataFrame:
    """Return what may be outdated: KEY, doubted (statements, null for all of the memory, since when, how surely, by).

    And whether somebody else than the owner says so (`foreign`). Updates too unsure for a link count too. `edges` are
    about whole memories; an archived successor still outdates one.
    """
    present = everything.filter(~pl.col("lifecycle").is_in(currency.GONE)).select(
        "profile_id", source="memory_id", at="created_at"
    )
    likely = (pl.col("relation") == "doubt") & (pl.col("confidence") >= LEAST)
    unsure = changes.filter(likely).select(*KEY, "statement", "at", "confidence", by="other_id")
    whole = edges.filter(pl.col("edge_type") == currency.MAY_UPDATE).join(present, on=["profile_id", "source"])
    linked = [
        _partly(changes).rename({"other_id": "by"}).select(*KEY, "statement", "at", "by"),
        whole.select("profile_id", "at", by="source", memory_id="target", statement=pl.lit(None, pl.String)).select(
            *KEY, "statement", "at", "by"
        ),
    ]
    certain = pl.concat(linked).with_columns(confidence=pl.lit(LINKED)).select(unsure.columns)
    by_others = everything.filter(pl.col("voice") != OWNER).select("profile_id", by="memory_id", foreign=True)
    doubts = pl.concat([unsure, certain]).join(by_others, on=["profile_id", "by"], how="left", maintain_order="left")
    doubts = doubts.with_columns(pl.col("foreign").fill_null(value=False)).sort(*KEY, "at", "by")
    struct = pl.struct("statement", "at", "confidence", "by", "foreign")
    return doubts.group_by(KEY, maintain_order=True).agg(doubted=struct)


def _disputed(edges: pl.DataFrame, everything: pl.DataFrame) -> pl.DataFrame:
    """Return for each contradicted memory what the latest other one says, and when: KEY, disputed_by, disputed_at.

    And the same of the latest one that the owner says: own_disputed_by, own_disputed_at.
    """
    conflicts = edges.filter(pl.col("edge_type") == "CONTRADICTS", pl.col("kind").ne_missing(pl.lit("contrast")))
    other = everything.filter(~pl.col("lifecycle").is_in(currency.GONE)).select(
        "profile_id", "said", "voice", target="memory_id", disputed_at="created_at"
    )
    own = pl.col("voice") == OWNER
    told = {"disputed_by": _short("said"), "disputed_at": pl.col("disputed_at")}
    return (
        _both_ways(conflicts)
        .unique()
        .join(other, on=["profile_id", "target"])
        .sort("profile_id", "source", pl.col("disputed_at").dt.date(), "target")
        .group_by("profile_id", memory_id="source")
        .agg(
            **{name: value.last() for name, value in told.items()},
            **{f"own_{name}": value.filter(own).last() for name, value in told.items()},
        )
    )


def _short(column: str) -> pl.Expr:
    """Return what is quoted of a text."""
    text = pl.col(column)
    return pl.when(text.str.len_chars() > MOST_QUOTED).then(text.str.slice(0, MOST_QUOTED) + "…").otherwise(text)


def _of_whole(edges: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Return the edges without those that are about one statement of the older memory."""
    partly = _partly(changes).select(
        "profile_id", target="memory_id", source="other_id", edge_type=pl.lit(currency.MAY_UPDATE)
    )
    return edges.join(partly, on=["profile_id", "target", "source", "edge_type"], how="anti")


def _likely_repeats(edges: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Return the linked repetitions that are likelier than not, in either direction: profile_id, source, target."""
    unlikely = (pl.col("relation") == "duplicate") & (pl.col("confidence") < _REPEATED)
    named = changes.filter(unlikely).select("profile_id", source="memory_id", target="other_id")
    return _both_ways(edges.filter(edge_type="MAY_REPEAT")).join(_both_ways(named), on=named.columns, how="anti")


def _both_ways(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of memories in both directions: profile_id, source, target."""
    ends = pairs.select("profile_id", "source", "target")
    return pl.concat([ends, ends.select("profile_id", source="target", target="source")])
