"""Applies the stages in order, to profiles under several policies at once.

Not here: the stages themselves (`stages`), reading and storing tables (`lake/`), and what starts a run (`jobs/`,
`sensors/`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol, get_type_hints

import polars as pl

from memory_pipeline.consolidation import scope as scopes
from memory_pipeline.consolidation.context import TASKS, Complete, Context, recorded_only
from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.stage import Stage
from memory_pipeline.consolidation.stages import STAGES
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

Tables = Mapping[str, pl.DataFrame]

Work = Callable[["Part", Tables], dict[str, pl.DataFrame]]
"""Makes tables from those of a part."""


class Engine(Protocol):
    """Where the parts of a run are computed (see the room `engine`); profiles never interact, so any place will do."""

    @property
    def rows_at_once(self) -> int | None:
        """Maximum rows of a part's largest table, unless one profile has more; None: as many as fit in memory well."""

    def map(self, work: Work, parts: Iterable[tuple["Part", Tables]]) -> Iterator[dict[str, pl.DataFrame]]:
        """Yield what `work` makes of each part, in order; parts are read only a few ahead of what is yielded."""


class InTurn:
    """Computes one part after another in this thread."""

    rows_at_once = None

    def map(self, work: Work, parts: Iterable[tuple["Part", Tables]]) -> Iterator[dict[str, pl.DataFrame]]:
        """Yield what `work` makes of each part."""
        return (work(part, tables) for part, tables in parts)


IN_TURN: Final = InTurn()


def ordered(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Return stages such that each comes after those whose tables it takes; otherwise in the order given.

    Raises ValueError: stages depend on one another.
    """
    waiting = list(stages)
    order: list[Stage] = []
    while waiting:
        pending = {name for stage in waiting for name in stage.gives}
        ready = next((stage for stage in waiting if not pending & (set(stage.takes) - set(stage.gives))), None)
        if ready is None:
            raise ValueError(f"stages depend on one another: {', '.join(stage.name for stage in waiting)}")
        order.append(ready)
        waiting.remove(ready)
    return tuple(order)


ORDER: Final = ordered(STAGES.values())
"""The stages in the order of a run."""

SETTLING: Final = "settle"
"""Name of the stage that makes the state after the plan."""
PLANNING: Final = tuple(stage for stage in ORDER if stage.name != SETTLING)
"""The stages up to the plan."""

SOURCES: Final = tuple(
    dict.fromkeys(
        name
        for stage in ORDER
        for name in ("profiles", *stage.takes)
        if name in stage.gives or not any(name in other.gives for other in ORDER)
    )
)
"""Tables that a run is given: those that no stage makes, those that a stage adds to, and those of `FROM_LAST_RUN`."""

FROM_LAST_RUN: Final = tuple(name for stage in ORDER for name in stage.from_last_run)
"""Tables in which a stage finds again what it made in the last run; a run that is not given one makes all of it."""

REUSED: Final = tuple(name for stage in ORDER for name in stage.reuse)
"""Those of them that say what they were made from."""

RECORDED: Final = tuple(name for stage in ORDER for name in stage.recorded)
"""Tables that stages add to: what was extracted from texts, or asked about them, once."""

ROWS_AT_ONCE: Final = 25_000
"""Maximum rows of the largest table that a stage is given at once, unless one profile has more; bounds the memory."""

DESCRIBING: Final = tuple(
    STAGES[name]
    for name in ("project", "enrich_texts", "find_neighbours", "derive_edges", "measure_importance", "score")
)
"""Stages that fold the ledger into memories and describe them, without deciding anything."""


@dataclass(frozen=True)
class LastRun:
    """The tables of the last run, which stand in for stages whose results no decision of this run needs."""

    profiles: frozenset[str] = frozenset()
    """Profiles that have a last run; for the others every stage runs."""
    read: Callable[[str, Sequence[str]], pl.DataFrame] = lambda name, _: TABLES[name].empty()
    """Returns the rows of a table for such profiles."""


def idle(task: str) -> list[Stage]:
    """Return the stages whose tables no decision of a task needs."""
    return [stage for stage in ORDER if not stage.serves & TASKS[task]]


@dataclass(frozen=True)
class Part:
    """Profiles under one policy that a run computes together, apart from their rows."""

    context: Context
    stages: tuple[Stage, ...]
    keep: frozenset[str]
    """Tables to return."""
    having_last_run: frozenset[str] = frozenset()
    """Profiles whose tables of the last run, named with `_LAST`, stand in for stages that the task does not need."""


_LAST: Final = "last "
"""Prefix of the names of tables of the last run among those of a part."""


def run(
    tables: Tables,
    policies: Mapping[str, Policy],
    *,
    stages: Sequence[Stage] = ORDER,
    keep: Collection[str] | None = None,
    last_run: LastRun | None = None,
    complete: Complete = recorded_only,
    engine: Engine = IN_TURN,
) -> dict[str, pl.DataFrame]:
    """Run stages in order: for a run, a preview, a rebuild, an undo or a view of a past state.

    All stages run for one group of profiles before the next (see `ROWS_AT_ONCE`), so that apart from the tables that
    are kept, only those of the groups at work are in memory.

    Args:
        tables: the tables of `SOURCES`; those of `FROM_LAST_RUN` may be missing.
        policies: the policies in play, by hash.
        keep: tables to return; default: the given ones, and all that the stages make.
        last_run: stands in for stages that the task does not need; default: every stage runs.
        complete: answers requests to a language model; if it is not `recorded_only`, it must be computed in turn.
        engine: where the groups are computed.

    Returns:
        The tables. One that a stage adds to holds all its rows.
    """
    every = parts(
        tables, policies, stages=stages, keep=keep, last_run=last_run, complete=complete, rows=engine.rows_at_once
    )
    return united(tables, engine.map(compute, every), stages=stages, keep=keep)


def parts(
    tables: Tables,
    policies: Mapping[str, Policy],
    *,
    stages: Sequence[Stage] = ORDER,
    keep: Collection[str] | None = None,
    last_run: LastRun | None = None,
    complete: Complete = recorded_only,
    rows: int | None = None,
) -> Iterator[tuple[Part, dict[str, pl.DataFrame]]]:
    """Yield the parts of a run, each with its rows of the tables, for `compute`; the arguments are those of `run`.

    `rows` is the maximum of the largest table of a part, unless one profile has more; default: `ROWS_AT_ONCE`.
    """
    given = {name: TABLES[name].empty() for name in FROM_LAST_RUN} | {**tables}
    kept = frozenset(name for stage in stages for name in stage.gives if keep is None or name in keep)
    last_run = last_run or LastRun()
    for context, profiles in _groups(given, given, policies, rows or ROWS_AT_ONCE):
        own = {name: _of(profiles, table) for name, table in given.items()}
        having = last_run.profiles.intersection(profiles["profile_id"])
        if having:
            idle_stages = [stage for stage in stages if not context.actions & stage.serves]
            own |= {_LAST + name: last_run.read(name, sorted(having)) for stage in idle_stages for name in stage.reused}
        yield Part(replace(context, complete=complete), tuple(stages), kept, having), own


def compute(part: Part, tables: Tables) -> dict[str, pl.DataFrame]:
    """Run the stages of a part, and return the rows of the tables to keep; of recorded ones, only the rows to add."""
    if tables["profiles"].is_empty():
        return {name: TABLES[name].empty() for name in part.keep}
    known, made = {**tables}, {name: list[pl.DataFrame]() for name in part.keep}
    for stage in part.stages:
        rows = _made(stage, part, known)
        known |= with_recorded(stage, known, rows)
        for name in part.keep & rows.keys():
            made[name].append(rows[name])
    return {name: _united(name, rows) for name, rows in made.items()}


def united(
    tables: Tables,
    made: Iterable[Tables],
    *,
    stages: Sequence[Stage] = ORDER,
    keep: Collection[str] | None = None,
) -> dict[str, pl.DataFrame]:
    """Return the tables of a run (see `run`) from those that it was given and what `compute` made of each part."""
    given = {name: TABLES[name].empty() for name in FROM_LAST_RUN} | {**tables}
    gives = dict.fromkeys(name for stage in stages for name in stage.gives if keep is None or name in keep)
    rows = {name: [given[name]] if name in RECORDED else [] for name in gives}
    for part in made:
        for name, own in part.items():
            rows[name].append(own)
    unmade = {name: table for name, table in given.items() if keep is None or name in keep}
    return unmade | {name: _united(name, rows.pop(name)) for name in gives}


def _united(name: str, rows: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return rows of one table, each in canonical order, as one table; without a copy if only one has rows."""
    filled = [part for part in rows if part.height] or rows[:1]
    return filled[0] if len(filled) == 1 else TABLES[name].conform(pl.concat(filled))


def _made(stage: Stage, part: Part, tables: Tables) -> dict[str, pl.DataFrame]:
    """Return what a stage makes of the tables of some profiles under one policy."""
    computed, made = tables["profiles"].select("profile_id"), list[dict[str, pl.DataFrame]]()
    given = {name: tables[name] for name in stage.takes}
    if part.having_last_run and not part.context.actions & stage.serves:
        made.append(
            {name: tables[_LAST + name] if name in stage.reused else TABLES[name].empty() for name in stage.gives}
        )
        computed = computed.filter(~pl.col("profile_id").is_in(list(part.having_last_run)))
        given = {name: _of(computed, table) for name, table in given.items()}
    if computed.height or not made:
        made.append(stage.made(given, part.context))
    return {name: _united(name, [one[name] for one in made]) for name in stage.gives}


def with_recorded(stage: Stage, tables: Tables, made: Tables) -> dict[str, pl.DataFrame]:
    """Return what a stage made; tables that it adds to with the rows recorded before."""
    return {
        name: _united(name, [tables[name], frame]) if name in stage.recorded else frame for name, frame in made.items()
    }


SETTLED: Final = {name.removeprefix("settled_"): name for name in STAGES[SETTLING].gives}
"""Tables that a plan changes, with the names of their settled forms."""


def settle(tables: Tables, policies: Mapping[str, Policy]) -> dict[str, pl.DataFrame]:
    """Return the tables of a run (`SETTLED`) as they are once its plan is committed, by the names that are published.

    Takes what the last stage takes, perhaps with a plan or decisions other than the run's. Of `enrichment` and
    `vectors` it gives the rows that new summaries add.
    """
    stage = STAGES[SETTLING]
    taken = {name: tables[name] for name in ("profiles", *stage.takes)}
    made = run(taken, policies, stages=[stage], keep=stage.gives)
    return {name: made[form] for name, form in SETTLED.items()}


def by_policy(function: Callable[..., pl.DataFrame], tables: Tables, policies: Mapping[str, Policy]) -> pl.DataFrame:
    """Apply a function of `Inputs` and a context, such as `checking.violations`, under each policy; unite the rows."""
    inputs = get_type_hints(function)["inputs"]
    return pl.concat(
        [
            function(inputs(**{name: _of(profiles, tables[name]) for name in inputs._fields}), context)
            for context, profiles in _groups(tables, inputs._fields, policies, ROWS_AT_ONCE)
        ]
    )


_NOBODY: Final = Context(policy=Policy(), as_of=datetime.min.replace(tzinfo=UTC), plan_id="")
"""The context of a run over no profile, in which every table is empty."""


def _groups(
    tables: Tables, takes: Iterable[str], policies: Mapping[str, Policy], rows_at_once: int
) -> Iterator[tuple[Context, pl.DataFrame]]:
    """Yield profiles under one policy in groups; if there is no profile, one empty group.

    A group ends with the profile that brings its rows of the largest table to `rows_at_once`. Profiles never interact,
    so the tables are the same whatever the groups.
    """
    if tables["profiles"].is_empty():
        yield _NOBODY, tables["profiles"].select("profile_id")
    largest = max((tables[name] for name in takes), key=lambda table: table.height)
    rows = largest.group_by("profile_id").agg(rows=pl.len())
    for context, profiles in _contexts(tables["profiles"], policies):
        counted = profiles.join(rows, on="profile_id", how="left", maintain_order="left")
        before = pl.col("rows").fill_null(0).cum_sum().shift(1, fill_value=0)
        for _, group in counted.group_by(before // rows_at_once, maintain_order=True):
            yield context, group.select("profile_id")


def _of(profiles: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of some profiles, in order; without a copy if the table is sorted by profile."""
    if table.is_empty():
        return table
    owners = table["profile_id"]
    if profiles.height and owners.is_sorted():
        first, last = profiles["profile_id"].sort()[[0, -1]]
        start, end = owners.search_sorted(first, side="left"), owners.search_sorted(last, side="right")
        table = table.slice(start, end - start)
        if table["profile_id"].unique().is_in(profiles["profile_id"].implode()).all():
            return table
    return table.join(profiles, on="profile_id", how="semi", maintain_order="left")


def _contexts(profiles: pl.DataFrame, policies: Mapping[str, Policy]) -> Iterator[tuple[Context, pl.DataFrame]]:
    """Yield the context of each policy in play, with the `profile_id`s of its profiles."""
    shared = ["policy_hash", "plan_id", "as_of", "task", "scope"]
    for values, group in profiles.group_by(shared, maintain_order=True):
        row: dict[str, Any] = dict(zip(shared, values, strict=True))
        context = Context(
            policy=policies[row["policy_hash"]],
            as_of=row["as_of"],
            plan_id=row["plan_id"],
            actions=TASKS[row["task"]] - (scopes.WHOLE if scopes.part(row["scope"]) else frozenset()),
            scope=row["scope"],
        )
        yield context, group.select("profile_id")


def participants(
    policies: Mapping[str, Policy],
    *,
    ledger_digest: str,
    as_of: datetime,
    seq: int,
    heads: Mapping[str, int],
    since: Mapping[str, int],
    task: str = "full",
    scope: str = "all",
    trigger: str = "manual",
    caught_up: Mapping[str, int] | None = None,
    row_limits: Mapping[str, int] | None = None,
    max_archived_share: float | None = None,
    retry_reverted: bool = False,
) -> pl.DataFrame:
    """Return the table `profiles`: who takes part in a run, from which state, under which policy.

    The arguments are its columns, where profiles differ by profile: heads and `since` are the positions of the last
    commit and of the last reflection, `caught_up` that of the last commit that deferred no memory, read with row limits
    (default: all memories are compared and grouped). The ledger is read up to `seq`, and has that digest there of what
    agents wrote; `max_archived_share` stands for the policy's.
    """
    rows = [
        {
            "profile_id": profile_id,
            "preset": policy.preset,
            "policy_hash": policy.digest,
            "as_of": as_of,
            "seq": seq,
            "head": heads.get(profile_id, 0),
            "plan_id": planning.plan_id(ledger_digest, policy.digest, as_of, seq),
            "trigger": trigger,
            "task": task,
            "scope": "recent" if task == "reflect" else scope,
            "since": since.get(profile_id, 0) if task == "reflect" or scope == "recent" else 0,
            "caught_up": (caught_up or {}).get(profile_id, 0),
            "row_limit": (row_limits or {}).get(profile_id, 0),
            "max_archived_share": policy.max_archived_share if max_archived_share is None else max_archived_share,
            "retry_reverted": retry_reverted,
        }
        for profile_id, policy in sorted(policies.items())
    ]
    return TABLES["profiles"].conform(pl.DataFrame(rows, schema=TABLES["profiles"].types))
