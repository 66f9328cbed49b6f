"""Nights under every preset, over made-up stories and real conversations: what must hold whatever is decided.

One store holds the same memories once a preset, each in a profile of that name.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import homes
import polars as pl
import pytest
import sample
import sampling

from memory_pipeline.consolidation import memory_types
from memory_pipeline.consolidation.state import foldings, projection
from memory_pipeline.interop import locomo
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.runs import commit, consolidate, inputs, rebuild, undo
from memory_pipeline.schemas import LIVE, TABLES
from memory_pipeline.settings import Settings, load, preset, preset_names

LOCOMO = Path(__file__).parents[2] / "shared" / "locomo"
SESSIONS = 5
"""So many sessions of a conversation take part."""
NOW = datetime.fromisoformat("2026-07-01T00:00Z")
BY_TIME = {"prune", "archive", "expire", "cold", "stub"}
"""What may be decided when nothing but time has passed."""
BY_DECISIONS = {"link", "promote"}
"""What may follow from what the run before decided: a summary that it made is a new memory, which is linked and rises
as any other does, in the run after the one that stored it."""


def stories(name: str) -> list[Event]:
    """A life with accesses, sessions and feedback; changed facts, duplicates and contradictions among them."""
    told = sample.generate(profiles=1, memories=35, days=100, seed=4)
    own = ({**event, "profile_id": name, "event_id": f"{name} {event['event_id']}"} for event in told)
    return [parse(event, recorded_at=homes.RECORDED, origin="sample", future=None) for event in own]


def conversations(name: str) -> list[Event]:
    """The first sessions of a long conversation."""
    if not LOCOMO.is_dir():
        pytest.skip(f"no conversations in {LOCOMO}; the same is shown of made-up stories")
    told = locomo.events(LOCOMO / "42.json", recorded_at=homes.RECORDED, profile=name)
    return [event for event in told if int(event.session_id.removeprefix("session_")) <= SESSIONS]


@dataclass
class Nights:
    """A store that was consolidated half-way and at the end."""

    lake: Lake
    settings: Settings
    end: datetime
    former: dict[str, pl.DataFrame]
    """Published half-way."""
    made: dict[str, pl.DataFrame]
    """Every table of the run at the end."""
    published: dict[str, pl.DataFrame]
    """Published at the end."""

    def planned(self, lake: Lake, hours: float = 0.0) -> pl.DataFrame:
        """What a run would decide so many hours after the end."""
        profiles = inputs.select_profiles(lake, self.settings, as_of=self.end + timedelta(hours=hours))
        return consolidate.preview(lake, self.settings, profiles)["consolidation_plan"]


@pytest.fixture(scope="module", params=sampling.first(stories, conversations), ids=lambda source: source.__name__)
def nights(request, tmp_path_factory) -> Iterator[Nights]:
    told = [event for name in preset_names() for event in request.param(name)]
    home = tmp_path_factory.mktemp("home")
    share = {
        name: preset(name).get("max_archived_share", 0.1) for name in preset_names()
    }  # set: nothing is held at first
    policies = "\n".join(
        f'[profiles.{name}]\npreset = "{name}"\nmax_archived_share = {share[name]}' for name in preset_names()
    )
    (home / "memory_pipeline.toml").write_text(policies, "utf-8")
    settings = load(home, environment={})
    instants = sorted(event.occurred_at for event in told)
    end = instants[-1] + timedelta(hours=6)
    with homes.filled(home, told) as lake:
        homes.night(lake, as_of=instants[len(instants) // 2], policy=settings, run_id="half")
        former = homes.published(lake)
        made = homes.night(lake, as_of=end, policy=settings, run_id="end")
        yield Nights(lake, settings, end, former, made, homes.published(lake))


@pytest.fixture
def own(nights, tmp_path) -> Iterator[Lake]:
    """The store, for a test that changes it."""
    shutil.copytree(nights.lake.home, tmp_path / "own")
    with Lake(tmp_path / "own") as lake:
        yield lake


def kinds(plan: pl.DataFrame) -> dict[str, set[str]]:
    """What is decided under each preset."""
    return {name: set(own["action"]) for (name,), own in plan.group_by("profile_id")}


@pytest.mark.drill
def test_the_state_that_a_run_leaves_is_what_a_fold_makes_of_the_ledger(nights):
    later = nights.end + timedelta(hours=1)
    events, decided = nights.lake.events(as_of=later), nights.lake.ledger.decisions(as_of=later)
    in_force = projection.unmasked(decided, nights.lake.ledger.reverted())
    read, left = foldings.digests(events, in_force), nights.published["foldings"]
    assert left.select("profile_id", "read").equals(read.sort("profile_id"))
    assert left["whole"].any()
    names = {"memories": "memories", "edges": "decided_edges", "tier_changes": "tier_changes"}
    names["blocks"] = "core_memory_blocks"
    published = projection.State(**{part: nights.published[name] for part, name in names.items()})
    taken_over = foldings.state(events, in_force, read=read, published=published, foldings=left)
    folded = projection.fold(events, in_force)
    said = nights.published["core_sentences"]
    folded, taken_over = (
        replace(state, memories=memory_types.named(state.memories, said)) for state in (folded, taken_over)
    )
    for part, name in (names | {"accesses": "accesses"}).items():
        one, other = (TABLES[name].conform(getattr(state, part)) for state in (taken_over, folded))
        assert one.equals(other), name


@pytest.mark.drill
def test_every_preset_decides_what_it_is_for(nights):
    assert dict(nights.made["profiles"].select("profile_id", "preset").iter_rows()) == {n: n for n in preset_names()}
    decided = kinds(nights.lake.ledger.decisions())
    assert "link" in decided["automem"]
    assert "cold" in decided["cognitive"]
    assert {"summarise", "archive"} <= decided["engram"]
    assert "expire" in decided["three_tier"]
    assert {"link", "compile"} <= decided["superlocal"]
    assert {"link", "compile"} <= decided["default"]


@pytest.mark.drill
def test_the_published_tables_keep_their_schemas(nights):
    broken = {name: TABLES[name].violations(frame).rows() for name, frame in nights.published.items()}
    assert {name: rows for name, rows in broken.items() if rows} == {}


@pytest.mark.drill
def test_the_plan_breaks_no_invariant_and_the_quota_holds_nothing(nights):
    policies = inputs.policies(nights.settings, nights.made["profiles"])
    assert commit.violations(nights.made, policies).is_empty()
    assert set(nights.made["consolidation_plan"]["status"]) == {"proposed"}


@pytest.mark.drill
def test_nothing_is_lost_and_whoever_left_is_accounted_for(nights):
    memories, key = nights.published["memories"], ["profile_id", "memory_id"]
    stored = nights.made["events"].filter(pl.col("event_type") == "memory.stored")
    assert memories.filter(pl.col("kind") == "original").select(key).equals(stored.select(key).sort(key))
    gone = memories.filter(~pl.col("lifecycle").is_in(LIVE))
    assert gone.join(nights.lake.ledger.decisions(), on=key, how="anti").is_empty()
    merged = gone.filter((pl.col("superseded_kind") == "summary") & (pl.col("kind") == "original"))
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", superseded_by="memory_id")
    assert merged.join(live, on=["profile_id", "superseded_by"], how="anti").is_empty()


@pytest.mark.drill
def test_the_second_run_at_the_same_instant_decides_and_changes_nothing(nights, own):
    again = homes.night(own, as_of=nights.end, policy=nights.settings, run_id="again")
    assert again["consolidation_plan"].is_empty()
    homes.same(standing(nights.published), standing(homes.published(own)))


def standing(published: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables that say where everything stands, without the id of the run that looked."""
    names = ("memories", "association_edges", "scored_memories", "memory_importance", "core_memory_blocks")
    return {name: published[name].drop("plan_id", strict=False) for name in names}


@pytest.mark.drill
def test_hours_later_only_time_and_new_summaries_call_for_more(nights, own):
    five = nights.end + timedelta(hours=5)
    later = homes.night(own, as_of=five, policy=nights.settings, run_id="later")["consolidation_plan"]
    made = nights.made["consolidation_plan"].filter(pl.col("action") == "summarise").select("profile_id", "memory_id")
    ends = [made.rename({"memory_id": end}) for end in ("memory_id", "target_id")]
    about = pl.concat([later.join(end, on=end.columns, how="semi") for end in ends])
    others = later.join(about, on="decision_id", how="anti")
    assert {name: found - BY_TIME for name, found in kinds(others).items() if found - BY_TIME} == {}
    assert set(about["action"]) <= BY_TIME | BY_DECISIONS
    assert set(nights.planned(own, 10)["action"]) <= BY_TIME


@pytest.mark.drill
def test_undo_of_the_run_restores_the_former_tables_and_a_rebuild_makes_the_latter(nights, own):
    runs = rebuild.runs_in_force(own)
    last = runs.unique("profile_id", keep="last", maintain_order=True)
    rebuilt = rebuild.as_committed(own, last, reverted=own.ledger.reverted(), earlier=runs)
    assert last["profile_id"].sort().to_list() == sorted(preset_names())
    for name in commit.PUBLISHED:
        for (profile_id,), made in rebuilt[name].group_by("profile_id", maintain_order=True):
            assert made.equals(nights.published[name].filter(profile_id=profile_id)), (profile_id, name)
        assert rebuilt[name].height == nights.published[name].height, name
    undo.undo(own, "end", now=NOW)
    homes.same(nights.former, homes.published(own))
