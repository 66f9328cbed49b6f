"""Finds the words that tell two texts apart which name the same figures, days and names.

Words that say nothing, another order of sentences and phrases, typos, and figures that are written in two ways tell
nothing apart. English only. Not here: the differences that columns show (`merge_guard`), and spelling (`spelling`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, permutations
from typing import Any, Final

from memory_pipeline.text.lang.en.lemmas import (
    AUXILIARIES,
    CONNECTIVES,
    DATE_LEMMAS,
    FUNCTION_LEMMAS,
    NUMBER_LEMMAS,
    OPPOSITES,
    PAST,
    PHRASE_OPENERS,
    SENTENCE_END,
    WEAK_WORDS,
    lemma,
    lemmas,
    may_be_typo,
)
from memory_pipeline.text.lang.en.lexicon import LISTS

TextPair = tuple[dict[str, Any], dict[str, Any]]
"""The aligned columns of two texts."""
Lemmas = Sequence[str]
EditOperations = Sequence[tuple[str, int, int, int, int]]
"""Edit operations as returned by `difflib`."""
SIDES: Final = ("left", "right")
_ALIGNED_COLUMNS: Final = (
    *("content", "lemmas", "lemmas_by_sentence", "only_words", "names", "numbers", "dates"),
    *("only_content_lemmas", "only_function_lemmas", "only_numbers"),
)
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*")
_WORDS: Final = LISTS.section("merges")
_QUANTIFIERS: Final = _WORDS.words("quantifiers")
_BOUND_WORDS: Final = _WORDS.words("bounds")
"""Connectives that make a limit of the number or date after them."""
_EVERY: Final = "all"
"""Lemma of "every" and "each", which with a period give a frequency."""
_FIXED_CONNECTIVES: Final = (_BOUND_WORDS - {"by", "over"}) | _WORDS.words("fixed")
"""Connectives that no other connective can replace."""
_PREPOSITIONS: Final = frozenset(CONNECTIVES.values()) - {"and", "or", "but", "because", "when", "than"}
_MODAL_MAY: Final = re.compile(r"(?<!as you )\bmay\b(?! \d|,| of\b)")
"""The auxiliary "may", which turns a fact into a possibility; the month is capitalised or has a day."""
_SAYING_NOTHING: Final = {*_WORDS.words("saying_nothing"), *AUXILIARIES.values(), SENTENCE_END}
"""Function lemmas that limit nothing where only one text has them."""
_PERIODS: Final = _WORDS.words("periods")
_CONJUNCTIONS: Final = frozenset({"and", "or"})
_PHRASE_OPENERS: Final = (
    (frozenset(CONNECTIVES.values()) - {"and", "or", "but", "than"})
    | WEAK_WORDS
    | DATE_LEMMAS
    | NUMBER_LEMMAS
    | PHRASE_OPENERS
)
"""Lemmas that open an adverbial phrase of free position in its sentence."""
COPULA: Final = "be"
"""Lemma that a clitic may hide ("Ann's here")."""
CURRENCIES: Final = _WORDS.words("currencies")
"""Lemmas of units that are part of numbers in normal form."""


def difference(row: dict[str, Any]) -> str | None:
    """Return the difference in wording of two texts, as "[a] / [b]" of lemmas; None for two wordings of one fact.

    The row has, as left_ and right_, what `merge_guard` aligned of the two.
    """
    left, right = ({name: row[f"{side}_{name}"] for name in _ALIGNED_COLUMNS} for side in SIDES)
    swapped = right["lemmas"] < left["lemmas"]  # an alignment depends on the order of its sides
    found = _distinguishing_lemmas((right, left) if swapped else (left, right))
    return found and _bracketed(*(found[::-1] if swapped else found))


def as_written(left: str, right: str, detail: str) -> str:
    """Return the detail with each lemma as the text words it; a side without a word of its own becomes "nothing"."""
    sides = []
    for text, listed in zip((left, right), detail[1:-1].split("] / [", 1), strict=True):
        written: dict[str, str] = {}
        for word in _WORD.findall(text or ""):
            for lemma_of_word in lemmas(word.lower().replace("\u2019", "'")):
                written.setdefault(lemma_of_word, word)
                written.setdefault(lemma_of_word.removesuffix(PAST), word)
        wording = (written.get(one) or written.get(one.removesuffix(PAST), one) for one in listed.split(", ") if one)
        sides.append(", ".join(dict.fromkeys(wording)) or "nothing")
    return "[{}] / [{}]".format(*sides)


def _distinguishing_lemmas(sides: TextPair) -> tuple[Lemmas, Lemmas] | None:
    """Return the lemmas that distinguish two texts, per side; None if nothing does."""
    lemmas_of = [side["lemmas"] for side in sides]
    surplus = [Counter(lemmas_of[0]) - Counter(lemmas_of[1]), Counter(lemmas_of[1]) - Counter(lemmas_of[0])]
    explained = _equivalent_figures(sides) | _typos(sides, surplus) | {COPULA}
    if limits := _differing_limits(*lemmas_of):
        return limits
    modals = [["may"] if _MODAL_MAY.search(side["content"] or "") else [] for side in sides]
    if modals[0] != modals[1]:
        return modals[0], modals[1]
    unmatched = [[word for word in side["only_content_lemmas"] if word not in explained] for side in sides]
    repeated = [[word for word in count if word not in FUNCTION_LEMMAS and word not in explained] for count in surplus]
    connectives = [side["only_function_lemmas"] for side in sides]
    limiting = [[word for word in words if word not in _SAYING_NOTHING] for words in connectives]
    if _has_opposites(*connectives) or any((*unmatched, *limiting)):
        reported = limiting if any(limiting) else connectives
        left, right = ([*words, *others] for words, others in zip(unmatched, reported, strict=True))
        return left, right
    if any(repeated):
        return repeated[0], repeated[1]
    operations = SequenceMatcher(None, lemmas_of[0], lemmas_of[1], autojunk=False).get_opcodes()
    for tag, i, j, k, m in operations:
        left, right = (
            [word for word in words[start:end] if count[word] and word not in explained]
            for words, count, start, end in zip(lemmas_of, surplus, (i, k), (j, m), strict=True)
        )
        if tag == "replace" and _replacement_differs(left, right):
            return left, right
    return _reordered(sides, operations)


def _differing_limits(one: Lemmas, other: Lemmas) -> tuple[Lemmas, Lemmas] | None:
    """Return limits ("before 5") that only one of two texts sets on something both name, from all lemmas in order."""
    limits = _limits(one), _limits(other)
    left, right = (
        [" ".join(limit) for limit in sorted(limits_here - limits_there) if limit[1] in other_lemmas]
        for limits_here, limits_there, other_lemmas in ((*limits, other), (*limits[::-1], one))
    )
    return (left, right) if left or right else None


def _differing_places(one: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether the connectives that only one text has, on either side, denote different places or times."""
    left, right = _PREPOSITIONS.intersection(one), _PREPOSITIONS.intersection(other)
    return bool(left and right) and not _FIXED_CONNECTIVES.isdisjoint(left | right)


def _limits(sequence: Lemmas) -> set[tuple[str, str]]:
    """Return limits and what they limit: ("before", "5"), ("every", "hour")."""
    limits = set()
    for position, word in enumerate(sequence[:-1]):
        if word in _BOUND_WORDS:
            first, *rest = sequence[position + 1 : position + 4]
            limited, *rest = rest if first == "to" and rest else [first, *rest]
            dated = (
                limited in DATE_LEMMAS or limited == "noon" or (limited[0].isdigit() and rest[:1] in (["am"], ["pm"]))
            )
            figure = limited[0].isdigit() or limited in NUMBER_LEMMAS
            if limited not in _PERIODS and (dated or (figure and word != "by")):
                limits.add((word, limited))
        elif word == _EVERY and (sequence[position + 1][0].isdigit() or sequence[position + 1] in _PERIODS):
            limits.add((word, sequence[position + 1]))
    return limits


def _bracketed(left: Lemmas, right: Lemmas) -> str:
    """Return two lists of lemmas as "[a] / [b]"."""
    return f"[{', '.join(left)}] / [{', '.join(right)}]"


def _has_opposites(left: Lemmas, right: Lemmas) -> bool:
    """Return whether a connective of one side excludes one of the other."""
    return any(frozenset((one, other)) in OPPOSITES for one in left for other in right)


def _replacement_differs(left: Lemmas, right: Lemmas) -> bool:
    """Return whether aligned words that differ, each more frequent on its side, make a difference."""
    if not left or not right or _has_opposites(left, right):
        return bool(left and right)
    if _PREPOSITIONS.issuperset((*left, *right)) and _differing_places(left, right):
        return True
    content = [word for word in (*left, *right) if word not in FUNCTION_LEMMAS]
    is_count = any(word[0].isdigit() or word in NUMBER_LEMMAS or word in _QUANTIFIERS for word in content)
    return bool(content) and (is_count or ["a"] not in (left, right))


def _equivalent_figures(sides: TextPair) -> set[str]:
    """Return figures that the two texts write differently although their numbers and dates agree."""
    unmatched = [side["only_content_lemmas"] for side in sides]
    figures = {
        word
        for words, facts in ((NUMBER_LEMMAS, "numbers"), (DATE_LEMMAS, "dates"))
        if all(side[facts] for side in sides)
        for word in (*words, *(word for word in unmatched[0] + unmatched[1] if word[0].isdigit()))
    }
    if any(side["only_numbers"] for side in sides):
        return set()
    return (figures if all(figures.intersection(words) for words in unmatched) else set()) | CURRENCIES


def _typos(sides: TextPair, surplus: Sequence[Counter[str]]) -> set[str]:
    """Return the lemmas of typos of a word of the other text, or of one word written as two.

    Names excepted; and no typo is known where the texts share no other word that would tell that they are one.
    """
    if not {*sides[0]["lemmas"]} & {*sides[1]["lemmas"]} - {*FUNCTION_LEMMAS, SENTENCE_END}:
        return set()
    names = {name for side in sides for name in side["names"]}
    left, right = (
        [word for word in side["only_words"] if word not in names and count[lemma(word)]]
        for side, count in zip(sides, surplus, strict=True)
    )
    mistyped = {(one, other) for one in left for other in right if may_be_typo(one, other)}
    joined = {
        (*pair, whole)
        for parts, wholes in ((left, right), (right, left))
        for pair in permutations(parts, 2)
        for whole in wholes
        if "".join(pair) == whole
    }
    return {lemma(word) for group in mistyped | joined for word in group}


def _reordered(sides: TextPair, operations: EditOperations) -> tuple[Lemmas, Lemmas] | None:
    """Return shared words in another order, unless only sentences, conjuncts or adverbial phrases changed places."""
    one, other = _shared_in_order(sides, operations)
    date_parts = {
        part for side in sides for date in side["dates"] for part in re.findall("[1-9][0-9]*", date)
    } | DATE_LEMMAS
    content = [
        [word for word in order if word not in FUNCTION_LEMMAS and word not in date_parts] for order in (one, other)
    ]
    sentences = [sorted(_split_sentences(side["lemmas_by_sentence"])) for side in sides]
    if content[0] == content[1] or sentences[0] == sentences[1]:
        return None
    while one and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    rotations = (at for at in range(1, len(one)) if one[at:] + one[:at] == other)
    if any(one[0] in _PHRASE_OPENERS or one[at] in _PHRASE_OPENERS for at in rotations):
        return None
    conjunctions = (at for at, word in enumerate(one) if word in _CONJUNCTIONS)
    if any([*one[at + 1 :], one[at], *one[:at]] == other for at in conjunctions):
        return None
    return one, other


def _shared_in_order(sides: TextPair, operations: EditOperations) -> tuple[list[str], list[str]]:
    """Return both texts reduced to the words they share, each as often as both have it."""
    spans = [
        [
            (side["lemmas"][position], tag == "equal")
            for tag, *ends in operations
            for position in range(ends[2 * place], ends[2 * place + 1])
        ]
        for place, side in enumerate(sides)
    ]
    unmatched = [Counter(word for word, matched in span if not matched) for span in spans]
    moved = unmatched[0] & unmatched[1]
    shared: tuple[list[str], list[str]] = ([], [])
    for order, span in zip(shared, spans, strict=True):
        remaining = moved.copy()
        for word, matched in span:
            if matched or remaining[word]:
                remaining[word] -= not matched
                order.append(word)
    return shared


def _split_sentences(words: Lemmas) -> list[tuple[str, ...]]:
    """Return the sentences of a text, from lemmas with sentence ends."""
    ends = [at for at, word in enumerate(words) if word == SENTENCE_END]
    cut = (tuple(words[start + 1 : end]) for start, end in pairwise([-1, *ends, len(words)]))
    return [
        tuple(word for word in sentence if word != SENTENCE_END)
        for sentence in cut
        if any(word != SENTENCE_END for word in sentence)
    ]
