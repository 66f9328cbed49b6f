"""Measures publishing and querying a snapshot as the store grows.

Run: python benchmarks/snapshot.py [--full]. Peers in the same run: writing the same tables as Parquet (a limit: it
writes no comments or descriptions), and inserting the rows of `memories` one by one.
"""

import argparse
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from memory_pipeline.lake import snapshot
from memory_pipeline.lake.object_store import LocalObjectStore
from memory_pipeline.schemas import TABLES

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSION = 384
ROWS_ONE_BY_ONE = 2_000


def filled(name, count, **columns):
    """Return a table of `count` rows: the given columns, and one value throughout for the rest."""
    blank = {pl.String: "x", pl.Boolean: False, pl.Datetime: AS_OF, pl.List: [], pl.Binary: b""}
    rest = {
        column: pl.lit(blank.get(type(definition.dtype), 0), definition.dtype)
        for column, definition in TABLES[name].schema.columns().items()
    }
    return TABLES[name].conform(pl.select(pl.int_range(count).alias("row")).with_columns(**(rest | columns)))


def store(count):
    """Return tables of `count` memories in ten profiles, each with its scores, four edges, a tenth decided on."""
    row = pl.col("row")
    profile = pl.format("p{}", row % 10)
    memory = pl.format("memory-{}", row.cast(pl.String).str.zfill(9))
    other = pl.format("memory-{}", ((row * 7919 + 10) % count).cast(pl.String).str.zfill(9))
    text = pl.format("What was said at place {} about subject {} and the number {}.", row % 997, row % 89, row)
    hashed = (row * 2654435761).hash(1).cast(pl.String).str.zfill(32)
    lifecycle = pl.when(row % 10 == 3).then(pl.lit("archived")).otherwise(pl.lit("active"))
    created = pl.lit(AS_OF) - row * timedelta(seconds=30)
    memories = filled(
        "memories",
        count,
        profile_id=profile,
        memory_id=memory,
        content=text,
        content_hash=hashed,
        lifecycle=lifecycle,
        created_at=created,
        kind=pl.lit("original"),
        superseded_by=pl.lit(None),
    )
    own = {"profile_id": profile, "memory_id": memory}
    strength = ((row * 31) % 1000) / 1000
    return {
        "memories": memories,
        "scored_memories": filled("scored_memories", count, **own, strength=strength, age_factor=strength),
        "memory_importance": filled("memory_importance", count, **own, pagerank=strength / count),
        "association_edges": filled(
            "association_edges",
            4 * count,
            profile_id=profile,
            source=pl.format("memory-{}", (row % count).cast(pl.String).str.zfill(9)),
            target=other,
            edge_type=pl.format("TYPE{}", row // count),
            weight=strength,
        ),
        "decisions": filled("decisions", count // 10, decision_id=memory, profile_id=profile, memory_id=memory),
    }


def linked(folder, memories):
    """Return immutable files of 100,000 vectors each, and one of what every memory scored once."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True)
    scores = folder.parent / "scores.parquet"
    own = {"profile_id": memories["profile_id"], "memory_id": memories["memory_id"]}
    filled("score_history", memories.height, **own).write_parquet(scores)
    for place, part in enumerate(memories.iter_slices(100_000)):
        numbers = random.standard_normal((part.height, DIMENSION), dtype=np.float32)
        numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
        frame = part.select("profile_id", "content_hash", model=pl.lit("hashing"))
        frame.with_columns(vector=pl.Series(numbers).cast(pl.List(pl.Float32))).write_parquet(
            folder / f"{place}.parquet"
        )
    return {"vectors": sorted(folder.iterdir()), "score_history": [scores]}


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_by_one(memories):
    """Return the seconds that inserting `memories` row by row would take, extrapolated from the first rows."""
    rows = memories.head(ROWS_ONE_BY_ONE).rows()
    with duckdb.connect() as connection:
        connection.register("given", memories.head(0))
        connection.execute("CREATE TABLE memories AS FROM given")
        marks = ", ".join("?" * memories.width)
        spent = seconds(lambda: connection.executemany(f"INSERT INTO memories VALUES ({marks})", rows))  # noqa: S608
    return spent * memories.height / len(rows)


def measure(count, home):
    tables = store(count)
    paths = linked(home / "lake", tables["memories"])
    files = {name: [str(path.relative_to(home)) for path in of_table] for name, of_table in paths.items()}
    (home / "parquet").mkdir()
    parquet = seconds(lambda: [frame.write_parquet(home / "parquet" / name) for name, frame in tables.items()])
    names = iter(("000000000001-a", "000000000002-b"))
    made = []
    build = min(
        seconds(
            lambda: made.append(
                snapshot.build(home, tables, files, store=LocalObjectStore(home), name=next(names), created_at=AS_OF)
            )
        )
        for _ in range(2)
    )
    slow = one_by_one(tables["memories"])
    with duckdb.connect(str(made[0]), read_only=True) as connection:
        asked = tables["memories"]["memory_id"][count // 2]
        explain = seconds(lambda: connection.execute(f"FROM explain('{asked}')").fetchall())
        similar = seconds(lambda: connection.execute(f"FROM similar_to('{asked}', 10)").fetchall())
    megabytes = made[0].stat().st_size / 1e6
    print(
        f"{count:>9,} {build:>8.2f} s {1e6 * build / count:>7.1f} us {megabytes:>8.1f} MB {build / parquet:>9.1f} x "
        f"{slow / build:>11.0f} x {1e3 * explain:>8.0f} ms {1e3 * similar:>9.0f} ms"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="also a million memories")
    sizes = (10_000, 100_000, 1_000_000) if parser.parse_args().full else (10_000, 100_000)
    print(" memories      build  a memory        file  x Parquet  one by one  explain  similar_to")
    for count in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(count, Path(folder))


if __name__ == "__main__":
    main()
