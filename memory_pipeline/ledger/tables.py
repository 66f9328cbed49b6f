"""The tables of the ledger's database: columns, keys and indexes, and how older versions are upgraded."""

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from memory_pipeline.schemas import Decisions, EventType

SCHEMA: Final = 6
"""Version of the tables below; a ledger with a higher version is refused, one with a lower version is upgraded."""

_EVENTS_3: Final = """CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL, profile_id TEXT NOT NULL,
    event_type TEXT NOT NULL, occurred_at INTEGER NOT NULL, recorded_at INTEGER NOT NULL, session_id TEXT,
    agent_id TEXT, user_id TEXT, instance_id TEXT, parent_event_id TEXT, memory_id TEXT, payload TEXT NOT NULL,
    UNIQUE (profile_id, event_id)
)"""
UPGRADES: Final = {
    2: ("ALTER TABLE runs ADD COLUMN scope TEXT NOT NULL DEFAULT 'all'",),
    3: (  # an event's id is unique within its profile; SQLite changes a constraint only by copying the table
        "DROP INDEX events_by_memory",
        "DROP INDEX events_by_type",
        "DROP INDEX events_reverted",
        "ALTER TABLE events RENAME TO events_before",
        _EVENTS_3,
        "INSERT INTO events SELECT * FROM events_before ORDER BY seq",
        "DROP TABLE events_before",
        "CREATE INDEX events_by_memory ON events (profile_id, memory_id)",
        "CREATE INDEX events_by_type ON events (profile_id, event_type, seq)",
        "CREATE INDEX events_reverted ON events (seq) WHERE event_type = 'run.reverted'",
    ),
    4: ("ALTER TABLE runs ADD COLUMN version TEXT DEFAULT '' NOT NULL",),
    5: ("CREATE INDEX events_by_recording ON events (profile_id, recorded_at)",),
    6: (
        "ALTER TABLE dead_letters ADD COLUMN noise INTEGER DEFAULT 0 NOT NULL",
        "UPDATE dead_letters SET noise = 1, reason = substr(reason, 11) WHERE substr(reason, 1, 10) = 'left out: '",
    ),
}
"""SQL that upgrades a ledger to a version from the version before it."""

METADATA: Final = sa.MetaData()

_BIG: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""64 bits in every database: SQLite autoincrements only columns declared INTEGER."""

_TEXT: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Text in the order of its code points in every database, whatever the language of the server."""


def _text(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, _TEXT, nullable=nullable, **options)


def _whole(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[int]:
    return sa.Column(name, _BIG, nullable=nullable, **options)


REVERTED: Final = sa.literal_column(f"'{EventType.RUN_REVERTED.value}'", sa.Text)
"""Event type of an undo as a literal: a partial index does not serve a query that compares with a parameter."""

EVENTS: Final = sa.Table(
    "events",
    METADATA,
    _whole("seq", primary_key=True, autoincrement=False, server_default=sa.FetchedValue()),
    _text("event_id"),
    _text("profile_id"),
    _text("event_type"),
    _whole("occurred_at"),
    _whole("recorded_at"),
    _text("session_id", nullable=True),
    _text("agent_id", nullable=True),
    _text("user_id", nullable=True),
    _text("instance_id", nullable=True),
    _text("parent_event_id", nullable=True),
    _text("memory_id", nullable=True),
    _text("payload"),
    sa.UniqueConstraint("profile_id", "event_id"),
    sa.Index("events_by_memory", "profile_id", "memory_id"),
    sa.Index("events_by_type", "profile_id", "event_type", "seq"),
    sa.Index("events_by_recording", "profile_id", "recorded_at"),
)
"""Events, numbered by `statements.add_events`. Instants are microseconds since 1970-01-01 UTC, here and below."""

_UNDOES: Final = EVENTS.c.event_type == REVERTED
sa.Index("events_reverted", EVENTS.c.seq, sqlite_where=_UNDOES, postgresql_where=_UNDOES)

DIGESTS: Final = sa.Table("digests", METADATA, _whole("seq", primary_key=True, autoincrement=False), _text("digest"))
"""Digests of the agents' events up to some positions, from which any later digest is computed quickly."""

RUNS: Final = sa.Table(
    "runs",
    METADATA,
    _text("profile_id", primary_key=True),
    _text("plan_id", primary_key=True),
    _text("run_id"),
    _text("task"),
    _text("scope", server_default="all"),
    _text("trigger"),
    _text("preset"),
    _text("policy_hash"),
    _whole("as_of"),
    _whole("base_seq"),
    _whole("commit_seq"),
    _whole("committed_at"),
    _text("outcome"),
    _whole("memories"),
    _whole("decisions"),
    _whole("held"),
    sa.Column("duration_seconds", sa.Double, nullable=False),
    _text("version", server_default=""),
)
"""One row per run and profile."""

DECISIONS: Final = sa.Table(
    "decisions",
    METADATA,
    _text("profile_id", primary_key=True),
    _text("decision_id", primary_key=True),
    *(
        _whole(name) if name in {"ordinal", "as_of", "seq"} else _text(name, nullable=column.nullable)
        for name, column in Decisions.columns().items()
        if name not in {"profile_id", "decision_id"}
    ),
    sa.ForeignKeyConstraint(["profile_id", "plan_id"], ["runs.profile_id", "runs.plan_id"]),
    sa.Index("decisions_by_plan", "profile_id", "plan_id"),
    sa.Index("decisions_by_seq", "profile_id", "seq"),
    sa.Index("decisions_by_instant", "as_of"),
)
"""Committed decisions, and those that the quota held back."""

FILES: Final = sa.Table(
    "files",
    METADATA,
    sa.Column("id", _BIG, primary_key=True, autoincrement=True),
    _whole("added_seq"),
    _whole("removed_seq", nullable=True),
    _text("table_name"),
    _whole("bucket"),
    _text("path", unique=True),
    _whole("rows"),
    _text("sha256"),
    sa.Index("files_by_table", "table_name", "removed_seq"),
    sqlite_autoincrement=True,
)
"""Catalogue of the lake: a file is visible from position `added_seq` until before `removed_seq`."""

DEAD_LETTERS: Final = sa.Table(
    "dead_letters",
    METADATA,
    _text("letter_id", primary_key=True),
    _whole("received_at"),
    _text("origin"),
    _text("reason"),
    sa.Column("raw", sa.LargeBinary, nullable=False),
    _whole("noise", server_default=sa.text("0")),
)
"""Refused events, and valid ones of texts that are no memories (`noise`)."""

ATTEMPTS: Final = sa.Table(
    "attempts",
    METADATA,
    sa.Column("id", _BIG, primary_key=True, autoincrement=True),
    _text("run_id"),
    _text("instance"),
    _whole("started_at"),
    _text("phase"),
    _text("outcome"),
)
"""Attempts to commit, and their outcomes."""

META: Final = sa.Table("meta", METADATA, _text("key", primary_key=True), _text("value"))
"""Schema version, marks of the catalogue, and the pending erasure."""

STORE_KEY: Final = "store"
"""Key of the store's id in the table `meta`."""

MOVED: Final = ""
"""Stands in place of a payload that compaction moved to a file; no payload is empty, since no fields are `{}`."""


@dataclass(frozen=True)
class File:
    """A catalogued file of a table: a row of `FILES`."""

    id: int
    added_seq: int
    removed_seq: int | None
    table_name: str
    bucket: int
    """0: rows of any profile; n > 0: rows of the profiles of that bucket."""
    key: str
    """Key in the object store."""
    rows: int
    sha256: str
