"""Writes what happened to a profile's memories since a day as a page of Markdown that is read in a minute.

Pure. Not here: how decisions are told (`telling`), and which pairs need an answer (`recall/client/reviewing`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import questions
from memory_pipeline.consolidation.plans import telling
from memory_pipeline.text.display import one_line, preview

DOUBTS: Final = pl.Schema(
    {
        name: pl.Float64() if name == "confidence" else pl.String()
        for name in ("pair_id", "relation", "confidence", "older_day", "older", "newer_day", "newer")
    }
)
"""One row per pair of memories of which it is unsure how they relate, those most worth an answer first."""

_SHOWN: Final = 7
"""Most rows of a section; the others are counted."""
_MINUTE: Final = 240
"""Words that people read in a minute; a page that has more rows than fit it shows fewer, at least one a section."""
_WORDS: Final = 24
"""Words and marks of a text that are quoted."""
_TITLES: Final = {
    "changed": "Changed",
    "merged": "Repeats merged",
    "left": "Left",
    "deleted": "Deleted",
    "shortened": "Shortened",
}
"""Sections beside that of what is in doubt, by group of the told decisions."""
_STAYS: Final = ("changed", "merged")
"""Groups before what is in doubt."""
_GOES: Final = ("left", "deleted", "shortened")
"""Groups after it."""


def write(
    changes: pl.DataFrame,
    doubts: pl.DataFrame,
    *,
    profile_id: str,
    since: datetime,
    until: datetime,
    stored: Sequence[datetime],
    waiting: int,
    review: str,
    resolve: str,
    whole: str,
) -> str:
    """Return the digest of a profile: counts, then what changed, was merged, is in doubt and left.

    It shows as many rows as are read in a minute.

    Args:
        changes: the decisions from `since` to `until` as people read them (`telling.TOLD`).
        doubts: pairs that wait for an answer (`DOUBTS`), of which `waiting` is the number in all.
        stored: when each memory that was stored meanwhile was said.
        review: the command line that asks about them; `resolve` answers one, `whole` shows all changes.
    """
    rows = _decided(changes)
    counts = [_count(stored, since)]
    counts += telling.headlines(rows)["headline"].to_list()
    counts += [f"{waiting:,} {'pair waits' if waiting == 1 else 'pairs wait'} for an answer"] if waiting else []
    doubtful = _Section("In doubt", [_doubt(row) for row in doubts.iter_rows(named=True)], waiting)
    before, after = _told_sections(changes, _STAYS, since), _told_sections(changes, _GOES, since)
    shown = _in_a_minute([*before, doubtful, *after])
    parts = [f"# Memory of {one_line(profile_id)}, {since:%Y-%m-%d} to {until:%Y-%m-%d}", _list(counts)]
    for section in shown:
        parts += section.parts()
        parts += [f"Answer them: `{review}`; one alone: `{resolve}`"] if section.title == doubtful.title else []
    cut = any(section.left for section in shown if section.title != doubtful.title)
    parts += [f"All changes: `{whole}`"] if cut else []
    return "\n\n".join(parts) + "\n"


def _count(stored: Sequence[datetime], since: datetime) -> str:
    """Return how many memories were stored, and the days that they tell of, where some are from before."""
    count = f"{len(stored):,} {'memory' if len(stored) == 1 else 'memories'} stored"
    days = [f"{said:%Y-%m-%d}" for said in (min(stored, default=since), max(stored, default=since))]
    told = days[0] if days[0] == days[1] else " to ".join(days)
    return f"{count}, said {told}" if days[0] < f"{since:%Y-%m-%d}" else count


def sections(changes: pl.DataFrame, *groups: str, since: datetime | None = None) -> list[str]:
    """Return what decisions made of memories, a section for each group that has any; links and scores have none.

    Decisions are as people read them (`telling.TOLD`), groups of changed, merged, left, deleted and shortened, by
    default all. What was said before the time in which they were made, which begins at `since`, says so.
    """
    return [part for section in _told_sections(changes, groups or [*_TITLES], since) for part in section.parts()]


@dataclass(frozen=True)
class _Section:
    """A title, the lines below it that are shown, and how many there are in all."""

    title: str
    lines: Sequence[str]
    count: int

    @property
    def left(self) -> int:
        """How many are not shown."""
        return self.count - len(self.lines)

    def parts(self) -> list[str]:
        """Return it as parts of a page."""
        return [f"## {self.title}", _list([*self.lines, *([f"and {self.left:,} more"] if self.left else [])])]


def _told_sections(changes: pl.DataFrame, groups: Sequence[str], since: datetime | None) -> list[_Section]:
    """Return a section of at most `_SHOWN` rows for each group of decisions that has any."""
    rows = {group: _decided(changes).filter(group=group) for group in groups}
    return [
        _Section(_TITLES[group], [_told(row, since) for row in of.head(_SHOWN).iter_rows(named=True)], of.height)
        for group, of in rows.items()
        if of.height
    ]


def _in_a_minute(sections: Sequence[_Section]) -> list[_Section]:
    """Return the sections that have lines; while these have too many words, the last line of a section is left out.

    The last section gives first, each until it has two; then each until it has one.
    """
    shown = [replace(section, lines=section.lines[:_SHOWN]) for section in sections if section.lines]
    words = [[len(line.split()) for line in section.lines] for section in shown]
    for least in (2, 1):
        for lines in reversed(words):
            while len(lines) > least and sum(map(sum, words)) > _MINUTE:
                lines.pop()
    return [replace(section, lines=section.lines[: len(of)]) for section, of in zip(shown, words, strict=True)]


def _decided(changes: pl.DataFrame) -> pl.DataFrame:
    return changes.filter(pl.col("group").is_in(list(_TITLES)), ~pl.col("held"))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _told(row: Mapping[str, Any], since: datetime | None) -> str:
    """Return a change as a line: old -> new with the day of the new, or the text with its days."""
    days = list(dict.fromkeys(side["day"] for side in row["older"] if side["day"]))
    older = list(dict.fromkeys(_quoted(side["text"]) for side in row["older"]))
    newer = [_quoted(side["text"]) for side in row["newer"]]
    if row["group"] == "changed":
        day = next((side["day"] for side in row["newer"] if side["day"]), None)
        before = "said " if day and since and day < f"{since:%Y-%m-%d}" else ""
        return f"{' / '.join(older)} -> {' / '.join(newer)}{f' ({before}{day})' if day else ''}"
    if row["group"] == "merged":
        kept = [side["text"] for side in row["newer"]]
        apart = (side["text"] for side in row["older"] if not any(side["text"] in text for text in kept))
        others = list(dict.fromkeys(map(_quoted, apart)))
        told = [*([" / ".join(others), "->"] if others else []), *newer]
        return f"{' '.join(told)} ({len(row['older'])} x: {', '.join(days)})"
    if row["group"] == "shortened" and newer:
        return f"{' / '.join(older)} -> {' / '.join(newer)}"
    return f"{' / '.join(older)} ({', '.join(days)}; {one_line(row['why'])})"


def _doubt(row: Mapping[str, Any]) -> str:
    older, newer = (f"{_quoted(row[side])} ({row[f'{side}_day']})" for side in ("older", "newer"))
    return f"{older} / {newer}: {questions.asked(row['relation'], row['confidence'])} `{row['pair_id']}`"


def _quoted(text: str) -> str:
    return f"\u201c{one_line(preview(text, _WORDS))}\u201d"
