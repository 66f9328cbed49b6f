"""Features: what speaks for a memory as the answer to a question, each between 0 and 1.

Worked out for a few hundred candidates: the best by words, by the words around them, by vector and by date. What is not
here: the weights (`models/ranking.toml`) and what is done with a ranking (`ranking`, `selecting`).
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import CUES, GRADED, SIZE
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank.matching import Match, over_top
from memory_pipeline.recall.rank.related_words import Related
from memory_pipeline.text.embed.embedding import HashingEmbedder

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

FEATURES: Final = {
    "lexical": "BM25 of the words, over that of the best candidate",
    "covers": "it has nearly all words of a query that only names them: 1 with all, 0 up to two thirds by weight",
    "related": "BM25 of words that go with those of the question, over that of the best candidate",
    "cosine": "cosine of the vectors, over the range of the candidates",
    "gist": "words of the question, and those that go with them, in it and around it, over that of the best candidate",
    "window": "share of the question's words in it and around it, nearer ones more",
    "nearby": "BM25 of the words in it and around it, each at its best place, nearer ones more",
    "topic": "share of the question's words that stand somewhere in the session",
    "reply": "words of the assistant's reply to it",
    "answer": "it follows a question that has the question's words, and is none itself",
    "speaker": "the one whom the question names says it",
    "role": "the user says it where the question says I, the assistant where it says you",
    "user": "not the assistant says it",
    "dates": "it speaks of a date in the question",
    "said": "it was said at a date in the question or soon after",
    "close": "how close to a date in the question it was said",
    "kind": "it has a sign of the kind of answer asked for",
    "wish": "it states a wish, and the question asks for help",
    "standing": "it states a rule for all answers, and the question asks for help or in general",
    "preference": "it states what one prefers, and the question asks for help or in general",
    "denial": "it denies what a question to be answered by yes or no asks for: share of the question's words in it",
    "avowal": "it says of oneself, without denial, what such a question asks for: share of the words in it",
    "self": "it is said in the first person",
    "telling": "how much it says that is worth keeping",
    "dense": "how much of it, for its length, is worth keeping",
    "rarity": "how rare its content words are on the mean",
    "brief": "it is no longer than a few sentences; less the longer it is",
}
"""Features by name, and what speaks in each."""
CANDIDATES: Final = 300
_STEPS: Final = (1, -1, 2, -2, 3, -3, 4, -4)
_WINDOW: Final = np.array([0.6, 0.6, 0.4, 0.4, 0.25, 0.25, 0.0, 0.0])
_NEARBY: Final = np.array([0.7, 0.7, 0.5, 0.5, 0.35, 0.35, 0.2, 0.2])
_GIST: Final = np.array([0.8, 0.8, 0.6, 0.6, 0.4, 0.4, 0.3, 0.3])
"""How much the words of neighbours so many places behind (before) count."""
_CUE: Final = {name: place for place, name in enumerate(CUES)}
_PLACE: Final = {name: place for place, name in enumerate(FEATURES)}
_TOLD_LATER: Final = 7
"""Days after a date in which one still speaks of it."""
_CLOSE: Final = 14.0
"""Days after a date in which closeness to it falls to 1/e; before it, one day."""
_LENGTHY: Final = 1.0 / float(np.log(32.0))
"""A memory 32 times as long as a piece is as long as can be told."""
_ALIKE: Final = 2
"""So many times the candidates may be equal at a first look; more are told apart by what they promise."""
RULES: Final = 3
"""So many standing rules are looked at, and come along, where help is asked for."""
_LITTLE: Final = 1e-6
"""Weight of what a memory promises beside any word, date or speaker that it shares with the question."""
_RANGE: Final = 0.25
"""Cosines of a query and of memories that have nothing to do with it may differ by so much."""
_SAID: Final = 2.0 / 3.0
"""Share of a query's words, by weight, that memories have which are about something else."""
_DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidates and what is known of them.

    Attributes:
        rows: memories.
        whole: [memories, features] of each memory as a whole.
        pieces: [pieces, features] of the pieces of those that have several.
        owner: of each piece its place in `rows`.
        share: of the question's words, by weight, that stand in each memory.
    """

    rows: Integers
    whole: Floats
    pieces: Floats
    owner: Integers
    share: Floats

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


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """What is seen in units of text, pieces or whole memories.

    Attributes:
        shares: [units, words of the question]: BM25 share of each.
        related: BM25 of words that go with them, over the best; less where a unit has nearly all that a query names.
        cues: [units, cues]: as in `CUES`.
        spoken: how well the dates of which each speaks fit those in the question.
    """

    shares: Floats
    related: Floats
    cues: NDArray[np.uint8]
    spoken: Floats

    @classmethod
    def of(cls, index: Index, question: Question, match: Match, others: Related, pieces: Integers) -> Self:
        """Look at pieces."""
        at, keys, counts = index.postings.words_of(pieces)
        shares = match.of_pieces(index, pieces, (at, keys, counts))
        unsaid = 1.0 - float(_covered(match, shares).max(initial=0.0)) if question.bare else 1.0
        return cls(
            shares,
            over_top(others.of_pieces(index, question, pieces, (at, keys), shares)) * unsaid,
            index.pieces.cues[pieces],
            _mentions(index, question)[pieces],
        )

    def some(self, places: Integers) -> Self:
        """Those at some places."""
        return type(self)(self.shares[places], self.related[places], self.cues[places], self.spoken[places])

    def best(self, starts: Integers) -> Self:
        """What the pieces of each memory show together; they begin at these places."""
        columns = (self.shares, self.related, self.cues, self.spoken)
        return type(self)(*(np.maximum.reduceat(column, starts) for column in columns))


def candidates(index: Index, question: Question, allowed: Marks, vector: NDArray[np.float32]) -> Candidates:
    """Choose candidates among the allowed memories and work out their features.

    Args:
        index: the memories.
        question: what is asked.
        allowed: memories that may be chosen.
        vector: the query's vector. Vectors made of words alone choose no candidates: the words do that already.
    """
    match = Match.of(index, question)
    others = Related.of(index, question)
    told = others.told(index, question)
    said = _said(index, question)
    rows = _chosen(index, question, allowed, vector, match, told, said)
    cosines = index.vectors.cosines_of(rows, vector)
    first, last = index.pieces.bounds(rows)
    sizes = last - first
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(rows)), sizes)
    pieces = np.repeat(first - starts, sizes) + np.arange(int(sizes.sum()))
    around = _around(index, question, rows, match, told, cosines, said)
    around["brief"] = _brief(np.add.reduceat(index.pieces.tokens[pieces], starts))
    units = _Units.of(index, question, match, others, pieces)
    wholes = units.best(starts)
    whole = _values(question, match, wholes, around)
    parts = np.flatnonzero(sizes[owner] > 1)
    own = _values(question, match, units.some(parts), {name: values[owner[parts]] for name, values in around.items()})
    return Candidates(rows, whole, own, owner[parts], _share(match, wholes.shares))


def _chosen(
    index: Index,
    question: Question,
    allowed: Marks,
    vector: NDArray[np.float32],
    match: Match,
    told: Floats,
    said: Marks,
) -> Integers:
    """The best by a first look."""
    first = over_top(match.lexical) + 0.3 * over_top(_beside(index, match.lexical)) + 0.3 * over_top(told)
    if index.model != HashingEmbedder.name:
        first += 0.5 * np.nan_to_num(index.vectors.cosines(vector), nan=0.0)
    if len(question.spans):
        first += 0.2 * said
    if question.speakers:
        first += 0.1 * index.says(question.speakers)
    count = min(CANDIDATES, int(allowed.sum()))
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    first[~allowed] = -np.inf
    best = _best(first, count)
    if len(best) > _ALIKE * count:
        best = _best(first + _LITTLE * _promising(index, question), count)
    return np.union1d(best, _rules(index, first)) if question.kind == "wish" else best


def _best(values: Floats, count: int) -> Integers:
    """Places of the largest so many finite values, and of those that equal the least of them."""
    edge = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= edge)


def _rules(index: Index, first: Floats) -> Integers:
    """Of the standing rules the best by a first look: some apply to all help, and share no word with a question."""
    pieces = index.pieces
    rules = np.unique(pieces.row[pieces.cues[:, _CUE["standing"]] > 0])
    rules = rules[np.isfinite(first[rules]) & ~index.helps(rules)]
    return rules[np.argsort(-first[rules], kind="stable")[:RULES]]


def _promising(index: Index, question: Question) -> Floats:
    """What can be seen in memories without a word of the question: how much each tells, and of the kind asked for.

    Cost: 2 ms for 100,000.
    """
    signs = ["telling", "dense", "rarity"]
    seen = index.pieces.cues[:, [_CUE[name] for name in signs]].sum(axis=1) * (0.01 / len(signs))
    wanted = [question.kind] if question.kind else []
    wanted += ["standing", "preference"] if question.open else []
    for name in wanted:
        seen += index.pieces.cues[:, _CUE[name]]
    found = np.zeros(index.memories.height)
    np.maximum.at(found, index.pieces.row, seen)
    return found


def _values(question: Question, match: Match, units: _Units, around: dict[str, Floats]) -> Floats:
    """Features of units, given what is seen in them and around them."""
    shares, cues = units.shares, units.cues
    values = np.zeros((len(shares), len(FEATURES)))

    def put(name: str, column: Floats | Marks | NDArray[np.uint8]) -> None:
        values[:, _PLACE[name]] = column

    put("lexical", over_top(shares @ match.weights))
    put("related", units.related)
    for name, column in around.items():
        put(name, column)
    statement = cues[:, _CUE["asks"]] == 0
    put("answer", around["answer"] * statement)
    put("dates", units.spoken)
    if question.kind == "wish":
        put("wish", cues[:, _CUE["wish"]])
    elif question.kind:
        put("kind", cues[:, _CUE[question.kind]])
    if question.open:
        for name in ("standing", "preference"):
            put(name, cues[:, _CUE[name]] * around["user"])
    if question.bare:
        put("covers", _covered(match, shares))
    if question.polar:
        share = _share(match, shares)
        denies = cues[:, _CUE["denies"]] > 0
        put("denial", share * denies)
        put("avowal", share * (cues[:, _CUE["first_person"]] * ~denies))
    put("self", cues[:, _CUE["first_person"]])
    for name in GRADED:
        put(name, cues[:, _CUE[name]].astype(np.float64) * 0.01)
    return values


def _around(
    index: Index, question: Question, rows: Integers, match: Match, told: Floats, cosines: Floats, said: Marks
) -> dict[str, Floats]:
    """Features that the pieces of a memory share."""
    lexical = match.lexical
    before, after = (index.sessions.neighbours(rows, step) for step in (-1, 1))
    lead, follow = (np.where(found >= 0, lexical[found], 0.0) for found in (before, after))
    near = np.column_stack([index.sessions.neighbours(rows, step) for step in _STEPS])
    window, nearby = _reached(rows, near, match)
    spoken = index.says(question.speakers)[rows].astype(np.float64)
    number = index.sessions.number[rows]
    known = np.isfinite(cosines)
    cosine = np.zeros(len(rows))
    if known.any():
        low, high = cosines[known].min(), cosines[known].max()
        cosine[known] = (cosines[known] - low) / max(high - low, _RANGE)
    return {
        "cosine": cosine,
        "gist": over_top(_gist(index, rows, near, told)),
        "window": window,
        "nearby": nearby,
        "topic": np.where(number >= 0, match.topic[number], 0.0),
        "reply": over_top(np.where(index.helps(after), follow, 0.0)),
        "answer": over_top(np.where(index.asks(before), lead, 0.0)),
        "speaker": spoken * question.named,
        "role": spoken * (not question.named),
        "user": 1.0 - index.helps(rows),
        "said": said[rows].astype(np.float64),
        "close": _closeness(index, question, rows),
    }


def _covered(match: Match, shares: Floats) -> Floats:
    """How much of the question units say in its own words, beyond `_SAID` of it by weight: 1 if all."""
    return np.maximum(0.0, (_share(match, shares) - _SAID) / (1.0 - _SAID))


def _share(match: Match, shares: Floats) -> Floats:
    """Share of the question's words, by weight, that stand in each unit."""
    return np.asarray((shares > 0) @ match.weights * (1.0 / max(float(match.weights.sum()), 1e-9)), dtype=np.float64)


def _brief(lengths: Integers) -> Floats:
    """How short memories of so many tokens are: 1 up to the size of a piece."""
    return np.asarray(1.0 - np.clip(np.log(np.maximum(lengths, 1) / SIZE) * _LENGTHY, 0.0, 1.0), dtype=np.float64)


def _gist(index: Index, rows: Integers, near: Integers, told: Floats) -> Floats:
    """What memories and those around them tell of a question, over the square roots of how long each is."""
    lengths = np.sqrt(np.bincount(index.pieces.row, index.postings.lengths, len(told)))
    there = (near >= 0) * _GIST
    whole = told[rows] + (told[near] * there).sum(axis=1)
    size = lengths[rows] + (lengths[near] * there).sum(axis=1)
    return np.asarray(whole / np.maximum(size, 1.0), dtype=np.float64)


def _reached(rows: Integers, near: Integers, match: Match) -> tuple[Floats, Floats]:
    """How much of the question stands in and around memories: share of its words, and BM25 over that of the best."""
    shares = np.where((near >= 0)[:, :, np.newaxis], match.shares[near], 0.0)
    own = match.shares[rows]
    there = np.maximum(own > 0, ((shares > 0) * _WINDOW[:, np.newaxis]).max(axis=1))
    best = np.maximum(own, (shares * _NEARBY[:, np.newaxis]).max(axis=1))
    whole = max(float(match.weights.sum()), 1e-9)
    return there @ match.weights * (1.0 / whole), over_top(best @ match.weights)


def _beside(index: Index, lexical: Floats) -> Floats:
    """Words of the direct neighbours of every memory."""
    near = np.zeros(len(lexical))
    hit = np.flatnonzero(lexical)
    for step in (-1, 1):
        found = index.sessions.neighbours(hit, step)
        there = found >= 0
        near[found[there]] += lexical[hit[there]]
    return near


def _said(index: Index, question: Question) -> Marks:
    """Memories stored within a date of the question, or soon after."""
    found = np.zeros(len(index.created), dtype=np.bool_)
    for start, end in question.spans:
        found |= (index.created >= start * _DAY) & (index.created < (end + _TOLD_LATER) * _DAY)
    return found


def _closeness(index: Index, question: Question, rows: Integers) -> Floats:
    """How close to a date of the question memories were stored: 1 within it."""
    day = index.created[rows] * (1.0 / _DAY)
    close = np.zeros(len(rows))
    for start, end in question.spans:
        early, late = np.maximum(start - day, 0.0), np.maximum(day - end + 1.0, 0.0) * (day >= end)
        close = np.maximum(close, np.exp(-early - late * (1.0 / _CLOSE)))
    return close


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
