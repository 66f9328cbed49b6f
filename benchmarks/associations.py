"""Measures CPU time of finding associations as the store grows.

Run: python benchmarks/associations.py [--full]. Peers in the same run: for co-activation and co-recall every pair of
every session or answer counted in a dictionary; for auto-links, every pair of memories compared in a loop. Both are in
Python, like the systems these rules come from, and run on part of the input where all of it would take too long.
"""

import argparse
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import polars as pl

from memory_pipeline.consolidation.edges import co_recall, coactivation, links, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (1_000, 10_000)
DIMENSION = 384
TOPIC = 20
PER_SESSION = 22
PER_ANSWER = 5
ACCESSES_EACH = 10
NAIVE_ACCESSES = 100_000
NAIVE_ROWS = 400


def timed(function):
    """Return result and CPU seconds, the better of two calls: the first one also pays for loading."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        result = function()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def memories(count):
    """Return live memories of one profile, one a minute."""
    names = pl.select(pl.int_range(count).cast(pl.String).str.zfill(7).alias("memory_id"))
    rest = {
        name: pl.lit(
            None if column.nullable else {pl.String: "x", pl.Boolean: False, pl.List: []}.get(type(column.dtype), 0),
            column.dtype,
        )
        for name, column in TABLES["memories"].schema.columns().items()
        if not isinstance(column.dtype, pl.Datetime)
    }
    instants = {
        name: pl.lit(AS_OF) - pl.duration(minutes=pl.int_range(pl.len()))
        for name, column in TABLES["memories"].schema.columns().items()
        if isinstance(column.dtype, pl.Datetime)
    }
    own = {"profile_id": pl.lit("p"), "lifecycle": pl.lit("active"), "kind": pl.lit("original")}
    return TABLES["memories"].conform(
        names.with_columns(
            **(rest | instants | own | {"memory_id": pl.col("memory_id"), "content_hash": pl.col("memory_id")})
        )
    )


def accesses(count):
    """Return ten accesses a memory: sessions of 22, answers of five, each session about one region of the store."""
    rng = np.random.default_rng(count)
    total = ACCESSES_EACH * count
    place = np.arange(total)
    named = (place // PER_SESSION * 37 + rng.integers(0, 200, total)) % count
    return TABLES["accesses"].conform(
        pl.DataFrame(
            {
                "seq": 1 + place // PER_ANSWER,
                "ordinal": place % PER_ANSWER,
                "memory_id": pl.Series(named).cast(pl.String).str.zfill(7),
                "session_id": pl.Series(place // PER_SESSION).cast(pl.String),
                "minutes": place,
            }
        ).with_columns(
            profile_id=pl.lit("p"),
            expanded=pl.lit(value=False),
            at=pl.lit(AS_OF - timedelta(days=400)) + pl.duration(seconds="minutes"),
        )
    )


def vectors(count):
    """Return texts about topics of twenty memories each; about half of the pairs of a topic are alike."""
    rng = np.random.default_rng(count)
    centres = rng.standard_normal((1 + count // TOPIC, DIMENSION), dtype=np.float32)
    points = centres[np.arange(count) // TOPIC] + 0.65 * rng.standard_normal((count, DIMENSION), dtype=np.float32)
    points /= np.linalg.norm(points, axis=1)[:, None]
    column = pl.Series("vector", points, dtype=pl.Array(pl.Float32, DIMENSION)).cast(pl.List(pl.Float32))
    frame = pl.DataFrame([column]).with_columns(
        profile_id=pl.lit("p"), model=pl.lit("hashing"), content_hash=pl.int_range(count).cast(pl.String).str.zfill(7)
    )
    return TABLES["vectors"].conform(frame), points


def counted(rows, group):
    """Return the common groups of every pair, in a dictionary."""
    pairs = Counter()
    for ids in (
        rows.group_by(group, maintain_order=True).agg(pl.col("memory_id").unique().sort())["memory_id"].to_list()
    ):
        pairs.update(combinations(ids, 2))
    return pairs


def used(count):
    """Return our seconds and the peer's for associations from accesses."""
    live, made = memories(count), accesses(count)
    part = made.head(NAIVE_ACCESSES)
    share = len(part) / len(made)
    (met, _), seconds = timed(lambda: coactivation.sessions(live, made))
    pairs, peer = timed(lambda: counted(part, "session_id"))
    same, _ = coactivation.sessions(live, part)
    assert same.times.sum() == sum(pairs.values())
    recalls, recall_seconds = timed(lambda: co_recall.recalls(live, made))
    answers, recall_peer = timed(lambda: counted(part, "seq"))
    assert len(co_recall.recalls(live, part)) == sum(answers.values())
    return {
        "co-activation": (seconds, peer / share, f"{len(made)} accesses, {met.times.sum()} pairs in sessions"),
        "co-recall": (recall_seconds, recall_peer / share, f"{len(recalls)} pairs in answers"),
    }


def linked(count):
    """Return our seconds and the peer's for auto-links and reinforcements together."""
    live = memories(count)
    embedded, points = vectors(count)
    edges, risen = TABLES["association_edges"].empty(), TABLES["tier_changes"].empty()
    policy = Policy(associations=("auto_link", "reinforcement"), similar_edges=False)
    found, seconds = timed(
        lambda: links.propose(live, edges, neighbours.compare(live, embedded, policy).neighbours, risen, policy)
    )
    lists = points[:NAIVE_ROWS].tolist()

    def naive():
        return sum(
            sum(x * y for x, y in zip(one, other, strict=True)) >= policy.auto_link_similarity
            for one, other in combinations(lists, 2)
        )

    _, peer = timed(naive)
    scale = count * (count - 1) / (NAIVE_ROWS * (NAIVE_ROWS - 1))
    return {"auto-links": (seconds, peer * scale, f"{len(found)} links")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 100,000 memories with a million accesses (minutes)")
    sizes = (*SIZES, 100_000) if parser.parse_args().full else SIZES
    print(f"{'association':14} {'memories':>8} {'ours s':>8} {'naive s':>9} {'naive/ours':>10}  growth")
    for measure in (used, linked):
        before = {}
        for count in sizes:
            for name, (seconds, peer, remark) in measure(count).items():
                rows, past = before.get(name, (count, seconds))
                growth = "" if rows == count else f"n^{np.log(seconds / past) / np.log(count / rows):.2f}"
                print(
                    f"{name:14} {count:8} {seconds:8.3f} {peer:9.2f} {peer / seconds:10.0f}  {growth:>6}  {remark}",
                    flush=True,
                )
                before[name] = count, seconds


if __name__ == "__main__":
    main()
