"""Tells what is said of a body in a figure ("allergic to small talk", "stuck on the login page") from what is so.

By the reader's labels both are matters of health. Only what is surely a figure is told: a line too many in core memory
does less harm than an allergy that is missing. Not here: which sentences are matters of health (`sections`), and the
fit (`research/fit_figurative.py`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.score import state_heads

Floats = NDArray[np.float64]

MODEL: Final = "figurative.npz"
"""Name of the model file in `models/`."""
LEAST: Final = 0.98
"""Minimum probability from which a sentence about health counts as a figure: of 414 left out that are about health,
none has it."""


def probability(befores: Sequence[str], sentences: Sequence[str]) -> Floats:
    """Return the probability that each sentence, if it seems to be about health or safety, is a figure of speech.

    Without the reader's weights none is.

    Args:
        befores: the sentence before each in its text, or "".
        sentences: the sentences, each after the name of its speaker if there is one.

    Cost: about 10 ms of one core per short sentence.
    """
    return np.zeros(len(sentences)) if encoder.missing() else state_heads.probability(MODEL, befores, sentences)
