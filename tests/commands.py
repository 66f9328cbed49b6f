"""The installed command `memory-pipeline`, run as a process, as a user would."""

import json
import os
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "memory-pipeline"
NIGHT = "2026-05-02T02:00:00Z"
"""An instant after all sample events."""


def environment(**variables):
    """The process's own variables, without any that a test's machine happens to set for the pipeline."""
    foreign = ("MEMORY_PIPELINE_", "CONSOLIDATION_", "DAGSTER_")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return own | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONWARNINGS": "error"} | variables


def call(*args, home=None, cwd=None, **variables):
    """Run the command to its end."""
    where = ["--home", str(home)] if home else []
    return subprocess.run(
        [COMMAND, *where, *map(str, args)],
        capture_output=True,
        encoding="utf-8",
        env=environment(**variables),
        cwd=cwd,
        timeout=300,
        check=False,
    )


def text(*args, home=None, **variables):
    """Run the command, which is to succeed and to complain of nothing; return what it printed."""
    done = call(*args, home=home, **variables)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr + done.stdout
    return done.stdout


def told(*args, home=None, status=0, **variables):
    """Run the command with `--json` and return what it said."""
    done = call(*args, "--json", home=home, **variables)
    assert (done.returncode, done.stderr) == (status, ""), done.stderr
    return json.loads(done.stdout)
