"""Scores at the instant of a query: a forgotten memory is judged by what it is, not by having been forgotten."""

import frames
import pytest

from memory_pipeline.recall.rank.present_scores import SCORES, present_scores
from memory_pipeline.schemas import LIVE, Lifecycle
from memory_pipeline.settings import Policy, preset

GONE = sorted(set(Lifecycle) - set(LIVE) - {Lifecycle.ERASED})


@pytest.mark.parametrize("name", ["automem", "cognitive", "engram"])
def test_a_memory_has_the_same_scores_in_every_lifecycle(name):
    policy = Policy(**preset(name) | {"preset": name})
    memories = frames.memories({"memory_id": f"m-{state}", "lifecycle": state} for state in ("active", *GONE))
    none = frames.edges([])
    scored = present_scores(memories, frames.enrichment({}, of=memories), none, policy, now=frames.AS_OF)
    assert scored.height == len(GONE) + 1
    assert scored.select(SCORES).unique().height == 1
