"""What only the second trees read of a pair of memories: its rivals, and what kinds of sentences both are.

A question, a wish or a plan outdates nothing, and what holds for a moment is seldom outdated. Of several older memories
that a newer one may outdate, and of several newer ones that may outdate an older one, the reader's scores say which it
means. Not here: the scores of the pair itself (`relation_trees.SCORES`), and what a sentence says
(`text/score/sentence_kinds`).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.score import sentence_kinds

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_LABELS: Final = {
    "holds": sentence_kinds.GROUPS["holds"],
    "kind": tuple("question request opinion chatter event appointment measurement goal instruction".split()),  # noqa: SIM905
    "stance": sentence_kinds.GROUPS["stance"],
}
_UNSETTLED: Final = ("planned", "possible", "reported", "asked")
"""Stances of a sentence that does not say that anything is so."""
_ASIDE: Final = 0.5
"""Probability of these from which a memory states nothing."""
_OWN: Final = 0.5
"""Probability from which a memory is about its owner: where two people speak, about the one who says it."""
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
    """Return [pairs, `NAMES`].

    Args:
        first: probability of each of `RELATIONS` by the first trees, [pairs, relations].
        scores: what the reader says of the two texts together, [pairs, `relation_trees.SCORES`].
        pairs: row of the older and of the newer memory of each pair; all pairs that are read.
        kinds: what the reader says of the sentences of each side, [pairs, `sentence_kinds.WIDTH`]; zeros where it has
            not read them.

    Cost: a sort of the pairs for each side and relation.
    """
    columns = [_labels(side) for side in kinds] + [_harm_and_worth(side) for side in kinds] + [_same(*kinds)]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    probability = powers / powers.sum(axis=1, keepdims=True)
    probability[:, RELATIONS.index("update")] += probability[:, len(RELATIONS) :].sum(axis=1)
    for side in pairs:
        for relation in range(len(_RELATED)):
            found = probability[:, relation]
            best = _best_rival(found, side)
            columns.append(np.stack([best, found - best], axis=1))
    columns.append(first[:, : len(_RELATED)])
    result: Floats = np.concatenate(columns, axis=1).round(_DIGITS)
    return result


def is_unsettled(kinds: Floats) -> NDArray[np.bool_]:
    """Return which memories only plan, suppose, report or ask something.

    Args:
        kinds: what the reader says of the sentences of each memory, [memories, `sentence_kinds.WIDTH`].
    """
    result: NDArray[np.bool_] = sentence_kinds.probability(kinds, "stance", *_UNSETTLED) >= _ASIDE
    return result


def of_two_owners(older: Floats, newer: Floats) -> NDArray[np.bool_]:
    """Return whether both memories of each pair are about whoever says them, [pairs].

    Args:
        older: what the reader says of the sentences of each older memory, [pairs, `sentence_kinds.WIDTH`].
        newer: the same of each newer one.
    """
    both = [sentence_kinds.probability(side, "whom", "owner") >= _OWN for side in (older, newer)]
    result: NDArray[np.bool_] = both[0] & both[1]
    return result


def are_of_kind(older: Floats, newer: Floats, *kinds: str) -> NDArray[np.bool_]:
    """Return whether both memories of each pair are of one of some kinds (`sentence_kinds.GROUPS`), [pairs].

    Args:
        older: as in `of_two_owners`.
        newer: likewise.
        kinds: the kinds.
    """
    both = [sentence_kinds.probability(side, "kind", *kinds) >= _ASIDE for side in (older, newer)]
    result: NDArray[np.bool_] = both[0] & both[1]
    return result


def keeps_condition(older: Floats, newer: Floats) -> NDArray[np.bool_]:
    """Return whether the older memory of each pair states a lasting condition of a body and the newer is not of health.

    An allergy that looks outdated does more harm than one that is told once too often.

    Args:
        older: what the reader says of the sentences of each older memory, [pairs, `sentence_kinds.WIDTH`].
        newer: the same of each newer one.
    """
    health = [sentence_kinds.probability(side, "kind", "health") >= _ASIDE for side in (older, newer)]
    result: NDArray[np.bool_] = (
        health[0] & (sentence_kinds.probability(older, "holds", "lasting") >= _ASIDE) & ~health[1]
    )
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
