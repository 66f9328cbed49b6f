"""One run through the whole pipeline, by the commands of the demo: what a quick check runs besides the pure rooms."""

import duckdb
import sample
from commands import NIGHT, as_json, text


def test_a_night_commits_a_plan_and_the_same_night_again_plans_nothing(tmp_path):
    home, file = tmp_path / "data", tmp_path / "sample.jsonl"
    sample.write(file, profiles=1, memories=20, days=60, seed=7)
    text("import", "jsonl", file, home=home)
    run = as_json("consolidate", "--as-of", NIGHT, home=home)
    assert sum(run["profiles"][0]["actions"].values()) > 0
    assert "checks passed" in text("check", home=home)
    with duckdb.connect(str(home / "snapshots" / "memories.duckdb"), read_only=True) as snapshot:
        assert snapshot.sql("SELECT count(*) FROM memories").fetchall() >= [(20,)]
    assert "The plan is empty" in text("consolidate", "--as-of", NIGHT, "--dry-run", home=home)
