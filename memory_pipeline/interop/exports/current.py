"""Selects what an export takes: memories of a profile that hold now, best first, topics, core memory and links.

Not here: the formats (`markdown`, `mcp_memory`, `mem0`, `langgraph`, `events`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import core_memory, memory_types
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.lake.tables import Lake
from memory_pipeline.schemas import LIVE, EventType

TOPICS: Final = ("similarity_components", "coactivation", "fading_groups")
"""Methods whose clusters are topics, the first first; those of the others follow time or become one memory."""

DETAILS: Final = (
    "ids, times, types, tags, sources, sessions, users, agents, importance, confidence, protection and metadata"
)
"""All that a memory has beside its text and who said it."""

HISTORY: Final = ("accesses", "ratings", "earlier texts and values", "starts and ends of sessions")
"""What only the whole history has."""

LOOSE: Final = "links of memories that are left out"

_DEFAULT_CONFIDENCE: Final = 0.5


@dataclass(frozen=True)
class Current:
    """What a profile remembers at an instant."""

    profile_id: str
    memories: pl.DataFrame
    """Table `memories` with `strength` and `importance` of the last run: those that hold, best first, then the
    newest."""
    topics: pl.DataFrame
    """Of memories with a topic: `memory_id`, `cluster_id`, `label`; each once, and every topic has two or more."""
    blocks: pl.DataFrame
    """Table `core_memory_blocks`, in the order in which they are read."""
    links: pl.DataFrame
    """Links that agents asserted between these memories: `source`, `target`, `edge_type`, `kind`, `weight`,
    `discovered_at`, `metadata` (JSON)."""
    left_out: Mapping[str, int]
    """Number of memories that do not hold, by reason, and of asserted links with such an end (`LOOSE`)."""
    beside: Mapping[str, int]
    """Number of what not every format has a place for: `HISTORY` of these memories, `links`, `DETAILS`."""

    def rows(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield the fields (see `fields`) and the text of each memory."""
        for row in self.memories.iter_rows(named=True):
            yield fields(row), row["content"]

    def count(self, *names: str) -> dict[str, int]:
        """Return the number of each of these in `beside`."""
        return {name: self.beside[name] for name in names}


def without_place(held: Current) -> dict[str, int]:
    """Return the number of what most formats have no place for."""
    return held.count(*HISTORY, "links")


def read(lake: Lake, profile_id: str, *, as_of: datetime) -> Current:
    """Return what a profile remembers, from the ledger and what the last run published.

    Cost: a fold of all events, seconds at 100,000 memories.
    """
    profiles = [profile_id]
    in_force = projection.unmasked(lake.ledger.decisions(as_of=as_of, profiles=profiles), lake.ledger.reverted())
    events = lake.events(as_of=as_of, profiles=profiles)
    state = projection.fold(events, in_force)
    state = replace(state, memories=memory_types.named(state.memories, lake.read("core_sentences", profiles=profiles)))
    scores = lake.read("scored_memories", profiles=profiles, columns=["memory_id", "strength", "importance"])
    clusters = lake.read("clusters", profiles=profiles).join(
        lake.read("cluster_members", profiles=profiles), on=["profile_id", "cluster_id"]
    )
    return select(profile_id, state, events=events, scores=scores, clusters=clusters, as_of=as_of)


def select(
    profile_id: str,
    state: projection.State,
    *,
    events: pl.DataFrame,
    scores: pl.DataFrame,
    clusters: pl.DataFrame,
    as_of: datetime,
) -> Current:
    """Return what holds at an instant in a state that was folded from events; the tables are of the profile alone.

    Args:
        scores: `memory_id`, `strength`, `importance`; memories without come last.
        clusters: table `clusters` with a row for each `memory_id` that is a member.
    """
    why = judged(state.memories, as_of)
    memories = (
        why.filter(pl.col("why").is_null())
        .join(scores, on="memory_id", how="left")
        .sort("strength", "created_at", "memory_id", descending=[True, True, False], nulls_last=True)
        .drop("why")
    )
    left_out = why.drop_nulls("why").group_by("why").len().sort("why")
    held = memories.select("memory_id")
    asserted = links = state.edges.filter(pl.col("origin") == "asserted")
    for end in ("source", "target"):
        links = links.join(held.rename({"memory_id": end}), on=end, how="semi")
    return Current(
        profile_id,
        memories,
        _topics(clusters.join(held, on="memory_id", how="semi")),
        core_memory.in_order(state.blocks),
        _attached(events, links).sort("source", "target", "edge_type"),
        dict(left_out.iter_rows()) | ({LOOSE: loose} if (loose := asserted.height - links.height) else {}),
        _told(events, memories) | {"links": links.height, DETAILS: memories.height},
    )


def _attached(events: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return links with the metadata that the last event about each gave."""
    ends = {"source": "memory_id", "target": "target_id", "edge_type": "edge_type"}
    given = (
        events.filter(event_type=EventType.LINKED.value)
        .sort("occurred_at", "seq")
        .select("metadata", **{name: pl.col(column) for name, column in ends.items()})
        .unique(list(ends), keep="last", maintain_order=True)
    )
    found = links.join(given, on=list(ends), how="left")
    return found.select(*ends, "kind", "weight", "discovered_at", "metadata")


def _told(events: pl.DataFrame, memories: pl.DataFrame) -> dict[str, int]:
    """Return the number of each of `HISTORY`: of sessions all, of the rest what is about these memories."""
    kind = pl.col("event_type")
    about = events.join(memories.select("memory_id"), on="memory_id", how="semi")
    counts = (
        int(memories["access_count"].sum()),
        about.filter(kind == EventType.FEEDBACK).height,
        about.filter(kind == EventType.UPDATED).height,
        events.filter(kind.is_in([EventType.SESSION_STARTED, EventType.SESSION_ENDED])).height,
    )
    return dict(zip(HISTORY, counts, strict=True))


def judged(memories: pl.DataFrame, as_of: datetime) -> pl.DataFrame:
    """Add to the table `memories` why a memory does not hold at an instant (`why`); null where it does."""
    return memories.with_columns(why=_why_not(as_of))


def fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return `memory_id` and what else a row of `memories` has, under the names of `memory.stored`, without its text.

    Type and category count only if an agent gave them, and confidence only if it is not the default.
    """
    given = {
        "importance": row["importance_given"],
        "importance_hint": row["importance_hint"],
        "confidence": None if row["confidence"] == _DEFAULT_CONFIDENCE else row["confidence"],
        "memory_type": None if row["memory_type_inferred"] else row["memory_type"],
        "category": None if row["category_inferred"] else row["category"],
    }
    protection = {"protected": row["protected"] or None, "protected_reason": row["protected_reason"]}
    values = {
        "memory_id": row["memory_id"],
        "occurred_at": row["said_at"] or row["created_at"],
        **{name: row[name] for name in ("session_id", "agent_id", "user_id", "valid_from", "valid_until")},
        **given,
        **{name: row[name] for name in ("speaker", "tags", "source")},
        **protection,
        "metadata": None if row["metadata"] is None else json.loads(row["metadata"]),
    }
    return {name: value for name, value in values.items() if value is not None and value != []}


def inferred(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what rules inferred about a memory, and the members of a summary, for readers only."""
    importance = row["importance"] if row["importance_given"] is None else None
    found = {
        "importance": None if importance is None else round(importance, 2),
        "memory_type": row["memory_type"] if row["memory_type_inferred"] else None,
        "category": row["category"] if row["category_inferred"] else None,
    }
    summary = {} if row["kind"] == ORIGINAL else {"kind": row["kind"], "members": row["members"]}
    outdated = [statement["sentence"] for statement in row["closed_statements"] or ()]
    known = {name: value for name, value in found.items() if value is not None}
    return summary | ({"inferred": known} if known else {}) | ({"outdated": outdated} if outdated else {})


def _why_not(as_of: datetime) -> pl.Expr:
    """Return why a memory does not hold at an instant; null where it does."""
    replaced = pl.col("superseded_by").is_not_null() & pl.col("superseded_kind").ne_missing("update")
    return (
        pl.when(replaced)
        .then(pl.lit("superseded"))
        .when(~pl.col("lifecycle").is_in(LIVE))
        .then(pl.col("lifecycle"))
        .when(pl.col("valid_until") <= as_of)
        .then(pl.lit("no longer valid"))
        .when(pl.col("valid_from") > as_of)
        .then(pl.lit("not yet valid"))
    )


def _topics(clusters: pl.DataFrame) -> pl.DataFrame:
    """Give each memory the first of its topics, and drop topics that keep one memory only."""
    rank = pl.col("method").replace_strict({name: index for index, name in enumerate(TOPICS)}, default=None)
    first = (
        clusters.with_columns(rank=rank.cast(pl.Int64))
        .drop_nulls("rank")
        .sort("rank", "cluster_id", "memory_id")
        .unique("memory_id", keep="first", maintain_order=True)
    )
    return first.filter(pl.len().over("cluster_id") > 1).select("memory_id", "cluster_id", "label")
