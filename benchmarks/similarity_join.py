"""Compares the exact threshold join with a dense blocked product and a loop over pairs in one run.

    python benchmarks/similarity_join.py [--full]
    OPENBLAS_NUM_THREADS=1 python benchmarks/similarity_join.py      # on one core

Prints CPU seconds, ratios to the peers and the growth from one size to the next. Every line is checked: both ways
find the same pairs, except those whose cosine is within 1e-6 of the threshold, beyond the precision of float32.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from figures import figure
from figures import growth as grows

from memory_pipeline.consolidation.similarity import pair_similarity, threshold_join

DIMENSION = 384
SIZES = (1_000, 10_000, 50_000)
LOOP_ROWS = 300
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


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def dense(vectors: np.ndarray, minimum: float) -> tuple[np.ndarray, np.ndarray]:
    """Join the obvious way: multiply block by block and look for large cells."""
    lefts, rights = [], []
    for low in range(0, len(vectors), BLOCK):
        for start in range(low, len(vectors), BLOCK):
            i, j = np.nonzero(vectors[low : low + BLOCK] @ vectors[start : start + BLOCK].T >= minimum)
            upper = i + low < j + start
            lefts.append(i[upper] + low)
            rights.append(j[upper] + start)
    return np.concatenate(lefts), np.concatenate(rights)


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


def compare(name: str, make: Callable[[int], np.ndarray], minimum: float, sizes: tuple[int, ...]) -> None:
    few = make(LOOP_ROWS)
    _, seconds = timed(lambda: loop(few, minimum))
    a_pair = seconds / (LOOP_ROWS * (LOOP_ROWS - 1) / 2)
    print(f"\n{name}, cosine >= {minimum}; the loop takes {a_pair * 1e6:.1f} us a pair")
    print(
        f"{'rows':>8} {'pairs':>9} {'join s':>8} {'dense s':>8} {'dense/join':>10} {'loop/join':>10}  growth  peak MB"
    )
    before = None
    for n in sizes:
        vectors, groups = make(n), np.zeros(n, dtype=np.int64)
        found, join_seconds = timed(lambda: threshold_join(vectors, groups, minimum))  # noqa: B023
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        peer, dense_seconds = timed(lambda: dense(vectors, minimum))  # noqa: B023
        assert same_pairs(vectors, minimum, (found.left, found.right), peer), "the pairs differ"
        loop_ratio = a_pair * n * (n - 1) / 2 / join_seconds
        growth = "" if before is None else f"n^{np.log(join_seconds / before[1]) / np.log(n / before[0]):.2f}"
        print(
            f"{n:8} {len(found):9} {join_seconds:8.2f} {dense_seconds:8.2f} {dense_seconds / join_seconds:10.2f}"
            f" {loop_ratio:10.0f}  {growth:>6} {peak:8}",
            flush=True,
        )
        grows(f"exact join, {name}, {minimum}", n, join_seconds)
        before = n, join_seconds
    figure(
        f"exact join of {n:,} vectors, {name}, cosine >= {minimum}, against the dense product",
        dense_seconds / join_seconds,
        "x as fast",
        wanted=">= 3 x at 100,000",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 100,000 rows (minutes)")
    sizes = (*SIZES, 100_000) if parser.parse_args().full else SIZES
    compare("clustered", clustered, 0.75, sizes)
    compare("clustered", clustered, 0.85, sizes)
    compare("hashed words", hashed, 0.85, sizes)


if __name__ == "__main__":
    main()
