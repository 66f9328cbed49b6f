"""Texts are cut into parts that join to the text again, and files survive an export and import as notes."""

import commands
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.memory_folder import MemoryFolder, parts_of, words_of

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


def test_files_survive_the_way_out_and_in_as_notes(tmp_path):
    texts = {
        "/memories/project.md": "# Project\n\n- The launch is on 12 June.\n- Ana prefers tea.\n\nThe budget is 300.\n",
        "/memories/sub/todo.txt": "Notes\n\n1. First thing to do\n2. Second thing\n",
    }
    with MemoryClient(tmp_path / "old", profile_id="ana") as client:
        for path, text in texts.items():
            MemoryFolder(client).write(path, text)
    commands.text("export", "markdown", tmp_path / "notes", home=tmp_path / "old")
    commands.text("import", "markdown", tmp_path / "notes", "--profile", "ana", home=tmp_path / "new")
    with MemoryClient(tmp_path / "new", profile_id="ana") as client:
        assert MemoryFolder(client).files() == texts
    edited = next((tmp_path / "notes").rglob("ana-prefers-tea*.md"))
    edited.write_text(edited.read_text("utf-8").replace("Ana prefers tea", "Ana prefers coffee"), "utf-8")
    commands.text("import", "markdown", tmp_path / "notes", "--profile", "ana", home=tmp_path / "old")
    with MemoryClient(tmp_path / "old", profile_id="ana") as client:
        assert "- Ana prefers coffee.\n" in MemoryFolder(client).files()["/memories/project.md"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "- fine\n- " + "long " * 30_000,
            r"^the part '- long .*' of /notes/a\.md: it has [\d,]+ characters, more than max_text",
        ),
        ("# Head\n\n" + "word" * 40_000, r"^the part .* of /notes/a\.md: it has [\d,]+ characters"),
        ("- item\n" * 10_001, r"^this changes more than 10000 list items and paragraphs; make several files of it$"),
        ("half \ud800", r"^the text of /notes/a\.md has half of a surrogate pair; write whole characters$"),
    ],
)
def test_what_a_file_cannot_hold_is_said_in_words_of_the_file(tmp_path, text, said):
    with MemoryClient(tmp_path) as memory:
        folder = MemoryFolder(memory)
        folder.write("/notes/b.md", "- kept\n")
        with pytest.raises(ValueError, match=said) as error:
            folder.write("/notes/a.md", text)
        assert "rows[" not in str(error.value)
        assert "payload" not in str(error.value)
        assert folder.files() == {"/notes/b.md": "- kept\n"}
