"""Compares the exact threshold join with a dense blocked product and a loop over pairs in one run.

    python benchmarks/similarity_join.py [--full]
    OPENBLAS_NUM_THREADS=1 python benchmarks/similarity_join.py      # on one core

Prints CPU seconds, ratios to the peers and the growth from one size to the next. Every line is checked: both ways
find the same pairs, except those whose cosine is within 1e-6 of the threshold, beyond the precision of float32. Above
50,000 rows the dense product is that of every eighth row of blocks, taken eight times; its pairs are checked. The limit
is the bare matrix product of all pairs at the rate of one block, measured in the same run.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import limits
import numpy as np
import recall
from figures import figure
from figures import growth as grows

from memory_pipeline.consolidation.similarity import pair_similarity, threshold_join
from memory_pipeline.text.embed.embedding import embedder

DIMENSION = 384
SIZES = (1_000, 10_000)
WHOLE = 50_000
"""Rows up to which the dense product is made of all blocks."""
PART = 8
LOOP_ROWS = 300
LEAST = {
    "at_least": 3,
    "tried": "a product of a few leading coordinates rules out most pairs of clustered vectors. Vectors of full rank, "
    "whose coordinates weigh alike, need many of them at .75 (it was 3.1 to 5.1 x at .85 and 50,000 rows). The "
    "join is then still no slower than the bare matrix product of all pairs, which it cannot avoid without an "
    "index that misses some",
}
MOST = {"at_most": 500, "tried": "blocks, candidates and the pairs found, above the vectors"}
BLOCK = 2048


def clustered(n: int, seed: int = 0) -> np.ndarray:
    """Group of about 30 rows in 64 directions of falling weight, and a little of all others: like sentence vectors."""
    rng = np.random.default_rng(seed)
    order = np.arange(1, DIMENSION + 1)
    scale = np.where(order <= 64, order**-0.5, 0.25 * order**-0.5)
    centres = rng.standard_normal((n // 30 + 1, DIMENSION))
    rows = (centres[rng.integers(0, len(centres), n)] + 0.6 * rng.standard_normal((n, DIMENSION))) * scale
    return unit(rows @ np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0])


def hashed(n: int, seed: int = 0) -> np.ndarray:
    """Return rows of twelve words, each hashed with a sign into two places: sparse, of full rank, a fourth repeated."""
    rng = np.random.default_rng(seed)
    chance = np.arange(1, 20_001) ** -0.9
    chance /= chance.sum()
    told = rng.choice(len(chance), (n // 4 + 1, 12), p=chance)[rng.integers(0, n // 4 + 1, n)]
    words = np.where(rng.random(told.shape) < 0.35, rng.choice(len(chance), told.shape, p=chance), told)
    values = (1 - 2 * (words * 40503 // 128 % 2)) * -np.log(chance[words])
    rows = np.zeros((n, DIMENSION))
    for factor in (2_654_435_761, 2_246_822_519):
        np.add.at(rows, (np.arange(n)[:, None], words * factor // 1024 % DIMENSION), values)
    return unit(rows)


def embedded(n: int, seed: int = 7) -> np.ndarray:
    """Return the vectors that the default embedder gives sentences of eighteen words with natural frequencies."""
    memories, _ = recall.store(n, seed)
    return embedder("hashing").embed(memories["content"].to_list())


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def dense(vectors: np.ndarray, minimum: float, step: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Join the obvious way: multiply block by block and look for large cells.

    Args:
        vectors: unit rows.
        minimum: smallest cosine.
        step: of so many rows of blocks, only one is multiplied.

    Returns:
        The pairs whose first row is in such a block, and the share of all blocks.
    """
    lefts, rights = [], []
    starts = range(0, len(vectors), BLOCK)
    taken = starts[step // 2 :: step] if step > 1 else starts
    blocks = sum(len(range(low, len(vectors), BLOCK)) for low in taken)
    for low in taken:
        for start in range(low, len(vectors), BLOCK):
            i, j = np.nonzero(vectors[low : low + BLOCK] @ vectors[start : start + BLOCK].T >= minimum)
            upper = i + low < j + start
            lefts.append(i[upper] + low)
            rights.append(j[upper] + start)
    every = sum(len(range(low, len(vectors), BLOCK)) for low in starts)
    return np.concatenate(lefts), np.concatenate(rights), blocks / every


def loop(vectors: np.ndarray, minimum: float) -> int:
    """Compare one pair at a time, as the systems that this pipeline replaces do."""
    rows = [row.tolist() for row in vectors]
    return sum(
        sum(x * y for x, y in zip(one, other, strict=True)) >= minimum
        for place, one in enumerate(rows)
        for other in rows[place + 1 :]
    )


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def same_pairs(vectors: np.ndarray, minimum: float, one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two sets of pairs are equal, but for pairs on the threshold."""
    differing = np.setxor1d(*(pairs[0] * len(vectors) + pairs[1] for pairs in (one, other)))
    return bool((np.abs(pair_similarity(vectors, *np.divmod(differing, len(vectors))) - minimum) < 1e-6).all())


def high_water(*, reset: bool = False) -> float:
    """Return the most memory that this process has had since the last reset, in MB; NaN where Linux does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    if reset:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    said = next(line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM"))
    return int(said.split()[1]) / 1024


def compare(name: str, make: Callable[[int], np.ndarray], minimum: float, sizes: tuple[int, ...]) -> None:
    few = make(LOOP_ROWS)
    _, seconds = timed(lambda: loop(few, minimum))
    a_pair = seconds / (LOOP_ROWS * (LOOP_ROWS - 1) / 2)
    print(f"\n{name}, cosine >= {minimum}; the loop takes {a_pair * 1e6:.1f} us a pair")
    print(
        f"{'rows':>8} {'pairs':>9} {'join s':>8} {'dense s':>8} {'dense/join':>10} {'loop/join':>10} {'limit/join':>10}"
        "  growth  extra MB"
    )
    before = None
    for n in sizes:
        vectors, groups = make(n), np.zeros(n, dtype=np.int64)
        held = high_water(reset=True)
        found, join_seconds = timed(lambda: threshold_join(vectors, groups, minimum))  # noqa: B023
        extra = high_water() - held
        step = 1 if n <= WHOLE else PART
        (*peer, share), dense_seconds = timed(lambda: dense(vectors, minimum, step))  # noqa: B023
        dense_seconds /= share
        in_part = (found.left // BLOCK % step == step // 2) | (step == 1)
        assert same_pairs(vectors, minimum, (found.left[in_part], found.right[in_part]), peer), "the pairs differ"
        limit = n * (n - 1) / 2 * DIMENSION / limits.matrix_rate(DIMENSION)
        loop_ratio = a_pair * n * (n - 1) / 2 / join_seconds
        growth = "" if before is None else f"n^{np.log(join_seconds / before[1]) / np.log(n / before[0]):.2f}"
        print(
            f"{n:8} {len(found):9} {join_seconds:8.2f} {dense_seconds:8.2f} {dense_seconds / join_seconds:10.2f}"
            f" {loop_ratio:10.0f} {limit / join_seconds:10.2f}  {growth:>6} {extra:9.0f}",
            flush=True,
        )
        grows(f"exact join, {name}", n, join_seconds)
        before = n, join_seconds
    work = f"exact join of {n:,} x {DIMENSION} vectors, {name}, cosine >= {minimum}"
    large = n >= 2 * WHOLE
    figure(f"{work}, against the dense product", dense_seconds / join_seconds, "x as fast", **LEAST if large else {})
    figure(f"{work}: memory beside the vectors", extra, "MB", **MOST if large else {})
    figure(f"{work}: share of the rate of bare matrix products", 100 * limit / join_seconds, "% of the limit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 100,000 rows (minutes)")
    sizes = (*SIZES, 100_000) if parser.parse_args().full else SIZES
    for name, make in (("clustered", clustered), ("hashed words", hashed), ("embedded sentences", embedded)):
        compare(name, make, 0.75, sizes)


if __name__ == "__main__":
    main()
