"""Imports the pipeline's own event format: JSON Lines, one event per line (see `docs/event-format.md`)."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from memory_pipeline.interop.items import Imported, file_name, stable_id
from memory_pipeline.ledger.event import DeadLetter, Event, InvalidEvent, parse

_BOM: Final = b"\xef\xbb\xbf"
_FOREIGN: Final = {b"\x1f\x8b": "compressed", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""First bytes of files that are not UTF-8 text."""


def events(path: Path, *, recorded_at: datetime) -> Iterator[Event | DeadLetter]:
    """Yield an event, or a dead letter with origin FILE:LINE, for each line; blank lines are skipped.

    An event without `event_id` is identified by the bytes of its line: equal lines are the same event in any file.
    Holds one line in memory, or the whole input if it is not a regular file: a pipe can be read only once.

    Args:
        path: file to read; a byte-order mark and CRLF line ends are allowed.
        recorded_at: time of the import.

    Raises:
        ValueError: the file cannot be read or is not JSON Lines. Raised before the first event.
    """
    try:
        buffered = None if path.is_file() else path.read_bytes()
        with _open(path, buffered) as file:
            start = file.readline()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable file") from error
    if kind := _FOREIGN.get(start[:2]):
        raise ValueError(f"{path}: is {kind}; give plain UTF-8 text")
    if start.removeprefix(_BOM).strip() == b"[":
        raise ValueError(f"{path}: is a JSON array; write one event per line, without brackets and commas around them")
    return _lines(path, buffered, recorded_at)


def _open(path: Path, buffered: bytes | None) -> BinaryIO:
    return path.open("rb") if buffered is None else BytesIO(buffered)


def _lines(path: Path, buffered: bytes | None, recorded_at: datetime) -> Iterator[Event | DeadLetter]:
    with _open(path, buffered) as file:
        for number, line in enumerate(file, 1):
            raw = line.removeprefix(_BOM) if number == 1 else line
            if text := raw.strip():
                yield _event(text, raw.rstrip(b"\r\n"), f"{file_name(path)}:{number}", recorded_at)


def _event(text: bytes, raw: bytes, origin: str, recorded_at: datetime) -> Event | DeadLetter:
    default_id = stable_id("jsonl", hashlib.sha256(text).hexdigest())
    try:
        event = parse(text, recorded_at=recorded_at, origin=origin, future=None, event_id=default_id)
    except InvalidEvent as error:
        return DeadLetter(origin, error.reason, raw, recorded_at)
    return Imported.of(event, origin, raw)
