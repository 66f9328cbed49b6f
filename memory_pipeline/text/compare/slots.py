"""Frames: two statements in the same words but for one slot, of which the newer is said to be a change.

"We close on Sundays" and "As of this week, we close on Wednesdays" share a frame, and the day is its slot. What is not
here: rules that know what stands in a slot (`fact_rules`), and how changes are announced (`cues`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import product
from typing import Final

from memory_pipeline.text.compare.cases import LEAST_SHARED, RARE, Case, Finding
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.parse.content_words import COUNTED, DATED, OPPOSITES, UNPLACED, alike, key
from memory_pipeline.text.parse.statements import Statement, impersonal

_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_FAVOURITE_IS: Final = re.compile(r"\bfavou?rite(?:'s| is| has)\b")
_FIRST: Final = frozenset({"i", "we"})
_PLACES: Final = frozenset({"in", "on", "to"})
_MOST_NUMBERS: Final = 2
"""More numbers in one statement are a list or a sum."""
_MOST_WORDS: Final = 3
"""Words of a slot."""
_REMEMBERED: Final = 256
"""Pairs of frames whose differences are kept at hand, as several rules ask for them."""
_AGAIN: Final = "re"
_STEM: Final = 4
_GONE: Final = words.roots("left leave retired quit resigned sacked fired dropped ditched stopped finished joined")
"""What is told of the old value beside the new one."""
_IDLE: Final = UNPLACED | words.GENERIC - DATED - COUNTED
"""Words that can stand for each other without making another statement of it."""
_FREE: Final = UNPLACED | DATED | COUNTED | words.GENERIC | words.IDLE | _PERSONS
"""What may stand in one statement alone without making it another one."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where two frames differ: words of the older, of the newer, and those that both have before and behind."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[str, ...]
    behind: tuple[str, ...]

    @property
    def counted(self) -> bool:
        """Both hold a number."""
        return _numeric(self.old) and _numeric(self.new)

    @property
    def single(self) -> bool:
        """Both are one number, and name nothing."""
        sides = self.old, self.new
        return all(sum(map(_counts, side)) == 1 and not any(map(_name, side)) for side in sides)


def restated(case: Case) -> Iterator[Finding]:
    """The newer says the same with one other value, and that this is a change."""
    old, new = case.old, case.new
    if not (new.announced or new.declared) or cues.ADDING.search(new.low) or old.wished != new.wished:
        return
    slot = one_slot(old, new)
    if (
        slot is None
        or not _telling(slot, case)
        or not like(slot.old, slot.new)
        or _of_two_kinds(slot, case)
        or of_two(slot, old, new)
    ):
        return
    several = words.MANY.intersection((*slot.before, *slot.behind)) or new.wished or (old.past and new.past)
    if several and not slot.counted and not new.retracting:
        return
    about = frozenset((*slot.before, *slot.behind)) & case.shared - words.GENERIC
    yield case.found("changed_value", about, shown(slot, old, new), 0.8, update=True)


def settled(case: Case) -> Iterator[Finding]:
    """Both tell by whom, where or of what one thing was made."""
    old, new = case.old, case.new
    if not words.MADE & case.shared or not all(map(impersonal, (old, new))):
        return
    slot = one_slot(old, new)
    about = case.shared - words.GENERIC - words.MADE
    if (
        slot
        and not slot.counted
        and words.MADE & {*slot.before}
        and about & {*slot.before}
        and like(slot.old, slot.new)
    ):
        lasting = case.shared >= words.PAINTED and bool(cues.PRESENT.search(old.low))
        yield case.found("changed_value", about, shown(slot, old, new), 0.75, update=lasting)


def parallel(old: Statement, new: Statement) -> bool:
    """The statements give like values of two things: they differ in what they are about, too."""
    codes = _codes(old.frame, new.frame)
    pairs = [(old.frame[i:j], new.frame[k:m]) for tag, i, j, k, m in codes if tag == "replace"]
    equal = sum(j - i for tag, i, j, _, _ in codes if tag == "equal")
    named = [pair for pair in pairs if all(map(naming, pair)) and not any(map(_numeric, pair))]
    last = tuple(old.frame[-1:]), tuple(new.frame[-1:])
    inside = [pair for pair in pairs if (pair[0][-1:], pair[1][-1:]) != last]
    mixed = any(all(any(map(_name, side)) and _numeric(side) for side in pair) for pair in inside)
    longest = max(len(old.frame), len(new.frame))
    return (bool(named) and len(pairs) > 1 and 2 * equal >= longest - 1) or (mixed and 2 * equal > longest)


def timed(slot: Slot) -> bool:
    """Both hold a day or an hour and nothing else."""
    return all(
        all(word in DATED | COUNTED | UNPLACED or _counts(word) for word in side) for side in (slot.old, slot.new)
    )


def opposed(old: Statement, new: Statement) -> bool:
    """In one place the statements have words that exclude each other: to, from."""
    codes = _codes(old.said, new.said)
    pairs = [product(old.said[i:j], new.said[k:m]) for tag, i, j, k, m in codes if tag == "replace"]
    return any(frozenset(pair) in OPPOSITES for places in pairs for pair in places)


def akin(old: Statement, new: Statement, *, other: bool = False) -> bool:
    """The statements are worded alike; `other`: and name different things in one place."""
    codes = _codes(old.frame, new.frame)
    equal = sum(j - i for tag, i, j, _, _ in codes if tag == "equal")
    pairs = [(old.frame[i:j], new.frame[k:m]) for tag, i, j, k, m in codes if tag == "replace"]
    named = any(all(any(map(_name, side)) for side in pair) for pair in pairs)
    return 2 * equal >= max(len(old.frame), len(new.frame)) - 1 and (named or not other)


def _name(word: str) -> bool:
    return word not in _FREE and not _counts(word)


def one_slot(old: Statement, new: Statement) -> Slot | None:
    """The one place in which two statements differ; None if they differ in others."""
    frame = tuple(_again(word, old.frame) for word in new.frame)
    codes = _codes(old.frame, frame)
    differ = [
        (tag, i, j, k, m)
        for tag, i, j, k, m in codes
        if tag == "replace" and not _IDLE.issuperset((*old.frame[i:j], *frame[k:m]))
    ]
    if len(differ) != 1:
        return None
    _, i, j, k, m = differ[0]
    known = _FREE.union(new.around), _FREE.union(old.around, old.frame[i:j], _GONE)
    beside = [code for code in codes if code[0] in {"delete", "insert"}]
    if not all(known[0].issuperset(old.frame[a:b]) and known[1].issuperset(frame[c:d]) for _, a, b, c, d in beside):
        return None
    equal = [(old.frame[a:b], a < i) for tag, a, b, _, _ in codes if tag == "equal"]
    before, behind = (tuple(word for part, first in equal if first == side for word in part) for side in (True, False))
    return Slot(tuple(old.frame[i:j]), tuple(frame[k:m]), before, behind)


def _telling(slot: Slot, case: Case) -> bool:
    """The frame tells what the slot is the value of, and the slot is no other thing of one kind."""
    old, new = case.old, case.new
    equal = (*slot.before, *slot.behind)
    longest = max(len(slot.old), len(slot.new))
    about = frozenset(equal) & old.topic - words.GENERIC
    weight = case.weight(about) + (case.weight(old.around & new.around - words.GENERIC) if new.declared else 0)
    most = _MOST_WORDS + bool(about & words.ONE_VALUED)
    if longest > most or weight < (LEAST_SHARED if new.declared and len(equal) > 1 else RARE):
        return False
    if not new.declared and len(equal) < longest:
        return False
    if slot.counted and not (naming(slot.old) and naming(slot.new)):
        return max(sum(map(_counts, side.frame)) for side in (old, new)) <= _MOST_NUMBERS
    opened = about.intersection(slot.before) or (new.declared and _FIRST.intersection(slot.before[:1]))
    if words.FAVOURITE.issuperset(slot.before[-1:]) and not _FAVOURITE_IS.search(new.low):
        return False  # a favourite of another kind
    return bool(opened) and not _numeric(slot.behind) and not (slot.counted and naming(slot.behind))


def of_two(slot: Slot, old: Statement, new: Statement) -> bool:
    """Each side of the slot names something and tells something of it: "Dorn is closed", "Kell has reopened"."""
    return all(_named_first(side, stated) for side, stated in ((slot.old, old), (slot.new, new)))


def _named_first(side: Sequence[str], stated: Statement) -> bool:
    named = words.roots(" ".join(stated.names))
    return side[0] in named and any(_name(word) and word not in named for word in side)


def _of_two_kinds(slot: Slot, case: Case) -> bool:
    """The slot holds the number of one of several things, of which something is told behind it."""
    kinds = dict(case.old.labels)
    noun = "".join(slot.before)
    return naming(slot.behind) and any(kinds.get(one, label) != label for one, label in case.new.labels if one == noun)


def like(one: Sequence[str], other: Sequence[str]) -> bool:
    """What stands in a slot can be two values of one thing: both are numbers, or both name something."""
    if _numeric(one) and _numeric(other):
        return True
    placed = [side[0] if side[0] in UNPLACED else "" for side in (one, other)]
    if any(alike(*pair) for pair in product(one, other)):
        return False
    alike_placed = placed[0] == placed[1] or _PLACES.issuperset(placed)
    return alike_placed and all(naming(side) and not _PERSONS.intersection(side) for side in (one, other))


def _again(word: str, known: Sequence[str]) -> str:
    """A word without the "re-" of doing again, if the other statement has it so."""
    bare = word.removeprefix(_AGAIN)
    return bare if bare != word and len(bare) >= _STEM and bare in known else word


def shown(slot: Slot, old: Statement, new: Statement) -> tuple[str, str]:
    """The two values of a slot as they are written."""
    return _shown(slot.old, old), _shown(slot.new, new)


@lru_cache(maxsize=_REMEMBERED)
def _codes(one: tuple[str, ...], other: tuple[str, ...]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _counts(word: str) -> bool:
    return word[0].isdigit()


def _numeric(side: Sequence[str]) -> bool:
    return any(map(_counts, side))


def naming(side: Sequence[str]) -> bool:
    """It names something."""
    return any(word not in UNPLACED | words.GENERIC | _PERSONS and not _counts(word) for word in side)


def _shown(slot: Sequence[str], stated: Statement) -> str:
    """Words of a slot as they are written, as far as they are found again."""
    written = {words.root(key(word)): word for word in cues.WORD.findall(stated.low)}
    return " ".join(written.get(word, word) for word in slot)
