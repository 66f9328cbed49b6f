"""What agents did, counted in a real ledger: since the runs that succeeded, and never what the pipeline did itself."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
import sampling

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import activity
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, due_work, inputs, undo
from memory_pipeline.settings import load

pytestmark = pytest.mark.usefixtures("unpublished")

NOW = datetime(2026, 6, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def lake(tmp_path):
    with Lake(tmp_path) as opened:
        yield opened


def policy(lake, **values):
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    (lake.home / "memory_pipeline.toml").write_text(f"[policy]\n{lines}\n", "utf-8")
    return load(lake.home, environment={})


def told(event_type, *, at=NOW, recorded=None, profile="p", session=None, memory=None, **payload):
    event = {"event_type": event_type, "profile_id": profile, "occurred_at": at, "payload": payload}
    event |= {"session_id": session} if session else {}
    event |= {"memory_id": memory} if memory else {}
    return parse(event, recorded_at=recorded or at, origin="test", future=None)


def store(lake, count=1, *, at=NOW, importance=0.5, profile="p", session="s"):
    lake.ledger.append(
        [
            told("memory.stored", at=at, profile=profile, session=session, content=f"Note {n}", importance=importance)
            for n in range(count)
        ]
    )


def counted(lake, profile="p"):
    active, runs = due_work.profiles(lake), due_work.last_runs(lake)
    settings = policy(lake, ingestion_cycles=1, reflection_threshold=1)
    policies = {name: settings.policy_of(name) for name in active["profile_id"]}
    found = due_work.counts(lake, active, runs, policies)
    return found.row(by_predicate=pl.col("profile_id") == profile, named=True)


def run(lake, task="full", *, as_of=NOW, seq=0, **options):
    settings = policy(lake)
    profiles = inputs.select_profiles(lake, settings, as_of=as_of, seq=seq, task=task, **options)
    return consolidate.consolidate(lake, settings, profiles, run_id=f"{task} {as_of}")


COUNTS = ("untouched", "stored", "sessions_ended", "sessions_seen", "batches", "importance_score")


def figures(lake, profile="p"):
    found = counted(lake, profile)
    return tuple(found[name] for name in COUNTS)


def test_what_agents_did_is_counted_by_profile(lake):
    store(lake, 3, importance=0.5)
    store(lake, 2, at=NOW + MINUTE, importance=1.0, session="t")
    store(lake, 9, profile="other")
    lake.ledger.append([told("session.ended", at=NOW + 2 * MINUTE, session="s")])
    lake.ledger.append([told("memory.accessed", at=NOW + 3 * MINUTE, memory_ids=["m"])])
    assert figures(lake) == (7, 5, 1, 2, 2, 35.0)
    found = counted(lake)
    assert (found["first_event_at"], found["last_event_at"]) == (NOW, NOW + 3 * MINUTE)


@pytest.mark.drill
@pytest.mark.parametrize(
    ("task", "left"),
    sampling.first_row(
        ("full", (0, 0, 0, 0, 0, 0.0)),
        ("lightweight", (0, 0, 1, 1, 1, 15.0)),
        ("reflect", (4, 3, 1, 1, 1, 0.0)),
        ("decay", (4, 3, 1, 1, 1, 15.0)),
    ),
)
def test_a_run_takes_in_what_it_stands_for_and_is_no_activity_itself(lake, task, left):
    store(lake, 3)
    lake.ledger.append([told("session.ended", session="s")])
    run(lake, task, as_of=NOW + MINUTE)
    assert figures(lake) == left
    store(lake, 1, at=NOW + 2 * MINUTE)
    assert figures(lake)[0] == left[0] + 1


@pytest.mark.drill
def test_an_undo_is_no_reason_to_run_again(lake):
    store(lake, 3)
    run(lake, as_of=NOW + MINUTE)
    before = figures(lake)
    undo.undo(lake, f"full {NOW + MINUTE}", now=NOW + 2 * MINUTE)
    assert figures(lake) == before


def test_a_plan_that_is_only_looked_at_takes_nothing_in(lake):
    store(lake, 3)
    settings = policy(lake)
    consolidate.preview(lake, settings, inputs.select_profiles(lake, settings, as_of=NOW))
    assert figures(lake)[:2] == (3, 3)


@pytest.mark.drill
def test_what_comes_between_the_tick_of_a_schedule_and_its_run_is_not_lost(lake):
    """A run whose clock is the tick reads the ledger later, and leaves out what happened in between."""
    store(lake, 3, at=NOW - MINUTE)
    store(lake, 2, at=NOW + MINUTE)
    run(lake, as_of=NOW)
    assert figures(lake)[:2] == (2, 2)
    run(lake, as_of=NOW + 2 * MINUTE)
    assert figures(lake)[:2] == (0, 0)


@pytest.mark.drill
def test_what_is_imported_late_but_happened_before_counts_once(lake):
    run_at = NOW - 10 * MINUTE
    lake.ledger.append([told("memory.stored", at=run_at - MINUTE, recorded=NOW, session="s", content="Late")])
    assert figures(lake)[1] == 1
    run(lake, as_of=run_at)
    assert figures(lake)[1] == 0
    lake.ledger.append([told("memory.stored", at=run_at - MINUTE, recorded=NOW, session="s", content="Later")])
    assert figures(lake)[1] == 1


def test_importance_is_read_by_rule_where_none_was_given(lake):
    lake.ledger.append([told("memory.stored", content="We decided to move the launch to 12 May 2026.")])
    score = counted(lake)["importance_score"]
    assert 0 < score < 10
    store(lake, 1, importance=0.0)
    assert counted(lake)["importance_score"] == score


def test_a_profile_without_a_memory_is_not_there(lake):
    lake.ledger.append([told("session.started", session="s")])
    assert due_work.profiles(lake).is_empty()
    assert due_work.due(lake, policy(lake), now=NOW).is_empty()


def test_a_policy_that_asks_for_nothing_is_told_nothing(lake):
    store(lake, 60)
    everything_off = policy(lake, enabled=False)
    assert due_work.due(lake, everything_off, now=NOW + timedelta(days=9)).is_empty()


def test_more_profiles_than_fit_into_one_query(lake, monkeypatch):
    monkeypatch.setattr(activity, "_AT_ONCE", 2)
    for n in range(5):
        store(lake, n + 1, profile=f"p{n}")
    assert [figures(lake, f"p{n}")[1] for n in range(5)] == [1, 2, 3, 4, 5]
