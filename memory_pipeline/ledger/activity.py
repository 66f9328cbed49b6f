"""Counts of events, runs and decisions: what agents did, and which runs have seen it.

Each count of events costs a range of an index, however long the ledger is. Not here: what is due because of the counts
(`runs/due_work.py`), and figures for people (`runs/status.py`, `runs/metrics.py`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.ledger import catalog
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import COLUMNS, PIPELINE, instant
from memory_pipeline.ledger.statements import frame
from memory_pipeline.ledger.tables import ATTEMPTS, DEAD_LETTERS, DECISIONS, EVENTS, RUNS
from memory_pipeline.schemas import INSTANT, EventType

AGENT_EVENTS: Final = tuple(kind.value for kind in EventType if kind.value not in PIPELINE)
"""Types of events that agents write."""

_STORED: Final = (EventType.STORED.value,)
_AT_ONCE: Final = 1_000
"""Profiles of one query: databases limit the number of parameters."""

_PROFILE: Final = {"profile_id": pl.String()}
_SEEN: Final = (
    sa.column("profile_id", sa.Text),
    sa.column("lowest", sa.BigInteger),
    sa.column("base_seq", sa.BigInteger),
    sa.column("as_of", sa.BigInteger),
)


@dataclass(frozen=True)
class Seen:
    """How far the runs of a profile have read the ledger."""

    profile_id: str
    lowest: int
    """Every event up to this position was seen."""
    base_seq: int
    """No event after this position was seen; between the two, those that occurred or were recorded by `as_of`."""
    as_of: int
    """Microseconds since 1970."""


def last_runs(transaction: Transaction) -> pl.DataFrame:
    """Return the last run of each task of each profile, undone runs included, runs of a part of it left out.

    Columns: `profile_id`, `task`, `as_of`, `base_seq`. Cost: one pass over the runs.
    """
    query = sa.select(RUNS.c.profile_id, RUNS.c.task, sa.func.max(RUNS.c.as_of), sa.func.max(RUNS.c.base_seq))
    query = query.where(~RUNS.c.scope.contains(":"))
    rows = transaction.connection.execute(query.group_by(RUNS.c.profile_id, RUNS.c.task)).all()
    types = {**_PROFILE, "task": pl.String(), "as_of": INSTANT, "base_seq": pl.Int64()}
    return frame(rows, types).sort("profile_id", "task")


def profiles_with_memories(transaction: Transaction) -> pl.DataFrame:
    """Return the profiles that have a memory, by name. Cost: ten index look-ups per profile.

    Columns: `profile_id`; `first_event_at`, when its first memory was recorded; `last_seq`, position of its agents'
    last event.
    """
    first = sa.select(sa.func.min(EVENTS.c.profile_id).label("profile_id")).cte("names", recursive=True)
    after = sa.select(sa.func.min(EVENTS.c.profile_id)).where(EVENTS.c.profile_id > first.c.profile_id)
    names = first.union_all(sa.select(after.scalar_subquery()).where(first.c.profile_id.is_not(None)))
    of_profile = EVENTS.c.profile_id == names.c.profile_id
    stored = sa.select(EVENTS.c.recorded_at).where(of_profile, EVENTS.c.event_type == EventType.STORED.value)
    # One look-up per type: the maximum over several types at once would read all of their events.
    last = [
        sa.select(sa.func.max(EVENTS.c.seq)).where(of_profile, EVENTS.c.event_type == kind) for kind in AGENT_EVENTS
    ]
    look_ups = (stored.order_by(EVENTS.c.seq).limit(1), *last)
    query = sa.select(names.c.profile_id, *(look_up.scalar_subquery() for look_up in look_ups))
    result = transaction.connection.execute(query.where(names.c.profile_id.is_not(None)))
    rows = [(name, first_at, max(filter(None, seqs))) for name, first_at, *seqs in result if first_at is not None]
    return frame(rows, {**_PROFILE, "first_event_at": INSTANT, "last_seq": pl.Int64()}).sort("profile_id")


def seen(
    transaction: Transaction, runs: pl.DataFrame, *, last: Mapping[str, int], tasks: Collection[str]
) -> list[Seen]:
    """Return how far runs (`last_runs`) of some tasks have seen profiles, by the position of each one's last event.

    Those seen to the end are left out.
    """
    states = {
        profile_id: (base_seq, as_of)
        for profile_id, base_seq, as_of in runs.filter(pl.col("task").is_in(list(tasks)))
        .group_by("profile_id")
        .agg(pl.col("base_seq").max(), pl.col("as_of").max().dt.epoch("us"))
        .iter_rows()
    }
    lowest = {state: position_recorded_by(transaction, *state) for state in set(states.values())} | {(0, 0): 0}
    positions = [
        Seen(profile_id, lowest[state], *state)
        for profile_id in sorted(last)
        if (state := states.get(profile_id, (0, 0)))
    ]
    return [position for position in positions if last[position.profile_id] > position.lowest]


def position_recorded_by(transaction: Transaction, base_seq: int, as_of: int) -> int:
    """Return the last position up to `base_seq` that was recorded by an instant in microseconds, so that a run saw it.

    A run whose clock is the tick of a schedule starts later, and does not see what happens in between. Cost: one step
    for each event between the two.
    """
    recorded = sa.select(EVENTS.c.seq).where(EVENTS.c.seq <= base_seq, EVENTS.c.recorded_at <= as_of)
    return transaction.connection.scalar(recorded.order_by(EVENTS.c.seq.desc()).limit(1)) or 0


def count_events(transaction: Transaction, unseen_since: Sequence[Seen], name: str) -> pl.DataFrame:
    """Count the unseen events of agents: `profile_id` and the column `name`; profiles without one are missing."""
    return _count(transaction, unseen_since, AGENT_EVENTS, {name: sa.func.count()})


def count_stored(transaction: Transaction, unseen_since: Sequence[Seen], name: str) -> pl.DataFrame:
    """Count the unseen stored memories: `profile_id` and the column `name`."""
    return _count(transaction, unseen_since, _STORED, {name: sa.func.count()})


def count_batches(transaction: Transaction, unseen_since: Sequence[Seen], name: str) -> pl.DataFrame:
    """Count the batches in which unseen memories were stored, each recorded at one instant: `profile_id` and `name`."""
    return _count(transaction, unseen_since, _STORED, {name: sa.func.count(EVENTS.c.recorded_at.distinct())})


def count_sessions(transaction: Transaction, unseen_since: Sequence[Seen], *, ended: str, active: str) -> pl.DataFrame:
    """Count the sessions that ended or were active in unseen events, in two columns of these names."""
    session = EVENTS.c.session_id
    ends = sa.func.count(sa.case((EVENTS.c.event_type == EventType.SESSION_ENDED.value, session)).distinct())
    return _count(transaction, unseen_since, AGENT_EVENTS, {ended: ends, active: sa.func.count(session.distinct())})


def stored_events(transaction: Transaction, unseen_since: Sequence[Seen]) -> list[tuple[Any, ...]]:
    """Return the unseen events that store memories, as rows for `Ledger.with_payloads` and `event.frame`."""
    queries = _unseen(unseen_since, _STORED, {name: EVENTS.c[name] for name in ("seq", *COLUMNS)})
    return [tuple(row)[1:] for query in queries for row in transaction.connection.execute(query)]


def oldest_unprojected(transaction: Transaction) -> datetime | None:
    """Return when the first agents' event was recorded that the lake does not hold yet. Cost: one index look-up."""
    unprojected = (EVENTS.c.seq > catalog.mark(transaction, Mark.PROJECTED), EVENTS.c.event_type.not_in(PIPELINE))
    microseconds = transaction.connection.scalar(sa.select(sa.func.min(EVENTS.c.recorded_at)).where(*unprojected))
    return None if microseconds is None else instant(microseconds)


def recorded_at(transaction: Transaction, seqs: pl.Series) -> pl.DataFrame:
    """Return profile and instant of the events at some positions: `profile_id`, `last_event_at`."""
    rows: list[Any] = []
    for part in seqs.to_frame().iter_slices(_AT_ONCE):
        query = sa.select(EVENTS.c.profile_id, EVENTS.c.recorded_at).where(EVENTS.c.seq.in_(part.to_series().to_list()))
        rows += transaction.connection.execute(query).all()
    return frame(rows, {**_PROFILE, "last_event_at": INSTANT})


def waiting(transaction: Transaction, after: pl.DataFrame) -> pl.DataFrame:
    """Count the agents' events of profiles after a position each, given as `profile_id` and position.

    Columns: `profile_id`, `waiting`, `waiting_since` (when the first of them was recorded).
    """
    rows: list[Any] = []
    for part in after.iter_slices(_AT_ONCE):
        given = sa.values(sa.column("profile_id", sa.Text), sa.column("seq", sa.BigInteger), name="given")
        position = given.data(list(part.iter_rows())).cte("position")
        later = (EVENTS.c.profile_id == position.c.profile_id) & (EVENTS.c.seq > position.c.seq)
        rows += transaction.connection.execute(
            sa.select(position.c.profile_id, sa.func.count(EVENTS.c.seq), sa.func.min(EVENTS.c.recorded_at))
            .select_from(position)
            .outerjoin(EVENTS, later & EVENTS.c.event_type.not_in(PIPELINE))
            .group_by(position.c.profile_id)
        ).all()
    return frame(rows, {**_PROFILE, "waiting": pl.Int64(), "waiting_since": INSTANT})


def last_commit(transaction: Transaction, task: str) -> datetime | None:
    """Return when a run of a task was last committed."""
    microseconds = transaction.connection.scalar(sa.select(sa.func.max(RUNS.c.committed_at)).where(RUNS.c.task == task))
    return None if microseconds is None else instant(microseconds)


def count_runs(transaction: Transaction, *, task: str, trigger: str) -> int:
    """Count the runs of a task that were started by a trigger."""
    query = sa.select(sa.func.count()).where(RUNS.c.task == task, RUNS.c.trigger == trigger)
    return transaction.connection.scalars(query).one()


def count_attempts(transaction: Transaction) -> dict[str, int]:
    """Count the attempts to commit by outcome."""
    query = sa.select(ATTEMPTS.c.outcome, sa.func.count()).group_by(ATTEMPTS.c.outcome)
    return {str(outcome): int(count) for outcome, count in transaction.connection.execute(query)}


def count_dead_letters(transaction: Transaction) -> int:
    """Count the refused events."""
    refused = DEAD_LETTERS.c.noise == 0
    return transaction.connection.scalars(sa.select(sa.func.count()).select_from(DEAD_LETTERS).where(refused)).one()


def count_committed(transaction: Transaction, actions: Collection[str]) -> dict[str, int]:
    """Count the committed decisions by action, undone ones included; actions without any are missing."""
    condition = (DECISIONS.c.action.in_(actions), DECISIONS.c.status == "committed")
    query = sa.select(DECISIONS.c.action, sa.func.count()).where(*condition).group_by(DECISIONS.c.action)
    return {str(action): int(count) for action, count in transaction.connection.execute(query)}


def _unseen(
    unseen_since: Sequence[Seen], kinds: Sequence[str], columns: Mapping[str, sa.ColumnElement[Any]]
) -> Iterator[sa.Select[Any]]:
    """Select columns of the unseen events of some types, a batch of profiles at a time."""
    for start in range(0, len(unseen_since), _AT_ONCE):
        batch = unseen_since[start : start + _AT_ONCE]
        rows = [(position.profile_id, position.lowest, position.base_seq, position.as_of) for position in batch]
        position = sa.values(*_SEEN, name="given").data(rows).cte("seen")
        late = (EVENTS.c.occurred_at > position.c.as_of) & (EVENTS.c.recorded_at > position.c.as_of)
        yield (
            sa.select(position.c.profile_id, *(column.label(name) for name, column in columns.items()))
            .select_from(position)
            .join(EVENTS, EVENTS.c.profile_id == position.c.profile_id)
            .where(
                EVENTS.c.event_type.in_(kinds),
                EVENTS.c.seq > position.c.lowest,
                (EVENTS.c.seq > position.c.base_seq) | late,
            )
        )


def _count(
    transaction: Transaction,
    unseen_since: Sequence[Seen],
    kinds: Sequence[str],
    counts: Mapping[str, sa.ColumnElement[Any]],
) -> pl.DataFrame:
    rows = [
        tuple(row)
        for query in _unseen(unseen_since, kinds, counts)
        for row in transaction.connection.execute(query.group_by(query.selected_columns[0]))
    ]
    return frame(rows, {**_PROFILE, **dict.fromkeys(counts, pl.Int64())})
