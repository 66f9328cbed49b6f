"""A plain retriever over what a store shows: BM25, so that a store can be judged without its own ranking.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; k1 = 1.2, b = 0.75. Not here: recall as it
is meant to be used (`recall/rank/ranking`).
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
    """Return what comes back for each question; ties stand in the order of the records.

    Args:
        records: columns of `metrics.RECORDS`.
        queries: id, text.
        depth: results a question.

    Returns:
        Columns of `metrics.RESULTS`.
    """
    if records.is_empty():
        return pl.DataFrame(schema=RESULTS)
    said, asked = content_stems(records["text"]), content_stems(queries["text"]).list.unique(maintain_order=True)
    terms = pl.concat([said.explode(), asked.explode()]).drop_nulls().unique().sort().to_list()
    place = {term: at for at, term in enumerate(terms)}
    counts = _matrix(said, place)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    holding = np.asarray((counts > 0).sum(axis=0)).ravel()
    rarity = np.log(1 + (records.height - holding + 0.5) / (holding + 0.5))
    norm = _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))
    scaled = counts.tocoo()
    values = rarity[scaled.col] * scaled.data * (_K1 + 1) / (scaled.data + norm[scaled.row])
    weights = sparse.csr_array((values, (scaled.row, scaled.col)), shape=counts.shape)
    scores = (weights @ _matrix(asked, place).T).toarray()
    best = np.argsort(-scores, axis=0, kind="stable")[:depth]
    ids = records["id"].to_numpy()
    rows = {
        "query_id": np.repeat(queries["id"].to_numpy(), len(best)),
        "rank": np.tile(np.arange(1, len(best) + 1), queries.height),
        "id": ids[best.T.ravel()],
    }
    return pl.DataFrame(rows, schema=RESULTS)


def _matrix(lists: pl.Series, place: dict[str, int]) -> sparse.csr_array:
    """Return how often each text has each term."""
    rows = [row for row, stems in enumerate(lists.to_list()) for _ in stems]
    columns = [place[stem] for stems in lists.to_list() for stem in stems]
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(lists), len(place)))
