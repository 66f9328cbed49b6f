"""Import of the pipeline's own event format: JSON Lines, one event a line (see `docs/event-format.md`)."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from memory_pipeline.interop.importing import Imported, file_name, identity
from memory_pipeline.ledger.event import DeadLetter, Event, InvalidEvent, parse

_BOM: Final = b"\xef\xbb\xbf"
_FOREIGN: Final = {b"\x1f\x8b": "compressed", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""First bytes of files that hold no UTF-8 lines."""


def events(path: Path, *, recorded_at: datetime) -> Iterator[Event | DeadLetter]:
    """Yield the event of each line, or its dead letter with origin FILE:LINE; blank lines count as nothing.

    An event without `event_id` is known by the bytes of its line: the same line is the same event, in this file and
    in any other. Holds one line in memory; all of it where it is no file, such as a pipe, which can be read only once.

    Args:
        path: the file; a byte-order mark and CRLF ends of line are allowed.
        recorded_at: the clock of the import.

    Raises:
        ValueError: the file cannot be read or holds no lines of JSON; at once, before the first event.
    """
    try:
        whole = None if path.is_file() else path.read_bytes()
        with _opened(path, whole) as file:
            start = file.readline()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable file") from error
    if kind := _FOREIGN.get(start[:2]):
        raise ValueError(f"{path}: is {kind}; give plain UTF-8 text")
    if start.removeprefix(_BOM).strip() == b"[":
        raise ValueError(f"{path}: is a JSON array; write one event a line, without brackets and commas between")
    return _lines(path, whole, recorded_at)


def _opened(path: Path, whole: bytes | None) -> BinaryIO:
    return path.open("rb") if whole is None else BytesIO(whole)


def _lines(path: Path, whole: bytes | None, recorded_at: datetime) -> Iterator[Event | DeadLetter]:
    with _opened(path, whole) as file:
        for number, line in enumerate(file, 1):
            raw = line.removeprefix(_BOM) if number == 1 else line
            if text := raw.strip():
                yield _event(text, raw.rstrip(b"\r\n"), f"{file_name(path)}:{number}", recorded_at)


def _event(text: bytes, raw: bytes, origin: str, recorded_at: datetime) -> Event | DeadLetter:
    known_by = identity("jsonl", hashlib.sha256(text).hexdigest())
    try:
        event = parse(text, recorded_at=recorded_at, origin=origin, future=None, event_id=known_by)
    except InvalidEvent as error:
        return DeadLetter(origin, error.reason, raw, recorded_at)
    return Imported.of(event, origin, raw)
