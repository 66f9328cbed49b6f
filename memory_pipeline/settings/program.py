"""Identifies the program that computes a table, so that another version's results are not reused.

Not here: the version of a release, which runs record (`ledger/commits`), and the version of the text parser
(`schemas.PARSER`), by which rows are shared between releases.
"""

import hashlib
from functools import cache
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.settings import model_files

_READ: Final = ("consolidation", "embedders", "models", "schemas", "settings", "text")
"""Folders of the package that decide what the tables hold."""


def digest(*others: str) -> str:
    """Return the SHA-256 of the code that compares texts and of `others`, further folders, of models and libraries.

    Cost: 10 ms once a process.
    """
    fitted = sorted((name, sorted(model.items())) for name, model in model_files.replaced().items())
    return hashlib.sha256(f"{_shipped(others)} {fitted}".encode()).hexdigest()


@cache
def _shipped(others: tuple[str, ...]) -> str:
    digest = hashlib.sha256(f"{pl.__version__} {np.__version__} {version('scipy')}".encode())
    for folder in (*_READ, *others):
        for path, content in _files(resources.files("memory_pipeline") / folder, folder):
            digest.update(f"{path} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _files(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    """Return the files below a folder of the package with their paths, in order, without compiled ones."""
    found: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        inner = f"{path}/{entry.name}"
        if entry.is_dir():
            found += _files(entry, inner)
        elif not entry.name.endswith(".pyc"):
            found.append((inner, entry.read_bytes()))
    return found
