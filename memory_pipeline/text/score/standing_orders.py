"""Tells a standing instruction from an order for once, by what the reader holds of a sentence before it labels it.

"Never push to main" and "never push while I rebase" are both orders, and get much the same labels; what the network
holds of them tells more. Not here: whether a sentence orders anything (`sections`), and the fit
(`research/fit_standing_orders.py`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.score import state_heads

Floats = NDArray[np.float64]

MODEL: Final = "standing_orders.npz"
"""Name of the model file in `models/`."""


def probability(befores: Sequence[str], sentences: Sequence[str]) -> Floats:
    """Return the probability that each sentence, if it orders something, does so until further notice.

    Without the reader's weights every order counts as standing.

    Args:
        befores: the sentence before each in its text, or "".
        sentences: the sentences, each after the name of its speaker if there is one.

    Cost: about 10 ms of one core per short sentence.
    """
    return np.ones(len(sentences)) if encoder.missing() else state_heads.probability(MODEL, befores, sentences)
