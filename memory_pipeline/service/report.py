"""What the command line shows a person: tables and short texts, made from the lake's tables."""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from memory_pipeline.consolidation import planning
from memory_pipeline.interop.importing import ImportReport
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.schemas import LIVE
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Settings

SHOWN = 20
"""Rows of a long list that are shown."""


def progress(console: Console) -> Progress:
    """Make a progress bar for events of unknown number."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
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


def imported(console: Console, reports: Mapping[str, ImportReport]) -> None:
    """Print what an import took."""
    table = Table("file", "accepted", "duplicate", "dead-lettered")
    for file, found in reports.items():
        table.add_row(Path(file).name, str(found.accepted), str(found.duplicates), str(found.dead_letters))
    console.print(table)
    if any(found.dead_letters for found in reports.values()):
        console.print("refused events with their reasons: table dead_letters of the snapshot")


def frame(console: Console, rows: pl.DataFrame, title: str) -> None:
    """Print a frame as a table."""
    table = Table(*rows.columns, title=title)
    for row in rows.iter_rows():
        table.add_row(*("" if value is None else str(value) for value in row))
    console.print(table)


def plan_document(tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return the portable form of a plan."""
    return planning.document(tables["consolidation_plan"], tables["profiles"])


def plan(console: Console, decisions: pl.DataFrame, *, written: Path | None) -> None:
    """Print a plan: counts by action and rule, then the first decisions with their reasons."""
    if decisions.is_empty():
        console.print("The plan is empty: nothing to change.")
    else:
        frame(console, _counted(decisions, "profile_id", "action", "rule", "status"), "Plan")
        first = decisions.sort("profile_id", "ordinal").head(SHOWN)
        frame(console, first.select("profile_id", "action", "memory_id", "reason", "status"), f"First {first.height}")
    console.print("Nothing was written to ledger, lake or snapshots.")
    if written:
        console.print(f"The plan is in {written}; apply it with: memory-pipeline apply {written}", soft_wrap=True)


def _counted(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    return rows.group_by(by).len("count").sort(by)


def run_document(lake: Lake, run_id: str) -> dict[str, Any]:
    """Return what a run did, one entry a profile, with the decisions it committed counted by action."""
    runs = lake.ledger.runs().filter(pl.col("run_id") == run_id).sort("profile_id")
    decided = lake.ledger.decisions().join(runs, on=["profile_id", "plan_id"], how="semi")
    counts = _counted(decided, "profile_id", "action")
    return {
        "run_id": run_id,
        "profiles": [
            row
            | {
                "actions": dict(
                    counts.filter(pl.col("profile_id") == row["profile_id"]).select("action", "count").iter_rows()
                )
            }
            for row in runs.to_dicts()
        ],
        "snapshot": str(lake.home / "snapshots" / "memories.duckdb"),
    }


def run(console: Console, lake: Lake, done: Mapping[str, Any]) -> None:
    """Print what a run found, linked, merged and kept."""
    if not done["profiles"]:
        console.print("Nothing was due: every profile has been consolidated at a later instant.")
        return
    profiles = [row["profile_id"] for row in done["profiles"]]
    tables = {
        name: lake.read(name, profiles=profiles)
        for name in (
            "memories",
            "association_edges",
            "clusters",
            "cluster_members",
            "merge_refusals",
            "scored_memories",
        )
    }
    _totals(console, done, tables)
    _clusters(console, tables)
    _merges(console, tables)
    held = [row["profile_id"] for row in done["profiles"] if row["outcome"] == "held"]
    if held:
        console.print(
            f"[yellow]held back:[/yellow] {', '.join(held)}: more memories would leave than the quota allows; look with "
            "--dry-run, release with --max-archived-share"
        )
    console.print(f"\nsnapshot: {done['snapshot']}", soft_wrap=True)
    console.print(
        "next: memory-pipeline explain ID · memory-pipeline undo RUN · memory-pipeline status", soft_wrap=True
    )
    console.print(f"this run: {done['run_id']}")


def _totals(console: Console, done: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> None:
    table = Table(
        "profile",
        "memories",
        "live",
        "summaries",
        "merged away",
        "edges",
        "clusters",
        "protected",
        "decisions",
        title="Consolidated",
    )
    for row in done["profiles"]:
        own = {name: rows.filter(pl.col("profile_id") == row["profile_id"]) for name, rows in tables.items()}
        memories = own["memories"]
        live = memories.filter(pl.col("lifecycle").is_in(LIVE))
        table.add_row(
            row["profile_id"],
            str(memories.filter(pl.col("kind") == "original").height),
            str(live.height),
            str(live.filter(pl.col("kind") != "original").height),
            str(memories.filter((pl.col("superseded_kind") == "summary") & (pl.col("kind") == "original")).height),
            str(own["association_edges"].height),
            str(own["clusters"].height),
            str(int(own["scored_memories"]["is_protected"].sum())),
            ", ".join(f"{count} {action}" for action, count in row["actions"].items()) or "none",
        )
    console.print(table)
    edges = _counted(tables["association_edges"], "edge_type").sort("count", descending=True)
    console.print("linked: " + ", ".join(f"{count} {kind}" for kind, count in edges.iter_rows()))


def _clusters(console: Console, tables: Mapping[str, pl.DataFrame]) -> None:
    largest = (
        tables["clusters"]
        .filter(pl.col("method") != "near_duplicates")
        .sort(["cluster_size", "cluster_id"], descending=[True, False])
        .head(8)
    )
    if largest.height:
        shown = largest.select(
            "profile_id",
            "label",
            size="cluster_size",
            mostly="dominant_type",
            days=pl.col("temporal_span_days").round(1),
            cohesion=pl.col("cohesion").round(2),
        )
        frame(console, shown, "Largest clusters")


def _merges(console: Console, tables: Mapping[str, pl.DataFrame]) -> None:
    memories = tables["memories"].select("profile_id", "memory_id", "content")
    merged = (
        tables["clusters"]
        .filter(pl.col("method") == "near_duplicates")
        .sort(["cluster_size", "cluster_id"], descending=[True, False])
    )
    if merged.height:
        one = merged.head(1)
        texts = one.join(tables["cluster_members"], on=["profile_id", "cluster_id"]).join(
            memories, on=["profile_id", "memory_id"]
        )
        frame(
            console,
            texts.sort("memory_id").select("memory_id", "content"),
            f"One of {merged.height} merges of near duplicates",
        )
    refused = tables["merge_refusals"]
    if refused.height:
        reasons = ", ".join(f"{count} {reason}" for reason, count in _counted(refused, "reason").iter_rows())
        one = refused.sort(["similarity", "memory_id", "other_id"], descending=[True, False, False]).head(3)
        frame(
            console,
            one.select("memory_id", "other_id", "reason", "detail"),
            f"Refused to merge {refused.height} pairs ({reasons})",
        )


def undone(console: Console, decisions: pl.DataFrame, path: Path) -> None:
    """Print what was taken back."""
    frame(console, _counted(decisions, "profile_id", "action"), "Taken back")
    console.print(f"snapshot: {path}", soft_wrap=True)


def status(console: Console, found: Mapping[str, Any]) -> None:
    """Print the state of every profile, the last runs and what is due."""
    profiles = Table(
        "profile", "preset", "live", "all", "events waiting", "last consolidated", title=f"{found['home']}"
    )
    for row in found["profiles"]:
        profiles.add_row(
            *(
                str(row[name] if row[name] is not None else "never")
                for name in ("profile_id", "preset", "live", "memories", "waiting", "last_as_of")
            )
        )
    console.print(profiles)
    tasks = Table("task", "last run", "next due", title="Tasks")
    for row in found["tasks"]:
        tasks.add_row(row["task"], str(row["last"] or "never"), str(row["next_due"] or "not scheduled"))
    console.print(tasks)
    console.print(
        f"position {found['position']} · lag {found['lag_seconds']:.0f} s · {found['dead_letters']} dead letters · {found['disk_bytes'] / 1e6:.1f} MB"
    )


def checks(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the outcome of each check; bad ones first."""
    bad = [row for row in rows if row["outcome"] != "passed"]
    for row in bad:
        console.print(f"[red]{row['outcome']}[/red] {row['asset']} {row['check']}: {row['detail']}", soft_wrap=True)
    console.print(f"{len(rows) - len(bad)} of {len(rows)} expected checks passed")


ENOUGH_BYTES: Final = 1_000_000_000
"""Free space below which `doctor` warns."""


@dataclass(frozen=True)
class Finding:
    """One thing that was examined."""

    subject: str
    well: bool
    detail: str


def examine(settings: Settings, *, repair: bool) -> list[Finding]:
    """Examine interpreter, packages, ledger, lake and snapshot; with `repair` rebuild a missing snapshot."""
    found = [
        Finding(
            "python",
            sys.version_info >= (3, 11),
            sys.version.split()[0] + ("" if sys.version_info >= (3, 11) else ": install 3.11 or newer"),
        ),
        Finding(
            "hnswlib",
            importlib.util.find_spec("hnswlib") is not None,
            "installed"
            if importlib.util.find_spec("hnswlib")
            else "missing: it is built from source; install a C++ compiler (g++), then install again",
        ),
    ]
    if not (settings.home / "ledger.sqlite").is_file():
        return [
            *found,
            Finding("ledger", well=False, detail=f"none in {settings.home}; make one with: memory-pipeline init"),
        ]
    with Lake(settings.home) as lake:
        lost = lake.mend() if repair else lake.verify()
        damaged = [f"{row['path']} is {row['problem']}: {row['remedy']}" for row in lost.iter_rows(named=True)]
        found.append(
            Finding(
                "ledger",
                well=True,
                detail=f"position {lake.ledger.position()}, {lake.ledger.profiles().height} profiles",
            )
        )
        found.append(Finding("lake", not damaged, "; ".join(damaged) or "every file is there and unharmed"))
        newest = snapshot.newest(lake.home)
        if newest is None and repair:
            newest = snapshot.publish(lake)
        found.append(
            Finding(
                "snapshot",
                newest is not None,
                str(newest or "none yet; build it with: memory-pipeline doctor --repair"),
            )
        )
        letters = lake.ledger.dead_letters().height
        found.append(Finding("dead letters", well=True, detail=f"{letters} refused events" if letters else "none"))
    free = shutil.disk_usage(settings.home).free
    found.append(Finding("disk", free > ENOUGH_BYTES, f"{free / 1e9:.1f} GB free"))
    return found


def findings(console: Console, found: Sequence[Finding]) -> None:
    """Print what was examined."""
    for finding in found:
        mark = "[green]ok[/green]  " if finding.well else "[red]care[/red]"
        console.print(f"{mark} {finding.subject}: {finding.detail}", highlight=False, soft_wrap=True)
