"""Of a long memory, recall shows the passage that answers; every text for agents and people keeps to a budget."""

import random
from datetime import UTC, datetime

import pytest
import sampling
from commands import as_json, call

from memory_pipeline import MemoryClient
from memory_pipeline.text.display import BUDGET, PREVIEW, preview
from memory_pipeline.text.parse.tokens import count_tokens

WORDS = (
    "budget",
    "roof",
    "meeting",
    "plan",
    "report",
    "vendor",
    "team",
    "committee",
    "vote",
    "minutes",
    "boiler",
    "fence",
)
NEEDLES = {
    "keys": ("The spare key hangs behind the water meter.", "Where does the spare key hang?"),
    "alarm": ("The alarm code was changed to seven four one two.", "What is the alarm code?"),
    "doctor": ("Dr. Okafor will vaccinate the dogs on the ninth of April.", "Who will vaccinate the dogs?"),
    "policy": ("The insurance number of the barge is HX-4471.", "What is the insurance number of the barge?"),
}


def tokens(text):
    import polars as pl  # noqa: PLC0415 - only for one number

    return count_tokens(pl.Series([text])).item()


def minutes(needle, at, chance):
    """Return 25 kB of minutes under headings, with one sentence of interest."""
    said = [" ".join(chance.choices(WORDS, k=10)).capitalize() + "." for _ in range(360)]
    said.insert(at, needle)
    parts = ["# Minutes", *(f"\n## Item {n + 1}\n{' '.join(said[n * 40 : n * 40 + 40])}" for n in range(10))]
    return "\n".join(parts)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    chance = random.Random(7)
    short = [
        f"{who} {does} {what}."
        for who in ("Anna", "Ben", "Carla", "David", "Emma", "Finn", "Gina", "Hugo", "Ida", "Jan", "Kim", "Lea")
        for does in ("likes", "bought", "lost", "plans", "sold")
        for what in ("a red bicycle", "the old house", "green tea", "a piano", "trips to Rome")
    ]
    long = [
        {"text": minutes(needle, index * 90 + 20, chance), "memory_id": name}
        for index, (name, (needle, _)) in enumerate(NEEDLES.items())
    ]
    log = "\n".join(f"10:{n % 60:02} INFO worker {n % 7} processed batch {n} in {n % 97} ms" for n in range(1_500))
    blob = {"text": "Q" * 25_000 + " zanzibar " + "R" * 5_000, "memory_id": "blob"}
    folder = tmp_path_factory.mktemp("long") / "data"
    with MemoryClient(folder, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC)) as client:
        client.remember_many([*short, *long, {"text": log, "memory_id": "log"}, blob])
    return folder


@pytest.fixture(scope="module")
def client(home):
    with MemoryClient(home) as opened:
        yield opened


@pytest.mark.parametrize("name", NEEDLES)
@pytest.mark.parametrize("options", [{}, {"token_budget": 2_000}, {"token_budget": 150}, {"deep": True}])
def test_a_sentence_of_long_minutes_comes_first_as_a_passage(client, name, options):
    needle, question = NEEDLES[name]
    best = client.recall(question, record=False, **options)[0]
    assert best.memory_id == name
    assert needle in best.text
    assert best.tokens == tokens(best.text) <= 120
    assert best.content[best.passage.start : best.passage.end] == best.text
    assert best.passage.heading.startswith("Minutes \u203a Item ")
    assert best.passage.whole_tokens == tokens(best.content)


@pytest.mark.parametrize("budget", [15, 30, 60])
@pytest.mark.parametrize("name", NEEDLES)
def test_a_budget_smaller_than_a_passage_gives_whole_sentences_of_it(client, name, budget):
    needle, question = NEEDLES[name]
    answer = client.recall(question, token_budget=budget, record=False)
    best = answer[0]
    assert (best.memory_id, needle in best.text) == (name, True)
    assert answer.tokens <= budget
    assert best.content[best.passage.start : best.passage.end] == best.text
    assert best.text.endswith(".")


def test_of_short_memories_the_first_that_does_not_fit_is_shortened_and_a_single_sentence_never_is(tmp_path):
    two = "The garage door sticks in the cold. The spare key of the garage hangs behind the boiler."
    with MemoryClient(tmp_path) as client:
        client.remember_many([{"text": two, "speaker": "Ana"}, "The kettle is new.", "The lamp in the hall is green."])
        cut = client.recall("Where does the spare key of the garage hang?", token_budget=14, record=False)
        none = client.recall("Where does the spare key of the garage hang?", token_budget=11, record=False)
    assert (cut[0].text, cut[0].tokens) == ("The spare key of the garage hangs behind the boiler.", 13)
    assert not [hit for hit in none if "garage" in hit.text]


@pytest.mark.parametrize(
    ("question", "unrelated"),
    sampling.first_row(
        ("Where does Omar keep the spare key?", "Omar paints the fence every spring. It takes him two long weekends."),
        ("When is the boiler serviced?", "The committee met on Monday. Hana took the chair. Lots of papers were read."),
        ("What does Ida's dentist charge?", "Ida rows on Sundays. The boat is called Gull. It leaks at the bow."),
    ),
)
def test_the_last_room_of_a_budget_holds_no_scrap_of_what_does_not_answer(tmp_path, question, unrelated):
    answers = ["Omar keeps the spare key under the pot.", "The boiler is serviced in May.", "Ida's dentist charges 80."]
    with MemoryClient(tmp_path) as client:
        client.remember_many([*answers, f"{unrelated} {unrelated.lower()}"])
        for budget in range(8, 40):
            shown = client.recall(question, token_budget=budget, record=False)
            assert not [hit.text for hit in shown if hit.passage], budget


@pytest.mark.parametrize("ranking", ["lexical", "cosine", "engram"])
def test_every_ranking_shows_the_passage(client, ranking):
    found = {hit.memory_id: hit for hit in client.recall("insurance barge", 400, ranking=ranking, record=False)}
    assert NEEDLES["policy"][0] in found["policy"].text


def test_a_past_state_shows_the_same_passage(client):
    now = client.recall(NEEDLES["keys"][1], record=False)[0]
    past = client.recall(NEEDLES["keys"][1], record=False, as_of="2026-03-01T01:00:00Z")[0]
    assert (past.memory_id, past.text, past.passage) == (now.memory_id, now.text, now.passage)


def test_the_line_says_where_it_stands_and_how_to_read_all_of_it(client):
    line = client.recall(NEEDLES["keys"][1], record=False).text().splitlines()[0]
    whole = client.get("keys").content
    assert line.startswith("- [2026-03-01] Minutes \u203a Item 1: \u2026 ")
    assert f"a text of {tokens(whole):,} tokens; all of it: memory keys)" in line


@pytest.mark.parametrize("query", ["batch", "How tall is Ben?", "zanzibar", "xylophone", "minutes of the committee"])
def test_any_answer_is_a_bounded_text(client, query):
    answer = client.recall(query, 50, record=False)
    start = client.session_start(query).text()
    assert len(answer) == 50
    assert max(hit.tokens for hit in answer) <= 120
    assert max(len(hit.text) for hit in answer) <= 1_300
    assert tokens(answer.text()) <= BUDGET + 20
    assert tokens(start) <= BUDGET + 30
    assert len(answer.text(None).splitlines()) == 50


def test_what_a_budget_leaves_out_is_counted(client):
    answer = client.recall("minutes of the committee", 20, record=False)
    *shown, last = answer.text(200).splitlines()
    assert last.startswith(f"- and {20 - len(shown)} more, ")


def test_short_memories_are_shown_whole(client):
    client.remember("word " * 110, memory_id="nearly")
    hit = client.recall("word", record=False)[0]
    assert hit.passage is None
    assert hit.text == hit.content


@pytest.mark.drill
def test_the_command_line_shows_the_passage_and_the_whole_on_request(home):
    recalled = call("recall", NEEDLES["alarm"][1], "--no-record", home=home).stdout
    begun = call("get", "alarm", home=home).stdout
    whole = call("get", "alarm", "--whole", home=home).stdout
    assert "seven four one two" in " ".join(recalled.split())
    assert len(recalled) < 4_000
    assert "--whole prints them" in begun
    assert len(begun) < 7_000
    assert NEEDLES["alarm"][0] in whole
    assert "Minutes" in as_json("get", "alarm", home=home)["content"]


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        ("One two three.", 4, "One two three."),
        ("One two three four.", 3, "One two three \u2026"),
        ("a" * 100, 2, "a" * 22 + " \u2026"),
        ("", 3, ""),
    ],
)
def test_a_preview_is_the_beginning(text, most, shown):
    assert preview(text, most) == shown
    assert len(preview("x " * 10_000).split()) == PREVIEW + 1
