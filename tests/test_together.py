"""Several profiles searched as one: each memory says whose it is, and the profiles stay apart."""

import json
from datetime import UTC, datetime, timedelta

import commands
import pytest

from memory_pipeline import MemoryClient
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import load

NOW = datetime(2026, 5, 1, tzinfo=UTC)
OWN = {
    "m1": "Ana plays the viola on Mondays.",
    "m2": "The kettle is broken.",
    "m3": "Ana's rehearsal moved to Tuesday.",
}
TEAM = {"m1": "The team's rehearsal is in room 12.", "m2": "Ben plays the oboe.", "m4": "The budget is 300 euros."}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("together") / "data"
    for profile, texts in (("ana", OWN), ("team", TEAM), ("other", {"m1": "Ana plays the secret trombone."})):
        with MemoryClient(home, profile_id=profile, clock=lambda: NOW) as client:
            rows = [{"text": text, "memory_id": name, "session_id": "s"} for name, text in texts.items()]
            client.remember_many(rows)
    return home


@pytest.fixture(scope="module")
def ana(home):
    with MemoryClient(home, profile_id="ana", user_id="ana", clock=lambda: NOW + timedelta(days=1)) as client:
        yield client


def hits(answer):
    return {(hit.profile_id, hit.memory_id): hit.content for hit in answer}


def test_all_memories_of_the_profiles_and_no_others_are_ranked_together(ana):
    both = {("ana", name): text for name, text in OWN.items()} | {("team", name): text for name, text in TEAM.items()}
    answer = ana.recall("When and where is the rehearsal?", k=50, profiles=["ana", "team"], record=False)
    assert hits(answer) == both
    assert {hit.profile_id for hit in answer[:2]} == {"ana", "team"}
    assert {hit.session_id for hit in answer} == {"s"}
    assert hits(ana.recall("rehearsal", k=50, record=False)) == {("ana", name): text for name, text in OWN.items()}
    assert hits(ana.recall("oboe", k=1, profiles=["team"], record=False)) == {("team", "m2"): TEAM["m2"]}
    past = ana.recall("rehearsal", k=50, profiles=["team", "ana"], as_of=NOW + timedelta(hours=1), record=False)
    assert hits(past) == both


def test_one_profile_by_name_is_that_profile(ana):
    alone = ana.recall("Who plays the viola?", record=False)
    assert ana.recall("Who plays the viola?", profiles=["ana"], record=False) == alone
    assert {hit.profile_id for hit in alone} == {"ana"}


@pytest.mark.parametrize("ranking", ["cosine", "lexical", "automem", "cognitive"])
def test_formulas_and_deep_recalls_search_together_too(ana, ranking):
    wanted = {"k": 50, "profiles": ["ana", "team"], "ranking": ranking, "record": False}
    assert len(ana.recall("rehearsal", **wanted)) == len(ana.recall("rehearsal", deep=True, **wanted)) == 6


def test_filters_hold_in_every_profile(ana):
    both = {"profiles": ["ana", "team"], "k": 50, "record": False}
    assert len(ana.recall("rehearsal", filters={"session_id": "s"}, **both)) == 6
    assert len(ana.recall("rehearsal", filters={"session_id": "t"}, **both)) == 0


def test_what_others_store_meanwhile_is_found(ana, home):
    asked = {"profiles": ["ana", "team"], "k": 1, "record": False}
    ana.recall("Where is the harpsichord?", **asked)
    with MemoryClient(home, profile_id="team", clock=lambda: NOW) as team:
        name = team.remember("The harpsichord is in the cellar.")
        assert hits(ana.recall("Where is the harpsichord?", **asked)) == {
            ("team", name): "The harpsichord is in the cellar."
        }
        team.erase(name)
        assert ("team", name) not in hits(ana.recall("Where is the harpsichord?", **asked | {"k": 50}))
        team_cache = ana._searches._together["ana", "team"]  # noqa: SLF001 - what is kept in memory
        assert name not in str(team_cache.current().pool.index.memories["memory_id"].to_list())


def test_each_profile_records_the_accesses_of_its_own_and_only_the_asking_one_the_query(ana, home):
    ana.recall("rehearsal", k=50, profiles=["ana", "team"], session_id="mine")
    ana.flush()
    with Lake(home) as lake:
        rows = [row for row in lake.ledger.read() if row[3] == "memory.accessed"]
    seen = {row[2]: (row[6], row[8], json.loads(row[-1])) for row in rows}
    assert seen["ana"][:2] == ("mine", "ana")
    assert seen["team"][:2] == (None, None)
    assert "query" in seen["ana"][2]
    assert "query" not in seen["team"][2]
    assert set(seen["team"][2]["memory_ids"]) == set(TEAM)
    ranks = [rank for _, _, payload in seen.values() for rank in payload["ranks"]]
    assert sorted(ranks) == list(range(1, 7))


def test_the_command_names_the_profile_of_each_memory(home):
    said = commands.text("recall", "rehearsal", "-p", "ana", "--also", "team", "--no-record", home=home)
    assert " · ana\n" in said
    assert " · team\n" in said
    assert " · ana\n" not in commands.text("recall", "rehearsal", "-p", "ana", "--no-record", home=home)
    wrong = ("recall", "rehearsal", "-p", "ana", "--also", "teem", "--no-record")
    assert "teem" in commands.refused(*wrong, home=home)


def test_what_cannot_be_searched_together_is_refused(ana, home, tmp_path):
    with pytest.raises(ValueError, match="searches one profile"):
        ana.recall("rehearsal", profiles=["ana", "team"], ranking="engram")
    for wrong in ("team", [], [""], 3):
        with pytest.raises(ValueError, match="profiles is"):
            ana.recall("rehearsal", profiles=wrong)
    (tmp_path / "memory_pipeline.toml").write_text('[profiles.team]\nembedder = "local"\n', "utf-8")
    settings = load(tmp_path, environment={})
    with MemoryClient(home, profile_id="ana", settings=settings) as client, pytest.raises(ValueError, match="embedder"):
        client.recall("rehearsal", profiles=["ana", "team"])
