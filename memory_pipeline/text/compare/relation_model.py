"""The default judge: a linear model over what two memories share and where they differ.

The probability of each relation is the softmax of four linear scores over `relation_features`; the weights were fitted
on made-up stores (`evaluation/fit_relations`) and stand in `models/relations.toml`. Nothing is bound to a particular
text. An update is called `changed_value` or `ended` where the two also show what changed; else it is only `likely`.
"""

from functools import cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.compare.judge import JUDGEMENT_COLUMNS, RELATIONS
from memory_pipeline.text.compare.relation_features import Reading, features, statement_pairs
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.parse.clauses import split_clauses
from memory_pipeline.text.parse.tokens import tokenize

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST_CONFIDENCE: Final = 0.2
"""Probability below which a pair counts as unrelated."""
_QUESTION: Final = r"^[^,.;:!]*\?\W*$"
"""A statement that only asks."""
_NOTHING: Final = np.eye(len(RELATIONS))[RELATIONS.index("unrelated")]
_EXCERPT: Final = 120
"""Characters of a statement that are quoted."""
_UPDATE: Final = RELATIONS.index("update")
_UNRELATED: Final = RELATIONS.index("unrelated")
_REASONS: Final = {
    "update": "A newer memory says '{}' where this one says '{}'.",
    "conflict": "'{}' and '{}' contradict each other.",
    "duplicate": "'{}' and '{}' say the same.",
}
_SHARED: Final = 0.5
"""Weight of the plain words that both have, from which they are about one attribute."""
_LITTLE: Final = 0.45
"""Logarithm of one plus the weight of the plain words of the older that the newer does not mean, at most."""


class RelationModel:
    """The default judge, by features of the words. Deterministic, offline; judges texts in English."""

    name: Final = "rules"

    def judge(self, reading: Reading, older: Rows, newer: Rows) -> pl.DataFrame:
        """Judge pairs of memories: see `RelationJudge.judge`. Cost: about 30 µs per pair of short memories."""
        pair, left, right = statement_pairs(reading, older, newer)
        names, table = features(reading, left, right)
        probability = probabilities(names, table)
        asks = reading.statements["low"].str.contains(_QUESTION).to_numpy()
        probability[asks[left] | asks[right]] = _NOTHING
        several = (np.diff(reading.start) > 1)[older] & (np.diff(reading.start) > 1)[newer]
        probability[several[pair], RELATIONS.index("duplicate")] = 0.0
        related = 1.0 - probability[:, _UNRELATED]
        order = np.lexsort((np.arange(len(pair)), related, pair))
        best = np.full(len(older), -1)
        best[pair[order]] = order  # the last of each pair, its most related statements, stays
        rule = _rules(names, table[best])
        explicit = rule != "likely"
        relation = np.where(explicit, _UPDATE, probability[best][:, :_UNRELATED].argmax(axis=1))
        confidence = np.where(explicit, related[best], probability[best, relation])
        kept = np.flatnonzero(confidence >= LEAST_CONFIDENCE)
        described = _described(reading, older[kept], left[best[kept]], right[best[kept]], relation[kept])
        judged = described.with_columns(
            index=kept, confidence=confidence[kept].round(6), rule=pl.Series(rule[kept], dtype=pl.String)
        )
        everything = pl.DataFrame({"index": np.arange(len(older))}).join(
            judged, on="index", how="left", maintain_order="left"
        )
        unrelated = 1.0 - confidence
        return everything.select(
            pl.col("relation").fill_null("unrelated"),
            pl.col("confidence").fill_null(pl.Series(unrelated)),
            "statement",
            "attribute",
            "value",
            "other_value",
            pl.col("rule").fill_null("unrelated"),
            pl.col("reason").fill_null("Neither changes, contradicts or repeats the other."),
        ).cast(pl.Schema(JUDGEMENT_COLUMNS))


def probabilities(names: tuple[str, ...], table: Floats) -> Floats:
    """Return the probability of each of `RELATIONS`, [pairs, relations], from `features`."""
    weights, offsets = _weights(names)
    scores = np.einsum("ij,jk->ik", table, weights) + offsets
    exponential = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    result: Floats = exponential / exponential.sum(axis=1, keepdims=True)
    return result


@cache
def _weights(names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return [features, relations] and [relations]: the fitted weights and offsets."""
    fitted = coefficients("relations")
    weights = np.array([[fitted[f"{relation}.{name}"] for relation in RELATIONS] for name in names])
    return weights, np.array([fitted[f"{relation}.offset"] for relation in RELATIONS])


def _rules(names: tuple[str, ...], table: Floats) -> NDArray[np.str_]:
    """Return what shows an update: another value of the same attribute, an explicit end, or likeness alone.

    The first two need one subject and attribute, and an older statement that states nothing else.
    """
    column = {name: table[:, place] for place, name in enumerate(names)}
    absent = (
        *(
            "speaker_differs",
            "lead_differs",
            "names_differ",
            "new_today",
            "new_add",
            "new_plan",
            "old_quote",
            "old_plan",
        ),
        *("old_today", "date_both", "new_question", "new_return", "old_negation"),
    )
    plain = np.logical_and.reduce([column[name] == 0 for name in absent])
    plain &= (column["old_past"] == 0) | (column["old_change"] > 0)
    whole = (column["old_clauses"] == 1) & (column["plain"] >= _SHARED) & (column["left_plain_old"] <= _LITTLE)
    moved = (column["new_change"] > 0) & (column["change_plain"] >= _SHARED)
    other_value = np.logical_or.reduce([column[f"{kind}_differs"] > 0 for kind in ("number", "money", "day", "time")])
    changed = moved & other_value & (column["old_values"] == 1)
    stops = (column["new_end"] > 0) & ((column["new_change"] > 0) | (column["new_past"] > 0))
    ended = stops & (column["end_plain"] >= _SHARED) & (column["old_values"] == 0)
    return np.select([plain & whole & changed, plain & whole & ended], ["changed_value", "ended"], "likely")


def _described(reading: Reading, older: Rows, left: Rows, right: Rows, relation: Rows) -> pl.DataFrame:
    """Return relation, outdated statement, attribute, both values and the reason of each pair."""
    texts = reading.statements["text"]
    ones, others = texts.gather(left), texts.gather(right)
    wholes = reading.memories["content"].gather(older)
    rows = [
        _row(RELATIONS[kind], *said)
        for kind, *said in zip(relation.tolist(), ones.to_list(), others.to_list(), wholes.to_list(), strict=True)
    ]
    schema = {name: JUDGEMENT_COLUMNS[name] for name in _DESCRIBED}
    return pl.DataFrame(rows, schema=schema, orient="row")


_DESCRIBED: Final = ("relation", "statement", "attribute", "value", "other_value", "reason")


def _row(relation: str, older: str, newer: str, whole: str) -> tuple[str | None, ...]:
    """Return one row of `_DESCRIBED`."""
    sentences = _sentences(whole)
    said = [_content(sentence) for sentence in (newer, *sentences)]
    shared = [said[0] & words for words in said[1:]]
    place = max(range(len(sentences)), key=lambda at: (len(shared[at]), -at), default=0)
    statement = sentences[place] if relation == "update" and len(sentences) > 1 else None
    value, other = ((sentences[place] if statement else older)[:_EXCERPT], newer[:_EXCERPT])
    words = tokenize(pl.Series([older]))[0].to_list()
    about = _content(newer)
    attribute = " ".join(dict.fromkeys(word for word in words if stem(word) in about)) or None
    texts = (other, value) if relation == "update" else (value, other)
    return relation, statement, attribute, value, other, _REASONS[relation].format(*texts)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, as written."""
    clauses = split_clauses(pl.Series([text]))
    number = clauses["ends"].shift(1, fill_value=True).cast(pl.Int64).cum_sum()
    joined = clauses.group_by(number.alias("number"), maintain_order=True).agg(pl.col("clause").str.join(""))
    return [sentence for one in joined["clause"] if (sentence := one.strip())]


def _content(text: str) -> set[str]:
    """Return the stems of the words of a text that are not function words."""
    return {stem(word) for word in tokenize(pl.Series([text]))[0].to_list() if word not in STOP_WORDS}
