"""Names of people, places and things, found by how they are capitalised.

A capital in the middle of a sentence makes a name; at the start of one it does so only for a word that is not ordinary.
Neighbouring capitalised words make one name. What is not here: what two texts call by different names (`differences`).
"""

import re
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, FIRST_PERSON, NAME_BEGINNINGS, SMALL_TALK, STOP_WORDS
from memory_pipeline.text.parse.tokens import by_row, is_common

_CAPITALISED: Final = (
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.[ \t])?\p{Lu}[\p{L}\p{M}\p{N}]*(?:['\u2019&-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*"
)
_CAMEL: Final = r"\p{Ll}+\p{Lu}[\p{L}\p{N}]*"
_JOINERS: Final = frozenset({"of", "the", "de", "la", "van", "von", "del", "da", "di", "du"})
_JOINED: Final = r"(?:[ \t](?:of|de|van|von|del|da|di|du)(?:[ \t](?:the|la))?)?[ \t]"
_START: Final = r"[.!?…:;\n\r\"“•*#>|-]\s*"
"""What stands before the first word of a sentence, a heading or a list entry."""
_ADDRESS: Final = (
    r"(?i:(?:aww?|bye|cheers|congrats|congratulations|dear|goodbye|hah?a|hello|hey|heya|hi|hiya|howdy|no|nope|oh|ok|okay"
    rf"|sorry|thanks|thank you|welcome|whoa|woah|wow|yeah|yep|yes|yup),?|(?:{'|'.join(sorted(SMALL_TALK))}),)[ \t]+"
)
"""What comes before a name that is only addressed, as in "Thanks, Anna": no mention."""
_CALLED: Final = r",[ \t]+\p{Lu}\p{L}*!"
"""A name called out at the end, as in "Well done, Anna!": no mention either."""
_SCAN: Final = rf"(?:{_START})?(?:\b{_ADDRESS})?\b(?:{_CAPITALISED}(?:{_JOINED}{_CAPITALISED})*|{_CAMEL})"
_FOUND: Final = re.compile(rf"(?P<start>(?:{_START})*)(?P<address>{_ADDRESS})?(?P<run>.*)", re.DOTALL)
_LONGEST: Final = 5
"""A longer run of capitals is a headline, not a name."""
_ORDINARY_ENDINGS: Final = ("ing", "tion", "tions", "ness", "ity", "fully", "ously", "ently", "ately", "ically")
"""Endings of words that are seldom names."""
_BREAKS: Final = (STOP_WORDS | SMALL_TALK | DATE_WORDS | FIRST_PERSON) - NAME_BEGINNINGS - _JOINERS
"""Words that are no part of a name, however they are written."""


def names(texts: pl.Series) -> pl.Series:
    """Names that each text mentions: as written, without a possessive ending, distinct and sorted.

    Args:
        texts: strings in their own case; null counts as empty. A text all in capitals shows no names.

    Returns:
        A list of strings a text.
    """
    found = (
        pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True), "text": texts.fill_null("")})
        .filter(pl.col("text").str.contains(r"\p{Ll}"))
        .select("row", found=("\n" + pl.col("text")).str.replace_all(_CALLED, "!").str.extract_all(_SCAN))
        .explode("found")
        .drop_nulls()
    )
    distinct = found["found"].unique()
    known = pl.DataFrame(
        {"found": distinct, "names": pl.Series([_names(one) for one in distinct.to_list()], dtype=pl.List(pl.String))}
    )
    lists = (
        found.join(known, on="found", how="inner")
        .explode("names")
        .drop_nulls()
        .group_by("row")
        .agg(pl.col("names").unique().sort())
    )
    return by_row(lists, len(texts))["names"]


def _names(found: str) -> list[str]:
    """Names in one match of the scan; what stands before the capitals tells whether they begin a sentence."""
    match = _FOUND.fullmatch(found)
    if match is None:
        return []
    parts: list[list[str]] = [[]]
    for word in match["run"].replace("\u2019", "'").split():
        plain = word.removesuffix("'s").removesuffix("'").removesuffix(".")
        if {plain.lower(), plain.lower().partition("'")[0]} & _BREAKS:
            parts.append([])
        else:
            parts[-1].append(plain)
            if word.endswith("'s"):
                parts.append([])
    if match["address"]:
        parts[0] = []
    initial = bool(match["start"])
    return [
        " ".join(name)
        for at, words in enumerate(parts)
        if (name := _name(words, initial=initial and (at == 0 or len(words) > 1)))
    ]


def _name(words: list[str], *, initial: bool) -> list[str]:
    """The words of a run that make a name; none if it is an ordinary word, a single letter or a headline."""
    while words and (words[0].lower() in _JOINERS or (initial and _is_lead(words))):
        words = words[1:]
    while words and words[-1].lower() in _JOINERS:
        words = words[:-1]
    if not words or len(words) > _LONGEST or (len(words) == 1 and len(words[0]) == 1):
        return []
    ordinary = all(is_common(word) for word in words)
    shouted = all(word.isupper() for word in words)
    titled = len(words) > 1 and words[0].lower() in NAME_BEGINNINGS
    verbal = len(words) == 1 and initial and words[0].endswith(_ORDINARY_ENDINGS)
    return [] if (ordinary and (initial or shouted) and not titled) or verbal else words


def _is_lead(words: list[str]) -> bool:
    """Whether a run at the start of a sentence begins with an ordinary word that is no part of the name after it."""
    first, *rest = (word.lower() for word in words)
    return bool(rest) and rest[0] not in _JOINERS and first not in NAME_BEGINNINGS and is_common(first)
