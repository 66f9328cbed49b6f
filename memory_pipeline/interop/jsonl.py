"""Import of the pipeline's own event format: JSON Lines, one event a line (see `docs/event-format.md`)."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from memory_pipeline.interop.importing import file_name, identity
from memory_pipeline.lake.events import DeadLetter, Event, InvalidEvent, parse

_BOM: Final = b"\xef\xbb\xbf"
_FOREIGN: Final = {b"\x1f\x8b": "compressed", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
"""First bytes of files that hold no UTF-8 lines."""


def events(path: Path, *, recorded_at: datetime) -> Iterator[Event | DeadLetter]:
    """Yield the event of each line, or its dead letter with origin FILE:LINE; blank lines count as nothing.

    An event without `event_id` is known by the bytes of its line: the same line is the same event, in this file and
    in any other. Holds one line in memory.

    Args:
        path: the file; a byte-order mark and CRLF ends of line are allowed.
        recorded_at: the clock of the import.

    Raises:
        ValueError: the file cannot be read or holds no lines of JSON; at once, before the first event.
    """
    try:
        with path.open("rb") as file:
            start = file.readline()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable file") from error
    if kind := _FOREIGN.get(start[:2]):
        raise ValueError(f"{path}: is {kind}; give plain UTF-8 text")
    if start.removeprefix(_BOM).strip() == b"[":
        raise ValueError(f"{path}: is a JSON array; write one event a line, without brackets and commas between")
    return _lines(path, recorded_at)


def _lines(path: Path, recorded_at: datetime) -> Iterator[Event | DeadLetter]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            raw = line.removeprefix(_BOM) if number == 1 else line
            if text := raw.strip():
                yield _event(text, raw.rstrip(b"\r\n"), f"{file_name(path)}:{number}", recorded_at)


def _event(text: bytes, raw: bytes, origin: str, recorded_at: datetime) -> Event | DeadLetter:
    known_by = identity("jsonl", hashlib.sha256(text).hexdigest())
    try:
        return parse(text, recorded_at=recorded_at, origin=origin, future=None, event_id=known_by)
    except InvalidEvent as error:
        return DeadLetter(origin, error.reason, raw, recorded_at)
