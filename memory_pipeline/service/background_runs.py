"""Executes a server's runs in the background: one at a time, in a separate process, so that it keeps answering.

Not here: what a run does (`actions.consolidate`), how many may wait (`limits`), and who may request one
(`http_server`).
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from memory_pipeline.ledger.database import LakeError
from memory_pipeline.runs import live_runs
from memory_pipeline.service import actions
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.limits import limits
from memory_pipeline.service.process import collect_seldom

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

REMEMBERED: Final = 20
"""Number of finished runs whose outcome a server keeps."""

_STOPPED: Final = "the server stopped before the run was finished; nothing was half written, request the run again"
_KILLED: Final = "the process of the run was killed; nothing was half written, request the run again"

_SPAWN: Final = multiprocessing.get_context("spawn")


class Refused(RuntimeError):
    """A run failed for a reason that it reports, such as a failed check; the message is the reason."""


class Ended(RuntimeError):
    """A run was ended from outside: its process was killed, it took too long, or the server stopped."""


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
        if self.result.done():
            problem = self.result.exception()
            state, error = ("failed", reason(problem)) if problem else ("succeeded", None)
            committed = None if problem else self.result.result()["run_id"]
        return {
            "run_id": self.run_id,
            "state": state,
            "task": self.request.kind,
            "scope": self.request.scope,
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
        """Store the data folder; processes start with the first run, or if a run of an earlier server was killed."""
        self._home = home
        self._lock = threading.Lock()
        self._runs, self._plans = _Lane(home), _Lane(home)
        _end_abandoned(home)
        self._requested: deque[RequestedRun] = deque()

    def start(self, request: Consolidation, *, trigger: str) -> RequestedRun:
        """Put a run into the queue and return at once; AlreadyQueued, if the same one waits, which reads as much."""
        with self._lock:
            open_runs = [run for run in self._requested if not run.result.done()]
            same = next((run for run in open_runs[1:] if run.request == request), None)
            if same is not None:
                raise AlreadyQueued(
                    f"the same run is queued already: {same.run_id}; it will see all that is stored by then"
                )
            run_id = str(uuid4())
            run = RequestedRun(run_id, request, datetime.now(UTC), self._runs.submit(request, trigger, run_id))
            self._requested.append(run)
            while len(self._requested) > REMEMBERED and self._requested[0].result.done():
                self._requested.popleft()
            return run

    def start_holding(self, request: Consolidation, held: ExitStack, *, trigger: str) -> RequestedRun:
        """Start a run; `held` is closed when the run has ended, or at once if it is refused."""
        with held:
            run = self.start(request, trigger=trigger)
            kept = held.pop_all()
        run.result.add_done_callback(lambda _: kept.close())
        return run

    def plan(self, request: Consolidation, *, trigger: str) -> dict[str, Any]:
        """Wait for a dry run and return its plan.

        Raises:
            Refused: the run failed; the message is the reason.
            Ended: it took longer than `dry_run_seconds`, or the server stops.
            ValueError: settings or request do not fit the store.
        """
        return self._plans.submit(request, trigger, None).result()

    def statuses(self) -> list[dict[str, Any]]:
        """Return the status of each requested run, newest first."""
        with self._lock:
            first = next((run for run in self._requested if not run.result.done()), None)
            return [run.status(running=run is first) for run in reversed(self._requested)]

    def stop(self) -> None:
        """Drop queued runs, end dry runs at once and a run in progress after `stop_seconds`; returns at once."""
        patience = limits(self._home).stop_seconds
        self._plans.stop(0)
        self._runs.stop(patience)

    def close(self) -> None:
        """Stop, and wait for the runs to end. A run stopped midway has changed nothing or committed in full."""
        self.stop()
        self._plans.close()
        self._runs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Lane:
    """A queue of runs and the process that executes them, started with the first run and again after it ended."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._queue = ThreadPoolExecutor(1)
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._stopping = self._killed = False
        self._killer: threading.Timer | None = None

    def submit(self, request: Consolidation, trigger: str, run_id: str | None) -> Future[dict[str, Any]]:
        """Queue a run; Ended, if the server stops."""
        try:
            return self._queue.submit(self._perform, request, trigger, run_id)
        except RuntimeError:  # the queue was shut down
            raise Ended(_STOPPED) from None

    def stop(self, patience: float) -> None:
        """Accept no more runs, and end the one in progress after `patience` seconds; a second call changes nothing."""
        if not self._stopping:
            self._stopping = True
            self._queue.shutdown(wait=False)
            self._killer = threading.Timer(patience, self._kill)
            self._killer.daemon = True
            self._killer.start()

    def close(self) -> None:
        self._queue.shutdown()
        if self._killer is not None:
            self._killer.cancel()
        self._kill()

    def _perform(self, request: Consolidation, trigger: str, run_id: str | None) -> dict[str, Any]:
        """Execute a run in the process and wait for it, within the time that the settings allow."""
        if self._stopping:
            raise Ended(_STOPPED)
        setting = "dry_run_seconds" if request.dry_run else "run_seconds"
        seconds = int(getattr(limits(self._home), setting))
        pipe = self._started()
        try:
            pipe.send((self._home, request, trigger, run_id))
            if not pipe.poll(seconds):
                self._end_process()
                raise Ended(f"the run was stopped after {setting} = {seconds}; raise the setting, or name one profile")
            answer = pipe.recv()
        except (EOFError, OSError) as error:
            raise Ended(_STOPPED if self._stopping else _KILLED) from error
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def _started(self) -> Connection:
        """Return the pipe to the process, starting the process unless it is alive."""
        if self._process is None or self._pipe is None or not self._process.is_alive():
            if self._pipe is not None:
                self._pipe.close()
            self._pipe, theirs = _SPAWN.Pipe()
            process = _SPAWN.Process(target=_execute_runs, args=(theirs,))
            process.start()
            theirs.close()
            self._process = process
        if self._killed:  # while it started
            self._end_process()
        return self._pipe

    def _kill(self) -> None:
        self._killed = True
        self._end_process()

    def _end_process(self) -> None:
        if (process := self._process) is not None:
            process.kill()
            process.join()


def _end_abandoned(home: Path) -> None:
    """Report runs of killed servers as failed in Dagster's history, in a separate process, since that takes seconds."""
    if live_runs.abandoned(home):
        _SPAWN.Process(target=_report_abandoned, args=(home,), daemon=True).start()


def _report_abandoned(home: Path) -> None:
    from memory_pipeline.sensors.requests import end_abandoned  # noqa: PLC0415
    from memory_pipeline.service import launch  # noqa: PLC0415

    with launch.instance(home) as instance:
        end_abandoned(instance, home)


def reason(error: BaseException) -> str:
    """Return why a run failed, as one line."""
    message = " ".join(str(error).split())
    return message if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {message}"


def _execute_runs(pipe: Connection) -> None:
    """Execute the runs that a server sends, in a process of their own, until the server ends."""
    collect_seldom()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which decides how the run ends
    threading.Thread(target=_end_with_server, daemon=True).start()
    while True:
        try:
            home, request, trigger, run_id = pipe.recv()
        except EOFError:
            return
        try:
            answer: dict[str, Any] | Exception = _executed(home, request, trigger, run_id)
        except Exception as error:  # noqa: BLE001 - the server passes any error on to the caller
            answer = error
        pipe.send(answer)


def _end_with_server() -> None:
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
    os._exit(1)


def _executed(home: Path, request: Consolidation, trigger: str, run_id: str | None) -> dict[str, Any]:
    """Execute a run; raise errors with their message alone, since not every error pickles."""
    from memory_pipeline.service.launch import RunFailed  # noqa: PLC0415

    try:
        return actions.consolidate(home, request, trigger=trigger, run_id=run_id)
    except RunFailed as error:
        raise Refused(reason(error)) from error
    except ValueError as error:
        raise ValueError(reason(error)) from error
    except LakeError as error:
        raise LakeError(reason(error)) from error
    except Exception as error:
        raise RuntimeError(reason(error)) from error
