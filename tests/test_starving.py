"""Agents that change memories all the time: runs commit nevertheless, each profile on its own."""

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from homes import NIGHT, night, settings

from memory_pipeline.consolidation.plans import plan_document
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import commit, consolidate, inputs, rebuild

TOLD = {
    "m0": "Ana keeps the spare keys in the blue drawer",
    "m1": "Ana keeps the spare keys in the blue drawer.",
    "m9": "Trams stop near the harbour",
}


def told(profile_id: str):
    raw = {"event_type": "memory.stored", "profile_id": profile_id}
    return [
        parse(
            raw | {"event_id": f"{profile_id} {memory_id}", "memory_id": memory_id, "payload": {"content": text}},
            recorded_at=NIGHT - timedelta(days=40),
            origin="test",
        )
        for memory_id, text in TOLD.items()
    ]


@pytest.fixture
def lake(tmp_path: Path):
    with Lake(tmp_path) as opened:
        opened.ledger.append([*told("p"), *told("q")])
        yield opened


@pytest.fixture
def agent(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """An agent of profile `p` that protects a memory whenever a run is about to commit; what came of each attempt."""
    check, outcomes = commit.violations, list[str]()

    def start(memory_id: str) -> list[str]:
        def violations(*given):
            raw = {"event_type": "memory.updated", "profile_id": "p", "memory_id": memory_id}
            change = {"event_id": f"u{len(outcomes)}", "payload": {"importance": 0.1 * len(outcomes)}}
            with Lake(lake.home, timeout=0) as other:
                try:
                    other.ledger.append([parse(raw | change, recorded_at=NIGHT, origin="test")])
                except LakeError:
                    outcomes.append("waits")
                else:
                    outcomes.append("updated")
            return check(*given)

        monkeypatch.setattr(commit, "violations", violations)
        return outcomes

    return start


@pytest.mark.drill
def test_an_agent_that_changes_what_a_plan_rests_on_waits_after_two_conflicts(lake: Lake, agent) -> None:
    outcomes = agent("m0")
    tables = night(lake)
    assert outcomes == ["updated", "updated", "waits"]
    runs = lake.ledger.runs()
    assert sorted(runs["profile_id"]) == ["p", "q"]
    assert lake.ledger.attempts()["outcome"].to_list() == ["committed", "conflict", "conflict", "committed"]
    committed = lake.ledger.decisions()
    assert committed.drop("seq", "status").equals(tables["consolidation_plan"].drop("seq", "status"))
    assert set(committed["profile_id"]) == {"p", "q"}
    for profile_id in ("p", "q"):
        again = rebuild.rebuild(lake, profile_id)
        assert lake.read("memories", profiles=[profile_id]).equals(again["memories"])


@pytest.mark.drill
def test_an_agent_that_changes_another_memory_stops_nobody(lake: Lake, agent) -> None:
    outcomes = agent("m9")
    night(lake)
    assert outcomes == ["updated"]
    assert lake.ledger.attempts()["outcome"].to_list() == ["committed"]
    assert lake.read("memories", profiles=["p"]).equals(rebuild.rebuild(lake, "p")["memories"])
    night(lake, as_of=NIGHT + timedelta(days=1), run_id="next")
    changed = lake.read("memories").filter(pl.col("memory_id") == "m9", pl.col("profile_id") == "p")
    assert changed["importance_given"].to_list() == [0.0], "the next run sees it"


def test_a_plan_file_stands_until_what_it_rests_on_changes(lake: Lake) -> None:
    chosen = settings(lake.home)
    profiles = inputs.select_profiles(lake, chosen, as_of=NIGHT)
    document = plan_document.write(consolidate.dry_run(lake, chosen, profiles)["consolidation_plan"], profiles)
    raw = {"event_type": "memory.updated", "profile_id": "p", "payload": {"importance": 0.5}}
    lake.ledger.append([parse(raw | {"event_id": "u9", "memory_id": "m9"}, recorded_at=NIGHT, origin="test")])
    assert inputs.profiles_of_plan(lake, chosen, document).equals(profiles)
    lake.ledger.append([parse(raw | {"event_id": "u0", "memory_id": "m0"}, recorded_at=NIGHT, origin="test")])
    with pytest.raises(ValueError, match="profile 'p' has changed since the plan was made; plan again"):
        inputs.profiles_of_plan(lake, chosen, document)
