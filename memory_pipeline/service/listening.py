"""Serves an ASGI application on a socket, with timeouts for slow clients and a stop within seconds.

Not here: the applications (`http_server`, `mcp_http`), and the limit on bodies (`body_limit`).
"""

import asyncio
import socket
from typing import Literal

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory_pipeline.service.background_runs import Runs
from memory_pipeline.settings import Settings


def listen(
    app: ASGIApp, listener: socket.socket, runs: Runs, settings: Settings, *, log_level: Literal["info", "warning"]
) -> None:
    """Serve until Ctrl-C or SIGTERM; then stop within about `stop_seconds`.

    Args:
        app: the application.
        listener: a listening socket.
        runs: the runs that the application requests; stopped first.
        settings: `idle_seconds` and `stop_seconds`.
        log_level: what the server logs.
    """
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        log_level=log_level,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
    )
    try:
        _Server(config, runs).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again after a clean shutdown
        return


class _Server(uvicorn.Server):
    """A server that, on shutdown, ends its runs first and then waits for the requests that depend on them."""

    def __init__(self, config: uvicorn.Config, runs: Runs) -> None:
        super().__init__(config)
        self._runs = runs

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._runs.stop()
        await super().shutdown(sockets)
        await asyncio.to_thread(self._runs.close)


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose next header is not complete within `timeout_keep_alive`.

    uvicorn stops its own clock at the first byte, so that a client could hold a connection forever by sending a byte
    now and then.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of the first header."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read on, and start or stop the clock."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock when a header is awaited, and stop it when a request is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
