"""A data folder that cannot be written can be looked at, and one sentence says where writing is needed."""

import os
import stat
import subprocess
from contextlib import contextmanager

import duckdb
import homes
import pytest
from commands import as_json, refused, text

from memory_pipeline import MemoryClient
from memory_pipeline.lake import snapshot


@contextmanager
def read_only(home):
    """Make a folder read-only: by its mode, and for root, whom no mode stops, by a mount."""
    if os.geteuid():
        home.chmod(0o555)
        try:
            yield
        finally:
            home.chmod(0o755)
        return
    if subprocess.run(["mount", "--bind", home, home], capture_output=True, check=False).returncode:
        pytest.skip("root may not mount here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
        yield
    finally:
        subprocess.run(["umount", home], check=True)


def test_a_read_only_folder_is_looked_at_and_named_where_writing_is_needed(tmp_path):
    home = tmp_path / "data"
    with homes.filled(home, homes.events(profiles=1, memories=6)) as lake:
        homes.night(lake)
        snapshot.publish(lake)
    position = as_json("status", home=home)["position"]
    with read_only(home):
        assert as_json("status", home=home)["position"] == position
        with MemoryClient(home, profile_id="sample-1") as client:
            answer = client.recall("What is booked?")
            assert answer
            assert client.explain(answer[0].memory_id)
        path = text("snapshot", "open", home=home).strip()
        with duckdb.connect(path, read_only=True) as connection:
            assert connection.execute("SELECT count(*) FROM memories").fetchone() != (0,)
        everything = as_json("export", "parquet", tmp_path / "tables", home=home)["tables"]
        assert (everything["memories"], everything["events"]) > (5, 5)
        assert "cannot be written" in refused("remember", "A new fact.", home=home)
        assert "make the folder and its files writable" in refused("erase", answer[0].memory_id, "--yes", home=home)
    assert as_json("status", home=home)["position"] == position


def test_a_new_data_folder_is_its_owners_and_its_files_follow_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        MemoryClient(tmp_path / "own").close()
        (tmp_path / "shared").mkdir(mode=0o750)
        MemoryClient(tmp_path / "shared").close()
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("own", "shared")] == [0o700, 0o750]
    assert stat.S_IMODE((tmp_path / "own" / "ledger.sqlite").stat().st_mode) == 0o644
    found = {row["subject"]: row["detail"] for row in as_json("doctor", home=tmp_path / "shared")}
    assert "chmod 700" in found["access"]
