"""Code in the pages is true: what can run, runs as it stands there; commands and settings of the rest are ours."""

import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import tomllib
from contextlib import redirect_stdout
from itertools import groupby
from unittest.mock import patch

import anyio
import click
import homes
import pytest
import sampling
import yaml
from commands import call, environment
from mcp.client import Client
from test_mcp import tokens
from typer.main import get_command

from memory_pipeline.consolidation.plans import telling
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.commands import app
from memory_pipeline.service.mcp_server import server

ROOT = homes.HERE.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
FOREIGN = {"formats.md", "imports.md", "extending.md"}
"""Pages whose Python needs other people's stores, or a copy of the package (`test_extending.py` runs that)."""
DEMO = ROOT / "examples" / "four_months" / "demo.py"
INSTALLING = ("make ", "pip install ", "python3 -m venv ", "source ")
"""Starts of lines that install, or start a server that other tests start."""
SERVERS = ("memory-pipeline ui", "memory-pipeline serve", "memory-pipeline mcp")


def blocks(name, language):
    page = next(page for page in PAGES if page.name == name)
    found = BLOCK.findall(page.read_text("utf-8"))
    return [re.sub(rf"(?m)^{indent}", "", code) for indent, kind, code in found if kind == language]


def calls(name):
    """The lines of a page's shell blocks that call our command, as words."""
    lines = [line for code in blocks(name, "sh") for line in code.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("memory-pipeline ")]


def play(name, home):
    """Run the shell blocks of a page: our command in this process, everything between two such lines in a shell.

    What installs or serves is left out.
    """
    for code in blocks(name, "sh"):
        kept = [line for line in code.splitlines() if not line.startswith((*INSTALLING, *SERVERS))]
        for ours, lines in groupby(kept, lambda line: line.startswith("memory-pipeline ")):
            if not ours:
                subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=home, check=True, env=environment())
                continue
            for line in lines:
                done = call(*shlex.split(line, comments=True)[1:])
                assert done.returncode == 0, (line, done.stderr, done.stdout)


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """A folder in which a reader followed `start.md` after the installation."""
    folder = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        play("start.md", folder)
    return folder


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A folder in which a reader made the demo, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch_folder:
        patch_folder.chdir(folder)
        with patch.dict(os.environ, environment(), clear=True), redirect_stdout(said):
            runpy.run_path(str(DEMO), run_name="__main__")
    return folder, said.getvalue()


@pytest.mark.drill
def test_the_demo_shows_on_one_screen_what_a_run_found(shown):
    lines = shown[1].splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 100
    parts = "SAID TWICE", "HAS CHANGED", "CONTRADICTS", "AT SESSION START", "HALF THE TOKENS", "ASKED", "TRY NEXT"
    assert [line.split(":")[0].split(" (")[0] for line in lines if line[:5].isupper()][: len(parts)]
    for part in parts:
        assert any(line.startswith(part) for line in lines), part
    answers = lines[next(at for at, line in enumerate(lines) if line.startswith("ASKED")) + 1 :]
    assert "came back in full" in answers[0], "what holds now comes first"
    assert any(mark in " ".join(" ".join(answers).split()) for mark in ("possibly outdated", "no longer current")), (
        "not cut off"
    )


@pytest.mark.drill
def test_the_demo_counts_as_its_run_does(shown):
    folder, said = shown
    with Lake(folder / "data") as lake:
        decisions, memories = (lake.read(name, profiles=["nora"]) for name in ("decisions", "memories"))
    rows = dict(telling.headlines(telling.tell(decisions, memories)).select("group", "rows").iter_rows())
    assert f"-> {rows['merged']}; {rows['may_repeat']} pairs more may say the same" in said
    assert f"{rows['changed']} closed; {rows['may_have_changed']} likely" in said


@pytest.mark.drill
def test_the_commands_that_the_demo_names_run(shown, monkeypatch):
    folder, said = shown
    monkeypatch.chdir(folder)
    named = [line.split("memory-pipeline ")[1] for line in said.splitlines() if "/memory-pipeline " in line]
    assert len(named) == 2
    for line in named:
        assert call(*shlex.split(line)).returncode == 0, line


@pytest.mark.drill
def test_the_first_page_runs_in_order_after_the_demo_in_its_profile(shown, monkeypatch):
    folder, _ = shown
    monkeypatch.chdir(folder)
    asked = next(words for words in calls("README.md") if words[0] == "recall")
    assert "4413" in call(*asked).stdout.splitlines()[0], "the present one comes first"
    play("README.md", folder)
    now, then = call(*asked).stdout.splitlines()[0:3:2]
    assert "9051" in now
    assert "no longer current" in then, "what was added has outdated it"
    for code in blocks("README.md", "python"):
        exec(compile(code, "README.md", "exec"), {"__name__": "page"})  # noqa: S102 - pages of ours
    assert [row["profile_id"] for row in json.loads(call("profiles", "--json").stdout)] == ["nora"]


@pytest.mark.drill
def test_an_agent_settles_ten_pairs_of_the_demo_within_1500_tokens(shown, tmp_path):
    home = shutil.copytree(shown[0] / "data", tmp_path / "data", symlinks=True)

    async def settle(client):
        asked = (await client.get_prompt("tidy_up")).messages[0].content.text
        cost, pairs = tokens(asked), re.findall(r"(?m)^[A-Z]+ \[([0-9a-f]{8})\] (.+?)\?", asked)
        for pair, question in pairs:
            answer = {"pair": pair, "relation": "repeat" if "same" in question else "update"}
            done = (await client.call_tool("resolve", answer)).content[0].text
            cost += tokens(json.dumps({"name": "resolve", "arguments": answer})) + tokens(done)
        return len(pairs), cost

    async def act():
        with Clients(home) as clients, Runs(home) as runs:
            async with Client(server(home, clients, runs)) as client:
                return await settle(client)

    with MemoryClient(home, profile_id="nora") as memory:
        before = memory.review(1).waiting
    settled, cost = anyio.run(act)
    assert settled == 10
    assert cost <= 1_500
    with MemoryClient(home, profile_id="nora") as memory:
        assert memory.review(1).waiting <= before - settled


@pytest.mark.drill
def test_the_five_minutes_run_after_the_demo_too(shown, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(shown[0], tmp_path / "again", symlinks=True))
    play("start.md", tmp_path / "again")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_links_to_exist(page):
    targets = {target.split("#")[0] for target in re.findall(r"\]\((?!\w+:|#)([^)\s]+)\)", page.read_text("utf-8"))}
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_five_minutes_leave_a_store_and_a_folder_of_notes(started):
    asked = next(words for words in calls("start.md") if words[0] == "recall")
    answer = call(*asked, home=started / "data").stdout
    assert 0 < answer.index("26 June") < answer.index("12 June"), "the newer comes first"
    assert "26 June" in (started / "remembered" / "MEMORY.md").read_text("utf-8")
    assert (started / "notes" / "MEMORY.md").read_text("utf-8").count("green kitchen tiles") == 2, "the dream is undone"


@pytest.mark.drill  # each push runs the first page, and the five minutes
@pytest.mark.parametrize("name", ["operators.md", "data-scientists.md"])
def test_the_commands_of_a_page_run_on_that_store(started, monkeypatch, name):
    monkeypatch.chdir(started)
    play(name, started)


@pytest.mark.drill
def test_the_short_tasks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play("how-to.md", tmp_path)
    assert json.loads((tmp_path / "receipt.json").read_text("utf-8"))


@pytest.mark.drill
def test_what_to_store_runs_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for code in blocks("what-to-store.md", "python"):
        exec(compile(code, "what-to-store.md", "exec"), {"__name__": "page"})  # noqa: S102 - pages of ours
    play("what-to-store.md", tmp_path)


@pytest.mark.parametrize("name", sampling.first(*(page.name for page in PAGES if page.name not in FOREIGN)))
def test_the_python_of_a_page_runs(started, monkeypatch, name):
    monkeypatch.chdir(started)
    for number, code in enumerate(blocks(name, "python")):
        exec(compile(code, f"{name}, block {number}", "exec"), {"__name__": "page"})  # noqa: S102 - pages of ours


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_files_of_a_page_are_well_formed(page):
    for words in calls(page.name):
        parsed(words)
    for language, read in (("json", json.loads), ("toml", tomllib.loads), ("yaml", yaml.safe_load)):
        for code in blocks(page.name, language):
            read(code)
    for code in blocks(page.name, "python"):
        compile(code, page.name, "exec", flags=0x2000)  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def parsed(words):
    """Parse a command line without running it; what it names need not exist."""
    command, context = get_command(app), None
    while isinstance(command, click.Group):
        place = next(place for place, word in enumerate(words) if word in command.commands)
        context = click.Context(command, parent=context, info_name=words[place])
        command, words = command.commands[words[place]], words[place + 1 :]
    try:
        command.make_context(command.name, list(words), parent=context)
    except click.BadParameter as error:
        assert "does not exist" in error.format_message(), error.format_message()  # noqa: PT017 - a file of the reader
