"""Reads the files that exports consist of: folders, ZIP and tar archives, compressed files, JSON of any size.

Nothing is unpacked to disk under a name that an archive chooses, and no JSON file is held in memory as a whole. Not
here: what the files mean.
"""

import gzip
import io
import json
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

import ijson

from memory_pipeline.interop.items import file_name

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is read; a text may have far fewer (setting `max_text_characters`)."""
BEGINNING: Final = 64 * 1024
"""Bytes of a longer line that its dead letter holds."""

_SPOOLED: Final = 16 * 1024 * 1024
"""Bytes of an archive within an archive that are held in memory."""
_DAMAGED: Final = (
    *(ijson.JSONError, UnicodeDecodeError, OSError, EOFError, ValueError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tarfile.TarError, NotImplementedError, OverflowError),
)
_DEEPEST: Final = 8
"""Archives within one another that are opened; a damaged or hostile one may hold itself."""
_LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a file that is read as a whole: a small archive may hold a file larger than the memory."""
_ZIPS: Final = (".zip",)
_TARS: Final = (".tar", ".tar.gz", ".tgz")


class Broken(ValueError):
    """A file is truncated, or not in the format that its name claims."""


@dataclass(frozen=True)
class Member:
    """A file of an export."""

    name: str
    """Its path within the export, with slashes."""
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    modified: datetime
    path: Path | None = None
    """Where it is, if it is a file of its own."""

    @property
    def base(self) -> str:
        """Its name without folders and without `.gz`."""
        return PurePosixPath(self.name).name.removesuffix(".gz")

    def text(self) -> str:
        """Return the whole file as text.

        Raises:
            Broken: it cannot be read, or is not UTF-8.
        """
        read = self.head(_LARGEST + 1)
        if len(read) > _LARGEST:
            raise Broken(f"is larger than {_LARGEST >> 20} MiB; split it")
        try:
            return read.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Broken(f"cannot be read ({error}); give a readable file in UTF-8") from error

    def head(self, most: int) -> bytes:
        """Return the first bytes.

        Raises:
            Broken: they cannot be read.
        """
        with self.reading() as file:
            return file.read(most)

    @contextmanager
    def reading(self) -> Iterator[IO[bytes]]:
        """Open the file.

        Raises:
            Broken: it cannot be read, or what is done with it within the block finds it damaged.
        """
        try:
            with self.open() as file:
                yield file
        except _DAMAGED as error:
            raise Broken(f"cannot be read ({error}); give a readable file in UTF-8") from error

    def json(self) -> Any:
        """Parse the whole file as JSON.

        Raises:
            Broken: it cannot be read, or is not JSON.
        """
        try:
            return json.loads(self.text())
        except (ValueError, RecursionError) as error:
            raise Broken(str(error)) from error

    def elements(self, *prefixes: str) -> Iterator[Any]:
        """Yield the elements of the lists at some places of a JSON file, one after the other, as it is read.

        Args:
            prefixes: places such as "item" (the file is a list) and "records.item"; the first letter of the file
                decides which are possible.

        Raises:
            Broken: the file stops being valid JSON; raised after the elements before it.
        """
        try:
            for prefix in self._possible(prefixes):
                with self.open() as file:
                    yield from ijson.items(file, prefix, use_float=True)
        except _DAMAGED as error:
            raise Broken(f"stops being valid JSON ({error}); export it again") from error

    def _possible(self, prefixes: tuple[str, ...]) -> list[str]:
        with self.open() as file:
            is_list = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
        return [prefix for prefix in prefixes if (prefix.partition(".")[0] == "item") == is_list]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, with their numbers from 1; only the beginning of one over 64 MiB.

        Raises:
            Broken: the file cannot be read any further; raised after the lines before.
        """
        try:
            with self.open() as file:
                for number, (line, whole) in enumerate(bounded_lines(file), 1):
                    if stripped := line.removeprefix(b"\xef\xbb\xbf").strip():
                        yield number, stripped if whole else stripped[:BEGINNING]
        except _DAMAGED as error:
            raise Broken(f"is truncated ({error}); give the complete file") from error


def bounded_lines(file: IO[bytes], start: bytes = b"") -> Iterator[tuple[bytes, bool]]:
    """Yield the line already read, if any, then the remaining lines, each with whether it is complete.

    A line over `LONGEST_LINE` is read through, but not held.
    """
    line = start or file.readline(LONGEST_LINE)
    while line:
        rest = line
        while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
        yield line, rest is line
        line = file.readline(LONGEST_LINE)


def parsed(line: bytes) -> Mapping[str, Any] | None:
    """Return a line as a JSON object; None if it is not one."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, Mapping) else None


def members(path: Path) -> Iterator[Member]:
    """Yield the files of an export in order of their names: of a folder, an archive, or the file itself.

    Archives within are opened too. Hidden files and folders of a folder are left out, and so are links.

    Raises:
        ValueError: the path cannot be read.
    """
    if path.is_dir():
        for file in sorted(_files(path)):
            if file.is_file() and not file.is_symlink() and not file.name.startswith("."):
                yield from _opened(_member(file, file.relative_to(path).as_posix().encode(errors="replace").decode()))
    else:
        try:
            path.open("rb").close()
        except OSError as error:
            raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable file or folder") from error
        yield from _opened(_member(path, file_name(path)))


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it that are not hidden.

    Raises:
        ValueError: one of them cannot be read: an import must not take its files for removed.
    """

    def refuse(error: OSError) -> None:
        raise ValueError(f"{error.filename}: cannot be read ({error.strerror}); make it readable, or move it away")

    for above, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(above, name) for name in names)


def _member(path: Path, name: str) -> Member:
    def opened() -> AbstractContextManager[IO[bytes]]:
        return _plain(path.open("rb"), name)

    return Member(name, opened, datetime.fromtimestamp(path.stat().st_mtime, UTC), path)


@contextmanager
def _plain(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """Open a file, uncompressed if its name says that it is compressed."""
    with file:
        if name.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as plain:
                yield plain  # type: ignore[misc] # it reads like any other
        else:
            yield file


def _opened(member: Member, depth: int = 0) -> Iterator[Member]:
    """Yield the files in an archive, or the file itself if it is not one."""
    lower = member.name.lower()
    if not lower.endswith(_ZIPS + _TARS):
        yield member
        return
    if depth >= _DEEPEST:
        raise ValueError(f"{member.name}: is an archive within {_DEEPEST} others; unpack it, and give what it holds")
    with tempfile.SpooledTemporaryFile(_SPOOLED) as copy:
        archive: IO[bytes] = copy
        if member.path is not None:
            archive = member.path.open("rb")
        else:
            for block in _blocks(member):
                copy.write(block)
            copy.seek(0)
        with archive:
            opened = _zipped(archive, member) if lower.endswith(_ZIPS) else _tarred(archive, member)
            for one in opened:
                yield from _opened(one, depth + 1)


def _blocks(member: Member) -> Iterator[bytes]:
    """Yield the bytes of an archive within an archive."""
    with _whole(member, "archive"), member.open() as file:
        while block := file.read(1 << 20):
            yield block


@contextmanager
def _whole(member: Member, kind: str) -> Iterator[None]:
    """Say of an archive that it is damaged.

    Raises:
        ValueError: its list of files cannot be read, or, of an archive within another, its bytes.
    """
    try:
        yield
    except _DAMAGED as error:
        raise ValueError(f"{member.name}: is not a complete {kind} ({error}); download or copy it again") from error


def _zipped(archive: IO[bytes], member: Member) -> Iterator[Member]:
    with _whole(member, "ZIP file"):
        opened = zipfile.ZipFile(archive)
        entries = sorted(opened.infolist(), key=lambda entry: entry.filename)
    with opened:
        for entry in entries:
            if entry.is_dir() or entry.flag_bits & 1:
                continue

            def content(entry: zipfile.ZipInfo = entry) -> AbstractContextManager[IO[bytes]]:
                return _plain(opened.open(entry), entry.filename)

            yield Member(entry.filename, content, _instant(member, *entry.date_time))


def _tarred(archive: IO[bytes], member: Member) -> Iterator[Member]:
    with _whole(member, "tar file"):
        opened = tarfile.open(fileobj=archive, mode="r:*")  # noqa: SIM115 - closed below
        entries = sorted((entry for entry in opened if entry.isfile()), key=lambda entry: entry.name)
    with opened:
        for entry in entries:

            def content(entry: tarfile.TarInfo = entry) -> AbstractContextManager[IO[bytes]]:
                return _plain(opened.extractfile(entry) or io.BytesIO(), entry.name)

            yield Member(entry.name, content, _instant(member, 1970, 1, 1, seconds=entry.mtime))


def _instant(member: Member, *date: int, seconds: float = 0) -> datetime:
    """Return a date and so many seconds; the date of the archive, if an entry has one that does not exist."""
    try:
        return datetime(*date, tzinfo=UTC) + timedelta(seconds=seconds)  # type: ignore[arg-type,misc]
    except (ValueError, OverflowError):
        return member.modified
