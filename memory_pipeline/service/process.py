"""What a process of the program does first. Apart from the commands, which take most of the time of a start."""

import gc
import sys
from importlib.metadata import version


def collect_seldom() -> None:
    """Collect garbage at 50,000 new objects, not 700: what imports create stays, and a quarter of their time is it."""
    gc.set_threshold(50_000)


def print_version() -> None:
    """Print the name and version of the program."""
    sys.stdout.write(f"memory-pipeline {version('memory-pipeline')}\n")
