"""The memory from the command line: ask it, look at single memories, change them, and bring them back."""

import json
import shlex
import shutil

import homes
import pytest
from commands import as_json, call, refused, text

from memory_pipeline import MemoryClient
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.rank import ranking

ANA = "ana"
SAID = [
    {"memory_id": "m1", "content": "The launch of the website is on 12 June.", "speaker": "Ana", "session_id": "s1"},
    {"memory_id": "m2", "content": "I am allergic to peanuts.", "speaker": "Ana", "session_id": "s1", "user_id": "u1"},
    {
        "memory_id": "m3",
        "content": "Our cat sleeps on the piano.",
        "speaker": "Bo",
        "session_id": "s2",
        "tags": ["cat"],
    },
    {
        "memory_id": "m4",
        "content": "[bold]Never[/bold] deploy on a Friday.",
        "memory_type": "Decision",
        "agent_id": "a",
    },
]
BESIDE = {"memory_id", "session_id", "user_id", "agent_id"}


def line(number, said):
    beside = {name: value for name, value in said.items() if name in BESIDE}
    return json.dumps(
        {
            "event_type": "memory.stored",
            "event_id": f"e{number}",
            "profile_id": ANA,
            "occurred_at": f"2026-03-0{number + 1}T12:00:00Z",
            "payload": {name: value for name, value in said.items() if name not in BESIDE},
        }
        | beside
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Four memories of one profile, stored a moment ago; nothing has run."""
    folder = tmp_path_factory.mktemp("recall")
    (folder / "said.jsonl").write_text("\n".join(line(number, said) for number, said in enumerate(SAID)), "utf-8")
    text("import", "jsonl", folder / "said.jsonl", home=folder / "data")
    return folder / "data"


@pytest.fixture
def copy(home, tmp_path):
    shutil.copytree(home, tmp_path / "data")
    return tmp_path / "data"


def recalled(*args, home):
    return [row["memory_id"] for row in as_json("recall", *args, "-p", ANA, "--no-record", home=home)["recalled"]]


def test_what_was_stored_a_moment_ago_is_found_and_says_why(home):
    found = as_json("recall", "when is the launch?", "-p", ANA, "--no-record", home=home)
    first = found["recalled"][0]
    assert (found["query"], found["ranking"]) == ("when is the launch?", "default")
    assert (first["memory_id"], first["rank"], first["speaker"]) == ("m1", 1, "Ana")
    assert 0 <= first["score"] <= 1
    assert {"name", "value", "weight"} == set(first["parts"][0])
    assert found["tokens"] == sum(row["tokens"] for row in found["recalled"])


def test_an_answer_is_for_people_too(home):
    said = text("recall", "when is the launch?", "-p", ANA, "--no-record", home=home)
    assert said.startswith("1. [2026-03-01] Ana: The launch of the website is on 12 June.\n")
    assert " · m1\n" in said
    assert "explain m1 --profile ana" in said
    assert "[bold]Never[/bold]" in text("recall", "deploy on friday?", "-p", ANA, "--no-record", home=home)


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        (("--session", "s1"), {"m1", "m2"}),
        (("--user", "u1"), {"m2"}),
        (("--agent", "a"), {"m4"}),
        (("--speaker", "bo"), {"m3"}),
        (("--type", "decision"), {"m4"}),
        (("--tag", "cat"), {"m3"}),
        (("--tag", "cat", "--tag", "dog"), {"m3"}),
        (("--since", "2026-03-03T00:00:00Z"), {"m3", "m4"}),
        (("--until", "2026-03-02"), {"m1"}),
        (("--session", "s1", "--user", "u1"), {"m2"}),
        (("--session", "nothing"), set()),
    ],
)
def test_conditions_say_which_memories_may_be_named(home, args, ids):
    assert {row["memory_id"] for row in as_json("list", *args, "-p", ANA, home=home)} == ids
    assert set(recalled("launch peanuts cat deploy", *args, home=home)) <= ids


def test_a_budget_and_a_number_bound_the_answer(home):
    query = "launch peanuts cat deploy website piano friday"
    assert len(recalled(query, "-k", "2", home=home)) == 2
    found = as_json("recall", query, "--tokens", "12", "-p", ANA, "--no-record", home=home)
    assert found["recalled"]
    assert found["tokens"] <= 12


def test_the_past_knows_nothing_of_what_came_later(home):
    assert recalled("cat piano launch", "--as-of", "2026-03-02T00:00:00Z", home=home) == ["m1"]


@pytest.mark.parametrize("name", ranking.RANKINGS)
def test_every_ranking_can_be_asked_for_and_is_named_in_the_help(home, name):
    assert "m3" in recalled("where does the cat sleep?", "--ranking", name, home=home)
    assert name in call("recall", "--help").stdout


def test_what_was_recalled_is_noted_unless_asked_not_to(copy):
    def uses():
        with Lake(copy) as lake:
            return lake.events().filter(event_type="memory.accessed").height

    recalled("launch", home=copy)
    assert uses() == 0
    text("recall", "when is the launch?", "-p", ANA, "-k", "1", home=copy)
    assert uses() == 1
    assert as_json("get", "m1", "-p", ANA, home=copy)["access_count"] == 1


def test_single_memories_are_shown_and_changed(copy):
    shown = text("get", "m2", "-p", ANA, home=copy)
    assert shown.startswith("Ana: I am allergic to peanuts.\n")
    assert "user: u1" in shown
    text("update", "m2", "--content", "I am allergic to all nuts.", "--valid-from", "2026-03-01", "-p", ANA, home=copy)
    changes = ["--importance", ".75", "--tag", "food", "--tag", "health"]
    text("update", "m2", *changes, "--metadata", '{"form": 7}', "-p", ANA, home=copy)
    changed = as_json("get", "m2", "-p", ANA, home=copy)
    assert (changed["importance"], changed["tags"], changed["metadata"]) == (0.75, ["food", "health"], {"form": 7})
    text("update", "m2", "--clear-tags", "-p", ANA, home=copy)
    assert as_json("get", "m2", "-p", ANA, home=copy)["tags"] == []
    text("protect", "m2", "--reason", "health", "-p", ANA, home=copy)
    text("feedback", "m2", "--helpful", "-p", ANA, home=copy)
    found = as_json("get", "m2", "-p", ANA, home=copy)
    assert (found["content"], found["protected"], found["protected_reason"]) == (
        "I am allergic to all nuts.",
        True,
        "health",
    )
    assert found["valid_from"].startswith("2026-03-01")
    assert recalled("which nuts?", "-k", "1", home=copy) == ["m2"]
    assert "protected: health" in text("get", "m2", "-p", ANA, home=copy)
    assert as_json("end-session", "s1", "-p", ANA, home=copy)["session_id"] == "s1"


def test_what_conditions_ask_for_can_be_said_when_remembering(tmp_path):
    said = "--session s1 --agent a --user u1 --speaker Bo --type Insight --tag cat --tag piano"
    instants = {"occurred-at": "2026-03-02", "valid-from": "2026-03-01T12:00:00+02:00", "valid-until": "2026-04-01"}
    times = [part for name, value in instants.items() for part in (f"--{name}", value)]
    new = as_json("remember", "The cat sleeps on it.", *said.split(), *times, "-p", ANA, home=tmp_path)["memory_id"]
    as_json("remember", "The dog does not.", "-p", ANA, home=tmp_path)
    conditions = f"{said} --since 2026-03-02 --until 2026-03-03"
    (found,) = as_json("list", *conditions.split(), "-p", ANA, home=tmp_path)
    assert (found["memory_id"], found["tags"], found["speaker"]) == (new, ["cat", "piano"], "Bo")
    assert found["created_at"] == "2026-03-02T00:00:00+00:00"
    assert found["valid_from"] == "2026-03-01T10:00:00+00:00"
    assert found["valid_until"] == "2026-04-01T00:00:00+00:00"


def test_a_list_has_one_line_a_memory_newest_first(home):
    lines = text("list", "-p", ANA, home=home).splitlines()
    assert [row.split()[0] for row in lines] == ["m4", "m3", "m2", "m1"]
    assert text("list", "-p", ANA, "-n", "1", home=home).splitlines() == lines[:1]
    assert text("list", "-p", ANA, "--tag", "dog", home=home) == "no memory matches\n"


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_what_was_merged_is_found_deep_and_can_be_restored(consolidated, tmp_path):
    with homes.copied(consolidated, tmp_path) as lake:
        memories = lake.read("memories", profiles=["sample-1"])
        merged = memories.filter(superseded_kind="summary").sort("memory_id").row(0, named=True)
    own = ("-p", "sample-1", "--no-record", "-k", "100")
    ids = [row["memory_id"] for row in as_json("recall", merged["content"], *own, home=tmp_path)["recalled"]]
    deep = as_json("recall", merged["content"], *own, "--deep", home=tmp_path)["recalled"]
    assert merged["memory_id"] not in ids
    assert {row["memory_id"]: row["deep"] for row in deep}[merged["memory_id"]]
    text("restore", merged["memory_id"], "-p", "sample-1", home=tmp_path)
    assert as_json("get", merged["memory_id"], "-p", "sample-1", home=tmp_path)["lifecycle"] == "active"
    assert "nothing to restore" in refused("restore", merged["memory_id"], "-p", "sample-1", home=tmp_path)


@pytest.mark.usefixtures("unpublished")
def test_a_tick_merges_and_moves_and_can_be_taken_back(consolidated, tmp_path):
    shutil.copytree(consolidated, tmp_path, symlinks=True, dirs_exist_ok=True)
    done = as_json("tick", "-p", "sample-1", home=tmp_path)
    assert set(done) == {"run_id", "task", "as_of", "actions", "held"}
    assert (done["task"], done["held"]) == ("tick", 0)
    with Lake(tmp_path) as lake:
        assert lake.ledger.runs().filter(run_id=done["run_id"])["profile_id"].to_list() == ["sample-1"]
    as_json("undo", "night", "-p", "sample-1", "--cascade", home=tmp_path)
    again = text("tick", "-p", "sample-1", home=tmp_path)
    assert again.startswith("decisions: ")
    assert f"undo the run: memory-pipeline --home {tmp_path} undo " in again
    with Lake(tmp_path) as lake:
        outcomes = dict(lake.ledger.runs().filter(run_id="night").select("profile_id", "outcome").iter_rows())
    assert outcomes == {"sample-1": "reverted", "sample-2": "committed"}
    assert "nobody" in refused("tick", "-p", "nobody", home=tmp_path)


def test_a_memory_is_shown_as_it_stood(home):
    said = refused("get", "m2", "-p", ANA, "--as-of", "2026-03-01", home=home)
    assert "m2" in said
    assert as_json("get", "m2", "-p", ANA, "--as-of", "2026-03-09", home=home)["content"] == SAID[1]["content"]


def test_a_session_starts_with_core_memory_and_what_is_relevant(consolidated, tmp_path):
    shutil.copytree(consolidated, tmp_path, symlinks=True, dirs_exist_ok=True)
    found = as_json("session-start", "what broke?", "-p", "sample-1", "--session", "s9", home=tmp_path)
    assert found["session_id"] == "s9"
    assert found["blocks"]
    assert found["answer"]["recalled"]
    said = text("session-start", "-p", "sample-1", home=tmp_path)
    assert found["blocks"][0]["content"].split()[0] in said


@pytest.mark.parametrize(
    ("args", "status", "parts"),
    [
        (("recall", " "), 1, ("query is ' '", "not blank")),
        (("recall", "x", "-k", "0"), 2, ("-k", "given: 0")),
        (("recall", "x", "--tokens", "0"), 2, ("--tokens", "given: 0")),
        (("recall", "x", "--since", "soon"), 2, ("--since 'soon' is not an instant", "2026-03-01T02:00:00Z")),
        (("recall", "x", "--since", "2026-03-02", "--until", "2026-03-01"), 1, ("filters.until",)),
        (("recall", "x", "--as-of", "2999-01-01"), 1, ("as_of", "future")),
        (("recall", "x", "--ranking", "engrm"), 1, ("ranking", "'engrm'", "engram")),
        (("get", "m9"), 1, ("m9", "profile 'ana'")),
        (("get", "m2", "--as-of", "2999-01-01"), 1, ("as_of", "future")),
        (("explain", "m2", "--as-of", "2999-01-01"), 1, ("as_of", "future")),
        (("remember", "x", "--valid-from", "soon"), 2, ("--valid-from 'soon' is not an instant",)),
        (
            ("remember", "x", "--occurred-at", "2999-01-01"),
            2,
            ("occurred_at is 2999-01-01", "after the ledger's clock"),
        ),
        (("remember", "x", "--tag", " "), 2, ("tags", "' '")),
        (("update", "m1"), 2, ("nothing to change", "--content", "--valid-until")),
        (("update", "m1", "--valid-from", "soon"), 2, ("--valid-from 'soon' is not an instant",)),
        (("update", "m1", "--tag", "x", "--clear-tags"), 2, ("--tag and --clear-tags cannot be combined",)),
        (("update", "m1", "--metadata", '{"a":' * 20_000), 2, ("--metadata is not JSON",)),
        (("update", "m1", "--metadata", "[1]"), 2, ("--metadata is [1]; give a JSON object",)),
        (("update", "m1", "--importance", "2"), 1, ("importance is 2",)),
        (("recall", "x", "--min-score", "2"), 2, ("--min-score",)),
        (("update", "m9", "--content", "x"), 1, ("m9",)),
        (("update", "m1", "--content", " "), 1, ("content",)),
        (("protect", "m9"), 1, ("m9",)),
        (("feedback", "m1"), 2, ("Missing option", "--helpful")),
        (("feedback", "m9", "--not-helpful"), 1, ("m9",)),
        (("restore", "m1"), 1, ("m1", "nothing to restore")),
        (("restore", "m9"), 1, ("m9",)),
        (("list", "-n", "0"), 2, ("--limit", "given: 0")),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_changes_nothing(home, args, status, parts):
    with Lake(home) as lake:
        before = lake.ledger.position()
    said = refused(*args, "-p", ANA, home=home, status=status)
    assert all(part in said for part in parts), said
    with Lake(home) as lake:
        assert lake.ledger.position() == before


def test_hooks_start_and_end_sessions_before_anything_is_remembered(tmp_path):
    home = tmp_path / "new"
    assert as_json("session-start", "-p", ANA, "--session", "s1", home=home)["blocks"] == []
    assert as_json("end-session", "s1", "-p", ANA, home=home)["profile_id"] == ANA


@pytest.mark.parametrize("args", [("recall", "x"), ("list",), ("session-start",)])
def test_a_misspelt_profile_is_not_taken_for_an_empty_one(home, args):
    said = refused(*args, "-p", "anna", home=home)
    assert "profile 'anna' has no memory; the closest match is 'ana'" in said


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_the_only_profile_of_a_store_need_not_be_named(copy):
    assert as_json("recall", "when is the launch?", "--no-record", home=copy)["recalled"][0]["memory_id"] == "m1"
    assert len(as_json("list", home=copy)) == 4
    assert as_json("get", "m2", home=copy)["user_id"] == "u1"
    assert as_json("update", "m2", "--content", "I eat peanuts.", home=copy)["profile_id"] == ANA
    for command in ("protect", "session-start", "feedback --helpful", "erase --yes"):
        name, *options = command.split()
        assert call(name, *([] if name == "session-start" else ["m2"]), *options, home=copy).returncode == 0
    assert as_json("end-session", "s1", home=copy)["profile_id"] == ANA
    assert as_json("tick", home=copy)["task"] == "tick"
    assert as_json("remember", "The cat is grey.", home=copy)["profile_id"] == ANA
    assert f"in profile {ANA}" in text("remember", "The cat is old.", home=copy)


def test_with_several_profiles_one_must_be_named_and_the_error_lists_them(copy):
    as_json("remember", "Bo sings.", "-p", "bo", home=copy)
    named = "get m1", "update m1 --content x", "restore m1", "protect m1", "feedback m1 --helpful", "erase m1"
    others = "recall x", "list", "tick", "remember x", "end-session s1", "session-start", "config calibrate"
    for command in (*named, *others):
        said = refused(*command.split(), home=copy)
        assert said.startswith("the store holds several profiles, by number of memories: ana ("), command
        assert "), bo (1); name one with --profile, or choose one for all commands: memory-pipeline " in said
        assert said.endswith(" config set default_profile ana")


def test_the_command_that_the_error_names_chooses_the_profile_of_all_that_name_none(copy):
    as_json("remember", "Bo sings.", "-p", "bo", home=copy)
    line = shlex.split(refused("recall", "singing", home=copy).split("for all commands: ")[1])
    call(*line[1:-1], "bo")
    assert as_json("recall", "singing", home=copy)["recalled"][0]["profile_id"] == "bo"
    assert as_json("remember", "Bo dances.", home=copy)["profile_id"] == "bo"
    assert "default profile: bo" in text("status", home=copy)
    assert as_json("status", home=copy)["default_profile"] == "bo"
    with MemoryClient(copy) as client:
        assert "dances" in client.recall("Does Bo dance?", k=1)[0].text
    call("config", "unset", "default_profile", home=copy)
    assert "no default profile" in text("status", home=copy)


def test_an_import_that_names_no_user_goes_to_the_default_profile(tmp_path):
    home, notes = tmp_path / "home", tmp_path / "notes"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("- Ana likes tea.\n", "utf-8")
    (tmp_path / "mem0.json").write_text('[{"id": "1", "memory": "Bo sings.", "user_id": "bo"}]', "utf-8")
    text("init", home=home)
    text("config", "set", "default_profile", ANA, home=home)
    text("import", "markdown", notes, home=home)
    text("import", "mem0", tmp_path / "mem0.json", home=home)
    text("export", "markdown", tmp_path / "out", "--profile", "bo", home=home)
    text("import", "markdown", tmp_path / "out", home=home)
    assert {row["profile_id"]: row["memories"] for row in as_json("profiles", home=home)} == {ANA: 1, "bo": 1}


def test_the_first_memory_of_a_store_goes_to_the_profile_default(tmp_path):
    assert as_json("remember", "one", home=tmp_path)["profile_id"] == "default"
    assert as_json("remember", "two", home=tmp_path)["profile_id"] == "default"


@pytest.mark.parametrize("command", ["recall x", "get m", "list", "update m --content x", "feedback m --helpful"])
def test_asking_makes_no_home(tmp_path, command):
    assert "no memories in" in refused(*command.split(), home=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_option_that_takes_one_value_is_refused_twice(home):
    line = refused("recall", "tea", "--profile", "sample-1", "-p", "sample-2", home=home, status=2)
    assert "--profile is given 2 times; give it once" in line
