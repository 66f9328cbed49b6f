"""Vocabulary of the generated chats: TOML files and their reader."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def world(name: str) -> dict[str, Any]:
    """Return the vocabulary of `<name>.toml`.

    A single-line text is a list separated by "; "; a multi-line text is a list of lines, each a list of fields if it
    is separated by " => ".
    """
    read = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
    return {key: _split(value) for key, value in read.items()}


def _split(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _split(inner) for key, inner in value.items()}
    if "\n" not in value:
        return value.split("; ")
    lines = [line for line in value.splitlines() if line]
    return [line.split(" => ") for line in lines] if " => " in lines[0] else lines
