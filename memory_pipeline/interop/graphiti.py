"""Imports Graphiti and Zep: facts with their validity, episodes, and messages of threads, as JSON.

Graphiti has no export file: write `model_dump_json()` of what `EntityEdge.get_by_group_ids` and similar methods return,
one per line, or lists of them; answers of its server and of Zep's are read too (docs/imports.md). Not here: its graph
databases.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from memory_pipeline.interop.chats import ROLES, left_out, speaker
from memory_pipeline.interop.files import Broken, Member, members, parsed
from memory_pipeline.interop.items import Item, Skipped
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, instant, label, labels, listed, mapping, text

_Fact = tuple[str, Mapping[str, Any], Record]
"""Id of a fact, what was read of it, and its record."""

_LISTS: Final = (
    *("item", "edges.item", "facts.item", "episodes.item", "nodes.item", "entities.item"),
    *("communities.item", "sagas.item", "messages.item"),
)
_REST: Final = ("reference_time", "source_description", "attributes", "name")


def detect(seen: Sample) -> bool:
    """Return whether a path holds data of Graphiti."""
    return any(
        one.has("fact", "source_node_uuid", "target_node_uuid")
        or one.has("uuid", "group_id", "source_description")
        or one.has("uuid", "fact", "valid_at", "invalid_at")
        or one.has("uuid", "role", "content", "created_at", "messages")
        or one.has("uuid", "role", "role_type", "content")
        for one in seen.heads
    )


def events(source: Source, path: Path, *, episodes: bool = False, assistant: bool = False) -> Iterator[Item]:
    """Yield a memory per fact, links to the facts that ended others, what people said in threads, episodes on request.

    Without a given profile, each is in that of its group, user or graph.
    """
    names, facts = _names(path), list[_Fact]()

    def read(member: Member) -> Iterator[Item]:
        for origin, one in _records(member):
            if not isinstance(one, Mapping):
                yield source.broken(one, origin, "the record is not a JSON object")
                continue
            owner = next((one[name] for name in ("group_id", "user_id", "graph_id") if one.get(name)), None)
            record = source.record(dict(one), origin, at=one.get("created_at"), user_id=owner)
            if "role" in one and "fact" not in one and "source_description" not in one:
                yield from _message(record, one, PurePosixPath(origin.partition("[")[0]).stem, assistant=assistant)
            else:
                yield from _items_of(record, one, names, facts, episodes=episodes)

    yield from source.of_files(path, read)
    yield from _superseded(facts)
    for uuid, fact, record in facts if episodes else ():
        for episode in listed(fact.get("episodes")):
            yield from record.linked(uuid, episode, "DERIVED_FROM")


def _names(path: Path) -> dict[str, str | None]:
    names = dict[str, str | None]()
    for member in members(path):
        with suppress(Broken):
            for _, read in _records(member):
                if isinstance(read, Mapping) and "labels" in read and "summary" in read:
                    names[str(read.get("uuid"))] = label(read.get("name"))
    return names


def _message(record: Record, read: Mapping[str, Any], file: str, *, assistant: bool) -> Iterator[Item]:
    """Yield what somebody said in a thread of Zep, which the message names, or else its file."""
    role = read.get("role_type") if read.get("role_type") in ROLES else read.get("role")
    if skipped := left_out(role, assistant=assistant):
        yield skipped
        return
    named = read.get("role") if role != read.get("role") else None
    thread = next((read[name] for name in ("thread_id", "thread_uuid", "session_id") if read.get(name)), file)
    own = replace(record, who={**record.who, "session_id": identifier(thread) or file})
    payload = {
        "speaker": label(read.get("name")) or label(named) or speaker(role),
        "metadata": mapping(read.get("metadata")),
    }
    yield from own.stored(read.get("uuid"), read.get("content"), payload)


def _items_of(
    record: Record, read: Mapping[str, Any], names: Mapping[str, str | None], facts: list[_Fact], *, episodes: bool
) -> Iterator[Item]:
    if "fact" in read:
        yield from _fact(record, read, names)
        if uuid := identifier(read.get("uuid")):
            facts.append((uuid, read, replace(record, raw=None)))
    elif "source_description" in read or "entity_edges" in read:
        yield from _episode(record, read) if episodes else (Skipped("episodes (taken with --episodes)"),)
    elif "labels" in read:
        yield Skipped("entities, whose names are in their facts")
    else:
        yield Skipped("communities, sagas and edges without a fact")


def _records(member: Member) -> Iterator[tuple[str, Any]]:
    if member.base.endswith(".jsonl"):
        for number, line in member.lines():
            yield f"{member.name}:{number}", parsed(line) or line.decode("utf-8", "replace")
    elif member.base.endswith(".json"):
        yield from member.elements(*_LISTS)


def _fact(record: Record, read: Mapping[str, Any], names: Mapping[str, str | None]) -> Iterator[Item]:
    ends = {
        side: names.get(str(read.get(f"{side}_node_uuid"))) or label(read.get(f"{side}_node_name"))
        for side in ("source", "target")
    }
    episode = next(iter(labels(listed(read.get("episodes")))), None)
    payload = {
        "category": "semantic",
        "valid_from": read.get("valid_at"),
        "valid_until": read.get("invalid_at") or read.get("expired_at"),
        "tags": read.get("name"),
        "source": f"episode:{episode}" if episode else None,
        "metadata": {**ends, **mapping(read.get("attributes")), "reference_time": read.get("reference_time")},
    }
    yield from record.stored(read.get("uuid"), read.get("fact"), payload)


def _episode(record: Record, read: Mapping[str, Any]) -> Iterator[Item]:
    content = text(read.get("content"))
    actor, colon, _ = (content or "").partition(": ")
    speaker = label(actor) if read.get("source") == "message" and colon and "\n" not in actor else None
    payload = {"category": "episodic", "speaker": speaker, "metadata": {key: read.get(key) for key in _REST}}
    yield from record.dated(read.get("valid_at")).stored(read.get("uuid"), read.get("content"), payload)


def _superseded(facts: list[_Fact]) -> Iterator[Item]:
    """Yield a link from a fact to the one of the same subject and relation that ended when it began."""
    begun = {(_subject(read), instant(read.get("valid_at"))): (uuid, record) for uuid, read, record in facts}
    for uuid, read, _ in facts:
        ended = instant(read.get("invalid_at"))
        if ended and (newer := begun.get((_subject(read), ended))):
            yield from newer[1].linked(newer[0], uuid, "SUPERSEDES")


def _subject(read: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(read.get(field)) for field in ("group_id", "source_node_uuid", "name"))
