"""Equal lines under two headings, or in two files, are two facts: no run takes one of them away."""

import pytest
from commands import call

from memory_pipeline import MemoryClient

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


@pytest.mark.usefixtures("unpublished")
def test_equal_lines_in_one_place_are_one(tmp_path):
    line = "- The till of the shop is by the door.\n"
    with imported(tmp_path / "data", tmp_path / "notes", {"shop.md": f"# Shop\n\n{line}{line}"}) as client:
        assert "supersede" in set(client.consolidate().plan["action"])
