"""Prints the results and the previews of imports."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memory_pipeline.interop.formats import Format
from memory_pipeline.interop.importing import ImportReport, Preview
from memory_pipeline.ledger.event import Event
from memory_pipeline.service.report import SHOWN, command, line, moment, prose, refusals, table
from memory_pipeline.text.display import preview

_FIELDS: Final = tuple(name for name in Event.model_fields if name != "payload")
"""Fields of an event as it is stored, without those that only an import needs."""


def progress(console: Console) -> Progress:
    """Return a progress bar for an unknown number of events; visible on a terminal only."""
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
    """Add a task to a progress bar and return the callback that advances it."""
    task = bar.add_task(name, total=None)
    return lambda counts: bar.update(task, completed=counts.accepted + counts.duplicates + counts.dead_letters)


def imported(console: Console, reports: Mapping[str, ImportReport], *, home: Path) -> None:
    """Print the counts of an import, the profiles that it wrote to, and the next commands to try."""
    _counts(console, reports)
    if any(result.dead_letters for result in reports.values()):
        line(console, f"all refused events: {command(home, 'dead-letters', 'list')}")
    names = sorted({name for result in reports.values() for name in result.profiles})
    if names:
        line(console, _profiles(names))
        line(console, f"next: {command(home, 'consolidate')}")
        line(console, f"then ask: {command(home, 'recall', 'QUESTION', '--profile', names[0])}")


def previewed(console: Console, previews: Mapping[str, Preview], *, zone: tzinfo) -> None:
    """Print what imports would store: counts and first rows in a time zone, of long values the beginning."""
    _counts(console, {path: one.report for path, one in previews.items()})
    for one in previews.values():
        for event in preview_document(one)["first"]:
            about = event.get("memory_id") or event.get("session_id") or ""
            at = moment(event["occurred_at"], zone)
            line(console, f"{event['event_type']} {about} {at} {event['profile_id']}")
            for name, value in event["payload"].items():
                line(console, f"    {name}: {preview(str(value))}")
    names = sorted({name for one in previews.values() for name in one.report.profiles})
    line(console, f"nothing was stored; {_profiles(names)}" if names else "nothing was stored")


def preview_document(preview: Preview) -> dict[str, Any]:
    """Return a preview as JSON values: the counts, and the first events."""
    first = [
        {name: value for name in _FIELDS if (value := getattr(event, name)) is not None}
        | {"payload": {name: value for name, value in vars(event.payload).items() if value is not None}}
        for event in preview.first
    ]
    return {
        "accepted": preview.report.accepted,
        "memories": preview.report.memories,
        "duplicates": preview.report.duplicates,
        "dead_letters": preview.report.dead_letters,
        "skipped": preview.report.skipped,
        "noticed": preview.report.noticed,
        "profiles": preview.report.profiles,
        "first": first,
    }


def detected(console: Console, path: Path, found: Sequence[Format], *, home: Path) -> None:
    """Print the formats that a path looks like, and the command that imports it."""
    for one in found:
        line(console, f"{one.name}: {one.title}")
    line(console, f"preview: {command(home, 'import', found[0].name, str(path), '--dry-run')}")


def _counts(console: Console, reports: Mapping[str, ImportReport]) -> None:
    rows = [
        (
            Path(file).name,
            result.memories,
            result.accepted - result.memories,
            result.duplicates,
            sum(result.skipped.values()),
            result.dead_letters,
        )
        for file, result in reports.items()
    ]
    table(console, ("file", "memories", "other events", "known before", "skipped", "refused"), rows)
    skipped = sum((Counter(result.skipped) for result in reports.values()), Counter[str]())
    for what, count in sorted(skipped.items()):
        line(console, f"skipped: {what}: {count}")
    noticed = sum((Counter(result.noticed) for result in reports.values() if result.memories), Counter[str]())
    for what, count in sorted(noticed.items()):
        prose(console, f"{count:,} {what}")
    for result in reports.values():
        for refusal in refusals(result.refused, result.dead_letters):
            line(console, refusal)


def _profiles(names: Sequence[str]) -> str:
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{'profile' if len(names) == 1 else 'profiles'}: {', '.join(names[:SHOWN])}{rest}"
