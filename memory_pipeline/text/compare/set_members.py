"""Tells that two statements are about different members of one set, so that neither replaces nor denies the other.

"My first dog is Rex" and "My second dog is Bo" name two dogs, "I take ramipril" and "I take a statin" two medicines.
It is told by where the two differ, not by which words they use. Not here: changes that a statement says outright
(`stated_changes`).
"""

from collections.abc import Callable
from itertools import takewhile
from typing import Final

import polars as pl

from memory_pipeline.text.compare import stated_changes
from memory_pipeline.text.compare.stated_changes import Clause
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS

_VERBS: Final = frozenset({*(verb[0] for verb in stated_changes.BEGINNINGS), "have"})
"""Stems of verbs that give their subject a value."""
_FIGURE: Final = "0"
"""Stands for each figure: a dose tells no medicines apart."""


def name_two_subjects(older: pl.Series, newer: pl.Series) -> pl.Series:
    """Return whether the statements of each pair give different values to different things of one kind.

    Their subjects differ in one word that tells which one is meant: either they share what they are, or of each of them
    the same is said ("The elder is called ...", "The younger is called ..."). Or they differ in the number of a thing
    of which other things are said ("unit 26 is leased", "unit 27 is rented").
    """
    return _told(lambda *pair: _name_two_subjects(*pair) or _number_two_things(*pair), older, newer)


def name_two_objects(older: pl.Series, newer: pl.Series) -> pl.Series:
    """Return whether the statements of each pair say the same of different things.

    They begin with the same words, of which one is more than a subject, and go on with different ones, which the other
    names nowhere; another figure or day is no other thing. Whether what they say can hold of several things at once is
    the caller's to know. Takes what `name_two_subjects` takes.
    """
    return _told(_name_two_objects, older, newer)


def _told(test: Callable[[Clause, Clause], bool], older: pl.Series, newer: pl.Series) -> pl.Series:
    """Return what a test says of the statements of each pair."""
    clauses = {text: stated_changes.read_clause(text) for text in {*older, *newer}}
    found = [test(clauses[one], clauses[other]) for one, other in zip(older, newer, strict=True)]
    return pl.Series(found, dtype=pl.Boolean)


def _name_two_subjects(older: Clause, newer: Clause) -> bool:
    ends = [len([*takewhile(lambda stem: stem not in _VERBS, side.stems)]) for side in (older, newer)]
    subjects, values = zip(
        *((side[:end], side[end:].stems) for side, end in zip((older, newer), ends, strict=True)), strict=True
    )
    if not all(values) or set(values[0]) == set(values[1]):
        return False
    words, others = map(_content, subjects)
    heads = {_content(subject[: len(subject) - len(stated_changes.addition(subject))])[-1:] for subject in subjects}
    apart = sum(word != opposite for word, opposite in zip(words, others, strict=False))
    alike = len(heads) == 1 if len(words) > 1 else values[0][:2] == values[1][:2]
    return len(words) == len(others) > 0 and apart == 1 and alike


def _number_two_things(older: Clause, newer: Clause) -> bool:
    """Return whether two clauses begin alike up to the number of a thing, and say something else of it.

    The number of a thing stands after its kind, and before what is said of it; a value stands after a verb or at the
    end, or has the same unit, or a date, behind it.
    """
    start = len([*takewhile(lambda pair: pair[0] == pair[1], zip(older.stems, newer.stems, strict=False))])
    rests = older.stems[start:], newer.stems[start:]
    if not start or not all(rest[:1] and rest[0].isdigit() for rest in rests):
        return False
    said = [(side.low[start + 1], side.stems[start + 1]) for side in (older, newer) if len(side) > start + 1]
    if len(said) < len(rests) or older.low[start - 1] in STOP_WORDS or older.stems[start - 1] in _VERBS:
        return False
    unlike = not {*_content(older[start + 1 :])} & {*_content(newer[start + 1 :])}
    return unlike and all(stem in _VERBS or word not in STOP_WORDS for word, stem in said)


def _name_two_objects(older: Clause, newer: Clause) -> bool:
    one, other = ([_FIGURE if stem[:1].isdigit() else stem for stem in side.stems] for side in (older, newer))
    start = len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))])
    said = [word for word, named in zip(older.low[1:start], older.named[1:start], strict=True) if not named]
    things = []
    for side in (older[start:], newer[start:]):
        unlike = stated_changes.unlike_values(side)
        things.append(next((stem for stem in _content(side) if stem in unlike), None))
    new = None not in things and things[0] not in newer.stems and things[1] not in older.stems
    return new and not STOP_WORDS.issuperset(said)


def _content(clause: Clause) -> tuple[str, ...]:
    """Return the stems of words that are not of every text."""
    return tuple(stem for stem, word in zip(clause.stems, clause.low, strict=True) if word not in STOP_WORDS)
