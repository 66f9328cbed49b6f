"""Takes the state of a profile over from the last commit where a fold would read the same, instead of folding again.

What a fold reads is the agents' events and the decisions in force: both are only added to or erased, so their ids say
what they hold. Accesses are not published, and are read from the events every time. Not here: the fold itself
(`projection`), and the digests (`reuse`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation import reuse
from memory_pipeline.consolidation.state import folding, projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import TABLES, Events, Foldings, Frame, Lifecycle

_OWNER: Final = "profile_id"


def digests(events: Frame[Events], decisions: pl.DataFrame) -> pl.DataFrame:
    """Return for each profile the digest of all that a fold reads of it: profile_id, read.

    `events` are those up to an instant and a ledger position, `decisions` those in force then (see
    `projection.unmasked`).

    Cost: about a microsecond for each event and decision.
    """
    columns = (_OWNER, "seq", "ordinal", "event_id", pl.col("erased_at").dt.epoch("us"))
    read = events.lazy().filter(pl.col("event_type").is_in(folding.READ)).select(columns)
    written = read.sort(_OWNER, "seq", "ordinal").drop("seq").collect()
    if written.is_empty():
        return TABLES["foldings"].empty().select(_OWNER, "read")
    return reuse.digests((), written, decisions.select(_OWNER, "decision_id").sort(_OWNER, "decision_id"))


def state(
    events: Frame[Events], decisions: pl.DataFrame, *, read: pl.DataFrame, published: State, foldings: Frame[Foldings]
) -> State:
    """Return what `projection.fold` returns, folding only profiles in which anything differs from what was published.

    `read` is what `digests` returns for the events and decisions; `published` and `foldings` are what any earlier run
    left.
    """
    known = reuse.unchanged(foldings.filter("whole"), read).select(_OWNER)
    if known.is_empty():
        return projection.fold(events, decisions)
    memories, edges, tier_changes, blocks = (
        rows.join(known, on=_OWNER, how="semi", maintain_order="left")
        for rows in (published.memories, published.edges, published.tier_changes, published.blocks)
    )
    uses = events.filter(pl.col("event_type").is_in(folding.USES)).join(known, on=_OWNER, how="semi")
    kept = State(memories, edges, folding.accesses(uses, memories), tier_changes, blocks)
    if read.height == known.height:
        return kept
    others, of_others = (rows.join(known, on=_OWNER, how="anti", maintain_order="left") for rows in (events, decisions))
    folded = projection.fold(others, of_others)
    return State(*(pl.concat([getattr(kept, name), getattr(folded, name)]) for name in vars(kept)))


def whole(foldings: pl.DataFrame, memories: pl.DataFrame, blocks: pl.DataFrame) -> pl.DataFrame:
    """Return table `foldings`, saying whether what is published of each profile is all of its state.

    Texts of deleted memories, trims of stubs and emptied blocks are not published. `foldings` has profile_id and read;
    memories and blocks are those of the state, emptied ones included.
    """
    hidden = pl.col("lifecycle").is_in([Lifecycle.DELETED.value, Lifecycle.STUB.value])
    lacking = pl.concat([memories.filter(hidden).select(_OWNER), blocks.filter(content="").select(_OWNER)])
    complete = ~pl.col(_OWNER).is_in(lacking[_OWNER].unique().implode())
    return TABLES["foldings"].conform(foldings.with_columns(whole=complete))
