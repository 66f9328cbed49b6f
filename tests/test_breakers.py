"""Breakers under attack: a wrong clock, a long silence or equal instants remove little, and the run says why."""

import logging
from datetime import UTC, datetime, timedelta

import homes
import numpy as np
import polars as pl
import pytest
import sampling
from commands import as_json

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.commits import StaleInstant
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.runs import consolidate, inputs, rebuild, resting, undo
from memory_pipeline.schemas import LIVE
from memory_pipeline.service import doctor
from memory_pipeline.text.embed.embedding import HashingEmbedder

YEARS = timedelta(days=3650)


@pytest.fixture
def lake(tmp_path):
    """A store whose policy lets everything expire that nobody uses, at once if need be."""
    homes.settings(tmp_path, preset="three_tier")
    with homes.filled(tmp_path, homes.events(profiles=1, memories=60)) as lake:
        yield lake


def live(lake):
    return lake.read("memories").filter(pl.col("lifecycle").is_in(LIVE), pl.col("kind") == "original").height


def test_a_clock_ten_years_ahead_removes_nothing_in_mass_and_one_command_takes_it_back(lake, caplog, monkeypatch):
    now, before = homes.NIGHT, lake.ledger.profiles()["memories"].sum()
    with caplog.at_level(logging.WARNING):
        for night in range(2):  # the first held run must not release the second
            homes.night(lake, as_of=now + YEARS + timedelta(days=night), run_id=f"ahead {night}")
    assert live(lake) == before
    assert "No whole run of sample-1 for more than max_idle_days = 365" in caplog.text
    assert "Held back for sample-1" in caplog.text
    with monkeypatch.context() as patched:
        patched.delattr(consolidate, "preview")  # it is refused before anything is planned
        with pytest.raises(StaleInstant, match="memory-pipeline undo --ahead"):
            homes.night(lake, as_of=now, run_id="back")
    with caplog.at_level(logging.WARNING):
        assert inputs.select_profiles(lake, homes.settings(lake.home), as_of=now, trigger="schedule").is_empty()
    assert "if that clock ran ahead, undo its runs with `memory-pipeline undo --ahead`" in caplog.text
    ahead = [
        finding for finding in doctor.examine(homes.settings(lake.home), repair=False) if finding.subject == "clock"
    ]
    assert [finding.well for finding in ahead] == [False]

    undo.undo_ahead(lake, now=now)
    homes.night(lake, as_of=now, run_id="back")
    standing = lake.ledger.runs().filter(pl.col("outcome") != "reverted")
    assert set(standing["run_id"]) == {"back"}
    assert standing["as_of"].max() == now


@pytest.mark.drill
def test_what_was_remembered_while_a_clock_ran_ahead_is_found_after_it_was_set_back(tmp_path):
    clock = [homes.NIGHT + YEARS]
    with MemoryClient(tmp_path, clock=lambda: clock[0]) as client:
        ahead = client.remember("The red kettle stands in Lisbon.")
        clock[0] = homes.NIGHT
        client.remember("The green bicycle was sold to Petra.")
        client.consolidate()
        assert ahead in {found.memory_id for found in client.recall("red kettle")}


@pytest.mark.drill
def test_the_snapshot_shows_the_undo_of_a_run_without_decisions(tmp_path):
    with MemoryClient(tmp_path) as client:
        client.remember("A tram went by.")
        client.remember("Somebody saw a heron.")
        client.consolidate()
    with Lake(tmp_path) as lake:
        assert lake.ledger.decisions().is_empty()
        run_id = lake.ledger.runs()["run_id"].item()
    as_json("undo", run_id, home=tmp_path)
    (found,) = (one for one in doctor.examine(homes.settings(tmp_path), repair=False) if one.subject == "snapshot")
    assert found.well, found.detail


def test_what_a_clock_ahead_recorded_comes_before_what_was_stored_next(tmp_path):
    real = datetime.now(UTC)
    clock = [real - timedelta(hours=3)]
    with MemoryClient(tmp_path, clock=lambda: clock[0]) as client:
        stored = [client.remember("The code is 1000.")]
        for place, hours in enumerate((9_000, 9_000, -2, 9_000, -1, 9_000), 2):
            clock[0] = real + timedelta(hours=hours)
            stored.append(client.remember(f"The code is {place}000."))
    assert as_json("undo", "--ahead", home=tmp_path)["dated_back"] == 4
    with MemoryClient(tmp_path) as client:
        assert [one.memory_id for one in client.list()] == stored[::-1]
        assert client.recall("What is the code?")[0].memory_id == stored[-1]
        assert client.get(stored[3]).created_at == real - timedelta(hours=2)


@pytest.mark.usefixtures("unpublished")
def test_what_a_run_left_out_as_future_is_found_as_soon_as_it_is_dated_back_and_the_next_run_reads_it(tmp_path):
    real = datetime.now(UTC)
    clock = [real + timedelta(days=40)]

    def rest(lake):
        profiles = inputs.select_profiles(lake, homes.settings(tmp_path), as_of=datetime.now(UTC))
        return resting.at_rest(lake, profiles)["profile_id"].to_list()

    with MemoryClient(tmp_path, clock=lambda: clock[0]) as client, Lake(tmp_path) as lake:
        ahead = client.remember("The red kettle stands in Lisbon.")
        clock[0] = real - timedelta(hours=2)
        newer = client.remember("The green bicycle was sold to Petra.")
        for minutes in (60, 30):
            homes.night(lake, as_of=real - timedelta(minutes=minutes), run_id=f"night {minutes}")
        assert as_json("undo", "--ahead", home=tmp_path)["dated_back"] == 1
        for shown in (client, MemoryClient(tmp_path)):
            assert [one.memory_id for one in shown.list()] == [newer, ahead]
            assert shown.recall("Where is the red kettle?")[0].memory_id == ahead
            assert shown.get(ahead).created_at < shown.get(newer).created_at
        published = lake.read("memories")
        assert set(published["memory_id"]) == {ahead, newer}
        assert published.equals(rebuild.rebuild(lake, "default")["memories"])
        assert rest(lake) == []


@pytest.mark.usefixtures("unpublished")
def test_dating_back_that_is_cut_off_before_it_is_published_is_reported_and_finished_by_the_next(tmp_path, monkeypatch):
    real = datetime.now(UTC)
    clock = [real + timedelta(days=40)]

    def told():
        return [one.detail for one in doctor.examine(homes.settings(tmp_path), repair=False) if one.subject == "clock"]

    def killed(*_, **__):
        raise KeyboardInterrupt

    with MemoryClient(tmp_path, clock=lambda: clock[0]) as client, Lake(tmp_path) as lake:
        ahead = client.remember("The red kettle stands in Lisbon.")
        clock[0] = real - timedelta(hours=2)
        newer = client.remember("The green bicycle was sold to Petra.")
        homes.night(lake, as_of=real - timedelta(minutes=30))
        with monkeypatch.context() as cut:
            cut.setattr(Lake, "republish", killed)
            with pytest.raises(KeyboardInterrupt):
                undo.undo_ahead(lake, now=real)
        assert ["undo --ahead" in detail for detail in told()] == [True]
        assert set(lake.read("memories")["memory_id"]) == {newer}
        assert undo.undo_ahead(lake, now=real)[1] == 0
        assert set(lake.read("memories")["memory_id"]) == {ahead, newer}
        assert told() == []


def test_what_was_stored_for_a_time_by_a_clock_ahead_ends_that_time_after_its_new_date(tmp_path):
    real = datetime.now(UTC)
    clock = [real + timedelta(days=400)]
    until = real + timedelta(days=500)
    with MemoryClient(tmp_path, clock=lambda: clock[0]) as client:
        for_a_time = client.remember("Badge 77 is in the drawer.", expires_in="30 days", metadata={"floor": 2})
        backdated = client.remember("Badge 78 is lent.", expires_in="30 days", occurred_at=real - timedelta(days=9))
        stated = client.remember("The lease runs.", valid_until=until, metadata={"expires": "no"})
    as_json("undo", "--ahead", home=tmp_path)
    with MemoryClient(tmp_path) as client:
        ends = {name: client.get(name).valid_until for name in (for_a_time, backdated, stated)}
        assert ends[for_a_time] - client.get(for_a_time).created_at == timedelta(days=30)
    assert ends[backdated] == real + timedelta(days=21)
    assert ends[stated] == until


@pytest.mark.drill
@pytest.mark.parametrize("consolidated", sampling.first(True, False))
def test_what_was_remembered_while_a_clock_ran_ahead_is_dated_back_and_outranks_nothing_newer(tmp_path, consolidated):
    real = datetime.now(UTC)
    clock, texts = [real + YEARS], [f"The rent is {place}00 crowns." for place in range(4)]
    with MemoryClient(tmp_path, clock=lambda: clock[0]) as client:
        backdated = client.remember("We met in Brno.", occurred_at=real - timedelta(days=9))
        early = [client.remember(text) for text in texts[:3]]
        if consolidated:
            client.consolidate()
    with Lake(tmp_path) as lake:
        lake.project()
        assert lake.ahead(real) == {"default": 4}
    told_by_doctor = [one for one in doctor.examine(homes.settings(tmp_path), repair=False) if one.subject == "clock"]
    assert any("memories stored in the future: 4" in one.detail for one in told_by_doctor)
    told_now = as_json("undo", "--ahead", home=tmp_path)
    assert told_now["dated_back"] >= 4
    assert told_now["again"] == ("the next run decides anew" if consolidated else None)
    assert as_json("undo", "--ahead", home=tmp_path)["dated_back"] == 0
    with MemoryClient(tmp_path) as client:
        newest = client.remember(texts[3])
        assert [one.memory_id for one in client.list()] == [newest, *reversed(early), backdated]
        assert client.get(backdated).created_at == real - timedelta(days=9)
        assert all(client.get(name).created_at <= datetime.now(UTC) for name in early)
        client.consolidate()
        assert client.list()[0].memory_id == newest
    with Lake(tmp_path) as lake:
        assert lake.ahead(datetime.now(UTC)) == {}
        assert lake.events()["recorded_at"].max() <= datetime.now(UTC)
        assert lake.verify().is_empty()


@pytest.mark.drill
def test_after_a_long_silence_a_person_releases_what_leaves(lake):
    later = homes.RECORDED + timedelta(days=730)
    homes.night(lake, as_of=later)
    before = live(lake)
    assert before == lake.ledger.profiles()["memories"].sum()
    homes.night(lake, as_of=later + timedelta(hours=1), run_id="released", max_archived_share=1.0)
    assert live(lake) < before
    later += timedelta(days=1)
    chosen = inputs.select_profiles(lake, homes.settings(lake.home), as_of=later)
    assert set(chosen["max_archived_share"]) == {1.0}  # the policy's own again


@pytest.mark.drill
def test_a_clock_at_the_first_instant_is_refused_and_one_at_the_last_removes_nothing_in_mass(lake):
    homes.night(lake)
    before = live(lake)
    with pytest.raises(StaleInstant):
        homes.night(lake, as_of=datetime(1, 1, 1, tzinfo=UTC), run_id="first")
    homes.night(lake, as_of=datetime(9999, 12, 31, tzinfo=UTC), run_id="last")
    assert live(lake) >= 0.9 * before


@pytest.mark.drill
def test_an_import_with_equal_instants_removes_nothing(tmp_path):
    homes.settings(tmp_path, preset="three_tier")
    events = [event.model_copy(update={"occurred_at": homes.START}) for event in homes.events(profiles=1, memories=60)]
    with homes.filled(tmp_path, events) as lake:
        homes.night(lake, as_of=homes.START)
        assert live(lake) == lake.ledger.profiles()["memories"].sum()


@pytest.mark.drill
@pytest.mark.parametrize("shape", sampling.first(384, 7))
def test_vectors_that_are_not_finite_or_of_another_size_stop_the_run_and_are_not_stored(tmp_path, monkeypatch, shape):
    monkeypatch.setattr(HashingEmbedder, "embed", lambda _, texts: np.full((len(texts), shape), np.nan, np.float32))
    with homes.filled(tmp_path, homes.events(profiles=1, memories=5)) as lake:
        with pytest.raises(ValueError, match="embedder = 'hashing' returned"):
            homes.night(lake)
        assert lake.read("vectors").is_empty()
        monkeypatch.undo()
        homes.night(lake)
        assert lake.read("vectors").height


@pytest.mark.drill
def test_a_constant_embedder_makes_nothing_a_copy(tmp_path, monkeypatch):
    one = np.eye(1, 384, dtype=np.float32)
    monkeypatch.setattr(HashingEmbedder, "embed", lambda _, texts: one.repeat(len(texts), 0))
    with homes.filled(tmp_path, homes.events(profiles=1, memories=40)) as lake:
        homes.night(lake)
        memories = lake.read("memories").filter(kind="original")
    assert memories.filter(pl.col("lifecycle").is_in(LIVE)).height >= 0.8 * memories.height


@pytest.mark.drill
def test_undo_ahead_on_the_command_line_finds_nothing_where_no_clock_ran_ahead(tmp_path):
    with homes.filled(tmp_path, homes.events(profiles=1, memories=5)) as lake:
        homes.night(lake, as_of=datetime.now(UTC))
    assert as_json("undo", "--ahead", home=tmp_path)["undone"] == []


@pytest.mark.drill
def test_the_first_run_under_a_policy_takes_no_more_than_a_tenth_until_it_is_released(lake):
    """Whatever the preset allows; the first run ever is one as well."""
    stored = lake.ledger.profiles()["memories"].sum()
    for number in range(2):  # the next night neither
        homes.night(lake, as_of=homes.NIGHT + timedelta(days=number), run_id=f"held {number}")
        assert live(lake) == stored
    homes.night(lake, as_of=homes.NIGHT + timedelta(days=2), run_id="released", max_archived_share=1.0)
    assert live(lake) < stored / 2


def test_a_tick_under_a_new_policy_does_not_release_what_a_night_under_it_takes(tmp_path):
    homes.settings(tmp_path, preset="default")
    told = [event for event in homes.events(profiles=1, memories=60) if event.event_type == "memory.stored"]
    with homes.filled(tmp_path, told[:22]) as lake:
        homes.night(lake, run_id="before")
        before = live(lake)
        changed = homes.settings(tmp_path, preset="three_tier")
        for number, task in enumerate(("tick", "full"), 1):
            homes.night(lake, as_of=homes.NIGHT + timedelta(days=number), run_id=task, policy=changed, task=task)
        assert lake.ledger.runs().filter(run_id="tick")["outcome"].to_list() == ["committed"]
        assert live(lake) == before


@pytest.mark.drill
@pytest.mark.parametrize(
    ("policy", "held"),
    sampling.first_row(
        ({"preset": "three_tier"}, True),
        ({"preset": "three_tier", "expire_energy": 1.0}, True),
        ({"preset": "three_tier", "max_archived_share": 1.0}, False),  # set by hand: released in advance
    ),
)
def test_a_change_of_policy_is_held_until_it_is_released(tmp_path, policy, held):
    homes.settings(tmp_path, preset="default")
    told = [event for event in homes.events(profiles=1, memories=60) if event.event_type == "memory.stored"]
    with homes.filled(tmp_path, told[:22]) as lake:
        homes.night(lake, run_id="before")
        before = live(lake)
        changed = homes.settings(tmp_path, **policy)
        homes.night(lake, as_of=homes.NIGHT + timedelta(days=1), run_id="changed", policy=changed)
        assert (live(lake) == before) is held
        if held:
            released = {"policy": changed, "max_archived_share": 1.0}
            homes.night(lake, as_of=homes.NIGHT + timedelta(days=2), run_id="released", **released)
            assert live(lake) < before / 2
            again = {"as_of": homes.NIGHT + timedelta(days=3)}
            assert inputs.select_profiles(lake, changed, **again)["max_archived_share"].to_list() == [1.0]
            undo.undo(lake, lake.ledger.runs().sort("commit_seq")["plan_id"][-1], now=homes.RECORDED, cascade=True)
            assert inputs.select_profiles(lake, changed, **again)["max_archived_share"].to_list() == [0.1]
