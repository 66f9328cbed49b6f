"""The commands `import detect PATH` and `import FORMAT PATH...`, one for each format that the project reads."""

import inspect
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_group

from memory_pipeline.service import shell

if TYPE_CHECKING:
    from memory_pipeline.interop.formats import Format
    from memory_pipeline.interop.importing import ImportReport


class FormatCommands(shell.Commands):
    """The commands of all formats, whose readers are imported when the group is asked for one."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        self._add()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name."""
        self._add()
        return super().get_command(ctx, cmd_name)

    def _add(self) -> None:
        from memory_pipeline.interop.formats import FORMATS

        if not FORMATS.keys() <= self.commands.keys():
            made = typer.Typer()
            for form in FORMATS.values():
                made.command(form.name)(_command(form))
            self.commands.update(get_group(made).commands)


app = typer.Typer(cls=FormatCommands, help="Import memories, chats or events. Importing again adds only what is new.")

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders.", show_default=False)]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the counts and the first rows as they would be stored; store nothing.")
]
AllowRefused = Annotated[
    bool,
    typer.Option(
        "--allow-refused", help="Exit with 0 even if events were refused; they are still kept as dead letters."
    ),
]


@app.command("detect")
@shell.shown
def detect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or folder.", show_default=False)],
) -> shell.Done:
    """Detect the format of a file or folder. Exits with 1 if it is unknown."""
    from memory_pipeline.interop import formats
    from memory_pipeline.interop.formats import FORMATS
    from memory_pipeline.service import report_import

    found = formats.detect(path)

    def tell(console: "shell.Console") -> None:
        if not found:
            raise ValueError(f"{path}: the format is unknown; choose one of {', '.join(FORMATS)}")
        report_import.detected(console, path, found, home=shell.home_folder())

    return shell.Done([{"format": one.name, "title": one.title} for one in found], tell, well=bool(found))


def run_import(form: "Format", paths: list[Path], *, dry_run: bool, allow_refused: bool, **options: Any) -> shell.Done:
    """Import files with a progress bar, or none if one of them cannot be read; not well if events were refused."""
    from memory_pipeline.interop import formats, importing
    from memory_pipeline.interop.exports import folder
    from memory_pipeline.lake.tables import Lake
    from memory_pipeline.recall.client import quotations
    from memory_pipeline.service import report_import

    if dry_run:
        return preview(form, paths, **options)
    now = datetime.now(UTC)
    settings = shell.settings_in_force(writing=True)
    reports = {}
    given = {path: _with_profile(form, path, options, settings.default_profile) for path in paths}
    streams = {path: formats.events(form, path, recorded_at=now, **given[path]) for path in paths}
    with Lake(settings.home) as lake, report_import.progress(shell.err()) as bar:
        if form.asks_ledger:
            streams = {
                path: formats.events(form, path, recorded_at=now, ledger=lake.ledger, **given[path]) for path in paths
            }
        for path, stream in streams.items():
            counter = report_import.counter(bar, path.name)
            with folder.being_imported(path, given[path].get("profile")):
                reports[str(path)] = importing.import_events(
                    lake.ledger,
                    stream,
                    settings=settings,
                    progress=counter,
                    separate=quotations.of_store(lake, settings),
                )

    def tell(console: "shell.Console") -> None:
        report_import.imported(console, reports, home=settings.home)
        _say_mixed(form, reports.values(), **options)

    well = allow_refused or not any(result.dead_letters for result in reports.values())
    return shell.Done({path: asdict(result) for path, result in reports.items()}, tell, well=well)


def preview(form: "Format", paths: list[Path], **options: Any) -> shell.Done:
    """Tell what an import would store; nothing is written."""
    from memory_pipeline.interop import formats, importing
    from memory_pipeline.ledger import databases
    from memory_pipeline.recall.client import quotations
    from memory_pipeline.service import report_import

    now = datetime.now(UTC)
    settings = shell.settings_in_force()
    with shell.existing_lake(settings) if databases.exists(settings.home) else nullcontext() as lake:
        ledger = lake.ledger if lake else None
        previews = {}
        for path in paths:
            given = _with_profile(form, path, options, settings.default_profile)
            previews[str(path)] = importing.preview_events(
                ledger,
                formats.events(form, path, recorded_at=now, ledger=ledger, **given),
                settings=settings,
                separate=quotations.of_store(lake, settings) if lake else None,
            )

    def tell(console: "shell.Console") -> None:
        report_import.previewed(console, previews, zone=settings.zone)
        _say_mixed(form, [one.report for one in previews.values()], **options)

    return shell.Done({path: report_import.preview_document(one) for path, one in previews.items()}, tell)


def _with_profile(form: "Format", path: Path, options: dict[str, Any], default: str | None) -> dict[str, Any]:
    """Return the options for a path: what names no user goes into the default profile, unless it is our own export."""
    from memory_pipeline.interop.exports import folder

    if not form.personal or options.get("profile") or default is None or folder.owner(path) is not None:
        return options
    return {**options, "profile": default}


def _say_mixed(form: "Format", reports: "Iterable[ImportReport]", *, scope: str | None = None, **_: Any) -> None:
    """Say that everybody's memories came into one profile, where the format could have told people apart."""
    if "scope" in form.options and scope is None and any(form.name in one.profiles for one in reports):
        shell.say(
            f"all of it belongs to one profile, {form.name}, as if one person had said it; if names in the source mean "
            "users, import with --scope, such as memories/{user_id}",
        )


def _command(form: "Format") -> Callable[..., None]:
    from memory_pipeline.interop.formats import FLAGS

    def command(**given: Any) -> shell.Done:
        return run_import(form, **given)

    own = {name: _option(name) for name in form.options}
    kinds = {"paths": Paths, **own, "dry_run": DryRun, "allow_refused": AllowRefused}
    defaults: dict[str, Any] = {name: False if name in {*FLAGS, "dry_run", "allow_refused"} else None for name in kinds}
    defaults["paths"] = inspect.Parameter.empty
    what, _, details = form.title.partition(": ")  # lists of commands show the first sentence alone
    more = f" {details[:1].upper()}{details[1:]}." if details else ""
    command.__doc__ = f"{what}.{more} Takes {form.reads}."
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [inspect.Parameter(name, keyword, annotation=kinds[name], default=defaults[name]) for name in kinds]
    return shell.shown(shell.with_options(command, command, options))


def _option(name: str) -> Any:
    from memory_pipeline.interop.formats import FLAGS, OPTIONS

    if name == "profile":
        return Annotated[str | None, shell.profile_option(OPTIONS[name])]
    flag = f"--{name}"
    if name in FLAGS:
        return Annotated[bool, typer.Option(flag, help=OPTIONS[name])]
    return Annotated[str | None, typer.Option(flag, metavar="TEXT", help=OPTIONS[name], show_default=False)]
