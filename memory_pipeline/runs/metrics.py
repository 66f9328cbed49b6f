"""Computes the metrics and writes them in Prometheus's text format.

Every figure is computed from the store when it is requested: no process counts anything, so that any process can answer
and a restart loses nothing. Names and meanings follow ADR-0008 where it defines them, and the health figures of the
three energy tiers.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

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


def render(lake: Lake, settings: Settings, *, now: datetime) -> str:
    """Return the metrics of a store as text for Prometheus (exposition format 0.0.4); unknown figures are left out.

    Cost: columns of two tables, one pass over runs, decisions and the projected accesses, and a walk over the folder.
    """
    registry = CollectorRegistry()
    registry.register(_Computed(list(_families(lake, settings, now))))
    return generate_latest(registry).decode()


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


class _Computed(Collector):
    """Metrics that are already computed."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics


def _families(lake: Lake, settings: Settings, now: datetime) -> Iterator[Metric]:
    """Yield every figure with its name and help text."""
    key = ("profile_id", "memory_id")
    scored = lake.read("scored_memories", columns=[*key, "age_tier", "energy", "strength"])
    live = lake.read("memories", columns=[*key, "tier", "lifecycle"]).filter(pl.col("lifecycle").is_in(LIVE))
    runs = lake.ledger.runs()
    with lake.ledger.reading() as transaction:
        attempts, letters = activity.count_attempts(transaction), activity.count_dead_letters(transaction)
        last = activity.last_commit(transaction, "full")
        reflections = activity.count_runs(transaction, task="reflect", trigger="sensor")
        pruned = activity.count_committed(transaction, PRUNED)
    strength, last_run = scored["strength"].sort(), last and last.timestamp()
    by_age = _each(AGE_TIERS, dict(scored["age_tier"].value_counts().iter_rows()))
    by_action, by_outcome = _each([action.value for action in PRUNED], pruned), _each(OUTCOMES, attempts)
    due = dict(due_work.due(lake, settings, now=now).group_by("trigger").len().sort("trigger").iter_rows())
    unread, held = _age(_oldest_unread(lake), now), status.held(lake).height

    waiting = "Age of the oldest event that is not projected into the lake."
    yield _gauge("consolidation_lag_seconds", waiting, lag_seconds(lake, now))
    yield _gauge("enrichment_lag_seconds", "Age of the oldest memory that is not enriched.", unread)
    ran = "When the last full run was committed, in seconds since 1970."
    yield _gauge("reconsolidation_last_run", ran, last_run)
    yield _gauge("graph_nodes_total", "Live memories by age tier.", by_age, "tier")
    forgotten = "Memories that forgetting took out of the live set."
    yield _counter("graph_nodes_pruned", forgotten, by_action, "action")
    reflected = "Reflections committed because stored importance crossed the threshold."
    yield _counter("reflection_triggers", reflected, reflections)
    yield _counter("recall_regret", "Memories that only deep recall found.", _regret(lake))
    yield _counter("commit_attempts", "Attempts to commit a run.", by_outcome, "outcome")
    yield _gauge("held_profiles", "Profiles whose last run was held back by the quota.", held)
    yield _counter("held_decisions", "Decisions that runs held back.", int(runs["held"].sum()))
    yield _gauge("dead_letters", "Refused events.", letters)
    seconds = runs.unique("run_id")["duration_seconds"]
    yield _histogram("run_seconds", "Duration of committed runs.", seconds, _DURATIONS)
    yield _gauge("disk_bytes", "Size of the data folder in bytes.", status.disk_bytes(lake.home))
    yield _gauge("consolidation_due", "Profiles for which a trigger holds.", due, "trigger")
    yield _gauge("decay_score_p50", "Median strength of the live memories.", strength.median())
    yield _histogram("decay_score", "Strength of the live memories.", strength, _BUCKETS)
    energy = health(live.join(scored, on=key))
    for name, text in (
        ("count", "Live memories by energy tier."),
        ("mean", "Mean energy of the live memories of a tier."),
        ("max", "Largest energy of the live memories of a tier."),
        ("min", "Smallest energy of the live memories of a tier."),
    ):
        yield _gauge(f"memory_energy_{name}", text, dict(energy.select("tier", name).iter_rows()), "tier")


def _each(names: Sequence[str], counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of all names; those without one have 0."""
    return {name: counts.get(name, 0) for name in names}


def _histogram(name: str, text: str, values: pl.Series, edges: Sequence[float]) -> Metric:
    buckets = [(str(edge), float((values <= edge).sum())) for edge in edges]
    family = HistogramMetricFamily(PREFIX + name, text)
    family.add_metric([], [*buckets, ("+Inf", float(values.len()))], float(values.sum()))
    return family


def _gauge(name: str, text: str, value: Any, label: str = "") -> Metric:
    return _filled(GaugeMetricFamily(PREFIX + name, text, labels=[label] if label else []), value)


def _counter(name: str, text: str, value: Any, label: str = "") -> Metric:
    return _filled(CounterMetricFamily(PREFIX + name, text, labels=[label] if label else []), value)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, value: Any) -> Metric:
    """Give a metric its value, or a value for each label; those that are None are left out."""
    values = {(key,): one for key, one in value.items()} if isinstance(value, Mapping) else {(): value}
    for labels, one in values.items():
        if one is not None:
            family.add_metric(labels, one)
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
