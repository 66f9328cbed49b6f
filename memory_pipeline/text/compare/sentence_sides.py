"""Which kinds of sentences the two memories of a pair are.

A question, a wish or a plan outdates nothing, what holds for a moment is seldom outdated, and what is of one kind about
one person is likelier to be the same fact. Not here: what a sentence says (`text/score/sentence_kinds`).
"""

from typing import Final

import numpy as np

from memory_pipeline.text.arrays import Floats, Rows
from memory_pipeline.text.score import sentence_kinds

_LABELS: Final = {
    "holds": sentence_kinds.GROUPS["holds"],
    "kind": tuple("question request opinion chatter event appointment measurement goal instruction".split()),  # noqa: SIM905
    "stance": sentence_kinds.GROUPS["stance"],
}
_SUMS: Final = ("harm", "worth")
NAMES: Final = (
    *(f"{side}_{label}" for side in ("older", "newer") for labels in (*_LABELS.values(), _SUMS) for label in labels),
    *(f"same_{group}" for group in sentence_kinds.GROUPS),
)
"""Names of the features."""
_DIGITS: Final = 3
"""Decimals of a feature: differences of rounding between processors lie far below."""
_BEGINS: Final = np.cumsum([0, *map(len, sentence_kinds.GROUPS.values())])[:-1]
_PAIRS_AT_ONCE: Final = 20_000
"""Pairs whose labels are multiplied at once; bounds the scratch memory."""


def features(kinds: Floats, older: Rows, newer: Rows) -> Floats:
    """Return [pairs, `NAMES`] of pairs of memories, by row of the older and newer: labels of each, and how many agree.

    `kinds` is what the reader says of the sentences of all memories, [memories, `sentence_kinds.WIDTH`]; zeros where it
    has not read them. Cost: about 1 µs per pair.
    """
    labels = [sentence_kinds.probability(kinds, group, label) for group, labels in _LABELS.items() for label in labels]
    told = np.stack([*labels, *(sentence_kinds.expected(kinds, group) for group in _SUMS)], axis=1)
    width = told.shape[1]
    result = np.empty((len(older), len(NAMES)))
    for low in range(0, len(older), _PAIRS_AT_ONCE):
        part = slice(low, low + _PAIRS_AT_ONCE)
        one, other = older[part], newer[part]
        result[part, :width], result[part, width : 2 * width] = told[one], told[other]
        result[part, 2 * width :] = np.add.reduceat(kinds[one] * kinds[other], _BEGINS, axis=1)
    return result.round(_DIGITS, out=result)
