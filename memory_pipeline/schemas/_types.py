"""Types that tables share: instants, and the values of columns with a fixed vocabulary."""

from enum import StrEnum
from typing import Final

import polars as pl

INSTANT: Final = pl.Datetime("us", "UTC")
"""Type of every instant: UTC, to the microsecond."""


class EventType(StrEnum):
    """Types of the ledger's events; only the pipeline writes `memory.erased` and `run.*`."""

    STORED = "memory.stored"
    ACCESSED = "memory.accessed"
    UPDATED = "memory.updated"
    ERASED = "memory.erased"
    LINKED = "link.asserted"
    RESOLVED = "relation.resolved"
    SESSION_STARTED = "session.started"
    SESSION_ENDED = "session.ended"
    FEEDBACK = "feedback.given"
    RUN_COMMITTED = "run.committed"
    RUN_REVERTED = "run.reverted"


class Lifecycle(StrEnum):
    """State of a memory; `active` and `warm` are live."""

    ACTIVE = "active"
    WARM = "warm"
    COLD = "cold"
    STUB = "stub"
    ARCHIVED = "archived"
    EXPIRED = "expired"
    DELETED = "deleted"
    ERASED = "erased"


PARSER: Final = 8
"""Version of everything extracted from a text: its language, words, facts and gist. Texts read by another version are
read again. Raise it whenever a text gives a different row of `enrichment`."""

LIVE: Final = (Lifecycle.ACTIVE.value, Lifecycle.WARM.value)


class Action(StrEnum):
    """Effect of a decision, in the order in which the decisions of a plan are applied."""

    WITHDRAW = "withdraw"
    LINK = "link"
    PRUNE = "prune"
    SUMMARISE = "summarise"
    SUPERSEDE = "supersede"
    CLOSE = "close"
    TRIM = "trim"
    DELETE = "delete"
    ARCHIVE = "archive"
    EXPIRE = "expire"
    COLD = "cold"
    STUB = "stub"
    PROMOTE = "promote"
    COMPILE = "compile"
    DEFER = "defer"
