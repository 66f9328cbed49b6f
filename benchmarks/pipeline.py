"""A whole run in process, stage by stage, at growing sizes: CPU seconds, and how they grow.

`--full` adds 50,000 memories. Ratios are against reading the same events alone (the fold) in the same run.
"""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from memory_pipeline.consolidation import pipeline
from memory_pipeline.interop import sample
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import commit, inputs
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import load

NIGHT = datetime(2026, 5, 2, 2, tzinfo=UTC)
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)


def filled(home, memories):
    lake = Lake(home)
    told = sample.generate(profiles=2, memories=memories // 2, days=100, seed=1)
    import_events(lake.ledger, (parse(e, recorded_at=RECORDED, origin="sample", future=None) for e in told))
    lake.project()
    return lake


def stages(lake):
    """Return the CPU seconds of each stage of a first run, and of its commit."""
    settings = load(lake.home, environment={})
    profiles = inputs.select_profiles(lake, settings, as_of=NIGHT)
    policies = inputs.policies(settings, profiles)
    made = {"profiles": profiles}
    spent = {}
    start = time.process_time()
    made |= {name: inputs.read_table(lake, name, profiles) for name in ("events", "decisions", "reverted")}
    made |= {name: lake.read(name) for name in ("enrichment", "vectors", "completions")}
    spent["read"] = time.process_time() - start
    for stage in pipeline.STAGES:
        start = time.process_time()
        result = pipeline.each(profiles, policies, stage.function, *(made[name] for name in stage.takes))
        frames = (result,) if isinstance(result, pl.DataFrame) else result
        for name, frame in zip(stage.gives, frames, strict=True):
            table = TABLES[name]
            made[name] = table.conform(pl.concat([made[name], frame]) if table.write_mode == "appended" else frame)
        spent[stage.function.__name__] = time.process_time() - start
    start = time.process_time()
    for name in ("enrichment", "vectors"):
        lake.append(name, made[name])
    commit.commit(lake, made, policies, run_id="benchmark")
    spent["commit"] = time.process_time() - start
    return spent


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--full", action="store_true", help="add 50,000 memories")
    sizes = [1_000, 4_000, 16_000] + ([50_000] if arguments.parse_args().full else [])
    results = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, filled(Path(folder), size) as lake:
            results[size] = stages(lake)
    names = list(results[sizes[0]])
    print(f"{'CPU seconds':16s}" + "".join(f"{size:>10,d}" for size in sizes) + f"{'growth':>10s}")
    for name in names:
        row = [results[size][name] for size in sizes]
        growth = (row[-1] / row[-2]) if row[-2] > 0 else float("nan")
        print(f"{name:16s}" + "".join(f"{value:10.2f}" for value in row) + f"{growth:9.1f}x")
    total = [sum(results[size].values()) for size in sizes]
    print(f"{'total':16s}" + "".join(f"{value:10.2f}" for value in total) + f"{total[-1] / total[-2]:9.1f}x")
    grown = sizes[-1] / sizes[-2]
    folds = total[-1] / results[sizes[-1]]["project"]
    print(f"memories grew {grown:.1f}x in the last step; a run costs {folds:.0f} folds of the ledger")
    return 0


if __name__ == "__main__":
    sys.exit(main())
