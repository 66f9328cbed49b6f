"""DuckDB reads a live store where it is, now and past states, and snapshots in a bucket, through its extensions.

They come for a DuckDB older than ours, so it has an environment of its own, whose Python `make` names in
`DUCKDB_PYTHON`. What Polars reads is tried in `test_in_place.py`.
"""

import json
import os
import re
import subprocess

import homes
import in_place
import pytest

from memory_pipeline.lake import bucket_snapshots, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import undo
from memory_pipeline.settings import ledger_address, load

PYTHON = os.environ.get("DUCKDB_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="DUCKDB_PYTHON names no Python with the extensions")
LOADED = """
import json, sys, duckdb
from duckdb_extensions import import_extension
for extension in ("sqlite_scanner", "postgres_scanner", "ducklake", "httpfs"):
    import_extension(extension)
before, *queries = json.load(sys.stdin)
duckdb.execute("SET enable_progress_bar = false")  # a query over two seconds would draw into the answer
duckdb.execute(before)
print(json.dumps([duckdb.execute(query).fetchall() for query in queries], default=str))
"""


def asked(attach, *queries):
    """Return the rows of queries, which a process of its own runs after attaching the store as `live`."""
    given = json.dumps([attach, *queries])
    done = subprocess.run([PYTHON, "-c", LOADED], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [[tuple(row) for row in rows] for rows in json.loads(done.stdout)]


def lived(lake):
    """Let a store live through two nights and an undo; return the position of the first night."""
    homes.night(lake, run_id="one", policy=load(lake.home, environment={}))
    first = lake.ledger.runs()["commit_seq"].min()
    undo.undo(lake, "one", now=homes.NIGHT + homes.days(1))
    homes.night(lake, run_id="two", as_of=homes.NIGHT + homes.days(2), policy=load(lake.home, environment={}))
    return first


def agrees(lake, attach, first):
    """Every table has our rows, now and at the first night."""
    names = [name for name in in_place.KEPT if name != "enrichment"]  # we leave out rows of other parsers
    *counts, ids, early, texts, changes = asked(
        attach,
        *(f"FROM live.{name} SELECT count(*)" for name in names),
        "SELECT memory_id, closed_statements[1].sentence FROM live.memories ORDER BY profile_id, memory_id",
        f"FROM live.scored_memories AT (VERSION => {first}) SELECT memory_id ORDER BY profile_id, memory_id",
        "SELECT content FROM live.memories WHERE profile_id = 'sample-1' AND strpos(content, ' ') > 0",
        f"FROM ducklake_table_changes('live', 'main', 'memories', {first}, {first}) SELECT change_type, count(*) "
        "GROUP BY ALL",
    )
    assert [rows for ((rows,),) in counts] == [lake.read(name).height for name in names]
    assert [row[0] for row in ids] == lake.read("memories")["memory_id"].to_list()
    assert [row[0] for row in early] == lake.read("scored_memories", seq=first)["memory_id"].to_list()
    assert {row[0] for row in texts} <= set(lake.read("memories", profiles=["sample-1"])["content"])
    assert changes == [("insert", lake.read("memories", seq=first).height)]


def test_a_live_store_is_read_where_it_is(consolidated, tmp_path):
    with homes.copied(consolidated, tmp_path / "data") as lake:
        first = lake.ledger.runs()["commit_seq"].min()
        agrees(lake, f"ATTACH 'ducklake:sqlite:{lake.home}/ledger.sqlite' AS live (READ_ONLY)", first)


@pytest.mark.drill
def test_a_live_store_of_one_machine(tmp_path):
    home = tmp_path / "the däta of 100 %20"
    with homes.filled(home, homes.events(memories=15)) as lake:
        first = lived(lake)
        agrees(lake, f"ATTACH 'ducklake:sqlite:{home}/ledger.sqlite' AS live (READ_ONLY)", first)
        homes.night(lake, run_id="three", as_of=homes.NIGHT + homes.days(3))  # its ledger is still its own


@pytest.mark.drill
def test_a_ledger_on_a_server(postgres, tmp_path):
    with Lake(postgres.home(tmp_path / "home")) as empty:
        address = ledger_address(empty.home)
    with homes.filled(tmp_path / "home", homes.events(memories=15)) as lake:
        first = lived(lake)
        folder, schema = re.search(r"host=([^&]*).*search_path%3D(\w+)", address).groups()
        place = f"host={folder.replace('%2F', '/')} user=postgres dbname=postgres"
        agrees(lake, f"ATTACH 'ducklake:postgres:{place}' AS live (READ_ONLY, METADATA_SCHEMA '{schema}')", first)


@pytest.mark.drill
def test_snapshots_in_a_bucket(s3, tmp_path):
    given = s3.environment
    secret = (
        f"CREATE SECRET (TYPE s3, KEY_ID '{given['AWS_ACCESS_KEY_ID']}', SECRET '{given['AWS_SECRET_ACCESS_KEY']}', "
        f"ENDPOINT '{given['AWS_ENDPOINT_URL'].removeprefix('http://')}', REGION '{given['AWS_REGION']}', "
        "URL_STYLE 'path', USE_SSL false)"
    )
    with homes.filled(s3.home(tmp_path / "home"), homes.events(memories=15)) as lake:
        homes.night(lake, run_id="one", policy=load(lake.home, environment={}))
        first = snapshot.publish(lake)
        homes.night(lake, run_id="two", as_of=homes.NIGHT + homes.days(2), policy=load(lake.home, environment={}))
        last = snapshot.publish(lake)
        keys = {"early": f"{bucket_snapshots.PREFIX}{first.name}", "now": bucket_snapshots.NEWEST}
        attach = [f"ATTACH '{lake.store.uri(key)}' AS {name} (READ_ONLY)" for name, key in keys.items()]
        positions = sorted(set(lake.ledger.runs()["commit_seq"]))
        nights = [lake.read("score_history", seq=seq).height for seq in positions]
    queries = [f"FROM {name}.{table}" for name in keys for table in ("score_history", "vectors", "enrichment")]
    *found, early, now, nearest = asked(
        "; ".join([secret, *attach]),
        *(f"{query} SELECT count(*)" for query in queries),
        "SELECT name FROM early.snapshot_info LIMIT 1",
        "SELECT name FROM now.snapshot_info LIMIT 1",
        "USE now; SELECT count(*) FROM similar_to((SELECT min(memory_id) FROM memories), 3)",
    )
    assert [rows[0][0] for rows in found] == [
        nights[0],
        60,
        30,
        nights[-1],
        60,
        30,
    ]  # vectors of the embedder and of the judge
    assert (early, now, nearest) == ([(first.stem,)], [(last.stem,)], [(6,)])  # three of each model
