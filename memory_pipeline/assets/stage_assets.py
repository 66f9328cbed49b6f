"""Makes the assets of a stage from its signature: real inputs, outputs, and the blocking check of every table.

Not here: what a stage computes (`consolidation/`), and who owns an asset (`definitions.py`).
"""

import time
from collections.abc import Iterator, Mapping, Sequence

import dagster as dg
import polars as pl

from memory_pipeline.assets import checks
from memory_pipeline.assets.figures import describe
from memory_pipeline.assets.lineage import column_lineage
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, refusing, store_of
from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.stage import Stage
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.llm.openai import CompletionUnavailable
from memory_pipeline.runs import commit, inputs
from memory_pipeline.schemas import TABLES


def asset_ins(names: Namespace, tables: Sequence[str]) -> dict[str, dg.AssetIn]:
    """Declare tables as inputs, which an IO manager loads."""
    return {name: dg.AssetIn(key=names.key(name)) for name in dict.fromkeys(tables)}


def asset_outs(names: Namespace, tables: Sequence[str], code_version: str) -> dict[str, dg.AssetOut]:
    """Declare tables as outputs, which an IO manager stores."""
    return {
        name: dg.AssetOut(
            key=names.key(name),
            description=TABLES[name].description,
            io_manager_key=names.name("io_manager"),
            code_version=code_version,
        )
        for name in tables
    }


def stage_asset(stage: Stage, names: Namespace, *, code_version: str) -> dg.AssetsDefinition:
    """Make the step of a stage: it computes, checks and hands on the stage's tables.

    The rows that the stage adds to recorded tables (`enrichment`, `vectors`, `completions`) become durable in this
    step; they are keyed by content, and change no existing row.
    """
    store_key = names.name("store")
    inputs = [name for name in ("profiles", *stage.takes) if name not in stage.gives]

    @dg.multi_asset(
        name=names.name(stage.name),
        description=stage.description,
        ins=asset_ins(names, inputs),
        outs=asset_outs(names, stage.gives, code_version),
        check_specs=[checks.schema_and_grain(names.key(name)) for name in stage.gives],
        required_resource_keys={store_key},
    )
    def step(context: dg.AssetExecutionContext, **tables: pl.DataFrame) -> Iterator[dg.MaterializeResult[pl.DataFrame]]:
        store = store_of(context, names)
        began = time.perf_counter()
        with refusing(CompletionUnavailable, EngineError):
            made = compute(stage, store, tables)
        yield from results(made, names, dict.fromkeys(made, stage.takes))
        counts = ", ".join(f"{name} {frame.height:,}" for name, frame in made.items())
        context.log.info("[consolidation] %s rows, %.1fs elapsed", counts, time.perf_counter() - began)

    return step


def compute(stage: Stage, store: Store, tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Run a stage on its inputs, store the rows that it adds to recorded tables, and return its whole tables."""
    profiles = tables["profiles"]
    policies = store.policies(profiles)
    stored = (*stage.recorded, *stage.kept)
    given = {**tables} | inputs.read_tables(store.lake, stored, profiles)
    made = pipeline.run_stage(
        stage,
        given,
        policies,
        last_run=store.last_run(profiles),
        complete=store.completer(policies),
        engine=store.engine,
    )
    commit.record(store.lake, profiles, {name: made[name] for name in stage.recorded})
    return pipeline.with_recorded(stage, given, made)


def results(
    tables: Mapping[str, pl.DataFrame], names: Namespace, takes: Mapping[str, Sequence[str]]
) -> Iterator[dg.MaterializeResult[pl.DataFrame]]:
    """Report tables with their figures, the lineage of their columns, and the check of their schema.

    Args:
        tables: what a step made.
        names: the namespace of the assets.
        takes: for each table, the tables that it was made from.
    """
    for name, frame in tables.items():
        lineage = column_lineage(name, takes.get(name, ()), names)
        yield dg.MaterializeResult(
            asset_key=names.key(name),
            value=frame,
            metadata=describe(name, frame) | ({"dagster/column_lineage": lineage} if lineage else {}),
            check_results=[checks.schema_and_grain_of(names.key(name), frame)],
        )
