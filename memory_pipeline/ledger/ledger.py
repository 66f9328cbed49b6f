"""The ledger: every event, decision and run, in the order in which they arrived; append-only.

Not here: what a commit writes (`ledger/commits.py`), and the database itself (`ledger/database.py`).
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

import polars as pl
import sqlalchemy as sa
from uuid6 import uuid7

from memory_pipeline.ledger import catalog, database, databases, exports, references
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import Database, LostConnection, Transaction, among
from memory_pipeline.ledger.disk import writable
from memory_pipeline.ledger.event import COLUMNS, PIPELINE, DeadLetter, Event, instant, micros
from memory_pipeline.ledger.lost_payloads import LostPayloads
from memory_pipeline.ledger.payloads import SALT_BYTES, WORDLESS, redacted
from memory_pipeline.ledger.statements import add_events, frame, insert_new
from memory_pipeline.ledger.tables import ATTEMPTS, DEAD_LETTERS, DECISIONS, DIGESTS, EVENTS, MOVED, REVERTED, RUNS
from memory_pipeline.schemas import INSTANT, TABLES, EventType

_CHANGING: Final = (EventType.UPDATED, EventType.RESOLVED)
"""Events of agents that change what earlier memories state."""

HEAD_EVENTS: Final = (*PIPELINE, *(kind.value for kind in _CHANGING))
"""Events that move the head of a profile: a plan made before one of them is refused."""

_DIGEST_EVERY: Final = 8_192
"""Positions between two stored digests."""

_EVENT: Final = [EVENTS.c[name] for name in ("seq", *COLUMNS)]


PayloadReader = Callable[["Ledger", Collection[int]], Mapping[int, str]]
"""Reads the payloads at some positions, as far as compaction moved them to files."""


@dataclass(frozen=True)
class Appended:
    """Outcome of appending a batch."""

    accepted: int
    """Number of new events."""
    duplicates: int
    """Number of events that existed already, or were twice in the batch."""
    last_seq: int
    """Position of the ledger after the batch."""


@dataclass(frozen=True, kw_only=True)
class Revert:
    """An undo: masks decisions of one profile."""

    profile_id: str
    decision_ids: Sequence[str]
    """Every decision to mask, dependent ones included."""
    reason: str
    """Why, as a sentence for people."""
    occurred_at: datetime
    """Instant from which they are masked."""
    recorded_at: datetime
    """When it was requested."""
    plan_id: str | None = None
    """Plan that is undone as a whole, if any."""
    cascade: bool = False
    """Whether decisions that depend on the named ones are included."""

    def event(self) -> Event:
        """Return the event of this undo."""
        return Event(
            event_id=str(uuid7()),
            profile_id=self.profile_id,
            event_type=EventType.RUN_REVERTED,
            occurred_at=self.occurred_at,
            recorded_at=self.recorded_at,
            payload={
                "decision_ids": sorted(set(self.decision_ids)),
                "reason": self.reason,
                "plan_id": self.plan_id,
                "cascade": self.cascade,
            },
        )


class Ledger:
    """The record of what happened. Threads and processes may share it; readers never wait.

    Attributes:
        database: where it is kept: locks between programs, its files and their upkeep.
    """

    def __init__(self, opened: Database, moved_payloads: PayloadReader) -> None:
        self.database = opened
        self._moved_payloads = moved_payloads

    @classmethod
    def at(
        cls,
        home: Path,
        *,
        address: str | None = None,
        timeout: float = database.WRITE_SECONDS,
        moved_payloads: PayloadReader | None = None,
    ) -> Self:
        """Open the ledger of a data folder, creating it if it is missing; a writer waits `timeout` seconds.

        The address is a value of the setting `ledger`; default: that of the environment or the folder's settings file.
        `moved_payloads` reads the payloads that compaction moved to files; by default none can be read. Raises
        LakeError: it cannot be opened, or was written by a newer version.
        """
        return cls(databases.opened(home, address=address, timeout=timeout), moved_payloads or _no_payload_files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        self.database.close()

    @property
    def home(self) -> Path:
        """The data folder."""
        return self.database.home

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that sees one state (see `Database.reading`)."""
        return self.database.reading()

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open the only transaction that may write (see `Database.writing`)."""
        return self.database.writing()

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other writers out across several transactions (see `Database.exclusive`)."""
        return self.database.exclusive()

    def append(self, events: Sequence[Event]) -> Appended:
        """Append a batch of agents' events in one transaction, each event id once.

        An event about an erased memory is appended, so that a second delivery is recognised, but without its payload
        and without the ids of people; a question to which one was an answer is appended without its words. Cost: some
        30 µs per event in batches of thousands; about a millisecond for a batch of one.

        Raises:
            KnownMemory: an event stores another text under the id of an existing or erased memory, or has the id of
                another event; nothing of the batch was appended.
            ValueError: only the pipeline writes events of this type.
            LakeError: the ledger cannot be written; nothing of the batch was appended.
        """
        if reserved := next((event for event in events if event.event_type in PIPELINE), None):
            kind = reserved.event_type.value
            raise ValueError(f"event_type is {kind!r}, which only the pipeline writes; leave it out of the batch")
        rows = [dict(zip(COLUMNS, event.row(), strict=True)) for event in events]
        updated = {event.profile_id for event in events if event.event_type in _CHANGING}
        try:
            return self._append(rows, updated)
        except LostConnection:
            return self._append(rows, updated)  # each id counts once, so it does not matter whether they were written

    def _append(self, rows: Sequence[dict[str, Any]], updated: Collection[str]) -> Appended:
        """Append rows of events, of which some change memories of the profiles `updated`."""
        with self.database.holding(updated), self.writing() as transaction:
            before = position_in(transaction)
            if rows:
                memories = references.look_up(transaction, rows)
                references.check(transaction, rows, memories, self.with_payloads)
                add_events(transaction, [_without_erased(row, memories.erased) for row in rows])
            accepted = transaction.connection.scalars(sa.select(sa.func.count()).where(EVENTS.c.seq > before)).one()
            if accepted < len(rows):
                references.check_stored(transaction, rows)
            last = position_in(transaction)
            _store_digest(transaction, last)
        return Appended(accepted, len(rows) - accepted, last)

    def add_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        """Store refused events, with their credentials redacted; those that are stored already stay unchanged.

        Of an event about an erased memory nothing is stored but that it was refused.
        """
        if not letters:
            return
        with self.writing() as transaction:
            erased = references.erased_among(transaction, {name for letter in letters for name in letter.memories()})
            kept = (
                letter.without_text() if erased & letter.memories() else letter.without_credentials()
                for letter in letters
            )
            rows = [
                {
                    "letter_id": letter.letter_id,
                    "received_at": micros(letter.received_at),
                    "origin": letter.origin,
                    "reason": letter.reason,
                    "raw": letter.raw,
                    "noise": int(letter.noise),
                }
                for letter in kept
            ]
            transaction.connection.execute(insert_new(transaction, DEAD_LETTERS), rows)

    def note_export(self, path: Path, *, at: datetime, profile_id: str | None = None) -> None:
        """Note that a copy of texts was written outside the store (see `exports.note`), if the store can be written."""
        if writable(self.home):
            with self.writing() as transaction:
                exports.note(transaction, path, at=at, profile_id=profile_id)

    def position(self) -> int:
        """Return the position of the last event; 0 before the first."""
        with self.reading() as transaction:
            return position_in(transaction)

    def mark(self, name: Mark) -> int:
        """Return a position that the catalogue marks; 0 before it is set."""
        with self.reading() as transaction:
            return catalog.mark(transaction, name)

    def heads(self, profiles: Collection[str] | None = None, *, seq: int | None = None) -> dict[str, int]:
        """Return the position of the last commit, undo, erasure or update of each profile; 0 where there is none.

        By default of all profiles that have an event, at the head of the ledger; `seq` is the last position that
        counts.
        """
        with self.reading() as transaction:
            return heads_in(transaction, profiles, seq=seq)

    def published(self, profiles: Collection[str]) -> int:
        """Return the position of the last commit or undo of any of some profiles; 0 before the first."""
        kinds = (EventType.RUN_COMMITTED.value, EventType.RUN_REVERTED.value)
        query = sa.select(sa.func.max(EVENTS.c.seq)).where(EVENTS.c.event_type.in_(kinds))
        with self.reading() as transaction:
            return transaction.connection.scalar(query.where(among(EVENTS.c.profile_id, profiles))) or 0

    def profiles(self) -> pl.DataFrame:
        """Return the profiles with events: one pass over an index, some 0.1 s per million events.

        Columns: `profile_id`, `memories` stored, and of the last event of their agents `last_seq`, `last_event_at`
        (when it occurred) and `last_recorded_at`.
        """
        last = EVENTS.alias("last")
        by_profile = (
            sa.select(
                EVENTS.c.profile_id,
                sa.func.sum(sa.case((EVENTS.c.event_type == EventType.STORED.value, 1), else_=0)).label("memories"),
                sa.func.max(sa.case((EVENTS.c.event_type.in_(PIPELINE), 0), else_=EVENTS.c.seq)).label("last_seq"),
            )
            .group_by(EVENTS.c.profile_id)
            .subquery()
        )
        query = sa.select(by_profile, last.c.occurred_at, last.c.recorded_at).join(
            last, last.c.seq == by_profile.c.last_seq
        )
        with self.reading() as transaction:
            rows = transaction.connection.execute(query.order_by(by_profile.c.profile_id)).fetchall()
        whole, at = ("memories", "last_seq"), ("last_event_at", "last_recorded_at")
        return frame(rows, {"profile_id": pl.String} | dict.fromkeys(whole, pl.Int64) | dict.fromkeys(at, INSTANT))

    def read(self, after: int = 0, until: int | None = None, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the events after a position, up to another or the head, as rows of `seq` and `event.COLUMNS`."""
        query = sa.select(*_EVENT).where(EVENTS.c.seq > after).order_by(EVENTS.c.seq).limit(limit)
        with self.reading() as transaction:
            result = transaction.connection.execute(query if until is None else query.where(EVENTS.c.seq <= until))
            rows = [tuple(row) for row in result]
        return self.with_payloads(rows)

    def with_payloads(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Fill in payloads that compaction moved to files; rows begin with the position and end with the payload.

        Raises LostPayloads: some are neither in the database nor in a file.
        """
        moved = [row[0] for row in rows if row[-1] == MOVED]
        payloads = dict(self._moved_payloads(self, moved)) if moved else {}
        if missing := set(moved) - set(payloads):  # an erasure may have put redacted ones in place meanwhile
            with self.reading() as transaction:
                payloads |= _payloads_at(transaction, missing)
        if lost := sorted(set(moved) - set(payloads)):
            raise LostPayloads(self.home, lost)
        return [(*row[:-1], payloads[row[0]]) if row[-1] == MOVED else row for row in rows]

    def waiting(self, after: int) -> tuple[int, int]:
        """Return the number of agents' events after a position, and how many of them are accesses."""
        accesses = sa.func.count(sa.case((EVENTS.c.event_type == EventType.ACCESSED.value, 1)))
        query = sa.select(sa.func.count(), accesses)
        with self.reading() as transaction:
            events, recalls = transaction.connection.execute(
                query.where(EVENTS.c.seq > after, EVENTS.c.event_type.not_in(PIPELINE))
            ).one()
        return events, recalls

    def digest(self, seq: int | None = None) -> str:
        """Return a SHA-256 over the ids of the agents' events up to a position, in order. Cost: some 10 ms."""
        with self.reading() as transaction:
            return _digest(transaction, position_in(transaction) if seq is None else seq)

    def decisions(
        self, *, as_of: datetime | None = None, seq: int | None = None, profiles: Collection[str] | None = None
    ) -> pl.DataFrame:
        """Return the decisions committed up to a state, reverted ones included; never those held back.

        `as_of` is the clock of the last run that counts, `seq` the position of the last commit that does.
        """
        query = sa.select(*DECISIONS.c).where(DECISIONS.c.status == "committed")
        if as_of is not None:
            query = query.where(DECISIONS.c.as_of <= micros(as_of))
        if seq is not None:
            query = query.where(DECISIONS.c.seq <= seq)
        return self._table("decisions", query.where(among(DECISIONS.c.profile_id, profiles)), profiles)

    def reverted(self, *, as_of: datetime | None = None, seq: int | None = None) -> pl.DataFrame:
        """Return the decisions that are masked at a state, and from which position on (the table `reverted`)."""
        with self.reading() as transaction:
            reverts = reverts_in(transaction, as_of=as_of, seq=seq)
        rows = [(profile, decision, at) for profile, at, payload in reverts for decision in payload["decision_ids"]]
        masked = frame(rows, {"profile_id": pl.String, "decision_id": pl.String, "seq": pl.Int64})
        return TABLES["reverted"].conform(masked.group_by("profile_id", "decision_id").agg(pl.col("seq").min()))

    def last_undo(self, *, seq: int | None = None) -> int:
        """Return the position of the last undo up to a position, also of runs without decisions; 0 without any."""
        with self.reading() as transaction:
            return max((position for _, position, _ in reverts_in(transaction, seq=seq)), default=0)

    def undos_after(self, as_of: datetime, profile_id: str) -> list[int]:
        """Return the positions of the undos in a profile that do not count at an instant yet."""
        with self.reading() as transaction:
            counting = {position for _, position, _ in reverts_in(transaction, as_of=as_of)}
            every = [position for owner, position, _ in reverts_in(transaction) if owner == profile_id]
        return [position for position in every if position not in counting]

    def runs(
        self, profiles: Collection[str] | None = None, *, as_of: datetime | None = None, seq: int | None = None
    ) -> pl.DataFrame:
        """Return the committed runs, one row per run and profile (the table `consolidation_runs`).

        `as_of` is the instant, `seq` the position of the last run and undo that count.
        """
        query = sa.select(*RUNS.c).where(among(RUNS.c.profile_id, profiles))
        if as_of is not None:
            query = query.where(RUNS.c.as_of <= micros(as_of))
        if seq is not None:
            query = query.where(RUNS.c.commit_seq <= seq)
        undone = self.undone_plans(as_of=as_of, seq=seq).select("profile_id", "plan_id", undone=True)
        runs = self._table("consolidation_runs", query, profiles)
        if undone.is_empty():
            return runs
        return (
            runs.join(undone, on=["profile_id", "plan_id"], how="left", maintain_order="left")
            .with_columns(outcome=pl.when("undone").then(pl.lit("reverted")).otherwise("outcome"))
            .drop("undone")
        )

    def undone_plans(self, *, as_of: datetime | None = None, seq: int | None = None) -> pl.DataFrame:
        """Return the plans that were undone as a whole at a state: `profile_id`, `plan_id`, `undone_seq` (position)."""
        with self.reading() as transaction:
            reverts = reverts_in(transaction, as_of=as_of, seq=seq)
        rows = [(profile, payload["plan_id"], at) for profile, at, payload in reverts if payload["plan_id"]]
        undone = frame(rows, {"profile_id": pl.String, "plan_id": pl.String, "undone_seq": pl.Int64})
        return undone.group_by("profile_id", "plan_id").agg(pl.col("undone_seq").max())

    def attempts(self) -> pl.DataFrame:
        """Return the attempts to commit, with process, start, phase and outcome; oldest first."""
        types = dict.fromkeys(ATTEMPTS.c.keys(), pl.String) | {"id": pl.Int64, "started_at": INSTANT}
        with self.reading() as transaction:
            return frame(transaction.connection.execute(sa.select(*ATTEMPTS.c).order_by(ATTEMPTS.c.id)), types)

    def dead_letters(self, *, noise: bool | None = None) -> pl.DataFrame:
        """Return the table `dead_letters`; with `noise` only texts that are no memories, or only refused events."""
        letters = self._table("dead_letters", sa.select(*DEAD_LETTERS.c), None)
        return letters if noise is None else letters.filter(noise=noise)

    def remove_dead_letters(self, letter_ids: Collection[str]) -> int:
        """Delete refused events and return how many there were."""
        with self.writing() as transaction:
            return sum(
                transaction.connection.execute(DEAD_LETTERS.delete().where(DEAD_LETTERS.c.letter_id == name)).rowcount
                for name in sorted(letter_ids)
            )

    def _table(self, name: str, query: sa.Select[Any], profiles: Collection[str] | None) -> pl.DataFrame:
        """Return the result of a query as the table whose columns it selects."""
        table = TABLES[name]
        types = {
            column.name: pl.Int64 if isinstance(column.type, sa.Integer) else table.types[column.name]
            for column in query.selected_columns
        }
        with self.reading() as transaction:
            rows = frame(transaction.connection.execute(query), types)
        return table.conform(rows if profiles is None else rows.filter(pl.col("profile_id").is_in(sorted(profiles))))


def _no_payload_files(_ledger: Ledger, _positions: Collection[int]) -> Mapping[int, str]:
    return {}


def _payloads_at(transaction: Transaction, seqs: Collection[int]) -> dict[int, str]:
    """Return the payloads at some positions, as far as the database holds them."""
    query = sa.select(EVENTS.c.seq, EVENTS.c.payload).where(EVENTS.c.payload != MOVED)
    rows = [transaction.connection.execute(query.where(EVENTS.c.seq == seq)).first() for seq in sorted(seqs)]
    return {row[0]: row[1] for row in rows if row is not None}


def position_in(transaction: Transaction) -> int:
    """Return the position of the last event; 0 before the first."""
    return transaction.connection.scalar(sa.select(sa.func.max(EVENTS.c.seq))) or 0


def heads_in(transaction: Transaction, profiles: Collection[str] | None, *, seq: int | None = None) -> dict[str, int]:
    """Return the head of each profile (see `Ledger.heads`)."""
    moves = sa.case((EVENTS.c.event_type.in_(HEAD_EVENTS), EVENTS.c.seq), else_=0)
    query = sa.select(EVENTS.c.profile_id, sa.func.max(moves)).group_by(EVENTS.c.profile_id)
    if seq is not None:
        query = query.where(EVENTS.c.seq <= seq)
    if profiles is None:
        return dict(transaction.connection.execute(query.order_by(EVENTS.c.profile_id)).all())
    query = query.where(among(EVENTS.c.profile_id, profiles), EVENTS.c.event_type.in_(HEAD_EVENTS))
    heads = dict(transaction.connection.execute(query).all())
    return {profile: heads.get(profile, 0) for profile in sorted(profiles)}


def _without_erased(row: dict[str, Any], erased: Collection[references.Memory]) -> dict[str, Any]:
    """Return the row of an event without what it may say of erased memories: as their erasure would have left it.

    The salt of the digest is stored nowhere.
    """
    own = (row["profile_id"], row["memory_id"]) in erased
    if not own and not any((row["profile_id"], other) in erased for other in references.others(row)):
        return row
    asked = row["event_type"] == EventType.ACCESSED.value
    ids = {} if asked else dict.fromkeys(("session_id", "agent_id", "user_id"))
    keep = WORDLESS[row["event_type"]] if asked else ()
    salt = secrets.token_bytes(SALT_BYTES)
    return row | ids | {"payload": redacted(row["payload"], salt=salt, at=instant(row["recorded_at"]), keep=keep)}


def reverts_in(
    transaction: Transaction, *, as_of: datetime | None = None, seq: int | None = None
) -> list[tuple[str, int, dict[str, Any]]]:
    """Return profile, position and payload of the undos up to a state.

    At an instant, undos count that were requested by then or that the profile's last run by then took into account.
    """
    query = sa.select(EVENTS.c.profile_id, EVENTS.c.seq, EVENTS.c.payload).where(EVENTS.c.event_type == REVERTED)
    if as_of is not None:
        own = (RUNS.c.profile_id == EVENTS.c.profile_id, RUNS.c.as_of <= micros(as_of))
        last_run = sa.select(sa.func.max(RUNS.c.commit_seq)).where(*own).scalar_subquery()
        query = query.where((EVENTS.c.occurred_at <= micros(as_of)) | (EVENTS.c.seq < last_run))
    if seq is not None:
        query = query.where(EVENTS.c.seq <= seq)
    return [
        (profile, at, json.loads(payload))
        for profile, at, payload in transaction.connection.execute(query.order_by(EVENTS.c.seq))
    ]


def insert_events(transaction: Transaction, events: Iterable[Event]) -> dict[str, int]:
    """Append events of the pipeline, in order, and return the position of each profile's; none if its id exists."""
    before = position_in(transaction)
    if rows := [dict(zip(COLUMNS, event.row(), strict=True)) for event in events]:
        add_events(transaction, rows)
    new = sa.select(EVENTS.c.profile_id, EVENTS.c.seq).where(EVENTS.c.seq > before).order_by(EVENTS.c.seq)
    return dict(map(tuple, transaction.connection.execute(new)))


def _digest(transaction: Transaction, seq: int) -> str:
    """Chain the ids of the agents' events, starting at the nearest stored digest: digest = SHA-256(digest + id)."""
    stored = sa.select(DIGESTS.c.seq, DIGESTS.c.digest).where(DIGESTS.c.seq <= seq)
    last = transaction.connection.execute(stored.order_by(DIGESTS.c.seq.desc()).limit(1)).first()
    start, state = last or (0, "00" * 32)
    ids = sa.select(EVENTS.c.event_id).where(
        EVENTS.c.seq > start, EVENTS.c.seq <= seq, EVENTS.c.event_type.not_in(PIPELINE)
    )
    digest = bytes.fromhex(state)
    for event_id in transaction.connection.scalars(ids.order_by(EVENTS.c.seq)):
        digest = hashlib.sha256(digest + event_id.encode()).digest()
    return digest.hex()


def _store_digest(transaction: Transaction, seq: int) -> None:
    last = transaction.connection.scalar(sa.select(sa.func.max(DIGESTS.c.seq))) or 0
    if seq - last >= _DIGEST_EVERY:
        transaction.connection.execute(DIGESTS.insert().values(seq=seq, digest=_digest(transaction, seq)))
