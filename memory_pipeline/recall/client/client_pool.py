"""A pool of open clients, one per profile, for servers of several profiles."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from memory_pipeline.recall.client.memory_client import MemoryClient

OPEN_AT_ONCE: Final = 64
"""Most clients that stay open while idle, the most recently used ones; each holds the index of its profile in
memory."""


class Clients:
    """The clients of one process over one data folder; thread-safe."""

    def __init__(self, home: Path | str | None) -> None:
        """Create an empty pool; a client is opened when its profile is first used."""
        self._home = home
        self._lock = threading.Lock()
        self._open: OrderedDict[str, MemoryClient] = OrderedDict()
        self._used: dict[str, int] = {}

    @contextmanager
    def of(self, profile_id: str) -> Iterator[MemoryClient]:
        """Lend the client of a profile; it is not closed while in use."""
        with self._lock:
            client = self._open.get(profile_id) or MemoryClient(self._home, profile_id=profile_id)
            self._open[profile_id] = client
            self._open.move_to_end(profile_id)
            self._used[profile_id] = self._used.get(profile_id, 0) + 1
        try:
            yield client
        finally:
            with self._lock:
                self._used[profile_id] -= 1
                spare = [name for name in self._open if not self._used[name]][: max(0, len(self._open) - OPEN_AT_ONCE)]
                idle = [(self._open.pop(name), self._used.pop(name))[0] for name in spare]
            for spare_client in idle:
                spare_client.close()

    def close(self) -> None:
        """Close every client, after its pending writes."""
        with self._lock:
            clients = list(self._open.values())
            self._open.clear()
        for client in clients:
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
