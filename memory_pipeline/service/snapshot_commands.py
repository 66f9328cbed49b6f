"""The commands `snapshot ...`: list, open or export the DuckDB files of the store."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from memory_pipeline.service import report, shell

app = typer.Typer(
    cls=shell.Commands, help="List, open or export snapshots. DuckDB files of the store, now or at any past instant."
)

_OPENINGS: Final = 3
"""Attempts to build a snapshot while erasures remove it."""


@app.callback(invoke_without_command=True)
def snapshot_export(
    context: typer.Context,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the newest snapshot as one self-contained file."),
    ] = None,
) -> None:
    """List, open or export app. DuckDB files of the store, now or at any past instant."""
    if context.invoked_subcommand is not None or export is None:
        return
    shell.new_file(export, "--export", fresh=True)
    from memory_pipeline.lake import snapshot

    with shell.existing_lake() as lake:
        shell.out().print(f"written: {snapshot.export(lake, export)}", soft_wrap=True)


@app.command("list")
@shell.shown
def snapshot_list() -> shell.Done:
    """List the snapshots, newest first."""
    from memory_pipeline.lake import snapshot
    from memory_pipeline.service import report_store

    settings = shell.settings_in_force()
    with shell.existing_lake(settings) as lake:
        address = snapshot.address(lake)
        listing = snapshot.listing(lake.home, address=address)
    tell = partial(report_store.snapshots, listing=listing, home=lake.home, address=address, zone=settings.zone)
    return shell.Done(listing.to_dicts(), tell)


@app.command("open")
def snapshot_open(as_of: shell.InstantOption = None) -> None:
    """Print the path of a snapshot. The newest, or one of the state at a past instant, built on demand."""
    from memory_pipeline.lake import snapshot
    from memory_pipeline.runs import rebuild

    clock = shell.instant(as_of)
    with shell.existing_lake() as lake:
        for _ in range(_OPENINGS):  # an erasure removes every snapshot, one that was just built as well
            path = snapshot.publish(lake) if clock is None else rebuild.snapshot_at(lake, clock)
            if (problem := snapshot.problem(path)) is None or path.exists():
                break
        note = None if clock is None else rebuild.note(lake, as_of=clock)
    if problem and not path.exists():
        raise ValueError(f"{path} was removed by an erasure meanwhile; try again once it is done")
    if problem:
        raise ValueError(f"{path} cannot be read: {problem}; rebuild it with: memory-pipeline doctor --repair")
    if note:
        report.prose(shell.err(), note)
    sys.stdout.write(f"{path}\n")
