"""Paraphrases: decides whether two texts say the same in other words.

The merge guard refuses pairs that it cannot prove to state one fact; here reordered sentences ("Boston is where I
live") and near synonyms ("called" for "named") count as the same, too. Not here: the guard (`merge_guard`), and changed
facts and contradictions (`changes`).
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
from memory_pipeline.text.compare.merge_guard import differing_limits, differing_places, disagreements
from memory_pipeline.text.compare.statement_pair import RARE_WEIGHT
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lemmas import (
    CONNECTIVES,
    DATE_LEMMAS,
    FUNCTION_LEMMAS,
    NUMBER_LEMMAS,
    OPPOSITES,
    PAST,
    WEAK_WORDS,
    lemma,
    may_be_typo,
)
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse.facts import add_facts
from memory_pipeline.text.parse.lemmatize import lemmatize
from memory_pipeline.text.parse.tokens import vocabulary

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SIDES: Final = ("left", "right")
_MIN_OVERLAP: Final = 0.6
"""Share of the words of two texts, by weight, that both must have."""
_MAX_TYPOS: Final = 4
"""Unknown words in one text up to which all may be typos."""
_GENERIC_WEIGHT: Final = 10
"""Weight of a word that many texts share."""
_AUXILIARY: Final = frozenset({"be", "have", "do", "will", "remember", "forget", "dollar", "euro", "get"})
_NOT_COMPARED: Final = (
    (DATE_LEMMAS - {"wed", "sun", "mar", "sat"}) | NUMBER_LEMMAS | {lemma(word) for word in STOP_WORDS} | _AUXILIARY
)
"""Words that are not compared: figures and dates are compared as facts."""
_NEAR_SYNONYMS: Final = {
    words.word_root(word): words.word_root(group.split()[0])
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
"""Near synonyms in otherwise equal texts; the first stands for all."""
_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_STRUCTURAL: Final = (
    (FUNCTION_LEMMAS - WEAK_WORDS)
    | _PERSONS
    | {"a", "be", "be+ed", "have", "have+ed", "do", "do+ed", "get", "get+ed"}
    | {lemma("where"), lemma("what")}
)
"""Words that reordering a sentence may add or remove."""
_STATIVE_PARTICIPLES: Final = frozenset(_NEAR_SYNONYMS.get(root, root) for root in words.roots("named located based"))
"""Participles of a present state: "named"."""
_SYMMETRIC_LINKS: Final = (_STRUCTURAL - _PERSONS - frozenset(CONNECTIVES.values())) | {"and", "or", "with", "between"}
"""Words whose two sides may be exchanged."""
_ROLE: Final = frozenset({lemma("work"), lemma("job"), lemma("is")})
_WORKS_AS: Final = re.compile(r"\bwork(?:s|ed|ing)? as an?\b")
"""A phrase for a role."""
_PASSIVE: Final = re.compile(r"\bby\b")
_CLEFT: Final = re.compile(r"\b(?:is|are|was|were) (?:where|what|who|when|how)\b")
_TOGETHER: Final = re.compile(r"\b(?:and|with)\b")
_PLANNED: Final = re.compile(
    r"\b(?:going to|gonna|will|planning|'ll|(?:want|plan|hope|need|decide|intend|have|about)(?:s|ing|ned|ed)? to)\b"
)


def are_paraphrases(texts: pl.Series, older: Rows, newer: Rows) -> Mask:
    """Find pairs of texts that say the same: they share most words, and neither states a fact that the other denies.

    Args:
        texts: strings; null counts as empty.
        older: indices of the first text of each pair.
        newer: indices of the second, as many.

    Returns:
        One Boolean per pair. Cost: about 0.1 ms per pair.
    """
    texts = texts.fill_null("")
    low = texts.str.to_lowercase()
    ending = (low.str.contains(cues.ENDED) | low.str.contains(cues.SUBJECT_ENDED)).to_numpy()
    parsed = _parse(texts)
    mask = np.zeros(len(older), dtype=np.bool_)
    for at, (i, j) in enumerate(zip(older.tolist(), newer.tolist(), strict=True)):
        mask[at] = ending[i] == ending[j] and _overlap(parsed[i], parsed[j])
    candidates = np.flatnonzero(mask)
    for at, reason in zip(candidates.tolist(), _reasons(texts, older[candidates], newer[candidates]), strict=True):
        sides = parsed[older[at]], parsed[newer[at]]
        mask[at] = reason is None or (reason == "words" and _same_content(*sides))
    candidates = np.flatnonzero(mask)
    mask[candidates] = (
        spelling.differences(_as_pairs(texts.to_frame("content"), older[candidates], newer[candidates]))
        .is_null()
        .to_numpy()
    )
    return mask


def _parse(texts: pl.Series) -> list[dict[str, Any]]:
    """Parse each text: roots with weights, past roots, lemmas, connectives, names and lower case."""
    lemmatized = lemmatize(texts)
    rarity = vocabulary(lemmatized["content_lemmas"].explode().drop_nulls().str.strip_suffix(PAST)).select(
        "word", "rarity"
    )
    weights = {words.root(word): max(weight, _GENERIC_WEIGHT) for word, weight in rarity.iter_rows()}
    names = add_facts(pl.DataFrame({"content": lemmatized["content"]}))["entities"].to_list()
    parsed = {}
    for row, entities in zip(lemmatized.iter_rows(named=True), names, strict=True):
        compared = [word for word in row["content_lemmas"] if word[0].isalpha() and word not in _NOT_COMPARED]
        parsed[row["content"]] = {
            "roots": {_canonical(word): weights.get(words.root(word), RARE_WEIGHT) for word in compared},
            "past": {_canonical(word) for before, word in pairwise(["", *row["lemmas"]]) if _is_past(before, word)},
            "function_lemmas": row["function_lemmas"],
            "lemmas": row["lemmas"],
            "words": row["words"],
            "names": {lemma(part.lower()) for name in entities for part in name.split()},
            "low": row["content"].lower(),
        }
    return [parsed[text] for text in texts]


def _is_past(before: str, word: str) -> bool:
    """Return whether a lemma is a past event; after "is" it is a state."""
    return (
        word.endswith(PAST)
        and before not in {"is", "be"}
        and word not in _NOT_COMPARED
        and _canonical(word) not in _STATIVE_PARTICIPLES
    )


def _canonical(word: str) -> str:
    """Return the root of a lemma, with near synonyms merged."""
    root = words.root(word)
    return _NEAR_SYNONYMS.get(root, root)


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two texts share most of their words, by weight."""
    if one["low"] == other["low"]:
        return True
    left, right = one["roots"], other["roots"]
    total = sum((left | right).values())
    shared = sum(weight for word, weight in left.items() if word in right)
    if total and shared < _MIN_OVERLAP * total:
        typos = {_canonical(lemma(word)) for word in _typo_pairs(one["words"], other["words"])}
        shared += sum(weight for word, weight in left.items() if word in typos)
        total -= sum(weight for word, weight in right.items() if word in typos)
    return bool(total) and shared >= _MIN_OVERLAP * total


def _typo_pairs(one: Sequence[str], other: Sequence[str]) -> set[str]:
    """Return the words of one text alone that look like typos of a word of the other: both spellings."""
    alone = set(one).difference(other), set(other).difference(one)
    if max(map(len, alone)) > _MAX_TYPOS:
        return set()
    return {word for pair in product(*alone) if may_be_typo(*pair) for word in pair}


def _reasons(texts: pl.Series, older: Rows, newer: Rows) -> Sequence[str | None]:
    """Return the reason of the merge guard against each pair, or None."""
    unbounded = pl.lit(None, dtype=INSTANT)
    facts = add_facts(pl.DataFrame({"content": texts})).with_columns(valid_from=unbounded, valid_until=unbounded)
    return disagreements(_as_pairs(facts, older, newer))["reason"].to_list()


def _as_pairs(texts: pl.DataFrame, older: Rows, newer: Rows) -> pl.DataFrame:
    """Return the rows of both texts of each pair side by side, as `left_` and `right_` columns."""
    indices = zip(_SIDES, (older, newer), strict=True)
    return pl.concat([texts[rows].select(pl.all().name.prefix(f"{side}_")) for side, rows in indices], how="horizontal")


def _same_content(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether the guard's objection is only about the wording."""
    structural = _STRUCTURAL | _ROLE if any(_WORKS_AS.search(side["low"]) for side in (one, other)) else _STRUCTURAL
    counts = [Counter(_canonical(word) for word in side["lemmas"] if word not in structural) for side in (one, other)]
    if counts[0] != counts[1] or (one["past"] ^ other["past"]) & one["roots"].keys() & other["roots"].keys():
        return False
    connectives = [set(side["function_lemmas"]) for side in (one, other)]
    unshared = connectives[0] - connectives[1], connectives[1] - connectives[0]
    if any(frozenset(pair) in OPPOSITES for pair in ((a, b) for a in unshared[0] for b in unshared[1])):
        return False
    if differing_places(*unshared) or differing_limits(one["lemmas"], other["lemmas"]):
        return False
    if bool(_PLANNED.search(one["low"])) != bool(_PLANNED.search(other["low"])):
        return False
    return _order_agrees(one, other) and not _modifiers_swapped(one, other) and not _sides_exchanged(one, other)


def _modifiers_swapped(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether adjacent pairs exchanged partners: a big garden and small pool, a small garden and big pool."""
    content = [
        [word for word in side["lemmas"] if word not in _STRUCTURAL and word not in FUNCTION_LEMMAS]
        for side in (one, other)
    ]
    left, right = (set(pairwise(words)) for words in content)
    unshared = sorted(left - right)
    return any({(a, y), (b, x)} <= right for (a, x), (b, y) in combinations(unshared, 2))


def _sides_exchanged(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether the two sides of a relation changed places: Ann is taller than Ben, Ben is taller than Ann."""
    left, right = ([word for word in side["lemmas"] if word not in _SYMMETRIC_LINKS] for side in (one, other))
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    if len(left) != len(right):
        return False
    for at, size in product(range(1, len(left)), (1, 2)):
        target = len(left) - at - size  # the mirrored position
        matches = target > 0 and left[at : at + size] == right[target : target + size]
        halves = (left[:at], right[target + size :]), (left[at + size :], right[:target])
        if matches and all(sorted(a) == sorted(b) for a, b in halves):
            return True
    return False


def _order_agrees(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether persons, names and figures come in one order, or a passive or cleft explains the other order."""
    referents = _PERSONS | (one["names"] & other["names"])
    positions = [_referent_positions(side["lemmas"], referents) for side in (one, other)]
    shared = sorted(positions[0].keys() & positions[1].keys())
    steps = (tuple(place[late] - place[early] for place in positions) for early, late in combinations(shared, 2))
    if all(step * step_there >= 0 for step, step_there in steps):
        return True
    lows = one["low"], other["low"]
    restructured = any(len([low for low in lows if cue.search(low)]) == 1 for cue in (_PASSIVE, _CLEFT))
    conjoined = ("with" in one["function_lemmas"]) != ("with" in other["function_lemmas"]) and all(
        map(_TOGETHER.search, lows)
    )
    return restructured or conjoined


def _referent_positions(lemmas: Sequence[str], referents: frozenset[str]) -> dict[str, int]:
    """Return the position of the first mention of each referent; adjacent ones share a position."""
    positions: dict[str, int] = {}
    position = 0
    for word in lemmas:
        if word in referents or words.root(word) in words.PEOPLE or word[0].isdigit():
            positions.setdefault(word, position)
        else:
            position += 1
    return positions
