"""Measures change detection as the number of memories grows: CPU time, and the changes decided or linked.

    python benchmarks/changes.py [--largest 30000]

The peer judges every pair of a small store.
"""

import argparse
import itertools
import time

import numpy as np
import polars as pl

from memory_pipeline.evaluation.compare_cost import compared, memories, texts
from memory_pipeline.text.compare import relation_reading
from memory_pipeline.text.compare.relation_model import WordModel


def main() -> None:
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
    said, _ = texts(1_000)
    _, ours = compared(said)
    older, newer = np.array(list(itertools.combinations(range(1_000), 2))).T
    began = time.process_time()
    points = memories(said).with_columns(since=pl.col("created_at"))
    reading = relation_reading.read(points.select(list(relation_reading.MEMORY_COLUMNS)))
    WordModel().judge(reading, older, newer)
    print(f"every pair of 1000: {(time.process_time() - began) / ours:.1f} times the CPU time of candidates only")


if __name__ == "__main__":
    main()
