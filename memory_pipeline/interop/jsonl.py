"""Imports the pipeline's own event format: JSON Lines, one event per line (see `docs/event-format.md`)."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from memory_pipeline.interop.files import BEGINNING, LONGEST_LINE, bounded_lines
from memory_pipeline.interop.items import Imported, file_name, stable_id
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.ledger.event import DeadLetter, Event, InvalidEvent, parse

_BOM: Final = b"\xef\xbb\xbf"
_FOREIGN: Final = {
    **dict.fromkeys((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"), "compressed"),
    **dict.fromkeys((b"PK\3\4", b"PK\5\6"), "an archive"),
    **dict.fromkeys((b"SQLite format 3\0", b"PAR1"), "a database"),
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "UTF-16"),
}
"""First bytes of files that are not UTF-8 text, each line of which would become a dead letter."""
_TAR: Final = slice(257, 262)
"""Where a tar file has the word `ustar`."""


def detect(seen: Sample) -> bool:
    """Return whether a path is a file of our own events."""
    return any(one.objects and "event_type" in one.objects[0] for one in seen.heads)


def events(path: Path, *, recorded_at: datetime, profile: str | None = None) -> Iterator[Event | DeadLetter]:
    """Yield an event, or a dead letter with origin FILE:LINE, for each line; blank lines are skipped.

    An event without `event_id` is identified by the bytes of its line: equal lines are the same event in any file.
    Holds one line in memory, and of a line longer than 64 MiB only its beginning, also in the dead letter. A byte-order
    mark and CRLF line ends are allowed, and the file may be a pipe.

    Raises:
        ValueError: the file cannot be read or is not JSON Lines. Raised before the first event.
    """
    try:
        file = path.open("rb")
        start = file.readline(LONGEST_LINE)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}); name a readable file") from error
    kind = next((kind for first, kind in _FOREIGN.items() if start.startswith(first)), None)
    if start[_TAR] == b"ustar":
        kind = "an archive"
    is_array = start.removeprefix(_BOM).strip() == b"["
    again = path.is_file()
    if again or kind or is_array:
        file.close()
    if kind:
        raise ValueError(f"{path}: is {kind}; give the plain UTF-8 text that it holds")
    if is_array:
        raise ValueError(f"{path}: is a JSON array; write one event per line, without brackets and commas around them")
    return _events(path, None if again else (file, start), recorded_at, profile)


def _events(
    path: Path, begun: tuple[BinaryIO, bytes] | None, recorded_at: datetime, profile: str | None
) -> Iterator[Event | DeadLetter]:
    """Yield the items in the lines of a file; a pipe is passed open, with the line already read from it."""
    file, start = begun or (path.open("rb"), b"")
    name = file_name(path)
    with file:
        for number, (line, whole) in enumerate(bounded_lines(file, start), 1):
            raw, origin = line.removeprefix(_BOM) if number == 1 else line, f"{name}:{number}"
            if not whole:
                reason = f"the line is longer than {LONGEST_LINE >> 20} MiB; split its text into several memories"
                yield DeadLetter(origin, reason, raw[:BEGINNING], recorded_at)
            elif text := raw.strip():
                yield _event(text, raw.rstrip(b"\r\n"), origin, recorded_at, profile)


def _event(text: bytes, raw: bytes, origin: str, recorded_at: datetime, profile: str | None) -> Event | DeadLetter:
    default_id = stable_id("jsonl", hashlib.sha256(text).hexdigest())
    try:
        event = parse(text, recorded_at=recorded_at, origin=origin, future=None, event_id=default_id)
    except InvalidEvent as error:
        return DeadLetter(origin, error.reason, raw, recorded_at)
    if profile is not None:
        event = event.model_copy(update={"profile_id": profile})
    return Imported.of(event, origin, raw)
