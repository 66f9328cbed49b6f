# ruff: noqa: S608 - names of tables and columns
import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest
from frames import AS_OF, ago
from lake_rows import PROCESSES
from stores import commit, linked, tables, uses, vectors
from waiting import PATIENCE

from memory_pipeline.consolidation import trimming
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.object_store import LocalObjectStore
from memory_pipeline.lake.snapshot_schemas import RELATIONS
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.settings import Policy, preset

CREATED = datetime(2026, 1, 2, tzinfo=UTC)
NAME = "000000000042-plan2"
AUTOMEM = Policy(**preset("automem") | {"preset": "automem", "archive_threshold": 0.05, "protected_types": ()})
USED = {
    "uses": uses(),
    "policies_in_force": {"p": AUTOMEM, "q": Policy()},
    "run_policies": {"": AUTOMEM},
}
ABSENT = ("polars", "pyarrow", "pandas", "numpy", "pytz", "memory_pipeline")
ALONE = f"""
import json, pathlib, sys
for name in {ABSENT!r}:
    sys.modules[name] = None  # importing it fails, as where it is not installed
import duckdb
"""
READER = """
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    answers = [connection.execute(query).fetchall() for query in sys.argv[2:]]
print(json.dumps(answers, default=str))
"""
WATCHER = """
seen = []
print("reading", flush=True)
while not pathlib.Path(sys.argv[2]).exists():
    with duckdb.connect(sys.argv[1], read_only=True) as connection:
        told = connection.execute("SELECT ledger_position, live FROM snapshot_info WHERE profile_id = 'p'").fetchall()
        live = connection.execute("SELECT count(*) FILTER (lifecycle = 'active') FROM memories WHERE profile_id = 'p'")
        assert told[0][1:] == live.fetchone()
    seen.append(told[0][0])
assert seen == sorted(seen), seen
print(len(seen))
"""


def build(home, given, files, **options):
    """Build a snapshot whose linked tables are files of the data folder."""
    keys = {name: [str(path.relative_to(home)) for path in paths] for name, paths in files.items()}
    return snapshot.build(home, given, keys, store=LocalObjectStore(home), **options)


def elsewhere(file, *queries):
    """Answers of a process that has duckdb and nothing else."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE + READER, str(file), *queries], capture_output=True, text=True, check=True, cwd="/"
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    home = tmp_path_factory.mktemp("home [1] *'s")  # none of these is a pattern or ends a literal
    return build(home, tables(), linked(home / "lake"), name=NAME, created_at=CREATED, **USED)


@pytest.fixture
def query(file):
    with duckdb.connect(str(file), read_only=True) as connection:
        yield lambda text: connection.execute(text).fetchall()


def test_a_process_with_nothing_but_duckdb_reads_every_table_view_and_macro(file):
    names = [*RELATIONS, "explain('g')", "similar_to('g', 2)", "explain_run('plan1')"]
    names += ["lifecycle_changes('2020-01-01', '2030-01-01')", "scores_at('2025-12-31 12:00:00+00')"]
    counts = {
        name: len(answer)
        for name, answer in zip(names, elsewhere(file, *(f"FROM {name}" for name in names)), strict=True)
    }
    assert all(counts.values()), counts
    assert counts["memories"] == 9
    assert counts["vectors"] == 5


def storage_version(path):
    """The number of the storage format in a DuckDB file's header: 64 in 0.9 to 1.1, which every later one reads."""
    header = path.read_bytes()[:20]
    assert header[8:12] == b"DUCK"
    return int.from_bytes(header[12:20], "little")


def test_files_are_in_the_storage_format_of_duckdb_1_0(file, tmp_path):
    assert storage_version(file) == 64
    assert storage_version(snapshot.export(file, tmp_path / "all.duckdb")) == 64


def test_every_row_group_of_a_column_of_lists_holds_an_element_somewhere(file, tmp_path):
    """DuckDB 1.0 cannot read one that holds none; found by opening snapshots with it."""
    for path in (file, snapshot.export(file, tmp_path / "all.duckdb")):
        with duckdb.connect(str(path), read_only=True) as connection:
            tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
            stored = "SELECT row_group_id, column_name, segment_type, column_path FROM pragma_storage_info('{}')"
            segments = [
                (name, *row) for (name,) in tables for row in connection.execute(stored.format(name)).fetchall()
            ]
        lists = {row[:3] for row in segments if row[3].endswith("[]")}
        elements = {row[:3] for row in segments if row[4].endswith(", 1]")}
        assert ("memories", 0, "closed_statements") in lists
        assert lists == elements


def test_views_and_macros_hold_nothing_that_older_versions_cannot_bind(query):
    """Found by opening snapshots with DuckDB 1.0.0 and 1.5.6: named arguments with := in views, and if()."""
    views = query("SELECT sql FROM duckdb_views() WHERE NOT internal")
    macros = query("SELECT macro_definition FROM duckdb_functions() WHERE NOT internal")
    assert [sql for (sql,) in views if ":=" in sql] == []
    assert [sql for (sql,) in (*views, *macros) if re.search(r"\bif\(", sql, re.IGNORECASE)] == []


def test_instants_are_utc_whatever_the_time_zone_of_the_reader(file):
    with duckdb.connect(str(file), read_only=True) as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        kinds = connection.execute("SELECT DISTINCT data_type FROM duckdb_columns() WHERE data_type LIKE '%TIME%'")
        assert not [kind for (kind,) in kinds.fetchall() if re.search(r"TIMESTAMP(?! WITH TIME ZONE)", kind)]
        linked_instants = connection.execute("SELECT DISTINCT as_of FROM score_history").fetchall()
        said = connection.execute("SELECT value FROM explain('f') WHERE aspect = 'valid until'").fetchall()
    assert linked_instants == [(AS_OF,)]
    assert said == [(f"{ago(3):%Y-%m-%d %H:%M:%S}",)]


def test_every_table_view_macro_and_column_is_described_and_typed_as_the_dictionary_says(query):
    assert query("SELECT table_name FROM duckdb_tables() WHERE comment IS NULL") == []
    assert query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL") == []
    assert query("SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal AND comment IS NULL") == []
    found = query("SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal")
    told = query("SELECT table_name, column_name, type, description FROM data_dictionary")
    assert sorted(found) == sorted(told)
    assert {table for table, *_ in told} == set(RELATIONS)
    assert all(description for *_, description in told)


def test_the_dictionary_tells_the_key_of_every_table_and_the_unit_of_every_number_and_instant(query):
    for name, relation in RELATIONS.items():
        told = query(f"SELECT column_name, key, nullable, unit, type FROM data_dictionary WHERE table_name = '{name}'")
        assert [column for column, key, *_ in sorted(told, key=lambda row: row[1] or 99) if key] == relation.key
        for column, key, nullable, unit, kind in told:
            assert not (key and nullable), (name, column)
            assert unit or kind not in {"BIGINT", "DOUBLE", "FLOAT", "TIMESTAMP WITH TIME ZONE"}, (name, column)


def test_no_column_has_a_name_that_must_be_quoted(query):
    for name, relation in RELATIONS.items():
        for column in relation.columns:
            query(f"SELECT {column}, max({column}) FROM {name} GROUP BY {column}")


def test_current_memories_are_live_valid_and_not_superseded(query):
    assert query("SELECT profile_id, memory_id FROM current_memories ORDER BY ALL") == [
        ("p", "g"),
        ("p", "s"),
        ("q", "a"),
    ]


def test_score_history_tells_of_runs_that_stand_only(query):
    assert query("SELECT plan_id, memory_id, strength FROM score_history") == [("plan1", "g", 0.5)]


def test_archived_set_tells_of_every_memory_that_left_by_which_rule_and_for_which_summary(query):
    left = query("SELECT memory_id, action, rule, summary_id, strength, threshold FROM archived_set")
    assert left == [
        ("a", "supersede", "superseded_by_summary", "s", None, None),
        ("b", "supersede", "superseded_by_summary", "s", None, None),
        ("e", "archive", "archive_threshold", None, 0.01, 0.05),
    ]
    assert query("SELECT DISTINCT left_at, plan_id FROM archived_set") == [(ago(1), "plan1")]


def test_summaries_are_all_that_were_made(query):
    assert query("SELECT summary_id, members, supersedes, replaces, lifecycle FROM summaries") == [
        ("s", ["a", "b"], True, [], "active")
    ]


def test_decisions_say_whether_they_were_undone(query):
    assert query("SELECT decision_id FROM decisions WHERE reverted") == [("5",)]


def test_accesses_tell_what_was_asked_what_came_back_and_whether_it_helped(query):
    asked = "SELECT seq, session_id, user_id, query, memory_id, rank, score, unsure, helpful FROM accesses"
    assert query(f"{asked} ORDER BY seq, ordinal") == [
        (31, "t", "ann", "which port?", "g", 1, 0.8, False, True),
        (31, "t", "ann", "which port?", "f", 2, 0.6, False, None),
        (34, "t", None, None, "c", None, None, None, False),
    ]


def test_model_usage_counts_requests_and_shows_no_text(query):
    spent = "SELECT purpose, outcome, pairs, refused, input_tokens, output_tokens, tokens, cost FROM model_usage"
    assert query(spent) == [
        ("summary", "answered", None, None, 90, 10, 100, 0.5),
        ("relation", "answered", 2, 1, 90, 10, 100, 0.5),
        ("relation", "timeout", 1, 0, 90, 10, 100, 0.5),
    ]
    assert "secret" not in str(query("FROM model_usage"))


def test_cluster_lineage_tells_of_runs_that_stand_only(query):
    assert query("SELECT plan_id, previous_id, cluster_id, change FROM cluster_lineage") == [
        ("plan1", None, "k", "formed")
    ]


def test_accesses_leave_out_erased_memories(tmp_path):
    given = tables()
    erased = pl.when(pl.col("memory_id") == "g").then(pl.lit("erased")).otherwise("lifecycle")
    given["memories"] = given["memories"].with_columns(lifecycle=erased)
    path = build(tmp_path, given, {}, name=NAME, created_at=CREATED, uses=uses())
    assert elsewhere(path, "SELECT memory_id FROM accesses ORDER BY seq") == [[["f"], ["c"]]]


def test_keywords_and_names_are_rows_by_memory(query):
    assert query("SELECT memory_id, rank, keyword FROM keywords ORDER BY ALL") == [
        ("b", 1, "postgres"),
        ("g", 1, "port"),
        ("g", 2, "81"),
    ]
    assert query("SELECT memory_id, name FROM names") == [("b", "Postgres")]
    assert query("SELECT count(*) FROM enrichment WHERE content_hash = 'of no memory'") == [(0,)]


def test_tokens_are_counted_as_the_budget_counts_them(query):
    by_profile = "SELECT profile_id, sum(stored_tokens)::BIGINT, sum(shown_tokens)::BIGINT FROM tokens GROUP BY ALL"
    budget = trimming.used(tables()["memories"], 0.5).select("profile_id", "stored", "shown")
    assert sorted(query(by_profile)) == budget.rows()
    assert query("SELECT lifecycle, memories, live_tokens, shown_tokens FROM tokens WHERE profile_id = 'p'") == [
        ("active", 5, 25, 25),
        ("archived", 3, 0, 0),
    ]


def test_policies_tell_each_setting_and_where_its_value_comes_from(query):
    found = query("SELECT setting, value, origin FROM policies WHERE profile_id = 'p'")
    settings = {setting: (value, origin) for setting, value, origin in found}
    assert settings.keys() == Policy.model_fields.keys()
    assert settings["methods"] == ('["similarity_components"]', "preset automem")
    assert settings["preset"] == ("automem", "configured")
    assert settings["archive_threshold"] == ("0.05", "configured")
    assert settings["protected_types"] == ("[]", "configured")
    assert settings["token_budget"] == (None, "default")
    assert query("SELECT DISTINCT origin FROM policies WHERE profile_id = 'q'") == [("default",)]


def test_clusters_members_and_memories_join_without_an_ambiguous_column(query):
    joined = """SELECT c.label, memory_id, cluster_id, content FROM clusters c
        JOIN cluster_members USING (profile_id, cluster_id) JOIN memories USING (profile_id, memory_id) ORDER BY ALL"""
    assert query(joined) == [
        ("postgres", "a", "k", "We use Postgres"),
        ("postgres", "b", "k", "We use Postgres 16"),
    ]


def test_snapshot_info_says_what_is_shown(query):
    now = AS_OF
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
    assert len(query("FROM explain_run('plan')")) == 7


@pytest.mark.drill
def test_rows_in_any_order_give_the_same_content(file, tmp_path):
    shuffled = {name: frame.sample(fraction=1.0, shuffle=True, seed=7) for name, frame in tables().items()}
    files = {name: paths[::-1] for name, paths in linked(tmp_path / "lake").items()}
    given = USED | {"uses": uses().reverse()}
    other = build(tmp_path, shuffled, files, name=NAME, created_at=CREATED, **given)
    queries = [f"FROM {name}" for name in RELATIONS]
    for one, another in zip(elsewhere(file, *queries), elsewhere(other, *queries), strict=True):
        assert sorted(map(str, one)) == sorted(map(str, another))


def test_a_snapshot_outlives_the_files_of_the_lake(tmp_path):
    files = linked(tmp_path / "lake")
    made = build(tmp_path, tables(), files, name=NAME, created_at=CREATED)
    assert all(path.stat().st_nlink == 2 for paths in files.values() for path in paths)
    shutil.rmtree(tmp_path / "lake")
    assert elsewhere(made, "SELECT memory_id FROM similar_to('g', 1)") == [[["e"]]]


@pytest.mark.drill
def test_where_hard_links_are_impossible_vectors_are_copied(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    made = build(tmp_path, tables(), linked(tmp_path / "lake"), name=NAME, created_at=CREATED)
    shutil.rmtree(tmp_path / "lake")
    assert elsewhere(made, "SELECT count(*) FROM vectors") == [[[5]]]


def test_an_empty_store_gives_a_valid_snapshot(tmp_path):
    made = build(tmp_path, {}, {}, name="000000000000-00000000", created_at=CREATED)
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
    queries = ["FROM vectors ORDER BY ALL", "FROM similar_to('g', 3)", "FROM explain('g')", "FROM data_dictionary"]
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
    with pytest.raises(ValueError, match=r"none\.duckdb is not a snapshot"):
        snapshot.export(tmp_path / "none.duckdb", tmp_path / "new.duckdb")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "latest"}, "'latest' must be 12 digits"),
        ({"tables": {"stories": pl.DataFrame()}}, "'stories' is not in a snapshot"),
        (
            {"tables": {"memories": pl.DataFrame({"profile_id": ["p"]})}},
            "table memories: column 'memory_id' is missing",
        ),
    ],
)
def test_wrong_input_is_refused_and_leaves_nothing(change, message, tmp_path):
    given = {"tables": tables(), "name": NAME} | change
    with pytest.raises(ValueError, match=message):
        build(tmp_path, given["tables"], {}, name=given["name"], created_at=CREATED)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_build_that_fails_half_way_leaves_nothing(tmp_path):
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    with pytest.raises(duckdb.Error):
        build(tmp_path, tables(), {"vectors": [broken]}, name=NAME, created_at=CREATED)
    assert list((tmp_path / "snapshots").glob("*.*")) == []


def test_listing_and_pruning_know_published_and_past_snapshots(tmp_path):
    for name in (
        "000000000001-a",
        "000000000003-c",
        "000000000002-b",
        "000000000003-c-20250101",
        "000000000002-b-20250101",
    ):
        build(tmp_path, {}, {}, name=name, created_at=CREATED)
    listed = snapshot.listing(tmp_path)
    assert listed["name"].to_list()[:2] == ["000000000003-c-20250101", "000000000003-c"]
    assert listed.filter("newest")["name"].to_list() == ["000000000003-c"]
    assert listed["ledger_position"].to_list() == [3, 3, 2, 2, 1]
    with Lake(tmp_path) as store:
        assert [path.stem for path in snapshot.prune(store, 1)] == [
            "000000000001-a",
            "000000000002-b",
            "000000000003-c-20250101",
        ]
        with pytest.raises(ValueError, match="keep = 0 would remove the newest"):
            snapshot.prune(store, 0)
    assert snapshot.listing(tmp_path)["name"].to_list() == ["000000000003-c", "000000000002-b-20250101"]
    kept = {path.name for path in (tmp_path / "snapshots" / "files").iterdir()}
    assert kept == {"000000000003-c", "000000000002-b-20250101"}


def test_looking_at_a_store_without_snapshots_makes_nothing(tmp_path):
    assert snapshot.listing(tmp_path).is_empty()
    assert snapshot.newest(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def lake(tmp_path):
    with Lake(tmp_path / "home") as opened:
        commit(opened, tables(), plan_id="plan1", as_of=ago(1))
        opened.append("vectors", pl.read_parquet(vectors(tmp_path / "given")))
        yield opened


def position(file):
    [[[found]]] = elsewhere(file, "SELECT DISTINCT ledger_position FROM snapshot_info")
    return found


def test_publishing_shows_the_committed_state_under_one_relative_link(lake):
    file = snapshot.publish(lake)
    link = lake.home / "snapshots" / snapshot.LINK
    assert file.name == f"{lake.ledger.position():012d}-plan1.duckdb"
    assert link.readlink() == Path(file.name)
    [[[live]], nearest, decided] = elsewhere(
        link, "SELECT count(*) FROM current_memories", "FROM similar_to('g', 9)", "FROM explain_run('plan1')"
    )
    assert (live, len(nearest), len(decided)) == (4, 3, 5)


def test_publishing_an_unchanged_state_again_makes_nothing_new(lake):
    first = snapshot.publish(lake)
    before = first.stat()
    lake.ledger.append([parse({"event_type": "session.started", "session_id": "t"}, recorded_at=AS_OF, origin="test")])
    assert snapshot.publish(lake) == first
    assert first.stat() == before
    assert snapshot.listing(lake.home).height == 1


@pytest.mark.drill
def test_the_link_moves_on_with_commits_and_never_back(lake):
    first = snapshot.publish(lake)
    seq = lake.ledger.position()
    commit(lake, tables(), plan_id="plan2")
    second = snapshot.publish(lake)
    first.unlink()
    assert snapshot.publish(lake, seq=seq) == first
    assert position(first) == seq
    assert snapshot.newest(lake.home) == second == (lake.home / "snapshots" / snapshot.LINK).resolve()
    with pytest.raises(ValueError, match=f"seq = {seq + 99} is not a ledger position; give one from 0 to {seq + 2}"):
        snapshot.publish(lake, seq=seq + 99)


@pytest.mark.drill
def test_where_symlinks_are_impossible_the_newest_is_copied(lake, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(Path, "symlink_to", refuse)
    link = lake.home / "snapshots" / snapshot.LINK
    for plan_id in ("plan2", "plan3"):
        commit(lake, tables(), plan_id=plan_id)
        snapshot.publish(lake)
        assert not link.is_symlink()
        assert position(link) == lake.ledger.position()


def publish_once(home, sender):
    with Lake(home) as lake:
        sender.send(str(snapshot.publish(lake)))


def test_publishers_at_the_same_time_make_one_file(lake):
    receiver, sender = PROCESSES.Pipe(duplex=False)
    started = [PROCESSES.Process(target=publish_once, args=(lake.home, sender)) for _ in range(3)]
    for process in started:
        process.start()
    for process in started:
        process.join(PATIENCE)
    assert [process.exitcode for process in started] == [0, 0, 0]
    made = {receiver.recv() for _ in started}
    assert made == {str(snapshot.newest(lake.home))}
    assert {path.name for path in (lake.home / "snapshots").glob("*duckdb*")} == {Path(*made).name, snapshot.LINK}


@pytest.mark.drill
def test_a_reader_sees_whole_snapshots_only_while_new_ones_are_published(lake, tmp_path):
    snapshot.publish(lake)
    link, stop = lake.home / "snapshots" / snapshot.LINK, tmp_path / "stop"
    reader = subprocess.Popen(
        [sys.executable, "-c", ALONE + WATCHER, str(link), str(stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout.readline() == "reading\n"
    for place in range(6):
        given = tables()
        given["memories"] = given["memories"].filter(pl.col("seq") > place)
        commit(lake, given, plan_id=f"plan{place + 2}")
        snapshot.publish(lake)
    stop.touch()
    said, complained = reader.communicate(timeout=PATIENCE)
    assert (reader.returncode, complained) == (0, "")
    assert int(said) > 0


@pytest.mark.drill
def test_a_snapshot_outlives_a_sweep_and_pruning_keeps_the_linked_one(lake):
    first = snapshot.publish(lake)
    commit(lake, tables(), plan_id="plan2")
    second = snapshot.publish(lake)
    shutil.rmtree(lake.home / "lake")
    for file in (first, second):
        assert elsewhere(file, "SELECT memory_id FROM similar_to('g', 1)") == [[["e"]]]
    assert snapshot.prune(lake, 1) == [first]
    assert (lake.home / "snapshots" / snapshot.LINK).resolve() == second
    assert elsewhere(second, "SELECT count(*) FROM vectors") == [[[5]]]


def test_pruning_removes_what_unfinished_builds_left_only_once_it_is_old(lake):
    snapshot.publish(lake)
    left = [lake.home / "snapshots" / ".x.duckdb.1.aside", lake.home / "snapshots" / "files" / "000000000009-x"]
    left[0].touch()
    left[1].mkdir()
    snapshot.prune(lake, 1)
    assert all(path.exists() for path in left)
    for path in left:
        os.utime(path, (0, 0))
    snapshot.prune(lake, 1)
    assert not any(path.exists() for path in left)
    assert elsewhere(snapshot.newest(lake.home), "SELECT count(*) FROM vectors") == [[[5]]]


def test_the_present_state_of_a_store_is_exported_in_one_step(lake, tmp_path):
    exported = snapshot.export(lake, tmp_path / "all.duckdb")
    shutil.rmtree(lake.home / "snapshots")
    assert elsewhere(exported, "SELECT count(*) FROM vectors", "SELECT count(*) FROM memories") == [[[5]], [[9]]]
