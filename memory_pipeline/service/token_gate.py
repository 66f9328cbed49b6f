"""Turns away requests without a valid token, in the HTTP service and in MCP over HTTP.

Not here: how tokens are stored (`auth_tokens`), and what each allows (`http_guard`, `mcp_access`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_pipeline.ledger.database import LakeError
from memory_pipeline.service import auth_tokens

GRANT: Final = "grant"
"""Key of the token's grant in the state of a request."""


class TokenGate:
    """ASGI middleware that answers 401 without a valid token, and hands the token's grant on with the request.

    Nothing of the request is read before, and the answer never says what was wrong with the token.
    """

    def __init__(self, app: ASGIApp, home: Path, *, is_open: Callable[[str], bool] = lambda _: False) -> None:
        """Wrap an application; `home` holds the tokens, and `is_open` says which paths need none."""
        self._app = app
        self._home = home
        self._is_open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection or lifespan event."""
        if scope["type"] == "http" and not self._is_open(scope["path"]):
            authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
            try:
                grant = auth_tokens.identify_header(self._home, authorization)
            except LakeError as error:
                await JSONResponse({"detail": str(error)}, 503)(scope, receive, send)
                return
            if grant is None:
                refusal = JSONResponse({"detail": auth_tokens.REFUSED}, 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
            scope.setdefault("state", {})[GRANT] = grant
        await self._app(scope, receive, send)
