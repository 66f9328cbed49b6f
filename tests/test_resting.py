"""Nights over profiles in which nothing happened: they are recorded, and nothing is computed for them."""

from datetime import timedelta

import homes
import pytest
import sampling

from memory_pipeline.consolidation.stages.s170_plan import REST
from memory_pipeline.interop.importing import import_events
from memory_pipeline.runs import consolidate, inputs, rebuild, resting, undo

QUIET = 2
"""Nights after which nothing is left to decide about the profile."""
LAST = QUIET - 1 + REST.days - 1
"""The last night at which the profile is left alone."""


def profiles_of(lake, night, *, settings=None):
    chosen = settings or homes.settings(lake.home)
    return inputs.select_profiles(lake, chosen, as_of=homes.NIGHT + night * homes.days(1))


def left(lake, night, *, settings=None):
    """Return the profiles that a run at this night would leave alone, and until when."""
    return dict(resting.at_rest(lake, profiles_of(lake, night, settings=settings)).select("profile_id", "until").rows())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A store after nights of which the last one decided nothing."""
    folder = tmp_path_factory.mktemp("resting")
    with homes.filled(folder, homes.events(profiles=2, memories=12)) as lake:
        for night in range(QUIET):
            homes.night(lake, as_of=homes.NIGHT + night * homes.days(1), run_id=f"night {night}")
    return folder


@pytest.mark.parametrize("nights", sampling.first((LAST,), (QUIET, LAST)), ids=len)
def test_a_night_over_profiles_left_alone_is_recorded_and_decides_what_a_computed_one_would(home, tmp_path, nights):
    rests_until = homes.NIGHT + (QUIET - 1) * homes.days(1) + REST
    with homes.copied(home, tmp_path / "home") as lake:
        assert left(lake, QUIET) == dict.fromkeys(("sample-1", "sample-2"), rests_until)
        before, files = homes.published(lake), sorted(lake.home.glob("lake/*/*"))
        for night in nights:
            profiles = profiles_of(lake, night)
            planned = consolidate.preview(lake, homes.settings(lake.home), profiles)["consolidation_plan"]
            assert planned.is_empty()
            assert resting.leave(lake, profiles, run_id=f"night {night}").is_empty()
        assert sorted(lake.home.glob("lake/*/*")) == files
        homes.same(homes.published(lake), before)
        runs = lake.ledger.runs(["sample-1"]).sort("commit_seq").tail(len(nights))
        assert set(runs["outcome"]) == {"unchanged"}
        assert runs["memories"].to_list() == [lake.ledger.runs(["sample-1"])["memories"].max()] * len(nights)
        assert left(lake, LAST + 1) == {}, "a profile is looked at again in the end"
        rebuilt = rebuild.rebuild(lake, "sample-1")
        for name, rows in rebuilt.items():
            assert rows.equals(lake.read(name, profiles=["sample-1"])), name


def test_what_is_told_or_undone_or_set_wakes_the_profile_alone(home, tmp_path):
    with homes.copied(home, tmp_path / "home") as lake:
        other = homes.settings(tmp_path, close_confidence=0.95)
        assert left(lake, QUIET, settings=other) == {}
        told = homes.events(profiles=2, memories=13)
        new = [event for event in told if event.profile_id == "sample-2"]
        import_events(lake.ledger, new)
        assert list(left(lake, QUIET)) == ["sample-1"]
        profiles = profiles_of(lake, QUIET)
        assert resting.leave(lake, profiles, run_id="night")["profile_id"].to_list() == ["sample-2"]
        undo.undo(lake, "night 0", cascade=True, now=homes.NIGHT + timedelta(days=QUIET, hours=1))
        assert left(lake, QUIET + 1) == {}
