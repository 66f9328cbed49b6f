"""Features of a memory as an answer to a query, each between 0 and 1.

Computed for a few hundred candidates: the best by words, by neighbouring words, by vector (see `vector_rows.nearest`)
and by date.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import CUES, GRADED, SIZE
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank.matching import Match, over_top
from memory_pipeline.recall.rank.related_words import RelatedWords
from memory_pipeline.recall.rank.rules import best_rules
from memory_pipeline.text.arrays import Floats, Integers, Marks, Matrix
from memory_pipeline.text.embed.embedding import HashingEmbedder

FEATURES: Final = {
    "lexical": "BM25 of the query's words, relative to the best candidate",
    "covers": "share of the words of a bare word list, by weight: 1 with all of them, 0 up to two thirds",
    "related": "BM25 of words related to the query's, relative to the best candidate",
    "cosine": "cosine of the vectors, scaled to the range of the candidates",
    "gist": "the query's words and related ones in the memory and its neighbours, relative to the best candidate",
    "window": "share of the query's words in the memory and its neighbours, nearer ones weighing more",
    "nearby": "BM25 over the memory and its neighbours, each word at its best position, nearer ones weighing more",
    "topic": "share of the query's words that occur somewhere in the session",
    "reply": "BM25 of the assistant's reply to the memory",
    "answer": "it is a statement that follows a question with the query's words",
    "speaker": "it was said by the speaker whom the query names",
    "role": "it was said by the user where the query says I, by the assistant where it says you",
    "user": "it was not said by the assistant",
    "dates": "it mentions a date of the query",
    "said": "it was said on a date of the query or soon after",
    "close": "closeness of the instant it was said to a date of the query",
    "kind": "it shows a sign of the kind of answer asked for",
    "wish": "it states a wish, and the query asks for help",
    "standing": "it states a rule for all answers, and the query asks for help or in general",
    "preference": "it states a preference, and the query asks for help or in general",
    "denial": "share of the words of a yes-no question in a memory with a negation",
    "affirmation": "share of the words of a yes-no question in a memory in the first person without negation",
    "self": "it is in the first person",
    "substance": "value of its clauses",
    "dense": "value of its clauses for its length",
    "rarity": "mean rarity of its content words",
    "brief": "1 up to a few sentences, less the longer it is",
}
"""Features by name, with what each one measures."""
CANDIDATES: Final = 300
"""Candidates to select, ties apart."""
_VECTOR: Final = 0.5
"""Weight of the cosine in the first score, that of all words being 1."""
_LIKELY: Final = 4 * CANDIDATES
"""Most memories to compute cosines of beside the nearest."""
_STEPS: Final = np.array([1, -1, 2, -2, 3, -3, 4, -4])
_WINDOW: Final = np.array([0.6, 0.6, 0.4, 0.4, 0.25, 0.25, 0.0, 0.0])
_NEARBY: Final = np.array([0.7, 0.7, 0.5, 0.5, 0.35, 0.35, 0.2, 0.2])
_GIST: Final = np.array([0.8, 0.8, 0.6, 0.6, 0.4, 0.4, 0.3, 0.3])
"""Weights of the words of neighbours, by the steps of `_STEPS`."""
_CUE: Final = {name: place for place, name in enumerate(CUES)}
_PLACE: Final = {name: place for place, name in enumerate(FEATURES)}
_AFTERMATH_DAYS: Final = 7
"""Days after a date in which people still talk about it."""
_CLOSE: Final = 14.0
"""Days after a date in which closeness falls to 1/e; before a date it is one day."""
_LENGTHY: Final = 1.0 / float(np.log(32.0))
"""Scales `brief` to 0 at 32 times the length of a passage."""
_ALIKE: Final = 2
"""Ties at the cut, as a multiple of the candidates, above which they are broken by the promise of each memory."""
_ANSWERABLE: Final = 0.3
"""First score of being no reply of an assistant: long replies have some of any words and would take all places."""
_LITTLE: Final = 1e-6
"""Weight of a memory's promise beside any word, date or speaker that it shares with the query."""
_RANGE: Final = 0.25
"""Range of cosines between a query and unrelated memories."""
_CHANCE_COVER: Final = 2.0 / 3.0
"""Weighted share of a query's words up to which a memory may be about something else."""
_FEW: Final = 8
"""Most passages of a memory that is scored as a whole too."""
_DAY: Final = 86_400_000_000
_NO_RULES: Final = (np.zeros(0, dtype=np.int64), np.zeros(0))


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidates with their features.

    Attributes:
        rows: the memories.
        whole: [memories, features] of each memory as a whole.
        passages: [passages, features] of the passages of memories that have several.
        owner: position in `rows` of the memory of each passage.
        share: weighted share of the query's words in each memory.
        meets: how well the query meets the condition of each standing rule (see `rules`); 0 of all other memories.
    """

    rows: Integers
    whole: Floats
    passages: Floats
    owner: Integers
    share: Floats
    meets: Floats

    def feature(self, name: str) -> Floats:
        """Return one feature of the memories as wholes."""
        return self.whole[:, _PLACE[name]]

    @property
    def about(self) -> Marks:
        """Candidates with a word of the query or one related to it."""
        return (self.feature("lexical") > 0) | (self.feature("related") > 0)

    def scored(self, weights: Floats) -> tuple[Floats, Floats, Integers]:
        """Return the score of each candidate, 0..1, its features, and its best passage, counted from its first.

        The features of a memory with several passages are the mean of its best passage and the whole, those of a memory
        with more than `_FEW` the passage's alone if it has a word of the query: the rest of a long text says nothing
        against a passage of it.
        """
        values = self.whole.copy()
        found = np.zeros(len(self.rows), dtype=np.int64)
        if len(self.owner):
            by_passage = self.passages @ weights
            order = np.lexsort((-np.arange(len(by_passage)), by_passage, self.owner))
            last = np.flatnonzero(np.append(self.owner[order][1:] != self.owner[order][:-1], True))
            best = order[last]
            few = np.bincount(self.owner, minlength=len(self.rows))[self.owner[best]] <= _FEW
            few |= self.passages[best, _PLACE["lexical"]] <= 0.0
            mean = 0.5 * (values[self.owner[best]] + self.passages[best])
            values[self.owner[best]] = np.where(few[:, None], mean, self.passages[best])
            found[self.owner[best]] = best - np.searchsorted(self.owner, self.owner[best])
        reach = max(float(np.maximum(weights, 0.0).sum()), 1e-9)
        return np.clip((values @ weights) * (1.0 / reach), 0.0, 1.0), values, found


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Signals of units of text: passages or whole memories.

    Attributes:
        shares: [units, words of the query]: BM25 term frequency factor of each word.
        related: BM25 of related words, relative to the best; lower if a unit has nearly all words of a word list.
        cues: [units, cues]: as in `CUES`.
        mentions: fit of the dates that each unit mentions to those of the query.
    """

    shares: Floats
    related: Floats
    cues: NDArray[np.uint8]
    mentions: Floats

    @classmethod
    def of(cls, index: Index, question: Question, match: Match, related: RelatedWords, passages: Integers) -> Self:
        """Read the signals of passages."""
        at, keys, counts = index.postings.words_of(passages)
        shares = match.of_passages(index, passages, (at, keys, counts))
        uncovered = 1.0 - float(_covered(match, shares).max(initial=0.0)) if question.bare else 1.0
        return cls(
            shares,
            over_top(related.of_passages(index, question, passages, (at, keys), shares)) * uncovered,
            index.passages.cues[passages],
            _mentions(index, question, passages),
        )

    def some(self, places: Integers) -> Self:
        """Select units by position."""
        return type(self)(self.shares[places], self.related[places], self.cues[places], self.mentions[places])

    def best(self, starts: Integers) -> Self:
        """Combine the passages of each memory; they begin at the given positions."""
        columns = (self.shares, self.related, self.cues, self.mentions)
        return type(self)(*(np.maximum.reduceat(column, starts) for column in columns))


def select_candidates(index: Index, question: Question, allowed: Marks, vector: Matrix) -> Candidates:
    """Select candidates among the allowed memories and compute their features.

    Hashed word vectors of the query select no candidates: the words do so already.
    """
    match = Match.of(index, question)
    related = RelatedWords.of(index, question)
    by_unit = related.expanded_scores(index, question)
    expanded = by_unit
    if len(by_unit) > index.memories.height:
        expanded = np.bincount(index.passages.row, by_unit, index.memories.height).astype(np.float64, copy=False)
    timely = _said_then(index, question)
    promising = _first_scores(index, question, match, expanded, timely)
    promising[~allowed] = -np.inf
    if index.model != HashingEmbedder.name:
        promising = _with_cosines(index, promising, vector, allowed)
    rules, met = best_rules(index, question, related, promising) if question.ruled else _NO_RULES
    best = _best_rows(index, question, promising, min(CANDIDATES, int(np.count_nonzero(allowed))))
    rows = np.union1d(best, rules) if len(rules) else best
    cosines = index.vectors.cosines_of(rows, vector)
    passages, sizes = index.passages.of_rows(rows)
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(rows)), sizes)
    around = _shared_features(index, question, rows, match, expanded, cosines, timely)
    around["brief"] = _brief(np.add.reduceat(index.passages.tokens[passages], starts))
    units = _Units.of(index, question, match, related, passages)
    gist = around["gist"]
    around["gist"] = over_top(gist)
    wholes = units.best(starts)
    whole = _values(question, match, wholes, around)
    parts = np.flatnonzero(sizes[owner] > 1)
    inherited = {name: values[owner[parts]] for name, values in around.items()}
    many = (sizes[owner[parts]] > _FEW) & units.shares[parts].any(axis=1)
    if many.any():
        chosen = parts[many]
        at = passages[chosen]
        own = by_unit[at] / np.maximum(np.sqrt(index.postings.lengths[at]), 1.0) / max(float(gist.max()), _RANGE)
        inherited["brief"][many] = _brief(index.passages.tokens[at])
        inherited["gist"][many] = np.clip(own, inherited["gist"][many], 1.0)
        inherited["cosine"][many] = np.maximum(inherited["cosine"][many], _share(match, units.shares[chosen]))
    by_passage = _values(question, match, units.some(parts), inherited)
    meets = np.zeros(len(rows))
    meets[np.searchsorted(rows, rules)] = met
    return Candidates(rows, whole, by_passage, owner[parts], _share(match, wholes.shares), meets)


def _first_scores(index: Index, question: Question, match: Match, expanded: Floats, timely: Marks) -> Floats:
    """Return a cheap first score of all memories by their words."""
    first = over_top(match.lexical) + 0.3 * over_top(_neighbour_words(index, match.lexical))
    first += over_top(expanded / np.maximum(index.root_lengths, 1.0))
    first += _ANSWERABLE * index.said_by_people
    if len(question.spans):
        first += 0.2 * timely
    if question.speakers:
        first += 0.1 * index.spoken_by(question.speakers)
    return np.asarray(first, dtype=np.float64)


def _with_cosines(index: Index, first: Floats, vector: Matrix, allowed: Marks) -> Floats:
    """Add the cosines to the first scores of the memories.

    Where a graph names the nearest memories, all others are at most as near as the last of those: cosines are computed
    of the nearest, and of the memories that could then still be candidates, at most `_LIKELY` of them. The rest counts
    by its words alone.
    """
    near = index.vectors.nearest(vector, CANDIDATES, allowed)
    if near is None:
        return first + _VECTOR * np.nan_to_num(index.vectors.cosines(vector), nan=0.0)
    cosines = index.vectors.cosines_of(near, vector)
    known = first.copy()
    known[near] += _VECTOR * cosines
    furthest = _VECTOR * float(np.sort(cosines)[-min(CANDIDATES, len(near))])
    possible = first + furthest
    possible[near] = known[near]
    rows = np.setdiff1d(_most(possible, min(_LIKELY, int(allowed.sum()))), near)
    known[rows] += _VECTOR * np.nan_to_num(index.vectors.cosines_of(rows, vector), nan=0.0)
    return known


def _most(values: Floats, count: int) -> Integers:
    """Return the positions of the `count` largest values, fewer where the least of them ties with others."""
    edge = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values > edge)


def _best_rows(index: Index, question: Question, first: Floats, count: int) -> Integers:
    """Return the best rows by the first score; where too many tie, by their promise too."""
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    best = _best(first, count)
    if len(best) <= _ALIKE * count:
        return best
    latest = index.created >= np.sort(index.created[best])[-count] if question.holds else 0.0
    return _best(first + _LITTLE * (_prior_score(index, question) + latest), count)


def _best(values: Floats, count: int) -> Integers:
    """Return the positions of the `count` largest values, and of all that tie with the least of them."""
    edge = np.partition(values, len(values) - count)[len(values) - count]
    return np.flatnonzero(values >= edge)


def _prior_score(index: Index, question: Question) -> Floats:
    """Return a score of each memory that needs none of the query's words: its value, and cues of the kind asked for."""
    signs = ["substance", "dense", "rarity"]
    by_passage = index.passages.cues[:, [_CUE[name] for name in signs]].sum(axis=1) * (0.01 / len(signs))
    cues = [question.kind] if question.kind else []
    cues += ["standing", "preference"] if question.open else []
    for name in cues:
        by_passage += index.passages.cues[:, _CUE[name]]
    by_memory = np.zeros(index.memories.height)
    np.maximum.at(by_memory, index.passages.row, by_passage)
    return by_memory


def _values(question: Question, match: Match, units: _Units, around: dict[str, Floats]) -> Floats:
    """Return the features of units from their own signals and those of their surroundings."""
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
    put("dates", units.mentions)
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
        put("affirmation", share * (cues[:, _CUE["first_person"]] * ~denies))
    put("self", cues[:, _CUE["first_person"]])
    for name in GRADED:
        put(name, cues[:, _CUE[name]].astype(np.float64) * 0.01)
    return values


def _shared_features(
    index: Index, question: Question, rows: Integers, match: Match, expanded: Floats, cosines: Floats, timely: Marks
) -> dict[str, Floats]:
    """Return the features that all passages of a memory share; `gist` is not yet relative to the best."""
    lexical = match.lexical
    near = index.sessions.neighbours(rows[:, np.newaxis], _STEPS)
    after, before = near[:, 0], near[:, 1]
    lead, follow = (np.where(neighbour >= 0, lexical[neighbour], 0.0) for neighbour in (before, after))
    window, nearby = _window(rows, near, match)
    spoken = index.spoken_by(question.speakers)[rows].astype(np.float64)
    number = index.sessions.number[rows]
    finite = np.isfinite(cosines)
    cosine = np.zeros(len(rows))
    if finite.any():
        low, high = cosines[finite].min(), cosines[finite].max()
        cosine[finite] = (cosines[finite] - low) / max(high - low, _RANGE)
    return {
        "cosine": cosine,
        "gist": _gist(index, rows, near, expanded),
        "window": window,
        "nearby": nearby,
        "topic": np.where(number >= 0, match.topic[number], 0.0),
        "reply": over_top(np.where(index.by_assistant(after), follow, 0.0)),
        "answer": over_top(np.where(index.asks(before), lead, 0.0)),
        "speaker": spoken * question.named,
        "role": spoken * (not question.named),
        "user": 1.0 - index.by_assistant(rows),
        "said": timely[rows].astype(np.float64),
        "close": _closeness(index, question, rows),
    }


def _covered(match: Match, shares: Floats) -> Floats:
    """Rate how much of the query units say in its own words beyond `_CHANCE_COVER`: 1 if all."""
    return np.maximum(0.0, (_share(match, shares) - _CHANCE_COVER) / (1.0 - _CHANCE_COVER))


def _share(match: Match, shares: Floats) -> Floats:
    """Return the weighted share of the query's words in each unit."""
    return np.asarray((shares > 0) @ match.weights * (1.0 / max(float(match.weights.sum()), 1e-9)), dtype=np.float64)


def _brief(lengths: Integers) -> Floats:
    """Rate the brevity of memories by their length in tokens: 1 up to the size of a passage."""
    return np.asarray(1.0 - np.clip(np.log(np.maximum(lengths, 1) / SIZE) * _LENGTHY, 0.0, 1.0), dtype=np.float64)


def _gist(index: Index, rows: Integers, near: Integers, expanded: Floats) -> Floats:
    """Sum the expanded scores of memories and their neighbours over the square roots of their lengths."""
    lengths = index.root_lengths
    weights = (near >= 0) * _GIST
    whole = expanded[rows] + (expanded[near] * weights).sum(axis=1)
    size = lengths[rows] + (lengths[near] * weights).sum(axis=1)
    return np.asarray(whole / np.maximum(size, 1.0), dtype=np.float64)


def _window(rows: Integers, near: Integers, match: Match) -> tuple[Floats, Floats]:
    """Return the features `window` and `nearby`: share and BM25 of the query's words in and around memories."""
    shares = np.where((near >= 0)[:, :, np.newaxis], match.shares[near], 0.0)
    inside = match.shares[rows]
    share = np.maximum(inside > 0, ((shares > 0) * _WINDOW[:, np.newaxis]).max(axis=1))
    best = np.maximum(inside, (shares * _NEARBY[:, np.newaxis]).max(axis=1))
    weight_sum = max(float(match.weights.sum()), 1e-9)
    return share @ match.weights * (1.0 / weight_sum), over_top(best @ match.weights)


def _neighbour_words(index: Index, lexical: Floats) -> Floats:
    """Sum the BM25 of the direct neighbours of every memory."""
    near = np.zeros(len(lexical))
    hits = np.flatnonzero(lexical)
    for step in (-1, 1):
        neighbours = index.sessions.neighbours(hits, step)
        present = neighbours >= 0
        near[neighbours[present]] += lexical[hits[present]]
    return near


def _said_then(index: Index, question: Question) -> Marks:
    """Return which memories were said on a date of the query or soon after."""
    timely = np.zeros(len(index.created), dtype=np.bool_)
    for start, end in question.bounds:
        timely |= (index.created >= start) & (index.created < end + _AFTERMATH_DAYS * _DAY)
    return timely


def _closeness(index: Index, question: Question, rows: Integers) -> Floats:
    """Rate how close to a date of the query memories were said: 1 within it."""
    day = index.created[rows] * (1.0 / _DAY)
    close = np.zeros(len(rows))
    for start, end in question.bounds / _DAY:
        early, late = np.maximum(start - day, 0.0), np.maximum(day - end + 1.0, 0.0) * (day >= end)
        close = np.maximum(close, np.exp(-early - late * (1.0 / _CLOSE)))
    return close


def _mentions(index: Index, question: Question, passages: Integers) -> Floats:
    """Rate how well the dates that passages mention fit those of the query."""
    if not len(question.spans):
        return np.zeros(len(passages))
    fit = np.zeros(len(index.passages.row))
    spans = index.passages.spans
    for start, end in question.spans:
        overlaps = (spans[:, 1] < end) & (spans[:, 2] > start)
        shared = np.minimum(spans[overlaps, 2], end) - np.maximum(spans[overlaps, 1], start)
        longer = np.maximum(spans[overlaps, 2] - spans[overlaps, 1], end - start)
        np.maximum.at(fit, spans[overlaps, 0], np.maximum(0.5, np.sqrt(shared / np.maximum(longer, 1))))
    return fit[passages]
