"""Commits a plan: checks it, and publishes its tables in one transaction."""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.groups.succession import succession
from memory_pipeline.consolidation.plans import checking, planning
from memory_pipeline.lake.tables import Commit, Lake
from memory_pipeline.ledger.commits import VERSION
from memory_pipeline.runs import changes, log
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

PUBLISHED: Final = tuple(name for name, table in TABLES.items() if table.write_mode == "replaced")
"""Tables that a commit replaces."""
COMMITTED_FROM: Final = tuple(
    dict.fromkeys(
        (
            *checking.Inputs._fields,
            "rests",
            *pipeline.SETTLED.values(),
            *(name for name in PUBLISHED if name not in pipeline.SETTLED),
        )
    )
)
"""Tables of a run that its commit reads."""


class InvariantBroken(ValueError):
    """A plan would break an invariant; nothing was changed. `rows` says which rows and how."""

    def __init__(self, rows: pl.DataFrame) -> None:
        super().__init__(rows)
        self.rows = rows

    def __str__(self) -> str:
        first = self.rows.row(0, named=True)
        return (
            f"rows of the plan that break an invariant: {self.rows.height}; the first: {first['check']}: profile "
            f"{first['profile_id']!r}, memory {first['memory_id']!r}: {first['detail']}; nothing was changed"
        )


def violations(tables: pipeline.Tables, policies: Mapping[str, Policy]) -> pl.DataFrame:
    """Return the rows of a plan that break an invariant (see `invariants.violations`), from tables `COMMITTED_FROM`."""
    return pipeline.by_policy(checking.violations, tables, policies)


def published(tables: pipeline.Tables) -> dict[str, pl.DataFrame]:
    """Return what a commit of a run publishes, from tables `COMMITTED_FROM`: those of `PUBLISHED`, after its plan."""
    return {name: tables[pipeline.SETTLED.get(name, name)] for name in PUBLISHED}


def commit(
    lake: Lake,
    tables: pipeline.Tables,
    policies: Mapping[str, Policy],
    *,
    run_id: str,
    started_at: datetime | None = None,
    say: Callable[[str], None] = log.LOGGER.info,
    whole: bool = False,
    left_out: pl.DataFrame | None = None,
    warn: Callable[[str], None] = log.LOGGER.warning,
) -> dict[str, int]:
    """Check a plan and publish its tables in one transaction; report in a few lines what was done.

    Profiles commit independently: those for which others changed what the plan rests on are left out. For a profile
    that was idle since a run without decisions only the run is recorded: its tables stay as published. Returns the
    ledger position of the commit of each profile; profiles that were left out have none.

    Args:
        tables: the run's tables (`COMMITTED_FROM`).
        say: takes each line of the log; `warn`, a line for each profile that the quota held back.
        whole: commit all profiles or none.
        left_out: decisions that were left out of the plan (see `plans.leaving_out`); default: none.

    Raises:
        InvariantBroken: the plan would break an invariant; nothing was changed.
        Conflict: no profile could be committed, or not all of them if `whole`; nothing was changed.
    """
    if tables["profiles"].is_empty():
        return {}
    unchanged = _unchanged(lake, tables)
    if (broken := violations(_without(tables, unchanged), policies)).height:
        lake.note_attempt(run_id, "refused", started_at=started_at or datetime.now(UTC))
        raise InvariantBroken(broken)
    record(lake, tables["profiles"], {name: tables[pipeline.SETTLED[name]] for name in ("enrichment", "vectors")})
    now = datetime.now(UTC)
    live = planning.live(tables["memories"])
    positions = lake.commit(
        Commit(
            profiles=tables["profiles"],
            decisions=tables["consolidation_plan"],
            tables=published(tables) | _history(lake, tables, unchanged),
            policies=policies,
            live=live,
            run_id=run_id,
            started_at=started_at or now,
            committed_at=now,
            unchanged=unchanged,
            rests=dict(tables["rests"].select("profile_id", "until").iter_rows()),
            whole=whole,
            left_out=TABLES["consolidation_plan"].empty() if left_out is None else left_out,
        )
    )
    seconds = (now - (started_at or now)).total_seconds()
    profiles, plan = (
        tables[name].filter(pl.col("profile_id").is_in(list(positions))) for name in ("profiles", "consolidation_plan")
    )
    for line in log.lines(profiles, plan, live, policies, seconds=seconds):
        say(line)
    for line in log.warnings(plan):
        warn(line)
    return positions


def _history(lake: Lake, tables: pipeline.Tables, unchanged: Collection[str]) -> dict[str, pl.DataFrame]:
    """Return the rows that a commit adds to tables that accumulate."""
    profiles = tables["profiles"].filter(~pl.col("profile_id").is_in(sorted(unchanged)))
    earlier = {
        name: lake.read(name, profiles=profiles["profile_id"].to_list()) for name in ("clusters", "cluster_members")
    }
    clusters, members = (tables[name].join(profiles, on="profile_id", how="semi") for name in earlier)
    return {
        "score_history": TABLES["score_history"].conform(tables[pipeline.SETTLED["scored_memories"]]),
        "cluster_lineage": succession(
            profiles,
            clusters=clusters,
            members=members,
            earlier_clusters=earlier["clusters"],
            earlier_members=earlier["cluster_members"],
        ),
    }


def _without(tables: pipeline.Tables, unchanged: Collection[str]) -> pipeline.Tables:
    """Return the tables without profiles of which nothing is published, and so nothing is to be checked."""
    if not unchanged:
        return tables
    changed = ~pl.col("profile_id").is_in(sorted(unchanged))
    return {name: tables[name].filter(changed) for name in ("profiles", *checking.Inputs._fields)}


def _unchanged(lake: Lake, tables: pipeline.Tables) -> dict[str, int]:
    """Return the profiles for which a run only repeats an earlier one at a later clock, and the earlier one's position.

    Neither of the two decides anything, the profile was not used or changed since, both have the same task, policy and
    version of the program, and what they keep for the next run was made from the same.
    """
    idle = tables["profiles"].join(tables["consolidation_plan"], on="profile_id", how="anti").filter(row_limit=0)
    if idle.is_empty():
        return {}
    runs = lake.ledger.runs(idle["profile_id"].to_list()).filter(~pl.col("outcome").is_in(["unchanged", "reverted"]))
    last = runs.sort("commit_seq").unique("profile_id", keep="last").filter(decisions=0, held=0, version=VERSION)
    alike = idle.join(last, on=["profile_id", "task", "scope", "policy_hash"], how="semi")
    for name in pipeline.REUSED:
        made_from = ["profile_id", "read"]
        stored = lake.read(name, profiles=alike["profile_id"].to_list(), columns=made_from)
        made = tables[pipeline.SETTLED.get(name, name)]
        alike = alike.join(made.join(stored, on=made_from, how="anti"), on="profile_id", how="anti")
    published = lake.read("profiles", profiles=alike["profile_id"].to_list())
    shown = last.join(published, on=["profile_id", "plan_id"], how="semi")
    quiet = shown.filter(pl.col("profile_id").is_in(list(changes.quiet(lake, shown))))
    return dict(quiet.select("profile_id", "commit_seq").iter_rows())


def record(lake: Lake, profiles: pl.DataFrame, tables: pipeline.Tables) -> None:
    """Store what a run extracted from texts or asked about them, except for profiles with an erasure since."""
    if profiles.height:
        for name, rows in tables.items():
            lake.append(name, rows, since=profiles["seq"][0])
