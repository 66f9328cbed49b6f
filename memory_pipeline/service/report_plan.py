"""Prints what a plan does to memories: counts first, then each change with both texts and where they differ."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from rich.console import Console
from rich.text import Text

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.consolidation.plans import telling
from memory_pipeline.service.report import flat, line, shortened
from memory_pipeline.text.difference import Part, parts
from memory_pipeline.text.display import escaped, preview

if TYPE_CHECKING:
    from memory_pipeline.recall.models import Memory

DIGITS: Final = 8
"""Digits of a row's id that are shown; they tell the rows of all but the largest plans apart."""

_SHOWN: Final = 20
"""Rows of a group that are shown."""
_ALONE: Final = ("core", "promoted")
"""Groups whose texts are not compared: they are no two versions of one."""
_SIDES: Final = {"-": "red", "+": "green"}


def told(console: Console, changes: pl.DataFrame) -> None:
    """Print a plan: how much of each kind, then each change with both texts, days, confidence, reason and ids.

    What changes no text is one line.
    """
    lines = telling.headlines(changes)
    several = lines["profile_id"].n_unique() > 1
    for (profile_id,), own in lines.group_by("profile_id", maintain_order=True):
        if several:
            line(console)
            line(console, f"Profile {profile_id}", style="bold")
        for headline in own.filter(~pl.col("group").is_in(telling.QUIET))["headline"]:
            line(console, f"  {headline}")
        if quiet := telling.quiet(own):
            line(console, f"  {quiet}; --json has them", style="dim")
    for profile_id, group, _, headline in lines.filter(~pl.col("group").is_in(telling.QUIET)).iter_rows():
        rows = changes.filter(profile_id=profile_id, group=group)
        shown = rows.head(_SHOWN)
        line(console)
        line(console, f"{headline} ({profile_id})" if several else headline, style="bold")
        for row in shown.iter_rows(named=True):
            _change(console, row)
        if rows.height > shown.height:
            line(console, f"  and {rows.height - shown.height:,} more; --json has all", style="dim")


def sides(row: Mapping[str, Any]) -> list[tuple[str, str, list[Part]]]:
    """Return the lines of a told row: `-` or `+`, the days, and the text in parts that differ or not.

    Equal texts are one line with all their days: `+` where one of several stands for all or all stay, else `-`.
    """
    older, newer = _by_text(row["older"]), _by_text(row["newer"])
    if row["group"] in ("merged", "same_words"):
        newer = {
            text: ", ".join(dict.fromkeys(filter(None, (older.pop(text, ""), days)))) for text, days in newer.items()
        }
    compared = older and newer and row["group"] not in _ALONE
    new, old = next(iter(newer), ""), next(reversed(older), "")

    def apart(text: str, other: str, side: int) -> list[Part]:
        if not compared or text == other:
            return [Part(preview(text), differs=False)]
        return parts(*((text, other) if side == 0 else (other, text)))[side]

    lines = [("-", days, apart(text, new, 0)) for text, days in older.items()]
    return lines + [("+", days, apart(text, old, 1)) for text, days in newer.items() if text not in older]


def compared(console: Console, memories: Mapping[str, "Memory"]) -> None:
    """Print two memories below each other with their names and days, and where they differ."""
    apart = parts(*(whereabouts.noted(flat(one.line()), one.metadata) for one in memories.values()))
    for (name, memory), text in zip(memories.items(), apart, strict=True):
        shown = Text(f"  {name} [{memory.created_at:%Y-%m-%d}] ")
        console.print(_differing(shown, text), soft_wrap=True)


def _differing(shown: Text, text: Iterable[Part]) -> Text:
    """Add the parts of a text to a line, those that differ in bold."""
    for part in text:
        shown.append(escaped(part.text), style="bold reverse" if part.differs else "")
    return shown


def _by_text(side: Iterable[Mapping[str, str | None]]) -> dict[str, str]:
    """Return the texts of a side, each with the days on which it was said."""
    days: dict[str, list[str]] = {}
    for one in side:
        days.setdefault(flat(one["text"] or ""), []).extend([one["day"]] if one["day"] else [])
    return {text: ", ".join(dict.fromkeys(said)) for text, said in days.items()}


def _change(console: Console, row: Mapping[str, Any]) -> None:
    if row["group"] == "core":
        line(console, f"  {row['memory_ids'][0].replace('_', ' ')}")
    for mark, days, text in sides(row):
        shown = Text(f"  {mark} {f'[{days}] ' if days else ''}", style=_SIDES[mark])
        console.print(_differing(shown, text), soft_wrap=True)
    sure = telling.confidence(row)
    held = "Held back by the quota. " if row["held"] else ""
    line(console, f"    {held}{f'{sure}. ' if sure else ''}{shortened(row['why'])}", style="dim")
    ids = [] if row["group"] == "core" else row["memory_ids"]
    line(console, f"    {' '.join([row['row_id'][:DIGITS], *map(shortened, ids)])}", style="dim")
