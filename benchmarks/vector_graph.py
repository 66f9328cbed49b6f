"""Compares the search of the nearest vectors by a graph with comparing all, as a profile grows.

    python benchmarks/vector_graph.py [--full]

Vectors are those of `similarity_join.clustered`, questions are vectors of the same kind that are not among them. Times
are CPU times of one thread. The graph pays from the size on at which comparing all takes longer than a recall should:
`vector_graph.FROM`.
"""

import argparse
import time

import numpy as np
import similarity_join
from figures import figure
from recall import timed

from memory_pipeline.recall.index import vector_graph
from memory_pipeline.recall.index.vector_graph import VectorGraph
from memory_pipeline.recall.index.vector_rows import VectorRows
from memory_pipeline.recall.rank.features import CANDIDATES

QUERIES = 100
LARGE = 100_000
BEST = 10
LEAST = {"at_least": 0.99, "tried": "a search that considers more vectors finds more of them and takes longer"}


def shares(found, cosines):
    """Return which share of the ten nearest vectors was found, and of as many nearest ones as were asked for."""
    order = np.argsort(-cosines, kind="stable")
    return [np.isin(order[:count], found).mean() for count in (BEST, CANDIDATES)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 300,000 vectors")
    sizes = [5_000, 10_000, vector_graph.FROM, 50_000, LARGE, *([300_000] if parser.parse_args().full else [])]
    print("  vectors |  all, ms  graph, ms    ratio |  of the nearest 10  of 300 | making it, s  adding 1, ms")
    for size in sizes:
        vectors = similarity_join.clustered(size + QUERIES)
        order = np.random.default_rng(5).permutation(len(vectors))
        queries, vectors = vectors[order[:QUERIES]], vectors[order[QUERIES:]]
        begin = time.process_time()
        graph = VectorGraph.build(vectors)
        making = time.process_time() - begin
        rows = VectorRows((vectors,), np.arange(size), graph)
        everyone = np.ones(size, dtype=np.bool_)
        each, search = iter(queries), iter(queries)
        every = np.median(timed(lambda rows=rows, each=each: rows.cosines(next(each)), QUERIES))
        fast = np.median(timed(lambda rows=rows, e=everyone, s=search: rows.nearest(next(s), CANDIDATES, e), QUERIES))
        found = [shares(rows.nearest(query, CANDIDATES, everyone), rows.cosines(query)) for query in queries]
        best, many = np.mean(found, axis=0)
        print(
            f"{size:>9} | {1e3 * every:>8.2f} {1e3 * fast:>10.2f} {every / fast:>8.1f} | {best:>18.4f} {many:>7.4f} |"
            f" {making:>12.1f} {1e3 * making / size:>13.2f}",
            flush=True,
        )
        if size == LARGE:
            at = f"among {size:,} vectors"
            figure(f"the nearest {CANDIDATES} {at} by a graph, against comparing all", every / fast, "x as fast")
            figure(f"the share of the nearest ten {at} that a graph finds", best, "of them", **LEAST)
            figure(f"making the graph of {size:,} vectors", making, "CPU s")


if __name__ == "__main__":
    main()
