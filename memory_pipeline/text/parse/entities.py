"""Named entities: names of people, places and things, found by capitalisation.

A capitalised word within a sentence is a name; at the start of a sentence only if it is not a common word. Adjacent
capitalised words make one name. Not here: comparison of the names of two texts (`compare/merge_guard`).
"""

import re
from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import are_few, in_python, suited
from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, FIRST_PERSON, NAME_BEGINNINGS, SMALL_TALK, STOP_WORDS
from memory_pipeline.text.lang.en.rarity import is_common
from memory_pipeline.text.parse.tokens import align_rows

_CAPITALISED: Final = (
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|St|Mt)\.[ \t])?\p{Lu}[\p{L}\p{M}\p{N}]*(?:['\u2019&-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*"
)
_CAMEL: Final = r"\p{Ll}+\p{Lu}[\p{L}\p{N}]*"
_JOINERS: Final = frozenset({"of", "the", "de", "la", "van", "von", "del", "da", "di", "du"})
_JOINED: Final = r"(?:[ \t](?:of|de|van|von|del|da|di|du)(?:[ \t](?:the|la))?)?[ \t]"
_SENTENCE_START: Final = r"[.!?…:;\n\r\"“•*#>|-]\s*"
"""Characters before the first word of a sentence, a heading or a list entry."""
_SALUTATION: Final = (
    r"(?i:(?:aww?|bye|cheers|congrats|congratulations|dear|goodbye|hah?a|hello|hey|heya|hi|hiya|howdy|no|nope|oh|ok|okay"
    rf"|sorry|thanks|thank you|welcome|whoa|woah|wow|yeah|yep|yes|yup),?|(?:{'|'.join(sorted(SMALL_TALK))}),)[ \t]+"
)
"""Words before a name in an address, as in "Thanks, Anna", which is not a mention."""
_VOCATIVE: Final = r",[ \t]+\p{Lu}\p{L}*!"
"""An address at the end of a sentence, as in "Well done, Anna!", which is not a mention either."""
_SCAN: Final = rf"(?:{_SENTENCE_START})?(?:\b{_SALUTATION})?\b(?:{_CAPITALISED}(?:{_JOINED}{_CAPITALISED})*|{_CAMEL})"
_MATCH_PARTS: Final = re.compile(
    rf"(?P<start>(?:{_SENTENCE_START})*)(?P<salutation>{_SALUTATION})?(?P<run>.*)", re.DOTALL
)
_LOWER: Final = re.compile("[a-z]")
_MAX_WORDS: Final = 5
"""A longer run of capitalised words is a headline."""
_COMMON_SUFFIXES: Final = ("ing", "tion", "tions", "ness", "ity", "fully", "ously", "ently", "ately", "ically")
"""Suffixes of words that are seldom names."""
_NEVER_IN_NAMES: Final = (STOP_WORDS | SMALL_TALK | DATE_WORDS | FIRST_PERSON) - NAME_BEGINNINGS - _JOINERS
"""Words that are never part of a name, however they are capitalised."""


def names(texts: pl.Series) -> pl.Series:
    """Extract the names that each text mentions: as written, without possessive ending, distinct and sorted.

    A text all in capitals has no names.
    """
    if are_few(texts):
        return pl.Series("names", [_names_in(text or "") for text in texts.to_list()], dtype=pl.List(pl.String))
    scan = suited(_SCAN, texts)
    matches = (
        pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True), "text": texts.fill_null("")})
        .filter(pl.col("text").str.contains(r"\p{Ll}"))
        .select("row", match=("\n" + pl.col("text")).str.replace_all(_VOCATIVE, "!").str.extract_all(scan))
        .explode("match")
        .drop_nulls()
    )
    distinct = matches["match"].unique()
    parsed = pl.DataFrame(
        {
            "match": distinct,
            "names": pl.Series([_names_in_match(text) for text in distinct.to_list()], dtype=pl.List(pl.String)),
        }
    )
    lists = (
        matches.join(parsed, on="match", how="inner")
        .explode("names")
        .drop_nulls()
        .group_by("row")
        .agg(pl.col("names").unique().sort())
    )
    return align_rows(lists, len(texts))["names"]


def _names_in(text: str) -> list[str]:
    """Return the names in one ASCII text."""
    if not _LOWER.search(text):
        return []
    plain = in_python(_VOCATIVE).sub("!", f"\n{text}")
    return sorted({name for match in in_python(_SCAN).finditer(plain) for name in _names_in_match(match[0])})


def _names_in_match(text: str) -> list[str]:
    """Return the names in one match of the scan; the text before the capitals shows whether they begin a sentence."""
    match = _MATCH_PARTS.fullmatch(text)
    if match is None:
        return []
    runs: list[list[str]] = [[]]
    for word in match["run"].replace("\u2019", "'").split():
        base = word.removesuffix("'s").removesuffix("'").removesuffix(".")
        if {base.lower(), base.lower().partition("'")[0]} & _NEVER_IN_NAMES:
            runs.append([])
        else:
            runs[-1].append(base)
            if word.endswith("'s"):
                runs.append([])
    if match["salutation"]:
        runs[0] = []
    initial = bool(match["start"])
    return [
        " ".join(name)
        for at, words in enumerate(runs)
        if (name := _name(words, initial=initial and (at == 0 or len(words) > 1)))
    ]


def _name(words: list[str], *, initial: bool) -> list[str]:
    """Return the words of a run that make a name; none for a common word, a single letter or a headline."""
    while words and (words[0].lower() in _JOINERS or (initial and _starts_with_common_word(words))):
        words = words[1:]
    while words and words[-1].lower() in _JOINERS:
        words = words[:-1]
    if not words or len(words) > _MAX_WORDS or (len(words) == 1 and len(words[0]) == 1):
        return []
    all_common = all(is_common(word) for word in words)
    all_capitals = all(word.isupper() for word in words)
    has_name_beginning = len(words) > 1 and words[0].lower() in NAME_BEGINNINGS
    common_suffix = len(words) == 1 and initial and words[0].endswith(_COMMON_SUFFIXES)
    return [] if (all_common and (initial or all_capitals) and not has_name_beginning) or common_suffix else words


def _starts_with_common_word(words: list[str]) -> bool:
    """Return whether a run at the start of a sentence begins with a common word that is not part of the name."""
    first, *rest = (word.lower() for word in words)
    return bool(rest) and rest[0] not in _JOINERS and first not in NAME_BEGINNINGS and is_common(first)
