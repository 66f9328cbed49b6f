"""The command `erase`: shows what will go, asks, erases, and hands out the receipt.

What is not here: what an erasure reaches and how (`erasure/erase.py`).
"""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import DEFAULT_PROFILE
from memory_pipeline.schemas import EventType
from memory_pipeline.service.options import (
    JsonOption,
    Misused,
    existing_lake,
    new_file,
    out,
    settings_in_force,
    show_json,
)
from memory_pipeline.service.report import flat, line, many, prose

app = typer.Typer()

SHOWN = 5
"""Texts that a preview shows."""


@dataclass(frozen=True)
class Preview:
    """What an erasure will touch, as far as can be said before."""

    profile_id: str
    memories: tuple[tuple[str, str], ...]
    """Ids and texts of the memories, oldest first."""
    summaries: int
    """Summaries that say something of them: worded anew from what is left, or dropped."""

    def said(self) -> str:
        """Return it as the end of a sentence."""
        some = many(self.summaries, "summary")
        rest = f"; {some} that tell of them are worded anew or dropped" if self.summaries else ""
        return f"{many(len(self.memories), 'memory')} of profile {self.profile_id}{rest}"


@app.command()
def erase(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[MEMORY]", help="Id of the memory.", show_default=False)
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Instead: everything of this person.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", "-p", metavar="NAME", help="Whose memory; alone: everything of this profile."),
    ] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; stays in the ledger.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    receipt_file: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write the receipt there, as JSON.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a memory, a person or a profile for good. Words leave ledger, tables, snapshots and caches.

    Nothing brings them back, `undo` neither. It is shown and asked first. The receipt says what was touched, and what
    is not covered, such as backups.
    """
    if memory_id is not None and user is not None:
        raise Misused("MEMORY and --user exclude each other; give one of them")
    if memory_id is None and user is None and profile is None:
        raise Misused("nothing is named: give a MEMORY, --user NAME, or --profile NAME for all of a profile")
    new_file(receipt_file, "--receipt", fresh=True)
    with existing_lake(settings_in_force()) as lake:
        from memory_pipeline.erasure import erase as eraser  # noqa: PLC0415

        owner = profile or DEFAULT_PROFILE
        found = preview(lake, owner, memory_id=memory_id, user=user)
        if dry_run:
            _show(found, as_json=as_json)
            return
        if found.memories and not yes:
            _ask(found)
        receipt = eraser.erase(
            lake,
            profile_id=owner,
            memory_ids=None if memory_id is None else [memory_id],
            user_id=user,
            whole_profile=memory_id is None and user is None,
            now=datetime.now(UTC),
            reason=reason,
        )
    document = receipt.to_dict()
    if receipt_file:
        receipt_file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")
    if as_json:
        show_json(document)
        return
    for told in receipt.lines():
        line(out(), told)
    if receipt_file:
        line(out(), f"receipt: {receipt_file}")


def preview(lake: Lake, profile_id: str, *, memory_id: str | None, user: str | None) -> Preview:
    """Say what an erasure will touch; what is unknown or erased already is left out."""
    stored = lake.events(profiles=[profile_id]).filter(
        pl.col("event_type") == EventType.STORED.value, pl.col("erased_at").is_null()
    )
    if memory_id is not None:
        stored = stored.filter(pl.col("memory_id") == memory_id)
    if user is not None:
        stored = stored.filter(pl.col("user_id") == user)
    summaries = lake.read("memories", profiles=[profile_id], columns=["kind", "members"]).filter(
        pl.col("kind") != "original",
        pl.col("members").list.set_intersection(stored["memory_id"].implode()).list.len() > 0,
    )
    return Preview(profile_id, tuple(stored.sort("seq").select("memory_id", "content").iter_rows()), summaries.height)


def _show(found: Preview, *, as_json: bool) -> None:
    if as_json:
        ids = [memory_id for memory_id, _ in found.memories]
        show_json({"profile_id": found.profile_id, "memories": ids, "summaries": found.summaries})
        return
    if not found.memories:
        line(out(), f"nothing to erase in profile {found.profile_id}")
        return
    prose(out(), f"would erase for good: {found.said()}")
    for memory_id, text in found.memories[:SHOWN]:
        line(out(), f"  {memory_id}: {flat(text)}")
    if len(found.memories) > SHOWN:
        line(out(), f"  ... and {len(found.memories) - SHOWN} more")
    prose(out(), "older snapshots go too and are made again when asked for; nothing brings the words back")


def _ask(found: Preview) -> None:
    """Ask on a terminal; elsewhere nobody can answer.

    Raises:
        Misused: there is no terminal.
        Abort: the answer is no.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Misused(f"this erases for good {found.said()}; add --yes to do it, or --dry-run to see more")
    _show(found, as_json=False)
    if not typer.confirm("Erase?"):
        line(out(), "nothing was erased")
        raise typer.Exit(1)
