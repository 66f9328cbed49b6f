"""The memories of one profile that recall searches, with the rows that filters admit."""

import json
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Any, Final, Self

import polars as pl

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.ledger.payloads import canonical_json
from memory_pipeline.recall.filters import Filters
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.row_ids import RowIds
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.schemas import Lifecycle
from memory_pipeline.text.arrays import Marks

REVIVABLE: Final = (Lifecycle.EXPIRED.value, Lifecycle.COLD.value, Lifecycle.STUB.value)
"""Lifecycles of memories that an access revives."""

_EQUALITY_FILTERS: Final = ("session_id", "agent_id", "user_id")
"""Filters on the value of the column of the same name."""
_MASKS: Final = 16
"""Most filter masks to keep."""


@dataclass(frozen=True)
class SearchPool:
    """An index with the lookups that recall needs beside it. Immutable."""

    index: Index
    revivable: frozenset[str]
    """Memories that an access revives."""

    @classmethod
    def of(cls, index: Index) -> Self:
        """Return the pool of all memories of an index."""
        return cls(index, ids_in(index.memories, REVIVABLE))

    @property
    def row_ids(self) -> RowIds:
        """Row of each memory in the index."""
        return self.index.row_ids

    def extended(self, memories: pl.DataFrame, vectors: pl.DataFrame) -> Self:
        """Return the pool with new and changed rows (see `Index.extended`)."""
        revivable = self.revivable.difference(memories["memory_id"]) | ids_in(memories, REVIVABLE)
        return type(self)(self.index.extended(memories, vectors), revivable)

    def with_graph(self) -> Self:
        """Return the pool with a graph of its vectors, where they are enough (see `Index.with_graph`)."""
        index = self.index.with_graph()
        return self if index is self.index else replace(self, index=index)

    @cached_property
    def _masks(self) -> "OrderedDict[Filters, Marks]":
        return OrderedDict()

    def allowed(self, filters: Filters) -> Marks | None:
        """Return a mask of the rows that the filters admit; None if they admit all."""
        if filters == Filters():
            return None
        mask = self._masks.get(filters)
        if mask is None:
            mask = self._admitted(filters)
            self._masks[filters] = mask
            while len(self._masks) > _MASKS:
                self._masks.popitem(last=False)
        return mask

    def _admitted(self, filters: Filters) -> Marks:
        """Admit the memories that match, and the summaries that replaced matching ones and say the same."""
        memories = self.index.memories
        if filters.since is not None or filters.until is not None:
            memories = memories.with_columns(said_at=_said_at(memories))
        mask = memories.select(_condition(filters)).to_series()
        if filters.metadata is not None:
            mask &= _with_metadata(memories["metadata"], str(filters.metadata))
        successors = memories.filter(mask, pl.col("superseded_kind") == "summary")["superseded_by"].unique()
        rows = self.row_ids.rows(successors.to_list())
        rows = rows[rows >= 0]
        admitted: Marks = mask.to_numpy().copy()
        admitted[rows] |= self.index.memories["said_at"][rows].is_not_null().to_numpy()
        return admitted

    def rows(self, memory_ids: Sequence[str], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return the columns of the table `memories` for these ids, in their order."""
        return self.index.memories.select(columns)[self.row_ids.rows(memory_ids)].to_dicts()


def differences(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Return the rows by which an index of old memories becomes one of new: those changed; those gone as deleted."""
    known = old.select(new.columns)
    missing = known.join(new, on="memory_id", how="anti").with_columns(lifecycle=pl.lit(Lifecycle.DELETED.value))
    before = pl.DataFrame({"memory_id": known["memory_id"], "before": known.hash_rows()})
    hashed = new.with_columns(now=new.hash_rows())
    changed = hashed.join(before, on="memory_id", how="left", maintain_order="left").filter(
        pl.col("now").ne_missing(pl.col("before"))
    )
    return pl.concat([changed.select(new.columns), missing])


def ids_in(memories: pl.DataFrame, lifecycles: Collection[str]) -> frozenset[str]:
    """Return the ids of the memories with one of these lifecycles."""
    return frozenset(memories.filter(pl.col("lifecycle").is_in(lifecycles))["memory_id"])


def _said_at(memories: pl.DataFrame) -> pl.Series:
    """Return when each memory was said; a summary beside its members counts as said with the newest of them."""
    dated = memories.select(
        "memory_id", "members", at=pl.when(pl.col("kind") == ORIGINAL).then(SAID_AT).otherwise("said_at")
    )
    while (undated := dated.filter(pl.col("at").is_null() & (pl.col("members").list.len() > 0))).height:
        sources = dated.filter(pl.col("at").is_not_null()).select("at", members="memory_id")
        newest = (
            undated.select("memory_id", "members")
            .explode("members")
            .join(sources, on="members")
            .group_by("memory_id")
            .agg(newest=pl.col("at").max())
        )
        if newest.is_empty():
            break
        dated = dated.join(newest, on="memory_id", how="left", maintain_order="left")
        dated = dated.with_columns(at=pl.coalesce("at", "newest")).drop("newest")
    return dated["at"]


def _with_metadata(metadata: pl.Series, wanted: str) -> pl.Series:
    """Return which metadata have the wanted values (see `Filters.metadata`)."""
    conditions = {name: value if isinstance(value, list) else [value] for name, value in json.loads(wanted).items()}
    # Metadata is canonical JSON: what lacks the text of a key is not parsed.
    texts = [f"{canonical_json(name)}:" for name in conditions]
    may = [metadata.str.contains(text, literal=True).fill_null(value=False) for text in texts]
    found = reduce(and_, may)
    met = [
        all(name in known and _is_one_of(known[name], values) for name, values in conditions.items())
        for known in map(json.loads, metadata.filter(found))
    ]
    return found.scatter(found.arg_true(), met)


def _is_one_of(stored: Any, values: Sequence[Any]) -> bool:
    # Python takes true for 1, JSON does not.
    known = {canonical_json(one) for one in (stored if isinstance(stored, list) else [stored])}
    return any(canonical_json(value) in known for value in values)


def _condition(filters: Filters) -> pl.Expr:
    """Return the filters as an expression on `memories`; unknown values are not admitted."""
    conditions = [pl.col(name) == value for name in _EQUALITY_FILTERS if (value := getattr(filters, name)) is not None]
    if filters.speaker is not None:
        conditions.append(pl.col("speaker").str.to_lowercase() == filters.speaker.lower())
    if filters.memory_types is not None:
        types = [name.lower() for name in filters.memory_types]
        conditions.append(pl.col("memory_type").str.to_lowercase().is_in(types))
    if filters.tags is not None:
        conditions.append(pl.col("tags").list.eval(pl.element().is_in(filters.tags)).list.any())
    if filters.since is not None:
        conditions.append(SAID_AT.ge(filters.since))
    if filters.until is not None:
        conditions.append(SAID_AT.lt(filters.until))
    return pl.all_horizontal(pl.repeat(value=True, n=pl.len()), *conditions).fill_null(value=False)
