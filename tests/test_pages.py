"""Code in the pages is true: what can run, runs as it stands there; commands and settings of the rest are ours."""

import json
import re
import shlex
import subprocess
import tomllib
from itertools import groupby

import click
import homes
import pytest
import yaml
from commands import call, environment
from typer.main import get_command

from memory_pipeline.service.commands import app

ROOT = homes.HERE.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
FOREIGN = {"formats.md", "extending.md"}
"""Pages whose Python needs other people's stores, or a copy of the package (`test_extending.py` runs that)."""


def blocks(name, language):
    page = next(page for page in PAGES if page.name == name)
    found = BLOCK.findall(page.read_text("utf-8"))
    return [re.sub(rf"(?m)^{indent}", "", code) for indent, kind, code in found if kind == language]


def calls(name):
    """The lines of a page's shell blocks that call our command, as words."""
    lines = [line for code in blocks(name, "sh") for line in code.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("memory-pipeline ")]


def play(name, home):
    """Run the shell blocks of a page: our command in this process, everything between two such lines in a shell."""
    for code in blocks(name, "sh"):
        for ours, lines in groupby(code.splitlines(), lambda line: line.startswith("memory-pipeline ")):
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
        patch.setattr(f"{__name__}.blocks", skipping("pip install", blocks))
        play("start.md", folder)
    return folder


def skipping(words, read):
    return lambda name, language: [code for code in read(name, language) if words not in code]


def test_the_five_minutes_leave_a_store_and_a_folder_of_notes(started):
    asked = next(words for words in calls("start.md") if words[0] == "recall")
    answer = call(*asked, "--profile", "ana", home=started / "data").stdout
    assert 0 < answer.index("26 June") < answer.index("12 June"), "the newer comes first"
    assert "26 June" in (started / "remembered" / "MEMORY.md").read_text("utf-8")
    assert (started / "notes" / "MEMORY.md").read_text("utf-8").count("green kitchen tiles") == 2, "the dream is undone"


@pytest.mark.parametrize("name", ["operators.md", pytest.param("data-scientists.md", marks=pytest.mark.drill)])
def test_the_commands_of_a_page_run_on_that_store(started, monkeypatch, name):
    monkeypatch.chdir(started)
    play(name, started)


@pytest.mark.drill
def test_the_short_tasks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play("how-to.md", tmp_path)
    assert json.loads((tmp_path / "receipt.json").read_text("utf-8"))


@pytest.mark.parametrize("name", [page.name for page in PAGES if page.name not in FOREIGN])
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
