"""Limits on request bodies, shared by the HTTP service and the MCP server."""

import asyncio
import time
from collections.abc import Callable

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_pipeline.settings import Settings


class BodyLimit:
    """ASGI middleware that reads bodies within limits.

    It answers 413 to a body larger than `max_body_bytes`, having read no more than that, and 408 if nothing of the
    body arrives for `idle_seconds`, or not all of it within `body_seconds`: a chunked body may have no end.
    """

    def __init__(self, app: ASGIApp, limits: Callable[[], Settings]) -> None:
        """Wrap an application; `limits` returns the settings in force."""
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection or lifespan event."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            await self._app(scope, receive, send)
            return
        limits, messages, declared, received = self._limits(), list[Message](), _declared(scope), 0
        most, patience = limits.max_body_bytes, limits.idle_seconds
        ends = time.monotonic() + limits.body_seconds
        while max(declared, received) <= most:
            left = ends - time.monotonic()
            try:
                messages.append(message := await asyncio.wait_for(receive(), max(0.0, min(patience, left))))
            except TimeoutError:
                detail = (
                    f"no part of the body arrived for idle_seconds = {patience}; send it again"
                    if patience < left
                    else f"the body was not complete within body_seconds = {limits.body_seconds}; send it in several "
                    "requests, or raise the setting"
                )
                await JSONResponse({"detail": detail}, 408, {"Connection": "close"})(scope, receive, send)
                return
            if (
                message["type"] == "http.disconnect"
            ):  # nobody reads the answer, but a middleware around this one wants it
                await Response(status_code=400)(scope, receive, send)
                return
            received += len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        if max(declared, received) > most:
            detail = f"the body exceeds max_body_bytes = {most}; send it in several requests, or raise the setting"
            await JSONResponse({"detail": detail}, 413, {"Connection": "close"})(scope, receive, send)
            return
        unread = iter(messages)

        async def replayed() -> Message:
            return next(unread, None) or await receive()

        await self._app(scope, replayed, send)


def _declared(scope: Scope) -> int:
    """Return the length that the request declares; 0 if it declares none."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    return int(length) if length.isdigit() else 0
