"""When each trigger fires and when it stays quiet, as a pure function of counts, last runs and policies."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import triggers
from memory_pipeline.settings import Policy, preset

SCHEMA = {"profile_id": pl.String, "kind": pl.String, "seq": pl.Int64, "importance": pl.Float64}
QUIET = {
    "nightly_run": False,
    "reflection": False,
    "session_trigger": False,
    "scheduled_sessions": 0,
    "step_count_trigger": 0,
    "idle_timeout_seconds": 0,
    "decay_interval_seconds": 0,
    "creative_interval_seconds": 0,
    "cluster_interval_seconds": 0,
}
"""A policy that nothing triggers."""
NOTHING = {
    "profile_id": "p",
    "first_event_at": ago(10),
    "last_event_at": ago(1),
    "untouched": 0,
    "stored": 0,
    "sessions_ended": 0,
    "sessions_seen": 0,
    "batches": 0,
    "importance_score": 0.0,
}


def fired(happened=(), runs=(), *, now=AS_OF, night=None, **policy):
    """Triggers of profile p that fire, each with its task, given what happened and (task, clock) of the last runs."""
    activity = pl.DataFrame([NOTHING | dict(happened)], schema=triggers.ACTIVITY)
    past = [("p", task, at, 1) for task, at in runs]
    progress = pl.DataFrame(past, schema=triggers.PROGRESS, orient="row")
    policies = {"p": Policy(**QUIET | policy)}
    found = triggers.due(activity, progress, policies, now=now, night=night)
    assert found.schema == triggers.DUE
    return dict(found.select("trigger", "task").iter_rows())


# --- what agents do


@pytest.mark.parametrize(
    ("policy", "happened", "quiet", "expected"),
    [
        ({"session_trigger": True}, {"sessions_ended": 1}, {"sessions_seen": 1}, {"session_end": "full"}),
        ({"scheduled_sessions": 5}, {"sessions_ended": 5}, {"sessions_ended": 4}, {"sessions": "full"}),
        ({"scheduled_sessions": 5}, {"sessions_seen": 6}, {"sessions_seen": 5}, {"sessions": "full"}),
        ({"step_count_trigger": 50}, {"stored": 50}, {"stored": 49}, {"steps": "lightweight"}),
        ({"ingestion_cycles": 5}, {"batches": 5}, {"batches": 4}, {"ingestion": "tick"}),
        ({"reflection": True}, {"importance_score": 150.1}, {"importance_score": 150.0}, {"reflection": "reflect"}),
    ],
    ids=["session_end", "sessions", "sessions_begun", "steps", "ingestion", "reflection"],
)
def test_a_trigger_fires_at_its_limit_not_before_and_not_when_it_is_off(policy, happened, quiet, expected):
    assert fired(happened, **policy) == expected
    assert fired(quiet, **policy) == {}
    if policy:
        assert fired(happened) == {}
        assert fired(happened, enabled=False, **policy) == {}


@pytest.mark.parametrize(
    ("seconds", "untouched", "expected"),
    [(300, 1, {"idle": "lightweight"}), (299.9, 1, {}), (300, 0, {}), (999_999, 0, {})],
    ids=["after the pause", "before it", "once a pause", "never again until something happens"],
)
def test_a_pause_is_followed_by_one_lightweight_run(seconds, untouched, expected):
    happened = {"last_event_at": AS_OF - timedelta(seconds=seconds), "untouched": untouched}
    assert fired(happened, idle_timeout_seconds=300) == expected


@pytest.mark.parametrize(
    ("seconds", "said"), [(90, "90 seconds"), (300, "5 minutes"), (3600, "1 hour"), (172_800, "2 days")]
)
def test_a_length_of_time_is_told_in_its_largest_unit(seconds, said):
    activity = pl.DataFrame([NOTHING | {"last_event_at": ago(3), "untouched": 1}], schema=triggers.ACTIVITY)
    policies = {"p": Policy(**QUIET | {"idle_timeout_seconds": seconds})}
    found = triggers.due(activity, pl.DataFrame(schema=triggers.PROGRESS), policies, now=AS_OF, night=None)
    assert found["reason"].to_list() == [f"something new waits, and nothing has come for {said}"]


def test_a_full_run_stands_for_all_that_the_others_would_do():
    happened = {"sessions_ended": 1, "stored": 60, "importance_score": 200.0, "batches": 9}
    policy = {"step_count_trigger": 50, "reflection": True, "ingestion_cycles": 5}
    lesser = {"steps": "lightweight", "reflection": "reflect", "ingestion": "tick"}
    assert fired(happened, **policy) == lesser
    assert fired(happened, **policy, session_trigger=True) == {"session_end": "full"}


# --- time


@pytest.mark.parametrize(
    ("task", "setting"),
    [(task, setting) for task, setting in triggers.INTERVALS.items() if task != "full"],
)
def test_a_task_is_due_an_interval_after_the_last_run_that_did_it(task, setting):
    hour = {setting: 3600}
    assert fired(runs=[(task, ago(hours=1))], **hour) == {task: task}
    assert fired(runs=[(task, ago(hours=0.99))], **hour) == {}
    assert fired(runs=[("full", ago(hours=0.99)), (task, ago(9))], **hour) == {}, "a full run does every task"
    assert fired(runs=[("lightweight", ago(0))], **hour) == {task: task}, "it never ran"
    assert fired(runs=[(task, ago(400))], **{setting: 0}) == {}, "0 is never"
    assert fired(runs=[(task, ago(400))], enabled=False, **hour) == {}


def test_reconsolidation_is_a_full_run_of_its_own_interval():
    six = {"reconsolidate_interval_seconds": 21_600}
    assert fired(runs=[("full", ago(hours=6))], **six) == {"interval": "full"}
    assert fired(runs=[("full", ago(hours=5.9)), ("reflect", ago(0))], **six) == {}


def test_where_everything_runs_nightly_a_daily_task_needs_no_run_beside_it():
    night = {"nightly_run": True, "now": AS_OF, "runs": [("full", ago(2))]}
    assert fired(decay_interval_seconds=86_400, **night) == {}
    assert fired(decay_interval_seconds=3_600, **night) == {"decay": "decay"}


@pytest.mark.parametrize(
    ("runs", "first", "minutes", "expected"),
    [
        ([("full", ago(1))], ago(10), 15, True),
        ([("full", ago(1))], ago(10), 14, False),
        ([("full", AS_OF)], ago(10), 600, False),
        ([("reflect", AS_OF)], ago(10), 600, True),
        ([], ago(10), 15, True),
        ([], AS_OF + timedelta(minutes=1), 15, False),
    ],
    ids=["missed", "just begun", "made", "another task", "never ran", "nothing was there that night"],
)
def test_a_night_that_was_missed_or_failed_is_made_up_for(runs, first, minutes, expected):
    now = AS_OF + timedelta(minutes=minutes)
    found = fired({"first_event_at": first}, runs, now=now, night=AS_OF, nightly_run=True)
    assert found == ({"nightly": "full"} if expected else {})
    assert fired({"first_event_at": first}, runs, now=now, night=AS_OF) == {}


@given(st.integers(1, 500), st.integers(1, 400))
def test_however_many_ticks_were_missed_one_run_catches_up(missed, minutes):
    setting = {"promote_interval_seconds": minutes * 60}
    last = AS_OF - timedelta(minutes=minutes * missed)
    assert fired(runs=[("promote", last)], **setting) == {"promote": "promote"}
    assert fired(runs=[("promote", AS_OF)], **setting) == {}


@pytest.mark.parametrize(
    ("last", "interval", "expected"),
    [
        (ago(hours=1), 86_400, AS_OF + timedelta(hours=23)),
        (ago(1), 86_400, AS_OF),
        (ago(400), 86_400, AS_OF),
        (None, 86_400, AS_OF),
        (ago(400), 0, None),
        (None, 0, None),
    ],
)
def test_a_task_is_due_an_interval_after_its_last_success_or_at_once_or_never(last, interval, expected):
    assert triggers.next_due(last, interval, AS_OF) == expected


def test_the_schedules_of_the_presets():
    def intervals(name):
        policy = Policy(**preset(name))
        return {task: seconds for task in triggers.INTERVALS if (seconds := triggers.interval(policy, task))}

    assert intervals("automem") == {"decay": 86_400, "creative": 604_800, "cluster": 2_592_000}
    assert intervals("three_tier") == {"promote": 600, "decay": 3_600, "cluster": 3_600}
    assert intervals("engram")["full"] == 21_600
    assert intervals("default") == {}


@pytest.mark.parametrize(
    ("expression", "timezone", "now", "expected"),
    [
        ("0 2 * * *", "UTC", datetime(2026, 5, 2, 2, tzinfo=UTC), datetime(2026, 5, 2, 2, tzinfo=UTC)),
        ("0 2 * * *", "UTC", datetime(2026, 5, 2, 1, 59, tzinfo=UTC), datetime(2026, 5, 1, 2, tzinfo=UTC)),
        ("0 2 * * *", "Europe/Zurich", datetime(2026, 5, 2, 1, tzinfo=UTC), datetime(2026, 5, 2, 0, tzinfo=UTC)),
        ("*/5 * * * *", "UTC", datetime(2026, 5, 2, 1, 59, tzinfo=UTC), datetime(2026, 5, 2, 1, 55, tzinfo=UTC)),
        ("0 0 1 * *", "UTC", datetime(2026, 5, 30, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)),
        ("0 0 29 2 *", "UTC", datetime(2026, 5, 30, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)),
        ("0 0 30 2 *", "UTC", datetime(2026, 5, 30, tzinfo=UTC), None),
    ],
)
def test_the_last_tick_of_a_schedule(expression, timezone, now, expected):
    assert triggers.last_tick(expression, timezone, now) == expected


# --- several profiles


def test_each_profile_is_told_apart_and_by_its_own_policy():
    counts = {"a": 9, "b": 10, "c": 10, "d": 99}
    rows = [NOTHING | {"profile_id": name, "stored": count} for name, count in counts.items()]
    activity = pl.DataFrame(rows, schema=triggers.ACTIVITY)
    ten, off = Policy(**QUIET | {"step_count_trigger": 10}), Policy(**QUIET | {"enabled": False})
    past = pl.DataFrame([("b", "full", ago(3), 7)], schema=triggers.PROGRESS, orient="row")
    found = triggers.due(activity, past, {"a": ten, "b": ten, "c": ten, "d": off}, now=AS_OF)
    assert found.select("profile_id", "trigger", "since").rows() == [("b", "steps", ago(3)), ("c", "steps", None)]
    assert found["reason"][0] == "10 memories stored since the last lightweight run (threshold 10)"


@given(st.permutations(range(6)))
def test_the_order_of_the_rows_does_not_matter(order):
    rows = [NOTHING | {"profile_id": f"p{n}", "stored": 40 + 5 * n, "sessions_ended": n % 2} for n in range(6)]
    past = [(f"p{n}", task, ago(n), n) for n in range(6) for task in ("full", "decay")]
    policies = {f"p{n}": Policy(**QUIET | {"step_count_trigger": 50, "session_trigger": True}) for n in range(6)}

    def found(places):
        activity = pl.DataFrame([rows[place] for place in places], schema=triggers.ACTIVITY)
        progress = pl.DataFrame(past, schema=triggers.PROGRESS, orient="row").sample(fraction=1, shuffle=True, seed=1)
        return triggers.due(activity, progress, policies, now=AS_OF)

    assert found(order).equals(found(range(6)))


def test_an_empty_store_has_nothing_due():
    nothing = triggers.due(triggers.ACTIVITY.to_frame(), triggers.PROGRESS.to_frame(), {}, now=AS_OF, night=AS_OF)
    assert nothing.schema == triggers.DUE
    assert nothing.is_empty()


# --- reflection


def stored(*rows):
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def crossed(memories, reflected=None, threshold=150.0):
    return triggers.reflection(memories, reflected or {}, threshold=threshold).rows()


@pytest.mark.parametrize(("total", "expected"), [(149.9, False), (150.0, False), (150.1, True)])
def test_a_reflection_needs_strictly_more_than_the_threshold(total, expected):
    rows = [("p", "original", index, 1.0) for index in range(1, 15)]
    rows.append(("p", "original", 15, (total - 140.0) / 10))
    assert bool(crossed(stored(*rows))) == expected


def test_a_reflection_counts_originals_after_the_last_one_by_ledger_position():
    memories = stored(
        ("p", "original", 3, 0.4),
        ("p", "original", 4, 0.5),
        ("p", "original", 9, 0.7),
        ("p", "meta_pattern", 8, 1.0),
        ("q", "original", 5, 0.1),
        ("r", "original", 6, 0.9),
    )
    assert crossed(memories, {"p": 3, "r": 6, "unknown": 1}, threshold=0.5) == [("p", 12.0, 2), ("q", 1.0, 1)]


def test_noise_of_adding_up_does_not_trigger_a_reflection():
    assert crossed(stored(*(("p", "original", index, 0.01) for index in range(1, 1501)))) == []


def test_nothing_stored_triggers_no_reflection():
    assert crossed(stored()) == []


@given(st.lists(st.tuples(st.sampled_from("pq"), st.floats(0, 1)), max_size=30), st.randoms())
def test_the_sum_depends_neither_on_the_order_nor_on_other_profiles(rows, random):
    memories = stored(*((profile, "original", index, value) for index, (profile, value) in enumerate(rows, start=1)))
    places = list(range(len(memories)))
    random.shuffle(places)
    expected = crossed(memories, threshold=1.0)
    assert crossed(memories[places], threshold=1.0) == expected
    alone = crossed(memories.filter(pl.col("profile_id") == "p"), threshold=1.0)
    assert alone == [row for row in expected if row[0] == "p"]


# --- the time budget


def runs(*rows):
    """Runs as (run, memories, seconds), one after the other."""
    types = {"run_id": pl.String, "memories": pl.Int64, "duration_seconds": pl.Float64, "committed_at": pl.Int64}
    return pl.DataFrame([(*row, index) for index, row in enumerate(rows)], schema=types, orient="row")


@pytest.mark.parametrize(
    ("budget", "measured", "expected"),
    [
        (0, runs(("a", 10, 1.0)), None),
        (10, runs(), int(10 * triggers.THROUGHPUT)),
        (10, runs(("a", 0, 5.0), ("b", 100, 0.0)), int(10 * triggers.THROUGHPUT)),
        (10, runs(("a", 100, 1.0), ("b", 300, 3.0)), 1000),
        (10, runs(("a", 100, 4.0), ("a", 300, 4.0)), 1000),
        (10, runs(("old", 10**9, 1.0), *((f"r{n}", 50, 1.0) for n in range(10))), 500),
        (1, runs(("slow", 1, 1000.0)), 1),
    ],
    ids=[
        "no budget",
        "unmeasured",
        "nothing was done",
        "measured",
        "two profiles in one run",
        "recent",
        "at least one",
    ],
)
def test_a_time_budget_is_as_many_memories_as_the_last_runs_would_have_managed(budget, measured, expected):
    assert triggers.row_limit(budget, measured) == expected
