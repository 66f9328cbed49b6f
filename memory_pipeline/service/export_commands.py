"""The commands `export ...`: a profile as files of other tools, and tables of the store as Parquet or Delta Lake."""

import importlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_pipeline.service import report, shell

if TYPE_CHECKING:
    from memory_pipeline.interop.exports.current import Current
    from memory_pipeline.lake.tables import Lake


app = typer.Typer(
    cls=shell.Commands, help="Export memories. As files of other tools, as events or as tables; see docs/formats.md."
)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="File to write.", show_default=False)]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


@app.command("markdown")
@shell.shown
def export_markdown(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; created if it is missing.")],
    profile: shell.ProfileOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that others changed.")] = False,
) -> shell.Done:
    """Write a folder of Markdown. An index, and one file per topic or memory.

    Files changed by others since the last export are not overwritten. Commits if the folder is a git repository.
    """
    from memory_pipeline.interop.exports import current, folder, markdown

    _check_folder(directory)
    with _copying(profile) as (lake, owner):
        held = current.read(lake, owner, as_of=datetime.now(UTC))
        written = folder.write(
            directory,
            markdown.files(held),
            profile_id=owner,
            force=force,
            first=lambda place: _note(lake, place, owner),
        )
    document = {**_counts(held, current.without_place(held)), **asdict(written)}
    files = {name: document[name] for name in ("added", "changed", "removed", "unchanged") if document[name]}
    committed = [] if written.commit is None else [f"committed: {written.commit}"]
    return _done(directory, document, f"files: {_listed(files) or 'none'}", *committed)


def _to_file(name: str, about: str, *, databases: Sequence[str] = ()) -> None:
    """Add the command that writes the current memories of a profile to a file, or a database if its name ends so."""

    @app.command(name, help=about)
    @shell.shown
    def export(file: FileArgument, profile: shell.ProfileOption = None, force: ForceOption = False) -> shell.Done:
        from memory_pipeline.interop.exports import current

        form = importlib.import_module(f"memory_pipeline.interop.exports.{name.replace('-', '_')}")
        _check(file, force=force)
        with _copying(profile, file) as (lake, owner):
            held = current.read(lake, owner, as_of=datetime.now(UTC))
            with _complete(lake, file, owner) as path:
                if file.suffix.lower() in databases:
                    form.database(held, path)
                else:
                    path.write_text(form.text(held), "utf-8", newline="")
        return _done(file, _counts(held, form.lost(held)))


_to_file("mcp-memory", "Write the MCP memory server's file. Entities, observations, relations of the reference server.")
_to_file("mem0", "Write memories for mem0. JSON, as its server returns them.")
_to_file(
    "langgraph",
    "Write items of a LangGraph store. JSON, or a database of SqliteStore if FILE ends in .db or .sqlite.",
    databases=(".db", ".sqlite", ".sqlite3"),
)


@app.command("jsonl")
@shell.shown
def export_jsonl(
    file: FileArgument,
    profile: shell.ProfileOption = None,
    only_current: Annotated[
        bool, typer.Option("--current", help="Only the memories that hold now, as they are, instead of the history.")
    ] = False,
    force: ForceOption = False,
) -> shell.Done:
    """Write events in our own format. For `import jsonl`: the whole history, or what holds now.

    Decisions of runs are not exported, nor is anything that was erased.
    """
    from memory_pipeline.interop.exports import current, events

    _check(file, force=force)
    with _copying(profile, file) as (lake, owner):
        if only_current:
            held = current.read(lake, owner, as_of=datetime.now(UTC))
            _write(lake, file, owner, events.current(held))
            document = _counts(held, held.count(*events.LOST))
        else:
            left_out = dict[str, int]()
            count = _write(lake, file, owner, events.history(lake.ledger, owner, left_out))
            document = {"profile_id": owner, "events": count, "left_out": dict(sorted(left_out.items()))}
    return _done(file, document)


TablesFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; created if it is missing.")]
TableOption = Annotated[
    list[str] | None,
    typer.Option("--table", metavar="NAME", help="Only this table; repeatable; default: all (data-dictionary.md)."),
]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Run or plan id: the tables as they were after it.", show_default=False),
]


def _to_tables(named: str, about: str, forced: str) -> None:
    """Add the command that writes the tables of one state into a folder, in the named format."""

    @app.command(named, help=about)
    @shell.shown
    def export(
        directory: TablesFolder,
        table: TableOption = None,
        profile: shell.ProfileFilter = None,
        run: RunOption = None,
        as_of: shell.InstantOption = None,
        force: Annotated[bool, typer.Option("--force", help=forced)] = False,
    ) -> shell.Done:
        if named == "delta" and importlib.util.find_spec("deltalake") is None:
            from memory_pipeline.settings.extras import pip_install

            raise ValueError(f"deltalake is not installed; install it with: {pip_install('delta')}")
        from memory_pipeline.interop.exports import tables
        from memory_pipeline.runs import rebuild
        from memory_pipeline.service.profile_choice import stored_profiles

        written_as, clock = tables.FORMATS[named], shell.instant(as_of)
        _check_folder(directory)
        if run is not None and clock is not None:
            raise shell.Misused("--run and --as-of cannot be combined; give one of them")
        with shell.existing_lake() as lake, lake.copying():
            owner = None if profile is None else _known(profile, stored_profiles(lake))
            state = tables.state(lake, as_of=clock, run=run, profile_id=owner)
            names = list(dict.fromkeys(table or state.names))
            tables.check(state, names)
            taken = [path for name in names if (path := directory / f"{name}{written_as.suffix}").exists()]
            if taken and not force:
                raise shell.Misused(f"DIR {directory}: {taken[0].name} exists; choose another folder, or give --force")
            lake.ledger.note_export(directory, at=datetime.now(UTC), profile_id=owner)
            rows = dict(tables.export(lake, directory, state, names=names, written_as=written_as))
            note = None if clock is None else rebuild.note(lake, as_of=clock)
        what = f"{report.many(len(rows), 'table')}, {report.many(sum(rows.values()), 'row')}"
        said = f"written: {directory} ({what}; ledger position {state.seq})"
        return shell.Done(
            {"seq": state.seq, "as_of": state.as_of, "run_id": state.run_id, "tables": rows, "note": note},
            partial(report.noted, text=said, note=note),
        )


_to_tables(
    "parquet",
    "Write tables as Parquet files. One each; as they are now, after a run, or at a past instant.",
    "Replace files that exist.",
)
_to_tables(
    "delta",
    "Write tables as Delta Lake tables. A folder each; as they are now, after a run, or at an instant.",
    "Write a new version of tables that exist.",
)


def _check_folder(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise shell.Misused(f"DIR {directory}: is a file; name a folder")


def _check(file: Path, *, force: bool) -> None:
    shell.new_file(file, "FILE", fresh=not force, remedy="choose another name, or replace it with --force")


@contextmanager
def _copying(profile: str | None, file: Path | None = None) -> "Iterator[tuple[Lake, str]]":
    """Yield the store and the profile to write, while erasures wait, except for a pipe, whose reader may be slow."""
    from memory_pipeline.service.profile_choice import choose_profile, stored_profiles

    with shell.existing_lake() as lake:
        owner = _known(choose_profile(lake, profile), stored_profiles(lake))
        with nullcontext() if file is not None and _is_pipe(file) else lake.copying():
            yield lake, owner


def _known(profile_id: str, profiles: list[str]) -> str:
    if profile_id not in profiles:
        raise ValueError(f"profile {profile_id!r} has no memory; profiles with memories: {', '.join(profiles[:20])}")
    return profile_id


def _is_pipe(file: Path) -> bool:
    return file.exists() and not file.is_file()


@contextmanager
def _complete(lake: "Lake", file: Path, profile_id: str) -> Iterator[Path]:
    """Yield a path to write to; the file is noted and takes its name, perhaps an earlier one's, once it is complete."""
    from memory_pipeline.ledger.disk import aside

    place = file.resolve()
    if _is_pipe(place):
        yield place
        return
    with aside(place.parent) as path:
        yield path
        _note(lake, file, profile_id)
        path.replace(place)


def _write(lake: "Lake", file: Path, profile_id: str, lines: Iterable[str]) -> int:
    count = 0
    with _complete(lake, file, profile_id) as path, path.open("w", encoding="utf-8", newline="") as opened:
        for line in lines:
            opened.write(f"{line}\n")
            count += 1
    return count


def _note(lake: "Lake", path: Path, profile_id: str) -> None:
    """Note where memories were written, for the receipts of erasures."""
    lake.ledger.note_export(path, at=datetime.now(UTC), profile_id=profile_id)


def _counts(held: "Current", lost: Mapping[str, int]) -> dict[str, Any]:
    beside = {name: count for name, count in lost.items() if count}
    return {
        "profile_id": held.profile_id,
        "memories": held.memories.height,
        "left_out": {**held.left_out, **beside},
    }


def _done(place: Path, document: Mapping[str, Any], *more: str) -> shell.Done:
    count, what = (document["memories"], "memory") if "memories" in document else (document["events"], "event")
    left_out = [f"left out: {_listed(document['left_out'])}"] if document["left_out"] else []
    written = f"written: {place} ({report.many(count, what)} of profile {document['profile_id']})"
    return shell.Done(document, [written, *left_out, *more])


def _listed(counts: Mapping[str, int]) -> str:
    return " · ".join(f"{what}: {count}" for what, count in counts.items())
