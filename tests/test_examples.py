"""The examples run to their end as a reader would run them, without API key, network or local state."""

import re
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile

import homes
import nbformat
import pytest
from commands import environment
from nbclient import NotebookClient
from waiting import PATIENCE

from memory_pipeline.lake import snapshot

CHARTS = 3
"""Charts of the notebook: strength by age, fading, decisions."""
EXAMPLES = homes.HERE.parent / "examples"


def store(folder, told):
    """Return a data folder with events, consolidated on two nights."""
    with homes.filled(folder / "data", told) as lake:
        for number, as_of in enumerate((homes.START + homes.days(40), homes.NIGHT)):
            homes.night(lake, as_of=as_of, run_id=f"run {number}")
        snapshot.publish(lake)
    return folder / "data"


def notebook(name="notebook"):
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


@pytest.mark.parametrize("name", ["notebook", "quick_start"])
def test_a_committed_notebook_holds_no_outputs(name):
    book = notebook(name)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code
    assert all((cell.outputs, cell.execution_count) == ([], None) for cell in code)


@pytest.mark.drill
@pytest.mark.parametrize("memories", [None, 80, 2, 0])
def test_the_notebook_runs_over_any_snapshot_and_plots(consolidated, tmp_path, monkeypatch, memories):
    """Without a number, over the store that other tests share: of two profiles, after one night."""
    told = homes.events(profiles=1, memories=memories) if memories else []
    home = (
        shutil.copytree(consolidated, tmp_path / "data", symlinks=True) if memories is None else store(tmp_path, told)
    )
    monkeypatch.setenv("MEMORY_PIPELINE_HOME", str(home))
    book = notebook()
    NotebookClient(book, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": EXAMPLES}}).execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type in {"error", "stream"}]
    pages = [output.data.get("text/html", "") for output in shown]
    assert sum("<table" in page for page in pages) == 7
    assert sum("image/png" in output.data for output in shown) == CHARTS
    text = " ".join(str(value) for output in shown for kind, value in output.data.items() if kind != "image/png")
    assert not re.search(r"https?:|<script|//cdn", text), "outputs load nothing from the network"


@pytest.mark.drill
def test_the_quick_start_runs_and_plots(tmp_path):
    book = notebook("quick_start")
    book.cells = [cell for cell in book.cells if "installs" not in cell.metadata.get("tags", [])]
    NotebookClient(book, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in shown if output.output_type in {"error", "stream"}]
    assert sum("image/png" in output.data for output in shown) == 2
    said = "\n".join(output.data.get("text/plain", "") for output in shown)
    assert said.index("75 micrograms every morning now") < said.index("possibly outdated since 2026-03-10")


def children_seconds():
    """CPU time of the processes that this one started and saw end: what a clock shows on an idle machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_agent_remembers_across_conversations(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runpy.run_path(str(EXAMPLES / "agent_loop.py"))
    remembers(capsys.readouterr().out)
    assert not list(tmp_path.iterdir())


@pytest.mark.drill
def test_the_agent_needs_nothing_but_python_and_less_than_a_minute(tmp_path):
    before = children_seconds()
    done = subprocess.run(
        [sys.executable, EXAMPLES / "agent_loop.py"],
        capture_output=True,
        encoding="utf-8",
        env=environment(TMPDIR=str(tmp_path)),
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert children_seconds() - before < 60, "a newcomer waits less than a minute"
    remembers(done.stdout)
    assert not list(tmp_path.iterdir())


def remembers(printed):
    """What was printed holds what the first conversation told, and what changed in it."""
    first, _, second = printed.partition("== session 2")
    assert "== asleep" in first
    launch, _, allergy = second.partition("Ana: When is the website launch?")[2].partition(
        "Ana: What is Ana allergic to?"
    )
    newer, older = launch.split("\n- ")[1:]
    assert newer.endswith("Ana: The website launch moved to 26 June.")
    assert re.search(
        r"Ana: The website launch is on 12 June\. \(no longer current since \d{4}-\d\d-\d\d: \"The website .+\"\)$",
        older.strip(),
    )
    assert "peanuts" in allergy.split("\n- ")[1]
