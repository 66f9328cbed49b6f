"""Waiting in tests: for what another process does, as long as a busy machine takes, and only while it lives."""

import subprocess
import time

PATIENCE = 600
"""Seconds after which something is taken for stuck; nothing that works comes near, however busy the machine."""


def until(process, condition, *, said=str):
    """Ask until a condition gives something true, which is returned; fail as soon as the process has ended.

    Args:
        process: the process that is to bring it about.
        condition: what is asked.
        said: returns what the process said, for the message of a failure.
    """
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {PATIENCE} s; it said:\n{said()}"
        try:
            ended = process.wait(0.25)
        except subprocess.TimeoutExpired:
            continue
        found = condition()  # what it did last
        assert found, f"the process ended with {ended}:\n{said()}"
        return found
    return found
