"""The HTTP service: its application, and the routes for runs: consolidate, status, health and metrics.

What is not here: the routes that use the memory (`http_memories`), who may ask and what is said when something is
refused (`http_guard`), how a run is made (`runs`), and what the answers hold (`lake.status`, `lake.metrics`,
`docs/json.md`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field

from memory_pipeline.lake.tables import Conflict, Lake
from memory_pipeline.ledger.database import LakeError, UnknownMemory
from memory_pipeline.runs import metrics, status
from memory_pipeline.service import http_memories
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.background_runs import Refused, Runs, Waiting
from memory_pipeline.service.client_pool import Clients
from memory_pipeline.service.http_guard import (
    Authorized,
    Problem,
    fault,
    guard,
    invalid,
    known,
    refusal,
    unreadable,
    within,
)
from memory_pipeline.settings import Settings, SettingsError, load

_OF_THE_STORE: Final = ("home", "position", "dead_letters", "disk_bytes")
"""What status says of the whole store: not for the eyes of an agent."""

_CODES: Final = {
    Waiting: 409,
    Refused: 409,
    Conflict: 409,
    UnknownMemory: 404,
    SettingsError: 503,
    LakeError: 503,
    ValueError: 422,
}
"""How an error is answered; the closest class of an error counts."""


class Accepted(BaseModel):
    """A run that was put into the queue."""

    run_id: str = Field(description="Names the run in the status and in Dagster.")
    state: str = Field(description="queued, running, succeeded or failed.")


class Health(BaseModel):
    """That the service can read its store, and how far the store has come."""

    status: str = Field(description="ok")
    position: int = Field(description="Position of the last event in the ledger.")
    lag_seconds: float = Field(description="Age of the oldest event that waits for its projection; 0: none waits.")


def application(home: Path, runs: Runs) -> FastAPI:
    """Make the service over a data folder.

    Args:
        home: data folder, made if it is not there.
        runs: where runs are made; closed with the service.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Lake(home) as lake, Clients(home) as clients, runs:
            app.state.lake, app.state.clients = lake, clients
            yield

    app = FastAPI(
        title="memory-pipeline",
        version=version("memory-pipeline"),
        summary="Consolidates the long-term memory of AI agents.",
        lifespan=lifespan,
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        responses={401: {"model": Problem, "description": "No valid token."}},
    )
    app.state.home, app.state.runs = home, runs
    app.middleware("http")(guard)
    app.exception_handler(RequestValidationError)(invalid)
    app.exception_handler(400)(unreadable)
    for kind, code in _CODES.items():
        app.exception_handler(kind)(refusal(code))
    app.exception_handler(Exception)(fault)
    app.include_router(router)
    app.include_router(http_memories.router)
    return app


_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    403: {"model": Problem, "description": "The token is for another profile."}
}
_UNKNOWN: Final[dict[int | str, dict[str, Any]]] = {
    404: {"model": Problem, "description": "The profile has no memory."}
}
router = APIRouter()


@router.post(
    "/consolidate",
    status_code=202,
    response_model=Accepted,
    responses={
        200: {"description": "The plan of a dry run, as `memory-pipeline apply` takes it."},
        409: {"model": Problem, "description": "The same run waits already, or a check forbids the plan."},
        422: {"model": Problem, "description": "The request is wrong."},
        503: {"model": Problem, "description": "Settings or store cannot be read."},
        **_REFUSED,
        **_UNKNOWN,
    },
)
def consolidate(request: Request, grant: Authorized, wanted: Consolidation | None = None) -> Response:
    """Start a run in the background and answer with its id; a dry run is answered with its plan."""
    own = within(grant, (wanted or Consolidation()).profile_id)
    wanted = (wanted or Consolidation()).model_copy(update={"profile_id": own})
    _settings(request)  # a run would only fail on settings that cannot be read
    known(request.app.state.lake, own)
    if wanted.dry_run:
        return JSONResponse(request.app.state.runs.plan(wanted, trigger="http"))
    asked = request.app.state.runs.start(wanted, trigger="http")
    return JSONResponse({"run_id": asked.run_id, "state": "queued"}, status_code=202)


@router.get("/consolidate/status", responses={**_REFUSED, **_UNKNOWN})
def consolidate_status(
    request: Request,
    grant: Authorized,
    profile_id: Annotated[str | None, Query(min_length=1, description="Only this profile.")] = None,
) -> Response:
    """Say what ran, what is due and what waits; `requests` are the runs that this server was asked for."""
    own = within(grant, profile_id)
    lake: Lake = request.app.state.lake
    known(lake, own)
    found = status.summary(lake, _settings(request), now=datetime.now(UTC), profile_id=own)
    hidden = () if grant.profile_id is None else _OF_THE_STORE
    asked = [row for row in request.app.state.runs.told() if own in {None, row["profile_id"]}]
    told = {name: value for name, value in found.items() if name not in hidden} | {"requests": asked}
    return JSONResponse(jsonable_encoder(told))


@router.get("/health", responses={503: {"model": Problem, "description": "The store fails."}})
def health(request: Request) -> Health:
    """Say that the store can be read, and how old the oldest event is that waits; needs no token."""
    lake: Lake = request.app.state.lake
    return Health(
        status="ok", position=lake.ledger.position(), lag_seconds=metrics.lag_seconds(lake, datetime.now(UTC))
    )


@router.get("/metrics", response_class=PlainTextResponse, responses=_REFUSED)
def prometheus(request: Request, grant: Authorized) -> Response:
    """Show figures of all profiles in the format of Prometheus; an administrator's token is needed."""
    if grant.profile_id is not None:
        raise HTTPException(403, "metrics tell of every profile: an administrator's token is needed")
    text = metrics.render(request.app.state.lake, _settings(request), now=datetime.now(UTC))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _settings(request: Request) -> Settings:
    """Read the settings afresh, so that a change needs no restart."""
    return load(request.app.state.home)
