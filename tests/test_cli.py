"""Every command as a user runs it: real processes of the installed command, one home shared by what only reads."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from itertools import chain
from pathlib import Path

import duckdb
import json_page
import pytest
import sample
import typer.cli
from commands import COMMAND, NIGHT, as_json, call, environment, refused, text
from typer.testing import CliRunner
from waiting import PATIENCE, until

from memory_pipeline.consolidation.plans import plan_document, telling
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import Event
from memory_pipeline.service.commands import app

DOCS = Path(__file__).parent.parent / "docs"


LOADED = """
import sys
from memory_pipeline.service.cli import main
for asked in sys.argv[1:]:
    sys.argv = ["memory-pipeline", *asked.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code
print(*sys.modules)
"""
SLOW = {"polars", "numpy", "duckdb", "dagster", "sqlalchemy", "rich", "memory_pipeline.settings"}


def test_what_needs_no_store_imports_nothing_slow():
    asked = ["--version", "--help", "consolidate --help", "mcp install --help"]
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *asked],
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        timeout=PATIENCE,
        check=True,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "memory_pipeline.service.cli" in loaded
    assert loaded & SLOW == set()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    file = tmp_path_factory.mktemp("source") / "sample.jsonl"
    sample.write(file, profiles=2, memories=40, days=100, seed=3)
    return file


@pytest.fixture(scope="module")
def fresh(source, tmp_path_factory):
    """A home into which events were imported; nothing has run yet."""
    home = tmp_path_factory.mktemp("fresh") / "data"
    text("init", home=home)
    text("import", "jsonl", source, home=home)
    return home


@pytest.fixture(scope="module")
def plan(fresh, tmp_path_factory):
    """What a dry run of the fresh home writes into a file: the document, the file, and what was shown."""
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    before = contents(fresh)
    shown = text("consolidate", "--dry-run", "--as-of", NIGHT, "--out", file, home=fresh)
    assert contents(fresh) == before
    return json.loads(file.read_text("utf-8")), file, shown


@pytest.fixture(scope="module")
def night(fresh, plan, tmp_path_factory):
    """A home after one nightly run, which applied the plan, and what the run said."""
    home = tmp_path_factory.mktemp("night") / "data"
    shutil.copytree(fresh, home)
    return home, as_json("apply", plan[1], home=home)


@pytest.fixture
def copy(night, tmp_path):
    shutil.copytree(night[0], tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def contents(home):
    """Every file of a home that a plan could have changed."""
    kept = (path for path in home.rglob("*") if path.is_file() and path.suffix not in {".lock", ".sqlite-shm"})
    return {path.relative_to(home): path.read_bytes() for path in kept if not path.name.endswith("-wal")}


def decisions(run):
    return sum(sum(row["actions"].values()) for row in run["profiles"])


def test_what_was_imported_before_is_not_taken_again(fresh, source, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"event_type": "memory.stored"}\n', "utf-8")
    found = as_json("import", "jsonl", source, tmp_path / "bad.jsonl", "--allow-refused", home=fresh)
    lines = source.read_text("utf-8").splitlines()
    events, profiles = len(lines), sorted({json.loads(line)["profile_id"] for line in lines})
    assert found[str(source)] == {
        "accepted": 0,
        "memories": 0,
        "duplicates": events,
        "dead_letters": 0,
        "profiles": profiles,
        "refused": [],
        "skipped": {},
        "noticed": {},
    }
    bad = found[str(tmp_path / "bad.jsonl")]
    assert (bad["accepted"], bad["duplicates"], bad["dead_letters"], bad["profiles"]) == (0, 0, 1, [])
    assert bad["refused"] == [{"origin": "bad.jsonl:1", "reason": bad["refused"][0]["reason"]}]


def test_a_refused_line_is_named_and_ends_an_import_with_1(fresh, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"event_type": "memory.stored"}\n', "utf-8")
    for args, status in (((), 1), (("--json",), 1), (("--allow-refused",), 0)):
        done = call("import", "jsonl", tmp_path / "bad.jsonl", *args, home=fresh)
        assert (done.returncode, done.stderr) == (status, "")
    assert "refused: bad.jsonl:1: payload.content is missing" in done.stdout
    assert "dead-letters list" in done.stdout


def test_refused_events_are_listed_corrected_sent_again_and_purged(tmp_path):
    good = {"event_type": "memory.stored", "profile_id": "p", "payload": {"content": "The hose is new."}}
    wrong = json.dumps(good | {"payload": {"content": 7, "source": "a\u2028b\x85c"}}, ensure_ascii=False)
    bad = [wrong, "not JSON", json.dumps(good | {"event_type": "x"})]
    (tmp_path / "bad.jsonl").write_bytes("\n".join([*bad, ""]).encode() + b"\xff\n")
    home, out = tmp_path / "data", tmp_path / "out.jsonl"
    assert call("import", "jsonl", tmp_path / "bad.jsonl", home=home).returncode == 1
    listed = as_json("dead-letters", "list", home=home)
    assert {row["origin"] for row in listed} == {f"bad.jsonl:{line}" for line in (1, 2, 3, 4)}
    assert "give a text" in text("dead-letters", "list", home=home, COLUMNS="400")
    again = call("dead-letters", "requeue", "--json", home=home)
    assert (again.returncode, json.loads(again.stdout)["accepted"]) == (1, 0)
    assert "requeue" in text("dead-letters", "export", out, home=home)
    assert json.loads(call("dead-letters", "requeue", out, "--json", home=home).stdout)["refused"] == 4, (
        "read as written"
    )
    letters = [json.loads(line) for line in out.read_text("utf-8").split("\n")[:-1]]
    assert next(letter for letter in letters if "raw_base64" in letter)["origin"] == "bad.jsonl:4"
    (first,) = (letter for letter in letters if letter["origin"] == "bad.jsonl:1")
    out.write_text(json.dumps(first | {"raw": json.dumps(good)}) + "\n", "utf-8")
    assert as_json("dead-letters", "requeue", out, home=home) == {"accepted": 1, "refused": 0, "reasons": []}
    assert as_json("dead-letters", "requeue", out, home=home)["accepted"] == 1, "sent twice, stored once"
    assert as_json("status", home=home)["profiles"][0]["memories"] == 1
    updates = [
        {"event_type": "memory.updated", "profile_id": "p", "memory_id": "h", "payload": payload}
        for payload in ({"content": "The hose is old."}, {"importance": 0.7})
    ]
    split = [good | {"memory_id": "h"}, *updates]
    out.write_text("".join(json.dumps(first | {"raw": json.dumps(one)}) + "\n" for one in split), "utf-8")
    assert as_json("dead-letters", "requeue", out, home=home)["accepted"] == 3
    hose = as_json("get", "h", home=home)
    assert (hose["content"], hose["importance"]) == ("The hose is old.", 0.7), "a letter split into several events"
    left = as_json("dead-letters", "list", home=home)
    assert len(left) == 3
    assert as_json("dead-letters", "purge", left[0]["letter_id"][:12], home=home) == {"purged": 1}
    assert "give the ids of letters, or --all" in refused("dead-letters", "purge", status=2, home=home)
    assert "no refused event has the id 'zz'" in refused("dead-letters", "purge", "zz", home=home)
    assert as_json("dead-letters", "purge", "--all", home=home) == {"purged": 2}
    assert "no event was refused" in text("dead-letters", "list", home=home)
    out.write_text("{}\n", "utf-8")
    assert "out.jsonl:1: is not a dead letter" in refused("dead-letters", "requeue", out, home=home)


def test_conversations_are_imported_as_profiles(tmp_path):
    turns = [{"dia_id": f"D1:{n}", "speaker": "Ana", "text": f"We sowed {n} rows of carrots."} for n in range(3)]
    locomo = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns}
    (tmp_path / "talk.json").write_text(json.dumps(locomo), "utf-8")
    assert (
        as_json("import", "locomo", tmp_path / "talk.json", home=tmp_path)[str(tmp_path / "talk.json")]["accepted"] == 5
    )
    profiles = as_json("status", home=tmp_path)["profiles"]
    assert [(row["profile_id"], row["memories"], row["live"]) for row in profiles] == [("locomo-talk", 3, None)]
    printed = text("import", "locomo", tmp_path / "talk.json", home=tmp_path)
    assert "profile: locomo-talk" in printed
    assert "next: memory-pipeline --home" in printed
    assert "recall QUESTION --profile locomo-talk" in printed


@pytest.mark.drill
def test_progress_shows_on_a_terminal(source, tmp_path):
    reader, writer = pty.openpty()
    done = subprocess.run(
        [COMMAND, "--home", tmp_path, "import", "jsonl", source],
        stdout=subprocess.PIPE,
        stderr=writer,
        env=environment(TERM="xterm"),
        check=True,
    )
    os.close(writer)
    shown = os.read(reader, 100_000).decode()
    os.close(reader)
    assert "sample.jsonl" in shown
    assert "events" in shown
    assert b"memories" in done.stdout
    assert b"other events" in done.stdout


def test_home_may_stand_anywhere_and_in_the_environment(tmp_path, monkeypatch):
    folders = [tmp_path / name for name in ("before", "equals", "after", "variable", "data")]
    text("--home", folders[0], "remember", "one")
    text(f"--home={folders[1]}", "remember", "one")
    text("remember", "one", "--home", folders[2])
    text("remember", "one", MEMORY_PIPELINE_HOME=str(folders[3]))
    monkeypatch.chdir(tmp_path)
    text("remember", "one")
    assert [as_json("status", home=folder)["profiles"][0]["memories"] for folder in folders] == [1] * 5
    assert "remembered" in text("remember", "--", "--home", home=folders[0])


def test_a_dry_run_writes_nothing_and_shows_the_plan(plan):
    document, _, shown = plan
    assert {decision["profile_id"] for decision in document["plan"]} == {"sample-1", "sample-2"}
    assert "Nothing was written" in shown
    changes = plan_document.changes(document)
    assert set(chain.from_iterable(changes["decision_ids"])) == {
        decision["decision_id"] for decision in document["plan"]
    }
    headlines = telling.headlines(changes)
    assert {"merged", "summarised"} & set(headlines["group"])
    for profile_id, group, _, headline in headlines.iter_rows():
        quiet = group in telling.QUIET
        assert (f"\n  {headline}\n" in shown) is not quiet
        assert (f"\n{headline} ({profile_id})\n" in shown) is not quiet
        assert not quiet or re.search(f"\n  behind the scenes: .*{re.escape(headline)}", shown)


def test_a_plan_is_applied_exactly_and_once(plan, night, copy):
    document, file, _ = plan
    home, run = night
    with Lake(home) as lake:
        made = {row["decision_id"] for row in lake.ledger.decisions().to_dicts()}
    assert made == {row["decision_id"] for row in document["plan"]}
    assert decisions(run) == len(document["plan"])
    assert "has changed since the plan was made; plan again" in refused("apply", file, home=copy)


@pytest.mark.drill
def test_a_plan_of_another_preset_is_applied_under_that_preset(fresh, tmp_path):
    shutil.copytree(fresh, tmp_path / "data")
    file = tmp_path / "plan.json"
    planned = as_json("consolidate", "--dry-run", "--as-of", NIGHT, "--preset", "automem", "--out", file, home=fresh)
    assert {row["preset"] for row in planned["profiles"]} == {"automem"}
    run = as_json("apply", file, home=tmp_path / "data")
    assert {row["preset"] for row in run["profiles"]} == {"automem"}
    assert decisions(run) == len(planned["plan"])
    assert {row["policy_hash"] for row in run["profiles"]} == {row["policy_hash"] for row in planned["profiles"]}


@pytest.mark.drill
def test_presets_are_compared_without_a_trace(copy):
    text("status", home=copy)  # the first to open a copy notes its place
    before = contents(copy)
    chosen = ("--preset", "superlocal", "--preset", "three_tier", "--nights", "2", "--as-of", NIGHT)
    shown = text("compare-presets", *chosen, home=copy)
    assert contents(copy) == before
    json_page.agrees({"compare-presets": [as_json("compare-presets", *chosen, home=copy)]})
    assert "superlocal" in shown
    assert re.search(r"expired +0 +[1-9]", shown), "only energy lets memories expire"
    wrong = call("compare-presets", "--preset", "superlocul", home=copy)
    assert (wrong.returncode, "did you mean 'superlocal'?" in wrong.stderr) == (1, True)


@pytest.mark.drill
def test_only_the_profile_that_is_named_takes_part(copy):
    run = as_json("consolidate", "-p", "sample-2", "--as-of", "2026-05-03", "--lightweight", home=copy)
    assert [(row["profile_id"], row["task"]) for row in run["profiles"]] == [("sample-2", "lightweight")]


@pytest.mark.drill
@pytest.mark.parametrize("task", ["cluster", "decay", "creative", "forget", "promote"])
def test_a_task_decides_only_its_own(fresh, task):
    own = {
        "decay": {"prune", "expire"},
        "creative": {"link", "close"},
        "cluster": {"summarise", "supersede"},
        "forget": set(),
        "promote": {"promote"},
    }[task]
    document = as_json("consolidate", "--task", task, "--dry-run", "--as-of", NIGHT, home=fresh)
    assert {row["task"] for row in document["profiles"]} == {task}
    assert {decision["action"] for decision in document["plan"]} <= own


@pytest.fixture(scope="module")
def reported(fresh, tmp_path_factory):
    """A home with a text of markup in a profile of its own, what remembering it said, and a night's report."""
    home = tmp_path_factory.mktemp("reported") / "data"
    shutil.copytree(fresh, home)
    options = ("-p", "ana", "--type", "decision", "--importance", "0.9", "--protect", "--occurred-at", "2026-05-01")
    remembered = as_json("remember", MARKUP, *options, home=home)
    return home, remembered, text("consolidate", "--as-of", NIGHT, home=home)


MARKUP = "The [bold]tag[/] is no markup, café at 7 €"


@pytest.mark.drill
def test_a_remembered_text_is_there_word_for_word(reported):
    home, found, _ = reported
    memory = as_json("explain", found["memory_id"], "-p", "ana", home=home)
    assert memory["memory"]["content"] == MARKUP
    assert memory["protection_reason"] == "explicitly protected"
    assert MARKUP in text("explain", found["memory_id"], "-p", "ana", home=home)


@pytest.mark.drill
def test_the_report_says_what_was_found_merged_kept_apart_and_kept(reported):
    home, _, shown = reported
    assert "Consolidated 3 profiles as of 2026-05-02 02:00 UTC" in shown
    for part in ("protected from forgetting:", "kept apart:", "undo the run:", "undo one of these:"):
        assert part in shown
    assert re.search(r"\n\d+ repeats -> \d+ \(.+\)\n(  [-+] \[.+\] .+\n)+    .+\n    [0-9a-f]{8} ", shown)
    assert f"all of it for SQL: {home / 'snapshots' / 'memories.duckdb'}" in shown
    commands = [shlex.split(told)[1:] for told in re.findall(r": (memory-pipeline .+)", shown)]
    assert [args[2] for args in commands] == ["undo", "undo"]
    for args in commands:
        assert args[:2] == ["--home", str(home)]
        assert call(*args).returncode == 0
    assert max(len(line) for line in shown.splitlines() if line.startswith(" sample")) <= 80


@pytest.mark.drill
def test_a_quota_holds_back_and_can_be_released_for_one_run(copy):
    (copy / "memory_pipeline.toml").write_text(
        "[profiles.sample-1]\narchive_threshold = 1.0\ngrace_period_days = 0\nprotected_importance = ''\n"
        "protected_types = []\nprotect_flagged = false\nprotected_causes = ''\n",
        "utf-8",
    )
    alone = text("consolidate", "--profile", "sample-1", "--as-of", "2026-05-04", home=copy)
    assert "held back: sample-1" in alone
    assert "undo the run" not in alone
    assert call("check", home=copy).returncode == 1
    run = as_json("consolidate", "--as-of", "2026-05-05", "--max-archived-share", "1", home=copy)
    assert [row["outcome"] for row in run["profiles"]] == ["committed", "committed"]
    assert run["profiles"][0]["actions"]["archive"] > 20


def test_status_tells_what_ran_and_what_is_due(night):
    home, run = night
    found = as_json("status", home=home)
    assert [row["last_as_of"] for row in found["profiles"]] == ["2026-05-02T02:00:00+00:00"] * 2
    assert [row["memories"] for row in found["profiles"]] == [40, 40]
    assert all(
        found[f"last_{task}"] == "2026-05-02T02:00:00+00:00" for task in ("decay", "creative", "cluster", "forget")
    )
    assert {row["next_due"][10:] for row in found["tasks"]} == {"T02:00:00+00:00"}
    assert {row["run_id"] for row in found["history"]} == {run["run_id"]}
    assert found["waiting_seconds"] == 0
    only = as_json("status", "-p", "sample-1", home=home)
    assert [row["profile_id"] for row in only["profiles"]] == ["sample-1"]
    assert {row["profile_id"] for row in only["history"]} == {"sample-1"}
    shown = text("status", home=home)
    assert "sample-1" in shown
    assert "next consolidation: " in shown
    assert all(word not in shown for word in ("ledger position", "dead letter", "live", "creative"))


def test_status_under_automem_goes_by_its_intervals_and_history_is_limited(night):
    found = as_json("status", home=night[0], MEMORY_PIPELINE_PRESET="automem", CONSOLIDATION_HISTORY_LIMIT="1")
    due = {row["task"]: row["next_due"] for row in found["tasks"]}
    assert due["forget"] is None
    assert all(due[task] for task in ("decay", "creative", "cluster"))
    assert len(found["history"]) == 1


def test_an_event_that_waits_shows_in_status(copy):
    as_json("remember", "The roof was mended.", "-p", "sample-1", home=copy)
    found = as_json("status", home=copy)
    assert [row["waiting"] for row in found["profiles"]] == [1, 0]
    assert 0 < found["waiting_seconds"] < 600


@pytest.mark.drill
def test_undo_takes_back_a_merge_and_then_the_run(copy):
    with Lake(copy) as lake:
        merged = lake.read("memories", profiles=["sample-1"]).filter(kind="compression").row(0, named=True)
    undone = as_json("undo", merged["memory_id"], "-p", "sample-1", home=copy)
    assert {row["action"] for row in undone["undone"]} == {"summarise", "supersede"}
    explained = as_json("explain", merged["members"][0], "-p", "sample-1", home=copy)
    assert explained["memory"]["lifecycle"] == "active"
    run = as_json("status", home=copy)["history"][0]["run_id"]
    told = " ".join(text("undo", run, home=copy).split())
    assert "undone in sample-1: " in told
    assert "`memory-pipeline consolidate --retry-reverted` does" in told
    assert {row["outcome"] for row in as_json("status", home=copy)["history"]} == {"reverted"}
    again = as_json("consolidate", "--dry-run", "--as-of", "2026-05-03", home=copy)["plan"]
    retried = as_json("consolidate", "--dry-run", "--as-of", "2026-05-03", "--retry-reverted", home=copy)["plan"]
    assert merged["memory_id"] not in {row["memory_id"] for row in again}
    assert merged["memory_id"] in {row["memory_id"] for row in retried}


@pytest.mark.drill
def test_snapshots_of_now_and_of_any_instant(copy, tmp_path):
    assert "memory-pipeline" in refused("snapshot", "open", home=copy), "it reads the files of the original"
    shutil.rmtree(copy / "snapshots")
    newest = text("snapshot", "open", home=copy).strip()
    past = text("snapshot", "open", "--as-of", "2026-02-01", home=copy).strip()
    stored = {path: query(path, "SELECT count(*) FROM memories WHERE kind = 'original'") for path in (newest, past)}
    assert 0 < stored[past] < stored[newest] == 80
    listed = as_json("snapshot", "list", home=copy)
    assert {row["path"] for row in listed} == {newest, past}
    assert [row["newest"] for row in listed if row["path"] == newest] == [True]
    assert "newest" in text("snapshot", "list", home=copy)
    text("snapshot", "--export", tmp_path / "out.duckdb", home=copy)
    shutil.rmtree(copy)
    assert query(tmp_path / "out.duckdb", "SELECT count(*) FROM vectors") > 0


def query(path, sql):
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(sql).fetchall()[0][0]


def test_profiles_lists_those_with_memories_and_those_with_settings(copy):
    (copy / "memory_pipeline.toml").write_text("[profiles.new]\npreset = 'automem'\n", "utf-8")
    found = {row["profile_id"]: row for row in as_json("profiles", home=copy)}
    assert list(found) == ["new", "sample-1", "sample-2"]
    assert [(row["preset"], row["own_settings"], row["memories"], row["last_task"]) for row in found.values()] == [
        ("automem", True, 0, None),
        ("default", False, 40, "full"),
        ("default", False, 40, "full"),
    ]
    shown = text("profiles", home=copy)
    assert all(part in shown for part in ("new", "automem", "own", "never", "full"))


def test_config_tells_where_each_value_comes_from(fresh):
    shown = text("config", "show", "--preset", "automem", home=fresh, MEMORY_PIPELINE_SEED="7", COLUMNS="120")
    for name, value, origin in (
        ("home", str(fresh)[:30], "--home"),
        ("policy.seed", "7", "environment MEMORY_PIPELINE_SEED"),
        ("policy.linkage", "single", "preset automem"),
        ("policy.base_decay_rate", "0.01", "default"),
    ):
        row = next(row for row in shown.splitlines() if row.split()[:1] == [name])
        assert value in row
        assert origin in row


def test_check_passes_after_a_night(night):
    found = as_json("check", home=night[0])
    assert {row["outcome"] for row in found} == {"passed"}
    assert {(row["asset"], row["check"]) for row in found} >= {
        ("consolidation_plan", "invariants"),
        ("consolidation_plan", "quota"),
        ("summaries", "schema_and_grain"),
    }
    assert {row["run_id"] for row in found} == {night[1]["run_id"]}, "the run of a plan is judged too"
    assert f"{len(found)} of {len(found)} expected checks passed" in text("check", home=night[0])


@pytest.mark.drill
@pytest.mark.parametrize("args", ["status --json", "config show", "consolidate --help"])
def test_a_closed_pipe_ends_the_command_in_silence(night, args):
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {COMMAND} {args} --home {night[0]} | true"],
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.drill
def test_ctrl_c_ends_a_run_in_one_line_and_changes_nothing(copy):
    with Lake(copy) as lake:
        before = lake.ledger.position()
    running = subprocess.Popen(
        [COMMAND, "consolidate", "--as-of", "2026-05-06", "--home", copy],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
    )
    staged = set(copy.glob("runs/*"))
    until(running, lambda: set(copy.glob("runs/*")) != staged)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err) == (130, "", "error: interrupted\n")
    with Lake(copy) as lake:
        assert lake.ledger.position() == before


def test_light_commands_load_nothing_heavy(fresh, source, tmp_path):
    shutil.copytree(fresh, tmp_path / "data")
    commands = [
        ["remember", "one", "-p", "sample-1", "--no-check"],
        ["recall", "one", "-p", "sample-1"],
        ["status"],
        ["import", "jsonl", str(source)],
        ["config", "show"],
        ["profiles"],
        ["--help"],
    ]
    web = {"fastapi", "starlette", "uvicorn", "jinja2", "mcp"}
    script = (
        "import sys\nfrom memory_pipeline.service.cli import main\n"
        f"for command in {commands!r}:\n"
        f"    sys.argv = ['memory-pipeline', *command, '--home', {str(tmp_path / 'data')!r}]\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code\n"
        f"    heavy = {{'dagster', 'scipy', 'duckdb', 'hnswlib', *{web!r}}}\n"
        "    heavy &= {name.partition('.')[0] for name in sys.modules}\n"
        "    assert not heavy, (command, heavy)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, env=environment())


def test_on_a_narrow_terminal_names_and_instants_stay_whole(night):
    wide = text("status", home=night[0], COLUMNS="100")
    assert " profile " in wide
    for columns in ("30", "40", "60"):
        said = text("status", home=night[0], COLUMNS=columns)
        copied = (
            str(night[0]),
            "consolidate now: ",
            "no default profile; ",
            "1 message could not be stored; see: ",
        )  # lines to copy are never broken
        too_long = [line for line in said.splitlines() if len(line) > int(columns) and not line.startswith(copied)]
        assert too_long == []
        assert "waiting" in said
        assert "last consolidated" in said
        assert "sample-1" in said


def test_a_command_alone_shows_its_help():
    groups = ("import", "export", "dead-letters", "snapshot", "config", "token", "evaluate")
    for args in ((), *((group,) for group in groups)):
        done = CliRunner().invoke(app, [*args])
        assert (done.exit_code, done.stdout.startswith("Usage:")) == (2, True)
        assert CliRunner().invoke(app, [*args, "--help"]).exit_code == 0


def commands_below(command, name=""):
    for own, one in getattr(command, "commands", {}).items():
        yield f"{name} {own}".strip(), one
        yield from commands_below(one, f"{name} {own}".strip())


def test_no_list_of_commands_cuts_what_a_command_does():
    """The narrowest list is that of docs/cli.md."""
    listed = dict(commands_below(typer.main.get_command(app)))
    assert {"remember", "export markdown", "import chatgpt"} <= listed.keys()
    said = {name: one.get_short_help_str(limit=45) for name, one in listed.items()}
    assert {name: short for name, short in said.items() if not short or short.endswith("...")} == {}


def test_the_version_is_that_of_the_package():
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"memory-pipeline {metadata.version('memory-pipeline')}\n")


def test_the_page_of_commands_is_made_from_the_commands(tmp_path):
    made = tmp_path / "cli.md"
    options = ["--name", "memory-pipeline", "--title", "Commands", "--output", str(made)]
    generator = ["memory_pipeline.service.commands", "utils", "docs", *options]
    assert CliRunner(env=environment()).invoke(typer.cli.app, generator).exit_code == 0
    assert made.read_text("utf-8") == (DOCS / "cli.md").read_text("utf-8"), "write it with: make docs"


def test_every_command_that_pages_and_messages_name_is_there():
    known = {line.removeprefix("## `memory-pipeline ").rstrip("`") for line in headings()}
    root = DOCS.parent
    pages = [
        root / "README.md",
        *DOCS.glob("*.md"),
        *filter(Path.is_file, root.glob(".ci/*")),
        *root.glob("memory_pipeline/**/*.py"),
    ]
    called = re.compile(r"(?<!name=\")memory-pipeline\"? (?:--home \S+ )?([a-z]+(?:-[a-z]+)*)\b")
    named = {name for page in pages for name in called.findall(page.read_text("utf-8"))}
    assert {"consolidate", "doctor", "import"} <= named
    assert named - known == set()


def headings():
    return [line for line in (DOCS / "cli.md").read_text("utf-8").splitlines() if line.startswith("## `")]


def test_the_page_of_json_says_what_commands_print(plan, night, copy, source, tmp_path):
    home, run = night
    with Lake(home) as lake:
        refused = lake.read("merge_refusals").row(0, named=True)
        merged = lake.read("memories").filter(kind="compression").row(0, named=True)
    about = [
        as_json("explain", memory, "-p", row["profile_id"], home=home)
        for row, memory in (
            (refused, refused["memory_id"]),
            (merged, merged["memory_id"]),
            (merged, merged["members"][0]),
        )
    ]
    (copy / "bad.jsonl").write_text('{"event_type": "memory.stored"}\n', "utf-8")
    real = {
        "import": [as_json("import", "jsonl", source, copy / "bad.jsonl", "--allow-refused", home=copy)],
        "import --dry-run": [as_json("import", "jsonl", source, "--dry-run", home=tmp_path / "none")],
        "import detect": [as_json("import", "detect", source)],
        "dead-letters list": [as_json("dead-letters", "list", home=copy)],
        "dead-letters requeue": [json.loads(call("dead-letters", "requeue", "--json", home=copy).stdout)],
        "dead-letters purge": [as_json("dead-letters", "purge", "--all", home=copy)],
        "remember": [as_json("remember", "one", "-p", "sample-1", home=copy)],
        "consolidate, apply": [run],
        "consolidate --dry-run": [plan[0]],
        "status": [as_json("status", home=home)],
        "profiles": [as_json("profiles", home=home)],
        "explain": about,
        "undo": [as_json("undo", run["run_id"], home=copy)],
        "snapshot list": [as_json("snapshot", "list", home=home)],
        "backup, restore-backup": [as_json("backup", str(tmp_path / "backup"), home=home)],
        "config show": [as_json("config", "show", home=home)],
        "config set, config unset": [as_json("config", "set", "seed", "1", home=copy)],
        "token create, token list, token revoke": [as_json("token", "create", "--role", "admin", home=copy)],
        "doctor": [as_json("doctor", home=home)],
        "check": [as_json("check", home=home)],
    }
    json_page.agrees(real)
    assert set(json_page.documented()) == {*real, *json_page.MEMORY, *json_page.EXPORTS, *json_page.EVALUATIONS}


def test_an_import_is_shown_before_it_is_done_and_a_format_is_named(tmp_path):
    stores = Path(__file__).parent / "imports"
    assert "mem0: Memories of mem0" in text("import", "detect", stores / "mem0")
    shown = text("import", "mem0", stores / "mem0", "--dry-run", home=tmp_path / "data")
    assert "content: Ana prefers green tea." in shown
    created = next(one for one in shown.splitlines() if one.startswith("memory.stored "))
    there = text(
        "import", "mem0", stores / "mem0", "--dry-run", home=tmp_path / "data", MEMORY_PIPELINE_TIMEZONE="Asia/Tokyo"
    )
    assert created.split()[4] == "UTC"
    assert f"{created.split()[1]} " in there
    assert " JST " in there
    assert "skipped: memories that were deleted there: 1" in shown
    assert "nothing was stored; profiles: ana, ben" in shown
    (document,) = as_json("import", "mem0", stores / "mem0", "--dry-run", home=tmp_path / "data").values()
    assert document["first"][0].keys() <= Event.model_fields.keys()
    assert not (tmp_path / "data").exists()
    (tmp_path / "long.json").write_text(json.dumps([{"id": "1", "user_id": "ana", "memory": "x" * 70_000}]))
    assert len(text("import", "mem0", tmp_path / "long.json", "--dry-run", home=tmp_path / "data")) < 4_000
    assert "skipped: memories that were deleted there: 1" in text(
        "import", "mem0", stores / "mem0", home=tmp_path / "data"
    )
    assert "the format is unknown" in refused("import", "detect", stores / "make.py")
    mixed = text("import", "langgraph", stores / "langgraph.sqlite", "--dry-run", home=tmp_path / "data")
    assert "one profile, langgraph, as if one person had said it" in mixed
    scope = ("--scope", "memories/{user_id}")
    told_apart = text("import", "langgraph", stores / "langgraph.sqlite", *scope, home=tmp_path / "data")
    assert "one profile" not in told_apart
