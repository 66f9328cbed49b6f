"""The values that options and requests choose from: tasks, roles, answers.

Apart from what acts on them, so that the command line knows its options before anything slow is imported.
"""

from enum import StrEnum
from typing import Literal

Answer = Literal["update", "partial", "repeat", "conflict", "none", "open", "skip"]
"""What can be answered about a pair of memories; skip records nothing."""


class Task(StrEnum):
    """One task of a consolidation."""

    DECAY = "decay"
    CREATIVE = "creative"
    CLUSTER = "cluster"
    FORGET = "forget"
    PROMOTE = "promote"


class Role(StrEnum):
    """What a token allows."""

    ADMIN = "admin"
    """Everything, in every profile."""
    AGENT = "agent"
    """Reading, changing and consolidating one profile."""
