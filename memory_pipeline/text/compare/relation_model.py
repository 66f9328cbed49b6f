"""The judge by boosted trees that read words, vectors and sentences.

Not here: the trees (`relation_trees`). Nothing depends on particular texts. The rule of an update is `changed_value` or
`ended` where the newer memory states the change outright (`stated_changes`), `whole` where the reader finds that it
outdates all of the older one, else `likely`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Floats, Integers, Marks, Rows, text_fingerprints
from memory_pipeline.text.compare import relation_trees, set_members, stated_changes
from memory_pipeline.text.compare.closeness import Closeness
from memory_pipeline.text.compare.judge import ASIDE, JUDGEMENT_COLUMNS, LIKELY, NO_LEAST, RELATIONS, WHOLE
from memory_pipeline.text.compare.nearest_sentences import nearest_sentences
from memory_pipeline.text.compare.relation_features import features, nearest_statements
from memory_pipeline.text.compare.relation_reading import Reading
from memory_pipeline.text.compare.relation_trees import OF_PAIRS, PARTIAL
from memory_pipeline.text.parse.tokens import fold, occurrences
from memory_pipeline.text.score import sentence_kinds
from memory_pipeline.text.score.sentence_kinds import likely

LEAST_CONFIDENCE: Final = 0.15
"""Probability below which a pair counts as unrelated."""
_NOTHING: Final = np.eye(len(OF_PAIRS))[OF_PAIRS.index("unrelated")]
_EXCERPT: Final = 120
"""Maximum number of characters quoted of a statement."""
_DESCRIBED: Final = dict.fromkeys(("relation", "statement", "attribute", "value", "other_value", "reason"), pl.String())
_UPDATE: Final = RELATIONS.index("update")
_CONFLICT: Final = RELATIONS.index("conflict")
_UPDATES: Final = np.isin(OF_PAIRS, ("update", PARTIAL))
_DENIALS: Final = np.isin(OF_PAIRS, ("conflict",))
_UNRELATED: Final = RELATIONS.index("unrelated")
_REASONS: Final = {
    "update": "A newer memory says '{}' where this one says '{}'.",
    "conflict": "'{}' and '{}' may contradict each other.",
    "duplicate": "'{}' and '{}' may say the same.",
}
_NEITHER: Final = "Neither changes, contradicts or repeats the other."
_BESIDE: Final = "The newer memory only plans, supposes, reports or asks what the older one states."
_WHOLE: Final = 0.97
"""Minimum share of an update's probability, by the reader, that it outdates all of the older memory, for `WHOLE`."""
_SETS: Final = ("health", "possession", "skill")
_RATHER: Final = 0.5
"""Minimum probability from which a sentence counts as one of health."""
_MEMBER: Final = 0.4
"""The same, as a member of a set: what somebody speaks or plays is half who they are."""
"""Kinds of facts of which each may hold beside others of its kind."""
_UNSETTLED: Final = ("planned", "possible", "reported", "asked")
"""Stances of a sentence that does not say that anything is so."""
_STATED: Final = 0.95
"""Confidence of a change that the newer memory states outright."""
_OTHER_NAME: Final = 0.85
"""Confidence of a change where the newer memory gives another name for something that the subject has only one of."""


class ReaderModel:
    """The judge `reader`, by trees over words, vectors and aligned tokens. Deterministic, offline; judges English."""

    def judge(
        self,
        reading: Reading,
        older: Rows,
        newer: Rows,
        *,
        closeness: Closeness,
        least: Mapping[str, float] = NO_LEAST,
    ) -> pl.DataFrame:
        """Judge pairs of memories: see `RelationJudge.judge`.

        Cost: about 0.2 ms per pair of short memories, and what it costs to read two pairs of each newer memory.
        """
        statements = nearest_statements(reading, older, newer)
        words = features(reading, statements, (older, newer))
        known = relation_trees.features(reading, (older, newer), words, closeness.table, closeness.kinds)
        of_pairs = relation_trees.first_probabilities(known, closeness.answers)
        read = relation_trees.worth_reading(of_pairs, newer)
        probability = relation_trees.merged(of_pairs)
        whole, aside = np.zeros(len(older)), np.zeros(len(older), dtype=np.bool_)
        if len(read):
            ends, parts = (older[read], newer[read]), (statements[0][read], statements[1][read])
            scores = closeness.scores(read)
            table = relation_trees.second_features(known[read], probability[read], scores, ends)
            asked = relation_trees.asked(
                table, relation_trees.trees(relation_trees.SECOND), *_named(reading, ends, parts)
            )
            sides = closeness.kinds[ends[0]], closeness.kinds[ends[1]]
            answers = closeness.answers(read, asked, lambda some: _second(reading, table, parts, sides, some))
            probability[read], whole[read] = relation_trees.merged(answers), relation_trees.whole(scores)
            unsettled = [likely(side, "stance", *_UNSETTLED) for side in sides]
            aside[read] = ~unsettled[0] & unsettled[1]
        _bar_of_copies(probability, reading.statements["low"], *statements)
        return _judged(
            reading,
            (older, newer),
            statements,
            probability,
            _needed(least),
            stated_changes.find(reading.memories, older, newer),
            whole=whole,
            aside=aside,
        )


def _named(reading: Reading, memories: tuple[Rows, Rows], statements: tuple[Rows, Rows]) -> list[Integers]:
    """Return numbers of each pair that stand for the texts and speakers of its memories and for its statements."""
    hashes = reading.memories["content_hash"]
    rows, place = np.unique(np.concatenate(memories), return_inverse=True)
    numbers = text_fingerprints(hashes.gather(rows))[place]
    within = [side - reading.start[of] for side, of in zip(statements, memories, strict=True)]
    return [*np.split(numbers, 2), *within]


def _second(
    reading: Reading, table: Floats, statements: tuple[Rows, Rows], sides: tuple[Floats, Floats], some: Rows
) -> Floats:
    """Return the probability of each of `OF_PAIRS` of some of the pairs that are read, [some, relations].

    Takes the features of the second trees, the older and newer statement, and what the reader says of the sentences of
    either side, each of all pairs that are read.
    """
    sides = sides[0][some], sides[1][some]
    older, newer = (side[some] for side in statements)
    found = relation_trees.probabilities(table[some], relation_trees.trees(relation_trees.SECOND))
    speakers = reading.statements["speaker"].to_numpy()
    others = (speakers[older] != speakers[newer]) & (speakers[older] >= 0) & (speakers[newer] >= 0)
    of_owners = likely(sides[0], "whom", "owner") & likely(sides[1], "whom", "owner")
    found[others & of_owners] = _NOTHING
    found[np.ix_(_keeps_condition(*sides), _UPDATES)] = 0.0
    texts = [reading.statements["text"].gather(side) for side in (older, newer)]
    return _without_members(found, texts, sides)


def _needed(least: Mapping[str, float]) -> Floats:
    """Return the minimum confidence of each relation except `unrelated`."""
    return np.array([max(least.get(name, 0.0), LEAST_CONFIDENCE) for name in RELATIONS[:_UNRELATED]])


def _judged(
    reading: Reading,
    memories: tuple[Rows, Rows],
    statements: tuple[Rows, Rows],
    probability: Floats,
    needed: Floats,
    stated: pl.DataFrame,
    *,
    whole: Floats,
    aside: Marks,
) -> pl.DataFrame:
    """Return the judgement of each pair of memories, from the probability of each relation, [pairs, relations].

    Takes the older and newer memory of each pair, its statements (see `nearest_statements`), the minimum confidence of
    each relation, what `stated_changes` finds, the share of the probability of an update that it outdates all of the
    older memory (`whole`), and whether the newer one only plans, supposes, reports or asks (`aside`).
    """
    (older, _), (left, right) = memories, statements
    relation = probability[:, :_UNRELATED].argmax(axis=1)
    # Nothing in two texts tells whether a second value is the newer one or contradicts the first: they differ anyway.
    other = np.select([relation == _UPDATE, relation == _CONFLICT], [_CONFLICT, _UPDATE], _UNRELATED)
    every = np.arange(len(older))
    differing = np.where(other == _UNRELATED, 0.0, probability[every, other])
    confidence = np.minimum(probability[every, relation] + differing, 1.0)
    rule = np.full(len(older), LIKELY, dtype="<U13")
    rule[(relation == _UPDATE) & (whole >= _WHOLE)] = WHOLE
    place, kind = stated["pair"].to_numpy(), stated["kind"].to_numpy()
    relation[place] = _UPDATE
    confidence[place] = np.where(kind == "likely", _OTHER_NAME, _STATED)
    rule[place] = kind
    confident = np.flatnonzero(confidence >= needed[relation])
    texts = reading.statements["text"]
    pairs = pl.DataFrame(
        {
            "index": confident,
            "relation": pl.Series(RELATIONS).gather(relation[confident]),
            "older": texts.gather(left[confident]),
            "newer": texts.gather(right[confident]),
            "whole": reading.memories["content"].gather(older[confident]),
        }
    ).join(stated.select("ended", "by", index="pair"), on="index", how="left", maintain_order="left")
    described = _described(pairs.with_row_index("pair")) if len(confident) else pl.DataFrame(schema=_DESCRIBED)
    judged = described.with_columns(
        index=confident, confidence=confidence[confident].round(6), rule=pl.Series(rule[confident], dtype=pl.String)
    )
    everything = pl.DataFrame({"index": every}).join(judged, on="index", how="left", maintain_order="left")
    unrelated = 1.0 - confidence
    beside = pl.lit(pl.Series(aside))
    return everything.select(
        pl.col("relation").fill_null("unrelated"),
        pl.col("confidence").fill_null(pl.Series(unrelated)),
        "statement",
        "attribute",
        "value",
        "other_value",
        pl.col("rule").fill_null(pl.when(beside).then(pl.lit(ASIDE)).otherwise(pl.lit("unrelated"))),
        pl.col("reason").fill_null(pl.when(beside).then(pl.lit(_BESIDE)).otherwise(pl.lit(_NEITHER))),
    ).cast(pl.Schema(JUDGEMENT_COLUMNS))


def _without_members(probability: Floats, texts: Sequence[pl.Series], sides: tuple[Floats, Floats]) -> Floats:
    """Return the probabilities of `OF_PAIRS` of statements, zero where two members of a set replace or deny each other.

    Of health, possessions and skills everything may hold beside more of its kind: a second medicine is no newer value
    of the first. A possession may take the place of another all the same. The sides are what the reader says of the
    sentences of each memory, [pairs, `sentence_kinds.WIDTH`].
    """
    rows = np.flatnonzero(probability[:, _UPDATES | _DENIALS].sum(axis=1) >= LEAST_CONFIDENCE)
    older, newer = (side.gather(rows) for side in texts)
    objects, subjects = (
        find(older, newer).to_numpy() for find in (set_members.name_two_objects, set_members.name_two_subjects)
    )
    health, sets = (
        np.logical_and(*(sentence_kinds.probability(side[rows], "kind", *kinds) >= least for side in sides))
        for kinds, least in ((("health",), _RATHER), (_SETS, _MEMBER))
    )
    result = probability.copy()
    result[np.ix_(rows[subjects | (objects & health)], _UPDATES)] = 0.0
    result[np.ix_(rows[subjects | (objects & sets)], _DENIALS)] = 0.0
    return result


def _keeps_condition(older: Floats, newer: Floats) -> Marks:
    """Return where the older memory states a lasting condition of a body and the newer is not of health.

    An allergy that looks outdated does more harm than one that is told once too often.
    """
    return likely(older, "kind", "health") & likely(older, "holds", "lasting") & ~likely(newer, "kind", "health")


def _bar_of_copies(probability: Floats, low: pl.Series, left: Rows, right: Rows) -> None:
    """Set to zero, in place, the probability that the same words update or contradict each other."""
    changes = [_UPDATE, _CONFLICT]
    rows = np.flatnonzero(probability[:, changes].max(axis=1, initial=0.0))
    same = rows[(low.gather(left[rows]) == low.gather(right[rows])).to_numpy()]
    probability[np.ix_(same, changes)] = 0.0


def _described(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return relation, outdated statement, attribute, both values and the reason of each pair.

    Takes pair (its place), relation, older and newer (statements), whole (text of the older memory), ended and by (a
    sentence of it that the newer memory changes outright, and the one that does, null without any).
    """
    update = pl.col("relation") == "update"
    pairs = pairs.with_columns(older=pl.coalesce("ended", "older"), newer=pl.coalesce("by", "newer"))
    described = (
        pairs.join(nearest_sentences(pairs), on="pair", how="left", maintain_order="left")
        .join(_shared_words(pairs), on="pair", how="left", maintain_order="left")
        .with_columns(statement=pl.when(update & (pl.col("sentences") > 1)).then(pl.coalesce("ended", "sentence")))
        .with_columns(value=_excerpt(pl.coalesce("statement", "older")), other_value=_excerpt(pl.col("newer")))
    )
    value, other_value = (pl.col(name).str.strip_chars_end(". ") for name in ("value", "other_value"))
    one = pl.when(update).then(other_value).otherwise(value)
    other = pl.when(update).then(value).otherwise(other_value)
    reasons = [
        pl.when(pl.col("relation") == name).then(pl.format(reason, one, other)) for name, reason in _REASONS.items()
    ]
    return described.select("relation", "statement", "attribute", "value", "other_value", reason=pl.coalesce(reasons))


def _excerpt(text: pl.Expr) -> pl.Expr:
    """Return a text whole if it is short, else its first words and an ellipsis."""
    cut = text.str.head(_EXCERPT).str.replace(r"\s+\S*$", "") + "\u2026"
    return pl.when(text.str.len_chars() > _EXCERPT).then(cut).otherwise(text)


def _shared_words(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return for each pair, as `attribute`, the words of the older statement that the newer one shares, each once."""
    words = occurrences(fold(pairs["older"])).filter(~pl.col("stop")).select(pair="row", word="word", stem="stem")
    about = occurrences(fold(pairs["newer"])).filter(~pl.col("stop")).select(pair="row", stem="stem")
    shared = words.join(about, on=["pair", "stem"], how="semi", maintain_order="left")
    return shared.group_by("pair", maintain_order=True).agg(
        attribute=pl.col("word").unique(maintain_order=True).str.join(" ")
    )
