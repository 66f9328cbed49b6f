"""Records how two memories relate, as somebody says, and undoes what runs decided otherwise."""

from typing import Any

import polars as pl

from memory_pipeline.ledger.validation_errors import nearest, shown
from memory_pipeline.recall.client import reviewing
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.client.validation import check_id
from memory_pipeline.runs import undo
from memory_pipeline.schemas import Action


def resolve(
    own: OpenProfile, pair: Any, relation: str, *, newer: str | None, statement: str | None, answered_by: str | None
) -> str | None:
    """Append an answer about a pair and return its id (see `MemoryClient.resolve`)."""
    if relation not in reviewing.ANSWERS:
        raise ValueError(f"relation is {shown(relation)}; {nearest(relation, reviewing.ANSWERS)}")
    older, later = _ends(own, pair)
    if newer is not None:
        if newer not in (older, later):
            raise ValueError(f"newer is {shown(newer)}, which is not one of the two memories; give {older} or {later}")
        older, later = (later if newer == older else older), newer
    state = own.cache.current()
    replaced, _ = (own.memory(one, state, name="pair") for one in (older, later))
    if relation == "skip":
        return None
    if relation == "partial":
        named = statement or reviewing.asked_about(own.lake, own.profile_id, older, later)
        statement = reviewing.statement_of(replaced, named)
    answer = own.answer(older, later, relation, statement=statement, answered_by=answered_by)
    own.lake.ledger.append([answer])
    if relation != "update":
        _reopen(own, older, later)
    return answer.event_id


def _ends(own: OpenProfile, pair: Any) -> tuple[str, str]:
    """Return the ids of the two memories of a pair, which may be named by its own id."""
    if isinstance(pair, str):
        return own.checked.get(pair) or reviewing.find(own.lake, own.cache, own.profile_id, pair)
    if isinstance(pair, tuple | list) and len(pair) == 2:  # noqa: PLR2004 - two memories
        for memory_id in pair:
            check_id("pair", memory_id)
        return pair[0], pair[1]
    raise ValueError(f"pair is {shown(pair)}; give the id of a pair, or the ids of two memories")


def _reopen(own: OpenProfile, older: str, newer: str) -> None:
    """Undo the closings of a memory by another that runs decided, as an answer says otherwise."""
    heads = own.lake.ledger.heads([own.profile_id])
    closing = undo.in_force(own.lake, [own.profile_id]).filter(
        pl.col("action") == Action.CLOSE.value, pl.col("memory_id") == older, pl.col("target_id") == newer
    )
    if closing.height:
        undo.mask_decisions(own.lake, closing, heads=heads, reason=f"answer about {older}", now=own.now())
