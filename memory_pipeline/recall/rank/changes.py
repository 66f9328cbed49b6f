"""Features that put the newest of several values first if a query asks for what holds.

Memories about one thing are compared with each other, even if no run has found that one changes another: a later one
that says nearly the same, shares the query's words, shows the kind of value asked for or has a word of change is likely
to hold the present value. A later one without a word of the query, or one related to it, changes no answer. Long
memories are compared by the passages that have the query's words, not as wholes. The weights are fitted
(`models/changes.toml`); nothing is decided here.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import CUES
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank import places
from memory_pipeline.recall.rank.matching import over_top
from memory_pipeline.text.arrays import Floats, Integers, Marks
from memory_pipeline.text.lang.ascii_patterns import contains
from memory_pipeline.text.lang.en.cues import CHANGING
from memory_pipeline.text.parse.speakers import USERS

CHANGES: Final = {
    "outdated": "a later one of the kind asked for has the same words of the query",
    "newest": "share of those with the same words of the query that are older",
    "changing": "it has a word of change, by its share of the query's words",
    "succeeds": "it shares words with an older one that answers well",
    "similar": "it is similar to an older one that answers well",
    "similar_changing": "similar, and it has a word of change",
    "similar_kind": "similar, and it shows a sign of the kind of answer asked for",
    "overtaken": "a similar later one with a word of change is of the kind asked for; 1 if a run has found it so",
}
"""Features by name, with what each one measures."""
COMPARED: Final = 10
"""Best candidates that are compared with each other, and only reordered: an answer of ten has the same memories."""
_ANSWERS: Final = 0.04
"""Distance from the best score at which a memory's weight as an answer falls to 1/e."""
_CUE: Final = {name: place for place, name in enumerate(CUES)}
UNRELATED: Final = 0.5
"""Weight of a later memory that is alike, where a judge has compared the two and found no change."""
_LITTLE: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Words of memories: of each, those of the passage with most words of the query.

    Attributes:
        passages: that passage of each memory.
        asked: [memories]: weight of the query's words in it.
        covered: [memories, memories]: share of the first one's words of the query that are in the second.
        shared: [memories, memories]: weight of the other words that two have in common, as a share of those of either.
        cosines: [memories, memories]: cosine of all words; 1 of two memories that are one passage each, whose vectors
            say more.
    """

    passages: Integers
    asked: Floats
    covered: Floats
    shared: Floats
    cosines: Floats

    @classmethod
    def of(cls, index: Index, question: Question, rows: Integers) -> Self:
        """Read the words of memories. Cost: below a millisecond for the memories that are compared."""
        passages, sizes = index.passages.of_rows(rows)
        starts = np.cumsum(sizes) - sizes
        at, keys, _ = index.postings.words_of(passages)
        known, position = np.unique(keys, return_inverse=True)
        rarity = index.postings.rarity(index.postings.frequencies(known))
        emphasis = dict(zip(question.keys.tolist(), question.emphasis.tolist(), strict=True))
        asked = rarity * np.array([emphasis.get(key, 0.0) for key in known.tolist()])
        found = np.bincount(at, asked[position], len(passages)) if len(at) else np.zeros(len(passages))
        best = np.array(
            [begin + int(found[begin : begin + size].argmax()) for begin, size in zip(starts, sizes, strict=True)]
        )
        owner = np.full(len(passages), -1)
        owner[best] = np.arange(len(rows))
        held = owner[at] >= 0
        present = np.zeros((len(rows), len(known)))
        present[owner[at[held]], position[held]] = 1.0
        common, other = (present * asked) @ present.T, (present * np.where(asked > 0, 0.0, rarity)) @ present.T
        mass, own = np.diag(common), np.diag(other)
        covered = common / np.maximum(mass[:, np.newaxis], _LITTLE)
        shared = other / np.maximum(own[:, np.newaxis] + own - other, _LITTLE)
        every = (present * rarity**2) @ present.T
        lengths = np.sqrt(np.maximum(np.diag(every), _LITTLE))
        long = (sizes > 1) | (sizes > 1)[:, np.newaxis]
        cosines = np.where(long, every / (lengths * lengths[:, np.newaxis]), 1.0)
        return cls(passages[best], mass.copy(), covered, shared, cosines)


def change_features(
    index: Index,
    question: Question,
    rows: Integers,
    scores: Floats,
    about: Marks,
    overtaken: Marks,
    plausible: Floats | None = None,
) -> Floats:
    """Return the features of `CHANGES`, [memories, features], all 0 unless the query asks for what holds.

    Takes the best candidates with their scores, 0..1; which have a word of the query or one related to it (`about`),
    and which have ceased to hold or are linked to what may have changed them (`overtaken`); and the weight, 0..1, of
    the second as a later state of the first, [rows, rows] (`plausible`; default: 1). Cost: about a millisecond.
    """
    values = np.zeros((len(rows), len(CHANGES)))
    if not question.holds or not len(rows):
        return values
    words = _Words.of(index, question, rows)
    cues = index.passages.cues[words.passages]
    typed = question.kind is not None and question.kind != "wish"
    kind = cues[:, _CUE[question.kind]] > 0 if question.kind and typed else np.ones(len(rows), dtype=np.bool_)
    value = kind & (cues[:, _CUE["asks"]] == 0)
    changing = contains(index.memories["content"][rows], CHANGING)
    asked = over_top(words.asked)
    created = index.dated(rows)
    is_later = (created > created[:, np.newaxis]) & ~index.by_assistant(rows) & about
    apart = _apart(index, rows, cues[:, _CUE["first_person"]] > 0) | _elsewhere(index, question, rows)
    later = is_later * ~apart * (1.0 if plausible is None else plausible)
    ratio = (words.asked + _LITTLE) / (words.asked[:, np.newaxis] + _LITTLE)
    both = (words.asked > 0) & (words.asked[:, np.newaxis] > 0)
    same = words.covered * np.minimum(1.0, ratio) * both * asked[:, np.newaxis]
    answers = np.exp((scores - scores.max()) * (1.0 / _ANSWERS))
    similar = np.minimum(np.maximum(index.vectors.similarities(rows), 0.0), words.cosines)
    akin = _best(similar * answers * later.T)
    by_name = {
        "outdated": _best(same * later * value),
        "newest": (same * later.T).sum(axis=1) / np.maximum(same.sum(axis=1) - np.diag(same), _LITTLE) * asked,
        "changing": changing * asked,
        "succeeds": _best(words.shared * answers * later.T),
        "similar": akin,
        "similar_changing": akin * changing,
        "similar_kind": akin * kind,
        "overtaken": np.maximum(_best(similar * later * (changing & value)), overtaken) * answers,
    }
    return np.column_stack([by_name[name] for name in CHANGES])


def _apart(index: Index, rows: Integers, of_self: Marks) -> Marks:
    """Return which two memories are what different people say of themselves: neither is a later state of the other.

    A speaker named after a role ("user") may be any of them.
    """
    names = [name.strip().casefold() for name in index.speakers]
    number = {name: place for place, name in enumerate(dict.fromkeys(names)) if name not in USERS}
    person = np.array([*(number.get(name, -1) for name in names), -1])[index.speaker[rows]]
    of_self = of_self & (person >= 0)
    both = of_self & of_self[:, np.newaxis]
    return np.asarray(both & (person != person[:, np.newaxis]), dtype=np.bool_)


def _elsewhere(index: Index, question: Question, rows: Integers) -> Marks:
    """Return which memories do not stand where another does, as far as the question names that place."""
    standing = places.named(index, question, rows)
    if not any(standing):
        return np.zeros((len(rows), len(rows)), dtype=np.bool_)
    return np.array([[not one <= other for other in standing] for one in standing], dtype=np.bool_)


def _best(pairs: Floats) -> Floats:
    """Return the largest number of each row."""
    return np.asarray(pairs.max(axis=1, initial=0.0), dtype=np.float64)
