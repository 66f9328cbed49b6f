"""Writes access events in the background.

A recall submits its access event and returns; one thread writes submitted events in batches. Events that cannot be
written are kept and retried, and the failure is reported to the next caller, or by `flush` or `close`.
"""

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from memory_pipeline.lake.tables import LakeError
from memory_pipeline.ledger.event import Event
from memory_pipeline.ledger.ledger import Ledger

GATHER_SECONDS: Final = 0.02
"""Time that the first event of a batch waits for others."""

RETRY_SECONDS: Final = 1.0
"""Time after a failure until the next attempt."""

BATCH: Final = 1_000
"""Most events in one transaction."""


_LOG: Final = logging.getLogger(__name__)


class AccessWriter:
    """Writes events in the background, in order of submission. Threads may share it; a forked child cannot use it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: deque[Callable[[], Event]] = deque()
        self._batch: list[Event] = []
        """The batch being written; after a failure it is retried unchanged, so that no event counts twice."""
        self._changed = threading.Condition()
        self._writes = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failure: Exception | None = None
        self._process = os.getpid()

    def submit(self, make_event: Callable[[], Event]) -> None:
        """Queue an event for writing, without blocking; the writing thread calls `make_event` once."""
        with self._changed:
            self._waiting.append(make_event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memory-pipeline accesses", daemon=True)
                self._thread.start()
            if len(self._waiting) == 1:
                self._changed.notify()

    def check(self) -> None:
        """Report a failure to write that no retry has mended, once; the events are kept and retried.

        Raises LakeError: events could not be written so far; gives their number and the cause.
        """
        if self._failure is not None:
            with self._changed:
                failure, self._failure = self._failure, None
            if failure is not None:
                raise LakeError(
                    f"accesses not written yet: {self._unwritten()}; they will be retried: {failure}"
                ) from failure

    def flush(self) -> None:
        """Write all events submitted so far, in the calling thread; LakeError: they cannot be written, and are kept."""
        if os.getpid() == self._process:
            self._write()
            self._failure = None

    def close(self) -> None:
        """Write all events and end the thread. Closing twice, or in a forked child, does nothing.

        Raises LakeError: events could not be written and are lost; gives their number.
        """
        if self._closed or os.getpid() != self._process:
            return
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is self._thread:  # garbage collection may run in it during a write
            return
        try:
            self._write()
        except Exception as error:
            raise LakeError(f"accesses that could not be written and are lost: {self._unwritten()}: {error}") from error

    def _unwritten(self) -> int:
        return len(self._batch) + len(self._waiting)

    def _run(self) -> None:
        """Write batches until closed; keep a failure for the next `check`."""
        pause = GATHER_SECONDS
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._unwritten() or self._closed)
                if self._changed.wait_for(lambda: self._closed, timeout=pause):
                    return
            try:
                self._write()
                self._failure, pause = None, GATHER_SECONDS
            except Exception as error:  # noqa: BLE001 - any failure must reach the caller
                self._failure, pause = error, RETRY_SECONDS

    def _write(self) -> None:
        """Write all waiting events, oldest first; after a failure the rest stays queued."""
        with self._writes:
            while self._batch or self._waiting:
                while self._waiting and len(self._batch) < BATCH:
                    make_event = self._waiting.popleft()
                    try:
                        self._batch.append(make_event())
                    except ValueError as error:  # of one caller; the events of others go on
                        _LOG.warning("an access is not recorded: %s", error)
                self._ledger.append(self._batch)
                self._batch = []
