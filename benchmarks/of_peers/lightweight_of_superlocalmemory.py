"""Times a lightweight consolidation of superlocalmemory; runs in .venv-peers (.ci/peers).

python benchmarks/of_peers/lightweight_of_superlocalmemory.py FACTS EDGES

Facts are of three kinds in turn, and one in ten is accessed a few times; no edge was used for 40 days. Its caches and
its model are not needed for this step, so its other requirements are not installed.
"""

import json
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from superlocalmemory.core.config import ConsolidationConfig
from superlocalmemory.core.consolidation_engine import ConsolidationEngine
from superlocalmemory.encoding.auto_linker import AutoLinker
from superlocalmemory.storage import schema
from superlocalmemory.storage.database import DatabaseManager

KINDS = ("semantic", "episodic", "opinion")
LONG_AGO = "datetime('now', '-40 days')"


def fill(path: Path, facts: int, edges: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT OR IGNORE INTO profiles (profile_id, name) VALUES ('p', 'p')")
        connection.execute("INSERT INTO memories (memory_id, profile_id, content) VALUES ('m', 'p', 'a session')")
        connection.executemany(
            "INSERT INTO atomic_facts (fact_id, memory_id, profile_id, content, fact_type) VALUES (?, 'm', 'p', ?, ?)",
            ((f"f{place}", f"Fact {place} about the subject {place % 97}", KINDS[place % 3]) for place in range(facts)),
        )
        connection.executemany(
            "INSERT INTO fact_access_log (log_id, fact_id, profile_id) VALUES (?, ?, 'p')",
            ((f"a{place}-{time}", f"f{place}") for place in range(0, facts, 10) for time in range(place % 4)),
        )
        connection.executemany(
            "INSERT INTO association_edges (edge_id, profile_id, source_fact_id, target_fact_id, association_type, "  # noqa: S608
            f"weight, created_at, last_strengthened) VALUES (?, 'p', ?, ?, 'auto_link', .8, {LONG_AGO}, {LONG_AGO})",
            (
                (f"e{place}", f"f{place % facts}", f"f{(place % facts + 1 + place // facts) % facts}")
                for place in range(edges)
            ),
        )


def main(facts: int, edges: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        database = DatabaseManager(path)
        database.initialize(schema)
        fill(path, facts, edges)
        engine = ConsolidationEngine(
            database, ConsolidationConfig(enabled=True), auto_linker=AutoLinker(database, vector_store=None)
        )
        start = time.process_time()
        made = engine.consolidate("p", lightweight=True)
        print(json.dumps({"seconds": time.process_time() - start, "made": made}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
