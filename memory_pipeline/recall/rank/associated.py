"""Extends a deep recall along the associations of its best memories.

A summary leads to its originals, and a memory to its linked memories, even if these share no word with the query.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.text.arrays import Floats, Integers

STARTS: Final = 5
"""Number of best memories whose associations are followed."""


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Memories reached over an association, best first.

    Attributes:
        rows: their rows.
        scores: one for each.
        places: position in the answer of the memory that each was reached from.
    """

    rows: Integers
    scores: Floats
    places: Integers


def reach(index: Index, found: Integers, scores: Floats, associations: pl.DataFrame, *, base: float) -> Reached:
    """Follow the associations of the memories found directly, best first, by one step in either direction.

    The lead over `base`, the score of a memory that answers nothing, passes on, multiplied by the association's weight.
    """
    start = pl.DataFrame(
        {
            "source": index.memories["memory_id"][found[:STARTS]],
            "place": np.arange(len(found[:STARTS])),
            "lead": np.maximum(scores[:STARTS] - base, 0.0),
        }
    )
    ends = ["source", "target", "weight"]
    both = pl.concat(
        [associations.select(ends), associations.select(source="target", target="source", weight="weight")]
    )
    steps = both.join(start, on="source").with_columns(score=base + pl.col("lead") * pl.col("weight"))
    best = steps.sort(["score", "place", "target"], descending=[True, False, False]).unique(
        "target", keep="first", maintain_order=True
    )
    rows = index.row_ids.rows(best["target"].to_list())
    known = rows >= 0
    return Reached(rows[known], best["score"].to_numpy()[known], best["place"].to_numpy()[known])


def merged(scores: Floats, reached: Reached) -> Integers:
    """Return one order of an answer's memories and the reached ones, whose positions continue those of the answer.

    Each reached memory comes after all that score at least as much, and after the one it was reached from. The scores
    are in the order of the answer, which may differ from their own.
    """
    falling = np.minimum.accumulate(scores) if len(scores) else scores
    behind = np.maximum(np.searchsorted(-falling, -reached.scores, side="right"), reached.places + 1)
    keys = np.concatenate([np.arange(len(scores)) + 0.5, behind.astype(np.float64)])
    return np.lexsort((np.arange(len(keys)), keys))
