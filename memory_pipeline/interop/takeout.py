"""Reads the list of activities that Google Takeout writes as HTML, as the one that it writes as JSON.

Each activity is a card: the product, what was done, the time in words, and what came of it. Not here: what an activity
means (`gemini`).
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from html import escape
from typing import Any, Final

from memory_pipeline.interop.html_reader import HtmlReader

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


def instant(line: str) -> str | None:
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
    """What was read of an activity."""

    def __init__(self) -> None:
        self.header = list[str]()
        self.lines = list[str]()
        self.line = list[str]()
        """What was read of the line that is not over."""
        self.time: str | None = None
        self.answer = list[str]()
        self.addresses = list[str]()


class _Cards(HtmlReader):
    """Collects the cards."""

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
            card.time = instant(line)
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
