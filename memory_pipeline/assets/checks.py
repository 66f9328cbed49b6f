"""Asset checks: every table conforms to its schema and grain; a plan breaks no invariant and exceeds no quota.

A run evaluates them on what it makes, before anything is changed (`steps`). Executed alone, they look at what is
published, and at the plan that a full run would make now. Launched with the assets, as by `Materialize all`, they
repeat what the run found.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import dagster as dg
import polars as pl

from memory_pipeline.assets import catalogue
from memory_pipeline.assets.figures import as_table
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, refusing, store_of
from memory_pipeline.consolidation.plans.quota import held_profiles
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.llm.openai import CompletionUnavailable
from memory_pipeline.runs import commit, consolidate, inputs
from memory_pipeline.schemas import TABLES

SHOWN: Final = 20
"""Bad rows that a failing check lists."""


def schema_and_grain_of(key: dg.AssetKey, rows: pl.DataFrame) -> dg.AssetCheckResult:
    """Report which rules of its schema a table breaks."""
    bad = TABLES[key.path[-1]].violations(rows)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name="schema_and_grain",
        passed=bad.is_empty(),
        description=f"{rows.height} rows" if bad.is_empty() else f"rules broken: {', '.join(bad['rule'])}",
        metadata={"rows": rows.height, "broken": dg.MetadataValue.json(bad.to_dicts())},
    )


def invariants_of(key: dg.AssetKey, broken: pl.DataFrame) -> dg.AssetCheckResult:
    """Report the rows of a plan that break an invariant (see `checking.violations`)."""
    return dg.AssetCheckResult(
        asset_key=key,
        check_name="invariants",
        passed=broken.is_empty(),
        description="none broken" if broken.is_empty() else f"{broken.height} rows: {broken['detail'][0]}",
        metadata={"bad_rows": broken.height, "first": dg.MetadataValue.json(broken.head(SHOWN).to_dicts())},
    )


def quota_of(key: dg.AssetKey, plan: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> dg.AssetCheckResult:
    """Report the profiles that a plan holds back, with their numbers, from the tables of the state before it."""
    held = held_profiles(plan, tables["profiles"], State(tables["memories"], tables["decided_edges"]))
    shown = [
        f"{row['profile_id']} would lose {row['leaving']} of {row['live']} live memories ({row['share']:.0%}; at most "
        f"{row['max_archived_share']:.0%})"
        for row in held.head(SHOWN).iter_rows(named=True)
    ]
    return dg.AssetCheckResult(
        asset_key=key,
        check_name="quota",
        passed=held.is_empty(),
        severity=dg.AssetCheckSeverity.ERROR,
        description="no profile is held back"
        if held.is_empty()
        else f"held back: {'; '.join(shown)}; review the plan, release it with run.max_archived_share",
        metadata={"held": as_table(held.head(SHOWN))},
    )


def of_plan(
    names: Namespace, broken: pl.DataFrame, tables: Mapping[str, pl.DataFrame]
) -> tuple[dg.AssetCheckResult, dg.AssetCheckResult]:
    """Report what a plan breaks and holds back (see `invariants_of`, `quota_of`), from the tables of its run."""
    key = names.key("consolidation_plan")
    return invariants_of(key, broken), quota_of(key, tables["consolidation_plan"], tables)


def evaluation(result: dg.AssetCheckResult, *, blocking: bool) -> dg.AssetCheckEvaluation:
    """Return the result of a check as the event of a run that evaluated it itself."""
    return dg.AssetCheckEvaluation(**_said(result), blocking=blocking)


def _said(found: dg.AssetCheckResult | dg.AssetCheckEvaluation) -> dict[str, Any]:
    """Return what the result of a check says, be it that of a step or the event of a run."""
    names = ("asset_key", "check_name", "passed", "metadata", "severity", "description")
    return {name: getattr(found, name) for name in names}


def _specs(names: Namespace) -> Iterator[dg.AssetCheckSpec]:
    """Yield what each check is, and whether a run that fails it stops before anything changes."""
    for name in catalogue.TABLES:
        what = f"Every column of {name} has its type and range; one row per {', '.join(TABLES[name].key)}."
        yield dg.AssetCheckSpec("schema_and_grain", asset=names.key(name), blocking=True, description=what)
    plan = names.key("consolidation_plan")
    what = (
        "No protected memory leaves, no row refers to another profile's, a search finds the summary of every merged "
        "memory, nothing is lost: a violated invariant stops the run before anything changes."
    )
    yield dg.AssetCheckSpec("invariants", asset=plan, blocking=True, description=what)
    what = "No profile loses a larger share of its live memories than its quota; one that would is held back."
    yield dg.AssetCheckSpec("quota", asset=plan, description=what)


def alone(names: Namespace) -> dg.AssetChecksDefinition:
    """Make the checks such that any of them can be executed without a run."""
    store_key, plan = names.name("store"), names.key("consolidation_plan")

    @dg.multi_asset_check(
        name=names.name("checks"),
        specs=[*_specs(names)],
        can_subset=True,
        required_resource_keys={store_key},
    )
    def published(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        store, chosen = store_of(context, names), set(context.selected_asset_check_keys)
        found = [one for one in _evaluated(context) if one.asset_check_key in chosen]
        for one in found:
            yield dg.AssetCheckResult(**_said(one))
        chosen -= {one.asset_check_key for one in found}
        for key in sorted(chosen, key=lambda one: one.asset_key):
            if key.name == "schema_and_grain":
                with refusing():
                    rows = store.lake.read(key.asset_key.path[-1])
                yield schema_and_grain_of(key.asset_key, rows)
        if chosen & {dg.AssetCheckKey(plan, name) for name in ("invariants", "quota")}:
            tables, broken = planned(store)
            yield from (
                one for one in of_plan(names, broken, tables) if dg.AssetCheckKey(plan, str(one.check_name)) in chosen
            )

    return published


def _evaluated(context: dg.AssetCheckExecutionContext) -> list[dg.AssetCheckEvaluation]:
    """Return the evaluations that earlier steps of the run made."""
    entries = context.instance.all_logs(context.run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    events = [entry.get_dagster_event() for entry in entries]
    return [event.asset_check_evaluation_data for event in events]


def planned(store: Store) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Plan what a run would do now, and write nothing; return its tables, and the rows that break an invariant."""
    with refusing(CompletionUnavailable, EngineError):
        profiles = store.participants(preview=True)
        tables = consolidate.preview(store.lake, store.settings, profiles)
        return tables, commit.violations(tables, inputs.policies(store.settings, profiles))
