"""Patterns for texts of ASCII characters only, as most are: these compile and run several times as fast.

The classes of Unicode, such as all letters, stand for hundreds of ranges, and Polars keeps few compiled patterns, so
that small inputs would spend most of their time compiling. A few texts are searched by Python, which keeps them all.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from re import Pattern
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Marks = NDArray[np.bool_]
Form = Callable[[str], str]
_NEVER: Final = r"\x80"
"""A character that no ASCII text has."""
_OTHER: Final = r"[^\x00-\x7f]"
FEW: Final = 32
"""Texts up to which each is looked at by itself, which is faster than an operation on a column."""
_SHORT: Final = 1_000
"""Most characters of all texts that Python searches."""
_CLASSES: Final = {
    r"\p{L}": "A-Za-z",
    r"\p{Lu}": "A-Z",
    r"\p{Ll}": "a-z",
    r"\p{Latin}": "A-Za-z",
    r"\p{M}": _NEVER,
    r"\p{N}": "0-9",
    r"\p{Nd}": "0-9",
    r"\d": "0-9",
    r"\s": r"\t-\r\x20",
    r"\w": "0-9A-Za-z_",
    **{rf"\p{{{script}}}": _NEVER for script in ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")},
}
_ELSEWHERE: Final = {r"\b": r"(?-u:\b)", r"\W": "[^0-9A-Za-z_]", r"\D": "[^0-9]"}
"""Replaced outside brackets only."""
_IN_PYTHON: Final = {r"\W": "[^0-9A-Za-z_]", r"\D": "[^0-9]", "$": r"\Z"}
"""The same for Python, whose $ is also before a last line break."""


def suited(pattern: str, texts: pl.Series) -> str:
    """Return a form of a pattern that finds in these texts what the pattern finds: the ASCII form if all are ASCII."""
    return form_for(texts)(pattern)


def form_for(texts: pl.Series) -> Form:
    """Return the function that gives patterns the form in which these texts are searched (see `suited`)."""
    return in_ascii if is_ascii(texts) else str


def is_ascii(texts: pl.Series) -> bool:
    """Return whether all characters of these texts are of ASCII."""
    if len(texts) <= FEW:
        return all(text is None or text.isascii() for text in texts.to_list())
    return not texts.str.contains(_OTHER).any()


def are_few(texts: pl.Series) -> bool:
    """Return whether these are few, short ASCII texts, which Python searches sooner than Polars starts to.

    Python goes back over what it has read, so that the worst texts cost the square of their length: a tenth of a second
    for one pattern at the greatest length allowed, measured on made-up repetitions.
    """
    if len(texts) > FEW:
        return False
    some = [text for text in texts.to_list() if text is not None]
    return sum(map(len, some)) <= _SHORT and all(map(str.isascii, some))


def contains(texts: pl.Series, pattern: str) -> Marks:
    """Return in which texts a pattern is found; in no null."""
    return found(texts, {"": pattern})[""]


def found(texts: pl.Series, patterns: Mapping[str, str]) -> dict[str, Marks]:
    """Return, by the name of each pattern, in which texts it is found; in no null."""
    if are_few(texts):
        some = texts.to_list()
        searches = {name: in_python(pattern).search for name, pattern in patterns.items()}
        return {
            name: np.array([text is not None and search(text) is not None for text in some], dtype=np.bool_)
            for name, search in searches.items()
        }
    form, text = form_for(texts), pl.col(texts.name)
    marks = texts.to_frame().select(
        text.str.contains(form(one)).fill_null(value=False).alias(name) for name, one in patterns.items()
    )
    return {name: marks[name].to_numpy() for name in patterns}


@cache
def in_ascii(pattern: str) -> str:
    """Return a pattern that matches in ASCII texts what the given one does; undefined for other texts."""
    return _translated(pattern, _ELSEWHERE)


@cache
def in_python(pattern: str) -> Pattern[str]:
    """Return the same for Python, for patterns without sets within sets."""
    return re.compile(_translated(pattern.replace(r"(?-u:\b)", r"\b"), _IN_PYTHON), re.ASCII)


def _translated(pattern: str, elsewhere: Mapping[str, str]) -> str:
    """Return a pattern with the classes of ASCII, and with other tokens replaced outside brackets."""
    parts, depth, start = list[str](), 0, 0
    while start < len(pattern):
        part = _token(pattern, start)
        opened = depth and pattern[:start].endswith(("[", "[^")) and part == "]"
        if part == "[":
            depth += 1
        elif part == "]" and depth and not opened:
            depth -= 1
        if part in _CLASSES:
            parts.append(_CLASSES[part] if depth else f"[{_CLASSES[part]}]")
        else:
            parts.append(part if depth else elsewhere.get(part, part))
        start += len(part)
    return "".join(parts)


def _token(pattern: str, start: int) -> str:
    """Return the character at an index, or the whole escape that begins there."""
    if pattern[start] != "\\":
        return pattern[start]
    braced = pattern[start + 1] in "pPx" and pattern[start + 2] == "{"
    return pattern[start : pattern.index("}", start) + 1] if braced else pattern[start : start + 2]
