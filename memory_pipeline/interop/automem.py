"""Imports a backup of AutoMem: the files of FalkorDB and Qdrant, apart, in a folder, or in one archive.

The graph has the memories and their relations; only memories that the graph lacks are taken from Qdrant. Not here: what
AutoMem derives itself, such as similarities, which a run finds again.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, instant, kind_of, labels, listed, mapping, metadata_of, text

_FOUND_ANEW: Final = {"SIMILAR_TO", "PRECEDED_BY"}
_REVERSED: Final = {"INVALIDATED_BY": "SUPERSEDES"}
_WEIGHTS: Final = ("strength", "confidence", "score")
_FIELDS: Final = {
    *("id", "content", "timestamp", "type", "importance", "confidence", "tags", "metadata"),
    *("t_valid", "t_invalid", "updated_at", "last_accessed"),
}
"""Properties of a memory that become fields of ours."""
_DERIVED: Final = ("tag_prefixes", "processed", "enrich", "embedding")
"""Beginnings of the names of properties that AutoMem derives from the others."""


def detect(seen: Sample) -> bool:
    """Return whether a path is a backup of AutoMem."""
    names = {Path(name).name for name in seen.names}
    return any(
        name.startswith(("falkordb_", "qdrant_")) and name.endswith((".json", ".json.gz")) for name in names
    ) or any(one.has("graph_name", "nodes") or one.has("collection_name", "points") for one in seen.heads)


def events(source: Source, path: Path) -> Iterator[Item]:
    """Yield the memories of a backup, one held in memory at a time, and their relations; of several the newest."""
    names = dict[object, str]()
    parts = {"graph": _graph, "points": _points}
    newest = [max((one.name for one in members(path) if _kind(one) == kind), default="") for kind in parts]
    for name, read in zip(newest, parts.values(), strict=True):
        for member in (one for one in members(path) if one.name == name):
            yield from source.of_member(member, read(source, member, names))


def _kind(member: Member) -> str | None:
    if not member.base.endswith(".json"):
        return None
    if member.base.startswith("falkordb"):
        return "graph"
    if member.base.startswith("qdrant"):
        return "points"
    try:
        head = member.head(4096)
    except Broken:
        return None
    return "graph" if b'"graph_name"' in head else "points" if b'"collection_name"' in head else None


def _graph(source: Source, member: Member, names: dict[object, str]) -> Iterator[Item]:
    for origin, node in member.elements("nodes.item", under=":nodes"):
        if "Memory" not in listed(mapping(node).get("labels")):
            yield (
                Skipped("nodes that are not memories")
                if isinstance(node, Mapping)
                else source.broken(node, origin, "the node is not a JSON object")
            )
            continue
        properties = mapping(node.get("properties"))
        memory_id = identifier(properties.get("id"))
        if memory_id and text(properties.get("content")) and isinstance(node.get("id"), int | str):
            names[node.get("id")] = memory_id
        yield from _memory(source, properties, origin)
    for origin, edge in member.elements("relationships.item", under=":relationships"):
        if isinstance(edge, Mapping):
            yield from _relation(source, edge, origin, names)
        else:
            yield source.broken(edge, origin, "the relation is not a JSON object")


def _points(source: Source, member: Member, names: dict[object, str]) -> Iterator[Item]:
    known = set(names.values())
    for origin, point in member.elements("points.item", under=":points"):
        payload = mapping(mapping(point).get("payload"))
        memory_id = identifier(payload.get("id")) or identifier(mapping(point).get("id"))
        if memory_id not in known:
            yield from _memory(source, {**payload, "id": memory_id}, origin)


def _memory(source: Source, node: Mapping[str, Any], origin: str) -> Iterator[Item]:
    record = source.record(dict(node), origin, at=node.get("timestamp"))
    kind, tag = kind_of(node.get("type"))
    begins = node.get("t_valid")
    own = {name: value for name, value in node.items() if not str(name).startswith(_DERIVED)}
    state = metadata_of(own, without=_FIELDS)
    payload = {
        **kind,
        "importance": node.get("importance"),
        "confidence": node.get("confidence"),
        "tags": [*labels(node.get("tags")), *tag],
        "valid_from": begins if instant(begins) != record.at else None,
        "valid_until": node.get("t_invalid"),
        "metadata": {**_metadata(node.get("metadata")), "source_state": state},
    }
    yield from record.stored(node.get("id"), node.get("content"), payload, changed_at=node.get("updated_at"))
    used, changed = instant(node.get("last_accessed")), instant(node.get("updated_at"))
    if used and used not in {changed, record.at} and text(node.get("content")):
        yield from record.dated(used).accessed(node.get("id"), used.isoformat())


def _metadata(value: object) -> Mapping[str, Any]:
    """Return metadata, which the graph holds as text."""
    try:
        return mapping(json.loads(value) if isinstance(value, str) else value)
    except (ValueError, RecursionError):
        return {"metadata": value}


def _relation(source: Source, edge: Mapping[str, Any], origin: str, names: Mapping[object, str]) -> Iterator[Item]:
    ends = [
        names.get(end) if isinstance(end := edge.get(key), int | str) else None for key in ("source_id", "target_id")
    ]
    kind = str(edge.get("type"))
    properties = mapping(edge.get("properties"))
    if kind in _FOUND_ANEW:
        yield Skipped("relations that a run finds again")
    elif not all(ends):
        yield Skipped("relations of nodes that are not memories")
    else:
        at = properties.get("updated_at") or properties.get("created_at") or properties.get("timestamp")
        weight = next((value for name in _WEIGHTS if (value := properties.get(name)) is not None), None)
        one, other = reversed(ends) if kind in _REVERSED else ends
        fine = {"weight": weight, "kind": next(iter(labels(properties.get("kind"))), None)}
        given = {name: value for name, value in fine.items() if value is not None}
        record = source.record(dict(edge), origin, at=at)
        yield from record.linked(one, other, _REVERSED.get(kind, kind), **given)
