"""Vectors of memories by row, and their cosines with a query."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import polars as pl

from memory_pipeline.recall.index import vector_graph
from memory_pipeline.recall.index.vector_graph import VectorGraph
from memory_pipeline.text.arrays import Floats, Integers, Marks, Matrix

_GROWTH: Final = 4
_SPARSE: Final = 2
_HIDDEN: Final = 4
"""Ratio of vectors to those admitted above which a search compares the admitted ones instead of asking the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class VectorRows:
    """Unit vectors in chunks, and the position of each memory's vector in them.

    Attributes:
        chunks: matrices of one width.
        at: position of each memory's vector across all chunks, -1 where it has none.
        graph: graph of the first vectors, if they are many; those after it are compared one by one.
    """

    chunks: tuple[Matrix, ...]
    at: Integers
    graph: VectorGraph | None = None

    @classmethod
    def build(cls, rows: pl.DataFrame, vectors: pl.DataFrame, model: str) -> Self:
        """Collect the vectors of rows of `memories`; those of another embedder or length are ignored."""
        return cls((), np.zeros(0, dtype=np.int64)).extended(rows, vectors, model)

    def extended(self, rows: pl.DataFrame, vectors: pl.DataFrame, model: str) -> Self:
        """Append the vectors of further rows."""
        of_model = vectors.filter(pl.col("model") == model)
        place = {name: at for at, name in enumerate(of_model["content_hash"].to_list())}
        found = pl.Series([place.get(name) for name in rows["content_hash"].to_list()], dtype=pl.UInt32)
        lists = of_model["vector"].gather(found)
        matrix, usable = _matrix(lists, self.chunks[0].shape[1] if self.chunks else None)
        start = self.height
        at = np.full(len(lists), -1, dtype=np.int64)
        at[usable] = start + np.arange(len(matrix))
        chunks = list(self.chunks)
        if len(matrix):
            while chunks and len(chunks[-1]) <= _GROWTH * len(matrix):
                matrix = np.concatenate([chunks.pop(), matrix])
            chunks.append(matrix)
        return replace(self, chunks=tuple(chunks), at=np.concatenate([self.at, at]))

    @property
    def height(self) -> int:
        """Number of vectors, those of removed memories included."""
        return sum(len(chunk) for chunk in self.chunks)

    def with_graph(self) -> Self:
        """Return the same vectors with a graph of all of them, if they are enough for one and it can be made.

        Cost: that of the vectors which the graph lacks (see `VectorGraph.build`). Without a graph, all are taken; with
        one, the rest is taken once comparing it takes as long as a search.
        """
        known = self.graph.height if self.graph else 0
        if self.height - known < vector_graph.FROM or not vector_graph.available():
            return self
        rest = np.concatenate(self.chunks)[known:]
        return replace(self, graph=self.graph.extended(rest) if self.graph else VectorGraph.build(rest))

    def nearest(self, query: Matrix, count: int, admitted: Marks) -> Integers | None:
        """Return the admitted memories whose vectors are nearest to a query, some `count` of them, ascending.

        Those that the graph lacks are all returned. None where comparing all admitted memories is as good: without a
        graph, and where few are admitted.
        """
        if self.graph is None or not self._fits(query):
            return None
        present = int(np.count_nonzero(admitted & (self.at >= 0) & (self.at < self.graph.height)))
        if _HIDDEN * present < self.graph.height:  # also where none is present
            return None
        row = np.full(self.height, -1, dtype=np.int64)
        owned = np.flatnonzero(admitted & (self.at >= 0))
        row[self.at[owned]] = owned
        unit = (query / np.linalg.norm(query.astype(np.float64))).astype(np.float32)
        found = row[self.graph.nearest(unit, -(-count * self.graph.height // present))]
        rest = row[self.graph.height :]
        return np.union1d(found[found >= 0], rest[rest >= 0])

    def of(self, row: int) -> Matrix | None:
        """Return the vector of a memory; None if it has none."""
        at = int(self.at[row])
        for chunk in self.chunks if at >= 0 else ():
            if at < len(chunk):
                vector: Matrix = chunk[at]
                return vector
            at -= len(chunk)
        return None

    def cosines(self, query: Matrix) -> Floats:
        """Return the cosine of every memory with a query, NaN without a vector.

        Computed row by row in float32: unlike a cell of a matrix product, the result does not depend on the other rows.
        """
        if not self._fits(query):
            return np.full(len(self.at), np.nan)
        unit = (query / np.linalg.norm(query.astype(np.float64))).astype(np.float32)
        products = np.concatenate([np.einsum("ij,j->i", chunk, unit) for chunk in self.chunks])
        return np.where(self.at >= 0, products[self.at], np.nan).astype(np.float64)

    def cosines_of(self, rows: Integers, query: Matrix) -> Floats:
        """Return the cosine of some memories with a query, row by row in float64; NaN without a vector."""
        cosines = np.full(len(rows), np.nan)
        if not self._fits(query):
            return cosines
        unit = query.astype(np.float64)
        unit = unit / np.linalg.norm(unit)
        for places, vectors in self._of(rows):
            cosines[places] = np.einsum("ij,j->i", vectors.astype(np.float64), unit)
        return cosines

    def similarities(self, rows: Integers) -> Floats:
        """Return the cosines between some memories, [rows, rows]; 0 without a vector."""
        if not self.chunks:
            return np.zeros((len(rows), len(rows)))
        chosen = np.zeros((len(rows), self.chunks[0].shape[1]))
        for places, vectors in self._of(rows):
            chosen[places] = vectors
        return np.asarray(chosen @ chosen.T, dtype=np.float64)

    def _of(self, rows: Integers) -> Iterator[tuple[Integers, Matrix]]:
        """Yield the vectors of some memories, chunk by chunk, each time with their places among `rows`."""
        at, first = self.at[rows], 0
        for chunk in self.chunks:
            places = np.flatnonzero((at >= first) & (at < first + len(chunk)))
            yield places, chunk[at[places] - first]
            first += len(chunk)

    def _fits(self, query: Matrix) -> bool:
        return bool(self.chunks) and self.chunks[0].shape[1] == len(query) and bool(np.any(query))

    def arranged(self, order: Integers) -> Self:
        """Select memories in the given order; unused vectors are dropped once they are many."""
        at = self.at[order]
        usable = np.flatnonzero(at >= 0)
        if self.height <= _SPARSE * max(1, len(usable)):
            return replace(self, at=at)
        matrix = np.concatenate(self.chunks)[at[usable]]
        at[usable] = np.arange(len(usable))
        return type(self)((matrix,) if len(usable) else (), at)


def _matrix(lists: pl.Series, width: int | None) -> tuple[Matrix, Marks]:
    """Return the usable vectors of one length as unit rows, and which memories have one."""
    lengths = lists.list.len().fill_null(0)
    wide = width or int(lengths.to_numpy().max(initial=0))
    usable = ((lengths == wide) & (lengths > 0)).to_numpy()
    if not usable.any():
        return np.zeros((0, wide), dtype=np.float32), usable
    flat = lists.filter(pl.Series(usable)).explode().to_numpy().astype(np.float64)
    matrix = flat.reshape(-1, wide)
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    good = np.isfinite(norms) & (norms > 0)
    usable[np.flatnonzero(usable)[~good]] = False
    return (matrix[good] / norms[good, np.newaxis]).astype(np.float32), usable
