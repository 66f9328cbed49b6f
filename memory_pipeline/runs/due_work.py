"""What agents did since the runs that took it in, counted in the ledger, and what is due for it.

Here: the counts that `consolidation.triggers` decides by. Each costs a range of an index, however long the ledger is.
What is not here: the rules themselves (`consolidation/triggers.py`), and the description for a person (`status.py`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.consolidation import triggers
from memory_pipeline.consolidation.state import projection
from memory_pipeline.lake import catalog
from memory_pipeline.ledger import event
from memory_pipeline.lake.catalog import Mark
from memory_pipeline.ledger.database import EVENTS, RUNS
from memory_pipeline.ledger.event import COLUMNS, PIPELINE
from memory_pipeline.schemas import INSTANT, TABLES, EventType
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Policy, Settings
from memory_pipeline.text import enrich
from memory_pipeline.text.score import importance

AGENTS: Final = tuple(kind.value for kind in EventType if kind.value not in PIPELINE)
"""Events that agents write."""

_STORED: Final = (EventType.STORED.value,)
_AT_ONCE: Final = 1_000
"""Profiles in one query: databases bound the number of parameters."""
_HIGHEST_SCORE: Final = 10.0
"""Largest importance_score of a memory."""

_POSITIONS: Final = (
    sa.column("profile_id", sa.Text),
    sa.column("lowest", sa.BigInteger),
    sa.column("base_seq", sa.BigInteger),
    sa.column("as_of", sa.BigInteger),
)


@dataclass(frozen=True)
class _Seen:
    """How far the runs of a profile have seen the ledger."""

    profile_id: str
    lowest: int
    """Everything up to here was seen."""
    base_seq: int
    """Nothing after this was seen; between the two, what had happened or was recorded by `as_of`."""
    as_of: int


def due(lake: Lake, settings: Settings, *, now: datetime) -> pl.DataFrame:
    """Return what is due now, for every profile (see `triggers.due`)."""
    past, known = progress(lake), profiles(lake)
    policies = {profile_id: settings.policy_of(profile_id) for profile_id in known["profile_id"]}
    night = triggers.last_tick(settings.nightly, settings.timezone, now)
    return triggers.due(counted(lake, known, past, policies), past, policies, now=now, night=night)


def progress(lake: Lake) -> pl.DataFrame:
    """Return the last successful run of each task of each profile (see `triggers.PROGRESS`).

    A run that was undone has succeeded: an undo is no reason to run again. Cost: one pass over the runs.
    """
    query = sa.select(RUNS.c.profile_id, RUNS.c.task, sa.func.max(RUNS.c.as_of), sa.func.max(RUNS.c.base_seq))
    with lake.ledger.reading() as connection:
        rows = connection.execute(query.group_by(RUNS.c.profile_id, RUNS.c.task)).all()
    return _frame(rows, triggers.PROGRESS).sort("profile_id", "task")


def profiles(lake: Lake) -> pl.DataFrame:
    """Return every profile with a memory, by name.

    Returns:
        `profile_id`; `first_event_at`, when its first memory was recorded; `last_seq`, position of the last event that
        an agent wrote. Cost: ten looks into an index a profile.
    """
    first = sa.select(sa.func.min(EVENTS.c.profile_id).label("profile_id")).cte("names", recursive=True)
    after = sa.select(sa.func.min(EVENTS.c.profile_id)).where(EVENTS.c.profile_id > first.c.profile_id)
    names = first.union_all(sa.select(after.scalar_subquery()).where(first.c.profile_id.is_not(None)))
    own = EVENTS.c.profile_id == names.c.profile_id
    stored = sa.select(EVENTS.c.recorded_at).where(own, EVENTS.c.event_type == EventType.STORED.value)
    # One look for each type: the largest of several types at once would be looked for among all of them.
    last = [sa.select(sa.func.max(EVENTS.c.seq)).where(own, EVENTS.c.event_type == kind) for kind in AGENTS]
    looks = (stored.order_by(EVENTS.c.seq).limit(1), *last)
    query = sa.select(names.c.profile_id, *(look.scalar_subquery() for look in looks))
    with lake.ledger.reading() as connection:
        found = connection.execute(query.where(names.c.profile_id.is_not(None)))
        rows = [(name, first, max(filter(None, seqs))) for name, first, *seqs in found if first is not None]
    types = {"profile_id": pl.String(), "first_event_at": INSTANT, "last_seq": pl.Int64()}
    return _frame(rows, pl.Schema(types)).sort("profile_id")


def counted(lake: Lake, known: pl.DataFrame, past: pl.DataFrame, policies: Mapping[str, Policy]) -> pl.DataFrame:
    """Count what agents did, as far as a policy asks for it (see `triggers.ACTIVITY`).

    Args:
        lake: the store.
        known: see `profiles`.
        past: see `progress`.
        policies: policy of each of these profiles.

    Cost: linear in the events since the runs that count; a memory whose importance was not given is read by rule, as
    soon as the memories stored since the last reflection can cross the threshold.
    """
    on = {name: policy for name, policy in policies.items() if policy.enabled}
    last = dict(known.select("profile_id", "last_seq").iter_rows())
    session, rows = EVENTS.c.session_id, sa.func.count()
    ended = sa.func.count(sa.case((EVENTS.c.event_type == EventType.SESSION_ENDED.value, session)).distinct())
    with lake.ledger.reading() as connection:

        def seen(task: str, asks: Callable[[Policy], float]) -> list[_Seen]:
            wanted = {name: last[name] for name, policy in on.items() if asks(policy)}
            return _seen(connection, past, wanted, triggers.settled_by(task))

        sessions = seen("full", lambda policy: policy.session_trigger or policy.scheduled_sessions)
        cycles = seen("tick", lambda policy: policy.ingestion_cycles)
        found = [
            _since(connection, seen("lightweight", lambda policy: policy.idle_timeout_seconds), AGENTS, untouched=rows),
            _since(connection, seen("lightweight", lambda policy: policy.step_count_trigger), _STORED, stored=rows),
            _since(connection, sessions, AGENTS, sessions_ended=ended, sessions_seen=sa.func.count(session.distinct())),
            # What comes in one batch is recorded at one instant.
            _since(connection, cycles, _STORED, batches=sa.func.count(EVENTS.c.recorded_at.distinct())),
            _importance(lake, connection, seen("reflect", lambda policy: policy.reflection), on),
            _arrivals(connection),
            _recorded(connection, known),
        ]
    whole = known
    for frame in found:
        whole = whole.join(frame, on="profile_id", how="left", maintain_order="left")
    columns = [pl.col(name).cast(kind) for name, kind in triggers.ACTIVITY.items()]
    return whole.select(columns).with_columns(pl.col(pl.Int64, pl.Float64).fill_null(0))


def unread(lake: Lake) -> pl.DataFrame:
    """Return the stored memories that no run has read yet (rows of the table `events`). Cost: linear in these."""
    known = dict(profiles(lake).select("profile_id", "last_seq").iter_rows())
    past = progress(lake)
    with lake.ledger.reading() as connection:
        return _stored(lake, connection, _seen(connection, past, known, triggers.TASKS))


def _seen(
    connection: sa.Connection, past: pl.DataFrame, last: Mapping[str, int], tasks: Collection[str]
) -> list[_Seen]:
    """Say how far profiles were seen by runs of some tasks; those that were seen to the end are left out.

    Args:
        connection: to the ledger.
        past: see `progress`.
        last: position of the last event of each of the profiles.
        tasks: the tasks.
    """
    settled = (
        past.filter(pl.col("task").is_in(list(tasks)))
        .group_by("profile_id")
        .agg(pl.col("base_seq").max(), pl.col("as_of").max().dt.epoch("us"))
    )
    states = {profile_id: (base_seq, as_of) for profile_id, base_seq, as_of in settled.iter_rows()}
    lowest = {state: _lowest(connection, *state) for state in set(states.values())} | {(0, 0): 0}
    found = [_Seen(name, lowest[state], *state) for name in sorted(last) if (state := states.get(name, (0, 0)))]
    return [one for one in found if last[one.profile_id] > one.lowest]


def _lowest(connection: sa.Connection, base_seq: int, as_of: int) -> int:
    """Return a position up to which everything was recorded by an instant, and so was seen.

    A run whose clock is the tick of a schedule starts later, and does not see what happens in between. Cost: one step
    for each event between the two.
    """
    recorded = sa.select(EVENTS.c.seq).where(EVENTS.c.seq <= base_seq, EVENTS.c.recorded_at <= as_of)
    return connection.scalar(recorded.order_by(EVENTS.c.seq.desc()).limit(1)) or 0


def _unseen(
    seen: Sequence[_Seen], kinds: Sequence[str], columns: Mapping[str, sa.ColumnElement[Any]]
) -> Iterator[sa.Select[Any]]:
    """Select columns of the events of some kinds that the runs have not seen, so many profiles at once."""
    for start in range(0, len(seen), _AT_ONCE):
        rows = [(one.profile_id, one.lowest, one.base_seq, one.as_of) for one in seen[start : start + _AT_ONCE]]
        given = sa.values(*_POSITIONS, name="given").data(rows).cte("seen")
        late = (EVENTS.c.occurred_at > given.c.as_of) & (EVENTS.c.recorded_at > given.c.as_of)
        yield (
            sa.select(given.c.profile_id, *(column.label(name) for name, column in columns.items()))
            .select_from(given)
            .join(EVENTS, EVENTS.c.profile_id == given.c.profile_id)
            .where(
                EVENTS.c.event_type.in_(kinds),
                EVENTS.c.seq > given.c.lowest,
                (EVENTS.c.seq > given.c.base_seq) | late,
            )
        )


def _since(
    connection: sa.Connection, seen: Sequence[_Seen], kinds: Sequence[str], **counts: sa.ColumnElement[Any]
) -> pl.DataFrame:
    """Count events that the runs have not seen, by profile; profiles without such an event are missing."""
    rows = [
        tuple(row)
        for query in _unseen(seen, kinds, counts)
        for row in connection.execute(query.group_by(query.selected_columns[0]))
    ]
    return _frame(rows, pl.Schema({"profile_id": pl.String(), **dict.fromkeys(counts, pl.Int64())}))


def _importance(
    lake: Lake, connection: sa.Connection, seen: Sequence[_Seen], policies: Mapping[str, Policy]
) -> pl.DataFrame:
    """Sum the importance of the memories that no reflection has seen, where it can be above the threshold."""
    counts = dict(_since(connection, seen, _STORED, stored=sa.func.count()).iter_rows())
    near = {n for n, count in counts.items() if _HIGHEST_SCORE * count > policies[n].reflection_threshold}
    stored = _stored(lake, connection, [one for one in seen if one.profile_id in near])
    memories = projection.fold(stored, TABLES["decisions"].empty()).memories
    by_rule = {name for name in near if "importance" in policies[name].enrichments}
    unsaid = memories.filter(pl.col("importance_given").is_null() & pl.col("profile_id").is_in(sorted(by_rule)))
    known = importance.effective(memories, enrich.enrich(enrich.texts(unsaid)))
    scored = memories.join(known, on=["profile_id", "memory_id"])
    return triggers.reflection(scored, {}, threshold=0.0).select("profile_id", "importance_score")


def _stored(lake: Lake, connection: sa.Connection, seen: Sequence[_Seen]) -> pl.DataFrame:
    """Return the stored memories that runs have not seen, as rows of the table `events`."""
    columns = {name: EVENTS.c[name] for name in ("seq", *COLUMNS)}
    queries = _unseen(seen, _STORED, columns)
    rows = [tuple(row)[1:] for query in queries for row in connection.execute(query)]
    return event.frame(lake.ledger.with_payloads(rows))


def _arrivals(connection: sa.Connection) -> pl.DataFrame:
    """Count the events of agents that the lake does not hold yet, by profile."""
    accessed = EVENTS.c.event_type == EventType.ACCESSED.value
    query = (
        sa.select(
            EVENTS.c.profile_id,
            sa.func.count(),
            sa.func.count(sa.case((accessed, 1))),
            sa.func.min(sa.case((accessed, EVENTS.c.recorded_at))),
        )
        .where(EVENTS.c.seq > catalog.marked(connection, Mark.PROJECTED), EVENTS.c.event_type.not_in(PIPELINE))
        .group_by(EVENTS.c.profile_id)
    )
    names = ("profile_id", "new_events", "new_accesses", "access_since")
    return _frame(connection.execute(query).all(), pl.Schema({name: triggers.ACTIVITY[name] for name in names}))


def _recorded(connection: sa.Connection, known: pl.DataFrame) -> pl.DataFrame:
    """Return when the last event of each profile was recorded."""
    rows: list[Any] = []
    for part in known["last_seq"].to_frame().iter_slices(_AT_ONCE):
        query = sa.select(EVENTS.c.profile_id, EVENTS.c.recorded_at).where(EVENTS.c.seq.in_(part.to_series().to_list()))
        rows += connection.execute(query).all()
    return _frame(rows, pl.Schema({"profile_id": pl.String(), "last_event_at": INSTANT}))


def _frame(rows: Sequence[Any], types: pl.Schema) -> pl.DataFrame:
    """Return rows of the ledger, whose instants are microseconds, as a table."""
    whole = {name: pl.Int64() if isinstance(kind, pl.Datetime) else kind for name, kind in types.items()}
    frame = pl.DataFrame([tuple(row) for row in rows], schema=whole, orient="row")
    return frame.cast({name: kind for name, kind in types.items() if isinstance(kind, pl.Datetime)})
