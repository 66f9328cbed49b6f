"""Reads one Markdown file as units that become memories: a note as a whole, list items, and paragraphs.

Here: front matter, what our exports write (docs/formats.md), tags and links. Pure. Not here: the blocks of a body
(`markdown_blocks`), and folders and what a second import makes of them (`markdown`).
"""

import json
import re
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from memory_pipeline.interop import markdown_notes
from memory_pipeline.interop.markdown_blocks import (
    BLOCK_ID,
    CALLOUT,
    HEADINGS,
    PROPERTY,
    QUOTED,
    Unit,
    blocks,
    is_of_the_editor,
    named_tags,
)
from memory_pipeline.interop.markdown_notes import INDEX_BEGINS, INDEX_ENDS
from memory_pipeline.interop.values import labels, mapping

WHOLE: Final = 2000
"""Most characters of a note with name and description that is one memory."""

_FRONT: Final = re.compile(r"---\n(?:.*?\n)??---(?:\n|\Z)", re.DOTALL)
_FRONT_OF_TOML: Final = re.compile(r"\+{3}\n((?:.*?\n)??)\+{3}(?:\n|\Z)", re.DOTALL)
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_UNIX_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MOST_FRONT: Final = 65_536
"""Most characters of a front matter."""
_OF_A_PAGE: Final = frozenset({"title", "alias", "aliases", "tags", "type", "template"})
"""Properties by which a page is found."""
_ONLY_REFERS: Final = re.compile(
    r"\(\([0-9a-f-]{36}\)\)|\{\{[^{}\n]*\}\}|!\[\[[^\[\]\n]+\]\]|```(?:dataview(?:js)?|tasks|query|base)\n.*\n```",
    re.DOTALL,
)
"""A block that only shows another one, a file, or what a query finds, in Logseq or Obsidian."""
_OPENING: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})|`|%%|<!--", re.MULTILINE)
"""Where code or a comment may begin."""
_ADMONITION: Final = re.compile(
    r"[ \t]*#\+(?:BEGIN|END)_(?:NOTE|TIP|IMPORTANT|CAUTION|WARNING|PINNED|CENTER|QUOTE|VERSE)[ \t]*", re.IGNORECASE
)
"""A line that begins or ends a callout or a quote of Logseq."""
_EMBEDDED: Final = re.compile(r"[ \t]*!\[\[[^\[\]\n]+\]\][ \t]*")
"""A line that only shows a file."""
_HIGHLIGHT: Final = re.compile(r"(?<![\w=])==(?=[^\s=])([^=\n]{1,1000})(?<=\S)==(?![\w=])")
"""Words that an editor highlights."""
_NO_PROSE: Final = re.compile(r"`[^`]*`|[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
"""Code and addresses."""
_CATEGORY: Final = re.compile(r"\[([^\W\d_][\w -]{1,40})\] ")
_WIKI: Final = re.compile(r"\[\[([^\[\]|#\n]+)(?:[#|][^\[\]\n]*)?\]\]")
_SHOWN: Final = re.compile(r"(!?)\[\[([^\[\]\n|]+)(?:\|([^\[\]\n]*))?\]\]")
"""A link to a page: what it names, and what it shows instead."""
_PAGE_LINK: Final = re.compile(r"\[([^\[\]\n]+)\]\(\[\[([^\[\]\n]+)\]\]\)")
"""A link to a page of Logseq that shows something else."""
_FILE_LINK: Final = re.compile(r"\[[^\[\]\n]*\]\(<?([^()\s<>]+\.md)>?(?:#[^()\s]*)?\)")
_RELATION: Final = re.compile(r"([^\W\d_][\w -]{1,40}) (\[\[[^\[\]\n]+\]\])(?: \(.*\))?")
_PLAIN: Final = re.compile(r"[ \t]*([A-Za-z_][\w-]*):[ \t]+(\S.*)")
_LINKS_FIRST: Final = re.compile(
    r"(?:[\s,;&]*(?:\[\[[^\[\]\n]+\]\]|\[[^\[\]\n]*\]\([^()\s]+\)))++(?!\s*\w|['\u2019])(.*)", re.DOTALL
)
"""A text that begins with links, of which no sentence is made by words right behind them."""


@dataclass(frozen=True)
class Note:
    """A file of Markdown."""

    front: Mapping[str, Any]
    units: tuple[Unit, ...]
    readable: bool
    """False: there is a front matter that is not YAML, of which only plain lines are read."""
    whole: bool = False
    """Whether the file is one memory."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How much of the text is no part of a memory, by what it is."""


def read(text: str) -> Note:
    """Read a file; line ends may be those of any system, but what our exports wrote is read exactly."""
    whole = _plain_ends(text)
    front, start, readable = _front(whole)
    ours = markdown_notes.read(whole)
    at = _Lines(whole)
    units = [
        Unit(
            note.content,
            at.line(note.start),
            at.line(note.end),
            memory_id=note.fields["memory_id"],
            fields=note.fields,
        )
        for note in ours
    ]
    if ours and not ours[0].start and ours[0].end == len(whole):
        return Note(front, tuple(units), readable=True, whole=True)
    parts, place = list[str](), start
    for note in ours:
        parts += [whole[place : note.start], "\n" * whole.count("\n", note.start, note.end)]
        place = note.end
    rest = "".join([*parts, whole[place:]])
    properties, rest = _properties(rest)
    front = {**properties, **front}
    raw, (rest, comments) = rest.split("\n"), _without_comments(rest)
    exported = bool(ours) or INDEX_BEGINS in rest
    described = bool(front.get("name")) and isinstance(front.get("description"), str)
    alone = str(front["description"]).strip() if described else ""
    if not exported and not rest.strip() and not alone:
        return Note(front, (), readable, left_out={"files without text": 1})
    if not exported and len(rest) < WHOLE and alone:
        unit = Unit(rest.strip() or alone, at.line(start), at.line(len(whole)))
        return Note(front, (_described(unit, front),), readable, whole=True)
    left_out = Counter[str]({"comments": comments})
    found = [*blocks(rest.split("\n"), at.line(start), left_out)]
    told = [unit for unit in found if not _ONLY_REFERS.fullmatch(unit.text)]
    left_out["blocks that only show others"] += len(found) - len(told)
    first, lines = at.line(start), rest.split("\n")
    spans = [(slice(unit.line - first, unit.after - first), _described(unit, front)) for unit in told]
    units += [
        unit if raw[span] == lines[span] else replace(unit, written="\n".join(raw[span]).strip())
        for span, unit in spans
    ]
    if exported:  # headings of topics and of the index are ours
        del left_out[HEADINGS]
    return Note(front, tuple(sorted(units, key=lambda unit: unit.line)), readable, left_out=+left_out)


def lines(text: str) -> list[str]:
    """Return the lines of a file with their ends, those of any system, as `Unit.line` counts them.

    Within what our exports wrote only those of Unix are ends.
    """
    found, at = list[str](), 0
    for note in markdown_notes.read(text):
        found += [*_LINE.findall(text[at : note.start]), *_UNIX_LINE.findall(text[note.start : note.end])]
        at = note.end
    return [*found, *_LINE.findall(text[at:])]


def unix(text: str) -> str:
    """Return a text with the line ends of Unix in place of those of any system."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _plain_ends(text: str) -> str:
    """Return a text with the line ends of Unix, except within what our exports wrote."""
    parts, at = list[str](), 0
    for note in markdown_notes.read(text):
        parts += [unix(text[at : note.start]), text[note.start : note.end]]
        at = note.end
    return "".join([*parts, unix(text[at:])])


def is_pointer(unit: Unit, files: Mapping[str, Any], *, of_a_day: Callable[[], bool]) -> bool:
    """Return whether a unit only names another file of the folder, as the lines of an index do.

    What it says of the file behind a dash or colon is of the index, too, unless it stands in notes of a day.
    """
    match = _LINKS_FIRST.fullmatch(unit.text if unit.written is None else unit.written)
    targets = [target for _, target in unit.links]
    named = bool(match and len(unit.text) < WHOLE // 4 and targets and resolved(targets[0], files) is not None)
    return named and not (match and match[1].strip() and of_a_day())


def resolved(target: str, files: Mapping[str, Any]) -> Any:
    """Return what `files` has under the name that a link gives: a path, its end, or a title, in any case."""
    name = target.strip().removeprefix("./").removesuffix(".md").lower()
    return files.get(name) or files.get(name.rpartition("/")[2])


def _front(text: str) -> tuple[Mapping[str, Any], int, bool]:
    """Return front matter as JSON values, where the body begins, and whether the front matter is YAML, or TOML."""
    if (toml := _FRONT_OF_TOML.match(text)) and len(toml[0]) <= _MOST_FRONT:
        try:
            return mapping(json.loads(json.dumps(tomllib.loads(toml[1]), default=str))), toml.end(), True
        except (ValueError, RecursionError):
            return {}, toml.end(), False
    match = _FRONT.match(text)
    if match is None:
        return {}, 0, True
    if len(match[0]) > _MOST_FRONT:
        return {}, match.end(), False
    if not _refers(match[0]):
        front, _ = markdown_notes.read_front_matter(match[0].rstrip() + "\n")
        if front:
            return mapping(json.loads(json.dumps(front, default=str))), match.end(), True
    return _plain(match[0]), match.end(), False


def _plain(front: str) -> dict[str, Any]:
    """Return the `name: value` lines of front matter that is not YAML, as people and models write a text with a colon.

    Indented lines count as well, unless a line before has their name; a list in brackets is a list.
    """
    found = dict[str, Any]()
    for line in front.splitlines():
        if match := _PLAIN.fullmatch(line):
            name, value = match[1], match[2].rstrip(" \t")
            if value.startswith("[") and value.endswith("]"):
                listed = [one.strip().strip("'\"") for one in value[1:-1].split(",")]
                found.setdefault(name, [one for one in listed if one])
            else:
                found.setdefault(name, value.strip("'\""))
    return found


def _refers(front: str) -> bool:
    """Return whether YAML refers to itself: a few lines could mean gigabytes."""
    try:
        return "&" in front and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(front, yaml.SafeLoader))
    except yaml.YAMLError:
        return True


def _properties(text: str) -> tuple[dict[str, str], str]:
    """Return the properties of a page that name or sort it, and the text with empty lines in their place.

    Others, such as `owner:: Ana`, state something: they stay in the text.
    """
    lines, named = text.split("\n"), dict[str, str]()
    for place, match in enumerate(map(PROPERTY.fullmatch, lines)):
        if match is None:
            break
        if match[1] in _OF_A_PAGE and match[2]:
            named[match[1]] = _linked(match[2]).strip()
        if match[1] in _OF_A_PAGE or is_of_the_editor(lines[place]):
            lines[place] = ""
    return named, "\n".join(lines)


class _Lines:
    """Tells the line of a place in a text, from 1."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, place: int) -> int:
        return 1 + bisect_left(self._ends, place)


def _described(unit: Unit, front: Mapping[str, Any]) -> Unit:
    """Add the tags and links that the text names; where notes have permalinks, links have types."""
    match = _CATEGORY.match(unit.text)
    category = [match[1]] if match else []
    prose = _NO_PROSE.sub(" ", unit.text)
    above = tuple(map(_shown, unit.heading))
    tags = labels([*above, *category, *unit.tags, *named_tags(prose)])
    relation = _RELATION.fullmatch(unit.text) if front.get("permalink") else None
    kind = relation[1] if relation else "RELATES_TO"
    targets = [*_WIKI.findall(prose), *_FILE_LINK.findall(prose)]
    links = tuple((kind, target) for target in dict.fromkeys(targets))
    kind_of, heading, text = _out_of_callout(BLOCK_ID.sub("", unit.text))
    text = text if relation else _shown(text)
    written = unit.text if text != BLOCK_ID.sub("", unit.text) else unit.written
    all_tags = tuple(labels([*tags, *kind_of]))
    return replace(unit, text=text, tags=all_tags, links=links, heading=(*above, *heading), written=written)


def _out_of_callout(text: str) -> tuple[list[str], list[str], str]:
    """Return the kind of a callout, its title as a heading, and what it says; of any other text only the text."""
    lines = [line for line in text.split("\n") if not (_ADMONITION.fullmatch(line) or _EMBEDDED.fullmatch(line))]
    begins = CALLOUT.fullmatch(lines[0]) if lines else None
    if begins is None or not all(QUOTED.match(line) for line in lines):
        return [], [], "\n".join(lines).strip() or text
    said = "\n".join(QUOTED.sub("", line, count=1) for line in lines[1:]).strip()
    title = begins[2].strip()
    return [begins[1].lower()], [title] if title and said else [], said or title or begins[1]


def _shown(text: str) -> str:
    """Return a text with what its links to pages show, but for embedded files and code."""
    parts, place = list[str](), 0
    for code in _NO_PROSE.finditer(text):
        parts += [_linked(text[place : code.start()]), code[0]]
        place = code.end()
    return "".join([*parts, _linked(text[place:])])


def _linked(prose: str) -> str:
    return _SHOWN.sub(_of_link, _PAGE_LINK.sub(r"\1", _HIGHLIGHT.sub(r"\1", prose)))


def _of_link(link: re.Match[str]) -> str:
    """Return what an editor shows of a link: its alias, or the page and the heading in it."""
    embedded, target, alias = link.groups()
    if embedded:
        return link[0]
    page, _, part = target.partition("#")
    return (alias or "").strip() or " \u203a ".join(filter(None, (page.rpartition("/")[2].strip(), part.strip(" ^#"))))


def _without_comments(text: str) -> tuple[str, int]:
    """Return a text without its comments, of Markdown or of Obsidian, and their number; every line stays a line.

    What is within code, and what is not closed, is no comment.
    """
    parts, place, at, found = list[str](), 0, 0, 0
    open_ended = set[str]()
    while opening := _OPENING.search(text, at):
        begins, mark = opening.end(), opening[0].strip()
        closing = {"%%": "%%", "<!--": "-->"}.get(mark, f"\n{mark}" if len(mark) > 1 else mark)
        end = -1 if closing in open_ended else text.find(closing, begins)
        if end < 0:
            open_ended.add(closing)
        at = begins if end < 0 or (mark == "`" and "\n" in text[begins:end]) else end + len(closing)
        comment = text[opening.start() : at]
        if end < 0 or mark not in {"%%", "<!--"} or comment.strip() in (INDEX_BEGINS, INDEX_ENDS):
            continue
        before = text[place : opening.start()]
        alone = not text[at : at + 1].strip()
        parts += [before.rstrip(" \t") if alone else before, "\n" * comment.count("\n")]
        place, found = at, found + 1
    return "".join([*parts, text[place:]]), found
