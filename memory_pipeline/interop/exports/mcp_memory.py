"""Exports what a profile remembers as the `memory.jsonl` of the MCP reference memory server: a graph of entities."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from memory_pipeline.interop.exports.current import DETAILS, TOLD, Current

WITHIN: Final = "links between memories of one entity"
OF_LINKS: Final = "kinds, weights, instants and metadata of links"
ONE_RELATION: Final = "links of the same type between the same entities"
SAME_TEXTS: Final = "memories of the same text and entity"
_TYPE: Final = "person"
_PROFILE_TYPE: Final = "profile"


def text(current: Current) -> str:
    """Return the file: one entity per line, then one relation per line; observations best first, each once per entity.

    The entity of a memory is the one that its metadata names (`entity`, as an import of such a file notes it), else its
    speaker, user or profile. A link that an agent asserted is a relation between the entities of its ends, if these
    differ. `DETAILS` have no place in this format.
    """
    entities, owners = dict[str, dict[str, Any]](), _owners(current)
    for fields, content in current.rows():
        name, kind = _entity(current.profile_id, fields)
        entity = entities.setdefault(
            name, {"type": "entity", "name": name, "entityType": kind, "observations": dict[str, None]()}
        )
        entity["observations"][content] = None
    relations = dict.fromkeys(_relations(current, owners))
    lines = [entity | {"observations": list(entity["observations"])} for entity in entities.values()]
    lines += [
        {"type": "relation", "from": source, "to": target, "relationType": kind} for source, target, kind in relations
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def lost(current: Current) -> dict[str, int]:
    """Return the number of what has no place in this format."""
    owners = _owners(current)
    relations = list(_relations(current, owners))
    texts = {(owners[fields["memory_id"]], content) for fields, content in current.rows()}
    return current.count(*TOLD, DETAILS) | {
        SAME_TEXTS: len(owners) - len(texts),
        WITHIN: current.links.height - len(relations),
        ONE_RELATION: len(relations) - len(set(relations)),
        OF_LINKS: len(relations),
    }


def _relations(current: Current, owners: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the entities and the type of each link between two entities."""
    for source, target, kind in current.links.select("source", "target", "edge_type").iter_rows():
        if owners[source] != owners[target]:
            yield owners[source], owners[target], kind


def _owners(current: Current) -> dict[str, str]:
    """Return the entity of each memory."""
    return {fields["memory_id"]: _entity(current.profile_id, fields)[0] for fields, _ in current.rows()}


def _entity(profile_id: str, fields: dict[str, Any]) -> tuple[str, str]:
    named = fields.get("metadata", {}).get("entity")
    if isinstance(named, str) and named:
        return named, next(iter(fields.get("tags", ())), _TYPE)
    person = fields.get("speaker") or fields.get("user_id")
    return (person, _TYPE) if person else (profile_id, _PROFILE_TYPE)
