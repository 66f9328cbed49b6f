"""Imports Gemini's part of Google Takeout: what the person asked, and on request what Gemini answered.

It is a list of activities without conversations: those of a conversation share its address where they have one, else
those of a day are a session. Takeout writes the list as HTML unless JSON is chosen: each activity is then a card with
the product, what was done, the time in words, and what came of it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from html import escape
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop.chats import ATTACHED, OF_THE_ASSISTANT
from memory_pipeline.interop.files import Member
from memory_pipeline.interop.html_reader import HtmlReader
from memory_pipeline.interop.items import Item, Skipped, skipped, stable_id
from memory_pipeline.interop.records import Source
from memory_pipeline.interop.sampling import Sample
from memory_pipeline.interop.values import instant, listed, mapping, text

OTHERS: Final = "activities that are no prompts in English"

_OURS: Final = ("Gemini", "Bard")
_PAGE: Final = re.compile(r"/My ?Activity\.html$")
_ASKED: Final = re.compile(r"(?:Prompted|Asked|Branched|Answered):? (.+)", re.DOTALL)
_CONVERSATION: Final = re.compile(r"https://(?:gemini|bard)\.google\.com/(?:u/\d+/)?app/(\w+)", re.ASCII)
_BREAKS: Final = frozenset(
    {"p", "div", "br", "li", "tr", "pre", "ul", "ol", "table", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_UNSEEN: Final = frozenset({"script", "style"})
_TIME: Final = re.compile(
    r"(?:(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2,8})|(?P<name>[A-Z][a-z]{2,8}) (?P<number>\d{1,2})),? "
    r"(?P<year>\d{4}),? (?P<hour>\d{1,2}):(?P<rest>\d\d:\d\d) ?(?P<half>[AP]M)? ?(?P<zone>\S+)?",
    re.ASCII,
)
"""A time in English: "18 Sept 2025, 12:02:52 CET", "May 19, 2026, 7:07:02 PM UTC"."""
_OFFSET: Final = re.compile(r"(?:GMT|UTC)([+-])(\d{1,2}):?(\d\d)?", re.ASCII)
_ZONES: Final = {"WEST": "+0100", "BST": "+0100", "CET": "+0100", "CEST": "+0200", "EET": "+0200", "EEST": "+0300"}
"""Offsets of zones beside those that mail knows."""
_ATTACHED: Final = re.compile(r"Attached \d+ files?\.")


def detect(seen: Sample) -> bool:
    """Return whether a path has such a list; as HTML, by its name and that of its folder."""
    pages = (name for name in seen.names if _PAGE.search(f"/{name}"))
    if any(page == seen.path.name or any(f"{name} " in str(seen.path / page) for name in _OURS) for page in pages):
        return True
    return any(
        one.is_list and one.has("header", "title", "time") and any(f'"{name} Apps' in one.text for name in _OURS)
        for one in seen.heads
    )


def events(source: Source, path: Path, *, assistant: bool = False) -> Iterator[Item]:
    """Yield what the person asked, newest first as the list has it, in Takeout or by itself, as JSON or HTML."""
    return source.of_files(path, lambda member: _file(source, member, assistant=assistant))


def _file(source: Source, member: Member, *, assistant: bool) -> Iterator[Item]:
    name = member.base.lower()
    found: Iterable[tuple[str, Any]] = ()
    if name.endswith(".json"):
        found = member.elements("item")
    elif name.endswith(".html"):
        found = ((f"{member.name}[{place}]", card) for place, card in enumerate(activities(member.text())))
    for origin, read in found:
        if isinstance(read, Mapping) and _is_ours(read):
            yield from _activity(source, read, origin, assistant=assistant)
        else:
            yield Skipped("activities of other products")


def _is_ours(read: Mapping[str, Any]) -> bool:
    products = [read.get("header"), *listed(read.get("products"))]
    return any(isinstance(name, str) and name.startswith(_OURS) for name in products)


def _activity(source: Source, read: Mapping[str, Any], origin: str, *, assistant: bool) -> Iterator[Item]:
    title, time = read.get("title"), read.get("time")
    asked = _ASKED.fullmatch(title) if isinstance(title, str) else None
    if asked is None:
        yield Skipped(OTHERS)
        return
    at = instant(time)
    session = _conversation(read) or (f"{at:%Y-%m-%d}" if at else None)
    record = source.record(dict(read), origin, at=time, session_id=session)
    name = stable_id(source.file_format, str(time), str(title))
    yield from record.stored(name, text(read.get("text")) or asked[1], {"speaker": "user"})
    yield from skipped(ATTACHED, len(listed(read.get("attachedFiles"))) + len(listed(read.get("imageFile"))))
    answers = [mapping(part).get("html") for part in listed(read.get("safeHtmlItem"))]
    for number, answer in enumerate(filter(None, map(_plain, answers))):
        if assistant:
            yield from record.stored(stable_id(name, "answer", str(number)), answer, {"speaker": "assistant"})
        else:
            yield Skipped(OF_THE_ASSISTANT)


def _conversation(read: Mapping[str, Any]) -> str | None:
    addresses = [read.get("titleUrl"), *(mapping(detail).get("url") for detail in listed(read.get("details")))]
    found = (_CONVERSATION.match(address) for address in addresses if isinstance(address, str))
    return next((match[1] for match in found if match), None)


class _Text(HtmlReader):
    """Collects the words of HTML, a line for each of its blocks."""

    def __init__(self) -> None:
        self.parts = list[str]()
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - its own name
        self._unseen += tag in _UNSEEN
        self.parts += ["\n"] * (tag in _BREAKS)

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN and self._unseen > 0
        self.parts += ["\n"] * (tag in _BREAKS)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.parts.append(data)


def _plain(html: object) -> str | None:
    """Return the words of HTML; None if it has none."""
    if not isinstance(html, str):
        return None
    reader = _Text()
    reader.feed(html)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return text("\n".join(line for line in lines if line))


def in_words(line: str) -> str | None:
    """Return a time in words as ISO 8601 text; None if it is none. A zone that is not known counts as UTC."""
    found = _TIME.fullmatch(" ".join(line.split()))
    if found is None:
        return None
    hour = int(found["hour"]) % 12 + 12 * (found["half"] == "PM") if found["half"] else int(found["hour"])
    zone = found["zone"] or "UTC"
    if offset := _OFFSET.fullmatch(zone):
        zone = f"{offset[1]}{int(offset[2]):02}{offset[3] or '00'}"
    day, month = found["day"] or found["number"], (found["month"] or found["name"])[:3]
    parsed = parsedate_tz(f"{day} {month} {found['year']} {hour:02}:{found['rest']} {_ZONES.get(zone, zone)}")
    return None if parsed is None else datetime.fromtimestamp(mktime_tz(parsed), UTC).isoformat()


def activities(html: str) -> Iterator[dict[str, Any]]:
    """Yield the activities of a list, each with header, title, time, addresses, answer and attached files.

    They have the names of the list as JSON. Cost: a pass over the text.
    """
    cards = _Cards()
    cards.feed(html)
    for card in cards.found:
        lines = [line for line in (*card.lines, "".join(card.line)) if line]
        attached = next((place for place, line in enumerate(lines) if _ATTACHED.fullmatch(line)), len(lines))
        yield {
            "header": "".join(card.header).strip(),
            "title": "\n".join(lines[:attached]),
            "time": card.time,
            "details": [{"url": address} for address in card.addresses],
            "attachedFiles": lines[attached + 1 :],
            "safeHtmlItem": [{"html": "".join(card.answer)}],
        }


class _Card:
    def __init__(self) -> None:
        self.header = list[str]()
        self.lines = list[str]()
        self.line = list[str]()
        """What was read of the line that is not over."""
        self.time: str | None = None
        self.answer = list[str]()
        self.addresses = list[str]()


class _Cards(HtmlReader):
    def __init__(self) -> None:
        self.found = list[_Card]()
        self._cell: str | None = None
        self._depth = 0
        """How many elements `div` are open within the cell, itself included."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        if tag == "div" and "outer-cell" in classes:
            self.found.append(_Card())
            self._cell, self._depth = None, 0
        elif not self.found:
            return
        elif tag == "div" and not self._depth:
            self._enter(classes)
        else:
            self._inside(self.found[-1], tag, given)

    def _enter(self, classes: list[str]) -> None:
        if "header-cell" in classes:
            self._cell, self._depth = "header", 1
        elif "content-cell" in classes:
            body = "mdl-typography--body-1" in classes and "mdl-typography--text-right" not in classes
            self._cell, self._depth = "body" if body else "other", 1

    def _inside(self, card: _Card, tag: str, given: dict[str, str]) -> None:
        self._depth += tag == "div" and self._depth > 0
        if "href" in given:
            card.addresses.append(given["href"])
        if self._cell != "body":
            return
        if card.time is not None:
            card.answer.append(self.get_starttag_text())
        elif tag == "br":
            line = " ".join("".join(card.line).split())
            card.line.clear()
            card.time = in_words(line)
            if card.time is None:
                card.lines.append(line)

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "div" and self._depth > 0
        if not self._depth:
            self._cell = None
        elif self._cell == "body" and self.found[-1].time is not None:
            self.found[-1].answer.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._cell == "header":
            self.found[-1].header.append(data)
        elif self._cell == "body":
            card = self.found[-1]
            if card.time is None:
                card.line.append(data)
            else:
                card.answer.append(escape(data, quote=False))
