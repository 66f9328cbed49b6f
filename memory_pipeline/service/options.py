"""What the commands of `memory-pipeline` share: how options are read, and how results are printed."""

import json
import os
import re
import sys
import tempfile
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from pydantic import ValidationError
from rich.console import Console
from typer.core import TyperGroup

from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Settings, load, loading

if TYPE_CHECKING:
    from memory_pipeline.recall.client.memory_client import MemoryClient


PIPE_COLUMNS: Final = 160
"""Width of what goes into a pipe."""
_NEGATIVE: Final = re.compile(r"-[\d.]")
"""Beginning of a negative number, which a command line takes for an option."""
_ANOTHER: Final = f"choose another folder with --home or {loading.HOME_VARIABLE}"


class Commands(TyperGroup):
    """A group of commands: alone it shows its help, and `--home` may stand before a command's name and after it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move `--home DIR` to the front; what follows `--` stays."""
        if not args:
            sys.stdout.write(ctx.get_help() + "\n")
            raise typer.Exit(2)
        end = args.index("--") if "--" in args else len(args)
        found: list[str] = []
        rest: list[str] = []
        given = iter(args[:end])
        for arg in given:
            if arg == "--home":
                found += [arg, *islice(given, 1)]
            else:
                (found if arg.startswith("--home=") else rest).append(arg)
        return super().parse_args(ctx, [*found, *rest, *args[end:]])


ProfileOption = Annotated[
    str | None, typer.Option("--profile", "-p", metavar="NAME", help="Profile (tenant).", show_default=False)
]
OwnerOption = Annotated[str, typer.Option("--profile", "-p", metavar="NAME", help="Profile (tenant).")]
MemoryArgument = Annotated[str, typer.Argument(metavar="MEMORY", help="Id of the memory.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else (docs/json.md).")]
InstantOption = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="T", help="Instant, such as 2026-03-01T02:00:00Z; default: now.", show_default=False
    ),
]


class Misused(typer.TyperException):
    """The command line itself is wrong."""

    exit_code = 2


def misuse(error: typer.TyperException) -> str:
    """Say what is wrong with a command line: option, value, remedy."""
    said = error.format_message().replace("Value error, ", "").rstrip(".")
    cause = error.__cause__
    given = f" (given: {cause.errors()[0]['input']})" if isinstance(cause, ValidationError) else ""
    negative = _NEGATIVE.match(getattr(error, "option_name", ""))
    hint = "; a negative number stands behind --, such as: -- -1" if negative else ""
    command = getattr(getattr(error, "ctx", None), "command_path", None)
    return f"{said}{given}{hint}" + (f"; see {command} --help" if command else "")


class State:
    """What the options before the command say."""

    home: Path | None = None


def settings_in_force(preset: str | None = None, *, writing: bool = False) -> Settings:
    """Read the settings of the chosen home; `writing`: for a command that makes the home if it is not there."""
    home_folder(writing=writing)
    return load(State.home, preset_name=preset)


def home_folder(*, writing: bool = False) -> Path:
    """Return the chosen home, whether or not its settings can be read.

    Args:
        writing: try whether it can be made or written, with a file that has no name.

    Raises:
        ValueError: it, or what it would lie in, is a file, or nothing can be written there.
    """
    home, origin = loading.home_folder(State.home, os.environ)
    place = _first_there(home)
    if not place.is_dir():
        raise ValueError(f"data folder {home} ({origin}): {place} is a file; {_ANOTHER}")
    try:
        if writing:
            tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        said = f"data folder {home} ({origin}): nothing can be written there ({error.strerror})"
        raise ValueError(f"{said}; make it writable, or {_ANOTHER}") from error
    return home


def _first_there(path: Path) -> Path:
    """Return a path, or the nearest one above it that is there."""
    return next((one for one in (path, *path.parents) if one.exists()), path)


def existing_home(settings: Settings) -> Path:
    """Return the home, in which something must have been remembered."""
    if not (settings.home / "ledger.sqlite").is_file():
        raise ValueError(f"no memories in {settings.home}; import some, or name the data folder with --home")
    return settings.home


def existing_lake(settings: Settings) -> Lake:
    """Open a lake that must be there."""
    return Lake(existing_home(settings))


def existing_client(profile_id: str) -> "MemoryClient":
    """Open the memory of a profile of a lake that must be there."""
    settings = settings_in_force()
    existing_home(settings)
    from memory_pipeline.recall.client.memory_client import MemoryClient  # noqa: PLC0415

    return MemoryClient(settings.home, profile_id=profile_id, settings=settings)


def new_file(path: Path | None, option: str, *, fresh: bool = False) -> None:
    """Check, before anything is done, that a file can be written where an option names one.

    Raises:
        Misused: its folder is not there, it is a folder itself, or it is there already and has to be fresh.
    """
    if path is None:
        return
    if not path.parent.is_dir():
        raise Misused(f"{option} {path}: there is no folder {path.parent}; make it or choose another")
    if path.is_dir():
        raise Misused(f"{option} {path}: is a folder; name a file in it")
    if fresh and path.exists():
        raise Misused(f"{option} {path}: exists; remove it or choose another name")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Misused(f"{option} {path}: may not be written; choose another place")


def out() -> Console:
    """Where results go; into a pipe, which has no edge, with room for wide tables."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_COLUMNS
    return console


def err() -> Console:
    """Where errors and progress go."""
    return Console(stderr=True, highlight=False)


def show_json(value: Any) -> None:
    """Print JSON: sorted keys, instants as ISO 8601."""
    sys.stdout.write(json.dumps(value, indent=2, sort_keys=True, default=_plain, ensure_ascii=False) + "\n")


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def instant(text: str | None, option: str = "--as-of") -> datetime | None:
    """Read an instant that an option gives; without offset it is UTC."""
    if text is None:
        return None
    try:
        given = datetime.fromisoformat(text)
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Misused(f"{option} {text!r} is no instant; write it like 2026-03-01T02:00:00Z") from None
