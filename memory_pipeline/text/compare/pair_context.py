"""What only the second trees read of a pair of memories: its rivals, and what the first trees say.

Of several older memories that a newer one may outdate, and of several newer ones that may outdate an older one, the
reader's scores say which it means. Not here: the scores of the pair itself (`relation_trees.SCORES`).
"""

from typing import Final

import numpy as np

from memory_pipeline.text.arrays import Floats, Rows, softmax
from memory_pipeline.text.compare.judge import RELATIONS

_SIDES: Final = ("older", "newer")
_RELATED: Final = RELATIONS[:-1]
NAMES: Final = (
    *(f"{what}_{relation}_{side}" for side in _SIDES for relation in _RELATED for what in ("rival", "ahead")),
    *(f"first_{relation}" for relation in _RELATED),
)
"""Names of the features."""
_DIGITS: Final = 3
"""Decimals of a feature: differences of rounding between processors lie far below."""


def features(first: Floats, scores: Floats, pairs: tuple[Rows, Rows]) -> Floats:
    """Return [pairs, `NAMES`] of all pairs that are read, by the rows of the older and of the newer memory of each.

    By the probability of each of `RELATIONS` by the first trees, and what the reader says of the two texts together
    (`relation_trees.SCORES`), each [pairs, …]. Cost: a sort of the pairs for each side and relation.
    """
    columns = []
    probability = softmax(scores)
    probability[:, RELATIONS.index("update")] += probability[:, len(RELATIONS) :].sum(axis=1)
    for side in pairs:
        for relation in range(len(_RELATED)):
            found = probability[:, relation]
            best = _best_rival(found, side)
            columns.append(np.stack([best, found - best], axis=1))
    columns.append(first[:, : len(_RELATED)])
    result: Floats = np.concatenate(columns, axis=1).round(_DIGITS)
    return result


def _best_rival(found: Floats, side: Rows) -> Floats:
    """Return the highest value of the other pairs that have the same memory on a side; 0 where there is none."""
    order = np.lexsort((-found, side))
    best = np.zeros(len(found))
    begins = np.flatnonzero(np.diff(side[order], prepend=-1) != 0)
    sizes = np.diff(begins, append=len(order))
    highest = np.repeat(found[order[begins]], sizes)
    second = np.where(sizes > 1, found[order[np.minimum(begins + 1, len(order) - 1)]], 0.0)
    place = np.arange(len(order)) - np.repeat(begins, sizes)
    best[order] = np.where(place == 0, np.repeat(second, sizes), highest)
    return best
