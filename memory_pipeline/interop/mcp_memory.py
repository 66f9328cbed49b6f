"""Imports the file of the MCP reference memory server: `memory.jsonl`, its older `memory.json` too.

The file has no instants, ids or users: memories are dated by the file, and identified by entity and text.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.files import Broken, Member, members, parsed
from memory_pipeline.interop.items import Item, Skipped, stable_id
from memory_pipeline.interop.records import Record, Source, label, labels, listed, text
from memory_pipeline.interop.sampling import Sample

FORMAT: Final = "mcp-memory"


def detect(seen: Sample) -> bool:
    """Return whether a path is such a file."""
    return any(
        (line.get("type") == "entity" and "entityType" in line)
        or (line.get("type") == "relation" and "relationType" in line)
        for one in seen.heads
        for line in one.objects
    )


def events(path: Path, *, recorded_at: datetime, profile: str | None = None) -> Iterator[Item]:
    """Yield a memory per observation and relation, and links between first observations.

    Args:
        path: file or folder of such files.
        recorded_at: time of the import.
        profile: profile to import into; default `mcp-memory`.
    """
    source = Source(FORMAT, recorded_at, profile or FORMAT)
    for member in members(path):
        if member.base.endswith((".jsonl", ".json")):
            yield from _graph(source, member)


def _graph(source: Source, member: Member) -> Iterator[Item]:
    first = dict[str, str]()
    relations = list[tuple[Record, Mapping[str, Any]]]()
    try:
        for number, line in member.lines():
            origin, read = f"{member.name}:{number}", parsed(line)
            if read is None:
                yield source.broken(
                    line.decode("utf-8", "replace"), origin, "the line is not a JSON object; correct it"
                )
                continue
            record = source.record(read, origin, at=member.modified)
            match read.get("type"):
                case "entity":
                    yield from _entity(record, read, first)
                case "relation":
                    relations.append((record, read))
                case _:
                    yield Skipped("lines that are neither entity nor relation")
    except Broken as error:
        yield source.broken(None, member.name, str(error))
    for record, relation in relations:
        yield from _relation(record, relation, first)


def _entity(record: Record, entity: Mapping[str, Any], first: dict[str, str]) -> Iterator[Item]:
    name = label(entity.get("name"))
    if name is None:
        yield record.broken("name is missing; give each entity its name")
        return
    if not listed(entity.get("observations")):
        yield Skipped("entities without observations")
    for observation in listed(entity.get("observations")):
        observed = text(observation)
        if observed is None:
            yield record.broken("an observation is not a text; give a list of texts")
            continue
        memory_id = stable_id(FORMAT, name, observed)
        first.setdefault(name, memory_id)
        content = observed if name.lower() in observed.lower() else f"{name}: {observed}"
        payload = {
            "category": "semantic",
            "tags": labels(entity.get("entityType")) or None,
            "metadata": {"entity": name},
        }
        yield from record.stored(memory_id, content, payload)


def _relation(record: Record, relation: Mapping[str, Any], first: Mapping[str, str]) -> Iterator[Item]:
    one, other, kind = (label(relation.get(key)) for key in ("from", "to", "relationType"))
    if not (one and other and kind):
        yield record.broken("from, to or relationType is missing; give all three")
        return
    payload = {"category": "semantic", "metadata": {"entity": one, "relation": kind, "target": other}}
    content = f"{one} {kind.replace('_', ' ')} {other}"
    yield from record.stored(stable_id(FORMAT, "relation", one, kind, other), content, payload)
    if one in first and other in first:
        yield from record.linked(first[one], first[other], kind, kind="asserted")
    else:
        yield Skipped("links of entities without observations")
