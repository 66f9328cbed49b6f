"""Asset checks: every table holds to its schema and grain; a plan breaks no invariant and exceeds no quota."""

from collections.abc import Iterator
from typing import Final

import dagster as dg
import polars as pl

from memory_pipeline.assets.io_manager import Frames
from memory_pipeline.assets.resources import Store, refusing
from memory_pipeline.runs import commit
from memory_pipeline.schemas import TABLES

SHOWN: Final = 20
"""Bad rows that a failing check lists."""


def schema_and_grain(name: str) -> dg.AssetCheckSpec:
    """Describe the blocking check that a table has its columns, types and ranges, and one row a key."""
    return dg.AssetCheckSpec(
        name="schema_and_grain",
        asset=name,
        blocking=True,
        description=f"Every column of {name} has its type and range; one row a {', '.join(TABLES[name].key)}.",
    )


def schema_and_grain_of(name: str, rows: pl.DataFrame) -> dg.AssetCheckResult:
    """Say which rules of its schema a table breaks."""
    bad = TABLES[name].violations(rows)
    return dg.AssetCheckResult(
        asset_key=name,
        check_name="schema_and_grain",
        passed=bad.is_empty(),
        description=f"{rows.height} rows" if bad.is_empty() else f"rules broken: {', '.join(bad['rule'])}",
        metadata={"rows": rows.height, "broken": dg.MetadataValue.json(bad.to_dicts())},
    )


@dg.multi_asset_check(
    specs=[
        dg.AssetCheckSpec(
            name="invariants",
            asset="consolidation_plan",
            blocking=True,
            additional_deps=commit.SETTLED_FROM,
            description="No protected memory leaves, no row meets another profile's, every merged memory's summary is "
            "found by a search, nothing is lost: a violated invariant stops the run before anything changes.",
        ),
        dg.AssetCheckSpec(
            name="quota",
            asset="consolidation_plan",
            description="No profile loses a larger share of its live memories than its quota; one that would is held "
            "back.",
        ),
    ]
)
def breakers(store: dg.ResourceParam[Store], frames: dg.ResourceParam[Frames]) -> Iterator[dg.AssetCheckResult]:
    """Apply the plan in memory and look for rows that break an invariant, and for profiles that are held back."""
    with refusing():
        tables = {name: frames.table(name) for name in (*commit.SETTLED_FROM, "consolidation_plan")}
        bad = commit.violations(tables, store.policies(tables["profiles"]))
    yield invariants(bad)
    yield quota(tables["consolidation_plan"])


def invariants(bad: pl.DataFrame) -> dg.AssetCheckResult:
    """Name the rows of a plan that break an invariant."""
    return dg.AssetCheckResult(
        asset_key="consolidation_plan",
        check_name="invariants",
        passed=bad.is_empty(),
        description="none broken" if bad.is_empty() else f"{bad.height} rows: {bad['detail'][0]}",
        metadata={"bad_rows": bad.height, "first": dg.MetadataValue.json(bad.head(SHOWN).to_dicts())},
    )


def quota(plan: pl.DataFrame) -> dg.AssetCheckResult:
    """Name the profiles that a plan holds back."""
    held = plan.filter(pl.col("status") == "held").group_by("profile_id").len("decisions").sort("profile_id")
    return dg.AssetCheckResult(
        asset_key="consolidation_plan",
        check_name="quota",
        passed=held.is_empty(),
        severity=dg.AssetCheckSeverity.ERROR,
        description="no profile is held back"
        if held.is_empty()
        else f"held back: {', '.join(held['profile_id'])}; look at the plan, release with run.max_archived_share",
        metadata={"held": dg.MetadataValue.json(held.to_dicts())},
    )
