"""Exports what a profile remembers as the `memory.jsonl` of the MCP reference memory server: a graph of entities."""

import json
from typing import Any, Final

from memory_pipeline.interop.exports.current import DETAILS, TOLD, Current

WITHIN: Final = "links between memories of one entity"
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
    relations = {
        (owners[source], owners[target], kind): None
        for source, target, kind in current.links.select("source", "target", "edge_type").iter_rows()
        if owners[source] != owners[target]
    }
    lines = [entity | {"observations": list(entity["observations"])} for entity in entities.values()]
    lines += [
        {"type": "relation", "from": source, "to": target, "relationType": kind} for source, target, kind in relations
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def lost(current: Current) -> dict[str, int]:
    """Return the number of what has no place in this format."""
    owners = _owners(current)
    ends = current.links.select("source", "target").iter_rows()
    within = sum(owners[source] == owners[target] for source, target in ends)
    return current.count(*TOLD, DETAILS) | {WITHIN: within}


def _owners(current: Current) -> dict[str, str]:
    """Return the entity of each memory."""
    return {fields["memory_id"]: _entity(current.profile_id, fields)[0] for fields, _ in current.rows()}


def _entity(profile_id: str, fields: dict[str, Any]) -> tuple[str, str]:
    named = fields.get("metadata", {}).get("entity")
    if isinstance(named, str) and named:
        return named, next(iter(fields.get("tags", ())), _TYPE)
    person = fields.get("speaker") or fields.get("user_id")
    return (person, _TYPE) if person else (profile_id, _PROFILE_TYPE)
