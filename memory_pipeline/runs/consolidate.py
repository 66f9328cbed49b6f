"""Runs all stages in this process, without Dagster: a preview, which writes nothing, or a run, which commits."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Final

import polars as pl

from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.context import Complete, recorded_only
from memory_pipeline.consolidation.model_prompts import KEY
from memory_pipeline.consolidation.model_requests import ModelAnswers
from memory_pipeline.consolidation.plans import telling
from memory_pipeline.engine import engines
from memory_pipeline.lake.tables import Conflict, Lake
from memory_pipeline.llm.openai import OpenAICompletionClient
from memory_pipeline.runs import commit, inputs, log, shards
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, Settings

_CONFLICTS: Final = 2
"""Conflicts after which agents that update memories of a profile wait for its commit."""

_ATTEMPTS: Final = 4
"""Attempts to commit; only erasures, undos and other runs can prevent the later ones."""


IN_MEMORY: Final = frozenset({*commit.COMMITTED_FROM, *pipeline.RECORDED})
"""Tables that a run keeps in memory up to its end: what its commit reads, and what is recorded."""


def consolidate(
    lake: Lake,
    settings: Settings,
    profiles: pl.DataFrame,
    *,
    run_id: str,
    keep: Collection[str] | None = IN_MEMORY,
) -> dict[str, pl.DataFrame]:
    """Run every stage and commit, shard by shard; return the tables as they were committed.

    Only the shards at work are in memory. Profiles for which others changed what the plan rests on are planned again
    (see `commit_all`). Answers of a language model are stored once all are in, even if the commit fails, so that
    nothing is asked twice. The engine plans the next shard while one is committed; committed shards stay committed,
    even if a later shard fails. `keep` names the tables to return; None: all.

    Raises:
        CompletionUnavailable: a policy names a language model, and the package `openai` is not installed.
        EngineError: the engine could not compute a part.
        InvariantBroken: the plan would break an invariant; no profile of that shard was changed.
        Conflict: others changed a profile at every attempt; it was not changed.
        StaleInstant: the clock of the run lies before a profile's last commit; nothing was planned.
    """
    started_at = datetime.now(UTC)
    lake.refuse_stale(profiles)
    lake.project()
    planned = None if keep is None else {*IN_MEMORY, *keep}
    done: list[dict[str, pl.DataFrame]] = []
    for tables in _by_shard(lake, settings, profiles, planned):
        own = tables["profiles"]
        commit.record(lake, own, {name: tables[name] for name in pipeline.RECORDED})
        _, committed = commit_all(lake, settings, tables, run_id=run_id, started_at=started_at)
        done.append({name: rows for name, rows in committed.items() if keep is None or name in keep})
    if len(done) == 1:
        return done[0]
    return {name: TABLES[name].conform(pl.concat([one[name] for one in done])) for name in done[0]}


def _by_shard(
    lake: Lake, settings: Settings, profiles: pl.DataFrame, keep: Collection[str] | None
) -> Iterator[dict[str, pl.DataFrame]]:
    """Yield the tables of a run, planned shard by shard; the engine works on the next one meanwhile."""
    policies, memories = inputs.policies(settings, profiles), _memories(lake, profiles)
    engine = engines.choose(settings, memories=memories)
    complete = completer(settings, policies.values())
    given: deque[tuple[dict[str, pl.DataFrame], int]] = deque()

    def parts() -> Iterator[tuple[pipeline.Part, dict[str, pl.DataFrame]]]:
        for own in shards.cut(profiles, shards.count(settings, memories)):
            tables = _sources(lake, own)
            past = last_run(lake, own)
            every = [
                *pipeline.parts(tables, policies, keep=keep, last_run=past, complete=complete, rows=engine.rows_at_once)
            ]
            given.append((tables, len(every)))
            yield from every

    made = engine.map(pipeline.compute, parts())
    for first in made:
        tables, count = given.popleft()
        yield pipeline.united(tables, chain([first], islice(made, count - 1)), keep=keep)


def _memories(lake: Lake, profiles: pl.DataFrame) -> int:
    """Return how many memories the profiles of a run have stored."""
    stored = lake.ledger.profiles().join(profiles, on="profile_id", how="semi")
    return int(stored["memories"].sum())


def _sources(lake: Lake, profiles: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Read the tables that a run of these profiles is given."""
    names = [name for name in pipeline.SOURCES if name != "profiles"]
    return {"profiles": profiles} | inputs.read_tables(lake, names, profiles)


def commit_all(
    lake: Lake,
    settings: Settings,
    tables: pipeline.Tables,
    *,
    run_id: str,
    started_at: datetime | None = None,
    say: Callable[[str], None] = log.LOGGER.info,
    warn: Callable[[str], None] = log.LOGGER.warning,
) -> tuple[dict[str, int], dict[str, pl.DataFrame]]:
    """Commit a plan; plan and commit again the profiles for which others changed what it rests on.

    After two conflicts agents that update memories of such a profile wait until it is committed. Arguments as for
    `commit.commit`. Returns the position of the commit of each profile, and the tables as they were committed.

    Raises:
        InvariantBroken: a plan would break an invariant; the profile was not changed.
        Conflict: others changed a profile at every attempt; it was not changed.
    """
    committed, left, positions = dict(tables), tables, dict[str, int]()
    for number in range(1, _ATTEMPTS + 1):
        owners = left["profiles"]["profile_id"].to_list()
        with lake.ledger.database.holding(owners) if number > _CONFLICTS else nullcontext():
            if number > 1:
                profiles = inputs.select_again(lake, settings, left["profiles"])
                left = preview(lake, settings, profiles, keep={*committed, *pipeline.RECORDED})
                commit.record(lake, profiles, {name: left[name] for name in pipeline.RECORDED})
                others = ~pl.col("profile_id").is_in(owners)
                committed = {
                    name: TABLES[name].conform(pl.concat([rows.filter(others), left[name]]))
                    for name, rows in committed.items()
                }
            policies = inputs.policies(settings, left["profiles"])
            try:
                positions |= commit.commit(
                    lake, left, policies, run_id=run_id, started_at=started_at, say=say, warn=warn
                )
            except Conflict:
                if number == _ATTEMPTS:
                    raise
        if positions.keys() >= set(left["profiles"]["profile_id"]):
            break
        left = {name: rows.filter(~pl.col("profile_id").is_in(list(positions))) for name, rows in left.items()}
    return positions, committed


def preview(
    lake: Lake, settings: Settings, profiles: pl.DataFrame, *, keep: Collection[str] | None = IN_MEMORY
) -> dict[str, pl.DataFrame]:
    """Run every stage, up to the state after the plan, and write nothing.

    Arguments and errors as for `consolidate`; a preview raises neither `InvariantBroken` nor `Conflict`.
    """
    policies = inputs.policies(settings, profiles)
    return pipeline.run(
        _sources(lake, profiles),
        policies,
        keep=keep,
        last_run=last_run(lake, profiles),
        complete=completer(settings, policies.values()),
        engine=engines.choose(settings, memories=_memories(lake, profiles)),
    )


def dry_run(lake: Lake, settings: Settings, profiles: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Preview a run and check its plan; write nothing. Arguments and errors as for `consolidate`.

    Returns what a plan file holds: `profiles`, `consolidation_plan`, as `changes` the plan as people read it, and as
    `completions` the answers of a model that are not recorded yet, those about pairs of memories included.
    """
    tables = preview(lake, settings, profiles)
    if (broken := commit.violations(tables, inputs.policies(settings, profiles))).height:
        raise commit.InvariantBroken(broken)
    owners = profiles["profile_id"].to_list()
    answers = [
        TABLES["completions"].conform(tables[name].join(lake.read(name, profiles=owners), on=KEY, how="anti"))
        for name in ("verdicts", "completions")
    ]
    plan = tables["consolidation_plan"]
    changes = telling.tell(plan, tables["memories"], settings.zone)
    return {"profiles": profiles, "consolidation_plan": plan, "changes": changes, "completions": pl.concat(answers)}


def completer(settings: Settings, policies: Iterable[Policy]) -> Complete:
    """Return the client for a run's requests to a language model, within the budget of one run.

    Raises CompletionUnavailable if a policy names a language model, and the package `openai` is not installed.
    """
    if not any(policy.llm_model for policy in policies):
        return recorded_only
    return ModelAnswers(OpenAICompletionClient(settings), settings)


def last_run(lake: Lake, profiles: pl.DataFrame) -> pipeline.LastRun:
    """Return what the last run published at the state that a run reads, for stages that its task does not need."""
    if profiles.is_empty() or not pipeline.idle(profiles["task"][0]):
        return pipeline.LastRun()
    owners, seq = profiles["profile_id"].to_list(), profiles["seq"][0]
    runs = lake.ledger.runs(owners, seq=seq).filter(pl.col("outcome") != "reverted")
    # An erasure in another profile ends the states before it. If nothing was published since, the newest is the same.
    current = lake.ledger.published(owners) <= seq
    return pipeline.LastRun(
        frozenset(runs["profile_id"]), lambda name, own: lake.read(name, seq=None if current else seq, profiles=own)
    )
