"""Decides which profiles have a run due, by what agents did since their last runs.

Not here: the rules (`consolidation/triggers.py`), and the queries (`ledger/activity.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import triggers
from memory_pipeline.consolidation.state import projection
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import activity, event
from memory_pipeline.ledger.activity import Seen
from memory_pipeline.ledger.database import Transaction
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, Settings
from memory_pipeline.text import enrich
from memory_pipeline.text.score import importance

_HIGHEST_SCORE: Final = 10.0
"""Largest importance_score of a memory."""


def due(lake: Lake, settings: Settings, *, now: datetime) -> pl.DataFrame:
    """Return what is due now, for every profile (see `triggers.due`)."""
    runs, active = last_runs(lake), profiles(lake)
    policies = {profile_id: settings.policy_of(profile_id) for profile_id in active["profile_id"]}
    night = triggers.last_tick(settings.nightly, settings.timezone, now)
    shown = night and night.astimezone(settings.zone)
    return triggers.due(counts(lake, active, runs, policies), runs, policies, now=now, night=shown)


def last_runs(lake: Lake) -> pl.DataFrame:
    """Return the last successful run of each task of each profile (see `triggers.PROGRESS`).

    A run that was undone has succeeded: an undo is no reason to run again. Cost: one pass over the runs.
    """
    with lake.ledger.reading() as transaction:
        return activity.last_runs(transaction)


def profiles(lake: Lake) -> pl.DataFrame:
    """Return the profiles that have a memory (see `activity.profiles_with_memories`)."""
    with lake.ledger.reading() as transaction:
        return activity.profiles_with_memories(transaction)


def counts(lake: Lake, active: pl.DataFrame, runs: pl.DataFrame, policies: Mapping[str, Policy]) -> pl.DataFrame:
    """Count what agents did, as far as a policy needs it (see `triggers.ACTIVITY`), of the `active` profiles.

    Cost: linear in the events since the runs that count. Importance that agents did not state is computed from the
    text, but only once the memories stored since the last reflection can cross the threshold.
    """
    enabled = {profile_id: policy for profile_id, policy in policies.items() if policy.enabled}
    last = dict(active.select("profile_id", "last_seq").iter_rows())
    with lake.ledger.reading() as transaction:

        def seen(task: str, needed: Callable[[Policy], float]) -> list[Seen]:
            chosen = {profile_id: last[profile_id] for profile_id, policy in enabled.items() if needed(policy)}
            return activity.seen(transaction, runs, last=chosen, tasks=triggers.settled_by(task))

        idle = seen("lightweight", lambda policy: policy.idle_timeout_seconds)
        steps = seen("lightweight", lambda policy: policy.step_count_trigger)
        sessions = seen("full", lambda policy: policy.session_trigger or policy.scheduled_sessions)
        cycles = seen("tick", lambda policy: policy.ingestion_cycles)
        frames = [
            activity.count_events(transaction, idle, "untouched"),
            activity.count_stored(transaction, steps, "stored"),
            activity.count_sessions(transaction, sessions, ended="sessions_ended", active="sessions_seen"),
            activity.count_batches(transaction, cycles, "batches"),
            _importance(lake, transaction, seen("reflect", lambda policy: policy.reflection), enabled),
            activity.recorded_at(transaction, active["last_seq"]),
        ]
    joined = active
    for frame in frames:
        joined = joined.join(frame, on="profile_id", how="left", maintain_order="left")
    columns = [pl.col(name).cast(kind) for name, kind in triggers.ACTIVITY.items()]
    return joined.select(columns).with_columns(pl.col(pl.Int64, pl.Float64).fill_null(0))


def unread(lake: Lake) -> pl.DataFrame:
    """Return the stored memories that no run has read yet (rows of the table `events`). Cost: linear in these."""
    last, runs = dict(profiles(lake).select("profile_id", "last_seq").iter_rows()), last_runs(lake)
    with lake.ledger.reading() as transaction:
        seen = activity.seen(transaction, runs, last=last, tasks=triggers.TASKS)
        return _stored(lake, transaction, seen)


def _importance(
    lake: Lake, transaction: Transaction, seen: Sequence[Seen], policies: Mapping[str, Policy]
) -> pl.DataFrame:
    """Sum the importance of the memories that no reflection has seen, where it can exceed the threshold."""
    stored = dict(activity.count_stored(transaction, seen, "stored").iter_rows())
    near = {name for name, count in stored.items() if _HIGHEST_SCORE * count > policies[name].reflection_threshold}
    if not near:
        return pl.DataFrame(schema={name: triggers.ACTIVITY[name] for name in ("profile_id", "importance_score")})
    events = _stored(lake, transaction, [position for position in seen if position.profile_id in near])
    memories = projection.fold(events, TABLES["decisions"].empty()).memories
    by_rule = {name for name in near if "importance" in policies[name].enrichments}
    unstated = memories.filter(pl.col("importance_given").is_null() & pl.col("profile_id").is_in(sorted(by_rule)))
    effective = importance.effective(memories, enrich.enrich(enrich.texts(unstated)))
    scored = memories.join(effective, on=["profile_id", "memory_id"])
    return triggers.reflection(scored, {}, threshold=0.0).select("profile_id", "importance_score")


def _stored(lake: Lake, transaction: Transaction, seen: Sequence[Seen]) -> pl.DataFrame:
    """Return the stored memories that runs have not seen, as rows of the table `events`."""
    return event.frame(lake.ledger.with_payloads(activity.stored_events(transaction, seen)))
