"""Who takes part in a run, from which state of the ledger, and what the ledger knows at that state.

What is not here: what is done with it (`consolidation.pipeline`), and how it is committed (`history`).
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.consolidation import pipeline, triggers
from memory_pipeline.consolidation.plans import plan_document, planning
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.runs import status
from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.settings import Policy, Settings

AUTOMATIC: Final = frozenset({"schedule", "sensor"})
"""Triggers whose instant may lie before a profile's last commit: such a tick has nothing left to do for it."""


def chosen(
    lake: Lake,
    settings: Settings,
    *,
    as_of: datetime,
    seq: int = 0,
    profiles: Collection[str] = (),
    task: str = "full",
    scope: str = "all",
    trigger: str = "manual",
    max_archived_share: float | None = None,
    retry_reverted: bool = False,
) -> pl.DataFrame:
    """Return the table `profiles` of a run: every profile with a memory, or those that are named.

    Args:
        lake: the store.
        settings: policy of each profile.
        as_of: the one clock of the run.
        seq: ledger position to read up to; 0: the head.
        profiles: who takes part; none: all.
        task: what may be decided.
        scope: all, or recent: only what concerns sessions touched since the last reflection.
        trigger: what started the run.
        max_archived_share: quota instead of the policy's.
        retry_reverted: propose again what was undone.

    Raises:
        ValueError: task or scope is unknown, or a named profile has no memory.
    """
    if task not in tuple(TASKS):  # a tuple compares what cannot be hashed, too
        raise ValueError(f"task {shown(task)} is unknown; known are {', '.join(TASKS)}")
    if scope not in ("all", "recent"):
        raise ValueError(f"scope {shown(scope)} is unknown; known are all, recent")
    ledger = lake.ledger
    stored = dict(ledger.profiles().filter(pl.col("memories") > 0).select("profile_id", "memories").iter_rows())
    known = sorted(stored)
    if unknown := sorted(set(profiles) - set(known)):
        raise ValueError(f"profile {unknown[0]!r} has no memory; known are {', '.join(known) or 'none'}")
    past = status.progress(lake)
    own = sorted(set(profiles) or set(known))
    if trigger in AUTOMATIC:
        later = set(past.filter(pl.col("last_as_of") > as_of)["profile_id"])
        own = [profile_id for profile_id in own if profile_id not in later]
    position = seq or ledger.position()
    runs = ledger.runs().filter(pl.col("as_of") < as_of)  # so that a second run at an instant is limited as the first
    limits = _row_limits(settings, runs, {profile_id: stored[profile_id] for profile_id in own})
    return pipeline.participants(
        {profile_id: settings.policy_of(profile_id) for profile_id in own},
        ledger_digest=ledger.digest(position),
        as_of=as_of,
        seq=position,
        # A head beyond the state that is read is no base of a plan: the commit of such a plan is refused.
        heads={profile_id: min(head, position) for profile_id, head in ledger.heads(own).items()},
        since=dict(past.select("profile_id", "reflected_seq").iter_rows()),
        task=task,
        scope=scope,
        trigger=trigger,
        caught_up=_caught_up(lake, runs, limits),
        row_limits=limits,
        max_archived_share=max_archived_share,
        retry_reverted=retry_reverted,
    )


def _row_limits(settings: Settings, runs: pl.DataFrame, stored: Mapping[str, int]) -> dict[str, int]:
    """How many memories of each profile the run's time budget allows; no profile is named if it allows them all."""
    limit = triggers.row_limit(settings.time_budget_seconds, runs)
    total = sum(stored.values())
    if limit is None or total <= limit:
        return {}
    return {profile_id: max(1, limit * count // total) for profile_id, count in stored.items()}


def _caught_up(lake: Lake, runs: pl.DataFrame, profiles: Collection[str]) -> dict[str, int]:
    """Position of the last commit of each profile that compared and grouped all its memories: nothing waits since."""
    if not profiles:
        return {}
    tasks = [task for task, actions in TASKS.items() if Action.DEFER in actions]
    whole = pl.col("task").is_in(tasks) & (pl.col("scope") == "all") & (pl.col("outcome") == "committed")
    runs = runs.filter(pl.col("profile_id").is_in(sorted(profiles)), whole)
    late = lake.ledger.decisions(profiles=sorted(profiles)).filter(pl.col("action") == Action.DEFER.value)
    left = runs.join(late, on=["profile_id", "plan_id"], how="semi")
    done = runs.join(left, on=["profile_id", "as_of"], how="anti")  # another run at that instant had nothing to add
    return dict(done.group_by("profile_id").agg(pl.col("commit_seq").max()).iter_rows())


def planned(lake: Lake, settings: Settings, document: Mapping[str, Any]) -> pl.DataFrame:
    """Return the table `profiles` of a written plan, if nothing it was made from has moved.

    Raises:
        ValueError: it is no plan, was changed, or a profile or its policy has changed since.
    """
    _, profiles = plan_document.read(document)
    heads = lake.ledger.heads(profiles["profile_id"].to_list())
    for row in profiles.iter_rows(named=True):
        profile_id = row["profile_id"]
        if heads[profile_id] != row["head"]:
            raise ValueError(f"profile {profile_id!r} has changed since the plan was made; plan again")
        if settings.policy_of(profile_id).digest != row["policy_hash"]:
            raise ValueError(f"the policy of profile {profile_id!r} has changed since the plan was made; plan again")
        plan_id = planning.plan_id(lake.ledger.digest(row["seq"]), row["policy_hash"], row["as_of"], row["seq"])
        if plan_id != row["plan_id"]:
            raise ValueError("the plan was made on another ledger; plan again on this one")
    return profiles


def check_agreed(plan: pl.DataFrame, document: Mapping[str, Any]) -> None:
    """Refuse a plan that differs from the one that was written.

    Raises:
        ValueError: it differs.
    """
    written, _ = plan_document.read(document)
    if not TABLES["consolidation_plan"].conform(plan).equals(TABLES["consolidation_plan"].conform(written)):
        raise ValueError("the plan is not what would be decided now; plan again")


def policies(settings: Settings, profiles: pl.DataFrame) -> dict[str, Policy]:
    """Policies of the profiles of a run, by hash."""
    own = [settings.policy_of(profile_id) for profile_id in profiles["profile_id"]]
    return {policy.digest: policy for policy in own}


def known(lake: Lake, name: str, profiles: pl.DataFrame) -> pl.DataFrame:
    """Read a table that a run is given, as of its state: `events`, `decisions`, `reverted`, or one of `RECORDED`.

    An undo counts from its position in the ledger on, whatever the clock of the run: what was taken back does not hold
    at an earlier instant either.
    """
    if profiles.is_empty():
        return TABLES[name].empty()
    state = profiles.row(0, named=True)
    owners = profiles["profile_id"].to_list()
    match name:
        case "events":
            return lake.events(as_of=state["as_of"], seq=state["seq"], profiles=owners)
        case "decisions":
            return lake.ledger.decisions(as_of=state["as_of"], seq=state["seq"], profiles=owners)
        case "reverted":
            return lake.ledger.reverted(seq=state["seq"]).filter(pl.col("profile_id").is_in(owners))
    return lake.read(name, profiles=owners)
