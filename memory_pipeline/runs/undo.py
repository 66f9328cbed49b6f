"""Undoes runs, merges and single decisions, and publishes the tables without them.

The ledger keeps the decisions and the undo; nothing is computed backwards.
"""

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.edges.edge_rows import FACT_COMPARISON
from memory_pipeline.consolidation.plans import dependants
from memory_pipeline.consolidation.state import decision_json, projection
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.lake.tables import Lake, Revert
from memory_pipeline.ledger import erasure_guards, event, profile_events
from memory_pipeline.ledger.event import CLOCK_SKEW
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.runs import rebuild
from memory_pipeline.runs.commit import PUBLISHED
from memory_pipeline.schemas import TABLES, Action, EventType

NOT_AGAIN: Final = (
    "no later run proposes this again for the same texts; `memory-pipeline consolidate --retry-reverted` does"
)
"""What follows from an undo, as people and agents are told."""
ANEW: Final = "the next run decides anew"
"""What follows where the clock of the runs was wrong, not their decisions."""


def undo(
    lake: Lake, target: str, *, profile_id: str | None = None, cascade: bool = False, now: datetime
) -> pl.DataFrame:
    """Undo a run, a merge or the decisions about one memory, publish the tables without them, and return the decisions.

    If no run is left, every memory is published as agents stored it, with its scores at the instant of the last run.
    Undone decisions are not proposed again for the same members and texts, unless a run asks for it.

    Args:
        target: run id, plan id, or memory id; the id of a summary undoes the whole merge. Or the id of an answer about
            a pair of memories, which is withdrawn; then no decision is undone.
        profile_id: undo only what was decided about this profile, even of a run of several; needed for a memory id that
            two profiles use.
        cascade: also undo what builds on it.
        now: time of the request.

    Raises:
        ValueError: nothing in force has that id, it is ambiguous, or decisions build on it and `cascade` is off.
        Conflict: the profile was changed concurrently; nothing was written.
    """
    if _withdrawn(lake, target, profile_id, now):
        return TABLES["decisions"].empty()
    heads = lake.ledger.heads()  # read first, so that a concurrent commit makes this a conflict
    chosen, dependants, undone = concerned(lake, target, profile_id)
    if dependants.height and not cascade:
        first = dependants.row(0, named=True)
        raise ValueError(
            f"other decisions build on {target!r}: {dependants.height}; the first: {first['action']} "
            f"{first['memory_id']!r} of plan {first['plan_id']}; undo them too with cascade (command line: --cascade)"
        )
    chosen = pl.concat([chosen, dependants])
    mask_decisions(lake, chosen, undone, heads=heads, reason=f"undo of {target}", now=now, cascade=cascade)
    return chosen


def concerned(lake: Lake, target: str, profile_id: str | None) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the decisions that an undo takes back, those that build on them, and the runs that it names.

    The target is the id of a run, plan or memory, in one profile or all. Raises ValueError: nothing in force has that
    id, or it is ambiguous.
    """
    profiles = None if profile_id is None else [profile_id]
    decisions, runs = in_force(lake, profiles), lake.ledger.runs(profiles).sort("profile_id", "commit_seq")
    undone = runs.filter(pl.col("outcome") != "reverted", (pl.col("run_id") == target) | (pl.col("plan_id") == target))
    chosen = (
        decisions.join(undone, on=["profile_id", "plan_id"], how="semi")
        if undone.height
        else _about(decisions, target, profile_id)
    )
    return chosen, dependants.of(decisions, chosen), undone


def _withdrawn(lake: Lake, event_id: str, profile_id: str | None, now: datetime) -> bool:
    """Withdraw the answer of this id, if there is one, with the same authority; return whether there was."""
    with lake.ledger.reading() as transaction:
        rows = profile_events.answers_by_id(transaction, event_id, profile_id)
    if len(rows) > 1:
        raise ValueError(f"answer {event_id!r} exists in several profiles; name one of them with profile_id")
    for row in map(event.named, lake.ledger.with_payloads(rows)):
        given = json.loads(row["payload"])
        if "target_id" not in given:
            raise ValueError(f"answer {event_id!r} is about an erased memory; there is nothing to withdraw")
        fields = {name: row[name] for name in ("profile_id", "memory_id", "agent_id", "user_id", "session_id")}
        payload = {name: given.get(name) for name in ("target_id", "answered_by")} | {"relation": "open"}
        withdrawal = {**fields, "event_type": EventType.RESOLVED.value, "payload": payload}
        lake.ledger.append([event.parse(withdrawal, recorded_at=now, origin="undo")])
    return bool(rows)


def undo_ahead(lake: Lake, *, now: datetime) -> tuple[pl.DataFrame, int]:
    """Undo all that a clock ahead of `now` did; return the undone decisions, and how many events are dated back.

    What it recorded is dated back (`Lake.set_back`), its runs are undone, and the tables of every profile concerned are
    published with both: a run whose clock was right has left out what lay in the future. After a crash in between, a
    second call does the rest.

    Cost: that of an undo for each run and profile. Raises Conflict: a profile was changed concurrently; what was undone
    so far stays undone.
    """
    dated = lake.set_back(now)
    unshown = lake.unshown()
    runs = rebuild.runs_in_force(lake).filter(pl.col("as_of") > now + CLOCK_SKEW).sort("commit_seq", descending=True)
    undone = [
        undo(lake, plan_id, profile_id=profile_id, cascade=True, now=now)
        for profile_id, plan_id in runs.select("profile_id", "plan_id").iter_rows()
    ]
    others = sorted({*unshown} - {*runs["profile_id"]})
    heads = lake.ledger.heads(others)
    for profile_id in rebuild.shown_runs(lake, others)["profile_id"]:
        noted = Revert(
            profile_id=profile_id, decision_ids=(), reason="a clock was ahead", occurred_at=now, recorded_at=now
        )
        profiles = pl.DataFrame({"profile_id": [profile_id], "head": [heads[profile_id]]})
        lake.republish(profiles, rebuild.rebuild(lake, profile_id), revert=[noted])
    if unshown:
        lake.note_shown(unshown)
    return pl.concat([TABLES["decisions"].empty(), *undone]), dated.total()


def in_force(lake: Lake, profiles: Collection[str] | None = None) -> pl.DataFrame:
    """Return the decisions of all or some profiles that were not undone (table `decisions`)."""
    return projection.unmasked(lake.ledger.decisions(profiles=profiles), lake.ledger.reverted())


def mask_decisions(
    lake: Lake,
    decisions: pl.DataFrame,
    runs: pl.DataFrame | None = None,
    *,
    heads: Mapping[str, int],
    reason: str,
    now: datetime,
    cascade: bool = False,
) -> None:
    """Mask decisions, and publish the tables without them, in one transaction.

    Args:
        decisions: rows of the table `decisions`: every one, those that build on others included.
        runs: rows of `consolidation_runs` that are undone as a whole.
        heads: position of the head of each profile, read before the decisions were chosen.
        cascade: whether dependent decisions are included because that was requested.

    Raises:
        Conflict: a head has moved since; nothing was changed.
    """
    owners = sorted(set(decisions["profile_id"]) | set(() if runs is None else runs["profile_id"]))
    erasure_guards.refuse(lake.ledger, owners)
    runs_in_force = rebuild.runs_in_force(lake)
    undone = runs_in_force.clear() if runs is None else runs
    position = pl.lit(lake.ledger.position() + 1, pl.Int64)
    masked = pl.concat([lake.ledger.reverted(), decisions.select("profile_id", "decision_id", seq=position)])
    left = runs_in_force.join(undone, on=["profile_id", "plan_id"], how="anti")
    last = left.filter(pl.col("profile_id").is_in(owners)).unique("profile_id", keep="last")
    without_run = undone.unique("profile_id", keep="last").join(last, on="profile_id", how="anti")
    as_left = rebuild.as_committed(lake, last, reverted=masked, earlier=left)
    as_stored = rebuild.as_stored(lake, without_run, reverted=masked)
    lake.republish(
        pl.DataFrame({"profile_id": owners, "head": [heads[owner] for owner in owners]}),
        {name: pl.concat([as_left[name], as_stored[name]]) for name in PUBLISHED},
        revert=[
            Revert(
                profile_id=owner,
                decision_ids=decisions.filter(pl.col("profile_id") == owner)["decision_id"].to_list(),
                reason=reason,
                occurred_at=now,
                recorded_at=now,
                plan_id=next(iter(undone.filter(pl.col("profile_id") == owner)["plan_id"]), None),
                cascade=cascade,
            )
            for owner in owners
        ],
    )


def _about(decisions: pl.DataFrame, memory_id: str, profile_id: str | None) -> pl.DataFrame:
    """Select the decisions about a memory: the whole merge for a summary, else those of the newest plan.

    Only links about facts count, at either end; the others arise by themselves.
    """
    own = decisions if profile_id is None else decisions.filter(pl.col("profile_id") == profile_id)
    one_end = (pl.col("memory_id") == memory_id) | (pl.col("target_id") == memory_id)
    link = does(Action.LINK)
    about_facts = decision_json.link_algorithm().eq_missing(pl.lit(FACT_COMPARISON))
    merge = own.filter((pl.col("memory_id") == memory_id) & does(Action.SUMMARISE))
    found = (
        own.filter(one_end).join(merge, on=["profile_id", "plan_id"], how="semi")
        if merge.height
        else own.filter(((pl.col("memory_id") == memory_id) & ~link) | (one_end & about_facts))
    )
    if found.is_empty():
        raise ValueError(
            f"no run, plan or decision in force is about {shown(memory_id)}; `status` and `explain` list them"
        )
    if len(names := found["profile_id"].unique().sort().to_list()) > 1:
        raise ValueError(f"memory {memory_id!r} is in profiles {', '.join(names)}; name one with --profile")
    return found.filter(pl.col("seq") == pl.col("seq").max())
