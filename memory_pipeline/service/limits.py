"""Limits the heavy requests that a server accepts at once, per token and in total.

Heavy requests read a whole profile: consolidate, dry run, tick, undo, erase. Not here: sizes and times of a request
(`middleware`, `listening`), and how runs are executed (`background_runs`).
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from memory_pipeline.settings import SETTINGS_FILE, Settings, SettingsError, load

RETRY_SECONDS: Final = 5
"""Seconds after which a caller that was turned away should ask again."""

TOO_MANY: Final = 429
UNAVAILABLE: Final = 503


class Busy(RuntimeError):
    """A request was turned away; the message names the setting, `status` is the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def limits(home: Path) -> Settings:
    """Return the settings of a data folder, or the defaults where they cannot be read.

    Cost: 20 µs unless the settings file has changed; every request asks.
    """
    stamp = None
    with suppress(OSError):
        file = (home / SETTINGS_FILE).stat()
        stamp = (file.st_ino, file.st_mtime_ns, file.st_size)
    return _read(home, stamp)


@lru_cache(maxsize=8)
def _read(home: Path, _stamp: tuple[int, int, int] | None) -> Settings:
    try:
        return load(home)
    except SettingsError:
        return Settings()


class Slots:
    """Counts the heavy requests of a server, including those that wait; thread-safe."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, token_id: str) -> Iterator[None]:
        """Hold a slot; Busy, if the token, or all tokens together, have as many requests as the settings allow."""
        allowed = limits(self._home)
        own, every = allowed.max_heavy_requests_per_token, allowed.max_heavy_requests
        advice = f"ask again in {RETRY_SECONDS} seconds, or raise the setting"
        with self._lock:
            if self._taken[token_id] >= own:
                message = f"this token has max_heavy_requests_per_token = {own} runs or erasures in progress; {advice}"
                raise Busy(message, TOO_MANY)
            if self._taken.total() >= every:
                message = f"the server has max_heavy_requests = {every} runs or erasures in progress; {advice}"
                raise Busy(message, UNAVAILABLE)
            self._taken[token_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[token_id] -= 1
