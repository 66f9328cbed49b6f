"""The interface of judges, which decide how the newer of two memories relates to the older.

The policy's `judge` names the one that judges every pair of a run, a module of `compare/judges`. With `llm_model` and
`llm_pairs`, a language model also judges the likeliest pairs, and its verdicts are combined with those of the judge
(`consolidation/model_judge`). Not here: the choice of the pairs and what a run decides from a judgement
(`consolidation/change_detection`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

import polars as pl

from memory_pipeline.text.arrays import Rows

if TYPE_CHECKING:
    from memory_pipeline.text.compare.closeness import Closeness
    from memory_pipeline.text.compare.relation_reading import Reading


RELATIONS: Final = ("update", "duplicate", "conflict", "unrelated")
"""Relations of the newer memory to the older, most consequential first.

- update: what the older states, or one of its statements, no longer holds: the newer gives its subject another value of
  the same attribute, or ends it.
- duplicate: both state the same fact in other words.
- conflict: both cannot be true, and neither is the newer state of things.
- unrelated: anything else, including two facts of one subject.
"""

ASIDE: Final = "aside"
"""Rule of a newer memory that only plans, supposes, reports or asks something about what the older one states."""
LIKELY: Final = "likely"
"""Rule of what is likely, and no more."""
WHOLE: Final = "whole"
"""Rule of an update of which the judge finds that nothing of the older memory holds any longer."""

JUDGEMENT_COLUMNS: Final = {
    "relation": pl.String(),
    "confidence": pl.Float64(),
    "statement": pl.String(),
    "attribute": pl.String(),
    "value": pl.String(),
    "other_value": pl.String(),
    "rule": pl.String(),
    "reason": pl.String(),
}
"""Columns of a judgement.

`confidence` is the probability of `relation` in stores that the judge was not fitted to; `statement` the sentence of
the older memory that no longer holds, or null for the whole memory; `attribute`, `value` (in the older) and
`other_value` (in the newer) may be null; `rule` names what decided, and `reason` is one sentence for a reader.
"""


NO_LEAST: Final[Mapping[str, float]] = MappingProxyType({})
"""No minimum: every relation matters, however unsure."""


class RelationJudge(Protocol):
    """Judge of pairs of memories. Pure: equal memories and pairs give equal judgements, in any order of the pairs."""

    def judge(
        self,
        reading: "Reading",
        older: Rows,
        newer: Rows,
        *,
        closeness: "Closeness",
        least: Mapping[str, float] = NO_LEAST,
    ) -> pl.DataFrame:
        """Judge pairs of memories of one profile each.

        Args:
            reading: all memories of the store that are compared, as read; `reading.memories` has
                `relation_reading.MEMORY_COLUMNS`.
            older: index of the older memory of each pair.
            newer: index of the newer one, as many.
            closeness: what the reader says of them.
            least: minimum confidence at which each relation has an effect; a pair below it may be judged unrelated,
                which saves most of the work.

        Returns:
            One row per pair, in their order, with `JUDGEMENT_COLUMNS`.
        """
        ...
