"""Tells whether what stands below a heading that ends with a day is of that day.

It is below "Meeting 2026-03-01", and not below "Due 2026-03-01", which is about that day. A linear model on what the
reader's network holds of the heading tells it (`research/fit_contrasts.py`). Not here: which headings have a day
(`text/parse/written_days`).
"""

from functools import lru_cache
from typing import Final

import polars as pl

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.lang import identification
from memory_pipeline.text.lang.registry import JUDGED
from memory_pipeline.text.score import state_heads

LEAST: Final = 0.7
"""Minimum probability from which what stands below a heading is of its day: a day too few does less harm."""
_KEPT: Final = 10_000
"""Headings of which is kept what is told."""


@lru_cache(maxsize=_KEPT)
def of_their_day(heading: str) -> bool:
    """Return whether what stands below a heading is of the day (YYYY-MM-DD) that ends it.

    Nothing tells it of a heading in a language that the reader does not read, nor if its weights are not installed:
    False. Cost: about 10 ms of one core, once for each heading.
    """
    if encoder.missing() or identification.identify(pl.Series([heading])).item() not in {None, *JUDGED}:
        return False
    states = encoder.sentence_reader().read([("", heading)])[:, : encoder.STATE]
    return bool(state_heads.of_their_day(states)[0] >= LEAST)
