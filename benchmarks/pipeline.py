"""A whole run in process, stage by stage, at growing sizes: CPU seconds, and how they grow; and what Dagster adds.

`--full` adds 50,000 memories. Ratios are against reading the same events alone (the fold) in the same run.
"""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from memory_pipeline.assets.resources import Run
from memory_pipeline.consolidation import pipeline
from memory_pipeline.interop import sample
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import commit, consolidate, inputs
from memory_pipeline.service import launch
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
    made |= {name: inputs.read_table(lake, name, profiles) for name in pipeline.SOURCES if name != "profiles"}
    spent["read"] = time.process_time() - start
    for stage in pipeline.ORDER:
        start = time.process_time()
        made |= pipeline.with_recorded(stage, made, pipeline.run_stage(stage, made, policies))
        spent[stage.name] = time.process_time() - start
    start = time.process_time()
    commit.record(lake, profiles, {name: made[name] for name in pipeline.RECORDED})
    commit.commit(lake, made, policies, run_id="benchmark")
    spent["commit"] = time.process_time() - start
    return spent


def through_dagster(memories):
    """Return the CPU seconds of a first run with its snapshot: plain, and as a Dagster job in this process."""
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), memories) as lake:
        settings = load(lake.home, environment={})
        start = time.process_time()
        consolidate.consolidate(lake, settings, inputs.select_profiles(lake, settings, as_of=NIGHT), run_id="plain")
        snapshot.publish(lake)
        plain = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        filled(Path(folder), memories).close()
        launch.dagster_home(Path(folder))
        with launch.instance(Path(folder)):  # its databases are made once a home
            start = time.process_time()
        launch.execute(load(Path(folder), environment={}), "full", Run(as_of=NIGHT.isoformat()))
        return plain, time.process_time() - start


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
    folds = total[-1] / results[sizes[-1]]["memories"]
    print(f"memories grew {grown:.1f}x in the last step; a run costs {folds:.0f} folds of the ledger")
    plain, dagster = through_dagster(1_500)
    print(f"1,500 memories: {plain:.1f} CPU s plain, {dagster:.1f} through Dagster ({dagster - plain:.1f} more)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
