"""Real Dagster servers for tests: started as their own processes over a home, stopped with all that they started."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import homes
import waiting

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


def until(process, condition, *, home):
    """Ask until a condition gives something true, which is returned; fail when the server over a home has ended."""
    return waiting.until(process, condition, said=lambda: (home / "server.log").read_text("utf-8")[-4000:])


def _end(group):
    """Kill what is left of a process group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
