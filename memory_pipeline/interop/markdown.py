"""Imports a folder of Markdown notes: MEMORY.md, auto memory of coding agents, memory tools, wikis, our own exports.

The folder may be edited and imported again: a changed line updates its memory, and the validity of a line that is gone
ends. Not here: the syntax (`markdown_text.py`, `markdown_notes.py`).
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Final, Self

import polars as pl

from memory_pipeline.consolidation.plans.planning import LEAVING
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.whereabouts import OF_AGENTS
from memory_pipeline.interop import openclaw
from memory_pipeline.interop.commits import first_committed
from memory_pipeline.interop.dreaming import Place
from memory_pipeline.interop.exports import folder
from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Imported, ImportedAs, Item, Noticed, Skipped, raw_bytes, skipped, stable_id
from memory_pipeline.interop.markdown_blocks import Unit
from memory_pipeline.interop.markdown_notes import READ_ONLY
from memory_pipeline.interop.markdown_text import Note, is_pointer, read, resolved
from memory_pipeline.interop.reconciling import fields_now, open_memories
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.unpacking import without_suffix
from memory_pipeline.interop.values import kind_of, label, labels, mapping, metadata_of, shared
from memory_pipeline.ledger.event import InvalidEvent, parse
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.ledger.payloads import written
from memory_pipeline.schemas import EventType
from memory_pipeline.text.parse.written_days import day_of, entry, written_by
from memory_pipeline.text.score import headings

FORMAT: Final = "markdown"
SUFFIXES: Final = (".md", ".markdown")

_CREATED: Final = ("occurred_at", "created_at", "created", "date")
_CHANGED: Final = ("updated_at", "updated", "modified", "last_modified")
_UNDATED: Final = (
    "without a date of their own, so they count as written when their file last changed, and an old note may seem the "
    "newer; date them by a day at the head of the line, a heading, the name of the file, or `date` in front matter"
)
_NAMES: Final = ("name", "title", "permalink")
_STORED: Final = (
    *("importance", "importance_hint", "confidence", "valid_from", "valid_until"),
    *("protected", "protected_reason", "speaker", "source"),
)
_WHO: Final = ("session_id", "agent_id", "user_id")
_AUTO_MEMORY: Final = ("memory", "memory.md")
"""Folder and file in which coding agents keep what they learn, within a folder for the project."""
_SAME: Final = 0.6
"""Least similarity of a line to the edited line that replaces it."""
_COMPARED: Final = 200_000_000
"""Most pairs of characters of the lines of a file that are compared after an edit."""
_BEGINNING: Final = 1_000
"""Characters of a line that are compared."""


@dataclass(frozen=True)
class _Folder:
    """The readable content of a folder."""

    places: list["_Place"]
    broken: list[tuple[str, str]]
    """Files that cannot be read, and why."""
    left_out: list[Item]

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read every file of Markdown of a folder or archive, or one such file."""
        read_places, broken, left_out = list[_Place](), list[tuple[str, str]](), list[Item]()
        names = list[str]()
        for member in members(path):
            if not is_markdown(member.name):
                left_out += skipped("files that are not Markdown", int(not member.base.startswith(".")))
                continue
            names.append(member.unpacked)
            try:
                note = read(member.text())
            except Broken as error:
                broken.append((member.name, str(error)))
                continue
            left_out += skipped("front matter that is not YAML (its plain lines were read)", int(not note.readable))
            left_out += [Skipped(what, count) for what, count in note.left_out.items()]
            note, of_agent = openclaw.turns(note)
            left_out += skipped("what the agent said in sessions", of_agent)
            if len(note.units) > 1:
                front, too_long = shared(note.front)
                note = replace(note, front=front)
                left_out += too_long
            read_places += [_Place(member.unpacked, note, unit, member) for unit in note.units]
        own = openclaw.of_agent(names)
        read_places = [place for place in read_places if place.file not in own]
        left_out += skipped("files that instruct the agent of a workspace, and its diary", len(own))
        of_agents = _projects(path, {place.file for place in read_places})
        read_places = [replace(place, project=of_agents.get(place.file)) for place in read_places]
        files = _files(read_places)
        kept = [place for place in read_places if not place.is_pointer(files)]
        left_out += skipped("index lines that lead to a file of the folder", len(read_places) - len(kept))
        return cls(kept, broken, left_out)


@dataclass(frozen=True)
class _Place:
    """A unit in its file."""

    file: str
    note: Note
    unit: Unit
    member: Member
    project: str | None = None
    """Project of the coding agent whose file it is, or stands beside; None in other notes."""
    memory_id: str = ""
    day: datetime | None = None
    """The day that it bears at its head."""
    by: datetime | None = None
    """By when it was written, since it or a line beside it bears a day."""

    def is_pointer(self, files: Mapping[str, Any]) -> bool:
        """Return whether it is a line of an index (see `markdown_text.is_pointer`)."""
        return self.unit.memory_id is None and is_pointer(self.unit, files, of_a_day=lambda: self.is_of_a_day)

    def day_of_place(self, until: datetime) -> datetime | None:
        """Return the day of the headings above it, of its file or its folder (see `written_days.day_of`)."""
        return day_of(self.file, self.unit.heading, until=until, of_their_day=headings.of_their_day)

    @property
    def is_of_a_day(self) -> bool:
        """Whether the name of its file or a heading above it is a day."""
        return self.day_of_place(datetime.max.replace(tzinfo=UTC)) is not None


@dataclass(frozen=True)
class _Known:
    """What the ledger knows of a folder from earlier imports and exports of it."""

    source: Source
    """The source with its profile, and the name by which it recognises the folder."""
    ledger: Ledger | None
    before: Mapping[str, Mapping[str, Any]]
    """Fields of the memories whose validity is open, as earlier imports and exports had them."""
    taken: frozenset[str]
    """Memories that runs took out of the live set: their absence from the folder does not end them."""

    @classmethod
    def of(cls, source: Source, path: Path, ledger: Ledger | None, name: str | None) -> Self:
        exporter = folder.owner(path)
        owner = source.profile or exporter or FORMAT
        source = replace(source, profile=owner, name=stable_id(FORMAT, name or str(path.resolve())))
        if ledger is None:
            return cls(source, None, {}, frozenset())
        exported = folder.read_list(path, owner).memories if exporter == owner else ()
        current = fields_now(ledger, owner, exported)
        before = open_memories(ledger, owner, source.instance)
        before |= {memory_id: fields for memory_id, fields in current.items() if "valid_until" not in fields}
        in_force = projection.unmasked(ledger.decisions(profiles=[owner]), ledger.reverted())
        return cls(source, ledger, before, frozenset(in_force.filter(pl.col("action").is_in(LEAVING))["memory_id"]))

    def named(self, places: Iterable[_Place]) -> list[_Place]:
        """Give each unit its days and its id: the one in the file, that of the memory that it was, or a new one."""
        places = [*self._dated(places)]
        aligned = self._aligned([place for place in places if place.unit.memory_id is None])
        ordinals = Counter[tuple[str, ...]]()
        named = list[_Place]()
        for place in places:
            if place.unit.memory_id is not None:
                named.append(replace(place, memory_id=place.unit.memory_id))
                continue
            key = (place.file, *place.unit.heading, place.unit.text)
            ordinals[key] += 1
            new = stable_id(FORMAT, self.source.name, *key, str(ordinals[key]))
            named.append(replace(place, memory_id=aligned.get(id(place.unit), new)))
        while again := self._ended(named):
            named = [replace(place, memory_id=again.get(place.memory_id, place.memory_id)) for place in named]
        return named

    def _ended(self, named: Iterable[_Place]) -> dict[str, str]:
        """Return the new id of each memory that has ended and whose line reappears."""
        asked = {place.memory_id for place in named if place.unit.memory_id is None} - self.before.keys()
        return {
            memory_id: stable_id(FORMAT, memory_id, "again", str(fields["valid_until"]))
            for memory_id, fields in fields_now(self.ledger, self.source.profile or FORMAT, asked).items()
            if "valid_until" in fields
        }

    def _dated(self, places: Iterable[_Place]) -> Iterator[_Place]:
        """Yield units with their days, and without those at their heads, but for what was stored with them before.

        Units below the same headings, one after the other, are one list.
        """
        stored = {str(fields["content"]) for fields in self.before.values()}
        for _, beside in groupby(places, lambda place: (place.file, place.unit.heading)):
            units = [*beside]
            found = [
                None
                if place.note.whole or place.unit.memory_id
                else entry(place.unit.text, until=self.source.recorded_at)
                for place in units
            ]
            days = [None if one is None else one.day for one in found]
            for place, one, day, by in zip(units, found, days, written_by(days), strict=True):
                unit = place.unit
                if one is not None and one.said != unit.text and unit.text not in stored:
                    unit = replace(unit, text=one.said, written=unit.written or unit.text)
                yield replace(place, unit=unit, day=day, by=by)

    def _aligned(self, places: list[_Place]) -> dict[int, str]:
        """Return the memory that each unit was: the same text in its place, in its file, anywhere, or the most similar.

        Memories that a run has taken out do not count as edited.
        """
        left = {memory_id: (*_where(fields), str(fields["content"])) for memory_id, fields in self.before.items()}
        found = dict[int, str]()
        for parts in ((0, 1, 2), (0, 2), (2,)):
            by_key = defaultdict[tuple[str, ...], deque[str]](deque)
            for memory_id, key in left.items():
                by_key[tuple(key[part] for part in parts)].append(memory_id)
            for place in places:
                key = (place.file, " / ".join(place.unit.heading), place.unit.text)
                candidates = by_key.get(tuple(key[part] for part in parts))
                if candidates and id(place.unit) not in found:
                    found[id(place.unit)] = candidates.popleft()
            matched = set(found.values())
            left = {memory_id: key for memory_id, key in left.items() if memory_id not in matched}
        left = {memory_id: key for memory_id, key in left.items() if memory_id not in self.taken}
        for file in sorted({key[0] for key in left.values()}):
            old = [(memory_id, key[2]) for memory_id, key in left.items() if key[0] == file]
            new = [place.unit for place in places if place.file == file and id(place.unit) not in found]
            found |= _edited(old, new)
        return found


def detect(seen: Sample) -> bool:
    """Return whether a path holds Markdown."""
    return any(map(is_markdown, seen.names))


def is_markdown(name: str) -> bool:
    """Return whether a name says that its file is Markdown, perhaps packed as `.gz` and the like."""
    return without_suffix(name).lower().endswith(SUFFIXES)


def events(source: Source, path: Path, *, ledger: Ledger | None = None, name: str | None = None) -> Iterator[Item]:
    """Yield the memories of a folder or file of Markdown, the links between them, and the end of those that are gone.

    A memory is a note with name and description as a whole, else a list item, else a paragraph; headings, tags and
    type are its tags. It is dated by the day at its head, else by the front matter, else by a date in the headings
    above it or in the name of the file or its folder, else by the day of the next item beside it, else by the commit
    that added the file, else by the file. Without a given profile, a folder that is an export is that of its profile.

    Args:
        ledger: recognises what an earlier import of the folder stored; None: no ledger yet.
        name: name by which later imports recognise the folder; default: its path.
    """
    known = _Known.of(source, path, ledger, name)
    source, found = known.source, _Folder.of(path)
    yield from found.left_out
    yield from (source.broken(None, file, why) for file, why in found.broken)
    named = known.named(found.places)
    committed = first_committed(path)
    for place in named:
        yield from _stored(source, place, committed.get(place.file))
    yield from _links(source, named)
    left = known.before.keys() - {place.memory_id for place in named} - known.taken
    broken = {file for file, _ in found.broken}
    yield from _gone(source, {name: fields for name, fields in known.before.items() if name in left}, broken)


def places(path: Path, *, profile: str, ledger: Ledger, name: str | None = None) -> list[Place]:
    """Return the place of each memory in the files of a folder that was just imported; arguments as for `events`."""
    known = _Known.of(Source(FORMAT, datetime.now(UTC), profile), path, ledger, name)
    named = known.named(_Folder.of(path).places)
    return [_place(one) for one in named if one.member.path is not None and one.member.name == one.file]


def _place(one: _Place) -> Place:
    """Return where a memory stands, and how its text is written there."""
    unit = one.unit
    written = unit.text if unit.written is None else unit.written
    return Place(
        one.memory_id,
        one.file,
        unit.line - 1,
        unit.after - 1,
        one.note.whole,
        written,
        plain=unit.written is None and not unit.introduces,
        of_a_day=one.is_of_a_day,
    )


def texts(path: Path) -> dict[str, str]:
    """Return the exact text of each file of Markdown in a folder by its path in the folder.

    Files that cannot be read are left out, and so are packed ones and those in archives, which nobody edits in their
    place.
    """
    found = dict[str, str]()
    for member in members(path):
        if member.path is not None and member.name.lower().endswith(SUFFIXES):
            with suppress(OSError, UnicodeDecodeError):
                found[member.name] = member.path.read_bytes().decode()
    return found


def _exact(source: Source, place: _Place) -> Item | None:
    """Return a memory as an export wrote it; None if the file gives it no id, or its fields were damaged by edits."""
    if place.unit.memory_id is None:
        return None
    fields = {name: value for name, value in place.unit.fields.items() if name not in READ_ONLY}
    outside: dict[str, Any] = {name: fields.pop(name) for name in ("memory_id", "occurred_at", *_WHO) if name in fields}
    record = _record(source, place)
    event: dict[str, Any] = {
        "event_id": record.event_id(EventType.STORED.value, place.unit.memory_id),
        "profile_id": record.profile,
        "event_type": EventType.STORED.value,
        "instance_id": source.instance,
        **outside,
        "payload": {**fields, "content": place.unit.text},
    }
    try:
        stored = parse(event, recorded_at=source.recorded_at, origin=record.origin, future=None)
    except InvalidEvent:
        return None
    changed_at = min(place.member.modified, source.recorded_at)
    return Imported.of(
        stored, record.origin, raw_bytes(record.raw), imported_as=ImportedAs.STATE, changed_at=changed_at
    )


def _stored(source: Source, place: _Place, committed: str | None) -> Iterator[Item]:
    if exact := _exact(source, place):
        yield exact
        return
    fields = {**place.note.front, **place.unit.fields}
    stands = place.day_of_place(source.recorded_at)
    stated = (place.unit.fields, {} if place.day is None else {"date": place.day}, place.note.front)
    dates = (said[key] for said in stated for key in _CREATED if key in said)
    created = next(dates, stands or place.by or committed)
    changed = next((fields[key] for key in _CHANGED if key in fields), place.member.modified)
    record = _record(source, place, at=created, file_at=place.member.modified)
    metadata = dict(mapping(fields.get("metadata")))
    kinds = (fields[key] for key in ("memory_type", "type") if key in fields)
    typed, tag = kind_of(next(kinds, metadata.get("type")))
    category, other = kind_of(fields.get("category"))
    used = {*_CREATED, *_CHANGED, *_STORED, *_WHO, *READ_ONLY}
    used |= {"memory_id", "tags", "memory_type", "type", "category", "metadata"}
    if place.unit.memory_id is None:
        rest = metadata_of(fields, without=used) or {}
        heading = " / ".join(place.unit.heading)
        named = {key: fields.get(key) for key in ("name", "description")}
        metadata |= {"file": place.file, "heading": heading, "project": place.project, **named, **rest}
    payload = {
        **{key: fields.get(key) for key in _STORED},
        **typed,
        **category,
        "metadata": metadata,
        "tags": [*labels(fields.get("tags")), *place.unit.tags, *tag, *other],
    }
    restated = any(key in fields for key in _CHANGED)
    yield from [Noticed(_UNDATED)] * (created is None)
    yield from record.stored(place.memory_id, place.unit.text, payload, changed_at=changed, states_change=restated)


def _record(source: Source, place: _Place, *, at: object = None, file_at: datetime | None = None) -> Record:
    fields = {**place.note.front, **place.unit.fields}
    who = {name: fields.get(name) for name in _WHO}
    raw = {"file": place.file, "line": place.unit.line, "text": place.unit.text}
    return source.record(raw, f"{place.file}:{place.unit.line}", at=at, file_at=file_at, **who)


def _projects(path: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the project of each file that stands in a folder of a coding agent's file, or below.

    A project is named after its folder. Our own exports are of no project.
    """
    if folder.owner(path) is not None:
        return {}
    whole = path.resolve()
    root = PurePosixPath((whole if path.is_dir() else whole.parent if path.suffix in SUFFIXES else whole).as_posix())
    named, homes = [(file, root / file) for file in files], dict[PurePosixPath, PurePosixPath]()
    for _, at in named:
        if at.name.lower() in OF_AGENTS:
            homes[at.parent] = at.parent.parent if at.parent.name.startswith(".") else at.parent
        elif (at.parent.name.lower(), at.name.lower()) == _AUTO_MEMORY:
            homes[at.parent] = at.parent.parent
    found = {file: next((homes[above] for above in at.parents if above in homes), None) for file, at in named}
    return {file: name for file, home in found.items() if home is not None and (name := label(home.name))}


def _files(places: Iterable[_Place]) -> dict[str, str]:
    """Return the files by the names that links may give them, in lower case."""
    names = dict[str, str]()
    for place in places:
        path = PurePosixPath(place.file)
        for known in (str(path.with_suffix("")), path.stem, *(place.note.front.get(key) for key in _NAMES)):
            if isinstance(known, str):
                names.setdefault(known.strip().lower(), place.file)
    return names


def _edited(old: list[tuple[str, str]], new: list[Unit]) -> dict[int, str]:
    """Pair changed lines of a file with what they were, the most similar first."""
    if _length(text for _, text in old) * _length(unit.text for unit in new) > _COMPARED:
        return {}
    pairs = list[tuple[float, int, int]]()
    for one, (_, text) in enumerate(old):
        matcher = SequenceMatcher(None, "", text[:_BEGINNING], autojunk=False)
        for other, unit in enumerate(new):
            matcher.set_seq1(unit.text[:_BEGINNING])
            if matcher.quick_ratio() >= _SAME and (ratio := matcher.ratio()) >= _SAME:
                pairs.append((-ratio, one, other))
    found, taken = dict[int, str](), set[int]()
    for _, one, other in sorted(pairs):
        if one not in taken and id(new[other]) not in found:
            found[id(new[other])] = old[one][0]
            taken.add(one)
    return found


def _length(texts: Iterable[str]) -> int:
    return sum(min(len(text), _BEGINNING) for text in texts)


def _where(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return file and heading of a memory that an earlier import stored."""
    metadata = mapping(json.loads(fields.get("metadata") or "{}"))
    return str(metadata.get("file", "")), str(metadata.get("heading", ""))


def _links(source: Source, named: list[_Place]) -> Iterator[Item]:
    """Yield a link to the first memory of every file that a memory names."""
    files, first = _files(named), dict[str, str]()
    for place in named:
        first.setdefault(place.file, place.memory_id)
    lost = 0
    for place in named:
        for kind, target in place.unit.links:
            file = resolved(target, files)
            if file is None:
                lost += 1
            else:
                yield from _record(source, place).linked(place.memory_id, first[file], kind)
    yield from skipped("links to missing notes", lost)


def _gone(source: Source, left: Mapping[str, Mapping[str, Any]], broken: set[str]) -> Iterator[Item]:
    """Yield the end of memories that the folder no longer has; those in unreadable files stay."""
    for memory_id, fields in left.items():
        file, _ = _where(fields)
        if file not in broken:
            record = source.record({"gone": memory_id, "file": file}, file or memory_id)
            yield from record.updated(memory_id, written(source.recorded_at), valid_until=written(source.recorded_at))
