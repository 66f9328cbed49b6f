"""Judges the pairs of memories worth comparing, and reuses the judgements while their inputs are unchanged.

A judgement depends on all memories of a profile that are compared: by how rare a word is in it, by the statements
around one in its session, and by the rank of a pair among others. It does not depend on the clock. So the pairs found
are kept with a digest of all that the judge read, and a profile in which it would read the same is not judged again.
In another the trees are asked only about pairs in which they would read something else (`tree_answers`).
What the reader finds in two texts depends on these alone: it is recorded once (`pair_readings`).
Not here: which memories are compared and what follows (`change_detection`), and the judges (`text.compare`).
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from memory_pipeline.consolidation import carried_updates, core_sentences, relation_guards, reuse
from memory_pipeline.consolidation.tree_answers import TreeAnswers
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.arrays import Floats, Matrix, Rows
from memory_pipeline.text.compare import (
    alignment,
    closeness,
    relation_reading,
    relation_trees,
)
from memory_pipeline.text.compare.closeness import Closeness
from memory_pipeline.text.compare.judge import ASIDE, JUDGEMENT_COLUMNS, WHOLE
from memory_pipeline.text.compare.judges import JUDGES
from memory_pipeline.text.embed import encoder
from memory_pipeline.text.embed.embedding import attributed

REPEATS: Final = "repeats 1"
"""Model of the rows of `pair_readings` that hold how surely two texts are one fact (`first_repeats`)."""
ANSWERED_REPEATS: Final = "repeats answered 1"
"""The same by the verdict of a language model (`answered_repeats`)."""

UNSAID: Final = 0.25
"""Greatest share of a text's words, by their weight, that another text says not even nearly, if it may stand for it.

Two of which neither may stand for the other are less sure to be one fact, by half of that share.
"""

LEAST_ODDS: Final = 0.15
"""Minimum confidence of an update or repetition that counts for what a token budget keeps first."""

_SPARE: Final = 4
"""Pairs of a memory that are kept for a language model beside those that each is asked about on average: what is most
worth an answer is unevenly spread."""

MOST_LINKED: Final = 4
"""Maximum number of other memories that a memory is related to in one way: those of the highest confidence."""

_SEEN: Final = list(relation_reading.MEMORY_COLUMNS)
_GUARDED: Final = [*_SEEN, "user_id", "file", "heading", "project", "undated"]
_JUDGED: Final = ("older", "newer", *JUDGEMENT_COLUMNS)
_TEXTS: Final = ["profile_id", "older_hash", "newer_hash"]
_LEFT: Final = ("left_share_old", "left_share_new")
"""What is left of each of two texts that are aligned."""


class Judged(NamedTuple):
    """What the judge found, and what the reader read for it that was not recorded yet."""

    judgements: pl.DataFrame
    pair_readings: pl.DataFrame


def compares(policy: Policy) -> bool:
    """Return whether facts are compared under a policy: not where the weights of the reader are not installed."""
    return policy.fact_changes and not encoder.missing()


def judge(
    points: pl.DataFrame,
    policy: Policy,
    *,
    vectors: pl.DataFrame,
    kept: pl.DataFrame | None = None,
    recorded: pl.DataFrame | None = None,
    sentences: pl.DataFrame | None = None,
) -> Judged:
    """Return table `judgements`: the pairs likely enough for a link or a doubt or, under a token budget, to count.

    The points are `relation_reading.MEMORY_COLUMNS`, user_id, file, heading, project and undated of the memories, by
    profile and start of validity; `row` numbers them from 0, `place` those of each profile. `kept` is the table as any
    earlier run left it, `recorded` is `pair_readings`, `sentences` is `core_sentences`; by default none. Cost: about
    .8 ms per short memory of a profile that is judged, half of that where one memory is new, and 10 ms for each text
    whose pairs are not recorded yet; a hundredth of a millisecond for other profiles.
    """
    judged = reuse.reused("judgements", kept, _read(points, policy))
    recorded = TABLES["pair_readings"].empty() if recorded is None else recorded
    missing, made_by = judged.missing(points), reuse.digest((policy.judge,))
    before = TABLES["judgements"].empty() if kept is None else kept
    known = before.filter(pl.col("made_by") == made_by).join(missing, on="profile_id", how="semi")
    found, added = _judged(missing, policy, vectors, recorded, sentences, known)
    return Judged(judged.completed(found.with_columns(made_by=pl.lit(made_by))), TABLES["pair_readings"].conform(added))


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
    """Return whether a relation is likely enough for a link, or an update for a doubt, or the newer memory an aside."""
    least = pl.col("relation").replace_strict(_reported(policy), default=2.0, return_dtype=pl.Float64)
    return (pl.col("confidence") >= least) | sure(policy) | (pl.col("rule") == ASIDE)


def asks(policy: Policy) -> bool:
    """Return whether a language model is asked about pairs."""
    return policy.llm_model is not None and policy.llm_pairs > 0 and policy.fact_changes


def likelihood() -> pl.Expr:
    """Return how likely it is that two memories are related at all."""
    return pl.when(pl.col("relation") == "unrelated").then(1.0 - pl.col("confidence")).otherwise("confidence")


def sure(policy: Policy) -> pl.Expr:
    """Return whether an update is sure enough to close what it outdates.

    What only the reader finds ends a memory of one statement: of several it might end the wrong one.
    """
    read = (pl.col("rule") == WHOLE) & pl.col("statement").is_null()
    update = (pl.col("relation") == "update") & (pl.col("rule").is_in(relation_guards.STATED) | read)
    return update & (pl.col("confidence") >= policy.close_confidence)


def first_repeats(
    found: pl.DataFrame, points: pl.DataFrame, recorded: pl.DataFrame, sentences: pl.DataFrame | None
) -> pl.DataFrame:
    """Return rows of `pair_readings`: how surely two texts are one fact, as judged when first found to repeat.

    That is recorded because a merged memory is not judged again, and what was merged must stay so. Later judgements do
    not count: what a merge leaves beside two others makes them no surer, so a night without news merges nothing. Where
    each says something that the other does not even nearly say (`UNSAID`), a merge would lose it: they are less sure. 0
    for two that a guard keeps apart. What was found of pairs has older and newer (rows of `points`), relation and
    confidence; what is recorded has what was read of them.
    """
    rows = found.filter(pl.col("relation") == "duplicate")
    ends = _with_texts(rows.select("older", "newer", "confidence"), points)
    named = ends.unique(_TEXTS, keep="first", maintain_order=True)
    known = recorded.filter(pl.col("model") == REPEATS)
    new = named.join(known, on=_TEXTS, how="anti", maintain_order="left")
    aligned = recorded.filter(pl.col("model") == alignment.MODEL).select(*_TEXTS, read="numbers")
    left = pl.min_horizontal(pl.col("read").list.get(alignment.NAMES.index(name)) for name in _LEFT)
    less = pl.when(left <= UNSAID).then(0.0).otherwise(left.fill_null(1.0) / 2)
    may = relation_guards.one_fact(new, points, sentences).join(aligned, on=_TEXTS, how="left", maintain_order="left")
    one = may.select(*_TEXTS, sure=pl.max_horizontal(0.0, pl.col("confidence") - less))
    read = new.join(one, on=_TEXTS, how="left", maintain_order="left")
    return TABLES["pair_readings"].conform(
        read.select(*_TEXTS, model=pl.lit(REPEATS), numbers=pl.concat_list(pl.col("sure").fill_null(0.0)))
    )


def answered_repeats(
    pairs: pl.DataFrame, memories: pl.DataFrame, recorded: pl.DataFrame, sentences: pl.DataFrame | None, sure: float
) -> pl.DataFrame:
    """Return rows of `pair_readings`: texts that a language model calls the same, where no guard keeps them apart.

    They are recorded for the reason for which first judgements are (`first_repeats`). The pairs are those of
    `model_judge.same`, of memories in `memories`; `sure` is the share of such verdicts that are right.
    """
    if pairs.is_empty():
        return TABLES["pair_readings"].empty()
    key = ["profile_id", "memory_id"]
    ends = pl.concat([pairs.select(key), pairs.select("profile_id", memory_id="other_id")]).unique()
    points = memories.join(ends, on=key, how="semi", maintain_order="left").with_row_index("row")
    row = points.select(*key, "row")
    placed = pairs.join(row.rename({"row": "older"}), on=key, maintain_order="left").join(
        row.rename({"memory_id": "other_id", "row": "newer"}), on=["profile_id", "other_id"], maintain_order="left"
    )
    one = relation_guards.one_fact(placed.select(pl.col("older", "newer").cast(pl.Int64)), points, sentences)
    named = _with_texts(one, points).with_columns(model=pl.lit(ANSWERED_REPEATS), numbers=pl.concat_list(pl.lit(sure)))
    named = named.unique(_TEXTS, keep="first", maintain_order=True)
    known = recorded.filter(pl.col("model") == ANSWERED_REPEATS)
    return TABLES["pair_readings"].conform(named.join(known, on=_TEXTS, how="anti", maintain_order="left"))


def _with_texts(pairs: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Add the profile and the hashes of the texts of pairs of rows of `points`: `_TEXTS`."""
    hashes = (points["content_hash"].gather(pairs[side]).alias(f"{side}_hash") for side in ("older", "newer"))
    return pairs.with_columns(points["profile_id"].gather(pairs["older"]), *hashes)


def _read(points: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return for each profile the digest of all that the judge reads of it: profile_id, read."""
    asked = policy.llm_pairs if asks(policy) else 0
    settings = (policy.judge, sorted(_least(policy).items()), policy.fact_confidence, policy.close_confidence, asked)
    return reuse.digests(settings, points.select(_GUARDED))


def _judged(
    points: pl.DataFrame,
    policy: Policy,
    vectors: pl.DataFrame,
    recorded: pl.DataFrame,
    sentences: pl.DataFrame | None,
    known: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judge the pairs of some profiles: rows of table `judgements` without digests, and rows of `pair_readings`.

    What trees answered about these profiles is in `known`, rows of that table of the same judge and program.
    """
    if points.is_empty():
        return TABLES["judgements"].empty().drop("read", "made_by"), recorded.clear()
    reading = relation_reading.read(points.select(_SEEN))
    readings = _Readings(points, recorded)
    read_vectors, profile = _vectors(points, vectors), points["profile_id"].rle_id().to_numpy().astype(np.int64)
    older, newer = closeness.candidates(reading, read_vectors, profile)
    answers = TreeAnswers(profile[older], known)
    near = _closeness(points, read_vectors, profile, (older, newer), readings, sentences)._replace(answers=answers.of)
    judged = JUDGES[policy.judge].judge(reading, older, newer, closeness=near, least=_least(policy))
    placed = judged.with_columns(older=older, newer=newer)
    useful = placed.filter(likely(policy) | _counts(policy) | _may_be_asked(policy))
    kept = relation_guards.permitted(useful, points, sentences)
    whole = carried_updates.carried(kept, points["content"], least=policy.repeat_confidence, decides=sure(policy))
    is_carried = pl.col("rule") == carried_updates.RULE
    guarded = relation_guards.permitted(whole.filter(is_carried), points, sentences)
    whole = pl.concat([whole.filter(~is_carried), guarded]).sort("older", "newer")
    found = whole.filter(likely(policy) | _counts(policy) | _may_be_asked(policy))
    placed = found.with_columns(
        points["profile_id"].gather(found["older"]),
        older=points["place"].gather(found["older"]),
        newer=points["place"].gather(found["newer"]),
    )
    found = _best(placed, policy).group_by("profile_id", maintain_order=True).agg(pairs=pl.struct(_JUDGED))
    profiles = points.select("profile_id").unique(maintain_order=True)
    made = (
        profiles.with_columns(owner=pl.int_range(pl.len(), dtype=pl.Int64))
        .join(found, on="profile_id", how="left", maintain_order="left")
        .join(answers.table(), on="owner", how="left", maintain_order="left")
        .select("profile_id", pl.col("pairs", "asked", "answered").fill_null([]))
    )
    return made, pl.concat(readings.added)


def _vectors(points: pl.DataFrame, vectors: pl.DataFrame) -> Matrix:
    """Return the reader's vector of each memory; a text whose vector is not recorded is encoded."""
    of_reader = vectors.filter(pl.col("model") == encoder.NAME).select("profile_id", "content_hash", "vector")
    joined = points.join(of_reader, on=["profile_id", "content_hash"], how="left", maintain_order="left")["vector"]
    result = np.zeros((len(points), encoder.DIMENSION), dtype=np.float32)
    known = joined.is_not_null().to_numpy()
    if known.any():
        result[known] = joined.drop_nulls().explode().to_numpy().reshape(-1, encoder.DIMENSION)
    if not known.all():
        result[~known] = encoder.ReaderEmbedder().embed(attributed(points.filter(~known)).to_list())
    return result


class _Readings:
    """What the reader finds in pairs of texts: as recorded, else read now and noted."""

    def __init__(self, points: pl.DataFrame, recorded: pl.DataFrame) -> None:
        """Take the memories, and table `pair_readings` so far."""
        self._points = points
        self._recorded = recorded
        self.added = [TABLES["pair_readings"].empty()]

    def of(self, model: str, older: Rows, newer: Rows, read: Callable[[Rows, Rows], Floats], width: int) -> Floats:
        """Return the numbers of each pair, [pairs, width]: those recorded of a model, else those that `read` reads."""
        pairs = _with_texts(pl.DataFrame({"older": older, "newer": newer}), self._points)
        known = self._recorded.filter(pl.col("model") == model).select(*_TEXTS, "numbers")
        found = pairs.join(known, on=_TEXTS, how="left", maintain_order="left")
        unread = pairs.filter(found["numbers"].is_null()).unique(_TEXTS, keep="first", maintain_order=True)
        numbers = read(unread["older"].to_numpy(), unread["newer"].to_numpy())
        new = TABLES["pair_readings"].conform(
            unread.select(*_TEXTS, model=pl.lit(model), numbers=pl.Series(numbers, dtype=pl.List(pl.Float64)))
        )
        self.added.append(new)
        whole = pairs.join(pl.concat([known, new.select(known.columns)]), on=_TEXTS, how="left", maintain_order="left")
        return whole["numbers"].explode().to_numpy().astype(np.float64).reshape(-1, width)


def _closeness(
    points: pl.DataFrame,
    vectors: Matrix,
    profile: Rows,
    pairs: tuple[Rows, Rows],
    readings: _Readings,
    sentences: pl.DataFrame | None,
) -> Closeness:
    """Return what the reader says of pairs of memories."""
    older, newer = pairs
    texts = attributed(points)

    def align(left: Rows, right: Rows) -> Floats:
        rows = np.unique(np.concatenate([left, right]))
        read = encoder.encoder().read(texts.gather(rows).to_list()) if len(rows) else ()
        tokens = [one.tokens for one in read]
        return alignment.aligned(tokens, np.searchsorted(rows, left), np.searchsorted(rows, right))

    def score(places: Rows) -> Floats:
        chosen = older[places], newer[places]
        return readings.of(encoder.PAIRS, *chosen, partial(closeness.scores, texts), len(relation_trees.SCORES))

    aligned = readings.of(alignment.MODEL, older, newer, align, len(alignment.NAMES))
    kinds = closeness.kinds(core_sentences.numbers(points, sentences))
    return Closeness(closeness.table(vectors, profile, older, newer, aligned), score, kinds)


def _best(pairs: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the pairs that are among the `MOST_LINKED` best of their kind of both memories, and all sure updates.

    The best are the likeliest; of equally likely ones those nearest in time, then the earlier. So 10,000 notes of one
    wording make a number of links that is linear in them.
    """
    distance = pl.col("newer") - pl.col("older")
    ordered = pairs.with_row_index("at").sort(
        likelihood(), distance, "older", "newer", descending=[True, False, False, False], maintain_order=True
    )
    rank = pl.int_range(pl.len())
    within = [rank.over("profile_id", "relation", side) < MOST_LINKED for side in ("older", "newer")]
    return ordered.filter((within[0] & within[1]) | sure(policy)).sort("at").drop("at")


def _counts(policy: Policy) -> pl.Expr:
    """Return whether a relation counts for what a token budget keeps first, though it may be too unsure for a link."""
    counts = pl.col("relation").is_in(["update", "duplicate"]) & (pl.col("confidence") >= LEAST_ODDS)
    return counts & (policy.token_budget is not None)


def reported_as(policy: Policy) -> pl.Expr:
    """Return the relation of a pair in table `fact_changes`."""
    aside = pl.when(pl.col("rule") == ASIDE).then(pl.lit(ASIDE)).otherwise("relation")
    return pl.when(doubtful(policy)).then(pl.lit("doubt")).otherwise(aside)


def _may_be_asked(policy: Policy) -> pl.Expr:
    """Return whether a pair is among the likeliest of its newer memory, so that a language model may be asked."""
    rank = likelihood().rank("ordinal", descending=True).over("newer")
    return pl.lit(asks(policy)) & (likelihood() > 0) & (rank <= policy.llm_pairs + _SPARE)


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
        "update": min(policy.fact_confidence, policy.close_confidence, relation_guards.DOUBT),
        "duplicate": policy.repeat_confidence,
        "conflict": policy.conflict_confidence,
    }
