"""What a run changes of a folder of Markdown: only the lines that it replaces or lets go."""

from memory_pipeline.interop.dreaming import Place, Summary, changes, diff

LIST = """---
name: tea
---

# Tea

- Tea at five.
- Tea at five o'clock.
  With milk.

Some prose.

- Coffee at six.
"""


def places(file, *spans, whole=False):
    return [Place(name, file, first, after, whole) for name, first, after in spans]


TEA = places("tea.md", ("a", 6, 7), ("b", 7, 9), ("p", 10, 11), ("c", 12, 13))


def test_a_summary_stands_where_the_first_of_its_members_stood():
    made = changes(
        {"tea.md": LIST}, TEA, leaving={"a", "b"}, summaries=[Summary("s", "Tea at five.\n\nMilk.", ["b", "a"])]
    )
    item = '- Tea at five.\n\n  Milk.\n  <!-- {"memory_id": "s"} -->\n'
    assert made == {"tea.md": LIST.replace("- Tea at five.\n- Tea at five o'clock.\n  With milk.\n", item)}


def test_what_leaves_takes_its_lines_along_and_nothing_else():
    assert changes({"tea.md": LIST}, TEA, leaving={"p"}, summaries=[]) == {
        "tea.md": LIST.replace("Some prose.\n\n", "")
    }
    assert changes({"tea.md": LIST}, TEA, leaving={"x"}, summaries=[Summary("s", "x", ["y"])]) == {}


def test_a_summary_of_members_that_stay_stands_below_the_first():
    made = changes({"tea.md": LIST}, TEA, leaving=(), summaries=[Summary("s", "Tea.", ["a", "b"])])
    assert made["tea.md"] == LIST.replace("- Tea at five.\n", '- Tea at five.\n- Tea.\n  <!-- {"memory_id": "s"} -->\n')


def test_a_file_without_a_memory_goes_with_the_lines_that_lead_to_it():
    texts = {
        "tea.md": LIST,
        "MEMORY.md": "# All\n\n- [Tea](tea.md) - hours\n- [[tea]]\n- [Rain](rain.md)\n",
        "rain.md": "R\n",
    }
    made = changes(texts, TEA, leaving={"a", "b", "c", "p"}, summaries=[])
    assert made == {"MEMORY.md": "# All\n\n- [Rain](rain.md)\n", "tea.md": None}


def test_files_that_are_one_memory_each_become_one_file():
    texts = {"n/a.md": "---\nname: a\n---\nTea.\n", "n/b.md": "Tea!\n", "MEMORY.md": "- [a](n/a.md)\n- [b](n/b.md)\n"}
    both = places("n/a.md", ("a", 0, 5), whole=True) + places("n/b.md", ("b", 0, 2), whole=True)
    made = changes(texts, both, leaving={"a", "b"}, summaries=[Summary("s", "Tea.", ["a", "b"])])
    assert made == {
        "MEMORY.md": "- [tea-043a7187](n/tea-043a7187.md)\n",
        "n/a.md": None,
        "n/b.md": None,
        "n/tea-043a7187.md": '---\nmemory_id: "s"\nname: "tea-043a7187"\ndescription: "Tea."\n---\n\nTea.\n',
    }
    assert "\n".join(diff(texts, made)).startswith(
        "--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1,3 +1,2 @@\n-- [a](n/a.md)\n"
    )
    assert "--- a/n/a.md\n+++ /dev/null" in "\n".join(diff(texts, made))
