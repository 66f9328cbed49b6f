"""Prints plans and runs, and builds their JSON documents."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from memory_pipeline.consolidation import atomic_facts, trimming
from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.consolidation.plans import leaving_out, planning, quota, telling
from memory_pipeline.consolidation.plans import plan_document as documents
from memory_pipeline.consolidation.scoring import YIELDS
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.lake.policies import committed_policy
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import undo
from memory_pipeline.schemas import LIVE, TABLES, Action
from memory_pipeline.service import report_plan
from memory_pipeline.service.report import command, line, many, moment, prose, table


def plan_document(tables: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
    """Return the portable form of a plan."""
    names = ("consolidation_plan", "profiles", "completions", "changes")
    return documents.write(*(tables[name] for name in names))


def planned_profiles(file: Path, without: Collection[str]) -> pl.DataFrame:
    """Return the profiles of a plan file; a ValueError, if it is none, was edited, or lacks rows to leave out."""
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        remedy = f"create one with: memory-pipeline consolidate --dry-run --out {file}"
        raise ValueError(f"{file}: cannot be read ({error.strerror}); {remedy}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: is not JSON ({error}); write the plan again with --dry-run --out") from error
    try:
        plan, profiles = documents.read(document if isinstance(document, dict) else {})
        leaving_out.left_out(plan, without)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    return profiles


def plan(console: Console, changes: pl.DataFrame, *, profiles: pl.DataFrame, home: Path, written: Path | None) -> None:
    """Print a plan by what it does to memories."""
    scoped(console, profiles.to_dicts())
    if changes.is_empty():
        line(console, "The plan is empty; there is nothing to change.")
    report_plan.told(console, changes)
    line(console)
    line(console, "Nothing was written.")
    if written:
        line(console, f"Plan written to {written}; apply it with: {command(home, 'apply', str(written))}")
        if changes.height:
            example = command(home, "apply", str(written), "--without", changes["row_id"][0][: report_plan.DIGITS])
            line(console, f"Leave a row out by its id: {example}")


def scoped(console: Console, profiles: Iterable[Mapping[str, Any]]) -> None:
    """Print the scope of each profile of which a run covered only a part."""
    named = [(row["scope"], row["profile_id"]) for row in profiles if ":" in row["scope"]]
    for scope, profile_id in named:
        prose(
            console,
            f"scope: {scope} of {profile_id}; every other memory, core memory and the token budget stay as they are",
        )


def run_document(lake: Lake, run_id: str) -> dict[str, Any]:
    """Return what a run did: one entry per profile, with its decisions counted by action and as people say it."""
    runs = lake.ledger.runs().filter(pl.col("run_id") == run_id).sort("profile_id")
    decisions = _decisions_of(lake, runs)
    told = telling.tell(decisions, _memories_of(lake, runs))
    counts = decisions.group_by("profile_id", "action").len("count").sort("profile_id", "action")
    return {
        "run_id": run_id,
        "profiles": [
            row
            | {
                "actions": dict(counts.filter(profile_id=row["profile_id"]).select("action", "count").iter_rows()),
                "told": telling.summary(told.filter(profile_id=row["profile_id"])),
            }
            for row in runs.to_dicts()
        ],
        "snapshot": str(lake.home / "snapshots" / "memories.duckdb"),
    }


def _memories_of(lake: Lake, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the memories of the profiles of a run, as it left them."""
    seq = max(runs["commit_seq"].to_list(), default=None)
    return lake.read("memories", seq=seq, profiles=runs["profile_id"].to_list())


def _decisions_of(lake: Lake, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions of runs that are in force."""
    return undo.in_force(lake, runs["profile_id"].to_list()).join(runs, on=["profile_id", "plan_id"], how="semi")


def changes_of(lake: Lake, done: Mapping[str, Any], zone: tzinfo) -> pl.DataFrame:
    """Return what a run changed as people read it (`telling.TOLD`), from its document, with days of a time zone."""
    runs = lake.ledger.runs().filter(pl.col("run_id") == done["run_id"])
    return telling.tell(_decisions_of(lake, runs), _memories_of(lake, runs), zone)


def run(console: Console, lake: Lake, done: Mapping[str, Any], changes: pl.DataFrame, zone: tzinfo) -> None:
    """Print what a run changed (`telling.TOLD`), what it could not do, and how it is undone."""
    if not done["profiles"]:
        line(console, "Nothing to do: no profile had a memory at that instant.")
        return
    profiles = [row["profile_id"] for row in done["profiles"]]
    seq = max(row["commit_seq"] for row in done["profiles"])
    names = ("memories", "merge_refusals", "scored_memories")
    tables = {name: lake.read(name, seq=seq, profiles=profiles) for name in names}
    plans = pl.DataFrame(done["profiles"]).select("profile_id", "plan_id")
    decided = lake.ledger.decisions(seq=seq, profiles=profiles).join(plans, on=["profile_id", "plan_id"], how="semi")
    _totals(console, done, tables, zone)
    report_plan.told(console, changes)
    line(console)
    _budgets(console, lake, done, decided, tables["memories"])
    _fallbacks(console, decided)
    _unsplit(console, lake, done, tables["memories"])
    _unjudged(console, lake.read("verdicts", seq=seq, profiles=profiles))
    _refusals(console, tables["merge_refusals"])
    held = [row["profile_id"] for row in done["profiles"] if row["outcome"] == "held"]
    if held:
        line(console)
        prose(
            console,
            f"held back: {', '.join(held)}: the plan would archive more memories than the quota allows; review it with "
            "--dry-run, or raise the quota for one run with --max-archived-share",
        )
    line(console)
    line(console, f"all of it for SQL: {done['snapshot']}")
    if changes.height:
        one = changes.filter(pl.col("group").is_in(["merged", "changed"]))
        if one.height:
            row = one.row(0, named=True)
            target = row["memory_ids"][-1 if row["group"] == "merged" else 0]
            line(console, f"undo one of these: {command(lake.home, 'undo', target, '--profile', row['profile_id'])}")
        line(console, f"undo the run: {command(lake.home, 'undo', done['run_id'])}")


def _totals(console: Console, done: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], zone: tzinfo) -> None:
    first = done["profiles"][0]
    line(
        console,
        f"Consolidated {many(len(done['profiles']), 'profile')} as of {moment(first['as_of'], zone)} "
        f"in {first['duration_seconds']:.1f} s",
    )
    scoped(console, done["profiles"])
    rows = []
    for row in done["profiles"]:
        frames = {name: frame.filter(profile_id=row["profile_id"]) for name, frame in tables.items()}
        live = frames["memories"].filter(pl.col("lifecycle").is_in(LIVE))
        original = frames["memories"].filter(kind="original")
        rows.append(
            (
                row["profile_id"],
                original.height,
                live.height,
                original.filter(superseded_kind="summary").height,
                live.filter(pl.col("kind") != "original").height,
                int(frames["scored_memories"]["is_protected"].sum()),
            )
        )
    headers = ("profile", "memories", "in use", "merged", "summaries", "protected")
    table(console, headers, rows)
    protected = tables["scored_memories"].filter("is_protected")["protection_reason"]
    yielding = int(protected.str.ends_with(YIELDS).sum())
    reasons = _counts(protected.str.strip_suffix(YIELDS).str.replace("^protected type: ", "stored as a "))
    trimmed = f"; {yielding} of them yield to a token budget" if yielding else ""
    prose(console, f"protected from forgetting: {reasons}{trimmed}")


def _budgets(
    console: Console, lake: Lake, done: Mapping[str, Any], decided: pl.DataFrame, memories: pl.DataFrame
) -> None:
    """Print how much of its token budget each profile uses, and why it may exceed it."""
    for row in done["profiles"]:
        budget = committed_policy(lake.ledger, row["commit_seq"]).token_budget
        trims = Action.TRIM in TASKS[row["task"]] and row["scope"] == "all" and row["outcome"] != "held"
        if budget is None or not trims:
            continue
        profile_memories = memories.filter(profile_id=row["profile_id"])
        used = trimming.used(profile_memories, budget).row(0, named=True)
        cause = _excess(lake, row, decided, profile_memories) if used["shown"] > used["budget"] else ""
        shown, target = f"{used['shown']} tokens", f"{used['budget']} tokens"
        if budget <= 1 and used["stored"]:
            shown, target = f"{100 * used['shown'] / used['stored']:.3g} %", f"{100 * budget:.3g} %"
        prose(console, f"token budget of {row['profile_id']}: {target}, in use {shown}{cause}")


def _excess(lake: Lake, run: Mapping[str, Any], decided: pl.DataFrame, memories: pl.DataFrame) -> str:
    """Return why a run left more than the token budget allows."""
    decisions = decided.filter(profile_id=run["profile_id"])
    moved = decisions.filter(pl.col("action").is_in(planning.LEAVING))["memory_id"]
    before = pl.when(pl.col("memory_id").is_in(moved.implode())).then(pl.lit(LIVE[0])).otherwise("lifecycle")
    profiles = lake.read("profiles", seq=run["commit_seq"], profiles=[run["profile_id"]])
    nothing = TABLES["decided_edges"].empty()
    spare = quota.spare(decisions, profiles, State(memories.with_columns(lifecycle=before), nothing))
    if spare["spare"].sum():
        return "; the excess is protected or was restored by hand"
    share = profiles["max_archived_share"][0]
    return (
        f"; the quota of {100 * share:.3g} % per run (at least {quota.FLOOR}) leaves the excess to later "
        "runs; --max-archived-share 1 lifts it"
    )


def _fallbacks(console: Console, decided: pl.DataFrame) -> None:
    """Print how many summaries fell back to rules because the language model gave no usable text, and why."""
    worded = decided.filter(action=Action.SUMMARISE.value).select(decision_json.read("factors", decision_json.WORDED))
    kinds = _kinds(worded["fallback"].drop_nulls())
    if kinds.len():
        prose(
            console, f"worded by rules instead of the language model: {many(kinds.len(), 'summary')}: {_counts(kinds)}"
        )


def _unsplit(console: Console, lake: Lake, done: Mapping[str, Any], memories: pl.DataFrame) -> None:
    """Print how many entries stay whole because the language model gave no usable facts, and why."""
    refused = []
    for row in done["profiles"]:
        policy = committed_policy(lake.ledger, row["commit_seq"])
        entries = atomic_facts.entries(memories.filter(profile_id=row["profile_id"]), policy)
        if entries.height:
            known = lake.read("completions", seq=row["commit_seq"], profiles=[row["profile_id"]])
            refused.append(atomic_facts.split(entries, known, policy)["refused"].drop_nulls())
    reasons = pl.concat(refused) if refused else pl.Series([], dtype=pl.String)
    if reasons.len():
        kinds = _kinds(reasons)
        prose(console, f"entries left whole: {many(kinds.len(), 'answer')} of the language model: {_counts(kinds)}")


def _unjudged(console: Console, verdicts: pl.DataFrame) -> None:
    """Print how many pairs only rules have judged because the language model gave no usable verdict, and why."""
    failed = verdicts.filter(pl.col("content").is_null()).select("outcome", pair=pl.col("subject").str.split(" "))
    reasons = pl.concat([verdicts["refused"].explode().drop_nulls(), failed.explode("pair")["outcome"]])
    if reasons.len():
        kinds = _kinds(reasons)
        prose(console, f"judged by rules alone so far: {many(kinds.len(), 'pair')}: {_counts(kinds)}")


def _kinds(reasons: pl.Series) -> pl.Series:
    """Return reasons without the facts that they quote."""
    readable = reasons.str.replace("_", " ", literal=True)
    named = {"invented": "with an invented fact", "lacks": "without a fact", "unsupported:": "with an unsupported fact"}
    for start, kind in named.items():
        readable = readable.str.replace(f"^{start} .*", kind)
    return readable


def _refusals(console: Console, refused: pl.DataFrame) -> None:
    """Print how many near duplicates were kept apart, and what they differ in; `explain` says it of a memory."""
    if not refused.is_empty():
        apart = _counts(refused["reason"].replace("conflict", "what they claim"))
        prose(console, f"kept apart: {many(refused.height, 'pair')} of near duplicates, which differ in {apart}")


def undone(console: Console, changes: pl.DataFrame, path: Path, *, again: str, note: str | None) -> None:
    """Print what was undone, as told (`telling.TOLD`), and what follows (`again`)."""
    if changes.is_empty():
        line(console, "Taken back. Nothing that a run had decided was undone by it.")
    for (profile,), own in changes.group_by("profile_id", maintain_order=True):
        line(console, f"undone in {profile}: {'; '.join(telling.summary(own))}")
    if not changes.is_empty():
        prose(console, again)
    if note:
        prose(console, note)
    line(console, f"all of it for SQL: {path}")


def _counts(values: pl.Series) -> str:
    """Return the count of each value, most frequent first."""
    frequencies = values.drop_nulls().value_counts().sort(["count", values.name], descending=[True, False])
    return ", ".join(f"{value} ({count})" for value, count in frequencies.iter_rows()) or "none"
