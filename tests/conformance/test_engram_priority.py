"""The order of work of ADR-0008: most important first, then most used; what a run cannot do is first in the next."""

import frames
import polars as pl
from decided import decisions
from frames import AS_OF
from stage_calls import apply

from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.settings import Policy, preset

ENGRAM = Policy(**preset("engram"))


def left(memories, limit, *, before=None, as_of=AS_OF):
    """Ids of the memories that a run leaves for the next one, in their order."""
    context = Context(policy=ENGRAM, as_of=as_of, plan_id="plan")
    profiles = pl.DataFrame({"profile_id": memories["profile_id"].unique().sort()}).with_columns(
        caught_up=pl.lit(0), row_limit=pl.lit(limit)
    )
    decided = {} if before is None else {"decisions": before}
    importance = frames.importance(memories)
    return apply("defer", context, profiles=profiles, memories=memories, memory_importance=importance, **decided).sort(
        "profile_id", "place"
    )


def told(*rows):
    return frames.memories({"memory_id": name, "importance_given": value, "access_count": n} for name, value, n in rows)


def test_what_is_important_goes_first_then_what_is_used():
    memories = told(("dull", 0.1, 9), ("used", 0.5, 3), ("great", 0.9, 0), ("unused", 0.5, 0))
    assert left(memories, 1)["memory_id"].to_list() == ["used", "unused", "dull"]
    assert left(memories[::-1], 2)["memory_id"].to_list() == ["unused", "dull"]
    assert left(memories, 4).is_empty()
    assert left(memories, 0).is_empty()


def test_what_was_left_is_first_in_the_next_run():
    memories = told(("great", 0.9, 0), ("dull", 0.1, 0), ("used", 0.5, 3))
    first = left(memories, 2)
    assert first["memory_id"].to_list() == ["dull"]
    made = decisions(decision_rows.deferrals(first), as_of=frames.ago(1))
    second = left(memories, 2, before=made)
    assert second["memory_id"].to_list() == ["used"]
    made = pl.concat([made, decisions(decision_rows.deferrals(second), as_of=frames.ago(0.5), seq=1_001)])
    assert left(memories, 2, before=made)["memory_id"].to_list() == ["dull"]


def test_each_profile_has_its_own_order_and_only_live_originals_wait():
    memories = frames.memories(
        [
            {"memory_id": "a", "importance_given": 0.9},
            {"memory_id": "b", "importance_given": 0.2},
            {"memory_id": "a", "profile_id": "q", "importance_given": 0.2},
            {"memory_id": "c", "importance_given": 0.1, "lifecycle": "archived"},
            {"memory_id": "s", "importance_given": 0.1, "kind": "episode", "members": ["a", "b"]},
        ]
    )
    assert left(memories, 1).select("profile_id", "memory_id").rows() == [("p", "b")]
