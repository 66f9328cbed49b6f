"""`erase`: shown and asked first, done once, told in a receipt; what is refused changes nothing."""

import json
import os
import pty
import shutil
import subprocess

import polars as pl
import pytest
from commands import COMMAND, as_json, environment, refused, text
from waiting import PATIENCE

from memory_pipeline.lake.tables import Lake

OWN = ("-p", "sample-1")


@pytest.fixture(scope="module")
def made(consolidated, tmp_path_factory):
    """A home with two profiles, one night and a snapshot; one memory belongs to a person."""
    folder = shutil.copytree(consolidated, tmp_path_factory.mktemp("erase") / "data", symlinks=True)
    line = {
        "event_type": "memory.stored",
        "profile_id": "sample-1",
        "user_id": "dan",
        "memory_id": "d1",
        "payload": {"content": "Dan fears the gyroscope."},
    }
    (folder.parent / "dan.jsonl").write_text(json.dumps(line), "utf-8")
    text("import", "jsonl", folder.parent / "dan.jsonl", home=folder)
    return folder


@pytest.fixture
def home(made, tmp_path):
    shutil.copytree(made, tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def merged(home):
    """Id and text of a memory that a summary tells of."""
    with Lake(home) as lake:
        rows = lake.read("memories", profiles=["sample-1"]).filter(superseded_kind="summary").sort("memory_id")
    return rows.row(0, named=True)["memory_id"], rows.row(0, named=True)["content"]


def position(home):
    with Lake(home) as lake:
        return lake.ledger.position()


def test_a_memory_is_shown_then_erased_and_a_receipt_says_so(home, tmp_path):
    memory, content = merged(home)
    seen = as_json("erase", memory, *OWN, "--dry-run", home=home)
    assert (seen["profile_id"], seen["memories"]) == ("sample-1", [memory])
    assert seen["summaries"] >= 1
    shown = text("erase", memory, *OWN, "--dry-run", home=home)
    assert content in shown.replace("\n", " ")
    before = position(home)
    file = tmp_path / "receipt.json"
    done = as_json("erase", memory, *OWN, "--yes", "--reason", "asked by letter", "--receipt", file, home=home)
    assert done == json.loads(file.read_text("utf-8"))
    assert (done["erased"], done["reason"]) == ([memory], "asked by letter")
    assert done["remade"] or done["dropped"]
    assert position(home) > before
    assert memory in refused("get", memory, *OWN, home=home)
    assert content not in text("explain", memory, *OWN, home=home)
    assert memory not in [
        row["memory_id"] for row in as_json("recall", content, *OWN, "--deep", "--no-record", home=home)["recalled"]
    ]


@pytest.mark.drill
def test_a_receipt_can_be_read(home):
    said = text("erase", "d1", *OWN, "--yes", home=home)
    assert said.startswith("erased in profile sample-1 at ")
    assert "not covered:" in said
    again = text("erase", "d1", *OWN, home=home)
    assert "erased before: d1" in again


def test_merged_copies_are_previewed_and_confirmed_by_the_id_that_recall_shows(home):
    with Lake(home) as lake:
        made = lake.read("memories", profiles=["sample-1"]).filter(pl.col("members").list.len() > 1)
    memory, members = made.row(0, named=True)["memory_id"], sorted(made.row(0, named=True)["members"])
    assert sorted(as_json("erase", memory, *OWN, "--dry-run", home=home)["memories"]) == members
    said = refused("erase", memory, *OWN, home=home, status=2)
    assert said.startswith(f"this erases for good {len(members)} memories of profile sample-1")
    assert "'d9', which is unknown" in refused("erase", "d9", *OWN, "--dry-run", home=home)


@pytest.mark.drill
def test_a_person_and_a_profile(home):
    assert as_json("erase", "--user", "dan", *OWN, "--dry-run", home=home)["memories"] == ["d1"]
    assert as_json("erase", "--user", "dan", *OWN, "--yes", home=home)["erased"] == ["d1"]
    other = as_json("list", "-p", "sample-2", home=home)
    done = as_json("erase", *OWN, "--yes", home=home)
    assert len(done["erased"]) == 60
    assert "sample-1" in json.dumps(as_json("erase", *OWN, "--dry-run", home=home))
    assert as_json("erase", *OWN, "--dry-run", home=home)["memories"] == []
    assert as_json("list", "-p", "sample-2", home=home) == other


@pytest.mark.drill
@pytest.mark.parametrize(("answer", "status"), [("n", 1), pytest.param("y", 0, marks=pytest.mark.drill)])
def test_on_a_terminal_it_is_asked(home, answer, status):
    reader, writer = pty.openpty()
    try:
        asked = subprocess.Popen(
            [COMMAND, "--home", home, "erase", "d1", *OWN], stdin=writer, stdout=writer, stderr=writer,
            env=environment(TERM="dumb"),
        )  # fmt: skip
        shown = b""
        while b"Erase?" not in shown:
            shown += os.read(reader, 10_000)
        os.write(reader, f"{answer}\n".encode())
        assert asked.wait(PATIENCE) == status
    finally:
        os.close(reader)
        os.close(writer)
    assert b"gyroscope" in shown
    assert as_json("erase", "d1", *OWN, "--dry-run", home=home)["memories"] == ([] if answer == "y" else ["d1"])


@pytest.mark.parametrize(
    ("args", "status", "parts"),
    [
        ((), 2, ("nothing to erase", "MEMORY", "--user", "--profile")),
        (("d1", "--user", "dan"), 2, ("MEMORY and --user cannot be combined",)),
        (("d1", *OWN), 2, ("1 memory of profile sample-1", "--yes", "--dry-run")),
        (OWN, 2, ("61 memories of profile sample-1", "--yes")),
        (("d9", *OWN), 1, ("d9", "unknown in profile 'sample-1'")),
        (("--user", "dam", *OWN), 1, ("'dam' has no memory in profile 'sample-1'",)),
        (("-p", "sample-3"), 1, ("'sample-3' is unknown", "sample-")),
        (("d1", *OWN, "--yes", "--receipt", "/no/where.json"), 2, ("--receipt /no/where.json", "no folder /no")),
        (("d1", *OWN, "--yes", "--receipt", "/tmp"), 2, ("--receipt /tmp", "is a folder")),  # noqa: S108
    ],
)
def test_what_is_refused_changes_nothing(home, args, status, parts):
    before = position(home)
    said = refused("erase", *args, home=home, status=status)
    assert all(part in said for part in parts), said
    assert position(home) == before


def test_a_receipt_overwrites_nothing(home, tmp_path):
    (tmp_path / "mine.json").write_text("mine", "utf-8")
    said = refused("erase", "d1", *OWN, "--yes", "--receipt", tmp_path / "mine.json", home=home, status=2)
    assert "exists" in said
    assert (tmp_path / "mine.json").read_text("utf-8") == "mine"
    assert as_json("erase", "d1", *OWN, "--dry-run", home=home)["memories"] == ["d1"]
