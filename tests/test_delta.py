"""Tables exported as Delta Lake are read by another reader as they were written, every version of them."""

import commands
import deltalake
import homes
import polars as pl
import pytest

from memory_pipeline.interop.exports import tables
from memory_pipeline.lake.tables import Lake


def test_a_table_is_read_back(consolidated, tmp_path):
    with homes.copied(consolidated, tmp_path / "data") as lake:
        commands.text("export", "delta", tmp_path / "d", "--table", "memories", home=tmp_path / "data")
        assert read(tmp_path / "d" / "memories").equals(lake.read("memories"))


@pytest.mark.drill
def test_every_table_is_read_back_and_a_later_state_is_a_new_version(tmp_path):
    with homes.filled(tmp_path / "data", homes.events(profiles=1, memories=8)) as lake:
        homes.night(lake)
        lake.project()
        first = {name: lake.read(name) for name in tables.NAMES}
        homes.night(lake, as_of=homes.NIGHT + homes.days(1), run_id="two")
    commands.text("export", "delta", tmp_path / "d", "--run", "run", home=tmp_path / "data")
    commands.text("export", "delta", tmp_path / "d", "--force", home=tmp_path / "data")
    with Lake(tmp_path / "data") as lake:
        for name in tables.NAMES:
            assert read(tmp_path / "d" / name).equals(lake.read(name)), name
            if name not in tables.OF_NOW:
                assert read(tmp_path / "d" / name, version=0).equals(first[name]), name
    (newest, *_, oldest) = deltalake.DeltaTable(tmp_path / "d/memories").history()
    assert ("memory_pipeline.run_id" in newest, oldest["memory_pipeline.run_id"]) == (False, "run")
    assert "exists" in commands.refused("export", "delta", tmp_path / "d", home=tmp_path / "data", status=2)


def read(path, version=None):
    return pl.read_delta(str(path), version=version, use_pyarrow=True)
