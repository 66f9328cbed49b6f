"""Simulates nightly runs under a policy in memory: one full run per night, nothing is written.

Not here: counting the outcomes (`comparison.py`) and asking questions (`replay.py`).
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType

import polars as pl

from memory_pipeline.consolidation import pipeline
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy

Events = Callable[[datetime], pl.DataFrame]
"""Returns the table `events` as of an instant."""


@dataclass(frozen=True)
class Night:
    """Result of one night's run."""

    at: datetime
    """Clock of the run."""
    tables: dict[str, pl.DataFrame]
    """All tables of the run, including `events` and `consolidation_plan`."""
    decisions: pl.DataFrame
    """Decisions in force after the run, of all nights so far."""
    policies: dict[str, Policy]
    seconds: float
    """Wall time of the run."""

    @cached_property
    def after(self) -> dict[str, pl.DataFrame]:
        """The tables after the plan is committed (`pipeline.settle`)."""
        return pipeline.settle(self.tables, self.policies)


def simulate(
    events: Events,
    policy: Policy,
    nights: Sequence[datetime],
    *,
    max_archived_share: float | None = None,
    recorded: Mapping[str, pl.DataFrame] = MappingProxyType({}),
) -> Iterator[Night]:
    """Yield the result of each night; each run starts from the decisions of the previous ones.

    Args:
        events: called once per night, so that events may be added in between.
        nights: clocks of the runs, ascending.
        max_archived_share: overrides the quota of the policy.
        recorded: tables of `pipeline.RECORDED` that hold rows before the first night, such as answers of a language
            model; default: all are empty.
    """
    policies = {policy.digest: policy}
    decisions, reverted = TABLES["decisions"].empty(), TABLES["reverted"].empty()
    enrichment = {name: recorded.get(name, TABLES[name].empty()) for name in pipeline.RECORDED}
    for number, night in enumerate(nights, 1):
        start = time.perf_counter()
        night_events = events(night)
        profiles = pipeline.participants(
            dict.fromkeys(memories(night_events)["profile_id"].unique().sort().to_list(), policy),
            ledger_digest="compared",
            as_of=night,
            seq=number,
            heads={},
            since={},
            max_archived_share=max_archived_share,
        )
        inputs = {"profiles": profiles, "events": night_events, "decisions": decisions, "reverted": reverted}
        tables = pipeline.run(inputs | enrichment, policies, stages=pipeline.PLANNING)
        enrichment = {name: tables[name] for name in enrichment}
        applied = tables["consolidation_plan"].filter(pl.col("status") != "held")
        committed = applied.with_columns(status=pl.lit("committed"), seq=pl.lit(number, pl.Int64))
        decisions = TABLES["decisions"].conform(pl.concat([decisions, committed]))
        yield Night(night, tables, decisions, policies, time.perf_counter() - start)


def memories(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events that stored a memory."""
    return events.filter(pl.col("event_type") == EventType.STORED.value)
