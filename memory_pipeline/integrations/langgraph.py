"""`MemoryPipelineStore`: a LangGraph store whose items are memories, so that they are consolidated.

A namespace is a profile: its labels, joined by dots, are the profile's id, so that no run mixes the items of two
namespaces. With `profile_labels`, only that many leading labels name the profile, and items of deeper namespaces carry
these as tags. Namespace, key and value are in the metadata of the memory, and the words of the value are its text.

Not here: ranking and consolidation, which are those of the client.
"""

import asyncio
import heapq
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import ge, gt, le, lt
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self
from uuid import NAMESPACE_URL, uuid5

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)
from uuid6 import uuid7

from memory_pipeline.interop.exports.langgraph import PUT, SAID, TEXT_FIELDS, digest, plain_value, with_text
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.payloads import canonical_json
from memory_pipeline.ledger.references import KnownMemory
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.client.validation import InvalidRow
from memory_pipeline.recall.models import Memory
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import load

_EVERYTHING: Final = 10**9
_DEEPEST: Final = 1_000
"""Most memories that a search ranks to meet filters on values."""
_REMEMBERED: Final = 64
"""Searches whose order is kept, so that their next pages follow from it."""
_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]|^.{257}", re.DOTALL)
"""Texts that cannot be the id of a memory."""

Namespace = tuple[str, ...]
PutKey = tuple[Namespace, str]
"""Namespace and key of an item."""


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A memory as an item of the store."""

    memory: Memory
    namespace: Namespace
    key: str
    value: dict[str, Any]
    indexed: bool = True
    """Whether a search by query may find it."""
    ttl: float | None = None
    """Time to live, in minutes."""
    deleted: bool = False

    def gone(self, now: datetime) -> bool:
        """Return whether it was deleted or has expired."""
        ends = self.memory.valid_until
        return self.deleted or (self.ttl is not None and ends is not None and ends <= now)

    def item(self) -> Item:
        return Item(**self._fields())

    def found(self, score: float | None) -> SearchItem:
        return SearchItem(**self._fields(), score=score)

    def _fields(self) -> dict[str, Any]:
        changed = self.memory.updated_at or self.memory.created_at
        return {
            "namespace": self.namespace,
            "key": self.key,
            "value": self.value,
            "created_at": self.memory.created_at,
            "updated_at": changed,
        }


class MemoryPipelineStore(BaseStore):
    """A LangGraph store over a data folder; threads may share it.

    `get` finds an item until it is deleted, whatever consolidation decided about it. `search` shows the live memories:
    what was archived, merged or superseded is left out, and the summary that stands for it is found instead. Memories
    that others stored in the profile are items too: their key is the memory's id, their value `{"content": text}`.

    The puts of a batch are written in one transaction per profile, after its reads. Searches with a query count as uses
    of what they return. The pages of a search, read one after another through one store, have each item once: what the
    first ones returned keeps its place, although its use changes its rank.
    """

    supports_ttl = True

    def __init__(
        self,
        home: Path | str | None = None,
        *,
        profile_labels: int | None = None,
        fields: Sequence[str] = (),
        deep: bool = False,
        erase: bool = False,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Open the store, and create it if there is none.

        Args:
            home: data folder; default: that of the settings.
            profile_labels: how many leading labels of a namespace name the profile; default: all. What is in one
                profile is consolidated together.
            fields: paths in a value that hold its words, as in LangGraph's index configuration; default: the first of
                `TEXT_FIELDS`, else all of the value.
            deep: search memories that are no longer live, too.
            erase: a delete erases the memory for good; default: its validity ends.
            ttl: default time to live, in minutes, and whether reads renew it.

        Raises:
            ValueError: `profile_labels` is not a whole number of at least 1.
            LakeError: the store cannot be opened.
        """
        if profile_labels is not None and profile_labels < 1:
            raise ValueError(f"profile_labels is {profile_labels}; give a whole number of at least 1, or leave it out")
        self.ttl_config = ttl
        self._labels = profile_labels
        self._paths = tuple(fields)
        self._deep = deep
        self._erase = erase
        self._lake = Lake(Path(home or load(home).home))
        self._clients = Clients(self._lake.home)
        self._shown = OrderedDict[str, list[tuple[PutKey, float | None]]]()
        self._order_lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store after its pending writes."""
        self._clients.close()
        self._lake.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: reads first, in order, then the last put of each key.

        Raises:
            ValueError: an operation is unknown, or a value cannot be stored; names it.
        """
        listed = [_plain(op) for op in ops]
        results = [self._read(op) for op in listed]
        self._put({(op.namespace, op.key): op for op in listed if isinstance(op, PutOp)})
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in a thread; see `batch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Op) -> Result:
        validate_op_namespace(op)
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _get(self, op: GetOp) -> Item | None:
        now = datetime.now(UTC)
        with self._clients.of(self._profile(op.namespace)) as client:
            entry = self._entry(client, op.namespace, op.key, now)
            if entry is None:
                return None
            if op.refresh_ttl:
                _renew(client, [entry], now)
            return entry.item()

    def _search(self, op: SearchOp) -> list[SearchItem]:
        now, by_profile = datetime.now(UTC), list[list[tuple[float | None, _Entry]]]()
        for profile in self._profiles(op.namespace_prefix):
            with self._clients.of(profile) as client:
                find = self._ranked if op.query else self._newest
                by_profile.append(find(client, profile, op, now))
        # Recall puts what holds now before what scores higher, so that only the first of each profile are compared.
        found = list(heapq.merge(*by_profile, key=_best_then_newest))
        found = self._continued(op, found, now) if op.query else found
        page = found[op.offset : op.offset + op.limit]
        for profile, entries in _by_profile(self._profile, [entry for _, entry in page]).items():
            with self._clients.of(profile) as client:
                if op.query:
                    _record(client, op.query, entries)
                if op.refresh_ttl:
                    _renew(client, entries, now)
        return [entry.found(score) for score, entry in page]

    def _continued(
        self, op: SearchOp, found: list[tuple[float | None, _Entry]], now: datetime
    ) -> list[tuple[float | None, _Entry]]:
        """Return what a search found after what its earlier pages returned, and note the order for its next page."""
        search = json.dumps([op.namespace_prefix, op.query, op.filter], sort_keys=True, default=str)
        with self._order_lock:
            shown = self._shown.get(search, []) if op.offset else []
        fresh = {(entry.namespace, entry.key): entry for _, entry in found}
        before = list[tuple[float | None, _Entry]]()
        for place, score in shown:
            entry = fresh.pop(place, None) or self._still(op, place, now)
            if entry is not None:
                before.append((score, entry))
        order = [*before, *((score, entry) for score, entry in found if (entry.namespace, entry.key) in fresh)]
        with self._order_lock:
            upto = order[: op.offset + op.limit]
            self._shown[search] = [((entry.namespace, entry.key), score) for score, entry in upto]
            self._shown.move_to_end(search)
            while len(self._shown) > _REMEMBERED:
                self._shown.popitem(last=False)
        return order

    def _still(self, op: SearchOp, place: PutKey, now: datetime) -> _Entry | None:
        """Return an item that an earlier page returned, if the search still admits it."""
        profile = self._profile(place[0])
        with self._clients.of(profile) as client:
            entry = self._entry(client, *place, now)
            return None if entry is None else next(iter(self._matching([entry.memory], profile, op, now)), None)

    def _newest(
        self, client: MemoryClient, profile: str, op: SearchOp, now: datetime
    ) -> list[tuple[float | None, _Entry]]:
        listed = client.list(self._conditions(op), _EVERYTHING, deep=self._deep)
        rows = [(None, entry) for entry in self._matching(listed, profile, op, now)]
        return sorted(rows, key=_best_then_newest)

    def _ranked(
        self, client: MemoryClient, profile: str, op: SearchOp, now: datetime
    ) -> list[tuple[float | None, _Entry]]:
        """Return what a recall finds, best first, and, if that is not enough, the rest without a score.

        Filters on values are applied after the ranking, so a recall may be repeated with more, up to `_DEEPEST`
        memories.
        """
        wanted = most = max(op.offset + op.limit, 1)
        while True:
            answer = client.recall(str(op.query), most, deep=self._deep, filters=self._conditions(op), record=False)
            scores = {hit.memory_id: hit.score for hit in answer}
            hits = (client.get(name) for name in scores)
            found = [entry for entry in self._matching(hits, profile, op, now) if entry.indexed]
            if len(found) >= wanted or len(answer) < most or most >= _DEEPEST:
                break
            most = min(4 * most, _DEEPEST)
        ranked: list[tuple[float | None, _Entry]] = [(scores[entry.memory.memory_id], entry) for entry in found]
        if len(ranked) < wanted:
            done = {(entry.namespace, entry.key) for entry in found}
            rest = self._newest(client, profile, op, now)
            ranked += [(score, entry) for score, entry in rest if (entry.namespace, entry.key) not in done]
        return ranked

    def _matching(self, memories: Iterable[Memory], profile: str, op: SearchOp, now: datetime) -> list[_Entry]:
        """Return the entries that a search admits, each key once."""
        entries = dict[tuple[Namespace, str], _Entry]()
        for memory in memories:
            entry = self._read_back(memory, profile, op.namespace_prefix)
            if (
                not entry.gone(now)
                and entry.namespace[: len(op.namespace_prefix)] == op.namespace_prefix
                and all(_admits(entry.value.get(name), wanted) for name, wanted in (op.filter or {}).items())
            ):
                entries.setdefault((entry.namespace, entry.key), entry)
        return list(entries.values())

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """Return the namespaces with items. Cost: every memory is read."""
        everything, now, found = SearchOp(()), datetime.now(UTC), set[Namespace]()
        for profile in self._profiles(()):
            with self._clients.of(profile) as client:
                listed = client.list(None, _EVERYTHING, deep=True)
                found |= {entry.namespace for entry in self._matching(listed, profile, everything, now)}
        matching = (name for name in found if all(_meets(name, condition) for condition in op.match_conditions or ()))
        cut = sorted({name[: op.max_depth] for name in matching})
        return cut[op.offset : op.offset + op.limit]

    def _put(self, ops: Mapping[PutKey, PutOp]) -> None:
        now = datetime.now(UTC)
        for profile in dict.fromkeys(self._profile(namespace) for namespace, _ in ops):
            own = [op for op in ops.values() if self._profile(op.namespace) == profile]
            with self._clients.of(profile) as client:
                before = dict[PutKey, _Entry]()
                try:
                    _append(client, partial(self._events, client, own, now, before))
                except ValueError as error:  # the id of an item is that of an erased memory
                    if not isinstance(error.__cause__, KnownMemory):
                        raise
                    _append(client, partial(self._events, client, own, now, before, new_ids=True))
                deleted = [entry for place, entry in before.items() if ops[place].value is None]
                for entry in deleted if self._erase else ():
                    client.erase(entry.memory.memory_id)

    def _events(
        self,
        client: MemoryClient,
        ops: Iterable[PutOp],
        now: datetime,
        before: dict[PutKey, _Entry],
        *,
        new_ids: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Yield the events that put and delete items; `before` receives what their keys had."""
        for op in ops:
            known = self._entry(client, op.namespace, op.key, now)
            if known is not None:
                before[op.namespace, op.key] = known
            if op.value is not None:
                taken = new_ids or _memory(client, _memory_id(op.namespace, op.key)) is not None
                yield from self._stored(op, known, now, new_id=taken)
            elif known is not None:
                yield _ended(known, now)

    def _stored(self, op: PutOp, known: _Entry | None, now: datetime, *, new_id: bool) -> Iterator[dict[str, Any]]:
        """Yield the events that put a value: a change of the memory that has the key, else a new one."""
        if known is not None and known.ttl is not None and op.ttl is None:
            yield _ended(known, now)  # an end of validity can be moved, but not removed
            known = None
        value = json.loads(canonical_json(op.value))  # as it will be read back, its keys in their order
        paths = op.index or None
        item = {"namespace": list(op.namespace), "key": op.key, "value": value}
        item |= {"index": False} if op.index is False else {}
        item |= {"fields": list(paths)} if paths else {}
        item |= {"ttl": op.ttl} if op.ttl is not None else {}
        content = self._words(value, paths) or op.key
        item |= {SAID: digest(content)}
        payload: dict[str, Any] = {"content": content}
        payload |= {"valid_until": now + timedelta(minutes=op.ttl)} if op.ttl is not None else {}
        if known is not None:
            changes = payload | {"metadata": (known.memory.metadata or {}) | {PUT: item}}
            changes |= {"content": None if content == known.memory.content else content}
            yield {"event_type": EventType.UPDATED.value, "memory_id": known.memory.memory_id, "payload": changes}
            return
        first = _memory_id(op.namespace, op.key)
        tags = [".".join(op.namespace[:end]) for end in range((self._labels or _EVERYTHING) + 1, len(op.namespace) + 1)]
        yield {
            "event_type": EventType.STORED.value,
            "memory_id": str(uuid7()) if new_id else first,
            "payload": payload | {"metadata": {PUT: item}, "tags": [*tags, first] if new_id else tags},
        }

    def _entry(self, client: MemoryClient, namespace: Namespace, key: str, now: datetime) -> _Entry | None:
        """Return the entry that has a key now; None without one."""
        first, profile = _memory_id(namespace, key), self._profile(namespace)
        named = [memory for name in (first, key) if (memory := _memory(client, name)) is not None]
        for candidates in (lambda: named, lambda: client.list({"tags": [first]}, _EVERYTHING, deep=True)):
            entries = (self._read_back(memory, profile, namespace) for memory in candidates())
            for entry in entries:
                if (entry.namespace, entry.key) == (namespace, key) and not entry.gone(now):
                    return entry
        return None

    def _profile(self, namespace: Namespace) -> str:
        return ".".join(namespace[: self._labels])

    def _profiles(self, prefix: Namespace) -> list[str]:
        """Return the profiles that may hold items under a prefix."""
        if self._labels is not None and len(prefix) >= self._labels:
            return [self._profile(prefix)]
        names = self._lake.ledger.profiles()["profile_id"].to_list()
        labels = {name: tuple(name.split(".")) for name in names}
        return [name for name, own in labels.items() if all(own) and own[: len(prefix)] == prefix]

    def _conditions(self, op: SearchOp) -> dict[str, Any] | None:
        """Return the filters of a search: the tag of a namespace below that of the profile."""
        deeper = self._labels is not None and len(op.namespace_prefix) > self._labels
        return {"tags": [".".join(op.namespace_prefix)]} if deeper else None

    def _read_back(self, memory: Memory, profile: str, asked: Namespace) -> _Entry:
        """Return a memory as an item; one that was not put here is in the namespace asked for, or the profile's.

        If the text of the memory was updated elsewhere, the value has the new text as `content`.
        """
        metadata = memory.metadata or {}
        kept = metadata.get(PUT)
        if not isinstance(kept, dict) or not {"namespace", "key", "value"} <= kept.keys():
            path, _, key = memory.memory_id.partition("/")
            if key and self._profile(labels := tuple(path.split("."))) == profile:  # imported from another store
                value = plain_value(metadata, memory.text)
                return _Entry(memory=memory, namespace=labels, key=key, value=value)
            own = tuple(profile.split("."))
            named = asked if len(asked) > len(own) and ".".join(asked) in memory.tags else own
            return _Entry(memory=memory, namespace=named, key=memory.memory_id, value={"content": memory.text})
        value, paths = kept["value"], kept.get("fields")
        if SAID in kept:
            value = value if kept[SAID] == digest(memory.content) else with_text(value, memory.content)
        elif (self._words(value, paths) or kept["key"]) != memory.content:
            value = value | {"content": memory.content}
        return _Entry(
            memory=memory,
            namespace=tuple(kept["namespace"]),
            key=kept["key"],
            value=value,
            indexed=kept.get("index") is not False,
            ttl=kept.get("ttl"),
            deleted=bool(kept.get("deleted")),
        )

    def _words(self, value: Mapping[str, Any], paths: Sequence[str] | None) -> str:
        """Return the words of a value: the text of a memory."""
        chosen = [text for path in paths or self._paths for text in get_text_at_path(dict(value), path)]
        if chosen:
            return "\n".join(chosen).strip()
        named = next((value[name] for name in TEXT_FIELDS if name in value), value)
        return (named if isinstance(named, str) else "\n".join(_lines(named))).strip()


def _append(client: MemoryClient, make: Callable[[], Iterator[dict[str, Any]]]) -> None:
    """Append the events of puts, all or none; a ValueError names the item that cannot be stored."""
    try:
        client.append(make)
    except InvalidRow as error:
        item = error.row["payload"]["metadata"][PUT]
        reason = f"item {shown(item['key'])} of namespace {shown(tuple(item['namespace']))}: {error.reason}"
        raise ValueError(reason) from error.__cause__


def _lines(value: Any, name: str = "") -> Iterator[str]:
    """Yield the leaves of a JSON value, each a line `name: value`."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _lines(part, f"{name} {key}".strip())
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _lines(part, name)
    elif value is not None and str(value).strip():
        yield f"{name}: {value}" if name else str(value)


def _plain(op: Op) -> Op:
    """Return an operation whose namespace is a tuple: programs give lists, too."""
    if isinstance(op, GetOp | PutOp):
        return op._replace(namespace=_labels(op.namespace))
    return op._replace(namespace_prefix=_labels(op.namespace_prefix)) if isinstance(op, SearchOp) else op


def _labels(namespace: Any) -> Namespace:
    if isinstance(namespace, str):
        raise ValueError(f"namespace is {shown(namespace)}; give its labels, such as ({shown(namespace)},)")  # noqa: TRY004
    return tuple(namespace)


def _memory(client: MemoryClient, memory_id: str) -> Memory | None:
    try:
        return client.get(memory_id)
    except (UnknownMemory, ValueError):  # a key may be what no id can be
        return None


def _memory_id(namespace: Namespace, key: str) -> str:
    """Return the first id of an item: `namespace/key`, or a hash if that cannot be an id."""
    name = f"{'.'.join(label.replace('/', '%2F') for label in namespace)}/{key}"
    return str(uuid5(NAMESPACE_URL, name)) if _UNFIT.search(name) else name


def _ended(entry: _Entry, now: datetime) -> dict[str, Any]:
    """Return the event that deletes an item: its validity ends, and it loses its key."""
    metadata = entry.memory.metadata or {}
    item = {"namespace": list(entry.namespace), "key": entry.key, "value": entry.value}
    gone = {"valid_until": now, "metadata": metadata | {PUT: item | {"deleted": True}}}
    return {"event_type": EventType.UPDATED.value, "memory_id": entry.memory.memory_id, "payload": gone}


def _renew(client: MemoryClient, entries: Iterable[_Entry], now: datetime) -> None:
    """Restart the time to live of items that have one."""
    client.append(
        {
            "event_type": EventType.UPDATED.value,
            "memory_id": entry.memory.memory_id,
            "payload": {"valid_until": now + timedelta(minutes=entry.ttl)},
        }
        for entry in entries
        if entry.ttl is not None
    )


def _record(client: MemoryClient, query: str, entries: Sequence[_Entry]) -> None:
    payload = {"memory_ids": [entry.memory.memory_id for entry in entries], "query": query}
    client.append([{"event_type": EventType.ACCESSED.value, "payload": payload}])


def _by_profile(profile: Callable[[Namespace], str], entries: Iterable[_Entry]) -> dict[str, list[_Entry]]:
    groups = dict[str, list[_Entry]]()
    for entry in entries:
        groups.setdefault(profile(entry.namespace), []).append(entry)
    return groups


def _best_then_newest(row: tuple[float | None, _Entry]) -> tuple[float, float, Namespace, str]:
    score, entry = row
    changed = entry.memory.updated_at or entry.memory.created_at
    return (1.0 if score is None else -score, -changed.timestamp(), entry.namespace, entry.key)


def _admits(value: Any, wanted: Any) -> bool:
    """Return whether a value meets a condition of a search: equality, or operators on it."""
    if isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted):
        return all(_compares(value, operator, operand) for operator, operand in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_admits(value.get(name), part) for name, part in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same and all(map(_admits, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator in {"$eq", "$ne"}:
        return (value == operand) is (operator == "$eq")
    if operator not in _ORDER:
        raise ValueError(f"operator {operator!r} is unknown; give $eq, $ne, {', '.join(_ORDER)}")
    try:
        return _ORDER[operator](float(value), float(operand))
    except (TypeError, ValueError):  # texts, such as dates, as the stores in databases compare them
        return isinstance(value, str) and isinstance(operand, str) and _ORDER[operator](value, operand)


def _meets(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(wanted in {"*", label} for label, wanted in zip(part, path, strict=True))
