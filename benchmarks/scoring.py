"""Measures CPU time of scoring memories as the store grows.

Run: python benchmarks/scoring.py [--full]. Peers in the same run: one memory after the other in Python, as the systems
whose formulas these are do it; and, as limits, the bare arithmetic of all scores in NumPy on columns that are ready,
and the time that the memory's bandwidth takes for the columns read and written once. From Parquet to Parquet the
columns that scoring reads are read from files, and the table is written as the lake writes it.
"""

import argparse
import math
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import limits
import numpy as np
import polars as pl
from figures import figure
from figures import growth as grows

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
ROWS_ONE_BY_ONE = 10_000
MILLION = 1_000_000
TRIED = (
    "1.3 CPU s in memory at first. Only columns that count are read; tables in the same order are laid side by side "
    "instead of joined, which was nearly half; what follows from a category is looked up once. Compressing and "
    "writing the 25 columns takes as long as all scores do, and texts of reasons most of the rest"
)
CATEGORIES = list(scoring.RETENTION_DAYS)
TIERS = list(scoring.ENERGY_DECAY)


def filled(name, count, **columns):
    """Return a table of `count` rows: the given columns, and one value throughout for the rest."""
    blank = {pl.String: "x", pl.Boolean: False, pl.Datetime: AS_OF, pl.List: []}
    rest = {
        column: pl.lit(None if definition.nullable else blank.get(type(definition.dtype), 0), definition.dtype)
        for column, definition in TABLES[name].schema.columns().items()
    }
    return TABLES[name].conform(pl.select(pl.int_range(count).alias("row")).with_columns(**(rest | columns)))


def store(count):
    """Return memories of ten profiles with their importance, and a chain of causes through a tenth of them."""
    row = pl.col("row")
    key = {"profile_id": pl.format("p{}", row % 10), "memory_id": pl.format("m{}", row.cast(pl.String).str.zfill(9))}
    age = pl.duration(seconds=(row * 7919) % (400 * 86_400))
    memories = filled(
        "memories",
        count,
        **key,
        lifecycle=pl.lit("active"),
        created_at=pl.lit(AS_OF) - age,
        last_accessed_at=pl.when(row % 3 == 0).then(pl.lit(AS_OF) - age / 2),
        access_count=row % 20,
        confidence=(row % 11) / 10,
        category=pl.lit(pl.Series(CATEGORIES)).gather(row % len(CATEGORIES)),
        tier=pl.lit(pl.Series(TIERS)).gather(row % len(TIERS)),
        memory_type=pl.when(row % 7 == 0).then(pl.lit("Decision")).otherwise(pl.lit("Context")),
        stability_gain=(row % 13) / 50,
        energy_base=1.0 + row % 5,
        energy_at=pl.lit(AS_OF) - age / 2,
    )
    known = filled("memory_importance", count, **key, importance=(row % 101) / 100, relationship_count=row % 9)
    chain = {
        "profile_id": key["profile_id"],
        "source": key["memory_id"],
        "target": pl.format("m{}", ((row // 40) * 10 + row % 10).cast(pl.String).str.zfill(9)),
    }
    edges = filled("association_edges", count // 10, **chain, edge_type=pl.lit("CAUSED_BY"))
    return memories, known, edges


def one_by_one(rows):
    """Return the scores of a few rows, one after the other."""
    for created, accessed, count, importance, confidence, neighbours, gain, base in rows:
        age, idle = (AS_OF - created) / timedelta(days=1), (AS_OF - (accessed or created)) / timedelta(days=1)
        access = 1.0 if idle < 1.0 else math.exp(-0.05 * idle)
        relationships = 1.0 + 0.3 * math.log1p(neighbours)
        min(1.0, math.exp(-0.01 * age) * access * relationships * (0.5 + importance) * (0.7 + 0.3 * confidence))
        stability = min(1.0, 0.1 + 0.3 * importance + gain)
        max(0.02, math.exp(-idle / (max(stability, 0.01) * min(3.0, 1.0 + 2.0 * importance) * 45.0)))
        math.exp(-24.0 * idle / (168.0 + 24.0 * count))
        base * math.exp(-0.5 * 24.0 * idle)


def arithmetic(age, idle, count, importance, confidence, neighbours, gain, base):
    """Return the same formulas on whole columns, without reading, joining or writing a table."""
    access = np.where(idle < 1.0, 1.0, np.exp(-0.05 * idle))
    factors = np.exp(-0.01 * age) * access * (1.0 + 0.3 * np.log1p(neighbours)) * (0.5 + importance)
    stability = np.minimum(1.0, 0.1 + 0.3 * importance + gain)
    scale = np.maximum(stability, 0.01) * np.minimum(3.0, 1.0 + 2.0 * importance) * 45.0
    return (
        np.minimum(1.0, factors * (0.7 + 0.3 * confidence)),
        np.maximum(0.02, np.exp(-idle / scale)),
        np.exp(-24.0 * idle / (168.0 + 24.0 * count)),
        base * np.exp(-0.5 * 24.0 * idle),
    )


def through_files(memories, known, edges):
    """Return the CPU seconds from Parquet to Parquet, and of reading and of writing alone."""
    with tempfile.TemporaryDirectory() as folder:
        tables = {"memories": memories, "memory_importance": known, "association_edges": edges}
        paths = {name: Path(folder) / f"{name}.parquet" for name in (*tables, "scored_memories")}
        for name, table in tables.items():
            write(table, paths[name])

        def read():
            wanted = (scoring.READ, scoring.MEASURED, ("profile_id", "source", "target", "edge_type"))
            return [
                pl.read_parquet(paths[name], columns=[*columns]) for name, columns in zip(tables, wanted, strict=True)
            ]

        def score():
            return scoring.score(*read(), Policy(), as_of=AS_OF, plan_id="plan")

        made = score()
        return (
            cpu(lambda: write(score(), paths["scored_memories"])),
            cpu(read),
            cpu(lambda: write(made, paths["scored_memories"])),
        )


def write(table, path):
    """Write a table as the lake does."""
    table.write_parquet(path, compression="zstd", compression_level=1)


def cpu(work):
    """Return the CPU seconds of the best of three."""
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="up to a million memories")
    sizes = [10_000, 100_000, 1_000_000] if parser.parse_args().full else [10_000, 100_000]
    print(f"{'memories':>10} {'score':>9} {'µs each':>8} {'one by one':>11} {'arithmetic':>11}")
    for count in sizes:
        memories, known, edges = store(count)
        both = memories.join(known, on=KEY)
        names = ["created_at", "last_accessed_at", "access_count", "importance", "confidence"]
        names += ["relationship_count", "stability_gain", "energy_base"]
        rows = both.select(names).head(ROWS_ONE_BY_ONE).rows()
        scored = scoring.score(memories, known, edges, Policy(), as_of=AS_OF, plan_id="plan")
        columns = [scored["age_days"], scored["idle_days"], *(both[name] for name in names[2:])]
        arrays = [column.cast(pl.Float64).to_numpy() for column in columns]
        ours = cpu(lambda: scoring.score(memories, known, edges, Policy(), as_of=AS_OF, plan_id="plan"))  # noqa: B023
        python = cpu(lambda: one_by_one(rows)) * count / len(rows)  # noqa: B023
        bare = cpu(lambda: arithmetic(*arrays))  # noqa: B023
        print(
            f"{count:>10,} {ours:>8.3f}s {1e6 * ours / count:>8.2f} {python / ours:>9.1f} x {ours / bare:>9.1f} x",
            flush=True,
        )
        grows("scoring", count, ours)
        moved = sum(column.dtype.is_numeric() or column.dtype.is_temporal() for column in scored) * 8 * count
        moved += sum(column.estimated_size() for column in columns)
    files, reading, writing = through_files(memories, known, edges)
    print(f"from Parquet to Parquet {files:.2f}s, of which reading {reading:.2f}s, writing {writing:.2f}s")
    large = {"at_most": 0.5, "tried": TRIED} if count == MILLION else {}
    figure(f"scoring {count:,} memories, from Parquet to Parquet", files, "CPU s", **large)
    figure(f"scoring {count:,} memories in memory", ours, "CPU s")
    figure("the same, against one memory after the other in Python", python / ours, "x as fast")
    figure("the same, against the bare arithmetic in NumPy", ours / bare, "x as long")
    figure("the same, share of the memory's bandwidth", 100 * moved / limits.bandwidth() / ours, "% of the limit")
    print("one by one: how many times longer it takes; arithmetic: how many times longer the whole table takes")


if __name__ == "__main__":
    main()
