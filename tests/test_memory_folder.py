"""Texts are cut into parts that join to the text again."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline.integrations.memory_folder import parts_of, words_of

LINES = st.sampled_from(
    ["# Head", "## ", "- item", "* [x] done", "  more", "", " ", "words here", "1. one", "---", "\t"]
)


@given(
    st.one_of(st.text(), st.lists(LINES).map("\n".join), st.lists(LINES).map(lambda lines: "\r\n".join(lines) + "\n"))
)
@example("")
def test_the_parts_of_a_text_are_the_text(text):
    parts = parts_of(text)
    assert "".join(parts) == text
    assert all(parts) or parts == [""]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Ana\n\n- likes tea\n- lives in Porto\n  since May\n", ["likes tea", "lives in Porto\n  since May"]),
        ("One line.\nSame paragraph.\n\nNext.\n\n# End\n", ["One line.\nSame paragraph.", "Next."]),
        ("1. first\n2) [ ] second\n", ["first", "second"]),
        ("# Only a heading\n", ["Only a heading"]),
    ],
)
def test_each_list_item_and_paragraph_is_a_part(text, words):
    assert [words_of(part) for part in parts_of(text)] == words
