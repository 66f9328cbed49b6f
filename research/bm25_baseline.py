"""BM25 baseline retriever: judges a store independently of the project's own ranking.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; k1 = 1.2, b = 0.75. Not here: the default
ranking (`recall/rank/ranking`).
"""

from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from memory_pipeline.evaluation.metrics import DEPTH, RESULTS
from memory_pipeline.text.parse.tokens import content_stems

_K1: Final = 1.2
_B: Final = 0.75


def results(records: pl.DataFrame, queries: pl.DataFrame, *, depth: int = DEPTH) -> pl.DataFrame:
    """Return the results of each query; ties keep the order of the records.

    Args:
        records: columns of `metrics.RECORDS`.
        queries: id, text.
        depth: results per query.

    Returns:
        Columns of `metrics.RESULTS`.
    """
    if records.is_empty():
        return pl.DataFrame(schema=RESULTS)
    record_words = content_stems(records["text"])
    query_words = content_stems(queries["text"]).list.unique(maintain_order=True)
    terms = pl.concat([record_words.explode(), query_words.explode()]).drop_nulls().unique().sort().to_list()
    place = {term: column for column, term in enumerate(terms)}
    counts = _matrix(record_words, place)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    document_frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    idf = np.log(1 + (records.height - document_frequency + 0.5) / (document_frequency + 0.5))
    norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
    entries = counts.tocoo()
    values = idf[entries.col] * entries.data * (_K1 + 1) / (entries.data + norm[entries.row])
    weights = sparse.csr_array((values, (entries.row, entries.col)), shape=counts.shape)
    scores = (weights @ _matrix(query_words, place).T).toarray()
    best = np.argsort(-scores, axis=0, kind="stable")[:depth]
    ids = records["id"].to_numpy()
    rows = {
        "query_id": np.repeat(queries["id"].to_numpy(), len(best)),
        "rank": np.tile(np.arange(1, len(best) + 1), queries.height),
        "id": ids[best.T.ravel()],
    }
    return pl.DataFrame(rows, schema=RESULTS)


def _matrix(lists: pl.Series, place: dict[str, int]) -> sparse.csr_array:
    """Return the term counts of each text, texts by terms."""
    rows = [row for row, stems in enumerate(lists.to_list()) for _ in stems]
    columns = [place[stem] for stems in lists.to_list() for stem in stems]
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(lists), len(place)))
