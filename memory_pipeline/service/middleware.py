"""ASGI middlewares of the servers: known hosts, valid tokens, bodies within limits, and the times of requests.

Not here: how tokens are stored (`auth_tokens`), what each allows (`http_guard`, `profile_choice`), how connections take
turns (`listening`), and the check of hosts in the MCP server, which its SDK makes (`mcp_http`).
"""

import asyncio
import ipaddress
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_pipeline.ledger.database import LakeError
from memory_pipeline.runs.metrics import PREFIX
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.profile_choice import GRANT
from memory_pipeline.settings import Settings

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""Names of the loopback address in URLs."""
HEALTH: Final = "/health"
"""Path that probes may call by any address, and whose requests wait for no others."""
_LAST_PORT: Final = 65_535
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @staticmethod
    def parse(text: str) -> "Address":
        """Read `HOST:PORT`, `:PORT` or `PORT`; without a host it is loopback. An IPv6 host is in brackets.

        Raises:
            ValueError: the port is missing or not from 0 to 65535.
        """
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > _LAST_PORT:
            raise ValueError(f"{text!r} is not an address; write HOST:PORT, such as 127.0.0.1:8001")
        return Address(host.strip("[]") or LOOPBACK[0], int(port))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def names(self, more: Sequence[str] = ()) -> list[str]:
        """Return the names by which clients may call it: loopback, its own, and `more`, such as a proxy's."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        return [*LOOPBACK, *([] if self.loopback else [own]), *more]


def check_hosts(app: ASGIApp, names: Sequence[str]) -> ASGIApp:
    """Answer 421 to an unknown name in Host, and 403 to another site in Origin, so that no other page gets in.

    A browser sends the name in the URL as Host, and the site of the page as Origin. Names have no ports.
    """
    known = frozenset(name.strip("[]").lower() for name in names)

    def refusal(scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        if scope["path"] == HEALTH or (_host(f"//{host}") in known and (origin is None or _host(origin) in known)):
            return None
        code, header, value = (403, "Origin", origin) if _host(f"//{host}") in known else (421, "Host", host)
        detail = f"{header} is {value!r}, which is not a name of this server; start it with --host-name NAME"
        return JSONResponse({"detail": detail}, code)

    return _checked(app, refusal)


def _checked(app: ASGIApp, refusal: Callable[[Scope], Response | None]) -> ASGIApp:
    """Answer each request with what refuses it, if anything does."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        await ((refusal(scope) if scope["type"] == "http" else None) or app)(scope, receive, send)

    return checked


def _host(url: str) -> str | None:
    """Return the host that a URL names; None if it names none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def check_tokens(app: ASGIApp, home: Path, *, is_open: Callable[[str], bool] = lambda _: False) -> ASGIApp:
    """Answer 401 without a valid token, but for paths that are open, and hand the token's grant on with the request.

    Nothing of the request is read before, and the answer never says what was wrong with the token.
    """

    def refusal(scope: Scope) -> Response | None:
        if is_open(scope["path"]):
            return None
        authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        try:
            grant = auth_tokens.identify_header(home, authorization)
        except LakeError as error:
            return JSONResponse({"detail": str(error)}, 503)
        if grant is None:
            return JSONResponse({"detail": auth_tokens.REFUSED}, 401, {"WWW-Authenticate": "Bearer"})
        scope.setdefault("state", {})[GRANT] = grant
        return None

    return _checked(app, refusal)


def limit_bodies(app: ASGIApp, limits: Callable[[], Settings]) -> ASGIApp:
    """Answer 413 to a body larger than `max_body_bytes` of the settings in force, having read no more than that.

    And 408 if nothing of the body arrives for `idle_seconds`, or not all of it within `body_seconds`: a chunked body
    may have no end.
    """

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            await app(scope, receive, send)
            return
        allowed, messages, declared, received = limits(), list[Message](), _declared(scope), 0
        most, patience = allowed.max_body_bytes, allowed.idle_seconds
        ends = time.monotonic() + allowed.body_seconds
        while max(declared, received) <= most:
            left = ends - time.monotonic()
            try:
                messages.append(message := await asyncio.wait_for(receive(), max(0.0, min(patience, left))))
            except TimeoutError:
                detail = (
                    f"no part of the body arrived for idle_seconds = {patience}; send it again"
                    if patience < left
                    else f"the body was not complete within body_seconds = {allowed.body_seconds}; send it in several "
                    "requests, or raise the setting"
                )
                await JSONResponse({"detail": detail}, 408, {"Connection": "close"})(scope, receive, send)
                return
            if message["type"] == "http.disconnect":
                await Response(status_code=400)(
                    scope, receive, send
                )  # nobody reads it, but a middleware around wants it
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

        await app(scope, replayed, send)

    return limited


def _declared(scope: Scope) -> int:
    """Return the length that the request declares; 0 if it declares none."""
    length = dict(scope["headers"]).get(b"content-length", b"")
    return int(length) if length.isdigit() else 0


class RequestTimes:
    """A histogram of request durations by method, route and status; every server process counts its own."""

    def __init__(self) -> None:
        """Begin with no request."""
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            f"{PREFIX}request_seconds",
            "Duration of requests to this server process.",
            ["method", "route", "status"],
            registry=self._registry,
            buckets=_BUCKETS,
        )

    def add(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request under the pattern of its route, never a path with ids; empty if no route matches."""
        route = getattr(scope.get("route"), "path", "")
        self._seconds.labels(scope["method"], route, str(status)).observe(seconds)

    def exposition(self) -> str:
        """Format the histogram as text for Prometheus."""
        return generate_latest(self._registry).decode()


def time_requests(app: ASGIApp, times: RequestTimes) -> ASGIApp:
    """Measure every request."""

    async def timed(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        began, status = time.perf_counter(), [500]

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        try:
            await app(scope, receive, noted)
        finally:
            times.add(scope, status[0], time.perf_counter() - began)

    return timed
