"""Reads one Markdown file as units that become memories: a note as a whole, list items, and paragraphs.

Here: front matter, blocks, what our exports write (docs/formats.md), tags and links. Pure. Not here: folders and
what a second import makes of them (`markdown.py`).
"""

import json
import re
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from memory_pipeline.interop import markdown_notes
from memory_pipeline.interop.markdown_notes import INDEX_BEGINS, INDEX_ENDS
from memory_pipeline.interop.values import labels, mapping
from memory_pipeline.text.parse.written_days import is_entry

WHOLE: Final = 2000
"""Most characters of a note with name and description that is one memory."""

_FRONT: Final = re.compile(r"---\n(?:.*?\n)??---(?:\n|\Z)", re.DOTALL)
_FRONT_OF_TOML: Final = re.compile(r"\+{3}\n((?:.*?\n)??)\+{3}(?:\n|\Z)", re.DOTALL)
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_UNIX_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_MOST_FRONT: Final = 65_536
"""Most characters of a front matter."""
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE: Final = re.compile(r" {0,3}(?:={3,}|-{2,})[ \t]*")
_UNDERLINED: Final = re.compile(r" {0,3}[^\s>|<`~].{0,120}(?<![\s.!?:;,\u3002\uff01\uff1f])[ \t]*")
"""A line that is a heading if a line of signs follows; above such a line a sentence is none."""
_MOST_HEADING: Final = 1_000
"""Most characters of a heading; matching one takes the square of its length."""
_ITEM: Final = re.compile(r"( {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+)(\S.*)")
_OUTLINED: Final = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]")
"""How a block of an outline begins, at any depth."""
_INDENTED: Final = re.compile(r"(\t+)[-*+][ \t]+\S")
"""How the first block below a heading begins where an outline shows the heading as no block."""
_EMPTY_ITEM: Final = re.compile(r"[ \t]*[-*+][ \t]*")
_PROPERTY: Final = re.compile(r"[ \t]*([A-Za-z][\w./-]{0,60})::(?:[ \t]+(.*))?")
"""A property of a page or block of Logseq."""
_OF_THE_EDITOR: Final = re.compile(
    r"id|collapsed|heading|background-color|created-at|updated-at|icon|public|filters|(?:logseq|query|ls|hl)[.-].*"
)
"""Properties that tell how Logseq shows a block, not what it says."""
_CLOCK_TIME: Final = re.compile(r"\d{12,}\s*")
"""The value of a property that is an instant in milliseconds, as an editor notes it."""
_OF_A_PAGE: Final = frozenset({"title", "alias", "aliases", "tags", "type", "template"})
"""Properties by which a page is found."""
_ONLY_REFERS: Final = re.compile(
    r"\(\([0-9a-f-]{36}\)\)|\{\{[^{}\n]*\}\}|!\[\[[^\[\]\n]+\]\]|```(?:dataview(?:js)?|tasks|query|base)\n.*\n```",
    re.DOTALL,
)
"""A block that only shows another one, a file, or what a query finds, in Logseq or Obsidian."""
_BLOCK_ID: Final = re.compile(r"\s\^[A-Za-z0-9-]+\Z")
"""The id by which Obsidian refers to a block."""
_ONLY_ID: Final = re.compile(r"\s*(?:\^[A-Za-z0-9-]+\s*)?")
"""A line that says nothing, but may name the block above it."""
_ONLY_HTML: Final = re.compile(r"(?:[ \t]*</?[A-Za-z][A-Za-z0-9-]*(?:[ \t][^<>\n]*)?/?>)+[ \t]*")
_ONE_TAG: Final = re.compile(r"</?[A-Za-z][^<>\n]*>")
_SUMMARY: Final = re.compile(
    r"[ \t]*(?:<details(?:[ \t][^<>\n]*)?>[ \t]*)?<summary(?:[ \t][^<>\n]*)?>([^\n]*)</summary>[ \t]*", re.IGNORECASE
)
"""The title of a block that can be folded up."""
_DETAILS: Final = re.compile(r"[ \t]*</?details(?:[ \t][^<>\n]*)?>[ \t]*", re.IGNORECASE)
"""A line that begins or ends such a block."""
_OPENING: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})|`|%%|<!--", re.MULTILINE)
"""Where code or a comment may begin."""
_CALLOUT: Final = re.compile(r">[ \t]*\[!([\w-]+)[^\]\n]*\][+-]?[ \t]*(.*)")
"""The first line of a callout: its kind and title."""
_QUOTED: Final = re.compile(r"(?:[ \t]*>)+[ \t]?")
_ADMONITION: Final = re.compile(
    r"[ \t]*#\+(?:BEGIN|END)_(?:NOTE|TIP|IMPORTANT|CAUTION|WARNING|PINNED|CENTER|QUOTE|VERSE)[ \t]*", re.IGNORECASE
)
"""A line that begins or ends a callout or a quote of Logseq."""
_EMBEDDED: Final = re.compile(r"[ \t]*!\[\[[^\[\]\n]+\]\][ \t]*")
"""A line that only shows a file."""
_HIGHLIGHT: Final = re.compile(r"(?<![\w=])==(?=[^\s=])([^=\n]{1,1000})(?<=\S)==(?![\w=])")
"""Words that an editor highlights."""
_TAGS: Final = re.compile(r"(?:\s*(?:#[^\W\d_][\w/-]*|#\[\[[^\[\]\n]+\]\]))+\s*")
"""A text that is nothing but tags."""
_ENDS_ALONE: Final = re.compile(rf"{_QUOTED.pattern}|{_OUTLINED.pattern}|{_PROPERTY.pattern}\Z|[ \t]*#\+\w")
"""The last line of a paragraph that introduces no list: a quote, an item, a property, the end of a block."""
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_BOLD: Final = re.compile(r"\*\*([^*\n]+?):?\*\*:?")
_RULE: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}|-{2,})")
_NO_PROSE: Final = re.compile(r"`[^`]*`|[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
"""Code and addresses."""
_TAG: Final = re.compile(r"(?<![\w/#&])#(?:([^\W\d_][\w/-]*)|\[\[([^\[\]\n]+)\]\])")
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
class Unit:
    """A part of a file that becomes a memory."""

    text: str
    line: int
    """Line of the file, from 1."""
    after: int
    """Line after its last one."""
    heading: tuple[str, ...] = ()
    """Headings above it."""
    memory_id: str | None = None
    """Id that the file gives it."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What front matter or comment says of it."""
    tags: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Edge type and target, as written."""
    written: str | None = None
    """The text as the file has it, if that is more than the text."""
    introduces: bool = False
    """Whether the items of the list behind it belong to it, as to a heading."""


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
    blocks = [*_blocks(rest.split("\n"), at.line(start), left_out)]
    told = [unit for unit in blocks if not _ONLY_REFERS.fullmatch(unit.text)]
    left_out["blocks that only show others"] += len(blocks) - len(told)
    first, lines = at.line(start), rest.split("\n")
    spans = [(slice(unit.line - first, unit.after - first), _described(unit, front)) for unit in told]
    units += [
        unit if raw[span] == lines[span] else replace(unit, written="\n".join(raw[span]).strip())
        for span, unit in spans
    ]
    if exported:  # headings of topics and of the index are ours
        del left_out[_HEADINGS]
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
    for place, match in enumerate(map(_PROPERTY.fullmatch, lines)):
        if match is None:
            break
        if match[1] in _OF_A_PAGE and match[2]:
            named[match[1]] = _linked(match[2]).strip()
        if match[1] in _OF_A_PAGE or _is_of_the_editor(lines[place]):
            lines[place] = ""
    return named, "\n".join(lines)


def _is_of_the_editor(line: str) -> bool:
    """Return whether a line is a property that says nothing."""
    noted = _PROPERTY.fullmatch(line)
    return noted is not None and bool(_OF_THE_EDITOR.fullmatch(noted[1]) or _CLOCK_TIME.fullmatch(noted[2] or ""))


class _Lines:
    """Tells the line of a place in a text, from 1."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, place: int) -> int:
        return 1 + bisect_left(self._ends, place)


def _blocks(
    lines: list[str], first: int, left_out: Counter[str], outer: tuple[str, ...] = (), marked: tuple[str, ...] = ()
) -> Iterator[Unit]:
    """Yield the list items and paragraphs of a body below `outer` headings and tags, and count what is in none."""
    headings: list[tuple[int, str]] = []
    place = 0
    bare = list[int]()  # levels of the headings under which nothing stands yet
    introduced = Counter[tuple[str, ...]]()
    tags = dict.fromkeys(marked, 0)  # each with the depth of the heading under which it stands alone
    while place < len(lines):
        line, number = lines[place], first + place
        above = (*outer, *(title for _, title in headings))
        if line.strip() == INDEX_BEGINS:
            place = next((at for at in range(place, len(lines)) if lines[at].strip() == INDEX_ENDS), len(lines)) + 1
        elif titled := _titled(lines, place):
            level, name, place = titled
            left_out[_HEADINGS] += sum(above >= level for above in bare)
            bare = [above for above in bare if above < level] + ([level] if name else [])
            headings = [(depth, title) for depth, title in headings if depth < level]
            tags = {tag: depth for tag, depth in tags.items() if depth < level}
            headings += [(level, name)] if name else []
        elif _ITEM.fullmatch(line) or _INDENTED.match(line):
            bare = []
            end, units = _listed(lines, place, Unit("", number, number, above, tags=tuple(tags)), left_out)
            yield from units
            place = end
        elif _ONLY_ID.fullmatch(line) or _EMPTY_ITEM.fullmatch(line) or _ONLY_HTML.fullmatch(line):
            left_out["empty blocks"] += bool(_EMPTY_ITEM.fullmatch(line))
            left_out["tags of HTML"] += bool(_ONLY_HTML.fullmatch(line))
            place += 1
        elif _RULE.fullmatch(line):
            headings = [pair for pair in headings if pair[0] < _IN_BOLD]
            place += 1
        else:
            end = _paragraph_end(lines, place)
            text = "\n".join(lines[place:end]).strip()
            if _TAGS.fullmatch(text):
                tags |= dict.fromkeys(_named_tags(text), headings[-1][0] if headings else 0)
                place = end
                continue
            level, title, told = _introduction(text, _next(lines, end))
            headings = [pair for pair in headings if pair[0] < level]
            if told:
                bare = []
                titles = (*outer, *(title for _, title in headings))
                yield Unit(text, number, first + end, titles, tags=tuple(tags), introduces=bool(title))
            headings += [(level, _numbered(title, headings, introduced))] if title else []
            place = end
    left_out[_HEADINGS] += len(bare)


_HEADINGS: Final = "headings without text"
_FOLDED: Final = 7
"""Level of the title of a block that can be folded up: below every heading."""
_IN_BOLD: Final = 8
"""Level of a line in bold."""
_INTRODUCTION: Final = 9
"""Level of what stands before a list: a line such as "Preferences:", or the last sentence of a paragraph."""
_STOPS: Final = (".", "!", "\u3002", "\uff01")
"""Signs with which a statement ends, and nothing that announces a list."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n")


def _introduction(text: str, following: str) -> tuple[int, str, bool]:
    """Return how a paragraph introduces the line after it.

    That is its level as a heading, its title, empty if it introduces nothing, and whether it is a memory besides.
    """
    alone = not following or _heading(following) or _RULE.fullmatch(following)
    bold = None if alone or _BOLD.fullmatch(following.strip()) else _BOLD.fullmatch(text)
    if bold and len(text) <= _MOST_HEADING:
        return _IN_BOLD, bold[1], False
    leading = _SENTENCE_END.split(_BLOCK_ID.sub("", text))[-1]
    stated = leading.endswith(_STOPS)  # such as "I'm Ana, a carpenter."
    stands_alone = stated or _ENDS_ALONE.match(leading) or (is_entry(text) and not text.endswith(":"))
    introduces = _ITEM.fullmatch(following) and not stands_alone
    title = leading.rstrip(".:") if introduces and len(leading) <= _MOST_HEADING else ""
    level = _IN_BOLD if bold else _INTRODUCTION
    return level, title, not (title and leading == text and text.endswith(":"))


def _numbered(title: str, headings: list[tuple[int, str]], introduced: Counter[tuple[str, ...]]) -> str:
    """Return a line that introduces others, with its number from its second time under the same headings on.

    "Example:" or "**Pros**" is about what was said before it, which is something else each time.
    """
    path = (*(above for _, above in headings), title)
    introduced[path] += 1
    return title if introduced[path] == 1 else f"{title} ({introduced[path]})"


def _titled(lines: list[str], place: int) -> tuple[int, str, int] | None:
    """Return the level and title of the heading that begins at a line, and the line after it; None if none does.

    The beginning and the end of a block that can be folded up are headings without a title, and end what stands above.
    """
    if _folds(lines[place]):
        folded = _SUMMARY.fullmatch(lines[place])
        return _FOLDED, _ONE_TAG.sub("", folded[1]).strip() if folded else "", place + 1
    if match := _heading(lines[place]):
        return len(match[1]), match[2] or "", place + 1
    below = lines[place + 1] if place + 1 < len(lines) else ""
    if not _UNDERLINE.fullmatch(below) or not _UNDERLINED.fullmatch(lines[place]):
        return None
    if _begins(lines[place]) or _RULE.fullmatch(lines[place]) or _CALLOUT.match(lines[place]):
        return None
    return 1 if below.strip().startswith("=") else 2, lines[place].strip(), place + 2


def _next(lines: list[str], place: int) -> str:
    return next((lines[at] for at in range(place, len(lines)) if lines[at].strip()), "")


def _item_end(lines: list[str], place: int) -> int:
    """Return the line after a list item: indented and directly following lines belong to it."""
    begun = _ITEM.fullmatch(lines[place])
    opened = _FENCE.match(begun[2]) if begun else None
    fence, end = opened and opened[1], place + 1
    while end < len(lines):
        line = lines[end]
        if not line.strip():
            following = next((at for at in range(end, len(lines)) if lines[at].strip()), None)
            if following is None or not lines[following].startswith(("  ", "\t")):
                break
            end = following
            continue
        indented = line.startswith((" ", "\t"))
        fenced = _FENCE.match(line)
        if (
            fence is None
            and not indented
            and (
                _begins(line)
                or _heading(line)
                or _RULE.fullmatch(line)
                or line.startswith(">")
                or _folds(line)
                or lines[end - 1].strip() == ""
                or is_entry(line)
            )
        ):
            break
        if fenced:
            fence = None if fence and line.strip().startswith(fence) else fence or fenced[1]
        end += 1
    return end


def _listed(lines: list[str], place: int, at: Unit, left_out: Counter[str]) -> tuple[int, Iterator[Unit]]:
    """Return the line after a list item, or after items indented by tabs below no item, and what they say."""
    if match := _ITEM.fullmatch(lines[place]):
        end = _item_end(lines, place)
        item = replace(at, text=match[2], after=at.line + end - place)
        return end, _of_item(lines[place:end], item, left_out, indent=len(match[1]))
    end, outlined = _indented_end(lines, place), _INDENTED.match(lines[place])
    depth = len(outlined[1]) if outlined else 0
    below = [line[min(len(line) - len(line.lstrip()), depth) :] for line in lines[place:end]]
    units = _blocks(below, at.line, left_out, at.heading, at.tags)
    return end, (replace(unit, written=unit.text) for unit in units)


def _indented_end(lines: list[str], place: int) -> int:
    """Return the line that is indented no more, from one that is."""
    for end in range(place, len(lines)):
        if lines[end].strip() and not lines[end].startswith("\t"):
            return end
    return len(lines)


def _begins(line: str) -> bool:
    return bool(_ITEM.fullmatch(line) or _EMPTY_ITEM.fullmatch(line))


def _folds(line: str) -> bool:
    """Return whether a line is the beginning, title or end of a block that can be folded up."""
    return bool(_SUMMARY.fullmatch(line) or _DETAILS.fullmatch(line))


def _paragraph_end(lines: list[str], place: int) -> int:
    fence, end = None, place
    while end < len(lines):
        line = lines[end]
        fenced = _FENCE.match(line)
        if (
            fence is None
            and end > place
            and (
                not line.strip()
                or _begins(line)
                or _heading(line)
                or _RULE.fullmatch(line)
                or line.strip() == INDEX_BEGINS
                or _CALLOUT.match(line)
                or _folds(line)
                or (is_entry(line) and is_entry(lines[place]))
            )
        ):
            break
        if fenced:
            fence = None if fence and line.strip().startswith(fence) else fence or fenced[1]
        end += 1
    return end


def _item(lines: list[str], unit: Unit, *, indent: int) -> Unit:
    """Return a list item without its marker and indentation, without empty items in it and what its editor notes."""
    rest = [
        line for line in _without_clock(lines[1:]) if not _EMPTY_ITEM.fullmatch(line) and not _is_of_the_editor(line)
    ]
    while rest and not rest[-1].strip():
        rest.pop()
    rest = [line[min(len(line) - len(line.lstrip()), indent) :] for line in rest]
    begins = [unit.text] if not rest or not _is_of_the_editor(unit.text) else []
    return replace(unit, text="\n".join([*begins, *rest]).rstrip())


def _of_item(lines: list[str], item: Unit, left_out: Counter[str], *, indent: int) -> Iterator[Unit]:
    """Yield a list item; one that is a heading, as in outlines, stands above what is in it."""
    block = _heading(item.text)
    if block is None or not block[2]:
        yield _item(lines, item, indent=indent)
        return
    below = _below(lines[1:])
    left_out[_HEADINGS] += not any(map(str.strip, below))
    for unit in _blocks(below, item.line + 1, left_out, (*item.heading, block[2]), item.tags):
        yield replace(unit, written=unit.text)


def _below(lines: list[str]) -> list[str]:
    """Return what stands below a block that is a heading as lines of its own, its properties that say nothing empty."""
    first = next((place for place, line in enumerate(lines) if _OUTLINED.match(line)), len(lines))
    begins = _OUTLINED.match(lines[first]) if first < len(lines) else None
    depth = len(begins[1]) if begins else _MOST_HEADING
    told = ["" if _is_of_the_editor(line) else line for line in lines[:first]] + lines[first:]
    return [line[min(len(line) - len(line.lstrip()), depth) :] for line in told]


def _without_clock(lines: list[str]) -> list[str]:
    """Return the lines of a block without those in which Logseq notes how long somebody worked on it."""
    kept, place = list[str](), 0
    while place < len(lines):
        if lines[place].strip() == ":LOGBOOK:":
            ends = next((at for at in range(place, len(lines)) if lines[at].strip() == ":END:"), None)
            if ends is None:
                return [*kept, *lines[place:]]
            place = ends
        else:
            kept.append(lines[place])
        place += 1
    return kept


def _described(unit: Unit, front: Mapping[str, Any]) -> Unit:
    """Add the tags and links that the text names; where notes have permalinks, links have types."""
    match = _CATEGORY.match(unit.text)
    category = [match[1]] if match else []
    prose = _NO_PROSE.sub(" ", unit.text)
    above = tuple(map(_shown, unit.heading))
    tags = labels([*above, *category, *unit.tags, *_named_tags(prose)])
    relation = _RELATION.fullmatch(unit.text) if front.get("permalink") else None
    kind = relation[1] if relation else "RELATES_TO"
    targets = [*_WIKI.findall(prose), *_FILE_LINK.findall(prose)]
    links = tuple((kind, target) for target in dict.fromkeys(targets))
    kind_of, heading, text = _out_of_callout(_BLOCK_ID.sub("", unit.text))
    text = text if relation else _shown(text)
    written = unit.text if text != _BLOCK_ID.sub("", unit.text) else unit.written
    all_tags = tuple(labels([*tags, *kind_of]))
    return replace(unit, text=text, tags=all_tags, links=links, heading=(*above, *heading), written=written)


def _named_tags(text: str) -> list[str]:
    """Return the tags of a text, without `#` and brackets."""
    return [word or page for word, page in _TAG.findall(text)]


def _out_of_callout(text: str) -> tuple[list[str], list[str], str]:
    """Return the kind of a callout, its title as a heading, and what it says; of any other text only the text."""
    lines = [line for line in text.split("\n") if not (_ADMONITION.fullmatch(line) or _EMBEDDED.fullmatch(line))]
    begins = _CALLOUT.fullmatch(lines[0]) if lines else None
    if begins is None or not all(_QUOTED.match(line) for line in lines):
        return [], [], "\n".join(lines).strip() or text
    said = "\n".join(_QUOTED.sub("", line, count=1) for line in lines[1:]).strip()
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


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.fullmatch(line) if len(line) <= _MOST_HEADING else None


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
