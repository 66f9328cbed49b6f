"""Types that tables share: the instant, and the values of columns with a fixed vocabulary."""

from enum import StrEnum
from typing import Final

import polars as pl

INSTANT: Final = pl.Datetime("us", "UTC")
"""The one type of an instant: UTC, microseconds."""


class EventType(StrEnum):
    """What can be appended to the ledger; `memory.erased` and `run.*` by the pipeline alone."""

    STORED = "memory.stored"
    ACCESSED = "memory.accessed"
    UPDATED = "memory.updated"
    ERASED = "memory.erased"
    LINKED = "link.asserted"
    SESSION_STARTED = "session.started"
    SESSION_ENDED = "session.ended"
    FEEDBACK = "feedback.given"
    RUN_COMMITTED = "run.committed"
    RUN_REVERTED = "run.reverted"


class Lifecycle(StrEnum):
    """Where a memory stands. `active` and `warm` are live."""

    ACTIVE = "active"
    WARM = "warm"
    COLD = "cold"
    STUB = "stub"
    ARCHIVED = "archived"
    EXPIRED = "expired"
    DELETED = "deleted"
    ERASED = "erased"


LIVE: Final = (Lifecycle.ACTIVE.value, Lifecycle.WARM.value)


class Action(StrEnum):
    """What a decision does, in the order in which decisions of one plan are applied."""

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
