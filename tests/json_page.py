"""The page docs/json.md, read: which keys it says each command prints, and whether that is so."""

import re

import homes

from memory_pipeline.schemas import TABLES

PAGE = homes.HERE.parent / "docs" / "json.md"
MEMORY = (
    "recall",
    "digest",
    "session-start",
    "get, list",
    "update, protect, restore, feedback",
    "correct",
    "review",
    "resolve",
    "end-session",
    "tick",
    "erase",
    "erase --dry-run",
)
"""Headings of the commands that use the memory: `test_cli_json.py` holds them."""
EVALUATIONS = ("evaluate", "evaluate replay", "compare-presets")
"""Headings of the evaluations: `test_evaluation_stores.py`, `test_cli_evaluate.py` and `test_cli.py` hold them."""
EXPORTS = ("export", "export markdown", "export parquet, export delta", "dream", "dream --undo")
"""Headings of the exports: `test_exports.py` and `test_dreaming.py` hold them."""


def agrees(real):
    """Hold the page against what commands really printed, by heading."""
    written = documented()
    for command, values in real.items():
        found = set().union(*(paths(value) for value in values))
        unsaid = {path for path in found if not any(fits(path, known) for known in written[command])}
        unseen = {known for known in written[command] if not any(fits(path, known) for path in found)}
        assert (command, unsaid, unseen) == (command, set(), set()), (command, unsaid, unseen)


def documented():
    """Key paths of the page by command."""
    pages = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return {page.splitlines()[0]: set(rows(page)) for page in pages}


def rows(page):
    for key, meaning in re.findall(r"^\| `(.+?)` \| (.+) \|$", page, flags=re.MULTILINE):
        table = re.search(r"columns of `(\w+)`", meaning, flags=re.IGNORECASE)
        if table is None:
            yield key
            continue
        without = {"profile_id"} if "without their `profile_id`" in page else set()
        yield from (f"{key}.{column}" for column in set(TABLES[table[1]].schema.columns()) - without)


def paths(value, prefix=""):
    """Key paths of a JSON value; an item of a list that is no object is part of its list."""
    if isinstance(value, dict):
        return {prefix}.union(*(paths(inner, f"{prefix}.{key}".removeprefix(".")) for key, inner in value.items())) - {
            ""
        }
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return set().union(*(paths(item, f"{prefix}[]") for item in value))
    return {prefix}


def fits(path, known):
    """A path is documented by its own key, by `*`, or as part of an object whose keys vary."""
    pattern = re.escape(known).replace(r"\*", ".+?")
    return re.fullmatch(rf"{pattern}|{pattern}\..+", path) or known.startswith((f"{path}.", f"{path}[]"))
