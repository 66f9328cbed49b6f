"""What holds of every store, whatever agents wrote: runs, undo and order of arrival on small drawn lives."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import homes
import polars as pl
import pytest
from example_counts import examples
from hypothesis import assume, example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import pipeline
from memory_pipeline.ledger import event as wording
from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.runs import undo
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset, preset_names

KEY = ["profile_id", "memory_id"]
START = datetime(2026, 1, 1, tzinfo=UTC)
END = 60.0
"""Day of the last run."""
NOW = START + timedelta(days=400)
TEXTS = (
    "Ada moved the launch of Project Heron to 12 March.",
    "Ada moved the launch of Project Heron to 27 March.",
    "We decided to use PostgreSQL for the billing service.",
    "We decided to use PostgreSQL for the billing service, by the way.",
    "By the way, we decided to use PostgreSQL for the billing service.",
    "Ben lives in Porto and works as a baker.",
    "Ben lives in Lisbon now and works as a baker.",
    "I prefer green tea to coffee in the morning.",
    "I do not like green tea in the morning.",
    "The garden needs water every Friday evening.",
    "The garden needs water every Friday evening!",
    "Lesson learned: test the backup before the holidays.",
    "The rent of the studio is 900 euros a month.",
    "The rent of the studio was raised to 950 euros a month.",
)
"""Duplicates, changed facts of which the last is shown to have changed, contradictions, and plain statements."""

days = st.floats(0.0, END - 1, allow_nan=False).map(lambda day: round(day, 3))
memories = st.lists(
    st.fixed_dictionaries(
        {"day": days, "text": st.sampled_from(TEXTS), "session": st.integers(0, 3)},
        optional={
            "importance": st.sampled_from([0.1, 0.5, 0.9]),
            "memory_type": st.sampled_from(["Decision", "Preference", "Pattern"]),
        },
    ),
    min_size=4,
    max_size=10,
)
accesses = st.lists(
    st.fixed_dictionaries(
        {"day": days, "session": st.integers(0, 3), "places": st.lists(st.integers(0, 9), min_size=1, max_size=4)}
    ),
    max_size=12,
)
lives = st.tuples(memories, accesses)

FULL = (
    [{"day": place * 3.0, "text": text, "session": place % 4} for place, text in enumerate(TEXTS)],
    [{"day": 40.0 + place, "session": place % 3, "places": [0, 7, 9, 11]} for place in range(6)],
)
"""A life of which a run merges, closes, promotes and compiles something."""


def told(life: tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]]], *, profile: str = "p") -> list[Event]:
    """A life as events, in no order of time: what is stored, what is accessed once it is there, sessions that end."""
    stored, used = life
    rows = []
    for place, memory in enumerate(stored):
        payload = {"content": memory["text"]} | {n: memory[n] for n in ("importance", "memory_type") if n in memory}
        rows.append(("memory.stored", memory["day"], memory["session"], {"memory_id": f"m{place}", "payload": payload}))
    for access in used:
        ids = list(dict.fromkeys(place % len(stored) for place in access["places"]))
        day = max([access["day"], *(stored[place]["day"] for place in ids)]) + 0.001
        payload = {"memory_ids": [f"m{place}" for place in ids]}
        rows.append(("memory.accessed", day, access["session"], {"payload": payload}))
    last: dict[int, float] = {}
    for _, day, session, _ in rows:
        last[session] = max(last.get(session, 0.0), day)
    rows += [("session.ended", day + 0.002, session, {}) for session, day in last.items()]
    return [_event(place, *row, profile=profile) for place, row in enumerate(rows)]


def _event(place: int, kind: str, day: float, session: int, more: dict[str, Any], *, profile: str) -> Event:
    raw = {
        "event_id": f"{profile} {place}",
        "profile_id": profile,
        "event_type": kind,
        "occurred_at": at(day),
        "session_id": f"s{session}",
        **more,
    }
    return parse(raw, recorded_at=NOW, origin="test", future=None)


def at(day: float) -> datetime:
    return START + timedelta(days=day)


def table(events: Sequence[Event]) -> pl.DataFrame:
    return wording.frame((seq, *event.row()) for seq, event in enumerate(events, 1))


def run(events: pl.DataFrame, policy: Policy, day: float, decisions: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """One run in memory, of every profile under one policy."""
    known = events.filter(pl.col("occurred_at") <= at(day))
    own = known["profile_id"].unique().sort().to_list()
    profiles = pipeline.participants(
        dict.fromkeys(own, policy), ledger_digest="drawn", as_of=at(day), seq=events.height, heads={}, since={}
    )
    given = {"profiles": profiles, "events": known, "decisions": decisions}
    empty = {name: TABLES[name].empty() for name in ("reverted", *pipeline.RECORDED)}
    return pipeline.run(given | empty, {policy.digest: policy})


def chain(events: pl.DataFrame, policy: Policy, nights: Sequence[float]) -> dict[str, pl.DataFrame]:
    """Runs on these days, each committed; the tables as they are after the last, and all `decisions`."""
    decisions = TABLES["decisions"].empty()
    for number, day in enumerate(nights, 1):
        made = run(events, policy, day, decisions)
        taken = made["consolidation_plan"].with_columns(
            status=pl.lit("committed"), seq=pl.lit(10_000 + number, pl.Int64)
        )
        decisions = TABLES["decisions"].conform(pl.concat([decisions, taken]))
    after = pipeline.settle(made | {"decisions": made["decisions"]}, {policy.digest: policy})
    return after | {"decisions": decisions, "consolidation_plan": made["consolidation_plan"]}


# --- cadence

LOOKING = {
    "methods": (),
    "forgetting": (),
    "associations": ("auto_link", "reinforcement", "co_recall", "coactivation", "shortcut", "cross_session"),
    "core_blocks": False,
}
"""What a run finds out without changing what it looks at: what merges or is drawn at one time is not at another."""
ENERGY = ("energy_base", "energy_at", "tier", "tier_since", "reinforcement_count", "last_reinforced_at")
USE = ("access_count", "last_accessed_at", "access_sessions", "stability_gain")
SCORES = ("retention", "stability", "floored_at", "recency", "energy", "age_tier", "idle_days")


@pytest.mark.drill
@examples(0, drill=30)
@example(life=FULL, looks=[20.0, 45.0], cognitive=True)
@given(lives, st.lists(days, max_size=3), st.booleans())
def test_runs_at_any_cadence_come_to_what_one_run_comes_to(life, looks, cognitive):
    """Energy, tiers, retention, recency and the weight of every edge; the last runs drain what rises one step a run."""
    links = {"link_lifetime_days": 90.0, "co_recall_gain": 0.1} if cognitive else {}
    policy = Policy(**(LOOKING | links))
    events = table(told(life))
    first = min(events["occurred_at"])
    drained = [END, END + 0.001, END + 0.002, END + 0.003]
    often = chain(events, policy, [*sorted(day for day in looks if at(day) >= first), *drained])
    once = chain(events, policy, drained)
    for name, columns in (("memories", (*KEY, *ENERGY, *USE)), ("scored_memories", (*KEY, *SCORES))):
        assert_frame_equal(once[name].select(columns), often[name].select(columns), check_exact=True)
    assert_frame_equal(once["tier_changes"].drop("plan_id"), often["tier_changes"].drop("plan_id"), check_exact=True)
    for name in ("decided_edges", "association_edges"):
        one, other = (made[name].filter(pl.col("edge_type") != "CONTRADICTS").drop("plan_id") for made in (once, often))
        assert_frame_equal(one, other, check_exact=True)


# --- isolation and order


@pytest.mark.drill
@examples(0, drill=60)
@example(FULL, (FULL[0][2:9], FULL[1][:2]), "superlocal")
@given(lives, lives, st.sampled_from(preset_names()))
def test_rows_of_a_profile_do_not_depend_on_another(life, other, name):
    policy = Policy(**preset(name))
    nights = [END / 2, END] if min(memory["day"] for memory in life[0]) < END / 2 else [END]
    alone = chain(table(told(life)), policy, nights)
    both = chain(table(told(life) + told(other, profile="q")), policy, nights)
    for table_name, frame in alone.items():
        _alike(frame, both[table_name].filter(pl.col("profile_id") == "p"), table_name)


def _alike(one: pl.DataFrame, other: pl.DataFrame, name: str) -> None:
    """Both say the same, but for the ids of plans and positions in the ledger, and the digests of such ids."""
    ids = {"plan_id", "decision_id", "event_id", "after", "seq"} | ({"read"} if name == "foldings" else set())
    made = ids & set(one.columns)
    order = ["as_of", "signature"] if "signature" in one.columns else TABLES[name].key
    left, right = (part.sort(order).drop(made) for part in (one, other))
    assert_frame_equal(left, right, check_exact=True, check_row_order=True)


@pytest.mark.drill
@examples(1)
@given(lives, st.sampled_from(preset_names()), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(life, name, random):
    policy = Policy(**preset(name))
    events, none = table(told(life)), TABLES["decisions"].empty()
    made = run(events, policy, END, none)
    rows = list(range(events.height))
    random.shuffle(rows)
    again = run(events[rows], policy, END, none)
    homes.same({**made, "events": events}, {**again, "events": events})


# --- the ledger


@pytest.mark.drill
@examples(1)
@given(lives, st.sampled_from(preset_names()), st.randoms(use_true_random=False), st.integers(0, 5))
def test_late_and_repeated_events_change_nothing(life, name, random, repeated):
    events = told(life)
    shuffled = [*events]
    random.shuffle(shuffled)
    ordered = sorted(events, key=lambda event: event.occurred_at)
    assume(len({event.occurred_at for event in events}) == len(events))
    made = []
    for arrival in (ordered, [*shuffled, *shuffled[:repeated]]):
        with TemporaryDirectory() as home, homes.filled(Path(home), arrival) as lake:
            policy = homes.settings(Path(home), preset=name)
            tables = homes.night(lake, as_of=at(END), policy=policy)
            made.append(homes.published(lake, but=("profiles",)) | {"consolidation_plan": tables["consolidation_plan"]})
    in_time, late = made
    for table_name, frame in in_time.items():
        _alike(frame, late[table_name], table_name)


# --- undo


@examples(0, drill=20)
@example(FULL, ["summarise", "close", "promote", "compile"])
@given(lives, st.permutations(["summarise", "close", "promote", "compile"]))
@pytest.mark.drill
def test_what_is_taken_back_is_as_if_it_had_never_been_decided(life, actions):
    """One merge, one closed fact, one promotion and one block after another, in any order."""
    with TemporaryDirectory() as home, homes.filled(Path(home), told(life)) as lake:
        made = homes.night(lake, as_of=at(END + 1))
        policy = Policy()
        left, missed = made["consolidation_plan"], []
        for action in actions:
            found = left.filter(pl.col("action") == action)["memory_id"].sort()
            if found.is_empty():
                missed.append(action)
                continue
            undone = undo.undo(lake, found[0], cascade=True, now=NOW)
            assert action in set(undone["action"])
            left = left.join(undone, on=["profile_id", "decision_id"], how="anti")
            without = pipeline.settle(made | {"consolidation_plan": left}, {policy.digest: policy})
            for name in ("memories", "decided_edges", "tier_changes", "core_memory_blocks", "scored_memories"):
                assert_frame_equal(lake.read(name), without[name], check_exact=True)
        assert life != FULL or not missed
