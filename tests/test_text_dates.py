"""Dates resolved to spans of time."""

from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text.parse.dates import resolve
from memory_pipeline.text.parse.facts import add_facts

WEDNESDAY = datetime(2024, 5, 15, 18, 30, tzinfo=UTC)


def spans(dates: list[str], at: datetime = WEDNESDAY) -> list[tuple[date, date]]:
    found = resolve(pl.Series([dates], dtype=pl.List(pl.String)), pl.Series([at], dtype=pl.Datetime("us", "UTC")))
    return [(one["start"].date(), one["end"].date()) for one in found[0].to_list()]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2023-07-04", "2023-07-04", "2023-07-05"),
        ("2023-12", "2023-12-01", "2024-01-01"),
        ("2023", "2023-01-01", "2024-01-01"),
        ("1990s", "1990-01-01", "2000-01-01"),
        ("--05-03", "2024-05-03", "2024-05-04"),
        ("--12-30", "2023-12-30", "2023-12-31"),
        ("--02-29", "2024-02-29", "2024-03-01"),
        ("--06", "2024-06-01", "2024-07-01"),
        ("--12", "2023-12-01", "2024-01-01"),
        ("today", "2024-05-15", "2024-05-16"),
        ("tonight", "2024-05-15", "2024-05-16"),
        ("yesterday", "2024-05-14", "2024-05-15"),
        ("day after tomorrow", "2024-05-17", "2024-05-18"),
        ("last night", "2024-05-14", "2024-05-15"),
        ("friday", "2024-05-17", "2024-05-18"),
        ("sunday", "2024-05-12", "2024-05-13"),
        ("last friday", "2024-05-10", "2024-05-11"),
        ("last wednesday", "2024-05-08", "2024-05-09"),
        ("next wednesday", "2024-05-22", "2024-05-23"),
        ("this monday", "2024-05-13", "2024-05-14"),
        ("last week", "2024-05-06", "2024-05-13"),
        ("this weekend", "2024-05-18", "2024-05-20"),
        ("next month", "2024-06-01", "2024-07-01"),
        ("last quarter", "2024-01-01", "2024-04-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("last march", "2024-03-01", "2024-04-01"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("next winter", "2024-12-01", "2025-03-01"),
        ("summer 2021", "2021-06-01", "2021-09-01"),
        ("3 days ago", "2024-05-12", "2024-05-13"),
        ("2 weeks ago", "2024-04-29", "2024-05-06"),
        ("1 year ago", "2023-01-01", "2024-01-01"),
        ("few days ago", "2024-05-10", "2024-05-14"),
        ("in 3 months", "2024-08-01", "2024-09-01"),
    ],
)
def test_span(text, start, end):
    assert spans([text]) == [(date.fromisoformat(start), date.fromisoformat(end))]


def test_relative_dates_resolve_against_their_own_day():
    assert spans(["yesterday"], datetime(2024, 1, 1, tzinfo=UTC)) == [(date(2023, 12, 31), date(2024, 1, 1))]


def test_dates_without_a_span_are_left_out_and_spans_are_sorted():
    assert spans(["every monday", "tomorrow", "soon", "yesterday", "in 900 decades"]) == [
        (date(2024, 5, 14), date(2024, 5, 15)),
        (date(2024, 5, 16), date(2024, 5, 17)),
    ]


def test_spans_are_in_the_order_of_the_memories():
    dates = pl.Series([["yesterday"], [], None, ["2024"]], dtype=pl.List(pl.String))
    instants = pl.Series([WEDNESDAY, WEDNESDAY, WEDNESDAY, None], dtype=pl.Datetime("us", "UTC"))
    found = resolve(dates, instants)
    assert found.list.len().to_list() == [1, 0, 0, 0]
    assert found.dtype == pl.List(pl.Struct({"start": pl.Datetime("us", "UTC"), "end": pl.Datetime("us", "UTC")}))


@pytest.mark.parametrize("year", [1, 2, 9998, 9999])
@pytest.mark.parametrize("text", ["--02-29", "last decade", "next summer", "friday", "90 years ago", "in 5 decades"])
def test_the_ends_of_the_calendar(year, text):
    for start, end in spans([text], datetime(year, 12 if year > 9000 else 1, 1, tzinfo=UTC)):
        assert start < end


SAID = (
    *("We met yesterday", "See you next Friday", "That was two weeks ago", "Back in March 2019", "It was on 3 May"),
    *("Last summer was hot", "in 4 days", "the 1980s", "on Tuesday", "this weekend", "in 2012", "a few months ago"),
)


@given(st.sampled_from(SAID), st.integers(0, 100_000))
def test_every_extracted_date_can_be_resolved(text, days):
    at = datetime(1900, 1, 1, tzinfo=UTC) + timedelta(days=days)
    read = add_facts(pl.DataFrame({"content": [text]}))["dates"][0].to_list()
    found = spans(read, at)
    assert len(found) == len(read) == 1
    assert timedelta(0) < found[0][1] - found[0][0] <= timedelta(3660)
