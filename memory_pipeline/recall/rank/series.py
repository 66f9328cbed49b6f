"""Puts the newest of several values first where memories differ in nothing but the value.

"Weight this morning: 81.2 kg." said on forty days is one series: the words are the same, and only figures, days and
dates differ, or, where a language's words for these are not known, a few words in one place. A question for what holds
now wants the latest of them, however many there are and whichever of them the scores prefer. Not here: memories that
give a value in other words (`changes`).
"""

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank import places
from memory_pipeline.text.arrays import Integers, Marks
from memory_pipeline.text.lang.en.lexicon import MONTHS, NUMBERS, WEEKDAYS
from memory_pipeline.text.lang.registry import ENGLISH
from memory_pipeline.text.parse.tokens import fold

_WORD: Final = re.compile(r"\w+")
_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_PIECE: Final = re.compile(rf"[{_UNSPACED}]|\d+|[^\W\d{_UNSPACED}]+")
"""A word, a number, or a letter of a language that is written without spaces."""
_NAME_WORDS: Final = 3
"""Maximum number of words of a name."""
_LONGEST: Final = 200
"""Maximum length in characters of a memory that is one value of a series."""
_NAMED_WORDS: Final = 2
"""Minimum number of words of a label before "is"; "Ann is ..." says anything of Ann."""
_STATE_WORDS: Final = 8
"""Maximum number of words of a value."""
_WORDS_FOR: Final = "|".join(sorted({*WEEKDAYS, *MONTHS, *NUMBERS}, key=lambda word: (-len(word), word)))
_VALUE: Final = re.compile(
    rf"(?<![\w-])(?:{_WORDS_FOR}|[$\u20ac\u00a3]?\d+(?:[.,:/-]\d+)*(?:st|nd|rd|th|am|pm)?)(?![\w-])"
)
_VALUES: Final = re.compile(r"\W*#(?:\W*#)*\W*")
_LABELLED: Final = re.compile(
    r"(?P<label>[^.!?;:=]+?)(?: (?:is|are)(?: now| currently)?|:|\s*=|\s*->|\s*\u2192)\s+(?P<value>.+)"
)
_LABEL_ENDS: Final = (" is", " are", ":", "=", "->", "\u2192")
"""What ends a label; a text without any of these has none, and need not be matched."""
_FRAME_WORDS: Final = 3
"""Minimum number of words around the place in which two texts differ: fewer say anything of somebody."""
_FRAMED_WORDS: Final = 3
"""Maximum number of words in that place."""
_ARTICLE: Final = re.compile(r"^(?:the|our|my) (?=\S+ ?)")


def members(index: Index, question: Question, rows: Integers, best: Integers) -> Integers:
    """Return the number of the series of each memory, -1 for one that is in none, or in none of those of the best.

    A series has the same speaker, and texts that give a value to the same words: either they are equal but for figures,
    days and dates that the question does not name, or they begin with the same label ("Ticket OPS-41 is ..."), or they
    are equal behind a name that the question does not name ("Ana chairs the board"). In another language than English,
    or one that is not known, they may also differ in up to `_FRAMED_WORDS` words in one place. The question names the
    same of the places (see `places`) in which they stand. Cost: about 10 µs for each of the best and for each memory
    that may be in a series with one of them, 1 µs for each other, and 2 µs more for each of the best that is not
    English.
    """
    asked = set(_VALUE.findall(question.plain)) | set(_WORD.findall(question.plain))
    content = index.memories["content"][rows].fill_null("")
    texts, lows = content.to_list(), fold(content).to_list()
    wanted = {
        template
        for place in best.tolist()
        if (template := _template(lows[place], _name(texts[place]), asked)) is not None
    }
    shared = {max(_VALUES.split(template), key=len) for template in wanted}
    keys = [
        (int(speaker), _template(low, _name(text), asked)) if any(words in low for words in shared) else None
        for low, text, speaker in zip(lows, texts, index.speaker[rows], strict=True)
    ]
    alike = np.flatnonzero([key is not None and key[1] in wanted for key in keys])
    placed = [
        (keys[place], where) for place, where in zip(alike, places.named(index, question, rows[alike]), strict=True)
    ]
    counts = Counter(placed)
    numbers = {key: number for number, key in enumerate(counts) if counts[key] > 1}
    found = np.full(len(rows), -1)
    found[alike] = [numbers.get(key, -1) for key in placed]
    first, _ = index.passages.bounds(rows[best])
    foreign = best[(index.passages.languages.gather(first) != ENGLISH).fill_null(value=True).to_numpy()]
    if not len(foreign):
        return found
    told = list(zip(index.speaker[rows].tolist(), places.named(index, question, rows), strict=True))
    return _framed(found, lows, told, foreign, asked | set(_PIECE.findall(question.plain)))


def _template(low: str, name: int, asked: set[str]) -> str | None:
    """Return a folded text without its value; None if it is long or has no value.

    It begins with so many words of a name; what is asked is the figures, days, dates and words of the question.
    """
    if len(low) > _LONGEST:
        return None
    begins = low.split(maxsplit=name)
    may_be_value = 0 < name < len(begins) and asked.isdisjoint(_WORD.findall(" ".join(begins[:name])))
    labelled = _LABELLED.fullmatch(low.strip(" .!")) if any(mark in low for mark in _LABEL_ENDS) else None
    if labelled and len(labelled["value"].split()) <= _STATE_WORDS:
        words = len(labelled["label"].split())
        if words >= _NAMED_WORDS and not (may_be_value and words == name):
            return f"{_ARTICLE.sub('', labelled['label'])} #"
    template = _VALUE.sub(lambda found: found[0] if found[0] in asked else "#", low)
    if "#" not in template and may_be_value:
        template = f"# {begins[name]}"
    return _VALUES.sub(" # ", template).strip(" .!") if "#" in template else None


def _framed(found: Integers, lows: list[str], told: Sequence[Hashable], best: Integers, asked: set[str]) -> Integers:
    """Return the numbers of the series of texts, with series of those that differ in one place from one of the best.

    Texts of which a series is found already are left, and those of another speaker or place (`told`). Of the frames
    that a text shares with others that of most counts.
    """
    numbers = found.copy()
    words = [_PIECE.findall(low) if len(low) <= _LONGEST else [] for low in lows]
    for place in best.tolist():
        if numbers[place] >= 0:
            continue
        others = [other for other in np.flatnonzero(numbers < 0).tolist() if told[other] == told[place]]
        shared = {other: _ends_shared(words[place], words[other]) for other in others if other != place}
        frames = Counter(ends for ends in shared.values() if sum(ends) >= _FRAME_WORDS)
        for first, last in sorted(frames, key=lambda ends: (-frames[ends], -sum(ends), ends)):
            members = [
                other
                for other, ends in {place: (first, last), **shared}.items()
                if ends[0] >= first and ends[1] >= last and _fills(words[other], first, last, asked)
            ]
            if place in members and len(members) > 1:
                numbers[members] = numbers.max() + 1
                break
    return numbers


def _ends_shared(one: list[str], other: list[str]) -> tuple[int, int]:
    """Return how many first and how many last words two texts share, each word counted once."""
    most = min(len(one), len(other))
    first = next((place for place in range(most) if one[place] != other[place]), most)
    last = next((place for place in range(most - first) if one[-1 - place] != other[-1 - place]), most - first)
    return first, last


def _fills(words: list[str], first: int, last: int, asked: set[str]) -> bool:
    """Return whether a text has a few words between its first and last ones, of which the question names none."""
    filling = words[first : len(words) - last]
    return 0 < len(filling) <= _FRAMED_WORDS and asked.isdisjoint(filling)


def _name(text: str) -> int:
    """Return with how many words in capitals a text begins; 0 if with more than a name has."""
    words = text[:_LONGEST].split(maxsplit=_NAME_WORDS + 1)[: _NAME_WORDS + 1]
    number = next((place for place, word in enumerate(words) if not word[:1].isupper()), len(words))
    return number if number <= _NAME_WORDS else 0


def asks_for_latest(question: Question, now: int) -> bool:
    """Return whether a question wants the latest value: it does not ask for the past, nor name a day before today.

    Today is that of `now`, in microseconds since 1970.
    """
    return (question.holds or not question.past) and not bool((question.bounds[:, 1] <= now).any())


def newest_first(index: Index, rows: Integers, order: Integers, number: Integers, invalid: Marks) -> Integers:
    """Reorder the members of each series (see `members`) among their places: those that hold first, then the newest."""
    since = np.maximum(index.dated(rows), index.validity[0][rows])
    wanted = order[np.lexsort((-since[order], invalid[order], number[order]))]
    places = np.argsort(number[order], kind="stable")
    result = order.copy()
    result[places] = wanted
    alone = number[order] < 0
    result[alone] = order[alone]
    return result
