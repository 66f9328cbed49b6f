"""Crashes at a chosen step: processes that count what they do and kill themselves in the middle of it."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import wraps
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import sqlalchemy as sa
from lake_rows import PROCESSES

from memory_pipeline.lake.s3_object_store import S3ObjectStore

Dying = Callable[[Path, int, Connection], None]
"""Works on a data folder, is killed at a step, and sends how many steps there were; at step 0 nothing kills it."""


def moments(count: int, *, pushed: tuple[int, ...]) -> list[object]:
    """Parameters for `count` moments of a crash: a push meets those of `pushed`, a drill meets all."""
    return [moment if moment in pushed else pytest.param(moment, marks=pytest.mark.drill) for moment in range(count)]


def steps_of(work: Callable[[], object], last_step: int, *watched: str) -> int:
    """Do the work and count its steps, to be killed at one of them.

    Args:
        work: what is done.
        last_step: the step that is the last one; 0: none is.
        watched: how the names of audit events begin that are steps, beside statements, commits and requests
            for objects.
    """
    taken = 0
    sys.dont_write_bytecode = True  # the first import of a library would take more steps than the next
    counting = threading.RLock()  # several threads write files; a kill is a step, too

    def step(*_: object) -> None:
        nonlocal taken
        with counting:
            taken += 1
            if taken == last_step:
                os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, _: object) -> None:
        if event.startswith(watched) and event != "os.listdir":  # an import lists folders that have changed since
            step()

    sys.addaudithook(audit)
    for happening in ("before_cursor_execute", "after_cursor_execute", "commit"):
        sa.event.listen(sa.Engine, happening, step)
    for request in ("put", "get", "list", "delete", "touch", "fetch"):
        setattr(S3ObjectStore, request, _between_steps(getattr(S3ObjectStore, request), step))
    work()
    total, last_step = taken, -1
    return total


def _between_steps(method: Callable[..., object], step: Callable[[], None]) -> Callable[..., object]:
    """Return a method that takes a step before and after it does what it does."""

    @wraps(method)
    def stepping(*args: object, **options: object) -> object:
        step()
        done = method(*args, **options)
        step()
        return done

    return stepping


def outcome(dying: Dying, home: Path, last_step: int) -> int | None:
    """What a process of its own sends when it is done; the exit code of one that was killed."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    with receiver, sender:
        process = PROCESSES.Process(target=dying, args=(home, last_step, sender))
        process.start()
        process.join()
        return int(receiver.recv()) if process.exitcode == 0 else process.exitcode
