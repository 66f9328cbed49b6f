"""The command `dream`: consolidates a folder of Markdown, shows the changes as a diff, writes or undoes them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from memory_pipeline.service import report, shell

app = typer.Typer()

_REASONS = 20
"""Maximum number of reasons printed; the plan and `explain` have all."""


@app.command()
@shell.shown
def dream(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of Markdown notes.", show_default=False)],
    profile: Annotated[
        str | None,
        shell.profile_option(
            "Profile of the folder; default: the one it was exported from, or named after the folder."
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Consolidate, and write the folder.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the last applied dream: the run and the files.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="With --undo: files that others changed since lose these changes, and what was erased may come back.",
        ),
    ] = False,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="Use this preset.")] = None,
) -> shell.Done:
    """Consolidate a folder of Markdown notes. Imports it and shows the plan as a diff of the folder.

    Only lines that are merged, outdated or archived change; a summary stands in place of the first line that it
    replaces. With --apply the folder is written, and committed if it is a git repository.
    """
    from memory_pipeline.interop.exports import folder
    from memory_pipeline.lake.tables import Lake
    from memory_pipeline.service import dreams

    if apply and undo:
        raise shell.Misused("--apply and --undo cannot be combined; give one of them")
    if force and not undo:
        raise shell.Misused("--force belongs to --undo; leave it out")
    if not directory.is_dir():
        raise shell.Misused(f"DIR {directory}: is not a folder; name a folder of Markdown notes")
    if undo:
        return _undo(directory, force=force)
    settings = shell.settings_in_force(preset, writing=True)
    place = directory.resolve()
    owner = profile or folder.owner(directory) or f"{place.parent.name}/{place.name}"
    with Lake(settings.home) as lake, report.spinner(shell.err(), "dream"):
        document = dreams.dream(lake, settings, directory, owner, apply=apply)
    return shell.Done(document, partial(_tell, directory=directory, document=document))


def _undo(directory: Path, *, force: bool) -> shell.Done:
    """Undo the last applied dream: its run in the store, and the files that it changed."""
    from memory_pipeline.interop.exports import dream_record, folder
    from memory_pipeline.interop.exports.dream_record import DreamRecord
    from memory_pipeline.lake import snapshot
    from memory_pipeline.ledger import redaction
    from memory_pipeline.runs import undo as runs_undo

    done = DreamRecord.read(directory)
    if (others := done.changed_since(directory)) and not force:
        raise folder.ChangedByOthers(directory, others, remedy="restore them without these changes with --force")
    decisions = 0
    with shell.existing_lake() as lake:
        with lake.ledger.reading() as transaction:
            erased = done.profile_id in redaction.erased_since(transaction, done.position)
        if erased and not force:
            raise ValueError(
                f"{directory}: memories of {done.profile_id} were erased since, and the earlier text of "
                f"{', '.join(done.before)} may hold their words; remove {dream_record.NAME}, which holds it, or "
                "restore it all the same with --force"
            )
        if done.run_id is not None:
            mine = lake.ledger.runs([done.profile_id]).filter(run_id=done.run_id)
            if mine["outcome"].to_list() != ["reverted"]:  # else only the files are left to undo
                undone = runs_undo.undo(lake, done.run_id, profile_id=done.profile_id, now=datetime.now(UTC))
                decisions = undone.height
            snapshot.publish_after(lake, "the run is undone")
    now = {path: file.read_bytes().decode() for path in done.before if (file := directory / path).is_file()}
    commit = folder.change(
        directory,
        now,
        done.before,
        f"Undo of the dream of {done.profile_id}",
        profile_id=done.profile_id,
        taken_back=True,
    )
    dream_record.remove(directory)
    said = f"undone: {report.many(decisions, 'decision')}, {report.many(len(done.before), 'file')}"
    return shell.Done(
        {"profile_id": done.profile_id, "undone": decisions, "files": list(done.before), "commit": commit},
        partial(report.noted, text=said, note=runs_undo.NOT_AGAIN if decisions else None),
    )


def _tell(console: "shell.Console", directory: Path, document: Mapping[str, Any]) -> None:
    from memory_pipeline.text.display import escaped

    home = shell.settings_in_force().home
    taken = f"{document['imported']} new or changed, {document['known']} unchanged"
    shell.say(f"imported: {taken} (profile {document['profile_id']})")
    if document["refused"]:
        shell.say(f"refused: {document['refused']}; see {report.command(home, 'dead-letters', 'list')}")
    for line in document["diff"]:
        console.print(escaped(line), soft_wrap=True, markup=False, style=_STYLES.get(line[:1], ""))
    for reason in document["reasons"][:_REASONS]:
        shell.say(f"because: {reason}")
    if document["held"]:
        shell.say(f"held back by the quota: {report.many(document['held'], 'decision')}")
    if not document["files"]:
        shell.say("nothing to change")
    elif document["run_id"] is None:
        shell.say(f"write it: {report.command(home, 'dream', str(directory), '--apply')}")
    else:
        shell.say(f"written: {report.many(len(document['files']), 'file')} (run {document['run_id']})")
        shell.say(f"undo it: {report.command(home, 'dream', str(directory), '--undo')}")


_STYLES = {"+": "green", "-": "red", "@": "cyan"}
"""Colours of the lines of a diff, on a terminal."""
