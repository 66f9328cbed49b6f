"""Tells what gives a value only by reference ("Rent: what we paid in spring.") by what the reader holds of a sentence.

Such a text neither replaces nor denies what it refers to, and is worth nothing without it. Its words do not tell: "same
rent as last year, 710 euros" has a value of its own. Not here: the fit (`research/fit_references.py`), and whether all
sentences of a text refer back (`core_facts.referring`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.lang.folding import fold_text
from memory_pipeline.text.parse import tokens
from memory_pipeline.text.score import state_heads

Floats = NDArray[np.float64]

MODEL: Final = "references.npz"
"""Name of the model file in `models/`."""
LEAST: Final = 0.7
"""Minimum probability from which a text counts as a reference: of texts left out two in three references are found, and
one in 23 of those that have a value in much the same words is taken for one; of ordinary notes one in fifty."""


def probability(read: NDArray[np.floating]) -> Floats:
    """Return the probability that each sentence only refers to something said elsewhere.

    Args:
        read: what the network holds of the sentences, [sentences, `encoder.STATE`].
    """
    return state_heads.of_states(MODEL, read)


def shared(text: str, others: Sequence[str]) -> tuple[Floats, int]:
    """Return the weight of the words of a text that each of others has too, and that of all its words.

    The weight of words is the sum of their rarities. Cost: about 50 µs per text.
    """
    said = tokens.rarities(fold_text(text))
    known = (tokens.rarities(fold_text(other)) for other in others)
    found = [sum(said[word] for word in said.keys() & words.keys()) for words in known]
    return np.array(found, dtype=np.float64), sum(said.values())
