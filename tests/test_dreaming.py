"""What a run changes of a folder of Markdown: only the lines that it replaces or lets go."""

import gzip
import threading
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import commands
import json_page
import pytest

from memory_pipeline import MemoryClient
from memory_pipeline.interop import markdown, markdown_text
from memory_pipeline.interop.dreaming import Place, Summary, changes, diff
from memory_pipeline.interop.exports import folder as exported
from memory_pipeline.interop.exports.dream_record import NAME, DreamRecord
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.exports import noted

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


SHAPED = "# Tea{end}{end}{first}{end}{end}Something else.{end}"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("first", "made"),
    [
        ("Tea at five.", "Tea at five o'clock.{end}{id}"),
        ("1. Tea at five.", "1. Tea at five o'clock.{end}   {id}"),
        ("12)  Tea at five.", "12) Tea at five o'clock.{end}    {id}"),
        ("* Tea at five.", "* Tea at five o'clock.{end}  {id}"),
        (" + Tea at five.", " + Tea at five o'clock.{end}   {id}"),
    ],
)
def test_a_summary_has_the_shape_and_the_line_ends_of_what_it_replaces(first, made, end):
    before = {"tea.md": SHAPED.format(first=first, end=end)}
    here = places("tea.md", ("a", 2, 3))
    after = changes(before, here, leaving={"a"}, summaries=[Summary("s", "Tea at five o'clock.", ["a", "x"])])["tea.md"]
    new = made.format(end=end, id='<!-- {"memory_id": "s"} -->')
    assert after == SHAPED.format(first=new, end=end)
    (own, *rest) = markdown_text.read(after).units
    assert (own.memory_id, own.text, [unit.text for unit in rest]) == ("s", "Tea at five o'clock.", ["Something else."])


def test_a_summary_of_several_paragraphs_is_an_item():
    made = changes(
        {"tea.md": "Tea at five.\n"},
        places("tea.md", ("a", 0, 1)),
        leaving={"a"},
        summaries=[Summary("s", "Tea.\n\nMilk.", "a")],
    )
    assert made == {"tea.md": '- Tea.\n\n  Milk.\n  <!-- {"memory_id": "s"} -->\n'}


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_a_file_keeps_the_line_ends_and_the_mark_of_its_system(end):
    text = "\ufeff---\r\nname: tea\r\n---\r\nTea at five.\r\n".replace("\r\n", end)
    made = changes(
        {"t.md": text},
        places("t.md", ("a", 3, 4), whole=True),
        leaving={"a"},
        summaries=[Summary("s", "Tea at six.", ["a", "b"])],
    )
    after = '\ufeff---\r\nmemory_id: "s"\r\nname: tea\r\n---\r\n\r\nTea at six.\r\n'
    assert made == {"t.md": after.replace("\r\n", end)}


def test_a_file_whose_lines_end_in_several_ways_keeps_all_that_stay_and_no_line_end_at_its_end(tmp_path):
    text = "# Tea\r\r- Mugs are blue.\r\n- Cups are white.\n\r- Tea at five.\r- Tea at five."
    (tmp_path / "tea.md").write_bytes(text.encode())
    with Lake(tmp_path / "data") as lake:
        here = markdown.places(tmp_path, profile="p", ledger=lake.ledger)
    assert "".join(markdown_text.lines(text)) == text
    cups, fives = here[1], [place.memory_id for place in here[2:]]
    made = changes(
        {"tea.md": text}, here, leaving={cups.memory_id, *fives}, summaries=[Summary("s", "Tea at five.", fives)]
    )
    assert made == {"tea.md": '# Tea\r\r- Mugs are blue.\r\n\r- Tea at five.\r  <!-- {"memory_id": "s"} -->\r'}


def test_the_steps_of_a_numbered_list_stay_when_one_is_done_twice():
    texts = {"deploy.md": "1. Run the tests.\n2. Apply the schema.\n3. Run the tests.\n\n- Run the tests.\n"}
    steps = places("deploy.md", ("a", 0, 1), ("b", 1, 2), ("c", 2, 3), ("d", 4, 5))
    twice = [Summary("s", "Run the tests.", ["a", "c"])]
    assert changes(texts, steps, leaving={"a", "c"}, summaries=twice) == {}
    assert changes(texts, steps, leaving={"b"}, summaries=[]) == {
        "deploy.md": texts["deploy.md"].replace("2. Apply the schema.\n", "")
    }


@pytest.mark.parametrize(
    "block", ["- Tea at five.\n  id:: 5f1d2a52\n", "Tea at five. ^tea-1\n", "Tea at five.\n^tea-1\r\n"]
)
def test_a_block_that_other_notes_refer_to_stays(block):
    text = f"# Tea\n\n{block}\nSome prose.\n"
    lines = block.count("\n")
    here = places("tea.md", ("a", 2, 2 + lines), ("p", 3 + lines, 4 + lines))
    assert changes({"tea.md": text}, here, leaving={"a"}, summaries=[]) == {}
    assert changes({"tea.md": text}, here, leaving={"a", "p"}, summaries=[]) == {"tea.md": f"# Tea\n\n{block}"}


@pytest.mark.parametrize("before", ["Things to pack", "Pack these:", "**Packed**", "Long trips.\nWhat to pack"])
@pytest.mark.parametrize("item", ["- Two ropes.", "1. Two ropes.", "* [ ] Two ropes."])
def test_what_introduces_a_list_stays_above_its_items(before, item, tmp_path):
    text = f"# Boat\n\nFirst prose.\n\n{before}\n\n{item}\n\nMore prose.\n"
    (tmp_path / "boat.md").write_text(text, "utf-8")
    with Lake(tmp_path / "data") as lake:
        here = markdown.places(tmp_path, profile="p", ledger=lake.ledger)
    leaving = {place.memory_id for place in here} - {place.memory_id for place in here if place.text in item}
    assert changes({"boat.md": text}, here, leaving=leaving, summaries=[]) == {
        "boat.md": f"# Boat\n\n{before}\n\n{item}\n"
    }


def test_lines_of_a_packed_copy_are_in_no_file_of_the_folder(tmp_path):
    (tmp_path / "boat.md").write_text("# Boat\n\n- Two ropes.\n", "utf-8")
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr("boat.md", "- The sail is red.\n- Two ropes.\n")
    (tmp_path / "mast.md.gz").write_bytes(gzip.compress(b"- The mast is new.\n"))
    with Lake(tmp_path / "data") as lake:
        (here,) = markdown.places(tmp_path, profile="p", ledger=lake.ledger)
    assert (here.file, here.first, here.after) == ("boat.md", 2, 3)
    assert list(markdown.texts(tmp_path)) == ["boat.md"]


@pytest.mark.parametrize(
    ("file", "heading"),
    [
        ("journals/2020_10_03.md", "# Tea"),
        ("2026-03-01.md", "# Tea"),
        ("days/2026-03-01/tea.md", "# Tea"),
        ("Tea 2026-03-01 notes.md", "# Tea"),
        ("tea.md", "## 2026-03-01"),
        ("tea.md", "# Tuesday, 3 March 2026"),
    ],
)
def test_a_note_of_a_day_keeps_what_later_days_outdate(file, heading, tmp_path):
    texts = {file: LIST.replace("name: tea", "tags: tea").replace("# Tea", heading)}
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(texts[file], "utf-8")
    with Lake(tmp_path / "data") as lake:
        found = markdown.places(tmp_path, profile="p", ledger=lake.ledger)
    here = [replace(place, memory_id=name) for place, name in zip(found, "abpc", strict=True)]
    assert changes(texts, here, leaving={"p"}, summaries=[]) == {}
    assert changes(texts, here, leaving={"a", "b"}, summaries=[Summary("s", "Tea.", ["a", "b"])])[file] is not None


def test_what_leaves_takes_its_lines_along_and_nothing_else():
    assert changes({"tea.md": LIST}, TEA, leaving={"p"}, summaries=[]) == {
        "tea.md": LIST.replace("Some prose.\n\n", "")
    }
    assert changes({"tea.md": LIST}, TEA, leaving={"x"}, summaries=[Summary("s", "x", ["y"])]) == {}


def test_a_summary_stands_below_nothing_that_stays():
    made = changes({"tea.md": LIST}, TEA, leaving={"b"}, summaries=[Summary("s", "Tea.", ["a", "b"])])
    assert made["tea.md"] == LIST.replace(
        "- Tea at five o'clock.\n  With milk.\n", '- Tea.\n  <!-- {"memory_id": "s"} -->\n'
    )
    here = [*TEA, Place("s", "tea.md", 12, 13, whole=False)]
    assert (
        "memory_id"
        not in changes({"tea.md": LIST}, here, leaving={"b"}, summaries=[Summary("s", "x", ["b"])])["tea.md"]
    )


def test_a_file_without_a_memory_goes_with_the_lines_that_lead_to_it():
    texts = {
        "tea.md": LIST,
        "MEMORY.md": "# All\n\n- [Tea](tea.md) - hours\n- [[tea]]\n- [Rain](rain.md)\n- [Tea](tea.md) makes Bo ill.\n",
        "rain.md": "R\n",
    }
    made = changes(texts, TEA, leaving={"a", "b", "c", "p"}, summaries=[])
    assert made == {"MEMORY.md": "# All\n\n- [Rain](rain.md)\n- [Tea](tea.md) makes Bo ill.\n", "tea.md": None}


def test_files_that_are_one_memory_each_become_one_file():
    texts = {
        "n/a.md": "---\nname: a\nmemory_id: old\ntype: user\n---\n\nTea.\n",
        "n/b.md": "Tea!\n",
        "MEMORY.md": "- [a](n/a.md)\n- [b](n/b.md) - more\n",
    }
    both = places("n/a.md", ("a", 0, 7), whole=True) + places("n/b.md", ("b", 0, 2), whole=True)
    two = [Summary("s", "Tea, twice.", ["b", "a"]), Summary("t", "Rain.", ["a"])]
    made = changes(texts, both, leaving={"a", "b"}, summaries=two)
    assert made == {
        "MEMORY.md": "- [a](n/a.md)\n",
        "n/a.md": '---\nmemory_id: "s"\nname: a\ntype: user\n---\n\nTea, twice.\n',
        "n/b.md": None,
        "n/rain-e3b98a4d.md": '---\nmemory_id: "t"\nname: "rain-e3b98a4d"\ndescription: "Rain."\n---\n\nRain.\n',
    }
    shown = "\n".join(diff(texts, made))
    assert shown.startswith("--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1,2 +1 @@\n - [a](n/a.md)\n-- [b](n/b.md) - more\n")
    assert shown.count("/dev/null") == 2
    assert changes({"n/b.md": "Tea!\n"}, both[1:], leaving={"b"}, summaries=two[:1]) == {
        "n/b.md": '---\nmemory_id: "s"\n---\n\nTea, twice.\n'
    }


def test_files_of_any_system_keep_their_front_matter(tmp_path):
    written = {
        "a.MD": "\ufeff---\r\nname: a\r\n---\r\n\r\nTea.\r\n",
        "b.md": "\ufeff---\r\nname: b\r\n---\r\n\r\n- Tea!\r\n",
    }
    for name, text in written.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "latin.md").write_bytes(b"- caf\xe9\n")
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr("c.md", "- Tea?\n")
    assert markdown.texts(tmp_path) == written
    both = places("a.MD", ("a", 0, 5), whole=True) + places("b.md", ("b", 4, 5))
    made = changes(written, both, leaving={"a", "b"}, summaries=[Summary("s", "Tea, twice.", ["a", "b"])])
    assert made == {
        "a.MD": '\ufeff---\r\nmemory_id: "s"\r\nname: a\r\n---\r\n\r\nTea, twice.\r\n',
        "b.md": None,
    }


def test_a_folder_is_dreamt_written_and_taken_back(tmp_path, unpublished):
    notes, home = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    texts = {
        "MEMORY.md": "# Notes\n\n- [Editor](editor.md)\n- [Again](again.md)\n\nThe staging server is called heron.\n",
        "again.md": "---\nname: again\ndescription: yaml\n---\n\nAlways use two spaces for indentation in YAML!\n",
        "editor.md": "---\nname: editor\ndescription: yaml\n---\n\nAlways use two spaces for indentation in YAML.\n",
        "2026-03-01.md": "- Rent is 840 euros.\n",
        "2026-03-10.md": "- Rent was raised to 885 euros.\n",
    }
    for name, text in texts.items():
        (notes / name).write_text(text, "utf-8")
    shown = commands.as_json("dream", notes, home=home)
    assert (shown["profile_id"], shown["imported"]) == (f"{tmp_path.name}/notes", 5)
    assert {path.name: path.read_text("utf-8") for path in notes.iterdir()} == texts
    assert (shown["run_id"], shown["files"]) == (None, ["MEMORY.md", "again.md", "editor.md"])
    assert shown["reasons"] == ["One text stands for 2 memories."], "the day keeps its line"

    done = commands.as_json("dream", notes, "--apply", home=home)
    assert (done["diff"], done["imported"], done["known"]) == (shown["diff"], 0, 5)
    assert not (notes / "editor.md").exists()
    assert "Editor" not in (notes / "MEMORY.md").read_text("utf-8")
    assert "\nname: again\n" in (notes / "again.md").read_text("utf-8")
    assert commands.as_json("dream", notes, "--apply", home=home)["files"] == []
    with Lake(home) as lake, lake.ledger.reading() as transaction:
        assert [path for path, _ in noted(transaction, done["profile_id"])] == [str(notes)], "for receipts of erasures"

    before = (notes / "MEMORY.md").read_text("utf-8")
    (notes / "MEMORY.md").write_text(before + "\nMore.\n", "utf-8")
    assert "MEMORY.md changed meanwhile" in commands.refused("dream", notes, "--undo", home=home)
    undone = commands.as_json("dream", notes, "--undo", "--force", home=home)
    assert {path.name: path.read_text("utf-8") for path in notes.iterdir()} == texts
    json_page.agrees({"dream": [shown, done], "dream --undo": [undone]})
    assert "no dream was applied" in commands.refused("dream", notes, "--undo", home=home)
    assert set(unpublished) == {"the run is committed", "the run is undone"}, "each is published"


def test_of_two_dreams_of_a_folder_one_writes_and_the_other_is_told(tmp_path):
    before, refused = {"a.md": "Tea.\n"}, []
    (tmp_path / "a.md").write_text(before["a.md"], "utf-8")

    def dream(text, first):
        after = {"a.md": text}
        exported.change(tmp_path, before, after, "Dream", profile_id="p", first=first)

    def beside():
        try:
            dream("Coffee.\n", DreamRecord.of("p", "second", before, {"a.md": "Coffee.\n"}, position=1).write)
        except exported.ChangedByOthers as error:
            refused.append(str(error))

    other = threading.Thread(target=beside)

    def meanwhile(folder):
        DreamRecord.of("p", "first", before, {"a.md": "Water.\n"}, position=1).write(folder)
        other.start()
        other.join(0.1)  # it would be done by then, were it not made to wait

    dream("Water.\n", meanwhile)
    other.join()
    assert ["a.md changed meanwhile" in said for said in refused] == [True]
    assert (tmp_path / "a.md").read_text("utf-8") == "Water.\n"
    assert DreamRecord.read(tmp_path).run_id == "first"


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_summary_whose_line_is_gone_ends(tmp_path):
    notes, home = tmp_path / "notes", tmp_path / "data"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\n- The staging server is called heron.\n- The staging server is called heron!\n")
    assert commands.as_json("dream", notes, "--apply", "-p", "p", home=home)["files"] == ["a.md"]
    (notes / "a.md").write_text("# A\n\n- The release train leaves on Tuesday.\n")
    said = commands.as_json("import", "markdown", notes, home=home)[str(notes)]
    assert (said["profiles"], said["accepted"]) == (["p"], 2)
    held = {row["text"] for row in commands.as_json("list", "-p", "p", home=home)}
    with MemoryClient(home, profile_id="p") as client:
        ended = [
            hit.current
            for hit in client.recall("What is the staging server called?", record=False)
            if "heron" in hit.text
        ]
    assert (len(held), ended) == (2, [False])


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_dream_that_was_cut_off_is_taken_back_too(tmp_path, monkeypatch, left):
    """Its record stands before the first file changes, and a file that stands as before is no change of others."""
    before = {"a.md": '- Tea.\n  <!-- {"memory_id": "a"} -->\n', "b.md": "- Milk.\n"}
    after = {"a.md": "- Tea and milk.\n", "b.md": None}
    exported.write(tmp_path, before, profile_id="p")
    record = DreamRecord.of("p", "run", before, after, position=1)
    steps = iter(["go on"] * left)
    for name in ("replace_file", "_remove"):
        real = getattr(exported, name)

        def step(*args, real=real):
            if Path(args[-1] if isinstance(args[-1], str) else args[0]).suffix == ".md":
                next(steps)
            real(*args)

        monkeypatch.setattr(exported, name, step)
    with pytest.raises(StopIteration) if left < len(after) else nullcontext():
        exported.change(tmp_path, before, after, "Dream", profile_id="p", first=record.write)
    assert DreamRecord.read(tmp_path) == record
    assert record.changed_since(tmp_path) == []
    assert exported.read_list(tmp_path, "p").memories == (), "an import would end what the dream has removed"
    (tmp_path / "a.md").write_text("- Coffee.\n", "utf-8")
    assert record.changed_since(tmp_path) == ["a.md"]
    (tmp_path / NAME).write_text('{"profile_id": "p", "run_id": 1, "before": [], "after": []}', "utf-8")
    with pytest.raises(ValueError, match="is damaged; undo the run itself"):
        DreamRecord.read(tmp_path)


def dreamt(folder):
    """Write a folder of notes and apply a dream to it; returns the notes, the home, the text before and the run."""
    notes, home = folder / "notes", folder / "data"
    notes.mkdir()
    text = "# A\n\n- The staging server is called heron.\n- The staging server is called heron!\n"
    (notes / "a.md").write_text(text, "utf-8")
    return notes, home, text, commands.as_json("dream", notes, "--apply", "-p", "p", home=home)["run_id"]


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_dream_whose_run_was_undone_already_gives_back_its_files(tmp_path):
    notes, home, text, run_id = dreamt(tmp_path)
    commands.as_json("undo", run_id, home=home)
    undone = commands.as_json("dream", notes, "--undo", home=home)
    assert (undone["undone"], undone["files"]) == (0, ["a.md"])
    assert (notes / "a.md").read_text("utf-8") == text


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_what_was_erased_since_a_dream_comes_back_only_if_somebody_insists(tmp_path):
    notes, home, text, _ = dreamt(tmp_path)
    after = (notes / "a.md").read_text("utf-8")
    commands.text("erase", "--profile", "p", "--yes", home=home)
    said = commands.refused("dream", notes, "--undo", home=home)
    assert "memories of p were erased since, and the earlier text of a.md may hold their words" in said
    assert NAME in said
    assert (notes / "a.md").read_text("utf-8") == after
    assert commands.as_json("dream", notes, "--undo", "--force", home=home)["files"] == ["a.md"]
    assert (notes / "a.md").read_text("utf-8") == text


@pytest.mark.parametrize(
    "text",
    [
        "| k | v |\n|---|---|\n| port | 25 |",
        "```sh\nmake all\n```",
        "> A line of somebody.",
        "[ ] Call Ida.",
        "[x] Call Ida.",
        "[[Shop]]",
        "part_of [[Shop]]",
        "![[map.png]]",
        "[Shop](shop.md)",
        "Mail\n  - Port: 25",
    ],
)
def test_structure_stays_whatever_leaves(text):
    here = [Place("a", "n.md", 0, 3, whole=False, text=text)]
    assert changes({"n.md": f"{text}\n"}, here, leaving={"a"}, summaries=[Summary("s", text, ["a"])]) == {}


@pytest.mark.parametrize("block", ["```sh\nTea at five.\n```", "> Tea at five.", "| Tea at five. |\n|---|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_no_block_takes_the_place_of_prose(block, end):
    text = f"# Tea\n\nTea at five.\n\n{block}\n".replace("\n", end)
    here = [
        Place("a", "tea.md", 2, 3, whole=False, text="Tea at five."),
        Place("b", "tea.md", 4, text.count("\n"), whole=False, text=block),
    ]
    merged = Summary("s", block, ["a", "b"])
    assert changes({"tea.md": text}, here, leaving={"a", "b"}, summaries=[merged]) == {}
