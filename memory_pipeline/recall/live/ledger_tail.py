"""The ledger's tail: what agents wrote about a profile that its published tables do not hold, and what it changes.

Memories that the tail concerns are folded again, each from all its events, by the project's own fold. What a memory is
also depends on others: on the summary that stands for it, on the newer memory that ended its validity. Those are folded
with it, and nothing else.
What is not here: the fold (`consolidation/state/projection`), and what is searched (`state`).
"""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.folding import WRONG_TO_NOTHING
from memory_pipeline.consolidation.state.lifecycle import MOVES
from memory_pipeline.lake import catalog, files
from memory_pipeline.lake.catalog import Mark
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import event
from memory_pipeline.ledger.database import DECISIONS, EVENTS, LakeError
from memory_pipeline.recall.live import fresh
from memory_pipeline.schemas import TABLES, Action, EventType

Row = tuple[Any, ...]
"""A row of the ledger: `seq`, then `events.COLUMNS`."""

MOVED: Final = frozenset(event.PIPELINE)
"""Events after which the published tables are others."""

CHANGED: Final = frozenset({EventType.STORED.value, EventType.UPDATED.value})
"""Events that change what recall searches."""

USED: Final = frozenset({EventType.ACCESSED.value, EventType.FEEDBACK.value})
"""Events that do so only where they wake a memory."""

_TYPE, _OCCURRED, _RECORDED_AT, _SESSION, _MEMORY, _PAYLOAD = (
    1 + event.COLUMNS.index(name)
    for name in ("event_type", "occurred_at", "recorded_at", "session_id", "memory_id", "payload")
)
_KINDRED: Final = (*MOVES, Action.CLOSE.value)
"""Decisions by which where one memory stands depends on another."""
_ATTEMPTS: Final = 4
_AT_ONCE: Final = 500
"""Parameters of one query."""
_FEW: Final = 200
"""So many new memories are told row by row; the fold is quicker for more."""
_CHUNKS: Final = 64
"""So many pieces of a table are put together."""

_OWN: Final = sa.bindparam("own", type_=sa.Text())
_AFTER: Final = sa.bindparam("after", type_=sa.BigInteger())
_UNTIL: Final = sa.bindparam("until", type_=sa.BigInteger())
_AS_OF: Final = sa.bindparam("as_of", type_=sa.BigInteger())
_ROWS: Final = sa.select(*(EVENTS.c[name] for name in ("seq", *event.COLUMNS))).order_by(EVENTS.c.seq)
_BETWEEN: Final = _ROWS.where(
    EVENTS.c.seq > _AFTER,
    EVENTS.c.seq <= _UNTIL,
    EVENTS.c.profile_id.concat("") == _OWN,  # as an expression, or SQLite reads all of the profile by its index
)
_LATE: Final = _BETWEEN.where(EVENTS.c.occurred_at > _AS_OF, EVENTS.c.recorded_at > _AS_OF)
_LAST: Final = sa.select(sa.func.max(EVENTS.c.seq))
_RECORDED: Final = (
    sa.select(EVENTS.c.seq)
    .where(EVENTS.c.seq <= _UNTIL, EVENTS.c.recorded_at <= _AS_OF)
    .order_by(EVENTS.c.seq.desc())
    .limit(1)
)


class Tail:
    """What one profile's published tables lack. Not for several threads at once."""

    def __init__(self, lake: Lake, profile_id: str, *, seq: int, position: int, rows: Sequence[Row]) -> None:
        """Hold the tail of a profile (see `published`).

        Args:
            lake: the store.
            profile_id: the profile.
            seq: position that the run of the published tables read up to.
            position: position as of which the published tables were read.
            rows: what those tables lack.
        """
        self.rows = [*rows]
        self._lake = lake
        self._profile = profile_id
        self._seq = seq
        self._position = position
        self._frame = TABLES["events"].empty()
        self._framed = 0
        self._decisions: pl.DataFrame | None = None
        self._summaries: frozenset[str] | None = None
        self._mentions: Counter[str] = Counter()
        self._storing: dict[str, Row] = {}
        self._heed(rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Take what came since."""
        self.rows += rows
        self._heed(rows)

    def _heed(self, rows: Sequence[Row]) -> None:
        """Note how many rows are about each memory, and which stores it."""
        for row in rows:
            self._mentions.update(_named(row))
            if row[_TYPE] == EventType.STORED.value:
                self._storing[row[_MEMORY]] = row

    def folded(self, names: Collection[str]) -> tuple[pl.DataFrame, set[str]]:
        """Fold memories again, with those that stand where they stand because of them.

        What is new to the profile has no history: its events are among the last ones, and no decision is about it.

        Returns:
            Their rows of the table `memories`, and whose they are: those of no row are no memories.
        """
        if not self._heard_of(names):
            if all(self._mentions[name] == 1 for name in names) and len(names) <= _FEW:
                stored = [self._storing[name] for name in names if name in self._storing]
                if all("content" in json.loads(row[_PAYLOAD]) for row in stored):
                    return fresh.memories(stored), set(names)
            told = self._told().filter(pl.col("memory_id").is_in(sorted(names)))
            return projection.project(told).memories, set(names)
        decisions = self._in_force()
        closure = _kin(decisions, names)
        ends = sorted(closure)
        own = decisions.filter(pl.col("memory_id").is_in(ends) | pl.col("target_id").is_in(ends))
        context = closure | set(own["memory_id"]) | set(own["target_id"].drop_nulls())
        folded = projection.fold(self._history(context), own).memories
        return folded.filter(pl.col("memory_id").is_in(ends)), closure

    def conflicts(self) -> pl.DataFrame:
        """Return pairs `memory_id`, `other_id` that contradict each other: as published, and as agents said since."""
        edges = self._lake.read(
            "decided_edges", profiles=[self._profile], columns=["source", "target", "edge_type", "kind"]
        )
        said = (
            self._told()
            .filter(pl.col("event_type") == EventType.LINKED.value)
            .select(
                source="memory_id",
                target="target_id",
                edge_type=pl.col("edge_type").str.to_uppercase(),
                kind="edge_kind",
            )
        )
        return contradicting(pl.concat([edges.select(said.columns), said]))

    def confidence(self, memory_id: str, until: int) -> float:
        """Return the confidence in an original: what its first event gave, less a tenth for each who found it wrong.

        Args:
            memory_id: an original that was not erased.
            until: position of the last event that counts.
        """
        about = (EVENTS.c.profile_id == self._profile, EVENTS.c.memory_id == memory_id, EVENTS.c.seq <= until)
        kinds = EVENTS.c.event_type.in_([EventType.STORED.value, EventType.FEEDBACK.value])
        with self._lake.ledger.reading() as connection:
            found = [tuple(row) for row in connection.execute(_ROWS.where(*about, kinds))]
        rows = self._lake.ledger.with_payloads(found)
        first = min((row for row in rows if row[_TYPE] == EventType.STORED.value), key=lambda row: (_at(row), row[0]))
        doubts = sum(_doubted(row) for row in rows if row[_TYPE] == EventType.FEEDBACK.value)
        return max(0.0, float(json.loads(first[_PAYLOAD]).get("confidence", 0.5)) - doubts / WRONG_TO_NOTHING)

    def returns(self, session_id: str) -> Counter[str]:
        """Return how often recalls of a session named each memory, as far as the tail tells."""
        said = (row for row in self.rows if row[_TYPE] == EventType.ACCESSED.value and row[_SESSION] == session_id)
        return Counter(name for row in said for name in _named(row))

    def _told(self) -> pl.DataFrame:
        """The rows as the table `events`; read when they are first asked for."""
        if self._framed < len(self.rows):
            new = event.frame(self.rows[self._framed :])
            self._frame = pl.concat([self._frame, new], rechunk=self._frame.n_chunks() > _CHUNKS)
            self._framed = len(self.rows)
        return self._frame

    def _in_force(self) -> pl.DataFrame:
        """The decisions in force; read when they are first asked for."""
        if self._decisions is None:
            made = self._lake.ledger.decisions(seq=self._position, profiles=[self._profile])
            self._decisions = projection.unmasked(made, self._lake.ledger.reverted(seq=self._position))
        return self._decisions

    def _heard_of(self, names: Collection[str]) -> bool:
        """Whether any of these memories was written about before the tail begins, or made by a run."""
        if not self._seq:
            return False
        ids = sorted(names)
        with self._lake.ledger.reading() as connection:
            if self._summaries is None:
                made = (DECISIONS.c.profile_id == self._profile, DECISIONS.c.action == Action.SUMMARISE.value)
                self._summaries = frozenset(connection.scalars(sa.select(DECISIONS.c.memory_id).where(*made)))
            if not self._summaries.isdisjoint(ids):
                return True
            old = (EVENTS.c.profile_id == self._profile, EVENTS.c.seq <= self._seq)
            return any(
                connection.scalar(
                    sa.select(EVENTS.c.seq).where(*old, EVENTS.c.memory_id.in_(ids[at : at + _AT_ONCE])).limit(1)
                )
                for at in range(0, len(ids), _AT_ONCE)
            )

    def _history(self, names: Collection[str]) -> pl.DataFrame:
        """All events about memories (table `events`): those that were projected, and the rest of the ledger."""
        with self._lake.ledger.reading() as connection:
            projected = min(catalog.marked(connection, Mark.PROJECTED), self._seq)
            given = {"own": self._profile, "after": projected, "until": self._seq}
            between = [tuple(row) for row in connection.execute(_BETWEEN, given)]
        own, mine = pl.col("profile_id") == self._profile, pl.col("memory_id").is_in(sorted(names))
        stored = files.collect(self._lake.paths("events"), TABLES["events"], own, pl.col("seq") <= projected, mine)
        rest = event.frame(self._lake.ledger.with_payloads(between))
        newer = self._told().filter(pl.col("seq") > self._seq)
        return pl.concat([stored, rest.filter(mine), newer.filter(mine)])


def look(lake: Lake, profile_id: str, after: int) -> tuple[int, list[Row]]:
    """Return the position of the ledger, and the rows about a profile that came after another position.

    Cost: one look into an index where nothing came.
    """
    with lake.ledger.reading() as connection:
        position = connection.scalar(_LAST) or 0
        if position <= after:
            return position, []
        found = connection.execute(_BETWEEN, {"own": profile_id, "after": after, "until": position})
        rows = [tuple(row) for row in found]
    return position, lake.ledger.with_payloads(rows)


def published(lake: Lake, profile_id: str) -> tuple[int, pl.DataFrame, Tail]:
    """Return what is published of a profile: the position, the table `memories` as of it, and what that lacks.

    Raises:
        LakeError: the store cannot be read.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _published(lake, profile_id)
        except LakeError:  # its files were erased or swept between two looks
            continue
    return _published(lake, profile_id)


def _published(lake: Lake, profile_id: str) -> tuple[int, pl.DataFrame, Tail]:
    position = lake.ledger.position()
    memories = lake.read("memories", seq=position, profiles=[profile_id])
    run = lake.read("profiles", seq=position, profiles=[profile_id]).to_dicts()
    seq, as_of = (run[0]["seq"], event.micros(run[0]["as_of"])) if run else (0, 0)
    given = {"own": profile_id, "as_of": as_of}
    with lake.ledger.reading() as connection:
        lowest = connection.scalar(_RECORDED, {"until": seq, "as_of": as_of}) or 0
        late = connection.execute(_LATE, given | {"after": lowest, "until": seq}).fetchall()
        newer = connection.execute(_BETWEEN, given | {"after": seq, "until": position}).fetchall()
    rows = lake.ledger.with_payloads([tuple(row) for row in (*late, *newer)])
    return position, memories, Tail(lake, profile_id, seq=seq, position=position, rows=rows)


def moved(rows: Sequence[Row]) -> bool:
    """Whether the published tables are others after these rows."""
    return any(row[_TYPE] in MOVED for row in rows)


def erased(rows: Sequence[Row]) -> set[str]:
    """Return the memories that these rows erase."""
    return {row[_MEMORY] for row in rows if row[_TYPE] == EventType.ERASED.value}


def linked(rows: Sequence[Row]) -> bool:
    """Whether these rows assert a link."""
    return any(row[_TYPE] == EventType.LINKED.value for row in rows)


def contradicting(edges: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs `memory_id`, `other_id` that edges say contradict each other."""
    conflict = (pl.col("edge_type") == "CONTRADICTS") & (pl.col("kind") == "conflict")
    return edges.filter(conflict).select(memory_id="source", other_id="target").unique().sort("memory_id", "other_id")


@dataclass(frozen=True, slots=True)
class Use:
    """How a memory was used since its row was folded."""

    count: int = 0
    last: int = 0
    """Instant of the last access, microseconds since 1970."""
    doubted: bool = False
    """Somebody said that it was wrong."""

    def __add__(self, other: "Use") -> "Use":
        return Use(self.count + other.count, max(self.last, other.last), self.doubted or other.doubted)


def concerned(rows: Sequence[Row], resting: Collection[str]) -> tuple[set[str], dict[str, Use]]:
    """Return the memories whose text or place these rows can change, and those that they use.

    Args:
        rows: rows of the ledger.
        resting: memories that a use brings back.
    """
    changed: set[str] = set()
    used: dict[str, Use] = {}
    for row in rows:
        if row[_TYPE] in CHANGED:
            changed.add(row[_MEMORY])
        elif row[_TYPE] in USED:
            use = Use(doubted=True) if _doubted(row) else Use(1, _at(row))
            used |= {name: used.get(name, Use()) + use for name in _named(row)}
    return changed | {name for name in used if name in resting}, used


def _at(row: Row) -> int:
    """When what a row tells happened, as far as it counts."""
    return int(min(row[_OCCURRED], row[_RECORDED_AT]))


def _doubted(row: Row) -> bool:
    """Whether a row says that a memory was wrong."""
    return bool(row[_TYPE] == EventType.FEEDBACK.value and json.loads(row[_PAYLOAD]).get("helpful") is False)


def _named(row: Row) -> Sequence[str]:
    """Memories that a row of an agent names."""
    if row[_MEMORY]:
        return [row[_MEMORY]]
    return json.loads(row[_PAYLOAD]).get("memory_ids", ()) if row[_TYPE] == EventType.ACCESSED.value else ()


def _kin(decisions: pl.DataFrame, names: Collection[str]) -> set[str]:
    """Return memories together with all that decisions tie to them, however far."""
    ties = decisions.filter(pl.col("action").is_in(_KINDRED), pl.col("target_id").is_not_null())
    ends = ties.select("memory_id", "target_id")
    found, new = set(names), set(names)
    while new:
        near = ends.filter(pl.col("memory_id").is_in(sorted(new)) | pl.col("target_id").is_in(sorted(new)))
        new = (set(near["memory_id"]) | set(near["target_id"])) - found
        found |= new
    return found
