"""Lists the memories of a profile by time, and its blocks of core memory."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from memory_pipeline.consolidation import core_memory, core_views
from memory_pipeline.ledger import profile_events
from memory_pipeline.ledger.event import micros
from memory_pipeline.recall.client import validation
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.client.validation import check_bool, check_count, check_id
from memory_pipeline.recall.filters import Filters
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.live.state import State
from memory_pipeline.recall.models import Memories
from memory_pipeline.recall.openings import Block


def newest(
    own: OpenProfile,
    filters: Filters | Mapping[str, Any] | None,
    limit: int,
    *,
    deep: bool,
    current: bool,
    after: str | None,
) -> Memories:
    """Return memories, newest first (see `MemoryClient.list`)."""
    check_count("limit", limit)
    check_bool("deep", deep)
    check_bool("current", current)
    conditions = validation.conditions(filters, own.settings.max_tags, own.zone)
    state = own.cache.current()
    rows = state.pool.index.memories.select("memory_id", SAID_AT)
    allowed = state.pool.allowed(conditions)
    within = state.pool.index.shown(micros(own.now()), deep=deep, current=current)
    matching = rows.filter(within if allowed is None else within & allowed)
    if after is not None:
        at = _said_at(own, state, after)
        later = (pl.col("said_at") == at) & (pl.col("memory_id") > after)
        matching = matching.filter((pl.col("said_at") < at) | later)
    ids = matching.sort("said_at", "memory_id", descending=[True, False])["memory_id"].to_list()
    return Memories(own.cache.memories(state, ids[:limit]))


def _said_at(own: OpenProfile, state: State, memory_id: str) -> datetime:
    """Return when a memory was said, also of one that was erased since."""
    check_id("after", memory_id)
    if memory_id in state.pool.row_ids:
        at: datetime = state.pool.index.memories.select(SAID_AT)["said_at"][state.pool.row_ids[memory_id]]
        return at
    with own.lake.ledger.reading() as transaction:
        stored_at = profile_events.stored_at(transaction, own.profile_id, memory_id)
    return stored_at or own.memory(memory_id, state, name="after").created_at  # raises: nobody ever stored it


def blocks(own: OpenProfile, project: str | None) -> tuple[Block, ...]:
    """Return the blocks of core memory (see `MemoryClient.core_memory`)."""
    found = own.lake.read("core_memory_blocks", profiles=[own.profile_id])
    if found.height:
        ended = _memories(own, "valid_from", "valid_until").update(own.cache.ended(), on="memory_id")
        found = core_views.in_zone(core_views.holding(found, ended, own.now()), own.settings.timezone)
    if (user := own.ids.get("user_id")) is not None and found.height:
        found = core_views.for_user(found, _memories(own, "user_id"), user)
    if project is not None:
        check_id("project", project)
        found = core_views.for_project(found, _memories(own, "metadata", "members"), project)
    return tuple(Block.of(row) for row in core_memory.in_order(found).to_dicts())


def _memories(own: OpenProfile, *columns: str) -> pl.DataFrame:
    return own.lake.read("memories", profiles=[own.profile_id], columns=["profile_id", "memory_id", *columns])
