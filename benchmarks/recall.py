"""Time to answer a query, as the store grows, and to build and extend the index.

Run: python benchmarks/recall.py [--full]. The vector of the query is made beforehand. Peer in the same run: a plain
scan in Python, one text after the other.
"""

import argparse
import re
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from memory_pipeline.lake.schemas import TABLES
from memory_pipeline.recall.index import Index
from memory_pipeline.recall.ranking import rank
from memory_pipeline.text.embedding import embed_texts, embedder

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = 60
WORDS = 30_000
SCANNED = 20_000


def store(count, seed=7):
    """Memories of two speakers in sessions of twenty; words as frequent as in language (Zipf)."""
    chance = np.random.default_rng(seed)
    vocabulary = np.array(
        [
            f"{a}{b}{c}{d}"
            for a in "bdfgklmnprst"
            for b in "aeiou"
            for c in "bdfgklmnprstvz"
            for d in (
                "an",
                "el",
                "ir",
                "on",
                "us",
                "ata",
                "eno",
                "ipi",
                "ola",
                "unu",
                "ark",
                "est",
                "ind",
                "olf",
                "ump",
                "ax",
                "ey",
                "ox",
                "uk",
                "yl",
                "am",
                "en",
                "im",
                "om",
                "um",
                "ar",
                "er",
                "or",
                "ur",
                "as",
                "es",
                "is",
                "os",
                "al",
                "ol",
                "ul",
            )
        ]
    )[:WORDS]
    ranks = np.minimum(chance.zipf(1.3, (count, 18)) + 20, len(vocabulary)) - 1
    texts = [f"I {' '.join(row)} on {2000 + place % 25}." for place, row in enumerate(vocabulary[ranks].tolist())]
    blank = {pl.String: "", pl.Boolean: False, pl.Datetime: AS_OF, pl.List: []}
    missing = {
        name: pl.lit(None if column.nullable else blank.get(type(column.dtype), 0), column.dtype)
        for name, column in TABLES["memories"].schema.columns().items()
    }
    row = pl.col("row")
    given = {
        "profile_id": pl.lit("p"),
        "memory_id": pl.format("m{}", row.cast(pl.String).str.zfill(7)),
        "content": pl.Series(texts),
        "content_hash": pl.format("h{}", row),
        "speaker": pl.when(row % 2 == 0).then(pl.lit("Ann")).otherwise(pl.lit("Ben")),
        "session_id": pl.format("s{}", row // 20),
        "created_at": pl.lit(AS_OF) - pl.duration(minutes=count - row),
        "seq": row + 1,
        "kind": pl.lit("original"),
        "lifecycle": pl.lit("active"),
    }
    frame = pl.select(pl.int_range(count).alias("row")).with_columns(**(missing | given))
    queries = [
        f"What did Ann say about {' '.join(row)}?"
        for row in vocabulary[np.minimum(chance.zipf(1.3, (QUERIES, 4)) + 60, len(vocabulary)) - 1].tolist()
    ]
    return TABLES["memories"].conform(frame), queries


def scan(texts, query):
    """BM25-like scores, one text after the other."""
    wanted = set(re.findall(r"\w+", query.lower()))
    scores = []
    for place, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        scores.append((sum(word in wanted for word in words) / (1 + len(words)), place))
    return sorted(scores, reverse=True)[:10]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 300,000 memories")
    sizes = [1_000, 10_000, 100_000, *([300_000] if parser.parse_args().full else [])]
    print(" memories  build s  extend ms  p50 ms  p95 ms  scan ms  scan / p50")
    for size in sizes:
        memories, queries = store(size)
        vectors = embed_texts(memories, "hashing")
        old, new = memories.head(size - 3), memories.tail(3)
        hashes = new["content_hash"].implode()
        begin = time.process_time()
        index = Index.build(old, vectors, model="hashing")
        build = time.process_time() - begin
        few = vectors.filter(pl.col("content_hash").is_in(hashes))
        begin = time.perf_counter()
        index = index.extended(new, few)
        extend = time.perf_counter() - begin
        asked = embedder("hashing").embed(queries)
        times = []
        for query, vector in zip(queries, asked, strict=True):
            begin = time.perf_counter()
            rank(index, query, now=AS_OF + timedelta(days=1), vector=vector)
            times.append(time.perf_counter() - begin)
        part = memories["content"].head(SCANNED).to_list()
        begin = time.perf_counter()
        scan(part, queries[0])
        plain = (time.perf_counter() - begin) * size / len(part)
        half, most = np.percentile(times, [50, 95])
        print(
            f"{size:>9} {build:>8.2f} {1e3 * extend:>10.1f} {1e3 * half:>7.1f} {1e3 * most:>7.1f}"
            f" {1e3 * plain:>8.0f} {plain / half:>10.0f}"
        )


if __name__ == "__main__":
    main()
