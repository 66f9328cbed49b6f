"""The rows that a commit writes to the ledger, and the checks that refuse it.

Not here: the tables that become visible in the same transaction (`lake/publishing.py`).
"""

import json
import os
import socket
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final

import polars as pl
import sqlalchemy as sa

from memory_pipeline.ledger.database import Transaction
from memory_pipeline.ledger.event import PIPELINE, Event, micros
from memory_pipeline.ledger.ledger import HEAD_EVENTS, Ledger, Revert, heads_in, insert_events, reverts_in
from memory_pipeline.ledger.tables import ATTEMPTS, DECISIONS, EVENTS, RUNS
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import POLICY_VERSION, Policy, program

VERSION: Final = version("memory-pipeline")
"""Version of this program, recorded with every run that it commits."""

_COMMITS: Final = uuid.UUID("6f1d2a52-5f0e-4c9e-9a3c-2f6a3b1f7f10")
"""Namespace of the event ids of commits: plan and profile determine the id, so that nothing is committed twice."""

_RUN_COLUMNS: Final = ("task", "scope", "trigger", "preset", "policy_hash")
"""Columns of the table `profiles` that are recorded with a run."""

_BASE: Final = ("head", "since", "caught_up", "row_limit", "max_archived_share", "retry_reverted")
"""The other columns that a replay of the run needs; commits of earlier versions did not record them."""


class Conflict(RuntimeError):
    """What a plan rests on has changed since it was made; nothing was written. Plan again on the new state."""


class StaleInstant(ValueError):
    """The clock of the run lies before the profile's last commit; nothing was written."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A plan to commit, with the tables that result from it."""

    profiles: pl.DataFrame
    """Which profiles take part, and from which state (the table `profiles`)."""
    decisions: pl.DataFrame
    """The plan: decisions, and those held back (the table `consolidation_plan`)."""
    tables: Mapping[str, pl.DataFrame]
    """For every replaced or accumulated table the new rows of those profiles."""
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
    unchanged: Mapping[str, int] = field(default_factory=dict)
    """Profiles whose tables stay as they are, since only the clock has moved: position of the run that they are of."""
    rests: Mapping[str, datetime] = field(default_factory=dict)
    """Profiles in which the clock alone decides nothing up to an instant."""
    whole: bool = False
    """Commit all profiles or none; otherwise those that others changed meanwhile are left out."""
    left_out: pl.DataFrame = field(default_factory=TABLES["consolidation_plan"].empty)
    """Decisions that were left out of the plan: recorded as decided and undone, so that no run proposes them again."""

    def of(self, names: Collection[str]) -> "Commit":
        """Return what is recorded for some of the profiles; tables stay as they are."""
        own = pl.col("profile_id").is_in(list(names))
        rows = {name: getattr(self, name).filter(own) for name in ("profiles", "decisions", "left_out")}
        return replace(self, **rows)


def check(profiles: pl.DataFrame, tables: Mapping[str, pl.DataFrame], decisions: pl.DataFrame | None = None) -> None:
    """Check the tables and decisions of a commit before anything is written.

    Raises ValueError: a table is missing, unknown or has rows of other profiles, or a decision belongs to no plan.
    """
    modes = ("replaced",) if decisions is None else ("replaced", "accumulated")
    required = {name for name, table in TABLES.items() if table.write_mode in modes}
    if wrong := sorted(required ^ set(tables)):
        problem = "is missing" if wrong[0] in required else "is not written by commits"
        raise ValueError(f"table {wrong[0]!r} {problem}; give the new rows of exactly {', '.join(sorted(required))}")
    for name, frame in tables.items():
        if frame.height and (foreign := sorted(set(frame["profile_id"].unique()) - set(profiles["profile_id"]))):
            raise ValueError(
                f"table {name!r} has rows of profile {foreign[0]!r}, which does not take part; leave them out"
            )
    stray = None if decisions is None else decisions.join(profiles, on=["profile_id", "plan_id"], how="anti")
    if stray is not None and stray.height:
        decision, plan = stray.select("decision_id", "plan_id").row(0)
        raise ValueError(
            f"decision {decision!r} belongs to plan {plan!r}, which is not part of this commit; leave it out"
        )


def check_order(transaction: Transaction, profiles: pl.DataFrame) -> None:
    """Raise StaleInstant if the clock of a row of table `profiles` lies before its last commit that was not undone."""
    undone = {(profile_id, payload["plan_id"]) for profile_id, _, payload in reverts_in(transaction)}
    for profile_id, as_of in profiles.select("profile_id", "as_of").iter_rows():
        runs = sa.select(RUNS.c.plan_id, RUNS.c.as_of).where(RUNS.c.profile_id == profile_id)
        standing = [at for plan_id, at in transaction.connection.execute(runs) if (profile_id, plan_id) not in undone]
        if standing and max(standing) > micros(as_of):
            last = pl.Series([max(standing)]).cast(pl.Datetime("us", "UTC"))[0]
            raise StaleInstant(
                f"as_of = {as_of.isoformat()} lies before the last commit of profile {profile_id!r}, "
                f"{last.isoformat()}; commit at that instant or later, or only preview; if that clock ran ahead: "
                "memory-pipeline undo --ahead"
            )


def verify(transaction: Transaction, profiles: pl.DataFrame) -> list[str]:
    """Return the profiles' ids; raise Conflict if the head of one has moved since its tables were computed."""
    for conflict in _moved(transaction, profiles).values():
        raise conflict
    return profiles["profile_id"].to_list()


def standing(transaction: Transaction, commit: Commit) -> list[str]:
    """Return the profiles that are not overtaken (see `overtaken`).

    Raises Conflict: there is none; or only some, and the commit is all or none.
    """
    conflicts = overtaken(transaction, commit.profiles, commit.decisions)
    if conflicts and (commit.whole or len(conflicts) == commit.profiles.height):
        raise next(iter(conflicts.values()))
    return [profile_id for profile_id in commit.profiles["profile_id"] if profile_id not in conflicts]


def overtaken(transaction: Transaction, profiles: pl.DataFrame, plan: pl.DataFrame) -> dict[str, Conflict]:
    """Return the conflict of each profile of which anything that its plan rests on has changed since it was made.

    An update of a memory that the plan does not mention changes nothing: the next run sees it, as it sees memories that
    were stored meanwhile.
    """
    return {
        profile_id: conflict
        for profile_id, conflict in _moved(transaction, profiles).items()
        if _rests_on_changes(transaction, profile_id, profiles, plan)
    }


def _moved(transaction: Transaction, profiles: pl.DataFrame) -> dict[str, Conflict]:
    """Return the conflict of each profile whose head has moved."""
    heads = heads_in(transaction, profiles["profile_id"].to_list())
    return {
        profile_id: Conflict(
            f"profile {profile_id!r}: the plan was made at head {expected}, the head is now {heads[profile_id]}; "
            "plan again"
        )
        for profile_id, expected in profiles.select("profile_id", "head").iter_rows()
        if heads[profile_id] != expected
    }


def _rests_on_changes(
    transaction: Transaction, profile_id: str, profiles: pl.DataFrame, decisions: pl.DataFrame
) -> bool:
    """Return whether others committed, undid or erased anything of a profile, or updated what its plan mentions."""
    of_profile = pl.col("profile_id") == profile_id
    head = profiles.filter(of_profile)["head"][0]
    changes = sa.select(EVENTS.c.event_type, EVENTS.c.memory_id).where(
        EVENTS.c.profile_id == profile_id, EVENTS.c.event_type.in_(HEAD_EVENTS), EVENTS.c.seq > head
    )
    updated = set[str]()
    for event_type, memory_id in transaction.connection.execute(changes):
        if event_type in PIPELINE:
            return True
        updated.add(memory_id)
    plan = decisions.filter(of_profile)
    named = pl.any_horizontal(pl.col("memory_id", "target_id").is_in(sorted(updated)))
    ids = [json.dumps(memory_id, ensure_ascii=ascii_only) for memory_id in updated for ascii_only in (True, False)]
    quoted = pl.any_horizontal(pl.col("factors", "before", "after").str.contains_any(ids))
    return not plan.filter(named.fill_null(value=False) | quoted.fill_null(value=False)).is_empty()


def record(transaction: Transaction, commit: Commit) -> dict[str, int]:
    """Write events, runs and decisions of a commit and return the position of each profile's commit.

    Raises Conflict if the same plan is committed already, StaleInstant as `check_order` does.
    """
    check_order(transaction, commit.profiles)
    counts = _counts(commit)
    rows = commit.profiles.sort("profile_id").to_dicts()
    insert_events(transaction, _undone_beforehand(commit))  # first: no state has the run without them
    positions = insert_events(transaction, (_event(commit, row, counts[row["profile_id"]]) for row in rows))
    for row in rows:
        if row["profile_id"] not in positions:
            raise Conflict(
                f"profile {row['profile_id']!r}: plan {row['plan_id']!r} is committed already; there is nothing left "
                "to do"
            )
    transaction.connection.execute(
        RUNS.insert(), [_run(commit, row, counts[row["profile_id"]], positions[row["profile_id"]]) for row in rows]
    )
    if (decided := pl.concat([commit.decisions, commit.left_out])).height:
        transaction.connection.execute(DECISIONS.insert(), _decisions(TABLES["decisions"].conform(decided), positions))
    note(transaction, commit.run_id, "committed", started_at=commit.started_at)
    return positions


def recorded_bases(ledger: Ledger, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the state that each of some runs was made from, as its commit recorded it (table `profiles`).

    Runs that versions before this record committed are left out. Cost: one query per run.
    """
    rows = []
    for run in runs.rename({"base_seq": "seq"}).iter_rows(named=True):
        ((*_, payload),) = ledger.read(run["commit_seq"] - 1, until=run["commit_seq"])
        if base := json.loads(payload).get("base"):
            rows.append({name: run[name] for name in ("profile_id", "plan_id", "as_of", "seq", *_RUN_COLUMNS)} | base)
    schema = TABLES["profiles"].types
    return TABLES["profiles"].conform(pl.DataFrame(rows, schema=schema, orient="row"))


def undo(transaction: Transaction, reverts: Sequence[Revert]) -> dict[str, int]:
    """Write the events of an undo and return the position of each profile's undo."""
    positions = insert_events(transaction, (revert.event() for revert in reverts))
    return {revert.profile_id: positions.get(revert.profile_id, 0) for revert in reverts}


def note(transaction: Transaction, run_id: str, outcome: str, *, started_at: datetime) -> None:
    """Record this process's attempt to commit and its outcome."""
    transaction.connection.execute(
        ATTEMPTS.insert().values(
            run_id=run_id,
            instance=f"{socket.gethostname()}:{os.getpid()}",
            started_at=micros(started_at),
            phase="commit",
            outcome=outcome,
        )
    )


def _run(commit: Commit, row: Mapping[str, Any], counts: Mapping[str, int], position: int) -> dict[str, Any]:
    """Return the row of table `runs` of a profile."""
    quiet = "unchanged" if row["profile_id"] in commit.unchanged else "committed"
    return {
        **{name: row[name] for name in ("profile_id", "plan_id", *_RUN_COLUMNS)},
        **counts,
        "run_id": commit.run_id,
        "as_of": micros(row["as_of"]),
        "base_seq": row["seq"],
        "version": VERSION,
        "commit_seq": position,
        "committed_at": micros(commit.committed_at),
        "outcome": "held" if counts["held"] else quiet,
        "duration_seconds": (commit.committed_at - commit.started_at).total_seconds(),
    }


def _counts(commit: Commit) -> dict[str, dict[str, int]]:
    """Return the columns memories, decisions and held of each profile."""
    held = pl.col("status") == "held"
    by_profile = commit.decisions.group_by("profile_id").agg(decisions=(~held).sum(), held=held.sum())
    counted = commit.profiles.select("profile_id").join(by_profile, on="profile_id", how="left").fill_null(0)
    return {
        profile_id: {"memories": commit.live.get(profile_id, 0), "decisions": decisions, "held": held_back}
        for profile_id, decisions, held_back in counted.iter_rows()
    }


def _event(commit: Commit, row: Mapping[str, Any], counts: Mapping[str, int]) -> Event:
    """Return the event of one profile's commit; it holds everything that a replay of the run needs."""
    return Event(
        event_id=str(uuid.uuid5(_COMMITS, f"{row['plan_id']}/{row['profile_id']}")),
        profile_id=row["profile_id"],
        event_type=EventType.RUN_COMMITTED,
        occurred_at=row["as_of"],
        recorded_at=commit.committed_at,
        payload={
            **{name: row[name] for name in ("plan_id", "seq", *_RUN_COLUMNS)},
            "base": {name: row[name] for name in _BASE},
            **counts,
            "as_of": row["as_of"].isoformat(),
            "run_id": commit.run_id,
            **_policy(commit, row),
            **_rest(commit, row["profile_id"]),
        },
    )


def _undone_beforehand(commit: Commit) -> Iterator[Event]:
    """Return the undo of what is left out of each profile's plan."""
    for (profile_id,), left in commit.left_out.sort("profile_id").group_by("profile_id", maintain_order=True):
        yield Revert(
            profile_id=str(profile_id),
            decision_ids=left["decision_id"].to_list(),
            reason="left out of the plan when it was applied",
            occurred_at=left["as_of"][0],
            recorded_at=commit.committed_at,
        ).event()


def _policy(commit: Commit, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy of a commit, or a reference to an earlier one: idle nights should not fill the ledger."""
    if row["profile_id"] in commit.unchanged:
        return {"policy_of": commit.unchanged[row["profile_id"]]}
    policy = commit.policies[row["policy_hash"]].model_dump(mode="json")
    return {"policy": policy, "policy_version": POLICY_VERSION}


def _rest(commit: Commit, profile_id: str) -> dict[str, Any]:
    """Return up to when the clock alone decides nothing in a profile, if that was found, and by which program."""
    until = commit.rests.get(profile_id)
    return {"rest": {"until": until.isoformat(), "program": program.digest()}} if until else {}


def _decisions(decisions: pl.DataFrame, positions: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return decisions as rows of the ledger's database."""
    seqs = pl.DataFrame({"profile_id": list(positions), "seq": list(positions.values())})
    return (
        decisions.drop("seq")
        .join(seqs, on="profile_id", maintain_order="left")
        .with_columns(
            pl.col("as_of").dt.epoch("us"),
            status=pl.when(pl.col("status") == "held").then(pl.lit("held")).otherwise(pl.lit("committed")),
        )
        .to_dicts()
    )
