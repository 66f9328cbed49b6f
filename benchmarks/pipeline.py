"""Measures a whole run in process, stage by stage, at growing sizes: CPU seconds, their growth, and the next night's.

After a first night come one after 1 % new events of all people, one without any, and one after 1 % new events of one
person in twenty-five (of one at least). `--full` goes to 100,000 memories in steps of ten, `--profiles` sets the number
of people. Ratios are against reading the same events alone (the fold) in the same run.
Peak memory is that of the process so far. Last comes the overhead of Dagster.
"""

import argparse
import functools
import resource
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dagster._core.log_manager import DagsterLogManager
from figures import figure
from figures import growth as grows
from sample import generate

from memory_pipeline.assets.resources import Run
from memory_pipeline.consolidation import pipeline
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import commit, consolidate, inputs, resting
from memory_pipeline.service import launch
from memory_pipeline.settings import load

NIGHT = datetime(2026, 5, 2, 2, tzinfo=UTC)
DAY = timedelta(days=1)
HELD_BACK = 0.01
"""Share of the events that come after the first night, and again after the third."""
INPUTS_AND_OUTPUTS = ("STEP_INPUT", "LOADED_INPUT", "STEP_OUTPUT", "HANDLED_OUTPUT")
"""Dagster's events about what a step is given and what it hands on."""
PEOPLE_PER_TALKER = 25
"""Number of people of whom one talks before the last night."""
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)
LARGE = 100_000
LIMITS = {
    "first": {
        "at_most": 60,
        "tried": "500 CPU s at first. Work by groups of profiles, one exact comparison for all edges instead of three, "
        "and judging only pairs that words or vectors propose brought it here; a third of it compares facts "
        "clause by clause",
    },
    "peak": {
        "at_most": 1.3,
        "tried": "groups of profiles took it from 2.9 to 2.2 GB when each stage runs by itself; a run in one process "
        "also holds the tables that its commit needs for all profiles. `shards` bounds it further: a million "
        "memories take 2.9 GB",
    },
    "later": {
        "at_most": 10,
        "tried": "the state, judgements, similar pairs, groups and core sentences are kept from night to night and "
        "found again by profile, and only new vectors are compared. Scores, weights and ranks depend on the clock and "
        "are made anew; what a word weighs depends on all memories of its profile, so news of everybody has the "
        "features of all pairs computed again, though the trees answer about few. A profile that was left alone, and "
        "in which the clock decides nothing for a week, is "
        "not computed at all from the second such night on",
    },
    "commit": {"at_most": 10},
    "again": {
        "at_most": 1,
        "tried": "87 CPU s at first. Tables of scores and state differ every night in every row, so their files are "
        "written anew; only profiles that a run was not asked for are left alone",
    },
}
SMALL = (
    "the tokens of pairs are aligned side by side now, 52 us a pair where 341 were needed one by one; what is left is "
    "spread over some 5,000 queries of small tables, which 60 memories take too"
)
DAGSTER = (
    "13 CPU s at first. Dagster's databases stay open through a run, seven steps hand their tables on, and only what "
    "changed is materialised; the rest is Dagster's events, one transaction each, and the run itself"
)


def filled(home, memories, profiles=2):
    """Return a store that lacks the latest events: those of all people, and before those the latest of few."""
    lake = Lake(home)
    told = generate(profiles=profiles, memories=memories // profiles, days=100, seed=1)
    events = [parse(event, recorded_at=RECORDED, origin="sample", future=None) for event in told]
    events.sort(key=lambda event: event.occurred_at)
    count = round(len(events) * HELD_BACK)
    first, of_all = events[:-count], events[-count:]
    talkers = sorted({event.profile_id for event in events})[: max(1, profiles // PEOPLE_PER_TALKER)]
    of_few = [event for event in first if event.profile_id in talkers][-count:]
    later = {id(event) for event in of_few}
    import_events(lake.ledger, [event for event in first if id(event) not in later])
    lake.project()
    return lake, of_all, of_few


def nights(memories, profiles):
    """Return the CPU seconds of each stage of four nights, with their commits."""
    with tempfile.TemporaryDirectory() as folder:
        lake, of_all, of_few = filled(Path(folder), memories, profiles)
        spent = []
        with lake:
            for number, told in enumerate(([], of_all, [], of_few)):
                import_events(lake.ledger, told)
                lake.project()
                spent.append(stages(lake, NIGHT + number * DAY))
        return spent


def stages(lake, as_of):
    """Return the CPU seconds of each stage of a run, over all groups of profiles, and of its commit."""
    settings = load(lake.home, environment={})
    selected = inputs.select_profiles(lake, settings, as_of=as_of)
    policies = inputs.policies(settings, selected)
    spent = dict.fromkeys(("left alone", "read", *(stage.name for stage in pipeline.ORDER)), 0.0)
    start = time.process_time()
    profiles = resting.leave(lake, selected, run_id=f"benchmark-{as_of:%d}")
    spent["left alone"] = time.process_time() - start
    start = time.process_time()
    given = {name: inputs.read_table(lake, name, profiles) for name in pipeline.SOURCES if name != "profiles"}
    spent["read"] = time.process_time() - start

    def timed(stage):
        @functools.wraps(stage.function)
        def function(given, context):
            start = time.process_time()
            made = stage.function(given, context)
            spent[stage.name] += time.process_time() - start
            return made

        return replace(stage, function=function)

    start = time.process_time()
    order = [timed(stage) for stage in pipeline.ORDER]
    made = pipeline.run({"profiles": profiles} | given, policies, stages=order, keep=consolidate.IN_MEMORY)
    spent["between stages"] = time.process_time() - start - (sum(spent.values()) - spent["read"] - spent["left alone"])
    del given
    start = time.process_time()
    commit.record(lake, profiles, {name: made[name] for name in pipeline.RECORDED})
    commit.commit(lake, made, policies, run_id=f"benchmark-{as_of:%d}")
    spent["commit"] = time.process_time() - start
    return spent


def keep_readings():
    """Let this process keep what the reader has read, so that it reads each text once."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    import readings  # noqa: PLC0415 - of the tests

    readings.keep()


def in_process(memories):
    """Return the CPU seconds of a first run with its snapshot in this process."""
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), memories)[0] as lake:
        settings = load(lake.home, environment={})
        start = time.process_time()
        consolidate.consolidate(lake, settings, inputs.select_profiles(lake, settings, as_of=NIGHT), run_id="plain")
        snapshot.publish(lake)
        return time.process_time() - start


def through_dagster(memories):
    """Return the CPU seconds of a first run with its snapshot, as a Dagster job in this process."""
    with tempfile.TemporaryDirectory() as folder:
        filled(Path(folder), memories)[0].close()
        launch.dagster_home(Path(folder))
        with launch.instance(Path(folder)):  # its databases are made once per home
            start = time.process_time()
        launch.execute(load(Path(folder), environment={}), "full", Run(as_of=NIGHT.isoformat()))
        return time.process_time() - start


@contextmanager
def recorded_events():
    """Yield the number of Dagster's events by type, and the CPU seconds that recording them takes."""
    log, counts, spent = DagsterLogManager.log_dagster_event, Counter(), Counter()

    def timed(manager, *arguments, dagster_event, **options):
        start = time.process_time()
        log(manager, *arguments, dagster_event=dagster_event, **options)
        counts[dagster_event.event_type_value] += 1
        spent[dagster_event.event_type_value] += time.process_time() - start

    DagsterLogManager.log_dagster_event = timed
    try:
        yield counts, spent
    finally:
        DagsterLogManager.log_dagster_event = log


def report(size, profiles, first, later, peak):
    """Note the figures of the largest store; what is wanted is wanted at 100,000 memories."""
    limits = LIMITS if size == LARGE else {}
    total = sum(first.values())
    work = f"night of {size:,} memories of {profiles} people"
    figure(
        f"{work}, the first, without parsing and embedding",
        total - first["enrichment"],
        "CPU s",
        **limits.get("first", {}),
    )
    figure("the same, memory at most of four nights", peak, "GB", **limits.get("peak", {}))
    news = ("after 1 % new events of all", "with nothing new", "after 1 % new events of few")
    for told, spent in zip(news, later, strict=True):
        figure(f"{work}, {told}", 100 * sum(spent.values()) / total, "% of the first", **limits.get("later", {}))
    figure(f"commit of {size:,} memories", first["commit"], "CPU s", **limits.get("commit", {}))
    for told, spent in zip(news, later, strict=True):
        figure(f"commit {told}", spent["commit"], "CPU s", **limits.get("again", {}))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--full", action="store_true", help="1,000, 10,000 and 100,000 memories")
    arguments.add_argument("--profiles", type=int, default=50, help="number of people that the memories belong to")
    given = arguments.parse_args()
    sizes = [1_000, 10_000, 100_000] if given.full else [1_000, 4_000, 16_000]
    results, following, peaks = {}, {}, {}
    for size in sizes:
        results[size], *following[size] = nights(size, given.profiles)
        peaks[size] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    names = list(results[sizes[0]])
    print(f"{'CPU seconds':16s}" + "".join(f"{size:>10,d}" for size in sizes) + f"{'growth':>10s}")
    for name in names:
        row = [results[size][name] for size in sizes]
        growth = (row[-1] / row[-2]) if row[-2] > 0 else float("nan")
        print(f"{name:16s}" + "".join(f"{value:10.2f}" for value in row) + f"{growth:9.1f}x")
    total = [sum(results[size].values()) for size in sizes]
    print(f"{'total':16s}" + "".join(f"{value:10.2f}" for value in total) + f"{total[-1] / total[-2]:9.1f}x")
    for place, told in enumerate(("1 % of all", "nothing new", "1 % of few")):
        again = [sum(following[size][place].values()) for size in sizes]
        print(f"{told:16s}" + "".join(f"{value:10.2f}" for value in again) + f"{again[-1] / again[-2]:9.1f}x")
        print(f"{'  of the first':16s}" + "".join(f"{a / b:10.0%}" for a, b in zip(again, total, strict=True)))
    print(f"last night at {sizes[-1]:,}: " + ", ".join(f"{k} {v:.2f}" for k, v in following[sizes[-1]][-1].items()))
    print(f"{'peak, GB':16s}" + "".join(f"{peaks[size]:10.2f}" for size in sizes))
    for place, size in enumerate(sizes):
        grows(f"first night, {given.profiles} people", size, total[place])
        grows("night with nothing new", size, sum(following[size][1].values()))
        grows("commit of a first night", size, results[size]["commit"])
    report(sizes[-1], given.profiles, results[sizes[-1]], following[sizes[-1]], peaks[sizes[-1]])
    grown = sizes[-1] / sizes[-2]
    folds = total[-1] / results[sizes[-1]]["memories"]
    print(f"memories grew {grown:.1f}x in the last step; a run costs {folds:.0f} folds of the ledger")
    keep_readings()
    first = in_process(1_500)
    plain = in_process(1_500)
    with recorded_events() as (counts, spent):
        dagster = through_dagster(1_500)
    print(f"1,500 memories: {first:.1f} CPU s with all that the reader reads; from here on it has read them")
    print(f"1,500 memories: {plain:.1f} CPU s plain, {dagster:.1f} through Dagster ({dagster - plain:.1f} more)")
    count, seconds = (sum(of[name] for name in INPUTS_AND_OUTPUTS) for of in (counts, spent))
    print(f"events: {sum(counts.values())} in {sum(spent.values()):.2f} CPU s, of inputs and outputs {count}")
    work = "night of 1,500 memories, read before, with its snapshot"
    figure(f"{work}, through Dagster", dagster, "CPU s", at_most=4, tried=DAGSTER)
    figure("the same without Dagster", plain, "CPU s", at_most=2, tried=SMALL)
    figure("of it, Dagster's events about inputs and outputs", seconds, "CPU s", at_most=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
