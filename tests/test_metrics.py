"""Metrics of a real store after real runs, read back as Prometheus reads them."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import homes
import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import metrics, undo
from memory_pipeline.schemas import LIVE
from memory_pipeline.service.middleware import RequestTimes
from memory_pipeline.settings import Settings

NOW = homes.RECORDED + timedelta(hours=1)


@pytest.fixture(scope="module")
def lake(consolidated, tmp_path_factory):
    """A store in which one night was made, and then a reflection."""
    with homes.copied(consolidated, tmp_path_factory.mktemp("home")) as opened:
        homes.night(opened, as_of=homes.NIGHT + homes.days(1), run_id="two", task="reflect", trigger="sensor")
        yield opened


def scraped(lake, now=NOW):
    """Every sample by name and labels, and every family by name."""
    families = list(text_string_to_metric_families(metrics.render(lake, homes.settings(lake.home), now=now)))
    samples = {
        (one.name.removeprefix(metrics.PREFIX), *sorted(one.labels.values())): one.value
        for family in families
        for one in family.samples
    }
    assert all(family.name.startswith(metrics.PREFIX) for family in families)
    return samples, {family.name.removeprefix(metrics.PREFIX): family for family in families}


def test_everything_that_is_promised_is_there_and_says_what_it_is(lake):
    samples, families = scraped(lake)
    assert {name: family.type for name, family in families.items()} == {
        "consolidation_lag_seconds": "gauge",
        "enrichment_lag_seconds": "gauge",
        "reconsolidation_last_run": "gauge",
        "graph_nodes_total": "gauge",
        "graph_nodes_pruned": "counter",
        "reflection_triggers": "counter",
        "recall_regret": "counter",
        "commit_attempts": "counter",
        "held_profiles": "gauge",
        "held_decisions": "counter",
        "dead_letters": "gauge",
        "run_seconds": "histogram",
        "decay_score_p50": "gauge",
        "decay_score": "histogram",
        "disk_bytes": "gauge",
        "consolidation_due": "gauge",
        "memory_energy_count": "gauge",
        "memory_energy_mean": "gauge",
        "memory_energy_max": "gauge",
        "memory_energy_min": "gauge",
    }
    assert all(family.documentation.endswith(".") for family in families.values())
    assert {("graph_nodes_pruned_total", "archive"), ("reflection_triggers_total",), ("recall_regret_total",)} <= set(
        samples
    )


def test_the_figures_are_those_of_the_tables(lake):
    samples, _ = scraped(lake)
    scored = lake.read("scored_memories")
    tiers = dict(scored["age_tier"].value_counts().iter_rows())
    assert {tier: samples["graph_nodes_total", tier] for tier in metrics.AGE_TIERS} == {
        tier: tiers.get(tier, 0) for tier in metrics.AGE_TIERS
    }
    assert samples[("decay_score_p50",)] == pytest.approx(scored["strength"].median())
    assert samples[("decay_score_count",)] == scored.height
    assert samples["decay_score_bucket", "0.5"] == (scored["strength"] <= 0.5).sum()
    runs = lake.ledger.runs()
    full = runs.filter(task="full")["committed_at"].max()
    assert samples[("reconsolidation_last_run",)] == pytest.approx(full.timestamp())
    assert samples[("reflection_triggers_total",)] == runs.filter(task="reflect").height == 2
    live = lake.read("memories").filter(pl.col("lifecycle").is_in(LIVE))
    assert sum(samples["memory_energy_count", tier] for tier in metrics.ENERGY_TIERS) == live.height
    assert (
        samples["memory_energy_max", "working"]
        == scored.join(live.filter(tier="working"), on=["profile_id", "memory_id"])["energy"].max()
    )
    assert samples[("disk_bytes",)] > 10_000


def test_nothing_waits_after_a_run_and_everything_before_the_first(lake, tmp_path):
    samples, _ = scraped(lake)
    assert (samples[("consolidation_lag_seconds",)], samples[("enrichment_lag_seconds",)]) == (0.0, 0.0)
    with homes.filled(tmp_path, homes.events(memories=10)) as fresh:
        samples, _ = scraped(fresh)
        assert (samples[("consolidation_lag_seconds",)], samples[("enrichment_lag_seconds",)]) == (3600.0, 3600.0)
        assert ("reconsolidation_last_run",) not in samples
        assert ("decay_score_p50",) not in samples
        assert ("consolidation_due", "arrivals") not in samples
        fresh.project()
        samples, _ = scraped(fresh)
        assert (samples[("consolidation_lag_seconds",)], samples[("enrichment_lag_seconds",)]) == (0.0, 3600.0)


def test_a_store_without_a_memory_has_metrics_too(tmp_path):
    with Lake(tmp_path) as empty:
        samples, _ = scraped(empty)
    assert samples["graph_nodes_total", "hot"] == 0
    assert samples["memory_energy_count", "working"] == 0
    assert ("memory_energy_mean", "working") not in samples


@pytest.mark.drill
def test_what_forgetting_took_out_is_counted_and_an_undo_does_not_take_it_back(tmp_path):
    off = {"protected_importance": "", "grace_period_days": 0, "protected_types": [], "protected_causes": ""}
    policy = off | {"protect_flagged": False, "archive_threshold": 1.0, "max_archived_share": 1.0, "methods": []}
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in policy.items())
    (tmp_path / "memory_pipeline.toml").write_text(f"[policy]\n{lines}\n", "utf-8")
    with homes.filled(tmp_path, homes.events(memories=10)) as lake:
        homes.night(lake)
        archived = lake.ledger.decisions().filter(action="archive").height
        assert archived > 0
        assert scraped(lake)[0]["graph_nodes_pruned_total", "archive"] == archived
        undo.undo(lake, "run", now=NOW)
        assert scraped(lake)[0]["graph_nodes_pruned_total", "archive"] == archived


def test_what_only_a_deep_recall_found_is_counted_once_an_access(tmp_path):
    access = {
        "event_type": "memory.accessed",
        "profile_id": "p",
        "payload": {"memory_ids": ["a", "b", "c"], "metadata": {metrics.REGRET: 2}},
    }
    plain = access | {"payload": {"memory_ids": ["a"], "metadata": {"note": "no recall_regret here"}}}
    with Lake(tmp_path) as lake:
        lake.ledger.append([parse(one, recorded_at=NOW, origin="test") for one in (access, access, plain)])
        lake.project()
        assert scraped(lake)[0][("recall_regret_total",)] == 4


def test_a_scrape_changes_nothing_and_depends_on_nothing_but_the_store(lake):
    before = lake.ledger.position(), sorted(lake.home.rglob("*"))
    assert metrics.render(lake, homes.settings(lake.home), now=NOW) == metrics.render(
        lake, homes.settings(lake.home), now=NOW
    )
    assert (lake.ledger.position(), sorted(lake.home.rglob("*"))) == before


@pytest.mark.parametrize("now", [datetime(2020, 1, 1, tzinfo=UTC)])
def test_a_clock_that_is_behind_gives_no_negative_lag(tmp_path, now):
    with homes.filled(tmp_path, homes.events(memories=10)) as fresh:
        assert scraped(fresh, now)[0][("consolidation_lag_seconds",)] == 0.0


def test_the_page_for_operators_names_every_metric_and_no_other_and_only_settings_that_there_are(lake):
    page = (Path(__file__).parents[1] / "docs" / "operations.md").read_text("utf-8")
    shown = metrics.render(lake, homes.settings(lake.home), now=NOW) + RequestTimes().exposition()
    made = set(re.findall(rf"^# TYPE ({metrics.PREFIX}\w+) ", shown, re.MULTILINE))
    assert set(re.findall(rf"`({metrics.PREFIX}\w+)`", page)) == {
        name for name in made if not name.endswith("_created")
    }
    settings = {*Settings.model_fields, *Settings().policy.model_dump()}
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", page))
    assert {"max_archived_share", "keep_snapshots"} <= words
    assert words - settings - made == set()
