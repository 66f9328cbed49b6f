"""Serves an ASGI application on a socket, with timeouts for slow clients, turns, and a stop within seconds.

Not here: the applications (`http_server`, `mcp_http`), and the limit on bodies (`middleware`).
"""

import asyncio
import logging
import resource
import socket
from collections import Counter, deque
from collections.abc import Collection
from http import HTTPStatus
from typing import ClassVar, Final, Literal

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.middleware import HEALTH
from memory_pipeline.settings import Settings

LINGER_SECONDS: Final = 2
"""Seconds after an answer for which more of the body of its request is read, so that a client that sends before it
reads gets the answer."""


def listen(
    app: ASGIApp, listener: socket.socket, runs: Runs, settings: Settings, *, log_level: Literal["info", "warning"]
) -> None:
    """Serve until Ctrl-C or SIGTERM; then stop within about `stop_seconds`, the runs of the application first."""
    config = uvicorn.Config(
        Turns(app),
        http=ImpatientProtocol,
        log_level=log_level,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
    )
    logging.getLogger("uvicorn.access").addFilter(worth_a_line)
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)  # those of the store need the other half
    most = settings.max_connections if files == resource.RLIM_INFINITY else min(settings.max_connections, files // 2)
    ImpatientProtocol.open = Connections(most, settings.max_connections_per_address)
    try:
        _Server(config, runs).run(sockets=[listener])
    except KeyboardInterrupt:  # uvicorn raises it again after a clean shutdown
        return


class Turns:
    """ASGI middleware that begins requests one after another, those of each address in turn, /health at once.

    What a request does in the event loop takes about a millisecond. Begun together, those of hundreds of connections
    would hold the loop for their sum, over and over, and everybody else's with it.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, when it is its turn, or lifespan event."""
        if scope["type"] == "http" and scope["path"] != HEALTH:
            await self._turn((scope.get("client") or ("",))[0])
        await self._app(scope, receive, send)

    async def _turn(self, address: str) -> None:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._begin_one, loop)
        self._waiting.setdefault(address, deque()).append(turn := loop.create_future())
        await turn

    def _begin_one(self, loop: asyncio.AbstractEventLoop) -> None:
        address = next(iter(self._waiting))
        turns = self._waiting.pop(address)
        turn = turns.popleft()
        if turns:
            self._waiting[address] = turns  # behind the other addresses
        if not turn.done():  # it is, where the server stops
            turn.set_result(None)
        if self._waiting:
            loop.call_soon(self._begin_one, loop)


def worth_a_line(record: logging.LogRecord) -> bool:
    """Return whether a line of `uvicorn.access` belongs into the log: no probe that finds all well does."""
    return not (isinstance(record.args, tuple) and record.args[2] == HEALTH and record.args[4] == HTTPStatus.OK)


class _Server(uvicorn.Server):
    """A server that, on shutdown, ends its runs first and then waits for the requests that depend on them."""

    def __init__(self, config: uvicorn.Config, runs: Runs) -> None:
        super().__init__(config)
        self._runs = runs

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._runs.stop()
        await super().shutdown(sockets)
        await asyncio.to_thread(self._runs.close)


class Connections:
    """The open connections of a server, oldest idle first, bounded in all and per address.

    A new connection beyond a bound takes the place of the one for which the server has waited longest; where every one
    is being answered, the new one is closed. So a client with many connections loses its own, and others are served.
    """

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most, self._most_per_address = most, most_per_address
        self._open: dict[ImpatientProtocol, str] = {}
        self._counts: Counter[str] = Counter()

    def add(self, new: "ImpatientProtocol", address: str) -> None:
        """Count a new connection, and close one where there are too many."""
        self._open[new] = address
        self._counts[address] += 1
        if self._counts[address] > self._most_per_address:
            self._close_one(new, {address})
        elif len(self._open) > self._most:
            self._close_one(new, self._counts.keys())

    def renew(self, used: "ImpatientProtocol") -> None:
        """Note that a request of a connection was answered: it is the one that was idle for the shortest time."""
        if used in self._open:
            self._open[used] = self._open.pop(used)

    def remove(self, gone: "ImpatientProtocol") -> None:
        """Forget a connection."""
        if (address := self._open.pop(gone, None)) is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def _close_one(self, new: "ImpatientProtocol", addresses: Collection[str]) -> None:
        """Close the oldest that waits, of the address with most that wait; where none does, the new one."""
        waiting = [(one, at) for one, at in self._open.items() if at in addresses and one is not new and one.waiting]
        most = Counter(at for _, at in waiting).most_common(1)
        closed = next((one for one, at in waiting if at == most[0][0]), new)
        self.remove(closed)
        closed.transport.abort()


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose next header is not complete within `timeout_keep_alive`.

    And one whose body goes on for `LINGER_SECONDS` after the answer to it. uvicorn stops its own clock at the first
    byte, so that a client could hold a connection forever by sending a byte now and then.
    """

    open: ClassVar[Connections] = Connections(512, 256)
    """Connections of this process."""
    _deadline: asyncio.TimerHandle | None = None
    _lingers = False

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def waiting(self) -> bool:
        """Whether the server waits for the client, or its next request for an answer to the one before.

        For a header, for more of a body, or until it reads its answer. Who sends many requests at once takes no place
        of others with them.
        """
        return self.idle or self.cycle.more_body or self.flow.write_paused or self.flow.read_paused

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of the first header, and count the connection."""
        super().connection_made(transport)
        self._watch()
        peer = transport.get_extra_info("peername")
        self.open.add(self, str(peer[0]) if peer else "")

    def data_received(self, data: bytes) -> None:
        """Read on, and start or stop the clock."""
        super().data_received(data)
        if not self.idle:
            self.open.renew(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock, and forget the connection."""
        self.open.remove(self)
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock when a header or the end of an answered body is awaited; stop it during an answer."""
        lingers = self.conn.their_state is h11.SEND_BODY
        if not self.idle or lingers is not self._lingers:
            self._forget()
        self._lingers = lingers
        if self.idle and self._deadline is None:
            seconds = min(LINGER_SECONDS, self.timeout_keep_alive) if lingers else self.timeout_keep_alive
            self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
