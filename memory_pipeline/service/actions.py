"""What faces of the service do beside the client of a profile: remember a text fast, and consolidate through Dagster.

What is not here: how it is asked for and answered (`commands`, `http_server`, `mcp_server`).
"""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import load


class Task(StrEnum):
    """One task of a consolidation."""

    DECAY = "decay"
    CREATIVE = "creative"
    CLUSTER = "cluster"
    FORGET = "forget"
    PROMOTE = "promote"


class Scope(StrEnum):
    """Which memories a consolidation decides about."""

    ALL = "all"
    RECENT = "recent"


class Consolidation(BaseModel):
    """A consolidation that somebody asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    profile_id: str | None = Field(None, min_length=1, description="Profile; default: all that the caller may see.")
    lightweight: bool = Field(False, description="Only what is fast: core memory blocks, faded edges.")
    task: Task | None = Field(
        None,
        strict=False,
        description="Only this task; default: all of them, which under the preset automem are its four, in order.",
    )
    scope: Scope = Field(
        Scope.ALL, strict=False, description="all, or recent: sessions touched since the last reflection."
    )
    dry_run: bool = Field(False, description="Answer with the plan and write nothing.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.lightweight and self.task:
            raise ValueError("lightweight and task exclude each other; give one of them")
        return self

    @property
    def kind(self) -> str:
        """What is to be done: a task, lightweight or full."""
        return "lightweight" if self.lightweight else self.task.value if self.task else "full"


def remember(
    home: Path,
    text: str,
    *,
    profile_id: str = "default",
    session_id: str | None = None,
    agent_id: str | None = None,
    user_id: str | None = None,
    occurred_at: datetime | None = None,
    **said: Any,
) -> Event:
    """Store one memory and return the event that did; loads nothing that only a recall needs.

    Args:
        home: data folder, made if it is not there.
        text: what to remember.
        profile_id: whose memory it is.
        session_id: the session it belongs to.
        agent_id: the agent that stores it.
        user_id: the person it belongs to.
        occurred_at: when it was said; default: now.
        said: what else is known of it (see `docs/event-format.md`, at memory.stored); what is None is left out.

    Raises:
        InvalidEvent: a value is out of range; names it.
        LakeError: the store cannot be written.
    """
    event = parse(
        {
            "event_type": EventType.STORED.value,
            "profile_id": profile_id,
            "session_id": session_id,
            "agent_id": agent_id,
            "user_id": user_id,
            "occurred_at": occurred_at,
            "payload": {**said, "content": text},
        },
        recorded_at=datetime.now(UTC),
        origin="memory-pipeline remember",
    )
    with Lake(home) as lake:
        lake.ledger.append([event])
    return event


def consolidate(home: Path, wanted: Consolidation, *, trigger: str, run_id: str | None = None) -> dict[str, Any]:
    """Run a consolidation to its end, under the settings of the moment.

    Args:
        home: data folder.
        wanted: what is asked for.
        trigger: who asks: http or mcp.
        run_id: id of the run in Dagster; when another run commits first, the next attempt has an id of its own.

    Returns:
        The plan of a dry run, else what the run did: see `docs/json.md`, at `consolidate`.

    Raises:
        RunFailed: the run failed; says why.
        ValueError: settings or request do not fit the store.
    """
    from memory_pipeline.assets.resources import Run  # noqa: PLC0415
    from memory_pipeline.service import launch, report_runs  # noqa: PLC0415

    run = Run(
        profiles=[wanted.profile_id] if wanted.profile_id else [],
        task=wanted.kind,
        scope=wanted.scope.value,
        dry=wanted.dry_run,
        trigger=trigger,
    )
    launched = launch.execute(load(home), "preview" if wanted.dry_run else wanted.kind, run, run_id=run_id)
    if wanted.dry_run:
        return report_runs.plan_document(launched.tables)
    with Lake(home) as lake:
        return report_runs.run_document(lake, launched.run_id)
