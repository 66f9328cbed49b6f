"""What makes a plan part of history, takes it out again, and shows any past state.

Committing, undoing and looking back all build their tables with the same pure stages (`consolidation.pipeline`).
What is not here: how files and rows are written (`tables`, `ledger`).
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import pipeline, stages
from memory_pipeline.consolidation.plans import apply, planning
from memory_pipeline.consolidation.state import projection
from memory_pipeline.runs import log, inputs
from memory_pipeline.lake import snapshot, snapshot_tables, snapshot_views
from memory_pipeline.lake.policies import committed_policy
from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.lake.tables import Commit, Lake, LakeError, Revert
from memory_pipeline.ledger.validation_errors import shown
from memory_pipeline.settings import Policy, Settings

LOGGER: Final = logging.getLogger("memory_pipeline")

Tables = Mapping[str, pl.DataFrame]

PUBLISHED: Final = tuple(name for name, table in TABLES.items() if table.write_mode == "replaced")
"""Tables that a commit replaces."""
ACCUMULATED: Final = tuple(name for name, table in TABLES.items() if table.write_mode == "accumulated")
"""Tables that a commit adds to: each is a selection from `scored_memories`."""
_SETTLE_TAKES: Final = (*stages.STATE, "enrichment", "vectors", "decisions", "reverted", "derived_edges")
READ_OUT: Final = ("enrichment", "vectors", "completions")
"""Tables of what was read out of texts or asked about them: given to every run, and only ever added to."""
SETTLED_FROM: Final = ("profiles", "scored_memories", *_SETTLE_TAKES)
"""Tables of a run that its plan is applied to."""
COMMITTED_FROM: Final = tuple(dict.fromkeys((*SETTLED_FROM, *PUBLISHED)))
"""Tables of a run that its commit reads."""


class InvariantBroken(ValueError):
    """A plan would break an invariant; nothing was changed. `rows` says which rows and how."""

    def __init__(self, rows: pl.DataFrame) -> None:
        first = rows.row(0, named=True)
        super().__init__(
            f"{rows.height} rows of the plan break an invariant; the first: {first['check']}: profile "
            f"{first['profile_id']!r}, memory {first['memory_id']!r}: {first['detail']}; nothing was changed"
        )
        self.rows = rows


def settle(tables: Tables, policies: Mapping[str, Policy]) -> dict[str, pl.DataFrame]:
    """Apply the plan of a run: the tables of `outcome.SETTLED` as they are once it is committed.

    Args:
        tables: the run's `SETTLED_FROM` and `consolidation_plan`.
        policies: the policies in play, by hash.
    """
    takes = ("consolidation_plan", *_SETTLE_TAKES)
    frames = pipeline.each(tables["profiles"], policies, apply.settle, *(tables[name] for name in takes))
    return {name: TABLES[name].conform(frame) for name, frame in zip(apply.SETTLED, frames, strict=True)}


def violations(tables: Tables, policies: Mapping[str, Policy], *, after: Tables | None = None) -> pl.DataFrame:
    """Return the rows of a plan that break an invariant (see `invariants.violations`); none if all is well.

    Args:
        tables: the run's `SETTLED_FROM` and `consolidation_plan`.
        policies: the policies in play, by hash.
        after: what `settle` makes of them, if at hand.
    """
    after = after or settle(tables, policies)
    takes = ("consolidation_plan", "profiles", "memories", "decided_edges", "scored_memories")
    return pipeline.each(
        tables["profiles"],
        policies,
        apply.inspect,
        *(tables[name] for name in takes),
        after["memories"],
        after["decided_edges"],
        pl.concat([tables["vectors"], after["vectors"]]),
    )


def commit(
    lake: Lake,
    tables: Tables,
    policies: Mapping[str, Policy],
    *,
    run_id: str,
    started_at: datetime | None = None,
    say: Callable[[str], None] = LOGGER.info,
) -> dict[str, int]:
    """Check a plan and make it visible in one transaction; then `say` in a few lines what was done.

    Returns:
        Ledger position of the commit of each profile.

    Raises:
        InvariantBroken: the plan would break an invariant; nothing was changed.
        Conflict: a profile has changed since the plan was made; nothing was changed.
    """
    after = settle(tables, policies)
    if (bad := violations(tables, policies, after=after)).height:
        raise InvariantBroken(bad)
    for name in ("enrichment", "vectors"):
        lake.append(name, after[name])
    now = datetime.now(UTC)
    live = planning.live(tables["memories"])
    positions = lake.commit(
        Commit(
            profiles=tables["profiles"],
            decisions=tables["consolidation_plan"],
            tables={name: after.get(name, tables[name]) for name in PUBLISHED}
            | {name: TABLES[name].conform(after["scored_memories"]) for name in ACCUMULATED},
            policies=policies,
            live=live,
            run_id=run_id,
            started_at=started_at or now,
            committed_at=now,
        )
    )
    seconds = (now - (started_at or now)).total_seconds()
    for line in log.lines(tables["profiles"], tables["consolidation_plan"], live, policies, seconds=seconds):
        say(line)
    return positions


def consolidate(lake: Lake, settings: Settings, profiles: pl.DataFrame, *, run_id: str) -> dict[str, pl.DataFrame]:
    """Run every stage in this process, without Dagster, and commit.

    Args:
        lake: the store.
        settings: policy of each profile.
        profiles: who takes part (see `participation.chosen`).
        run_id: name of the run.

    Returns:
        All tables of the run, `consolidation_plan` among them.

    Raises:
        InvariantBroken: the plan would break an invariant; nothing was changed.
        Conflict: a profile has changed since; nothing was changed.
    """
    started_at = datetime.now(UTC)
    lake.project()
    policies = inputs.policies(settings, profiles)
    tables = preview(lake, settings, profiles)
    for name in READ_OUT:
        lake.append(name, tables[name])
    commit(lake, tables, policies, run_id=run_id, started_at=started_at)
    return tables


def preview(lake: Lake, settings: Settings, profiles: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Run every stage in this process up to the plan, and write nothing."""
    own = profiles["profile_id"].to_list()
    given = {name: inputs.known(lake, name, profiles) for name in ("events", "decisions", "reverted")}
    read_out = {name: lake.read(name, profiles=own) for name in READ_OUT}
    policies = inputs.policies(settings, profiles)
    return pipeline.run({"profiles": profiles} | given | read_out, policies, kept=kept(lake, profiles))


def kept(lake: Lake, profiles: pl.DataFrame) -> pipeline.Kept:
    """What the last run published at the state that a run reads, for stages that its task has no use for."""
    if profiles.is_empty() or not pipeline.idle(profiles["task"][0]):
        return pipeline.Kept()
    seq = profiles["seq"][0]
    runs = lake.ledger.runs(profiles["profile_id"].to_list(), seq=seq).filter(pl.col("outcome") != "reverted")
    return pipeline.Kept(frozenset(runs["profile_id"]), lambda name, own: lake.read(name, seq=seq, profiles=own))


def state(
    lake: Lake,
    profiles: pl.DataFrame,
    policies: Mapping[str, Policy],
    *,
    until: int | None = None,
    reverted: pl.DataFrame | None = None,
    kept: pipeline.Kept | None = None,
) -> dict[str, pl.DataFrame]:
    """Make the tables of a state from the ledger alone.

    Args:
        lake: the store.
        profiles: whose state, at which `as_of` and `seq` (one of each), under which policy.
        policies: the policies in play, by hash.
        until: position of the last commit that counts; default: every one that `as_of` admits.
        reverted: what does not count; default: what is undone by now.
        kept: what earlier runs published, for stages that the task has no use for; default: every stage is run.

    Returns:
        The tables of `PUBLISHED`.
    """
    masked = lake.ledger.reverted() if reverted is None else reverted
    made = pipeline.run(_given(lake, profiles, masked), policies, kept=kept)
    plan = made["consolidation_plan"]
    clock, own = profiles.row(0, named=True)["as_of"], profiles["profile_id"].to_list()
    committed = lake.ledger.decisions(as_of=clock, seq=until, profiles=own)
    after = settle(made | {"decisions": committed, "consolidation_plan": plan.clear()}, policies)
    after["consolidation_plan"] = plan.join(masked, on=["profile_id", "decision_id"], how="anti")
    return {name: after.get(name, made[name]) for name in PUBLISHED}


def rebuild(lake: Lake, profile_id: str) -> dict[str, pl.DataFrame]:
    """Make the published tables of a profile from event zero; equal to what its last commit published.

    Raises:
        ValueError: the profile has no run that stands.
    """
    runs = lake.ledger.runs([profile_id]).filter(pl.col("outcome") != "reverted").sort("commit_seq")
    if runs.is_empty():
        raise ValueError(f"profile {profile_id!r} has no run that stands; consolidate it first")
    return _as_committed(lake, runs.tail(1), lake.ledger.reverted(), runs)


def undo(
    lake: Lake, target: str, *, profile_id: str | None = None, cascade: bool = False, now: datetime
) -> pl.DataFrame:
    """Take back a run, a merge or the decisions about one memory, and publish the tables without them.

    Where no run is left, every memory is published as agents stored it, with its scores at the instant of the last one.
    The ledger keeps the decisions and the undo; nothing is computed backwards. What is taken back is not proposed
    again for the same members and texts, unless a run asks for it.

    Args:
        lake: the store.
        target: run id, plan id, or memory id; of a summary: the whole merge.
        profile_id: take back only what was decided about this profile, of a run of several too; needed for a memory
            id that two profiles use.
        cascade: also take back what builds on it.
        now: when this is asked for.

    Returns:
        The decisions taken back.

    Raises:
        ValueError: nothing that stands has that id, it is ambiguous, or decisions build on it and `cascade` is off.
        Conflict: somebody else changed the profile meanwhile; nothing was changed.
    """
    heads = lake.ledger.heads()  # before all else, so that whoever commits meanwhile makes this a conflict
    decisions = in_force(lake, None if profile_id is None else [profile_id])
    runs = lake.ledger.runs().filter(pl.col("outcome") != "reverted").sort("profile_id", "commit_seq")
    runs = runs if profile_id is None else runs.filter(pl.col("profile_id") == profile_id)
    undone = runs.filter((pl.col("run_id") == target) | (pl.col("plan_id") == target))
    chosen = (
        decisions.join(undone, on=["profile_id", "plan_id"], how="semi")
        if undone.height
        else _about(decisions, target, profile_id)
    )
    built = planning.dependants(decisions, chosen)
    if built.height and not cascade:
        first = built.row(0, named=True)
        raise ValueError(
            f"{built.height} decisions build on {target!r}; the first: {first['action']} {first['memory_id']!r} of "
            f"plan {first['plan_id']}; take them back too with cascade (command line: --cascade)"
        )
    chosen = pl.concat([chosen, built])
    take_back(lake, chosen, undone, heads=heads, reason=f"undo of {target}", now=now, cascade=cascade)
    return chosen


def in_force(lake: Lake, profiles: Collection[str] | None = None) -> pl.DataFrame:
    """Return the decisions that count by now (table `decisions`).

    Args:
        lake: the store.
        profiles: whose; default all.
    """
    return projection.unmasked(lake.ledger.decisions(profiles=profiles), lake.ledger.reverted())


def take_back(
    lake: Lake,
    decisions: pl.DataFrame,
    runs: pl.DataFrame | None = None,
    *,
    heads: Mapping[str, int],
    reason: str,
    now: datetime,
    cascade: bool = False,
) -> None:
    """Let decisions count no more, and publish the tables without them, in one transaction.

    Args:
        lake: the store.
        decisions: rows of the table `decisions`: every one, those that build on others included.
        runs: rows of `consolidation_runs` that are taken back as a whole.
        heads: position of the head of each profile, read before the decisions were chosen.
        reason: why, in words for people.
        now: when this is asked for.
        cascade: whether what builds on others was taken along because that was asked for.

    Raises:
        Conflict: a head has moved since; nothing was changed.
    """
    standing = lake.ledger.runs().filter(pl.col("outcome") != "reverted").sort("profile_id", "commit_seq")
    undone = standing.clear() if runs is None else runs
    now_at = pl.lit(lake.ledger.position() + 1, pl.Int64)
    masked = pl.concat([lake.ledger.reverted(), decisions.select("profile_id", "decision_id", seq=now_at)])
    own = sorted(set(decisions["profile_id"]) | set(undone["profile_id"]))
    left = standing.join(undone, on=["profile_id", "plan_id"], how="anti")
    last = left.filter(pl.col("profile_id").is_in(own)).unique("profile_id", keep="last")
    alone = undone.unique("profile_id", keep="last").join(last, on="profile_id", how="anti")
    as_left, as_stored = _as_committed(lake, last, masked, left), _as_stored(lake, alone, masked)
    lake.republish(
        pl.DataFrame({"profile_id": own, "head": [heads[one] for one in own]}),
        {name: pl.concat([as_left[name], as_stored[name]]) for name in PUBLISHED},
        revert=[
            Revert(
                profile_id=one,
                decision_ids=decisions.filter(pl.col("profile_id") == one)["decision_id"].to_list(),
                reason=reason,
                occurred_at=now,
                recorded_at=now,
                plan_id=next(iter(undone.filter(pl.col("profile_id") == one)["plan_id"]), None),
                cascade=cascade,
            )
            for one in own
        ],
    )


def snapshot_at(lake: Lake, as_of: datetime) -> Path:
    """Make a snapshot of the state at a past instant, from the ledger alone, and return its path.

    Each profile is described under the policy of its last run at or before that instant, else of its first run.

    Raises:
        ValueError: nothing was remembered yet at that instant.
    """
    lake.project()
    events = lake.events(as_of=as_of)
    seq = lake.ledger.position()
    runs = lake.ledger.runs().sort("profile_id", "commit_seq")
    policies, chosen = {}, {}
    for profile_id in events.filter(pl.col("memory_id").is_not_null())["profile_id"].unique().sort():
        own = runs.filter(pl.col("profile_id") == profile_id)
        before = own.filter(pl.col("as_of") <= as_of)
        row = before.row(-1, named=True) if before.height else own.row(0, named=True) if own.height else None
        chosen[profile_id] = committed_policy(lake.ledger, row["commit_seq"]) if row else Policy()
        policies[chosen[profile_id].digest] = chosen[profile_id]
    if not chosen:
        raise ValueError(f"nothing was remembered by {as_of.isoformat()}; choose a later instant")
    profiles = pipeline.participants(
        chosen,
        ledger_digest=lake.ledger.digest(seq),
        as_of=as_of,
        seq=seq,
        heads=lake.ledger.heads(list(chosen)),
        since={},
    )
    recorded = {
        "decisions": lake.ledger.decisions(as_of=as_of),
        "reverted": lake.ledger.reverted(),
        "consolidation_runs": runs.filter(pl.col("as_of") <= as_of),
        "dead_letters": lake.ledger.dead_letters(),
    }
    tables = state(lake, profiles, policies) | recorded
    return snapshot.build(
        lake.home,
        {name: tables[name] for name in snapshot_tables.SOURCES},
        {name: lake.paths(name) for name in snapshot_views.LINKED},
        name=f"{seq:012d}-{profiles['plan_id'][0][:8]}-{as_of:%Y%m%dT%H%M%SZ}",
        created_at=datetime.now(UTC),
        as_of=as_of,
        uses=events.filter(pl.col("event_type").is_in(snapshot_tables.USES)).select(snapshot_tables.USE_COLUMNS),
        policies_in_force=chosen,
    )


def _about(standing: pl.DataFrame, memory_id: str, profile_id: str | None) -> pl.DataFrame:
    """Decisions about a memory: of a summary the merge as a whole, else the newest plan's about it."""
    own = standing if profile_id is None else standing.filter(pl.col("profile_id") == profile_id)
    merge = own.filter((pl.col("memory_id") == memory_id) & (pl.col("action") == Action.SUMMARISE.value))
    found = (
        own.filter((pl.col("memory_id") == memory_id) | (pl.col("target_id") == memory_id)).join(
            merge, on=["profile_id", "plan_id"], how="semi"
        )
        if merge.height
        else own.filter((pl.col("memory_id") == memory_id) & (pl.col("action") != Action.LINK.value))
    )
    if found.is_empty():
        raise ValueError(
            f"no run, plan or decision that stands is about {shown(memory_id)}; `status` and `explain` name them"
        )
    if len(names := found["profile_id"].unique().sort().to_list()) > 1:
        raise ValueError(f"memory {memory_id!r} is in profiles {', '.join(names)}; name one with --profile")
    return found.filter(pl.col("seq") == pl.col("seq").max())


def _as_committed(
    lake: Lake, runs: pl.DataFrame, reverted: pl.DataFrame, standing: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    """Tables of profiles as a run of each published them, less what is reverted; profiles of one run are made together.

    Args:
        lake: the store.
        runs: rows of `consolidation_runs`, one a profile.
        reverted: what does not count.
        standing: every run that stands, by profile and position.
    """
    made = []
    for own, policies, seqs in _states(lake, runs):
        kept = _remade(lake, own, standing.filter(pl.col("commit_seq") < min(seqs)), reverted)
        made.append(state(lake, own, policies, until=max(seqs), reverted=reverted, kept=kept))
    return {name: pl.concat([TABLES[name].empty(), *(tables[name] for tables in made)]) for name in PUBLISHED}


def _remade(lake: Lake, profiles: pl.DataFrame, earlier: pl.DataFrame, reverted: pl.DataFrame) -> pipeline.Kept:
    """What a run found published: each table as the last earlier run made it that had a use for it, else the first."""
    before = earlier.join(profiles, on="profile_id", how="semi")
    tables: dict[str, pl.DataFrame] = {}
    done: dict[tuple[int, ...], dict[str, pl.DataFrame]] = {}
    for stage in pipeline.idle(profiles["task"][0]):
        tasks = [task for task, actions in pipeline.TASKS.items() if actions & stage.serves]
        useful = before.filter(pl.col("task").is_in(tasks)).unique("profile_id", keep="last", maintain_order=True)
        first = before.unique("profile_id", keep="first", maintain_order=True)
        makers = pl.concat([useful, first.join(useful, on="profile_id", how="anti")]).sort("profile_id")
        at = tuple(makers["commit_seq"])
        if at not in done:
            states = [
                state(lake, made, policies, until=max(seqs), reverted=reverted)
                for made, policies, seqs in _states(lake, makers)
            ]
            done[at] = {name: pl.concat([TABLES[name].empty(), *(one[name] for one in states)]) for name in PUBLISHED}
        tables |= {name: done[at][name] for name in stage.gives}
    return pipeline.Kept(
        frozenset(before["profile_id"]), lambda name, own: tables[name].filter(pl.col("profile_id").is_in(list(own)))
    )


def _as_stored(lake: Lake, runs: pl.DataFrame, reverted: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables of profiles of which no run is left: their memories and what describes them. Arguments as above."""
    tables = [{name: TABLES[name].empty() for name in PUBLISHED}]
    for profiles, policies, _ in _states(lake, runs):
        made = pipeline.run(_given(lake, profiles, reverted), policies, stages=pipeline.DESCRIBING)
        found = made | settle(made | {"consolidation_plan": TABLES["consolidation_plan"].empty()}, policies)
        tables.append({name: found.get(name, rows) for name, rows in tables[0].items()})
    return {name: pl.concat([one[name] for one in tables]) for name in PUBLISHED}


def _states(lake: Lake, runs: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, dict[str, Policy], list[int]]]:
    """From which states, under which policies and at which positions runs were made, those of one run together."""
    for _, run in runs.sort("profile_id").group_by("run_id", "as_of", "base_seq", maintain_order=True):
        seqs = run["commit_seq"].to_list()
        profiles = lake.read("profiles", seq=max(seqs), profiles=run["profile_id"].to_list())
        if lost := sorted(set(run["profile_id"]) - set(profiles["profile_id"])):
            raise LakeError(
                f"{lake.home}: from which state the run at position {max(seqs)} was made for profile {lost[0]!r} is "
                "lost with a file of the table profiles; put that file back from a backup"
            )
        yield profiles, {row["policy_hash"]: committed_policy(lake.ledger, row["commit_seq"]) for row in run.iter_rows(named=True)}, seqs


def _given(lake: Lake, profiles: pl.DataFrame, reverted: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What the stages of a run over one state are given."""
    own = profiles["profile_id"].to_list()
    clock, seq = profiles.row(0, named=True)["as_of"], profiles.row(0, named=True)["seq"]
    return {
        "profiles": profiles,
        "events": lake.events(as_of=clock, seq=seq, profiles=own),
        "decisions": lake.ledger.decisions(as_of=clock, seq=seq, profiles=own),
        "reverted": reverted,
        **{name: lake.read(name, profiles=own) for name in READ_OUT},
    }
