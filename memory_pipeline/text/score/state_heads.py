"""Linear models over what the reader holds of a sentence before it labels it.

Not here: what each tells (`standing_orders`, `unlocking`, `references`), and the fits (`research/state_model.py`).
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.score import sentence_kinds

Floats = NDArray[np.float64]


def probability(model: str, befores: Sequence[str], sentences: Sequence[str]) -> Floats:
    """Return the probability that what a model tells is so, of each sentence.

    Args:
        model: name of the file in `models/`, with the weight of each number of a state, and the offset.
        befores: the sentence before each in its text, or "".
        sentences: the sentences, each after the name of its speaker if there is one.

    Raises:
        ReaderMissingError: the reader's weights are not installed.

    Cost: about 10 ms of one core per short sentence.
    """
    if not sentences:
        return np.zeros(0)  # the network is not loaded for nothing
    read = encoder.pair_reader().sentences(list(zip(befores, sentences, strict=True)))
    return of_states(model, read[:, : encoder.STATE])


def of_states(model: str, states: NDArray[np.floating]) -> Floats:
    """Return the probability that what a model tells is so, of what the network holds of each sentence.

    Args:
        model: see `probability`.
        states: [sentences, `encoder.STATE`].
    """
    weights, offset = _model(model)
    scores = states.astype(np.float64) @ weights + offset
    result: Floats = (1.0 / (1.0 + np.exp(-scores))).round(sentence_kinds.DIGITS)
    return result


@cache
def _model(name: str) -> tuple[Floats, float]:
    path = resources.files("memory_pipeline") / "models" / name
    with resources.as_file(path) as file, np.load(file) as stored:
        return stored["weights"].astype(np.float64), float(stored["offset"])
