"""Standing rules for an assistant, and whether a query is what a rule is for.

"Always name the airline when I ask about travel." says itself when it applies: a query that has the words of that
condition, or words related to them, is one that it applies to.
"""

from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import CUES
from memory_pipeline.recall.index.postings import keys
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank.related_words import RelatedWords
from memory_pipeline.text.arrays import Floats, Integers
from memory_pipeline.text.lang.en.cues import CONDITION
from memory_pipeline.text.parse import tokens

RULES: Final = 3
"""Most standing rules to include in an answer."""
_READ: Final = 16
"""Most rules whose conditions are read: the best by the first score."""
_STANDING: Final = CUES.index("standing")


def best_rules(index: Index, question: Question, related: RelatedWords, first: Floats) -> tuple[Integers, Floats]:
    """Return the standing rules that may apply to a query, and how well the query meets their conditions.

    At most `RULES` rows, the best first, and for each the weighted share of the words of its condition that the query
    has, closely related words counting in part; 0 without a condition. A first score of -inf keeps a memory out. Cost:
    1 ms.
    """
    passages = index.passages
    rows = np.unique(passages.row[passages.cues[:, _STANDING] > 0])
    rows = rows[np.isfinite(first[rows]) & ~index.by_assistant(rows)]
    if not len(rows):
        return rows, np.zeros(0)
    rows = rows[np.argsort(-first[rows], kind="stable")[:_READ]]
    met = _met(index, question, related, index.memories["content"][rows])
    best = np.argsort(-met, kind="stable")[:RULES]
    return rows[best], met[best]


def _met(index: Index, question: Question, related: RelatedWords, texts: pl.Series) -> Floats:
    """Return the weighted share of the words of each text's condition that the query has."""
    conditions = tokens.fold(texts).str.extract(CONDITION).fill_null("")
    stems = tokens.content_stems(conditions)
    owner = np.repeat(np.arange(len(texts)), stems.list.len().to_numpy())
    if not len(owner):
        return np.zeros(len(texts))
    asked = keys(stems.explode(empty_as_null=False).to_list())
    rarity = index.postings.rarity(index.postings.frequencies(asked))
    close = np.isin(asked, question.keys).astype(np.float64)
    if len(related.keys):
        place = np.minimum(np.searchsorted(related.keys, asked), len(related.keys) - 1)
        nearest = related.close.max(axis=0, initial=0.0)
        close = np.maximum(close, np.where(related.keys[place] == asked, nearest[place], 0.0))
    whole = np.bincount(owner, rarity, len(texts))
    return np.asarray(np.bincount(owner, close * rarity, len(texts)) / np.maximum(whole, 1e-9), dtype=np.float64)
