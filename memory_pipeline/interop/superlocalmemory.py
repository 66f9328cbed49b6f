"""Imports the database of SuperLocalMemory: facts, accesses with their instants, feedback and asserted links.

The database is opened for reading only. Not here: links that it derives itself, such as entities and co-activation.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.items import Item, Skipped, file_name, skipped
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import (
    identifier,
    instant,
    kind_of,
    label,
    listed,
    mapping,
    metadata_of,
    shared,
    text,
    times,
    unpacked,
)
from memory_pipeline.ledger import foreign_sqlite

_FACTS: Final = "atomic_facts"
_RECALLS: Final = {"recall", "search", "auto_invoke"}
_EDGES: Final = {"supersedes": "SUPERSEDES", "contradiction": "CONTRADICTS", "causal": "LEADS_TO"}
_STATES: Final = ("lifecycle", "archive_status", "archive_reason", "evidence_count", "emotional_valence")
_DERIVED: Final = "links that a run finds again"


def detect(seen: Sample) -> bool:
    """Return whether a path is such a database."""
    return {"fact_id", "memory_id", "content"} <= set(seen.tables.get(_FACTS, ()))


def events(source: Source, path: Path) -> Iterator[Item]:
    """Yield the facts of a database that may be in use, and what was done with them, in their profiles or one given."""
    return _Store(path, source).items()


class _Store:
    def __init__(self, path: Path, source: Source) -> None:
        self._path, self._source, self._name = path, source, file_name(path)
        self._records = dict[str, Record]()
        """The facts that are taken."""
        self._used = dict[Any, Any]()
        """When each fact was last used, where the database says so."""

    def items(self) -> Iterator[Item]:
        memories = {row.get("memory_id"): _turn(row) for row in self._rows("memories")}
        self._used = {row.get("fact_id"): row.get("last_accessed_at") for row in self._rows("fact_retention")}
        recalls = (row.get("fact_id") for row in self._rows("fact_access_log") if row.get("access_type") in _RECALLS)
        logged = Counter(recalls)
        with_facts = set[Any]()
        for turn in memories.values():
            yield from turn["left_out"]
        for index, row in enumerate(self._rows(_FACTS)):
            with_facts.add(row.get("memory_id"))
            yield from self._fact(row, mapping(memories.get(row.get("memory_id"))), index, logged)
        yield from skipped("turns of conversation without facts", len(memories.keys() - with_facts))
        yield from self._accesses()
        yield from self._feedback()
        yield from self._links()

    def _rows(self, table: str) -> Iterator[dict[str, Any]]:
        return foreign_sqlite.rows(self._path, table)

    def _fact(
        self, row: Mapping[str, Any], memory: Mapping[str, Any], place: int, logged: Counter[Any]
    ) -> Iterator[Item]:
        name = identifier(row.get("fact_id"))
        if row.get("quarantined") == 1:
            yield Skipped("facts in quarantine")
            return
        record = self._source.record(
            {key: value for key, value in row.items() if key != "embedding"},
            f"{self._name}:{_FACTS}[{place}]",
            at=row.get("created_at") or row.get("observation_date"),
            session_id=row.get("session_id") or memory.get("session_id"),
        )
        record = record if self._source.profile else record.into(identifier(row.get("profile_id")))
        yield from record.stored(name, row.get("content"), _payload(row, memory))
        if name and text(row.get("content")):
            self._records[name] = record
            count, known = times(row.get("access_count")), logged[row.get("fact_id")]
            if known:
                yield from skipped("accesses that its log no longer has", count - known)
            else:
                last = record.dated(self._used.get(row.get("fact_id")))
                yield from last.accessed(name, f"count {count}", count=count)

    def _accesses(self) -> Iterator[Item]:
        for row in self._rows("fact_access_log"):
            record = self._records.get(str(row.get("fact_id")))
            if row.get("access_type") not in _RECALLS:
                yield Skipped("accesses by its own consolidation")
            elif record and instant(row.get("accessed_at")):
                at = record.dated(row.get("accessed_at"))
                yield from at.accessed(row.get("fact_id"), str(row.get("log_id") or row.get("accessed_at")))
            else:
                yield Skipped("accesses without an instant, or of facts that were left out")

    def _feedback(self) -> Iterator[Item]:
        for row in self._rows("feedback_records"):
            record = self._records.get(str(row.get("fact_id")))
            kind = str(row.get("feedback_type")).lower()
            if record and kind in {"positive", "negative", "helpful", "not_helpful"}:
                at = record.dated(row.get("timestamp") or row.get("created_at"))
                revision = str(row.get("feedback_id") or row.get("timestamp"))
                yield from at.rated(row.get("fact_id"), revision, helpful=kind in {"positive", "helpful"})
            else:
                yield Skipped("feedback that is neither good nor bad, or on facts that were left out")

    def _links(self) -> Iterator[Item]:
        for row in self._rows("graph_edges"):
            kind = _EDGES.get(str(row.get("edge_type")))
            yield from self._link(row, "source_id", "target_id", kind) if kind else (Skipped(_DERIVED),)
        for row in self._rows("association_edges"):
            if row.get("association_type") == "user_defined":
                yield from self._link(row, "source_fact_id", "target_fact_id", "RELATES_TO")
            else:
                yield Skipped(_DERIVED)
        for row in self._rows(_FACTS):
            newer = row.get("merged_into")
            if newer and (record := self._records.get(str(newer))):
                yield from record.linked(str(newer), str(row.get("fact_id")), "SUPERSEDES")

    def _link(self, row: Mapping[str, Any], one: str, other: str, kind: str) -> Iterator[Item]:
        record = self._records.get(str(row.get(one)))
        if record is None or str(row.get(other)) not in self._records:
            yield Skipped("links of facts that were left out")
            return
        dated = record.dated(row.get("created_at"))
        yield from dated.linked(row.get(one), row.get(other), kind, weight=row.get("weight"))


def _turn(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a turn of conversation says of each fact in it, as far as it may stand beside all of them."""
    metadata, left_out = shared(mapping(unpacked(row.get("metadata_json"))))
    speaker = label(row.get("speaker")) or label(row.get("role"))
    session_id = identifier(row.get("session_id"))
    return {"speaker": speaker, "session_id": session_id, "metadata": metadata, "left_out": left_out}


def _payload(row: Mapping[str, Any], memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a fact, with what its turn of conversation says."""
    pinned, planned = row.get("pinned") == 1, row.get("fact_type") == "prospective"
    kind, tag = kind_of("episodic" if planned else row.get("fact_type"))
    entities = (listed(unpacked(row.get(name))) for name in ("canonical_entities_json", "entities_json"))
    return {
        **kind,
        "tags": [*tag, "prospective"] if planned else tag,
        "importance": row.get("importance"),
        "confidence": row.get("confidence"),
        "speaker": memory.get("speaker"),
        "valid_from": row.get("valid_from") or row.get("interval_start"),
        "valid_until": row.get("valid_until") or row.get("interval_end"),
        "protected": pinned or None,
        "protected_reason": "pinned" if pinned else None,
        "metadata": {
            "entities": next(filter(None, entities), None),
            "referenced_date": row.get("referenced_date"),
            "source_state": metadata_of({key: row.get(key) for key in _STATES if row.get(key) != 0}),
            **mapping(memory.get("metadata")),
        },
    }
