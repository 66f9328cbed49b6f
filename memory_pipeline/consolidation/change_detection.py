"""Finds newer memories that update older ones, and memories that contradict or repeat each other.

Only memories of one profile are compared: each with older ones near to it or sharing words with it. Sure updates
are decided; everything else becomes links. Not here: which pairs are judged, and what is kept of it
(`judging`), how two texts are judged (`text.compare`), and what a plan makes of the result (`planning`).
"""

from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from memory_pipeline.consolidation import judging, languages, ownership, similarity, whereabouts
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.components import components
from memory_pipeline.consolidation.state import answers
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import INSTANT, LIVE, TABLES, Frame, Memories
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.speakers import by_assistant

POSSIBLE: Final = pl.Schema(
    {
        **dict.fromkeys(("profile_id", "memory_id", "other_id"), pl.String()),
        "likelihood": pl.Float64(),
        "decided": pl.Boolean(),
        "at": INSTANT,
        **dict.fromkeys(("older_text", "older_speaker"), pl.String()),
        "older_at": INSTANT,
        **dict.fromkeys(("newer_text", "newer_speaker"), pl.String()),
        "newer_at": INSTANT,
    }
)
"""Columns of the pairs that a language model may judge: see `Compared`."""
_WORD: Final = r"[\p{L}\p{N}]"
"""What a text must have to be compared."""
MOST_UPDATES: Final = 3
"""Maximum number of newer memories reported as outdating one memory: the most probable ones."""


class Compared(NamedTuple):
    """Facts that newer memories change, what was judged to find them, and how likely each memory is in such a pair.

    `possible` has the pairs that a language model, if one is asked, may judge, in any order: profile_id, memory_id (the
    older), other_id, likelihood (that they are related), decided (which is not asked about), at (the instant from which
    the newer holds), and text, speaker and at of each, as `older_` and `newer_`.
    """

    fact_changes: pl.DataFrame
    judgements: pl.DataFrame
    change_odds: pl.DataFrame
    pair_readings: pl.DataFrame
    possible: pl.DataFrame


def compare(
    memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    plan_id: str,
    kept: pl.DataFrame | None = None,
    recorded: pl.DataFrame | None = None,
    sentences: pl.DataFrame | None = None,
) -> Compared:
    """Find memories that a newer one updates, contradicts or repeats.

    Live originals and compressions of people's statements are compared, in languages with full rules, that have begun
    to hold by `as_of`. The older one is the one valid earlier (valid_from, else created_at, then seq). An update is
    decided if the judge is sure of it and names what changed, and if the two have different instants; everything else
    becomes links, and updates too unsure for a link are reported as doubts. Of `vectors` those of the policy's embedder
    and of the reader are read; `kept` is table `judgements` as any earlier run left it, `recorded` is `pair_readings`,
    `sentences` is `core_sentences`.

    Returns rows of `fact_changes`, of which at most one update of a memory is decided: the earliest; of `judgements`;
    under a token budget, of `change_odds`; the rows to add to `pair_readings`; and, if a language model is asked, the
    pairs that it may judge. A memory closed by an update is not compared with anything newer than its successor. Cost:
    see `judging.judge`.
    """
    points = _points(memories, enrichment, policy, as_of)
    if not judging.compares(policy) or points.is_empty():
        nothing = [*(TABLES[name].empty() for name in Compared._fields[:-1]), POSSIBLE.to_frame()]
        return Compared(*nothing)
    judgements, readings = judging.judge(
        points, policy, vectors=vectors, kept=kept, recorded=recorded, sentences=sentences
    )
    pairs = judging.pairs(judgements, points)
    open_pairs = _unsettled(pairs, points, policy)
    unsettled = open_pairs.filter(judging.likely(policy)).with_columns(relation=judging.reported_as(policy))
    found = _described(unsettled, points, vectors, policy)
    known = readings if recorded is None else pl.concat([recorded, readings])
    repeats = judging.first_repeats(unsettled, points, known, sentences)
    odds = pairs.clear() if policy.token_budget is None else pairs
    return Compared(
        TABLES["fact_changes"].conform(found.with_columns(plan_id=pl.lit(plan_id))),
        TABLES["judgements"].conform(judgements),
        TABLES["change_odds"].conform(_odds(odds, points).with_columns(plan_id=pl.lit(plan_id))),
        pl.concat([readings, repeats]),
        _possible(open_pairs, points) if judging.asks(policy) else POSSIBLE.to_frame(),
    )


def unanswered(pairs: pl.DataFrame, answered: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of memories without those that somebody has answered, as `answers.standing` tells."""
    low, high = pl.min_horizontal("memory_id", "other_id"), pl.max_horizontal("memory_id", "other_id")
    numbered = pairs.with_columns(low=low, high=high)
    left = numbered.join(answered, on=["profile_id", *answers.PAIR], how="anti", maintain_order="left")
    return left.select(pairs.columns)


def with_answers(
    changes: pl.DataFrame, answered: pl.DataFrame, memories: Frame[Memories], *, same: pl.DataFrame, plan_id: str
) -> pl.DataFrame:
    """Put answers about pairs of memories (`answers.standing`) in the place of what was judged in `fact_changes`.

    An answered update closes by itself (`answers.closings`); its row serves to order the values of a chain, and links
    where another has closed the older memory. A repeat, a conflict and a pair that is neither become links. Copies of
    what is closed are closed too, and so are those that repeat it by an answer or by a model's sure verdict (`same`).
    """
    stating = answered.filter(pl.col("relation").is_in(["update", *answers.LINKING]))
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*KEY, holds=_since())
    rows = stating.join(live, on=KEY).join(
        live.rename({"memory_id": "other_id"}), on=["profile_id", "other_id"], suffix="_other"
    )
    said = {
        "update": "that the newer replaces the older",
        "repeat": "that both say the same",
        "conflict": "that they cannot both be true",
        "none": "that neither replaces nor repeats the other",
    }
    stated = rows.select(
        *("profile_id", "memory_id", "other_id"),
        relation=pl.col("relation").replace(answers.LINKING),
        decided=pl.lit(value=False),
        confidence=pl.lit(1.0),
        at="holds_other",
        rule=pl.lit(answers.RULE),
        reason=pl.format(
            "The {} says {}.",
            pl.col("answered_by").replace("model", "language model"),
            pl.col("relation").replace_strict(said, return_dtype=pl.String),
        ),
        plan_id=pl.lit(plan_id),
    )
    table = TABLES["fact_changes"]
    pairs = answered.filter(pl.col("relation") == "repeat").select("profile_id", "memory_id", "other_id")
    repeats = pl.concat([pairs, unanswered(same, answered).select(pairs.columns)])
    copies = unanswered(copies_of_closed(memories, repeats, plan_id=plan_id), answered)
    kept = unanswered(changes, answered).join(copies, on=[*KEY, "other_id"], how="anti", maintain_order="left")
    return table.conform(pl.concat([kept, copies, stated], how="diagonal_relaxed").select(changes.columns))


def copies_of_closed(memories: Frame[Memories], repeats: pl.DataFrame, *, plan_id: str) -> pl.DataFrame:
    """Return closings, as `fact_changes`, of memories that repeat, no later than it ended, what a newer one closed.

    Word for word, or as somebody said of pairs (profile_id, memory_id, other_id); a single statement ends in the same
    words alone. So a transcript that is imported again brings nothing back, and no other wording of what has ended
    stays. What is said again after the end counts anew. Cost: a join on the hashes of texts.
    """
    table, text = TABLES["fact_changes"], ["profile_id", "content_hash"]
    whole = memories.filter(pl.col("closed_by").is_not_null()).select(
        *text, other_id="closed_by", at="closed_until", statement=pl.lit(None, pl.String)
    )
    if not (whole.is_empty() or repeats.is_empty()):
        facts = _facts(memories, repeats)
        copied = whole.join(facts, on=text).join(facts.rename({"content_hash": "copy"}), on=["profile_id", "fact"])
        whole = copied.select("profile_id", "other_id", "at", "statement", content_hash="copy").unique()
    ended = memories.select(*text, "closed_statements").explode("closed_statements").drop_nulls("closed_statements")
    parts = ended.unnest("closed_statements").select(
        *text, other_id="closed_by", at="valid_until", statement="sentence"
    )
    if (closed := pl.concat([whole, parts], how="diagonal")).is_empty():
        return table.empty()
    sentences = pl.col("closed_statements").list.eval(pl.element().struct.field("sentence"))
    live = pl.col("lifecycle").is_in(LIVE) & (pl.col("kind") == ORIGINAL) & pl.col("closed_by").is_null()
    copies = memories.filter(live).select(*KEY, "content_hash", since=_since(), ended=sentences.fill_null([]))
    rows = (
        copies.join(closed, on=text)
        .filter(
            pl.col("since") <= pl.col("at"),
            pl.col("memory_id") != pl.col("other_id"),
            ~pl.col("ended").list.contains(pl.col("statement")).fill_null(value=False),
        )
        .sort(*KEY, "at", "other_id")
        .unique([*KEY, "other_id"], keep="first", maintain_order=True)
    )
    return table.conform(
        rows.with_columns(
            relation=pl.lit("update"),
            decided=pl.lit(value=True),
            confidence=pl.lit(1.0),
            rule=pl.lit("copy_of_closed"),
            reason=pl.lit("It repeats what was closed, and was not said later."),
            plan_id=pl.lit(plan_id),
            **{name: pl.lit(None, pl.String) for name in ("subject", "attribute", "value", "other_value")},
            similarity=pl.lit(None, pl.Float32),
        )
    )


def _facts(memories: Frame[Memories], repeats: pl.DataFrame) -> pl.DataFrame:
    """Return the fact that each text states: profile_id, content_hash and its number; texts that repeat share one."""
    text = ["profile_id", "content_hash"]
    texts = memories.select(text).unique().sort(text).with_row_index("row")
    rows = memories.select(*KEY, "content_hash").join(texts, on=text).select(*KEY, "row")
    ends = repeats.join(rows, on=KEY).join(
        rows.rename({"memory_id": "other_id"}), on=["profile_id", "other_id"], suffix="_other"
    )
    labels = components(len(texts), ends["row"].to_numpy(), ends["row_other"].to_numpy())
    return texts.select(*text, fact=pl.Series(labels))


def _since() -> pl.Expr:
    """Return the instant from which a memory holds."""
    return pl.coalesce("valid_from", "said_at", "created_at")


def _odds(pairs: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Return the memories of pairs with the highest confidence of each kind: see table `change_odds`."""

    def highest(row: str, relation: str, name: str) -> pl.DataFrame:
        return pairs.filter(pl.col("relation") == relation).select(
            pl.col(row).alias("row"), confidence="confidence", name=pl.lit(name)
        )

    kinds = ["updates", "outdated", "repeats"]
    ends = [("newer", "update", "updates"), ("older", "update", "outdated")]
    ends += [(row, "duplicate", "repeats") for row in ("older", "newer")]
    listed = pl.concat([highest(*end) for end in ends])
    shares = [pl.col("confidence").filter(pl.col("name") == name).max().fill_null(0.0).alias(name) for name in kinds]
    found = listed.group_by("row").agg(shares)
    return points.select("profile_id", "memory_id", "row").join(found, on="row", maintain_order="left").drop("row")


def _points(memories: pl.DataFrame, enrichment: pl.DataFrame, policy: Policy, as_of: datetime) -> pl.DataFrame:
    """Return comparable memories by profile and start of validity (`since`).

    `row` numbers them, `place` those of each profile.
    """
    spoken = pl.col("kind").is_in(["original", "compression"])
    return (
        memories.with_columns(
            voice=ownership.voices(memories, policy),
            user_id=ownership.user(),
            file=whereabouts.file(),
            heading=whereabouts.heading(),
            project=whereabouts.project(),
            undated=whereabouts.undated().fill_null(value=False),
        )
        .filter(
            pl.col("lifecycle").is_in(LIVE)
            & spoken
            & pl.col("content").str.contains(_WORD)
            & ~by_assistant(pl.col("speaker"))
            & languages.judged(memories, enrichment)
        )
        .with_columns(created_at=pl.coalesce("said_at", "created_at"))
        .with_columns(since=pl.coalesce("valid_from", "created_at"))
        .filter(pl.col("since") <= pl.lit(as_of, dtype=INSTANT))
        .sort("profile_id", "since", "seq", "memory_id")
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64), place=pl.int_range(pl.len(), dtype=pl.Int64).over("profile_id"))
    )


def _possible(pairs: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Return pairs with what a language model reads of them: see `Compared`."""
    sides = []
    for side in ("older", "newer"):
        of_side = points.select("content", "speaker", "since")[pairs[side]]
        sides.append(of_side.rename({"content": f"{side}_text", "speaker": f"{side}_speaker", "since": f"{side}_at"}))
    rows = pairs.with_columns(likelihood=judging.likelihood()).hstack(pl.concat(sides, how="horizontal"))
    return rows.select(POSSIBLE.names()).cast(POSSIBLE)


def _unsettled(judged: pl.DataFrame, points: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Drop pairs that are settled: newer than the older memory's successor, or begun after the older one ended.

    A successor of this run counts as one of any earlier run. Adds `decided`, true for the earliest of the sure updates
    of a memory that its own speaker states.
    """
    ends = points.select(
        *("row", "profile_id", "memory_id", "since", "valid_until", "superseded_by", "superseded_kind", "voice")
    )
    successors = ends.select("profile_id", superseded_by="memory_id", successor="row")
    ends = ends.join(successors, on=["profile_id", "superseded_by"], how="left", maintain_order="left")
    closed = pl.col("superseded_kind").eq_missing("update")
    passed = closed & (pl.col("newer") > pl.col("successor"))
    over = ~closed & (pl.col("valid_until") <= pl.col("at"))
    update = pl.col("relation") == "update"
    sure = judging.sure(policy) & (pl.col("since") < pl.col("at")) & (pl.col("voice") == pl.col("newer_voice"))
    rank = pl.when(update).then(-pl.col("confidence")).rank("ordinal").over("older")
    return (
        judged.join(ends.rename({"row": "older"}), on="older", how="left", maintain_order="left")
        .join(
            ends.select(newer="row", at="since", other_id="memory_id", newer_voice="voice"),
            on="newer",
            how="left",
            maintain_order="left",
        )
        .filter(~(passed | over).fill_null(value=False))
        .sort("older", "newer")
        .with_columns(sure=sure, rank=rank)
        .filter(~update | pl.col("sure") | (pl.col("rank") <= MOST_UPDATES))
        .with_columns(successor=pl.col("newer").filter("sure").min().over("older"))
        .with_columns(decided=pl.col("sure") & (pl.col("newer") == pl.col("successor")))
        .filter(pl.col("successor").is_null() | (pl.col("newer") <= pl.col("successor")))
    )


def _described(pairs: pl.DataFrame, points: pl.DataFrame, vectors: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Add the exact cosine, null where unknown."""
    members = np.unique(pairs.select("older", "newer").to_numpy())
    embedded = vectors.filter(pl.col("model") == policy.embedder).select("profile_id", "content_hash", "vector")
    ends = points[members].join(embedded, on=["profile_id", "content_hash"], how="left", maintain_order="left")
    left, right = (np.searchsorted(members, pairs[name].to_numpy()) for name in ("older", "newer"))
    cosine = similarity.pair_similarity(similarity.matrix(ends["vector"]), left, right)
    return pairs.with_columns(similarity=pl.Series(cosine).fill_nan(None), subject=pl.lit(None, pl.String))
