"""All comparisons of vectors: exact joins, nearest neighbours, and the similarity of given pairs.

The *stored similarity* of two rows is their cosine, computed from these two rows alone (dot product and lengths in
float64, in a fixed order of addition) and rounded once to float32. A pair *reaches* a threshold if its stored
similarity is at least the threshold rounded to float32, so a cosine exactly at the threshold counts. Matrix products,
whose cells depend on the block shape and the number of threads, only propose candidates, with a margin for their error;
results never depend on them.

A row that is zero or holds NaN or infinity is *unknown* and matches nothing. Rows need not have unit length.

Not here: what a similarity is used for (the stages), and the approximate index of recall.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text.arrays import Floats, Integers, Marks, Matrix, libraries, places, product_threads

_TILE: Final = 2048
"""Edge of the square blocks compared at once: small enough for the cache, and large enough that the threads of the
matrix product seldom wait for each other, which is the main cost on a busy machine."""
_CELL_BYTES: Final = 48
"""Worst-case scratch bytes per cell of a block, when every cell is a candidate."""
_CHUNK: Final = 1 << 17
"""Numbers gathered at once when single pairs are compared: what fits in a core's cache."""
_SMALL: Final = 4
"""Groups of at most this many rows are compared pair by pair, because a matrix product would not pay."""
_SAMPLE: Final = 1024
"""Rows sampled to choose the prefix length."""
_BASIS_SAMPLE: Final = 8192
"""Rows sampled to compute the principal axes."""
_WIDTHS: Final = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""Prefix lengths that are tried, including the column of the remainder."""
_SCAN_COST: Final = 7
"""Cost of scanning one cell, in multiply-adds of a matrix product."""
_VERIFY_COST: Final = 40
"""Cost of comparing one pair of rows, per dimension, in the same unit."""
_BLOCK_COST: Final = 2
"""Cost of verifying one cell of a whole block, per dimension, in the same unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows with their stored similarity: three arrays of equal length.

    Attributes:
        left: int64, number of the first row (of the query in `top_k`).
        right: int64, number of the second row.
        similarity: float32, the stored similarity.
    """

    left: Integers
    right: Integers
    similarity: Matrix

    def __len__(self) -> int:
        return len(self.left)

    def take(self, which: Integers | Marks | slice) -> "Pairs":
        """Return some of the pairs, by index, mask or slice."""
        return Pairs(self.left[which], self.right[which], self.similarity[which])


def concatenate(parts: Sequence[Pairs]) -> Pairs:
    """Return the pairs of all parts, in order."""
    empty = np.empty(0, dtype=np.int64)
    return Pairs(
        np.concatenate([empty, *(pairs.left for pairs in parts)]),
        np.concatenate([empty, *(pairs.right for pairs in parts)]),
        np.concatenate([empty.astype(np.float32), *(pairs.similarity for pairs in parts)]),
    )


def matrix(vectors: pl.Series) -> Matrix:
    """Stack a column of vectors into a float32 matrix [n, d], where d is the most frequent length.

    A vector that is missing, has another length or lacks a number becomes a row of NaN (unknown).
    """
    counts = vectors.cast(pl.List(pl.Float32)).list.len()
    frequent = counts.drop_nulls().mode().to_numpy()
    dimension = int(frequent.max(initial=0))
    fits = (counts == dimension).fill_null(value=False)
    result = np.full((len(vectors), dimension), np.nan, dtype=np.float32)
    if dimension:
        result[fits.to_numpy()] = vectors.filter(fits).explode().cast(pl.Float32).to_numpy().reshape(-1, dimension)
    return result


def listed_pairs(neighbours: pl.DataFrame, rows: pl.DataFrame, minimum: float) -> Pairs:
    """Return the pairs of table `neighbours` that reach `minimum`, as pairs of `rows`; other memories are left out.

    The table must hold all pairs from the minimum, inclusive, on. Each pair comes once, left < right, sorted by (left,
    right), as from `threshold_join`. Cost: linear.
    """
    owner = ["profile_id", "memory_id"]
    indexes = rows.select(*owner, index=pl.int_range(pl.len(), dtype=pl.Int64))
    ends = neighbours.filter(pl.col("similarity") >= pl.lit(minimum, pl.Float32))
    for end in ("memory_id", "other_id"):
        ends = ends.join(indexes.rename({"index": f"{end}_index"}), left_on=["profile_id", end], right_on=owner)
    both = ("memory_id_index", "other_id_index")
    near = ends.select("similarity", left=pl.min_horizontal(both), right=pl.max_horizontal(both)).sort("left", "right")
    return Pairs(near["left"].to_numpy(), near["right"].to_numpy(), near["similarity"].to_numpy())


def lengths(vectors: Matrix) -> Floats:
    """Return the Euclidean length of each row; 0 marks an unknown row (zero, or with NaN or infinity). Costs O(n·d).

    Raises ValueError: `vectors` is not a float32 matrix.
    """
    if vectors.ndim != 2 or vectors.dtype != np.float32:  # noqa: PLR2004
        raise ValueError(
            f"vectors are {vectors.dtype} with shape {vectors.shape}; pass a float32 matrix with one row per memory"
        )
    result = np.empty(len(vectors))
    for part in _chunks(len(vectors), vectors.shape[1]):
        block = vectors[part].astype(np.float64)
        with np.errstate(invalid="ignore"):
            result[part] = np.sqrt(np.einsum("ij,ij->i", block, block))
    result[~np.isfinite(result)] = 0.0
    return result


def unknown(vectors: Matrix) -> Marks:
    """Mask of the rows that cannot be compared: zero, or with NaN or infinity."""
    mask: Marks = lengths(vectors) == 0.0
    return mask


def reaches(similarity: Matrix, minimum: float) -> Marks:
    """Mask of the similarities that reach `minimum` (inclusive, compared in float32); NaN never does."""
    mask: Marks = similarity >= np.float32(minimum)
    return mask


def pair_similarity(vectors: Matrix, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> Matrix:
    """Return stored similarity of the given pairs of rows; NaN where either row is unknown. Costs O(pairs·d)."""
    rows = _Rows(vectors, lengths(vectors))
    result = np.full(len(left), np.nan, dtype=np.float32)
    comparable = np.flatnonzero((rows.lengths[left] > 0) & (rows.lengths[right] > 0))
    result[comparable] = rows.stored(left[comparable], right[comparable])
    return result


def similarity_matrix(vectors: Matrix) -> Matrix:
    """Return stored similarities of all pairs of a few rows, float32 [n, n]; bit-identical to those of the joins.

    Costs O(n²·d) at the speed of a float64 matrix product, and O(n²) memory. Raises ValueError: a row is unknown.
    """
    rows = _Rows(vectors, lengths(vectors))
    if not rows.lengths.all():
        raise ValueError(f"row {int(rows.lengths.argmin())} of vectors is zero, NaN or infinite; leave such rows out")
    indexes = np.arange(len(vectors))
    result = np.empty((len(indexes), len(indexes)), dtype=np.float32)
    for low in range(0, len(indexes), _TILE):
        for start in range(low, len(indexes), _TILE):
            lefts, rights = slice(low, low + _TILE), slice(start, start + _TILE)
            result[lefts, rights] = rows.settled(indexes[lefts], indexes[rights], np.True_)
            result[rights, lefts] = result[lefts, rights].T
    return result


def threshold_join(
    vectors: Matrix,
    groups: NDArray[np.integer[Any]],
    minimum: float,
    *,
    fresh: Marks | None = None,
    memory_budget_mb: int = 1024,
) -> Pairs:
    """Return all pairs of rows within a group whose stored similarity reaches `minimum`; exact.

    Large groups are rotated to their principal axes. The leading coordinates of two rows and the lengths of their
    remainders bound the cosine from above (Cauchy-Schwarz on the remainder), so a narrow matrix product finds the few
    candidates that are compared in full. The number of coordinates is chosen on a sample; where no prefix pays, whole
    rows are multiplied. A group is cut into strips of blocks, which as many threads compare side by side as the matrix
    product may use (`OPENBLAS_NUM_THREADS`, by default one a core), so that one large group keeps all cores at work.

    Args:
        vectors: rows to compare, float32 [n, d].
        groups: integer code of each row [n]; only rows with the same code are compared.
        minimum: smallest cosine, -1 to 1, inclusive.
        fresh: mask of rows [n]; every pair contains at least one of them, so that rows compared before are not compared
            again; default: all.
        memory_budget_mb: bound on scratch memory; input and result come on top.

    Returns:
        Each pair once, left < right, sorted by (left, right).

    Raises:
        ValueError: shapes or types do not fit, or `minimum` or the budget is out of range.
    """
    _check_minimum(minimum)
    if memory_budget_mb < 1:
        raise ValueError(f"memory_budget_mb is {memory_budget_mb}; give at least 1")
    rows = _Rows(vectors, lengths(vectors))
    segments = _segments(groups, rows)
    new = np.ones(len(vectors), dtype=np.bool_) if fresh is None else fresh
    small = _join_small(rows, [indexes for indexes in segments if len(indexes) <= _SMALL], minimum)
    joined = [small.take(new[small.left] | new[small.right])]
    joined += [
        _join_group(rows, indexes[new[indexes]], indexes[~new[indexes]], minimum, memory_budget_mb << 20)
        for indexes in segments
        if len(indexes) > _SMALL
    ]
    pairs = concatenate(joined)
    return pairs.take(np.argsort(pairs.left * len(vectors) + pairs.right))


def top_k(
    queries: Matrix,
    vectors: Matrix,
    groups_q: NDArray[np.integer[Any]],
    groups_v: NDArray[np.integer[Any]],
    k: int,
    minimum: float = -1.0,
    *,
    exclude: NDArray[np.integer[Any]] | None = None,
) -> Pairs:
    """Return the `k` nearest rows of each query within its group; exact, ties go to the lower row number.

    Costs O(m·n·d) within a group at the speed of a matrix product, and a copy of both inputs.

    Args:
        queries: float32 [m, d].
        vectors: rows to search, float32 [n, d].
        groups_q: group codes of the queries.
        groups_v: group codes of the rows.
        k: maximum number of rows per query, at least 1.
        minimum: smallest cosine, inclusive.
        exclude: one row per query that must not be returned (the query itself), -1 for none.

    Returns:
        left = query, right = row, sorted by (query, similarity descending, row). An unknown query has no rows.

    Raises:
        ValueError: shapes or types do not fit, or `k` or `minimum` is out of range.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    _check_minimum(minimum)
    stacked = np.concatenate([vectors, queries])
    rows = _Rows(stacked, lengths(stacked))
    nearest = []
    for members in _segments(np.concatenate([groups_v, groups_q]), rows):
        first = int(np.searchsorted(members, len(vectors)))
        for low in range(first, len(members), _TILE):
            batch = members[low : low + _TILE]
            best = _nearest(rows, batch, members[:first], k + (exclude is not None), minimum)
            nearest.append(Pairs(batch[best.left] - len(vectors), best.right, best.similarity))
    pairs = concatenate(nearest)
    if exclude is not None:
        pairs = pairs.take(np.flatnonzero(pairs.right != exclude[pairs.left]))
    return _best(pairs, k)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Vectors with their lengths, comparable as single pairs or as a block."""

    vectors: Matrix
    lengths: Floats

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def units(self, indexes: Integers) -> Floats:
        """Return the given rows at unit length."""
        units: Floats = self.vectors[indexes] / self.lengths[indexes, None]
        return units

    def stored(self, left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> Matrix:
        """Return stored similarities of pairs of known rows, each computed from its two rows alone."""
        result = np.empty(len(left), dtype=np.float32)
        for part in _chunks(len(left), self.dimension):
            i, j = left[part], right[part]
            dots = np.einsum("ij,ij->i", self.vectors[i].astype(np.float64), self.vectors[j].astype(np.float64))
            result[part] = dots / (self.lengths[i] * self.lengths[j])
        return result

    def settled(self, left: Integers, right: Integers, wanted: Marks | np.bool_) -> Matrix:
        """Return stored similarities of a whole block by one float64 product, exact where `wanted`.

        The product differs from the row-wise sum by less than `slack`. The row-wise sum decides only where the two ends
        of that interval round to different float32 numbers (a few cells in a million).
        """
        product = self.units(left) @ self.units(right).T
        slack = (self.dimension + 8) * 2.0**-51
        result = (product - slack).astype(np.float32)
        i, j = np.nonzero((result != (product + slack).astype(np.float32)) & wanted)
        result[i, j] = self.stored(left[i], right[j])
        return result


def _join_small(rows: _Rows, segments: list[Integers], minimum: float) -> Pairs:
    """Join many small groups at once: rows `lag` positions apart, for every lag."""
    sizes = [len(indexes) for indexes in segments]
    indexes = np.concatenate([np.empty(0, dtype=np.int64), *segments])
    group = np.repeat(np.arange(len(segments)), sizes)
    joined = []
    for lag in range(1, max(sizes, default=0)):
        near = np.flatnonzero(group[lag:] == group[:-lag])
        left, right = indexes[near], indexes[near + lag]
        joined.append(_reaching(Pairs(left, right, rows.stored(left, right)), minimum))
    return concatenate(joined)


def _join_group(rows: _Rows, fresh: Integers, others: Integers, minimum: float, budget: int) -> Pairs:
    """Join the fresh rows of one large group with one another and with its other rows, both ascending row numbers."""
    if not len(fresh):
        return concatenate([])
    indexes = np.concatenate([fresh, others])
    prefix = _prefix(rows, indexes, minimum, len(fresh) * (len(indexes) - len(fresh) / 2), budget // 2)
    one_block = len(indexes) <= _TILE
    if prefix is None and one_block:
        prefix = rows.units(indexes).astype(np.float32)
    threads = 1 if one_block else min(product_threads(), -(-len(fresh) // _TILE))
    # Half of a block with itself is not needed; four blocks a side leave out most of it.
    edge = min(_TILE // 4 if one_block else _TILE, len(indexes), isqrt(budget // 2 // _CELL_BYTES // threads))
    limit = np.float32(minimum - _margin(rows.dimension if prefix is None else prefix.shape[1]))

    def block(part: slice) -> Matrix:
        return rows.units(indexes[part]).astype(np.float32) if prefix is None else prefix[part]

    def strip(low: int) -> Pairs:
        """Join the rows of one block with themselves and with all later rows."""
        cells, mask = np.empty(edge * edge, dtype=np.float32), np.empty(edge * edge, dtype=np.bool_)
        lefts = slice(low, min(low + edge, len(fresh)))
        left_block = block(lefts)
        joined = []
        for start in range(low, len(indexes), edge):
            rights = slice(start, start + edge)
            right_block = block(rights)
            shape = (len(left_block), len(right_block))
            size = shape[0] * shape[1]
            tile = np.matmul(left_block, right_block.T, out=cells[:size].reshape(shape))
            hits = np.greater_equal(tile, limit, out=mask[:size].reshape(shape))
            if start == low:
                hits &= np.arange(shape[0])[:, None] < np.arange(shape[1])
            joined.append(_verified(rows, indexes[lefts], indexes[rights], hits, minimum))
        return concatenate(joined)

    with _side_by_side(threads) as spread:
        pairs = concatenate([*spread(strip, range(0, len(fresh), edge))])
    return Pairs(np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right), pairs.similarity)


@contextmanager
def _side_by_side(threads: int) -> Iterator[Callable[[Callable[[int], Pairs], Iterable[int]], Iterable[Pairs]]]:
    """Yield a `map` that calls in several threads, each with products of one thread, and returns in order."""
    if threads == 1:
        yield map
        return
    with libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        yield pool.map


def _verified(rows: _Rows, lefts: Integers, rights: Integers, hits: Marks, minimum: float) -> Pairs:
    """Return the candidates of a block that reach `minimum`, compared one by one or, if there are many, as a block."""
    cells = np.flatnonzero(hits)
    i, j = np.divmod(cells, len(rights))
    left, right = lefts[i], rights[j]
    if len(cells) * _VERIFY_COST > hits.size * _BLOCK_COST:
        similarity = rows.settled(lefts, rights, hits).reshape(-1)[cells]
    else:
        similarity = rows.stored(left, right)
    return _reaching(Pairs(left, right, similarity), minimum)


def _nearest(rows: _Rows, queried: Integers, indexes: Integers, k: int, minimum: float) -> Pairs:
    """Return the `k` best of `indexes` for each of the rows `queried`; left is a position in `queried`."""
    margin = _margin(rows.dimension)
    queries = rows.units(queried).astype(np.float32)
    lower_bound = np.full(len(queried), minimum, dtype=np.float32)
    best = concatenate([])
    for start in range(0, len(indexes), _TILE):
        part = indexes[start : start + _TILE]
        tile = queries @ rows.units(part).astype(np.float32).T
        bound = lower_bound - margin
        if len(part) > k:
            bound = np.maximum(bound, np.partition(tile, -k, axis=1)[:, -k] - 2 * margin)
        i, j = np.nonzero(tile >= bound[:, None])
        similarity = rows.stored(queried[i], part[j])
        fresh = Pairs(i, part[j], similarity).take(np.flatnonzero(similarity >= lower_bound[i]))
        best = _best(concatenate([best, fresh]), k)
        full = np.flatnonzero(np.bincount(best.left, minlength=len(queried)) == k)
        lower_bound[full] = best.similarity[np.searchsorted(best.left, full, side="right") - 1]
    return best


def _prefix(rows: _Rows, indexes: Integers, minimum: float, cells: float, budget: int) -> Matrix | None:
    """Return leading principal coordinates per row and the length of the remainder; None if whole rows are cheaper.

    By the Cauchy-Schwarz inequality, the product of two such rows is at least the cosine of the whole rows. `cells` is
    the number of pairs that will be compared.
    """
    if cells < max(16 * _SAMPLE**2, 64 * rows.dimension**2):
        return None
    moment = np.zeros((rows.dimension, rows.dimension))
    spread = _spread(indexes, _BASIS_SAMPLE)
    for part in _chunks(len(spread), rows.dimension):
        block = rows.units(spread[part])
        moment += block.T @ block
    with libraries().limit(limits=1, user_api="blas"):  # on busy cores its threads mostly wait for one another
        basis = np.linalg.eigh(moment)[1][:, ::-1]
    width = _width(rows.units(_spread(indexes, _SAMPLE)) @ basis, minimum, cells, len(indexes), budget)
    if width == rows.dimension:
        return None
    result = np.empty((len(indexes), width), dtype=np.float32)
    for part in _chunks(len(indexes), rows.dimension):
        result[part] = _bounding(rows.units(indexes[part]) @ basis[:, : width - 1], width)
    return result


def _width(sample: Floats, minimum: float, cells: float, count: int, budget: int) -> int:
    """Return the cheapest prefix length, counting candidates on a rotated sample; the full dimension if none pays."""
    dimension = int(sample.shape[1])
    fitting = [width for width in _WIDTHS if width < dimension and 4 * width * count <= budget]
    costs = {}
    for width in (*fitting, dimension):
        block = sample.astype(np.float32) if width == dimension else _bounding(sample, width)
        candidates = np.count_nonzero(block @ block.T >= minimum) / block.shape[0] ** 2
        verify = dimension * min(candidates * _VERIFY_COST, _BLOCK_COST)
        rotate = 0 if width == dimension else 2 * count * dimension * width
        costs[width] = cells * (width + _SCAN_COST + verify) + rotate
    return min(costs, key=lambda width: (costs[width], width))


def _bounding(rotated: Floats, width: int) -> Matrix:
    """Return the first `width - 1` coordinates of unit rows, with the length of the rest as the last column."""
    head = rotated[:, : width - 1]
    rest = np.sqrt(np.maximum(0.0, 1.0 - np.einsum("ij,ij->i", head, head)))
    return np.concatenate([head, rest[:, None]], axis=1).astype(np.float32)


def _margin(width: int) -> float:
    """Return twice the error bound of a float32 product of two unit rows of `width` numbers, rounding included."""
    return (width + 8) * 2.0**-23


def _segments(groups: NDArray[np.integer[Any]], rows: _Rows) -> list[Integers]:
    """Return the known rows of each group, ascending."""
    if groups.shape != rows.lengths.shape or not np.issubdtype(groups.dtype, np.integer):
        raise ValueError(
            f"groups are {groups.dtype} with shape {groups.shape}; pass one integer for each of the vectors"
        )
    indexes = np.flatnonzero(rows.lengths)
    indexes = indexes[np.argsort(groups[indexes], kind="stable")]
    return np.split(indexes, np.flatnonzero(np.diff(groups[indexes])) + 1)


def _check_minimum(minimum: float) -> None:
    if not -1.0 <= minimum <= 1.0:
        raise ValueError(f"minimum is {minimum}; a cosine lies between -1 and 1")


def _spread(indexes: Integers, most: int) -> Integers:
    """Return at most `most` of the rows, evenly spaced."""
    return indexes[:: -(-len(indexes) // most)]


def _chunks(count: int, dimension: int) -> Iterator[slice]:
    """Return slices of `count` rows that hold about `_CHUNK` numbers each."""
    step = max(1, _CHUNK // max(1, dimension))
    return (slice(start, start + step) for start in range(0, count, step))


def _reaching(pairs: Pairs, minimum: float) -> Pairs:
    return pairs.take(np.flatnonzero(reaches(pairs.similarity, minimum)))


def _best(pairs: Pairs, k: int) -> Pairs:
    """Return the `k` best pairs of each left row, best first; ties go to the lower right row."""
    pairs = pairs.take(np.lexsort((pairs.right, -pairs.similarity, pairs.left)))
    return pairs.take(np.flatnonzero(places(pairs.left) < k))
