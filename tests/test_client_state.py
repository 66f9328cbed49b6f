"""What recall sees equals the project's own fold of the whole ledger, whatever was written since the last run."""

import random
from datetime import timedelta

import homes
import polars as pl
import pytest
import sampling
from homes import NIGHT
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import memory_types
from memory_pipeline.consolidation.state import projection
from memory_pipeline.ledger.event import frame, parse
from memory_pipeline.recall.live import new_memories
from memory_pipeline.recall.live.state import REMOVED, StateCache
from memory_pipeline.recall.models import Memory

WORDS = (
    *("amber", "basin", "candle", "dagger", "ember", "falcon", "garnet", "harbor", "indigo", "jasmine", "kettle"),
    *("lantern", "marble", "nectar", "orchid", "pepper", "quartz", "ribbon", "saddle", "timber", "umber", "velvet"),
)


def folded(lake, profile_id, as_of=None):
    """The memories of a profile, folded from event zero, with what the last run has read of them."""
    events = lake.events(profiles=[profile_id], as_of=as_of)
    decisions = lake.ledger.decisions(profiles=[profile_id], as_of=as_of)
    memories = projection.fold(events, projection.unmasked(decisions, lake.ledger.reverted())).memories
    of_profile = {"profiles": [profile_id]}
    if as_of is None:
        memories = memory_types.taken_over(memories, lake.read("memories", **of_profile))
    else:
        memories = memory_types.named(memories, lake.read("core_sentences", **of_profile))
    return memories.filter(~pl.col("lifecycle").is_in(REMOVED))


def seen(states):
    state = states.current()
    return states.exact(state, list(state.pool.row_ids)).sort("profile_id", "memory_id")


def same(states, lake, profile_id):
    one, other = seen(states), folded(lake, profile_id)
    assert one["memory_id"].to_list() == other["memory_id"].to_list()
    for name in other.columns:
        assert one[name].to_list() == other[name].to_list(), name
    state = states.current()
    shown = sorted(states.memories(state, list(state.pool.row_ids)), key=lambda memory: memory.memory_id)
    assert shown == [Memory.of(row) for row in one.to_dicts()]


def write(lake, *events, at):
    lake.ledger.append([parse(event, recorded_at=at, origin="test") for event in events])


def text(chance):
    return " ".join(chance.sample(WORDS, 6)).capitalize() + "."


def happening(chance, known, number):
    """Something an agent may do."""
    one, other = chance.choice(known), chance.choice(known)
    return chance.choice(
        [
            {"event_type": "memory.stored", "memory_id": f"new{number}", "payload": {"content": text(chance)}},
            {"event_type": "memory.updated", "memory_id": one, "payload": {"content": text(chance)}},
            {"event_type": "memory.updated", "memory_id": one, "payload": {"protected": True}},
            {
                "event_type": "memory.updated",
                "memory_id": one,
                "payload": {"tags": chance.sample(WORDS, chance.randint(0, 2)), "importance": chance.random()},
            },
            {"event_type": "memory.updated", "memory_id": one, "payload": {"metadata": {"page": chance.random()}}},
            {"event_type": "memory.updated", "memory_id": one, "payload": {"valid_until": "2026-05-03T00:00:00Z"}},
            {"event_type": "feedback.given", "memory_id": one, "payload": {"helpful": chance.random() < 0.5}},
            {"event_type": "memory.accessed", "payload": {"memory_ids": sorted({one, other})}},
            {"event_type": "memory.accessed", "payload": {"memory_ids": [one], "counts": [chance.randint(1, 9)]}},
            {"event_type": "session.ended", "session_id": "s"},
        ]
    )


@pytest.mark.parametrize("preset", sampling.first("default", "cognitive", "superlocal", "three_tier"))
@pytest.mark.parametrize(
    ("seed", "nights"), [(7, 1), *(pytest.param(seed, 4, marks=pytest.mark.drill) for seed in range(3))]
)
def test_the_tail_folds_to_what_the_whole_ledger_folds_to(tmp_path, preset, seed, nights):
    history = homes.events(profiles=1, memories=10)
    lake = homes.filled(tmp_path, history)
    settings = homes.settings(tmp_path, preset=preset)
    own = history[0].profile_id
    states = StateCache(lake, own, settings.policy_of(own))
    same(states, lake, own)
    chance = random.Random(seed)
    at = NIGHT
    for night in range(nights):
        homes.night(lake, as_of=at, run_id=f"run{night}", policy=settings)
        same(states, lake, own)
        for number in range(8):
            at += timedelta(minutes=5)
            known = [*folded(lake, own)["memory_id"], f"new{night}{number}0"]
            happened = [happening(chance, known, f"{night}{number}{turn}") for turn in range(chance.randint(1, 3))]
            write(lake, *(event | {"profile_id": own} for event in happened), at=at)
            if chance.random() < 0.7:
                same(states, lake, own)
        at += timedelta(days=200)
    lake.close()


SHARES = st.floats(0, 1)
NAMES = st.sampled_from(["Ana", "Ben"])
STORED = st.fixed_dictionaries(
    {"content": st.sampled_from(["I prefer tea.", "We decided to move.", "Every day I run.", "x"])},
    optional={
        "speaker": NAMES,
        "memory_type": st.sampled_from(["insight", "Preference", "unheard of"]),
        "category": st.sampled_from(["Semantic", "none"]),
        "importance": SHARES,
        "importance_hint": SHARES,
        "confidence": SHARES,
        "valid_from": st.just("2026-05-03T00:00:00Z"),
        "valid_until": st.just("2026-06-03T01:00:00+02:00"),
        "protected": st.booleans(),
        "protected_reason": st.just("asked for"),
        "tags": st.lists(NAMES, max_size=2, unique=True),
        "metadata": st.just({"page": [1, {"a": "b"}]}),
        "source": st.just("a page"),
    },
)
BESIDE = st.fixed_dictionaries(
    {}, optional={"session_id": NAMES, "agent_id": NAMES, "user_id": NAMES, "occurred_at": st.just("2026-04-01")}
)


@given(st.lists(st.tuples(STORED, BESIDE), max_size=4))
def test_the_row_of_a_new_memory_is_what_the_fold_makes_of_it(history):
    events = [
        parse(
            {"event_type": "memory.stored", "event_id": f"e{index}", "payload": payload, **beside},
            recorded_at=NIGHT,
            origin="test",
        )
        for index, (payload, beside) in enumerate(history)
    ]
    rows = [(index + 1, *event.row()) for index, event in enumerate(events)]
    assert_frame_equal(new_memories.memory_rows(rows), projection.project(frame(rows)).memories, check_exact=True)
