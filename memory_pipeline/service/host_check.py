"""Checks Host and Origin of requests, so that a page of another site cannot reach a server.

A browser sends the name in the URL as Host, and the site of the page as Origin. Not here: tokens
(`auth_tokens`), and the same check in the MCP server, which its SDK makes (`mcp_http`).
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""Names of the loopback address in URLs."""
_LAST_PORT: Final = 65_535
HEALTH: Final = "/health"
"""Path that probes may call by any address, and whose requests wait for no others."""


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


class HostCheck:
    """ASGI middleware that answers 421 to an unknown name in Host, and 403 to another site in Origin."""

    def __init__(self, app: ASGIApp, names: Sequence[str]) -> None:
        """Wrap an application; `names` are those by which it may be called, without ports."""
        self._app = app
        self._names = frozenset(name.strip("[]").lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection or lifespan event."""
        if scope["type"] == "http" and scope["path"] != HEALTH:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            origin = headers.get(b"origin")
            refused = (
                (421, "Host", headers.get(b"host", ""))
                if _host(f"//{headers.get(b'host', '')}") not in self._names
                else (403, "Origin", origin)
                if origin is not None and _host(origin) not in self._names
                else None
            )
            if refused:
                code, header, value = refused
                detail = f"{header} is {value!r}, which is not a name of this server; start it with --host-name NAME"
                await JSONResponse({"detail": detail}, code)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _host(url: str) -> str | None:
    """Return the host that a URL names; None if it names none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
