"""Days are shown, and asked for, in the time zone of the reader (setting `timezone`); instants in JSON stay in UTC."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import sampling
from commands import text

from memory_pipeline import MemoryClient
from memory_pipeline.recall.index import queries
from memory_pipeline.settings import Settings

pytestmark = pytest.mark.usefixtures("unpublished")

EVENING = datetime(2026, 3, 1, 23, 30, tzinfo=ZoneInfo("America/New_York"))
"""2 March in UTC."""


@pytest.fixture
def opened(tmp_path):
    def client(zone, now=EVENING):
        return MemoryClient(tmp_path, settings=Settings(timezone=zone), clock=lambda: now)

    with client("UTC") as memory:
        memory.remember("We repainted the boat shed.")
        memory.remember("Rent is due.", valid_until=datetime(2026, 6, 1, 2, tzinfo=UTC))
    return client


@pytest.mark.parametrize(("zone", "day"), [("UTC", "2026-03-02"), ("America/New_York", "2026-03-01")])
def test_days_are_shown_in_the_zone_that_is_set(opened, zone, day):
    with opened(zone) as memory:
        answer = memory.recall("boat shed")
        assert f"[{day}] We repainted" in answer.text()
        assert answer.to_dict()["recalled"][0]["created_at"] == "2026-03-02T04:30:00+00:00"
        stored = memory.get(answer[0].memory_id)
    assert f"{stored.created_at:%Y-%m-%d}" == day
    assert stored.to_dict()["created_at"] == "2026-03-02T04:30:00+00:00"


@pytest.mark.parametrize(("zone", "day"), sampling.first_row(("America/New_York", "2026-03-01"), ("UTC", "2026-03-02")))
def test_a_plan_tells_days_in_the_zone_too(opened, zone, day):
    with opened(zone) as memory:
        memory.remember("We repainted the boat shed.")
        plan = memory.consolidate(dry_run=True)
        told = [side["day"] for row in plan.changes.iter_rows(named=True) for side in row["older"] + row["newer"]]
        assert set(filter(None, told)) == {day}
        assert f"as of {day} " in str(plan)


def test_times_are_shown_in_the_zone_that_the_days_are_in(opened):
    with opened("America/New_York") as memory:
        answer = memory.recall("boat shed")
        assert "as of 2026-03-01 23:30 EST" in str(answer)
        assert answer.to_dict()["as_of"] == "2026-03-02T04:30:00+00:00"


@pytest.mark.parametrize(("asked", "found"), [("2026-03-02", 0), ("2026-03-02T05:00:00Z", 0), ("2026-03-01T23:00", 1)])
def test_a_day_that_is_asked_for_is_one_of_the_zone(opened, asked, found):
    """Stored 1 March, 23:30 in New York, which is 2 March, 04:30 in UTC."""
    later = datetime(2026, 3, 5, tzinfo=UTC)
    with opened("America/New_York", later) as memory:
        assert len(memory.list({"since": asked, "until": "2026-03-04"})) == 2 * found
        assert bool(memory.recall("boat shed", as_of=asked)) is not bool(found)


def test_a_day_that_is_stated_is_one_of_the_zone(opened):
    with opened("America/New_York") as memory:
        stored = memory.remember("The lease began.", occurred_at="2026-02-01", valid_until="2026-09-01")
        found = memory.get(stored)
        assert memory.update(stored, valid_until="2026-10-01").to_dict()["valid_until"] == "2026-10-01T04:00:00+00:00"
    assert found.to_dict()["created_at"] == "2026-02-01T05:00:00+00:00"
    assert found.to_dict()["valid_until"] == "2026-09-01T04:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-02-10: The lease began.", "2026-02-10T05:00:00+00:00"),
        ("[10 Feb 2026] The lease began.", "2026-02-10T05:00:00+00:00"),
        ("2026-03-01: The lease began.", "2026-03-02T04:30:00+00:00"),
        ("2026-05-01: The lease ends.", "2026-03-02T04:30:00+00:00"),
        ("2026-02-10 is when the lease began.", "2026-03-02T04:30:00+00:00"),
    ],
)
def test_a_past_day_at_the_head_of_a_text_dates_it(opened, text, day):
    with opened("America/New_York") as memory:
        stored = memory.get(memory.remember(text))
        assert (stored.content, stored.to_dict()["created_at"]) == (text, day)
        given = memory.remember("2026-02-10: The rent fell.", occurred_at="2026-01-01")
        assert memory.get(given).to_dict()["created_at"] == "2026-01-01T05:00:00+00:00"


def test_the_command_line_reads_and_shows_the_zone(opened, tmp_path):
    with opened("UTC"):
        pass
    said = {
        zone: text("recall", "boat shed", "--as-of", "2026-03-02", home=tmp_path, MEMORY_PIPELINE_TIMEZONE=zone)
        for zone in ("Asia/Tokyo", "America/New_York")
    }
    assert said["Asia/Tokyo"].startswith("No memory answers this."), "the day began in Tokyo before it was said"
    assert "as of 2026-03-02 00:00 EST" in said["America/New_York"]
    assert "times are Asia/Tokyo" in text("status", home=tmp_path, MEMORY_PIPELINE_TIMEZONE="Asia/Tokyo")


@pytest.mark.drill
@pytest.mark.parametrize(("zone", "day"), sampling.first_row(("America/New_York", "2026-03-01"), ("UTC", "2026-03-02")))
def test_core_memory_shows_days_in_the_zone_too(opened, zone, day):
    with opened("UTC") as memory:
        memory.remember("I'm allergic to walnuts.")
        memory.consolidate()
    with opened(zone) as memory:
        assert f"I'm allergic to walnuts. ({day})" in memory.session_start().text()


def test_when_it_ended_is_shown_in_the_zone_too(opened):
    later = datetime(2026, 7, 1, tzinfo=UTC)
    with opened("America/New_York", later) as memory:
        assert "no longer current since 2026-05-31" in memory.recall("rent").text()


@pytest.mark.parametrize(("zone", "day"), [("UTC", 2), ("America/New_York", 1), ("Asia/Tokyo", 2)])
def test_today_is_the_day_of_who_asks(zone, day):
    asked = queries.parse("What happened today?", now=EVENING.astimezone(ZoneInfo(zone)), speakers=())
    midnight = datetime(2026, 3, day, tzinfo=ZoneInfo(zone)).timestamp() * 1e6
    assert asked.bounds.tolist() == [[midnight, midnight + 86_400e6]]


def test_a_day_of_a_change_of_clocks_has_its_own_length():
    berlin = datetime(2026, 3, 29, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    asked = queries.parse("What happened today?", now=berlin, speakers=())
    assert np.diff(asked.bounds).item() == 23 * 3600 * 1_000_000
