"""Repeats: do two texts say the same in other words?

The merge guard refuses pairs that it cannot prove to be one fact; here two texts also repeat each other where one turns
the sentence of the other around ("Boston is where I live") or uses a near word ("called" for "named"). What is not
here: the guard (`differences`), and changed facts and contradictions (`changes`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise, product
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.compare import spelling
from memory_pipeline.text.compare.cases import RARE
from memory_pipeline.text.compare.merge_guard import disagreements, other_limits, other_places
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse.content_words import (
    COUNTED,
    DATED,
    LINKS,
    OPPOSITES,
    PAST,
    SOFT,
    UNPLACED,
    alike,
    key,
    readings,
)
from memory_pipeline.text.parse.facts import facts
from memory_pipeline.text.parse.tokens import vocabulary

Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]

_SIDES: Final = ("left", "right")
_ALIKE: Final = 0.6
"""Share of the words of two texts that both have, by weight, from which they can be the same."""
_MOST_SLIPS: Final = 4
"""Strange words in one text up to which they can all be slips."""
_GENERIC: Final = 10
"""Weight of a word that many texts share anyway."""
_AUXILIARY: Final = frozenset({"be", "have", "do", "will", "remember", "forget", "dollar", "euro", "get"})
_UNTOLD: Final = (DATED - {"wed", "sun", "mar", "sat"}) | COUNTED | {key(word) for word in STOP_WORDS} | _AUXILIARY
"""Words that do not count: figures and dates are compared as facts."""
_NEAR: Final = {
    words.root(key(word)): words.root(key(group.split()[0]))
    for group in (
        "call called name named",
        "leave left depart departed",
        "enjoy love like",
        "work worked job employed employ",
        "beautiful lovely pretty",
        "sick ill",
        "begin start",
        "located situated lie",
        "own possess",
        "cost price",
        "attend join",
        "wed marry married",
        "show display",
        "teach instruct",
    )
    for word in group.split()
}
"""Words that can stand for each other in what is otherwise the same; the first stands for all."""
_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_FORMAL: Final = (
    (UNPLACED - SOFT)
    | _PERSONS
    | {"a", "be", "be+ed", "have", "have+ed", "do", "do+ed", "get", "get+ed"}
    | {key("where"), key("what")}
)
"""Words that turning a sentence around may bring or take."""
_STATES: Final = frozenset(_NEAR.get(root, root) for root in words.roots("named located based"))
"""What one is, although it stands in the past: "named"."""
_ON_EITHER_SIDE: Final = (_FORMAL - _PERSONS - frozenset(LINKS.values())) | {"and", "or", "with", "between"}
"""Words around which what is said may be turned."""
_ROLE: Final = frozenset({key("work"), key("job"), key("is")})
_AS: Final = re.compile(r"\bwork(?:s|ed|ing)? as an?\b")
"""How one says what one is."""
_PASSIVE: Final = re.compile(r"\bby\b")
_CLEFT: Final = re.compile(r"\b(?:is|are|was|were) (?:where|what|who|when|how)\b")
_TOGETHER: Final = re.compile(r"\b(?:and|with)\b")
_PLANNED: Final = re.compile(
    r"\b(?:going to|gonna|will|planning|'ll|(?:want|plan|hope|need|decide|intend|have|about)(?:s|ing|ned|ed)? to)\b"
)


def same(texts: pl.Series, older: Rows, newer: Rows) -> Marks:
    """Pairs of texts that say the same: they share most of their words, and neither has a fact that the other denies.

    Args:
        texts: strings; null counts as empty.
        older: places of the one text of each pair.
        newer: places of the other, as many.

    Returns:
        One mark a pair. Cost: about 0.1 ms a pair.
    """
    texts = texts.fill_null("")
    low = texts.str.to_lowercase()
    ending = (low.str.contains(cues.ENDED) | low.str.contains(cues.OVER_ITSELF)).to_numpy()
    told = _told(texts)
    marks = np.zeros(len(older), dtype=np.bool_)
    for at, (i, j) in enumerate(zip(older.tolist(), newer.tolist(), strict=True)):
        marks[at] = ending[i] == ending[j] and _alike(told[i], told[j])
    near = np.flatnonzero(marks)
    for at, reason in zip(near.tolist(), _reasons(texts, older[near], newer[near]), strict=True):
        sides = told[older[at]], told[newer[at]]
        marks[at] = reason is None or (reason == "words" and _reworded(*sides))
    near = np.flatnonzero(marks)
    marks[near] = spelling.differences(_sided(texts.to_frame("content"), older[near], newer[near])).is_null().to_numpy()
    return marks


def _told(texts: pl.Series) -> list[dict[str, Any]]:
    """What each text tells: its roots with their weights, those in the past, its links, referents and lower case."""
    read = readings(texts)
    rarity = vocabulary(read["meant"].explode().drop_nulls().str.strip_suffix(PAST)).select("word", "rarity")
    weights = {words.root(word): max(weight, _GENERIC) for word, weight in rarity.iter_rows()}
    names = facts(pl.DataFrame({"content": read["content"]}))["entities"].to_list()
    found = {}
    for row, named in zip(read.iter_rows(named=True), names, strict=True):
        telling = [word for word in row["meant"] if word[0].isalpha() and word not in _UNTOLD]
        found[row["content"]] = {
            "roots": {_near(word): weights.get(words.root(word), RARE) for word in telling},
            "past": {_near(word) for before, word in pairwise(["", *row["said"]]) if _is_past(before, word)},
            "linked": row["linked"],
            "said": row["said"],
            "spelled": row["spelled"],
            "names": {key(part.lower()) for name in named for part in name.split()},
            "low": row["content"].lower(),
        }
    return [found[text] for text in texts]


def _is_past(before: str, word: str) -> bool:
    """A word tells what happened; after "is" it is a state."""
    return word.endswith(PAST) and before not in {"is", "be"} and word not in _UNTOLD and _near(word) not in _STATES


def _near(word: str) -> str:
    root = words.root(word)
    return _NEAR.get(root, root)


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """They share most of their words, by weight."""
    if one["low"] == other["low"]:
        return True
    left, right = one["roots"], other["roots"]
    either = sum((left | right).values())
    both = sum(weight for word, weight in left.items() if word in right)
    if either and both < _ALIKE * either:
        mistyped = {_near(key(word)) for word in _slipped(one["spelled"], other["spelled"])}
        both += sum(weight for word, weight in left.items() if word in mistyped)
        either -= sum(weight for word, weight in right.items() if word in mistyped)
    return bool(either) and both >= _ALIKE * either


def _slipped(one: Sequence[str], other: Sequence[str]) -> set[str]:
    """Words that only one of two texts has and that look like a word of the other mistyped: both spellings."""
    alone = set(one).difference(other), set(other).difference(one)
    if max(map(len, alone)) > _MOST_SLIPS:
        return set()
    return {word for pair in product(*alone) if alike(*pair) for word in pair}


def _reasons(texts: pl.Series, older: Rows, newer: Rows) -> Sequence[str | None]:
    """What the merge guard has against each pair."""
    never = pl.lit(None, dtype=INSTANT)
    known = facts(pl.DataFrame({"content": texts})).with_columns(valid_from=never, valid_until=never)
    return disagreements(_sided(known, older, newer))["reason"].to_list()


def _sided(known: pl.DataFrame, older: Rows, newer: Rows) -> pl.DataFrame:
    """What is known of both texts of each pair."""
    places = zip(_SIDES, (older, newer), strict=True)
    return pl.concat([known[rows].select(pl.all().name.prefix(f"{side}_")) for side, rows in places], how="horizontal")


def _reworded(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """What the guard has against two texts is only their wording."""
    formal = _FORMAL | _ROLE if any(_AS.search(side["low"]) for side in (one, other)) else _FORMAL
    said = [Counter(_near(word) for word in side["said"] if word not in formal) for side in (one, other)]
    if said[0] != said[1] or (one["past"] ^ other["past"]) & one["roots"].keys() & other["roots"].keys():
        return False
    links = [set(side["linked"]) for side in (one, other)]
    alone = links[0] - links[1], links[1] - links[0]
    if any(frozenset(pair) in OPPOSITES for pair in ((a, b) for a in alone[0] for b in alone[1])):
        return False
    if other_places(*alone) or other_limits(one["said"], other["said"]):
        return False
    if bool(_PLANNED.search(one["low"])) != bool(_PLANNED.search(other["low"])):
        return False
    return _one_order(one, other) and not _swapped(one, other) and not _exchanged(one, other)


def _swapped(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Two neighbours have changed partners: a big garden and a small pool, a small garden and a big pool."""
    told = [[word for word in side["said"] if word not in _FORMAL and word not in UNPLACED] for side in (one, other)]
    left, right = (set(pairwise(words)) for words in told)
    parted = sorted(left - right)
    return any({(a, y), (b, x)} <= right for (a, x), (b, y) in combinations(parted, 2))


def _exchanged(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """What stands on the two sides of some words has changed places: Ann is taller than Ben, Ben is taller than Ann."""
    left, right = ([word for word in side["said"] if word not in _ON_EITHER_SIDE] for side in (one, other))
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    if len(left) != len(right):
        return False
    for at, size in product(range(1, len(left)), (1, 2)):
        there = len(left) - at - size  # where as many words follow as stand before here
        same = there > 0 and left[at : at + size] == right[there : there + size]
        halves = (left[:at], right[there + size :]), (left[at + size :], right[:there])
        if same and all(sorted(a) == sorted(b) for a, b in halves):
            return True
    return False


def _one_order(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Persons, names and figures come in one order, or a passive or the like accounts for the other one."""
    named = _PERSONS | (one["names"] & other["names"])
    places = [_places(side["said"], named) for side in (one, other)]
    common = sorted(places[0].keys() & places[1].keys())
    steps = (tuple(place[late] - place[early] for place in places) for early, late in combinations(common, 2))
    if all(step * step_there >= 0 for step, step_there in steps):
        return True
    lows = one["low"], other["low"]
    turned = any(len([low for low in lows if cue.search(low)]) == 1 for cue in (_PASSIVE, _CLEFT))
    together = ("with" in one["linked"]) != ("with" in other["linked"]) and all(map(_TOGETHER.search, lows))
    return turned or together


def _places(said: Sequence[str], named: frozenset[str]) -> dict[str, int]:
    """In which order referents first come; those next to each other share a place."""
    places: dict[str, int] = {}
    place = 0
    for word in said:
        if word in named or words.root(word) in words.PEOPLE or word[0].isdigit():
            places.setdefault(word, place)
        else:
            place += 1
    return places
