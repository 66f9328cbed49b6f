"""Whatever goes wrong is one line that names field, value and remedy, with exit status 1 or 2, and changes nothing."""

import json
import os
import shutil
import sqlite3
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest
from commands import NIGHT, as_json, call, process, refused

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.tables import SCHEMA
from memory_pipeline.runs import status
from memory_pipeline.service import cli
from memory_pipeline.settings.extras import pip_install


@pytest.fixture(scope="module")
def home(consolidated, tmp_path_factory):
    """A home with one run, made without Dagster."""
    return shutil.copytree(consolidated, tmp_path_factory.mktemp("home") / "data", symlinks=True)


@pytest.fixture
def copy(home, tmp_path):
    shutil.copytree(home, tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def test_an_undo_whose_snapshot_cannot_be_written_says_that_it_stands(copy):
    with Lake(copy) as lake:
        run_id = lake.ledger.runs()["run_id"][0]
    shutil.rmtree(copy / "snapshots", ignore_errors=True)
    (copy / "snapshots").write_text("in the way", "utf-8")
    said = refused("undo", run_id, home=copy)
    assert "the undo is committed, only its snapshot is missing (" in said
    assert "doctor --repair" in said
    with Lake(copy) as lake:
        assert lake.ledger.runs()["outcome"].unique().to_list() == ["reverted"]


def test_what_is_missing_is_named_as_it_can_be_installed():
    for extra in metadata("memory-pipeline").get_all("Provides-Extra"):
        first, second, *packages = pip_install(extra).split(" ")
        assert (first, second, bool(packages)) == ("pip", "install", True), extra
    for source in Path(cli.__file__).parent.parent.rglob("*.py"):
        text = source.read_text("utf-8")
        assert "memory-pipeline[" not in text, source
        assert "install memory-pipeline" not in text, source


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("frobnicate", ("No such command 'frobnicate'", "see memory-pipeline --help")),
        ("consolidat", ("Did you mean 'consolidate'?",)),
        ("status --jsn", ("No such option", "--jsn", "--json")),
        ("import jsonl", ("Missing argument 'PATH...'", "see memory-pipeline import jsonl --help")),
        ("remember", ("Missing argument 'TEXT'",)),
        ("--home", ("'--home' requires an argument",)),
        ("consolidate --task fly", ("--task", "'decay', 'creative', 'cluster', 'forget', 'promote'", "given: fly")),
        ("consolidate --scope some", ("--scope", "scope is 'some'; give one of all, recent, user:NAME")),
        ("consolidate --max-archived-share 7", ("--max-archived-share", "less than or equal to 1", "given: 7")),
        ("consolidate --task decay --lightweight", ("--lightweight and --task cannot be combined",)),
        ("consolidate --out plan.json", ("--out needs --dry-run",)),
        ("consolidate --dry-run --out /no/where/plan.json", ("--out /no/where/plan.json", "no folder /no/where")),
        ("consolidate --as-of now --json", ("--as-of 'now' is not an instant",)),
        ("consolidate --as-of yesterday", ("--as-of 'yesterday' is not an instant", "2026-03-01T02:00:00Z")),
        ("explain m --as-of 2026-13-01", ("--as-of '2026-13-01' is not an instant",)),
        ("snapshot open --as-of 0001-01-01T00:00+14:00", ("is not an instant",)),
        ("remember x -p ana --importance 3", ("importance is 3.0", "a number from 0 to 1")),
        ("remember x -p ana --importance much", ("--importance", "valid number", "given: much")),
    ],
)
def test_a_wrong_command_line(home, line, parts):
    said = refused(*line.split(), status=2) if line == "--home" else refused(*line.split(), home=home, status=2)
    assert all(part in said for part in parts), said


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("status -p sample-3", ("profile 'sample-3' has no memory", "`memory-pipeline profiles` lists them")),
        ("consolidate -p sample-3", ("profile 'sample-3' has no memory", "`memory-pipeline profiles` lists them")),
        ("explain nothing", ("memory 'nothing' is unknown",)),
        ("explain nothing -p sample-3", ("profile 'sample-3' has no memory",)),
        ("undo nothing", ("'nothing'", "`status` and `explain` list them")),
        ("consolidate --preset automen", ("preset 'automen' is unknown", "did you mean 'automem'?")),
        ("config show --preset automen", ("did you mean 'automem'?",)),
        ("consolidate --as-of 2026-01-05", ("2026-01-05",)),
        ("snapshot open --as-of 1999-01-01", ("no memory had been stored by 1999-01-01",)),
        ("import jsonl no.jsonl", ("no.jsonl: cannot be read (No such file or directory)",)),
        ("import locomo no.json", ("no.json: cannot be read",)),
        ("apply no.json", ("no.json: cannot be read", "memory-pipeline consolidate --dry-run --out no.json")),
        ("check --run nothing", ("run 'nothing' is unknown",)),
    ],
)
def test_what_is_not_there(home, line, parts):
    said = refused(*line.split(), home=home)
    assert all(part in said for part in parts), said


@pytest.mark.parametrize("line", ["status", "consolidate", "explain m", "undo m", "snapshot list", "check", "profiles"])
def test_a_home_without_memories_is_not_made_by_looking(tmp_path, line):
    assert "no memories in" in refused(*line.split(), home=tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_files_of_another_layout(home, tmp_path):
    (tmp_path / "lines.jsonl").write_text('{"a": 1}\n{"a": 2}\n', "utf-8")
    (tmp_path / "list.json").write_text('[\n{"a": 1}\n]', "utf-8")
    (tmp_path / "other.json").write_text('{"a": 1}', "utf-8")
    assert "is not JSON in UTF-8" in refused("import", "locomo", tmp_path / "lines.jsonl", home=home)
    assert "LoCoMo layout" in refused("import", "locomo", tmp_path / "other.json", home=home)
    assert "other.json" in refused("import", "beam", tmp_path / "other.json", home=home)
    assert "is a JSON array" in refused("import", "jsonl", tmp_path / "list.json", home=home)


def test_one_file_that_cannot_be_read_keeps_all_out(tmp_path):
    (tmp_path / "good.jsonl").write_text('{"event_type":"memory.stored","payload":{"content":"x"}}\n', "utf-8")
    refused("import", "jsonl", tmp_path / "good.jsonl", tmp_path / "no.jsonl", home=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_settings_that_are_unknown_or_out_of_range(copy):
    for variables, part in (
        ({"MEMORY_PIPELINE_ARCHIV_THRESHOLD": "1"}, "did you mean 'MEMORY_PIPELINE_ARCHIVE_THRESHOLD'?"),
        ({"CONSOLIDATION_GRACE_PERIOD": "1"}, "did you mean 'CONSOLIDATION_GRACE_PERIOD_DAYS'?"),
        ({"MEMORY_PIPELINE_ARCHIVE_THRESHOLD": "2"}, "policy.archive_threshold = '2'"),
    ):
        assert part in refused("status", home=copy, **variables)
    (copy / "memory_pipeline.toml").write_text("[policy]\nlinkge = 'single'\n", "utf-8")
    assert "did you mean 'linkage'?" in refused("status", home=copy)
    assert "did you mean 'linkage'?" in refused("remember", "x", home=copy)


@pytest.fixture(scope="module")
def plan(home, tmp_path_factory):
    """A plan for that home, as its file and what it says."""
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    options = ("--dry-run", "--as-of", "2026-05-03", "--preset", "three_tier", "--out", file)
    return file, as_json("consolidate", *options, home=home)


@pytest.mark.drill
@pytest.mark.usefixtures("uncollected")
def test_a_plan_that_was_edited_or_is_none(copy, plan, tmp_path):
    file, document = tmp_path / "plan.json", dict(plan[1])
    assert document["plan"]
    document["plan"] = document["plan"][1:]
    file.write_text(json.dumps(document), "utf-8")
    assert "the plan was changed since it was written" in refused("apply", file, home=copy)
    for text, part in (("{}", "plan@1"), ("[]", "plan@1"), ("plan", "is not JSON"), ("[" * 9_999, "is not JSON")):
        file.write_text(text, "utf-8")
        assert part in refused("apply", file, home=copy)


@pytest.mark.drill
def test_a_plan_of_other_settings_is_refused(copy, plan):
    (copy / "memory_pipeline.toml").write_text("[policy]\nduplicate_similarity = 0.9\n", "utf-8")
    assert "the policy of profile 'sample-1' has changed since the plan was made" in refused(
        "apply", plan[0], home=copy
    )


def test_a_home_that_cannot_be_made_or_written(tmp_path):
    (tmp_path / "file").write_text("x", "utf-8")
    for line in ("init", "remember x", "status", "config show", "config set seed 1", "doctor", "token list"):
        for home in (tmp_path / "file", tmp_path / "file" / "data"):
            said = refused(*line.split(), home=home)
            assert f"{tmp_path / 'file'} is a file; choose another folder with --home" in said
    if os.geteuid():
        (tmp_path / "shut").mkdir(mode=0o500)
        assert "writable" in refused("remember", "x", home=tmp_path / "shut" / "data")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a file system in which nobody can write")
@pytest.mark.parametrize("line", ["init", "remember x", "config set seed 1", "token create --role admin", "serve"])
@pytest.mark.parametrize("home", ["/proc", "/proc/data"])
def test_a_home_in_which_nobody_can_write_is_found_out_at_once(line, home):
    said = refused(*line.split(), home=home)
    assert f"data folder {home} (--home): cannot be written" in said
    assert "choose another folder" in said


def test_a_ledger_of_a_newer_version(copy):
    with sqlite3.connect(copy / "ledger.sqlite") as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    connection.close()
    for line in ("status", "remember x", "undo x"):
        assert f"version 99, this program reads up to {SCHEMA}; upgrade memory-pipeline" in refused(
            *line.split(), home=copy
        )


@pytest.mark.parametrize("damage", ["garbage", "pages"])
def test_a_damaged_ledger(copy, damage):
    file = copy / "ledger.sqlite"
    whole = file.read_bytes()
    file.write_bytes(b"no ledger at all" * 100 if damage == "garbage" else whole[:8192] + b"\xff" * (len(whole) - 8192))
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    for line in ("status", "remember x"):
        assert "replace ledger.sqlite with a backup" in refused(*line.split(), home=copy)


def test_a_damaged_or_missing_file_of_the_lake(copy):
    file = next(copy.glob("lake/memories/*.parquet"))
    file.write_bytes(file.read_bytes()[:100])
    assert "`memory-pipeline doctor` says which" in refused("status", home=copy)
    file.unlink()
    assert "`memory-pipeline doctor` says which" in refused("status", home=copy)


def test_an_export_overwrites_nothing(copy, tmp_path):
    (tmp_path / "there.duckdb").write_text("mine", "utf-8")
    assert "exists" in refused("snapshot", "--export", tmp_path / "there.duckdb", home=copy, status=2)
    assert (tmp_path / "there.duckdb").read_text("utf-8") == "mine"


def test_a_refused_export_makes_no_folders(copy, tmp_path):
    said = refused("snapshot", "--export", tmp_path / "no" / "where" / "all.duckdb", home=copy, status=2)
    assert f"there is no folder {tmp_path / 'no' / 'where'}; create it" in said
    assert not (tmp_path / "no").exists()


def test_names_are_not_read_as_markup(home):
    assert "[/red]" in refused("status", "-p", "[/red]", home=home)
    assert "[bold]" in refused("import", "jsonl", "[bold].jsonl", home=home)


@pytest.mark.drill
def test_errors_of_a_process_go_to_standard_error(home):
    assert "nothing" in refused("undo", "nothing", "--json", home=home, run=process)


def test_a_fault_of_our_own_is_one_line_too(home, monkeypatch):
    def fault(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr(status, "summary", fault)
    assert refused("status", home=home) == "KeyError: 'lost': a bug in memory-pipeline; PYTHONDEVMODE=1 shows where"
    if not sys.flags.dev_mode:
        assert "Traceback" not in call("status", home=home).stderr
    assert cli.INTERRUPTED == 130
    assert NIGHT.endswith("Z")
