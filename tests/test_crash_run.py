"""`kill -9` at any moment of an import or a run loses nothing, and the next one finishes: real processes and files."""

import random

import homes
import pytest
import sample
import sampling
from lake_rows import PROCESSES

from memory_pipeline.interop import jsonl
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import rebuild

KILLS = sampling.first(1, 8)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "sample.jsonl"
    sample.write(path, profiles=2, memories=10, days=100, seed=3)
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, source):
    """Events of a store that nobody killed, and the tables of a run."""
    home = tmp_path_factory.mktemp("undisturbed")
    imported(home, source)
    consolidated(home, "run")
    with Lake(home) as lake:
        return homes.published(lake) | {"events": lake.read("events")}


def imported(home, source, ready=None):
    if ready:
        ready.send("ready")
    with Lake(home) as lake:
        import_events(lake.ledger, jsonl.events(source, recorded_at=homes.RECORDED), batch=40)


def consolidated(home, run_id, ready=None):
    if ready:
        ready.send("ready")
    with Lake(home) as lake:
        homes.night(lake, run_id=run_id)


def killed(work, *arguments, after):
    """Kill a process that works so many seconds after it has loaded its modules, unless it is done by then."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    with receiver, sender:
        process = PROCESSES.Process(target=work, args=(*arguments, sender))
        process.start()
        assert receiver.recv() == "ready"
        process.join(after)
        process.kill()
        process.join()


@pytest.mark.drill
@pytest.mark.parametrize("kills", KILLS)
def test_an_import_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path, source, undisturbed, kills):
    chance = random.Random(11)
    for _ in range(kills):
        killed(imported, tmp_path, source, after=chance.uniform(0.005, 0.12))
    imported(tmp_path, source)
    with Lake(tmp_path) as lake:
        assert lake.ledger.dead_letters().is_empty()
        lake.project()
        here, whole = (events.drop("seq") for events in (lake.read("events"), undisturbed["events"]))
        assert here.equals(whole), "but for positions: events that come twice leave gaps between them"


@pytest.mark.parametrize("kills", KILLS)
def test_a_run_that_is_killed_changes_nothing_or_everything_and_the_next_finishes(tmp_path, source, undisturbed, kills):
    imported(tmp_path, source)
    chance = random.Random(12)
    for number in range(kills):
        killed(consolidated, tmp_path, f"killed-{number}", after=chance.uniform(0.05, 1.5))
        with Lake(tmp_path) as lake:
            scored = lake.read("scored_memories").select("profile_id", "plan_id").unique()
            assert scored.height in {0, 2}
            assert lake.verify().is_empty()
    consolidated(tmp_path, "last")
    with Lake(tmp_path) as lake:
        final = homes.published(lake)
        once = lake.ledger.decisions()
        assert once.select("profile_id", "signature").is_duplicated().sum() == 0
        made = ["plan_id", "event_id", "seq"]  # a commit that a kill came after moves the position of later ones
        assert final["memories"].drop(made).equals(undisturbed["memories"].drop(made))
        for profile_id in ("sample-1", "sample-2"):
            rebuilt = rebuild.rebuild(lake, profile_id)
            assert rebuilt["memories"].equals(lake.read("memories", profiles=[profile_id]))
