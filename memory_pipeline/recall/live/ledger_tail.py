"""Reads the tail of the ledger: events of a profile that its published tables lack, and the memories they change.

Affected memories are folded again from all their events by the same fold that a run uses. The state of a memory also
depends on others, on the summary that replaced it and on the newer memory that ended its validity, and that of a
summary on the texts of its members; those are folded with it, and nothing else.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from memory_pipeline.consolidation import memory_types
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.state import answers, decision_json, projection
from memory_pipeline.consolidation.state.folding import WRONG_TO_NOTHING
from memory_pipeline.consolidation.state.lifecycle import MOVES
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog, event, profile_events
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.ledger.ledger import position_in
from memory_pipeline.ledger.profile_events import Row
from memory_pipeline.recall.live import new_memories
from memory_pipeline.recall.rank import fact_links
from memory_pipeline.schemas import TABLES, Action, EventType
from memory_pipeline.text.compare.judge import ASIDE

REPUBLISHING: Final = frozenset(event.PIPELINE)
"""Events that replace the published tables."""

WRITING: Final = frozenset({EventType.STORED.value, EventType.UPDATED.value})
"""Events that change what recall searches."""

USING: Final = frozenset({EventType.ACCESSED.value, EventType.FEEDBACK.value})
"""Events that change what recall searches only if they revive a memory."""

_TYPE, _OCCURRED, _RECORDED_AT, _SESSION, _MEMORY, _PAYLOAD = (
    1 + event.COLUMNS.index(name)
    for name in ("event_type", "occurred_at", "recorded_at", "session_id", "memory_id", "payload")
)
_CHANGE: Final = ["memory_id", "other_id", "relation", "confidence"]
_ANSWER: Final = pl.col("event_type") == EventType.RESOLVED.value
_LINKING: Final = (*MOVES, Action.CLOSE.value)
"""Decisions by which the state of one memory depends on another."""
_ATTEMPTS: Final = 4
_FEW: Final = 200
"""Most new memories to convert row by row; beyond it the fold is faster."""
_CHUNKS: Final = 64
"""Chunks above which a table is made contiguous again."""


class LedgerTail:
    """Events that the published tables of one profile lack. Not thread-safe."""

    def __init__(
        self, lake: Lake, profile_id: str, *, seq: int, as_of: int, position: int, rows: Sequence[Row] | None = None
    ) -> None:
        """Hold the tail of a profile (see `load_published`): rows that its tables lack, by default read once needed.

        The run of the published tables read up to `seq` and is of the instant `as_of`, microseconds since 1970; the
        tables were read at `position`.
        """
        self._rows: list[Row] = []
        self._unread = rows is None
        self._as_of = as_of
        self._lake = lake
        self._profile = profile_id
        self._seq = seq
        self._position = position
        self._frame = TABLES["events"].empty()
        self._framed = 0
        self._edges: pl.DataFrame | None = None
        self._about: dict[str, list[Row]] = {}
        self._pairs: list[tuple[str, str | None]] = []
        self.add(rows or ())

    @property
    def rows(self) -> Sequence[Row]:
        """The ledger rows."""
        self._read_all()
        return self._rows

    def _read_all(self) -> None:
        """Read the rows that were left until they are needed."""
        if self._unread:
            earlier = tail_rows(self._lake, self._profile, seq=self._seq, as_of=self._as_of, until=self._position)
            self._rows = [*earlier, *self._rows]
            self._register(earlier)
            self._unread = False

    @property
    def run(self) -> tuple[int, int]:
        """Ledger position up to which the run of the published tables read, and its instant; 0 without a run."""
        return self._seq, self._as_of

    def add(self, rows: Sequence[Row]) -> None:
        """Append newer rows."""
        self._rows += rows
        self._register(rows)
        if assert_links(rows):
            self._edges = None

    def _register(self, rows: Sequence[Row]) -> None:
        """Remember the rows about each memory, and the pairs of memories that answers are about."""
        for row in rows:
            for name in _memories_of(row):
                self._about.setdefault(name, []).append(row)
            if row[_TYPE] == EventType.RESOLVED.value:
                self._pairs.append(_pair(row))

    def _just_stored(self, names: Collection[str]) -> pl.DataFrame | None:
        """Return memories about which nothing is known but that they were stored; None if more is known of one."""
        about = [self._about[name] for name in names]
        if len(names) > _FEW or any(len(rows) > 1 or rows[0][_TYPE] != EventType.STORED.value for rows in about):
            return None
        stored = [row for (row,) in about]
        known = all("content" in json.loads(row[_PAYLOAD]) for row in stored)
        return new_memories.memory_rows(stored) if known else None

    def folded(self, names: Collection[str]) -> tuple[pl.DataFrame, set[str]]:
        """Fold memories again, together with all whose state depends on theirs; return rows of `memories`, and ids.

        An id that was folded and has no row is not a memory. Memories that are new to the profile have no history: all
        events about them are among the rows that were read, and no decision and no earlier answer is about them.
        """
        new = _joined(names, self._pairs)
        if new <= self._about.keys() and not self._has_history(new):
            if (stored := self._just_stored(new)) is not None:
                return stored, new
            events = self._events() if not self._unread else event.frame(self._rows)
            return projection.project(events.filter(pl.col("memory_id").is_in(sorted(new)))).memories, new
        names = self._with_answered(names)
        decisions = self._in_force
        members = self._members
        closure = _connected(decisions, names)
        closure |= set(members.filter(pl.col("member").is_in(sorted(names)))["memory_id"])
        ends = sorted(closure)
        related = decisions.filter(pl.col("memory_id").is_in(ends) | pl.col("target_id").is_in(ends))
        context = closure | set(related["memory_id"]) | set(related["target_id"].drop_nulls())
        context |= set(members.filter(pl.col("memory_id").is_in(ends))["member"])
        context = self._with_answered(context)
        folded = projection.fold(self._history(context), related).memories.filter(pl.col("memory_id").is_in(ends))
        read = self._lake.scan("memories", pl.col("profile_id") == self._profile, pl.col("memory_id").is_in(ends))
        return memory_types.taken_over(folded, read), closure

    def fact_links(self) -> pl.DataFrame:
        """Return the links about facts (see `fact_links.pairs`), as published, or asserted or answered since."""
        columns = ["source", "target", "edge_type", "kind", "origin"]
        edges = self._lake.read("decided_edges", profiles=[self._profile], columns=columns)
        links = pl.concat([edges, self._asserted().select(columns)])
        judged = self._lake.read("fact_changes", profiles=[self._profile], columns=[*_CHANGE, "decided"])
        changes = self._unsaid(judged)
        if not any(row[_TYPE] == EventType.RESOLVED.value for row in self.rows):
            return fact_links.pairs(links, changes, judged)
        answered = answers.standing(self.answers_and_changes())
        low, high = pl.min_horizontal("source", "target"), pl.max_horizontal("source", "target")
        left = links.with_columns(low=low, high=high).join(answered, on=list(answers.PAIR), how="anti")
        said = answered.filter(pl.col("relation").is_in(list(answers.LINKING))).select(
            source="low",
            target="high",
            edge_type=pl.col("relation").replace_strict(answers.LINKING).replace_strict(edge_rows.PROPOSED),
            kind=pl.when(pl.col("relation") == "conflict").then(pl.lit("conflict")),
            origin=pl.lit("asserted"),
        )
        low, high = pl.min_horizontal("memory_id", "other_id"), pl.max_horizontal("memory_id", "other_id")
        unanswered, open_pairs = (
            table.with_columns(low=low, high=high).join(answered, on=list(answers.PAIR), how="anti")
            for table in (changes, judged)
        )
        return fact_links.pairs(pl.concat([left.select(columns), said]), unanswered, open_pairs)

    def _unsaid(self, judged: pl.DataFrame) -> pl.DataFrame:
        """Return updates that no link says, and asides, as `fact_links.as_links` takes them.

        The updates are those too unsure for a link, and likely ones of what the same run merged, as updates of the
        merged memory: it has no link yet, since no run has compared it.
        """
        possible = pl.col("relation").is_in(["doubt", "update", ASIDE]) & ~pl.col("decided")
        if (changes := judged.filter(possible)).is_empty():
            return changes.select(_CHANGE)
        columns = ["memory_id", "superseded_by", "superseded_kind"]
        superseded = self._lake.read("memories", profiles=[self._profile], columns=columns)
        merged = superseded.filter(pl.col("superseded_kind") == "summary")
        for end in ("memory_id", "other_id"):
            by = merged.select(pl.col("memory_id").alias(end), pl.col("superseded_by").alias(f"{end}_by"))
            changes = changes.join(by, on=end, how="left", maintain_order="left")
        moved = pl.any_horizontal(pl.col("memory_id_by", "other_id_by").is_not_null())
        placed = changes.filter((pl.col("relation") != "update") | moved).select(
            memory_id=pl.coalesce("memory_id_by", "memory_id"),
            other_id=pl.coalesce("other_id_by", "other_id"),
            relation="relation",
            confidence="confidence",
        )
        return placed.filter(pl.col("memory_id") != pl.col("other_id"))

    def answers_and_changes(self) -> pl.DataFrame:
        """Return all answers of the profile about pairs of memories, and the updates of those memories (`events`)."""
        given = pl.concat([self._answers, self._events().filter(_ANSWER)])
        if given.is_empty():
            return given
        with self._lake.ledger.reading() as transaction:
            about = profile_events.of_memories(transaction, self._profile, _ends(given))
        updates = [row for row in about if row[_TYPE] == EventType.UPDATED.value]
        return pl.concat([given, event.frame(self._lake.ledger.with_payloads(updates))])

    @cached_property
    def _answers(self) -> pl.DataFrame:
        """The answers before the tail (table `events`)."""
        with self._lake.ledger.reading() as transaction:
            rows = profile_events.answers(transaction, self._profile, until=self._seq)
        return event.frame(self._lake.ledger.with_payloads(rows))

    def _with_answered(self, names: Collection[str]) -> set[str]:
        """Return memories together with all that answers connect to them, directly or indirectly."""
        self._read_all()
        earlier = self._answers.select("memory_id", "target_id").iter_rows()
        return _joined(names, [*earlier, *self._pairs])

    def edges(self) -> pl.DataFrame:
        """Return the edges of the profile as published (table `association_edges`), and those asserted since."""
        if self._edges is None:
            from memory_pipeline.consolidation.edges import associations  # noqa: PLC0415 - imports SciPy; rarely needed

            published = self._lake.read("association_edges", profiles=[self._profile])
            asserted = edge_rows.complete(self._asserted(), origin="asserted")
            self._edges = associations.union(TABLES["association_edges"].conform(asserted), published)
        return self._edges

    def _asserted(self) -> pl.DataFrame:
        """Return the edges that agents asserted in the tail, in columns of `association_edges`."""
        links = self._events().filter(pl.col("event_type") == EventType.LINKED.value)
        return links.select(
            "profile_id",
            source="memory_id",
            target="target_id",
            edge_type=pl.col("edge_type").str.to_uppercase(),
            kind="edge_kind",
            weight=pl.col("weight").fill_null(1.0),
            algorithm=pl.lit("agent"),
            discovered_at=pl.min_horizontal("occurred_at", "recorded_at"),
            origin=pl.lit("asserted"),
        )

    def confidence(self, memory_id: str, until: int) -> float:
        """Return the confidence in an original up to a position: the initial one less a tenth for each wrong recall."""
        kinds = (EventType.STORED, EventType.FEEDBACK)
        with self._lake.ledger.reading() as transaction:
            events = profile_events.about(transaction, self._profile, memory_id, kinds=kinds, until=until)
        rows = self._lake.ledger.with_payloads(events)
        first = min((row for row in rows if row[_TYPE] == EventType.STORED.value), key=lambda row: (_at(row), row[0]))
        doubts = sum(_doubted(row) for row in rows if row[_TYPE] == EventType.FEEDBACK.value)
        return max(0.0, float(json.loads(first[_PAYLOAD]).get("confidence", 0.5)) - doubts / WRONG_TO_NOTHING)

    def returns(self, session_id: str) -> Counter[str]:
        """Count the recalls of a session that returned each memory, within the tail."""
        recalls = (row for row in self.rows if row[_TYPE] == EventType.ACCESSED.value and row[_SESSION] == session_id)
        return Counter(name for row in recalls for name in _memories_of(row))

    def _events(self) -> pl.DataFrame:
        """Return the rows as the table `events`, parsed on demand."""
        rows = self.rows
        if self._framed < len(rows):
            new = event.frame(rows[self._framed :])
            self._frame = pl.concat([self._frame, new], rechunk=self._frame.n_chunks() > _CHUNKS)
            self._framed = len(rows)
        return self._frame

    @cached_property
    def _in_force(self) -> pl.DataFrame:
        """The decisions in force."""
        decisions = self._lake.ledger.decisions(seq=self._position, profiles=[self._profile])
        return projection.unmasked(decisions, self._lake.ledger.reverted(seq=self._position))

    @cached_property
    def _members(self) -> pl.DataFrame:
        """The summaries that runs made, each with its members: memory_id and member."""
        made = self._in_force.filter(pl.col("action") == Action.SUMMARISE.value)
        listed = decision_json.read("after", {"members": decision_json.SUMMARY["members"]})
        return made.select("memory_id", *listed).explode("members").rename({"members": "member"}).unique()

    @cached_property
    def _summaries(self) -> frozenset[str]:
        """The summaries that runs made."""
        with self._lake.ledger.reading() as transaction:
            return profile_events.summary_ids(transaction, self._profile)

    def _has_history(self, names: Collection[str]) -> bool:
        """Return whether any of these memories has events before the tail or was made by a run."""
        until = self._position if self._unread else self._seq
        if not until:
            return False
        if not self._summaries.isdisjoint(names):
            return True
        with self._lake.ledger.reading() as transaction:
            return profile_events.has_events(transaction, self._profile, names, until=until)

    def _history(self, names: Collection[str]) -> pl.DataFrame:
        """Return all events about memories (table `events`): the projected ones and the rest of the ledger."""
        with self._lake.ledger.reading() as transaction:
            projected = min(catalog.mark(transaction, Mark.PROJECTED), self._seq)
            between = profile_events.between(transaction, self._profile, after=projected, until=self._seq)
        same_profile, about = pl.col("profile_id") == self._profile, pl.col("memory_id").is_in(sorted(names))
        stored = self._lake.scan("events", same_profile, pl.col("seq") <= projected, about)
        rest = event.frame(self._lake.ledger.with_payloads(between))
        newer = self._events().filter(pl.col("seq") > self._seq)
        return pl.concat([stored, rest.filter(about), newer.filter(about)])


def rows_after(lake: Lake, profile_id: str, after: int) -> tuple[int, list[Row]]:
    """Return the position of the ledger, and a profile's rows after another one. Cost: a look-up if there are none."""
    with lake.ledger.reading() as transaction:
        position = position_in(transaction)
        if position <= after:
            return position, []
        rows = profile_events.between(transaction, profile_id, after=after, until=position)
    return position, lake.ledger.with_payloads(rows)


def load_published(lake: Lake, profile_id: str) -> tuple[int, pl.DataFrame, LedgerTail]:
    """Return the ledger position, the published table `memories` of a profile at it, and the tail that it lacks.

    Raises LakeError if the store cannot be read.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _load_published(lake, profile_id)
        except LakeError:  # the files were erased or swept between two reads
            continue
    return _load_published(lake, profile_id)


def _load_published(lake: Lake, profile_id: str) -> tuple[int, pl.DataFrame, LedgerTail]:
    position = lake.ledger.position()
    memories = lake.read("memories", seq=position, profiles=[profile_id])
    run = lake.read("profiles", seq=position, profiles=[profile_id]).to_dicts()
    seq, as_of = (run[0]["seq"], event.micros(run[0]["as_of"])) if run else (0, 0)
    rows = tail_rows(lake, profile_id, seq=seq, as_of=as_of, until=position)
    return position, memories, LedgerTail(lake, profile_id, seq=seq, as_of=as_of, position=position, rows=rows)


def tail_rows(lake: Lake, profile_id: str, *, seq: int, as_of: int, until: int) -> list[Row]:
    """Return the ledger rows of a profile, up to a position, that a run at a position and an instant has not read."""
    with lake.ledger.reading() as transaction:
        late = profile_events.missed(transaction, profile_id, base_seq=seq, as_of=as_of)
        newer = profile_events.between(transaction, profile_id, after=seq, until=until)
    return lake.ledger.with_payloads([*late, *newer])


def republished(rows: Sequence[Row]) -> bool:
    """Return whether these rows replace the published tables."""
    return any(row[_TYPE] in REPUBLISHING for row in rows)


def erased_memories(rows: Sequence[Row]) -> set[str]:
    """Return the memories that these rows erase."""
    return {row[_MEMORY] for row in rows if row[_TYPE] == EventType.ERASED.value}


def assert_links(rows: Sequence[Row]) -> bool:
    """Return whether these rows assert a link, or answer how two memories relate."""
    return any(row[_TYPE] in {EventType.LINKED.value, EventType.RESOLVED.value} for row in rows)


@dataclass(frozen=True, slots=True)
class Usage:
    """Uses of a memory since its row was folded."""

    count: int = 0
    last: int = 0
    """Instant of the last access, microseconds since 1970."""
    doubted: bool = False
    """Some feedback said that it was wrong."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.count + other.count, max(self.last, other.last), self.doubted or other.doubted)


def affected(rows: Sequence[Row], revivable: Collection[str]) -> tuple[set[str], dict[str, Usage]]:
    """Return the memories whose row these ledger rows can change, and the usage of those they use.

    A use changes the row of a memory that it revives.
    """
    changed: set[str] = set()
    used: dict[str, Usage] = {}
    for row in rows:
        if row[_TYPE] in WRITING:
            changed.add(row[_MEMORY])
        elif row[_TYPE] == EventType.RESOLVED.value:
            changed.update(name for name in _pair(row) if name)
        elif row[_TYPE] in USING:
            doubted = _doubted(row)
            for name, times in _times(row).items():
                use = Usage(doubted=True) if doubted else Usage(times, _at(row))
                used[name] = used.get(name, Usage()) + use
    return changed | {name for name in used if name in revivable}, used


def _pair(row: Row) -> tuple[str, str | None]:
    """Return the two memories that an answer is about; the older one is unknown once one of them is erased."""
    return row[_MEMORY], json.loads(row[_PAYLOAD]).get("target_id")


def _joined(names: Collection[str], pairs: Collection[tuple[str, str | None]]) -> set[str]:
    """Return memories together with all that pairs connect to them, directly or indirectly."""
    joined = set(names)
    while new := {end for pair in pairs if joined.intersection(pair) for end in pair if end} - joined:
        joined |= new
    return joined


def _ends(answered: pl.DataFrame) -> set[str]:
    """Return the memories that answers are about."""
    return {name for pair in answered.select("memory_id", "target_id").iter_rows() for name in pair if name}


def _at(row: Row) -> int:
    """Return the instant at which a row counts, microseconds since 1970."""
    return int(min(row[_OCCURRED], row[_RECORDED_AT]))


def _doubted(row: Row) -> bool:
    """Return whether a row is feedback that a memory was wrong."""
    return bool(row[_TYPE] == EventType.FEEDBACK.value and json.loads(row[_PAYLOAD]).get("helpful") is False)


def _memories_of(row: Row) -> Sequence[str]:
    """Return the memories that an agent's event names."""
    if row[_MEMORY]:
        return [row[_MEMORY]]
    return json.loads(row[_PAYLOAD]).get("memory_ids", ()) if row[_TYPE] == EventType.ACCESSED.value else ()


def _times(row: Row) -> Mapping[str, int]:
    """Return how often a row uses each memory that it names."""
    names = _memories_of(row)
    counts = json.loads(row[_PAYLOAD]).get("counts") if not row[_MEMORY] else None
    return dict(zip(names, counts, strict=True)) if counts else dict.fromkeys(names, 1)


def _connected(decisions: pl.DataFrame, names: Collection[str]) -> set[str]:
    """Return memories together with all that decisions connect to them, directly or indirectly."""
    ties = decisions.filter(pl.col("action").is_in(_LINKING), pl.col("target_id").is_not_null())
    ends = ties.select("memory_id", "target_id")
    connected, frontier = set(names), set(names)
    while frontier:
        at_either_end = pl.any_horizontal(pl.col("memory_id", "target_id").is_in(sorted(frontier)))
        near = ends.filter(at_either_end)
        frontier = (set(near["memory_id"]) | set(near["target_id"])) - connected
        connected |= frontier
    return connected
