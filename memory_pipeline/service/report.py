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
from datetime import datetime, tzinfo
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

_MARGIN: Final = "   "
"""Before what a line that shows a memory goes on with."""
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


def profiles(console: Console, rows: Sequence[Mapping[str, Any]], zone: tzinfo) -> None:
    """Print one row per profile, with times in a time zone."""
    shown = [
        (
            row["profile_id"],
            row["preset"],
            "own" if row["own_settings"] else "shared",
            row["memories"],
            row["live"],
            row["last_task"],
            when(row["last_ran_at"], "never", zone=zone),
        )
        for row in rows
    ]
    headers = ("profile", "preset", "settings", "stored", "live", "last task", f"last run ({zone})")
    table(console, headers, shown, empty="no profiles yet; the first memory creates one")


def snapshots(console: Console, listing: pl.DataFrame, home: Path, *, address: str | None, zone: tzinfo) -> None:
    """Print the snapshots of a store, newest first, and the address of those in the bucket of the lake."""
    rows = [
        (
            row["name"],
            f"{row['bytes'] / 1e6:.1f}",
            when(row["created_at"], zone=zone),
            "newest" if row["newest"] else "",
        )
        for row in listing.iter_rows(named=True)
    ]
    table(console, ("name", "MB", f"created ({zone})", ""), rows, empty="no snapshots yet; the first run writes one")
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


def status(console: Console, summary: Mapping[str, Any], zone: tzinfo) -> None:
    """Print the state of every profile, what is due and recent runs, with times in a time zone."""
    home, profiles = Path(summary["home"]), summary["profiles"]
    line(console, summary["home"])
    if problem := encoder.missing():
        line(console, problem, style="red")
    if summary["default_profile"]:
        line(console, f"default profile: {summary['default_profile']}")
    elif len(profiles) > 1:
        choosing = command(home, "config", "set", "default_profile", "NAME")
        line(console, f"no default profile; choose one with: {choosing}")
    _profile_rows(console, profiles, home, zone)
    _next_rows(console, summary, zone)
    for row in profiles:
        if row["held"]:
            line(console, held_notice(row["profile_id"], row["held"]), style="red")
    due = [(row["profile_id"], one["reason"]) for row in profiles if row["enabled"] for one in row["due"][:SHOWN]]
    for profile_id, reason in due:
        prose(console, f"due now for {profile_id}: {reason}")
    _run_rows(console, summary["history"][:SHOWN], zone)
    if due:
        line(console, f"consolidate now: {command(home, 'consolidate')}")
    if summary["dead_letters"]:
        refused = many(summary["dead_letters"], "message")
        line(console, f"{refused} could not be stored; see: {command(home, 'dead-letters', 'list')}")
    prose(console, f"{summary['disk_bytes'] / 1e6:.1f} MB on disk · times are {zone}")


def _profile_rows(console: Console, profiles: Sequence[Mapping[str, Any]], home: Path, zone: tzinfo) -> None:
    """Print how many memories each profile has, and what waits for a consolidation."""
    presets = any(row["preset"] != "default" for row in profiles)
    rows = [
        (
            row["profile_id"],
            *([row["preset"]] if presets else []),
            *(row[name] for name in ("memories", "live", "waiting")),
            when(row["last_as_of"], "never", zone=zone),
        )
        for row in profiles
    ]
    headers = ("profile", *(["preset"] if presets else []), "memories", "in use", "waiting", "last consolidated")
    adding = " or ".join(command(home, *words) for words in (("remember", "TEXT"), ("import",)))
    table(console, headers, rows, empty=f"no memories yet; add some with: {adding}")
    if rows:
        prose(console, f"in use: {IN_USE}; waiting: {WAITING}", style="dim")


def _next_rows(console: Console, summary: Mapping[str, Any], zone: tzinfo) -> None:
    """Print when the next consolidation is; where its parts have times of their own, those of each."""
    rows = [
        (names, when(last, "never", zone=zone), when(due, _ON_REQUEST, zone=zone))
        for names, last, due in together(summary["tasks"])
    ]
    if len(rows) > 1:
        table(console, ("part of a consolidation", "last", "next"), rows)
    elif summary["profiles"]:
        asked = "" if rows[0][-1] == _ON_REQUEST else ", by Dagster's daemon where it runs, else by you"
        prose(console, f"next consolidation: {rows[0][-1]}{asked}")


def _run_rows(console: Console, history: Sequence[Mapping[str, Any]], zone: tzinfo) -> None:
    """Print the last runs in words."""
    runs = [
        (
            when(run["ran_at"], zone=zone),
            RUNS.get(run["task"], run["task"]),
            run["profile_id"],
            OUTCOMES.get(run["outcome"], run["outcome"]),
            run["memories_processed"],
            f"{run['duration_seconds']:.1f} s",
        )
        for run in history
    ]
    table(console, ("finished", "run", "profile", "outcome", "memories", "took"), runs)


_ON_REQUEST: Final = "on request"
"""When a consolidation is due that has no schedule."""
IN_USE: Final = "neither merged, replaced nor faded"
"""What it means that a memory is live."""
WAITING: Final = "memories, changes, uses and answers that the next consolidation reads"
RUNS: Final = {"full": "consolidation", "lightweight": "light consolidation", "tick": "quick pass"}
"""What people call the runs of a task, where its name does not say it."""
OUTCOMES: Final = {"committed": "done", "unchanged": "nothing new", "held": "partly held back", "reverted": "undone"}
"""What people call the outcome of a run."""


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
    """Print one line, never wrapped, so that it can be copied; what a value holds begins no other."""
    console.print(Text(escaped(" ".join(text.splitlines())), style=style), soft_wrap=True)


def prose(console: Console, text: str, *, style: str = "") -> None:
    """Print text wrapped between words."""
    console.print(Text(escaped(text), style=style))


def hanging(console: Console, text: str) -> None:
    """Print lines that show memories, wrapped between words within a margin, so that no word of one begins a line."""
    for one in escaped(text).split("\n"):
        wrapped = Text(one).wrap(console, max(console.width - len(_MARGIN), len(_MARGIN)))
        console.print(Text(f"\n{_MARGIN}".join(row.plain.rstrip() for row in wrapped)), soft_wrap=True)


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


def when(instant: datetime | None, otherwise: str = "-", *, zone: tzinfo | None = None) -> str:
    """Return an instant to the minute, in a time zone; None: in its own."""
    return f"{instant.astimezone(zone or instant.tzinfo):%Y-%m-%d %H:%M}" if instant else otherwise


def moment(instant: datetime, zone: tzinfo | None = None) -> str:
    """Return an instant to the minute, with its time zone."""
    at = instant.astimezone(zone or instant.tzinfo)
    return f"{when(at)} {at:%Z}"


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
