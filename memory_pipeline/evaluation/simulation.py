"""Memories that live through nights under a policy, in memory: a full run each night, nothing is written.

Not here: what is counted afterwards (`comparing.py`) and what is asked (`replay_files.py`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import polars as pl

from memory_pipeline.consolidation import pipeline
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy

Events = Callable[[datetime], pl.DataFrame]
"""Gives the table `events` as it stands at an instant."""


@dataclass(frozen=True)
class Night:
    """What one night's run made."""

    at: datetime
    """Clock of the run."""
    tables: dict[str, pl.DataFrame]
    """All tables of the run, `events` and `consolidation_plan` among them."""
    decisions: pl.DataFrame
    """Decisions in force after it, of all nights so far."""
    policies: dict[str, Policy]
    seconds: float
    """Wall time of the run."""

    @cached_property
    def after(self) -> dict[str, pl.DataFrame]:
        """The tables once the plan is committed (see `pipeline.settle`)."""
        return pipeline.settle(self.tables, self.policies)


def live(
    events: Events, policy: Policy, nights: Sequence[datetime], *, max_archived_share: float | None = None
) -> Iterator[Night]:
    """Yield night after night; what one decides, the next starts from.

    Args:
        events: what agents wrote; asked once a night, so it may grow by what happens in between.
        policy: for every profile.
        nights: clocks of the runs, ascending.
        max_archived_share: quota instead of the policy's.
    """
    policies = {policy.digest: policy}
    decisions, reverted = TABLES["decisions"].empty(), TABLES["reverted"].empty()
    read_out = {name: TABLES[name].empty() for name in pipeline.RECORDED}
    for number, night in enumerate(nights, 1):
        began = time.perf_counter()
        known = events(night)
        profiles = pipeline.participants(
            dict.fromkeys(memories(known)["profile_id"].unique().sort().to_list(), policy),
            ledger_digest="compared",
            as_of=night,
            seq=number,
            heads={},
            since={},
            max_archived_share=max_archived_share,
        )
        given = {"profiles": profiles, "events": known, "decisions": decisions, "reverted": reverted}
        made = pipeline.run(given | read_out, policies, stages=pipeline.PLANNING)
        read_out = {name: made[name] for name in read_out}
        taken = made["consolidation_plan"].filter(pl.col("status") != "held")
        committed = taken.with_columns(status=pl.lit("committed"), seq=pl.lit(number, pl.Int64))
        decisions = TABLES["decisions"].conform(pl.concat([decisions, committed]))
        yield Night(night, made, decisions, policies, time.perf_counter() - began)


def memories(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events that stored a memory."""
    return events.filter(pl.col("event_type") == EventType.STORED.value)
