"""Cuts the passage that answers a query out of a long text, to be shown instead of the whole.

Not here: the passages by which memories are found and ranked (`index/passages`).
"""

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import SIZE
from memory_pipeline.recall.index.postings import Postings
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.text.arrays import Floats, Integers, Marks
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.parse.tokens import count_tokens

LONGEST: Final = 112
"""Greatest size of a text that is shown whole, and of a passage (see `size`)."""
_CHARACTERS: Final = 11
"""Characters that count as one token where tokens are longer, as in encoded data."""
_INSIDE: Final = 1.5
"""Factor for sentences of the passage by which the memory was found."""
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_PIECE: Final = re.compile(rf"(?:\s*(?:\w+|[^\w\s])){{1,{SIZE}}}\s*")
"""Part of a sentence that is longer than a passage, such as a line of a table or of JSON."""


def size(tokens: int, text: str) -> int:
    """Return how much room a text of so many tokens takes: its tokens, or more if they are very long."""
    return max(tokens, len(text) // _CHARACTERS)


def cut(
    index: Index, question: Question, text: str, language: str | None, found: int | None = None, longest: int = LONGEST
) -> tuple[str, dict[str, str | int]]:
    """Return the passage of a long text that has most of the query's words, and the fields of its `models.Passage`.

    Words count by their rarity in the store, each once; of equals, the first passage is taken, so that a text without
    the query's words is represented by its beginning. The sentences around it are added while it stays within
    `longest`; the best one is there even if it is longer. `found` is the passage of the index, counted from the first
    of the text, by which the memory was found.
    """
    units, sizes, places = _units(text, language)
    starts = [0, *accumulate(map(len, units))]
    values = _values(index, question, units, language)
    if found is not None:
        inside = places == found
        values = np.where(inside, values * _INSIDE, values) if values.any() else inside.astype(np.float64)
    first, last = _around(values, sizes, longest)
    passage = text[starts[first] : starts[last + 1]]
    start = starts[first] + len(passage) - len(passage.lstrip())
    passage = passage.strip()
    whole = count_tokens(pl.Series([text])).item()
    where = {"heading": _heading(text, start), "start": start, "end": start + len(passage), "whole_tokens": whole}
    return passage, where


def _units(text: str, language: str | None) -> tuple[list[str], list[int], Integers]:
    """Split a text into sentences and pieces of long ones, which join to it; with their sizes and index passages."""
    split = split_sentences(pl.Series([text]), pl.Series([language], dtype=pl.String))["sentence"]
    tokens = count_tokens(split)
    _, place = np.unique((tokens.cum_sum() - tokens).to_numpy() // SIZE, return_inverse=True)
    units, places = list[str](), list[int]()
    for sentence, length, at in zip(split.to_list(), tokens.to_list(), place.tolist(), strict=True):
        pieces = [sentence] if size(length, sentence) <= SIZE else _pieces(sentence)
        units += pieces
        places += [at] * len(pieces)
    counts = count_tokens(pl.Series(units, dtype=pl.String)).to_list()
    return units, list(map(size, counts, units)), np.array(places, dtype=np.int64)


def _pieces(sentence: str) -> list[str]:
    """Cut a sentence between words, and words that are longer than a passage anywhere."""
    most = SIZE * _CHARACTERS
    pieces = _PIECE.findall(sentence) or [sentence]
    return [piece[start : start + most] for piece in pieces for start in range(0, len(piece), most)]


def share(index: Index, question: Question, text: str, language: str | None) -> float:
    """Return the share of the query's words, by their weight, that a text has; 0 for a query without words."""
    weights = _weights(index, question)
    shared = _shared(question, [text], language)[0]
    return float(weights[shared].sum() / weights.sum()) if shared.any() else 0.0


def _weights(index: Index, question: Question) -> Floats:
    """Return the weight of each of the query's words."""
    return question.emphasis * index.postings.rarity(index.postings.frequencies(question.keys))


def _shared(question: Question, units: list[str], language: str | None) -> Marks:
    """Return which of the query's words each unit has, [units, words]."""
    shares = np.zeros((len(units), len(question.keys)), dtype=np.bool_)
    local = Postings.build(pl.Series(units, dtype=pl.String), pl.Series([language] * len(units), dtype=pl.String))
    word, unit, _ = local.of_words(question.keys)
    shares[unit, word] = True
    return shares


def _values(index: Index, question: Question, units: list[str], language: str | None) -> Floats:
    """Return the weight of the query's words in each unit; those of its neighbours count half."""
    weights, shares = _weights(index, question), _shared(question, units, language)
    own = shares @ weights
    near = np.zeros_like(shares)
    near[1:] |= shares[:-1]
    near[:-1] |= shares[1:]
    return np.asarray(own + 0.5 * ((near & ~shares) @ weights) * (own > 0), dtype=np.float64)


def _around(values: Floats, sizes: list[int], longest: int) -> tuple[int, int]:
    """Return the first and the last unit of the passage around the best: later ones are added before earlier ones."""
    first = last = int(np.argmax(values))
    room = longest - sizes[first]
    grown = True
    while grown:
        grown = False
        if last + 1 < len(sizes) and sizes[last + 1] <= room:
            last += 1
            room -= sizes[last]
            grown = True
        if first and sizes[first - 1] <= room:
            first -= 1
            room -= sizes[first]
            grown = True
    return first, last


def _heading(text: str, position: int) -> str:
    """Return the Markdown headings above a position of a text."""
    found = list(_HEADING.finditer(text))
    path = list[tuple[int, str]]()
    for heading in found[: bisect_right([heading.start() for heading in found], position)]:
        level = len(heading[1])
        path = [(outer, name) for outer, name in path if outer < level] + [(level, heading[2].rstrip(" \t\r#"))]
    return " \u203a ".join(name for _, name in path)
