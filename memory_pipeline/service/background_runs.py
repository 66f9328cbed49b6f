"""Runs that a server makes in the background: one after the other, in a process of their own, so that it can answer.

What is not here: what a run does (`actions.consolidate`), and who may ask for it (`http_server`).
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
"""Finished runs that a server can still tell of."""


class Refused(RuntimeError):
    """A run failed because of what it found, such as a check; the message says what."""


class Waiting(ValueError):
    """The same run waits already; the message names it."""


@dataclass
class Asked:
    """A run that was asked for."""

    run_id: str
    wanted: Consolidation
    asked_at: datetime
    result: Future[dict[str, Any]] = field(repr=False)

    def told(self, *, running: bool) -> dict[str, Any]:
        """Say what became of it: `state` is queued, running, succeeded or failed."""
        state, error, committed = "running" if running else "queued", None, None
        if self.result.cancelled():
            state, error = "failed", "the server ended before the run began"
        elif self.result.done():
            problem = self.result.exception()
            state, error = ("failed", reason(problem)) if problem else ("succeeded", None)
            committed = None if problem else self.result.result()["run_id"]
        return {
            "run_id": self.run_id,
            "state": state,
            "task": self.wanted.kind,
            "scope": self.wanted.scope.value,
            "profile_id": self.wanted.profile_id,
            "asked_at": self.asked_at,
            "committed_run_id": committed,
            "error": error,
        }


class Runs:
    """The runs of one server over one data folder.

    Runs that write wait for one another; what is only planned has a process of its own and waits for no run. Whatever
    else writes to the folder meanwhile, such as a schedule, the earlier commit wins and the later run starts anew.
    """

    def __init__(self, home: Path) -> None:
        """Name the data folder; processes start with the first run."""
        self._home = home
        self._lock = threading.Lock()
        self._pools: dict[str, ProcessPoolExecutor] = {}
        self._asked: deque[Asked] = deque()

    def start(self, wanted: Consolidation, *, trigger: str) -> Asked:
        """Put a run into the queue and return at once.

        Raises:
            Waiting: the very same run waits and has not begun; it will see whatever this one would.
        """
        with self._lock:
            open_runs = [asked for asked in self._asked if not asked.result.done()]
            same = next((asked for asked in open_runs[1:] if asked.wanted == wanted), None)
            if same is not None:
                raise Waiting(f"the same run waits already: {same.run_id}; it will see all that is stored by then")
            run_id = str(uuid4())
            asked = Asked(run_id, wanted, datetime.now(UTC), self._submit("runs", wanted, trigger, run_id))
            self._asked.append(asked)
            while len(self._asked) > REMEMBERED and self._asked[0].result.done():
                self._asked.popleft()
            return asked

    def plan(self, wanted: Consolidation, *, trigger: str) -> dict[str, Any]:
        """Return the plan of a dry run, when it is made.

        Raises:
            Refused: it could not be made; says why.
            ValueError: settings or request do not fit the store.
        """
        with self._lock:
            result = self._submit("plans", wanted, trigger, None)
        return result.result()

    def told(self) -> list[dict[str, Any]]:
        """Say what became of the runs that were asked for, newest first."""
        with self._lock:
            first = next((asked for asked in self._asked if not asked.result.done()), None)
            return [asked.told(running=asked is first) for asked in reversed(self._asked)]

    def close(self) -> None:
        """Finish the run that is under way, drop those that wait, and end the processes."""
        with self._lock:
            for pool in self._pools.values():
                pool.shutdown(cancel_futures=True)
            self._pools.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, pool: str, wanted: Consolidation, trigger: str, run_id: str | None) -> Future[dict[str, Any]]:
        for _ in range(2):
            if pool not in self._pools:
                context = multiprocessing.get_context("spawn")
                self._pools[pool] = ProcessPoolExecutor(1, mp_context=context, initializer=_deaf)
            try:
                return self._pools[pool].submit(_perform, self._home, wanted, trigger, run_id)
            except BrokenExecutor:  # its process was killed; the next one gets a new process
                del self._pools[pool]
        raise RuntimeError("the process for runs ended twice at its start; see the log of the server")


def reason(error: BaseException) -> str:
    """Say in one line why a run failed."""
    if isinstance(error, BrokenExecutor):
        return "the process of the run was ended from outside; nothing was half written, ask again"
    said = " ".join(str(error).split())
    return said if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {said}"


def _deaf() -> None:
    """Leave Ctrl-C to the server, which lets the run finish."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _perform(home: Path, wanted: Consolidation, trigger: str, run_id: str | None) -> dict[str, Any]:
    """Run in the process for runs; an error crosses to the server as its message alone, since not every error can."""
    from memory_pipeline.service.launch import RunFailed  # noqa: PLC0415

    try:
        return actions.consolidate(home, wanted, trigger=trigger, run_id=run_id)
    except RunFailed as error:
        raise Refused(reason(error)) from error
    except ValueError as error:
        raise ValueError(reason(error)) from error
    except Exception as error:
        raise RuntimeError(reason(error)) from error
