"""The page on extending is true: its examples, taken from the page, run together."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import readings

from memory_pipeline.recall.rank.features import FEATURES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")
RUN = """
import json, sys
sys.path += [{tests!r}, {research!r}]
import homes
import polars as pl
from pathlib import Path
from memory_pipeline import settings
from memory_pipeline.assets import catalogue
from memory_pipeline.interop.formats import FORMATS, events as formats_of
from memory_pipeline.recall.rank.features import FEATURES
from memory_pipeline.settings.model_files import coefficients, ranking_names
from memory_pipeline.runs import rebuild
home = Path({home!r})
with homes.filled(home, homes.events(profiles=1, memories=60)) as lake:
    chosen = settings.load(home, environment={{}}, preset_name="portraits")
    tables = homes.night(lake, policy=chosen)
    again = homes.night(lake, policy=chosen, run_id="again")
    notes = {{"activeNotes": [{{"id": "a1", "content": "Call Mia about the boat"}}], "trashedNotes": [{{"id": "b"}}]}}
    (home / "notes.json").write_text(json.dumps(notes))
    form = FORMATS["simplenote"]
    imported = [*formats_of(form, home / "notes.json", recorded_at=homes.NIGHT)]
    members = tables["cluster_members"].join(tables["memories"], on=["profile_id", "memory_id"])
    print(json.dumps({{
        "package": settings.__file__,
        "methods": tables["clusters"]["method"].unique().to_list(),
        "speakers": members.group_by("cluster_id").agg(pl.col("speaker").n_unique())["speaker"].to_list(),
        "sizes": tables["clusters"]["cluster_size"].to_list(),
        "kinds": lake.read("memories").filter(kind="portrait")["kind"].to_list(),
        "again": again["consolidation_plan"].height,
        "shares": lake.read("speaker_shares")["part"].sum(),
        "rebuilt": rebuild.rebuild(lake, "sample-1")["speaker_shares"].equals(lake.read("speaker_shares")),
        "asset": "speaker_shares" in catalogue.STAGE_OF,
        "imported": [getattr(one, "memory_id", None) for one in imported],
        "weighed": {{model: len(FEATURES.keys() & coefficients(model)) for model in ranking_names("reader")}},
    }}))
"""


def block(name):
    """The block of code that the page gives for a file."""
    found = re.search(rf"`memory_pipeline/{re.escape(name)}`:\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"the page names no file {name}"
    return found[1]


FILES = (
    "presets/portraits.toml",
    "consolidation/groups/strategies/speakers.py",
    "consolidation/stages/s065_share_speakers.py",
    "interop/simplenote.py",
)
LINES = (  # file, what the page gives begins with, and the line before which it goes
    ("schemas/_scores.py", "class SpeakerShares", ""),
    ("schemas/__init__.py", 'Table("speaker_shares"', '        Table("trims"'),
    ("assets/catalogue.py", '*("speaker_shares"', '        *("derived_edges"'),
    ("interop/formats.py", 'Format(\n    "simplenote"', '        Format(\n            "chatgpt"'),
    ("recall/rank/features.py", '"asked"', '    "brief"'),
    ("recall/rank/features.py", 'put("asked"', '    put("self"'),
)
"""Changes of files, as the page tells them."""


def lines(beginning):
    """Return the block of code of the page that begins so."""
    found = re.search(rf"```(?:python)?\n({re.escape(beginning)}.*?)```", PAGE, re.DOTALL)
    assert found, f"the page has no block that begins with {beginning!r}"
    return found[1]


@pytest.fixture
def extended(tmp_path):
    """A copy of the package with the changes of the page and no others."""
    package = tmp_path / "place" / "memory_pipeline"
    shutil.copytree(ROOT / "memory_pipeline", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        (package / name).write_text(block(name), "utf-8")
    for name, beginning, before in LINES:
        put_in(package / name, lines(beginning), before)
    for name in ("ranking", "ranking_local", "notes_local"):
        put_in(package / f"models/{name}.toml", "asked = 0\n", "lexical = ")
    return package.parent


def put_in(file, new, before):
    """Write lines into a file before the first line that begins so; at the end without one."""
    text = file.read_text("utf-8")
    new = textwrap.indent(new, " " * (len(before) - len(before.lstrip())))
    at = text.index(f"\n{before}") + 1 if before else len(text)
    file.write_text(text[:at] + ("" if before else "\n\n") + new + text[at:], "utf-8")


def test_the_examples_of_the_page_are_in_the_style_of_the_project(extended):
    shutil.copy(ROOT / "pyproject.toml", extended)  # its rules for single files count from where it lies
    files = [f"memory_pipeline/{name}" for name in FILES if name.endswith(".py")]
    for words in (["check"], ["format", "--check"]):
        command = [Path(sys.executable).with_name("ruff"), *words, "--no-cache", *files]
        done = subprocess.run(command, cwd=extended, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.drill
def test_the_examples_of_the_page_run(extended, tmp_path):
    script = RUN.format(tests=str(ROOT / "tests"), research=str(ROOT / "research"), home=str(tmp_path / "data"))
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
    assert said["shares"] == pytest.approx(1)
    assert (said["rebuilt"], said["asset"]) == (True, True)
    assert said["imported"] == ["a1", None]
    assert said["weighed"] == dict.fromkeys(("ranking_local", "notes_local"), len(FEATURES) + 1)
