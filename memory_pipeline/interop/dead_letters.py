"""Dead letters: refused events written to a file, corrected there, and sent again.

A file has one letter per line, as a JSON object: `letter_id`, `origin`, `reason`, `received_at`, and the received bytes
as `raw`: text, or base64 in `raw_base64` if they are not UTF-8. Correct `raw`, then requeue the file.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.importing import SHOWN_REFUSALS, RefusedEvent
from memory_pipeline.interop.items import stable_id
from memory_pipeline.ledger.event import InvalidEvent, parse
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import canonical_json, read_json, written
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.settings import Settings

_ERASED: Final = "its memory was erased, so its content is not stored; purge it"


@dataclass(frozen=True)
class Requeued:
    """Result of sending refused events again."""

    accepted: int
    """Events that are stored now; their letters are gone."""
    refused: int
    """Letters that stay."""
    reasons: tuple[RefusedEvent, ...]
    """The first of these, with their reasons."""


def lines(ledger: Ledger) -> Iterator[str]:
    """Yield each dead letter as a line of the file, oldest first."""
    for row in ledger.dead_letters().sort("received_at", "letter_id").iter_rows(named=True):
        try:
            received = {"raw": row["raw"].decode()}
        except UnicodeDecodeError:
            received = {"raw_base64": base64.b64encode(row["raw"]).decode()}
        yield canonical_json({**row, "raw": None, "received_at": written(row["received_at"]), **received})


def from_file(path: Path) -> list[dict[str, Any]]:
    """Return the letters of a file; a ValueError names the line that is none."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read ({error}); name a file written by `dead-letters export`") from error
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                letter = read_json(line)
                raw = letter.get("raw")
                raw = base64.b64decode(letter["raw_base64"], validate=True) if raw is None else raw.encode()
                found.append({"letter_id": str(letter["letter_id"]), "origin": f"{path.name}:{number}", "raw": raw})
            except (ValueError, KeyError, AttributeError, binascii.Error) as error:
                remedy = "a line has letter_id and raw, a text"
                raise ValueError(f"{path}:{number}: is not a dead letter ({error}); {remedy}") from error
    return found


def requeue(ledger: Ledger, letters: Iterable[Mapping[str, Any]], *, now: datetime, settings: Settings) -> Requeued:
    """Send refused events again; delete the letters of those stored now, and keep those refused again.

    A crash between the two leaves a letter whose event is stored: sent once more, it is recognised and the letter
    deleted. Letter and bytes identify an event without an id, so that a letter may be split into several events.

    Args:
        letters: `letter_id`, `origin` and `raw` (the event as bytes) of each.
        now: time of the import, and the instant of events that name none.
    """
    accepted, refused = list[str](), list[RefusedEvent]()
    for letter in letters:
        if not letter["raw"]:
            refused.append(RefusedEvent(letter["origin"], _ERASED))
            continue
        try:
            event = parse(
                letter["raw"],
                recorded_at=now,
                origin=letter["origin"],
                future=None,
                event_id=stable_id("dead letter", letter["letter_id"], hashlib.sha256(letter["raw"]).hexdigest()),
                settings=settings,
            )
            ledger.append([event])
        except InvalidEvent as error:
            refused.append(RefusedEvent(letter["origin"], error.reason))
        except KnownMemory as error:
            refused.append(RefusedEvent(letter["origin"], str(error)))
        else:
            accepted.append(letter["letter_id"])
    ledger.remove_dead_letters(accepted)
    return Requeued(len(accepted), len(refused), tuple(refused[:SHOWN_REFUSALS]))
