"""Measures change detection: recall on known pairs, time as the number of memories grows, and changes found in stores.

    python benchmarks/changes.py [--largest 30000]

The known pairs are those of `tests/change_pairs.py`: the ones the rules were written against, and ones written later.

The peer compares every pair of a small store by the same rules.
"""

import argparse
import itertools
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import change_pairs

from memory_pipeline.consolidation import change_detection
from memory_pipeline.evaluation.pair_labels import pairs
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.compare import changes

START = datetime(2025, 1, 1, tzinfo=UTC)
SYLLABLES = ("ba", "do", "ka", "li", "mo", "ne", "ra", "so", "tu", "vi", "ze", "lon", "mar", "ten", "dor", "ris")
TALK = (
    "We talked about the {a} of {b} for an hour.",
    "{B} sent me a picture of the {a} by the {c}.",
    "I read an article about {a} and {c}.",
    "The {a} near {B} smells of {c}.",
    "{B} asked whether the {a} needs more {c}.",
)
CHANGED = (
    ("The {a} meeting is on {day}.", "The {a} meeting was moved to {other_day}."),
    ("My {a} budget is ${n}.", "I raised my {a} budget to ${m}."),
    ("I have {n} {a}s in my {c} collection.", "My {c} collection has grown to {m} {a}s."),
    ("My {a} coach is {B}.", "My new {a} coach is {C}."),
    ("I practise {a} every week.", "I stopped practising {a}."),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def texts(count: int) -> tuple[list[str], set[tuple[int, int]]]:
    """Return memories of which every tenth is changed by a later one, and those pairs."""
    rng = Random(count)  # noqa: S311 - the same texts every time
    said: list[str | None] = [None] * count
    pairs = set()
    for _ in range(count // 10):
        older, newer = sorted(rng.sample(range(count), 2))
        if said[older] is None and said[newer] is None:
            slots, (before, after) = _slots(rng), rng.choice(CHANGED)
            said[older], said[newer] = before.format(**slots), after.format(**slots)
            pairs.add((older, newer))
    return [one or rng.choice(TALK).format(**_slots(rng)) for one in said], pairs


def _slots(rng: Random) -> dict[str, str]:
    words = ["".join(rng.choices(SYLLABLES, k=3)) for _ in range(3)]
    days, numbers = rng.sample(DAYS, 2), rng.sample(range(20, 90), 2)
    names = ["".join(rng.choices(SYLLABLES, k=2)).capitalize() for _ in range(2)]
    given = dict(zip("abc", words, strict=True)) | dict(zip("BC", names, strict=True))
    return given | {"day": days[0], "other_day": days[1], "n": str(numbers[0]), "m": str(numbers[1])}


def memories(said: list[str]) -> pl.DataFrame:
    count = len(said)
    at = pl.Series([START + timedelta(minutes=30 * place) for place in range(count)])
    schema = TABLES["memories"].empty().schema
    own = {
        "profile_id": ["p"] * count,
        "memory_id": [f"m{place:06}" for place in range(count)],
        "kind": ["original"] * count,
        "content": said,
        "content_hash": [f"h{place:06}" for place in range(count)],
        "lifecycle": ["active"] * count,
        "seq": range(1, count + 1),
        "created_at": at,
    }
    rest = {name: pl.Series([None] * count, dtype=kind) for name, kind in schema.items() if name not in own}
    return pl.DataFrame(own | rest).select(schema.names())


def compared(said: list[str]) -> tuple[pl.DataFrame, float]:
    given = memories(said)
    tables = [TABLES[name].empty() for name in ("enrichment", "vectors", "association_edges")]
    began = time.process_time()
    found = change_detection.compare(given, *tables, Policy(), as_of=START + timedelta(days=3650), plan_id="plan")
    return found, time.process_time() - began


def known() -> None:
    """Print recall, precision and F1 of each label over the known pairs."""
    for name, text in (("tuned", change_pairs.TUNED), ("held out", change_pairs.HELD_OUT)):
        rows = pl.DataFrame(
            list(change_pairs.pairs(text)), schema=["gold", "first", "second", "template"], orient="row"
        )
        began = time.process_time()
        found = pairs.label(rows)
        spent = 1e6 * (time.process_time() - began) / len(rows)
        print(f"{name}: {len(rows)} pairs, {spent:.0f} µs a pair\n  label            pairs   recall   precision     F1")
        for label in pairs.LABELS:
            gold, said = (found.filter(pl.col(column) == label) for column in ("gold", "label"))
            right = len(gold.filter(pl.col("label") == label))
            recall, precision = right / len(gold), right / max(len(said), 1)
            both = 2 * recall * precision / max(recall + precision, 1e-9)
            print(f"  {label:14}  {len(gold):6} {recall:8.3f} {precision:11.3f} {both:6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=30_000)
    largest = parser.parse_args().largest
    known()
    print("memories   CPU s   µs/memory   updates put in   found   other updates")
    for count in (1_000, 3_000, 10_000, 30_000):
        if count > largest:
            break
        said, pairs = texts(count)
        found, seconds = compared(said)
        updates = found.filter(pl.col("relation") == "update")
        got = {(int(a[1:]), int(b[1:])) for a, b in updates.select("memory_id", "other_id").iter_rows()}
        share = len(got & pairs) / len(pairs)
        print(
            f"{count:8} {seconds:7.2f} {1e6 * seconds / count:11.0f} {len(pairs):16} {share:7.2f} {len(got - pairs):15}"
        )
    said, _ = texts(1_000)
    _, ours = compared(said)
    older, newer = np.array(list(itertools.combinations(range(1_000), 2))).T
    began = time.process_time()
    reading = changes.parse(pl.Series(said), groups=np.zeros(1_000, dtype=np.int64))
    speakers = pl.Series([None] * 1_000, dtype=pl.String)
    changes.judge(reading, older, newer, speakers=speakers, ordered=np.ones(len(older), dtype=np.bool_))
    print(f"every pair of 1000: {(time.process_time() - began) / ours:.1f} times the CPU time of candidates only")


if __name__ == "__main__":
    main()
