"""Rebuilds published tables, and past states, from the ledger alone, by the same stages as a run."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from memory_pipeline.consolidation import enrichments, pipeline
from memory_pipeline.consolidation.context import TASKS
from memory_pipeline.lake import snapshot, snapshot_tables, snapshot_views
from memory_pipeline.lake.policies import committed_policy, of_runs
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import commits
from memory_pipeline.ledger.commits import VERSION
from memory_pipeline.runs import status
from memory_pipeline.runs.commit import PUBLISHED
from memory_pipeline.schemas import TABLES, Enrichment, Memories, Vectors, conform
from memory_pipeline.settings import Policy


def rebuild(lake: Lake, profile_id: str) -> dict[str, pl.DataFrame]:
    """Rebuild the published tables of a profile from event zero; equal to what its last commit or undo published.

    Raises ValueError: the profile was never consolidated.
    """
    runs = runs_in_force(lake, [profile_id])
    if runs.height:
        return as_committed(lake, runs.tail(1), reverted=lake.ledger.reverted(), earlier=runs)
    undone = shown_runs(lake, [profile_id])
    if undone.is_empty():
        raise ValueError(f"profile {profile_id!r} was never consolidated; consolidate it first")
    return as_stored(lake, undone, reverted=lake.ledger.reverted())


def shown_runs(lake: Lake, profiles: Collection[str] | None = None) -> pl.DataFrame:
    """Return the run that each profile's published tables show (`consolidation_runs`): the last one in force.

    If none is, the memories are shown as agents stored them, at the instant of the run that was undone last.
    """
    last = runs_in_force(lake, profiles).unique("profile_id", keep="last")
    runs = lake.ledger.runs(None if profiles is None else list(profiles)).join(last, on="profile_id", how="anti")
    undone = runs.join(lake.ledger.undone_plans(), on=["profile_id", "plan_id"], how="inner").sort("undone_seq")
    return pl.concat([last, undone.unique("profile_id", keep="last").select(last.columns)]).sort("profile_id")


def behind(lake: Lake) -> list[str]:
    """Return the profiles whose published tables are not those of the run that they should show (see `shown_runs`).

    Such as after a repair by an earlier version that published nothing for them. Profiles that others change meanwhile
    are left out. Raises LakeError: a file of the table `profiles` is missing or damaged.
    """
    heads = lake.ledger.heads()
    shown = shown_runs(lake)
    published = lake.read("profiles", columns=["profile_id", "plan_id"])
    stale = shown.join(published, on=["profile_id", "plan_id"], how="anti")["profile_id"]
    return [profile_id for profile_id, head in lake.ledger.heads(stale.to_list()).items() if heads[profile_id] == head]


def runs_in_force(
    lake: Lake, profiles: Collection[str] | None = None, *, as_of: datetime | None = None
) -> pl.DataFrame:
    """Return the runs that published tables and that no undo took back (`consolidation_runs`), by profile and position.

    `as_of` is the instant up to which runs and undos count; by default all do.
    """
    runs = lake.ledger.runs(None if profiles is None else list(profiles), as_of=as_of)
    return runs.filter(~pl.col("outcome").is_in(["reverted", "unchanged"])).sort("profile_id", "commit_seq")


def state(
    lake: Lake,
    profiles: pl.DataFrame,
    policies: Mapping[str, Policy],
    *,
    until: int | None = None,
    reverted: pl.DataFrame | None = None,
    last_run: pipeline.LastRun | None = None,
) -> dict[str, pl.DataFrame]:
    """Compute the tables of `PUBLISHED` at a state from the ledger alone.

    Args:
        profiles: whose state, at which `as_of` and `seq` (one of each), under which policy.
        until: position of the last commit that counts; default: every one that `as_of` admits.
        reverted: decisions that do not count; default: those undone by now.
        last_run: what earlier runs published, for stages that the task does not need; default: every stage runs.
    """
    masked = lake.ledger.reverted() if reverted is None else reverted
    tables = pipeline.run(_sources(lake, profiles, masked), policies, stages=pipeline.PLANNING, last_run=last_run)
    plan = tables["consolidation_plan"]
    as_of, owners = profiles.row(0, named=True)["as_of"], profiles["profile_id"].to_list()
    committed = lake.ledger.decisions(as_of=as_of, seq=until, profiles=owners)
    after = pipeline.settle(tables | {"decisions": committed, "consolidation_plan": plan.clear()}, policies)
    after["consolidation_plan"] = plan.join(masked, on=["profile_id", "decision_id"], how="anti")
    return {name: after.get(name, tables[name]) for name in PUBLISHED}


def as_committed(
    lake: Lake, runs: pl.DataFrame, *, reverted: pl.DataFrame, earlier: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Recompute what runs, one per profile, published, without what is reverted; `earlier` is every run in force.

    Profiles of one run are computed together.
    """
    parts = []
    for profiles, policies, seqs in _bases(lake, runs):
        last_run = _last_run(lake, profiles, earlier.filter(pl.col("commit_seq") < min(seqs)), reverted)
        parts.append(state(lake, profiles, policies, until=max(seqs), reverted=reverted, last_run=last_run))
    return _joined(parts)


def as_stored(lake: Lake, runs: pl.DataFrame, *, reverted: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Compute the tables of profiles without a run in force: their memories, described at the states of `runs`."""
    parts = []
    for profiles, policies, _ in _bases(lake, runs):
        tables = pipeline.run(_sources(lake, profiles, reverted), policies, stages=pipeline.DESCRIBING)
        unplanned = tables | {"consolidation_plan": TABLES["consolidation_plan"].empty()}
        parts.append(tables | pipeline.settle(unplanned, policies))
    return _joined(parts)


def snapshot_at(lake: Lake, as_of: datetime) -> Path:
    """Make a snapshot of the state at a past instant, from the ledger alone, and return its path.

    Raises ValueError: nothing was remembered yet at that instant.
    """
    with snapshot.building(lake.home):
        lake.project()
        past = past_state(lake, as_of)
        uses = past.events.filter(pl.col("event_type").is_in(snapshot_tables.USES))
        return snapshot.build(
            lake.home,
            {name: past.tables[name] for name in snapshot_tables.SOURCES},
            {name: lake.keys(name) for name in snapshot_views.LINKED},
            store=lake.store,
            name=f"{past.seq:012d}-{past.tables['profiles']['plan_id'][0][:8]}-{as_of:%Y%m%dT%H%M%SZ}",
            created_at=datetime.now(UTC),
            as_of=as_of,
            uses=uses.select(snapshot_tables.USE_COLUMNS),
            policies_in_force=past.policies,
            run_policies=of_runs(lake.ledger, past.tables["consolidation_runs"]),
        )


@dataclass(frozen=True, kw_only=True)
class PastState:
    """A store as it was at an instant."""

    tables: Mapping[str, pl.DataFrame]
    """Those of `PUBLISHED`, those that the ledger keeps, and answers of models; dead letters and answers are those of
    now."""
    events: pl.DataFrame
    """The events known then (see `Lake.events`)."""
    policies: Mapping[str, Policy]
    """By profile."""
    seq: int
    """Ledger position at which it was made."""


def past_state(lake: Lake, as_of: datetime, *, profiles: Collection[str] | None = None) -> PastState:
    """Compute the state of all or some profiles at a past instant from the ledger alone.

    Decisions undone later are in it, as they were published then. Each profile is described under the policy of its
    last run in force at that instant, else of its first run. Raises ValueError: nothing was remembered yet at that
    instant.
    """
    events = lake.events(as_of=as_of, profiles=profiles)
    seq = lake.ledger.position()
    all_runs, standing = lake.ledger.runs(), runs_in_force(lake, as_of=as_of)
    policies, chosen = {}, {}
    for profile_id in events.filter(pl.col("memory_id").is_not_null())["profile_id"].unique().sort():
        own, before = (
            rows.filter(pl.col("profile_id") == profile_id)["commit_seq"].sort().to_list()
            for rows in (all_runs, standing)
        )
        run = before[-1:] or own[:1]
        chosen[profile_id] = committed_policy(lake.ledger, run[0]) if run else Policy()
        policies[chosen[profile_id].digest] = chosen[profile_id]
    if not chosen:
        raise ValueError(f"no memory had been stored by {as_of.isoformat()}; choose a later instant")
    participants = pipeline.participants(
        chosen,
        ledger_digest=lake.ledger.digest(seq),
        as_of=as_of,
        seq=seq,
        heads=lake.ledger.heads(list(chosen)),
        since={},
    )
    owners = None if profiles is None else list(chosen)
    recorded = {
        "decisions": lake.ledger.decisions(as_of=as_of, profiles=owners),
        "reverted": lake.ledger.reverted(as_of=as_of),
        "consolidation_runs": lake.ledger.runs(owners, as_of=as_of).sort("profile_id", "commit_seq"),
        "dead_letters": lake.ledger.dead_letters(),
        **{name: lake.read(name, profiles=owners) for name in ("completions", "verdicts")},
    }
    tables = state(lake, participants, policies, reverted=recorded["reverted"]) | recorded
    return PastState(tables=tables, events=events, policies=chosen, seq=seq)


def note(lake: Lake, *, as_of: datetime | None = None) -> str | None:
    """Return a notice about tables recomputed from the ledger for an instant; None if this version published them.

    By default of each profile's last run. What runs decided is in the ledger and stays; what is computed from it, such
    as scores and groups, may differ.
    """
    others = set(runs_in_force(lake, as_of=as_of).unique("profile_id", keep="last")["version"]) - {VERSION}
    if not others:
        return None
    names = ", ".join(sorted(f"version {other}" if other else "an earlier version" for other in others))
    return (
        f"recomputed from the ledger by version {VERSION}; {names} published it: decisions are the same, scores and "
        "groups may differ"
    )


def _last_run(lake: Lake, profiles: pl.DataFrame, earlier: pl.DataFrame, reverted: pl.DataFrame) -> pipeline.LastRun:
    """Return the tables that a run found published: each as made by the last earlier run that needed it, or first."""
    before = earlier.join(profiles, on="profile_id", how="semi")
    tables: dict[str, pl.DataFrame] = {}
    computed: dict[tuple[int, ...], dict[str, pl.DataFrame]] = {}
    for stage in pipeline.idle(profiles["task"][0]):
        tasks = [task for task, actions in TASKS.items() if actions & stage.serves]
        needing = before.filter(pl.col("task").is_in(tasks)).unique("profile_id", keep="last", maintain_order=True)
        first = before.unique("profile_id", keep="first", maintain_order=True)
        makers = pl.concat([needing, first.join(needing, on="profile_id", how="anti")]).sort("profile_id")
        at = tuple(makers["commit_seq"])
        if at not in computed:
            computed[at] = _joined(
                [
                    state(lake, made, policies, until=max(seqs), reverted=reverted)
                    for made, policies, seqs in _bases(lake, makers)
                ]
            )
        tables |= {name: computed[at][name] for name in stage.reused}
    return pipeline.LastRun(
        frozenset(before["profile_id"]), lambda name, own: tables[name].filter(pl.col("profile_id").is_in(list(own)))
    )


def _joined(parts: Sequence[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Return the tables of `PUBLISHED` of several states as one; a part may lack some, and there may be none."""
    return {
        name: pl.concat([TABLES[name].empty(), *(part[name] for part in parts if name in part)]) for name in PUBLISHED
    }


def _bases(lake: Lake, runs: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, dict[str, Policy], list[int]]]:
    """Yield the state that runs were made from, their policies and their positions, those of one run together."""
    for _, run in runs.sort("profile_id").group_by("run_id", "as_of", "base_seq", maintain_order=True):
        seqs = run["commit_seq"].to_list()
        profiles = _made_from(lake, run)
        yield (
            profiles,
            {row["policy_hash"]: committed_policy(lake.ledger, row["commit_seq"]) for row in run.iter_rows(named=True)},
            seqs,
        )


def _made_from(lake: Lake, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the state that runs of one instant were made from: the table `profiles`.

    The ledger has it; for commits of earlier versions the lake has, and what it lost is inferred from the ledger.
    """
    known = commits.recorded_bases(lake.ledger, runs)
    if (rest := runs.join(known, on="profile_id", how="anti")).height:
        kept = lake.read("profiles", seq=max(runs["commit_seq"].to_list()), profiles=rest["profile_id"].to_list())
        kept = kept.join(rest, on=["profile_id", "plan_id"], how="semi")
        known = pl.concat([known, kept, _inferred(lake, rest.join(kept, on="profile_id", how="anti"))])
    return TABLES["profiles"].conform(known)


def _inferred(lake: Lake, runs: pl.DataFrame) -> pl.DataFrame:
    """Return the state that runs were made from as it follows from the ledger: all but a time budget and a quota.

    So their tables can differ from those that were lost: all memories were compared and grouped.
    """
    rows = []
    for run in runs.rename({"base_seq": "seq"}).iter_rows(named=True):
        earlier = lake.ledger.runs([run["profile_id"]]).filter(pl.col("commit_seq") <= run["seq"])
        recent = run["task"] == "reflect" or run["scope"] == "recent"
        rows.append(
            {name: run[name] for name in TABLES["profiles"].empty().columns if name in run}
            | {
                "head": lake.ledger.heads([run["profile_id"]], seq=run["seq"])[run["profile_id"]],
                "since": earlier.select(status.REFLECTED).item() if recent else 0,
                "caught_up": 0,
                "row_limit": 0,
                "max_archived_share": committed_policy(lake.ledger, run["commit_seq"]).max_archived_share,
                "retry_reverted": False,
            }
        )
    return pl.DataFrame(rows, schema=TABLES["profiles"].types, orient="row")


def _sources(lake: Lake, profiles: pl.DataFrame, reverted: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Read the input tables of the stages for one state."""
    owners = profiles["profile_id"].to_list()
    as_of, seq = profiles.row(0, named=True)["as_of"], profiles.row(0, named=True)["seq"]
    return {
        "profiles": profiles,
        "events": lake.events(as_of=as_of, seq=seq, profiles=owners),
        "decisions": lake.ledger.decisions(as_of=as_of, seq=seq, profiles=owners),
        "reverted": reverted,
        **{name: lake.read(name, profiles=owners) for name in pipeline.RECORDED},
    }


def enrich_missing(lake: Lake, policy: Policy, *, profiles: Collection[str] | None = None) -> None:
    """Add to `enrichment` and `vectors` the rows that memories lack there, such as after a file was lost.

    The policy names the embedder and the enrichments that are switched on; by default for all profiles.
    """
    since = lake.ledger.position()
    memories, enrichment, vectors = (
        lake.read(name, profiles=profiles) for name in ("memories", "enrichment", "vectors")
    )
    added = enrichments.new_texts(
        conform(Memories, memories), conform(Enrichment, enrichment), conform(Vectors, vectors), policy
    )
    for name, rows in added._asdict().items():
        lake.append(name, rows, since=since)
