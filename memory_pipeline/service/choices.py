"""The values that options and requests choose from: tasks, roles, answers.

Apart from what acts on them, so that the command line knows its options before anything slow is imported.
"""

from enum import StrEnum
from typing import Final, Literal, NamedTuple

Answer = Literal["update", "partial", "repeat", "conflict", "none", "open", "skip"]
"""What can be answered about a pair of memories; skip records nothing."""


class Key(NamedTuple):
    """How people give an answer."""

    letter: str
    label: str
    meaning: str


KEYS: Final[dict[Answer, Key]] = {
    "update": Key("r", "Replaces", "the older is over"),
    "partial": Key("p", "Part of it", "the marked part is over"),
    "repeat": Key("s", "Same", "one can stand for both"),
    "conflict": Key("c", "Conflict", "only one can be true"),
    "none": Key("b", "Both true", "leave both as they are"),
    "skip": Key("l", "Later", "ask me another time"),
}
"""The answers that a review offers, in the terminal and on the page."""


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
