"""Estimates how likely one of the best memories is to answer a query, from how well they match its words.

A score compares memories for one query; it does not say whether the best is an answer. The model is logistic, with
coefficients in `models/confidence.toml` (`research/fit_confidence.py`): 0.5 is where as many unanswered queries as
answered ones lie on the wrong side.
"""

from typing import Final

import numpy as np

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank.features import Candidates
from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.arrays import Floats

CONFIDENCE: Final = {
    "share": "weighted share of the query's words in the memory that has most of them",
    "known": "weighted share of the query's words that occur in any memory",
    "lead": "score of the best memory above the tenth",
    "words": "how few words the query has: 1 / number",
}
"""Features by name, with what each one measures."""
CONFIDENT: Final = 0.5
"""Confidence from which an answer counts as confident."""
_TENTH: Final = 9
_LITTLE: Final = 1e-9


def confidence_features(index: Index, question: Question, candidates: Candidates, scores: Floats) -> Floats:
    """Return the features of `CONFIDENCE` of candidates scored by the default ranking; all 0 without candidates."""
    if not len(scores):
        return np.zeros(len(CONFIDENCE))
    frequencies = index.postings.frequencies(question.keys)
    weight = index.postings.rarity(frequencies) * question.emphasis
    best = np.sort(scores)[::-1]
    return np.array(
        [
            candidates.share.max(),
            (weight * (frequencies > 0)).sum() / max(float(weight.sum()), _LITTLE),
            best[0] - best[min(_TENTH, len(best) - 1)],
            1.0 / max(len(question.keys), 1),
        ]
    )


def confidence(index: Index, question: Question, candidates: Candidates, scores: Floats) -> float:
    """Return the probability that one of the best memories answers a query, if half of all queries have an answer."""
    by_name = coefficients("confidence")
    weights = np.array([by_name[name] for name in CONFIDENCE])
    power = by_name["offset"] + float(confidence_features(index, question, candidates, scores) @ weights)
    return float(1.0 / (1.0 + np.exp(-power)))
