"""Real Dagster servers for tests: started as their own processes over a home, stopped with all that they started."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import homes

from memory_pipeline.service import launch

BIN = Path(sys.executable).parent


@contextmanager
def served(home, *command, **settings):
    """Run a Dagster command over a home, with settings in its environment, and yield its process."""
    theirs = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_PIPELINE_")}
    variables = {f"MEMORY_PIPELINE_{name.upper()}": str(value) for name, value in {"home": home, **settings}.items()}
    log = home / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [BIN / command[0], *command[1:], "-w", homes.HERE.parent / "workspace.yaml"],
            env=theirs | variables | {"DAGSTER_HOME": str(launch.dagster_home(home)), "PYTHONUNBUFFERED": "1"},
            cwd=home,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end(process.pid)
                process.wait()


def until(process, condition, *, seconds, log):
    """Ask until a condition gives something true, which is returned; fail when the server ends or time is up."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s; the server said:\n{log.read_text()[-4000:]}"
        try:
            ended = process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"the server ended with {ended}:\n{log.read_text()[-4000:]}")
    return found


def _end(group):
    """Kill what is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
