"""Exports what a profile remembers as the `memory.jsonl` of the MCP reference memory server: a graph of entities."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memory_pipeline.consolidation.whereabouts import ENTITY, ENTITY_TYPE
from memory_pipeline.interop.exports.current import DETAILS, HISTORY, Current

WITHIN: Final = "links between memories of one entity"
OF_LINKS: Final = "kinds, weights, instants and metadata of links"
ONE_RELATION: Final = "links of the same type between the same entities"
SAME_TEXTS: Final = "memories of the same text and entity"
NAMED: Final = "begins_with_entity"
"""Key that says that the import put the name of the entity before the text."""
AFTER_NAME: Final = ": "
"""What stands between that name and the text."""
RELATION: Final = "relation"
"""Key of the type of a relation, of which the memory is; its other end is `TARGET`, of the type `TARGET_TYPE`."""
TARGET: Final = "target"
TARGET_TYPE: Final = "target_type"

_TYPE: Final = "person"
_SEPARATORS: Final = re.compile(r"\W+")

Relation = tuple[str, str, str]
"""Entities of both ends, and the type."""


def text(current: Current) -> str:
    """Return the file: one entity per line, then one relation per line; observations best first, each once per entity.

    The entity of a memory is the one that its metadata names (`ENTITY`), else its speaker, user or profile. A memory
    that an import made of a relation is that relation again; a link that an agent asserted is one between the entities
    of its ends, if these differ. `DETAILS` have no place in this format.
    """
    entities = dict[str, dict[str, Any]]()

    def entity(name: str, kind: str) -> dict[str, Any]:
        new = {"type": "entity", "name": name, "entityType": kind, "observations": dict[str, None]()}
        return entities.setdefault(name, new)

    rows = list(current.rows())
    for fields, content in rows:
        if _relation(fields, content) is None:
            entity(*_entity(current.profile_id, fields))["observations"][_observation(fields, content)] = None
    for fields, content in rows:
        if (known := _relation(fields, content)) is not None:
            metadata = fields["metadata"]
            entity(known[0], _text(metadata.get(ENTITY_TYPE)) or _TYPE)
            entity(known[1], _text(metadata.get(TARGET_TYPE)) or _TYPE)
    relations = dict.fromkeys([*_stated(current), *_linked(current)])
    lines = [one | {"observations": list(one["observations"])} for one in entities.values()]
    lines += [
        {"type": "relation", "from": source, "to": target, "relationType": kind} for source, target, kind in relations
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def lost(current: Current) -> dict[str, int]:
    """Return the number of what has no place in this format."""
    rows = [(fields, content) for fields, content in current.rows() if _relation(fields, content) is None]
    texts = {(_entity(current.profile_id, fields)[0], _observation(fields, content)) for fields, content in rows}
    linked = list(_linked(current))
    between = sum(1 for _ in _between(current))
    return current.count(*HISTORY, DETAILS) | {
        SAME_TEXTS: len(rows) - len(texts),
        WITHIN: current.links.height - between,
        ONE_RELATION: len(linked) - len(set(linked)),
        OF_LINKS: between,
    }


def _observation(fields: Mapping[str, Any], content: str) -> str:
    """Return the text of a memory without the name that an import put before it."""
    metadata = fields.get("metadata", {})
    named = metadata.get(NAMED) is True and isinstance(metadata.get(ENTITY), str)
    return content.removeprefix(f"{metadata[ENTITY]}{AFTER_NAME}") if named else content


def sentence(source: str, kind: str, target: str) -> str:
    """Return the text of the memory that an import makes of a relation."""
    return f"{source} {kind.replace('_', ' ')} {target}"


def _relation(fields: Mapping[str, Any], content: str) -> Relation | None:
    """Return the relation of which an import made a memory; None if it did not, or the text was changed since."""
    metadata = fields.get("metadata", {})
    source, target, kind = (_text(metadata.get(name)) for name in (ENTITY, TARGET, RELATION))
    if source and target and kind and content == sentence(source, kind, target):
        return source, target, kind
    return None


def _stated(current: Current) -> Iterator[Relation]:
    return (known for fields, content in current.rows() if (known := _relation(fields, content)) is not None)


def _between(current: Current) -> Iterator[Relation]:
    """Yield the relation of each link between two entities."""
    owners = {fields["memory_id"]: _entity(current.profile_id, fields)[0] for fields, _ in current.rows()}
    for source, target, kind in current.links.select("source", "target", "edge_type").iter_rows():
        if owners[source] != owners[target]:
            yield owners[source], owners[target], kind


def _linked(current: Current) -> Iterator[Relation]:
    """Yield those relations of links that no memory states; the type of a link is written in capitals."""
    stated = {(source, target, _plain(kind)) for source, target, kind in _stated(current)}
    return (known for known in _between(current) if (*known[:2], _plain(known[2])) not in stated)


def _plain(kind: str) -> str:
    return _SEPARATORS.sub("_", kind).strip("_").upper() or kind.strip()


def _entity(profile_id: str, fields: Mapping[str, Any]) -> tuple[str, str]:
    metadata = fields.get("metadata", {})
    if named := _text(metadata.get(ENTITY)):
        untyped = "" if fields.get("source") == "mcp-memory" else _TYPE  # it had none there
        return named, _text(metadata.get(ENTITY_TYPE)) or next(iter(fields.get("tags", ())), untyped)
    person = fields.get("speaker") or fields.get("user_id")
    return (person, _TYPE) if person else (profile_id, "profile")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
