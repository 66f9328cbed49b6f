"""Builds the log lines of a run in AutoMem's format: what each task did, and which features are switched off."""

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.consolidation.scope import NARROW
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.schemas import Action
from memory_pipeline.settings import Policy

LOGGER: Final = logging.getLogger("memory_pipeline")
PREFIX: Final = "[consolidation]"

_TEXTS: Final = (
    ("Decay", ((Action.PRUNE, "pruned {} faded associations"),)),
    ("Creative", ((Action.LINK, "discovered {} new associations"),)),
    ("Cluster", ((Action.SUMMARISE, "created {} summaries"), (Action.SUPERSEDE, "superseded {} memories"))),
    (
        "Forget",
        (
            (Action.ARCHIVE, "archived {}"),
            (Action.DELETE, "deleted {}"),
            (Action.EXPIRE, "expired {}"),
            (Action.COLD, "moved {} to the cold"),
            (Action.STUB, "cut {} to stubs"),
            (Action.TRIM, "trimmed {}"),
        ),
    ),
    ("Promote", ((Action.PROMOTE, "promoted {} memories"),)),
    ("Blocks", ((Action.COMPILE, "compiled {} core memory blocks"),)),
    ("Facts", ((Action.CLOSE, "closed {} facts that changed"),)),
)
"""Texts for the decisions of each action, by task."""

_SWITCHES: Final = (
    ("core_blocks", Action.COMPILE),
    ("fact_changes", Action.CLOSE),
    ("promote_tiers", Action.PROMOTE),
    ("promote_warm", Action.PROMOTE),
    ("promote_core", Action.PROMOTE),
    ("associations", Action.LINK),
    ("methods", Action.SUMMARISE),
    ("forgetting", Action.ARCHIVE),
)
"""Settings that switch a feature off if false or empty, with the action of its decisions."""


def lines(
    profiles: pl.DataFrame,
    plan: pl.DataFrame,
    live: Mapping[str, int],
    policies: Mapping[str, Policy],
    *,
    seconds: float,
) -> list[str]:
    """Return the log lines of a committed run.

    `plan` includes decisions held back; `live` is the number of live memories of each profile before the run.
    """
    messages: list[str] = []
    for (task,), group in profiles.sort("profile_id").group_by(["task"], maintain_order=True):
        decisions = plan.join(group, on="profile_id", how="semi")
        processed = sum(live.get(profile_id, 0) for profile_id in group["profile_id"])
        messages += _decided(decisions)
        for (policy_hash,), same_policy in group.group_by(["policy_hash"], maintain_order=True):
            policy, own = policies[str(policy_hash)], TASKS[str(task)]
            if skipped := [name for name, action in _SWITCHES if action in own and not getattr(policy, name)]:
                names = ", ".join(same_policy["profile_id"])
                messages.append(f"Skipped for {names}: {', '.join(skipped)} switched off")
        for scope, profile_id in group.filter(NARROW).select("scope", "profile_id").iter_rows():
            messages.append(f"Scope {scope} of {profile_id}: every other memory stays as it is")
        messages.append(f"{str(task).capitalize()} complete: {processed} processed, {seconds:.1f}s elapsed")
    return [f"{PREFIX} {message}" for message in messages]


def warnings(plan: pl.DataFrame) -> list[str]:
    """Return a line for each profile that the quota held back, of a whole table `consolidation_plan`."""
    held = plan.filter(pl.col("status") == "held").group_by("profile_id").len().sort("profile_id")
    return [f"{PREFIX} {held_notice(profile_id, count)}" for profile_id, count in held.iter_rows()]


def held_notice(profile_id: str, count: int) -> str:
    """Return a notice that a profile was held back, with the remedy."""
    return (
        f"Held back for {profile_id}: {count} decisions, more memories would leave than the quota allows (in the "
        "first run under a policy at most a tenth, whatever it says); review with "
        f"`memory-pipeline consolidate --profile {profile_id} --dry-run`, release with --max-archived-share"
    )


def ahead_notice(profile_id: str, last: datetime) -> str:
    """Return a notice that a profile's last run lies in the future, with the remedy."""
    return (
        f"{PREFIX} Skipped {profile_id}: its last run is dated {last.isoformat()}; if that clock ran ahead, undo its "
        "runs with `memory-pipeline undo --ahead`"
    )


def idle_notice(profile_id: str, days: int, as_of: datetime) -> str:
    """Return a notice that a profile had no whole run for a long time, with the remedy."""
    return (
        f"{PREFIX} No whole run of {profile_id} for more than max_idle_days = {days} before {as_of.isoformat()}, so "
        f"only a few memories may leave; if the clock is right: memory-pipeline consolidate --profile {profile_id} "
        "--max-archived-share 1"
    )


def _decided(plan: pl.DataFrame) -> Iterator[str]:
    effect = plan.filter(pl.col("status") != "held")
    counts = dict(effect["action"].value_counts().iter_rows())
    promotions = effect.filter(does(Action.PROMOTE))
    counts[Action.PROMOTE.value] = promotions.unique(["profile_id", "memory_id"]).height
    for task, texts in _TEXTS:
        if parts := [text.format(counts[action.value]) for action, text in texts if counts.get(action.value)]:
            yield f"{task} task: {', '.join(parts)}"
