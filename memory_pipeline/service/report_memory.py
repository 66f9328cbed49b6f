"""Prints memories and answers: texts that wrap, ids that can be copied."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Final

from rich.console import Console
from rich.text import Text

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.recall import wording
from memory_pipeline.recall.closed_statements import marked
from memory_pipeline.recall.models import Answer, Memory, Recalled
from memory_pipeline.recall.openings import Opening
from memory_pipeline.schemas import LIVE
from memory_pipeline.service.report import command, flat, line, many, moment, when
from memory_pipeline.text.display import BUDGET, escaped, preview, unmarked

_MARGIN: Final = "   "
"""Before what a line that shows a memory goes on with."""
_TEXT: Final = 100
"""Characters of a text that a list shows."""
_NAMES: Final = 10
"""Members of a summary that are named."""


def answer(console: Console, hits: Answer, *, home: Path, profile: str, budget: int | None) -> None:
    """Print the memories that answer a query within a budget, if any, and the command that explains the first."""
    if not hits:
        line(console, "No memory answers this." if budget is None else f"No answer fits {many(budget, 'token')}.")
        return
    several = {hit.profile_id for hit in hits} != {profile}
    for hit in hits:
        recalled(console, hit, hits, whose=f" · {hit.profile_id}" if several else "")
    line(console)
    if hits.confident is False:
        line(console, "Perhaps none of them answers this.")
    if hits.rearranged:
        line(console, wording.REARRANGED, style="dim")
    line(console, f"{many(len(hits), 'memory')}, {many(hits.tokens, 'token')}, as of {moment(hits.as_of)}")
    explain = command(home, "explain", hits[0].memory_id, "--profile", hits[0].profile_id, "--query", hits.query)
    line(console, f"why the first one: {explain}")


def recalled(console: Console, hit: Recalled, shown: Iterable[Recalled], *, whose: str = "") -> None:
    """Print one of the recalled memories: its text, then score, id and perhaps its profile (`whose`)."""
    _hanging(console, f"{hit.rank}. {hit.line(shown).removeprefix('- ')}")
    line(console, f"   {hit.score:.2f} · {hit.memory_id}{whose}", style="dim")


def _hanging(console: Console, text: str) -> None:
    """Print lines that show memories, wrapped between words within a margin, so that no word of one begins a line."""
    for one in escaped(text).split("\n"):
        wrapped = Text(one).wrap(console, max(console.width - len(_MARGIN), len(_MARGIN)))
        console.print(Text(f"\n{_MARGIN}".join(row.plain.rstrip() for row in wrapped)), soft_wrap=True)


def opening(console: Console, start: Opening) -> None:
    """Print what an agent reads when a session starts."""
    text = start.text()
    if text:
        _hanging(console, text)
    else:
        line(console, "No core memory yet; a consolidation compiles it.")


def memory(console: Console, row: Memory, *, whole: bool) -> None:
    """Print one memory with those of its fields that are set."""
    text = row.line()
    begun = text if whole else preview(text, BUDGET)
    parts = begun.splitlines()
    for part in parts:
        line(console, f"| {part}" if len(parts) > 1 else unmarked(part))
    if begun != text:
        line(console, f"  cut: {len(text):,} characters in all; --whole prints them")
    if row.text != marked(row.content, row.closed_statements):
        line(console, f"  trimmed from: {flat(row.content if whole else preview(row.content, BUDGET))}")
    fields = {
        "id": row.memory_id,
        "what it is": wording.kind(vars(row), len(row.members)),
        "stored": whereabouts.noted(moment(row.created_at), row.metadata),
        "changed": row.updated_at and moment(row.updated_at),
        "session": row.session_id,
        "agent": row.agent_id,
        "user": row.user_id,
        "tags": ", ".join(row.tags),
        "state": wording.state(row.lifecycle, row.superseded_kind),
        "protected": row.protected and (row.protected_reason or "yes"),
        "valid from": row.valid_from and moment(row.valid_from),
        "valid until": row.valid_until and moment(row.valid_until),
        "sentences no longer true": ", ".join(
            f"{one.sentence!r}, see {one.closed_by}" for one in row.closed_statements
        ),
        "replaced by": row.superseded_by or row.closed_by,
        "members": _some(row.members),
        "accessed": row.access_count and many(row.access_count, "time"),
        "last accessed": row.last_accessed_at and moment(row.last_accessed_at),
    }
    for name, value in fields.items():
        if value:
            line(console, f"  {name}: {value}")


def _some(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def memories(console: Console, listed: Sequence[Memory], *, limit: int) -> None:
    """Print one line per memory; on a terminal, say so when there may be more than `limit`."""
    if not listed:
        line(console, "no memory matches")
    for row in listed:
        marks = [
            *([] if row.kind == "original" else ["summary"]),
            *([] if row.lifecycle in LIVE else [wording.STATES[row.lifecycle]]),
        ]
        mark = f"[{', '.join(marks)}] " if marks else ""
        text = whereabouts.noted(shorten(row.line(), _TEXT), row.metadata)
        line(console, f"{row.memory_id}  {when(row.created_at)}  {mark}{text}")
    if len(listed) == limit and console.is_terminal:
        line(console, f"the newest {limit}; more with --limit N", style="dim")
