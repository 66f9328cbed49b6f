"""`config set` and `config unset`: checked first, written in one step, with all that stands around it left alone."""

import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from commands import as_json, refused, text

from memory_pipeline.service import config_file
from memory_pipeline.settings import load

WRITTEN = """\
# Ours.
nightly = "30 4 * * *"   # early

[policy]
# Chosen in March.
preset = "automem"
seed  =  3               # lucky
protected_types = [
  "Decision",   # always
]

[profiles.ana]
archive_threshold = 0.1
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / "memory_pipeline.toml").write_text(WRITTEN, "utf-8")
    return tmp_path


def written(home):
    return (home / "memory_pipeline.toml").read_text("utf-8")


def test_a_value_is_changed_and_all_else_stays_as_it_was(home):
    assert text("config", "set", "seed", "4", home=home) == "policy.seed = 4, from: memory_pipeline.toml [policy]\n"
    assert written(home) == WRITTEN.replace("seed  =  3", "seed  =  4")


@pytest.mark.parametrize(
    ("args", "place", "value"),
    [
        (("policy.archive_threshold", "0.25"), ("policy", "archive_threshold"), 0.25),
        (("protect_core", "true"), ("policy", "protect_core"), True),
        (("cluster_max_size", ""), ("policy", "cluster_max_size"), ""),
        (("protected_types", "decision, habit"), ("policy", "protected_types"), ["Decision", "Habit"]),
        (("methods", ""), ("policy", "methods"), []),
        (("keep_snapshots", "7"), ("keep_snapshots",), 7),
        (("nightly", "0 5 * * *"), ("nightly",), "0 5 * * *"),
        (("alert_url", "https://alerts.example/x"), ("alert_url",), "https://alerts.example/x"),
        (("CONSOLIDATION_TICK_SECONDS", "60"), ("sensor_seconds",), 60),
        (("similarity_threshold", "0.6"), ("policy", "cluster_similarity"), 0.6),
        (("promotionIntervalMinutes", "10"), ("policy", "promote_interval_seconds"), 600),
        (("consolidation.enabled", "false"), ("policy", "enabled"), False),
        (("linkage", "average", "-p", "ana"), ("profiles", "ana", "linkage"), "average"),
        (("linkage", "average", "-p", "a.b c"), ("profiles", "a.b c", "linkage"), "average"),
        (("preset", "engram", "-p", "bo"), ("profiles", "bo", "preset"), "engram"),
    ],
)
def test_a_setting_goes_where_it_belongs_in_its_own_type(home, args, place, value):
    text("config", "set", *args, home=home)
    found = tomllib.loads(written(home))
    for name in place:
        found = found[name]
    assert found == value
    assert type(found) is type(value)
    kept = [line for line in WRITTEN.splitlines() if "#" in line and args[0] not in line and "always" not in line]
    assert all(line in written(home) for line in kept)
    row = as_json("config", "set", *args, home=home)
    assert row["origin"].startswith("memory_pipeline.toml")


def test_a_file_is_made_where_there_is_none(tmp_path):
    text("config", "set", "preset", "automem", home=tmp_path)
    text("config", "set", "timezone", "Europe/Zurich", home=tmp_path)
    text("config", "set", "seed", "1", "-p", "ana", home=tmp_path)
    assert tomllib.loads(written(tmp_path)) == {
        "timezone": "Europe/Zurich",
        "policy": {"preset": "automem"},
        "profiles": {"ana": {"seed": 1}},
    }


def test_another_name_of_the_setting_is_replaced(home):
    (home / "memory_pipeline.toml").write_text(
        "[policy]\npreset = 'automem'\nsimilarity_threshold = 0.6\n[policy.consolidation]\nenabled = true\n", "utf-8"
    )
    text("config", "set", "cluster_similarity", "0.7", home=home)
    text("config", "set", "enabled", "false", home=home)
    policy = tomllib.loads(written(home))["policy"]
    assert policy == {"preset": "automem", "cluster_similarity": 0.7, "enabled": False, "consolidation": {}}
    assert load(home, environment={}).policy.cluster_similarity == 0.7


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (("archive_threshold", "2"), ("[policy]: policy.archive_threshold = '2'", "less than or equal to 1")),
        (("archive_threshold", "low"), ("'low'", "valid number")),
        (("archive_threshold", "true"), ("'true'", "valid number")),
        (("archiv_threshold", "0.1"), ("setting archiv_threshold is unknown", "did you mean 'archive_threshold'?")),
        (("preset", "automen"), ("preset 'automen' is unknown", "did you mean 'automem'?")),
        (("nightly", "often"), ("nightly = 'often'", "five fields")),
        (("nightly", "0 2 * * *", "-p", "ana"), ("setting of the deployment", "leave --profile out")),
        (("home", "/x"), ("home is set with --home or MEMORY_PIPELINE_HOME",)),
        (("reinforcement_bonus", "0.3"), ("would have no effect", "nothing was written")),
        (("promotionIntervalMinutes", "often"), ("promotionIntervalMinutes = 'often' is not a number",)),
        (("similarity_threshold", "0.5", "-p", "bo"), ("cluster_similarity under the preset automem",)),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(home, args, parts):
    if args[-1] == "bo":
        text("config", "set", "preset", "default", "-p", "bo", home=home)
    before = written(home)
    said = refused("config", "set", *args, home=home)
    assert all(part in said for part in parts), said
    assert written(home) == before


def test_a_negative_number_reaches_the_check_behind_two_dashes(home):
    hint = "put a negative number after --, as in: -- -1"
    assert hint in refused("config", "set", "token_budget", "-1", home=home, status=2)
    assert hint in refused("config", "set", "token_budget", "-.5", home=home, status=2)
    assert hint not in refused("config", "set", "--profle", "ana", "seed", "3", home=home, status=2)
    assert "greater than 0" in refused("config", "set", "token_budget", "--", "-1", home=home)
    assert "policy.seed = -1" in text("config", "set", "seed", "--", "-1", home=home)


def test_unset_brings_back_what_lies_below(home):
    assert "= 0, from: default" in text("config", "unset", "seed", home=home)
    assert "seed" not in written(home)
    assert "# Chosen in March." in written(home)
    assert "is not set there" in refused("config", "unset", "seed", home=home)
    assert "[profiles.bo] seed is not set there" in refused("config", "unset", "seed", "-p", "bo", home=home)
    text("config", "unset", "archive_threshold", "-p", "ana", home=home)
    text("config", "unset", "nightly", home=home)
    assert set(tomllib.loads(written(home))["policy"]) == {"preset", "protected_types"}


def test_unset_mends_a_file_that_is_wrong(home):
    (home / "memory_pipeline.toml").write_text("[policy]\narchive_threshold = 7\nseed = 3\n", "utf-8")
    assert "policy.archive_threshold = 7" in refused("config", "set", "seed", "4", home=home)
    text("config", "unset", "archive_threshold", home=home)
    assert load(home, environment={}).policy.seed == 3
    (home / "memory_pipeline.toml").write_text("[policy\n", "utf-8")
    assert "cannot be read as TOML" in refused("config", "unset", "seed", home=home)


def test_what_beats_the_file_is_said(home):
    shown = text("config", "set", "seed", "4", home=home, MEMORY_PIPELINE_SEED="9")
    assert "policy.seed = 9, from: environment MEMORY_PIPELINE_SEED" in shown
    assert "has no effect" in shown
    assert load(home, environment={}).policy.seed == 4


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    assert "memory-pipeline init" in refused("config", "set", "seed", "4", home=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_changes_made_at_once_are_all_kept_and_the_file_keeps_its_mode(home):
    (home / "memory_pipeline.toml").chmod(0o640)
    names = ["seed", "history_limit", "creative_sample", "cluster_min_size", "fading_size", "core_min_access"]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: config_file.put(home, name, "9"), names))
    assert {tomllib.loads(written(home))["policy"][name] for name in names} == {9}
    assert stat.S_IMODE((home / "memory_pipeline.toml").stat().st_mode) == 0o640
    assert not list(home.glob(".*aside"))


def test_a_link_to_the_file_stays_a_link(tmp_path):
    (tmp_path / "real.toml").write_text("", "utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "memory_pipeline.toml").symlink_to(tmp_path / "real.toml")
    text("config", "set", "seed", "4", home=tmp_path / "data")
    assert (tmp_path / "data" / "memory_pipeline.toml").is_symlink()
    assert tomllib.loads((tmp_path / "real.toml").read_text("utf-8")) == {"policy": {"seed": 4}}


def test_show_names_the_alias(home):
    with (home / "memory_pipeline.toml").open("a", encoding="utf-8") as file:
        file.write("min_cluster_size = 8\n")
    rows = {row["name"]: row for row in as_json("config", "show", "-p", "ana", home=home)}
    assert rows["policy.cluster_min_size"]["value"] == 8
    assert rows["policy.cluster_min_size"]["origin"] == "memory_pipeline.toml [profiles.ana] min_cluster_size"
