"""The HTTP service: the application, and the routes for runs: consolidate, status, health and metrics."""

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field

from memory_pipeline.lake.tables import Conflict, Lake
from memory_pipeline.ledger.database import LakeError, UnknownMemory
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.runs import metrics, status
from memory_pipeline.service import docs_page, http_memories
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.background_runs import AlreadyQueued, Ended, Refused, Runs
from memory_pipeline.service.http_guard import (
    PAGES,
    Authorized,
    Problem,
    authorized_profile,
    error_handlers,
    invalid,
    is_open,
    known_parameters,
    problem,
    require_memories,
    unreadable,
)
from memory_pipeline.service.limits import TOO_MANY, Slots, limits
from memory_pipeline.service.middleware import (
    LOOPBACK,
    RequestTimes,
    check_hosts,
    check_tokens,
    limit_bodies,
    time_requests,
)
from memory_pipeline.settings import Settings, SettingsError, load

_STORE_WIDE: Final = ("home", "default_profile", "position", "dead_letters", "disk_bytes")
"""Fields of the status that concern the whole store; hidden from agents."""

_CODES: Final = {
    AlreadyQueued: 409,
    Refused: 409,
    Ended: 503,
    Conflict: 409,
    UnknownMemory: 404,
    SettingsError: 503,
    LakeError: 503,
    ValueError: 422,
}
"""Status by class of error; the most specific class counts."""


class Accepted(BaseModel):
    """A run that was queued."""

    run_id: str = Field(description="Id of the run, in the status and in Dagster.")
    state: str = Field(description="queued, running, succeeded or failed.")


class Health(BaseModel):
    """The state of the store."""

    status: str = Field(description="ok")
    position: int = Field(description="Position of the last event in the ledger.")
    lag_seconds: float = Field(description="Age of the oldest event not yet projected, in seconds; 0 if none waits.")


def application(home: Path, runs: Runs, names: Sequence[str] = LOOPBACK, *, pages: bool = False) -> FastAPI:
    """Build the application over a data folder; it closes the queue of runs, and may be called by these host names."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Lake(home) as lake, Clients(home) as clients, runs:
            app.state.lake, app.state.clients = lake, clients
            app.state.health = CapacityLimiter(1)
            yield

    app = FastAPI(
        title="memory-pipeline",
        version=version("memory-pipeline"),
        summary="Consolidates the long-term memory of AI agents.",
        lifespan=lifespan,
        openapi_url=None,  # FastAPI writes the document anew for every request; see docs_page
        docs_url=None,  # FastAPI's pages load scripts from a CDN; see docs_page
        redoc_url=None,
        responses={401: {"model": Problem, "description": "No valid token."}},
        dependencies=[Depends(known_parameters)],
    )
    app.state.home, app.state.runs, app.state.slots = home, runs, Slots(home)
    app.state.times = RequestTimes()
    app.state.document = cache(lambda: bytes(JSONResponse(app.openapi()).body))
    app.add_middleware(limit_bodies, limits=partial(limits, home))
    app.add_middleware(check_tokens, home=home, is_open=partial(is_open, pages=pages))
    app.add_middleware(check_hosts, names=names)
    app.add_middleware(time_requests, times=app.state.times)
    app.exception_handler(RequestValidationError)(invalid)
    app.exception_handler(400)(unreadable)
    for kind, handler in error_handlers(_CODES, problem).items():
        app.exception_handler(kind)(handler)
    app.include_router(docs_page.router)
    app.include_router(router)
    app.include_router(http_memories.router)
    if pages:
        from memory_pipeline.service.ui import site  # noqa: PLC0415 - `serve` needs no templates

        app.mount(PAGES, site.application(app.state, _CODES))
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
        409: {"model": Problem, "description": "The same run is already queued, or a check blocks the plan."},
        422: {"model": Problem, "description": "The request is invalid."},
        TOO_MANY: {"model": Problem, "description": "The token has too many heavy requests in progress."},
        503: {"model": Problem, "description": "Settings or store cannot be read, or the server is busy or stopping."},
        **_REFUSED,
        **_UNKNOWN,
    },
)
def consolidate(
    request: Request,
    grant: Authorized,
    wanted: Consolidation | None = None,
    profile_id: Annotated[str | None, Query(min_length=1, description="Profile, instead of in the body.")] = None,
) -> Response:
    """Queue a run and return its id; a dry run returns its plan."""
    wanted = wanted or Consolidation()
    if profile_id and wanted.profile_id not in {None, profile_id}:
        raise HTTPException(422, f"profile_id is {profile_id!r}, but {wanted.profile_id!r} in the body; give one")
    owner = authorized_profile(grant, profile_id or wanted.profile_id)
    wanted = wanted.model_copy(update={"profile_id": owner})
    _settings(request)  # fails now rather than in the run
    require_memories(request.app.state.lake, owner)
    runs: Runs = request.app.state.runs
    slots: Slots = request.app.state.slots
    if wanted.dry_run:
        with slots.taken(grant.token_id):
            return JSONResponse(runs.plan(wanted, trigger="http"))
    slot = ExitStack()
    slot.enter_context(slots.taken(grant.token_id))
    queued = runs.start_holding(wanted, slot, trigger="http")
    return JSONResponse({"run_id": queued.run_id, "state": "queued"}, status_code=202)


@router.get("/consolidate/status", responses={**_REFUSED, **_UNKNOWN})
def consolidate_status(
    request: Request,
    grant: Authorized,
    profile_id: Annotated[str | None, Query(min_length=1, description="Only this profile.")] = None,
) -> Response:
    """Report recent runs, what is due and what waits; `requests` lists the runs requested from this server."""
    owner = authorized_profile(grant, profile_id)
    lake: Lake = request.app.state.lake
    require_memories(lake, owner)
    summary = status.summary(lake, _settings(request), now=datetime.now(UTC), profile_id=owner)
    hidden = () if grant.profile_id is None else _STORE_WIDE
    requests = [row for row in request.app.state.runs.statuses() if owner in {None, row["profile_id"]}]
    visible = {name: value for name, value in summary.items() if name not in hidden} | {"requests": requests}
    return JSONResponse(jsonable_encoder(visible))


@router.head("/health", include_in_schema=False)
@router.get("/health", responses={503: {"model": Problem, "description": "The store fails."}})
async def health(request: Request) -> Health:
    """Report that the store can be read, and the age of the oldest waiting event; needs no token."""
    # A thread of its own: those of the other routes may all be taken.
    return await to_thread.run_sync(_health, request.app.state.lake, limiter=request.app.state.health)


@router.get("/metrics", response_class=PlainTextResponse, responses=_REFUSED)
def prometheus(request: Request, grant: Authorized) -> Response:
    """Return metrics of all profiles in the Prometheus format; needs an administrator's token."""
    if grant.profile_id is not None:
        raise HTTPException(403, "metrics cover every profile; they need an administrator's token")
    text = metrics.render(request.app.state.lake, _settings(request), now=datetime.now(UTC))
    return Response(text + request.app.state.times.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _health(lake: Lake) -> Health:
    return Health(
        status="ok", position=lake.ledger.position(), lag_seconds=metrics.lag_seconds(lake, datetime.now(UTC))
    )


def _settings(request: Request) -> Settings:
    """Reload the settings, so that a change needs no restart."""
    return load(request.app.state.home)
