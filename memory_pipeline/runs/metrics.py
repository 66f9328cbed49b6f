"""The one place that computes the metrics, and writes them in the format of Prometheus.

Every figure is made from the store alone when it is asked for: nothing is counted in a process, so that any process
can answer, and a restart loses nothing. Names and meanings follow ADR-0008 where it names one, and the health figures
of the three tiers of energy.
What is not here: what is due (`activity.py`), the description for a person (`status.py`), and who serves the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl
import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from memory_pipeline.runs import due_work, status
from memory_pipeline.lake import catalog, files
from memory_pipeline.lake.catalog import Mark
from memory_pipeline.ledger.database import DECISIONS, EVENTS, RUNS
from memory_pipeline.ledger.event import PIPELINE
from memory_pipeline.schemas import LIVE, TABLES, Action, EventType
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Settings
from memory_pipeline.text.content_hash import content_hashes

AGE_TIERS: Final = ("hot", "warm", "cold", "archive")
"""Tiers by age, youngest first."""

ENERGY_TIERS: Final = ("working", "short_term", "long_term")
"""Tiers of energy, lowest first."""

PRUNED: Final = (Action.DELETE, Action.ARCHIVE, Action.EXPIRE, Action.COLD, Action.STUB)
"""Decisions that take a memory out of the live set, or further out of it, for what it scored."""

REGRET: Final = "recall_regret"
"""Key in the metadata of an access: how many of its memories a deep recall found that an ordinary one lacked."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BUCKETS: Final = tuple(round(0.1 * place, 1) for place in range(1, 11))


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All metrics at one instant, over all profiles."""

    consolidation_lag_seconds: float
    """Since when the oldest event waits for its projection; 0: none waits."""
    enrichment_lag_seconds: float
    """Since when the oldest memory waits whose text was not read yet; 0: none waits."""
    reconsolidation_last_run: datetime | None
    """When the last full run was committed."""
    graph_nodes_total: Mapping[str, int]
    """Live memories by tier of age, as of the last run of their profile."""
    graph_nodes_pruned_total: Mapping[str, int]
    """Committed decisions that took memories out, by action; an undo does not take them back."""
    reflection_triggers_total: int
    """Times that the importance stored in a profile crossed the threshold and a reflection was committed for it."""
    decay_scores: pl.Series
    """Strength of every live memory, the score that decisions use, sorted."""
    recall_regret_total: int
    """Memories that a deep recall found and an ordinary one lacked."""
    disk_bytes: int
    """Bytes that the data folder takes."""
    health: pl.DataFrame
    """See `health`."""
    due: Mapping[str, int]
    """Profiles for which each trigger holds."""


def render(lake: Lake, settings: Settings, *, now: datetime) -> str:
    """Return the metrics of a store as text for Prometheus (exposition format 0.0.4)."""
    return exposition(measure(lake, settings, now=now))


def measure(lake: Lake, settings: Settings, *, now: datetime) -> Figures:
    """Compute every metric.

    Cost: columns of two tables, one pass over runs, decisions and the projected accesses, and a walk over the folder.
    """
    key = ("profile_id", "memory_id")
    scored = lake.read("scored_memories", columns=[*key, "age_tier", "energy", "strength"])
    tiers = lake.read("memories", columns=[*key, "tier", "lifecycle"]).filter(pl.col("lifecycle").is_in(LIVE))
    found = due_work.due(lake, settings, now=now).group_by("trigger").len("profiles")
    return Figures(
        consolidation_lag_seconds=lag_seconds(lake, now),
        enrichment_lag_seconds=_waited(_unread(lake), now),
        reconsolidation_last_run=_last_full(lake),
        graph_nodes_total=_by(scored, "age_tier", AGE_TIERS),
        graph_nodes_pruned_total=_pruned(lake),
        reflection_triggers_total=_reflections(lake),
        decay_scores=scored["strength"].sort(),
        recall_regret_total=_regret(lake),
        disk_bytes=status.disk_bytes(lake.home),
        health=health(tiers.join(scored, on=key)),
        due=dict(found.sort("trigger").iter_rows()),
    )


def health(memories: pl.DataFrame) -> pl.DataFrame:
    """Return how the energy of memories is distributed over the tiers.

    Args:
        memories: `tier` and `energy` of each.

    Returns:
        `tier`, `count`, `mean`, `max`, `min` (null where there is no memory), one row a tier, lowest first.
    """
    energy = pl.col("energy")
    figures = (
        memories.sort("tier", "energy")
        .group_by("tier")
        .agg(count=pl.len().cast(pl.Int64), mean=energy.mean(), max=energy.max(), min=energy.min())
    )
    return (
        pl.DataFrame({"tier": ENERGY_TIERS})
        .join(figures, on="tier", how="left", maintain_order="left")
        .with_columns(pl.col("count").fill_null(0))
    )


def exposition(figures: Figures) -> str:
    """Return figures as text for Prometheus; a figure that nothing is known of is left out."""
    registry = CollectorRegistry()
    registry.register(_Ready(list(_families(figures))))
    return generate_latest(registry).decode()


class _Ready(Collector):
    """Metrics that are computed already."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics


def _families(figures: Figures) -> Iterator[Metric]:
    """Name every figure and say what it is."""
    yield _gauge(
        "consolidation_lag_seconds",
        "Since when the oldest event waits to be projected into the lake; runs take it in later.",
        figures.consolidation_lag_seconds,
    )
    yield _gauge(
        "enrichment_lag_seconds",
        "Since when the oldest memory waits whose text was not read yet.",
        figures.enrichment_lag_seconds,
    )
    last = figures.reconsolidation_last_run
    yield _gauge(
        "reconsolidation_last_run",
        "When the last full run was committed, in seconds since 1970.",
        None if last is None else last.timestamp(),
    )
    yield _gauges("graph_nodes_total", "Live memories by tier of age.", "tier", figures.graph_nodes_total)
    yield _counters(
        "graph_nodes_pruned", "Memories that forgetting took out.", "action", figures.graph_nodes_pruned_total
    )
    yield CounterMetricFamily(
        "reflection_triggers",
        "Times that the importance stored crossed the threshold and a reflection was committed.",
        figures.reflection_triggers_total,
    )
    yield CounterMetricFamily(
        "recall_regret", "Memories that deep recall found and ordinary recall lacked.", figures.recall_regret_total
    )
    yield _gauge("disk_bytes", "Bytes that the data folder takes.", figures.disk_bytes)
    yield _gauges("consolidation_due", "Profiles for which a trigger holds.", "trigger", figures.due)
    yield from _scores(figures.decay_scores)
    for name, said in (
        ("count", "Live memories by tier of energy."),
        ("mean", "Mean energy of the live memories of a tier."),
        ("max", "Largest energy of the live memories of a tier."),
        ("min", "Smallest energy of the live memories of a tier."),
    ):
        yield _gauges(f"memory_energy_{name}", said, "tier", dict(figures.health.select("tier", name).iter_rows()))


def _scores(scores: pl.Series) -> Iterator[Metric]:
    """Describe the scores by their median and their distribution."""
    yield _gauge("decay_score_p50", "Median strength of the live memories.", scores.median())
    buckets = [(str(edge), float((scores <= edge).sum())) for edge in _BUCKETS]
    histogram = HistogramMetricFamily("decay_score", "Strength of the live memories.")
    histogram.add_metric([], [*buckets, ("+Inf", float(scores.len()))], float(scores.sum()))
    yield histogram


def _gauge(name: str, said: str, value: object) -> Metric:
    family = GaugeMetricFamily(name, said)
    if isinstance(value, int | float):
        family.add_metric([], value)
    return family


def _gauges(name: str, said: str, label: str, values: Mapping[str, float | None]) -> Metric:
    family = GaugeMetricFamily(name, said, labels=[label])
    for key, value in values.items():
        if value is not None:
            family.add_metric([key], value)
    return family


def _counters(name: str, said: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, said, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _waited(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def lag_seconds(lake: Lake, now: datetime) -> float:
    """Return how long the oldest event has waited that the lake does not hold yet, in seconds; 0: none waits.

    Cost: one look into an index.
    """
    with lake.ledger.reading() as connection:
        after = EVENTS.c.seq > catalog.marked(connection, Mark.PROJECTED)
        query = sa.select(sa.func.min(EVENTS.c.recorded_at)).where(after, EVENTS.c.event_type.not_in(PIPELINE))
        return _waited(_instant(connection.scalar(query)), now)


def _unread(lake: Lake) -> datetime | None:
    """When the oldest memory was recorded whose text was not read yet; those that a run has seen were."""
    stored = due_work.unread(lake)
    known = lake.read("enrichment", columns=["profile_id", "content_hash"])
    hashes = content_hashes(stored["speaker"], stored["content"])
    unread = stored.with_columns(hashes).join(known, on=["profile_id", "content_hash"], how="anti")
    since: datetime | None = unread.select(pl.col("recorded_at").min()).item()
    return since


def _last_full(lake: Lake) -> datetime | None:
    with lake.ledger.reading() as connection:
        query = sa.select(sa.func.max(RUNS.c.committed_at)).where(RUNS.c.task == "full")
        return _instant(connection.scalar(query))


def _reflections(lake: Lake) -> int:
    with lake.ledger.reading() as connection:
        query = sa.select(sa.func.count()).where(RUNS.c.task == "reflect", RUNS.c.trigger == "sensor")
        return connection.scalars(query).one()


def _pruned(lake: Lake) -> dict[str, int]:
    taken = (DECISIONS.c.action.in_(PRUNED), DECISIONS.c.status == "committed")
    query = sa.select(DECISIONS.c.action, sa.func.count()).where(*taken).group_by(DECISIONS.c.action)
    with lake.ledger.reading() as connection:
        counts = {str(action): int(count) for action, count in connection.execute(query)}
    return {action.value: counts.get(action.value, 0) for action in PRUNED}


def _regret(lake: Lake) -> int:
    """Add up what recalls wrote into the metadata of their accesses: each counts once, whatever it names."""
    accesses = files.collect(
        lake.paths("events"),
        TABLES["events"],
        pl.col("event_type") == EventType.ACCESSED.value,
        pl.col("ordinal") == 0,
        pl.col("metadata").str.contains(REGRET, literal=True),
        columns=["metadata"],
    )
    found = accesses["metadata"].str.json_path_match(f"$.{REGRET}").cast(pl.Int64, strict=False)
    return int(found.sum())


def _by(rows: pl.DataFrame, column: str, values: Sequence[str]) -> dict[str, int]:
    counts = dict(rows[column].value_counts().iter_rows())
    return {value: counts.get(value, 0) for value in values}


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
