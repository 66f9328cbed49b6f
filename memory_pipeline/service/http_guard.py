"""Authorisation of the HTTP service, and its error answers: one line each, as JSON.

Not here: the routes (`http_server`, `http_memories`), and who has a valid token (`middleware`).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import Depends, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, Field

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.validation_errors import finding, nearest, shown
from memory_pipeline.service.auth_tokens import Grant
from memory_pipeline.service.limits import RETRY_SECONDS, Busy
from memory_pipeline.service.profile_choice import stored_profiles

OPEN: Final = frozenset({"/health", "/openapi.json", "/docs"})
"""Paths that need no token."""
PAGES: Final = "/ui"
"""Path of the pages for people, where they are served; a browser signs in there (`ui/sign_in`)."""

SINGLE: Final = "object"
SEVERAL: Final = "array"
"""JSON types that distinguish one memory from a list of them."""


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str = Field(description="What is wrong and how to correct it.")


def _granted(request: Request, _: Annotated[Any, Depends(HTTPBearer(auto_error=False))]) -> Grant:
    """Return the grant that the gate found; a dependency only so that the schema says a token is required."""
    grant: Grant = request.state.grant
    return grant


Authorized = Annotated[Grant, Depends(_granted)]


def is_open(path: str, *, pages: bool) -> bool:
    """Return whether a path of the service needs no token; `pages`: it serves the pages for people too."""
    return path in OPEN or (pages and f"{path}/".startswith(f"{PAGES}/"))


def authorized_profile(grant: Grant, profile_id: str | None) -> str | None:
    """Return the profile of a request, or None for all; answers 403 if the token does not allow it."""
    owner = profile_id or grant.profile_id
    if owner is not None and not grant.allows(owner):
        raise HTTPException(403, f"the token is only for profile {grant.profile_id!r}")
    return owner


def require_memories(lake: Lake, profile_id: str | None) -> None:
    """Answer 404 for a profile that has no memories."""
    if profile_id is not None and profile_id not in stored_profiles(lake):
        raise HTTPException(404, f"profile {profile_id!r} has no memory")


async def invalid(request: Request, error: Exception) -> JSONResponse:
    """Answer an invalid request with field, value and remedy."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    if first["type"] == "json_invalid" and first["loc"][0] == "body":
        return problem(request, 422, f"the body is not JSON: {first['ctx']['error']}; send JSON")
    part, *place = first["loc"]
    document = request.app.openapi()
    operation = document["paths"][request.scope["route"].path_format][request.method.lower()]
    if part == "body":
        schema, value = operation["requestBody"]["content"]["application/json"]["schema"], "the body"
    else:
        fields = {field["name"]: field["schema"] for field in operation["parameters"] if field["in"] == part}
        schema, value = {"properties": fields, "required": [name for name in fields if part == "path"]}, part
    detail = finding({**first, "loc": place}, schema, document, value=value)
    return problem(
        request, 422, f"{detail}, with Content-Type: application/json" if detail.startswith("the body") else detail
    )


async def known_parameters(request: Request) -> None:
    """Answer 422 to an unknown query parameter: if it were ignored, the route would do something else than asked."""
    methods = request.app.openapi()["paths"].get(getattr(request.scope["route"], "path_format", ""), {})
    parameters = methods.get(request.method.lower(), {}).get("parameters", [])
    known = [parameter["name"] for parameter in parameters if parameter["in"] == "query"]
    for name in request.query_params:
        if name not in known:
            raise HTTPException(422, f"{shown(name)} is not a known parameter; {nearest(name, known)}")


async def unreadable(request: Request, _: Exception) -> JSONResponse:
    """Answer a body that the JSON parser gives up on, which the framework reports as a bad request (400)."""
    return problem(
        request,
        422,
        "the body cannot be read: it is nested too deeply, has too long a number, or is not UTF-8; send plain JSON",
    )


def error_handlers(
    codes: Mapping[type[Exception], int], answered: Callable[[Request, int, str], Response]
) -> dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
    """Return what answers each class of error with its status; `answered` makes the answer, such as a page."""

    def refusal(code: int) -> Callable[[Request, Exception], Awaitable[Response]]:
        async def refuse(request: Request, error: Exception) -> Response:
            return answered(request, code, " ".join(str(error).split()))

        return refuse

    async def busy(request: Request, error: Exception) -> Response:
        answer = answered(request, error.status if isinstance(error, Busy) else 503, str(error))
        answer.headers["Retry-After"] = str(RETRY_SECONDS)
        return answer

    async def fault(request: Request, error: Exception) -> Response:
        return answered(request, 500, f"{type(error).__name__}: a bug in memory-pipeline; the server's log shows where")

    return {**{kind: refusal(code) for kind, code in codes.items()}, Busy: busy, Exception: fault}


def problem(_: Request, code: int, detail: str) -> JSONResponse:
    """Build an error answer."""
    return JSONResponse({"detail": detail}, code)
