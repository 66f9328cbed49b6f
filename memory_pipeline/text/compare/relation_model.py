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
from memory_pipeline.text.compare.relation_features import RANKS, Reading, features, statement_pairs
from memory_pipeline.text.parse.clauses import split_clauses
from memory_pipeline.text.parse.tokens import content_stems, fold, occurrences

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
        asking = probability[best, _UNRELATED] == 1.0
        shown = np.where(asking, 0.0, _related_alone(names, table[best]))
        confidence = np.where(explicit, shown, probability[best, relation])
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


def _related_alone(names: tuple[str, ...], table: Floats) -> Floats:
    """Return how likely pairs are related at all, were each the only pair of its two memories.

    What a pair itself shows does not become doubtful because the older statement was made twice, or the change told
    again: so it is decided alike in a run that sees the repetitions and in one that comes before them.
    """
    alone = np.where(np.isin(names, RANKS), 1.0, table)
    unrelated: Floats = probabilities(names, alone)[:, _UNRELATED]
    return 1.0 - unrelated


def _described(reading: Reading, older: Rows, left: Rows, right: Rows, relation: Rows) -> pl.DataFrame:
    """Return relation, outdated statement, attribute, both values and the reason of each pair."""
    texts = reading.statements["text"]
    pairs = pl.DataFrame(
        {
            "relation": pl.Series(RELATIONS).gather(relation),
            "older": texts.gather(left),
            "newer": texts.gather(right),
            "whole": reading.memories["content"].gather(older),
        }
    ).with_row_index("pair")
    update = pl.col("relation") == "update"
    described = (
        pairs.join(_nearest_sentences(pairs), on="pair", how="left", maintain_order="left")
        .join(_shared_words(pairs), on="pair", how="left", maintain_order="left")
        .with_columns(statement=pl.when(update & (pl.col("sentences") > 1)).then("sentence"))
        .with_columns(
            value=pl.coalesce("statement", "older").str.head(_EXCERPT), other_value=pl.col("newer").str.head(_EXCERPT)
        )
    )
    one = pl.when(update).then("other_value").otherwise("value")
    other = pl.when(update).then("value").otherwise("other_value")
    reasons = [
        pl.when(pl.col("relation") == name).then(pl.format(reason, one, other)) for name, reason in _REASONS.items()
    ]
    return described.select("relation", "statement", "attribute", "value", "other_value", reason=pl.coalesce(reasons))


def _nearest_sentences(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return for each pair the sentence of its older memory that shares most stems with the newer, and how many it has.

    Args:
        pairs: pair, whole (text of the older memory), newer (statement of the newer one).

    Returns:
        pair, sentence, sentences; no row for a memory without a sentence.
    """
    wholes = pairs.select("whole").unique(maintain_order=True)
    clauses = split_clauses(wholes["whole"]).with_columns(
        number=pl.col("ends").shift(1, fill_value=True).cast(pl.Int64).cum_sum()
    )
    sentences = (
        clauses.group_by("row", "number", maintain_order=True)
        .agg(sentence=pl.col("clause").str.join("").str.strip_chars())
        .filter(pl.col("sentence") != "")
        .join(wholes.with_row_index("row"), on="row")
        .with_columns(sentences=pl.len().over("whole"))
    )
    choices = pairs.select("pair", "whole", "newer").join(sentences, on="whole", maintain_order="left_right")
    said, about = _content(choices["sentence"]), _content(choices["newer"])
    shared = pl.DataFrame([said.alias("said"), about.alias("about")]).select(
        pl.col("said").list.set_intersection("about").list.len()
    )
    ranked = choices.with_columns(shared=shared.to_series()).sort("shared", descending=True, maintain_order=True)
    return ranked.unique("pair", keep="first", maintain_order=True).select("pair", "sentence", "sentences")


def _shared_words(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return for each pair, as `attribute`, the words of the older statement that the newer has too, each once."""
    words = occurrences(fold(pairs["older"])).filter(~pl.col("stop")).select(pair="row", word="word", stem="stem")
    about = occurrences(fold(pairs["newer"])).filter(~pl.col("stop")).select(pair="row", stem="stem")
    shared = words.join(about, on=["pair", "stem"], how="semi", maintain_order="left")
    return shared.group_by("pair", maintain_order=True).agg(
        attribute=pl.col("word").unique(maintain_order=True).str.join(" ")
    )


def _content(texts: pl.Series) -> pl.Series:
    """Return the stems of the words of each text that are not function words, as lists; equal texts are read once."""
    different = texts.unique(maintain_order=True)
    read = pl.DataFrame({"text": different, "stems": content_stems(different)})
    return pl.DataFrame({"text": texts}).join(read, on="text", how="left", maintain_order="left")["stems"]
