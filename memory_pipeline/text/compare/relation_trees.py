"""The trees that judge pairs of memories, and the features they read.

Boosted trees (Friedman 2001) over what two memories share in words (`relation_features`), how near their vectors are
among all others (`rivals`), how their tokens align (`alignment`), and what kinds of sentences they are
(`sentence_sides`). Pairs that these leave possible are judged by second trees, which also read what the reader says of
the two texts together, and of rival pairs (`pair_context`). Both were grown on made-up memories
(`research/fit_trees.py`) and are kept as plain arrays in `models/`. Not here: what follows from a probability
(`relation_model`).
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.arrays import Floats, Integers, Rows, fingerprints, places, softmax
from memory_pipeline.text.compare import alignment, pair_context, relation_features, rivals, sentence_sides
from memory_pipeline.text.compare.closeness import Answers, anew
from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.compare.relation_reading import Reading

FIRST: Final = "relation_trees"
SECOND: Final = "pair_trees"
"""Names of the two models."""
POSSIBLE: Final = 0.018
"""Probability of any relation, by the first trees, from which a pair may be read."""
MOST_READ: Final = 3
"""Maximum number of pairs that are read of each newer memory: what it changes may have been said more than once."""
PARTIAL: Final = "partial"
"""An update of a part of the older memory, where the rest of it still holds; `RELATIONS` counts it as an update."""
OF_PAIRS: Final = (*RELATIONS[:-1], PARTIAL, RELATIONS[-1])
"""What the trees tell apart."""
SCORES: Final = tuple(f"reader_{relation}" for relation in (*RELATIONS, PARTIAL))
"""Names of the features that only the second trees read (`encoder.PairReader`)."""
_OWN: Final = ("log_days", "same_speaker", "same_session", "log_length_old", "log_length_new")
_OF_FIRST: Final = (*relation_features.NAMES, *_OWN, *rivals.NAMES, *alignment.NAMES, *sentence_sides.NAMES)
NAMES: Final = (*_OF_FIRST, *SCORES, *pair_context.NAMES)
"""Names of the features of the second trees; those of the first come first."""
ANSWER: Final = len(OF_PAIRS)
"""Numbers of an answer about a pair."""
_DIGITS: Final = 6
"""Decimals of a feature: which other profiles are judged beside one changes the order of its sums, and nothing else."""
_AT_ONCE: Final = 128
"""Pairs that go through the trees together; more take longer, as less of them is near the processor."""
_SIEVE: Final = 225
"""The first of the trees, which see of most pairs that they are unrelated."""
_UNLIKELY: Final = 0.345
"""Share of all relations by these trees below which a pair goes through no more of them. Of 71,150 pairs of 97 stores
all trees leave .145 possible (`POSSIBLE`), of which one in 1,000 has less than that; .38 of all have as much."""
_AT_MOST: Final = 0.0027
"""Mean probability of any relation, by all trees, of pairs with about that share."""
_DAY: Final = 86_400_000_000
"""Microseconds."""


class Tests(NamedTuple):
    """All tests of the trees side by side: none waits for the outcome of another, as steps down a tree would.

    A test that fails rules out the leaves to its left; the first leaf that none rules out is the one a pair reaches
    (QuickScorer, Lucchese et al. 2015).
    """

    feature: Rows
    """[tests, trees]; a tree of fewer tests has some that never fail."""
    thresholds: tuple[Floats, ...]
    """All thresholds of each feature, ascending."""
    most: NDArray[np.unsignedinteger]
    """[tests, trees, 1]: a pair whose feature is above more of its thresholds than this fails."""
    ruled_out: NDArray[np.unsignedinteger]
    """[tests, trees, 1]: the leaves that failing rules out, a bit each, the first the lowest."""
    value: Floats
    """[trees, leaves]: of the leaves from left to right."""

    def of(self, trees: slice) -> "Tests":
        """Return the tests of some of the trees."""
        few = {name: getattr(self, name)[:, trees] for name in ("feature", "most", "ruled_out")}
        return self._replace(**few, value=self.value[trees])


class Trees(NamedTuple):
    """Trees as arrays over all nodes: a node with feature -1 is a leaf."""

    names: tuple[str, ...]
    """Names of the features, in the order of the columns."""
    roots: Rows
    """First node of each tree; trees of the relations take turns, in the order of `OF_PAIRS`."""
    feature: Rows
    threshold: Floats
    """A pair whose feature is at most the threshold goes left."""
    left: Rows
    right: Rows
    value: Floats
    known: Floats
    """[relations but the last, knots]: scores at which the share of right pairs was measured on stores left out."""
    share: Floats
    """[relations but the last, knots]: that share."""
    tests: Tests
    """The same trees by their tests."""


@cache
def trees(name: str = FIRST) -> Trees:
    """Return trees that ship with the package: `FIRST` or `SECOND`."""
    path = resources.files("memory_pipeline") / "models" / f"{name}.npz"
    with resources.as_file(path) as file, np.load(file) as stored:
        return loaded(dict(stored))


def loaded(stored: dict[str, NDArray[np.generic]]) -> Trees:
    """Return the trees of the arrays of a file."""
    whole, real = ("roots", "feature", "left", "right"), ("threshold", "value", "known", "share")
    arrays = {name: stored[name].astype(np.int64) for name in whole} | {
        name: stored[name].astype(np.float64) for name in real
    }
    nodes = [arrays[name] for name in ("roots", "feature", "threshold", "left", "right", "value")]
    return Trees(names=tuple(str(stored["names"]).split()), **arrays, tests=_tests(*nodes))  # type: ignore[arg-type]


def features(reading: Reading, pairs: tuple[Rows, Rows], words: Floats, closeness: Floats, kinds: Floats) -> Floats:
    """Return the features that the first trees read of pairs of memories, by row of older and newer, [pairs, names].

    `words` are `relation_features`, [pairs, names]; `closeness` are those of the vectors, [pairs, `rivals.NAMES` and
    `alignment.NAMES`]; `kinds` is what the reader says of the sentences of all memories.
    """
    memories, (older, newer) = reading.memories, pairs
    at = memories["since"].dt.epoch("us").to_numpy()
    length = np.log1p(memories["content"].str.len_chars().fill_null(0).to_numpy())
    ends = [memories.select("speaker", "session_id")[side] for side in pairs]
    same = [
        ends[0]["speaker"].eq_missing(ends[1]["speaker"]).to_numpy(),
        (ends[0]["session_id"] == ends[1]["session_id"]).fill_null(value=False).to_numpy(),
    ]
    own = [np.log1p(np.maximum(at[newer] - at[older], 0) / _DAY), *same, length[older], length[newer]]
    sides = sentence_sides.features(kinds, older, newer)
    columns = np.concatenate([words.T, np.stack(own), closeness.T, sides.T])
    columns.round(_DIGITS, out=columns)
    return columns.T


def second_features(known: Floats, first: Floats, scores: Floats, pairs: tuple[Rows, Rows]) -> Floats:
    """Return the features that the second trees read of pairs, [pairs, `NAMES`].

    Takes those of `features`, what the first trees say, [pairs, `RELATIONS`], what the reader says of the two texts,
    [pairs, `SCORES`], and the rows of the older and newer memories.
    """
    return np.concatenate([known, scores, pair_context.features(first, scores, pairs)], axis=1)


def first_probabilities(table: Floats, answers: Answers = anew) -> Floats:
    """Return the probability of each of `OF_PAIRS` by the first trees, [pairs, relations].

    As `probabilities`, but of a pair that a tenth of the trees finds unlikely the rest is estimated: it is about the
    eighth power of the share of all relations by these, which orders such pairs nearly as all trees do. Cost: 0.01 ms
    per pair, 0.025 ms if it was not asked about before.
    """
    grown = trees()
    above = _above(_columns(table, grown), grown.tests)
    return answers(np.arange(len(table)), fingerprints(above.T), lambda some: _first(above[:, some], grown))


def asked(table: Floats, grown: Trees, *others: Integers) -> Integers:
    """Return the fingerprint of all that trees read of each row of a table, and of other numbers of each.

    Trees compare features with their thresholds, so rows on the same sides of all of these reach the same leaves.
    """
    above = _above(_columns(table, grown), grown.tests).T.astype(np.uint64)
    return fingerprints(np.concatenate([above, np.stack(others, axis=1).view(np.uint64)], axis=1))


def _first(above: NDArray[np.unsignedinteger], grown: Trees) -> Floats:
    """Return the probabilities by the first trees, by what `_above` returns."""
    result = softmax(_sums(above, grown.tests.of(slice(_SIEVE))))
    related = 1.0 - result[:, -1]
    likely = np.flatnonzero(related >= _UNLIKELY)
    result *= (_AT_MOST / _UNLIKELY * (related / _UNLIKELY) ** 7)[:, np.newaxis]  # their sum: the eighth power
    result[:, -1] = 1.0 - result[:, :-1].sum(axis=1)
    result[likely] = calibrated(softmax(_sums(above[:, likely], grown.tests)), grown)
    return result


def probabilities(table: Floats, grown: Trees) -> Floats:
    """Return the probability of each of `OF_PAIRS` by trees, [pairs, relations], from the first of `NAMES` or all.

    The probability of a relation is the share of right ones among pairs of that score on stores left out, so the rest
    is `unrelated`, and a row adds up to one. Raises ValueError: a feature of the trees is missing. Cost: about 0.04 ms
    per pair.
    """
    return calibrated(scores(_columns(table, grown), grown), grown)


def _columns(table: Floats, grown: Trees) -> list[Floats]:
    """Return the features that trees read, in their order, each [pairs], of a table of the first of `NAMES` or all."""
    names = NAMES[: table.shape[1]]
    if missing := sorted(set(grown.names) - set(names)):
        raise ValueError(f"the trees read {', '.join(missing)}, which nothing computes; grow them anew")
    return [table[:, names.index(name)] for name in grown.names]


def merged(probability: Floats) -> Floats:
    """Return the probability of each of `RELATIONS`, from that of each of `OF_PAIRS`."""
    result = probability[:, [OF_PAIRS.index(relation) for relation in RELATIONS]]
    result[:, RELATIONS.index("update")] += probability[:, OF_PAIRS.index(PARTIAL)]
    return result


def whole(scores: Floats) -> Floats:
    """Return the share of an update's probability, by the reader, that all of the older memory is outdated.

    Takes its scores of pairs, [pairs, `SCORES`].
    """
    part, all_of_it = (scores[:, SCORES.index(f"reader_{name}")] for name in (PARTIAL, "update"))
    return 1.0 / (1.0 + np.exp(part - all_of_it))


def worth_reading(probability: Floats, newer: Rows) -> Rows:
    """Return the places of the pairs that the second trees judge: of each newer memory the likeliest possible ones."""
    related = np.round(probability[:, :-1].sum(axis=1), 9)
    likeliest = ranked(related, newer) < MOST_READ
    return np.flatnonzero(likeliest & (related >= POSSIBLE))


def ranked(related: Floats, newer: Rows) -> Rows:
    """Return the rank of each pair among those of its newer memory, 0 for the likeliest, the earlier of equal ones."""
    order = np.lexsort((np.arange(len(newer)), -related, newer))
    rank = np.empty(len(newer), dtype=np.int64)
    rank[order] = places(newer[order])
    return rank


def calibrated(raw: Floats, grown: Trees) -> Floats:
    """Return the probability of each of `OF_PAIRS`, [pairs, relations], of the scores of trees."""
    shares = np.stack([np.interp(raw[:, one], grown.known[one], grown.share[one]) for one in range(raw.shape[1] - 1)])
    total = shares.sum(axis=0)
    shares = np.where(total > 1, shares / np.maximum(total, 1), shares)
    result: Floats = np.concatenate([shares, 1 - shares.sum(axis=0, keepdims=True)]).T
    return result


def scores(columns: Sequence[Floats], grown: Trees) -> Floats:
    """Return the softmax of the sums of the trees' leaves, [pairs, relations], of their features, each [pairs]."""
    return softmax(_sums(_above(columns, grown.tests), grown.tests))


def _above(columns: Sequence[Floats], tests: Tests) -> NDArray[np.unsignedinteger]:
    """Return how many of the thresholds of each feature pairs are above, [features, pairs]."""
    above = np.zeros((len(columns), len(columns[0])), dtype=tests.most.dtype)
    for feature, thresholds in enumerate(tests.thresholds):
        above[feature] = np.searchsorted(thresholds, columns[feature])
    return above


def _sums(above: NDArray[np.unsignedinteger], tests: Tests) -> Floats:
    """Return the sums of the leaves that pairs reach, [pairs, `OF_PAIRS`], by what `_above` returns."""
    count, leaves = tests.value.shape
    values, first = tests.value.ravel(), np.arange(count) * leaves
    sums = [np.zeros((0, len(OF_PAIRS)))]
    for start in range(0, above.shape[1], _AT_ONCE):
        some = above[:, start : start + _AT_ONCE]
        ruled_out = np.zeros((count, some.shape[1]), dtype=tests.ruled_out.dtype)
        for feature, most, left in zip(tests.feature, tests.most, tests.ruled_out, strict=True):
            ruled_out |= (some[feature] > most) * left
        before = np.bitwise_count(ruled_out & ~(ruled_out + ruled_out.dtype.type(1)))
        sums.append(values[before.T + first].reshape(some.shape[1], -1, len(OF_PAIRS)).sum(axis=1))
    return np.concatenate(sums)


def _tests(roots: Rows, feature: Rows, threshold: Floats, left: Rows, right: Rows, value: Floats) -> Tests:
    """Return the tests of trees of at most 64 leaves each; the arguments are those of `Trees`."""
    levels = [roots]
    while len(inner := levels[-1][feature[levels[-1]] >= 0]):
        levels.append(np.concatenate([left[inner], right[inner]]))
    leaves, first, tree = np.ones_like(feature), np.zeros_like(feature), np.zeros_like(feature)
    tree[roots] = np.arange(len(roots))
    inner_levels = [level[feature[level] >= 0] for level in levels]
    for inner in reversed(inner_levels):
        leaves[inner] = leaves[left[inner]] + leaves[right[inner]]
    for inner in inner_levels:
        tree[left[inner]] = tree[right[inner]] = tree[inner]
        first[left[inner]], first[right[inner]] = first[inner], first[inner] + leaves[left[inner]]
    widest = int(leaves[roots].max())
    inner, ends = (np.flatnonzero((feature >= 0) == whether) for whether in (True, False))
    inner = inner[np.argsort(tree[inner], kind="stable")]
    cell = places(tree[inner]), tree[inner]
    shape = (widest - 1, len(roots))
    thresholds = tuple(np.unique(threshold[inner][feature[inner] == one]) for one in range(feature.max() + 1))
    numbers = np.min_scalar_type(max(map(len, thresholds)) + 1)
    bits = np.min_scalar_type((1 << widest) - 1)
    result = Tests(
        feature=np.zeros(shape, dtype=np.int64),
        thresholds=thresholds,
        most=np.full((*shape, 1), np.iinfo(numbers).max, dtype=numbers),
        ruled_out=np.zeros((*shape, 1), dtype=bits),
        value=np.zeros((len(roots), widest)),
    )
    result.feature[cell] = feature[inner]
    for at, of_feature in enumerate(thresholds):
        here = feature[inner] == at
        result.most[*(part[here] for part in cell), 0] = np.searchsorted(of_feature, threshold[inner][here])
    one = bits.type(1)
    result.ruled_out[*cell, 0] = ((one << leaves[left[inner]].astype(bits)) - one) << first[inner].astype(bits)
    result.value[tree[ends], first[ends]] = value[ends]
    return result
