"""Adds the rank for a query to the explanation of a memory.

Not here: how scores are computed (`recall/rank/ranking`), and the rest of an explanation (`recall/client/explain`).
"""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Final

from memory_pipeline.recall.client.explanation import Explanation
from memory_pipeline.recall.client.memory_client import MemoryClient

DEPTH: Final = 1_000
"""Ranks of the answer among which the memory is looked for."""


def with_rank(
    client: MemoryClient, explanation: Explanation, query: str, *, as_of: datetime | None = None
) -> Explanation:
    """Return an explanation with the memory's rank in the answer to a query. Records no access.

    Args:
        as_of: instant whose state is searched; default: now.

    Raises:
        ValueError: the query is blank, or a deep recall does not return the memory.
    """
    answer = client.recall(query, DEPTH, as_of=as_of, deep=True, record=False)
    hit = next((hit for hit in answer if hit.memory_id == explanation.memory_id), None)
    if hit is None:
        raise ValueError(
            f"memory {explanation.memory_id} is not among the first {DEPTH} memories of a deep recall of {query!r}"
        )
    return replace(explanation, recalled=asdict(hit))
