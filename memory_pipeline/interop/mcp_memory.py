"""Imports the file of the MCP reference memory server: `memory.jsonl`, its older `memory.json` too.

The file has no instants, ids or users: memories are dated by the file, and identified by entity and text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memory_pipeline.consolidation.whereabouts import ENTITY, ENTITY_TYPE
from memory_pipeline.interop.exports.mcp_memory import (
    AFTER_NAME,
    NAMED,
    RELATION,
    TARGET,
    TARGET_TYPE,
    sentence,
)
from memory_pipeline.interop.files import Member, objects
from memory_pipeline.interop.items import Item, Skipped, skipped, stable_id
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import label, listed, text

FORMAT: Final = "mcp-memory"

BESIDE: Final = "fields of entities and relations beside names, types and observations"
OTHER_TYPES: Final = "other types of entities that came with one before"
_LONGEST: Final = 1_000
"""Characters of a name or type that is kept as it is."""
_OF_ENTITY: Final = {"type", "name", "entityType", "observations"}
_OF_RELATION: Final = {"type", "from", "to", "relationType"}


def detect(seen: Sample) -> bool:
    """Return whether a path is such a file."""
    return any(
        (line.get("type") == "entity" and "entityType" in line)
        or (line.get("type") == "relation" and "relationType" in line)
        for one in seen.heads
        for line in one.objects
    )


def events(source: Source, path: Path) -> Iterator[Item]:
    """Yield a memory per observation and relation, and links between first observations.

    An observation that does not name its entity begins with the name; names and types are kept as metadata, so that an
    export gives back what was there.
    """

    def read(member: Member) -> Iterator[Item]:
        if member.base.endswith((".jsonl", ".json")):
            entities, relations = dict[str, _Entity](), list[tuple[Record, Mapping[str, Any]]]()
            yield from source.of_member(member, _lines(source, member, entities, relations))
            for record, relation in relations:
                yield from _relation(record, relation, entities)

    return source.of_files(path, read)


def _lines(
    source: Source,
    member: Member,
    entities: dict[str, "_Entity"],
    relations: list[tuple[Record, Mapping[str, Any]]],
) -> Iterator[Item]:
    """Yield the observations of a file, and collect its entities and relations."""
    for number, line in member.lines():
        origin = f"{member.name}:{number}"
        found, rest = objects(line)
        for read in found:
            record = source.record(read, origin, file_at=member.modified)
            match read.get("type"):
                case "entity":
                    yield from _entity(record, read, entities)
                case "relation":
                    relations.append((record, read))
                case _:
                    yield Skipped("lines that are neither entity nor relation")
        if rest:
            yield source.broken(rest, origin, "this part of the line is not a JSON object; correct it")


@dataclass
class _Entity:
    name: str
    kind: str | None
    """Its type."""
    first: str | None = None
    """Memory of its first observation."""


def _entity(record: Record, entity: Mapping[str, Any], entities: dict[str, _Entity]) -> Iterator[Item]:
    name, kind, observations = _name(entity.get("name")), _name(entity.get("entityType")), entity.get("observations")
    if name is None:
        yield record.broken("name is missing; give each entity its name")
        return
    known = entities.setdefault(name, _Entity(name, kind))
    yield from skipped(OTHER_TYPES, int(kind != known.kind))
    yield from skipped(BESIDE, len(entity.keys() - _OF_ENTITY))
    if not observations:
        yield Skipped("entities without observations")
    elif not listed(observations):
        yield record.broken("observations is not a list; give a list of texts")
    for observation in listed(observations):
        own = replace(record, raw={ENTITY: name, "observation": observation})
        observed = text(observation)
        if observed is None:
            yield own.broken("an observation is not a text; give a list of texts")
            continue
        memory_id = stable_id(FORMAT, name, observed)
        known.first = known.first or memory_id
        content = observed if _is_in(name, observed) else f"{name}{AFTER_NAME}{observed}"
        payload = {
            "category": "semantic",
            "tags": entity.get("entityType"),
            "metadata": {ENTITY: known.name, ENTITY_TYPE: known.kind, NAMED: content != observed or None},
        }
        yield from own.stored(memory_id, content, payload)


def _is_in(name: str, observed: str) -> bool:
    """Return whether a text has a name as a word of its own: "Ed" is not in "moved"."""
    found = name.lower() in observed.lower()
    return found and re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", observed, re.IGNORECASE) is not None


def _name(value: object) -> str | None:
    """Return a name or type as the file has it, shortened where it could not stand with each observation."""
    named = text(value) if isinstance(value, str) else label(value)
    return named if named is None or len(named) <= _LONGEST else label(named)


def _relation(record: Record, relation: Mapping[str, Any], entities: Mapping[str, _Entity]) -> Iterator[Item]:
    one, other, kind = (_name(relation.get(key)) for key in ("from", "to", "relationType"))
    if not (one and other and kind):
        yield record.broken("from, to or relationType is missing; give all three")
        return
    yield from skipped(BESIDE, len(relation.keys() - _OF_RELATION))
    source, target = (entities.get(name, _Entity(name, None)) for name in (one, other))
    metadata = {
        ENTITY: source.name,
        ENTITY_TYPE: source.kind,
        RELATION: kind,
        TARGET: target.name,
        TARGET_TYPE: target.kind,
    }
    content = sentence(source.name, kind, target.name)
    payload = {"category": "semantic", "metadata": metadata}
    yield from record.stored(stable_id(FORMAT, "relation", one, kind, other), content, payload)
    if source.first and target.first:
        yield from record.linked(source.first, target.first, kind, kind="asserted")
    else:
        yield Skipped("links of entities without observations")
