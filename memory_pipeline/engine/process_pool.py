"""Computes the parts of a run in several processes of this machine.

The processes start when they are first needed, never import the main module, and end after a minute without work, or
with the process that they work for, however it ends.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from memory_pipeline.consolidation.pipeline import Part, Tables, Work
from memory_pipeline.engine.cores import cores
from memory_pipeline.engine.in_order import EngineError, in_order

_IDLE_SECONDS: Final = 60

_THREADS: Final = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that limit the threads of a process; each worker has its share of the cores."""

_LOOK_SECONDS: Final = 1.0
"""Seconds after which a worker notices that the process it works for was killed."""


@dataclass(frozen=True)
class ProcessPool:
    """Computes parts in processes of their own, at most one a core."""

    workers: int
    rows_at_once: int | None = None

    def map(self, work: Work, parts: Iterable[tuple[Part, Tables]]) -> Iterator[dict[str, pl.DataFrame]]:
        """Yield what `work` makes of each part, in order; as many parts as there are processes are read ahead.

        Raises EngineError: a worker ended, most likely for lack of memory.
        """
        from loky import get_reusable_executor  # noqa: PLC0415 - most runs need no processes
        from loky.process_executor import BrokenProcessPool  # noqa: PLC0415

        processes = min(self.workers, cores())
        pool = get_reusable_executor(
            max_workers=processes,
            timeout=_IDLE_SECONDS,
            env=dict.fromkeys(_THREADS, str(cores() // processes)),
            initializer=_end_with,
            initargs=(os.getpid(),),
        )
        try:
            yield from in_order(pool, work, parts, ahead=processes)
        except BrokenProcessPool as error:
            raise EngineError(
                f"a worker process ended, most likely for lack of memory; set workers below {processes}, or more shards"
            ) from error


def _end_with(parent: int) -> None:
    """Let this worker end once its parent process has, even while it computes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
