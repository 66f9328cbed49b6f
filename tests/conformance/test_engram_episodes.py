"""Episodes as ADR-0008 and Engram summarise them.

Two differences are deliberate: a summary holds what was said, where Engram's code names only the types of its events;
and it keeps its id when parts of the episode have been pruned, because an episode is history.
"""

from datetime import UTC, datetime, timedelta

import frames
import polars as pl
from grouping import grouped

from memory_pipeline.settings import Policy, preset

ENGRAM = Policy(**preset("engram"))
NOON = datetime(2025, 12, 1, 12, tzinfo=UTC)


def said(*instants, **columns):
    return frames.memories(
        {
            "memory_id": f"e{index}",
            "content": f"Anna ran {index + 5} km",
            "session_id": "S1",
            "agent_id": "A",
            "created_at": instant,
            **columns,
        }
        for index, instant in enumerate(instants)
    )


# Our own inputs and numbers


def test_a_pause_of_more_than_half_an_hour_begins_a_new_episode():
    memories = said(*(NOON + timedelta(minutes=minute) for minute in (0, 20, 50, 81, 90)))
    _, clusters, made = grouped(memories, ENGRAM)
    assert sorted(clusters.select("level", "cluster_size").rows()) == [("episode", 2), ("episode", 3), ("session", 5)]
    by_kind = {(row["kind"], len(row["members"])): row for row in made.rows(named=True)}
    assert set(by_kind) == {("episode", 2), ("episode", 3), ("session", 5)}
    assert by_kind["episode", 2]["content"] == "2025-12-01: Anna ran 8 km. Anna ran 9 km."
    assert not any(row["supersedes"] for row in by_kind.values())


def test_a_pruned_episode_keeps_its_summary():
    instants = [NOON + timedelta(minutes=minute) for minute in (0, 10, 20)]
    whole = grouped(said(*instants), ENGRAM).summaries
    pruned = said(*instants).with_columns(lifecycle=pl.Series(["active", "archived", "archived"]))
    assert grouped(pruned, ENGRAM).summaries["summary_id"].equals(whole["summary_id"])


# Engram's case


def test_episodes_of_engram(real_system):
    case = real_system("engram")["adr-sum-1"]
    events = case["input"]["events"]
    memories = said(*(datetime.fromisoformat(event["occurred_at"]) - timedelta(days=60) for event in events))
    _, clusters, made = grouped(memories, ENGRAM)
    assert clusters.select("level", "cluster_size").rows() == [("episode", case["expected"]["event_count"])]
    again = grouped(memories[::-1], ENGRAM).summaries
    assert again["summary_id"].equals(made["summary_id"])
    assert made["members"].to_list() == [[event["event_id"] for event in events]]
    assert made["content"].to_list() == ["2025-12-14: Anna ran 5 km. Anna ran 6 km. Anna ran 7 km."]
