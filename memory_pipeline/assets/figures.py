"""Metadata of tables for the UI: row counts, key figures that Dagster plots, a small picture. Never memory text."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import dagster as dg
import polars as pl

from memory_pipeline.schemas import LIVE, TABLES

_COSTS: Final = [
    pl.col("cost").sum().alias("cost"),
    (pl.col("input_tokens") + pl.col("output_tokens")).sum().alias("tokens"),
]
FIGURES: Final[Mapping[str, Sequence[pl.Expr]]] = {
    "events": [pl.col("event_id").n_unique().alias("events"), pl.col("seq").max().alias("position")],
    "memories": [
        pl.col("lifecycle").is_in(LIVE).sum().alias("live"),
        (pl.col("kind") != "original").sum().alias("summaries"),
        pl.col("access_count").sum().alias("accesses"),
    ],
    "enrichment": [pl.col("tokens").sum().alias("tokens"), pl.col("rule_importance").mean().alias("mean_importance")],
    "scored_memories": [
        pl.col("strength").median().alias("strength_p50"),
        pl.col("is_protected").mean().alias("protected_share"),
        pl.col("energy").mean().alias("mean_energy"),
    ],
    "memory_importance": [
        pl.col("degree").mean().alias("mean_degree"),
        pl.struct("profile_id", "community").n_unique().alias("communities"),
    ],
    "association_edges": [pl.col("weight").mean().alias("mean_weight")],
    "clusters": [pl.col("cluster_size").max().alias("largest"), pl.col("cohesion").mean().alias("mean_cohesion")],
    "completions": _COSTS,
    "verdicts": _COSTS,
    "summaries": [pl.col("members").list.len().sum().alias("members")],
    "trims": [(pl.col("tokens_before") - pl.col("tokens_after")).sum().alias("tokens_saved")],
    "fact_changes": [pl.col("decided").sum()],
    "consolidation_plan": [(pl.col("status") == "held").sum().alias("held")],
}
"""Key figures by table, each one number."""

PICTURES: Final[Mapping[str, str]] = {
    "memories": "lifecycle",
    "scored_memories": "strength",
    "memory_importance": "importance",
    "derived_edges": "edge_type",
    "proposed_edges": "edge_type",
    "association_edges": "edge_type",
    "clusters": "cluster_size",
    "merge_refusals": "reason",
    "fact_changes": "relation",
    "promotions": "rule",
    "tier_changes": "to_tier",
    "completions": "outcome",
    "verdicts": "outcome",
    "archived_set": "rule",
    "trims": "value",
    "consolidation_plan": "action",
}
"""Column of each table whose distribution is drawn."""

_BARS: Final = 12
"""Most bars of a picture."""
_SMALLEST: Final = 0.001
_LARGE: Final = 1000.0
"""From here on a number is written without decimals."""


def describe(name: str, frame: pl.DataFrame) -> dict[str, dg.MetadataValue]:
    """Return metadata of a materialisation: rows, profiles, key figures and a picture."""
    figures: dict[str, dg.MetadataValue] = {"dagster/row_count": dg.MetadataValue.int(frame.height)}
    if "profile_id" in frame.columns:
        figures["profiles"] = dg.MetadataValue.int(frame["profile_id"].n_unique())
    if frame.height and name in FIGURES:
        for figure, value in frame.select(FIGURES[name]).row(0, named=True).items():
            if value is not None:
                figures[figure] = dg.MetadataValue.float(round(float(value), 4))
    if frame.height and name in PICTURES:
        figures["picture"] = dg.MetadataValue.md(f"![{name} by {PICTURES[name]}]({picture(frame[PICTURES[name]])})")
    return figures


def column_schema(name: str) -> dg.TableSchema:
    """Return the columns of a table with types and meaning, as the UI shows them."""
    table = TABLES[name]
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=column,
                type=str(definition.dtype),
                description=definition.description,
                constraints=dg.TableColumnConstraints(nullable=definition.nullable, unique=[column] == table.key),
            )
            for column, definition in table.schema.columns().items()
        ]
    )


def picture(values: pl.Series) -> str:
    """Draw the distribution of values as a data URI of an SVG: bins of numbers, or the most frequent words."""
    if values.dtype.is_numeric():
        edges = values.cast(pl.Float64).hist(bin_count=_BARS)
        labels = [readable(value) for value in edges["breakpoint"]]
        counts = edges["count"].to_list()
    else:
        common = values.drop_nulls().value_counts(sort=False).sort(["count", values.name], descending=[True, False])
        labels, counts = common[values.name].head(_BARS).to_list(), common["count"].head(_BARS).to_list()
    return "data:image/svg+xml;base64," + base64.b64encode(_bars(labels, counts).encode()).decode()


def readable(value: float) -> str:
    """Format a number for people: no exponents, and no more digits than a bar can show."""
    if value and abs(value) < _SMALLEST:
        return f"<{_SMALLEST:g}" if value > 0 else f">-{_SMALLEST:g}"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"


def plan_table(plan: pl.DataFrame) -> dg.TableMetadataValue:
    """Count the decisions of a plan by profile, action and rule, as a table of Dagster's UI."""
    by = ("profile_id", "action", "rule", "status")
    return as_table(plan.group_by(by).len("decisions").sort(by))


def as_table(frame: pl.DataFrame) -> dg.TableMetadataValue:
    """Return rows as a table of Dagster's UI."""
    return dg.MetadataValue.table(
        [dg.TableRecord(row) for row in frame.iter_rows(named=True)],
        schema=dg.TableSchema(columns=[dg.TableColumn(name, str(kind)) for name, kind in frame.schema.items()]),
    )


def _bars(labels: Sequence[str], counts: Sequence[int]) -> str:
    most, height = max(counts, default=1) or 1, 18 * len(counts) + 4
    rows = "".join(
        f'<text x="118" y="{18 * i + 15}" text-anchor="end">{escape(label)}</text>'
        f'<rect x="124" y="{18 * i + 4}" width="{max(1, round(200 * count / most))}" height="13" fill="#4f46e5"/>'
        f'<text x="{130 + round(200 * count / most)}" y="{18 * i + 15}">{count}</text>'
        for i, (label, count) in enumerate(zip(labels, counts, strict=True))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="#334155">{rows}</svg>'
    )
