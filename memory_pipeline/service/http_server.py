"""The HTTP service: consolidate, status, health and metrics, behind bearer tokens that may be bound to a profile.

Here: paths, roles and what is said when something is refused. What is not here: how a run is made (`runs`), and what
the answers hold (`lake.status`, `lake.metrics`, `docs/json.md`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field

from memory_pipeline.lake import metrics, status, tokens
from memory_pipeline.lake.database import LakeError
from memory_pipeline.lake.tables import Lake
from memory_pipeline.lake.tokens import Grant
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.runs import Refused, Runs, Waiting
from memory_pipeline.settings import Settings, SettingsError, load

OPEN: Final = frozenset({"/health", "/openapi.json"})
"""Paths that need no token."""

_UNKNOWN: Final = "a valid bearer token is needed; an administrator makes one with: memory-pipeline token create"
_OF_THE_STORE: Final = ("home", "position", "dead_letters", "disk_bytes")
"""What status says of the whole store: not for the eyes of an agent."""


class Accepted(BaseModel):
    """A run that was put into the queue."""

    run_id: str = Field(description="Names the run in the status and in Dagster.")
    state: str = Field(description="queued, running, succeeded or failed.")


class Health(BaseModel):
    """That the service can read its store, and how far the store has come."""

    status: str = Field(description="ok")
    position: int = Field(description="Position of the last event in the ledger.")
    lag_seconds: float = Field(description="Age of the oldest event that waits for its projection; 0: none waits.")


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str = Field(description="What is wrong, and what to do about it.")


def application(home: Path, runs: Runs) -> FastAPI:
    """Make the service over a data folder.

    Args:
        home: data folder, made if it is not there.
        runs: where runs are made; closed with the service.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with Lake(home) as lake, runs:
            app.state.lake = lake
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
    app.middleware("http")(_guard)
    app.exception_handler(RequestValidationError)(_invalid)
    for kind, code in ((Waiting, 409), (Refused, 409), (SettingsError, 503), (LakeError, 503), (ValueError, 422)):
        app.exception_handler(kind)(_refusal(code))
    app.exception_handler(Exception)(_fault)
    _routes(app)
    return app


def _routes(app: FastAPI) -> None:
    refused: dict[int | str, dict[str, Any]] = {
        403: {"model": Problem, "description": "The token is for another profile."}
    }
    unknown: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "The profile has no memory."}}

    @app.post(
        "/consolidate",
        status_code=202,
        response_model=Accepted,
        responses={
            200: {"description": "The plan of a dry run, as `memory-pipeline apply` takes it."},
            409: {"model": Problem, "description": "The same run waits already, or a check forbids the plan."},
            422: {"model": Problem, "description": "The request is wrong."},
            503: {"model": Problem, "description": "Settings or store cannot be read."},
            **refused,
            **unknown,
        },
    )
    def consolidate(request: Request, grant: Authorized, wanted: Consolidation | None = None) -> Response:
        """Start a run in the background and answer with its id; a dry run is answered with its plan."""
        own = _within(grant, (wanted or Consolidation()).profile_id)
        wanted = (wanted or Consolidation()).model_copy(update={"profile_id": own})
        _settings(request)  # a run would only fail on settings that cannot be read
        _known(request.app.state.lake, own)
        if wanted.dry_run:
            return JSONResponse(request.app.state.runs.plan(wanted, trigger="http"))
        asked = request.app.state.runs.start(wanted, trigger="http")
        return JSONResponse({"run_id": asked.run_id, "state": "queued"}, status_code=202)

    @app.get("/consolidate/status", responses={**refused, **unknown})
    def consolidate_status(
        request: Request,
        grant: Authorized,
        profile_id: Annotated[str | None, Query(min_length=1, description="Only this profile.")] = None,
    ) -> Response:
        """Say what ran, what is due and what waits; `requests` are the runs that this server was asked for."""
        own = _within(grant, profile_id)
        lake: Lake = request.app.state.lake
        _known(lake, own)
        found = status.summary(lake, _settings(request), now=datetime.now(UTC), profile_id=own)
        hidden = () if grant.profile_id is None else _OF_THE_STORE
        asked = [row for row in request.app.state.runs.told() if own in {None, row["profile_id"]}]
        told = {name: value for name, value in found.items() if name not in hidden} | {"requests": asked}
        return JSONResponse(jsonable_encoder(told))

    @app.get("/health", responses={503: {"model": Problem, "description": "The store fails."}})
    def health(request: Request) -> Health:
        """Say that the store can be read, and how old the oldest event is that waits; needs no token."""
        lake: Lake = request.app.state.lake
        return Health(
            status="ok", position=lake.ledger.position(), lag_seconds=metrics.lag_seconds(lake, datetime.now(UTC))
        )

    @app.get("/metrics", response_class=PlainTextResponse, responses=refused)
    def prometheus(request: Request, grant: Authorized) -> Response:
        """Show figures of all profiles in the format of Prometheus; an administrator's token is needed."""
        if grant.profile_id is not None:
            raise HTTPException(403, "metrics tell of every profile: an administrator's token is needed")
        text = metrics.render(request.app.state.lake, _settings(request), now=datetime.now(UTC))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _granted(request: Request, _: Annotated[Any, Depends(HTTPBearer(auto_error=False))]) -> Grant:
    """Hand over what the guard found out about the token; here only so that the schema of the service says so."""
    grant: Grant = request.state.grant
    return grant


Authorized = Annotated[Grant, Depends(_granted)]


async def _guard(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Let nobody in without a token, before anything of the request is read; no and wrong tokens look the same."""
    if request.url.path not in OPEN:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            grant = tokens.identify(request.app.state.home, token.strip() if scheme.lower() == "bearer" else "")
        except LakeError as error:
            return _problem(503, str(error))
        if grant is None:
            return _problem(401, _UNKNOWN, {"WWW-Authenticate": "Bearer"})
        request.state.grant = grant
    return await proceed(request)


def _within(grant: Grant, profile_id: str | None) -> str | None:
    """Return the profile that a request is about, within what its token allows; None: all."""
    own = profile_id or grant.profile_id
    if own is not None and not grant.allows(own):
        raise HTTPException(403, f"the token is for profile {grant.profile_id!r} alone")
    return own


def _remembered(lake: Lake) -> set[str]:
    profiles = lake.ledger.profiles()
    return set(profiles.filter(profiles["memories"] > 0)["profile_id"])


def _known(lake: Lake, profile_id: str | None) -> None:
    if profile_id is not None and profile_id not in _remembered(lake):
        raise HTTPException(404, f"profile {profile_id!r} has no memory")


def _settings(request: Request) -> Settings:
    """Read the settings afresh, so that a change needs no restart."""
    return load(request.app.state.home)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request: field, value, remedy."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    if first["type"] == "json_invalid":
        return _problem(422, f"the body is no JSON: {first['ctx']['error']}")
    place = ".".join(str(part) for part in first["loc"] if part not in {"body", "query"})
    if first["type"] in {"model_attributes_type", "model_type"}:
        return _problem(422, "the body is no JSON object; send one, with Content-Type: application/json")
    said = first["msg"].removeprefix("Value error, ")
    given = f"{place} = {first['input']!r}: " if place else ""
    return _problem(422, f"{given}{said}; see /openapi.json")


def _refusal(code: int) -> Callable[[Request, Exception], Awaitable[JSONResponse]]:
    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return _problem(code, " ".join(str(error).split()))

    return refuse


async def _fault(_: Request, error: Exception) -> JSONResponse:
    return _problem(500, f"{type(error).__name__}: a fault of memory-pipeline; the log of the server shows where")


def _problem(code: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status_code=code, headers=headers)
