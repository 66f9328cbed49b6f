"""Explains the state of a memory: its scores, protection, edges, clusters, decisions and origin.

Reads the published tables, current or past, and the ledger for events that no run has seen yet. The SQL counterpart is
the macro `explain` of a snapshot (`lake/snapshot_macros`).
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.state import projection
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import event, profile_events
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.recall.client.explanation import Explanation, Factor, Row
from memory_pipeline.schemas import Action, EventType, ScoredMemories

__all__ = ["Explanation", "Factor", "explain"]

_NO_SCORES: Final = {
    *("profile_id", "memory_id", "as_of", "is_protected", "budget_protected", "protection_reason", "plan_id"),
}
_CANDIDATES: Final = 2000
"""Most ids to search for similar ones."""
_USES: Final = (EventType.ACCESSED.value,)
_ORIGIN: Final = (
    *("event_id", "event_type", "occurred_at", "seq", "session_id", "agent_id", "content"),
    *("memory_id", "target_id", "relation", "statement", "answered_by"),
)


def explain(
    lake: Lake,
    memory_id: str,
    *,
    profile_id: str | None = None,
    as_of: datetime | None = None,
    recalled: Mapping[str, Any] | None = None,
    zone: tzinfo = UTC,
) -> Explanation:
    """Explain a memory: scores factor by factor, edges, clusters, decisions with reasons, accesses and lineage.

    Cost: reads the published tables and the events of one profile; without `profile_id`, of all, filtered by id.

    Args:
        profile_id: its profile; needed only if several profiles use the id.
        as_of: use the tables of the last run whose clock was at or before this instant; default: now.
        recalled: its row of an answer (see `rank/ranking`), to explain its rank there too.
        zone: time zone of the days of its text.

    Raises:
        UnknownMemory: no profile has the memory; suggests similar ids.
        ValueError: several profiles have it, or nothing had been committed at `as_of`; gives the remedy.
        LakeError: the tables of that instant are no longer stored, as after an erasure.
    """
    owner = profile_id if profile_id is not None else _owner(lake, memory_id)
    seq, clock, base = _state(lake, owner, as_of)
    events = lake.events(as_of=as_of, seq=seq, profiles=[owner])
    tables = _Tables(lake=lake, profile_id=owner, memory_id=memory_id, seq=seq, events=events)
    memories = tables.all("memories")
    memory = _first(memories.filter(pl.col("memory_id") == memory_id))
    consolidated = memory is not None
    memory = memory or tables.unconsolidated()
    if memory is None:
        all_ids = pl.concat([memories["memory_id"], events["memory_id"].drop_nulls()])
        asked = as_of or clock
        where = f"in profile {owner!r}" + (f" as of {asked.astimezone(zone):%Y-%m-%d %H:%M %Z}" if asked else "")
        raise UnknownMemory(_unknown(memory_id, all_ids, where))
    scored = _first(tables.about("scored_memories"))
    edges = tables.between("association_edges", "source", "target")
    refusals = tables.between("merge_refusals", "memory_id", "other_id")
    facts, decisions, origin = (
        tables.between("fact_changes", "memory_id", "other_id"),
        tables.decisions(),
        tables.origin(base),
    )
    closers = [one["closed_by"] for one in memory.get("closed_statements") or ()]
    named = [*edges["other"], *refusals["other"], *facts["other"], memory["superseded_by"], *closers]
    named += [row[end] for row in (*decisions, *origin) for end in ("memory_id", "target_id")]
    return Explanation(
        profile_id=owner,
        memory_id=memory_id,
        as_of=(clock if consolidated and clock else memory["updated_at"] or memory["created_at"]).astimezone(zone),
        consolidated=consolidated,
        memory=memory,
        erased=tables.erasure(),
        recalled=recalled,
        scores=_factors(scored) if scored else (),
        is_protected=scored["is_protected"] if scored else None,
        protection_reason=scored["protection_reason"] if scored else None,
        centrality=_first(tables.about("memory_importance")),
        edges=_rows(edges.sort(["weight", "other", "edge_type"], descending=[True, False, False])),
        clusters=_rows(tables.all("clusters").join(tables.about("cluster_members"), on="cluster_id", how="semi")),
        refusals=_rows(refusals),
        facts=_rows(facts),
        decisions=decisions,
        accesses=tables.accesses(),
        events=origin,
        members=_rows(memories.filter(pl.col("memory_id").is_in(memory["members"]))),
        summaries=_rows(memories.filter(pl.col("members").list.contains(memory_id))),
        texts=tables.texts(memories, {*named} - {None, memory_id}),
    )


@dataclass(frozen=True, kw_only=True)
class _Tables:
    """The published tables of one profile at one ledger position, and their rows about one memory."""

    lake: Lake
    profile_id: str
    memory_id: str
    seq: int | None
    events: pl.DataFrame
    """Events of the profile up to that position."""

    def all(self, table: str) -> pl.DataFrame:
        return self.lake.read(table, seq=self.seq, profiles=[self.profile_id]).drop("profile_id")

    def about(self, table: str) -> pl.DataFrame:
        return self.all(table).filter(pl.col("memory_id") == self.memory_id)

    def between(self, table: str, one: str, other: str) -> pl.DataFrame:
        """Return rows with the memory at either end; `other` is the memory at the far end."""
        rows = self.all(table).filter((pl.col(one) == self.memory_id) | (pl.col(other) == self.memory_id))
        return rows.with_columns(other=pl.when(pl.col(one) == self.memory_id).then(other).otherwise(one))

    def decisions(self) -> tuple[Row, ...]:
        ledger, profiles = self.lake.ledger, [self.profile_id]
        two_sided = pl.col("action").is_in([Action.LINK, Action.PRUNE, Action.CLOSE])
        linked = two_sided & (pl.col("target_id") == self.memory_id)
        decisions = ledger.decisions(seq=self.seq, profiles=profiles).filter(
            (pl.col("memory_id") == self.memory_id) | linked
        )
        undone = ledger.reverted(seq=self.seq).select("profile_id", "decision_id", reverted=True)
        runs = ledger.runs(profiles).select("profile_id", "plan_id", "run_id")
        decisions = (
            decisions.join(undone, on=["profile_id", "decision_id"], how="left")
            .join(runs, on=["profile_id", "plan_id"], how="left")
            .with_columns(pl.col("reverted").fill_null(value=False))
            .sort("seq", "ordinal")
            .drop("profile_id")
        )
        documents = ("factors", "before", "after")
        return tuple(row | {name: json.loads(row[name]) for name in documents} for row in decisions.to_dicts())

    def unconsolidated(self) -> Row | None:
        """Return the memory folded from its events alone."""
        events = self.events.filter(pl.col("memory_id") == self.memory_id)
        return _first(projection.project(events).memories.drop("profile_id"))

    def texts(self, memories: pl.DataFrame, ids: set[str]) -> dict[str, str]:
        """Return what memories say, those that no run has seen included, by id."""
        seen = memories.filter(pl.col("memory_id").is_in(ids))
        unseen = self.events.filter(pl.col("memory_id").is_in(ids - set(seen["memory_id"])))
        told = [seen, projection.project(unseen).memories] if unseen.height else [seen]
        return dict(pl.concat([one.select("memory_id", "content") for one in told]).iter_rows())

    def erasure(self) -> Row | None:
        """Return when and why the memory was erased, from the current ledger whatever the instant."""
        with self.lake.ledger.reading() as transaction:
            erasures = profile_events.about(transaction, self.profile_id, self.memory_id, kinds=[EventType.ERASED])
        if not erasures:
            return None
        erasure = event.named(erasures[0])
        return {"at": event.instant(erasure["occurred_at"]), "reason": json.loads(erasure["payload"])["reason"]}

    def accesses(self) -> tuple[Row, ...]:
        accesses = self._events_about(pl.col("event_type").is_in(_USES))
        return _rows(
            accesses.select("event_id", "seq", "query", "rank", "session_id", "agent_id", "expanded", at="occurred_at")
        )

    def origin(self, base: int) -> tuple[Row, ...]:
        """Return the events that wrote the memory; those up to position `base` are consolidated."""
        events = self._events_about(~pl.col("event_type").is_in(_USES))
        return _rows(events.select(*_ORIGIN, consolidated=pl.col("seq") <= base))

    def _events_about(self, kinds: pl.Expr) -> pl.DataFrame:
        answer = (pl.col("event_type") == EventType.RESOLVED.value) & (pl.col("target_id") == self.memory_id)
        about = (pl.col("memory_id") == self.memory_id) | answer.fill_null(value=False)
        return self.events.filter(about, kinds).sort("seq")


def _owner(lake: Lake, memory_id: str) -> str:
    """Return the one profile that has the memory."""
    memories = lake.read("memories", columns=["profile_id", "memory_id"])
    owners = set(memories.filter(pl.col("memory_id") == memory_id)["profile_id"])
    with lake.ledger.reading() as transaction:
        owners |= profile_events.profiles_storing(transaction, memory_id)
    if not owners:
        raise UnknownMemory(_unknown(memory_id, memories["memory_id"], "in any profile"))
    if len(owners) > 1:
        raise ValueError(f"memory {memory_id!r} exists in the profiles {', '.join(sorted(owners))}; name one of them")
    return str(owners.pop())


def _state(lake: Lake, profile_id: str, as_of: datetime | None) -> tuple[int | None, datetime | None, int]:
    """Locate the tables of a profile at an instant, or now: their position, clock and the position that was read up to.

    The position is that before the first run with a later clock and the first later undo (None: the head), the clock
    that of the tables there (None: no run yet).
    """
    published = pl.col("outcome") != "unchanged"
    all_runs = lake.ledger.runs().filter(published)
    runs = all_runs.filter(pl.col("profile_id") == profile_id).sort("commit_seq")
    if runs.is_empty():
        if profile_id not in set(lake.ledger.profiles()["profile_id"]):
            raise UnknownMemory(f"profile {profile_id!r} has no memory; correct the name")
        return None, None, 0
    before = lake.ledger.runs([profile_id], as_of=as_of).filter(published).sort("commit_seq")
    if before.is_empty():
        first = runs["as_of"][0].isoformat()
        raise ValueError(
            f"as_of = {as_of} lies before the first run of profile {profile_id!r}; ask for {first} or later"
        )
    later = runs.filter(pl.col("commit_seq") > before["commit_seq"][-1]).head(1)
    # The tables of all profiles of a run change at the first of their positions.
    changes = all_runs.join(later, on="run_id", how="semi")["commit_seq"].to_list()
    changes += [] if as_of is None else lake.ledger.undos_after(as_of, profile_id)
    standing = before.filter(pl.col("outcome") != "reverted")
    shown_run = (standing if standing.height else before).row(-1, named=True)
    return min(changes) - 1 if changes else None, shown_run["as_of"], shown_run["base_seq"]


def _unknown(memory_id: str, all_ids: pl.Series, where: str) -> str:
    """Return the message for an unknown memory, with similar ids."""
    alike = all_ids.filter(all_ids.str.contains(memory_id[:4], literal=True)).sort()
    near = difflib.get_close_matches(
        memory_id, pl.concat([alike, all_ids.sort()]).head(_CANDIDATES).unique().to_list(), n=3
    )
    hint = f"the nearest are {', '.join(near)}" if near else "no id is similar"
    return f"memory {shown(memory_id)} is unknown {where}; {hint}; correct the id"


def _factors(scored: Row) -> tuple[Factor, ...]:
    return tuple(
        Factor(name=name, value=scored[name], meaning=column.description or "")
        for name, column in ScoredMemories.columns().items()
        if name not in _NO_SCORES and scored[name] is not None
    )


def _rows(frame: pl.DataFrame) -> tuple[Row, ...]:
    return tuple(frame.to_dicts())


def _first(frame: pl.DataFrame) -> Row | None:
    return frame.row(0, named=True) if frame.height else None
