"""Shows texts of memories to people and models, so that none can pass for anything but itself.

A memory is shown as one line: whatever it holds, it begins no line, heading, list or turn of its own, and sends nothing
to a terminal. JSON and files keep texts as they are.
"""

import re
from typing import Final

PREVIEW: Final = 112
"""Most words and punctuation marks of a preview."""
BUDGET: Final = 800
"""Most tokens of memories that a text for an agent holds unless more are asked for."""
_UNIT: Final = re.compile(r"\w+|[^\w\s]")
_LETTERS: Final = 11
"""Characters a unit that a preview is given, so that units without end do not fill it."""
_RANGES: Final = (
    *((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F)),  # control characters but tab and line feed
    *((0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F)),  # invisible ones, and of direction
    *((0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F)),
)
_ESCAPES: Final = {
    code: chr(code).encode("unicode_escape").decode() for first, last in _RANGES for code in range(first, last + 1)
}
_MARKS: Final = ("#", ">", "-", "*", "+", "`", "~", "=", "|", "<", "[")
"""First characters by which Markdown and prompts know a heading, a list, a quote, a fence or a tag."""


def escaped(text: str) -> str:
    """Return a text with its control and invisible characters written out; tabs and line feeds stay."""
    return text.translate(_ESCAPES)


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces, and its control and invisible characters written out."""
    return escaped(" ".join(text.split()))


def unmarked(text: str) -> str:
    """Return a text on one line that begins no heading, list, quote, fence or tag where a line begins with it."""
    line = one_line(text)
    return f"\\{line}" if line.startswith(_MARKS) else line


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
