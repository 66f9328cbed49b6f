"""Executes a server's runs in the background: one at a time, in a separate process, so that it keeps answering.

Not here: what a run does (`actions.consolidate`), and who may request one (`http_server`).
"""

import multiprocessing
import signal
import threading
from collections import deque
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

from memory_pipeline.service import actions
from memory_pipeline.service.actions import Consolidation

REMEMBERED: Final = 20
"""Number of finished runs whose outcome a server keeps."""


class Refused(RuntimeError):
    """A run failed for a reason that it reports, such as a failed check; the message is the reason."""


class AlreadyQueued(ValueError):
    """The same run is queued already; the message names it."""


@dataclass
class RequestedRun:
    """A run that was requested, and its result once it is finished."""

    run_id: str
    request: Consolidation
    asked_at: datetime
    result: Future[dict[str, Any]] = field(repr=False)

    def status(self, *, running: bool) -> dict[str, Any]:
        """Return the status as JSON types; `state` is queued, running, succeeded or failed."""
        state, error, committed = "running" if running else "queued", None, None
        if self.result.cancelled():
            state, error = "failed", "the server stopped before the run began"
        elif self.result.done():
            problem = self.result.exception()
            state, error = ("failed", reason(problem)) if problem else ("succeeded", None)
            committed = None if problem else self.result.result()["run_id"]
        return {
            "run_id": self.run_id,
            "state": state,
            "task": self.request.kind,
            "scope": self.request.scope.value,
            "profile_id": self.request.profile_id,
            "asked_at": self.asked_at,
            "committed_run_id": committed,
            "error": error,
        }


class Runs:
    """The runs of one server on one data folder.

    Runs that commit are executed one at a time; dry runs have a separate process and wait for no run. If anything else
    commits meanwhile, such as a schedule, the earlier commit wins and the later run starts again.
    """

    def __init__(self, home: Path) -> None:
        """Store the data folder; processes start with the first run."""
        self._home = home
        self._lock = threading.Lock()
        self._pools: dict[str, ProcessPoolExecutor] = {}
        self._requested: deque[RequestedRun] = deque()

    def start(self, request: Consolidation, *, trigger: str) -> RequestedRun:
        """Put a run into the queue and return at once.

        Raises:
            AlreadyQueued: the same run is queued and has not begun; it will read everything that this one would.
        """
        with self._lock:
            open_runs = [run for run in self._requested if not run.result.done()]
            same = next((run for run in open_runs[1:] if run.request == request), None)
            if same is not None:
                raise AlreadyQueued(
                    f"the same run is queued already: {same.run_id}; it will see all that is stored by then"
                )
            run_id = str(uuid4())
            run = RequestedRun(run_id, request, datetime.now(UTC), self._submit("runs", request, trigger, run_id))
            self._requested.append(run)
            while len(self._requested) > REMEMBERED and self._requested[0].result.done():
                self._requested.popleft()
            return run

    def plan(self, request: Consolidation, *, trigger: str) -> dict[str, Any]:
        """Wait for a dry run and return its plan.

        Raises:
            Refused: the run failed; the message is the reason.
            ValueError: settings or request do not fit the store.
        """
        with self._lock:
            result = self._submit("plans", request, trigger, None)
        return result.result()

    def statuses(self) -> list[dict[str, Any]]:
        """Return the status of each requested run, newest first."""
        with self._lock:
            first = next((run for run in self._requested if not run.result.done()), None)
            return [run.status(running=run is first) for run in reversed(self._requested)]

    def close(self) -> None:
        """Finish the run in progress, cancel the queued ones, and stop the processes."""
        with self._lock:
            for pool in self._pools.values():
                pool.shutdown(cancel_futures=True)
            self._pools.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, pool: str, request: Consolidation, trigger: str, run_id: str | None) -> Future[dict[str, Any]]:
        for _ in range(2):
            if pool not in self._pools:
                context = multiprocessing.get_context("spawn")
                self._pools[pool] = ProcessPoolExecutor(1, mp_context=context, initializer=_ignore_interrupts)
            try:
                return self._pools[pool].submit(_perform, self._home, request, trigger, run_id)
            except BrokenExecutor:  # its process was killed; the next attempt starts a new one
                del self._pools[pool]
        raise RuntimeError("the process for runs stopped twice while starting; see the log of the server")


def reason(error: BaseException) -> str:
    """Return why a run failed, as one line."""
    if isinstance(error, BrokenExecutor):
        return "the process of the run was killed; nothing was half written, request the run again"
    message = " ".join(str(error).split())
    return message if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {message}"


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the server, which lets the run finish."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _perform(home: Path, request: Consolidation, trigger: str, run_id: str | None) -> dict[str, Any]:
    """Execute a run in the process for runs; raise errors with their message alone, since not every error pickles."""
    from memory_pipeline.service.launch import RunFailed  # noqa: PLC0415

    try:
        return actions.consolidate(home, request, trigger=trigger, run_id=run_id)
    except RunFailed as error:
        raise Refused(reason(error)) from error
    except ValueError as error:
        raise ValueError(reason(error)) from error
    except Exception as error:
        raise RuntimeError(reason(error)) from error
