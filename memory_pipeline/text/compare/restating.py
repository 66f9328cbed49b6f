"""Finds where a sentence worded by a model departs from the sentences it was taken from.

It compares what a fact must not change however it is worded: denials, conditions, doubts, plans and reports, the tense,
who does what to whom, and which figure belongs to what. English only. Not here: numbers, dates and names that are in no
sentence at all (`consolidation/summaries/faithfulness`).
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en.lemmas import AUXILIARIES, CONNECTIVES, FUNCTION_LEMMAS, NOT, PAST
from memory_pipeline.text.lang.en.lexicon import LISTS, STOP_WORDS
from memory_pipeline.text.parse import entities
from memory_pipeline.text.parse.lemmatize import lemmatize
from memory_pipeline.text.parse.tokens import fold

POLARITY: Final = "a negation lost or added"
CONDITION: Final = "a condition lost or added"
STANCE: Final = "a doubt, plan or report lost or added"
TENSE: Final = "another tense"
ORDER: Final = "names, figures or words in another order"
ELSEWHERE: Final = "a name or figure of another sentence"

_REASONS: Final = {"denied": POLARITY, "conditional": CONDITION}
_STANCES: Final = LISTS.section("stances")
_PATTERNS: Final = {name: re.compile(rf"\b(?:{'|'.join(_STANCES.expressions(name))})\b") for name in _STANCES.lists}
"""Stances other than plain statement: words that deny, limit, doubt or intend something."""
_BLOCK: Final = re.compile(r"[;:]|\bbut\b|\band (?=(?:i|you|he|she|it|we|they)\b)")
_PART: Final = re.compile(r",|\b(?:and|or)\b")
_GOVERNING: Final = frozenset({"doubted", "reported"})
"""Stances that hold for the rest of a sentence, whatever joins it."""
_CAPITALISED: Final = re.compile(r"\b[^\W\d_a-z][^\W_]*")
_FIGURE: Final = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")
_WORD: Final = re.compile(r"[^\W_]+")
_THIRD: Final = re.compile(r"(?i)\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those)\b")
_OPENERS: Final = frozenset(CONNECTIVES.values()) | {"if", "unless"}
_BE: Final = {"is": "be", "was": "be+ed", "does": "do", "did": "do+ed"}


def fault(fact: str, sentences: Sequence[str], own: Sequence[int]) -> str | None:
    """Return how a fact departs from the sentences it was taken from, as a reason of this module; None if it does not.

    `own` are the ascending indices of these among all sentences of the text. A pronoun is taken to mean the first name
    of the nearest earlier sentence that has any. Cost: about 2 ms.
    """
    sources = [sentences[index] for index in own]
    return (
        _stance(fact, sources)
        or (ELSEWHERE if _is_from_elsewhere(fact, sentences, own) else None)
        or _lemmas_turned(fact, " ".join(sources))
    )


def _stance(fact: str, sources: Sequence[str]) -> str | None:
    """Return which stance the fact lost or added."""
    low, *lows = fold(pl.Series([fact, *sources])).to_list()
    unnamed = _content(low) - {word.lower() for word in _CAPITALISED.findall(fact)}
    words = unnamed or _content(low)  # a name may stand for a pronoun
    for name, pattern in _PATTERNS.items():
        has = bool(pattern.search(low))
        scopes = " ; ".join(_scope(source, words, name) for source in lows)
        if has != bool(pattern.search(" ; ".join(lows) if has else scopes)):
            return _REASONS.get(name, STANCE)
    return None


def _scope(source: str, words: frozenset[str], stance: str) -> str:
    """Return the parts of a sentence from which a fact of these words can be taken."""
    blocks = _BLOCK.split(source)
    taken = [index for index, block in enumerate(blocks) if words & _content(block)]
    if stance in _GOVERNING and taken:
        taken = list(range(taken[-1] + 1))
    scope = [blocks[index] for index in taken]
    return " ; ".join([_head(block, words) for block in scope] if stance == "denied" else scope) or source


def _head(block: str, words: frozenset[str]) -> str:
    """Return a block up to the last of its enumerated parts that has one of the words."""
    parts = _PART.split(block)
    last = max((index for index, part in enumerate(parts) if words & _content(part)), default=len(parts))
    return ", ".join(parts[: last + 1])


def _content(low: str) -> frozenset[str]:
    return frozenset(_WORD.findall(low)) - STOP_WORDS


def _is_from_elsewhere(fact: str, sentences: Sequence[str], own: Sequence[int]) -> bool:
    """Return whether the fact has a name or figure that only other sentences have, unless a pronoun means the name."""
    sources = " ".join(sentences[index] for index in own)
    others = " ".join(sentence for index, sentence in enumerate(sentences) if index not in own)
    figures = set(_FIGURE.findall(fact)) & set(_FIGURE.findall(others)) - set(_FIGURE.findall(sources))
    here = {word.lower() for word in _WORD.findall(sources)}
    names = {
        word
        for word in _CAPITALISED.findall(fact)
        if word in _CAPITALISED.findall(others) and word.lower() not in here | STOP_WORDS
    }
    meant = set(_WORD.findall(_named_before(sentences, own[0]))) if _THIRD.search(sources) else set()
    return bool(figures) or not names <= meant


def _named_before(sentences: Sequence[str], index: int) -> str:
    """Return the first name of the nearest earlier sentence that has any."""
    for sentence in reversed(sentences[:index]):
        (names,) = entities.names(pl.Series([sentence])).to_list()
        if names:
            return str(min(names, key=sentence.find))
    return ""


def _lemmas_turned(fact: str, source: str) -> str | None:
    """Return whether the fact changes the tense of a verb, or the order of what it shares with its source."""
    texts = lemmatize(pl.Series([fact, source]))
    by_text = {
        text: [_BE.get(word, word) for word in found] for text, found in texts.select("content", "lemmas").rows()
    }
    stated, given = by_text[fact], by_text[source]
    for word in set(stated) - set(given):
        other = word.removesuffix(PAST) if word.endswith(PAST) else f"{word}{PAST}"
        if other in given:
            return TENSE
    shared = (set(stated) & set(given)) - FUNCTION_LEMMAS - {NOT, *AUXILIARIES}
    order = [word for word in given if word in shared]
    turns = [0, *(at for at in range(1, len(stated)) if stated[0] in _OPENERS or stated[at] in _OPENERS)]
    orders = ([word for word in chain(stated[at:], stated[:at]) if word in shared] for at in turns)
    return None if any(_follows(words, order) for words in orders) else ORDER


def _follows(words: Sequence[str], order: Sequence[str]) -> bool:
    """Return whether words occur in this order."""
    left = iter(order)
    return all(word in left for word in words)
