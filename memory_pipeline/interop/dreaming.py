"""Computes what a run changes in a folder of Markdown: lines replaced or removed, and summaries in their place.

Pure: takes the texts of files, the place of each memory in them, and what holds after a run; returns the texts of the
files that change. All other lines stay as they are, to the byte. Not here: reading the folder (`markdown.py`), and
writing it (`exports/folder.py`).
"""

import difflib
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory_pipeline.interop import markdown_notes, markdown_text
from memory_pipeline.interop.exports.markdown import line_of, note_name

_LINK: Final = re.compile(
    r"^[ \t]*[-*+][ \t]+[*_]*(?:\[[^\[\]\n]*\]\(<?([^()\s<>]+)>?\)|\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\])"
    r"(?![*_]*\s*\w|['\u2019])"
)
"""A line of an index: a list item that begins with a link to a file, of which no words right behind it make more."""
_ALONE: Final = re.compile(r"\[[^\[\]]\] .*|(?:\w+ )?!?\[\[[^\[\]\n]*\]\]|!?\[[^\[\]\n]*\]\([^()\s]*\)", re.DOTALL)
"""A task, or a text that is only a link or an embedded file, perhaps behind the kind of the link."""
_BLOCK: Final = re.compile(r"[ \t]*(?:[|>]|`{3}|~{3}|(?:[-*+]|[0-9]{1,9}[.)])[ \t])")
"""A line of a table, a quote, code, or a list."""
_NUMBERED: Final = re.compile(r" {0,3}[0-9]{1,9}[.)][ \t]")
"""An item of a numbered list."""
_MARK: Final = "\ufeff"
"""The byte order mark."""
_NAMED: Final = re.compile(r"[ \t]*id::[ \t]+\S.*|.*(?:^|[ \t])\^[A-Za-z0-9-]+")
"""A line that gives a block of Logseq or Obsidian the id by which other notes refer to it."""
_END: Final = re.compile(r"(?:\r\n|\r|\n)\Z")
_BARE: Final = re.compile(r"#{1,6}\s.*|\s*|---")


@dataclass(frozen=True)
class Place:
    """The place of a memory in the folder."""

    memory_id: str
    file: str
    """Path in the folder, with slashes."""
    first: int
    """Its first line, from 0."""
    after: int
    """The line after its last one."""
    whole: bool
    """Whether it is the whole content of the file."""
    text: str = ""
    """How it is written there."""
    plain: bool = True
    """Whether its memory says just that.

    Else links, marks or remarks of an editor are in it, or it introduces a list.
    """
    of_a_day: bool = False
    """Whether the name of its file or a heading above it is a day."""


@dataclass(frozen=True)
class Summary:
    """A memory that a run has written in place of others."""

    memory_id: str
    content: str
    members: Sequence[str]


def changes(
    texts: Mapping[str, str], places: Sequence[Place], *, leaving: Collection[str], summaries: Sequence[Summary]
) -> dict[str, str | None]:
    """Return the new text of each file that changes, None for a file that is to be removed; new files are among them.

    A summary takes the place of the first of its members, with its id and in that member's shape: as an item with the
    same marker, as a paragraph, or as the text of the file if that member was a file of its own. Line ends stay.
    Tables, code, quotes, tasks, list items with others below them, blocks that other notes refer to, lines with their
    day at their head, those that introduce a list, and those with links to pages or remarks always stay. So does prose
    of which a table, code or quote is the summary, and so do the steps of a numbered list: one that is done twice is
    written twice. The file of a day is a record of it, and so is what stands below a day: what later days outdate stays
    there. A file with nothing left but headings is removed, with the lines that only point to it.
    """
    gone = [place for place in places if place.memory_id in leaving and place.plain and not _is_structure(place.text)]
    lines = {file: markdown_text.lines(texts[file]) for file in {place.file for place in gone if not place.whole}}
    kept = _steps(lines, gone, summaries) | _referred_to(lines, gone) | _of_a_day(gone, summaries) | _prose(summaries)
    gone = [place for place in gone if place.memory_id not in kept]
    hosted = _hosted(gone, summaries)
    standing = {place.memory_id for place in places}
    made, removed = dict[str, str | None](), set[str]()
    edits = defaultdict[str, list[tuple[Place, str]]](list)
    for place in gone:
        own = [one for one in hosted.get(place.memory_id, []) if one.memory_id not in standing]
        if not place.whole:
            begins = lines[place.file][place.first]
            new = "".join(markdown_notes.like(begins, _id(one), one.content) for one in own)
            edits[place.file].append((place, new))
        elif own:
            made[place.file] = _in_place(texts[place.file], own[0])
            folder = posixpath.dirname(place.file)
            made |= {
                posixpath.join(folder, f"{note_name(one.memory_id, one.content)}.md"): _note(one) for one in own[1:]
            }
        else:
            removed.add(place.file)
    for file, edited in edits.items():
        text = _edited(lines[file], edited)
        plain = _plain(text)
        if all(_BARE.fullmatch(line) for line in plain[markdown_notes.read_front_matter(plain)[1] :].split("\n")):
            removed.add(file)
        else:
            made[file] = text
    made |= dict.fromkeys(removed)
    for file, text in texts.items():
        current = made.get(file, text)
        if current is not None and (without := _led(file, current, removed)) != text:
            made[file] = without
    return dict(sorted(made.items()))


def diff(texts: Mapping[str, str], changed: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines of a unified diff from the texts of files to their changes, without line ends."""
    for file, text in changed.items():
        before, after = texts.get(file), text
        names = ("/dev/null" if before is None else f"a/{file}", "/dev/null" if after is None else f"b/{file}")
        yield from difflib.unified_diff(_lines(before), _lines(after), *names, lineterm="")


def _lines(text: str | None) -> list[str]:
    return [line.removesuffix("\n") for line in markdown_text.lines(text or "")]


def _is_structure(text: str) -> bool:
    """Return whether a text is more than prose: a part of the note's form, or a place that people act on."""
    return _ALONE.fullmatch(text) is not None or any(_BLOCK.match(line) for line in text.split("\n"))


def _hosted(places: Sequence[Place], summaries: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Return the summaries by the member whose place they take: the first in the folder."""
    order = {place.memory_id: (place.file, place.first) for place in reversed(places)}
    hosted = defaultdict[str, list[Summary]](list)
    for summary in summaries:
        if members := [name for name in summary.members if name in order]:
            hosted[min(members, key=lambda name: order[name])].append(summary)
    return hosted


def _steps(lines: Mapping[str, list[str]], places: Sequence[Place], summaries: Sequence[Summary]) -> set[str]:
    """Return the memories that a summary would leave one of, although at least two are items of numbered lists."""
    numbered = {
        place.memory_id for place in places if not place.whole and _NUMBERED.match(lines[place.file][place.first])
    }
    repeated = (summary.members for summary in summaries if len(numbered.intersection(summary.members)) > 1)
    return numbered & {name for members in repeated for name in members}


def _referred_to(lines: Mapping[str, list[str]], places: Sequence[Place]) -> set[str]:
    """Return the memories that stand in a block with an id."""
    blocks = ((place, lines[place.file][place.first : place.after]) for place in places if not place.whole)
    return {place.memory_id for place, block in blocks if any(_NAMED.fullmatch(line.rstrip()) for line in block)}


def _of_a_day(places: Sequence[Place], summaries: Sequence[Summary]) -> set[str]:
    """Return the memories of a day whose place no summary takes."""
    merged = {name for summary in summaries for name in summary.members}
    return {place.memory_id for place in places if place.of_a_day} - merged


def _prose(summaries: Sequence[Summary]) -> set[str]:
    """Return the members of summaries that are a table, code, a quote or a list; such a block stays where it is."""
    return {name for summary in summaries if _is_structure(summary.content) for name in summary.members}


def _id(summary: Summary) -> dict[str, str]:
    return {"memory_id": summary.memory_id}


def _in_place(text: str, summary: Summary) -> str:
    """Return a file that is one memory with a summary as its text; the rest of its front matter stays."""
    plain = _plain(text)
    _, body = markdown_notes.read_front_matter(plain)
    kept = [line for line in plain[:body].split("\n")[1:-2] if not line.startswith("memory_id:")]
    own = markdown_notes.front_matter(_id(summary)).split("\n")
    made = "\n".join([*own[:-2], *kept, *own[-2:], summary.content, ""])
    end = _END.search(markdown_text.lines(text)[0])
    return text[: text.startswith(_MARK)] + made.replace("\n", end[0] if end else "\n")


def _plain(text: str) -> str:
    """Return a text without the byte order mark and the line ends of other systems."""
    return markdown_text.unix(text.removeprefix(_MARK))


def _note(summary: Summary) -> str:
    name = note_name(summary.memory_id, summary.content)
    return markdown_notes.note({**_id(summary), "name": name, "description": line_of(summary.content)}, summary.content)


def _edited(lines: list[str], edits: Sequence[tuple[Place, str]]) -> str:
    """Replace the lines of places, with the line ends of their first ones.

    Where nothing takes their place, no second empty line is left, and none at the end.
    """
    for place, new in sorted(edits, key=lambda edit: edit[0].first, reverse=True):
        before, after = lines[: place.first], lines[place.after :]
        if not new and before and not before[-1].strip() and not (after and after[0].strip()):
            before = before[:-1]
        end = _END.search(lines[place.first])
        made = new.replace("\n", end[0]) if end else new.removesuffix("\n")
        lines = [*before, made, *after]
    return "".join(lines)


def _led(file: str, text: str, removed: Collection[str]) -> str:
    """Leave out the lines that only point to removed files."""
    return "".join(line for line in markdown_text.lines(text) if _target(file, line) not in removed)


def _target(file: str, line: str) -> str:
    """Return the file that a line of an index points to; empty for any other line."""
    match = _LINK.match(line)
    link = (match[1] or f"{match[2].strip()}.md") if match else ""
    return link and posixpath.normpath(posixpath.join(posixpath.dirname(file), link))
