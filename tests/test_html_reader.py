"""Pages are read in one pass, and as a browser reads what is well formed."""

import time

import pytest

from memory_pipeline.interop import gemini
from memory_pipeline.interop.gemini import _plain
from memory_pipeline.interop.html_reader import HtmlReader

HOSTILE = ("<!--", "<![CDATA[", "<!D ", "<?x ", "&", "&#x", "</a ", "<a ", '<a x="', "<a x='", "<script>", "<", "a<b>")
CARD = '<div class="outer-cell"><div class="header-cell">Gemini</div><div class="content-cell mdl-typography--body-1">'


class Heard(HtmlReader):
    """Keeps what it is told."""

    def __init__(self):
        self.parts = []

    def handle_starttag(self, tag, attrs):
        self.parts.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        self.parts.append(f"/{tag}")

    def handle_data(self, data):
        self.parts.append(data)


@pytest.mark.parametrize(
    ("html", "parts"),
    [
        ('<P Class="a b">x &amp; y</p>', [("p", {"class": "a b"}), "x & y", "/p"]),
        ("<a href='it&#39;s?a=1&amp;b' hidden>", [("a", {"href": "it's?a=1&b", "hidden": None})]),
        ("<a title=\"1 > 0 'so'\" id=x>", [("a", {"title": "1 > 0 'so'", "id": "x"})]),
        ("a<br/>b", ["a", ("br", {}), "/br", "b"]),
        ("a<!-- <b> -->c<!DOCTYPE html>d<?x?>", ["a", "c", "d"]),
        ("1 < 2 <!-- open", ["1 ", "<", " 2 ", "<", "!-- open"]),
        ('<a x="', ["<", 'a x="']),
    ],
)
def test_tags_and_texts_of_a_page(html, parts):
    heard = Heard()
    heard.feed(html)
    assert heard.parts == parts


def read(unit, size):
    text = unit * (size // len(unit))
    _plain(text)
    list(gemini.activities(CARD + text))


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_page_of_any_kind_is_read(unit):
    read(unit, 40_000)


@pytest.mark.drill
@pytest.mark.parametrize("unit", HOSTILE)
def test_four_times_the_length_takes_at_most_six_times_the_time(unit):
    spent = []
    for size in (250_000, 1_000_000):
        begun = time.process_time()
        read(unit, size)
        spent.append(time.process_time() - begun)
    assert spent[1] <= 6 * max(spent[0], 0.1)
