"""The commands `dead-letters`: list, export, requeue and purge refused events."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from memory_pipeline.service import report, shell

NoiseOption = Annotated[
    bool, typer.Option("--noise", help="Those that are no memories: prompts, output, acknowledgements, quotations.")
]

app = typer.Typer(cls=shell.Commands, help="Manage refused events. List, export, requeue or purge them.")


@app.command("list")
@shell.shown
def list_letters(noise: NoiseOption = False) -> shell.Done:
    """List the refused events, newest first. With origin and reason of each; with --noise their texts."""
    from memory_pipeline.text.display import one_line, preview

    settings = shell.settings_in_force()
    with shell.existing_lake(settings) as lake:
        letters = lake.ledger.dead_letters(noise=noise).sort("received_at", "letter_id", descending=[True, False])
    rows = [
        {name: letter[name] for name in ("letter_id", "received_at", "origin", "reason")} | {"text": _left_out(letter)}
        for letter in letters.iter_rows(named=True)
    ]
    shown = "text" if noise else "origin"
    cells = [
        (
            *(row["letter_id"][:12], report.when(row["received_at"], zone=settings.zone), row["reason"]),
            one_line(preview(row[shown] or "")),
        )
        for row in rows
    ]
    empty = "nothing was left out" if noise else "no event was refused"
    headers = ("letter", "received", "reason", shown)
    return shell.Done(rows, partial(report.table, headers=headers, rows=cells, empty=empty))


def _left_out(letter: Mapping[str, Any]) -> str | None:
    """Return the text of a letter that was left out as no memory; None of a refused event."""
    return json.loads(letter["raw"])["payload"].get("content") if letter["noise"] else None


@app.command("export")
def export_letters(
    path: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="File to write.", show_default=False)],
) -> None:
    """Write the refused events to a file. To be corrected; each line has the event as received in `raw`."""
    from memory_pipeline.interop import dead_letters

    shell.new_file(path, "OUT.jsonl")
    with shell.existing_lake() as lake, lake.copying():
        lines = [*dead_letters.lines(lake.ledger)]
        lake.ledger.note_export(path, at=datetime.now(UTC))
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    shell.say(f"{report.many(len(lines), 'refused event')} in {path}")
    home = shell.settings_in_force().home
    shell.say(f"correct them, then: {report.command(home, 'dead-letters', 'requeue', str(path))}")


@app.command("requeue")
@shell.shown
def requeue_letters(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Corrected letters; default: all, as received.", show_default=False),
    ] = None,
    noise: NoiseOption = False,
) -> shell.Done:
    """Send refused events again. Corrected or as received. Exits with 1 if one is refused again; that one stays."""
    from memory_pipeline.interop import dead_letters

    if path and noise:
        raise shell.Misused("give a file or --noise, not both")
    settings = shell.settings_in_force(writing=True)
    with shell.existing_lake(settings) as lake:
        letters = dead_letters.from_file(path) if path else lake.ledger.dead_letters(noise=noise).to_dicts()
        done = dead_letters.requeue(lake.ledger, letters, now=datetime.now(UTC), settings=settings)
    said = f"{report.many(done.accepted, 'event')} stored, {done.refused} refused again"
    return shell.Done(asdict(done), [said, *report.refusals(done.reasons, done.refused)], well=not done.refused)


@app.command("purge")
@shell.shown
def purge_letters(
    letters: Annotated[
        list[str] | None, typer.Argument(metavar="[LETTER]...", help="Ids, or their beginnings.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All, those of --noise too.")] = False,
) -> shell.Done:
    """Delete refused events for good. Their events are then gone from the store."""
    if bool(letters) == every:
        raise shell.Misused("give the ids of letters, or --all")
    with shell.existing_lake(shell.settings_in_force(writing=True)) as lake:
        known = lake.ledger.dead_letters()["letter_id"]
        if unknown := [name for name in letters or () if not known.str.starts_with(name).any()]:
            raise ValueError(f"no refused event has the id {unknown[0]!r}; see: memory-pipeline dead-letters list")
        wanted = [letter for letter in known if every or letter.startswith(tuple(letters or ()))]
        removed = lake.ledger.remove_dead_letters(wanted)
    return shell.Done({"purged": removed}, f"{report.many(removed, 'refused event')} deleted")
