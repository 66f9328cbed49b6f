"""Why a memory stands where it stands: its scores, protection, edges, clusters, decisions and origin.

Reads the tables that runs have published, now or as they were. The same question in SQL is the macro `explain` of a
snapshot (`lake/macros.py`). What is not here: making any of these tables (`consolidation/`).
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.lake.schemas import Action, EventType, ScoredMemories
from memory_pipeline.lake.tables import Lake

Row = Mapping[str, Any]

_SHOWN: Final = 10
"""Rows of a long list that the text shows; `to_dict` has all."""
_NO_SCORES: Final = {"profile_id", "memory_id", "as_of", "is_protected", "protection_reason", "plan_id"}
_CANDIDATES: Final = 2000
"""Ids among which the nearest ones are looked for."""


@dataclass(frozen=True, kw_only=True)
class Factor:
    """One score of a memory, with its meaning or formula."""

    name: str
    value: float | int | str | datetime
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """All that is known about one memory. Rows have the columns of the table they come from, without its profile."""

    profile_id: str
    memory_id: str
    as_of: datetime
    """Clock of the run whose tables were read."""
    memory: Row
    """Its row of `memories`: text, lifecycle, validity, accesses, origin."""
    scores: tuple[Factor, ...]
    """Every score and factor; none for a memory that is not live."""
    is_protected: bool | None
    """None for a memory that is not live."""
    protection_reason: str | None
    centrality: Row | None
    """Its row of `memory_importance`."""
    edges: tuple[Row, ...]
    """Its edges, strongest first; `other` is the memory at the other end."""
    clusters: tuple[Row, ...]
    refusals: tuple[Row, ...]
    """Memories that it was not merged with, and why."""
    facts: tuple[Row, ...]
    """Memories that state another value of the same fact, and which of the two holds."""
    decisions: tuple[Row, ...]
    """Committed decisions about it, oldest first, with `run_id` and whether each was `reverted`."""
    events: tuple[Row, ...]
    """Events that wrote it, oldest first: id, type, instant, ledger position, session; not its accesses."""
    members: tuple[Row, ...]
    """For a summary: its members, with text and the event that stored each."""
    summaries: tuple[Row, ...]
    """Summaries that it is a member of."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it: instants as ISO 8601 text."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def lines(self) -> list[str]:
        """Return everything as text for a terminal, one line a fact."""
        return [
            *self._state(),
            *_section("scores", [_factor(factor) for factor in self.scores], shown=None),
            *self._standing(),
            *_section(f"edges: {len(self.edges)}, strongest first", [_edge(row) for row in self.edges]),
            *_section("clusters", [_cluster(row) for row in self.clusters]),
            *_section(
                "not merged with", [f"{row['other']}: {row['reason']}: {row['detail']}" for row in self.refusals]
            ),
            *_section("other values of its facts", [_fact(row) for row in self.facts]),
            *_section("decisions", [_decision(row) for row in self.decisions], shown=None),
            *_section("written by", [_event(row) for row in self.events]),
            *_section("members", [_text(row) + f" (event {row['event_id']})" for row in self.members], shown=None),
            *_section("in summaries", [_text(row) for row in self.summaries], shown=None),
        ]

    def _state(self) -> Iterator[str]:
        memory = self.memory
        inferred = " (inferred)" if memory["memory_type_inferred"] else ""
        said = f", said by {memory['speaker']}" if memory["speaker"] else ""
        last = f", last {memory['last_accessed_at'].isoformat()}" if memory["last_accessed_at"] else ""
        yield f"memory {self.memory_id} of profile {self.profile_id}, as of {self.as_of.isoformat()}"
        yield f"  {_one_line(memory['content'])}"
        yield f"  {memory['kind']}, {memory['memory_type']}{inferred}, {memory['category']}{said}"
        yield f"stored: {memory['created_at'].isoformat()}, accesses: {memory['access_count']}{last}"
        yield f"lifecycle: {memory['lifecycle']} since {memory['lifecycle_since'].isoformat()}, tier {memory['tier']}"
        if memory["superseded_by"]:
            yield f"superseded by: {memory['superseded_by']} ({memory['superseded_kind']})"
        if memory["valid_from"] or memory["valid_until"]:
            start, end = (_plain(memory[name]) or "open" for name in ("valid_from", "valid_until"))
            yield f"valid: from {start} until {end}"

    def _standing(self) -> Iterator[str]:
        if self.is_protected is None:
            yield "protection: none is needed, since only live memories can leave"
        else:
            yield f"protection: {self.protection_reason or 'none'}"
        if self.centrality:
            yield f"centrality: PageRank {_figure(self.centrality['pagerank'])}, {self.centrality['degree']} neighbours"


def explain(lake: Lake, memory_id: str, *, profile_id: str | None = None, as_of: datetime | None = None) -> Explanation:
    """Say everything about a memory: scores factor by factor, edges, clusters, decisions and why, lineage.

    Args:
        lake: the store.
        memory_id: the memory.
        profile_id: its profile; needed only where several use the same id.
        as_of: show it as the tables stood when the clock of the last run was at or before this instant; default now.

    Raises:
        ValueError: no or more than one profile has the memory, or nothing had been committed at `as_of`; says what to
            do instead.

    Cost: reads the published tables of one profile (of all, narrowed to the ids, to find the profile).
    """
    owner = profile_id if profile_id is not None else _owner(lake, memory_id)
    seq, clock = _state(lake, owner, as_of)
    tables = _Tables(lake=lake, profile_id=owner, memory_id=memory_id, seq=seq)
    memories = tables.all("memories")
    memory = _first(memories.filter(pl.col("memory_id") == memory_id))
    if memory is None:
        raise ValueError(_unknown(memory_id, memories["memory_id"], f"in profile {owner!r} as of {clock.isoformat()}"))
    scored = _first(tables.about("scored_memories"))
    edges = tables.between("association_edges", "source", "target")
    return Explanation(
        profile_id=owner,
        memory_id=memory_id,
        as_of=clock,
        memory=memory,
        scores=_factors(scored) if scored else (),
        is_protected=scored["is_protected"] if scored else None,
        protection_reason=scored["protection_reason"] if scored else None,
        centrality=_first(tables.about("memory_importance")),
        edges=_rows(edges.sort(["weight", "other", "edge_type"], descending=[True, False, False])),
        clusters=_rows(tables.all("clusters").join(tables.about("cluster_members"), on="cluster_id", how="semi")),
        refusals=_rows(tables.between("merge_refusals", "memory_id", "other_id")),
        facts=_rows(tables.between("fact_changes", "memory_id", "other_id")),
        decisions=tables.decisions(),
        events=tables.events(),
        members=_rows(memories.filter(pl.col("memory_id").is_in(memory["members"]))),
        summaries=_rows(memories.filter(pl.col("members").list.contains(memory_id))),
    )


@dataclass(frozen=True, kw_only=True)
class _Tables:
    """The published tables of one profile at one ledger position, and what they say about one memory."""

    lake: Lake
    profile_id: str
    memory_id: str
    seq: int | None

    def all(self, table: str) -> pl.DataFrame:
        return self.lake.read(table, seq=self.seq, profiles=[self.profile_id]).drop("profile_id")

    def about(self, table: str) -> pl.DataFrame:
        return self.all(table).filter(pl.col("memory_id") == self.memory_id)

    def between(self, table: str, one: str, other: str) -> pl.DataFrame:
        """Rows of which the memory is either end; `other` is the memory at the far end."""
        rows = self.all(table).filter((pl.col(one) == self.memory_id) | (pl.col(other) == self.memory_id))
        return rows.with_columns(other=pl.when(pl.col(one) == self.memory_id).then(other).otherwise(one))

    def decisions(self) -> tuple[Row, ...]:
        ledger, own = self.lake.ledger, [self.profile_id]
        two_sided = pl.col("action").is_in([Action.LINK, Action.PRUNE, Action.CLOSE])
        linked = two_sided & (pl.col("target_id") == self.memory_id)
        found = ledger.decisions(seq=self.seq, profiles=own).filter((pl.col("memory_id") == self.memory_id) | linked)
        undone = ledger.reverted(seq=self.seq).select("profile_id", "decision_id", reverted=True)
        runs = ledger.runs(own).select("profile_id", "plan_id", "run_id")
        found = (
            found.join(undone, on=["profile_id", "decision_id"], how="left")
            .join(runs, on=["profile_id", "plan_id"], how="left")
            .with_columns(pl.col("reverted").fill_null(value=False))
            .sort("seq", "ordinal")
            .drop("profile_id")
        )
        documents = ("factors", "before", "after")
        return tuple(row | {name: json.loads(row[name]) for name in documents} for row in found.to_dicts())

    def events(self) -> tuple[Row, ...]:
        found = self.lake.events(seq=self.seq, profiles=[self.profile_id]).filter(
            pl.col("memory_id") == self.memory_id, pl.col("event_type") != EventType.ACCESSED
        )
        return _rows(found.sort("seq").select("event_id", "event_type", "occurred_at", "seq", "session_id", "agent_id"))


def _owner(lake: Lake, memory_id: str) -> str:
    """Return the one profile that has the memory."""
    known = lake.read("memories", columns=["profile_id", "memory_id"])
    owners = known.filter(pl.col("memory_id") == memory_id)["profile_id"].sort().to_list()
    if not owners:
        raise ValueError(_unknown(memory_id, known["memory_id"], "in any profile"))
    if len(owners) > 1:
        raise ValueError(f"memory {memory_id!r} exists in the profiles {', '.join(owners)}; name one of them")
    return str(owners[0])


def _state(lake: Lake, profile_id: str, as_of: datetime | None) -> tuple[int | None, datetime]:
    """Return the ledger position before the first run with a later clock, and the clock of the tables there."""
    everyone = lake.ledger.runs()
    runs = everyone.filter(pl.col("profile_id") == profile_id).sort("commit_seq")
    if runs.is_empty():
        raise ValueError(f"profile {profile_id!r} has no committed run; consolidate it first or correct the name")
    before = runs if as_of is None else runs.filter(pl.col("as_of") <= as_of)
    if before.is_empty():
        first = runs["as_of"][0].isoformat()
        raise ValueError(
            f"as_of = {as_of} lies before the first run of profile {profile_id!r}; ask for {first} or later"
        )
    later = runs.filter(pl.col("commit_seq") > before["commit_seq"][-1]).head(1)
    # The tables of all profiles of a run change at the first of their positions.
    changed = everyone.join(later, on="run_id", how="semi")["commit_seq"].min()
    return (None if changed is None else int(str(changed)) - 1), before["as_of"][-1]


def _unknown(memory_id: str, known: pl.Series, where: str) -> str:
    """Say that a memory is unknown, which ids are like it, and what to do."""
    alike = known.filter(known.str.contains(memory_id[:4], literal=True)).sort()
    near = difflib.get_close_matches(
        memory_id, pl.concat([alike, known.sort()]).head(_CANDIDATES).unique().to_list(), n=3
    )
    hint = f"the nearest are {', '.join(near)}" if near else "none is like it"
    return f"memory {memory_id!r} is unknown {where}; {hint}; one stored since the last run is known after the next"


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


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _section(title: str, lines: Sequence[str], *, shown: int | None = _SHOWN) -> list[str]:
    """Return a title with its lines indented, cut to the first ones, or nothing if there are none."""
    rest = len(lines) - len(lines[:shown])
    more = [f"  ... and {rest} more"] if rest else []
    return [title, *(f"  {line}" for line in lines[:shown]), *more] if lines else []


def _figure(value: float | str | datetime) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _factor(factor: Factor) -> str:
    return f"{factor.name:<20} {_figure(factor.value):>10}  {factor.meaning}"


def _edge(row: Row) -> str:
    kind = f"/{row['kind']}" if row["kind"] else ""
    arrow = "from" if row["other"] == row["source"] else "to"
    return f"{row['edge_type']}{kind} {arrow} {row['other']}, weight {_figure(row['weight'])}, {row['origin']}"


def _cluster(row: Row) -> str:
    cohesion = "" if row["cohesion"] is None else f", cohesion {_figure(row['cohesion'])}"
    return f"{row['label']}: {row['method']}, {row['cluster_size']} memories{cohesion} ({row['cluster_id']})"


def _fact(row: Row) -> str:
    place = "newer" if row["other"] == row["other_id"] else "older"
    return f"{row['relation']}: {place} {row['other']} by {row['rule']}: {row['reason']}"


def _decision(row: Row) -> str:
    undone = ", undone" if row["reverted"] else ""
    what = f"{row['action']} {row['target_id']}" if row["target_id"] else row["action"]
    return f"{row['as_of'].isoformat()} {what} by {row['rule']}: {row['reason']} (plan {row['plan_id']}{undone})"


def _event(row: Row) -> str:
    return f"{row['event_type']} {row['event_id']} at {row['occurred_at'].isoformat()}, ledger position {row['seq']}"


def _text(row: Row) -> str:
    return f"{row['memory_id']}: {_one_line(row['content'])}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
