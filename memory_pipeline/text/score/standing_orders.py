"""Tells a standing instruction from an order for once, by what the reader holds of a sentence before it labels it.

"Never push to main" and "never push while I rebase" are both orders, and get much the same labels; what the network
holds of them tells more. Not here: whether a sentence orders anything (`sections`), and the fit
(`research/fit_standing_orders.py`).
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.score import sentence_kinds

Floats = NDArray[np.float64]

MODEL: Final = "standing_orders.npz"
"""Name of the model file in `models/`."""


def probability(befores: Sequence[str], sentences: Sequence[str]) -> Floats:
    """Return the probability that each sentence, if it orders something, does so until further notice.

    Without the reader's weights every order counts as standing.

    Args:
        befores: the sentence before each in its text, or "".
        sentences: the sentences, each after the name of its speaker if there is one.

    Cost: that of `sentence_kinds.read`.
    """
    if not sentences or encoder.missing():
        return np.ones(len(sentences))
    weights, offset = _model()
    scores = encoder.pair_reader().states(list(zip(befores, sentences, strict=True))) @ weights + offset
    result: Floats = (1.0 / (1.0 + np.exp(-scores))).round(sentence_kinds.DIGITS)
    return result


@cache
def _model() -> tuple[Floats, float]:
    """Return the weight of each number of a state, and the offset."""
    path = resources.files("memory_pipeline") / "models" / MODEL
    with resources.as_file(path) as file, np.load(file) as stored:
        return stored["weights"].astype(np.float64), float(stored["offset"])
