"""Features of two texts from the reader's token vectors: how much of each the other covers, and what is left over.

Each token is matched with the nearest token of the other text. Tokens weigh by their rarity in texts of the kind,
which ships with the weights, so that a feature depends on the two texts alone. Not here: the vectors
(`text/embed/encoder`), and what follows from the features (`relation_trees`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from memory_pipeline.text.arrays import Floats, Marks, Matrix, Rows
from memory_pipeline.text.embed.encoder import Tokens

MODEL: Final = "alignment 1"
"""Name and version under which the features of a pair of texts are recorded."""
NAMES: Final = (
    *("covered_old", "covered_new", "least_covered_old", "least_covered_new", "left_old", "left_new"),
    *("left_share_old", "left_share_new", "best_old", "same_new", "same_old", "other_digits_old", "other_digits_new"),
    *("digits_old", "digits_new", "heaviest_covered_old", "first_old", "first_new"),
)
"""Names of the features."""
DIGITS: Final = 3
"""Decimals of a feature: differences of rounding between processors lie far below."""
_NEAR: Final = 0.5
"""Cosine from which a token has a counterpart."""
_BEST: Final = 3
_AT_ONCE: Final = 4096
"""Pairs whose tokens are put side by side; bounds the memory."""


@cache
def _token_table() -> tuple[Matrix, Marks]:
    """Return the weight of each token, and whether it holds a digit."""
    path = resources.files("memory_pipeline") / "models" / "reader" / "tokens.npz"
    with resources.as_file(path) as file, np.load(file) as stored:
        return stored["weight"].astype(np.float32), stored["digit"]


def aligned(tokens: Sequence[Tokens], older: Rows, newer: Rows) -> Floats:
    """Return the features of pairs of texts, [pairs, features], rounded; zeros where either text has no token.

    A pair's numbers do not depend on the other pairs: only sums over equally many tokens are made side by side. Cost:
    about 0.03 ms per pair of texts of 30 tokens.
    """
    result = np.zeros((len(older), len(NAMES)))
    length = np.array([len(one.ids) for one in tokens], dtype=np.int64)
    full = np.flatnonzero((length[older] > 0) & (length[newer] > 0))
    for begin in range(0, len(full), _AT_ONCE):
        part = full[begin : begin + _AT_ONCE]
        result[part] = _features(tokens, older[part], newer[part])
    return result.round(DIGITS)


def _features(tokens: Sequence[Tokens], older: Rows, newer: Rows) -> Floats:
    """Return the features of pairs of texts that have tokens."""
    pairs = [(tokens[one], tokens[other]) for one, other in zip(older, newer, strict=True)]
    nearest = list[tuple[Matrix, Matrix]]()
    for one, other in pairs:
        near = one.vectors @ other.vectors.T
        nearest.append((near.max(axis=1), near.max(axis=0)))
    texts = [[pair[side].ids for pair in pairs] for side in (0, 1)]
    counts = [np.array([len(ids) for ids in side], dtype=np.int64) for side in texts]
    ids = [np.concatenate(side) for side in texts]
    best = [np.concatenate([pair[side] for pair in nearest]) for side in (0, 1)]
    old, new = (_side(best[side], ids[side], _also_in(ids, counts, side), counts[side]) for side in (0, 1))
    columns = [
        *(old["covered"], new["covered"], old["least"], new["least"], old["left"], new["left"]),
        *(old["left_share"], new["left_share"], old["best"], new["same"], old["same"]),
        *(old["other_digits"], new["other_digits"], old["digits"], new["digits"], old["heaviest"]),
        *(old["first"], new["first"]),
    ]
    return np.stack(columns, axis=1)


def _also_in(ids: Sequence[Rows], counts: Sequence[Rows], side: int) -> Marks:
    """Return which tokens of a side are also among those of the other text of their pair."""
    of_pair = [np.repeat(np.arange(len(count)), count) for count in counts]
    numbers = [pair * len(_token_table()[0]) + own for pair, own in zip(of_pair, ids, strict=True)]
    there = np.sort(numbers[1 - side])  # np.isin hashes first, which costs many times as much
    found: Marks = there[np.searchsorted(there, numbers[side]).clip(max=len(there) - 1)] == numbers[side]
    return found


def _side(best: Matrix, ids: Rows, same: Marks, counts: Rows) -> Mapping[str, Floats]:
    """Return the features of one side, each [pairs].

    Takes the cosine of each token with the nearest of the other text, text after text, the ids of the tokens, whether
    the other text has the same token, and the number of tokens of each text.
    """
    weights, digits = _token_table()
    weight, digit, begins = weights[ids], digits[ids], np.cumsum(counts) - counts
    total, left = _sums(weight, counts), _sums(weight, counts, best < _NEAR)
    columns = {
        "covered": _products(best, weight, counts) / total,
        "least": np.minimum.reduceat(best, begins),
        "left": left,
        "left_share": left / total,
        "best": _mean_of_best(best, counts),
        "same": _sums(weight, counts, same) / total,
        "other_digits": np.add.reduceat(digit & ~same, begins, dtype=np.int64),
        "digits": np.add.reduceat(digit, begins, dtype=np.int64),
        "heaviest": np.maximum.reduceat(best * weight, begins),
        "first": best[begins],
    }
    return {name: column.astype(np.float64) for name, column in columns.items()}


def _of_one_length(counts: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield the runs of each length but 0, and the places of their values, [runs, length]."""
    begins = np.cumsum(counts) - counts
    for length in np.unique(counts[counts > 0]):
        runs = np.flatnonzero(counts == length)
        yield runs, begins[runs][:, np.newaxis] + np.arange(length)


def _sums(values: Matrix, counts: Rows, chosen: Marks | None = None) -> Floats:
    """Return the sum of each run of `counts` values, or of the chosen ones, as if it were added up alone."""
    if chosen is not None:
        counts = np.add.reduceat(chosen, np.cumsum(counts) - counts, dtype=np.int64)
        values = values[chosen]
    result = np.zeros(len(counts))
    for runs, places in _of_one_length(counts):
        result[runs] = values[places].sum(axis=1)
    return result


def _products(one: Matrix, other: Matrix, counts: Rows) -> Floats:
    """Return the product of each run of two vectors."""
    result = np.zeros(len(counts))
    for runs, places in _of_one_length(counts):
        result[runs] = np.vecdot(one[places], other[places])
    return result


def _mean_of_best(values: Matrix, counts: Rows) -> Floats:
    """Return the mean of the `_BEST` largest of each run; they are added up from the least."""
    result = np.zeros(len(counts))
    for runs, places in _of_one_length(counts):
        of_runs = values[places]
        rest = max(of_runs.shape[1] - _BEST, 0)
        result[runs] = np.sort(np.partition(of_runs, rest, axis=1)[:, rest:], axis=1).mean(axis=1)
    return result
