"""Ranking: what comes first, what is left out, and what is said of each."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import frames
import numpy as np
import polars as pl
import pytest

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import parse
from memory_pipeline.recall.rank.changes import CHANGES
from memory_pipeline.recall.rank.confidence import CONFIDENT
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.recall.rank.features import FEATURES
from memory_pipeline.recall.rank.ranking import OTHERS, RANKINGS, SCHEMA, Context, rank, weights
from memory_pipeline.recall.rank.reasons import REASONS
from memory_pipeline.text.embed.embedding import embed_texts

ROWS = [
    ("user", "My API key allows 1,000 calls per day.", 60),
    ("assistant", "With 1,000 calls per day you should cache the answers.", 60),
    ("user", "I have never written a Flask route in this project.", 50),
    ("user", "The team meets on Mondays.", 45),
    ("user", "Today I wrote a Flask route for the login page of the project.", 40),
    ("user", "The API key now allows 1,500 calls per day.", 10),
    ("assistant", "Good, then the cache can be smaller.", 10),
]


def memories(rows=ROWS):
    return frames.memories(
        {
            "memory_id": f"m{place}",
            "content": content,
            "speaker": speaker,
            "session_id": f"s{days}",
            "created_at": frames.ago(days) + timedelta(minutes=place),
            "seq": place + 1,
        }
        for place, (speaker, content, days) in enumerate(rows)
    )


def build(rows):
    return Index.build(rows, embed_texts(rows.unique("content_hash"), "hashing"), model="hashing")


def ids(found):
    return found["memory_id"].to_list()


def ask(question, rows=None, **given):
    return rank(build(memories() if rows is None else rows), question, now=frames.AS_OF, **given)


def change(rows, memory_id, **columns):
    return rows.with_columns(
        pl.when(pl.col("memory_id") == memory_id).then(pl.lit(value, rows.schema[name])).otherwise(name).alias(name)
        for name, value in columns.items()
    )


def test_answers_have_scores_parts_and_ranks():
    found = ask("How many calls does my API key allow?", k=4)
    assert dict(found.schema) == SCHEMA
    assert found["rank"].to_list() == [1, 2, 3, 4]
    assert found["score"].is_between(0, 1).all()
    parts = found["parts"][0].to_list()
    assert [part["name"] for part in parts] == [*FEATURES, *CHANGES, *OTHERS]
    assert set(FEATURES) | set(CHANGES) | set(OTHERS) <= {name for own in REASONS.values() for name in own}
    total = sum(part["value"] * part["weight"] for part in parts)
    assert found["score"][0] == pytest.approx(total / np.maximum(weights(build(memories())), 0).sum())


@pytest.mark.parametrize(
    "question", ["How many calls per day does my API key allow?", "How many calls does my API key currently allow?"]
)
def test_a_question_for_now_puts_the_newest_value_first_and_gives_the_old_one_below(question):
    found = ids(ask(question, k=5))
    assert found[0] == "m5"
    assert "m0" in found


RENAMED = [
    ("user", "The newsletter goes out on Tuesdays.", 60),
    *(("user", f"Number {place} of the newsletter was about bees.", 58 - place) for place in range(20)),
    ("user", "The newsletter now goes out on Fridays.", 10),
    ("user", "The newsletter got a new logo.", 5),
]


@pytest.mark.parametrize(
    "question", ["On which day does the newsletter go out?", "When does the newsletter go out these days?"]
)
def test_what_changed_a_value_comes_before_it_though_no_run_has_closed_it(question):
    found = ids(ask(question, memories(RENAMED), k=10))
    assert found[0] == "m21"
    assert "m0" in found


def test_an_answer_with_the_words_of_the_question_is_surer_than_one_about_something_else():
    right = ask("How many calls per day does the API key allow?")
    wrong = ask("Which dentist pulled the wisdom tooth of my cousin?")
    assert right["confidence"].n_unique() == 1
    assert right["confidence"][0] >= CONFIDENT > wrong["confidence"][0]
    assert ask("calls per day", ranking="lexical")["confidence"].null_count() == len(ROWS)


def test_a_question_about_the_past_is_left_as_it_is():
    found = ids(ask("How many calls per day did my API key allow at first, before the change?", k=5))
    assert found.index("m0") < found.index("m5")


def test_what_a_newer_memory_closed_comes_behind_it_and_is_marked():
    rows = change(memories(), "m0", closed_by="m5", closed_until=frames.ago(10), valid_until=frames.ago(10))
    found = ask("How many calls per day does my API key allow?", rows, k=5)
    assert found["memory_id"][0] == "m5"
    current = dict(found.select("memory_id", "current").iter_rows())
    assert current["m5"] is True
    assert current["m0"] is False
    assert all(value is None for name, value in current.items() if name not in {"m0", "m5"})
    assert dict(found.select("memory_id", "closed_by").iter_rows())["m0"] == "m5"


ENDED = [
    ("user", "The server runs Ubuntu.", 60),
    *(("user", f"The server of customer {place} runs a backup on Sundays.", 50 - place) for place in range(20)),
    ("user", "The server now runs Debian.", 10),
]


@pytest.mark.parametrize(
    "question",
    ["Is the server running Ubuntu?", "Does the server run Ubuntu?", "Tell me about it: is the server running Ubuntu?"],
)
def test_a_question_of_yes_or_no_in_the_present_tense_asks_for_now(question):
    rows = change(memories(ENDED), "m0", closed_by="m21", closed_until=frames.ago(10), valid_until=frames.ago(10))
    assert ids(ask(question, rows, k=2)) == ["m21", "m0"]


@pytest.mark.parametrize(
    ("question", "present"),
    [
        ("Am I vegetarian?", True),
        ("Do I like sushi?", True),
        ("Isn't Anna allergic to cats?", True),
        ("Has Tom got a dog?", True),
        ("What is the deadline for the first sprint?", True),
        ("What is the price of completing my first course?", True),
        ("When do I first see the sea?", False),
        ("What is the first thing that I told you?", False),
        ("Will the launch be on 12 June?", True),
        ("Have I ever written a Flask route?", False),
        ("Has she worked with Tom?", False),
        ("Did I like sushi?", False),
        ("Is it true that I used to smoke?", False),
        ("Is Anna the one who was in Rome?", False),
        ("Do you remember my trip to Rome?", False),
        ("Can you help me with a recipe?", False),
    ],
)
def test_what_asks_in_the_present_tense(question, present):
    assert parse(question, now=frames.AS_OF, speakers=("user",)).present is present


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Have I ever written a Flask route?", False),
        ("Has she not once ever been to Porto?", False),
        ("Which books has Ann read?", False),
        ("What sports have we tried?", False),
        ("Does she ever eat fish?", True),
        ("Where has Ann moved to?", True),
        ("How many books has Ann read?", True),
        ("Have I renewed the passport?", True),
    ],
)
def test_what_was_ever_so_is_no_question_for_the_newest(question, holds):
    assert parse(question, now=frames.AS_OF, speakers=("user",)).holds is holds


def test_a_newer_memory_that_does_not_answer_stays_behind_the_older_one_that_does():
    aside = "we sat on the terrace until late and watched the boats come in one after another"
    told = [("user", f"The harbour fee is 40 euros, {aside}.", 30), ("user", f"On Sunday {aside}.", 3)]
    for rows in (told, [*told, *ROWS]):
        found = ask("How much is the harbour fee?", memories(rows), k=len(rows))
        assert ids(found)[0] == "m0"
        lifts = {part["name"]: part["value"] for part in found.filter(pl.col("memory_id") == "m1")["parts"].explode()}
        assert not any(lifts[name] for name in CHANGES)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I do on Monday?", date(2026, 2, 23)),
        ("What was I doing on Sunday?", date(2026, 3, 1)),
        ("What shall I do on Monday?", date(2026, 3, 2)),
        ("What did I do in April?", date(2025, 4, 1)),
        ("What will I do in April?", date(2026, 4, 1)),
        ("Where was I on 12 May?", date(2025, 5, 12)),
        ("Where was I on 29 February?", date(2024, 2, 29)),
        ("What did I do two days ago?", date(2026, 2, 27)),
        ("What happened a couple of days ago?", date(2026, 2, 27)),
    ],
)
def test_what_is_over_was_the_last_one(question, first):
    parsed = parse(question, now=datetime(2026, 3, 1, 12, tzinfo=UTC), speakers=("user",))
    assert parsed.spans[:, 0].tolist() == [(first - date(1970, 1, 1)).days]


def test_figures_of_a_date_are_no_words():
    rows = memories([*((("user", f"I ordered {place} pans for 18 euros.", 90)) for place in range(9)), *ROWS[3:4]])
    on = frames.AS_OF - timedelta(days=ROWS[3][2])
    assert parse("What cost 18 euros?", now=frames.AS_OF, speakers=()).stems == ("18", "cost", "euro")
    assert ids(ask(f"What happened on {on:%-d %B %Y}?", rows, k=1)) == ["m9"]
    for date_ in ("18 October 2026", "October 18th", "2026-10-18", "18/10/2026"):
        stems = parse(f"What happened on {date_}?", now=frames.AS_OF, speakers=()).stems
        assert not any(stem[0].isdigit() for stem in stems), stems


def test_both_sides_of_a_contradiction_come():
    assert {"m2", "m4"} <= set(ids(ask("Have I ever written a Flask route in this project?", k=3)))


def contradicting(pairs):
    return FactLinks.of(pairs.with_columns(edge_type=pl.lit("CONTRADICTS"), shown=pl.lit(value=True)))


def test_the_other_side_of_a_known_contradiction_is_brought_along_and_named():
    pair = pl.DataFrame({"memory_id": ["m3"], "other_id": ["m2"]})
    found = ask("When does the team meet?", k=2, links=contradicting(pair))
    assert ids(found) == ["m3", "m2"]
    assert found["conflicts"].to_list() == [["m2"], ["m3"]]


def test_the_other_side_of_a_contradiction_does_not_push_better_answers_down():
    teams = [("user", f"The {name} team meets on Mondays.", 30) for name in ("red", "blue", "green", "white", "black")]
    rows = memories([("user", "The team meets on Mondays.", 40), *teams, ("user", "We never gather.", 20)])
    pair = pl.DataFrame({"memory_id": ["m0"], "other_id": ["m6"]})
    question = "On which day did the team meet?"
    found = ids(ask(question, rows, k=7, links=contradicting(pair)))
    assert found[:5] == ids(ask(question, rows, k=5))
    assert found[5] == "m6"
    assert "m6" in ids(ask(question, rows, k=3, links=contradicting(pair)))
    many = pl.DataFrame({"memory_id": ["m0"] * 5, "other_id": ["m6", "m1", "m2", "m3", "m4"]})
    for k in range(1, 8):
        found = ids(ask(question, rows, k=k, links=contradicting(many)))
        assert found[0] == "m0"
        assert len(set(found)) == k


SUMS = [("user", f"I drew card number {place} from the deck of cards.", 100 - place / 10) for place in range(500)]
RULE = "Always explain step by step when I ask about mathematics."


def test_a_standing_rule_comes_along_where_help_is_asked_for():
    question = "How do I calculate the chance to draw a red card from a deck?"
    others = ids(ask(question, memories(SUMS), k=10))
    rows = memories([*SUMS, ("user", RULE, 200)])
    found = ids(ask(question, rows, k=10))
    assert "m500" in found
    assert found[:5] == others[:5]
    assert "m500" not in ids(ask(question, rows, k=5))
    assert "m500" in ids(ask(question, memories([*SUMS, ("user", RULE, 200), *[("user", RULE, 150)] * 9]), k=10))


def test_rules_about_other_things_come_behind_the_best_five_and_are_no_more_than_three():
    things = ("pump", "valve", "manual", "burner", "switch", "warranty", "technician")
    rules = [f"Always mention the {place} when I ask about letters." for place in ("date", "sender", "street", "town")]
    rows = memories([("user", text, 10) for text in (*(f"The boiler has a {one}." for one in things), *rules)])
    found = ids(ask("Can you help me with the boiler?", rows, k=10))
    assert [place for place, one in enumerate(found) if int(one[1:]) >= len(things)] == [5, 6, 7]
    assert {int(one[1:]) for one in ids(ask("Which parts has it?", rows, k=7))} == set(range(len(things)))


LAPTOPS = [("user", f"A laptop of {place} inches is an option that I looked at.", 90) for place in range(60)]
CONDITIONAL = "Always name the length of the guarantee when I ask about laptop purchases."
OTHER = "Always give the calories when I ask about recipes."


@pytest.mark.parametrize(
    "question",
    [
        "What are my options if I want to buy a new laptop?",
        "Can you suggest a laptop to buy?",
        "Which laptop did I buy?",
    ],
)
def test_a_rule_comes_along_with_any_question_that_meets_its_condition(question):
    rules = [("user", OTHER, 100)] * 9 + [("user", CONDITIONAL, 100)]
    found = ids(ask(question, memories([*LAPTOPS, *rules]), k=10))
    assert "m69" in found[:6]
    assert sum(int(one[1:]) >= len(LAPTOPS) for one in found) == (3 if question.startswith("Can") else 1)


def test_a_question_about_what_was_said_brings_one_rule_along():
    rules = [
        ("user", f"Always name the {thing} when I ask about purchases.", 100) for thing in ("price", "maker", "size")
    ]
    rows = memories([*LAPTOPS, *rules])
    brought = [
        sum(int(one[1:]) >= len(LAPTOPS) for one in ids(ask(question, rows, k=10)))
        for question in ("Which laptop did I buy?", "Which laptops can one buy?", "Can you suggest a laptop to buy?")
    ]
    assert brought == [1, 2, 3]


def test_long_replies_do_not_keep_what_the_user_said_from_being_considered():
    advice = " ".join(
        f"Consider paragraph {number}, which is about dividends, a portfolio, options, ways and handling of money."
        for number in range(20)
    )
    replies = [("assistant", f"{number}: {advice}", 50) for number in range(320)]
    said = ("user", "I prefer plans that reinvest the dividends.", 60)
    rows = memories([said, *replies])
    found = ask("What ways are there to handle dividends in a portfolio, and which options?", rows, k=320)
    assert "m0" in ids(found)[:10]


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        (RULE, 1),
        ("Thanks! Never use tabs.", 1),
        ("Please never suggest sushi, whatever I ask about food.", 1),
        ("From now on, call me Bob.", 1),
        ("Going forward only quote papers since 2020.", 1),
        ("Keep your answers short.", 1),
        ("Keep answers under 100 words.", 1),
        ("Answer in German.", 1),
        ("Please answer in French from now on.", 1),
        ("I want all answers in Spanish.", 1),
        ("Use metric units only.", 1),
        ("Write a poem in the style of Rilke for my mother.", 0),
        ("I use the car only in winter.", 0),
        ("When you show code, leave the imports out.", 1),
        ("Never been there before.", 0),
        ("Always good to hear!", 0),
        ("You've always been there for me.", 0),
        ("Could you please explain why, to make sure I understand?", 0),
        ("What if I want to add more tables later?", 0),
        ("I'll let you know if I need anything.", 0),
        ("It keeps me going forward.", 0),
    ],
)
def test_what_is_a_standing_rule(text, standing):
    parts = ask("Can you show me how to do that?", memories([("user", text, 10)]))["parts"][0].to_list()
    assert {part["name"]: part["value"] for part in parts}["standing"] == standing


@pytest.mark.parametrize(
    ("question", "speaker", "until"),
    [
        ("Which cards did I draw from the deck?", "user", None),
        ("How do I calculate the chance to draw a red card from a deck?", "assistant", None),
        ("How do I calculate the chance to draw a red card from a deck?", "user", frames.ago(10)),
    ],
)
def test_no_other_question_brings_a_rule_along_nor_does_a_rule_of_the_helper_or_one_that_has_ended(
    question, speaker, until
):
    rows = change(memories([*SUMS, (speaker, RULE, 200)]), "m500", valid_until=until)
    assert "m500" not in ids(ask(question, rows, k=10))


def test_only_a_deep_recall_reaches_what_is_not_live_with_half_its_lead():
    rows = change(memories(), "m3", lifecycle="archived")
    question = "On which day did the team meet?"
    assert "m3" not in ids(ask(question, rows, k=10))
    deep = dict(ask(question, rows, k=10, deep=True).select("memory_id", "score").iter_rows())
    live = dict(ask(question, k=10).select("memory_id", "score").iter_rows())
    assert deep["m3"] == pytest.approx(0.5 * (live["m3"] + np.median(list(live.values()))))


def test_a_deep_recall_puts_what_answers_before_what_does_not():
    others = [("user", f"I bought {place} chairs and a lamp for the office.", 90 - place) for place in range(60)]
    rows = change(memories([*others, ("user", "I'm vegetarian.", 100)]), "m60", lifecycle="archived")
    assert ids(ask("Am I vegetarian?", rows, k=3, deep=True))[0] == "m60"


def test_trimmed_text_is_given_and_the_whole_when_deep():
    rows = change(memories(), "m3", trimmed="meets Mondays")
    question = "On which day does the team meet?"
    assert ask(question, rows, k=1)["text"].to_list() == ["meets Mondays"]
    assert ask(question, rows, k=1)["tokens"].to_list() == [4]
    assert ask(question, rows, k=1, deep=True)["text"].to_list() == ["The team meets on Mondays."]


def test_what_is_not_allowed_is_not_given():
    index = build(memories())
    allowed = (index.memories["speaker"] == "assistant").to_numpy()
    found = rank(index, "How many calls does my API key allow?", now=frames.AS_OF, allowed=allowed)
    assert set(ids(found)) == {"m1", "m6"}


@pytest.mark.parametrize("budget", [1, 8, 20, 40, 1000])
def test_an_answer_keeps_within_its_token_budget(budget):
    assert ask("How many calls does my API key allow?", k=10, token_budget=budget)["tokens"].sum() <= budget


def test_the_same_words_again_come_after_all_others_they_would_crowd_out():
    rows = memories([*ROWS, ("user", "My API key allows 1,000 calls per day.", 5)])
    first = ids(ask("API key calls", rows, k=3))
    assert not {"m0", "m7"} <= set(first)


def test_names_choose_who_said_it():
    rows = memories([("Ann", "I love hiking in the hills.", 9), ("Ben", "I love hiking in the hills too.", 8)])
    assert ids(ask("What does Ben love?", rows, k=1)) == ["m1"]
    assert ids(ask("What does Ann love?", rows, k=1)) == ["m0"]


@pytest.mark.parametrize(("who", "number"), [("Ada", "41"), ("Bo", "17")])
def test_what_others_say_of_themselves_is_no_later_value_of_who_is_asked_about(who, number):
    rows = [
        ("Ada", "My locker is number 41.", 3),
        ("Bo", "My locker is number 17.", 2),
        ("Ada", "My bus leaves at seven.", 1),
    ]
    first = ids(ask(f"What is {who}'s locker number?", memories(rows)))[0]
    assert number in rows[int(first[1:])][1]
    told = memories([*rows, ("Bo", "Ada takes the bus at nine now.", 0)])
    assert ids(ask("Which bus does Ada take now?", told))[0] == "m3"


def test_of_two_names_the_first_is_asked_about_and_those_listed_with_it():
    rows = memories(
        [("Ann", "A kayak for the lake, what a gift!", 9), ("Ben", "A kayak for the lake, what a gift!", 8)]
    )
    assert ids(ask("What gift did Ben give to Ann?", rows, k=1)) == ["m1"]
    assert ids(ask("What gift did Ann give to Ben?", rows, k=1)) == ["m0"]
    listed = parse(
        "What gift did Ann, Cid and Ben give to Dan?", now=frames.AS_OF, speakers=("Ann", "Ben", "Cid", "Dan")
    )
    assert listed.speakers == (0, 1, 2)


def test_a_code_is_found_by_all_its_digits():
    rows = memories([("Ann", f"The spare key hangs in room{number}.", 9) for number in (2, 22, 20, 200)])
    for place, number in enumerate((2, 22, 20, 200)):
        assert ids(ask(f"What is in room{number}?", rows, k=1)) == [f"m{place}"]


def test_dates_are_spans_seen_from_when_it_was_said():
    rows = memories([("Ann", "I ran a race last Friday.", 30), ("Ann", "I ran a race last Friday, too.", 90)])
    day = (frames.ago(30) - timedelta(days=3)).strftime("%d %B %Y")
    assert ids(ask(f"Which race did Ann run around {day}?", rows, k=1)) == ["m0"]


def test_ties_go_to_the_older_then_by_id():
    rows = memories([("Ann", "completely unrelated", 5)] * 3)
    assert ids(ask("question", rows, ranking="lexical")) == ["m0", "m1", "m2"]


def scored(rows):
    return pl.DataFrame(
        [
            {"memory_id": f"m{place}", "recency": 0.5, "importance": 0.8, "retention": 0.25, "relevance": 0.4}
            for place in range(rows.height)
        ]
    )


def test_formulas_give_the_numbers_worked_out_by_hand():
    rows = memories()
    cosine = dict(ask("API key", rows, ranking="cosine").select("memory_id", "score").iter_rows())["m0"]
    assert 0 < cosine < 1

    def score(ranking, **given):
        found = ask("API key", rows, ranking=ranking, scored=scored(rows), **given)
        return dict(found.select("memory_id", "score").iter_rows())["m0"]

    assert score("automem") == pytest.approx(0.4 * cosine)
    assert score("cognitive") == pytest.approx(cosine * 0.25**0.3)
    assert score("engram") == pytest.approx((0.5 + 0.8 + cosine) / 3)
    asked = Context(user_id="u", session_id="s60")
    assert score("engram", context=asked) == pytest.approx((0.5 + 0.8 + cosine) / 3.5)
    known = rows.with_columns(user_id=pl.lit("u"))
    found = ask(
        "API key",
        known,
        ranking="engram",
        scored=scored(rows),
        context=Context(user_id="u", session_id="s60", returns={"m0": 3}),
    )
    affinity = 0.4 * 1.0 + 0.3 * 1.0
    assert dict(found.select("memory_id", "score").iter_rows())["m0"] == pytest.approx(
        (0.5 + 0.8 + cosine + 0.5 * affinity) / 3.5
    )


def test_names_shared_with_the_user_raise_the_affinity():
    rows = memories([("Ann", "Ada visited Oslo.", 10), ("Ann", "Somebody visited a city.", 10)])
    asked = Context(user_id="u", session_id="s1", entities=("Ada", "Bo"))
    found = ask("Who travels?", rows, ranking="engram", scored=scored(rows), context=asked)
    affinity = {row["memory_id"]: row["parts"][-1]["value"] for row in found.iter_rows(named=True)}
    assert affinity == pytest.approx({"m0": 0.3 * 0.5, "m1": 0.0})


@pytest.mark.parametrize(("ranking", "factor"), [("automem", "relevance"), ("cognitive", "retention")])
def test_a_forgotten_memory_counts_by_its_own_scores(ranking, factor):
    rows = change(memories(), "m0", lifecycle="archived")
    faded = scored(rows).with_columns(pl.when(pl.col("memory_id") == "m0").then(0.125).otherwise(factor).alias(factor))
    ranked = ask("API key", rows, ranking=ranking, scored=faded, deep=True)
    values = {
        row["memory_id"]: {part["name"]: part["value"] for part in row["parts"]}[factor]
        for row in ranked.iter_rows(named=True)
    }
    assert values.pop("m0") == 0.125
    assert set(values.values()) == {scored(rows)[factor][0]}


def test_a_memory_without_scores_is_refused():
    rows = memories([("user", "API key", 0)])
    with pytest.raises(ValueError, match="no scores of the memory 'm0'"):
        ask("API key", rows, ranking="engram", scored=scored(rows).clear())


def test_nobody_in_particular_may_ask_in_no_session():
    rows = memories([("Ann", "Ada visited Oslo.", 10)]).with_columns(user_id=pl.lit("u"), session_id=pl.lit(None))
    found = ask("Oslo", rows, ranking="engram", scored=scored(rows), context=Context(user_id="u"))
    assert found["parts"][0].to_list()[-1]["value"] == pytest.approx(0.4 * 0.3)


LINKED = [
    ("Ann", "The boiler inspection found a leak.", 60),
    ("Ann", "It was so.", 59),
    *(("Ann", f"The inspection of lamp {place} is due.", 50 - place) for place in range(20)),
]


def test_a_deep_recall_follows_the_associations_of_the_best():
    rows = change(memories(LINKED), "m1", lifecycle="archived")
    links = pl.DataFrame({"source": ["m0"], "target": ["m1"], "weight": [0.8]})
    question = "What did the boiler inspection find?"
    for ranking in ("default", "lexical"):
        found = ask(question, rows, k=5, deep=True, ranking=ranking, associations=links)
        assert ids(found)[:2] == ["m0", "m1"]
        assert found["expanded"].to_list() == [name == "m1" for name in ids(found)]
        assert found.filter(pl.col("expanded"))["parts"].to_list() == [[]]
        assert 0 < found["score"][1] < found["score"][0]
        backwards = links.select(source="target", target="source", weight="weight")
        assert ids(ask(question, rows, k=5, deep=True, ranking=ranking, associations=backwards)) == ids(found)
    assert "m1" not in ids(ask(question, rows, k=5, associations=links))
    assert "m1" not in ids(ask(question, rows, k=5, deep=True, associations=links.clear()))


def test_what_a_recall_finds_by_itself_is_not_expanded():
    links = pl.DataFrame({"source": ["m0"], "target": ["m1"], "weight": [1.0]})
    found = ask("boiler inspection", memories(LINKED[:2]), k=2, deep=True, associations=links)
    assert sorted(ids(found)) == ["m0", "m1"]
    assert found["expanded"].to_list() == [False, False]


@pytest.mark.parametrize("ranking", ["engram", "automem", "cognitive"])
def test_formulas_need_scores(ranking):
    with pytest.raises(ValueError, match="needs scores"):
        ask("API key", ranking=ranking)


@pytest.mark.parametrize("wrong", [{"ranking": "best"}, {"k": 0}, {"token_budget": 0}])
def test_what_cannot_be_asked_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ask("API key", **wrong)


def test_all_rankings_take_any_query():
    rows = memories()
    for ranking in RANKINGS:
        for query in ("", "?", "the of and", "日本", "zzzz"):
            ask(query, rows, ranking=ranking, scored=scored(rows))


def test_what_does_not_hold_yet_comes_behind_what_holds():
    rows = memories([("Ann", "I live in Bath.", 30), ("Ann", "I live in Cork now.", 5)])
    later = change(rows, "m1", valid_from=frames.AS_OF + timedelta(days=90))
    assert ids(ask("Where does Ann live now?", later, k=2)) == ["m0", "m1"]
    assert ids(ask("Where does Ann live now?", rows, k=2)) == ["m1", "m0"]


CANTEEN = [
    ("Bob", "Pasta is what the canteen has.", 50),
    ("Ann", "The canteen serves ramen.", 20),
    ("Ann", "The team meets on Mondays.", 45),
]


def test_what_does_not_hold_yet_is_marked_and_comes_behind_whatever_holds_of_it():
    begins = frames.AS_OF + timedelta(days=90)
    found = ask("What does the canteen serve now?", change(memories(CANTEEN), "m1", valid_from=begins), k=3)
    assert ids(found) == ["m0", "m1", "m2"]
    assert found["current"].to_list() == [None, False, None]
    assert found["holds_from"].to_list() == [None, begins, None]
    begun = ask("What does the canteen serve now?", change(memories(CANTEEN), "m1", valid_from=frames.AS_OF), k=3)
    assert ids(begun)[0] == "m1"
    assert begun["holds_from"].null_count() == begun.height


def test_the_coefficients_are_those_fitted_to_the_embedder_and_to_talk_or_notes():
    talk = build(memories([(("user", "assistant")[place % 2], text, 60) for place, (_, text, _) in enumerate(ROWS)]))
    notes = build(memories().with_columns(session_id=pl.lit(None, pl.String)))
    assert (talk.talk, notes.talk) == (1.0, 0.0)
    built_in = weights(talk)
    assert np.array_equal(weights(replace(talk, model="of-another-kind")), built_in)
    assert np.array_equal(weights(notes), built_in)  # one model serves both where none was fitted to notes
    of_talk, of_notes = (weights(replace(one, model="local:/models/any")) for one in (talk, notes))
    cosine = list(FEATURES).index("cosine")
    assert of_notes[cosine] > 1.5 * of_talk[cosine] > 1.5 * built_in[cosine]
    assert np.array_equal(weights(replace(notes, model="reader")), of_notes)


def test_a_profile_with_some_talk_is_weighed_between():
    rows = memories()
    kept = rows.filter(pl.col("session_id") == rows["session_id"][0])
    alone = rows.filter(pl.col("session_id") != rows["session_id"][0]).with_columns(session_id=pl.lit(None, pl.String))
    index = build(pl.concat([kept, alone]).sort("created_at"))
    assert index.talk == pytest.approx(kept.height / rows.height)
    assert index.talk == pytest.approx(build(kept).extended(alone, embed_texts(alone.clear(), "hashing")).talk)
