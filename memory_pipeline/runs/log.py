"""The lines that a run writes to the log, in AutoMem's words: what each task did, and what was switched off.

What is not here: the logger; whoever commits a run writes them (`runs/commit.py`, `assets/consolidation_commit.py`).
"""

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from memory_pipeline.consolidation.pipeline import TASKS
from memory_pipeline.schemas import Action
from memory_pipeline.settings import Policy

PREFIX: Final = "[consolidation]"

_DONE: Final = (
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
"""What is said of the decisions of a kind, by the task that they belong to."""

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
"""Settings that switch a feature off when they are false or empty, and what it would have decided."""


def lines(
    profiles: pl.DataFrame,
    plan: pl.DataFrame,
    live: Mapping[str, int],
    policies: Mapping[str, Policy],
    *,
    seconds: float,
) -> list[str]:
    """Return what is to be logged of a run that was committed.

    Args:
        profiles: who took part, with `task` and `policy_hash` (the table `profiles`).
        plan: what was decided, and what is held back (the table `consolidation_plan`).
        live: live memories of each profile before the run.
        policies: policies in play, by hash.
        seconds: how long the run took.
    """
    said: list[str] = []
    for (task,), group in profiles.sort("profile_id").group_by(["task"], maintain_order=True):
        own = plan.join(group, on="profile_id", how="semi")
        processed = sum(live.get(profile_id, 0) for profile_id in group["profile_id"])
        said += [f"{PREFIX} {line}" for line in _done(own)]
        for (policy_hash,), alike in group.group_by(["policy_hash"], maintain_order=True):
            if skipped := off(policies[str(policy_hash)], str(task)):
                names = ", ".join(alike["profile_id"])
                said.append(f"{PREFIX} Skipped for {names}: {', '.join(skipped)} switched off")
        said.append(f"{PREFIX} {str(task).capitalize()} complete: {processed} processed, {seconds:.1f}s elapsed")
    return said


def off(policy: Policy, task: str) -> list[str]:
    """Return the settings of a policy by which something is left out that a task would do."""
    return [name for name, action in _SWITCHES if action in TASKS[task] and not getattr(policy, name)]


def _done(plan: pl.DataFrame) -> Iterator[str]:
    held = plan.filter(pl.col("status") == "held")
    effect = plan.filter(pl.col("status") != "held")
    counts = dict(effect["action"].value_counts().iter_rows())
    risen = effect.filter(pl.col("action") == Action.PROMOTE.value)
    counts[Action.PROMOTE.value] = risen.unique(["profile_id", "memory_id"]).height
    for task, kinds in _DONE:
        if found := [said.format(counts[action.value]) for action, said in kinds if counts.get(action.value)]:
            yield f"{task} task: {', '.join(found)}"
    if held.height:
        names = ", ".join(held["profile_id"].unique().sort())
        yield f"Held back for {names}: {held.height} decisions, more memories would leave than the quota allows"
