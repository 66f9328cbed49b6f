"""Durations of requests, as a histogram for Prometheus; every server process counts its own."""

import time
from typing import Final

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_pipeline.runs.metrics import PREFIX

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RequestTimes:
    """A histogram of request durations by method, route and status."""

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


class Timing:
    """ASGI middleware that measures every request."""

    def __init__(self, app: ASGIApp, times: RequestTimes) -> None:
        """Wrap an application."""
        self._app = app
        self._times = times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection or lifespan event."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), [500]

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._times.add(scope, status[0], time.perf_counter() - began)
