"""Lets a process that a test starts use the readings on record (`readings`), once it imports the reader.

Python imports this module at its start where this folder is on `PYTHONPATH`. Nothing else is imported before.
"""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

READER = "memory_pipeline.text.embed.encoder"


class _Finder:
    """Finds the reader where Python does, and has its readings kept once it is loaded."""

    def find_spec(self, name, path=None, target=None):
        if name != READER:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            if "readings" in sys.modules:  # a worker of a test run, which asks for the record itself (`conftest`)
                return
            sys.path.append(str(Path(__file__).parents[1]))
            import readings  # noqa: PLC0415 - imports the reader

            readings.keep()

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Finder())
