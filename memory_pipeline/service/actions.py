"""Actions of servers and commands that a profile's client lacks: quick storing, runs through Dagster, ranks explained.

Not here: how requests are made and answered (`commands`, `http_server`, `mcp_server`).
"""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory_pipeline.consolidation import core_memory, expiry
from memory_pipeline.consolidation.scope import part
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import DEFAULT_PROFILE, Event, parse
from memory_pipeline.recall.client import quotations
from memory_pipeline.schemas import EventType
from memory_pipeline.service.choices import Task
from memory_pipeline.settings import Settings, load
from memory_pipeline.text.parse import written_days

if TYPE_CHECKING:
    from memory_pipeline.recall.client.explanation import Explanation
    from memory_pipeline.recall.client.memory_client import MemoryClient

_RANKS: Final = 1_000
"""Ranks of an answer among which a memory is looked for."""


class Consolidation(BaseModel):
    """A request to consolidate."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    profile_id: str | None = Field(
        None, min_length=1, description="Profile; default: every profile that the caller may use."
    )
    lightweight: bool = Field(False, description="Only refresh core memory and prune faded edges; fast.")
    task: Task | None = Field(
        None,
        strict=False,
        description="Run only this task; default: all; under the preset automem, its four in order.",
    )
    scope: str = Field(
        "all",
        description="all; recent: only sessions touched since the last reflection; or one user, agent, session or tag, "
        "such as user:ana.",
    )
    dry_run: bool = Field(False, description="Return the plan and write nothing.")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        part(self.scope)
        if self.lightweight and self.task:
            raise ValueError("lightweight and task cannot be combined; give one of them")
        return self

    @property
    def kind(self) -> str:
        """The job to run: a task, lightweight or full."""
        return "lightweight" if self.lightweight else self.task.value if self.task else "full"

    def config(self) -> dict[str, Any]:
        """Return the configuration of the run, as `assets.resources.Run` takes it."""
        profiles = [self.profile_id] if self.profile_id else []
        return {"profiles": profiles, "task": self.kind, "scope": self.scope}


class Approval(Consolidation):
    """A request to commit exactly the plan of a dry run, once somebody has reviewed it."""

    plan_file: Path
    without: list[str] = Field(default=[], description="Ids of rows to leave out.")

    @property
    def kind(self) -> str:
        """The job to run."""
        return "apply"

    def config(self) -> dict[str, Any]:
        """Return the configuration of the run; the plan has the rest."""
        return {"plan_file": str(self.plan_file), "without": self.without}


def remember(
    home: Path,
    text: str,
    *,
    profile_id: str = DEFAULT_PROFILE,
    session_id: str | None = None,
    agent_id: str | None = None,
    user_id: str | None = None,
    occurred_at: datetime | None = None,
    expires_in: str | None = None,
    **fields: Any,
) -> tuple[Event, quotations.Separated]:
    """Store one memory without loading what only a recall needs; return the event as given, and what of it is stored.

    Args:
        occurred_at: when it was said; default: the past day at the head of the text, else now.
        expires_in: how long it is kept from `occurred_at`, else from now on, such as "30 days".
        fields: other fields of memory.stored (see `docs/event-format.md`); None is left out.

    Raises:
        InvalidEvent: a value is out of range; names it.
        ValueError: the time after which it expires cannot be read, or `valid_until` is given too.
        LakeError: the store cannot be written.
    """
    settings, now = load(home), datetime.now(UTC)
    payload = {**fields, "content": text}
    if expires_in is not None:
        payload = expiry.limited(payload, expires_in, occurred_at or now)
    event = parse(
        {
            "event_type": EventType.STORED.value,
            "profile_id": profile_id,
            "session_id": session_id,
            "agent_id": agent_id,
            "user_id": user_id,
            "occurred_at": occurred_at or written_days.said_on(text, now=now, zone=settings.zone),
            "payload": payload,
        },
        recorded_at=now,
        origin="memory-pipeline remember",
        settings=settings,
    )
    with Lake(home) as lake:
        state_of, headings = quotations.states(lake, settings), core_memory.names(settings.policy_of(profile_id))
        filters = settings.filter_noise
        (own,) = quotations.separated([event], partial(state_of, profile_id), headings, filters=filters)
        if own.event is not None:
            lake.ledger.append([own.event])
        elif own.left_out is not None:
            lake.ledger.add_dead_letters([own.left_out])
    return event, own


def consolidate(home: Path, wanted: Consolidation, *, trigger: str, run_id: str | None = None) -> dict[str, Any]:
    """Run a consolidation to its end, under the settings of the moment; return its plan, if it is dry, or what it did.

    Args:
        run_id: id of the run in Dagster; a retry after a conflict gets an id of its own.

    Raises:
        RunFailed: the run failed; says why.
        ValueError: settings or request do not fit the store.
    """
    from memory_pipeline.service import report_runs  # noqa: PLC0415

    settings = load(home)
    if wanted.dry_run:
        planned = dry_run(settings, **wanted.config(), trigger=trigger)
        return report_runs.plan_document(planned)

    from memory_pipeline.assets.resources import Run  # noqa: PLC0415
    from memory_pipeline.service import launch  # noqa: PLC0415

    run = Run(**wanted.config(), trigger=trigger)
    executed = launch.execute(settings, wanted.kind, run, run_id=run_id)
    with Lake(home) as lake:
        return report_runs.run_document(lake, executed)


def dry_run(settings: Settings, *, as_of: datetime | None = None, **asked: Any) -> dict[str, pl.DataFrame]:
    """Plan a run in this process and write nothing, not even in Dagster; return what a plan file holds.

    Args:
        asked: the other arguments of `inputs.select_profiles`.

    Raises:
        InvariantBroken: the plan would break an invariant.
        ValueError: settings or request do not fit the store.
    """
    from memory_pipeline.runs import consolidate as runs_consolidate  # noqa: PLC0415
    from memory_pipeline.runs import inputs  # noqa: PLC0415

    with Lake(settings.home) as lake:
        position = lake.ledger.position()  # before the clock: what comes between is later than both
        profiles = inputs.select_profiles(lake, settings, as_of=as_of or datetime.now(UTC), seq=position, **asked)
        return runs_consolidate.dry_run(lake, settings, profiles)


def with_rank(
    client: "MemoryClient", explanation: "Explanation", query: str, *, as_of: datetime | None = None
) -> "Explanation":
    """Return an explanation with the memory's rank in the answer to a query; records no access.

    Raises:
        ValueError: the query is blank, or a deep recall does not return the memory.
    """
    answer = client.recall(query, _RANKS, as_of=as_of, deep=True, record=False)
    hit = next((hit for hit in answer if hit.memory_id == explanation.memory_id), None)
    if hit is None:
        raise ValueError(
            f"memory {explanation.memory_id} is not among the first {_RANKS} memories of a deep recall of {query!r}"
        )
    return replace(explanation, recalled=asdict(hit))
