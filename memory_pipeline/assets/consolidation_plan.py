"""`consolidation_plan`: what a run would change, the state after it, and the checks that can stop it."""

from collections.abc import Iterator, Mapping

import dagster as dg
import polars as pl

from memory_pipeline.assets import checks
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, refusing, store_of
from memory_pipeline.assets.stage_assets import asset_ins, asset_outs, results
from memory_pipeline.consolidation import pipeline, stages
from memory_pipeline.consolidation.stage import tables_taken
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.runs import commit

PLAN = stages.STAGES["consolidation_plan"]
SETTLE = stages.STAGES["settled_memories"]
INPUTS = tuple(
    name
    for name in dict.fromkeys(("profiles", *PLAN.takes, *SETTLE.takes, *tables_taken(stages.violations)))
    if name not in (*PLAN.gives, *SETTLE.gives)
)
"""Tables from which a plan is made, applied and checked."""


def plan_asset(names: Namespace, *, code_version: str) -> dg.AssetsDefinition:
    """Make the step that plans, applies the plan in memory, and checks the state after it."""
    store_key, plan_key = names.name("store"), names.key("consolidation_plan")
    gives = (*PLAN.gives, *SETTLE.gives)

    @dg.multi_asset(
        name=names.name("consolidation_plan"),
        description="Plans the run, applies the plan in memory, and checks the state after it; changes nothing.",
        ins=asset_ins(names, INPUTS),
        outs=asset_outs(names, gives, code_version),
        check_specs=[
            *(checks.schema_and_grain(names.key(name)) for name in gives),
            checks.invariants(plan_key),
            checks.quota(plan_key),
        ],
        required_resource_keys={store_key},
    )
    def consolidation_plan(
        context: dg.AssetExecutionContext, **tables: pl.DataFrame
    ) -> Iterator[dg.MaterializeResult[pl.DataFrame] | dg.AssetCheckResult]:
        with refusing(EngineError):
            made, broken = _planned(store_of(context, names), tables)
        yield from results(made, names, dict.fromkeys(PLAN.gives, PLAN.takes))
        yield checks.invariants_of(plan_key, broken)
        yield checks.quota_of(plan_key, made["consolidation_plan"], tables)

    return consolidation_plan


def _planned(store: Store, tables: Mapping[str, pl.DataFrame]) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Return the plan with the state after it, and the rows that break an invariant."""
    policies = store.policies(tables["profiles"])
    planned = pipeline.run_stage(PLAN, tables, policies, engine=store.engine)
    planned["consolidation_plan"] = store.agreed(planned["consolidation_plan"], tables)
    made = planned | pipeline.run_stage(SETTLE, {**tables, **planned}, policies, engine=store.engine)
    return made, commit.violations({**tables, **made}, policies)
