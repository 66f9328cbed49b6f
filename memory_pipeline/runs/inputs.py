"""Selects the profiles of a run and the ledger state that it reads, and reads the tables of that state."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import pipeline, triggers
from memory_pipeline.consolidation import scope as scopes
from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.consolidation.plans import leaving_out, plan_document, planning
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.lake.policies import committed_policy
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import commits, erasure_guards
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.validation_errors import CORRECT_PROFILE, shown
from memory_pipeline.runs import log, status
from memory_pipeline.runs.shards import within
from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.settings import Policy, Settings
from memory_pipeline.text.embed import encoder

AUTOMATIC: Final = frozenset({"schedule", "sensor"})
"""Triggers whose instant may lie before a profile's last commit; such a profile is skipped, since nothing is due."""


_AHEAD: Final = timedelta(days=1)
"""How far a profile's last run may lie after a scheduled one before the clock is reported as wrong."""

NEW_POLICY_SHARE: Final = 0.1
"""Largest share of a profile's live memories that may leave in the first run under a policy, whatever it says."""

_LISTED: Final = 20
"""Most users, agents, sessions or tags that a message lists."""


def select_profiles(
    lake: Lake,
    settings: Settings,
    *,
    as_of: datetime,
    seq: int = 0,
    profiles: Collection[str] = (),
    shards: Collection[int] = (),
    task: str = "full",
    scope: str = "all",
    trigger: str = "manual",
    max_archived_share: float | None = None,
    retry_reverted: bool = False,
) -> pl.DataFrame:
    """Return the table `profiles` of a run: every profile with a memory, or the named ones.

    Args:
        as_of: instant at which the run evaluates everything.
        seq: ledger position to read up to; 0: the head.
        profiles: ids; empty: all.
        shards: numbers of the shards to which the profiles must belong, from 0; empty: all.
        scope: `all`; `recent`: only decisions about sessions with new memories since the last reflection; or a part of
            each profile, such as `user:ana` (see `consolidation.scope`).
        max_archived_share: quota that replaces the policy's; by default the first run of a profile, and the first under
            another policy, may remove at most a tenth (`NEW_POLICY_SHARE`) unless the policy says less.
        retry_reverted: whether decisions that were undone may be proposed again.

    Raises:
        ValueError: task, scope or shard is unknown, or a named profile has no memory, or none of that user, agent,
            session or tag.
        Conflict: an erasure in a named profile was interrupted; of all profiles, that one is left out.
    """
    part = _part(task, scope)
    ledger = lake.ledger
    known = ledger.profiles().filter(pl.col("memories") > 0)
    stored = dict(known.select("profile_id", "memories").iter_rows())
    if unknown := sorted(set(profiles) - set(stored)):
        raise ValueError(f"profile {unknown[0]!r} has no memory; {CORRECT_PROFILE}")
    past = status.progress(lake)
    selected = within(sorted(set(profiles) or set(stored)), shards, settings)
    if trigger in AUTOMATIC:
        later = set(past.filter(pl.col("last_as_of") > as_of)["profile_id"])
        for profile_id, last in past.select("profile_id", "last_as_of").iter_rows():
            if profile_id in selected and last > as_of + _AHEAD:
                log.LOGGER.warning(log.ahead_notice(profile_id, last))
        selected = [profile_id for profile_id in selected if profile_id not in later]
    position = seq or ledger.position()
    if part:
        selected = _having(lake, part, selected, asked=profiles, as_of=as_of, seq=position)
    erasure_guards.unfinished(lake.ledger, selected)  # an erasure in progress would move a head
    heads = ledger.heads(selected)
    unfinished = erasure_guards.unfinished(lake.ledger, selected)
    if unfinished in profiles:
        erasure_guards.refuse(lake.ledger, selected)
    selected = [profile_id for profile_id in selected if profile_id != unfinished]
    runs = ledger.runs().filter(pl.col("as_of") < as_of)  # a second run at an instant has the limits of the first
    if problem := encoder.missing():
        log.LOGGER.warning("%s %s", log.PREFIX, problem)
    limits = _row_limits(settings, runs, {profile_id: stored[profile_id] for profile_id in selected})
    chosen = pipeline.participants(
        {profile_id: settings.policy_of(profile_id) for profile_id in selected},
        ledger_digest=ledger.digest(position),
        as_of=as_of,
        seq=position,
        # Capped, so that the commit refuses a plan made from an earlier state than the head.
        heads={profile_id: min(heads[profile_id], position) for profile_id in selected},
        since=dict(past.select("profile_id", "reflected_seq").iter_rows()),
        task=task,
        scope=scope,
        trigger=trigger,
        caught_up=_caught_up(lake, runs, limits),
        row_limits=limits,
        max_archived_share=max_archived_share,
        retry_reverted=retry_reverted,
    )
    if max_archived_share is not None:
        return chosen
    taking_part = known.filter(pl.col("profile_id").is_in(selected))
    for profile_id in (idle := _idle(ledger, taking_part, as_of=as_of, most=settings.max_idle_days)):
        log.LOGGER.warning(log.idle_notice(profile_id, settings.max_idle_days, as_of))
    new = pl.col("profile_id").is_in(_under_new_policy(ledger, settings, selected, task))
    most = pl.when(new).then(pl.min_horizontal("max_archived_share", NEW_POLICY_SHARE)).otherwise("max_archived_share")
    share = pl.when(pl.col("profile_id").is_in(idle)).then(0.0).otherwise(most)
    return chosen.with_columns(max_archived_share=share)


def _part(task: Any, scope: Any) -> tuple[str, str] | None:
    """Return the part of a profile that a run is about (see `scope.part`), unless task or scope is unknown."""
    if task not in tuple(TASKS):  # a tuple takes unhashable values, too
        raise ValueError(f"task {shown(task)} is unknown; choose one of {', '.join(TASKS)}")
    part = scopes.part(scope)
    if part and task == "reflect":
        raise ValueError(f"scope is {scope!r}, and a reflection is about recent sessions; leave one of the two out")
    return part


def _having(
    lake: Lake, part: tuple[str, str], selected: list[str], *, asked: Collection[str], as_of: datetime, seq: int
) -> list[str]:
    """Return the selected profiles that have a memory of the given kind and name; refuse one asked for that has none.

    Cost: linear in the events of the profiles, which the run reads anyway.
    """
    kind, name = part
    known = scopes.names(kind, lake.events(as_of=as_of, seq=seq, profiles=selected))
    having = known.filter(name=name)["profile_id"].to_list()
    if lacking := sorted(set(asked) - set(having)) or ([] if having else selected):
        place = f"profile {lacking[0]!r}" if asked or len(selected) == 1 else "the store"
        others = known.filter(pl.col("profile_id").is_in(lacking[:1] if asked else selected))["name"].unique().sort()
        more = f" and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
        named = f"choose one of {', '.join(others[:_LISTED])}{more}" if len(others) else "there are none"
        named = "correct it" if kind == "user" and len(others) else named
        raise ValueError(f"scope is '{kind}:{name}', and no memory of {place} has it; {named}")
    return having


def _idle(ledger: Ledger, known: pl.DataFrame, *, as_of: datetime, most: int) -> list[str]:
    """Return the profiles whose last run that could remove memories lies more than `most` days before a new one.

    Runs that were held back do not count, so that the next night does not do what this one did not; for a profile
    without a run, the last event counts.
    """
    last = _able_to_remove(ledger.runs()).group_by("profile_id").agg(ran_at=pl.col("as_of").max())
    seen = known.join(last, on="profile_id", how="left").with_columns(pl.coalesce("ran_at", "last_recorded_at"))
    return seen.filter(as_of - pl.col("ran_at") > timedelta(days=most))["profile_id"].sort().to_list()


def _under_new_policy(ledger: Ledger, settings: Settings, profiles: Collection[str], task: str) -> list[str]:
    """Return the profiles that have another policy than in their last run that could remove as much as a task can.

    Or that had no such run. Runs that were held back or undone do not count, so that the change is held until it is
    released, nor do those of a task that can take less away, such as a tick before the first night. Profiles for which
    the quota itself was set are left out: that is a release in advance.
    """
    as_able = [other for other in TASKS if _removing(task) <= _removing(other)]
    earlier = _able_to_remove(ledger.runs(list(profiles))).filter(pl.col("task").is_in(as_able))
    last = earlier.sort("commit_seq").unique("profile_id", keep="last")
    ran = {row["profile_id"]: row for row in last.iter_rows(named=True)}
    new = []
    for profile_id in profiles:
        if settings.chosen(profile_id, "max_archived_share"):
            continue
        digest, run = settings.policy_of(profile_id).digest, ran.get(profile_id)
        # A hash of an earlier version differs even if the policy is the same.
        if run is None or digest not in {run["policy_hash"], committed_policy(ledger, run["commit_seq"]).digest}:
            new.append(profile_id)
    return new


def _able_to_remove(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs, about whole profiles and neither held back nor undone, that could take memories away."""
    tasks = [task for task in TASKS if _removing(task)]
    return runs.filter(
        pl.col("task").is_in(tasks), pl.col("held") == 0, pl.col("outcome") == "committed", ~scopes.NARROW
    )


def _removing(task: str) -> set[str]:
    """Return the actions by which a task can take memories away."""
    return decision_json.LEAVES.keys() & {*TASKS[task]}


def select_again(lake: Lake, settings: Settings, profiles: pl.DataFrame) -> pl.DataFrame:
    """Return the table `profiles` of a run for those of its profiles that others changed meanwhile, as they are now.

    A profile that a later run has consolidated is left out: nothing is due at the instant of this one. Raises Conflict:
    an erasure in one of the profiles was interrupted.
    """
    first = profiles.row(0, named=True)
    later = status.progress(lake).filter(pl.col("last_as_of") > first["as_of"])
    left = profiles.join(later, on="profile_id", how="anti")
    if left.is_empty():
        return left
    again = select_profiles(
        lake,
        settings,
        as_of=first["as_of"],
        profiles=left["profile_id"].to_list(),
        task=first["task"],
        scope=first["scope"],
        trigger=first["trigger"],
        retry_reverted=first["retry_reverted"],
    )
    quotas = left.select("profile_id", "max_archived_share")
    return TABLES["profiles"].conform(again.drop("max_archived_share").join(quotas, on="profile_id"))


def _row_limits(settings: Settings, runs: pl.DataFrame, stored: Mapping[str, int]) -> dict[str, int]:
    """Return how many memories of each profile the time budget allows; empty if it allows all."""
    limit = triggers.row_limit(settings.time_budget_seconds, runs.filter(~scopes.NARROW))
    total = sum(stored.values())
    if limit is None or total <= limit:
        return {}
    return {profile_id: max(1, limit * count // total) for profile_id, count in stored.items()}


def _caught_up(lake: Lake, runs: pl.DataFrame, profiles: Collection[str]) -> dict[str, int]:
    """Return for each profile the position of its last commit that deferred no memory."""
    if not profiles:
        return {}
    tasks = [task for task, actions in TASKS.items() if Action.DEFER in actions]
    whole = pl.col("task").is_in(tasks) & (pl.col("scope") == "all") & (pl.col("outcome") == "committed")
    runs = runs.filter(pl.col("profile_id").is_in(sorted(profiles)), whole)
    deferrals = lake.ledger.decisions(profiles=sorted(profiles)).filter(does(Action.DEFER))
    incomplete = runs.join(deferrals, on=["profile_id", "plan_id"], how="semi")
    # A later run at the instant of an incomplete one has no deferrals of its own, but is not complete either.
    complete = runs.join(incomplete, on=["profile_id", "as_of"], how="anti")
    return dict(complete.group_by("profile_id").agg(pl.col("commit_seq").max()).iter_rows())


def profiles_of_plan(lake: Lake, settings: Settings, document: Mapping[str, Any]) -> pl.DataFrame:
    """Return the table `profiles` of a plan document, if the plan is still current.

    Raises ValueError: the document is not a plan or was changed, or the policy of a profile or anything else that the
    plan rests on has changed since. Raises Conflict: an erasure in one of its profiles was interrupted.
    """
    plan, profiles = plan_document.read(document)
    with lake.ledger.reading() as transaction:
        overtaken = commits.overtaken(transaction, profiles, plan)
    erasure_guards.refuse(lake.ledger, profiles["profile_id"].to_list())
    for row in profiles.iter_rows(named=True):
        profile_id = row["profile_id"]
        if profile_id in overtaken:
            raise ValueError(f"profile {profile_id!r} has changed since the plan was made; plan again")
        if settings.policy_of(profile_id).digest != row["policy_hash"]:
            raise ValueError(f"the policy of profile {profile_id!r} has changed since the plan was made; plan again")
        plan_id = planning.plan_id(lake.ledger.digest(row["seq"]), row["policy_hash"], row["as_of"], row["seq"])
        if plan_id != row["plan_id"]:
            raise ValueError("the plan was made on another ledger; plan again on this one")
    return profiles


def left_out(document: Mapping[str, Any], row_ids: Collection[str]) -> pl.DataFrame:
    """Return the decisions of a plan document that are left out with some of its rows (see `plans.leaving_out`).

    Raises ValueError if the document is not a plan, or an id names no row of it, or several.
    """
    return leaving_out.left_out(plan_document.read(document)[0], row_ids)


def check_agreed(plan: pl.DataFrame, document: Mapping[str, Any]) -> None:
    """Raise ValueError for a plan that differs from the plan of a document."""
    written, _ = plan_document.read(document)
    if not TABLES["consolidation_plan"].conform(plan).equals(TABLES["consolidation_plan"].conform(written)):
        raise ValueError("the plan is no longer what would be decided now; make a new plan")


def policies(settings: Settings, profiles: pl.DataFrame) -> dict[str, Policy]:
    """Return the policies of the profiles of a run, by hash."""
    of_profiles = (settings.policy_of(profile_id) for profile_id in profiles["profile_id"])
    return {policy.digest: policy for policy in of_profiles}


def read_tables(lake: Lake, names: Iterable[str], profiles: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Read input tables of a run (see `read_table`), those of the lake as of one position, whatever commits meanwhile.

    A stage that reuses the last run's result needs all parts of it from the same commit.
    """
    position = lake.ledger.position()
    return {name: read_table(lake, name, profiles, position=position) for name in names}


def read_table(lake: Lake, name: str, profiles: pl.DataFrame, *, position: int | None = None) -> pl.DataFrame:
    """Read an input table of a run at its state: `events`, `decisions`, `reverted`, or a table of the lake.

    An undo applies from its position in the ledger on, whatever the instant of the run: a decision that was undone is
    not in force at an earlier instant either. A table of the lake is read as of a position, by default now.
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
    return lake.read(name, seq=position, profiles=owners)
