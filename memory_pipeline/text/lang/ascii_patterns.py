"""Patterns for texts of ASCII characters only, as most are: these compile and run several times as fast.

The classes of Unicode, such as all letters, stand for hundreds of ranges, and Polars keeps few compiled patterns, so
that small inputs would spend most of their time compiling.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

import polars as pl

Form = Callable[[str], str]
_NEVER: Final = r"\x{80}"
"""A character that no ASCII text has."""
_OTHER: Final = r"[^\x00-\x7f]"
_FEW: Final = 32
"""Texts up to which each is looked at by itself, which is faster than an operation on a column."""
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


def suited(pattern: str, texts: pl.Series) -> str:
    """Return a form of a pattern that finds in these texts what the pattern finds: the ASCII form if all are ASCII."""
    return form_for(texts)(pattern)


def form_for(texts: pl.Series) -> Form:
    """Return the function that gives patterns the form in which these texts are searched (see `suited`)."""
    return in_ascii if is_ascii(texts) else str


def is_ascii(texts: pl.Series) -> bool:
    """Return whether all characters of these texts are of ASCII."""
    if len(texts) <= _FEW:
        return all(text is None or text.isascii() for text in texts)
    return not texts.str.contains(_OTHER).any()


@cache
def in_ascii(pattern: str) -> str:
    """Return a pattern that matches in ASCII texts what the given one does; undefined for other texts."""
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
            parts.append(part if depth else _ELSEWHERE.get(part, part))
        start += len(part)
    return "".join(parts)


def _token(pattern: str, start: int) -> str:
    """Return the character at an index, or the whole escape that begins there."""
    if pattern[start] != "\\":
        return pattern[start]
    braced = pattern[start + 1] in "pPx" and pattern[start + 2] == "{"
    return pattern[start : pattern.index("}", start) + 1] if braced else pattern[start : start + 2]
