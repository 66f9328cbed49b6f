"""The same ledger, policy and instant give the same tables under other threads, hashes, zone, locale and path."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import readings

PLACES = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "threads": "1"},
    {"PYTHONHASHSEED": "77", "TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8", "threads": "2"},
    {"PYTHONHASHSEED": "0", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8", "threads": "4"},
)
# The table of runs is left out: it says when each was committed, and how long it took.
NIGHT = """
import hashlib, json, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/../research"]
import homes
from memory_pipeline.schemas import TABLES
with homes.filled(Path(sys.argv[2]), homes.events(profiles=2, memories=60, days=60)) as lake:
    homes.night(lake)
    tables = {name: repr(lake.read(name).rows()) for name in TABLES if name != "consolidation_runs"}
hashes = {name: hashlib.sha256(rows.encode()).hexdigest() for name, rows in tables.items()}
print(json.dumps(hashes, sort_keys=True))
"""


@pytest.mark.drill
def test_tables_are_equal_under_other_threads_hash_seeds_zones_locales_and_paths(tmp_path):
    found = []
    for number, place in enumerate(PLACES):
        home = tmp_path / f"h\u00f6me {number}" / ("deep/" * number)
        home.mkdir(parents=True)
        threads = dict.fromkeys(("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), place["threads"])
        told = subprocess.run(
            [sys.executable, "-c", NIGHT, Path(__file__).parent, home],
            env={**os.environ, **readings.ANEW, **place, **threads},
            cwd=tmp_path,
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        found.append(json.loads(told.stdout))
    assert found[1:] == found[:-1]
