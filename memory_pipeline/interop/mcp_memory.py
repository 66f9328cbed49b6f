"""Imports the file of the MCP reference memory server: `memory.jsonl`, its older `memory.json` too.

The file has no instants, ids or users: memories are dated by the file, and identified by entity and text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.exports.mcp_memory import (
    AFTER_NAME,
    ENTITY,
    ENTITY_TYPE,
    NAMED,
    RELATION,
    TARGET,
    TARGET_TYPE,
    sentence,
)
from memory_pipeline.interop.files import Member, objects
from memory_pipeline.interop.items import Item, Skipped, stable_id
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import label, listed, text

FORMAT: Final = "mcp-memory"

_LONGEST: Final = 1_000
"""Characters of a name or type that is kept as it is."""


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
    """As the file has it."""
    kind: str | None
    """Its type, as the file has it."""
    first: str | None = None
    """Memory of its first observation."""


def _entity(record: Record, entity: Mapping[str, Any], entities: dict[str, _Entity]) -> Iterator[Item]:
    name = label(entity.get("name"))
    if name is None:
        yield record.broken("name is missing; give each entity its name")
        return
    known = entities.setdefault(name, _Entity(_short(entity["name"]) or name, _short(entity.get("entityType"))))
    if not listed(entity.get("observations")):
        yield Skipped("entities without observations")
    for observation in listed(entity.get("observations")):
        own = replace(record, raw={ENTITY: name, "observation": observation})
        observed = text(observation)
        if observed is None:
            yield own.broken("an observation is not a text; give a list of texts")
            continue
        memory_id = stable_id(FORMAT, name, observed)
        known.first = known.first or memory_id
        content = observed if name.lower() in observed.lower() else f"{name}{AFTER_NAME}{observed}"
        payload = {
            "category": "semantic",
            "tags": entity.get("entityType"),
            "metadata": {ENTITY: known.name, ENTITY_TYPE: known.kind, NAMED: content != observed or None},
        }
        yield from own.stored(memory_id, content, payload)


def _short(value: object) -> str | None:
    """Return a name or type as the file has it, shortened where it could not stand with each observation."""
    named = text(value) if isinstance(value, str) else label(value)
    return named if named is None or len(named) <= _LONGEST else label(named)


def _relation(record: Record, relation: Mapping[str, Any], entities: Mapping[str, _Entity]) -> Iterator[Item]:
    one, other, kind = (label(relation.get(key)) for key in ("from", "to", "relationType"))
    if not (one and other and kind):
        yield record.broken("from, to or relationType is missing; give all three")
        return
    source, target = (entities.get(name, _Entity(name, None)) for name in (one, other))
    metadata = {
        ENTITY: source.name,
        ENTITY_TYPE: source.kind,
        RELATION: _short(relation["relationType"]) or kind,
        TARGET: target.name,
        TARGET_TYPE: target.kind,
    }
    content = sentence(source.name, str(metadata[RELATION]), target.name)
    payload = {"category": "semantic", "metadata": metadata}
    yield from record.stored(stable_id(FORMAT, "relation", one, kind, other), content, payload)
    if source.first and target.first:
        yield from record.linked(source.first, target.first, kind, kind="asserted")
    else:
        yield Skipped("links of entities without observations")
