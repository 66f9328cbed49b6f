"""Makes events from the records of other systems' stores: lenient in what it reads, strict in what it yields.

A value that does not fit is left out and counted, a record without its essentials becomes a dead letter, and the next
record is read as if nothing had happened. Not here: reading files (`files.py`), and the formats.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memory_pipeline.consolidation.whereabouts import DATED_BY
from memory_pipeline.interop.items import Imported, ImportedAs, Item, Skipped, dead_letter, raw_bytes, stable_id
from memory_pipeline.interop.reconciling import IMPORTER
from memory_pipeline.ledger.event import EPOCH, Event, InvalidEvent, parse
from memory_pipeline.ledger.payloads import canonical_json, written
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.schemas import EventType
from memory_pipeline.text import credentials
from memory_pipeline.text.classification import CATEGORIES, MEMORY_TYPES

LONGEST: Final = 256
"""Characters of an id, a name or a tag."""
MILLISECONDS: Final = 1e11
"""Epoch seconds lie below this number, epoch milliseconds above it."""
MOST_SHARED: Final = 2_000
"""Characters of what stands beside every memory of a record of several; more would multiply with their number."""
LOOSE: Final = "links without a kind and two different ends"
NO_TEXT: Final = "records without text"
TOO_LONG_TO_SHARE: Final = "values that are too long to stand beside each of several memories"
VALIDITY: Final = "validities that end before they begin"
UNDATED: Final = "instants that cannot be read, with that of the import in their place"

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_TYPES: Final = {name.lower(): name for name in MEMORY_TYPES}


def instant(value: object) -> datetime | None:
    """Return an instant as other systems write it, in UTC; None if it is not one.

    Takes epoch seconds and milliseconds, as number or text, and ISO 8601 with or without offset, a date alone as its
    first moment. Without an offset it is UTC, which is a convention: some systems write local time.
    """
    try:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
            read = datetime.fromisoformat(value.strip())
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        seconds = float(value)
        if not math.isfinite(seconds):
            return None
        return EPOCH + timedelta(seconds=seconds / 1000 if abs(seconds) > MILLISECONDS else seconds)
    except (ValueError, OverflowError):
        return None


def text(value: object) -> str | None:
    """Return a text with half surrogate pairs and null characters replaced; None if it is not a text, or blank."""
    if not isinstance(value, str) or not value.strip():
        return None
    whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")


def label(value: object) -> str | None:
    """Return a name, id or tag that fits (see `payloads.Identifier`), shortened if need be; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    fitting = (text(_CONTROL.sub(" ", credentials.redacted(str(value)))) or "").strip()[:LONGEST].strip()
    return fitting if any(not unicodedata.category(letter).startswith("C") for letter in fitting) else None


def identifier(value: object) -> str | None:
    """Return an id unchanged if it fits, else one made from it; None if there is none."""
    found = label(value)
    return found if found is None or found == str(value) else stable_id("id", str(value).encode(errors="replace").hex())


def labels(values: object) -> list[str]:
    """Return the names in a list, or a single name, each once."""
    listed = values if isinstance(values, Sequence) and not isinstance(values, str | bytes) else [values]
    return list(dict.fromkeys(found for value in listed if (found := label(value))))


def share(value: object) -> float | None:
    """Return a number from 0 to 1; None if it is not one or lies outside."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value <= 1 else None


def times(value: object) -> int:
    """Return a count; 0 if it is not one, or negative."""
    return min(max(value, 0), 10**9) if isinstance(value, int) and not isinstance(value, bool) else 0


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list | tuple) else ()


def kind_of(value: object) -> tuple[dict[str, str], list[str]]:
    """Return `memory_type` or `category` if a name is a known one, else the name as a tag."""
    name = label(value)
    if name is None:
        return {}, []
    if name.lower() in _TYPES:
        return {"memory_type": _TYPES[name.lower()]}, []
    return ({"category": name.lower()}, []) if name.lower() in CATEGORIES else ({}, [name])


def metadata_of(values: Mapping[str, Any], *, without: Iterable[str] = ()) -> dict[str, Any] | None:
    """Return those values that JSON can hold and that are not empty; None if there is none."""
    left_out = set(without)
    kept = {}
    for name, value in values.items():
        if str(name) in left_out or value in (None, "", [], {}):
            continue
        try:
            canonical_json(value)
        except ValueError:
            continue
        kept[str(name)] = value
    return kept or None


def shared(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Skipped]]:
    """Return the values that may stand beside each of several memories, and what is left out: those too long for it."""
    kept, room = dict[str, Any](), MOST_SHARED
    for name, value in values.items():
        size = len(name) + len(raw_bytes(value))
        if size <= room:
            kept[name] = value
            room -= size
    left_out = len(values) - len(kept)
    return kept, [Skipped(TOO_LONG_TO_SHARE, left_out)] * bool(left_out)


@dataclass(frozen=True)
class Source:
    """A store of another system that is being imported."""

    file_format: str
    """Name of the format; also the `source` of its memories."""
    recorded_at: datetime
    profile: str | None = None
    """Profile to import into; None: the user whom a record names, or the format's name."""
    name: str = ""
    """Which store it is, if an import has to recognise its own."""

    @property
    def instance(self) -> str:
        """Writer of the events, by which a later import recognises them."""
        return f"{IMPORTER}{self.file_format}" + (f":{self.name}" if self.name else "")

    def record(
        self,
        raw: object,
        origin: str,
        *,
        at: object = None,
        file_at: datetime | None = None,
        user: object = None,
        **who: object,
    ) -> "Record":
        """Return a record of this store.

        Args:
            raw: the record as read, for dead letters.
            origin: file and position.
            at: its instant in any form; without one it is dated by the file, else to the import.
            file_at: when the file was last written.
            user: the person it belongs to; without a given profile also its profile.
            who: `session_id` and `agent_id` in any form.
        """
        named = {"user_id": identifier(user), **{name: identifier(value) for name, value in who.items()}}
        read = instant(at)
        return Record(
            self,
            raw,
            origin,
            profile=self.profile or named["user_id"] or self.file_format,
            at=read or file_at or self.recorded_at,
            by_file=read is None and file_at is not None,
            who={name: value for name, value in named.items() if value is not None},
            undated=read is None and at not in (None, ""),
        )

    def broken(self, raw: object, origin: str, reason: str) -> Item:
        """Return the dead letter for a part that cannot be read."""
        return dead_letter(raw, reason=reason, recorded_at=self.recorded_at, origin=origin)


@dataclass(frozen=True)
class Record:
    """A record of another system's store, from which events are made."""

    source: Source
    raw: object
    origin: str
    profile: str
    at: datetime
    """Its instant."""
    who: Mapping[str, str] = field(default_factory=dict)
    """User, agent and session."""
    by_file: bool = False
    """Whether it has no instant but that of its file."""
    undated: bool = False
    """Whether its instant could not be read."""

    def dated(self, at: object) -> "Record":
        """Return the record at another instant, if that is one."""
        read = instant(at)
        return self if read is None else replace(self, at=read, by_file=False, undated=False)

    def of(self, other: "Record") -> "Record":
        """Return the record as one of another's profile, user, agent and session."""
        return replace(self, profile=other.profile, who=other.who)

    def into(self, profile: str | None) -> "Record":
        """Return the record in another profile, if one is named."""
        return replace(self, profile=profile or self.profile)

    def event_id(self, *parts: str) -> str:
        """Return an event id that depends on format, store, profile and these parts."""
        return stable_id(self.source.file_format, self.source.name, self.profile, *parts)

    def stored(
        self,
        memory_id: object,
        content: object,
        payload: Mapping[str, Any] | None = None,
        *,
        imported_as: ImportedAs = ImportedAs.STATE,
        changed_at: object = None,
        states_change: bool = True,
    ) -> Iterator[Item]:
        """Yield a stored memory; a blank text is skipped, and so is each value that does not fit.

        Args:
            memory_id: its id there; without one it is a dead letter.
            payload: other fields of `payloads.Stored`, as read: those that are None are left out, those that do not
                fit left out and counted; instants may have any form.
            imported_as: how it is treated if the ledger has it.
            changed_at: when it was last changed there.
            states_change: whether the source itself states that instant: then a new memory has an update at it.
        """
        name = identifier(memory_id)
        if name is None:
            yield self.broken(f"the record's id is {shown(memory_id)}; give each record an id")
            return
        if content is None or (isinstance(content, str) and text(content) is None):
            yield Skipped(NO_TEXT)
            return
        yield from [Skipped(UNDATED)] * self.undated
        fields, unfit = _fitting(payload or {})
        yield from unfit
        fields = {"source": self.source.file_format, **fields, "content": text(content) or content}
        if self.by_file:
            fields["metadata"] = {**mapping(fields.get("metadata")), DATED_BY: "file"}
        yield self._event(
            EventType.STORED,
            (name,),
            memory_id=name,
            payload=fields,
            imported_as=imported_as,
            changed=changed_at,
            states_change=states_change,
        )

    def updated(self, memory_id: object, revision: str, **payload: Any) -> Iterator[Item]:
        """Yield an update at the record's instant; nothing if it changes nothing."""
        fields, unfit = _fitting(payload)
        yield from unfit
        if fields and (name := identifier(memory_id)):
            yield self._event(EventType.UPDATED, (name, revision), memory_id=name, payload=fields)

    def accessed(self, memory_id: object, revision: str, *, count: int = 1, **payload: object) -> Iterator[Item]:
        """Yield one access, or the last of several whose instants are not known."""
        if count > 0 and (name := identifier(memory_id)):
            counts = {"counts": [count]} if count > 1 else {}
            fields = {"memory_ids": [name], **counts, **payload}
            yield self._event(EventType.ACCESSED, (name, revision), payload=fields)

    def linked(self, memory_id: object, target_id: object, edge_type: object, **payload: object) -> Iterator[Item]:
        """Yield a link; skipped if an end or the kind is missing or both ends are the same, as is an unfit weight."""
        one, other, kind = identifier(memory_id), identifier(target_id), label(edge_type)
        if not (one and other and kind) or one == other:
            yield Skipped(LOOSE)
            return
        given, unfit = _fitting(payload)
        yield from unfit
        fields = {"target_id": other, "edge_type": re.sub(r"\W+", "_", kind).strip("_").upper() or kind, **given}
        revision = (one, other, str(fields["edge_type"]), str(given.get("weight", "")))
        yield self._event(EventType.LINKED, revision, memory_id=one, payload=fields)

    def rated(self, memory_id: object, revision: str, *, helpful: bool) -> Iterator[Item]:
        """Yield feedback on a memory."""
        if name := identifier(memory_id):
            yield self._event(EventType.FEEDBACK, (name, revision), memory_id=name, payload={"helpful": helpful})

    def session(self, kind: EventType, revision: str, metadata: Mapping[str, Any]) -> Iterator[Item]:
        """Yield the start or end of the record's session; nothing if it names none."""
        if session_id := self.who.get("session_id"):
            kept = metadata_of(metadata)
            yield self._event(kind, (session_id, revision), payload={"metadata": kept} if kept else {})

    def broken(self, reason: str) -> Item:
        """Return the dead letter for this record."""
        return self.source.broken(self.raw, self.origin, reason)

    def _event(
        self,
        kind: EventType,
        revision: tuple[str, ...],
        *,
        payload: Mapping[str, object],
        memory_id: str | None = None,
        imported_as: ImportedAs = ImportedAs.EVENT,
        changed: object = None,
        states_change: bool = False,
    ) -> Item:
        fields = {
            "event_id": self.event_id(kind.value, *revision),
            "profile_id": self.profile,
            "event_type": kind.value,
            "occurred_at": self.at,
            "memory_id": memory_id,
            "instance_id": self.source.instance,
            "payload": payload,
            **self.who,
        }
        try:
            event: Event = parse(fields, recorded_at=self.source.recorded_at, origin=self.origin, future=None)
        except InvalidEvent as error:
            return self.broken(error.reason)
        changed_at = instant(changed)
        if changed_at is not None:
            changed_at = min(changed_at, self.source.recorded_at)
        return Imported.of(
            event,
            self.origin,
            raw_bytes(self.raw),
            imported_as=imported_as,
            changed_at=changed_at,
            states_change=states_change,
        )


def _fitting(payload: Mapping[str, Any]) -> tuple[dict[str, Any], list[Skipped]]:
    """Return the fields that are given and fit, instants written in our form, and what is left out of the others."""
    fields = {name: value for name, value in payload.items() if value is not None and value != {}}
    unfit = list[Skipped]()
    for name in [name for name in fields if name in _FORMS]:
        value = fields[name]
        fields[name] = _FORMS[name](value)
        if fields[name] is None:
            del fields[name]
            unfit += [Skipped(f"values of {name} that do not fit")] if value != "" else []
    if isinstance(fields.get("metadata"), Mapping):
        fields["metadata"] = metadata_of(fields["metadata"]) or {}
    if "valid_from" in fields and "valid_until" in fields and fields["valid_until"] < fields["valid_from"]:
        del fields["valid_from"], fields["valid_until"]
        unfit.append(Skipped(VALIDITY))
    return fields, unfit


def fields_of(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values that are fields of a memory under our names, in our form, and the others."""
    read: dict[str, Callable[[Any], Any]] = {
        "importance": share,
        "importance_hint": share,
        "confidence": share,
        "valid_from": _at,
        "valid_until": _at,
        "protected_reason": text,
        "memory_type": lambda value: kind_of(value)[0].get("memory_type"),
        "category": lambda value: kind_of(value)[0].get("category"),
        "tags": lambda value: labels(value) if isinstance(value, list) else None,
        "protected": lambda value: value if isinstance(value, bool) else None,
    }
    known = {name: found for name, form in read.items() if name in values and (found := form(values[name])) is not None}
    return known, {name: value for name, value in values.items() if name not in known}


def _at(value: object) -> str | None:
    at = instant(value)
    return written(at) if at else None


_FORMS: Final[Mapping[str, Callable[[object], float | str | None]]] = {
    **dict.fromkeys(("importance", "confidence", "weight"), share),
    **dict.fromkeys(("valid_from", "valid_until"), _at),
}
"""How values are read that may not fit."""
