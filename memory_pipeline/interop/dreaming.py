"""What a run changes of a folder of Markdown: lines that it replaces or lets go, and summaries in their place.

Pure: from texts of files, where each memory stands in them, and what holds after a run, to the texts of the files that
change. All other lines stay as they are, to the byte. Not here: reading the folder (`markdown.py`), and writing it
(`exports/folder.py`).
"""

import difflib
import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory_pipeline.interop import markdown_notes
from memory_pipeline.interop.exports.markdown import line_of, note_name

_LINK: Final = re.compile(r"^[ \t]*[-*+][ \t].*?\]\(<?([^()\s<>]+)>?\)|^[ \t]*[-*+][ \t]+\[\[([^\[\]|#\n]+)")
"""A line of an index: a list item that leads to a file."""
_BARE: Final = re.compile(r"#{1,6}\s.*|\s*|---")


@dataclass(frozen=True)
class Place:
    """Where a memory stands in the folder."""

    memory_id: str
    file: str
    """Path in the folder, with slashes."""
    first: int
    """Its first line, from 0."""
    after: int
    """The line after its last one."""
    whole: bool
    """Whether it is all that the file says."""


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

    A summary stands where the first of its members stood: as a list item with its id, or as a file of its own if that
    member was one. A file of which nothing but headings is left is removed, with the lines that lead to it.

    Args:
        texts: text of every file by its path.
        places: where the memories stand.
        leaving: memories that no longer hold.
        summaries: memories that are to be in the folder, those whose members stand in it.
    """
    first_of = _hosts(places, summaries)
    removed, moved, made = set[str](), dict[str, str](), dict[str, str | None]()
    edits = defaultdict[str, list[tuple[Place, str]]](list)
    for place in places:
        hosted = first_of.get(place.memory_id, [])
        gone = place.memory_id in leaving
        if place.whole:
            removed |= {place.file} if gone else set()
            for summary in hosted:
                path = posixpath.join(
                    posixpath.dirname(place.file), f"{note_name(summary.memory_id, summary.content)}.md"
                )
                moved.setdefault(place.file, path)
                made[path] = _note(summary)
        elif gone or hosted:
            items = "".join(markdown_notes.item({"memory_id": one.memory_id}, one.content) for one in hosted)
            edits[place.file].append((place, items if gone else _kept(texts, place) + items))
    for file, edited in edits.items():
        text = _edited(texts[file], edited)
        if all(_BARE.fullmatch(line) for line in text[markdown_notes.read_front_matter(text)[1] :].split("\n")):
            removed.add(file)
        else:
            made[file] = text
    made |= dict.fromkeys(removed)
    for file, text in texts.items():
        current = made.get(file, text)
        if current is not None and (without := _led(file, current, removed, moved)) != text:
            made[file] = without
    return dict(sorted(made.items()))


def diff(texts: Mapping[str, str], changed: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the lines of a unified diff from the texts of files to what changes of them, without line ends."""
    for file, text in changed.items():
        before, after = texts.get(file), text
        names = ("/dev/null" if before is None else f"a/{file}", "/dev/null" if after is None else f"b/{file}")
        yield from difflib.unified_diff((before or "").split("\n"), (after or "").split("\n"), *names, lineterm="")


def _hosts(places: Sequence[Place], summaries: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Return the summaries by the member that they stand in for; one whose members are not in the folder has none."""
    order = {place.memory_id: (place.file, place.first) for place in reversed(places)}
    hosts = defaultdict[str, list[Summary]](list)
    for summary in summaries:
        members = [name for name in summary.members if name in order]
        if members and summary.memory_id not in order:
            hosts[min(members, key=lambda name: order[name])].append(summary)
    return hosts


def _note(summary: Summary) -> str:
    name = note_name(summary.memory_id, summary.content)
    fields = {"memory_id": summary.memory_id, "name": name, "description": line_of(summary.content)}
    return markdown_notes.note(fields, summary.content)


def _kept(texts: Mapping[str, str], place: Place) -> str:
    return "".join(line + "\n" for line in texts[place.file].split("\n")[place.first : place.after])


def _edited(text: str, edits: Sequence[tuple[Place, str]]) -> str:
    """Replace the lines of places; where nothing takes their place, no second empty line is left."""
    lines = text.split("\n")
    for place, new in sorted(edits, key=lambda edit: edit[0].first, reverse=True):
        before, after = lines[: place.first], lines[place.after :]
        if not new and before and after and not before[-1].strip() and not after[0].strip():
            after = after[1:]
        lines = [*before, *new.split("\n")[:-1], *after]
    return "\n".join(lines)


def _led(file: str, text: str, removed: Collection[str], moved: Mapping[str, str]) -> str:
    """Leave out the lines that only lead to removed files; one that leads to a file with a successor names that."""
    if not removed:
        return text
    kept = list[str]()
    for line in text.split("\n"):
        match = _LINK.match(line)
        target = _target(file, match[1] or f"{match[2].strip()}.md") if match else ""
        if target not in removed:
            kept.append(line)
        elif target in moved:
            path = posixpath.relpath(moved[target], posixpath.dirname(file) or ".")
            kept.append(f"- [{posixpath.basename(path).removesuffix('.md')}]({path})")
    return "\n".join(kept)


def _target(file: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), link))
