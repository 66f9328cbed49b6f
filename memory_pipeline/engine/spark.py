"""Computes the parts of a run on a Spark cluster, through any Spark Connect server.

The workers need this package in the same version, and nothing else: the rows travel with the work, and neither ledger
nor lake is opened there. A task that Spark repeats changes nothing, since only this process commits.
"""

import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import polars as pl
import pyarrow as pa

from memory_pipeline.consolidation.pipeline import Part, Tables, Work
from memory_pipeline.engine import messages
from memory_pipeline.engine.in_order import EngineError, in_order
from memory_pipeline.settings import program
from memory_pipeline.settings.extras import pip_install

_PORT: Final = 15002
"""Port of a Spark Connect server whose address names none."""

_CONNECT_SECONDS: Final = 10


@dataclass(frozen=True)
class Spark:
    """Computes each part as a job of one task on a cluster."""

    address: str
    """Address of the Spark Connect server, such as sc://spark:15002."""
    workers: int
    """Jobs that wait or run at once."""
    rows_at_once: int | None = None

    def map(self, work: Work, parts: Iterable[tuple[Part, Tables]]) -> Iterator[dict[str, pl.DataFrame]]:
        """Yield what `work` makes of each part, in order; one part more than there are workers is read ahead.

        Raises EngineError: `pyspark-client` is not installed, the server cannot be reached, or a part failed after
        Spark's attempts.
        """
        with self._session() as session, ThreadPoolExecutor(self.workers) as threads:
            from pyspark.errors import PySparkException  # noqa: PLC0415

            def job(part: Part, tables: Tables) -> dict[str, pl.DataFrame]:
                function = _task(work, part, program.digest())
                rows = session.createDataFrame(messages.packed(tables))
                answer = rows.groupBy("part").applyInArrow(function, messages.COLUMNS).toArrow()
                return messages.unpacked(answer)

            try:
                yield from in_order(threads, job, parts, ahead=self.workers)
            except PySparkException as error:
                raise EngineError(f"engine {self.address}: {_reason(error)}; nothing of it was committed") from error

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """Open a session of its own, and release it at the end: one left open holds up the exit of this process."""
        session = self._opened()
        try:
            yield session
        finally:
            try:
                self._connect()
            except OSError:  # a server that is gone would be asked again and again, for ten minutes
                session.release_session_on_close = False
            session.stop()

    def _connect(self) -> None:
        """Raise OSError if the server cannot be reached, at once instead of after the client's ten minutes."""
        place = urlsplit(self.address)
        address = (place.hostname or "", place.port or _PORT)
        socket.create_connection(address, timeout=_CONNECT_SECONDS).close()

    def _opened(self) -> Any:
        with warnings.catch_warnings(action="ignore"):  # of the client's own dependencies
            try:
                with _main_module_with_a_file():
                    from pyspark.errors import PySparkException  # noqa: PLC0415
                    from pyspark.sql import SparkSession  # noqa: PLC0415
                    from pyspark.sql.connect import session as _  # noqa: F401, PLC0415
            except ImportError:
                raise EngineError(f"engine: the Spark client is not installed; {pip_install('spark')}") from None
            try:
                self._connect()
                return SparkSession.builder.remote(self.address).create()
            except (OSError, PySparkException) as error:
                raise EngineError(
                    f"engine {self.address}: {_reason(error)}; start the Spark Connect server, or correct the setting"
                ) from error


@contextmanager
def _main_module_with_a_file() -> Iterator[None]:
    """Give the main module a `__file__` while the client is imported: without one, it assumes its own doctests.

    It is removed afterwards, because processes started by multiprocessing would look for that file.
    """
    main = sys.modules["__main__"]
    nameless = not hasattr(main, "__file__")
    if nameless:
        main.__file__ = "-c"
    try:
        yield
    finally:
        if nameless:
            del main.__file__


def _task(work: Work, part: Part, digest: str) -> Callable[[pa.Table], pa.Table]:
    """Return the function that a worker of the cluster calls with the message of a part."""

    def answer(message: pa.Table) -> pa.Table:
        if program.digest() != digest:
            raise RuntimeError("the workers have another version of this package or of its libraries; install the same")
        return messages.packed(work(part, messages.unpacked(message)))

    return answer


def _reason(error: BaseException) -> str:
    """Return the last line of an error of a cluster, which names the cause; the lines before are its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
