"""The command `memory-pipeline`: reads options, calls the lake or Dagster, prints.

What is printed of a run stands in `report.py`; how a job is started in `launch.py`.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from memory_pipeline.interop import beam, importing, jsonl, locomo
from memory_pipeline.interop import sample as generator
from memory_pipeline.lake import history, snapshot, status
from memory_pipeline.lake.events import DeadLetter, Event, parse
from memory_pipeline.lake.schemas import EventType
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.explain import explain as explain_memory
from memory_pipeline.service import report
from memory_pipeline.settings import Settings, SettingsError, load, preset_names

app = typer.Typer(
    name="memory-pipeline",
    help="Consolidates the long-term memory of AI agents: scores, links, clusters, summarises and forgets.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
importers = typer.Typer(
    help="Bring conversations and events in; a file can be imported again without harm.", no_args_is_help=True
)
snapshots = typer.Typer(help="The state as DuckDB files, now or at any past instant.", no_args_is_help=True)
settings_commands = typer.Typer(help="Settings in force.", no_args_is_help=True)
app.add_typer(importers, name="import")
app.add_typer(snapshots, name="snapshot")
app.add_typer(settings_commands, name="config")

out = Console()
err = Console(stderr=True)

Files = Annotated[list[Path], typer.Argument(help="Files to read.", show_default=False)]
ProfileOption = Annotated[str | None, typer.Option("--profile", "-p", help="Profile (tenant).", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
InstantOption = Annotated[
    str | None, typer.Option("--as-of", help="Instant, such as 2026-03-01T02:00:00Z; default: now.", show_default=False)
]


class Task(StrEnum):
    """One task of a consolidation."""

    DECAY = "decay"
    CREATIVE = "creative"
    CLUSTER = "cluster"
    FORGET = "forget"


class State:
    """What the options before the command say."""

    home: Path | None = None


@app.callback()
def common(
    home: Annotated[
        Path | None,
        typer.Option("--home", envvar="MEMORY_PIPELINE_HOME", help="Data folder; default: ./data.", show_default=False),
    ] = None,
) -> None:
    """Remember where the data are."""
    State.home = home


def settings_in_force(preset: str | None = None) -> Settings:
    """Read the settings of the chosen home."""
    return load(State.home, preset_name=preset)


def open_lake(settings: Settings) -> Lake:
    """Open the home's lake; an import or `remember` makes a new one."""
    return Lake(settings.home)


def existing_lake(settings: Settings) -> Lake:
    """Open a lake that must be there."""
    if not (settings.home / "ledger.sqlite").is_file():
        fail(f"no memories in {settings.home}; import some, or name the data folder with --home")
    return Lake(settings.home)


def fail(message: str, *, code: int = 1) -> NoReturn:
    """End with one line that says what is wrong."""
    err.print(f"[red]error:[/red] {message}", highlight=False, soft_wrap=True)
    raise typer.Exit(code)


def show_json(value: Any) -> None:
    """Print JSON: sorted keys, instants as ISO 8601."""
    sys.stdout.write(json.dumps(value, indent=2, sort_keys=True, default=str, ensure_ascii=False) + "\n")


def instant(text: str | None) -> datetime | None:
    """Read an instant; without offset it is UTC."""
    if text is None:
        return None
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        fail(f"--as-of {text!r} is no instant; write it like 2026-03-01T02:00:00Z", code=2)
    return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)


@app.command()
def init() -> None:
    """Make a data folder ready: ledger, lake and Dagster's own storage."""
    from memory_pipeline.service import launch  # noqa: PLC0415 - Dagster takes seconds to load

    settings = settings_in_force()
    open_lake(settings).close()
    launch.dagster_home(settings.home)
    out.print(f"ready: {settings.home}", soft_wrap=True)
    out.print("next: memory-pipeline import locomo FILE..., or memory-pipeline sample OUT.jsonl", soft_wrap=True)


def run_import(streams: dict[Path, Iterator[Event | DeadLetter]], *, as_json: bool) -> None:
    """Import what files hold, with a progress bar, and say what was taken."""
    reports = {}
    with open_lake(settings_in_force()) as lake, report.progress(err) as bar:
        for file, events in streams.items():
            reports[str(file)] = importing.import_events(lake.ledger, events, progress=report.counter(bar, file.name))
    if as_json:
        show_json({file: asdict(found) for file, found in reports.items()})
    else:
        report.imported(out, reports)


@importers.command("locomo")
def import_locomo(files: Files, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Import conversations in the public LoCoMo layout, one profile a conversation."""
    now = datetime.now(UTC)
    run_import({file: locomo.events(file, recorded_at=now, profile=profile) for file in files}, as_json=as_json)


@importers.command("beam")
def import_beam(files: Files, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Import long assistant chats in the BEAM layout, one profile a chat."""
    now = datetime.now(UTC)
    run_import({file: beam.events(file, recorded_at=now, profile=profile) for file in files}, as_json=as_json)


@importers.command("jsonl")
def import_jsonl(files: Files, as_json: JsonOption = False) -> None:
    """Import events in our own format, one JSON object a line (docs/event-format.md)."""
    now = datetime.now(UTC)
    run_import({file: jsonl.events(file, recorded_at=now) for file in files}, as_json=as_json)


@app.command()
def sample(
    path: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="File to write.")],
    profiles: Annotated[int, typer.Option(min=1, help="Number of profiles.")] = 2,
    memories: Annotated[int, typer.Option(min=1, help="Memories of each profile.")] = 1000,
    days: Annotated[int, typer.Option(min=1, help="Days they span.")] = 120,
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 0,
) -> None:
    """Write sample events, and beside them the truth about duplicates, changes and contradictions."""
    written = generator.write(path, profiles=profiles, memories=memories, days=days, seed=seed)
    out.print(f"{written} events in {path}; the truth about them in {path.with_name(path.stem + '.truth.jsonl')}", soft_wrap=True)


@app.command()
def remember(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    profile: Annotated[str, typer.Option("--profile", "-p", help="Profile (tenant).")] = "default",
    memory_type: Annotated[
        str | None, typer.Option("--type", help="Decision, Insight, Pattern, Preference, ...")
    ] = None,
    importance: Annotated[float | None, typer.Option(help="0..1; default: by rule.")] = None,
    session: Annotated[str | None, typer.Option(help="Session it belongs to.")] = None,
    protect: Annotated[bool, typer.Option("--protect", help="Never archive or delete it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Store one memory."""
    payload = {"content": text, "memory_type": memory_type, "importance": importance, "protected": protect or None}
    event = parse(
        {
            "event_type": EventType.STORED.value,
            "profile_id": profile,
            "session_id": session,
            "payload": {name: value for name, value in payload.items() if value is not None},
        },
        recorded_at=datetime.now(UTC),
        origin="memory-pipeline remember",
    )
    with open_lake(settings_in_force()) as lake:
        lake.ledger.append([event])
    if as_json:
        show_json({"memory_id": event.memory_id, "profile_id": profile, "event_id": event.event_id})
        return
    out.print(f"remembered as {event.memory_id}", soft_wrap=True)


@app.command()
def consolidate(
    profile: Annotated[
        list[str] | None, typer.Option("--profile", "-p", help="Profile; repeat for several; default: all.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Preset to use instead of each profile's own.")] = None,
    lightweight: Annotated[
        bool, typer.Option("--lightweight", help="Only what is fast: rescore, prune faded edges.")
    ] = False,
    task: Annotated[Task | None, typer.Option(help="Only this task.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and write nothing.")] = False,
    plan_out: Annotated[
        Path | None, typer.Option("--out", help="With --dry-run: file for the plan, for `apply`.")
    ] = None,
    as_of: InstantOption = None,
    max_archived_share: Annotated[float | None, typer.Option(min=0, max=1, help="Quota of this run only.")] = None,
    retry_reverted: Annotated[bool, typer.Option("--retry-reverted", help="Propose again what was undone.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Consolidate now, through Dagster; with --dry-run show what would be done."""
    if lightweight and task:
        fail("--lightweight and --task exclude each other; give one of them", code=2)
    if plan_out and not dry_run:
        fail("--out goes with --dry-run; a run that applies its plan keeps it in the ledger", code=2)
    if preset and preset not in preset_names():
        load(State.home, preset_name=preset)
    clock = instant(as_of)
    chosen = "lightweight" if lightweight else task.value if task else "full"
    run_job(
        chosen,
        {
            "as_of": clock.isoformat() if clock else "",
            "profiles": profile or [],
            "task": chosen,
            "trigger": "cli",
            "preset": preset or "",
            "dry": dry_run,
            "retry_reverted": retry_reverted,
            "max_archived_share": -1.0 if max_archived_share is None else max_archived_share,
        },
        plan_out=plan_out,
        as_json=as_json,
    )


@app.command("apply")
def apply_plan(
    plan: Annotated[Path, typer.Argument(metavar="plan.json", help="Plan that `consolidate --dry-run --out` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Apply exactly a plan; refused if the ledger or the policy moved since it was made."""
    if not plan.is_file():
        fail(f"{plan}: no such file; make one with: memory-pipeline consolidate --dry-run --out {plan}", code=2)
    run_job("apply", {"plan_file": str(plan.resolve()), "trigger": "cli"}, plan_out=None, as_json=as_json)


def run_job(job: str, config: dict[str, Any], *, plan_out: Path | None, as_json: bool) -> None:
    """Run a consolidation job and print its plan or its report."""
    from memory_pipeline.assets.resources import Run  # noqa: PLC0415 - Dagster takes seconds to load
    from memory_pipeline.service import launch  # noqa: PLC0415 - Dagster takes seconds to load

    settings = settings_in_force()
    existing_lake(settings).close()
    run = Run(**config)
    try:
        launched = launch.execute(settings, "preview" if run.dry else job, run)
    except launch.RunFailed as error:
        fail(str(error))
    if run.dry:
        document = report.plan_document(launched.tables)
        if plan_out:
            plan_out.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")
        if as_json:
            show_json(document)
        else:
            report.plan(out, launched.tables["consolidation_plan"], written=plan_out)
        return
    with existing_lake(settings) as lake:
        done = report.run_document(lake, launched.run_id)
        if as_json:
            show_json(done)
        else:
            report.run(out, lake, done)


@app.command("status")
def show_status(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Say what is remembered, what waits, what ran last and what is due next."""
    settings = settings_in_force()
    with existing_lake(settings) as lake:
        found = status.summary(lake, settings, now=datetime.now(UTC), profile_id=profile)
    if as_json:
        show_json(found)
    else:
        report.status(out, found)


@app.command()
def explain(
    memory_id: Annotated[str, typer.Argument(help="Id of the memory.")],
    profile: ProfileOption = None,
    as_of: InstantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say everything about a memory: scores factor by factor, edges, cluster, decisions and why, lineage."""
    with existing_lake(settings_in_force()) as lake:
        explanation = explain_memory(lake, memory_id, profile_id=profile, as_of=instant(as_of))
    if as_json:
        show_json(explanation.to_dict())
        return
    for line in explanation.lines():
        out.print(line, highlight=False, markup=False, soft_wrap=True)


@app.command()
def undo(
    target: Annotated[
        str, typer.Argument(metavar="RUN|PLAN|MEMORY", help="Run id, plan id, or memory id (of a summary: the merge).")
    ],
    profile: ProfileOption = None,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also take back what builds on it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Take back a run, a merge or the decision about one memory; the ledger keeps both."""
    settings = settings_in_force()
    with existing_lake(settings) as lake:
        undone = history.undo(lake, target, profile_id=profile, cascade=cascade, now=datetime.now(UTC))
        path = snapshot.publish(lake)
    if as_json:
        show_json({"undone": undone.to_dicts(), "snapshot": str(path)})
    else:
        report.undone(out, undone, path)


@snapshots.command("list")
def snapshot_list(as_json: JsonOption = False) -> None:
    """List the snapshots, newest first."""
    with existing_lake(settings_in_force()) as lake:
        found = snapshot.listing(lake.home)
    if as_json:
        show_json(found.to_dicts())
    else:
        report.frame(out, found, "Snapshots")


@snapshots.command("open")
def snapshot_open(as_of: InstantOption = None) -> None:
    """Print the path of a snapshot: the newest, or one of the state at a past instant, made when asked for."""
    with existing_lake(settings_in_force()) as lake:
        clock = instant(as_of)
        path = snapshot.publish(lake) if clock is None else history.snapshot_at(lake, clock)
    sys.stdout.write(f"{path}\n")


@snapshots.callback(invoke_without_command=True)
def snapshot_export(
    context: typer.Context,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write one self-contained file.")
    ] = None,
) -> None:
    """Export the newest snapshot with everything in it."""
    if context.invoked_subcommand or export is None:
        return
    with existing_lake(settings_in_force()) as lake:
        out.print(f"written: {snapshot.export(lake, export)}", soft_wrap=True)


@settings_commands.command("show")
def config_show(
    profile: ProfileOption = None,
    preset: Annotated[str | None, typer.Option(help="As if this preset were chosen.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting in force and where its value comes from."""
    settings = settings_in_force(preset)
    rows = settings.explained(profile)
    if as_json:
        show_json([row.model_dump(mode="json") for row in rows])
        return
    table = Table("setting", "value", "from", "meaning", title=f"Settings of {settings.home}")
    for row in rows:
        table.add_row(row.name, str(row.value), row.origin, row.description)
    out.print(table)


@app.command()
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Examine the installation and the data folder; non-zero if something needs care."""
    findings = report.examine(settings_in_force(), repair=repair)
    if as_json:
        show_json([finding.__dict__ for finding in findings])
    else:
        report.findings(out, findings)
    if any(not finding.well for finding in findings):
        raise typer.Exit(1)


@app.command("check")
def check_gate(
    run: Annotated[str | None, typer.Option(help="Run id; default: the last finished run of the job full.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Gate for CI: non-zero if an expected asset check of a run is missing or failed."""
    from memory_pipeline.service import gate  # noqa: PLC0415 - Dagster takes seconds to load

    try:
        rows = gate.evaluate(settings_in_force(), run)
    except ValueError as error:
        fail(str(error))
    if as_json:
        show_json(rows)
    else:
        report.checks(out, rows)
    if any(row["outcome"] != "passed" for row in rows):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; what goes wrong is one line, never a traceback."""
    try:
        app()
    except (SettingsError, ValueError, OSError, RuntimeError) as error:
        err.print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(1) from error
