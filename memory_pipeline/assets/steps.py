"""The steps that read and compute: the ledger, then the stages of each group, then the plan and the state after it.

A step takes the tables of steps before it as real inputs, and hands on its own as one output, which an IO manager
keeps. Every table is held against its schema before it is handed on. Nothing here publishes.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import dagster as dg
import polars as pl

from memory_pipeline.assets import catalogue, checks, run_tags
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, overtaken, refusing, store_of
from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.plans import checking
from memory_pipeline.consolidation.stage import Stage
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.erasure.erase import resume_erasure
from memory_pipeline.llm.openai import CompletionUnavailable
from memory_pipeline.runs import commit, consolidate, inputs, resting

Tables = dict[str, pl.DataFrame]

LEDGER: Final = "ledger"
"""The step that reads the ledger."""
PLAN: Final = "publication"
"""The group whose stages plan the run."""

HANDED_ON: Final[Mapping[str, tuple[str, ...]]] = {
    LEDGER: catalogue.LEDGER,
    **{group: tuple(name for stage in made for name in stage.gives) for group, made in catalogue.STAGES.items()},
}
"""The tables that each step hands on."""


def givers(tables: Collection[str], *, before: str = "") -> tuple[str, ...]:
    """Return the steps that hand on one of the tables, up to the step `before`; the first one is always among them."""
    steps = list(HANDED_ON)
    earlier = steps[: steps.index(before)] if before else steps
    return tuple(step for step in earlier if step == LEDGER or set(HANDED_ON[step]) & set(tables))


def united(handed: Mapping[str, Tables]) -> Tables:
    """Return the tables that several steps handed on, by name."""
    return {name: table for tables in handed.values() for name, table in tables.items()}


def reading_step(names: Namespace) -> dg.OpDefinition:
    """Make the step that reads one state (as_of, seq) of the ledger, and says in the run's tags what it is about."""
    store_key = names.name("store")

    @dg.op(
        name=names.name("read_ledger"),
        description="Reads one state (as_of, seq) of the ledger: new events are projected into the lake first.",
        out={LEDGER: dg.Out(io_manager_key=names.name("io_manager"))},
        required_resource_keys={store_key},
    )
    def read_ledger(context: dg.OpExecutionContext) -> Iterator[Any]:
        store = store_of(context, names)
        with refusing(), overtaken(context.instance, context.run_id):
            resume_erasure(store.lake)
            selected = store.participants()
            store.lake.project()
            profiles = selected if store.run.plan_file else resting.leave(store.lake, selected, run_id=context.run_id)
            read = {name: store.read(name, profiles) for name in catalogue.LEDGER[1:]}
        tags = {**run_tags.WRITES, **run_tags.describing(selected)}
        context.instance.add_run_tags(context.run_id, tags)
        run_tags.take_turns(context.instance, names)
        at_rest = selected.height - profiles.height
        context.log.info("[consolidation] profiles in this run: %d, left alone: %d", profiles.height, at_rest)
        tables = {"profiles": profiles} | read
        yield from _checked(names, tables)
        yield dg.Output(tables, LEDGER)

    return read_ledger


def stages_step(group: str, names: Namespace) -> dg.OpDefinition:
    """Make the step that runs the stages of a group.

    The rows that it adds to recorded tables (`enrichment`, `vectors`, `completions`) become durable in this step; they
    are keyed by content, and change no existing row.
    """
    store_key, stages = names.name("store"), catalogue.STAGES[group]
    taken = _taken(group)

    @dg.op(
        name=names.name(f"make_{group}"),
        description=" ".join(stage.description for stage in stages),
        ins={step: dg.In() for step in givers(taken, before=group)},
        out={group: dg.Out(io_manager_key=names.name("io_manager"))},
        required_resource_keys={store_key},
    )
    def make(context: dg.OpExecutionContext, **handed: Tables) -> Iterator[Any]:
        store, tables = store_of(context, names), united(handed)
        began = time.perf_counter()
        with refusing(CompletionUnavailable, EngineError):
            given = {name: tables[name] for name in taken}
            made = planned(store, given) if group == PLAN else compute(stages, store, given)
        yield from _checked(names, made)
        if group == PLAN:
            yield from _check_plan(names, store, {**tables, **made})
        counts = ", ".join(f"{name} {frame.height:,}" for name, frame in made.items())
        context.log.info("[consolidation] %s rows, %.1fs elapsed", counts, time.perf_counter() - began)
        yield dg.Output(made, group)

    return make


def _taken(group: str) -> tuple[str, ...]:
    """Return the tables that the step of a group takes from steps before it."""
    stages = catalogue.STAGES[group]
    needed = ["profiles", *(name for stage in stages for name in stage.takes)]
    if group == PLAN:
        needed += checking.Inputs._fields
    return tuple(dict.fromkeys(name for name in needed if name not in HANDED_ON[group]))


def compute(stages: Sequence[Stage], store: Store, tables: pipeline.Tables) -> Tables:
    """Run stages on their inputs, store the rows that they add to recorded tables, and return their whole tables."""
    profiles = tables["profiles"]
    policies = inputs.policies(store.settings, profiles)
    recorded = [name for stage in stages for name in stage.recorded]
    from_last_run = [name for stage in stages for name in stage.from_last_run]
    made = pipeline.run(
        {**tables} | inputs.read_tables(store.lake, [*recorded, *from_last_run], profiles),
        policies,
        stages=stages,
        keep={name for stage in stages for name in stage.gives},
        last_run=consolidate.last_run(store.lake, profiles),
        complete=store.completer(policies),
        engine=store.engine,
    )
    commit.record(store.lake, profiles, {name: made[name] for name in recorded})
    return made


def planned(store: Store, tables: Tables) -> Tables:
    """Plan the run, or take the plan that it is to apply, and settle the state after it."""
    plan, settle = catalogue.STAGES[PLAN]
    made = compute((plan,), store, tables)
    made["consolidation_plan"] = store.agreed(made["consolidation_plan"], tables)
    return made | compute((settle,), store, tables | made)


def _checked(names: Namespace, tables: Tables) -> Iterator[dg.AssetCheckEvaluation]:
    """Hold tables against their schemas."""
    for name, frame in tables.items():
        result = checks.schema_and_grain_of(names.key(name), frame)
        if name in catalogue.TABLES:
            yield checks.evaluation(result, blocking=True)
        if not result.passed:
            raise dg.Failure(f"table {name}: {result.description}; nothing was changed", allow_retries=False)


def _check_plan(names: Namespace, store: Store, tables: Tables) -> Iterator[dg.AssetCheckEvaluation]:
    """Check a plan before anything is changed."""
    broken = commit.violations(tables, inputs.policies(store.settings, tables["profiles"]))
    invariants, quota = checks.of_plan(names, broken, tables)
    yield checks.evaluation(invariants, blocking=True)
    yield checks.evaluation(quota, blocking=False)
    if broken.height:
        raise dg.Failure(str(commit.InvariantBroken(broken)), allow_retries=False)
