"""Words of the generated chats: TOML files, and how they are read. Not here: what is made of them."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def world(name: str) -> dict[str, Any]:
    """Return the words of `<name>.toml`.

    A text of one line is a list parted by "; "; one of several lines a list of lines, each a list of fields where
    " => " parts them.
    """
    read = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
    return {key: _parted(value) for key, value in read.items()}


def _parted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _parted(inner) for key, inner in value.items()}
    if "\n" not in value:
        return value.split("; ")
    lines = [line for line in value.splitlines() if line]
    return [line.split(" => ") for line in lines] if " => " in lines[0] else lines
