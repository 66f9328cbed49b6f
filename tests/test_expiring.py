"""Memories that are stored for a time: hidden once it is over, everywhere and before the next run."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from memory_pipeline.consolidation import core_memory, core_views, expiry
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.schemas import CoreMemoryBlocks

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LASTING = "The spare key hangs behind the blue door."
PASSING = "The spare key is with the neighbour, Ida, at the blue door."


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self):
        self.at = NOON

    def __call__(self):
        return self.at


@pytest.mark.parametrize(
    ("expires_in", "length"),
    [
        ("36 hours", timedelta(hours=36)),
        ("30 days", timedelta(days=30)),
        ("1 Week", timedelta(weeks=1)),
        ("90minutes", timedelta(minutes=90)),
        (timedelta(seconds=5), timedelta(seconds=5)),
    ],
)
def test_a_time_is_read_in_plain_words_or_as_a_timedelta(expires_in, length):
    assert expiry.end(expires_in, NOON) == NOON + length


@pytest.mark.parametrize(
    "expires_in", ["soon", "0 days", "-3 days", "3", 3, "3 months", "999999999 weeks", timedelta(), "\u0663 days"]
)
def test_any_other_time_is_refused_with_the_remedy(expires_in):
    with pytest.raises(ValueError, match=r"expires_in is .*; give a duration such as"):
        expiry.end(expires_in, NOON)


def test_a_memory_is_shown_until_its_time_is_over(tmp_path):
    clock = Clock()
    with MemoryClient(tmp_path, clock=clock) as client:
        lasting, passing = client.remember_many(
            [LASTING, {"text": PASSING, "expires_in": "36 hours", "metadata": {"room": "hall"}}]
        )
        ended = client.remember("The spare key was in the shed.", valid_until=NOON + timedelta(hours=1))
        assert client.get(passing).valid_until == NOON + timedelta(hours=36)
        assert client.get(passing).metadata == {"room": "hall", "expires": True}

        clock.at = NOON + timedelta(hours=35)
        assert passing in {hit.memory_id for hit in client.recall("Where is the spare key?")}
        assert passing in {row.memory_id for row in client.list()}

        clock.at = NOON + timedelta(hours=36)
        found = [hit.memory_id for hit in client.recall("Where is the spare key?")]
        assert set(found) == {lasting, ended}  # what was true once is still told, behind what holds
        assert {row.memory_id for row in client.list()} == {lasting, ended}
        assert PASSING not in client.session_start("spare key").text()
        (deep,) = [hit for hit in client.recall("spare key", deep=True) if hit.memory_id == passing]
        assert deep.current is False
        assert passing in {row.memory_id for row in client.list(deep=True)}
        assert passing in {hit.memory_id for hit in client.recall("spare key", as_of=NOON + timedelta(hours=2))}

        client.update(passing, valid_until=NOON + timedelta(days=9))
        assert passing in {hit.memory_id for hit in client.recall("Where is the spare key?")}


def test_the_time_counts_from_when_it_was_said(tmp_path):
    with MemoryClient(tmp_path, clock=Clock()) as client:
        row = {"text": PASSING, "occurred_at": "2026-02-01T00:00:00Z", "expires_in": timedelta(days=1)}
        (memory_id,) = client.remember_many([row])
        assert client.get(memory_id).valid_until == datetime(2026, 2, 2, tzinfo=UTC)
        assert not client.recall("spare key")
        dated = client.remember("2026-02-27: The bicycle is with Ben.", expires_in="3 days")
        assert client.get(dated).valid_until == datetime(2026, 3, 2, tzinfo=UTC)


def test_an_end_of_two_kinds_is_refused(tmp_path):
    with (
        MemoryClient(tmp_path, clock=Clock()) as client,
        pytest.raises(ValueError, match="expires_in and valid_until cannot be combined; give one of them"),
    ):
        client.remember(PASSING, expires_in="1 day", valid_until=NOON)


def test_a_summary_of_an_expiring_memory_expires_too():
    memories = pl.DataFrame(
        {
            "profile_id": ["p"] * 4,
            "memory_id": ["a", "b", "ab", "abc"],
            "metadata": ['{"expires":true}', '{"note":"expires"}', None, None],
            "members": [[], [], ["a", "b"], ["ab"]],
        },
        schema_overrides={"members": pl.List(pl.String)},
    )
    assert expiry.expiring(memories).to_list() == [True, False, True, True]


def test_core_memory_leaves_out_what_has_ended_since_the_run():
    blocks = pl.DataFrame(
        {
            "profile_id": ["p"],
            "block": ["user_profile"],
            "content": [core_memory.SEPARATOR.join(["Ana lives in Lisbon.", "Ana is in Rome this week."])],
            "members": [["a", "b"]],
            "marks": [None],
        },
        schema_overrides={"marks": CoreMemoryBlocks.create_empty().schema["marks"]},
    )
    ends = [None, NOON]
    memories = pl.DataFrame(
        {"profile_id": ["p", "p"], "memory_id": ["a", "b"], "valid_from": [None, None], "valid_until": ends},
        schema_overrides={name: pl.Datetime("us", "UTC") for name in ("valid_from", "valid_until")},
    )
    assert core_views.holding(blocks, memories, NOON - timedelta(1))["content"].to_list() == blocks["content"].to_list()
    assert core_views.holding(blocks, memories, NOON)["content"].to_list() == ["Ana lives in Lisbon."]
