"""The command `memory-pipeline` as a user calls it: as a process of its own, or in this one where that is as good."""

import io
import json
import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

import dagster_storage  # noqa: F401 - for its effect: runs in this process take less time
import typer.main
from waiting import PATIENCE

from memory_pipeline.service import cli

COMMAND = Path(sys.executable).parent / "memory-pipeline"
NIGHT = "2026-05-02T02:00:00Z"
"""An instant after all sample events."""

typer.main.get_command = cache(typer.main.get_command)  # the commands are the same at every call in this process


def environment(**variables):
    """The process's own variables, without any that a test's machine happens to set for the pipeline.

    The embedder is that of all tests (`conftest`).
    """
    foreign = ("MEMORY_PIPELINE_", "CONSOLIDATION_", "DAGSTER_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    kept = {name: value for name, value in os.environ.items() if name == "MEMORY_PIPELINE_EMBEDDER"}
    return own | kept | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONWARNINGS": "error"} | variables


def process(*args, home=None, cwd=None, **variables):
    """Run the installed command to its end."""
    return subprocess.run(
        [COMMAND, *_argv(args, home)],
        capture_output=True,
        encoding="utf-8",
        env=environment(**variables),
        cwd=cwd,
        timeout=PATIENCE,
        check=False,
    )


def call(*args, home=None, **variables):
    """Run the command in this process, from its entry point on."""
    argv, out, err = _argv(args, home), io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["memory-pipeline", *argv]),
        _variables(environment(**variables)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            return subprocess.CompletedProcess(argv, end.code, out.getvalue(), err.getvalue())
    raise AssertionError


@contextmanager
def _variables(wanted):
    """Run a block with these variables of the process alone.

    Only those that differ are written: threads of libraries may read variables meanwhile, which no lock guards.
    """
    before = dict(os.environ)
    _write(wanted)
    try:
        yield
    finally:
        _write(before)


def _write(wanted):
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name in wanted:
        if os.environ.get(name) != wanted[name]:
            os.environ[name] = wanted[name]


def text(*args, run=call, **options):
    """Run the command, which is to succeed and to complain of nothing; return what it printed."""
    done = run(*args, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + done.stdout
    return done.stdout


def as_json(*args, run=call, **options):
    """Run the command with `--json` and return what it said."""
    return json.loads(text(*args, "--json", run=run, **options))


def refused(*args, run=call, status=1, **options):
    """Run the command, which is to fail with one line on standard error and nothing else; return the line."""
    done = run(*args, **options)
    assert (done.returncode, done.stdout) == (status, ""), done.stderr + done.stdout
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("error: ").rstrip()


def _argv(args, home):
    return [*(["--home", str(home)] if home else []), *map(str, args)]
