"""Computes the metrics and writes them in Prometheus's text format.

Every figure is computed from the store when it is requested: no process counts anything, so that any process can answer
and a restart loses nothing. Names and meanings follow ADR-0008 where it defines them, and the health figures of the
three energy tiers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import activity
from memory_pipeline.runs import due_work, status
from memory_pipeline.schemas import LIVE, Action, EventType
from memory_pipeline.settings import Settings
from memory_pipeline.text.content_hash import content_hashes

AGE_TIERS: Final = ("hot", "warm", "cold", "archive")
"""Age tiers, youngest first."""

ENERGY_TIERS: Final = ("working", "short_term", "long_term")
"""Energy tiers, lowest first."""

PRUNED: Final = (Action.DELETE, Action.ARCHIVE, Action.EXPIRE, Action.COLD, Action.STUB)
"""Decisions that take a memory out of the live set, or further out of it, because of its score."""

OUTCOMES: Final = ("committed", "conflict", "refused")
"""Outcomes of attempts to commit."""

REGRET: Final = "recall_regret"
"""Metadata key of an access: how many of its memories only a deep recall found."""

PREFIX: Final = "memory_pipeline_"
"""Begins the name of every metric."""

_DURATIONS: Final = (1.0, 10.0, 60.0, 300.0, 1800.0)
_BUCKETS: Final = tuple(round(0.1 * place, 1) for place in range(1, 11))


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All metrics at an instant, over all profiles."""

    consolidation_lag_seconds: float
    """Age of the oldest event that is not projected; 0 without one."""
    enrichment_lag_seconds: float
    """Age of the oldest memory that is not enriched; 0 without one."""
    reconsolidation_last_run: datetime | None
    """When the last full run was committed."""
    graph_nodes_total: Mapping[str, int]
    """Live memories by age tier, as of the last run of their profile."""
    graph_nodes_pruned_total: Mapping[str, int]
    """Committed decisions that took memories out, by action; undone ones included."""
    reflection_triggers_total: int
    """Reflections committed because the importance stored in a profile crossed the threshold."""
    decay_scores: pl.Series
    """Strength of every live memory, sorted."""
    recall_regret_total: int
    """Memories that only deep recalls found."""
    disk_bytes: int
    """Size of the data folder."""
    health: pl.DataFrame
    """See `health`."""
    due: Mapping[str, int]
    """Number of profiles for which each trigger holds."""
    run_seconds: pl.Series
    """Duration of every committed run."""
    commit_attempts_total: Mapping[str, int]
    """Attempts to commit by outcome: committed, conflict, refused."""
    held_profiles: int
    """Profiles whose last run was held back by the quota."""
    held_decisions_total: int
    """Decisions that runs held back."""
    dead_letters: int
    """Refused events."""


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
    due = due_work.due(lake, settings, now=now).group_by("trigger").len("profiles")
    runs = lake.ledger.runs()
    ages = dict(scored["age_tier"].value_counts().iter_rows())
    with lake.ledger.reading() as transaction:
        attempts, letters = activity.count_attempts(transaction), activity.count_dead_letters(transaction)
        last_full = activity.last_commit(transaction, "full")
        reflections = activity.count_runs(transaction, task="reflect", trigger="sensor")
        pruned = activity.count_committed(transaction, PRUNED)
    return Figures(
        run_seconds=runs.unique("run_id")["duration_seconds"],
        commit_attempts_total={outcome: attempts.get(outcome, 0) for outcome in OUTCOMES},
        held_profiles=status.held(lake).height,
        held_decisions_total=int(runs["held"].sum()),
        dead_letters=letters,
        consolidation_lag_seconds=lag_seconds(lake, now),
        enrichment_lag_seconds=_age(_oldest_unread(lake), now),
        reconsolidation_last_run=last_full,
        graph_nodes_total={tier: ages.get(tier, 0) for tier in AGE_TIERS},
        graph_nodes_pruned_total={action.value: pruned.get(action.value, 0) for action in PRUNED},
        reflection_triggers_total=reflections,
        decay_scores=scored["strength"].sort(),
        recall_regret_total=_regret(lake),
        disk_bytes=status.disk_bytes(lake.home),
        health=health(tiers.join(scored, on=key)),
        due=dict(due.sort("trigger").iter_rows()),
    )


def health(memories: pl.DataFrame) -> pl.DataFrame:
    """Summarise the `energy` of memories by `tier`, lowest first: `count`, `mean`, `max`, `min` (null without any)."""
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
    """Format figures as text for Prometheus; unknown figures are left out."""
    registry = CollectorRegistry()
    registry.register(_Computed(list(_families(figures))))
    return generate_latest(registry).decode()


class _Computed(Collector):
    """Metrics that are already computed."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics


def _families(figures: Figures) -> Iterator[Metric]:
    """Yield every figure with its name and help text."""
    yield _gauge(
        "consolidation_lag_seconds",
        "Age of the oldest event that is not projected into the lake.",
        figures.consolidation_lag_seconds,
    )
    yield _gauge(
        "enrichment_lag_seconds",
        "Age of the oldest memory that is not enriched.",
        figures.enrichment_lag_seconds,
    )
    last = figures.reconsolidation_last_run
    yield _gauge(
        "reconsolidation_last_run",
        "When the last full run was committed, in seconds since 1970.",
        None if last is None else last.timestamp(),
    )
    yield _gauges("graph_nodes_total", "Live memories by age tier.", "tier", figures.graph_nodes_total)
    yield _counters(
        "graph_nodes_pruned",
        "Memories that forgetting took out of the live set.",
        "action",
        figures.graph_nodes_pruned_total,
    )
    yield _counter(
        "reflection_triggers",
        "Reflections committed because stored importance crossed the threshold.",
        figures.reflection_triggers_total,
    )
    yield _counter("recall_regret", "Memories that only deep recall found.", figures.recall_regret_total)
    yield _counters("commit_attempts", "Attempts to commit a run.", "outcome", figures.commit_attempts_total)
    yield _gauge("held_profiles", "Profiles whose last run was held back by the quota.", figures.held_profiles)
    yield _counter("held_decisions", "Decisions that runs held back.", figures.held_decisions_total)
    yield _gauge("dead_letters", "Refused events.", figures.dead_letters)
    yield _histogram("run_seconds", "Duration of committed runs.", figures.run_seconds, _DURATIONS)
    yield _gauge("disk_bytes", "Size of the data folder in bytes.", figures.disk_bytes)
    yield _gauges("consolidation_due", "Profiles for which a trigger holds.", "trigger", figures.due)
    yield _gauge("decay_score_p50", "Median strength of the live memories.", figures.decay_scores.median())
    yield _histogram("decay_score", "Strength of the live memories.", figures.decay_scores, _BUCKETS)
    for name, text in (
        ("count", "Live memories by energy tier."),
        ("mean", "Mean energy of the live memories of a tier."),
        ("max", "Largest energy of the live memories of a tier."),
        ("min", "Smallest energy of the live memories of a tier."),
    ):
        yield _gauges(f"memory_energy_{name}", text, "tier", dict(figures.health.select("tier", name).iter_rows()))


def _histogram(name: str, text: str, values: pl.Series, edges: Sequence[float]) -> Metric:
    buckets = [(str(edge), float((values <= edge).sum())) for edge in edges]
    family = HistogramMetricFamily(PREFIX + name, text)
    family.add_metric([], [*buckets, ("+Inf", float(values.len()))], float(values.sum()))
    return family


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(PREFIX + name, text, value)


def _gauge(name: str, text: str, value: object) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, text)
    if isinstance(value, int | float):
        family.add_metric([], value)
    return family


def _gauges(name: str, text: str, label: str, values: Mapping[str, float | None]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, text, labels=[label])
    for key, value in values.items():
        if value is not None:
            family.add_metric([key], value)
    return family


def _counters(name: str, text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(PREFIX + name, text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def lag_seconds(lake: Lake, now: datetime) -> float:
    """Return the age of the oldest event that is not projected, in seconds; 0 without one. Cost: an index look-up."""
    with lake.ledger.reading() as transaction:
        return _age(activity.oldest_unprojected(transaction), now)


def _oldest_unread(lake: Lake) -> datetime | None:
    """Return when the oldest memory was recorded that is not enriched; every memory that a run has seen is."""
    stored = due_work.unread(lake)
    enriched = lake.read("enrichment", columns=["profile_id", "content_hash"])
    hashes = content_hashes(stored["speaker"], stored["content"])
    unread = stored.with_columns(hashes).join(enriched, on=["profile_id", "content_hash"], how="anti")
    since: datetime | None = unread.select(pl.col("recorded_at").min()).item()
    return since


def _regret(lake: Lake) -> int:
    """Sum what recalls wrote into the metadata of their accesses; an access counts once, however many rows it has."""
    accesses = lake.scan(
        "events",
        pl.col("event_type") == EventType.ACCESSED.value,
        pl.col("ordinal") == 0,
        pl.col("metadata").str.contains(REGRET, literal=True),
        columns=["metadata"],
    )
    counts = accesses["metadata"].str.json_path_match(f"$.{REGRET}").cast(pl.Int64, strict=False)
    return int(counts.sum())
