"""A lost, foreign or older ledger is noticed, and nothing that only the right one accounts for is swept."""

import json
import shutil
from datetime import timedelta

import homes
import pytest
from commands import as_json, call, refused
from lake_rows import commit_of

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake import identity, snapshot
from memory_pipeline.lake.tables import Lake, LakeError

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def store(consolidated, tmp_path_factory):
    """A store after one night, and a copy of its ledger from before that night and from after it."""
    folder = tmp_path_factory.mktemp("store")
    home = folder / "data"
    for name in ("before", "data"):
        shutil.copytree(consolidated, folder / name, symlinks=True)
    with Lake(home) as lake:
        homes.night(lake, as_of=homes.NIGHT + homes.days(1), run_id="two")
        snapshot.publish(lake)
    return folder


@pytest.fixture
def home(store, tmp_path):
    shutil.copytree(store / "data", tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def files(home):
    return {path.relative_to(home) for path in home.glob("lake/*/*")}


def replace_ledger(home, by=None):
    for path in home.glob("ledger.sqlite*"):
        path.unlink()
    if by is not None:
        for path in by.glob("ledger.sqlite*"):
            shutil.copy(path, home)


def test_a_missing_ledger_is_not_begun_anew(home):
    before = files(home)
    replace_ledger(home)
    with pytest.raises(identity.Mismatch, match="is missing, but its lake exists"):
        Lake(home)
    for line in ("status", "remember x", "consolidate", "init"):
        assert "restore ledger.sqlite from a backup" in refused(*line.split(), home=home)
    found = {row["subject"]: row for row in told_problem(home)}
    assert "restore ledger.sqlite from a backup" in found["ledger"]["detail"]
    assert not (home / "ledger.sqlite").exists()
    assert files(home) == before


def told_problem(home, *args):
    done = call("doctor", "--json", *args, home=home)
    assert done.returncode == 1, done.stdout
    return json.loads(done.stdout)


def test_the_ledger_of_another_store_is_refused_and_sweeps_nothing(home, tmp_path):
    with Lake(tmp_path / "other") as lake:
        lake.commit(commit_of(lake, ["ana"], "p"))
    before = files(home)
    replace_ledger(home, tmp_path / "other")
    with pytest.raises(LakeError, match="belong to different stores"):
        Lake(home)
    with Lake(home, checked=False) as lake, pytest.raises(identity.Mismatch):
        lake.sweep(older_than=-DAY)
    assert "belong to different stores" in told_problem(home, "--repair")[-1]["detail"]
    assert files(home) == before


def test_an_older_ledger_is_refused_until_doctor_accepts_it(home, store):
    replace_ledger(home, store / "before")
    newest = snapshot.newest(home)
    assert "is older than the lake" in refused("status", home=home)
    (found,) = (row for row in told_problem(home) if row["subject"] == "store")
    assert "doctor --repair" in found["detail"]
    findings = {row["subject"]: row for row in as_json("doctor", "--repair", home=home)}
    assert "1 newer snapshot dropped" in findings["store"]["detail"]
    assert not newest.exists()
    assert snapshot.newest(home).name < newest.name
    with Lake(home) as lake:
        assert lake.verify().is_empty()
        lake.commit(commit_of(lake, ["ana"], "again"))
    replace_ledger(home, store / "before")
    assert "is older than the lake" in refused("status", home=home), "another epoch has begun"


@pytest.mark.drill
def test_a_store_keeps_its_identity_through_commits_and_a_move(home, tmp_path):
    with Lake(home) as lake:
        own = identity.of_lake(lake.store)
    shutil.move(home, tmp_path / "moved")
    with Lake(tmp_path / "moved") as lake:
        lake.commit(commit_of(lake, ["ana"], "three"))
        now = identity.of_lake(lake.store)
        lake.sweep(older_than=-DAY)
        erase_memories(lake, profile_id="sample-1", whole_profile=True, now=homes.RECORDED)
        assert identity.of_lake(lake.store) == now, "neither a sweep nor an erasure removes it"
    assert (now.store, now.epoch) == (own.store, own.epoch)
    assert now.position > own.position


@pytest.mark.parametrize("content", [b"", b"{}", b"[1", b"\xff"])
def test_a_damaged_identity_is_one_sentence(home, content):
    (home / identity.KEY).write_bytes(content)
    assert "store.json is damaged" in refused("status", home=home)


@pytest.mark.parametrize("content", [b"", b"no database"])
def test_an_empty_or_foreign_ledger_file_is_one_sentence(home, content):
    replace_ledger(home)
    (home / "ledger.sqlite").write_bytes(content)
    assert "replace ledger.sqlite with a backup" in refused("status", home=home)
    assert "replace ledger.sqlite with a backup" in told_problem(home)[-1]["detail"]
