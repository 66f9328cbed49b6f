"""Who recalled what, written to the ledger behind the back of whoever asks.

A recall hands its access over and goes on; one thread writes what has gathered as one batch. What cannot be written
is kept and tried again; somebody hears of it: the next caller, or whoever flushes or closes.
What is not here: what an access does to a memory (`consolidation/state/folding`), and the ledger itself
(`ledger/ledger`).
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from memory_pipeline.lake.tables import LakeError
from memory_pipeline.ledger.event import Event
from memory_pipeline.ledger.ledger import Ledger

GATHER_SECONDS: Final = 0.02
"""How long the first access of a batch waits for others."""

RETRY_SECONDS: Final = 1.0
"""How long after a failure the writer tries again."""

BATCH: Final = 1_000
"""Most events of one transaction."""


class Recorder:
    """Writes events in the background, in the order given. Threads may share it; a forked child has none of it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: deque[Callable[[], Event]] = deque()
        self._batch: list[Event] = []
        """What is being written; after a failure it is tried again as it is, so that no event counts twice."""
        self._news = threading.Condition()
        self._writes = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failure: Exception | None = None
        self._process = os.getpid()

    def record(self, told: Callable[[], Event]) -> None:
        """Take an event to be written soon; this writes nothing itself and waits for nobody.

        Args:
            told: makes the event; called by whoever writes it, once.
        """
        with self._news:
            self._waiting.append(told)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="memory-pipeline accesses", daemon=True)
                self._thread.start()
            if len(self._waiting) == 1:
                self._news.notify()

    def check(self) -> None:
        """Tell, once, that events could not be written so far; they are kept and tried again.

        Raises:
            LakeError: why, and how many.
        """
        if self._failure is not None:
            with self._news:
                failure, self._failure = self._failure, None
            if failure is not None:
                raise LakeError(
                    f"{self._left()} accesses are not written yet, and are tried again: {failure}"
                ) from failure

    def flush(self) -> None:
        """Write everything that was taken so far, in this thread.

        Raises:
            LakeError: it cannot be written; it is kept.
        """
        if os.getpid() == self._process:
            self._write()
            self._failure = None

    def close(self) -> None:
        """Write everything and end the thread. Closing twice does nothing; a forked child has nothing to close.

        Raises:
            LakeError: something could not be written and is lost; says how much.
        """
        if self._closed or os.getpid() != self._process:
            return
        with self._news:
            self._closed = True
            self._news.notify()
        if threading.current_thread() is self._thread:  # which collects garbage, too, and is writing just now
            return
        try:
            self._write()
        except Exception as error:
            raise LakeError(f"{self._left()} accesses could not be written and are lost: {error}") from error

    def _left(self) -> int:
        return len(self._batch) + len(self._waiting)

    def _run(self) -> None:
        """Write what gathers until the end; a failure is kept for whoever asks next."""
        pause = GATHER_SECONDS
        while True:
            with self._news:
                self._news.wait_for(lambda: self._left() or self._closed)
                if self._news.wait_for(lambda: self._closed, timeout=pause):
                    return
            try:
                self._write()
                pause = GATHER_SECONDS
            except Exception as error:  # noqa: BLE001 - whatever it is, somebody must hear of it
                self._failure, pause = error, RETRY_SECONDS

    def _write(self) -> None:
        """Write all that waits, oldest first; what could not be written still waits."""
        with self._writes:
            while self._batch or self._waiting:
                while self._waiting and len(self._batch) < BATCH:
                    self._batch.append(self._waiting.popleft()())
                self._ledger.append(self._batch)
                self._batch = []
