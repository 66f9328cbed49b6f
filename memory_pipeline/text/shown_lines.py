"""Splits a text into lines, and tells by their marks which of them show memories.

A shown memory has a date in brackets before it or notes in parentheses after it, its id, headings and tags around it,
or is part of a JSON document or of a tag's attribute. Not here: which memory a line quotes (`quoting`).
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from html import unescape
from itertools import pairwise
from typing import Final

_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NOTE: Final = (
    rf"(?:{_DATE}|disputed: [^\n]{{0,400}}?|holds only from {_DATE}|dated by its file"
    rf"|(?:no longer current|(?:possibly|maybe) outdated) since {_DATE}(?:: \"(?:[^\"\\\n]|\\[^\n]){{0,600}}\")?"
    rf"|contradicts (?:another memory|that of {_DATE}(?: and {_DATE})*)|archived|cold|stub|expired|superseded"
    r"|(?:passage at character [0-9,]+|beginning) of a text of [0-9,]+ tokens|all of it: memory [^\s()]+"
    r"|(?:memory_id|profile_id) [^\s();]+)"
)
_NOTES: Final = rf"\({_NOTE}(?:; {_NOTE})*\)"
_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_BEFORE: Final = re.compile(
    rf"[\s>*+\-\\`\u2022|]*(?:[0-9]+[.)]\s+)?(\[{_DATE}\]\s+|{_UUID}\s+{_DATE} [0-9:]{{5}}\s+(?:\[[a-z, ]+\]\s+)?)?"
)
_SCORED: Final = re.compile(rf"(?<!\s)\s+[01]\.[0-9]{{2}} {_UUID}$")
"""What the client prints after a memory: its score and its id."""
_CUT: Final = re.compile(r"(?<!\s)\s*(?:\[?(?:\.{3}|\u2026)\]?)$")
_AFTER: Final = re.compile(rf"({_NOTES})[\s*`]*$")
_WITHIN: Final = re.compile(rf"(?<!\s)\s*\[(?:possibly )?outdated since {_DATE}\]")
_ID: Final = re.compile(rf"(?:all of it: memory|memory_id) ([^\s();]+)|\b({_UUID})\b")
_TAG: Final = r"</?[A-Za-z][\w:.-]{0,63}(?: [^<>\n]{0,200})?>"
_TAG_ALONE: Final = re.compile(rf"({_TAG})")
_TAG_NAME: Final = re.compile(r"[A-Za-z][\w:.-]*")
_RULE: Final = re.compile(r"(?:`{3,}|~{3,})\w*|[\s>*+\-`~#=_|{}\[\],]+|[0-9]{1,3}[.)]")
"""A fence, a rule, or the number of a list's item whose text was cut off it."""
_ENTRY: Final = re.compile(
    r"\s*(?:- )?(?:profile_id|kind|score|rank|tokens|memory_type|session_id|created_at|lifecycle|current"
    r"|expanded|deep|undated):(?: \S*(?: [0-9:.+'\"Z-]+)?)?\s*"
)
"""A field of a recalled memory that holds no words, as YAML has it; a space may divide a day and a time."""
_MORE: Final = re.compile(r"- and [0-9,]+ more, [0-9,]+ tokens; a larger token budget shows them")
_HELD: Final = re.compile(r"Held back for .{1,256}: [0-9]+ decisions, .*--max-archived-share")
_PRINTED: Final = re.compile(
    rf"\s*(?:[0-9.]+ \u00b7 {_UUID}.*|[0-9,]+ memor(?:y|ies)(?:, [0-9,]+ tokens?)?,? (?:for .*)?as of {_DATE} .*"
    r"|why the first one: \S+ .*|Perhaps none of (?:these|them) answers (?:it|this)\."
    r"|Scores do not always fall: .*|next page: after=\S+)"
)
"""Lines that a command or a tool prints about the memories above or below them."""
_FIELD: Final = re.compile(
    r"  (?:id|what it is|stored|changed|session|agent|user|tags|state|protected|valid from|valid until|replaced by"
    r"|members|accessed|last accessed): \S.*\n?"
)
"""A line of a memory's fields as a command prints them."""
HEADING: Final = re.compile(r"#{1,6}\s+(.+)")
_HEADINGS: Final = ("relevant memories", "notices")
_DOCUMENT: Final = re.compile(r"[\[{](?=\s*[\[{\"])|(?<![\w\\])\"(?=[^\"\n]*\\)")
"""Where a JSON document may begin: a bracket, or a string with an escape."""
MARK: Final = re.compile(
    rf"{_DATE}|{_UUID}|\b(?:19|20)[0-9]{{2}}\b|</[A-Za-z]|[\"'\s]/?>|{_DOCUMENT.pattern}"
    r"|\((?:passage at|beginning of a text of) "
)
"""Found in every text that holds a marked line, a memory beside its id or date, or one between marks of a program."""
_CUTS: Final = (
    rf"(?<=\n)|(?=[-*] \[{_DATE}\] )|(?<=[^\d\s][.;!?] )(?=\[{_DATE}\] )|(?<=>)(?=\S)|(?=</[A-Za-z])"
    r"|(?<=[0-9]\)) (?=--- |## )|(?<=[0-9]\) --- )(?=\S)|(?<=\},)(?=\s*\{)"
)
"""Where lines begin, also in a text whose line breaks were lost."""
_AFTER_NOTE: Final = re.compile(_NOTES)
SENTENCE_END: Final = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\b[A-Z][a-z][a-z]\.)\s+(?![a-z\u00bb])|(?<=[\u3002\uff01\uff1f])(?![\u201d\u300d])|\n+"
)
"""Where a sentence ends: not after a short word with a capital, as in "Dr. Kern", nor before a small letter."""
_LISTED_END: Final = re.compile(rf"{SENTENCE_END.pattern}|;\s+")
"""The same, or where a part of a list does."""
_DOCUMENTS: Final = 20
"""Most brackets of a text at which a JSON document is looked for."""
_WITHIN_EACH_OTHER: Final = 3
"""Most JSON documents and tags that are read within each other."""
_VALUE: Final = r"\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')"
_ATTRIBUTES: Final = re.compile(rf"<[A-Za-z][\w:.-]{{0,63}}(?:\s+[\w:.-]{{1,64}}{_VALUE.replace('([', '(?:[')})+\s*/?>")
_VALUES: Final = re.compile(_VALUE)
_OPEN: Final = "{"


@dataclass(frozen=True)
class Piece:
    """A line of a text."""

    raw: str
    line: str
    """Without its marks."""
    marked: bool
    named: str | None
    """The memory that its mark names."""
    frame: str | None
    """What it frames quotations with: heading, rule, blank, a tag's name, or the mark of a document or attribute; None
    for a line of words."""
    day: date | None = None
    """The day that its mark names."""
    cut: bool = False
    """Whether it ends with a sign that something is left out."""
    shown: tuple[str, ...] = ()
    """The memories of a JSON document, if it is one that names them."""
    within: tuple["Piece", ...] = ()
    """The lines of its strings between frames, if it is any other JSON document, or a tag with words in attributes."""
    as_lines: tuple["Piece", ...] = ()
    """The lines of the same as it stands there; joined, they are `raw`."""

    @property
    def words_within(self) -> tuple["Piece", ...]:
        """The lines of words within it, at any depth."""
        inner = (one for piece in self.within if not piece.frame for one in (*piece.words_within, piece))
        return tuple(one for one in inner if not one.within)


def pieces(text: str, headings: Collection[str] = (), *, depth: int = 0) -> list[Piece]:
    """Return the lines of a text; joined, they are the text. Memories are also shown under the given headings.

    `depth` is how many documents or tags the text stands in. Cost: proportional to the length.
    """
    known, heading = _known_headings(frozenset(headings))
    cuts = {0, len(text)} | {cut.start() for cut in re.finditer(_CUTS, text)}
    cuts |= {note.end() for note in _AFTER_NOTE.finditer(text)}
    cuts |= {end for found in heading.finditer(text) for end in found.span()}
    apart, ends = dict[int, Piece](), dict[int, int]()
    for start, end, names, strings in _programmed(text, depth):
        raw, ends[start] = text[start:end], end
        shown = Piece(raw, "", marked=True, named=None, frame=None, shown=names)
        apart[start] = shown if names else _programs(raw, strings, headings, depth)
    kept, until = list[int](), 0
    for cut in sorted({*cuts, *ends.keys(), *ends.values()}):
        if cut >= until:
            kept.append(cut)
            until = ends.get(cut, cut)
    return [apart[start] if start in apart else piece_of(text[start:end], known) for start, end in pairwise(kept)]


@lru_cache(maxsize=32)
def _known_headings(headings: frozenset[str]) -> tuple[frozenset[str], re.Pattern[str]]:
    """Return the headings under which memories are shown, folded, and the pattern that finds them within a line."""
    known = frozenset(name.replace("_", " ").casefold() for name in (*headings, *_HEADINGS))
    return known, re.compile(rf"(?<!#)## (?:{'|'.join(sorted(map(re.escape, known)))})(?!\w)")


def _programs(raw: str, strings: list[str], headings: Collection[str], depth: int) -> Piece:
    """Return what a program wrote with its strings as lines."""
    edge = Piece("", "", marked=False, named=None, frame=_OPEN)
    inner = [piece for text in strings for piece in pieces(f"{text}\n", headings, depth=depth + 1)]
    lines = pieces(raw, headings, depth=_WITHIN_EACH_OTHER)
    return Piece(raw, "", marked=False, named=None, frame=None, within=(edge, *inner, edge), as_lines=tuple(lines))


def sentences(piece: Piece) -> list[Piece]:
    """Return the sentences of a line without marks, which joined are the line; itself if it has marks or only one.

    What stands between semicolons counts as one: in a list a line may tell many memories.
    """
    apart = [] if piece.marked or piece.frame else _LISTED_END.finditer(piece.raw)
    ends = [end.end() for end in apart if end.end() < len(piece.raw)]
    cuts = [0, *ends, len(piece.raw)]
    return [piece_of(piece.raw[start:end]) for start, end in pairwise(cuts)] if ends else [piece]


def piece_of(raw: str, headings: Collection[str] = ()) -> Piece:
    """Return a line with what its marks say; memories are shown under the given headings, in lower case."""
    before = _BEFORE.match(raw)
    body = raw[before.end() if before else 0 :].rstrip()
    after = _AFTER.search(body) if body.endswith((")", "*", "`")) else _SCORED.search(body)
    line = body[: after.start()] if after else body
    marked = bool((before and before[1]) or after)
    named = _ID.search(raw)
    line = _WITHIN.sub("", line).strip().lstrip("\u2026").strip()
    whole = _CUT.sub("", line)
    day = re.search(_DATE, raw) if marked else None
    return Piece(
        raw,
        whole.strip(),
        marked,
        named and (named[1] or named[2]),
        _frame(raw, headings),
        day=_day(day[0]) if day else None,
        cut=whole != line,
    )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _frame(raw: str, headings: Collection[str]) -> str | None:
    line = raw.strip()
    if not line:
        return "blank"
    if tag := _TAG_ALONE.fullmatch(line):
        name = _TAG_NAME.search(tag[1])
        return f"<{name[0] if name else ''}"
    if (heading := HEADING.fullmatch(line)) and heading[1].casefold() in headings:
        return "heading"
    printed = _RULE.fullmatch(line) or _MORE.fullmatch(line) or _HELD.fullmatch(line) or _PRINTED.fullmatch(line)
    return "rule" if printed or _FIELD.fullmatch(raw) or _ENTRY.fullmatch(raw) else None


def _programmed(text: str, depth: int) -> Iterator[tuple[int, int, tuple[str, ...], list[str]]]:
    """Yield where JSON documents and tags begin and end, the memories that they name, and their strings of many words.

    Those with neither are left out, and within `_WITHIN_EACH_OTHER` others those that name no memory.
    """
    end = 0
    for start, stop, document in _documents(text):
        for tag in _ATTRIBUTES.finditer(text, end, start) if depth < _WITHIN_EACH_OTHER else ():
            if strings := _telling(unescape(one[1] or one[2] or "") for one in _VALUES.finditer(tag[0])):
                yield tag.start(), tag.end(), (), strings
        names = tuple(dict.fromkeys(_named(document)))
        strings = _telling(_strings(document)) if depth < _WITHIN_EACH_OTHER else []
        if names or strings:
            yield start, stop, names, strings
        end = stop


def _documents(text: str) -> Iterator[tuple[int, int, object]]:
    """Yield where JSON documents begin and end, and what they hold; at last the end of the text, with nothing."""
    decoder, at = json.JSONDecoder(), 0
    brackets = 0
    while brackets < _DOCUMENTS and (begun := _DOCUMENT.search(text, at)):
        at = begun.end()
        brackets += begun[0] != '"'  # a string is read up to its end, or that of its line, at most
        try:
            document, end = decoder.raw_decode(text, begun.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(document, str) and "\n" not in document and not document.startswith(("{", "[")):
            continue  # words in quotation marks
        yield begun.start(), end, document
        at = end
    yield len(text), len(text), None


def _telling(strings: Iterator[str]) -> list[str]:
    """Return the strings that are more than a word: names of fields and of roles tell nothing."""
    return [text for text in strings if len(text.split(maxsplit=1)) > 1]


def _strings(document: object) -> Iterator[str]:
    """Yield the strings of a JSON document in order, without the keys of objects; half a character as U+FFFD."""
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        elif isinstance(one, dict | list):
            waiting += [*(one.values() if isinstance(one, dict) else one)][::-1]


def _named(document: object) -> Iterator[str]:
    """Yield the ids of the memories in a JSON document."""
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if isinstance(name := one.get("memory_id"), str):
                yield name
            waiting += [*one.values()][::-1]
        elif isinstance(one, list):
            waiting += one[::-1]
