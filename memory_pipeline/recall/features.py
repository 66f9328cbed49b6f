"""Features: what speaks for a memory as the answer to a question, each between 0 and 1.

Worked out for a few hundred candidates: the best by words, by the words around them, by vector and by date. What is not
here: the weights (`models/ranking.toml`) and what is done with a ranking (`ranking`, `selecting`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index import Index
from memory_pipeline.recall.matching import Match, over_top
from memory_pipeline.recall.pieces import CUES
from memory_pipeline.recall.questions import Question
from memory_pipeline.text.embedding import HashingEmbedder

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

FEATURES: Final = {
    "lexical": "BM25 of the words, over that of the best candidate",
    "cosine": "cosine of the vectors, over the range of the candidates",
    "before": "words of the memory before it in the session",
    "after": "words of the memory behind it in the session",
    "reply": "words of the assistant's reply to it",
    "window": "share of the question's words in it and around it, nearer ones more",
    "session": "words of the session as a whole",
    "topic": "share of the question's words that stand somewhere in the session",
    "answer": "it follows a question that has the question's words, and is none itself",
    "speaker": "the one asked about says it",
    "dates": "it speaks of a date in the question",
    "said": "it was said at a date in the question or soon after",
    "kind": "it has a sign of the kind of answer asked for",
    "wish": "it states a standing wish, and the question asks for help",
    "denial": "it denies what a question to be answered by yes or no asks for: share of the question's words in it",
    "avowal": "it says of oneself, without denial, what such a question asks for: share of the words in it",
    "telling": "how much it says: its content words",
    "facts": "it states facts: the first person, names, numbers, dates",
    "statement": "it is no question",
}
"""Features by name, and what speaks in each."""
CANDIDATES: Final = 300
_WINDOW: Final = ((1, 0.6), (-1, 0.6), (2, 0.4), (-2, 0.4), (3, 0.25), (-3, 0.25))
"""How far the words of neighbours count."""
_CUE: Final = {name: place for place, name in enumerate(CUES)}
_PLACE: Final = {name: place for place, name in enumerate(FEATURES)}
_TOLD_LATER: Final = 7
"""Days after a date in which one still speaks of it."""
_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidates and what is known of them.

    Attributes:
        rows: memories.
        whole: [memories, features] of each memory as a whole.
        pieces: [pieces, features] of the pieces of those that have several.
        owner: of each piece its place in `rows`.
    """

    rows: Integers
    whole: Floats
    pieces: Floats
    owner: Integers

    def feature(self, name: str) -> Floats:
        """One feature of the memories as wholes."""
        return self.whole[:, _PLACE[name]]

    def scored(self, weights: Floats) -> tuple[Floats, Floats]:
        """Score of each candidate, 0..1, and its features: of a long one the mean of its best piece and the whole."""
        values = self.whole.copy()
        if len(self.owner):
            own = self.pieces @ weights
            order = np.lexsort((-np.arange(len(own)), own, self.owner))
            last = np.flatnonzero(np.append(self.owner[order][1:] != self.owner[order][:-1], True))
            best = order[last]
            values[self.owner[best]] = 0.5 * (values[self.owner[best]] + self.pieces[best])
        reach = max(float(np.maximum(weights, 0.0).sum()), 1e-9)
        return np.clip((values @ weights) * (1.0 / reach), 0.0, 1.0), values


def candidates(index: Index, question: Question, allowed: Marks, vector: NDArray[np.float32]) -> Candidates:
    """Choose candidates among the allowed memories and work out their features.

    Args:
        index: the memories.
        question: what is asked.
        allowed: memories that may be chosen.
        vector: the query's vector. Vectors made of words alone choose no candidates: the words do that already.
    """
    match = Match.of(index, question)
    said = _said(index, question)
    rows = _chosen(index, question, allowed, vector, match, said)
    cosines = index.vectors.cosines_of(rows, vector)
    around = _around(index, question, rows, match, cosines, said)
    whole_tokens = index.pieces.totals(rows)
    whole = _values(
        question, match, match.shares[rows].astype(np.float64), *_marks(index, question, rows), whole_tokens, around
    )
    first, last = index.pieces.bounds(rows)
    long = np.flatnonzero(last - first > 1)
    sizes = (last - first)[long]
    owner = np.repeat(long, sizes)
    pieces = np.repeat(first[long] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    shares = match.of_pieces(index, pieces)
    own = _values(
        question,
        match,
        shares,
        index.pieces.cues[pieces],
        _mentions(index, question)[pieces],
        index.postings.lengths[pieces],
        {name: values[owner] for name, values in around.items()},
    )
    return Candidates(rows, whole, own, owner)


def _chosen(
    index: Index, question: Question, allowed: Marks, vector: NDArray[np.float32], match: Match, said: Marks
) -> Integers:
    """The best by a first look."""
    first = over_top(match.lexical) + 0.3 * over_top(_beside(index, match.lexical))
    if index.model != HashingEmbedder.name:
        first += 0.5 * np.nan_to_num(index.vectors.cosines(vector), nan=0.0)
    if len(question.spans):
        first += 0.2 * said
    if question.speakers:
        first += 0.1 * index.says(question.speakers)
    first[~allowed] = -np.inf
    count = min(CANDIDATES, int(allowed.sum()))
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    edge = np.partition(first, len(first) - count)[len(first) - count]
    return np.flatnonzero((first >= edge) & allowed)


def _values(
    question: Question,
    match: Match,
    shares: Floats,
    cues: Marks,
    spoken: Floats,
    lengths: Floats,
    around: dict[str, Floats],
) -> Floats:
    """Features of units, given the shares of the question's words in them, their cues and what is around them."""
    values = np.zeros((len(shares), len(FEATURES)))

    def put(name: str, column: Floats | Marks) -> None:
        values[:, _PLACE[name]] = column

    put("lexical", over_top(shares @ match.weights))
    for name, column in around.items():
        put(name, column)
    statement = ~cues[:, _CUE["asks"]]
    put("answer", around["answer"] * statement)
    put("dates", spoken)
    if question.kind == "wish":
        put("wish", cues[:, _CUE["wish"]])
    elif question.kind:
        put("kind", cues[:, _CUE[question.kind]])
    if question.polar:
        share = (shares > 0) @ match.weights * (1.0 / max(float(match.weights.sum()), 1e-9))
        denies = cues[:, _CUE["denies"]]
        put("denial", share * denies)
        put("avowal", share * (cues[:, _CUE["first_person"]] & ~denies))
    put("telling", np.minimum(1.0, np.log1p(lengths) * 0.3))
    put(
        "facts",
        np.mean([cues[:, _CUE[name]] for name in ("first_person", "name", "number", "date")], axis=0),
    )
    put("statement", statement)
    return values


def _around(
    index: Index, question: Question, rows: Integers, match: Match, cosines: Floats, said: Marks
) -> dict[str, Floats]:
    """Features that the pieces of a memory share."""
    lexical = match.lexical
    before, after = (index.sessions.neighbours(rows, step) for step in (-1, 1))
    lead, follow = (np.where(found >= 0, lexical[found], 0.0) for found in (before, after))
    window = match.shares[rows] > 0
    reached = window.astype(np.float64)
    for step, weight in _WINDOW:
        found = index.sessions.neighbours(rows, step)
        reached = np.maximum(reached, weight * ((match.shares[found] > 0) & (found >= 0)[:, np.newaxis]))
    number = index.sessions.number[rows]
    session, topic = match.by_session(index)
    known = np.isfinite(cosines)
    cosine = np.zeros(len(rows))
    if known.any():
        low, high = cosines[known].min(), cosines[known].max()
        cosine[known] = (cosines[known] - low) / max(high - low, 1e-9)
    return {
        "cosine": cosine,
        "before": over_top(lead),
        "after": over_top(np.where(index.helps(after), 0.0, follow)),
        "reply": over_top(np.where(index.helps(after), follow, 0.0)),
        "window": reached @ match.weights * (1.0 / max(float(match.weights.sum()), 1e-9)),
        "session": over_top(np.where(number >= 0, session[number], 0.0)),
        "topic": np.where(number >= 0, topic[number], 0.0),
        "answer": over_top(np.where(index.asks(before), lead, 0.0)),
        "speaker": index.says(question.speakers)[rows].astype(np.float64),
        "said": said[rows].astype(np.float64),
    }


def _beside(index: Index, lexical: Floats) -> Floats:
    """Words of the direct neighbours of every memory."""
    near = np.zeros(len(lexical))
    hit = np.flatnonzero(lexical)
    for step in (-1, 1):
        found = index.sessions.neighbours(hit, step)
        there = found >= 0
        near[found[there]] += lexical[hit[there]]
    return near


def _marks(index: Index, question: Question, rows: Integers) -> tuple[Marks, Floats]:
    """Cues and dates of whole memories: those of any piece."""
    first, last = index.pieces.bounds(rows)
    sizes = last - first
    pieces = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    starts = np.cumsum(sizes) - sizes
    if not len(rows):
        return np.zeros((0, len(CUES)), dtype=np.bool_), np.zeros(0)
    spoken = _mentions(index, question)[pieces]
    return np.logical_or.reduceat(index.pieces.cues[pieces], starts), np.maximum.reduceat(spoken, starts)


def _said(index: Index, question: Question) -> Marks:
    """Memories stored within a date of the question, or soon after."""
    found = np.zeros(len(index.created), dtype=np.bool_)
    for start, end in question.spans:
        found |= (index.created >= start * _DAY) & (index.created < (end + _TOLD_LATER) * _DAY)
    return found


def _mentions(index: Index, question: Question) -> Floats:
    """How well the dates of which each piece speaks fit those in the question."""
    marked = np.zeros(len(index.pieces.row))
    spans = index.pieces.spans
    for start, end in question.spans:
        fits = (spans[:, 1] < end) & (spans[:, 2] > start)
        shared = np.minimum(spans[fits, 2], end) - np.maximum(spans[fits, 1], start)
        longer = np.maximum(spans[fits, 2] - spans[fits, 1], end - start)
        np.maximum.at(marked, spans[fits, 0], np.maximum(0.5, np.sqrt(shared / np.maximum(longer, 1))))
    return marked
