"""Who may ask the HTTP service, for which profile, and how a request is refused: in one line, as JSON.

What is not here: the routes (`http_server`, `http_memories`), and how tokens are kept (`lake.tokens`).
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field

from memory_pipeline.lake import tokens
from memory_pipeline.lake.database import LakeError
from memory_pipeline.lake.tables import Lake
from memory_pipeline.lake.tokens import Grant

OPEN: Final = frozenset({"/health", "/openapi.json"})
"""Paths that need no token."""

_UNKNOWN: Final = "a valid bearer token is needed; an administrator makes one with: memory-pipeline token create"

SINGLE: Final = "one"
SEVERAL: Final = "many"
"""How the schema tells a single object from a list of them."""
_NO_FIELD: Final = ({"body", "query", "path"}, {SINGLE, SEVERAL})
"""First and second step on the way to a field of a request that its caller does not name."""


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str = Field(description="What is wrong, and what to do about it.")


def _granted(request: Request, _: Annotated[Any, Depends(HTTPBearer(auto_error=False))]) -> Grant:
    """Hand over what the guard found out about the token; here only so that the schema of the service says so."""
    grant: Grant = request.state.grant
    return grant


Authorized = Annotated[Grant, Depends(_granted)]


async def guard(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Let nobody in without a token, before anything of the request is read; no and wrong tokens look the same."""
    if request.url.path not in OPEN:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            grant = tokens.identify(request.app.state.home, token.strip() if scheme.lower() == "bearer" else "")
        except LakeError as error:
            return problem(503, str(error))
        if grant is None:
            return problem(401, _UNKNOWN, {"WWW-Authenticate": "Bearer"})
        request.state.grant = grant
    return await proceed(request)


def within(grant: Grant, profile_id: str | None) -> str | None:
    """Return the profile that a request is about, within what its token allows; None: all."""
    own = profile_id or grant.profile_id
    if own is not None and not grant.allows(own):
        raise HTTPException(403, f"the token is for profile {grant.profile_id!r} alone")
    return own


def _remembered(lake: Lake) -> set[str]:
    profiles = lake.ledger.profiles()
    return set(profiles.filter(profiles["memories"] > 0)["profile_id"])


def known(lake: Lake, profile_id: str | None) -> None:
    """Refuse a profile of which nothing is remembered."""
    if profile_id is not None and profile_id not in _remembered(lake):
        raise HTTPException(404, f"profile {profile_id!r} has no memory")


async def invalid(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request: field, value, remedy."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    if first["type"] == "json_invalid":
        return problem(422, f"the body is no JSON: {first['ctx']['error']}")
    place = ".".join(map(str, _named(first["loc"])))
    if first["type"] in {"model_attributes_type", "model_type"}:
        return problem(422, "the body is no JSON object; send one, with Content-Type: application/json")
    said = first["msg"].removeprefix("Value error, ")
    given = f"{place} = {first['input']!r}: " if place else ""
    return problem(422, f"{given}{said}; see /openapi.json")


def _named(steps: Sequence[int | str]) -> Sequence[int | str]:
    """Return the steps to a field that its caller knows."""
    for unnamed in _NO_FIELD:
        if steps and steps[0] in unnamed:
            steps = steps[1:]
    return steps


def refusal(code: int) -> Callable[[Request, Exception], Awaitable[JSONResponse]]:
    """Make what answers an error with a status and its message on one line."""

    async def refuse(_: Request, error: Exception) -> JSONResponse:
        return problem(code, " ".join(str(error).split()))

    return refuse


async def fault(_: Request, error: Exception) -> JSONResponse:
    """Answer a fault of our own."""
    return problem(500, f"{type(error).__name__}: a fault of memory-pipeline; the log of the server shows where")


def problem(code: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """Say in one line why a request was refused."""
    return JSONResponse({"detail": detail}, status_code=code, headers=headers)
