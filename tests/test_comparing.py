"""The comparison of policies, against small stores counted by hand and against real runs."""

from datetime import UTC, datetime, timedelta

import homes
import polars as pl
import pytest
import sampling

from memory_pipeline.evaluation.comparison import COLUMNS, compare, spread
from memory_pipeline.ledger import event as wording
from memory_pipeline.ledger.event import parse
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings import Policy, preset, preset_names

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNLIKE = (
    "Ada moved the launch to March.",
    "The garden needs water on Fridays.",
    "Ben works as a baker in Porto.",
    "Our billing service uses PostgreSQL.",
    "Green tea tastes best before noon.",
    "Nobody answered the phone at the clinic.",
)


def at(day):
    return START + timedelta(days=day)


def stored(name, day, text, **given):
    return ("memory.stored", day, {"memory_id": name, "payload": {"content": text} | given})


def used(day, *names):
    return ("memory.accessed", day, {"payload": {"memory_ids": list(names)}})


def told(*rows):
    """The events as they stand at any instant."""
    events = [
        parse(
            {
                "event_id": str(index),
                "profile_id": "p",
                "event_type": kind,
                "occurred_at": at(day),
                "session_id": "s",
                **more,
            },
            recorded_at=at(1000),
            origin="test",
            future=None,
        )
        for index, (kind, day, more) in enumerate(rows)
    ]
    table = wording.frame((seq, *event.row()) for seq, event in enumerate(events, 1))
    return lambda instant: table.filter(pl.col("occurred_at") <= instant)


def figures(events, *days, **policy):
    """What became of the memories, without the counts that are nought."""
    (row,) = compare(events, {"own": Policy(**policy)}, nights=[at(day) for day in days]).rows(named=True)
    assert list(row) == list(COLUMNS)
    return {name: value for name, value in row.items() if value and name not in {"preset", "seconds", "edges"}}


@pytest.mark.drill
def test_memories_without_energy_expire_and_a_recall_brings_them_back():
    events = told(
        *(stored(f"m{index}", 0, text) for index, text in enumerate(UNLIKE[:4])),
        used(5, "m0"),
    )
    three_tier = preset("three_tier")
    assert figures(events, 1, **three_tier) == {"originals": 4, "expired": 4}
    again = figures(events, 1, 5.01, **three_tier)
    assert (again["live"], again["expired"]) == (1, 3)
    assert figures(events, 1, 5.01, 6, **three_tier) == {"originals": 4, "expired": 4}


def test_use_lifts_memories():
    events = told(
        *(stored(f"m{index}", 0, text) for index, text in enumerate(UNLIKE[:3])), used(0, "m0"), used(0, "m0")
    )
    assert figures(events, 0.01, **preset("three_tier"))["promoted"] == 1
    superlocal = figures(told(stored("m", 0, UNLIKE[0]), *[used(1, "m")] * 3), 2, **preset("superlocal"))
    assert superlocal["warm"] == superlocal["live"] == 1


def test_three_near_duplicates_become_one():
    text = "The garden needs water every Friday evening after seven"
    rows = (stored(f"m{index}", index, f"{text}{end}") for index, end in enumerate((".", "!", ";")))
    found = figures(told(*rows, stored("other", 3, UNLIKE[2])), 4, **(preset("superlocal") | {"core_blocks": False}))
    assert (found["originals"], found["live"], found["summaries"], found["merged"]) == (4, 1, 1, 3)
    assert found["tokens_share"] < 1


def test_what_agents_stored_is_measured_in_full_though_stubs_are_short():
    """Of two texts of the same length one becomes a stub; half of the tokens are left, whatever the stub shows."""
    words = " ".join(f"word{index}" for index in range(120))
    events = told(stored("kept", 0, f"{words}.", category="core"), stored("faded", 0, f"{words}."))
    found = figures(events, 170, 180, 361, **(preset("cognitive") | {"methods": ()}))
    assert found == {"originals": 2, "live": 1, "cold": 1, "core": 1, "tokens_share": 0.5}


def test_the_quota_holds_the_last_plan_back():
    events = told(*(stored(f"m{index}", 0, f"{text} {index}") for index, text in enumerate(UNLIKE * 5)))
    policy = {
        "methods": (),
        "associations": (),
        "core_blocks": False,
        "fact_changes": False,
        "archive_threshold": 0.9,
        "protected_importance": None,
        "grace_period_days": 0,
        "protected_types": (),
    }
    assert figures(events, 200, **policy) == {"originals": 30, "live": 30, "held": 30, "tokens_share": 1.0}
    released = figures(events, 200, **policy, max_archived_share=1.0)
    assert released == {"originals": 30, "archived": 30}


def test_links_and_what_became_of_them():
    """Two memories that are alike are linked; idle for 300 days, the link weighs less than .05 and goes."""
    text = "The garden needs water every Friday evening after seven"
    events = told(stored("a", 0, f"{text}."), stored("b", 0, f"{text} o'clock."))
    policy = preset("superlocal") | {"core_blocks": False, "similar_edges": False}
    one = compare(events, {"own": Policy(**policy)}, nights=[at(1)]).row(0, named=True)
    assert (one["links"], one["pruned"], one["edges"]) == (1, 0, 2), "the link, and that one follows the other"
    last = compare(events, {"own": Policy(**policy)}, nights=[at(1), at(400)]).row(0, named=True)
    assert (last["links"], last["pruned"], last["edges"]) == (1, 1, 1)


def test_a_changed_fact_is_closed_and_stays():
    events = told(
        stored("old", 0, "The library closes at 17:00."), stored("new", 5, "The library now closes at 18:30.")
    )
    found = figures(events, 6, core_blocks=False)
    assert (found["live"], found["closed"]) == (2, 1)


@pytest.mark.drill
@pytest.mark.parametrize("name", sampling.first("cognitive", "default"))
def test_the_figures_are_those_of_real_runs(tmp_path, name):
    events = homes.events(profiles=1, memories=40, days=80)
    nights = [homes.START + homes.days(40), homes.START + homes.days(81)]
    with homes.filled(tmp_path, events) as lake:
        (row,) = compare(lambda night: lake.events(as_of=night), {name: Policy(**preset(name))}, nights=nights).rows(
            named=True
        )
        chosen = homes.settings(lake.home, preset=name)
        for index, night in enumerate(nights):
            homes.night(lake, as_of=night, policy=chosen, run_id=str(index))
        tables = homes.published(lake)
        decided = lake.ledger.decisions()
    memories = tables["memories"]
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    assert row["live"] == live.filter(pl.col("kind") == "original").height
    assert row["summaries"] == live.filter(pl.col("kind") != "original").height
    assert row["edges"] == tables["association_edges"].height
    assert row["links"] == decided.filter(pl.col("action") == "link").height
    assert row["promoted"] == tables["tier_changes"].height
    assert row["blocks"] == tables["core_memory_blocks"]["content"].str.len_chars().sum()
    gone = ("live", "merged", "archived", "cold", "expired", "deleted")
    assert sum(row[name] for name in gone) == row["originals"] == 40


def test_every_policy_has_its_row_and_says_when_it_begins():
    begun = []
    events = told(stored("a", 0, UNLIKE[0]), stored("b", 1, UNLIKE[1]))
    policies = {name: Policy(**preset(name)) for name in preset_names()[:2]}
    rows = compare(events, policies, nights=[at(2)], progress=begun.append)
    assert rows["preset"].to_list() == begun == list(policies)


@pytest.mark.parametrize(
    ("nights", "said"),
    [([], "one instant or more"), ([at(2), at(1)], "ascending"), ([at(-1)], "nothing had been stored by 2025-12-31")],
)
def test_nights_that_make_no_sense_are_refused(nights, said):
    with pytest.raises(ValueError, match=said):
        compare(told(stored("a", 0, UNLIKE[0])), {"own": Policy()}, nights=nights)


def test_a_night_before_anything_was_stored_changes_nothing():
    events = told(stored("a", 0, UNLIKE[0]))
    assert figures(events, -1, 1, core_blocks=False) == figures(events, 1, core_blocks=False)


def test_nights_are_spread_over_the_life_of_a_store():
    def of(*days):
        return spread(told(*(stored(f"m{index}", day, UNLIKE[0]) for index, day in enumerate(days)))(at(1000)))

    midnight = datetime(2026, 1, 1, tzinfo=UTC)
    assert of(0) == [midnight + timedelta(days=1)]
    assert of(0, 2) == [midnight + timedelta(days=day) for day in (1, 2, 3)]
    assert of(0, 59) == [midnight + timedelta(days=day) for day in (10, 20, 30, 40, 50, 60)]
    with pytest.raises(ValueError, match="nothing has been stored"):
        spread(told(("session.ended", 1, {}))(at(1000)))
    with pytest.raises(ValueError, match="count = 0"):
        spread(told(stored("a", 0, UNLIKE[0]))(at(1000)), count=0)


def test_a_use_after_the_last_memory_belongs_to_the_life():
    table = told(stored("a", 0, UNLIKE[0]), used(59, "a"))(at(1000))
    assert spread(table)[-1] == datetime(2026, 3, 2, tzinfo=UTC)
