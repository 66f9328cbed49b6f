"""What the commands share: options, the store that they act on, and what they print."""

import inspect
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import Parameter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import typer
from typer.core import TyperGroup

from memory_pipeline.service.report import line
from memory_pipeline.text.display import escaped

if TYPE_CHECKING:
    from rich import console

    from memory_pipeline.lake.tables import Lake
    from memory_pipeline.recall.client.memory_client import MemoryClient
    from memory_pipeline.settings import Settings

    Console: TypeAlias = console.Console

R = TypeVar("R")

PIPE_COLUMNS: Final = 160
"""Width of output that goes into a pipe."""
_NEGATIVE: Final = re.compile(r"-[\d.]")
"""Start of a negative number, which a command line takes for an option."""
_ANOTHER_HOME: Final = "choose another folder with --home or MEMORY_PIPELINE_HOME"


class Commands(TyperGroup):
    """A command group that shows its help when called alone, and takes `--home` before and after a command's name.

    An option that takes one value is refused if it is given twice; the first value would be lost without a word.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move `--home DIR` to the front, except after `--`."""
        if not args:
            sys.stdout.write(ctx.get_help() + "\n")
            raise typer.Exit(2)
        end = args.index("--") if "--" in args else len(args)
        home: list[str] = []
        rest: list[str] = []
        remaining = iter(args[:end])
        for arg in remaining:
            if arg == "--home":
                home += [arg, *islice(remaining, 1)]
            else:
                (home if arg.startswith("--home=") else rest).append(arg)
        return super().parse_args(ctx, [*home, *rest, *args[end:]])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command's name, the command and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, TyperGroup):
            named = [arg.partition("=")[0] for arg in rest[: rest.index("--") if "--" in rest else len(rest)]]
            for param in command.params:
                single = not (getattr(param, "is_flag", True) or param.multiple)
                if single and (times := sum(arg in param.opts for arg in named)) > 1:
                    raise Misused(f"{param.opts[0]} is given {times} times; give it once, see --help")
        return name, command, rest


def profile_option(help_text: str) -> Any:
    """Return the option `--profile` with its meaning for one command."""
    return typer.Option("--profile", "-p", metavar="NAME", help=help_text, show_default=False)


ProfileFilter = Annotated[str | None, profile_option("Only this profile; default: all.")]
ProfileOption = Annotated[
    str | None, profile_option("Profile (tenant); default: the setting default_profile, else the store's only one.")
]
MemoryArgument = Annotated[str, typer.Argument(metavar="MEMORY", help="Id of the memory.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else (docs/json.md).")]
InstantOption = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="T",
        help="When a day such as 2026-03-01 begins, or an instant such as 2026-03-01T02:00:00Z; default: now.",
        show_default=False,
    ),
]


class Misused(typer.TyperException):
    """The command line itself is wrong."""

    exit_code = 2


def misuse(error: typer.TyperException) -> str:
    """Return what is wrong with a command line: option, value, remedy."""
    from pydantic import ValidationError

    message = error.format_message().replace("Value error, ", "").rstrip(".")
    cause = error.__cause__
    value = f" (given: {cause.errors()[0]['input']})" if isinstance(cause, ValidationError) else ""
    negative = _NEGATIVE.match(getattr(error, "option_name", ""))
    hint = "; put a negative number after --, as in: -- -1" if negative else ""
    command = getattr(getattr(error, "ctx", None), "command_path", None)
    return f"{message}{value}{hint}" + (f"; see {command} --help" if command else "")


class State:
    """Values of the options that precede the command."""

    home: Path | None = None


def settings_in_force(preset: str | None = None, *, writing: bool = False) -> "Settings":
    """Read the settings of the chosen home; `writing`: the command creates it if it does not exist."""
    from memory_pipeline.settings import load

    home_folder(writing=writing)
    return load(State.home, preset_name=preset)


def home_folder(*, writing: bool = False) -> Path:
    """Return the chosen home, whether or not its settings can be read; `writing`: it must be writable, or can be made.

    Raises:
        ValueError: it, or a folder above it, is a file, or it cannot be written.
    """
    from memory_pipeline.settings import loading

    home, origin = loading.home_folder(State.home, os.environ)
    existing = next((path for path in (home, *home.parents) if path.exists()), home)
    if not existing.is_dir():
        raise ValueError(f"data folder {home} ({origin}): {existing} is a file; {_ANOTHER_HOME}")
    try:
        if writing:
            tempfile.TemporaryFile(dir=existing).close()
    except OSError as error:
        problem = f"data folder {home} ({origin}): cannot be written ({error.strerror})"
        raise ValueError(f"{problem}; make it writable, or {_ANOTHER_HOME}") from error
    return home


def existing_home(settings: "Settings") -> Path:
    """Return the home of a store that must exist; LakeError, if its ledger alone is missing, else a ValueError."""
    from memory_pipeline.lake import identity, object_stores
    from memory_pipeline.ledger import databases

    if not databases.exists(settings.home):
        identity.check_ledger_there(settings.home, object_stores.opened(settings.home))
        raise ValueError(f"no memories in {settings.home}; import some, or name the data folder with --home")
    return settings.home


def existing_lake(settings: "Settings | None" = None) -> "Lake":
    """Open a store that must exist; default: that of the settings in force."""
    from memory_pipeline.lake.tables import Lake

    return Lake(existing_home(settings or settings_in_force()))


def existing_profile(profile: str | None) -> str:
    """Return the named profile, the default one, or the only one of a store that must exist (`choose_profile`)."""
    from memory_pipeline.service.profile_choice import choose_profile

    with existing_lake() as lake:
        return choose_profile(lake, profile)


def client_of(profile_id: str, *, session: bool = False) -> "MemoryClient":
    """Open the client of a profile in a store that must exist.

    Where it starts or ends a `session`, as hooks do before anything is remembered, the data folder is created.
    """
    settings = settings_in_force(writing=session)
    if not session:
        existing_home(settings)
    from memory_pipeline.recall.client.memory_client import MemoryClient

    return MemoryClient(settings.home, profile_id=profile_id, settings=settings)


def new_file(
    path: Path | None, option: str, *, fresh: bool = False, remedy: str = "remove it or choose another name"
) -> None:
    """Check, before any work is done, that a file can be written, and if it is to be `fresh`, that there is none."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise Misused(f"{option} {path}: there is no folder {path.parent}; create it or choose another")
    if path.is_dir():
        raise Misused(f"{option} {path}: is a folder; name a file in it")
    if fresh and path.exists():
        raise Misused(f"{option} {path}: exists; {remedy}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Misused(f"{option} {path}: is not writable; choose another place")


def out() -> "Console":
    """Return the console for results; in a pipe it is wide enough for every table."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_COLUMNS
    return console


def err() -> "Console":
    """Return the console for errors and progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def show_json(value: Any) -> None:
    """Print JSON with sorted keys and instants as ISO 8601, its control and invisible characters written out."""
    text = json.dumps(value, indent=2, sort_keys=True, default=_json_text, ensure_ascii=False)
    hidden = {ord(letter): json.dumps(letter)[1:-1] for letter in set(text) if escaped(letter) != letter}
    sys.stdout.write(text.translate(hidden) + "\n")


def say(text: str) -> None:
    """Print one line for people, never wrapped (see `report.line`)."""
    line(out(), text)


@dataclass(frozen=True)
class Done:
    """What a command did."""

    document: Any
    """For programs, as JSON."""
    told: "str | Sequence[str] | Callable[[Console], object]"
    """For people: a line, several, or what prints it."""
    well: bool = True
    """False: the command exits with 1."""

    def show(self, *, as_json: bool) -> None:
        """Print it as JSON, or for people."""
        if as_json:
            show_json(self.document)
        elif callable(self.told):
            self.told(out())
        else:
            for text in [self.told] if isinstance(self.told, str) else self.told:
                say(text)
        if not self.well:
            raise typer.Exit(1)


def shown(command: Callable[..., Done]) -> Callable[..., None]:
    """Give a command the option `--json`, and print what it returns in the form that is asked for."""

    def run(*, as_json: bool, **given: Any) -> None:
        command(**given).show(as_json=as_json)

    option = Parameter("as_json", Parameter.KEYWORD_ONLY, annotation=JsonOption, default=False)
    return with_options(run, command, [*inspect.signature(command).parameters.values(), option])


def with_options(run: Callable[..., R], command: Callable[..., Any], options: Iterable[Parameter]) -> Callable[..., R]:
    """Return a function under the name and with the help of a command, with the options that typer reads of it."""
    keywords = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in keywords}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _json_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def instant(text: str | None, option: str = "--as-of") -> datetime | None:
    """Parse the instant of an option; without an offset it is one of the setting `timezone`."""
    if text is None:
        return None
    try:
        parsed = datetime.fromisoformat(text)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=settings_in_force().zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Misused(
            f"{option} {text!r} is not an instant; write it like 2026-03-01 or 2026-03-01T02:00:00Z"
        ) from None
