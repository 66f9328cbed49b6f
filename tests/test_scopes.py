"""Consolidating one user, agent, session or tag of a profile: nothing else changes, and it is no whole run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import commands
import frames
import polars as pl
import pytest
from planned import found, propose, state

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation import scope
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import due_work, inputs, rebuild, status
from memory_pipeline.settings import load

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
NOTE = "The garden committee meets on Tuesday evening at the old library."
PEOPLE = ("ana", "bob")


def client(home, now=LATER):
    return MemoryClient(home, profile_id="team", clock=lambda: now)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A profile in which two people say the same thing twice each, and each changes a fact."""
    home = tmp_path_factory.mktemp("scopes") / "data"
    with client(home, NOW) as team:
        for who in PEOPLE:
            own = {"user_id": who, "session_id": f"s-{who}", "agent_id": f"bot-{who}", "tags": ["garden", who]}
            for index, text in enumerate(
                [NOTE, NOTE, f"{who.title()} lives in Leeds.", f"{who.title()} lives in York."]
            ):
                at = NOW - timedelta(hours=10 - index)
                team.remember(text, memory_id=f"{who}{index}", occurred_at=at, **own)
    return home


@pytest.fixture(scope="module")
def done(home):
    """What a dry run and the run of one person did, and the memories before and after."""
    with client(home) as team:
        before = {memory.memory_id: memory for memory in team.list(deep=True)}
        planned = team.consolidate(scope="user:ana", dry_run=True)
        made = team.consolidate(scope="user:ana")
        return planned, made, before, {memory.memory_id: memory for memory in team.list(deep=True)}


def held(memories):
    """The memories without what every run reads in all texts; a rebuild reads the same (below)."""
    return {name: replace(memory, memory_type="", category="", importance=None) for name, memory in memories.items()}


def test_only_memories_of_the_person_change(done):
    planned, made, before, after = done
    assert made.plan.equals(planned.plan)
    assert made.profiles["scope"].to_list() == ["user:ana"]
    assert {"summarise", "supersede", "link"} <= set(made.actions)
    assert "compile" not in made.actions, "a block is of the whole profile"
    superseded = {name for name, memory in after.items() if memory.superseded_kind == "summary"}
    assert superseded == {"ana0", "ana1"}
    assert {name: memory for name, memory in held(after).items() if name.startswith("bob")} == {
        name: memory for name, memory in held(before).items() if name.startswith("bob")
    }


@pytest.mark.usefixtures("done")
def test_the_tables_of_others_stand_as_a_rebuild_gives_them(home):
    with Lake(home) as lake:
        rebuilt = rebuild.rebuild(lake, "team")
        for name in ("memories", "clusters", "cluster_members", "scored_memories"):
            assert rebuilt[name].equals(lake.read(name)), name
        members = lake.read("cluster_members")
        grouped = members.group_by("cluster_id").agg(pl.col("memory_id").str.head(3).n_unique())
        assert set(grouped["memory_id"]) == {1}, "those of the person are grouped apart"
        assert {"bob0", "bob1"} <= set(members["memory_id"])


@pytest.mark.usefixtures("done")
def test_a_run_of_a_part_is_no_whole_run(home):
    settings = load(home)
    with Lake(home) as lake:
        assert status.progress(lake)["reflected_seq"].to_list() == [0]
        assert due_work.last_runs(lake).is_empty()
        summary = status.summary(lake, settings, now=LATER)
        assert summary["history"][0]["scope"] == "user:ana"
        assert summary["profiles"][0]["waiting"] == 8
        assert {task["last"] for task in summary["tasks"]} == {None}
        idle = inputs.select_profiles(lake, settings, as_of=LATER + timedelta(days=400))
        assert idle["max_archived_share"].to_list() == [0.0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("user:anna", "no memory of profile 'team' has it; correct it"),
        ("agent:z", "choose one of bot-ana, bot-bob"),
        ("session:z", "choose one of s-ana, s-bob"),
        ("tag:z", "choose one of ana, bob, garden"),
        ("user: ", "give one of all, recent, user:NAME, agent:NAME, session:NAME or tag:NAME"),
        ("colour:red", "give one of all, recent"),
        (3, "scope is 3"),
    ],
)
def test_what_is_not_known_is_refused(home, asked, said):
    with client(home) as team, pytest.raises(ValueError, match=r"^scope is ") as refusal:
        team.consolidate(scope=asked)
    assert said in str(refusal.value)


@pytest.mark.drill
def test_an_undo_takes_it_back_and_the_command_says_what_it_is_about(home, done):
    _, made, before, _ = done
    with client(home) as team:
        team.undo(made.run_id)
        assert held({memory.memory_id: memory for memory in team.list(deep=True)}) == held(before)
    shown = commands.text("consolidate", "--scope", "agent:bot-bob", "--dry-run", home=home)
    assert "scope: agent:bot-bob of team; every other memory" in shown
    refused = commands.call("consolidate", "--scope", "user:anna", "--dry-run", home=home)
    assert (refused.returncode, "bob" in refused.stderr) == (1, False)
    assert "has it; correct it" in refused.stderr


def part(asked, *given, **columns):
    return set(scope.inside(asked, frames.memories(given), **columns)["memory_id"])


def test_a_summary_is_of_a_part_if_all_that_it_tells_is():
    told = [{"memory_id": name, "user_id": who, "tags": [who, "x"]} for name, who in (("a", "ana"), ("b", "bob"))]
    lone = {"memory_id": "c", "user_id": None, "tags": []}
    fact = {"memory_id": "F", "kind": "fact", "members": ["a"]}
    over = {"memory_id": "S", "kind": "episode", "members": ["F"]}
    mixed = {"memory_id": "M", "kind": "episode", "members": ["a", "b"]}
    above = {"memory_id": "N", "kind": "episode", "members": ["M"]}
    assert part("user:ana", *told, lone, fact, over, mixed, above) == {"a", "F", "S"}
    assert part("tag:x", *told, lone, mixed, above) == {"a", "b", "M", "N"}
    new = frames.summaries([{"summary_id": "T", "members": ["a"]}, {"summary_id": "U", "members": ["a", "b"]}])
    assert part("user:ana", *told, summaries=new) == {"a", "T"}
    assert scope.inside("recent", frames.memories(told)) is None
    apart, others = scope.sides("user:ana", frames.memories([*told, lone, mixed]))
    assert (set(apart["memory_id"]), set(others["memory_id"])) == ({"M"}, {"a", "b", "c", "M"}), "M tells of a already"


def test_a_link_is_about_both_ends_and_a_commit_guards_the_part():
    within = pl.DataFrame({"profile_id": "p", "memory_id": ["a", "b"]})
    links = [found("a", "b"), found("a", "c")]
    plan = propose(state("a", "b", "c"), links=links, within=within)
    assert plan.select("memory_id", "target_id").rows() == [("a", "b")]
    everything = propose(state("a", "b", "c"), links=links)
    kept = scope.decided_about(everything, within)
    assert everything.join(kept, on="decision_id", how="anti")["target_id"].to_list() == ["c"]
