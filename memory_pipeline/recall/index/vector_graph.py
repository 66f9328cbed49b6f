"""A graph of vectors that finds those nearest to a query without comparing all: HNSW (Malkov and Yashunin 2016).

It is made by the package hnswlib; without that, every vector is compared.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.arrays import Integers, Matrix

FROM: Final = 20_000
"""Vectors of a profile from which on recall searches a graph; below it, comparing all of them is as good.

CPU milliseconds of one thread on a busy machine, 384 dimensions, three hundred vectors asked for, by
`benchmarks/vector_graph.py`: comparing all of 5,000 takes 1.1 and a search 1.7; of 10,000 2.2 and 1.4; of 20,000 5.8
and 2.6. From 20,000 on comparing all takes longer than a recall should (5 ms), and before it a search saves one
millisecond, for which the graph is not worth making: some 0.3 ms and 1.7 kB a vector. All of the nearest ten are found,
and .999 of the three hundred.
"""
LINKS: Final = 16
BREADTH: Final = 100
"""Links of a vector, and vectors that are considered for them while the graph is made."""
WIDTH: Final = 600
"""Vectors that a search considers, or as many as are asked for if those are more."""
_SEED: Final = 1


class VectorGraph:
    """The graph of the first `height` vectors of an index, named by position; threads may share it."""

    def __init__(self, graph: Any) -> None:
        graph.set_ef(WIDTH)
        self._graph = graph
        self.height: int = graph.get_current_count()

    @classmethod
    def build(cls, vectors: Matrix) -> Self:
        """Make the graph of unit vectors, one after the other: the same vectors in the same order give the same graph.

        Cost: some 0.3 s of one core for 1,000 vectors, 1.7 kB of memory for each. Raises AttributeError if hnswlib is
        missing.
        """
        graph = _hnswlib().Index(space="ip", dim=vectors.shape[1])
        graph.init_index(len(vectors), M=LINKS, ef_construction=BREADTH, random_seed=_SEED)
        graph.add_items(vectors, np.arange(len(vectors)), num_threads=1)
        return cls(graph)

    def extended(self, vectors: Matrix) -> Self:
        """Return a graph that also has further vectors. Cost: that of the new ones, and a copy."""
        graph = _of_state(*self._graph.__getstate__())
        graph.resize_index(self.height + len(vectors))
        graph.add_items(vectors, self.height + np.arange(len(vectors)), num_threads=1)
        return type(self)(graph)

    def nearest(self, unit: Matrix, count: int) -> Integers:
        """Return the positions of the vectors nearest to a unit vector, in no order; a few of them may be missed."""
        labels, _ = self._graph.knn_query(unit, min(count, self.height), num_threads=1)
        return np.asarray(labels[0], dtype=np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays by name, for `of_arrays`."""
        (state,) = self._graph.__getstate__()
        return {name: np.asarray(value) for name, value in state.items()}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the graph that `arrays` was called on."""
        state = {name: array if array.ndim else array.item() for name, array in arrays.items()}
        return cls(_of_state(state))


def available() -> bool:
    """Return whether graphs can be made: whether hnswlib is installed."""
    return _hnswlib() is not None


@cache
def _hnswlib() -> Any:
    """Return the module, loaded when a graph is needed; None if it cannot be: it is built from source."""
    try:
        import hnswlib  # noqa: PLC0415 - it is built from source, and not everywhere
    except ImportError:
        return None
    return hnswlib


def _of_state(state: dict[str, Any]) -> Any:
    kind = _hnswlib().Index
    graph = kind.__new__(kind)
    graph.__setstate__((state,))
    return graph
