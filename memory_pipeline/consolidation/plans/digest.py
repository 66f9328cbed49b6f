"""Writes what happened to a profile's memories since a day as a page of Markdown that is read in a minute.

Pure. Not here: how decisions are told (`telling`), and which pairs need an answer (`recall/client/reviewing`).
"""

from collections.abc import Iterable, Mapping, Sequence
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
"""Rows of a section; the others are counted."""
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
) -> str:
    """Return the digest of a profile: counts, then what changed, was merged, is in doubt and left.

    Args:
        changes: the decisions of that time as people read them (`telling.TOLD`).
        doubts: pairs that wait for an answer (`DOUBTS`).
        since: where the time begins.
        until: where it ends.
        stored: when each memory that was stored meanwhile was said.
        waiting: all pairs that wait for an answer.
        review: the command line that asks about them.
        resolve: the command line that answers one.
    """
    rows = _decided(changes)
    counts = [_count(stored, since)]
    counts += telling.headlines(rows)["headline"].to_list()
    counts += [f"{waiting:,} {'pair waits' if waiting == 1 else 'pairs wait'} for an answer"] if waiting else []
    parts = [f"# Memory of {one_line(profile_id)}, {since:%Y-%m-%d} to {until:%Y-%m-%d}", _list(counts)]
    parts += sections(changes, "changed", "merged", since=since)
    asked = _section("In doubt", [_doubt(row) for row in doubts.iter_rows(named=True)], count=waiting)
    answers = f"Answer them: `{review}`; one alone: `{resolve}`"
    parts += [*asked, answers] if asked else []
    parts += sections(changes, "left", "deleted", "shortened", since=since)
    return "\n\n".join(parts) + "\n"


def _count(stored: Sequence[datetime], since: datetime) -> str:
    """Return how many memories were stored, and the days that they tell of, where some are from before."""
    count = f"{len(stored):,} {'memory' if len(stored) == 1 else 'memories'} stored"
    days = [f"{said:%Y-%m-%d}" for said in (min(stored, default=since), max(stored, default=since))]
    told = days[0] if days[0] == days[1] else " to ".join(days)
    return f"{count}, said {told}" if days[0] < f"{since:%Y-%m-%d}" else count


def sections(changes: pl.DataFrame, *groups: str, since: datetime | None = None) -> list[str]:
    """Return what decisions made of memories, a section for each group that has any; links and scores have none.

    Args:
        changes: decisions as people read them (`telling.TOLD`).
        groups: of changed, merged, left, deleted and shortened; default: all.
        since: where the time begins in which they were made; what was said before says so.
    """
    rows = _decided(changes)
    return [
        part
        for group in groups or _TITLES
        for part in _section(
            _TITLES[group], [_told(row, since) for row in rows.filter(group=group).iter_rows(named=True)]
        )
    ]


def _decided(changes: pl.DataFrame) -> pl.DataFrame:
    return changes.filter(pl.col("group").is_in(list(_TITLES)), ~pl.col("held"))


def _section(title: str, lines: list[str], *, count: int | None = None) -> list[str]:
    if not lines:
        return []
    left = (len(lines) if count is None else count) - len(lines[:_SHOWN])
    return [f"## {title}", _list([*lines[:_SHOWN], *([f"and {left:,} more"] if left > 0 else [])])]


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
        others = [text for text in older if text not in newer]
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
