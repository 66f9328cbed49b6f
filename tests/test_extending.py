"""The page on adding a design is true: its example, taken from the page, runs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import readings

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
RUN = """
import json, sys
sys.path.append({tests!r})
import homes
import polars as pl
from pathlib import Path
from memory_pipeline import settings
home = Path({home!r})
with homes.filled(home, homes.events(profiles=1, memories=60)) as lake:
    chosen = settings.load(home, environment={{}}, preset_name="portraits")
    tables = homes.night(lake, policy=chosen)
    again = homes.night(lake, policy=chosen, run_id="again")
    members = tables["cluster_members"].join(tables["memories"], on=["profile_id", "memory_id"])
    print(json.dumps({{
        "package": settings.__file__,
        "methods": tables["clusters"]["method"].unique().to_list(),
        "speakers": members.group_by("cluster_id").agg(pl.col("speaker").n_unique())["speaker"].to_list(),
        "sizes": tables["clusters"]["cluster_size"].to_list(),
        "kinds": lake.read("memories").filter(kind="portrait")["kind"].to_list(),
        "again": again["consolidation_plan"].height,
    }}))
"""


def block(name):
    """The block of code that the page gives for a file."""
    found = re.search(rf"`memory_pipeline/{re.escape(name)}`:\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"the page names no file {name}"
    return found[1]


@pytest.fixture
def extended(tmp_path):
    """A copy of the package with the two files of the page and no other change."""
    package = tmp_path / "place" / "memory_pipeline"
    shutil.copytree(ROOT / "memory_pipeline", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("presets/portraits.toml", "consolidation/groups/strategies/speakers.py"):
        (package / name).write_text(block(name), "utf-8")
    return package.parent


def test_the_example_of_the_page_groups_summarises_and_decides_once(extended, tmp_path):
    script = RUN.format(tests=str(ROOT / "tests"), home=str(tmp_path / "data"))
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(extended), readings.STARTED])},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["package"].startswith(str(extended)), "the copy was run, not the original"
    assert said["methods"] == ["speakers"]
    assert set(said["speakers"]) == {1}
    assert min(said["sizes"]) >= 3
    assert len(said["kinds"]) == len(said["sizes"]) > 0
    assert said["again"] == 0
