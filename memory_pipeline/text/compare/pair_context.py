"""What only the second trees read of a pair of memories: its rivals, and what kinds of sentences both are.

A question, a wish or a plan outdates nothing, and what holds for a moment is seldom outdated. Of several older memories
that a newer one may outdate, and of several newer ones that may outdate an older one, the reader's scores say which it
means. Not here: the scores of the pair itself (`relation_trees.SCORES`), and what a sentence says
(`text/score/sentence_kinds`).
"""

from typing import Final

import numpy as np

from memory_pipeline.text.arrays import Floats, Rows, softmax
from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.score import sentence_kinds

_LABELS: Final = {
    "holds": sentence_kinds.GROUPS["holds"],
    "kind": tuple("question request opinion chatter event appointment measurement goal instruction".split()),  # noqa: SIM905
    "stance": sentence_kinds.GROUPS["stance"],
}
_SIDES: Final = ("older", "newer")
_RELATED: Final = RELATIONS[:-1]
NAMES: Final = (
    *(f"{side}_{label}" for side in _SIDES for labels in _LABELS.values() for label in labels),
    *(f"{side}_{group}" for side in _SIDES for group in ("harm", "worth")),
    *(f"same_{group}" for group in sentence_kinds.GROUPS),
    *(f"{what}_{relation}_{side}" for side in _SIDES for relation in _RELATED for what in ("rival", "ahead")),
    *(f"first_{relation}" for relation in _RELATED),
)
"""Names of the features."""
_DIGITS: Final = 3
"""Decimals of a feature: differences of rounding between processors lie far below."""


def features(first: Floats, scores: Floats, pairs: tuple[Rows, Rows], kinds: tuple[Floats, Floats]) -> Floats:
    """Return [pairs, `NAMES`] of all pairs that are read, by the rows of the older and of the newer memory of each.

    By the probability of each of `RELATIONS` by the first trees, what the reader says of the two texts together
    (`relation_trees.SCORES`), and of the sentences of each side (`sentence_kinds.WIDTH`; zeros where it has not read
    them), each [pairs, …]. Cost: a sort of the pairs for each side and relation.
    """
    columns = [_labels(side) for side in kinds] + [_harm_and_worth(side) for side in kinds] + [_same(*kinds)]
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


def _labels(kinds: Floats) -> Floats:
    shares = [sentence_kinds.probability(kinds, group, label) for group, labels in _LABELS.items() for label in labels]
    return np.stack(shares, axis=1)


def _harm_and_worth(kinds: Floats) -> Floats:
    return np.stack([sentence_kinds.expected(kinds, group) for group in ("harm", "worth")], axis=1)


def _same(older: Floats, newer: Floats) -> Floats:
    """Return the probability that both sides have the same label of each group."""
    ends = np.cumsum([len(labels) for labels in sentence_kinds.GROUPS.values()])
    both = np.split(older * newer, ends[:-1], axis=1)
    return np.stack([part.sum(axis=1) for part in both], axis=1)


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
