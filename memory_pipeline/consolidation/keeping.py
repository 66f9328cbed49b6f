"""Ranks memories for a token budget: first what is asked for, then what is grave to forget, last what is outdated.

Within a rank, worth decides; it reads how likely a memory is the present state of things, was said twice or is
outdated, long before either is sure enough for a link.

Not here: what a sentence is worth (`worth`) and what a budget has room for (`trimming`).
"""

from datetime import datetime
from enum import IntEnum
from typing import Final

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import components
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import INSTANT, LIVE, Accesses, FactChanges, Frame, Lifecycle, Memories
from memory_pipeline.text.lang.registry import SAFETY
from memory_pipeline.text.parse.speakers import by_assistant
from memory_pipeline.text.parse.tokens import fold

ASKED_FOR: Final = 1.0
"""Minimum use of a memory that counts as asked for: once first in an answer or marked helpful, or more often further
down."""
_MEASURED: Final = 0.5
"""Minimum probability that a sentence states what was measured."""
DAMAGING: Final = 0.8
"""Minimum probability that forgetting does real damage, from which a memory stays before all that nobody asked for.
Below, it makes a memory worth more (`worth`)."""
ODDS: Final = ("updates", "outdated", "repeats")
"""How likely a memory updates another, another updates it, and another repeats it."""
_LINKED: Final = 0.5
"""Minimum odds of what is linked, also when the other memory has left."""
_TALK: Final = 0.5
"""Least share of turns beside another speaker's in a chat: above .9 in conversations, below .4 in notes of several."""
_FULL: Final = 0.5
"""Minimum length of the copy that stands for all, as a share of the longest."""
_GONE: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)


class Rank(IntEnum):
    """What a token budget keeps, first to last; within a rank, worth decides."""

    ASKED = 0
    """Recalled or marked helpful."""
    GRAVE = 1
    """What surely does real damage if it is forgotten, a harm of 2 or 3, though nobody asked for it."""
    ASKED_OUTDATED = 2
    """Asked for, but closed or no longer valid."""
    REST = 3
    OUTDATED = 4
    """A newer memory has closed it, or its validity has ended."""


OUTDATED: Final = (Rank.ASKED_OUTDATED.value, Rank.OUTDATED.value)
"""Ranks of what no longer holds."""


def ranked(
    memories: Frame[schemas.Memories],
    edges: pl.DataFrame,
    fact_changes: Frame[schemas.FactChanges],
    accesses: Frame[schemas.Accesses],
    odds: Frame[schemas.ChangeOdds],
    said: pl.DataFrame,
    *,
    as_of: datetime,
) -> pl.DataFrame:
    """Rank memories by what a token budget keeps first.

    The newest copy of a fact that is not far shorter than another represents all copies and has their use. The newer
    side of an update, sure or only likely, ranks at least as high as the older one, and keeps that rank and its odds
    after the older side has left the live set, unless that is deleted or erased; likewise the copy that stands for all.

    Only what is closed or no longer valid ranks as outdated; a memory that is outdated in part ranks by what still
    holds, and what outdates it at least as high. The older side of a link ranks by its own words and use: a link
    decides only that it leaves before the newer side.

    An access counts its times / (1 + its position in the answer); one that only an association led to does not count.
    `said` is what the reader says of the memories' sentences (`worth.of_sentences`); of a memory without a row a safety
    matter is recognised by words of its language, if there are any. Of `edges`, MAY_UPDATE (newer to older) and
    MAY_REPEAT are read, SIMILAR_TO of measurements.

    Returns:
        profile_id, memory_id, rank (`Rank`), use (the sum over accesses), `ODDS` and newer (ids of the memories that it
        leaves before: the newer sides of its updates, later measurements of the same, and the copy that stands for it),
        one row per memory, in the order of `memories`. Cost: linear, about 5 µs a memory.
    """
    placed = memories.sort("profile_id", "created_at", "memory_id").with_row_index("position")
    there = placed.filter(~pl.col("lifecycle").is_in(_GONE))
    updates, copies = _updates(there, edges, fact_changes), _copies(there, edges, fact_changes)
    doubts, parts = (
        _placed(rows, there).select(updates.columns) for rows in (_doubts(fact_changes), _in_part(fact_changes))
    )
    series = _series(there, edges, said)
    linked = pl.concat([updates, copies, series]).unique()
    pairs = pl.concat([linked, doubts]).unique()
    raising = pl.concat([pairs, parts]).unique()
    ranks = _first_ranks(placed, accesses, copies, said)
    outdated = pl.when(pl.col("use") >= ASKED_FOR).then(Rank.ASKED_OUTDATED.value).otherwise(Rank.OUTDATED.value)
    final = (
        ranks.with_columns(rank=_handed_on(ranks["rank"], raising, placed))
        .join(_over(memories, fact_changes, as_of), on=KEY, how="left")
        .join(pairs.group_by("profile_id", memory_id="older").agg(pl.col("newer").sort()), on=KEY, how="left")
        .join(_odds(odds, updates, copies, series), on=KEY, how="left")
        .select(
            *(pl.col(name) for name in (*KEY, "use")),
            pl.when("over").then(outdated).otherwise("rank").alias("rank"),
            *(pl.col(name).fill_null(0.0) for name in ODDS),
            newer=pl.col("newer").fill_null([]),
        )
    )
    return memories.select(KEY).join(final, on=KEY, how="left", maintain_order="left")


def chats(memories: Frame[Memories]) -> pl.DataFrame:
    """Return the profiles in which people talk with each other: profile_id.

    In at least half of what people said there, another one speaks right before or after in the session. Notes of
    several people are no chat.
    """
    named = pl.col("speaker").is_not_null() & ~by_assistant(pl.col("speaker"))
    session = ["profile_id", "session_id"]
    said = memories.filter(named).sort(*session, "created_at", "memory_id")
    beside = [pl.col("speaker") != pl.col("speaker").shift(step).over(session) for step in (1, -1)]
    answered = said.with_columns(talks=pl.any_horizontal(one.fill_null(value=False) for one in beside))
    shares = answered.group_by("profile_id").agg(share=pl.col("talks").mean())
    return shares.filter(pl.col("share") >= _TALK).select("profile_id")


def _odds(odds: pl.DataFrame, updates: pl.DataFrame, copies: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Return how likely each memory is to update another, to be outdated and to be repeated: KEY, `ODDS`.

    Of what is linked they are at least `_LINKED`, so that they stay when the other memory has left.
    """
    changed = pl.concat([updates, series])
    linked = [
        changed.select("profile_id", memory_id="newer", updates=pl.lit(_LINKED)),
        changed.select("profile_id", memory_id="older", outdated=pl.lit(_LINKED)),
        copies.select("profile_id", memory_id="newer", repeats=pl.lit(_LINKED)),
        copies.select("profile_id", memory_id="older", repeats=pl.lit(_LINKED)),
    ]
    together = pl.concat([odds.select(*KEY, *ODDS), *linked], how="diagonal")
    return together.group_by(KEY).agg(pl.col(*ODDS).max())


def _over(memories: Frame[Memories], fact_changes: Frame[FactChanges], as_of: datetime) -> pl.DataFrame:
    """Return the memories that no longer hold, including those that this run closes: KEY, over."""
    now = pl.lit(as_of, dtype=INSTANT)
    closing = fact_changes.filter(
        pl.col("relation") == "update", "decided", pl.col("statement").is_null(), pl.col("at") <= now
    )
    ended = pl.concat([memories.filter(pl.col("valid_until") <= now).select(KEY), closing.select(KEY)])
    return ended.unique().with_columns(over=pl.lit(value=True))


def _first_ranks(
    memories: pl.DataFrame, accesses: Frame[Accesses], copies: pl.DataFrame, said: pl.DataFrame
) -> pl.DataFrame:
    """Return KEY, the use of each memory, which includes that of its copies, and its rank by use and text."""
    direct = accesses.filter(~pl.col("expanded")).select(*KEY, use=pl.col("times") / (1.0 + pl.col("ordinal")))
    of_copies = direct.join(copies, left_on=KEY, right_on=["profile_id", "older"]).select(
        "profile_id", "use", memory_id="newer"
    )
    use = pl.concat([direct.select(*KEY, "use"), of_copies.select(*KEY, "use")]).group_by(KEY).agg(pl.col("use").sum())
    low = fold(memories["content"])
    by_words = low.str.contains(SAFETY) & ~low.str.ends_with("?")
    read = said.group_by(KEY).agg(pl.col("grave").max())
    marked = (
        memories.select(KEY, by_words=by_words)
        .join(read, on=KEY, how="left", maintain_order="left")
        .with_columns(grave=pl.coalesce(pl.col("grave") >= DAMAGING, "by_words"))
        .join(use, on=KEY, how="left", maintain_order="left")
    )
    return marked.select(
        *KEY,
        use=pl.col("use").fill_null(0.0),
        rank=pl.when(pl.col("use") >= ASKED_FOR)
        .then(Rank.ASKED.value)
        .when("grave")
        .then(Rank.GRAVE.value)
        .otherwise(Rank.REST.value),
    )


def _handed_on(ranks: pl.Series, pairs: pl.DataFrame, placed: pl.DataFrame) -> pl.Series:
    """Raise the rank of each newer memory to that of the older ones that it outdates or repeats.

    Pairs are taken from the oldest on, so that ranks reach the end of every chain in one pass.
    """
    raised = ranks.to_list()
    for older, newer in (
        _placed(pairs, placed).sort("older_position").select("older_position", "newer_position").iter_rows()
    ):
        raised[newer] = min(raised[newer], raised[older])
    return pl.Series(raised, dtype=ranks.dtype)


def _updates(memories: pl.DataFrame, edges: pl.DataFrame, fact_changes: Frame[FactChanges]) -> pl.DataFrame:
    """Return pairs whose newer memory updates the whole of the older one: profile_id, older, newer."""
    closed = memories.filter(pl.col("superseded_kind") == "update")
    pairs = pl.concat(
        [
            edges.filter(pl.col("edge_type") == "MAY_UPDATE").select("profile_id", older="target", newer="source"),
            _changed(fact_changes, "update"),
            closed.select("profile_id", older="memory_id", newer="superseded_by"),
        ]
    ).unique()
    whole = pairs.join(_in_part(fact_changes), on=["profile_id", "older", "newer"], how="anti")
    return _placed(whole, memories).select("profile_id", "older", "newer")


def _copies(memories: pl.DataFrame, edges: pl.DataFrame, fact_changes: Frame[FactChanges]) -> pl.DataFrame:
    """Return memories with the one among their copies that stands for all: profile_id, older, newer.

    It is the newest live one, but none that is far shorter than another: a note of several facts is no copy of a
    sentence that repeats one of them.
    """
    pairs = pl.concat(
        [
            edges.filter(pl.col("edge_type") == "MAY_REPEAT").select("profile_id", older="source", newer="target"),
            _changed(fact_changes, "duplicate"),
        ]
    ).unique()
    live = pl.col("lifecycle").is_in(LIVE)
    node = memories.select(*KEY, live=live, length=pl.col("content").str.len_chars()).with_row_index("position")
    ends = _ends(pairs, node)
    labels = components.components(len(node), ends["older_position"].to_numpy(), ends["newer_position"].to_numpy())
    grouped = node.with_columns(group=pl.Series(labels))
    longest = pl.col("length").filter("live").max().over("group")
    full = pl.col("live") & (pl.col("length") >= _FULL * longest)
    grouped = grouped.with_columns(kept=pl.col("memory_id").filter(full).last().over("group"))
    copies = grouped.filter(pl.col("kept") != pl.col("memory_id"))
    return copies.select("profile_id", older="memory_id", newer="kept")


def _series(memories: pl.DataFrame, edges: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of measurements in like words: profile_id, older, newer."""
    measured = said.group_by(KEY).agg(pl.col("measures").max()).filter(pl.col("measures") >= _MEASURED).select(KEY)
    alike = edges.filter(pl.col("edge_type") == "SIMILAR_TO").select("profile_id", older="source", newer="target")
    for end in ("older", "newer"):
        alike = alike.join(measured.rename({"memory_id": end}), on=["profile_id", end], how="semi")
    both_ways = pl.concat([alike, alike.select("profile_id", older="newer", newer="older")])
    return _placed(both_ways, memories).select("profile_id", "older", "newer")


def _in_part(fact_changes: Frame[FactChanges]) -> pl.DataFrame:
    """Return updates of one statement, of which the rest of the memory holds: profile_id, older, newer."""
    return _changed(fact_changes.filter(pl.col("statement").is_not_null()), "update")


def _doubts(fact_changes: Frame[FactChanges]) -> pl.DataFrame:
    """Return updates of whole memories that are too unsure for a link: profile_id, older, newer."""
    return _changed(fact_changes.filter(pl.col("statement").is_null()), "doubt")


def _changed(fact_changes: pl.DataFrame, relation: str) -> pl.DataFrame:
    of_relation = fact_changes.filter(pl.col("relation") == relation)
    return of_relation.select("profile_id", older="memory_id", newer="other_id")


def _placed(pairs: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """Add the positions of both ends; drop pairs whose newer memory does not come later, so that no cycle remains."""
    return _ends(pairs, placed).filter(pl.col("older_position") < pl.col("newer_position"))


def _ends(pairs: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """Add the positions of both ends; drop pairs with an end that has none."""
    for end in ("older", "newer"):
        at = placed.select("profile_id", pl.col("memory_id").alias(end), pl.col("position").alias(f"{end}_position"))
        pairs = pairs.join(at, on=["profile_id", end])
    return pairs
