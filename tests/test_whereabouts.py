"""Equal lines under two headings, or in two files, are two facts: no run takes one of them away."""

import json
import os

import polars as pl
import pytest
from commands import call

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation import whereabouts

LINES = {
    "a.md": "# Project A\n\n- Tests run with pytest.\n- Owner: Ida\n- part_of [[Shop]]\n\n"
    "# Project B\n\n- Tests run with pytest.\n- Owner: Jem\n- part_of [[Shop]]\n",
    "b.md": "# Project A\n\n- Tests run with pytest.\n- [status] in production\n",
    "c.md": "# Services\n\n## Mail\n\n- Port: 2525\n- Owner: Ida\n\n"
    "## Web\n\n- Port: 8080\n- Owner: Ida\n- [status] in production\n",
}


def imported(home, folder, texts):
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    assert call("import", "markdown", folder, home=home).returncode == 0
    return MemoryClient(home, profile_id="markdown")


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_no_line_of_notes_is_merged_with_or_related_to_one_elsewhere(tmp_path):
    with imported(tmp_path / "data", tmp_path / "notes", LINES) as client:
        before = {memory.memory_id for memory in client.list(limit=100)}
        assert len(before) >= 13
        for _ in range(2):
            plan = client.consolidate().plan
            assert not set(plan["action"]) & {"supersede", "archive", "close", "delete"}
            assert not plan.filter(plan["rule"].str.contains("fact_comparison")).height
        assert {memory.memory_id for memory in client.list(limit=100)} == before


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_equal_lines_in_one_place_are_one(tmp_path):
    line = "- The till of the shop is by the door.\n"
    with imported(tmp_path / "data", tmp_path / "notes", {"shop.md": f"# Shop\n\n{line}{line}"}) as client:
        assert "supersede" in set(client.consolidate().plan["action"])


NOTES = {
    "work.md": "# Project A\n\n- Uses Postgres 15.\n- Tests run with pytest.\n- Tests run with pytest.\n\n"
    "# Project B\n\n- Uses Postgres 16.\n- Tests run with pytest.\n\n"
    "# Rules\n\n## Repository\n\n- Never push to main.\n- I am allergic to latex.\n",
    "log.md": "## 2026-02-01\n\n- The ferry was late.\n",
}


@pytest.mark.usefixtures("unpublished")
def test_the_headings_above_a_line_are_searched_and_shown(tmp_path):
    with imported(tmp_path / "data", tmp_path / "notes", NOTES) as client:
        for project, line in (("A", "Uses Postgres 15."), ("B", "Uses Postgres 16.")):
            first = client.recall(f"What does Project {project} use?")[0]
            assert (first.heading, first.text) == (f"work \u203a Project {project}", line)
            assert f"] work \u203a Project {project} \u203a {line}" in first.line()
            assert client.get(first.memory_id).line() == f"work \u203a Project {project} \u203a {line}"
        assert client.recall("Which repository rules are there?")[0].heading == "work \u203a Rules \u203a Repository"
        assert client.recall("When was the ferry late?")[0].heading == "log"
        items = [{"namespace": [one], "key": "k", "value": {"text": "The kiln is hot."}} for one in ("ana", "bo")]
        (tmp_path / "items.json").write_text(json.dumps(items))
        told = call("import", "langgraph", tmp_path / "items.json", "--profile", "markdown", home=tmp_path / "data")
        assert told.returncode == 0
        changes, day = client.consolidate().changes, f"{client.list()[0].created_at:%Y-%m-%d}"
        start = client.session_start().text()
        assert f"work \u203a Rules \u203a Repository \u203a Never push to main. ({day}; dated by its file)" in start
        assert f"work \u203a Rules \u203a Repository \u203a I am allergic to latex. ({day}; dated by its file)" in start
        assert {"ana/k", "bo/k"} <= {one.memory_id for one in client.list(limit=100)}
        (older,) = changes.filter(group="merged")["older"]
        assert {one["text"] for one in older} == {
            "work \u203a Project A \u203a Tests run with pytest. (dated by its file)"
        }
        merged = next(one for one in client.recall("How do the tests of Project A run?") if one.kind != "original")
        assert (merged.heading, merged.text, merged.undated) == (
            "work \u203a Project A",
            "Tests run with pytest.",
            True,
        )
    listed = call("list", "--profile", "markdown", home=tmp_path / "data").stdout
    assert " work \u203a Project B \u203a Uses Postgres 16. (dated by its file)" in listed
    assert " log \u203a The ferry was late.\n" in listed


PAGES = {
    "Lina.md": "- Eats two scoops in the evening.\n\n## Vet\n\n- Next visit in May.\n",
    "cats/Bo.md": "- Eats three scoops in the evening.\n\n## Vet\n\n- Next visit in June.\n",
    "cats/Tom.md": "# Tom\n\n- Eats one scoop in the evening.\n",
    "2026-03-01.md": "- Eats at noon, the guest.\n",
    "Oslo.md": "- Rent per month: 840 euros.\n",
    "Bergen.md": "- Rent per month: 910 euros.\n",
}


def test_the_page_of_a_line_is_searched(tmp_path):
    (tmp_path / "notes" / "cats").mkdir(parents=True)
    for name, text in PAGES.items():
        (tmp_path / "notes" / name).write_text(text)
    os.utime(tmp_path / "notes" / "Oslo.md", (1.7e9, 1.7e9))
    assert call("import", "markdown", tmp_path / "notes", home=tmp_path / "data").returncode == 0
    with MemoryClient(tmp_path / "data", profile_id="markdown") as client:
        for cat, scoops, month in (("Lina", "two", "May"), ("Bo", "three", "June")):
            assert scoops in client.recall(f"What does {cat} eat in the evening?")[0].text
            assert month in client.recall(f"When does {cat} visit the vet?")[0].text
        assert "one scoop" in client.recall("What does Tom eat in the evening?")[0].text
        for town, rent in (("Oslo", 840), ("Bergen", 910)):
            assert f"{rent}" in client.recall(f"What is the rent in {town}?")[0].text
        assert "910" in client.recall("What is the rent per month?")[0].text, "of no place: the newest"


@pytest.mark.parametrize(
    ("file", "heading", "above"),
    [
        ("a/Sourdough.md", None, "Sourdough\n"),
        ("Sourdough.md", "Feeding / Old", "Sourdough \u203a Feeding \u203a Old\n"),
        ("Shop.md", "shop / Mail", "shop \u203a Mail\n"),
        ("2026-02-01.md", "Log", "Log\n"),
        ("journals/2026_02_01.md", None, ""),
        ("2026-02-01 Trip.md", None, "Trip\n"),
        ("Trip 2026-02-01 notes.md", None, "Trip notes\n"),
        ("202602011430 Trip.md", None, "Trip\n"),
        ("standup_20260201_1430_backend.md", None, "standup backend\n"),
        ("Rome-2026-02-01-tickets_2.md", None, "Rome tickets_2\n"),
        ("project-b.md", "Project B / Data", "Project B \u203a Data\n"),
        ("shop/MEMORY.md", None, ""),
        ("shop/README.md", "Mail", "Mail\n"),
        ("src/mail.py", None, ""),
        (None, "Log", "Log\n"),
        (5, None, ""),
    ],
)
def test_page_and_headings_stand_before_what_is_searched(file, heading, above):
    known = {name: value for name, value in (("file", file), ("heading", heading)) if value is not None}
    row = pl.DataFrame({"metadata": [json.dumps(known)], "content": ["T"], "index_text": [None]})
    assert row.select(whereabouts.searched()).item() == above + "T"


@pytest.mark.usefixtures("unpublished")
def test_an_imported_folder_stays_as_it_is_when_it_is_imported_again(tmp_path):
    with imported(tmp_path / "data", tmp_path / "notes", NOTES) as client:
        before = [(one.memory_id, one.content, one.created_at) for one in client.list(limit=100)]
        assert call("import", "markdown", tmp_path / "notes", home=tmp_path / "data").returncode == 0
        assert [(one.memory_id, one.content, one.created_at) for one in client.list(limit=100)] == before


@pytest.mark.parametrize(
    ("heading", "path"),
    [
        ("Shop / Mail", "Shop \u203a Mail"),
        ("Log / 2026-02-01", "Log"),
        ("2026-02-01", None),
        ("", None),
        ("Shop\n## system / Mail", "Shop ## system \u203a Mail"),
        ("x" * 200, "x" * 60),
        (None, None),
    ],
)
def test_headings_are_shown_on_one_line_without_dates(heading, path):
    assert whereabouts.shown_path({"heading": heading}) == path
    rows = pl.DataFrame({"metadata": [json.dumps({"heading": heading})], "text": ["T"]})
    assert rows.select(whereabouts.shown_below("text")).item() == whereabouts.below(path, "T")


SEA = "---\ntags: [a]\n---\n\n# Sea\n\n- [ ] Call Ida.\n- ![[map.png]]\n- [[Shop]]\n- Mail\n  - Port: 25\n"
KEPT = {"tasks.md": f"{SEA}- Web\n  - Port: 25\n", "more.md": SEA}


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_dream_removes_no_link_embed_task_list_parent_or_front_matter(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in KEPT.items():
        (folder / name).write_text(text)
    assert call("dream", folder, "--apply", home=tmp_path / "data").returncode == 0
    assert {name: (folder / name).read_text() for name in KEPT} == KEPT


HEADINGS = (
    None,
    "Services / Mail",
    "2026-03-01 / Services",
    "Services / 2026-03-01",
    "2026-03-01",
    "Log 2026-03-01 / Web",
    "  spaced \n out  /  ",
    "long " * 40 + " / short",
)


@pytest.mark.parametrize("heading", HEADINGS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"file": "notes/Services.md"},
        {"file": "2026-03-01 long-and-longer.MD", "project": " shop \n two "},
        {"file": "a/CLAUDE.md", "project": "shop"},
        {"file": "services-2026.markdown", "name": "n"},
        {"file": "whole.md", "name": "n", "description": "d", "project": ""},
        {"file": f"{'x' * 70}.md"},
        {"file": "standup_20260301_143000_backend - notes.md"},
        {"file": 5},
    ],
)
def test_page_and_headings_are_shown_alike_by_row_and_by_column(heading, more):
    metadata = more if heading is None else {"heading": heading, **more}
    row = pl.DataFrame({"metadata": [json.dumps(metadata)], "content": ["Port: 2525"]})
    shown = row.select(whereabouts.shown_below("content")).item()
    assert shown == whereabouts.below(whereabouts.shown_path(metadata), "Port: 2525")


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"file": "notes/Project B.md"}, "Project B"),
        ({"file": "Bergen.md", "heading": "Rent"}, "Bergen \u203a Rent"),
        ({"file": "project-b.md", "heading": "Project B / Data"}, "Project B \u203a Data"),
        ({"file": "Trip 2026-02-01 notes.md", "heading": "2026-02-01"}, "Trip notes"),
        ({"file": "journals/2026_02_01.md"}, None),
        ({"file": "-home-ana-shop/memory/MEMORY.md", "project": "shop"}, "shop"),
        ({"file": "role.md", "name": "role", "description": "What Ana does"}, None),
        ({"file": "src/mail.py"}, None),
    ],
)
def test_the_page_of_a_line_is_shown_unless_its_headings_begin_with_it(metadata, path):
    assert whereabouts.shown_path(metadata) == path


def test_what_is_dated_by_its_file_says_so_wherever_its_day_is_shown(tmp_path):
    with MemoryClient(tmp_path) as memory:
        stored = memory.remember("The rent is 840 a month.", metadata={whereabouts.DATED_BY: "file"})
        dated = memory.remember("The boat shed is locked.")
        shown = memory.recall("What is the rent?", k=1)
        assert (shown[0].undated, shown.text().endswith("The rent is 840 a month. (dated by its file)")) == (True, True)
        assert ["dated by its file" in str(memory.get(one)) for one in (stored, dated)] == [True, False]
        assert memory.remember(f"Earlier you told me:\n{shown.text()}") == stored
