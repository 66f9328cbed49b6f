"""Makes events from the records of other systems' stores: lenient in what it reads, strict in what it yields.

A value that does not fit is left out and counted, a record without its essentials becomes a dead letter, and the next
record is read as if nothing had happened. Not here: reading files (`files.py`) and values (`values.py`), and the
formats.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.consolidation.whereabouts import DATED_BY
from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Imported, ImportedAs, Item, Skipped, dead_letter, raw_bytes, stable_id
from memory_pipeline.interop.reconciling import IMPORTER
from memory_pipeline.interop.values import (
    identifier,
    in_our_form,
    instant,
    label,
    labels,
    mapping,
    metadata_of,
    share,
    text,
)
from memory_pipeline.ledger.event import InvalidEvent, parse
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.schemas import EventType

LOOSE: Final = "links without a kind and two different ends"
UNDATED: Final = "instants that cannot be read, with that of the import in their place"

_FORMS: Final[Mapping[str, Callable[[object], float | str | None]]] = {
    **dict.fromkeys(("importance", "confidence", "weight"), share),
    **dict.fromkeys(("valid_from", "valid_until"), in_our_form),
}
"""How values are read that may not fit."""


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
        self, raw: object, origin: str, *, at: object = None, file_at: datetime | None = None, **who: object
    ) -> "Record":
        """Return a record of this store.

        Args:
            raw: the record as read, for dead letters.
            origin: file and position.
            at: its instant in any form; without one it is dated by the file, else to the import.
            who: `user_id`, `session_id` and `agent_id` in any form; without a given profile, the user is the profile.
        """
        named = {name: found for name, value in who.items() if (found := identifier(value)) is not None}
        read = instant(at)
        return Record(
            self,
            raw,
            origin,
            profile=self.profile or named.get("user_id") or self.file_format,
            at=read or file_at or self.recorded_at,
            by_file=read is None and file_at is not None,
            who=named,
            undated=read is None and at not in (None, ""),
        )

    def broken(self, raw: object, origin: str, reason: str) -> Item:
        """Return the dead letter for a part that cannot be read."""
        return dead_letter(raw, reason=reason, recorded_at=self.recorded_at, origin=origin)

    def no_object(self, line: bytes, origin: str) -> Item:
        """Return the dead letter for a line that should be a JSON object."""
        raw = line.decode("utf-8", "replace")
        return self.broken(raw, origin, "the line is not a JSON object; copy the whole file again")

    def of_files(self, path: Path, read: Callable[[Member], Iterable[Item]]) -> Iterator[Item]:
        """Yield what `read` yields of each file of an export, and a dead letter where one cannot be read further."""
        for member in members(path):
            yield from self.of_member(member, read(member))

    def of_member(self, member: Member, found: Iterable[Item]) -> Iterator[Item]:
        """Yield what is found in a file, and a dead letter where it cannot be read further."""
        try:
            yield from found
        except Broken as error:
            yield self.broken(None, member.name, str(error))


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
            yield Skipped("records without text")
            return
        fields, unfit = _fitting(payload or {})
        yield from [Skipped(UNDATED)] * self.undated + unfit
        fields = {"source": self.source.file_format, **fields, "content": text(content) or content}
        if self.by_file:
            fields["metadata"] = {**mapping(fields.get("metadata")), DATED_BY: "file"}
        changed = instant(changed_at)
        yield self._event(
            EventType.STORED,
            (name,),
            memory_id=name,
            payload=fields,
            imported_as=imported_as,
            changed_at=changed and min(changed, self.source.recorded_at),
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
            payload, _ = _fitting({"metadata": metadata})
            yield self._event(kind, (session_id, revision), payload=payload)

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
        **state: object,
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
            event = parse(fields, recorded_at=self.source.recorded_at, origin=self.origin, future=None)
        except InvalidEvent as error:
            return self.broken(error.reason)
        return Imported.of(event, self.origin, raw_bytes(self.raw), **state)


def _fitting(payload: Mapping[str, Any]) -> tuple[dict[str, Any], list[Skipped]]:
    """Return the fields that say something and fit, instants in our form, and what is left out of the others."""
    fields, unfit = dict(payload), list[Skipped]()
    for name, form in _FORMS.items():
        if name in payload:
            fields[name] = form(payload[name])
            if fields[name] is None and payload[name] not in (None, {}, ""):
                unfit.append(Skipped(f"values of {name} that do not fit"))
    fields["tags"] = labels(payload.get("tags"))
    if isinstance(metadata := payload.get("metadata"), Mapping):
        fields["metadata"] = metadata_of(metadata)
    fields = {name: value for name, value in fields.items() if value is not None and value not in ({}, [])}
    if "valid_from" in fields and "valid_until" in fields and fields["valid_until"] < fields["valid_from"]:
        del fields["valid_from"], fields["valid_until"]
        unfit.append(Skipped("validities that end before they begin"))
    return fields, unfit
