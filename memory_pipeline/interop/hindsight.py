"""Imports a ZIP file or folder of documents that Hindsight exported: facts, and observations on request.

Not here: the chunks of documents; their facts are imported instead.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.files import Broken, Member, members
from memory_pipeline.interop.items import Item, Skipped, skipped, stable_id
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import identifier, kind_of, label, labels, listed, mapping, shared, times

FORMAT: Final = "hindsight"

_DOCUMENT: Final = re.compile(r"(?:.*/)?documents/[^/]+\.json")
_OBSERVATIONS: Final = "observations.json"
_MANIFEST: Final = "manifest.json"
_INSTANTS: Final = ("occurred_start", "mentioned_at", "event_date", "created_at")
"""Fields that date a fact, the most specific first."""
_CATEGORIES: Final = {"world": "semantic", "experience": "episodic", "bank": "episodic", "observation": "semantic"}
"""Categories of Hindsight's own kinds of facts."""


def detect(seen: Sample) -> bool:
    """Return whether a path is such an export."""
    return any(Path(one.name).name == _MANIFEST and one.has("source_bank_id") for one in seen.heads) or any(
        _DOCUMENT.fullmatch(one.name) and one.has("facts", "original_text") for one in seen.heads
    )


def events(source: Source, path: Path, *, observations: bool = False) -> Iterator[Item]:
    """Yield the facts of all documents with their causes; without a given profile, in that of the bank they come from.

    On request, what Hindsight concluded from facts too, with links to them.
    """
    bank = None
    for member in members(path):
        if member.base == _MANIFEST:
            with suppress(Broken):
                bank = identifier(mapping(member.json()).get("source_bank_id"))
    own = replace(source, profile=source.profile or bank)
    yield from own.of_files(path, lambda member: _document(own, member) if _DOCUMENT.fullmatch(member.name) else ())
    yield from own.of_files(
        path, lambda member: _observed(own, member, observations=observations) if member.base == _OBSERVATIONS else ()
    )


def _fact_id(document: str, place: object) -> str:
    return stable_id(FORMAT, document, str(place))


def _document(source: Source, member: Member) -> Iterator[Item]:
    read = mapping(member.json())
    document = identifier(read.get("id"))
    if document is None:
        yield source.broken(dict(read), member.name, "id is missing; export the bank again")
        return
    yield from skipped("chunks of documents", len(listed(read.get("chunks"))))
    tags, left_out = shared({"tags": labels(listed(read.get("tags")))})
    yield from left_out
    for index, one in enumerate(listed(read.get("facts"))):
        fact = mapping(one)
        at = next((fact[key] for key in _INSTANTS if fact.get(key)), read.get("created_at"))
        record = source.record(one, f"{member.name}:facts[{index}]", at=at)
        if fact:
            payload = _payload(fact, tags.get("tags", ()), document)
            yield from record.stored(_fact_id(document, index), fact.get("text"), payload)
        else:
            yield record.broken("the fact is not a JSON object; export the bank again")
    for index, one in enumerate(listed(read.get("facts"))):
        at = mapping(one).get("created_at") or read.get("created_at")
        for cause in map(mapping, listed(mapping(one).get("causal_relations"))):
            target = cause.get("target_fact_index")
            record = source.record(dict(cause), f"{member.name}:facts[{index}]", at=at)
            if isinstance(target, int) and 0 <= target < len(listed(read.get("facts"))):
                relation = cause.get("relation_type") or "LEADS_TO"
                yield from record.linked(_fact_id(document, index), _fact_id(document, target), relation)
            else:
                yield Skipped("causes that name no fact")


def _payload(fact: Mapping[str, Any], tags: Sequence[Any], document: str) -> dict[str, Any]:
    kind = fact.get("fact_type")
    category, tag = kind_of(_CATEGORIES.get(str(kind), kind))
    entities = [name for name in map(_entity, listed(fact.get("entities"))) if name]
    about = {"entities": entities, **{name: fact.get(name) for name in ("context", "occurred_end", "mentioned_at")}}
    return {
        **category,
        "tags": [*tags, *listed(fact.get("tags")), *tag],
        "metadata": {**mapping(fact.get("metadata")), "document": document, **about},
    }


def _entity(value: object) -> str | None:
    return label(mapping(value).get("name")) if isinstance(value, Mapping) else label(value)


def _observed(source: Source, member: Member, *, observations: bool) -> Iterator[Item]:
    for origin, one in member.elements("item", "observations.item"):
        if not observations:
            yield Skipped("observations (taken with --observations)")
            continue
        read = mapping(one)
        record = source.record(one, origin, at=read.get("created_at"))
        if not read:
            yield record.broken("the observation is not a JSON object; export the bank again")
            continue
        memory_id = identifier(read.get("id")) or stable_id(FORMAT, "observation", str(read.get("text")))
        payload = {
            "category": "semantic",
            "memory_type": "Insight",
            "tags": listed(read.get("tags")),
            "metadata": {"proof_count": times(read.get("proof_count"))},
        }
        yield from record.stored(memory_id, read.get("text"), payload)
        for proof in listed(read.get("sources")):
            document = identifier(mapping(proof).get("document_id"))
            if document:
                target = _fact_id(document, mapping(proof).get("fact_index"))
                yield from replace(record, raw=proof).linked(memory_id, target, "DERIVED_FROM")
