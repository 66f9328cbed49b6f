"""Care of the lake's files: what is lost is found and mended, what nobody needs is swept, and nothing else."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from lake_rows import REPLACED, batch, commit_of, plans_seen, rows

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import commits
from memory_pipeline.ledger.database import LakeError
from memory_pipeline.schemas import TABLES

DAY = timedelta(days=1)


@pytest.fixture
def lake(lake_home: Path) -> Iterator[Lake]:
    with Lake(lake_home) as opened:
        yield opened


@pytest.mark.parametrize(("name", "harm"), [("memories", "missing"), ("events", "cut"), ("vectors", "damaged")])
def test_a_lost_or_damaged_file_is_found_said_and_mended(lake: Lake, name: str, harm: str) -> None:
    lake.ledger.append(batch(5))
    lake.project()
    lake.append("vectors", rows("vectors", "ana", "p"))
    lake.commit(commit_of(lake, ["ana"], "p"))
    assert lake.verify().is_empty()
    key = lake.keys(name)[0]
    with lake.store.get(key) as file:
        whole = file.read()
    lake.store.delete(key)
    if harm == "damaged":
        lake.store.put(key, whole[:20] + bytes([whole[20] ^ 255]) + whole[21:])
    elif harm == "cut":
        lake.store.put(key, whole[: len(whole) // 2])
    found = lake.verify()
    assert found.select("table", "path").rows() == [(name, lake.store.uri(key))]
    assert found["problem"][0] == ("missing" if harm == "missing" else "damaged")
    if harm != "damaged":
        with pytest.raises(LakeError, match=r"memory-pipeline doctor"):
            lake.read(name)
    assert lake.mend().equals(found)
    assert lake.verify().is_empty()
    assert lake.read(name).height == (6 if name == "events" else 0)
    lake.commit(commit_of(lake, ["ana"], "q"))
    assert plans_seen(lake, lake.ledger.position()) == {"ana": {"q"}}


def test_a_sweep_removes_only_what_nobody_refers_to(lake: Lake) -> None:
    for plan_id in ("p1", "p2"):
        lake.commit(commit_of(lake, ["ana"], plan_id))
    lake.store.put("lake/memories/.half.aside", b"half")
    lake.store.put("lake/memories/0123-4567.parquet", b"unpublished")
    for run_id in ("gone", "live"):
        lake.stage(run_id, "memories", TABLES["memories"].empty())
    assert lake.sweep() == []
    removed = lake.sweep(older_than=-DAY, live=["live"])
    assert sorted(removed) == ["lake/memories/.half.aside", "lake/memories/0123-4567.parquet", "runs/gone"]
    assert lake.staged("live", "memories") is not None
    assert lake.verify().is_empty()
    assert plans_seen(lake, 1) == {"ana": {"p1"}}


def test_states_before_the_oldest_wanted_are_let_go(lake: Lake) -> None:
    for plan_id in ("p1", "p2", "p3"):
        lake.commit(commit_of(lake, ["ana"], plan_id))
    assert len(lake.sweep(older_than=-DAY, oldest=2)) == len(REPLACED) - 1, "who took part stays, for every undo"
    assert plans_seen(lake, 2) == {"ana": {"p2"}}
    assert plans_seen(lake, 3) == {"ana": {"p3"}}
    with pytest.raises(LakeError, match="position 1 is no longer available; ask for 2 or later"):
        lake.read("memories", seq=1)
    assert lake.sweep(older_than=-DAY) == []
    assert lake.verify().is_empty()


def test_what_was_swept_before_its_commit_is_not_committed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    standing = commits.standing

    def sweep_first(*given: object) -> list[str]:
        for file in lake.store.list("lake/"):
            lake.store.delete(file.key)
        return standing(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "standing", sweep_first)
    with pytest.raises(LakeError, match="swept before it could be published; try again"):
        lake.commit(commit_of(lake, ["ana"], "p"))
    assert lake.ledger.position() == 0


def test_nothing_of_the_store_is_left_open(lake: Lake) -> None:
    lake.commit(commit_of(lake, ["ana"], "p"))
    lake.close()
    opened = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert not [path for path in opened if path.is_relative_to(lake.home)]
    assert lake.read("memories").height == 2


def test_a_path_that_snapshots_cannot_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"what\?: a data folder cannot have \? in its path; rename"):
        Lake(tmp_path / "what?")
    assert not (tmp_path / "what?").exists()
