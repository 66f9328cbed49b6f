"""Divides the body of a file of Markdown into list items and paragraphs, below the headings above each.

Not here: front matter, comments and links (`markdown_text`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from memory_pipeline.interop.markdown_notes import INDEX_BEGINS, INDEX_ENDS
from memory_pipeline.text.parse.written_days import is_entry

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
PROPERTY: Final = re.compile(r"[ \t]*([A-Za-z][\w./-]{0,60})::(?:[ \t]+(.*))?")
"""A property of a page or block of Logseq."""
_OF_THE_EDITOR: Final = re.compile(
    r"id|collapsed|heading|background-color|created-at|updated-at|icon|public|filters|(?:logseq|query|ls|hl)[.-].*"
)
"""Properties that tell how Logseq shows a block, not what it says."""
_CLOCK_TIME: Final = re.compile(r"\d{12,}\s*")
"""The value of a property that is an instant in milliseconds, as an editor notes it."""
BLOCK_ID: Final = re.compile(r"\s\^[A-Za-z0-9-]+\Z")
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
CALLOUT: Final = re.compile(r">[ \t]*\[!([\w-]+)[^\]\n]*\][+-]?[ \t]*(.*)")
"""The first line of a callout: its kind and title."""
QUOTED: Final = re.compile(r"(?:[ \t]*>)+[ \t]?")
_TAGS: Final = re.compile(r"(?:\s*(?:#[^\W\d_][\w/-]*|#\[\[[^\[\]\n]+\]\]))+\s*")
"""A text that is nothing but tags."""
_ENDS_ALONE: Final = re.compile(rf"{QUOTED.pattern}|{_OUTLINED.pattern}|{PROPERTY.pattern}\Z|[ \t]*#\+\w")
"""The last line of a paragraph that introduces no list: a quote, an item, a property, the end of a block."""
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_BOLD: Final = re.compile(r"\*\*([^*\n]+?):?\*\*:?")
_RULE: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}|-{2,})")
_TAG: Final = re.compile(r"(?<![\w/#&])#(?:([^\W\d_][\w/-]*)|\[\[([^\[\]\n]+)\]\])")
HEADINGS: Final = "headings without text"
_FOLDED: Final = 7
"""Level of the title of a block that can be folded up: below every heading."""
_IN_BOLD: Final = 8
"""Level of a line in bold."""
_INTRODUCTION: Final = 9
"""Level of what stands before a list: a line such as "Preferences:", or the last sentence of a paragraph."""
_STOPS: Final = (".", "!", "\u3002", "\uff01")
"""Signs with which a statement ends, and nothing that announces a list."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n")


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


def is_of_the_editor(line: str) -> bool:
    """Return whether a line is a property that says nothing."""
    noted = PROPERTY.fullmatch(line)
    return noted is not None and bool(_OF_THE_EDITOR.fullmatch(noted[1]) or _CLOCK_TIME.fullmatch(noted[2] or ""))


def blocks(
    lines: list[str], first: int, left_out: Counter[str], outer: tuple[str, ...] = (), marked: tuple[str, ...] = ()
) -> Iterator[Unit]:
    """Yield the list items and paragraphs of a body, and count in `left_out` what is in none.

    Args:
        lines: the lines of the body, without ends.
        first: number of the first line in its file.
        left_out: how much is no part of a memory, by what it is; added to.
        outer: headings above the body.
        marked: tags that stand above it.
    """
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
            left_out[HEADINGS] += sum(above >= level for above in bare)
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
                tags |= dict.fromkeys(named_tags(text), headings[-1][0] if headings else 0)
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
    left_out[HEADINGS] += len(bare)


def _introduction(text: str, following: str) -> tuple[int, str, bool]:
    """Return how a paragraph introduces the line after it.

    That is its level as a heading, its title, empty if it introduces nothing, and whether it is a memory besides.
    """
    alone = not following or _heading(following) or _RULE.fullmatch(following)
    bold = None if alone or _BOLD.fullmatch(following.strip()) else _BOLD.fullmatch(text)
    if bold and len(text) <= _MOST_HEADING:
        return _IN_BOLD, bold[1], False
    leading = _SENTENCE_END.split(BLOCK_ID.sub("", text))[-1]
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
    if _begins(lines[place]) or _RULE.fullmatch(lines[place]) or CALLOUT.match(lines[place]):
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
    units = blocks(below, at.line, left_out, at.heading, at.tags)
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
                or CALLOUT.match(line)
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
        line for line in _without_clock(lines[1:]) if not _EMPTY_ITEM.fullmatch(line) and not is_of_the_editor(line)
    ]
    while rest and not rest[-1].strip():
        rest.pop()
    rest = [line[min(len(line) - len(line.lstrip()), indent) :] for line in rest]
    begins = [unit.text] if not rest or not is_of_the_editor(unit.text) else []
    return replace(unit, text="\n".join([*begins, *rest]).rstrip())


def _of_item(lines: list[str], item: Unit, left_out: Counter[str], *, indent: int) -> Iterator[Unit]:
    """Yield a list item; one that is a heading, as in outlines, stands above what is in it."""
    block = _heading(item.text)
    if block is None or not block[2]:
        yield _item(lines, item, indent=indent)
        return
    below = _below(lines[1:])
    left_out[HEADINGS] += not any(map(str.strip, below))
    for unit in blocks(below, item.line + 1, left_out, (*item.heading, block[2]), item.tags):
        yield replace(unit, written=unit.text)


def _below(lines: list[str]) -> list[str]:
    """Return what stands below a block that is a heading as lines of its own, its properties that say nothing empty."""
    first = next((place for place, line in enumerate(lines) if _OUTLINED.match(line)), len(lines))
    begins = _OUTLINED.match(lines[first]) if first < len(lines) else None
    depth = len(begins[1]) if begins else _MOST_HEADING
    told = ["" if is_of_the_editor(line) else line for line in lines[:first]] + lines[first:]
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


def named_tags(text: str) -> list[str]:
    """Return the tags of a text, without `#` and brackets."""
    return [word or page for word, page in _TAG.findall(text)]


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.fullmatch(line) if len(line) <= _MOST_HEADING else None
