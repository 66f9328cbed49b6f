"""The demo: sample data of two profiles, one nightly run through Dagster, and a second plan that is empty.

Each command is what a user types; all run in this one process, because importing Dagster takes longer than most of
them.
The environment variable MEMORY_PIPELINE_HOME names the data folder.
"""

import os
import shlex
import sys
from pathlib import Path

from memory_pipeline.service import cli

HOME = Path(os.environ.get("MEMORY_PIPELINE_HOME", "data"))
SAMPLE = HOME / "demo" / "sample.jsonl"
AS_OF = "2026-05-01T02:00:00Z"
QUERY = f"duckdb.connect('{HOME}/snapshots/memories.duckdb', read_only=True).sql('from data_dictionary').show()"
NEXT = f"""
Try next:
  source .venv/bin/activate     # puts the command on the path
  memory-pipeline --home {HOME} status
  python -c "import duckdb; {QUERY}"
  make ui HOME_FOLDER={HOME}     # the asset graph, schedules and sensors in a browser"""


def run(*arguments: object) -> None:
    """Run one command, and end with its exit status if it fails."""
    sys.argv = ["memory-pipeline", *map(str, arguments)]
    print(f"\n$ {shlex.join(sys.argv)}", flush=True)
    try:
        cli.main()
    except SystemExit as end:
        if end.code:
            raise


run("init")
SAMPLE.parent.mkdir(parents=True, exist_ok=True)
run("sample", "--profiles", 2, "--memories", 750, "--days", 120, "--seed", 7, SAMPLE)
run("import", "jsonl", SAMPLE)
run("consolidate", "--as-of", AS_OF)
run("check")
run("consolidate", "--as-of", AS_OF, "--dry-run")
print(NEXT)
