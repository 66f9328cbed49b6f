"""Memories in Markdown: what is written is read back character for character, in YAML too, and edits are understood."""

import json
from datetime import UTC, datetime

import yaml
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.interop import markdown_notes

LINES = st.sampled_from(
    [
        "---", "- item", "# Heading", "  <!-- x -->", '<!-- {"memory_id": "m9"} -->', '  <!-- {"memory_id": "m9"} -->',
        '\\<!-- {"memory_id": "m9"} -->', "memory_id: m9", "```", "> quote", "\t", "  ", "", "[[link]]", "a\r", "| a |",
    ]
)  # fmt: skip
CHARACTERS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CONTENTS = st.lists(LINES | CHARACTERS, min_size=1, max_size=6).map("\n".join).filter(str.strip)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | CHARACTERS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CHARACTERS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.fixed_dictionaries(
    {"memory_id": CHARACTERS, "importance": st.floats(0, 1), "tags": st.lists(CHARACTERS, max_size=3)},
    optional={"metadata": st.dictionaries(CHARACTERS, VALUES, max_size=3)},
).map(lambda fields: {"memory_id": fields.pop("memory_id"), **fields})


@examples(50)
@given(FIELDS, CONTENTS)
def test_a_note_is_read_as_it_was_written_by_us_and_by_yaml(fields, content):
    text = markdown_notes.note(fields, content)
    (note,) = markdown_notes.read(text)
    assert (note.fields, note.content, note.start, note.end) == (fields, content, 0, len(text))
    header, _ = text.removeprefix("---\n").split("\n---\n", 1)
    assert yaml.safe_load(header) == fields


@examples(50)
@given(st.lists(st.tuples(FIELDS, CONTENTS), max_size=4))
def test_the_items_of_a_topic_are_read_as_they_were_written(memories):
    items = [markdown_notes.item(fields, content) for fields, content in memories]
    text = markdown_notes.front_matter({"name": "a"}) + "\n# A\n\n" + "".join(items)
    notes = markdown_notes.read(text)
    assert [(note.fields, note.content) for note in notes] == memories
    assert [text[note.start : note.end] for note in notes] == items


def test_an_instant_is_written_with_microseconds():
    header = markdown_notes.front_matter({"occurred_at": datetime(2026, 1, 2, tzinfo=UTC)})
    assert header == '---\noccurred_at: "2026-01-02T00:00:00.000000Z"\n---\n'


def test_front_matter_that_somebody_edited_is_read_as_yaml():
    text = "---\nmemory_id: m1\ntags: [a, b]\nimportance: .5\n---\n\nText.\n"
    assert markdown_notes.read(text)[0].fields == {"memory_id": "m1", "tags": ["a", "b"], "importance": 0.5}


def test_what_has_no_sound_id_is_no_memory():
    broken = ["---\nmemory_id: [\n---\n\nText.\n", "---\n- a\n---\n\nx\n", "Text.\n", "", "---\n", "---\n---\n"]
    broken += ['- text\n  <!-- {"memory_id": 1} -->\n', '- text\n  <!-- {"memory_id": } -->\n', "- plain\n", "- \n"]
    assert [markdown_notes.read(text) for text in broken] == [[]] * len(broken)


def test_items_that_others_add_do_not_disturb_their_neighbours():
    ours = markdown_notes.item({"memory_id": "m1"}, "One.\n\nTwo.")
    text = f"- theirs\n{ours}- more of theirs\n  and more\nA paragraph.\n{ours}"
    assert [note.content for note in markdown_notes.read(text)] == ["One.\n\nTwo."] * 2
    edited = ours.replace("Two.", "Two, edited.").replace("One.", "One:\n  - a")
    assert markdown_notes.read(edited)[0].content == "One:\n- a\n\nTwo, edited."
    assert json.loads('{"memory_id": "m1"}') == markdown_notes.read(edited)[0].fields
