"""`kill -9` at any moment of an import or a run loses nothing, and the next one finishes: real processes and files."""

import random
import signal
import subprocess
import sys

import homes
import pytest

from memory_pipeline.interop import sample
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import rebuild

KILLS = (2, pytest.param(8, marks=pytest.mark.drill))
IMPORT = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from memory_pipeline.interop import jsonl
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
print("ready", flush=True)
with Lake(Path(sys.argv[1])) as lake:
    import_events(lake.ledger, jsonl.events(Path(sys.argv[2]), recorded_at=datetime(2026, 6, 1, tzinfo=UTC)), batch=40)
"""
RUN = """
import sys
from pathlib import Path
import homes
from memory_pipeline.lake.tables import Lake
print("ready", flush=True)
with Lake(Path(sys.argv[1])) as lake:
    homes.night(lake, run_id=sys.argv[2])
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "sample.jsonl"
    sample.write(path, profiles=2, memories=120, days=100, seed=3)
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, source):
    """Tables of a store that nobody killed."""
    home = tmp_path_factory.mktemp("undisturbed")
    assert started(IMPORT, home, source).wait() == 0
    assert started(RUN, home, "run").wait() == 0
    with Lake(home) as lake:
        return homes.published(lake)


def started(code, *arguments):
    """Start a process and wait until it has loaded its modules."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, cwd=homes.HERE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.stdout.close()
    return process


def killed(process, seconds):
    """Kill a process after a time, unless it is done by then; says whether it was killed."""
    try:
        return process.wait(timeout=seconds) != 0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True


def placeless(tables):
    """Tables without what depends on ledger positions: events that come twice leave gaps between them."""
    own = ("profiles", "consolidation_plan")
    made = {"plan_id", "event_id", "seq"}
    return {name: rows.drop(made & set(rows.columns)) for name, rows in tables.items() if name not in own}


@pytest.mark.parametrize("kills", KILLS)
def test_an_import_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path, source, undisturbed, kills):
    chance = random.Random(11)
    for _ in range(kills):
        killed(started(IMPORT, tmp_path, source), chance.uniform(0.005, 0.12))
    assert started(IMPORT, tmp_path, source).wait() == 0
    assert started(RUN, tmp_path, "run").wait() == 0
    with Lake(tmp_path) as lake:
        assert lake.ledger.dead_letters().is_empty()
        homes.same(placeless(homes.published(lake)), placeless(undisturbed))


@pytest.mark.parametrize("kills", KILLS)
def test_a_run_that_is_killed_changes_nothing_or_everything_and_the_next_finishes(tmp_path, source, undisturbed, kills):
    assert started(IMPORT, tmp_path, source).wait() == 0
    chance = random.Random(12)
    for number in range(kills):
        killed(started(RUN, tmp_path, f"killed-{number}"), chance.uniform(0.05, 1.5))
        with Lake(tmp_path) as lake:
            scored = lake.read("scored_memories").select("profile_id", "plan_id").unique()
            assert scored.height in {0, 2}
            assert lake.verify().is_empty()
    assert started(RUN, tmp_path, "last").wait() == 0
    with Lake(tmp_path) as lake:
        final = homes.published(lake)
        once = lake.ledger.decisions()
        assert once.select("profile_id", "signature").is_duplicated().sum() == 0
        made = ["plan_id", "event_id", "seq"]  # a commit that a kill came after moves the position of later ones
        assert final["memories"].drop(made).equals(undisturbed["memories"].drop(made))
        for profile_id in ("sample-1", "sample-2"):
            rebuilt = rebuild.rebuild(lake, profile_id)
            assert rebuilt["memories"].equals(lake.read("memories", profiles=[profile_id]))
