"""Reads the files that exports consist of: folders, ZIP and tar archives, compressed files, JSON of any size.

Nothing is unpacked to disk under a name that an archive chooses, links in archives are not followed, and no JSON file
is held in memory as a whole. Not here: what the files mean, and how far an archive may expand (`unpacking.py`).
"""

import codecs
import io
import json
import lzma
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, cast

import ijson

from memory_pipeline.consolidation.whereabouts import OF_AGENTS
from memory_pipeline.interop.items import file_name
from memory_pipeline.interop.unpacking import Limits, Seen, TooLarge, is_packed, plain, without_suffix

_HOMES_OF_AGENTS: Final = frozenset({".agents", ".claude", ".codex", ".gemini", ".github", ".qwen", ".warp"})
"""Hidden folders of a project in which these are read; one in a folder of deleted notes is not."""
_OF_LOGSEQ: Final = frozenset({"bak", "version-files"})
"""Folders beside the settings of Logseq in which it keeps earlier versions of pages."""
LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of the longest line that is read; a text may have far fewer (setting `max_text_characters`)."""
BEGINNING: Final = 64 * 1024
"""Bytes of a longer line that its dead letter holds."""

UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""What a ZIP file says of when a file was changed if whoever made it left that out."""
_SPOOLED: Final = 16 * 1024 * 1024
"""Bytes of an archive within an archive that are held in memory."""
_DAMAGED: Final = (
    *(ijson.JSONError, UnicodeDecodeError, OSError, EOFError, ValueError, RecursionError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tarfile.TarError, NotImplementedError, OverflowError),
)
_LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a file that is read as a whole: a small archive may hold a file larger than the memory."""
_DECODER: Final = json.JSONDecoder()
_ENCRYPTED: Final = 1
"""Bit of the flags of an entry of a ZIP file."""
_ZIPS: Final = (".zip",)
_TARS: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tbz2", ".tar.xz", ".txz")

_UNREADABLE: Final = ("cannot be read", "give a readable file in UTF-8")

_Opened = AbstractContextManager[IO[bytes]]


class Broken(ValueError):
    """A file is truncated, or not in the format that its name claims."""


@dataclass(frozen=True)
class Member:
    """A file of an export."""

    name: str
    """Its path within the export, with slashes."""
    open: Callable[[], _Opened]
    modified: datetime
    path: Path | None = None
    """Where it is, if it is a file of its own."""

    @property
    def base(self) -> str:
        """Its name without folders and without `.gz` and the like."""
        return PurePosixPath(self.unpacked).name

    @property
    def unpacked(self) -> str:
        """Its path within the export without `.gz` and the like."""
        return without_suffix(self.name)

    def text(self) -> str:
        """Return the whole file as text; Broken, if it cannot be read or is neither UTF-8 nor UTF-16 with its mark."""
        read = self.head(_LARGEST + 1)
        if len(read) > _LARGEST:
            raise Broken(f"is larger than {_LARGEST >> 20} MiB; split it")
        with _damage(*_UNREADABLE):
            return read.decode("utf-16" if read.startswith(UTF_16) else "utf-8-sig")

    def head(self, most: int) -> bytes:
        """Return the first bytes; Broken, if they cannot be read."""
        with self.reading() as file:
            return file.read(most)

    @contextmanager
    def reading(self) -> Iterator[IO[bytes]]:
        """Open the file.

        Raises:
            Broken: it cannot be read, or what is done with it within the block finds it damaged.
        """
        with _damage(*_UNREADABLE), self.open() as file:
            yield file

    def json(self) -> Any:
        """Parse the whole file as JSON; Broken, if it is none."""
        try:
            return json.loads(self.text())
        except (ValueError, RecursionError) as error:
            raise Broken(str(error)) from error

    def elements(self, *prefixes: str, under: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the elements of the lists at some places of a JSON file with their origins, as it is read.

        Args:
            prefixes: places such as "item" (the file is a list) and "records.item"; the first letter of the file
                decides which are possible.
            under: what their origins have behind the name of the file.

        Raises:
            Broken: the file stops being valid JSON; raised after the elements before it.
        """
        number = count()
        with _damage("stops being valid JSON", "export it again"):
            for prefix in self._possible(prefixes):
                with self._in_utf8() as file:
                    for read in ijson.items(file, prefix):
                        yield f"{self.name}{under}[{next(number)}]", _with_floats(read)

    @contextmanager
    def _in_utf8(self) -> Iterator[IO[bytes]]:
        """Open the file behind its byte-order mark; Broken, if that says that it is UTF-16."""
        with self.open() as file:
            start = cast("io.BufferedReader", file).peek(3)[:3]
            if start.startswith(UTF_16):
                raise Broken("is UTF-16; save it as UTF-8")
            file.read(len(codecs.BOM_UTF8) if start == codecs.BOM_UTF8 else 0)
            yield file

    def _possible(self, prefixes: tuple[str, ...]) -> list[str]:
        with self._in_utf8() as file:
            is_list = file.read(64).lstrip()[:1] == b"["
        return [prefix for prefix in prefixes if (prefix.partition(".")[0] == "item") == is_list]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank, with their numbers from 1; only the beginning of one over 64 MiB.

        Raises:
            Broken: the file cannot be read any further; raised after the lines before.
        """
        with _damage("is truncated", "give the complete file"), self._in_utf8() as file:
            for number, (line, whole) in enumerate(bounded_lines(file), 1):
                if stripped := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield number, stripped if whole else stripped[:BEGINNING]


@contextmanager
def _damage(says: str, remedy: str, *, of: type[ValueError] = Broken) -> Iterator[None]:
    """Say of what is read within the block that it is damaged; a limit that is exceeded says so itself."""
    try:
        yield
    except (TooLarge, Broken):
        raise
    except _DAMAGED as error:
        raise of(f"{says} ({error}); {remedy}") from error


def _with_floats(value: Any) -> Any:
    """Return a value of JSON with floats for decimal numbers; read as floats, long whole numbers would end the file."""
    if isinstance(value, dict):
        return {name: _with_floats(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_floats(part) for part in value]
    return float(value) if isinstance(value, Decimal) else value


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


def objects(line: bytes) -> tuple[list[Mapping[str, Any]], str]:
    """Return the JSON objects that stand in a line, one after another, and what follows them and is none.

    Two writers of a file of lines may have lost the line end between theirs.
    """
    found, text, place = list[Mapping[str, Any]](), line.decode("utf-8", "replace").strip(), 0
    while text.startswith("{", place):
        try:
            read, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(read)
        place = end
        while text[place : place + 1].isspace():
            place += 1
    return found, text[place:]


def members(path: Path) -> Iterator[Member]:
    """Yield the files of an export in order of their names: of a folder, an archive, or the file itself.

    Archives within are opened too. Hidden files and folders of a folder are left out, and so are links and the
    backups of Logseq; but files of coding agents in hidden folders of theirs are read. A ValueError says what cannot be
    read.
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
    """Yield the files of a folder and of those in it that are not hidden, and `OF_AGENTS` in hidden ones of agents.

    A ValueError names one that cannot be read: an import must not take its files for removed.
    """

    def refuse(error: OSError) -> None:
        raise ValueError(f"{error.filename}: cannot be read ({error.strerror}); make it readable, or move it away")

    for above, folders, names in os.walk(folder, onerror=refuse):
        homes = [Path(above, name) for name in folders if name in _HOMES_OF_AGENTS]
        backups = _OF_LOGSEQ if "config.edn" in names else ()
        folders[:] = [name for name in folders if not name.startswith(".") and name not in backups]
        yield from (Path(above, name) for name in names)
        for one in homes:
            with suppress(OSError):  # whatever it holds is no part of an export
                yield from [file for file in one.iterdir() if file.name.lower() in OF_AGENTS]


def _member(path: Path, name: str) -> Member:
    seen, details = Seen(), path.stat()

    def opened() -> _Opened:
        return plain(path.open("rb"), name, Limits(name, details.st_size), seen)

    return Member(name, opened, datetime.fromtimestamp(details.st_mtime, UTC), path)


def _opened(member: Member, limits: Limits | None = None, depth: int = 0) -> Iterator[Member]:
    """Yield the files in an archive, or the file itself if it is not one."""
    lower = member.name.lower()
    if not lower.endswith(_ZIPS + _TARS):
        yield member
        return
    if limits is None:
        limits = Limits(member.name, member.path.stat().st_size if member.path else 0)
    limits.deeper(member.name, depth)
    with _archive(member, limits) as archive:
        opened = _zipped if lower.endswith(_ZIPS) else _tarred
        for one in opened(archive, member, limits):
            yield from _opened(one, limits, depth + 1)


@contextmanager
def _archive(member: Member, limits: Limits) -> Iterator[IO[bytes]]:
    """Open an archive so that any place of it can be read: from a temporary file, if it is within one or compressed."""
    if member.path is not None and not is_packed(member.name):
        with member.path.open("rb") as file:
            yield file
        return
    with tempfile.SpooledTemporaryFile(_SPOOLED) as copy:
        size = 0
        try:
            with _whole(member, "archive"), member.open() as file:
                while block := file.read(1 << 20):
                    limits.spool(len(block))
                    size += len(block)
                    copy.write(block)
            copy.seek(0)
            yield copy
        finally:
            limits.spooled -= size


def _whole(member: Member, kind: str) -> AbstractContextManager[None]:
    """Say of an archive that its list of files, or, of one within another, its bytes cannot be read: a ValueError."""
    return _damage(f"{member.name}: is not a complete {kind}", "download or copy it again", of=ValueError)


def _zipped(archive: IO[bytes], member: Member, limits: Limits) -> Iterator[Member]:
    with _whole(member, "ZIP file"):
        opened = zipfile.ZipFile(archive)
        entries = sorted(opened.infolist(), key=lambda entry: entry.filename)
    with opened:
        for entry in entries:
            if entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16):
                continue
            limits.file()
            seen = Seen(), Seen()

            def content(entry: zipfile.ZipInfo = entry, seen: tuple[Seen, Seen] = seen) -> _Opened:
                if entry.flag_bits & _ENCRYPTED:
                    raise ValueError("is encrypted; unpack it")
                return plain(opened.open(entry), entry.filename, limits, *seen)

            at = entry.date_time if entry.date_time > _NO_TIME else ()
            yield Member(entry.filename, content, _instant(member, *at))


def _tarred(archive: IO[bytes], member: Member, limits: Limits) -> Iterator[Member]:
    entries = list[tarfile.TarInfo]()
    with _whole(member, "tar file"):
        opened = tarfile.open(fileobj=archive, mode="r:")  # noqa: SIM115 - closed below
        for entry in opened:
            limits.file()
            if entry.isfile():
                entries.append(entry)
    with opened:
        for entry in sorted(entries, key=lambda entry: entry.name):
            seen = Seen(), Seen()

            def content(entry: tarfile.TarInfo = entry, seen: tuple[Seen, Seen] = seen) -> _Opened:
                return plain(opened.extractfile(entry) or io.BytesIO(), entry.name, limits, *seen)

            at = (1970, 1, 1) if entry.mtime else ()
            yield Member(entry.name, content, _instant(member, *at, seconds=entry.mtime))


def _instant(member: Member, *date: int, seconds: float = 0) -> datetime:
    """Return a date and so many seconds; the date of the archive, if an entry has none, or one that does not exist."""
    if not date:
        return member.modified
    try:
        return datetime(*date, tzinfo=UTC) + timedelta(seconds=seconds)  # type: ignore[arg-type,misc]
    except (ValueError, OverflowError):
        return member.modified
