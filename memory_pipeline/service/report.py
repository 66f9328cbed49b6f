"""Prints lines, tables and figures for people.

Texts of memories are never read as markup. Ids are shortened in tables and whole in suggested commands. What is slow to
import is imported where it is used, as in the commands.
"""

import math
import re
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memory_pipeline.text.display import escaped

if TYPE_CHECKING:
    from rich.console import Console

    from memory_pipeline.interop.importing import RefusedEvent

SHOWN: Final = 5
"""Rows of each kind that a shortened list shows."""

_GAP: Final = 3
"""Characters between two columns of a table."""
_WORD: Final = 16
"""Words up to this length are never broken; a shortened id has 14 characters."""
_SMALL: Final = 0.001
"""Figures below this are shown as smaller than it."""
_ID: Final = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


def spinner(console: "Console", job: str) -> AbstractContextManager[object]:
    """Return a spinner; visible on a terminal only."""
    return console.status(f"{job} ...") if console.is_terminal else nullcontext()


def refusals(refused: "Sequence[RefusedEvent]", count: int) -> list[str]:
    """Say where refused events came from and why they were refused; `count` is how many there are in all."""
    more = [f"and {count - len(refused)} more"] if count > len(refused) else []
    return [*(f"refused: {one.origin}: {one.reason}" for one in refused), *more]


def line(console: "Console", text: str = "", *, style: str = "") -> None:
    """Print one line, never wrapped, so that it can be copied; what a value holds begins no other."""
    from rich.text import Text

    console.print(Text(escaped(" ".join(text.splitlines())), style=style), soft_wrap=True)


def prose(console: "Console", text: str, *, style: str = "") -> None:
    """Print text wrapped between words."""
    from rich.text import Text

    console.print(Text(escaped(text), style=style))


def noted(console: "Console", text: str, note: str | None) -> None:
    """Print a line, and a note below it if there is one."""
    line(console, text)
    if note:
        prose(console, note)


def table(
    console: "Console", headers: Sequence[str], rows: Any, *, title: str | None = None, empty: str | None = None
) -> None:
    """Print rows as a table: numbers right-aligned, ids shortened, None as "-"; without rows only `empty`.

    Where the terminal is too narrow to keep headers and short words whole, each row is printed as a list instead.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    values = [tuple(row) for row in rows]
    listed = [tuple("-" if cell is None else shortened(escaped(str(cell))) for cell in row) for row in values]
    if not listed:
        if empty:
            line(console, empty)
        return
    if title:
        prose(console, title, style="bold")
    widths = [_min_width(header, [row[place] for row in listed]) for place, header in enumerate(headers)]
    if sum(widths) + _GAP * len(widths) > console.width:
        _records(console, headers, listed)
        return
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, header in enumerate(headers):
        numeric = all(isinstance(row[place], int | None) for row in values)
        grid.add_column(header, justify="right" if numeric else "left", overflow="fold", min_width=widths[place])
    for row in listed:
        grid.add_row(*map(Text, row))
    console.print(grid)


def _min_width(header: str, cells: Sequence[str]) -> int:
    """Return the width that keeps the words of a header and the short words of its cells whole."""
    from rich.cells import cell_len

    longest = max((cell_len(word) for cell in cells for word in cell.split()), default=0)
    return max([min(longest, _WORD), *(cell_len(word) for word in header.split())])


def _records(console: "Console", headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        line(console)
        for header, cell in zip(headers, row, strict=True):
            prose(console, f"{header}: {cell}" if header else cell)


def when(instant: datetime | None, otherwise: str = "-", *, zone: tzinfo | None = None) -> str:
    """Return an instant to the minute, in a time zone; None: in its own."""
    return f"{instant.astimezone(zone or instant.tzinfo):%Y-%m-%d %H:%M}" if instant else otherwise


def moment(instant: datetime, zone: tzinfo | None = None) -> str:
    """Return an instant to the minute, with its time zone."""
    at = instant.astimezone(zone or instant.tzinfo)
    return f"{when(at)} {at:%Z}"


def figure(value: float) -> str:
    """Format a number for people: whole numbers whole, others to three digits, never in exponents."""
    if float(value).is_integer():
        return f"{value:.0f}"
    if abs(value) < _SMALL:
        return f"{'> -' if value < 0 else '< '}{_SMALL}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shortened(text: str) -> str:
    """Return a text with its ids shortened to their first eight and last four characters."""
    return _ID.sub(lambda match: f"{match[0][:8]}..{match[0][-4:]}", text)


def command(home: Path, *args: str) -> str:
    """Return a command that can be copied; names the data folder unless it is the default."""
    where = [] if home == Path("data").resolve() else ["--home", str(home)]
    return shlex.join(["memory-pipeline", *where, *args])


def flat(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def many(count: int, what: str) -> str:
    """Return a count with its noun, plural where needed."""
    if count == 1:
        return f"{count} {what}"
    return f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"
