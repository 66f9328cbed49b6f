"""Measures what the machine can do at best, on one thread: the rate of matrix products, and the memory's bandwidth."""

import time

import numpy as np

SIDE = 2_048
COLUMNS = 1 << 24


def matrix_rate(dimension: int) -> float:
    """Return multiply-adds a second of CPU of a float32 product of two blocks of 2,048 rows, the best of five."""
    one, other = np.random.default_rng(0).standard_normal((2, SIDE, dimension), dtype=np.float32)
    out = np.empty((SIDE, SIDE), dtype=np.float32)
    return SIDE * SIDE * dimension / min(_seconds(lambda: np.matmul(one, other.T, out=out)) for _ in range(5))


def bandwidth() -> float:
    """Return bytes a second of CPU read and written by adding a number to a column of 128 MB, the best of five."""
    column, out = np.zeros((2, COLUMNS))
    return 2 * column.nbytes / min(_seconds(lambda: np.add(column, 1.0, out=out)) for _ in range(5))


def _seconds(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
