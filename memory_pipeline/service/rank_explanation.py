"""Adds to what is known about a memory why it ranks where it does for a question.

What is not here: how a score comes about (`recall.ranking`), and all else about a memory (`recall.explain`).
"""

from dataclasses import asdict, replace
from datetime import datetime
from typing import Final

from memory_pipeline.recall.client.explanation import Explanation
from memory_pipeline.recall.client.memory_client import MemoryClient

DEPTH: Final = 1_000
"""How far down an answer a memory is looked for."""


def placed(client: MemoryClient, explanation: Explanation, query: str, *, as_of: datetime | None = None) -> Explanation:
    """Return an explanation with the memory's place in the answer to a question; not noted as a use.

    Args:
        client: of the memory's profile.
        explanation: what is known already.
        query: the question.
        as_of: instant whose state is searched; default now.

    Raises:
        ValueError: the query is blank, or the memory does not come back for it.
    """
    answer = client.recall(query, DEPTH, as_of=as_of, deep=True, record=False)
    found = next((one for one in answer if one.memory_id == explanation.memory_id), None)
    if found is None:
        among = f"not among the first {DEPTH} that a deep recall finds"
        raise ValueError(f"memory {explanation.memory_id} does not come back for {query!r}: it is {among}")
    return replace(explanation, recalled=asdict(found))
