"""The commands of `memory-pipeline`: each reads its options, calls the lake or Dagster, and prints.

Whatever is slow to load (settings, Polars, Dagster, rich) is imported by the functions that need it, in this module and
in `*_commands`, so that `--version`, `--help` and what needs no store answer at once. Not here: shared options
(`shell`), printing (`report`, `report_*`), starting a job (`launch`), and error handling (`cli`).
"""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from memory_pipeline.service import (
    config_commands,
    dead_letter_commands,
    dream_commands,
    erase_commands,
    evaluation_commands,
    export_commands,
    import_commands,
    memory_commands,
    recall_commands,
    report,
    server_commands,
    shell,
    snapshot_commands,
)
from memory_pipeline.service.choices import Task
from memory_pipeline.service.process import print_version

app = typer.Typer(
    name="memory-pipeline",
    cls=shell.Commands,
    help="Consolidate the long-term memory of AI agents: score, link, cluster, summarise and forget.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.add_typer(memory_commands.app)
app.add_typer(recall_commands.app)
app.add_typer(erase_commands.app)
app.add_typer(export_commands.app, name="export")
app.add_typer(dream_commands.app)
app.add_typer(import_commands.app, name="import")
app.add_typer(dead_letter_commands.app, name="dead-letters")
app.add_typer(snapshot_commands.app, name="snapshot")
app.add_typer(config_commands.app, name="config")
app.add_typer(evaluation_commands.app)
app.add_typer(server_commands.app)
app.add_typer(server_commands.mcp_app, name="mcp")
app.add_typer(server_commands.tokens, name="token")


def _print_version(asked: bool) -> None:
    if asked:
        print_version()
        raise typer.Exit


@app.callback()
def common(
    home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Data folder; before or after the command. Default: MEMORY_PIPELINE_HOME, else ./data.",
            show_default=False,
        ),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Set the data folder."""
    shell.State.home = home


@app.command()
def init() -> None:
    """Create a data folder. With the history, the tables, Dagster's storage, and the settings of a new store."""
    from memory_pipeline.lake.tables import Lake
    from memory_pipeline.service import launch

    home = shell.settings_in_force(writing=True).home
    Lake(home).close()
    launch.dagster_home(home)
    shell.out().print(f"ready: {home}", soft_wrap=True)
    shell.out().print("next: memory-pipeline import detect PATH, or memory-pipeline remember TEXT", soft_wrap=True)


def _scope(scope: str) -> str:
    from memory_pipeline.consolidation.scope import part

    try:
        part(scope)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return scope


@app.command()
@shell.shown
def consolidate(
    profile: Annotated[
        list[str] | None,
        typer.Option("--profile", "-p", metavar="NAME", help="Only this profile; repeatable; default: all."),
    ] = None,
    shard: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", help="Only profiles of this shard, from 0 (setting `shards`); repeatable; default: all."
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this preset instead of each profile's own.")
    ] = None,
    lightweight: Annotated[
        bool, typer.Option("--lightweight", help="Only refresh core memory and prune faded edges; fast.")
    ] = False,
    task: Annotated[Task | None, typer.Option(help="Run only this task.")] = None,
    scope: Annotated[
        str,
        typer.Option(
            metavar="SCOPE",
            help="What to decide about: all; recent (sessions touched since the last reflection); or user:NAME, "
            "agent:NAME, session:NAME or tag:NAME.",
            callback=_scope,
        ),
    ] = "all",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; write nothing.")] = False,
    plan_out: Annotated[
        Path | None,
        typer.Option("--out", metavar="plan.json", help="With --dry-run: write the plan to this file, for `apply`."),
    ] = None,
    as_of: shell.InstantOption = None,
    max_archived_share: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="0..1", help="Quota of this run instead of the policy's: largest share to archive."
        ),
    ] = None,
    retry_reverted: Annotated[bool, typer.Option("--retry-reverted", help="Propose undone decisions again.")] = False,
) -> shell.Done:
    """Consolidate now, as a Dagster run. With --dry-run, only show the plan.

    Without --task, all tasks run; under the preset automem these are decay, creative, cluster and forget, in order.
    """
    if lightweight and task:
        raise shell.Misused("--lightweight and --task cannot be combined; give one of them")
    if plan_out and not dry_run:
        raise shell.Misused("--out needs --dry-run; a run that applies its plan keeps it in the ledger")
    shell.new_file(plan_out, "--out")
    clock = shell.instant(as_of)
    chosen = "lightweight" if lightweight else task.value if task else "full"
    asked: dict[str, Any] = {
        "profiles": profile or [],
        "shards": shard or [],
        "task": chosen,
        "scope": scope,
        "retry_reverted": retry_reverted,
        "trigger": "cli",
    }
    if dry_run:
        return plan(preset, asked | {"as_of": clock, "max_archived_share": max_archived_share}, plan_out)
    share = -1.0 if max_archived_share is None else max_archived_share
    asked |= {"as_of": clock.isoformat() if clock else "", "preset": preset or "", "max_archived_share": share}
    return run_job(chosen, asked)


def plan(preset: str | None, asked: dict[str, Any], plan_out: Path | None) -> shell.Done:
    """Plan a run, and write the plan to a file if one is named; nothing else is written."""
    from memory_pipeline.service import actions, report_runs

    settings = shell.settings_in_force(preset)
    shell.existing_lake(settings).close()
    with report.spinner(shell.err(), "preview"):
        tables = actions.dry_run(settings, **asked)
    document = report_runs.plan_document(tables)
    if plan_out:
        plan_out.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")
    changes, profiles = tables["changes"], tables["profiles"]
    tell = partial(report_runs.plan, changes=changes, profiles=profiles, home=settings.home, written=plan_out)
    return shell.Done(document, tell)


@app.command("apply")
@shell.shown
def apply_plan(
    plan: Annotated[Path, typer.Argument(metavar="plan.json", help="Plan written by `consolidate --dry-run --out`.")],
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Leave out the row of the plan that shows this id, and what builds on it; no later run proposes it "
            "again for the same texts; repeatable.",
        ),
    ] = None,
) -> shell.Done:
    """Apply a plan exactly as written. Refused if the profile or its policy has changed; new memories wait."""
    from memory_pipeline.service import report_runs

    profiles = report_runs.planned_profiles(plan, without or [])
    presets = profiles["preset"].unique().to_list()
    # A plan of several presets was made with each profile's own; one of a single preset is the same either way.
    preset = presets[0] if len(presets) == 1 else ""
    config = {"plan_file": str(plan.resolve()), "without": without or [], "preset": preset, "trigger": "cli"}
    left_out = report.many(len(without or ()), "row")
    more = [f"left out: {left_out}; --retry-reverted proposes them again"] if without else []
    return run_job("apply", config, *more)


@app.command()
@shell.shown
def tick(profile: shell.ProfileOption = None) -> shell.Done:
    """Merge duplicates and move fading memories. Fast: one profile, without Dagster, for use every few exchanges."""
    with shell.client_of(shell.existing_profile(profile)) as client:
        done = client.tick()
    counts = [f"{count} {action}" for action, count in done.actions.items()]
    lines = [f"decisions: {' · '.join(counts) or 'none'}"]
    if done.held:
        lines.append(f"held back by the quota: {report.many(done.held, 'decision')}")
    if done.actions:
        lines.append(f"undo the run: {report.command(shell.settings_in_force().home, 'undo', str(done.run_id))}")
    return shell.Done(done.to_dict(), lines)


def run_job(job: str, config: dict[str, Any], *more: str) -> shell.Done:
    """Run a consolidation job; `more` is told after what it did."""
    from memory_pipeline.service import report_runs

    settings = shell.settings_in_force(config["preset"] or None)
    shell.existing_lake(settings).close()

    from memory_pipeline.assets.resources import Run
    from memory_pipeline.service import launch

    with report.spinner(shell.err(), job):
        try:
            run_id = launch.execute(settings, job, Run(**config))
        except launch.RunFailed as error:
            if "InterruptedError" in str(error):  # Dagster turns Ctrl-C into a failure
                raise KeyboardInterrupt from error
            raise
    with shell.existing_lake(settings) as lake:
        done = report_runs.run_document(lake, run_id)
        changes = report_runs.changes_of(lake, done, settings.zone)

    def tell(console: "shell.Console") -> None:
        with shell.existing_lake(settings) as lake:
            report_runs.run(console, lake, done, changes, settings.zone)
        for text in more:
            report.line(console, text)

    return shell.Done(done | {"changes": changes.to_dicts()}, tell)


@app.command("embedder")
@shell.shown
def move_to_embedder(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="hashing, reader, local, local:MODEL or local:FOLDER.", show_default=False),
    ],
) -> shell.Done:
    """Move the store to another embedder. Embeds every text once; makes no decisions.

    Vectors are kept per embedder, so moving back embeds nothing and restores the previous tables.
    """
    from memory_pipeline.service import config_file
    from memory_pipeline.text.embed import embedding

    home = shell.home_folder(writing=True)
    shell.existing_lake().close()
    embedding.embedder(name).embed(["a model that cannot be loaded is refused before anything is written"])
    change = config_file.put(home, "embedder", name)
    if change.now.value != name:
        raise ValueError(f"embedder = {name!r} has no effect: {change.now.origin} overrides {change.place}")
    return run_job("reembed", {"task": "reembed", "trigger": "cli", "preset": ""})


@app.command("status")
@shell.shown
def show_status(profile: shell.ProfileFilter = None) -> shell.Done:
    """Show what is stored and what is due. Also waiting events, recent runs and disk use."""
    from memory_pipeline.runs import status
    from memory_pipeline.service import report_store

    settings = shell.settings_in_force()
    with shell.existing_lake(settings) as lake:
        summary = status.summary(lake, settings, now=datetime.now(UTC), profile_id=profile)
    return shell.Done(summary, partial(report_store.status, summary=summary, zone=settings.zone))


@app.command("profiles")
@shell.shown
def show_profiles() -> shell.Done:
    """List the profiles. Shows memories, preset and last run of each."""
    from memory_pipeline.service import report_store

    settings = shell.settings_in_force()
    with shell.existing_lake(settings) as lake:
        rows = report_store.profiles_document(lake, settings, now=datetime.now(UTC))
    return shell.Done(rows, partial(report_store.profiles, rows=rows, zone=settings.zone))


@app.command()
@shell.shown
def undo(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|PLAN|MEMORY]",
            help="Run id, plan id or memory id (of a summary: its merge).",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[str | None, shell.profile_option("Only in this profile; default: wherever it applies.")] = None,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also undo decisions that build on it.")] = False,
    ahead: Annotated[
        bool,
        typer.Option(
            "--ahead",
            help="Instead, undo every run of a clock that was ahead, and date its memories to when they were stored.",
        ),
    ] = False,
) -> shell.Done:
    """Undo a run, a merge or one decision. The history keeps both."""
    from memory_pipeline.service import report_runs

    if ahead == (target is not None) or (ahead and profile is not None):
        raise shell.Misused("give a RUN, PLAN or MEMORY, or --ahead by itself")
    from memory_pipeline.consolidation.plans import telling
    from memory_pipeline.lake import snapshot
    from memory_pipeline.runs import rebuild
    from memory_pipeline.runs import undo as runs_undo

    with shell.existing_lake() as lake:
        now = datetime.now(UTC)
        undone, dated = (
            runs_undo.undo_ahead(lake, now=now)
            if target is None
            else (runs_undo.undo(lake, target, profile_id=profile, cascade=cascade, now=now), 0)
        )
        changes = telling.tell(undone, lake.read("memories", profiles=[*undone["profile_id"].unique()]))
        path = snapshot.publish_after(lake, "the undo is committed")
        note = rebuild.note(lake)
    again = runs_undo.ANEW if ahead else runs_undo.NOT_AGAIN
    document = {"undone": undone.to_dicts(), "again": again if undone.height else None, "snapshot": str(path)}
    moved = {"dated_back": dated} if ahead else {}

    def tell(console: "shell.Console") -> None:
        report_runs.undone(console, changes, path, again=again, note=note)
        if ahead:
            report.line(console, f"dated back: {dated:,} events of a clock ahead, each before what was stored next")

    return shell.Done(document | {"note": note} | moved, tell)


@app.command()
@shell.shown
def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder for the backup; it must be missing or empty.")],
) -> shell.Done:
    """Back up history, tables and settings. The store can be read and written meanwhile."""
    from memory_pipeline.erasure.erase import resume_erasure
    from memory_pipeline.lake import backup as backups

    with shell.existing_lake() as lake:
        resume_erasure(lake)  # the files of an interrupted one may still hold its texts
        made = backups.back_up(lake, folder, now=datetime.now(UTC))
    said = f"backed up to {folder}: ledger position {made.position}, {report.many(len(made.files), 'file')}"
    warning = "what you erase later stays in this backup: delete the backup then, and make another"
    return shell.Done(asdict(made), partial(report.noted, text=said, note=warning))


@app.command("restore-backup")
@shell.shown
def restore_backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the backup.")],
) -> shell.Done:
    """Restore a backup. The data folder must not have a store yet."""
    from memory_pipeline.lake import backup as backups

    home = shell.settings_in_force().home
    made = backups.restore(folder, home)
    said = f"restored to {home}: ledger position {made.position}, as of {made.made_at}"
    warning = "the backup lacks later erasures: repeat them"
    return shell.Done(asdict(made), partial(report.noted, text=said, note=warning))


@app.command()
@shell.shown
def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild whatever can be rebuilt.")] = False,
) -> shell.Done:
    """Check the installation and the data folder. Exits with 1 if something needs attention."""
    from rich.text import Text

    from memory_pipeline.service import doctor as diagnosis
    from memory_pipeline.text.display import escaped

    findings = diagnosis.examine(shell.settings_in_force(), repair=repair)

    def tell(console: "shell.Console") -> None:
        for finding in findings:
            mark = Text("ok     " if finding.well else "problem", style="green" if finding.well else "red")
            console.print(Text.assemble(mark, escaped(f" {finding.subject}: {finding.detail}")), soft_wrap=True)

    return shell.Done([asdict(finding) for finding in findings], tell, well=all(finding.well for finding in findings))


@app.command("check")
@shell.shown
def check_gate(
    run: Annotated[str | None, typer.Option(metavar="RUN", help="Run id; default: the last finished full run.")] = None,
    key_prefix: Annotated[
        str,
        typer.Option(
            metavar="PREFIX",
            help="Key prefix of the pipeline in a project of your own; parts are separated by slashes.",
        ),
    ] = "",
) -> shell.Done:
    """Check that a run passed its asset checks. For CI: exits with 1 if one failed or is missing.

    Looks for the run in the Dagster instance that DAGSTER_HOME names, and in that of the data folder.
    """
    settings = shell.settings_in_force()
    shell.existing_lake(settings).close()
    from memory_pipeline.service import asset_check_gate

    rows = asset_check_gate.evaluate(settings, run, key_prefix=key_prefix)
    problems = [row for row in rows if row["outcome"] != "passed"]
    failures = [f"{row['outcome']}: {row['check']} of {row['asset']}: {row['detail']}" for row in problems]
    passed = f"{len(rows) - len(problems)} of {len(rows)} expected checks passed"
    return shell.Done(rows, [*failures, passed], well=not problems)
