"""What `--version` prints. Apart from the commands, which take most of the time of a start."""

import sys
from importlib.metadata import version


def print_version() -> None:
    """Print the name and version of the program."""
    sys.stdout.write(f"memory-pipeline {version('memory-pipeline')}\n")
