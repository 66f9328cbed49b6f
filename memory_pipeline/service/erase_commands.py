"""The command `erase`: preview, confirm, erase, receipt."""

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.service import shell
from memory_pipeline.service.report import flat, line, many, prose

if TYPE_CHECKING:
    from memory_pipeline.lake.tables import Lake
    from memory_pipeline.settings import Policy


app = typer.Typer()

SHOWN = 5
"""Number of texts that a preview shows."""


@dataclass(frozen=True)
class Preview:
    """Memories and summaries that an erasure will affect."""

    profile_id: str
    memories: tuple[tuple[str, str], ...]
    """Ids and texts of the memories, oldest first."""
    summaries: int
    """Summaries that quote them; they are reworded without them, or dropped."""
    questions: int = 0
    """Questions whose words are redacted, if the erasure is of questions."""
    owners: tuple[str, ...] = ()
    """Whose memory the profile, or that of one of its users, would be from then on, if it changes."""

    def phrase(self) -> str:
        """Return the preview as the end of a sentence."""
        if self.questions:
            return f"the words of {many(self.questions, 'question')} asked in profile {self.profile_id}"
        summaries = many(self.summaries, "summary")
        rest = f"; {summaries} that quote them will be reworded or dropped" if self.summaries else ""
        return f"{many(len(self.memories), 'memory')} of profile {self.profile_id}{rest}"


@app.command()
@shell.shown
def erase(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[MEMORY]", help="Id of the memory.", show_default=False)
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead, erase every memory of this person.")
    ] = None,
    profile: Annotated[
        str | None,
        shell.profile_option(
            "Profile (tenant), needed if the store has several; given alone, erases every memory of the profile."
        ),
    ] = None,
    questions_since: Annotated[
        str | None,
        typer.Option(
            metavar="INSTANT",
            help="Instead, erase the text of every question asked since then, such as after an erasure.",
        ),
    ] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason; kept in the ledger.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be erased.")] = False,
    receipt_file: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write the receipt to this file, as JSON.")
    ] = None,
) -> shell.Done:
    """Erase a memory, a person or a profile. For good: from ledger, tables, snapshots and caches.

    It cannot be undone. A preview is shown and confirmed first. The receipt lists what was erased and what an erasure
    does not reach, such as backups.
    """
    from memory_pipeline.service.profile_choice import choose_profile

    if memory_id is not None and user is not None:
        raise shell.Misused("MEMORY and --user cannot be combined; give one of them")
    if questions_since is not None and (memory_id is not None or user is not None):
        raise shell.Misused("--questions-since cannot be combined with MEMORY or --user; leave them out")
    since = shell.instant(questions_since, "--questions-since")
    if memory_id is None and user is None and profile is None and since is None:
        raise shell.Misused("nothing to erase: give a MEMORY, --user NAME, or --profile NAME for a whole profile")
    shell.new_file(receipt_file, "--receipt", fresh=True)
    with shell.existing_lake() as lake:
        from memory_pipeline.erasure.erase import erase_memories
        from memory_pipeline.erasure.scope import questions

        owner = choose_profile(lake, profile)
        reach = (
            Preview(owner, (), 0, questions=questions(lake.events(profiles=[owner]), since).height)
            if since
            else preview(lake, owner, memory_id=memory_id, user=user, policy=shell.settings_in_force().policy_of(owner))
        )
        if dry_run:
            return _reach(reach)
        if (reach.memories or reach.questions) and not yes:
            _confirm(reach)
        receipt = erase_memories(
            lake,
            profile_id=owner,
            memory_ids=None if memory_id is None else [memory_id],
            user_id=user,
            whole_profile=memory_id is None and user is None and since is None,
            questions_since=since,
            now=datetime.now(UTC),
            reason=reason,
        )
    document = receipt.to_dict()
    if receipt_file:
        receipt_file.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")
    written = [f"receipt: {receipt_file}"] if receipt_file else []
    return shell.Done(document, [*receipt.lines(), *written])


def preview(lake: "Lake", profile_id: str, *, memory_id: str | None, user: str | None, policy: "Policy") -> Preview:
    """Return what an erasure will affect, but for what is erased already; UnknownMemory, if there is no such memory."""
    import polars as pl

    from memory_pipeline.erasure.erase import new_owners
    from memory_pipeline.erasure.scope import requested_ids
    from memory_pipeline.schemas import EventType

    events, is_left = lake.events(profiles=[profile_id]), pl.col("erased_at").is_null()
    every, asked = events.filter(pl.col("event_type") == EventType.STORED.value), 0
    ids = requested_ids(lake, profile_id, every, None if memory_id is None else [memory_id], user)
    stored, events = every.filter(is_left, pl.col("memory_id").is_in(list(ids))), events.filter(is_left)
    if user is not None:
        asked = events.filter(pl.col("user_id") == user, pl.col("query").is_not_null()).height
    summaries = lake.read("memories", profiles=[profile_id], columns=["kind", "members"]).filter(
        pl.col("kind") != "original",
        pl.col("members").list.set_intersection(stored["memory_id"].implode()).list.len() > 0,
    )
    memories = tuple(stored.sort("seq").select("memory_id", "content").iter_rows())
    owners = new_owners(lake, profile_id, [memory_id for memory_id, _ in memories], policy)
    return Preview(profile_id, memories, summaries.height, questions=asked, owners=owners)


def _reach(reach: Preview) -> shell.Done:
    ids = [memory_id for memory_id, _ in reach.memories]
    counts = {"summaries": reach.summaries, "questions": reach.questions}
    document = {"profile_id": reach.profile_id, "memories": ids, "owners": list(reach.owners), **counts}
    if not reach.memories and not reach.questions:
        return shell.Done(document, f"nothing to erase in profile {reach.profile_id}")
    return shell.Done(document, partial(_tell, reach=reach))


def _tell(console: "shell.Console", reach: Preview) -> None:
    prose(console, f"would erase for good: {reach.phrase()}")
    for memory_id, text in reach.memories[:SHOWN]:
        line(console, f"  {memory_id}: {flat(text)}")
    if len(reach.memories) > SHOWN:
        line(console, f"  ... and {len(reach.memories) - SHOWN} more")
    if reach.owners:
        prose(
            console,
            f"instructions and preferences would be those of {', '.join(reach.owners)} from then on; if they are "
            f"somebody else's, first: memory-pipeline config set owner NAME --profile {reach.profile_id}",
        )
    prose(console, "older snapshots are removed too and rebuilt on demand; nothing brings the texts back")


def _confirm(reach: Preview) -> None:
    """Ask for confirmation on a terminal; exit if there is none, or if the answer is no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise shell.Misused(f"this erases for good {reach.phrase()}; add --yes to do it, or --dry-run to see more")
    _tell(shell.out(), reach)
    if not typer.confirm("Erase?"):
        shell.say("nothing was erased")
        raise typer.Exit(1)
