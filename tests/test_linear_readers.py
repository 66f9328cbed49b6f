"""Reading a note takes time in proportion to its length, whatever it holds."""

import base64
import random
import time

import pytest

from memory_pipeline.interop import markdown_text
from memory_pipeline.text import credentials, shown_lines

NOISE = base64.b64encode(random.Random(5).randbytes(750_000)).decode()
TEXTS = {
    "brackets": lambda size: "[" * size,
    "embeds": lambda size: "![[" * (size // 3),
    "wiki links": lambda size: "[[a|" * (size // 4),
    "open comments": lambda size: "- a <!-- " * (size // 9),
    "one open comment": lambda size: "<!--" + "x " * (size // 2),
    "picture": lambda size: f"![p](data:image/png;base64,{NOISE[:size]})",
    "one long word": lambda size: NOISE[:size],
    "spaces in a heading": lambda size: f"# a{' ' * size}b",
    "hashes in a heading": lambda size: "# " + "a #" * (size // 3),
    "front matter": lambda size: f"---\nk: a{' ' * size}b\n---\nx",
    "front matter that is no YAML": lambda size: f"---\nk: [\nk: a{' ' * min(size // 32, 60_000)}b\n---\nx",
    "memories of an export": lambda size: '- a\n  <!-- {"memory_id": "b"} -->\n' * (size // 40),
    "paragraphs of an export": lambda size: 'a\n<!-- {"memory_id": "b"} -->\n' * (size // 34),
    "backticks": lambda size: "` " * (size // 2) + "`",
    "stars": lambda size: "**a " * (size // 4),
    "addresses": lambda size: "a://" * (size // 4),
    "paragraphs": lambda size: "a.\n\n" * (size // 4),
    "rules": lambda size: "ab.\n===\n" * (size // 8),
    "underlined headings": lambda size: "ab\n--\nc\n" * (size // 8),
    "blank lines": lambda size: ("- a" + "\n" * 50) * (size // 53),
    "introduced lists": lambda size: "a:\n\n- b\n\n" * (size // 9),
    "outlines": lambda size: "- # a\n  - b\n" * (size // 12),
    "tags of HTML": lambda size: "<a></a>" * (size // 7) + "x",
    "front matter in TOML": lambda size: "+++\n" + "a = 1\n" * (size // 6),
    "spaces in a line": lambda size: f"- [2026-01-01] a{' ' * size}b",
    "keys": lambda size: "-----BEGIN PRIVATE KEY-----" * (size // 27),
    "tokens": lambda size: "eyJaaaaaaaa." * (size // 12),
}


def read(text):
    markdown_text.read(text)
    credentials.redacted(text)
    shown_lines.pieces(text)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_long_text_of_any_kind_is_read(kind):
    read(TEXTS[kind](20_000))


def seconds(text):
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


@pytest.mark.drill
@pytest.mark.parametrize("kind", TEXTS)
def test_four_times_the_length_takes_at_most_six_times_the_time(kind):
    short, long = (min(seconds(TEXTS[kind](size)) for _ in range(2)) for size in (250_000, 1_000_000))
    assert long <= max(6 * short, 0.5), (kind, short, long)
