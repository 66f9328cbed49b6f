import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest
from frames import AS_OF, ago
from stores import tables, vectors

from memory_pipeline.lake import dictionary, snapshot
from memory_pipeline.lake.dictionary import RELATIONS

CREATED = datetime(2026, 1, 2, tzinfo=UTC)
NAME = "000000000042-plan2"
ABSENT = ("polars", "pyarrow", "pandas", "numpy", "pytz", "memory_pipeline")
READER = f"""
import json, sys
for name in {ABSENT!r}:
    sys.modules[name] = None  # importing it fails, as where it is not installed
import duckdb
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    answers = [connection.execute(query).fetchall() for query in sys.argv[2:]]
print(json.dumps(answers, default=str))
"""


def elsewhere(file, *queries):
    """Answers of a process that has duckdb and nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", READER, str(file), *queries], capture_output=True, text=True, check=True, cwd="/"
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    home = tmp_path_factory.mktemp("home [1] *'s")  # none of these is a pattern or ends a literal
    return snapshot.build(home, tables(), vectors(home / "lake" / "vectors"), name=NAME, created_at=CREATED)


@pytest.fixture
def query(file):
    with duckdb.connect(str(file), read_only=True) as connection:
        yield lambda text: connection.execute(text).fetchall()


def test_a_process_with_nothing_but_duckdb_reads_every_table_view_and_macro(file):
    names = [*RELATIONS, "explain('g')", "similar_to('g', 2)", "explain_run('plan1')"]
    counts = {
        name: len(answer)
        for name, answer in zip(names, elsewhere(file, *(f"FROM {name}" for name in names)), strict=True)
    }
    assert all(counts.values()), counts
    assert counts["memories"] == 9
    assert counts["vectors"] == 5


def test_every_table_view_macro_and_column_is_described_and_typed_as_the_dictionary_says(query):
    assert query("SELECT table_name FROM duckdb_tables() WHERE comment IS NULL") == []
    assert query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL") == []
    assert query("SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal AND comment IS NULL") == []
    found = query("SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal")
    told = query("SELECT table_name, column_name, type, description FROM data_dictionary")
    assert sorted(found) == sorted(told)
    assert {table for table, *_ in told} == set(RELATIONS)
    assert all(description for *_, description in told)


def test_current_memories_are_live_valid_and_not_superseded(query):
    assert query("SELECT profile_id, memory_id FROM current_memories ORDER BY ALL") == [
        ("p", "g"),
        ("p", "s"),
        ("q", "a"),
    ]


def test_archived_set_tells_of_every_memory_that_left_by_which_rule_and_for_which_summary(query):
    left = query("SELECT memory_id, action, rule, summary_id, strength, threshold FROM archived_set")
    assert left == [
        ("a", "supersede", "superseded_by_summary", "s", None, None),
        ("b", "supersede", "superseded_by_summary", "s", None, None),
        ("e", "archive", "archive_threshold", None, 0.01, 0.05),
    ]
    assert query("SELECT DISTINCT left_at, plan_id FROM archived_set") == [(ago(1).replace(tzinfo=None), "plan1")]


def test_summaries_are_all_that_were_made(query):
    assert query("SELECT summary_id, members, supersedes, replaces, lifecycle FROM summaries") == [
        ("s", ["a", "b"], True, [], "active")
    ]


def test_decisions_say_whether_they_were_undone(query):
    assert query("SELECT decision_id FROM decisions WHERE reverted") == [("5",)]


def test_snapshot_info_says_what_is_shown(query):
    now = AS_OF.replace(tzinfo=None)
    assert query("SELECT profile_id, name, ledger_position, as_of, plan_id, memories, live FROM snapshot_info") == [
        ("p", NAME, 42, now, "plan2", 8, 5),
        ("q", NAME, 42, now, "plan2", 1, 1),
    ]


def test_explain_tells_scores_protection_edges_and_decisions(query):
    facts = query("SELECT aspect, value FROM explain('g')")
    assert ("content", "The port is 81") in facts
    assert ("age_factor", "0.9048 (exp(-base_decay_rate * age_days))") in facts
    assert ("protected", "yes: younger than 90 days") in facts
    assert ("centrality", "PageRank 0.25, 3 neighbours") in facts
    assert [value for aspect, value in facts if aspect.startswith("edge")] == [
        "2",
        "SIMILAR_TO from c, weight 0.9, asserted",
        "RELATES_TO to f, weight 0.5, asserted",
    ]
    assert ("decision", "archive by archive_threshold:  [plan plan1, 2025-12-31 00:00:00, undone]") in facts


def test_explain_leads_from_a_member_to_its_summary_and_back(query):
    member = query("SELECT aspect, value FROM explain('a', profile := 'p')")
    assert ("in summary", "s (compression): We use Postgres 16.") in member
    assert ("superseded by", "s (summary)") in member
    assert ("cluster", "postgres (near_duplicates, 2 memories, cohesion 0.0) k") in member
    assert query("SELECT value FROM explain('s') WHERE aspect = 'member'") == [
        ("a: We use Postgres",),
        ("b: We use Postgres 16",),
    ]


def test_explain_keeps_profiles_apart(query):
    assert query("SELECT DISTINCT profile_id FROM explain('a') ORDER BY ALL") == [("p",), ("q",)]
    assert query("SELECT DISTINCT profile_id FROM explain('a', profile := 'q')") == [("q",)]
    assert query("FROM explain('nothing')") == []


def test_similar_to_ranks_by_cosine_and_leaves_texts_without_words_out(query):
    found = query("SELECT memory_id, round(similarity::DOUBLE, 4) FROM similar_to('g', 3)")
    assert found == [("e", 0.8), ("f", 0.8), ("c", 0.6)]
    assert query("SELECT memory_id FROM similar_to('g', 1)") == [("e",)]
    assert query("FROM similar_to('d', 3)") == []
    assert query("FROM similar_to('g', 3, profile := 'q')") == []


def test_explain_run_takes_a_plan_its_beginning_or_a_run(query):
    whole = query("SELECT action, memory_id, reverted FROM explain_run('plan1')")
    assert whole[0] == ("summarise", "s", False)
    assert len(whole) == 5
    assert query("SELECT action, memory_id, reverted FROM explain_run('run1')") == whole
    assert query("FROM explain_run('plan1', profile := 'q')") == []
    assert len(query("FROM explain_run('plan')")) == 5


def test_the_documentation_is_the_dictionary():
    page = Path(__file__).parent.parent / "docs" / "data-dictionary.md"
    assert page.read_text("utf-8") == dictionary.documentation(), "write dictionary.documentation() to the page"


def test_rows_in_any_order_give_the_same_content(file, tmp_path):
    shuffled = {name: frame.sample(fraction=1.0, shuffle=True, seed=7) for name, frame in tables().items()}
    files = vectors(tmp_path / "lake")
    other = snapshot.build(tmp_path, shuffled, files[::-1], name=NAME, created_at=CREATED)
    queries = [f"FROM {name}" for name in RELATIONS]
    for one, another in zip(elsewhere(file, *queries), elsewhere(other, *queries), strict=True):
        assert sorted(map(str, one)) == sorted(map(str, another))


def test_a_snapshot_outlives_the_files_of_the_lake(tmp_path):
    files = vectors(tmp_path / "lake")
    made = snapshot.build(tmp_path, tables(), files, name=NAME, created_at=CREATED)
    assert all(path.stat().st_nlink == 2 for path in files)
    shutil.rmtree(tmp_path / "lake")
    assert elsewhere(made, "SELECT memory_id FROM similar_to('g', 1)") == [[["e"]]]


def test_where_hard_links_are_impossible_vectors_are_copied(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    made = snapshot.build(tmp_path, tables(), vectors(tmp_path / "lake"), name=NAME, created_at=CREATED)
    shutil.rmtree(tmp_path / "lake")
    assert elsewhere(made, "SELECT count(*) FROM vectors") == [[[5]]]


def test_an_empty_store_gives_a_valid_snapshot(tmp_path):
    made = snapshot.build(tmp_path, {}, [], name="000000000000-00000000", created_at=CREATED)
    found = elsewhere(made, *(f"FROM {name}" for name in RELATIONS))
    filled = {name for name, answer in zip(RELATIONS, found, strict=True) if answer}
    assert filled == {"snapshot_info", "data_dictionary"}
    assert elsewhere(made, "FROM explain('a')", "FROM similar_to('a', 1)", "FROM explain_run('a')") == [[], [], []]


def test_an_exported_file_needs_nothing_else(file, tmp_path):
    away = tmp_path / "store"
    shutil.copytree(file.parent, away)
    exported = snapshot.export(away / file.name, tmp_path / "out" / "all.duckdb")
    moved = exported.rename(tmp_path / "moved.duckdb")
    shutil.rmtree(away)
    queries = ["FROM vectors", "FROM similar_to('g', 3)", "FROM explain('g')", "FROM data_dictionary"]
    assert elsewhere(moved, *queries) == elsewhere(file, *queries)
    undescribed = "SELECT count(*) FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
    assert elsewhere(moved, undescribed) == [[[0]]]
    assert elsewhere(snapshot.export(moved, tmp_path / "again.duckdb"), "SELECT count(*) FROM vectors") == [[[5]]]


def test_an_export_never_overwrites_and_names_what_is_missing(file, tmp_path):
    target = tmp_path / "kept.duckdb"
    target.write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"kept\.duckdb exists; remove it"):
        snapshot.export(file, target)
    assert target.read_bytes() == b"mine"
    with pytest.raises(ValueError, match=r"none\.duckdb is no snapshot"):
        snapshot.export(tmp_path / "none.duckdb", tmp_path / "new.duckdb")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "latest"}, "'latest' must be 12 digits"),
        ({"tables": {"stories": pl.DataFrame()}}, "'stories' is no source of a snapshot"),
        (
            {"tables": {"memories": pl.DataFrame({"profile_id": ["p"]})}},
            "table memories: column 'memory_id' is missing",
        ),
    ],
)
def test_wrong_input_is_refused_and_leaves_nothing(change, message, tmp_path):
    given = {"tables": tables(), "name": NAME} | change
    with pytest.raises(ValueError, match=message):
        snapshot.build(tmp_path, given["tables"], [], name=given["name"], created_at=CREATED)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_build_that_fails_half_way_leaves_nothing(tmp_path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    with pytest.raises(duckdb.Error):
        snapshot.build(tmp_path, tables(), [broken], name=NAME, created_at=CREATED)
    assert list((tmp_path / "snapshots").glob("*.*")) == []


def test_listing_and_pruning_know_published_and_past_snapshots(tmp_path):
    for name in (
        "000000000001-a",
        "000000000003-c",
        "000000000002-b",
        "000000000003-c-20250101",
        "000000000002-b-20250101",
    ):
        snapshot.build(tmp_path, {}, [], name=name, created_at=CREATED)
    listed = snapshot.listing(tmp_path)
    assert listed["name"].to_list()[:2] == ["000000000003-c-20250101", "000000000003-c"]
    assert listed.filter("newest")["name"].to_list() == ["000000000003-c"]
    assert listed["ledger_position"].to_list() == [3, 3, 2, 2, 1]
    assert [path.stem for path in snapshot.prune(tmp_path, 1)] == [
        "000000000001-a",
        "000000000002-b",
        "000000000003-c-20250101",
    ]
    assert snapshot.listing(tmp_path)["name"].to_list() == ["000000000003-c", "000000000002-b-20250101"]
    kept = {path.name for path in (tmp_path / "snapshots" / "vectors").iterdir()}
    assert kept == {"000000000003-c", "000000000002-b-20250101"}
    with pytest.raises(ValueError, match="keep = 0 would remove the newest"):
        snapshot.prune(tmp_path, 0)


def test_looking_at_a_store_without_snapshots_makes_nothing(tmp_path):
    assert snapshot.listing(tmp_path).is_empty()
    assert snapshot.newest(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
