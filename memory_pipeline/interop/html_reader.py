"""Reads HTML in one pass, whatever it holds.

The parser of Python's library looks for the end of what is never closed from each of its beginnings, so that a hostile
page of a megabyte takes hours. Not here: what the elements of a page mean (`gemini`).
"""

import re
from html import unescape
from typing import Final

_TAG: Final = re.compile(r"""<(/?)([A-Za-z][^\s/<>]*+)((?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+)>""")
"""A whole tag; no attribute holds `<`, which a page writes as `&lt;`."""
_ATTRIBUTE: Final = re.compile(r"""([^\s"'=<>/]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>]++))?""")


class HtmlReader:
    """Calls its methods for each tag and text of a page, in order.

    Names are in lower case, and texts and values without character references. What is not closed is text.
    """

    _tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag that begins an element, and its attributes."""

    def handle_endtag(self, tag: str) -> None:
        """Take a tag that ends an element; of one that ends at once, too."""

    def handle_data(self, data: str) -> None:
        """Take a text, or a part of one."""

    def get_starttag_text(self) -> str:
        """Return the tag that was begun last as it is written."""
        return self._tag

    def feed(self, html: str) -> None:
        """Read a page. Cost: linear in its length."""
        begun, missing = 0, set[str]()
        while (at := html.find("<", begun)) >= 0:
            if at > begun:
                self.handle_data(unescape(html[begun:at]))
            if html.startswith(("<!", "<?"), at):
                end = _end(html, at, "-->" if html.startswith("<!--", at) else ">", missing)
            elif tag := _TAG.match(html, at):
                self._take(tag)
                end = tag.end()
            else:
                end = at
            if end == at:
                self.handle_data("<")
            begun = max(end, at + 1)
        if begun < len(html):
            self.handle_data(unescape(html[begun:]))

    def _take(self, tag: re.Match[str]) -> None:
        ends, name, rest = tag[1], tag[2].lower(), tag[3]
        if ends:
            self.handle_endtag(name)
            return
        self._tag = tag.group()
        given = [(found[1].lower(), _value(found[2])) for found in _ATTRIBUTE.finditer(rest)]
        self.handle_starttag(name, given)
        if rest.endswith("/"):
            self.handle_endtag(name)


def _value(written: str | None) -> str | None:
    """Return the value of an attribute, without quotation marks; None if it has none."""
    return written if written is None else unescape(written[1:-1] if written[0] in "\"'" else written)


def _end(html: str, at: int, mark: str, missing: set[str]) -> int:
    """Return where what begins at a place ends, behind a mark; the place itself if there is none after it."""
    found = -1 if mark in missing else html.find(mark, at)
    if found < 0:
        missing.add(mark)
        return at
    return found + len(mark)
