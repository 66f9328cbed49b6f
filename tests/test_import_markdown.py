"""A folder of Markdown: what becomes a memory, and what a second import of an edited folder does."""

import errno
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from memory_pipeline.interop import commits, formats, markdown_text
from memory_pipeline.interop.importing import import_events, preview_events
from memory_pipeline.ledger.event import frame, parse
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.text.parse import written_days
from memory_pipeline.text.score.headings import of_their_day

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MARKDOWN = formats.FORMATS["markdown"]
INDEX = """# Memory

- [Ana](ana.md) - who Ana is
- Ana prefers tea. #drinks

## Work

Choices:
- [decision] We use Polars
  because it is fast.

  ```python
  # no heading
  - no item
  ```
- The boat is in [[project boat]]

A paragraph over
two lines.
"""
ANA = """---
name: ana
description: Who Ana is
metadata:
  type: user
created: 2026-01-05
---

Ana is a carpenter in Bergen.

**Why:** she said so. See [[Project Boat]] and [[nothing]].
"""
BOAT = "---\r\ntitle: Project Boat\r\nimportance: 0.9\r\ncolour: red\r\n---\r\nThe boat is red.\r\n"


@pytest.fixture
def folder(tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in {"MEMORY.md": INDEX, "ana.md": ANA, "boat.md": BOAT, "picture.png": "x"}.items():
        (notes / name).write_bytes(text.encode())
        os.utime(notes / name, (1_770_000_000, 1_770_000_000))
    return notes


@pytest.fixture
def ledger(tmp_path):
    with Ledger.at(tmp_path / "home") as opened:
        yield opened


def imported(ledger, folder, day=0, **options):
    at = NOW + timedelta(days=day)
    return import_events(ledger, formats.events(MARKDOWN, folder, recorded_at=at, ledger=ledger, **options))


def edit(folder, name, *changes):
    text = (folder / name).read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text, "utf-8")


def written(ledger, after=0):
    return frame(ledger.read(after))


def test_notes_items_and_paragraphs_become_memories_with_tags_links_and_instants(folder, ledger):
    report = imported(ledger, folder, profile="ana")
    assert (report.accepted, report.duplicates, report.dead_letters) == (8, 0, 0)
    assert report.skipped == {
        "files that are not Markdown": 1,
        "index lines that lead to a file of the folder": 1,
        "links to missing notes": 1,
    }
    rows = written(ledger)
    stored = rows.drop_nulls("content")
    assert stored.select("content", "tags").rows() == [
        ("Ana prefers tea. #drinks", ["Memory", "drinks"]),
        (
            "[decision] We use Polars\nbecause it is fast.\n\n```python\n# no heading\n- no item\n```",
            ["Memory", "Work", "Choices", "decision"],
        ),
        ("The boat is in project boat", ["Memory", "Work", "Choices"]),
        ("A paragraph over\ntwo lines.", ["Memory", "Work"]),
        ("Ana is a carpenter in Bergen.\n\n**Why:** she said so. See Project Boat and nothing.", ["user"]),
        ("The boat is red.", None),
    ]
    assert stored["occurred_at"].to_list()[-2:] == [
        datetime(2026, 1, 5, tzinfo=UTC),
        datetime.fromtimestamp(1_770_000_000, UTC),
    ]
    assert stored["importance"].to_list()[-1] == 0.9
    about = {"file": "boat.md", "title": "Project Boat", "colour": "red", "dated_by": "file"}
    assert json.loads(stored["metadata"][-1]) == about
    assert "dated_by" not in json.loads(stored["metadata"][-2])
    boat = stored["memory_id"][-1]
    links = rows.drop_nulls("target_id")
    assert links.select("memory_id", "target_id", "edge_type").rows() == [
        (stored["memory_id"][2], boat, "RELATES_TO"),
        (stored["memory_id"][4], boat, "RELATES_TO"),
    ]


def test_what_stands_before_a_list_belongs_to_its_items():
    lines = """# Words
A term is a

- constant

The grammar is old. A literal is a
- constant

Example:
- 1000 users

Another goal.

Example:

- 1000 users

**Pros**
- cheap

**Cons**
- slow

**Pros**
- cheap

No list follows.
"""
    read = [(*unit.heading, unit.text) for unit in markdown_text.read(lines).units]
    assert read == [
        ("Words", "A term is a"),
        ("Words", "A term is a", "constant"),
        ("Words", "The grammar is old. A literal is a"),
        ("Words", "A literal is a", "constant"),
        ("Words", "Example", "1000 users"),
        ("Words", "Another goal."),
        ("Words", "Example (2)", "1000 users"),
        ("Words", "Pros", "cheap"),
        ("Words", "Cons", "slow"),
        ("Words", "Pros (2)", "cheap"),
        ("Words", "Pros (2)", "No list follows."),
    ]


def test_the_same_folder_again_adds_nothing(folder, ledger):
    imported(ledger, folder)
    before = ledger.position()
    again = imported(ledger, folder, day=1)
    assert (again.accepted, again.duplicates, ledger.position()) == (0, 8, before)


def test_an_edited_folder_updates_ends_and_adds(folder, ledger):
    imported(ledger, folder)
    first = dict(written(ledger).drop_nulls("content").select("content", "memory_id").rows())
    before = ledger.position()
    edit(
        folder,
        "MEMORY.md",
        ("Ana prefers tea.", "Ana prefers green tea."),
        ("- The boat is in [[project boat]]\n", "- Ben has a new saw\n"),
    )
    (folder / "boat.md").rename(folder / "ship.md")
    report = imported(ledger, folder, day=1)
    rows = written(ledger, before).select("event_type", "memory_id", "content", "valid_until").rows()
    assert ("memory.updated", first["Ana prefers tea. #drinks"], "Ana prefers green tea. #drinks", None) in rows
    gone = first["The boat is in project boat"]
    assert ("memory.updated", gone, None, NOW + timedelta(days=1)) in rows
    assert [row[2] for row in rows if row[0] == "memory.stored"] == ["Ben has a new saw"]
    assert ("memory.updated", first["The boat is red."], None, None) in rows, "a renamed file stays the same memory"
    assert report.accepted == len(rows) == 4
    assert imported(ledger, folder, day=2).accepted == 0
    edit(folder, "MEMORY.md", ("- Ben has a new saw\n", "- The boat is in [[project boat]]\n"))
    assert imported(ledger, folder, day=3).accepted == 3, "one ends, and one comes back as a new memory with its link"
    assert imported(ledger, folder, day=4).accepted == 0


def test_a_folder_that_cannot_be_read_ends_no_memory(folder, ledger, monkeypatch):
    (folder / "sub" / ".git").mkdir(parents=True)
    (folder / "sub" / "here.md").write_text("The key hangs behind the clock.\n", "utf-8")
    imported(ledger, folder)
    position, scandir, refused = ledger.position(), os.scandir, {folder / "sub" / ".git"}

    def scanned(path):  # a mode stops no administrator
        if Path(path) in refused:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scanned)
    assert imported(ledger, folder).accepted == 0, "hidden folders are left out anyway"
    refused.add(folder / "sub")
    with pytest.raises(ValueError, match=r"sub: cannot be read \(Permission denied\); make it readable"):
        imported(ledger, folder)
    assert ledger.position() == position


def test_what_was_changed_here_stays_where_the_folder_did_not_change(folder, ledger):
    imported(ledger, folder)
    memory_id = written(ledger).drop_nulls("content")["memory_id"][0]
    update = {"event_type": "memory.updated", "memory_id": memory_id, "payload": {"importance": 0.2, "content": "Tea!"}}
    ledger.append([parse(update | {"profile_id": "markdown"}, recorded_at=NOW + timedelta(hours=1), origin="test")])
    assert imported(ledger, folder, day=1).accepted == 0
    edit(folder, "MEMORY.md", ("#drinks", "#drink"))
    before = ledger.position()
    imported(ledger, folder, day=2)
    assert written(ledger, before).select("content", "tags", "importance").rows() == [
        ("Ana prefers tea. #drink", ["Memory", "drink"], None)
    ]


def test_two_folders_of_one_name_do_not_end_each_others_memories(folder, ledger, tmp_path):
    imported(ledger, folder)
    other = tmp_path / "other" / "notes"
    other.mkdir(parents=True)
    (other / "MEMORY.md").write_text("- Ben has a boat\n", "utf-8")
    assert imported(ledger, other).accepted == 1
    assert imported(ledger, folder, day=1).accepted == 0


def test_a_preview_stores_nothing_and_shows_what_would_be_stored(folder, ledger):
    preview = preview_events(ledger, formats.events(MARKDOWN, folder, recorded_at=NOW, ledger=ledger), most=2)
    assert [event.payload.content[:15] for event in preview.first] == ["Ana prefers tea", "[decision] We u"]
    assert (preview.report.accepted, ledger.position()) == (8, 0)
    imported(ledger, folder)
    edit(folder, "ana.md", ("carpenter", "baker"))
    preview = preview_events(ledger, formats.events(MARKDOWN, folder, recorded_at=NOW, ledger=ledger))
    assert (preview.report.accepted, preview.report.duplicates) == (1, 7)
    assert preview.first[0].payload.content.startswith("Ana is a baker")


def test_files_under_git_are_dated_by_their_first_commit(folder, ledger):
    env = os.environ | {
        "GIT_AUTHOR_DATE": "2026-02-03T04:05:06Z", "GIT_COMMITTER_DATE": "2026-02-03T04:05:06Z",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }  # fmt: skip
    user = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    for args in (["init", "-q"], ["add", "."], [*user, "commit", "-qm", "Notes"]):
        subprocess.run(["git", "-C", folder, *args], check=True, env=env)
    imported(ledger, folder)
    at = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert written(ledger).filter(content="The boat is red.")["occurred_at"].to_list() == [at]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", []),
        ("---\n", []),
        ("---\n- : [\n---\nText", ["Text"]),
        ("---\na: &x [1]\nb: [*x, *x]\n---\nText", ["Text"]),
        ("<!-- a remark -->\n\n---\n\n***\n", []),
        ("1. one\n2. two\n   more\n", ["one", "two\nmore"]),
        ("- one\ncontinued\n\n  and on\n\nother", ["one\ncontinued\n\nand on", "other"]),
        ("```\n\n- no item\n", ["```\n\n- no item"]),
        ("<!-- index by memory-pipeline -->\n- a\n<!-- end of index -->\n- b", ["b"]),
        ("<!-- index by memory-pipeline -->\n- a", []),
        ("- \n-x\n", ["-x"]),
        ("std::cout << 1;\n", ["std::cout << 1;"]),
        (
            "**Never deploy on a Friday.**\n\n**Ask first.**\n\n# More\n",
            ["**Never deploy on a Friday.**", "**Ask first.**"],
        ),
        ("**Work**\n\nAna bakes.\n", ["Ana bakes."]),
        ("%% a remark %%\n\n![[beds.png]]\n\n```dataview\nLIST\n```\n", []),
        (
            "- The deposit is paid. ^b1\n> [!note] Beds\n> They face south.\n",
            ["The deposit is paid.", "They face south."],
        ),
        (
            "The deposit %%ask Bo%% is paid.\n%%\nA remark\n\nof two paragraphs.\n%%\nDone <!-- or not -->\n",
            ["The deposit is paid.", "Done"],
        ),
        (
            "Use `a %% b %% c` and\n\n```\nx %% y %% z\n```\n\n50 %% off\n",
            ["Use `a %% b %% c` and", "```\nx %% y %% z\n```", "50 %% off"],
        ),
        ("> [!warning]- \n> Mind the step.\n", ["Mind the step."]),
        ("> [!todo] Call Bo\n\n> A plain quote.\n", ["Call Bo", "> A plain quote."]),
        ("#+BEGIN_TIP\nWater them at night.\n#+END_TIP\n", ["Water them at night."]),
        ("- #+BEGIN_QUOTE\n  Light first.\n  #+END_QUOTE\n", ["Light first."]),
        (
            "![[beds.png]]\nThey cost ==400 euros== now; `==x==`, a==b==c.\n",
            ["They cost 400 euros now; `==x==`, a==b==c."],
        ),
        (
            "Ask [[People/Bo Lind|Bo]] about [[Boat#Sails]] and [[Boat]]; see `[[x|y]]`, ![[a.png]], [it]([[Log]]).\n",
            ["Ask Bo about Boat › Sails and Boat; see `[[x|y]]`, ![[a.png]], it."],
        ),
    ],
)
def test_blocks(text, units):
    assert [unit.text for unit in markdown_text.read(text).units] == units


@pytest.mark.parametrize(
    "begins", ["<details>\n<summary>Spare</summary>\n", "<details open><summary><b>Spare</b></summary>"]
)
def test_a_block_that_folds_up_stands_below_its_title(begins):
    text = f"# Keys\n\nBy the door.\n{begins}\nBy the door.\n\n- On the hook.\n</details>\nBy the door.\n"
    assert [(unit.text, unit.heading) for unit in markdown_text.read(text).units] == [
        ("By the door.", ("Keys",)),
        ("By the door.", ("Keys", "Spare")),
        ("On the hook.", ("Keys", "Spare")),
        ("By the door.", ("Keys",)),
    ]


def test_callouts_give_their_title_as_heading_and_their_kind_as_tag():
    (unit,) = markdown_text.read("# Garden\n\n> [!note] Beds\n> They face south.\n").units
    assert (unit.heading, unit.tags) == (("Garden", "Beds"), ("Garden", "note"))
    assert unit.written == "> [!note] Beds\n> They face south."


def test_a_line_of_tags_tags_what_follows_and_is_neither_memory_nor_heading():
    text = "#home #[[old house]]\n\n# Garden\n\n#green/beds\n\n- They face south.\n\n# Roof\n\nIt was mended.\n"
    beds, roof = markdown_text.read(text).units
    assert (beds.text, beds.heading) == ("They face south.", ("Garden",))
    assert beds.tags == ("Garden", "home", "old house", "green/beds")
    assert (roof.text, roof.tags) == ("It was mended.", ("Roof", "home", "old house"))


def test_line_ends_of_another_system_are_read_beside_what_a_dream_wrote():
    """A dream puts a summary with our line ends into a file; the others stay as they were."""
    text = "---\ntags: [home]\n---\n# Team\n\n- one\n- two\n  more\n\nthe\nend".replace("\n", "\r\n")
    summary = '- a\r\n  b\n  <!-- {"memory_id": "s"} -->\n'
    dreamt = markdown_text.read(text.replace("- one\r\n", summary))
    assert [unit.text for unit in dreamt.units] == ["a\r\nb", "two\nmore", "the\nend"]
    assert [unit.line for unit in dreamt.units] == [6, 9, 12]
    assert {unit.heading for unit in dreamt.units if unit.memory_id is None} == {("Team",)}
    assert dreamt.front == {"tags": ["home"]}


def test_front_matter_that_is_not_yaml_still_gives_its_plain_lines(tmp_path, ledger):
    """Models write a colon into a description without quotes, which is not YAML."""
    (tmp_path / "notes").mkdir()
    front = "name: latency\ndescription: Latency: where to look\nmetadata:\n  type: reference\ntags: [ops, 'on call']\n"
    (tmp_path / "notes" / "latency.md").write_text(f"---\n{front}---\n\nThe dashboard is at /d/latency.\n\nAsk Bo.\n")
    report = imported(ledger, tmp_path / "notes")
    assert report.skipped == {"front matter that is not YAML (its plain lines were read)": 1}
    (stored,) = written(ledger).iter_rows(named=True)
    assert stored["content"] == "The dashboard is at /d/latency.\n\nAsk Bo.", "a described note is one memory"
    assert stored["tags"] == ["ops", "on call", "reference"]
    assert json.loads(stored["metadata"])["description"] == "Latency: where to look"


def test_a_note_without_a_body_is_its_description(tmp_path, ledger):
    (tmp_path / "notes").mkdir()
    front = "---\nname: editor\ndescription: Ana prefers Vim.\ntype: user\n---\n"
    (tmp_path / "notes" / "editor.md").write_text(front)
    (tmp_path / "notes" / "MEMORY.md").write_text("- [Editor](editor.md): Vim\n")
    report = imported(ledger, tmp_path / "notes")
    assert report.skipped == {"index lines that lead to a file of the folder": 1}
    (stored,) = written(ledger).iter_rows(named=True)
    assert (stored["content"], stored["tags"]) == ("Ana prefers Vim.", ["user"])
    assert imported(ledger, tmp_path / "notes").accepted == 0


def test_what_is_said_behind_a_link_is_a_memory_but_in_an_index(tmp_path, ledger):
    (tmp_path / "notes").mkdir()
    said = ["[[Boats]] need antifouling before June.", "[Per](Per.md) is allergic to nuts.", "[[Per]]'s keel is red."]
    said += ["[[Per]], [[Boats]] and I sailed to Hven."]
    index = ["[[Boats]]", "[[Boats]] \u2014 all of them", "[Per](Per.md): a friend", "[[Per]], [[Boats]]"]
    notes = {"Boats": "Oak.\n", "Per": "He sails.\n", "n": "".join(f"- {one}\n" for one in [*said, *index])}
    for name, text in (notes | {"2026-03-01": "- [[Boats]]: sold the dinghy.\n- [[Per]]\n"}).items():
        (tmp_path / "notes" / f"{name}.md").write_text(text)
    assert imported(ledger, tmp_path / "notes").skipped == {"index lines that lead to a file of the folder": 5}
    lines = ["Boats need antifouling before June.", "[Per](Per.md) is allergic to nuts.", "Per's keel is red."]
    lines += ["Per, Boats and I sailed to Hven.", "Boats: sold the dinghy.", "Oak.", "He sails."]
    assert set(written(ledger).drop_nulls("content")["content"]) == set(lines)


def test_it_is_said_how_many_notes_only_their_file_dates(folder, ledger, tmp_path):
    (folder / "2026-03-01.md").write_text("- The boat was painted green.\n")
    notes = imported(ledger, folder).noticed
    by_file = written(ledger).filter(pl.col("occurred_at") == datetime.fromtimestamp(1_770_000_000, UTC))
    assert [*notes.values()] == [by_file.height]
    assert next(iter(notes)).startswith("without a date of their own")
    (tmp_path / "dated").mkdir()
    (tmp_path / "dated" / "2026-03-02.md").write_text("- The mast is down.\n")
    assert imported(ledger, tmp_path / "dated").noticed == {}


def test_what_is_no_memory_is_counted(tmp_path, ledger):
    (tmp_path / "notes").mkdir()
    texts = {
        "a.md": "# All\n\n## Nothing here\n\n## Some\n\n<!-- hidden -->\n\n- Ana prefers tea.\n\n### Empty too\n",
        "empty.md": "\n",
        "front.md": "---\nname: n\n---\n",
        "title.md": "# Only a title\n",
    }
    for name, text in texts.items():
        (tmp_path / "notes" / name).write_text(text)
    report = imported(ledger, tmp_path / "notes")
    assert report.skipped == {"comments": 1, "files without text": 2, "headings without text": 3}
    assert report.accepted == 1


@pytest.mark.parametrize(
    ("file", "headings", "day"),
    [
        ("2026-03-01.md", [], "2026-03-01"),
        ("journals/2020_10_03.md", [], "2020-10-03"),
        ("20260301.md", [], "2026-03-01"),
        ("202603011230 Boat.md", [], "2026-03-01"),
        ("2026-03-01-standup.md", [], "2026-03-01"),
        ("standup-2026-03-01.md", [], "2026-03-01"),
        ("March 1st, 2026.md", [], "2026-03-01"),
        ("journal/2026/03/01.md", [], "2026-03-01"),
        ("2026-03-01/notes.md", [], "2026-03-01"),
        ("log.md", ["Log", "2026-02-01"], "2026-02-01"),
        ("log.md", ["2026-02-01", "Boat"], "2026-02-01"),
        ("2026-03-01.md", ["2026-02-01 Standup"], "2026-02-01"),
        ("log.md", ["Sunday, 1 March 2026"], "2026-03-01"),
        ("log.md", ["Sun 2026-03-01"], "2026-03-01"),
        ("log.md", ["[[2026-03-01]]"], "2026-03-01"),
        ("log.md", ["01.03.2026"], "2026-03-01"),
        ("CHANGELOG.md", ["[1.2.0] - 2026-02-01"], "2026-02-01"),
        ("log.md", ["Standup (2026-02-01)"], "2026-02-01"),
        ("log.md", ["Due 2026-02-01"], None),
        ("log.md", ["Standup 2026-03-01"], "2026-03-01"),
        ("log.md", ["Standup: 1 March 2026"], "2026-03-01"),
        ("log.md", ["Harbour office meeting 2026-02-17"], "2026-02-17"),
        ("log.md", ["Weekly meeting 2026-W05"], "2026-01-26"),
        ("2026-03-01.md", ["Logbook 2026-02-01"], "2026-02-01"),
        ("log.md", ["Mooring paid until 2026-02-01"], None),
        ("log.md", ["Regatta planned for 2026-02-01"], None),
        ("log.md", ["Ferry ticket valid to 1 February 2026"], None),
        ("log.md", ["2026-13-01"], None),
        ("log.md", ["2026-05-02"], None),
        ("2026-03-01.md", ["2027-01-01"], "2026-03-01"),
        ("12020260301.md", [], None),
        ("2026-03-01.md", ["Sonntag, 8. Februar 2026"], "2026-02-08"),
        ("1. Ma\u0308rz 2026.md", [], "2026-03-01"),
        ("log.md", ["Dimanche 1er mars 2026"], "2026-03-01"),
        ("log.md", ["1 de marzo de 2026"], "2026-03-01"),
        ("2026年3月1日.md", [], "2026-03-01"),
        ("2026-03.md", ["Costs 2026"], None),
        ("log.md", ["01/02/2026"], None),
        ("10.2026.03.011.md", [], None),
        ("2026-3-1.md", [], "2026-03-01"),
        ("1-Mar-2026.md", [], "2026-03-01"),
        ("2026/03-March/01.md", [], "2026-03-01"),
        ("2026-03/01.md", [], "2026-03-01"),
        ("log.md", ["2026/3/1"], "2026-03-01"),
        ("log.md", ["1st of March 2026"], "2026-03-01"),
        ("2026/03 March/01 Sunday.md", [], "2026-03-01"),
        ("24-03-2026.md", [], "2026-03-24"),
        ("log.md", ["03/24/2026 standup"], "2026-03-24"),
        ("04-03-2026.md", [], None),
        ("log.md", ["\U0001f4c5 2026-03-01"], "2026-03-01"),
        ("log.md", ["<2026-03-01 Sun>"], "2026-03-01"),
        ("log.md", ["So., 1. M\u00e4rz 2026"], "2026-03-01"),
        ("log.md", ["3. maaliskuuta 2026"], "2026-03-03"),
        ("quarta-feira, 4 de mar\u00e7o de 2026.md", [], "2026-03-04"),
        ("log.md", ["2026. m\u00e1rcius 3."], "2026-03-03"),
        ("log.md", ["3 \u043c\u0430\u0440\u0442\u0430 2026"], "2026-03-03"),
        ("2026-W14.md", [], "2026-03-30"),
        ("Weekly 2026-W14.md", [], "2026-03-30"),
        ("log.md", ["2026-W14-3 Standup"], "2026-04-01"),
        ("2026-W54.md", [], None),
        ("log.md", ["2026.3.1"], None),
        ("log.md", ["v2026.03.01"], None),
        ("Meeting 2026-03-01 notes.md", [], "2026-03-01"),
        ("standup_20260301_backend.md", [], "2026-03-01"),
        ("standup-20260301_1430-backend.md", [], "2026-03-01"),
        ("20260301_1430 standup.md", [], "2026-03-01"),
        ("Call with Ana (2026-03-01).md", [], "2026-03-01"),
        ("Call with Ana 01.03.2026 about rent.md", [], "2026-03-01"),
        ("Notes from 1 March 2026 (Lyon).md", [], "2026-03-01"),
        ("Besprechung vom 3. M\u00e4rz 2026 B\u00fcro.md", [], "2026-03-03"),
        ("Rome 2026-03-01 trip/tickets.md", [], "2026-03-01"),
        ("Retro 2026-W05 platform.md", [], "2026-01-26"),
        ("release v2026.03.01 notes.md", [], None),
        ("invoice 12020260301.md", [], None),
        ("build 1.2026.03.01 notes.md", [], None),
        ("parcel 2026030112.md", [], None),
    ],
)
def test_names_of_files_and_headings_date_what_is_below_them(file, headings, day):
    found = written_days.day_of(file, headings, until=NOW, of_their_day=of_their_day)
    assert (found and found.isoformat()) == (day and f"{day}T00:00:00+00:00")


@pytest.mark.parametrize(
    ("text", "day", "said"),
    [
        ("2026-02-01: The boat is red.", "2026-02-01", "The boat is red."),
        ("**2026-02-01**: The boat is red.", "2026-02-01", "The boat is red."),
        ("[2026-02-01] The boat is red.", "2026-02-01", "The boat is red."),
        ("[[2026-02-01]] the boat is red", "2026-02-01", "the boat is red"),
        ("2026-02-01 \u2013 the boat is red", "2026-02-01", "the boat is red"),
        ("2026-02-01 Sold the boat.", "2026-02-01", "Sold the boat."),
        ("1. Ma\u0308rz 2026: Das Boot im M\u00e4rz", "2026-03-01", "Das Boot im M\u00e4rz"),
        ("Feb 1, 2026, the boat was sold", "2026-02-01", "the boat was sold"),
        ("tiistai 3. maaliskuuta 2026: Vene on punainen", "2026-03-03", "Vene on punainen"),
        ("2026-W05: The boat is red.", "2026-01-26", "The boat is red."),
        ("2026-02-01 14:30: The boat is red.", "2026-02-01", "2026-02-01 14:30: The boat is red."),
        ("[x] 2026-02-01: Paint it.", "2026-02-01", "[x] 2026-02-01: Paint it."),
        ("2026-02-01", "2026-02-01", "2026-02-01"),
        ("2026-02-01 is the deadline.", None, None),
        ("2026-01-01 \u2013 2026-02-01: in dry dock", None, None),
        ("2027-02-01: the boat comes out", None, None),
        ("1 February 2026 was cold.", None, None),
    ],
)
def test_a_line_is_dated_by_the_day_at_its_head(text, day, said):
    found = written_days.entry(text, until=NOW)
    assert (found and f"{found.day:%Y-%m-%d}", found and found.said) == (day, said)


LOG = """# Boat
- The boat is red.
- 2026-01-05: The boat is blue.
- The dinghy is green.
- 2026-01-09: The dinghy is white.
- It lies in Cork.

# Crew
- Ana steers.
- 2026-01-05: Bo joined.

# Log
2026-02-02: Sold the dinghy.
2026-02-01: The mast is down.
- Ropes are dry.
"""


def test_the_entries_of_a_log_are_memories_of_their_days_and_what_stands_between_two_is_of_that_time(tmp_path, ledger):
    (tmp_path / "notes.md").write_text(LOG)
    imported(ledger, tmp_path)
    stored = written(ledger).drop_nulls("content").sort("seq")
    day = datetime(2026, 1, 5, tzinfo=UTC)
    log = datetime(2026, 2, 1, tzinfo=UTC)
    dates = dict(stored.select("content", "occurred_at").iter_rows())
    outside = ("The boat is red.", "It lies in Cork.", "Ana steers.", "Ropes are dry.")
    assert all(dates.pop(undated) > log for undated in outside)
    by_file = stored.filter(pl.col("metadata").str.contains('"dated_by"'))["content"]
    assert set(by_file) == set(outside)
    assert dates == {
        "The boat is blue.": day,
        "The dinghy is green.": day + timedelta(days=4, seconds=-1),
        "The dinghy is white.": day + timedelta(days=4),
        "Bo joined.": day,
        "Sold the dinghy.": log + timedelta(days=1),
        "The mast is down.": log,
    }


def test_a_line_that_was_stored_with_its_day_keeps_it(tmp_path, ledger):
    (tmp_path / "notes.md").write_text("- 2026-06-01: The boat comes out.\n")
    imported(ledger, tmp_path)
    assert written(ledger)["content"].to_list() == ["2026-06-01: The boat comes out."]
    assert imported(ledger, tmp_path, 90).accepted == 0


@pytest.mark.parametrize(
    ("text", "units"),
    [
        (
            "Shop\n====\n\n- Owner: Ana\n\nBlog\n----\n\n- Owner: Ana\n\nBank\n====\n\nOwner: Ana\n",
            [("Shop", "Owner: Ana"), ("Shop/Blog", "Owner: Ana"), ("Bank", "Owner: Ana")],
        ),
        ("I'm Ana. I carve.\n\n- Bo sails.\n", [("", "I'm Ana. I carve."), ("", "Bo sails.")]),
        ("I carve. Of these:\n\n- Oak\n", [("", "I carve. Of these:"), ("Of these", "Oak")]),
        ("The pier is closed.\n---\nIt rains.\n", [("", "The pier is closed."), ("", "It rains.")]),
        ("One line\nand two\n---\nThree\n", [("", "One line\nand two"), ("", "Three")]),
        ("port | 5433\n---- | ----\nhost | heron\n", [("", "port | 5433\n---- | ----\nhost | heron")]),
        ("```\na\n---\nb\n```\n", [("", "```\na\n---\nb\n```")]),
        ("- Pump A\n---\n- Pump B\n", [("", "Pump A"), ("", "Pump B")]),
        ("A quote.\n\n^quote-1\n\nA fact.\n^fact-2\n", [("", "A quote."), ("", "A fact.")]),
        ("+++\ntitle = 'Pier'\ndate = 2026-03-01\n+++\n\nIt is closed.\n", [("", "It is closed.")]),
        ("<details>\n\nThe key is here.\n\n</details>\n", [("", "The key is here.")]),
        ("<https://pier.example>\n", [("", "<https://pier.example>")]),
    ],
)
def test_headings_rules_ids_and_front_matter_of_every_kind_are_no_memories(text, units):
    found = markdown_text.read(text).units
    assert [("/".join(one.heading), one.text) for one in found] == units


def test_the_front_matter_counts_before_a_heading_and_that_before_the_name_of_the_file(tmp_path, ledger):
    notes = {
        "2026-03-01.md": "Rain.\n\n## 2026-03-02\n\n- Sun.\n\n## Later\n\n- Snow.\n",
        "2026-03-05.md": "---\ndate: 2026-01-05\n---\n\n## 2026-03-06\n\nFog.\n",
    }
    for name, text in notes.items():
        (tmp_path / name).write_text(text, "utf-8")
    imported(ledger, tmp_path)
    stored = written(ledger).drop_nulls("content")
    days = dict(zip(stored["content"], stored["occurred_at"].dt.strftime("%m-%d"), strict=True))
    assert days == {"Rain.": "03-01", "Sun.": "03-02", "Snow.": "03-01", "Fog.": "01-05"}


LOGSEQ = """title:: Garden
tags:: home, plants
icon:: x
owner:: Ana

- Sow the peas in March.
  id:: 63b1c2d4-0000-4000-8000-000000000001
  collapsed:: true
  depth:: 3 cm
\t- In rows.
\t-
-
- ((63b1c2d4-0000-4000-8000-000000000001))
- {{query (todo TODO)}}
- Prefer rainwater for the seedlings.
"""


def test_properties_of_logseq_describe_and_empty_blocks_and_references_say_nothing():
    note = markdown_text.read(LOGSEQ)
    assert note.front == {"title": "Garden", "tags": "home, plants"}
    peas = "Sow the peas in March.\ndepth:: 3 cm\n- In rows."
    told = [(unit.line, unit.text) for unit in note.units]
    assert told == [(4, "owner:: Ana"), (6, peas), (15, "Prefer rainwater for the seedlings.")]
    assert note.left_out == {"empty blocks": 1, "blocks that only show others": 2}


def test_the_clock_of_a_task_of_logseq_is_no_part_of_it():
    clock = "  :LOGBOOK:\n  CLOCK: [2026-01-01 Thu 10:00:00]\n  :END:\n"
    note = markdown_text.read(f"- TODO Paint the hull.\n{clock}  Two coats.\n- See :LOGBOOK:\n  :LOGBOOK:\n  open\n")
    assert [unit.text for unit in note.units] == ["TODO Paint the hull.\nTwo coats.", "See :LOGBOOK:\n:LOGBOOK:\nopen"]


def test_a_repository_that_borrows_its_objects_dates_its_notes_too(tmp_path):
    def git(*arguments):
        subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True
        )

    git("init", "-q", "own")
    (tmp_path / "own" / "a.md").write_text("- Tea.\n", "utf-8")
    git("-C", "own", "add", ".")
    git("-C", "own", "commit", "-qm", "One")
    git("clone", "-q", "--shared", "own", "borrowed")
    assert commits.first_committed(tmp_path / "borrowed") == commits.first_committed(tmp_path / "own") != {}


OUTLINE = """type:: [[Project]]
owner:: Ana

- ## Garden of [[Ana]]
  id:: 63b1c2d4-0000-4000-8000-000000000001
  collapsed:: true
\t- Sow the peas in March.
\t  done:: 1614350275750

\t\t- In rows.
\t- ### Compost
\t\t- Turn it every week.
\t- id:: 63b1c2d4-0000-4000-8000-000000000002
\t  Prefer rainwater.
- ## Ideas
- Buy a scythe.
"""


def test_a_block_of_logseq_that_is_a_heading_stands_above_those_within_it():
    note = markdown_text.read(OUTLINE)
    assert note.front == {"type": "Project"}
    assert [(unit.line, unit.heading, unit.text) for unit in note.units] == [
        (2, (), "owner:: Ana"),
        (7, ("Garden of Ana",), "Sow the peas in March.\n\n- In rows."),
        (12, ("Garden of Ana", "Compost"), "Turn it every week."),
        (13, ("Garden of Ana",), "Prefer rainwater."),
        (16, (), "Buy a scythe."),
    ]
    assert note.left_out == {"headings without text": 1}


@pytest.mark.parametrize(
    "before", ["> [!warning] Allergy\n> Ana is allergic to peanuts.", "> So it is.", "owner:: Ana"]
)
def test_a_callout_a_quote_and_a_property_introduce_no_list(before):
    unit = markdown_text.read(f"# Trip\n\n{before}\n\n- Call the yard.\n").units[-1]
    assert (unit.text, unit.heading) == ("Call the yard.", ("Trip",))


def test_an_item_that_begins_with_code_ends_where_the_code_ends():
    note = markdown_text.read(
        "- To fetch:\n- ```shell\n  git pull\n  ```\n- To leave:\n- ~~~\n  exit\n  ~~~\n- Done.\n"
    )
    assert [unit.text for unit in note.units] == [
        "To fetch:",
        "```shell\ngit pull\n```",
        "To leave:",
        "~~~\nexit\n~~~",
        "Done.",
    ]


def test_backups_that_logseq_keeps_are_not_read(folder, ledger):
    for name in ("logseq/config.edn", "logseq/bak/pages/ana.md", "logseq/version-files/a.md", "recipes/bak/pie.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("- The boat was green.\n", "utf-8")
    imported(ledger, folder, profile="ana")
    green = [row for row in written(ledger)["content"].to_list() if row == "The boat was green."]
    assert len(green) == 1


def test_blocks_of_an_outline_below_a_heading_that_is_none_are_read_one_by_one():
    crawling = "\t- ### Crawling\n\t\t- Write robots.txt\n\t\t  ```\n\t\t  Disallow: /\n\t\t  ```\n"
    text = f"## Hide the site\n{crawling}\t- ### Access\n\t\t- Ask for a name.\nDone.\n"
    note = markdown_text.read(text)
    assert [(unit.line, unit.heading, unit.text) for unit in note.units] == [
        (3, ("Hide the site", "Crawling"), "Write robots.txt\n```\nDisallow: /\n```"),
        (8, ("Hide the site", "Access"), "Ask for a name."),
        (9, ("Hide the site",), "Done."),
    ]
