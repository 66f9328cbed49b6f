"""What runs leave behind for the next: blocks, deferrals, summaries of agents, and what is recorded of each run."""

from datetime import UTC, datetime, timedelta

import homes
import polars as pl
import pytest
from frames import AS_OF
from planned import commit, profiles, propose, rows, state
from sqlalchemy import text

from memory_pipeline.consolidation import deferral
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, inputs, rebuild, undo
from memory_pipeline.schemas import LIVE, TABLES

NOW = datetime(2026, 7, 1, tzinfo=UTC)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def happened(place, kind, memory_id, at=None, **payload):
    event = {
        "event_id": f"e{place}",
        "profile_id": "p",
        "event_type": f"memory.{kind}",
        "occurred_at": (at or START + timedelta(minutes=place)).isoformat(),
        "memory_id": memory_id,
        "session_id": "one",
        "payload": payload,
    }
    return parse(event, recorded_at=NOW, origin="test", future=None)


@pytest.fixture
def lake(tmp_path):
    with Lake(tmp_path) as opened:
        yield opened


def blocks(lake: Lake) -> dict[str, tuple[str, int]]:
    shown = lake.read("core_memory_blocks")
    return {row["block"]: (row["content"], row["version"]) for row in shown.iter_rows(named=True)}


@pytest.mark.drill
def test_versions_of_a_block_only_rise_even_if_it_was_empty_between(lake):
    lake.ledger.append([happened(1, "stored", "a", content="I live in Bath.", category="semantic")])
    homes.night(lake, as_of=START + DAY, run_id="one")
    assert blocks(lake)["user_profile"] == ("I live in Bath. (2026-03-01)", 1)
    end = START + DAY
    lake.ledger.append([happened(2, "updated", "a", at=end + timedelta(hours=1), valid_until=end.isoformat())])
    homes.night(lake, as_of=START + 2 * DAY, run_id="two")
    assert "user_profile" not in blocks(lake)
    later = START + 2 * DAY + timedelta(hours=1)
    lake.ledger.append([happened(3, "stored", "b", at=later, content="I play the flute.", category="semantic")])
    homes.night(lake, as_of=START + 3 * DAY, run_id="three")
    assert blocks(lake)["user_profile"] == ("I play the flute. (2026-03-03)", 3)
    for name, frame in rebuild.rebuild(lake, "p").items():
        assert frame.equals(lake.read(name)), name


@pytest.mark.drill
def test_a_block_forgets_a_merge_that_was_undone_though_the_merge_is_found_again(lake):
    history = ["I never drink gin at all.", "I never drink gin at all!"]
    lake.ledger.append(
        [happened(index, "stored", f"m{index}", content=history[index], category="semantic") for index in range(2)]
    )
    made = homes.night(lake, as_of=START + DAY, run_id="one")
    merge = made["summaries"].filter(pl.col("supersedes"))["summary_id"].item()
    assert lake.read("core_memory_blocks")["members"].explode().to_list() == [merge]
    undo.undo(lake, merge, now=NOW)
    again = homes.night(lake, as_of=START + 2 * DAY, run_id="two")
    assert merge in again["summaries"]["summary_id"], "the pair is still alike"
    assert set(lake.read("core_memory_blocks")["members"].explode()) == {"m1"}, "the newer copy"
    settings = homes.settings(lake.home)
    own = inputs.select_profiles(lake, settings, as_of=START + 2 * DAY + timedelta(hours=1))
    assert consolidate.preview(lake, settings, own)["consolidation_plan"].is_empty()


def test_what_a_run_without_limit_has_done_no_longer_waits():
    names = [{"memory_id": name} for name in "abc"]
    before = state(*names)
    measured = rows(
        "memory_importance",
        [{"memory_id": name, "importance": weight} for name, weight in (("a", 0.9), ("b", 0.5), ("c", 0.1))],
    )
    late = commit(propose(before, late=[{"memory_id": "c", "place": 2}]), 101)

    def left(**known):
        of = profiles(row_limit=1, as_of=AS_OF + DAY, **known)
        return deferral.deferred(of, before.memories, measured, late, plan_id="next")["memory_id"].to_list()

    assert left() == ["a", "b"], "c has waited and comes first"
    assert left(caught_up=101) == ["b", "c"], "a run since has left nothing"


@pytest.mark.drill
def test_runs_say_of_which_scope_they_were_and_one_with_a_limit_knows_which_left_nothing(lake):
    lake.ledger.append([happened(index, "stored", f"m{index}", content=f"Note {index}.") for index in range(3)])
    homes.night(lake, as_of=START + DAY, run_id="one")
    homes.night(lake, as_of=START + 2 * DAY, run_id="two", task="reflect")
    assert lake.ledger.runs().sort("commit_seq")["scope"].to_list() == ["all", "recent"]
    first = lake.ledger.runs().sort("commit_seq")["commit_seq"][0]
    with lake.ledger.writing() as transaction:
        transaction.connection.execute(text("UPDATE runs SET duration_seconds = 1000"))
    (lake.home / "memory_pipeline.toml").write_text("time_budget_seconds = 1\n", "utf-8")
    limited = homes.settings(lake.home)
    made = homes.night(lake, as_of=START + 3 * DAY, run_id="three", policy=limited)
    assert made["profiles"].select("row_limit", "caught_up").row(0) == (1, first)
    assert made["deferred"].height == 2
    with lake.ledger.writing() as transaction:
        transaction.connection.execute(text("UPDATE runs SET duration_seconds = .001 WHERE run_id = 'three'"))
    second = homes.night(lake, as_of=START + 3 * DAY, run_id="four", policy=limited)
    assert second["consolidation_plan"].is_empty(), "a second run at an instant has the limit of the first"
    again = inputs.select_profiles(lake, limited, as_of=START + 4 * DAY)
    assert again["caught_up"].to_list() == [first], "the third has left some"


@pytest.mark.drill
def test_an_agent_has_one_summary_however_its_memories_leave(tmp_path):
    (tmp_path / "memory_pipeline.toml").write_text('[policy]\npreset = "engram"\n', "utf-8")
    history = homes.events(profiles=1, memories=80, days=100, seed=3)
    instants = sorted(event.occurred_at for event in history)
    settings = homes.settings(tmp_path)
    with homes.filled(tmp_path, history) as lake:
        stood_for = 0
        for part in range(1, 5):
            at = instants[0] + (instants[-1] - instants[0]) * part / 4 + timedelta(minutes=1)
            homes.night(lake, as_of=at, policy=settings, run_id=str(part))
            memories = lake.read("memories")
            live = memories.filter(pl.col("lifecycle").is_in(LIVE))
            agents = live.filter(pl.col("kind") == "agent")
            named = memories.filter(pl.col("session_id").is_not_null(), pl.col("kind") == "original")
            first = named.sort("session_id", "created_at", "memory_id").group_by("session_id", maintain_order=True)
            owners = named.join(first.agg(owner=pl.col("agent_id").drop_nulls().first()), on="session_id")
            told_by = agents.select("memory_id", "members").explode("members")
            owned = told_by.join(owners.select("owner", members="memory_id"), on="members")
            assert owned.group_by("owner").agg(pl.col("memory_id").n_unique())["memory_id"].max() in {None, 1}
            gone = memories.filter(pl.col("superseded_kind") == "summary", pl.col("kind") == "original")
            assert gone.join(live.select(superseded_by="memory_id"), on="superseded_by", how="anti").is_empty()
            stood_for += gone.join(agents.select(superseded_by="memory_id"), on="superseded_by", how="semi").height
        assert stood_for > 0
        assert agents.height > 0
    assert TABLES["memories"].violations(memories).is_empty()


@pytest.mark.drill
def test_a_refusal_says_what_each_text_says_without_the_other_as_it_is_written(lake):
    history = [
        "The blue car belongs to Ada Lovelace from London.",
        "The red car belongs to Ada Lovelace from London.",
        "Ann helped Bob move the heavy piano upstairs.",
        "Bob helped Ann move the heavy piano upstairs.",
    ]
    lake.ledger.append([happened(index, "stored", f"m{index}", content=said) for index, said in enumerate(history)])
    homes.night(lake, as_of=START + DAY, run_id="one")
    assert lake.read("merge_refusals").select("reason", "detail").rows() == [
        ("words", "[blue] / [red]"),
        ("words", f"[{history[2][:-1]}] / [{history[3][:-1]}]"),
    ]
