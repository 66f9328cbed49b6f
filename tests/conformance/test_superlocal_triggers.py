"""When SuperLocalMemory consolidates: session end, pause, every 50 stores, every 5 sessions; lightly or in full."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from memory_pipeline.consolidation.pipeline import TASKS
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, due_work, inputs
from memory_pipeline.schemas import Action
from memory_pipeline.settings import load

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path):
    with Lake(tmp_path) as opened:
        yield opened


def settings(lake, **policy):
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in ({"preset": "superlocal"} | policy).items())
    (lake.home / "memory_pipeline.toml").write_text(f"[policy]\n{lines}\n", "utf-8")
    return load(lake.home, environment={})


def told(lake, event_type, number, *, at=NOW, **fields):
    event = {"event_id": f"{event_type} {number}", "event_type": event_type, "occurred_at": at, "session_id": "s"}
    lake.ledger.append([parse(event | fields, recorded_at=at, origin="test")])


def store(lake, number, *, at=NOW):
    told(lake, "memory.stored", number, at=at, memory_id=f"m{number}", payload={"content": f"Fact {number}."})


def due(lake, *, at=NOW, **policy):
    """Tasks that are due, but for the projection and what time alone calls for."""
    found = due_work.due(lake, settings(lake, **policy), now=at)
    events = ("session_end", "sessions", "idle", "steps")
    return set(found.filter(found["trigger"].is_in(events)).select("trigger", "task").rows())


def run(lake, task, *, at=NOW, **policy):
    own = settings(lake, **policy)
    return consolidate.consolidate(
        lake, own, inputs.select_profiles(lake, own, as_of=at, task=task), run_id=f"{task} {at}"
    )


def fired_at(lake, stores, **policy):
    """Numbers of the stores after which a lightweight run was due, and was made."""
    fired = []
    for number in range(1, stores + 1):
        store(lake, number, at=NOW + timedelta(seconds=number))
        now = NOW + timedelta(seconds=number)
        if due(lake, at=now, **policy):
            fired.append(number)
            run(lake, "lightweight", at=now, **policy)
    return fired


def test_every_so_many_stores_a_lightweight_run(lake):
    assert fired_at(lake, 7, step_count_trigger=3) == [3, 6]


@pytest.mark.drill
def test_switched_off_nothing_fires_and_a_run_by_hand_works(lake):
    assert fired_at(lake, 6, step_count_trigger=5, enabled=False) == []
    run(lake, "full", enabled=False)
    assert lake.ledger.runs().height == 1


@pytest.mark.drill
def test_the_end_of_a_session_and_every_fifth_session_call_for_a_full_run(lake):
    store(lake, 1)
    for number in range(1, 6):
        told(lake, "session.ended", number, session_id=f"s{number}")
        ended = {("session_end", "full")}
        assert due(lake) == (ended | {("sessions", "full")} if number == 5 else ended)
        assert due(lake, session_trigger=False) == ({("sessions", "full")} if number == 5 else set())
    run(lake, "full")
    assert due(lake) == set()


@pytest.mark.drill
def test_a_pause_of_five_minutes_calls_once_for_a_lightweight_run_and_every_action_resets_it(lake):
    store(lake, 1)
    pause = timedelta(seconds=300)
    assert due(lake, at=NOW + pause) == {("idle", "lightweight")}
    access = {"payload": {"memory_ids": ["m1"]}}
    told(lake, "memory.accessed", 1, at=NOW + pause, session_id=None, **access)
    assert due(lake, at=NOW + pause) == set()
    assert due(lake, at=NOW + 2 * pause) == {("idle", "lightweight")}
    run(lake, "lightweight", at=NOW + 2 * pause)
    assert due(lake, at=NOW + 90 * pause) == set()


def test_a_lightweight_run_compiles_blocks_and_prunes_edges_and_no_more(lake):
    assert TASKS["lightweight"] == {Action.COMPILE, Action.PRUNE}
    store(lake, 1)
    for number in range(5):
        told(lake, "memory.accessed", number, at=NOW, payload={"memory_ids": ["m1"]})
    tables = run(lake, "lightweight", at=NOW + timedelta(minutes=1))
    assert set(tables["consolidation_plan"]["action"]) <= {"compile", "prune"}
    assert lake.read("memories")["lifecycle"].to_list() == ["active"], "not promoted to warm"


@pytest.mark.drill
def test_switched_off_as_the_system_does_it(lake, real_system):
    """Ours: as in the code, a preset that is chosen is on; the wiki has it off until it is switched on."""
    case = real_system("superlocal")["slm-trig-2"]
    assert settings(lake).policy.enabled is case["expected_by_code"]["default_enabled"]
    for number in range(case["input"]["stores"]):
        store(lake, number)
    assert due(lake, enabled=case["input"]["enabled"]) == set(case["expected_by_code"]["fired_at"])
    assert due(lake) == {("steps", "lightweight")}
    assert case["expected_by_code"]["manual_consolidate_still_runs"]
    run(lake, "full", enabled=False)
    assert lake.ledger.runs()["outcome"].to_list() == ["committed"]


@pytest.mark.drill
def test_lightweight_as_the_system_does_it(lake, real_system):
    """Ours: the graph is described after every run, since snapshots show it; nothing of it is decided."""
    case = real_system("superlocal")["slm-light-1"]
    for number in range(case["input"]["facts"]):
        store(lake, number)
    for number in range(case["input"]["access"]):
        told(lake, "memory.accessed", number, payload={"memory_ids": ["m0"]})
    tables = run(lake, "lightweight", at=NOW + timedelta(minutes=1))
    assert set(tables["consolidation_plan"]["action"]) <= {"compile", "prune"}
    assert lake.read("memories")["lifecycle"].to_list() == [case["expected_by_code"]["lifecycle"]["a"]]
