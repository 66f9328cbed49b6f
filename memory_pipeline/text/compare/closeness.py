"""What the reader's vectors say of memories: which are worth comparing, and how close two of them are.

Not here: the encoder (`text/embed/encoder`), the features themselves (`rivals`, `alignment`), and what follows from
them (`relation_trees`).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Floats, Integers, Matrix, Rows
from memory_pipeline.text.compare import alignment, relation_candidates, rivals
from memory_pipeline.text.compare.relation_reading import Reading
from memory_pipeline.text.embed.embedding import attributed
from memory_pipeline.text.embed.encoder import encoder, pair_reader
from memory_pipeline.text.score import core_facts, sentence_kinds

DIGITS: Final = 2
"""Decimals of the reader's scores: differences of rounding between processors lie far below."""


Answers = Callable[[Rows, Integers, Callable[[Rows], Floats]], Floats]
"""Takes places of pairs, fingerprints of all that an answer about each depends on, and what answers for some of these;
returns the answers, [places, `relation_trees.ANSWER`], as found now or before."""


def anew(pairs: Rows, asked: Integers, answer: Callable[[Rows], Floats]) -> Floats:  # noqa: ARG001 - the interface
    """Answer as if nothing had been asked before: `Answers`."""
    return answer(np.arange(len(pairs)))


class Closeness(NamedTuple):
    """What the reader says of pairs of memories."""

    table: Floats
    """[pairs, `rivals.NAMES` and `alignment.NAMES`]"""
    scores: Callable[[Rows], Floats]
    """Takes places of pairs; returns what it says of the two texts together, [places, `relation_trees.SCORES`]."""
    kinds: Floats
    """What it says of the sentences of all memories, [memories, `sentence_kinds.WIDTH`]."""
    answers: Answers = anew
    """What trees that read all this answer about pairs."""


def candidates(reading: Reading, vectors: Matrix, profile: Rows) -> tuple[Rows, Rows]:
    """Return pairs worth judging, (older, newer) rows: the nearest vectors, and those that share most words.

    The memories are read by profile, whose ascending number each has, and by time; the vectors are unit vectors.
    """
    sharing = np.stack(relation_candidates.candidates(reading), axis=1)
    return relation_candidates.each_once(np.concatenate([sharing, rivals.nearest(vectors, profile)]), len(vectors))


def scores(texts_of: pl.Series, older: Rows, newer: Rows) -> Floats:
    """Return what the reader says of pairs of texts together, [pairs, `relation_trees.SCORES`]."""
    pairs = zip(texts_of.gather(older).to_list(), texts_of.gather(newer).to_list(), strict=True)
    result: Floats = pair_reader().read(list(pairs)).astype(np.float64).round(DIGITS)
    return result


def kinds(numbers: pl.Series) -> Floats:
    """Return the mean of what `core_facts.read` says of the sentences of each text, [texts, `sentence_kinds.WIDTH`]."""
    result = np.zeros((len(numbers), sentence_kinds.WIDTH))
    texts, read = core_facts.unpacked(numbers)
    np.add.at(result, texts, read)
    counts = np.bincount(texts, minlength=len(numbers))
    means: Floats = (result / np.maximum(counts, 1)[:, np.newaxis]).round(DIGITS)
    return means


def table(vectors: Matrix, profile: Rows, older: Rows, newer: Rows, aligned: Floats) -> Floats:
    """Return all that the vectors say of pairs, [pairs, `rivals.NAMES` and `alignment.NAMES`]."""
    return np.concatenate([rivals.features(vectors, profile, older, newer), aligned], axis=1)


def of_few(reading: Reading, older: Rows, newer: Rows, numbers: pl.Series) -> Closeness:
    """Return what the reader says of pairs of a few memories of one profile, as if there were no others.

    `numbers` is what `core_facts.read` returns for them. Cost: 10 ms per memory, and 20 ms per pair whose scores
    are asked for.
    """
    read_of = attributed(reading.memories)
    read = list(encoder().read(read_of.to_list()))
    aligned = alignment.aligned([one.tokens for one in read], older, newer)
    vectors, profile = np.stack([one.vector for one in read]), np.zeros(len(read), dtype=np.int64)
    near = table(vectors, profile, older, newer, aligned)
    return Closeness(near, lambda places: scores(read_of, older[places], newer[places]), kinds(numbers))
