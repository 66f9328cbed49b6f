"""The context of a stage: what the profiles of one policy share in a run.

Not here: the stages (`stages`), and how a run applies them under several policies (`pipeline`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.settings import Policy

TASKS: Final[dict[str, frozenset[Action]]] = {
    "full": frozenset(Action),
    "reflect": frozenset({Action.LINK, Action.SUMMARISE, Action.SUPERSEDE, Action.CLOSE, Action.DEFER}),
    "lightweight": frozenset({Action.PRUNE, Action.COMPILE}),
    "decay": frozenset({Action.PRUNE, Action.EXPIRE}),
    "creative": frozenset({Action.LINK, Action.CLOSE, Action.DEFER}),
    "cluster": frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.DEFER}),
    "forget": frozenset({Action.TRIM, Action.DELETE, Action.ARCHIVE, Action.EXPIRE, Action.COLD, Action.STUB}),
    "promote": frozenset({Action.PROMOTE}),
    "reembed": frozenset({Action.WITHDRAW}),  # a run that may propose nothing withdraws nothing either
    "tick": frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.COLD, Action.STUB, Action.PROMOTE, Action.DEFER}),
}
"""The actions that each task may decide; every task scores, and computes what its decisions need."""

EDGES: Final = frozenset(Action) - {Action.PRUNE, Action.COMPILE}
"""Actions that read or change derived edges; a run that may decide none of them keeps the edges of the last one."""

Complete = Callable[[pl.DataFrame, pl.DataFrame, float], pl.DataFrame]
"""Answers requests to a language model: takes requests (`model_prompts.REQUESTS`), the attempts recorded so far
(columns of table `completions`) and the share of the run's budget that they may use, and returns the rows to add."""


def recorded_only(_requests: pl.DataFrame, _recorded: pl.DataFrame, _share: float) -> pl.DataFrame:
    """Ask no model: a rebuild and an undo use recorded answers only."""
    return TABLES["completions"].empty()


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the profiles of one policy share in a run."""

    policy: Policy
    as_of: datetime
    plan_id: str
    actions: frozenset[Action] = frozenset(Action)
    """What the run may decide (see `TASKS`)."""
    scope: str = "all"
    complete: Complete = recorded_only
    """Answers requests to a language model."""
