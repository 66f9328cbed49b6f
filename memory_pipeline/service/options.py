"""What the commands of `memory-pipeline` share: how options are read, and how results are printed."""

import json
import os
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from typer.core import TyperGroup

from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Settings, load, loading


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
    command = getattr(getattr(error, "ctx", None), "command_path", None)
    return f"{said}{given}" + (f"; see {command} --help" if command else "")


class State:
    """What the options before the command say."""

    home: Path | None = None


def settings_in_force(preset: str | None = None) -> Settings:
    """Read the settings of the chosen home."""
    return load(State.home, preset_name=preset)


def home_folder() -> Path:
    """Return the chosen home, whether or not its settings can be read."""
    return loading.home_folder(State.home, os.environ)[0]


def existing_lake(settings: Settings) -> Lake:
    """Open a lake that must be there."""
    if not (settings.home / "ledger.sqlite").is_file():
        raise ValueError(f"no memories in {settings.home}; import some, or name the data folder with --home")
    return Lake(settings.home)


def out() -> Console:
    """Where results go."""
    return Console(highlight=False)


def err() -> Console:
    """Where errors and progress go."""
    return Console(stderr=True, highlight=False)


def show_json(value: Any) -> None:
    """Print JSON: sorted keys, instants as ISO 8601."""
    sys.stdout.write(json.dumps(value, indent=2, sort_keys=True, default=_plain, ensure_ascii=False) + "\n")


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def instant(text: str | None) -> datetime | None:
    """Read an instant; without offset it is UTC."""
    if text is None:
        return None
    try:
        given = datetime.fromisoformat(text)
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Misused(f"--as-of {text!r} is no instant; write it like 2026-03-01T02:00:00Z") from None
