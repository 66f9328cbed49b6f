"""What the command line shows of memories and answers: texts that wrap, ids that can be copied whole.

What is not here: runs and plans (`report_runs.py`), and settings (`report.py`).
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Final

from rich.console import Console

from memory_pipeline.recall.models import Answer, Memory, Opening, Recalled
from memory_pipeline.service.report import command, flat, line, many, prose, when

_TEXT: Final = 100
"""Signs of a text that a list shows."""


def answer(console: Console, found: Answer, *, home: Path, profile: str) -> None:
    """Print the memories that answer a query, and how to ask why."""
    if not found:
        line(console, "Nothing that was remembered answers this.")
        return
    for one in found:
        recalled(console, one)
    line(console)
    line(console, f"{many(len(found), 'memory')}, {many(found.tokens, 'token')}, as of {when(found.as_of)} UTC")
    first = found[0].memory_id
    asked = command(home, "explain", first, "--profile", profile, "--query", found.query)
    line(console, f"why the first: {asked}")


def recalled(console: Console, one: Recalled) -> None:
    """Print one memory of an answer: its text, then what is known of it."""
    prose(console, f"{one.rank}. {one.line().removeprefix('- ')}")
    line(console, f"   {one.score:.2f} · {one.memory_id} · {one.memory_type}", style="dim")


def opening(console: Console, found: Opening) -> None:
    """Print what an agent reads when a session starts."""
    said = found.text()
    if said:
        prose(console, said)
    else:
        line(console, "There is no core memory yet: a consolidation makes it.")


def memory(console: Console, found: Memory) -> None:
    """Print one memory with what is known of it."""
    said = f"{found.speaker}: {found.text}" if found.speaker else found.text
    line(console, said)
    if found.text != found.content:
        line(console, f"  trimmed from: {flat(found.content)}")
    told = {
        "id": found.memory_id,
        "kind": f"{found.kind}, {found.memory_type}",
        "stored": f"{when(found.created_at)} UTC",
        "changed": found.updated_at and f"{when(found.updated_at)} UTC",
        "session": found.session_id,
        "agent": found.agent_id,
        "user": found.user_id,
        "tags": ", ".join(found.tags),
        "lifecycle": f"{found.lifecycle}, tier {found.tier}",
        "protected": found.protected and (found.protected_reason or "yes"),
        "valid from": found.valid_from and f"{when(found.valid_from)} UTC",
        "valid until": found.valid_until and f"{when(found.valid_until)} UTC",
        "no longer current": found.closed_by and f"see {found.closed_by}",
        "superseded by": found.superseded_by,
        "members": ", ".join(found.members),
        "used": found.access_count and many(found.access_count, "time"),
        "last used": found.last_accessed_at and f"{when(found.last_accessed_at)} UTC",
    }
    for name, value in told.items():
        if value:
            line(console, f"  {name}: {value}")


def memories(console: Console, found: Sequence[Memory]) -> None:
    """Print one line a memory."""
    if not found:
        line(console, "no memory fits")
    for one in found:
        said = f"{one.speaker}: {one.text}" if one.speaker else one.text
        line(console, f"{one.memory_id}  {when(one.created_at)}  {one.lifecycle}  {shorten(said, _TEXT)}")
