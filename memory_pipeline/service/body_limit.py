"""A limit on request bodies, shared by the HTTP service and the MCP server."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_pipeline.settings import Settings, SettingsError, load

_DEFAULT: Final = Settings().max_body_bytes


class BodyLimit:
    """ASGI middleware that answers 413 to a body larger than `max_body_bytes`, having read no more than that."""

    def __init__(self, app: ASGIApp, most: Callable[[], int]) -> None:
        """Wrap an application; `most` returns the largest body in bytes."""
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection or lifespan event."""
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            await self._app(scope, receive, send)
            return
        most, messages, declared, received = self._most(), list[Message](), _declared(scope), 0
        while max(declared, received) <= most:
            messages.append(message := await receive())
            received += len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                break
        if max(declared, received) > most:
            said = f"the body has more than max_body_bytes = {most}; send it in several requests, or raise the setting"
            await JSONResponse({"detail": said}, 413, {"Connection": "close"})(scope, receive, send)
            return
        unread = iter(messages)

        async def replayed() -> Message:
            return next(unread, None) or await receive()

        await self._app(scope, replayed, send)


def _declared(scope: Scope) -> int:
    """Return the length that the request declares; 0 if it declares none."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    return int(length) if length.isdigit() else 0


def largest_body(home: Path) -> int:
    """Return the setting of a data folder, or its default where the settings cannot be read."""
    try:
        return load(home).max_body_bytes
    except SettingsError:
        return _DEFAULT
