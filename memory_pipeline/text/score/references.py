"""What counts as a reference ("Rent: what we paid in spring."), and how much it shares with what it may refer to.

Its words do not tell: "same rent as last year, 710 euros" has a value of its own. Not here: how likely a sentence is
one (`state_heads`), and whether all sentences of a text refer back (`core_facts.referring`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.lang.folding import fold_text
from memory_pipeline.text.parse import tokens

Floats = NDArray[np.float64]

LEAST: Final = 0.7
"""Minimum probability from which a text counts as a reference: of texts left out two in three references are found, and
one in 23 of those that have a value in much the same words is taken for one; of ordinary notes one in fifty."""


def shared(text: str, others: Sequence[str]) -> tuple[Floats, int]:
    """Return the weight of the words of a text that each of others has too, and that of all its words.

    The weight of words is the sum of their rarities. Cost: about 50 µs per text.
    """
    said = tokens.rarities(fold_text(text))
    known = (tokens.rarities(fold_text(other)) for other in others)
    found = [sum(said[word] for word in said.keys() & words.keys()) for words in known]
    return np.array(found, dtype=np.float64), sum(said.values())
