"""Where a memory stands: its project or entity, of a line of notes its file and headings, and whether it has a day.

Equal lines under two headings, or in two files, state different facts; an instruction given in a project holds in that
project alone. What has no day of its own is dated by its file or its import, which says nothing of its age. All of it
is kept in the metadata of a memory; memories from elsewhere stand nowhere. Not here: how notes (`interop/markdown`)
and transcripts (`interop/transcripts`) are read.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.text.parse.tokens import one_line

SEPARATOR: Final = " \u203a "
"""Stands between the headings above a memory where they are shown, and before its text."""

JOIN: Final = " / "
"""Stands between the headings in the metadata."""
DATED_BY: Final = "dated_by"
"""Stands in the metadata of a memory without a day of its own, before what dates it."""
BY_FILE: Final = "dated by its file"
"""Stands behind such a memory where it is shown with a day."""
OF_AGENTS: Final = frozenset(
    {
        "agents.md",
        "agent.md",
        "claude.md",
        "claude.local.md",
        "copilot-instructions.md",
        "gemini.md",
        "qwen.md",
        "warp.md",
    }
)
"""Files in which coding agents keep what holds in the project whose folder has them, maybe in a hidden folder of it."""
ENTITY: Final = "entity"
"""Stands in the metadata before whom or what a memory is of, where a store of another system names that."""
ENTITY_TYPE: Final = "entity_type"
_PLACE: Final = ("file", "heading", "namespace", "project", ENTITY, ENTITY_TYPE)
_LONGEST: Final = 60
"""Characters of a page or heading that are shown."""
_DATE: Final = r"[0-9]{4}[-_./]?[0-9]{2}[-_./]?[0-9]{2}"
_PAGE: Final = r"(?i)([^/]+)\.(?:md|markdown)$"
"""The name of a file of notes, at the end of its path."""
_KINDS: Final = frozenset(name.removesuffix(".md") for name in OF_AGENTS | {"index.md", "memory.md", "readme.md"})
"""Names of files that say of what kind they are, not what they are about."""
_GAPS: Final = rf"[\s_-]*{_DATE}(?:[-_T]?[0-9]{{4}}(?:[0-9]{{2}})?(?:[\s_-]|$))?[\s_-]*|\s+"
"""What a space stands for in the name of a page: dates, perhaps with a time, and white space."""
_EDGE: Final = " -_.,"
_SIGNS: Final = r"[\s_.,:;/\u203a-]+"
"""What stands between the words of a title or of the name of a file."""


def file() -> pl.Expr:
    """Return the file of each memory that is a part of it, else its namespace, by its column `metadata`; null without.

    A file with name and description is one memory as a whole, which another file may repeat.
    """
    whole = _value("name").is_not_null() & _value("description").is_not_null()
    return pl.coalesce(pl.when(~whole).then(_value("file")), _value("namespace"))


def heading() -> pl.Expr:
    """Return the headings of each memory by its column `metadata`, without dates; null without any."""
    named = _value("heading").str.replace_all(_DATE, "").str.strip_chars(" /")
    return pl.when(named != "").then(named)


def project() -> pl.Expr:
    """Return the project of each memory by its column `metadata`; null without one."""
    named = _value("project").str.strip_chars()
    return pl.when(named != "").then(named)


def undated() -> pl.Expr:
    """Return whether each memory has no day of its own, by its column `metadata`."""
    return pl.col("metadata").str.contains(f'"{DATED_BY}"', literal=True) & _value(DATED_BY).is_not_null()


def is_undated(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether a memory with these metadata has no day of its own."""
    return (metadata or {}).get(DATED_BY) is not None


def noted(text: str, metadata: Mapping[str, Any] | None) -> str:
    """Return the text of a memory, and behind it that its day is only that of its file, if it is."""
    return f"{text} ({BY_FILE})" if is_undated(metadata) else text


def of_project(name: str) -> pl.Expr:
    """Return whether each memory is of a project, given by its name; null for those that are of none.

    Coding agents name their notes of a project after the whole path of its folder, with "-" for what is no letter or
    digit: "-home-ana-shop" is of "shop".
    """
    path = "-" + re.sub(r"[^A-Za-z0-9]", "-", name.strip())
    return (project() == name.strip()) | (project().str.starts_with("-") & project().str.ends_with(path))


def inherited(memories: pl.DataFrame) -> pl.DataFrame:
    """Return memories with the project of its members as `metadata` of each summary that has none of its own.

    The names of several projects are joined by commas.
    """
    made = memories.filter(pl.col("metadata").is_null()).select(*KEY, "members").explode("members").drop_nulls()
    placed = memories.select("profile_id", members="memory_id", project=project()).drop_nulls("project")
    named = made.join(placed, on=["profile_id", "members"]).group_by(KEY).agg(pl.col("project").unique().sort())
    given = named.select(*KEY, of_members=pl.struct(pl.col("project").list.join(", ")).struct.json_encode())
    joined = memories.join(given, on=KEY, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("metadata", "of_members")).drop("of_members")


def shared() -> pl.Expr:
    """Aggregate `metadata` of memories, by age, that become one: where all of them stand, and what dates the newest."""
    dated = _value(DATED_BY).last().alias(DATED_BY)
    same = (pl.when(_value(name).n_unique() == 1).then(_value(name).first()).alias(name) for name in _PLACE)
    fields = [pl.when(one.is_not_null()).then(pl.struct(one).struct.json_encode()) for one in (dated, *same)]
    joined = pl.concat_str([one.str.slice(1).str.strip_suffix("}") for one in fields], separator=",", ignore_nulls=True)
    return pl.when(joined != "").then(pl.format("{{{}}}", joined)).alias("metadata")


def above() -> pl.Expr:
    """Return page and headings above each memory by its column `metadata`; empty without any.

    The page is the file of notes, unless its name is a day or says only of what kind the file is, or the headings begin
    with it.
    """
    headings = _value("heading").fill_null("").str.replace_all(JOIN, SEPARATOR, literal=True)
    page = _page()
    named = _is_named(page, headings)
    return pl.when(named).then(headings).when(headings == "").then(page).otherwise(page + SEPARATOR + headings)


def searched() -> pl.Expr:
    """Return the words by which each memory is found: page and headings, then its text or that of its index."""
    text = pl.coalesce("index_text", "content")
    return pl.when(above() != "").then(above() + "\n" + text).otherwise(text)


def shown_path(metadata: Mapping[str, Any] | None) -> str | None:
    """Return project, page and headings above a memory as people read them; None without any.

    Headings that are only a date are left out, and so is the page (see `above`) of a file that is one memory.
    """
    known = {name: value for name, value in (metadata or {}).items() if isinstance(value, str)}
    parts = [" ".join(part.split())[:_LONGEST] for part in known.get("heading", "").split(JOIN)]
    headings = [part for part in parts if not re.fullmatch(f"(?:{_DATE})?", part)]
    file = None if {"name", "description"} <= known.keys() else re.search(_PAGE, known.get("file", ""))
    page = "" if file is None or file[1].lower() in _KINDS else re.sub(_GAPS, " ", file[1]).strip(_EDGE)
    named = re.sub(_SIGNS, "", "".join(headings)).lower().startswith(re.sub(_SIGNS, "", page).lower())
    project = " ".join(known.get("project", "").split())[:_LONGEST]
    return SEPARATOR.join(filter(None, (project, "" if named else page[:_LONGEST], *headings))) or None


def below(path: str | None, text: str) -> str:
    """Return a text behind where it stands."""
    return text if path is None else f"{path}{SEPARATOR}{text}"


def shown_below(column: str) -> pl.Expr:
    """Return the texts of a column behind where their memories stand (see `shown_path`)."""
    part = one_line(pl.element()).str.slice(0, _LONGEST)
    named = part.filter(~part.str.contains(f"^(?:{_DATE})?$"))
    headings = _value("heading").str.split(JOIN).list.eval(named).fill_null([])
    page = pl.when(_value("name").is_null() | _value("description").is_null()).then(_page()).fill_null("")
    page = pl.when(_is_named(page, headings.list.join(""))).then(None).otherwise(page.str.slice(0, _LONGEST))
    path = pl.concat_list(pl.concat_list(_shortened(project()), page).list.drop_nulls(), headings).list.join(SEPARATOR)
    return pl.when(path != "").then(path + SEPARATOR + pl.col(column)).otherwise(column).alias(column)


def _page() -> pl.Expr:
    """Return the name of the page of each memory without dates; empty for none, or one that names only a kind."""
    stem = _value("file").str.extract(_PAGE)
    name = stem.str.replace_all(_GAPS, " ").str.strip_chars(_EDGE)
    return pl.when(~stem.str.to_lowercase().is_in(sorted(_KINDS))).then(name).fill_null("")


def _is_named(page: pl.Expr, headings: pl.Expr) -> pl.Expr:
    """Return whether headings begin with the letters of a page, whatever signs stand between them; true for none."""
    letters = (text.str.replace_all(_SIGNS, "").str.to_lowercase() for text in (headings, page))
    return next(letters).str.starts_with(next(letters))


def _shortened(text: pl.Expr) -> pl.Expr:
    line = one_line(text).str.slice(0, _LONGEST)
    return pl.when(line != "").then(line)


def _value(name: str) -> pl.Expr:
    return pl.col("metadata").str.json_path_match(f"$.{name}")
