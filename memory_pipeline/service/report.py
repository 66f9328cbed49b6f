"""What the command line shows a person: how lines and tables are printed, and those of the store and its settings.

Texts of memories are never read as markup. Ids are shortened in tables and whole in the commands that are proposed.
What is not here: plans and runs (`report_runs.py`), memories (`report_memory.py`), options and exit statuses
(`cli.py`), and what `doctor` examines (`doctor.py`).
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from memory_pipeline.interop.importing import ImportReport
from memory_pipeline.lake.tables import Lake
from memory_pipeline.schemas import Action
from memory_pipeline.service.config_file import Change
from memory_pipeline.settings import Origin, Settings

SHOWN: Final = 5
"""Rows of each kind that a long list shows."""

_GAP: Final = 3
"""Signs between two columns of a table."""
_WORD: Final = 16
"""Words up to this length are not broken; a shortened id has 14 signs."""
_ID: Final = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


@dataclass(frozen=True)
class Finding:
    """One thing that `doctor` examined."""

    subject: str
    well: bool
    detail: str


def progress(console: Console) -> Progress:
    """Make a progress bar for events of unknown number; it shows on a terminal only."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("events"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def counter(bar: Progress, name: str) -> Callable[[ImportReport], None]:
    """Add a line to a progress bar and return what moves it."""
    task = bar.add_task(name, total=None)
    return lambda done: bar.update(task, completed=done.accepted + done.duplicates + done.dead_letters)


def spinner(console: Console, job: str) -> AbstractContextManager[object]:
    """Show on a terminal that a job is running."""
    return console.status(f"{job} ...") if console.is_terminal else nullcontext()


def imported(console: Console, reports: Mapping[str, ImportReport], *, home: Path) -> None:
    """Print the counts of an import, the profiles that it wrote to, and the next commands to try."""
    rows = [
        (Path(file).name, result.accepted, result.duplicates, result.dead_letters) for file, result in reports.items()
    ]
    table(console, ("file", "accepted", "duplicate", "dead-lettered"), rows)
    if any(result.dead_letters for result in reports.values()):
        line(console, "refused events and their reasons: table dead_letters of the snapshot")
    names = sorted({name for result in reports.values() for name in result.profiles})
    if names:
        rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        line(console, f"{'profile' if len(names) == 1 else 'profiles'}: {', '.join(names[:SHOWN])}{rest}")
        line(console, f"next: {command(home, 'consolidate')}")
        line(console, f"then ask: {command(home, 'recall', 'QUESTION', '--profile', names[0])}")


def profiles_document(lake: Lake, settings: Settings, *, now: datetime) -> list[dict[str, Any]]:
    """Return the profiles that have memories or settings of their own, with the last run of each."""
    from memory_pipeline.runs import status as progress_of  # noqa: PLC0415

    ran = lake.ledger.runs().filter(pl.col("outcome") != "reverted").sort("commit_seq")
    last = {row["profile_id"]: row for row in ran.iter_rows(named=True)}
    rows = {row["profile_id"]: row for row in progress_of.summary(lake, settings, now=now)["profiles"]}
    return [
        {
            "profile_id": profile_id,
            "preset": settings.policy_of(profile_id).preset,
            "own_settings": profile_id in settings.profiles,
            "memories": rows.get(profile_id, {}).get("memories", 0),
            "live": rows.get(profile_id, {}).get("live"),
            **{
                f"last_{ours}": last.get(profile_id, {}).get(name)
                for ours, name in (("task", "task"), ("ran_at", "committed_at"), ("outcome", "outcome"))
            },
        }
        for profile_id in sorted(rows | settings.profiles)
    ]


def profiles(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print one line a profile."""
    shown = [
        (
            row["profile_id"],
            row["preset"],
            "own" if row["own_settings"] else "common",
            row["memories"],
            row["live"],
            row["last_task"],
            when(row["last_ran_at"], "never"),
        )
        for row in rows
    ]
    headers = ("profile", "preset", "settings", "stored", "live", "last task", "ran at (UTC)")
    table(console, headers, shown, empty="nothing is remembered yet, and no profile has settings of its own")


def snapshots(console: Console, found: pl.DataFrame, home: Path) -> None:
    """Print the snapshots of a store."""
    rows = [
        (row["name"], f"{row['bytes'] / 1e6:.1f}", when(row["created_at"]), "newest" if row["newest"] else "")
        for row in found.iter_rows(named=True)
    ]
    table(console, ("name", "MB", "made (UTC)", ""), rows)
    line(console, f"in {home / 'snapshots'}; each is NAME.duckdb, and memories.duckdb leads to the newest")


def settings(console: Console, rows: Sequence[Origin]) -> None:
    """Print every setting with its value and where it comes from."""
    shown = [(row.name, _setting(row.value), row.origin) for row in rows]
    table(console, ("setting", "value", "from"), shown)
    line(console, "what each means: docs/settings.md, or --json")


def change(console: Console, made: Change) -> None:
    """Print what became of a setting, and what beats the settings file if something does."""
    line(console, f"{made.now.name} = {_setting(made.now.value)}, from: {made.now.origin}")
    if made.written and made.now.origin != made.place:
        line(console, f"what {made.place} says is not in force, since {made.now.origin} beats it")


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "unset" if value is None else str(value)


def status(console: Console, found: Mapping[str, Any]) -> None:
    """Print the state of every profile, the last runs and what is due."""
    line(console, found["home"])
    names = ("profile_id", "preset", "memories", "live", "waiting")
    rows = [(*(row[name] for name in names), when(row["last_as_of"], "never")) for row in found["profiles"]]
    headers = ("profile", "preset", "stored", "live", "waiting events", "consolidated as of")
    table(console, headers, rows, empty="nothing is remembered yet")
    tasks = [(row["task"], when(row["last"], "never"), when(row["next_due"], "never")) for row in found["tasks"]]
    table(console, ("task", "last run", "next due"), tasks)
    due = [
        (row["profile_id"], one["task"], one["reason"])
        for row in found["profiles"]
        if row["enabled"]
        for one in row["due"][:SHOWN]
    ]
    if due:
        table(console, ("profile", "due", "why"), due)
    if found["history"]:
        told = ("task", "profile_id", "outcome", "memories_processed")
        runs = [
            (when(ran["ran_at"]), *(ran[name] for name in told), f"{ran['duration_seconds']:.1f} s")
            for ran in found["history"][:SHOWN]
        ]
        table(console, ("ran at", "task", "profile", "outcome", "memories", "took"), runs)
    lag = f"oldest event waits {_duration(found['waiting_seconds'])}" if found["waiting_seconds"] else "no event waits"
    prose(
        console,
        f"ledger position {found['position']} · {lag} · {many(found['dead_letters'], 'dead letter')} · "
        f"{found['disk_bytes'] / 1e6:.1f} MB · instants are UTC",
    )


def checks(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the outcome of each check; bad ones first."""
    bad = [row for row in rows if row["outcome"] != "passed"]
    for row in bad:
        line(console, f"{row['outcome']}: {row['check']} of {row['asset']}: {row['detail']}")
    line(console, f"{len(rows) - len(bad)} of {len(rows)} expected checks passed")


def findings(console: Console, found: Sequence[Finding]) -> None:
    """Print what was examined."""
    for finding in found:
        style = "green" if finding.well else "red"
        mark = Text("ok  " if finding.well else "care", style=style)
        console.print(Text.assemble(mark, f" {finding.subject}: {finding.detail}"), soft_wrap=True)


def line(console: Console, text: str = "", *, style: str = "") -> None:
    """Print one line that can be copied whole."""
    console.print(Text(text, style=style), soft_wrap=True)


def prose(console: Console, text: str, *, style: str = "") -> None:
    """Print a sentence, broken between words."""
    console.print(Text(text, style=style))


def table(
    console: Console,
    headers: Sequence[str],
    rows: Any,
    *,
    title: str | None = None,
    empty: str | None = None,
) -> None:
    """Print rows; numbers stand right, ids are shortened, nothing is read as markup.

    Where the terminal is too narrow for the words of the headers and short words of the cells, each row is printed as a
    list of its own instead: a name that is broken cannot be read.
    """
    numbers = [tuple(row) for row in rows]
    listed = [tuple("-" if cell is None else _short(str(cell)) for cell in row) for row in numbers]
    if not listed:
        if empty:
            line(console, empty)
        return
    least = [_least(header, [row[place] for row in listed]) for place, header in enumerate(headers)]
    if sum(least) + _GAP * len(least) > console.width:
        _records(console, headers, listed, title=title)
        return
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for place, header in enumerate(headers):
        numeric = all(isinstance(row[place], int | None) for row in numbers)
        made.add_column(header, justify="right" if numeric else "left", overflow="fold", min_width=least[place])
    for row in listed:
        made.add_row(*map(Text, row))
    console.print(made)


def _least(header: str, cells: Sequence[str]) -> int:
    """Return how wide a column must be for the words of its header, and for those of its cells that are short."""
    longest = max((cell_len(word) for cell in cells for word in cell.split()), default=0)
    return max([min(longest, _WORD), *(cell_len(word) for word in header.split())])


def _records(console: Console, headers: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None) -> None:
    if title:
        prose(console, title, style="bold")
    for row in rows:
        line(console)
        for header, cell in zip(headers, row, strict=True):
            prose(console, f"{header}: {cell}" if header else cell)


def when(instant: datetime | None, otherwise: str = "-") -> str:
    """Return an instant to the minute."""
    return f"{instant:%Y-%m-%d %H:%M}" if instant else otherwise


def _short(text: str) -> str:
    """Shorten the ids in a text: the first eight characters and the last four."""
    return _ID.sub(lambda found: f"{found[0][:8]}..{found[0][-4:]}", text)


def command(home: Path, *args: str) -> str:
    """Return a command that can be copied; it names the data folder unless that is the default."""
    where = [] if home == Path("data").resolve() else ["--home", str(home)]
    return shlex.join(["memory-pipeline", *where, *args])


def flat(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def many(count: int, what: str) -> str:
    """Return a number with its noun; actions have no plural."""
    if count == 1 or what in set(Action):
        return f"{count} {what}"
    return f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
