"""Who may ask the HTTP service, for which profile, and how a request is refused: in one line, as JSON.

What is not here: the routes (`http_server`, `http_memories`), and how tokens are kept (`lake.tokens`).
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.validation_errors import finding
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Grant

OPEN: Final = frozenset({"/health", "/openapi.json"})
"""Paths that need no token."""

SINGLE: Final = "object"
SEVERAL: Final = "array"
"""How the schema tells a single object from a list of them: by their JSON types."""


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str = Field(description="What is wrong, and what to do about it.")


def _granted(request: Request, _: Annotated[Any, Depends(HTTPBearer(auto_error=False))]) -> Grant:
    """Hand over what the guard found out about the token; here only so that the schema of the service says so."""
    grant: Grant = request.state.grant
    return grant


Authorized = Annotated[Grant, Depends(_granted)]


async def guard(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Reject a request without a valid token before reading anything of it; the answer never says what was wrong."""
    if request.url.path not in OPEN:
        try:
            grant = auth_tokens.identify_header(request.app.state.home, request.headers.get("authorization", ""))
        except LakeError as error:
            return problem(503, str(error))
        if grant is None:
            return problem(401, auth_tokens.REFUSED, {"WWW-Authenticate": "Bearer"})
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


async def invalid(request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request: field, value, remedy."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    if first["type"] == "json_invalid":
        return problem(422, f"the body is no JSON: {first['ctx']['error']}; send JSON")
    part, *place = first["loc"]
    document = request.app.openapi()
    asked = document["paths"][request.scope["route"].path_format][request.method.lower()]
    if part == "body":
        schema, value = asked["requestBody"]["content"]["application/json"]["schema"], "the body"
    else:
        named = {one["name"]: one["schema"] for one in asked["parameters"] if one["in"] == part}
        schema, value = {"properties": named, "required": [name for name in named if part == "path"]}, part
    said = finding({**first, "loc": place}, schema, document, value=value)
    return problem(422, f"{said}, with Content-Type: application/json" if said.startswith("the body") else said)


async def unreadable(_: Request, __: Exception) -> JSONResponse:
    """Answer a body that JSON's reader gives up on, which the framework calls a bad request (400)."""
    return problem(
        422, "the body cannot be read: it is nested too deeply, has too long a number, or is not UTF-8; send plain JSON"
    )


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
