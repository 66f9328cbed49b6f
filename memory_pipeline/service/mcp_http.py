"""MCP over streamable HTTP: bearer tokens as for the HTTP service, and a check of Host and Origin.

Not here: the tools and what a token allows in them (`mcp_server`), and how tokens are stored (`auth_tokens`).
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_pipeline.ledger.database import LakeError
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.body_limit import BodyLimit
from memory_pipeline.service.host_check import Address
from memory_pipeline.service.limits import limits
from memory_pipeline.service.mcp_access import GRANT

PATH: Final = "/mcp"
"""Path of the endpoint."""


def application(server: MCPServer[Any], home: Path, address: Address, host_names: Sequence[str] = ()) -> ASGIApp:
    """Build the ASGI application that serves an MCP server at `PATH`.

    Sessions are stateless, so that a token is checked on every request and none can use another's session.

    Args:
        home: data folder, which holds the tokens.
        address: where it will listen.
        host_names: further names that clients may use in Host and Origin, such as that of a proxy.
    """
    names = address.names(host_names)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[pattern for name in names for pattern in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{pattern}" for scheme in ("http", "https") for name in names for pattern in (name, f"{name}:*")
        ],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True, transport_security=security
    )
    return TokenGate(BodyLimit(app, partial(limits, home)), home)


class TokenGate:
    """ASGI middleware that answers 401 without a valid token, and hands the token's grant on with the request."""

    def __init__(self, app: ASGIApp, home: Path) -> None:
        """Wrap an application; `home` holds the tokens."""
        self._app = app
        self._home = home

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection or lifespan event."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            grant = auth_tokens.identify_header(self._home, headers.get(b"authorization", b"").decode("latin-1"))
        except LakeError as error:
            await JSONResponse({"detail": str(error)}, 503)(scope, receive, send)
            return
        if grant is None:
            refusal = JSONResponse({"detail": auth_tokens.REFUSED}, 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._app({**scope, "state": {**scope.get("state", {}), GRANT: grant}}, receive, send)
