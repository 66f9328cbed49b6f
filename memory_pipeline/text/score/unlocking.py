"""Tells what opens a door, a device or an account from what endangers or is forbidden.

"Gate code: 4410" and "shut the gate because of the deer" are both matters of safety by the reader's labels; what the
network holds of them tells more. Codes, passwords and where a key lies are asked for when they are needed; they need no
line beside allergies. Not here: which sentences are matters of safety (`sections`), and the fit
(`research/fit_unlocking.py`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.score import state_heads

Floats = NDArray[np.float64]

MODEL: Final = "unlocking.npz"
"""Name of the model file in `models/`."""


def probability(befores: Sequence[str], sentences: Sequence[str]) -> Floats:
    """Return the probability that each sentence says how something is opened, or where what opens it lies.

    Without the reader's weights none does.

    Args:
        befores: the sentence before each in its text, or "".
        sentences: the sentences, each after the name of its speaker if there is one.

    Cost: about 10 ms of one core per short sentence.
    """
    return np.zeros(len(sentences)) if encoder.missing() else state_heads.probability(MODEL, befores, sentences)
