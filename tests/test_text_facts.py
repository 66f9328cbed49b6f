"""Facts of texts: numbers, dates, names, negation and questions."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.text.parse.facts import add_facts


def read(text: str | None) -> dict:
    return add_facts(pl.DataFrame({"content": [text]}, schema={"content": pl.String})).row(0, named=True)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,200 and 1200 are one number", ["1200"]),
        ("The repair cost $40, then forty dollars, then 40 bucks.", ["$40"]),
        ("They raised $1.5k and €2m.", ["$1500", "€2000000"]),
        ("A race of 5k with 2.5 million viewers", ["2500000", "5000"]),
        ("half the room, 50%, or fifty percent", ["50%"]),
        ("Dinner at 7 pm, that is 7:00pm or 19:00", ["19:00"]),
        ("The bus leaves at 7:30 a.m. sharp, not at noon", ["07:30", "12:00"]),
        ("Seven o'clock and midnight", ["00:00", "07:00"]),
        ("twelve eggs, twenty-five hens and ninety nine geese", ["12", "25", "99"]),
        ("a dozen eggs for a hundred people", ["100", "12"]),
        ("No one came and one of us left", []),
        ("It was -5 degrees, the shares moved -7%", ["-5", "-7%"]),
        ("Between 5-10% of 3-4 people", ["10%", "3", "4", "5%"]),
        ("release 2.3.1, open 24/7, screen 1920x1080", ["1920x1080", "2.3.1", "24/7"]),
        ("a 12km walk with 3.50 euros", ["12", "€3.5"]),
        ("track B12 of song3 by u2, hash 3f9a8c", []),
        ("https://example.org/2024/05/06?x=7 and anna7@example.org", []),
        ("agent 007 weighs 0.50", ["0.5", "7"]),
        ("serial 123456789012345678901234567890", ["123456789012345678901234567890"]),
        ("full width ３４", ["34"]),
    ],
)
def test_numbers_are_normalised(text, numbers):
    assert read(text)["numbers"] == sorted(numbers)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("signed 2024-03-12 at the office", ["2024-03-12"]),
        ("logged 2024-03-12T10:15:00Z", ["2024-03-12"]),
        ("March 12, 2024 or 12 March 2024 or the 12th of March 2024", ["2024-03-12"]),
        ("3/12/2024 in one country and 12.3.2024 in another", ["2024-03-12"]),
        ("13/12/24 can only be read one way", ["2024-12-13"]),
        ("we meet on march 12 and again Jan. 5th", ["--01-05", "--03-12"]),
        ("away from May 3 to 9", ["--05-03", "--05-09"]),
        ("since March 2020, in September, and in 2019", ["--09", "2019", "2020-03"]),
        ("I may march on", []),
        ("2019 cows in 1999", ["1999"]),
        ("from 2019-2021, music of the 1990s", ["1990s", "2019", "2021"]),
        ("Yesterday, the day before yesterday and last Friday", ["day before yesterday", "last friday", "yesterday"]),
        ("two weeks ago, 2 weeks ago, a couple of weeks ago", ["2 weeks ago"]),
        ("a year ago and several days ago", ["1 year ago", "few days ago"]),
        ("in three days, next month, every Monday", ["every monday", "in 3 days", "next month"]),
        ("the summer of 2023 and last summer", ["last summer", "summer 2023"]),
        ("the past week is the previous week", ["last week"]),
        ("February 31 does not exist", []),
    ],
)
def test_dates_are_normalised(text, dates):
    assert read(text)["dates"] == sorted(dates)


def test_the_day_of_a_date_is_not_a_number():
    assert read("On March 12, 2024 we paid 30 dollars for 2 kayaks at 8pm.")["numbers"] == ["$30", "2", "20:00"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("My sister Greta moved from Oslo to New York", ["Greta", "New York", "Oslo"]),
        ("Painting helps. Wonderful! Yesterday we left.", []),
        ("Lisbon is warm. The Louvre is large.", ["Lisbon", "Louvre"]),
        ("University of Oslo and Bank of England", ["Bank of England", "University of Oslo"]),
        ("Hey Boris! Thanks, Boris. Well done, Boris!", []),
        ("Hey Boris, have you met Carla?", ["Carla"]),
        ("I met Mark on Monday in March", ["Mark"]),
        ("Greta's cat and Farid’s dog", ["Farid", "Greta"]),
        ("We host it on GitHub with PostgreSQL and an iPhone", ["GitHub", "PostgreSQL", "iPhone"]),
        ("The NASA probe and the EU", ["EU", "NASA"]),
        ("EVERYBODY SHOUTS HERE", []),
        ("So GOOD to see you", []),
        ("# Define Your Project Scope", []),
        ("Dr. Okafor met Mary-Ann O'Neill", ["Dr Okafor", "Mary-Ann O'Neill"]),
        ("She lives in Århus with Émile", ["Émile", "Århus"]),
        ("I think I'm late, and I'd rather wait", []),
    ],
)
def test_names_are_found_by_capitalisation(text, names):
    assert sorted(read(text)["entities"]) == sorted(names)


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("I did not buy the kayak", True),
        ("I didn’t buy the kayak", True),
        ("She no longer eats meat", True),
        ("We left without a map", True),
        ("Nobody came", True),
        ("they cant come", True),
        ("No problem, I can't wait!", False),
        ("Not only was it cheap, it was good", False),
        ("Isn't it lovely?", False),
        ("I've never rowed, so can you show me how?", True),
        ("We bought the kayak, but why don't you like it?", False),
        ("When is the race, or didn't they say?", False),
        ("I knotted the nothingness", False),
        ("We bought the kayak", False),
    ],
)
def test_negation(text, negated):
    assert read(text)["negated"] is negated


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Where did you put the tent?", True),
        ("I put it away. Did you see it? 😀", True),
        ("have you ever been to Quito", True),
        ("what is the plan", True),
        ("How many oars do we need", True),
        ("What a day! I slept well.", False),
        ("When I was young we had a boat", False),
        ("Do you row? I do.", False),
        ("お元気ですか？", True),
        ("", False),
    ],
)
def test_question(text, question):
    assert read(text)["question"] is question


def test_empty_texts_have_no_facts():
    for text in (None, "", "   \n", "😀😀", "…"):
        found = read(text)
        assert (found["numbers"], found["dates"], found["entities"]) == ([], [], [])
        assert not found["negated"]
        assert not found["question"]


def test_other_columns_and_their_order_are_kept():
    frame = pl.DataFrame({"id": [3, 1], "content": ["Meet at 9 am", None]})
    assert add_facts(frame).columns == ["id", "content", "numbers", "dates", "entities", "negated", "question"]
    assert add_facts(frame)["id"].to_list() == [3, 1]


def test_a_long_row_of_numbers_takes_linear_time():
    found = read("5km.7km-" * 20_000)
    assert found["numbers"] == ["5", "7"]


WRITTEN = "March|12|2024|/|-|:|,|.|'|$|€|%|pm|am|7|7:30|in|last|next|two|hundred|ago|weeks|Anna's|I|May|?|!|@|_|–"
PIECES = st.one_of(st.text(max_size=12), st.sampled_from(WRITTEN.split("|")))


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_any_text_can_be_parsed(text):
    found = read(text)
    for column in ("numbers", "dates", "entities"):
        assert found[column] == sorted(set(found[column]))


@given(st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=6), st.randoms(use_true_random=False))
def test_facts_depend_on_their_text_alone(texts, random):
    frame = pl.DataFrame({"content": texts}, schema={"content": pl.String}).with_row_index("id")
    mixed = list(range(len(texts)))
    random.shuffle(mixed)
    assert add_facts(frame[mixed]).sort("id").equals(add_facts(frame))
    assert pl.concat([add_facts(frame), *(add_facts(frame[at : at + 1]) for at in mixed)]).unique().height == len(texts)
