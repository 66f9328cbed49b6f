"""Uncompresses what exports hold, within limits: a small file may be made to grow without end.

Here: compressed streams, and the limits of one archive with all that it holds. Not here: how archives list their files
(`files.py`).
"""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any, Final, cast

DEEPEST: Final = 8
"""Archives within one another that are opened; a damaged or hostile one may hold itself."""
MOST_FILES: Final = 200_000
"""Files of an archive, with those of the archives in it."""
FREE: Final = 256 << 20
"""Bytes to which any archive may expand."""
RATIO: Final = 100
"""How many times its own size an archive may expand to beyond that; text shrinks to a tenth."""
SPOOLED_FREE: Final = 64 << 20
"""Bytes of archives within archives, and of compressed tar files, that any archive may put into temporary files."""
SPOOLED_RATIO: Final = 20
"""How many times the size of an archive they may be beyond that: an archive within one is compressed already."""
SPOOLED_MOST: Final = 8 << 30
"""Bytes that they may be in any case."""

_OPENERS: Final[tuple[tuple[bytes, Callable[[Any], Any]], ...]] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\0", lzma.LZMAFile),
)
"""First bytes of compressed files, and what opens them."""
_PACKED: Final = (".gz", ".tgz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz")
_FOREIGN: Final = (".zst", ".zstd", ".tzst", ".br", ".lz4", ".7z", ".rar")


class TooLarge(ValueError):
    """An archive exceeds a limit; nothing more of it is read."""


def is_packed(name: str) -> bool:
    """Return whether a name says that its file is compressed."""
    return name.lower().endswith(_PACKED)


def without_suffix(name: str) -> str:
    """Return a name without the suffix that says that its file is compressed."""
    stem, dot, suffix = name.rpartition(".")
    return stem if f"{dot}{suffix}".lower() in {".gz", ".bz2", ".xz"} else name


def unread(name: str) -> bool:
    """Return whether a name says that its file is packed in a way that is not read."""
    return PurePosixPath(name.lower()).suffix in _FOREIGN


@dataclass
class Seen:
    """How much of a file has been read, by whoever read most of it."""

    size: int = 0


@dataclass
class Limits:
    """What an archive may still expand to, of everything it holds together; TooLarge, where that is too much."""

    name: str
    """Its name, for messages."""
    size: int
    """Its bytes."""
    files: int = 0
    expanded: int = 0
    spooled: int = 0
    """Bytes in temporary files now."""

    def file(self) -> None:
        """Count a file."""
        self.files += 1
        if self.files > MOST_FILES:
            self._refuse(f"holds more than {MOST_FILES:,} files")

    def expand(self, count: int) -> None:
        """Count bytes that it expanded to."""
        self.expanded += count
        if self.expanded > FREE and self.expanded > RATIO * self.size:
            self._refuse(f"has {self.size:,} bytes and expands to more than {_most(self.size, FREE, RATIO):,}")

    def spool(self, count: int) -> None:
        """Count bytes before they go to a temporary file; negative ones when they leave it."""
        self.spooled += count
        most = min(SPOOLED_MOST, _most(self.size, SPOOLED_FREE, SPOOLED_RATIO))
        if self.spooled > most:
            self._refuse(f"has {self.size:,} bytes and takes more than {most:,} of temporary space")

    def deeper(self, name: str, depth: int) -> None:
        """Check how deep an archive lies."""
        if depth >= DEEPEST:
            raise TooLarge(f"{name}: is an archive within {DEEPEST} others; unpack it, and give what it holds")

    def _refuse(self, why: str) -> None:
        raise TooLarge(f"{self.name}: {why}, the limit; unpack it, and give what you need of it")

    def counted(self, file: IO[bytes], seen: Seen) -> IO[bytes]:
        """Return a stream whose bytes count, each once however often the file is read."""
        return cast("IO[bytes]", io.BufferedReader(_Counted(file, self, seen), 1 << 16))


def _most(size: int, free: int, ratio: int) -> int:
    return max(free, ratio * size)


class _Counted(io.RawIOBase):
    def __init__(self, file: IO[bytes], limits: Limits, seen: Seen) -> None:
        self._file, self._limits, self._seen, self._at = file, limits, seen, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with memoryview(buffer) as view:
            block = self._file.read(len(view))
            view[: len(block)] = block
        self._at += len(block)
        if (more := self._at - self._seen.size) > 0:
            self._limits.expand(more)
            self._seen.size = self._at
        return len(block)


@contextmanager
def plain(file: IO[bytes], name: str, limits: Limits, *seen: Seen) -> Iterator[IO[bytes]]:
    """Open a file, uncompressed if its name says that it is compressed and its first bytes agree; close it at the end.

    Args:
        limits: those that count what it holds.
        seen: marks that belong to this file: of what is uncompressed, and, if it is itself in an archive, of its bytes.
    """
    uncompressed, *own = seen
    with file:
        source = limits.counted(file, own[0]) if own else file
        opener = _opener(source) if is_packed(name) else None
        if opener is None:
            yield source
        else:
            with opener(source) as stream:
                yield limits.counted(stream, uncompressed)


def _opener(file: IO[bytes]) -> Callable[[Any], Any] | None:
    """Return what opens a file by its first bytes; None if it is not compressed."""
    first = cast("io.BufferedReader", file).peek(8)[:8]
    return next((opener for magic, opener in _OPENERS if first.startswith(magic)), None)
