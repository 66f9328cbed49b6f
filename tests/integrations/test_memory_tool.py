"""The memory tool of Claude against the SDK's own tool over a folder of files, on random scripts."""

import asyncio
import random
import shutil

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.anthropic import AsyncMemoryTool, MemoryTool

PATHS = tuple(
    f"/memories{path}"
    for path in ("", "/", "/a.md", "/b.md", "/notes", "/notes/a.md", "/notes/deep/b.md", "/notes/deep/x/y.md", "/.h.md")
)
ODD = ("/etc/passwd", "/memories/../x", "/memories/notes/../a.md", "/memories/a/../../memories2/x", "memories/a.md")
TEXTS = (
    "# Ana\n\n- likes tea\n- lives in Porto\n  since May\n\nThe launch is on 12 June.\nIt may move.\n\n## End\n",
    "one line",
    "",
    "\n\n",
    "1. first\n2. second\n2. second\n\nüber \t tabs \r\n",
    "x" * 1500 + "\n",
)
PIECES = ("tea", "- likes tea\n", "second", "\n", "Porto\n  since May", "nowhere", "# Ana\n", "x")


def chosen(chance):
    path = chance.choice(PATHS + ODD if chance.random() < 0.2 else PATHS)
    match chance.choice(
        ("view", "view", "create", "create", "str_replace", "str_replace", "insert", "delete", "rename")
    ):
        case "view":
            lines = chance.choice((None, [1, 2], [2, -1], [0, 3], [3, 99]))
            return {"command": "view", "path": path} | ({"view_range": lines} if lines else {})
        case "create":
            return {"command": "create", "path": path, "file_text": chance.choice(TEXTS)}
        case "str_replace":
            new = chance.choice(("coffee", "", "- new\n- items\n", "\n\n"))
            return {"command": "str_replace", "path": path, "old_str": chance.choice(PIECES), "new_str": new}
        case "insert":
            text = chance.choice(("- inserted", "a\nb\n", "## Heading\n\nwords"))
            return {"command": "insert", "path": path, "insert_line": chance.randint(-1, 6), "insert_text": text}
        case "delete":
            return {"command": "delete", "path": path}
        case "rename":
            return {"command": "rename", "old_path": path, "new_path": chance.choice(PATHS + ODD)}


def said(tool, command):
    """Return what a tool answers, or that it refuses; their refusals of odd paths come from the file system."""
    try:
        answer = tool.call(command)
    except (ToolError, OSError) as error:
        return f"refused: {error}" if isinstance(error, ToolError) else "refused"
    lines = answer.split("\n")
    folders = {number for number, line in enumerate(lines) if line.endswith("/") or number == 1}
    listing = lines[0].startswith("Here're")
    return "\n".join(
        line.partition("\t")[2] if listing and number in folders else line for number, line in enumerate(lines)
    )


def on_disk(root):
    return {
        f"/memories/{path.relative_to(root)}": path.read_bytes().decode() for path in root.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("seed", range(4))
def test_it_answers_as_the_tool_of_the_sdk_does(tmp_path, seed):
    chance, theirs = random.Random(seed), BetaLocalFilesystemMemoryTool(str(tmp_path / "files"))
    root = tmp_path / "files" / "memories"
    with MemoryClient(tmp_path / "data") as memory:
        ours = MemoryTool(memory)
        for _ in range(40):
            command = chosen(chance)
            told, expected = said(ours, command), said(theirs, command)
            assert told == expected or {told[:7], expected[:7]} == {"refused"}, command
            for folder in sorted(root.rglob("*"), reverse=True):
                if folder.is_dir() and not any(folder.iterdir()):
                    shutil.rmtree(folder)  # ours are what paths imply
            assert ours.folder.files() == on_disk(root)


@pytest.fixture
def memory(tmp_path):
    with MemoryClient(tmp_path) as client:
        yield client


def call(tool, command, path, **rest):
    return tool.call({"command": command, "path": path, **rest})


def test_an_edit_changes_the_memories_of_the_lines_it_touches(memory):
    tool, path = MemoryTool(memory), "/memories/ana.md"
    call(tool, "create", path, file_text="# Ana\n- likes tea\n- lives in Porto\n")
    before = {row.content: row.memory_id for row in memory.list()}
    assert set(before) == {"likes tea", "lives in Porto"}
    call(tool, "str_replace", path, old_str="Porto", new_str="Lisbon")
    call(tool, "insert", path, insert_line=2, insert_text="- plays chess")
    after = {row.content: row for row in memory.list()}
    assert set(after) == {"likes tea", "lives in Lisbon", "plays chess"}
    assert after["likes tea"].memory_id == before["likes tea"]
    assert after["lives in Lisbon"].memory_id == before["lives in Porto"]
    assert all(row.tags == (path,) for row in after.values())
    call(tool, "delete", path)
    assert all(row.valid_until for row in memory.list(deep=True))
    assert not [hit for hit in memory.recall("Where does Ana live?") if hit.current is not False]


def test_a_run_leaves_the_files_and_what_stands_in_each_of_them(memory):
    tool = MemoryTool(memory)
    for name in ("a", "b"):
        call(tool, "create", f"/memories/{name}.md", file_text="- Ana is allergic to peanuts.\n")
    memory.consolidate()
    for name in ("a", "b"):
        assert call(tool, "view", f"/memories/{name}.md").endswith("     1\t- Ana is allergic to peanuts.\n     2\t")
    assert len(memory.recall("What is Ana allergic to?")) == 2
    for name in ("a", "b"):
        call(tool, "delete", f"/memories/{name}.md")
    assert not [hit for hit in memory.recall("What is Ana allergic to?") if hit.current is not False]


@pytest.mark.parametrize("command", ["view", "create", "delete"])
def test_a_path_that_leaves_the_folder_is_refused(memory, command):
    for path in (
        "/memories/../secret",
        "/memories/a/../../b",
        "/memoriesx/a",
        "/",
        "",
        "/memories/a\\..\\b",
        "/memories/a\x00b",
        f"/memories/{'x' * 300}",
    ):
        with pytest.raises(ToolError):
            call(MemoryTool(memory), command, path, file_text="x")
        assert memory.list() == [], path


def test_many_insertions_at_one_place_keep_their_order(memory):
    tool, path, lines = MemoryTool(memory), "/memories/a.md", ["- first", "- last"]
    call(tool, "create", path, file_text="- first\n- last\n")
    for number in range(30):
        lines.insert(1, f"- number {number}")
        call(tool, "insert", path, insert_line=1, insert_text=lines[1])
    assert tool.folder.files() == {path: "\n".join(lines) + "\n"}


def test_the_asynchronous_tool_does_the_same(memory):
    async def work():
        tool = AsyncMemoryTool(memory)
        texts = (call(tool, "create", f"/memories/{number}.md", file_text=f"- note {number}") for number in range(3))
        await asyncio.gather(*texts)
        return await call(tool, "view", "/memories"), tool.to_dict()

    listing, offered = asyncio.run(work())
    assert listing.count(".md") == 3
    assert offered == {"type": "memory_20250818", "name": "memory"}


@pytest.mark.parametrize("text", ["- fine\n- " + "long " * 30_000, "word" * 40_000, "- item\n" * 10_001, "half \ud800"])
def test_what_cannot_be_stored_is_said_in_words_of_the_file(memory, text):
    with pytest.raises(ToolError) as error:
        call(MemoryTool(memory), "create", "/memories/a.md", file_text=text)
    assert "rows" not in str(error.value)
    assert "payload" not in str(error.value)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"command": "create", "path": "/memories/b.md"}, "file_text"),
        ({"command": "create", "path": None, "file_text": "x"}, "path"),
        ({"command": "create", "path": "/memories/b\ud800.md", "file_text": "x"}, "surrogate"),
        ({"command": "insert", "path": "/memories/a.md", "insert_line": "end", "insert_text": "x"}, "insert_line"),
        ({"command": "view", "path": "/memories/a.md", "view_range": ["a", 2]}, "view_range"),
        ({"command": "view", "path": "/memories/a.md", "view_range": [3, 1]}, "view_range"),
        ({"command": "view", "path": "/memories/a.md", "view_range": [2, -2]}, "view_range"),
        ({"command": "str_replace", "path": "/memories/a.md", "old_str": "", "new_str": "x"}, "old_str is empty"),
    ],
)
def test_arguments_that_make_no_sense_are_named(memory, command, said):
    tool = MemoryTool(memory)
    call(tool, "create", "/memories/a.md", file_text="- one\n- two\n- three\n")
    with pytest.raises(ToolError, match=said):
        tool.call(command)
    assert [*tool.folder.files()] == ["/memories/a.md"]


def test_a_path_is_the_same_in_both_forms_of_its_accents(memory):
    tool, composed, apart = (
        MemoryTool(memory),
        "/memories/caf\u00e9/na\u00efve.md",
        "/memories/cafe\u0301/nai\u0308ve.md",
    )
    call(tool, "create", apart, file_text="- plums\n")
    assert "plums" in call(tool, "view", composed)
    with pytest.raises(ToolError, match="already exists"):
        call(tool, "create", composed, file_text="- pears\n")
    call(tool, "str_replace", apart, old_str="plums", new_str="figs")
    assert tool.folder.files() == {composed: "- figs\n"}
    call(tool, "delete", "/memories/cafe\u0301")
    assert tool.folder.files() == {}
