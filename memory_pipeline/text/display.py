"""Shows texts of memories to people and models, so that none can pass for anything but itself.

A memory is shown as one line: whatever it holds, it begins no line, heading, list or turn of its own, and sends nothing
to a terminal. JSON and files keep texts as they are.
"""

import re
import unicodedata
from typing import Final

PREVIEW: Final = 112
"""Most words and punctuation marks of a preview."""
BUDGET: Final = 800
"""Most tokens (`prompt_tokens`) that a text of memories for an agent has unless more are asked for."""
_PIECE: Final = re.compile(
    r"(?<=[0-9])[A-Za-z]|[A-Za-z](?=[0-9])|[A-Za-z]{1,5}|[0-9]{1,2}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\d_]{1,3}|\S"
)
"""What a model reads as one token, rather shorter than longer: of a word five letters from A to Z or three others, one
beside a digit, of a number two digits, any other character."""
_UNIT: Final = re.compile(r"\w+|[^\w\s]")
_LETTERS: Final = 11
"""Characters a unit that a preview is given, so that units without end do not fill it."""
_WRITTEN_OUT: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that are not shown: control, format, surrogates, separators of lines and paragraphs."""
_SHOWN: Final = frozenset("\t\n\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2")
"""Characters of these categories that belong to writing: tab, line feed, joiners, and signs that enclose digits."""


class _Escapes(dict[int, str]):
    """How each character is shown, by its code."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        hidden = unicodedata.category(letter) in _WRITTEN_OUT and letter not in _SHOWN
        self[code] = shown = letter.encode("unicode_escape").decode() if hidden else letter
        return shown


_ESCAPES: Final = _Escapes()
_MARKS: Final = ("#", ">", "-", "*", "+", "`", "~", "=", "|", "<", "[")
"""First characters by which Markdown and prompts know a heading, a list, a quote, a fence or a tag."""
ROLES: Final = r"(?:system|developer|user|human|assistant|ai|model|tool|function)"
"""Who speaks in a chat, as prompts and transcripts name them."""
_TURN: Final = re.compile(rf"\W*{ROLES}(?:\W*[:\uff1a]|$)|\d+[.)]\s", re.IGNORECASE)
"""How a turn of a chat begins, or a numbered list."""


def escaped(text: str) -> str:
    """Return a text with its control and invisible characters written out; tabs and line feeds stay."""
    return text if text.isprintable() else text.translate(_ESCAPES)


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces, and its control and invisible characters written out."""
    return escaped(" ".join(text.split()))


def unmarked(text: str) -> str:
    r"""Return a text on one line that begins no heading, list, quote, fence, tag or turn where a line begins with it.

    Examples:
        >>> print(unmarked("# Rent  is due"))
        \# Rent is due
    """
    line = one_line(text)
    return f"\\{line}" if line.startswith(_MARKS) or _TURN.match(line) else line


def prompt_tokens(text: str) -> int:
    """Return how many tokens a model reads a text as: an estimate, since each has its own, and rather too high.

    Examples:
        >>> prompt_tokens("The rent is 1,240 euros."), prompt_tokens("我对花生过敏。")
        (9, 7)
    """
    return len(_PIECE.findall(text))


def preview(text: str, most: int = PREVIEW) -> str:
    """Return the beginning of a text, of at most so many words and marks, with an ellipsis if anything is left out."""
    end = len(text)
    for place, unit in enumerate(_UNIT.finditer(text)):
        if place == most:
            end = unit.start()
            break
        if unit.end() > most * _LETTERS:
            end = max(unit.start(), 1) if unit.start() > most else most * _LETTERS
            break
    kept = text[:end].rstrip()
    return text if len(kept) == len(text.rstrip()) else f"{kept} \u2026"
