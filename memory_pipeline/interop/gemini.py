"""Imports Gemini's part of Google Takeout: what the person asked, and on request what Gemini answered.

It is a list of activities without conversations: those of a conversation share its address where they have one, else
those of a day are a session. Takeout writes the list as HTML unless JSON is chosen. Not here: how the HTML is read
(`takeout`).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from memory_pipeline.interop import takeout
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
    if not name.endswith((".json", ".html")):
        return
    for place, read in enumerate(
        takeout.activities(member.text()) if name.endswith(".html") else member.elements("item")
    ):
        if isinstance(read, Mapping) and _is_ours(read):
            yield from _activity(source, read, f"{member.name}[{place}]", assistant=assistant)
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
