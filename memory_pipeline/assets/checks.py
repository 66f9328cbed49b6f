"""Asset checks: every table holds to its schema and grain; a plan breaks no invariant and exceeds no quota."""

from typing import Final

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.lake import history
from memory_pipeline.lake.schemas import TABLES

SHOWN: Final = 20
"""Bad rows that a failing check lists."""
CHECKED: Final = (*(name for name, table in TABLES.items() if table.kept != "ledger"), "decisions", "reverted")
"""Tables that are assets."""


def schema_check(name: str) -> dg.AssetChecksDefinition:
    """Make the blocking check that a table has its columns, types and ranges, and one row a key."""
    table = TABLES[name]

    @dg.asset_check(
        asset=name,
        name="schema_and_grain",
        blocking=True,
        description=f"Every column of {name} has its type and range; one row a {', '.join(table.key)}.",
    )
    def check(rows: pl.DataFrame) -> dg.AssetCheckResult:
        bad = table.violations(rows)
        return dg.AssetCheckResult(
            passed=bad.is_empty(),
            description=f"{rows.height} rows" if bad.is_empty() else f"rules broken: {', '.join(bad['rule'])}",
            metadata={"rows": rows.height, "broken": dg.MetadataValue.json(bad.to_dicts())},
        )

    return check


@dg.asset_check(
    asset="consolidation_plan",
    blocking=True,
    additional_ins={name: dg.AssetIn() for name in history.SETTLED_FROM},
    description="No protected memory leaves, no row meets another profile's, every merged memory's summary is found "
    "by a search, nothing is lost: a violated invariant stops the run before anything changes.",
)
def invariants(
    store: Store,
    consolidation_plan: pl.DataFrame,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    scored_memories: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> dg.AssetCheckResult:
    """Apply the plan in memory and look for rows that break an invariant."""
    bad = history.violations(
        {
            "consolidation_plan": consolidation_plan,
            "profiles": profiles,
            "memories": memories,
            "decided_edges": decided_edges,
            "scored_memories": scored_memories,
            "enrichment": enrichment,
            "vectors": vectors,
            "decisions": decisions,
            "reverted": reverted,
        },
        store.policies(profiles),
    )
    return dg.AssetCheckResult(
        passed=bad.is_empty(),
        description="none broken" if bad.is_empty() else f"{bad.height} rows: {bad['detail'][0]}",
        metadata={"bad_rows": bad.height, "first": dg.MetadataValue.json(bad.head(SHOWN).to_dicts())},
    )


@dg.asset_check(
    asset="consolidation_plan",
    description="No profile loses a larger share of its live memories than its quota; one that would is held back.",
)
def quota(consolidation_plan: pl.DataFrame) -> dg.AssetCheckResult:
    """Say which profiles are held back."""
    held = (
        consolidation_plan.filter(pl.col("status") == "held").group_by("profile_id").len("decisions").sort("profile_id")
    )
    return dg.AssetCheckResult(
        passed=held.is_empty(),
        severity=dg.AssetCheckSeverity.ERROR,
        description="no profile is held back"
        if held.is_empty()
        else f"held back: {', '.join(held['profile_id'])}; look at the plan, release with run.max_archived_share",
        metadata={"held": dg.MetadataValue.json(held.to_dicts())},
    )


CHECKS: Final = [*(schema_check(name) for name in CHECKED), invariants, quota]
