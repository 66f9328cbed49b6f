"""Slots: pairs of statements in the same words except for one position, of which the newer announces a change.

"We close on Sundays" and "As of this week, we close on Wednesdays" share a frame; the day is its slot. Not here: rules
that know what fills a slot (`change_rules`), and expressions that announce a change (`lang/en/cues`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from typing import Final

from memory_pipeline.text.compare.statement_pair import MIN_SHARED_WEIGHT, RARE_WEIGHT, Finding, StatementPair
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lemmas import (
    DATE_LEMMAS,
    FUNCTION_LEMMAS,
    NUMBER_LEMMAS,
    OPPOSITES,
    may_be_typo,
)
from memory_pipeline.text.parse.statements import Statement, is_impersonal

_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_FAVOURITE_IS: Final = re.compile(r"\bfavou?rite(?:'s| is| has)\b")
_SPEAKER: Final = frozenset({"i", "we"})
_PLACE_PREPOSITIONS: Final = frozenset({"in", "on", "to"})
_MAX_NUMBERS: Final = 2
"""More numbers in one statement are a list or a sum."""
_MAX_SLOT_WORDS: Final = 3
"""Most words of a slot."""
_CACHED_ALIGNMENTS: Final = 256
"""Size of the cache of alignments, which several rules share."""
_REPETITION_PREFIX: Final = "re"
_MIN_STEM_LETTERS: Final = 4
_ENDED_VERBS: Final = words.roots(
    "left leave retired quit resigned sacked fired dropped ditched stopped finished joined"
)
"""Verbs of the old value that may be added beside the new one."""
_INTERCHANGEABLE: Final = FUNCTION_LEMMAS | words.GENERIC - DATE_LEMMAS - NUMBER_LEMMAS
"""Words that may replace each other without changing the statement."""
_OPTIONAL: Final = FUNCTION_LEMMAS | DATE_LEMMAS | NUMBER_LEMMAS | words.GENERIC | words.CHANGE_WORDS | _PERSONS
"""Words that one statement may have alone without changing what it states."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The position where two frames differ: roots of the older, of the newer, and the shared ones before and after."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def is_numeric(self) -> bool:
        """Whether both sides hold a number."""
        return _has_number(self.old) and _has_number(self.new)

    @property
    def is_single_number(self) -> bool:
        """Whether both sides are one number and name nothing."""
        sides = self.old, self.new
        return all(sum(map(_is_number, side)) == 1 and not any(map(_is_name, side)) for side in sides)


def restatements(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer repeats the older with one other value and announces a change."""
    old, new = pair.old, pair.new
    if not (new.announced or new.declared) or cues.ADDING.search(new.low) or old.desired != new.desired:
        return
    slot = single_slot(old, new)
    if (
        slot is None
        or not _is_informative(slot, pair)
        or not comparable(slot.old, slot.new)
        or _numbers_several(slot, pair)
        or about_two_subjects(slot, old, new)
    ):
        return
    multi_valued = (
        words.MULTI_VALUED.intersection((*slot.before, *slot.after)) or new.desired or (old.past and new.past)
    )
    if multi_valued and not slot.is_numeric and not new.retracting:
        return
    about = frozenset((*slot.before, *slot.after)) & pair.shared - words.GENERIC
    yield pair.finding("changed_value", about, as_written(slot, old, new), 0.8, update=True)


def creations(pair: StatementPair) -> Iterator[Finding]:
    """Detect that both say by whom, where or from what one thing was made."""
    old, new = pair.old, pair.new
    if not words.CREATION_VERBS & pair.shared or not all(map(is_impersonal, (old, new))):
        return
    slot = single_slot(old, new)
    about = pair.shared - words.GENERIC - words.CREATION_VERBS
    if (
        slot
        and not slot.is_numeric
        and words.CREATION_VERBS & {*slot.before}
        and about & {*slot.before}
        and comparable(slot.old, slot.new)
    ):
        is_lasting = pair.shared >= words.PAINTING and bool(cues.PRESENT.search(old.low))
        yield pair.finding("changed_value", about, as_written(slot, old, new), 0.75, update=is_lasting)


def are_parallel(old: Statement, new: Statement) -> bool:
    """Return whether the statements give comparable values of two things: their subjects differ, too."""
    opcodes = _opcodes(old.frame, new.frame)
    pairs = [(old.frame[i:j], new.frame[k:m]) for tag, i, j, k, m in opcodes if tag == "replace"]
    equal = sum(j - i for tag, i, j, _, _ in opcodes if tag == "equal")
    differing_names = [pair for pair in pairs if all(map(names_something, pair)) and not any(map(_has_number, pair))]
    ends = tuple(old.frame[-1:]), tuple(new.frame[-1:])
    inner = [pair for pair in pairs if (pair[0][-1:], pair[1][-1:]) != ends]
    names_and_numbers = any(all(any(map(_is_name, side)) and _has_number(side) for side in pair) for pair in inner)
    longest = max(len(old.frame), len(new.frame))
    return (bool(differing_names) and len(pairs) > 1 and 2 * equal >= longest - 1) or (
        names_and_numbers and 2 * equal > longest
    )


def is_date_or_time(slot: Slot) -> bool:
    """Return whether both sides hold only days or hours."""
    return all(
        all(word in DATE_LEMMAS | NUMBER_LEMMAS | FUNCTION_LEMMAS or _is_number(word) for word in side)
        for side in (slot.old, slot.new)
    )


def have_opposites(old: Statement, new: Statement) -> bool:
    """Return whether in one position the statements have words that exclude each other: to, from."""
    opcodes = _opcodes(old.roots, new.roots)
    pairs = [product(old.roots[i:j], new.roots[k:m]) for tag, i, j, k, m in opcodes if tag == "replace"]
    return any(frozenset(pair) in OPPOSITES for options in pairs for pair in options)


def similarly_worded(old: Statement, new: Statement, *, other: bool = False) -> bool:
    """Return whether the statements have mostly the same words; with `other`, and different names in one position."""
    opcodes = _opcodes(old.frame, new.frame)
    equal = sum(j - i for tag, i, j, _, _ in opcodes if tag == "equal")
    pairs = [(old.frame[i:j], new.frame[k:m]) for tag, i, j, k, m in opcodes if tag == "replace"]
    has_differing_names = any(all(any(map(_is_name, side)) for side in pair) for pair in pairs)
    return 2 * equal >= max(len(old.frame), len(new.frame)) - 1 and (has_differing_names or not other)


def _is_name(word: str) -> bool:
    return word not in _OPTIONAL and not _is_number(word)


def single_slot(old: Statement, new: Statement) -> Slot | None:
    """Return the one slot of two statements; None if they differ in other positions, too."""
    frame = tuple(_without_repetition(word, old.frame) for word in new.frame)
    opcodes = _opcodes(old.frame, frame)
    replaced = [
        (tag, i, j, k, m)
        for tag, i, j, k, m in opcodes
        if tag == "replace" and not _INTERCHANGEABLE.issuperset((*old.frame[i:j], *frame[k:m]))
    ]
    if len(replaced) != 1:
        return None
    _, i, j, k, m = replaced[0]
    allowed = _OPTIONAL.union(new.context_topic), _OPTIONAL.union(old.context_topic, old.frame[i:j], _ENDED_VERBS)
    unpaired = [code for code in opcodes if code[0] in {"delete", "insert"}]
    if not all(
        allowed[0].issuperset(old.frame[a:b]) and allowed[1].issuperset(frame[c:d]) for _, a, b, c, d in unpaired
    ):
        return None
    equal = [(old.frame[a:b], a < i) for tag, a, b, _, _ in opcodes if tag == "equal"]
    before, after = (tuple(word for part, first in equal if first == side for word in part) for side in (True, False))
    return Slot(tuple(old.frame[i:j]), tuple(frame[k:m]), before, after)


def _is_informative(slot: Slot, pair: StatementPair) -> bool:
    """Return whether the frame says what the slot is a value of, and the slot is not another thing of the same kind."""
    old, new = pair.old, pair.new
    shared = (*slot.before, *slot.after)
    longest = max(len(slot.old), len(slot.new))
    about = frozenset(shared) & old.topic - words.GENERIC
    weight = pair.weight(about) + (
        pair.weight(old.context_topic & new.context_topic - words.GENERIC) if new.declared else 0
    )
    max_words = _MAX_SLOT_WORDS + bool(about & words.SINGLE_VALUED)
    if longest > max_words or weight < (MIN_SHARED_WEIGHT if new.declared and len(shared) > 1 else RARE_WEIGHT):
        return False
    if not new.declared and len(shared) < longest:
        return False
    if slot.is_numeric and not (names_something(slot.old) and names_something(slot.new)):
        return max(sum(map(_is_number, side.frame)) for side in (old, new)) <= _MAX_NUMBERS
    is_anchored = about.intersection(slot.before) or (new.declared and _SPEAKER.intersection(slot.before[:1]))
    if words.FAVOURITE.issuperset(slot.before[-1:]) and not _FAVOURITE_IS.search(new.low):
        return False  # a favourite of another kind of thing
    return bool(is_anchored) and not _has_number(slot.after) and not (slot.is_numeric and names_something(slot.after))


def about_two_subjects(slot: Slot, old: Statement, new: Statement) -> bool:
    """Return whether each side of the slot names a subject and describes it: "Dorn is closed", "Kell has reopened"."""
    return all(_names_and_describes(side, statement) for side, statement in ((slot.old, old), (slot.new, new)))


def _names_and_describes(side: Sequence[str], statement: Statement) -> bool:
    """Return whether a side begins with a name and says something about it."""
    names = words.roots(" ".join(statement.names))
    return side[0] in names and any(_is_name(word) and word not in names for word in side)


def _numbers_several(slot: Slot, pair: StatementPair) -> bool:
    """Return whether the slot holds the number of one of several things, described after it."""
    labels_of = dict(pair.old.labels)
    noun = "".join(slot.before)
    return names_something(slot.after) and any(
        labels_of.get(kind, label) != label for kind, label in pair.new.labels if kind == noun
    )


def comparable(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two sides of a slot can be values of one attribute: both numbers, or both names of something."""
    if _has_number(one) and _has_number(other):
        return True
    prepositions = [side[0] if side[0] in FUNCTION_LEMMAS else "" for side in (one, other)]
    if any(may_be_typo(*pair) for pair in product(one, other)):
        return False
    same_place = prepositions[0] == prepositions[1] or _PLACE_PREPOSITIONS.issuperset(prepositions)
    return same_place and all(names_something(side) and not _PERSONS.intersection(side) for side in (one, other))


def _without_repetition(word: str, frame: Sequence[str]) -> str:
    """Return a word without the prefix "re-", if the other statement has it so."""
    base = word.removeprefix(_REPETITION_PREFIX)
    return base if base != word and len(base) >= _MIN_STEM_LETTERS and base in frame else word


def as_written(slot: Slot, old: Statement, new: Statement) -> tuple[str, str]:
    """Return both sides of a slot as written."""
    return _written(slot.old, old), _written(slot.new, new)


@lru_cache(maxsize=_CACHED_ALIGNMENTS)
def _opcodes(one: tuple[str, ...], other: tuple[str, ...]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _is_number(word: str) -> bool:
    return word[0].isdigit()


def _has_number(side: Sequence[str]) -> bool:
    return any(map(_is_number, side))


def names_something(side: Sequence[str]) -> bool:
    """Return whether a side has a word that names something."""
    return any(word not in FUNCTION_LEMMAS | words.GENERIC | _PERSONS and not _is_number(word) for word in side)


def _written(slot: Sequence[str], statement: Statement) -> str:
    """Return the words of one side as written, as far as they can be found."""
    written = {words.word_root(word): word for word in cues.WORD.findall(statement.low)}
    return " ".join(written.get(word, word) for word in slot)
