"""Measures the cost of comparing facts as the number of memories grows, on made-up texts.

Run with `python research/compare_cost.py [--largest 30000]` for CPU time and the changes found. Not here: what is found
in labelled stores (`quality_stores`).
"""

import argparse
import time
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import polars as pl
from quality_page import Row

from memory_pipeline.consolidation import change_detection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

MEMORIES: Final = 16_000
"""Memories of the figure on the quality page."""
_QUARTER: Final = 4
_START: Final = datetime(2025, 1, 1, tzinfo=UTC)
_SYLLABLES: Final = "ba do ka li mo ne ra so tu vi ze lon mar ten dor ris".split()  # noqa: SIM905 - read better so
_TALK: Final = (
    "We talked about the {a} of {b} for an hour.",
    "{B} sent me a picture of the {a} by the {c}.",
    "I read an article about {a} and {c}.",
    "The {a} near {B} smells of {c}.",
    "{B} asked whether the {a} needs more {c}.",
)
_CHANGED: Final = (
    ("The {a} meeting is on {day}.", "The {a} meeting was moved to {other_day}."),
    ("My {a} budget is ${n}.", "I raised my {a} budget to ${m}."),
    ("I have {n} {a}s in my {c} collection.", "My {c} collection has grown to {m} {a}s."),
    ("My {a} coach is {B}.", "My new {a} coach is {C}."),
    ("I practise {a} every week.", "I stopped practising {a}."),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def texts(count: int) -> tuple[list[str], set[tuple[int, int]]]:
    """Return memories of which every tenth is changed by a later one, and those pairs."""
    rng = Random(count)  # noqa: S311 - the same texts every time
    said: list[str | None] = [None] * count
    pairs = set()
    for _ in range(count // 10):
        older, newer = sorted(rng.sample(range(count), 2))
        if said[older] is None and said[newer] is None:
            slots, (before, after) = _slots(rng), rng.choice(_CHANGED)
            said[older], said[newer] = before.format(**slots), after.format(**slots)
            pairs.add((older, newer))
    return [one or rng.choice(_TALK).format(**_slots(rng)) for one in said], pairs


def _slots(rng: Random) -> dict[str, str]:
    words = ["".join(rng.choices(_SYLLABLES, k=3)) for _ in range(3)]
    days, numbers = rng.sample(_DAYS, 2), rng.sample(range(20, 90), 2)
    names = ["".join(rng.choices(_SYLLABLES, k=2)).capitalize() for _ in range(2)]
    given = dict(zip("abc", words, strict=True)) | dict(zip("BC", names, strict=True))
    return given | {"day": days[0], "other_day": days[1], "n": str(numbers[0]), "m": str(numbers[1])}


def memories(said: list[str]) -> pl.DataFrame:
    """Return texts as table `memories`, half an hour apart."""
    count = len(said)
    at = pl.Series([_START + timedelta(minutes=30 * place) for place in range(count)])
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
    """Return the changes that are found among texts, and the CPU seconds that it took."""
    given = memories(said)
    enrichment, vectors = (TABLES[name].empty() for name in ("enrichment", "vectors"))
    began = time.process_time()
    found = change_detection.compare(
        given, enrichment, vectors, Policy(), as_of=_START + timedelta(days=3650), plan_id="plan"
    )
    return found.fact_changes, time.process_time() - began


def row(count: int = MEMORIES) -> Row:
    """Return the CPU seconds of `compare`, with the time a memory takes there and among a quarter of them."""
    (_, some), (_, seconds) = (compared(texts(size)[0]) for size in (count // _QUARTER, count))
    note = f"{1e6 * seconds / count:.0f} µs per memory, {1e6 * some * _QUARTER / count:.0f} among a quarter of them"
    return Row(f"`compare` of {count:,} memories, CPU seconds", seconds, None, None, "≤ 8", note)


def main() -> None:
    """Print CPU time and found changes of growing stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=30_000)
    largest = parser.parse_args().largest
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


if __name__ == "__main__":
    main()
