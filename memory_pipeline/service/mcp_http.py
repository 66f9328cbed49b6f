"""MCP over streamable HTTP: bearer tokens as for the HTTP service, and a check of Host and Origin."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import ASGIApp

from memory_pipeline.service.limits import limits
from memory_pipeline.service.middleware import Address, check_tokens, limit_bodies

PATH: Final = "/mcp"
"""Path of the endpoint."""


def application(server: MCPServer[Any], home: Path, address: Address, host_names: Sequence[str] = ()) -> ASGIApp:
    """Build the ASGI application that serves an MCP server at `PATH`, under further names too, such as a proxy's.

    Sessions are stateless, so that a token is checked on every request and none can use another's session.
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
    for route in app.routes:
        if isinstance(route, Route):
            route.methods = {"POST"}  # a GET opens a stream, which nothing is sent on and which takes a connection
    return check_tokens(limit_bodies(app, partial(limits, home)), home)
