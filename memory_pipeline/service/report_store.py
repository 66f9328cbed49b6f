"""Prints the state of a store: its profiles, its snapshots, and what is due."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.console import Console

from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import status as run_status
from memory_pipeline.runs.log import held_notice
from memory_pipeline.service.report import SHOWN, command, line, many, prose, table, when
from memory_pipeline.settings import Settings
from memory_pipeline.text.embed import encoder

_ON_REQUEST: Final = "on request"
"""When a consolidation is due that has no schedule."""
IN_USE: Final = "neither merged, replaced nor faded"
"""What it means that a memory is live."""
WAITING: Final = "memories, changes, uses and answers that the next consolidation reads"
RUNS: Final = {"full": "consolidation", "lightweight": "light consolidation", "tick": "quick pass"}
"""What people call the runs of a task, where its name does not say it."""
OUTCOMES: Final = {"committed": "done", "unchanged": "nothing new", "held": "partly held back", "reverted": "undone"}
"""What people call the outcome of a run."""


def profiles_document(lake: Lake, settings: Settings, *, now: datetime) -> list[dict[str, Any]]:
    """Return the profiles with memories or settings of their own, each with its last run."""
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
