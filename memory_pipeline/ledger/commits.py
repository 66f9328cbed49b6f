"""What a commit writes to the ledger, and when it is refused.

Here: the rows of a commit (events, runs, decisions) and the comparison with the state its plan was made from. What is
not here: the tables that become visible in the same transaction (`lake/tables.py`).
"""

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.ledger.database import ATTEMPTS, DECISIONS, RUNS
from memory_pipeline.ledger.event import Event, micros
from memory_pipeline.ledger.ledger import Revert, heads_in, insert_event, reverts_in
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy

_COMMITS: Final = uuid.UUID("6f1d2a52-5f0e-4c9e-9a3c-2f6a3b1f7f10")
"""Namespace of the event ids of commits: a plan and profile give one id, so that nothing is committed twice."""


_RECORDED: Final = ("task", "scope", "trigger", "preset", "policy_hash")
"""What is kept of a run as the table `profiles` says it."""


class Conflict(RuntimeError):
    """A profile has changed since the plan was made; nothing was changed. Plan again on the new state."""


class StaleInstant(ValueError):
    """The clock of the run lies before the profile's last commit; nothing was changed."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A plan that was carried out, with the tables as they are then."""

    profiles: pl.DataFrame
    """Who takes part and from which state (the table `profiles`)."""
    decisions: pl.DataFrame
    """The plan: what was decided, and what is held back (the table `consolidation_plan`)."""
    tables: Mapping[str, pl.DataFrame]
    """For every replaced or accrued table the new rows of those profiles."""
    policies: Mapping[str, Policy]
    """Policies in play, by hash."""
    live: Mapping[str, int]
    """Live memories of each profile before the plan."""
    run_id: str
    """Run that made the plan."""
    started_at: datetime
    """When the run started."""
    committed_at: datetime
    """When it is committed."""


def check(profiles: pl.DataFrame, tables: Mapping[str, pl.DataFrame], decisions: pl.DataFrame | None = None) -> None:
    """Check what is to be published, before anything is written.

    Raises:
        ValueError: a table is missing, unknown or has rows of other profiles, or a decision belongs to no plan.
    """
    written = ("replaced",) if decisions is None else ("replaced", "accrued")
    wanted = {name for name, table in TABLES.items() if table.write_mode in written}
    if wrong := sorted(wanted ^ set(tables)):
        what = "is missing" if wrong[0] in wanted else "is not written by commits"
        raise ValueError(f"table {wrong[0]!r} {what}; give the new rows of exactly {', '.join(sorted(wanted))}")
    own = profiles["profile_id"]
    for name, frame in tables.items():
        if foreign := sorted(set(frame["profile_id"].unique()) - set(own)):
            raise ValueError(
                f"table {name!r} has rows of profile {foreign[0]!r}, which does not take part; leave them out"
            )
    stray = None if decisions is None else decisions.join(profiles, on=["profile_id", "plan_id"], how="anti")
    if stray is not None and stray.height:
        decision, plan = stray.select("decision_id", "plan_id").row(0)
        raise ValueError(f"decision {decision!r} is of plan {plan!r}, which is no plan of this commit; leave it out")


def verify(connection: sa.Connection, profiles: pl.DataFrame) -> None:
    """Compare each profile's head with the one its plan was made from.

    Raises:
        Conflict: a head has moved.
    """
    heads = heads_in(connection, profiles["profile_id"].to_list())
    for profile_id, expected in profiles.select("profile_id", "head").iter_rows():
        if heads[profile_id] != expected:
            raise Conflict(
                f"profile {profile_id!r}: the plan was made at head {expected}, the head is now {heads[profile_id]}; "
                "plan again"
            )


def record(connection: sa.Connection, commit: Commit) -> dict[str, int]:
    """Write events, runs and decisions of a commit and return the position of each profile's commit.

    Raises:
        Conflict: the very same plan was committed before.
        StaleInstant: the clock of the run lies before the profile's last commit.
    """
    _in_order(connection, commit.profiles)
    counts = _counts(commit)
    positions: dict[str, int] = {}
    for row in commit.profiles.sort("profile_id").iter_rows(named=True):
        profile_id, plan_id = row["profile_id"], row["plan_id"]
        positions[profile_id] = insert_event(connection, _event(commit, row, counts[profile_id]))
        if not positions[profile_id]:
            raise Conflict(
                f"profile {profile_id!r}: plan {plan_id!r} is committed already; there is nothing left to do"
            )
        held = counts[profile_id]["held"]
        connection.execute(
            RUNS.insert().values(
                **{name: row[name] for name in ("profile_id", "plan_id", *_RECORDED)},
                **counts[profile_id],
                run_id=commit.run_id,
                as_of=micros(row["as_of"]),
                base_seq=row["seq"],
                commit_seq=positions[profile_id],
                committed_at=micros(commit.committed_at),
                outcome="held" if held else "committed",
                duration_seconds=(commit.committed_at - commit.started_at).total_seconds(),
            )
        )
    if commit.decisions.height:
        connection.execute(DECISIONS.insert(), _decisions(TABLES["decisions"].conform(commit.decisions), positions))
    note(connection, commit, "committed")
    return positions


def undo(connection: sa.Connection, reverts: Sequence[Revert]) -> dict[str, int]:
    """Write the events of an undo and return the position of each profile's."""
    return {revert.profile_id: insert_event(connection, revert.event()) for revert in reverts}


def note(connection: sa.Connection, commit: Commit, outcome: str) -> None:
    """Keep that this process tried to commit, and how it ended."""
    connection.execute(
        ATTEMPTS.insert().values(
            run_id=commit.run_id,
            instance=f"{socket.gethostname()}:{os.getpid()}",
            started_at=micros(commit.started_at),
            phase="commit",
            outcome=outcome,
        )
    )


def _in_order(connection: sa.Connection, profiles: pl.DataFrame) -> None:
    """Refuse a clock before the last commit that still stands."""
    undone = {(profile_id, said["plan_id"]) for profile_id, _, said in reverts_in(connection)}
    for profile_id, as_of in profiles.select("profile_id", "as_of").iter_rows():
        runs = sa.select(RUNS.c.plan_id, RUNS.c.as_of).where(RUNS.c.profile_id == profile_id)
        standing = [at for plan_id, at in connection.execute(runs) if (profile_id, plan_id) not in undone]
        if standing and max(standing) > micros(as_of):
            last = pl.Series([max(standing)]).cast(pl.Datetime("us", "UTC"))[0]
            raise StaleInstant(
                f"as_of = {as_of.isoformat()} lies before the last commit of profile {profile_id!r}, "
                f"{last.isoformat()}; commit at that instant or later, undo that run, or only preview"
            )


def _counts(commit: Commit) -> dict[str, dict[str, int]]:
    """Return memories, decisions and held of each profile."""
    held = pl.col("status") == "held"
    by_profile = commit.decisions.group_by("profile_id").agg(decisions=(~held).sum(), held=held.sum())
    counted = commit.profiles.select("profile_id").join(by_profile, on="profile_id", how="left").fill_null(0)
    return {
        profile_id: {"memories": commit.live.get(profile_id, 0), "decisions": decisions, "held": kept}
        for profile_id, decisions, kept in counted.iter_rows()
    }


def _event(commit: Commit, row: Mapping[str, Any], counts: Mapping[str, int]) -> Event:
    """Return the event of one profile's commit: it holds all that a replay of the run needs."""
    return Event(
        event_id=str(uuid.uuid5(_COMMITS, f"{row['plan_id']}/{row['profile_id']}")),
        profile_id=row["profile_id"],
        event_type=EventType.RUN_COMMITTED,
        occurred_at=row["as_of"],
        recorded_at=commit.committed_at,
        payload={
            **{name: row[name] for name in ("plan_id", "seq", *_RECORDED)},
            **counts,
            "as_of": row["as_of"].isoformat(),
            "policy": commit.policies[row["policy_hash"]].model_dump(mode="json"),
            "run_id": commit.run_id,
        },
    )


def _decisions(decisions: pl.DataFrame, positions: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the decisions as rows of the ledger's database."""
    at = pl.DataFrame({"profile_id": list(positions), "seq": list(positions.values())})
    return (
        decisions.drop("seq")
        .join(at, on="profile_id", maintain_order="left")
        .with_columns(
            pl.col("as_of").dt.epoch("us"),
            status=pl.when(pl.col("status") == "held").then(pl.lit("held")).otherwise(pl.lit("committed")),
        )
        .to_dicts()
    )
