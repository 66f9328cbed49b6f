"""Prints lines, tables and figures for people, and reports on a store and its settings.

Texts of memories are never read as markup. Ids are shortened in tables and whole in suggested commands.
Not here: plans and runs (`report_runs`), memories (`report_memory`), exit statuses (`cli`), and the checks of `doctor`.
"""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs.log import held_notice
from memory_pipeline.schemas import Action
from memory_pipeline.settings import Origin, Settings
from memory_pipeline.text.display import escaped
from memory_pipeline.text.embed import encoder

if TYPE_CHECKING:
    from rich.progress import Progress

    from memory_pipeline.interop.importing import ImportReport, RefusedEvent
    from memory_pipeline.service.config_file import Change

SHOWN: Final = 5
"""Rows of each kind that a shortened list shows."""

_GAP: Final = 3
"""Characters between two columns of a table."""
_WORD: Final = 16
"""Words up to this length are never broken; a shortened id has 14 characters."""
_SMALL: Final = 0.001
"""Figures below this are shown as smaller than it."""
_ID: Final = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


@dataclass(frozen=True)
class Finding:
    """The result of one check of `doctor`."""

    subject: str
    well: bool
    detail: str


def progress(console: Console) -> "Progress":
    """Return a progress bar for an unknown number of events; visible on a terminal only."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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


def counter(bar: "Progress", name: str) -> "Callable[[ImportReport], None]":
    """Add a task to a progress bar and return the callback that advances it."""
    task = bar.add_task(name, total=None)
    return lambda counts: bar.update(task, completed=counts.accepted + counts.duplicates + counts.dead_letters)


def spinner(console: Console, job: str) -> AbstractContextManager[object]:
    """Return a spinner; visible on a terminal only."""
    return console.status(f"{job} ...") if console.is_terminal else nullcontext()


def refusals(console: Console, refused: "Sequence[RefusedEvent]", count: int) -> None:
    """Print where refused events came from and why they were refused; `count` is how many there are in all."""
    for one in refused:
        line(console, f"refused: {one.origin}: {one.reason}")
    if count > len(refused):
        line(console, f"and {count - len(refused)} more")


def profiles_document(lake: Lake, settings: Settings, *, now: datetime) -> list[dict[str, Any]]:
    """Return the profiles with memories or settings of their own, each with its last run."""
    from memory_pipeline.runs import status as run_status

    ran = lake.ledger.runs().filter(pl.col("outcome") != "reverted").sort("commit_seq")
    last = {row["profile_id"]: row for row in ran.iter_rows(named=True)}
    rows = {row["profile_id"]: row for row in run_status.summary(lake, settings, now=now)["profiles"]}
    return [
        {
            "profile_id": profile_id,
            "preset": settings.policy_of(profile_id).preset,
            "own_settings": profile_id in settings.profiles,
            "memories": rows.get(profile_id, {}).get("memories", 0),
            "live": rows.get(profile_id, {}).get("live"),
            **{
                f"last_{key}": last.get(profile_id, {}).get(name)
                for key, name in (("task", "task"), ("ran_at", "committed_at"), ("outcome", "outcome"))
            },
        }
        for profile_id in sorted(rows | settings.profiles)
    ]


def profiles(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print one row per profile."""
    shown = [
        (
            row["profile_id"],
            row["preset"],
            "own" if row["own_settings"] else "shared",
            row["memories"],
            row["live"],
            row["last_task"],
            when(row["last_ran_at"], "never"),
        )
        for row in rows
    ]
    headers = ("profile", "preset", "settings", "stored", "live", "last task", "last run (UTC)")
    table(console, headers, shown, empty="no profiles yet; the first memory creates one")


def snapshots(console: Console, listing: pl.DataFrame, home: Path, *, address: str | None) -> None:
    """Print the snapshots of a store, newest first, and the address of those in the bucket of the lake."""
    rows = [
        (row["name"], f"{row['bytes'] / 1e6:.1f}", when(row["created_at"]), "newest" if row["newest"] else "")
        for row in listing.iter_rows(named=True)
    ]
    table(console, ("name", "MB", "created (UTC)", ""), rows, empty="no snapshots yet; the first run writes one")
    line(console, f"in {home / 'snapshots'}, as NAME.duckdb; memories.duckdb links to the newest")
    if address:
        line(console, f"also in {address}, but for those of past instants")


def settings(console: Console, rows: Sequence[Origin]) -> None:
    """Print every setting with its value and origin."""
    shown = [(row.name, _setting(row.value), row.origin) for row in rows]
    table(console, ("setting", "value", "from"), shown)
    line(console, "meanings: docs/settings.md, or --json")


def change(console: Console, edit: "Change") -> None:
    """Print a changed setting, and what overrides the settings file if anything does."""
    line(console, f"{edit.now.name} = {_setting(edit.now.value)}, from: {edit.now.origin}")
    if edit.written and edit.now.origin != edit.place:
        line(console, f"the value in {edit.place} has no effect: {edit.now.origin} overrides it")


def _setting(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "unset" if value is None else str(value)


def together(tasks: Iterable[Mapping[str, Any]]) -> list[tuple[str, datetime | None, datetime | None]]:
    """Return the tasks that ran last and are due next at the same time as one row: names, last, next."""
    times: dict[tuple[datetime | None, datetime | None], list[str]] = {}
    for row in tasks:
        times.setdefault((row["last"], row["next_due"]), []).append(row["task"])
    return [(", ".join(names), *both) for both, names in times.items()]


def status(console: Console, summary: Mapping[str, Any]) -> None:
    """Print the state of every profile, what is due and recent runs."""
    line(console, summary["home"])
    if told := encoder.missing():
        line(console, told, style="red")
    if summary["default_profile"]:
        line(console, f"default profile: {summary['default_profile']}")
    elif len(summary["profiles"]) > 1:
        choosing = command(Path(summary["home"]), "config", "set", "default_profile", "NAME")
        line(console, f"no default profile; choose one with: {choosing}")
    names = ("profile_id", "preset", "memories", "live", "waiting")
    rows = [(*(row[name] for name in names), when(row["last_as_of"], "never")) for row in summary["profiles"]]
    headers = ("profile", "preset", "stored", "live", "waiting events", "consolidated as of")
    table(
        console,
        headers,
        rows,
        empty="no memories yet; add some with: memory-pipeline remember TEXT, or memory-pipeline import",
    )
    tasks = [(names, when(last, "never"), when(due, "never")) for names, last, due in together(summary["tasks"])]
    table(console, ("task", "last run", "next due"), tasks)
    for row in summary["profiles"]:
        if row["held"]:
            line(console, held_notice(row["profile_id"], row["held"]), style="red")
    due = [
        (row["profile_id"], one["task"], one["reason"])
        for row in summary["profiles"]
        if row["enabled"]
        for one in row["due"][:SHOWN]
    ]
    if due:
        table(console, ("profile", "due", "reason"), due)
    if summary["history"]:
        columns = ("task", "profile_id", "outcome", "memories_processed")
        runs = [
            (when(run["ran_at"]), *(run[column] for column in columns), f"{run['duration_seconds']:.1f} s")
            for run in summary["history"][:SHOWN]
        ]
        table(console, ("finished", "task", "profile", "outcome", "memories", "took"), runs)
    if due:
        line(console, f"consolidate now: {command(Path(summary['home']), 'consolidate')}")
    waiting = summary["waiting_seconds"]
    lag = f"oldest event has waited {_duration(waiting)}" if waiting else "no events waiting"
    prose(
        console,
        f"ledger position {summary['position']} · {lag} · {many(summary['dead_letters'], 'dead letter')} · "
        f"{summary['disk_bytes'] / 1e6:.1f} MB · times are UTC",
    )


def checks(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the checks that failed or are missing, and a count."""
    problems = [row for row in rows if row["outcome"] != "passed"]
    for row in problems:
        line(console, f"{row['outcome']}: {row['check']} of {row['asset']}: {row['detail']}")
    line(console, f"{len(rows) - len(problems)} of {len(rows)} expected checks passed")


def findings(console: Console, results: Sequence[Finding]) -> None:
    """Print the findings of `doctor`."""
    for finding in results:
        style = "green" if finding.well else "red"
        mark = Text("ok     " if finding.well else "problem", style=style)
        console.print(Text.assemble(mark, escaped(f" {finding.subject}: {finding.detail}")), soft_wrap=True)


def line(console: Console, text: str = "", *, style: str = "") -> None:
    """Print one line, never wrapped, so that it can be copied."""
    console.print(Text(escaped(text), style=style), soft_wrap=True)


def prose(console: Console, text: str, *, style: str = "") -> None:
    """Print text wrapped between words."""
    console.print(Text(escaped(text), style=style))


def table(
    console: Console,
    headers: Sequence[str],
    rows: Any,
    *,
    title: str | None = None,
    empty: str | None = None,
) -> None:
    """Print rows as a table: numbers right-aligned, ids shortened, nothing read as markup.

    Where the terminal is too narrow to keep headers and short words whole, each row is printed as a list instead.

    Args:
        console: where to print.
        headers: names of the columns.
        rows: cells; None is shown as "-".
        title: printed above the table.
        empty: printed instead of a table without rows.
    """
    values = [tuple(row) for row in rows]
    listed = [tuple("-" if cell is None else shortened(escaped(str(cell))) for cell in row) for row in values]
    if not listed:
        if empty:
            line(console, empty)
        return
    if title:
        prose(console, title, style="bold")
    widths = [_min_width(header, [row[place] for row in listed]) for place, header in enumerate(headers)]
    if sum(widths) + _GAP * len(widths) > console.width:
        _records(console, headers, listed)
        return
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, header in enumerate(headers):
        numeric = all(isinstance(row[place], int | None) for row in values)
        grid.add_column(header, justify="right" if numeric else "left", overflow="fold", min_width=widths[place])
    for row in listed:
        grid.add_row(*map(Text, row))
    console.print(grid)


def _min_width(header: str, cells: Sequence[str]) -> int:
    """Return the width that keeps the words of a header and the short words of its cells whole."""
    longest = max((cell_len(word) for cell in cells for word in cell.split()), default=0)
    return max([min(longest, _WORD), *(cell_len(word) for word in header.split())])


def _records(console: Console, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        line(console)
        for header, cell in zip(headers, row, strict=True):
            prose(console, f"{header}: {cell}" if header else cell)


def when(instant: datetime | None, otherwise: str = "-") -> str:
    """Return an instant to the minute."""
    return f"{instant:%Y-%m-%d %H:%M}" if instant else otherwise


def figure(value: float) -> str:
    """Format a number for people: whole numbers whole, others to three digits, never in exponents."""
    if float(value).is_integer():
        return f"{value:.0f}"
    if abs(value) < _SMALL:
        return f"{'> -' if value < 0 else '< '}{_SMALL}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shortened(text: str) -> str:
    """Return a text with its ids shortened to their first eight and last four characters."""
    return _ID.sub(lambda match: f"{match[0][:8]}..{match[0][-4:]}", text)


def command(home: Path, *args: str) -> str:
    """Return a command that can be copied; names the data folder unless it is the default."""
    where = [] if home == Path("data").resolve() else ["--home", str(home)]
    return shlex.join(["memory-pipeline", *where, *args])


def flat(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def many(count: int, what: str) -> str:
    """Return a count with its noun, plural where needed; actions have no plural."""
    if count == 1 or what in set(Action):
        return f"{count} {what}"
    return f"{count} {what[:-1]}ies" if what.endswith("y") else f"{count} {what}s"


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
