"""Answers about how two memories relate: they count at once, outrank every judgement, and can be withdrawn."""

import io
import random
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
import sampling
from commands import as_json, refused, text
from polars.testing import assert_frame_equal
from serving import bearer, within

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation.state import answers, projection
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.recall.client import reviewing
from memory_pipeline.recall.live import together
from memory_pipeline.runs import rebuild
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
OLD, NEW = "The spare key hangs in the porch.", "The spare key is with the neighbour on the left."


class Clock:
    """A clock that ticks a minute at each look."""

    def __init__(self):
        self.at = START

    def __call__(self):
        self.at += timedelta(minutes=1)
        return self.at


@pytest.fixture
def client(tmp_path, unpublished):  # noqa: ARG001 - snapshots are not looked at
    with MemoryClient(tmp_path, clock=Clock()) as opened:
        yield opened


def state(client, memory_id):
    memory = client.get(memory_id)
    return memory.closed_by, memory.superseded_kind


@pytest.mark.drill
def test_a_memory_that_supersedes_another_closes_it_at_once_and_for_good(client):
    old = client.remember(OLD)
    new = client.remember(NEW, supersedes=old)
    assert state(client, old) == (new, "update")
    first, second = client.recall("where is the spare key?", 2)
    assert (first.memory_id, second.memory_id, second.current) == (new, old, False)
    for _ in range(2):
        client.consolidate()
        assert state(client, old) == (new, "update")


@pytest.mark.drill
def test_a_transcript_imported_again_brings_nothing_back(client):
    said = START - timedelta(days=9)
    old = client.remember(OLD, occurred_at=said)
    new = client.remember(NEW, supersedes=old, occurred_at=said + timedelta(days=2))
    client.consolidate()
    copy = client.remember(OLD, occurred_at=said)
    client.consolidate()
    assert state(client, copy) == (new, "update")
    again = client.remember(OLD, occurred_at=said + timedelta(days=3))
    client.consolidate()
    assert state(client, again) == (None, None)


@pytest.mark.drill
def test_a_copy_of_what_ended_in_part_ends_in_the_same_part(client):
    both = "The spare key hangs in the porch. The bins go out on Monday."
    old, new = client.remember(both, occurred_at=START), client.remember(NEW)
    client.resolve((old, new), "partial", statement="The spare key hangs in the porch.")
    copy = client.remember(both, occurred_at=START, session_id="import")
    client.consolidate()
    client.consolidate()
    memory = client.get(copy)
    if memory.superseded_kind != "summary":  # else the two copies are one
        assert [one.sentence for one in memory.closed_statements] == ["The spare key hangs in the porch."]


def test_what_replaces_nothing_known_is_refused(client):
    with pytest.raises(UnknownMemory, match="'nobody'"):
        client.remember(NEW, supersedes="nobody")
    with pytest.raises(ValueError, match=r"rows\[1\].*'nobody'"):
        client.remember_many([OLD, {"text": NEW, "supersedes": "nobody"}])
    assert client.list() == []


def test_many_memories_may_each_replace_one(client):
    old = client.remember_many([OLD, "The bins go out on Monday."])
    new = client.remember_many(
        [{"text": NEW, "supersedes": old[0]}, {"text": "The bins go out on Tuesday.", "supersedes": old[1]}]
    )
    assert [state(client, memory)[0] for memory in old] == new


@pytest.mark.drill
def test_a_correction_can_be_withdrawn_by_its_id(client):
    old = client.remember(OLD)
    new = client.remember(NEW)
    answer = client.resolve((old, new), "update")
    client.consolidate()
    assert state(client, old) == (new, "update")
    assert client.undo(answer).is_empty()
    assert state(client, old) == (None, None)
    client.consolidate()
    assert state(client, old) == (None, None)


@pytest.mark.drill
def test_an_answer_lapses_when_a_text_changes(client):
    old, new = client.remember(OLD), client.remember(NEW)
    client.resolve((old, new), "update")
    client.update(old, tags=["keys"])
    assert state(client, old) == (new, "update")
    client.update(old, content="The spare key of the shed hangs in the porch.")
    assert state(client, old) == (None, None)
    client.consolidate()
    assert state(client, old) == (None, None)


def test_a_part_of_a_memory_may_end_while_the_rest_holds(client):
    old = client.remember("The spare key hangs in the porch. The bins go out on Monday.")
    new = client.remember(NEW)
    with pytest.raises(ValueError, match="copy its words exactly"):
        client.resolve((old, new), "partial", statement="The spare key is in the porch.")
    with pytest.raises(ValueError, match="statement is missing"):
        client.resolve((old, new), "partial")
    client.resolve((old, new), "partial", statement="The spare key hangs in the porch.")
    memory = client.get(old)
    assert memory.superseded_by is None
    assert [(one.sentence, one.closed_by) for one in memory.closed_statements] == [
        ("The spare key hangs in the porch.", new)
    ]


def test_the_owner_outranks_an_agent_whoever_speaks_last(client):
    old, new = client.remember(OLD), client.remember(NEW)
    client.resolve((old, new), "update", answered_by="owner")
    client.resolve((old, new), "none", answered_by="agent")
    client.resolve((old, new), "open", answered_by="model")
    assert state(client, old) == (new, "update")
    client.resolve((old, new), "none", answered_by="owner")
    assert state(client, old) == (None, None)


def test_the_newer_of_two_is_the_one_that_is_named(client):
    one, other = client.remember(NEW), client.remember(OLD)
    client.resolve((one, other), "update", newer=one)
    assert state(client, other) == (one, "update")
    with pytest.raises(ValueError, match="newer is 'x'"):
        client.resolve((one, other), "update", newer="x")


def pairs_of(client):
    return {(pair.older.content, pair.newer.content): pair for pair in client.review(50)}


UPDATED = ("User works at Siemens in Munich.", "User now works at Bosch in Munich.")


@pytest.fixture
def reviewed(client):
    for said in (*UPDATED, "User likes green tea."):
        client.remember(said)
    client.consolidate()
    return client


@pytest.mark.drill
def test_what_a_run_is_unsure_of_waits_for_an_answer(reviewed):
    pair = pairs_of(reviewed)[UPDATED]
    assert pair.relation == "update"
    lines = reviewed.review().text().splitlines()
    assert lines[0].startswith(f"A [{pair.pair_id}] does the newer replace the older?")
    assert '"User works at Siemens in Munich."' in lines[1]
    assert reviewed.resolve(pair.pair_id, "skip") is None
    assert UPDATED in pairs_of(reviewed)
    assert UPDATED[0] in reviewed.session_start().text()
    reviewed.resolve(pair.pair_id, "update")
    assert UPDATED not in pairs_of(reviewed)
    assert UPDATED[0] not in reviewed.session_start().text()
    assert state(reviewed, pair.older.memory_id) == (pair.newer.memory_id, "update")
    reviewed.consolidate()
    assert UPDATED not in pairs_of(reviewed)


@pytest.mark.parametrize(("answer", "marked"), sampling.first_row(("conflict", True), ("none", False)))
def test_an_answer_changes_what_recall_marks_now_and_after_runs(reviewed, answer, marked):
    pair = pairs_of(reviewed)[UPDATED]
    reviewed.resolve(pair.pair_id, answer)

    def shown():
        found = {one.memory_id: one for one in reviewed.recall("where does the user work?", 5)}
        return found[pair.older.memory_id].outdated_by, bool(found[pair.older.memory_id].conflicts)

    assert shown() == ((), marked)
    reviewed.consolidate()
    assert shown() == ((), marked)


@pytest.mark.drill
def test_an_answered_repeat_is_merged_though_its_words_differ(client):
    one = client.remember("The dentist moved to the corner house by the station.")
    other = client.remember("You now find the dentist in the house on the corner, next to the trains.")
    client.consolidate()
    assert client.get(one).lifecycle == client.get(other).lifecycle == "active"
    client.resolve((one, other), "repeat")
    client.consolidate()
    memories = [client.get(name) for name in (one, other)]
    assert {memory.superseded_kind for memory in memories} == {"summary"}
    assert len({memory.superseded_by for memory in memories}) == 1


@pytest.mark.drill
@pytest.mark.parametrize(
    ("one", "other"),
    sampling.first_row(
        ("The rent of the workshop is 640 euros.", "For the workshop 460 euros of rent are due."),
        ("Never feed the grey cat fish.", "Feed the grey cat fish."),
        ("The course begins on 3 May.", "The course begins on 13 May."),
        ("The user's shirt size is L.", "The user wears shirt size M."),
    ),
)
def test_an_answered_repeat_that_differs_in_a_fact_is_only_linked(client, one, other):
    ids = client.remember(one), client.remember(other)
    client.resolve(ids, "repeat")
    client.consolidate()
    assert [client.get(name).lifecycle for name in ids] == ["active", "active"]
    assert {edge["edge_type"] for edge in client.explain(ids[0]).edges} >= {"MAY_REPEAT"}


@pytest.mark.drill
def test_a_repeat_of_what_has_ended_ends_too_unless_it_was_said_later(client):
    rent = client.remember("Rent is 1,850 dollars a month, paid on the first.", occurred_at="2026-01-02")
    again = client.remember("On the first she sends the landlord $1,850.", occurred_at="2026-01-20")
    new = client.remember("The landlord wants 1,910 from March.", occurred_at="2026-02-10")
    later = client.remember("It is $1,850 that goes to the landlord, as before.", occurred_at="2026-02-20")
    client.resolve((again, new), "update")
    for other in (again, later):
        client.resolve((rent, other), "repeat")
    client.consolidate()
    assert [client.get(name).closed_by for name in (rent, again, later)] == [new, new, None]
    assert client.recall("What is the rent?", 4)[0].memory_id in {new, later}
    client.consolidate()
    assert [client.get(name).superseded_kind for name in (rent, again)] == ["update", "update"]


@pytest.mark.drill
@pytest.mark.parametrize("order", sampling.first(1, -1))
def test_of_several_updates_the_first_ends_a_memory_and_the_others_stay_known(client, order):
    old = client.remember("Choir practice is on Tuesday.", occurred_at="2026-01-02")
    first = client.remember("The choir meets on Thursdays now.", occurred_at="2026-01-20")
    second = client.remember("From spring on the choir sings on Fridays.", occurred_at="2026-02-10")
    for newer in (first, second)[::order]:
        client.resolve((old, newer), "update")
    assert client.get(old).closed_by == first
    client.consolidate()
    assert (client.get(old).closed_by, str(client.get(old).valid_until.date())) == (first, "2026-01-20")
    linked = {edge["source"] for edge in client.explain(old).edges if edge["edge_type"] == "MAY_UPDATE"}
    assert linked == {second}
    found = client.recall("When is choir practice?", 3)
    assert [one.memory_id for one in found] == [second, first, old]


@pytest.mark.drill
def test_a_denial_keeps_apart_what_somebody_said_is_the_same_only_if_nothing_else_differs(client):
    one = client.remember("Milena dislikes emoji in answers.")
    other = client.remember("No smileys in what the assistant writes to Milena.")
    client.resolve((one, other), "repeat")
    client.consolidate()
    assert {client.get(name).superseded_kind for name in (one, other)} == {"summary"}


@pytest.mark.drill
@pytest.mark.parametrize("later", sampling.first(0, 1))
def test_core_memory_follows_an_answer_in_the_next_run(client, later):
    old = client.remember("Ana takes losartan 50 mg every morning.", occurred_at="2026-02-01")
    new = client.remember("Dr. Salgado raised the losartan to 100 mg.", occurred_at="2026-02-06")
    client.consolidate()
    assert "maybe outdated" in client.session_start().text()
    client.resolve((old, new), "none")
    client.consolidate()
    told = client.session_start().text()
    assert "maybe outdated" not in told
    for _ in range(later):
        client.consolidate()
        assert client.session_start().text() == told


def test_what_replaces_another_comes_first_before_any_run_of_few_memories(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORY_PIPELINE_EMBEDDER", "reader")
    with MemoryClient(tmp_path) as client:
        old = client.remember("The deploy happens on Fridays.")
        new = client.remember("Deploys are on Tuesdays from now on.")
        first, second = client.recall("When do we deploy?")
        assert (first.memory_id, second.memory_id, second.outdated_by) == (new, old, (new,))
        monkeypatch.setattr(together, "FEW", 1)
        assert [one.outdated_by for one in client.recall("When do we deploy?")] == [(), ()]


@pytest.mark.drill
def test_what_a_run_closed_and_a_later_one_is_less_sure_of_is_not_outdated_by_itself(tmp_path, client):
    old = client.remember("User's gym membership costs 30 euros.")
    new = client.remember("User's gym membership now costs 35 euros.")
    client.consolidate()
    assert state(client, old) == (new, "update")
    Path(tmp_path, "memory_pipeline.toml").write_text("[policy]\nclose_confidence = 1.0\n", "utf-8")
    with MemoryClient(tmp_path, clock=lambda: START + timedelta(days=2)) as later:
        later.consolidate()
        assert state(later, old) == (new, "update")
        first, *_ = later.recall("what does the gym membership cost?")
        assert (first.memory_id, first.outdated_by) == (new, ())


@pytest.mark.drill
def test_near_copies_answered_to_be_different_stay_apart(client):
    one = client.remember("The blue ladder stands in the shed.")
    other = client.remember("The blue ladder stands in the shed!")
    client.resolve((one, other), "none")
    client.consolidate()
    assert [client.get(name).lifecycle for name in (one, other)] == ["active", "active"]


@pytest.mark.drill
def test_a_closing_that_a_run_decided_is_undone_by_an_answer_that_denies_it(client):
    old = client.remember("The meeting room is on the second floor.")
    new = client.remember(
        "Correction: the meeting room is no longer on the second floor, it is on the fourth floor now."
    )
    client.consolidate()
    client.resolve((old, new), "none")
    assert client.get(old).superseded_by is None
    client.consolidate()
    assert client.get(old).superseded_by is None


def test_a_new_memory_is_shown_what_it_may_replace(client):
    old = client.remember(UPDATED[0])
    client.remember("The dog is called Bruno.")
    stored = client.remember_checked(UPDATED[1])
    assert [(pair.older.memory_id, pair.relation) for pair in stored.likely] == [(old, "update")]
    client.resolve(stored.likely[0].pair_id, "update")
    assert state(client, old) == (stored.memory_id, "update")


@pytest.mark.drill
def test_a_memory_without_a_user_is_that_of_the_only_one(client):
    client.remember(UPDATED[0], user_id="ana")
    client.consolidate()
    assert [pair.older.content for pair in client.remember_checked(UPDATED[1]).likely] == [UPDATED[0]]
    client.consolidate()
    assert UPDATED in pairs_of(client)
    client.remember("The ferry is late today.", user_id="ben")
    client.consolidate()
    assert UPDATED not in pairs_of(client)


@pytest.mark.drill
@pytest.mark.parametrize("steps", sampling.first(14, 40))
def test_tables_equal_a_rebuild_and_the_tail_equals_the_fold(tmp_path, client, steps):
    chance = random.Random(7)
    ids = client.remember_many([f"Fact number {place} is about the {word}." for place, word in enumerate("abcdefgh")])
    for step in range(steps):
        pair = tuple(chance.sample(ids, 2))
        answer = chance.choice(["update", "repeat", "conflict", "none", "open"])
        client.resolve(pair, answer, answered_by=chance.choice(["owner", "agent", "model"]))
        if step % 9 == 4:
            client.update(chance.choice(ids), content=f"Another text {step}.")
        if step % 13 == 6:
            client.consolidate()
        with Lake(tmp_path) as lake:
            events = lake.events(profiles=["default"])
            in_force = projection.unmasked(lake.ledger.decisions(), lake.ledger.reverted())
        folded = projection.fold(events, in_force).memories.select("memory_id", "superseded_by", "valid_until")
        live = [(memory.memory_id, memory.superseded_by, memory.valid_until) for memory in client.list(deep=True)]
        assert sorted(live) == sorted(folded.rows())
    client.consolidate()
    with Lake(tmp_path) as lake:
        for name, rows in rebuild.rebuild(lake, "default").items():
            assert_frame_equal(lake.read(name, profiles=["default"]), rows.sort(TABLES[name].key))


@pytest.mark.drill
def test_no_answer_outlives_the_erasure_of_one_of_its_memories(tmp_path, client):
    old = client.remember("The spare key hangs in the porch. The bins go out on Monday.")
    new = client.remember(NEW)
    client.resolve((old, new), "partial", statement="The spare key hangs in the porch.")
    client.consolidate()
    client.erase(old)
    with Lake(tmp_path) as lake:
        events = lake.events(profiles=["default"])
    answered = events.filter(events["event_type"] == "relation.resolved")
    assert answered["statement"].to_list() == [None]
    assert answers.standing(events).is_empty()
    assert client.get(new).content == NEW


def test_the_past_is_as_it_was_before_an_answer(client):
    old, new = client.remember(OLD), client.remember(NEW)
    before = client._own.now()  # noqa: SLF001 - the clock of the test
    client.resolve((old, new), "update")
    assert client.get(old, as_of=before).superseded_by is None
    assert client.get(old).superseded_by == new


def test_explain_names_who_answered(client):
    old, new = client.remember(OLD), client.remember(NEW)
    client.resolve((old, new), "update", answered_by="agent")
    assert f"the agent said: \u201c{NEW}\u201d replaces it" in client.explain(old).text()
    assert f"the agent said: it replaces \u201c{OLD}\u201d" in client.explain(new).text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("12345678", "update"), "pair is '12345678', which is no pair"),
        ((("a",), "update"), "give the id of a pair, or the ids of two memories"),
        ((("a", "b"), "replaces"), "relation is 'replaces'"),
        ((("a", "b"), "update"), "is not a memory of profile"),
    ],
)
def test_a_wrong_answer_is_refused_with_a_remedy(client, arguments, message):
    client.remember(OLD, memory_id="a")
    with pytest.raises(ValueError, match=message):
        client.resolve(*arguments)


def test_answers_on_the_command_line(tmp_path):
    home = tmp_path / "data"
    with MemoryClient(home, clock=Clock()) as client:
        old, new = (client.remember(text) for text in UPDATED)
        client.consolidate()
    listed = as_json("review", home=home)
    assert [(pair["older"]["memory_id"], pair["newer"]["memory_id"]) for pair in listed["pairs"]] == [(old, new)]
    assert "ANSWER is one of: replaces (the older is over), part (" in text("review", home=home)
    assert "give one of: replaces (" in refused("resolve", listed["pairs"][0]["pair_id"], "later on", home=home)
    assert text("resolve", listed["pairs"][0]["pair_id"], "later", home=home) == "left for later\n"
    assert "noted; undo with" in text("resolve", listed["pairs"][0]["pair_id"], "replaces", home=home)
    assert "nothing needs an answer" in text("review", home=home)
    withdrawn = text("undo", as_json("resolve", pair_of(listed), "replaces", home=home)["answer_id"], home=home)
    assert "Taken back" in withdrawn
    assert "proposes" not in withdrawn
    piped = tmp_path / "answers"
    for said, why in (("r\nr\n", "2 answers for 1 pairs"), ("x\n", "answer is 'x'"), ("p \n", "names no words of")):
        piped.write_text(said)
        with piped.open() as lines, patch.object(sys, "stdin", lines):
            assert f"{why}" in (told := refused("review", home=home, status=2))
        assert "nothing was noted" in told
    piped.write_text("replaces\n")
    with piped.open() as lines, patch.object(sys, "stdin", lines):
        assert f"Replaces: {UPDATED[0]} / {UPDATED[1]}\n1 answered, 0 wait" in text("review", home=home)
    assert "no longer holds" in text("correct", new, "User works for himself now.", home=home)
    assert "is no pair" in refused("resolve", "abc", "update", home=home)
    told = text("digest", "--since", f"{START:%Y-%m-%d}", home=home)
    assert text("digest", "--since", "5200 weeks", home=home).count("\n- ") == told.count("\n- ")
    assert "- 2 facts changed\n" in told
    assert f"- “{UPDATED[0]}” -> “{UPDATED[1]}” (2026-03-01)\n" in told


def pair_of(listed):
    return listed["pairs"][0]["pair_id"]


def test_what_a_new_memory_may_replace_is_told_at_once_and_can_be_answered_by_another_process(tmp_path):
    home = tmp_path / "data"
    text("remember", UPDATED[0], home=home)
    (old,) = as_json("list", home=home)
    told = text("remember", UPDATED[1], home=home)
    assert f'older: [{old["created_at"][:10]}] "{UPDATED[0]}"' in told
    assert "does the newer replace the older?" in told
    pair = re.search(r"\[([0-9a-f]{8})\]", told)[1]
    assert "noted; undo with" in text("resolve", pair, "replaces", home=home)
    assert as_json("get", old["memory_id"], home=home)["closed_by"] is not None
    assert text("remember", UPDATED[0], "--no-check", home=home).count("\n") == 1


@pytest.mark.drill
def test_a_session_in_a_terminal_asks_takes_back_and_notes(tmp_path):
    """A wrong letter and a part without words are asked for again, an answer is taken back, and a part ends."""
    home = tmp_path / "data"
    part, newer = UPDATED
    told = (f"{part} User likes tea.", newer, "The print run is 800 copies.", "The print run is now 1,200 copies.")
    with MemoryClient(home, clock=Clock()) as client:
        ids = [client.remember(said, occurred_at=START - timedelta(days=9 * (9 - at))) for at, said in enumerate(told)]
        client.consolidate()
        asked = [pair.older.memory_id for pair in client.review()]
    keys = {ids[0]: ["p", "7", "1"], ids[2]: ["p", "", "p", "900", "800 copies"]}
    terminal = io.StringIO("\n".join(["x", "s", "u", *(key for one in asked for key in keys[one]), ""]))
    terminal.isatty = lambda: True
    with patch.object(sys, "stdin", terminal):
        said = text("review", home=home, FORCE_COLOR="1")
    assert "1 of 2: " in said
    assert "r replaces  p part of it  s same  c conflict  b both true  l later  q quit" in said
    assert "r replaces  p part of it  s same  c conflict  b both true  l later  u take the last back  q quit" in said
    assert f"2 answered, 0 wait; take the last back: memory-pipeline --home {home} undo " in said
    with MemoryClient(home, clock=Clock()) as client:
        assert [one.sentence for one in client.get(ids[0]).closed_statements] == [part]
        assert [one.sentence for one in client.get(ids[2]).closed_statements] == ["800 copies"], "copied exactly"


@pytest.mark.drill
def test_a_part_that_was_asked_about_needs_no_words_again(client):
    old = client.remember(f"{UPDATED[0]} The bins go out on Monday.")
    client.remember(UPDATED[1])
    client.consolidate()
    (pair,) = client.review()
    assert (pair.relation, pair.statement) == ("partial", UPDATED[0])
    client.resolve(pair.pair_id, "partial")
    assert [one.sentence for one in client.get(old).closed_statements] == [UPDATED[0]]


@pytest.mark.drill
def test_answers_over_http(tmp_path):
    with MemoryClient(tmp_path, clock=Clock()) as client:
        old, new = (client.remember(text) for text in UPDATED)
        client.consolidate()
    token, _ = auth_tokens.create(tmp_path, Role.AGENT, profile_id="default")
    with within(tmp_path) as http:
        http.headers |= bearer(token)
        (pair,) = http.get("/review").json()["pairs"]
        answer = http.post("/review", json={"pair": pair["pair_id"], "relation": "update"}).json()["answer_id"]
        assert http.get(f"/memories/{old}").json()["superseded_by"] == new
        assert http.post("/undo", json={"target": answer}).status_code == 200
        assert http.get(f"/memories/{old}").json()["superseded_by"] is None
        later = {"text": "User works for himself now.", "supersedes": new}
        (newest,) = http.post("/memories", json=later).json()["memory_ids"]
        assert http.get(f"/memories/{new}").json()["superseded_by"] == newest
        assert http.post("/review", json={"pair": [old], "relation": "update"}).status_code == 422


def test_the_id_of_a_pair_does_not_depend_on_its_order():
    assert reviewing.pair_id("a", "b") == reviewing.pair_id("b", "a") != reviewing.pair_id("a", "c")


def test_no_answers_without_events():
    assert answers.standing(TABLES["events"].empty()).is_empty()
