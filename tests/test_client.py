"""What an agent does through `MemoryClient`, over real stores."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import duckdb
import homes
import polars as pl
import pytest
import sampling

import memory_pipeline
from memory_pipeline.erasure.erase import pending_erasure, resume_erasure
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.database import UnknownMemory
from memory_pipeline.ledger.event import parse
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.filters import Filters
from memory_pipeline.runs import metrics, rebuild

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COPIES = ("The orders service uses Postgres as its database.", "The orders service uses Postgres as its database!")
OTHERS = (
    "Ana moved to Lisbon in March.",
    "Ben prefers green tea over coffee.",
    "The deploy key lies in the vault of the platform team.",
    "Our cat Miro is afraid of the vacuum cleaner.",
)


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self, at=NOON):
        self.at = at

    def __call__(self):
        return self.at

    def pass_(self, **time):
        self.at += timedelta(**time)
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(tmp_path, clock):
    with MemoryClient(tmp_path, clock=clock) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _unpublished(unpublished):
    """The store that the tests share is published, and a test says so."""


@pytest.fixture
def every_summary(monkeypatch):
    monkeypatch.setenv("MEMORY_PIPELINE_SUMMARIES", "all")


@pytest.fixture
def lake(tmp_path):
    with Lake(tmp_path) as opened:
        yield opened


def told(client, texts=OTHERS, clock=None, **fields):
    ids = []
    for text in texts:
        ids.append(client.remember(text, **fields))
        if clock:
            clock.pass_(minutes=45)
    return ids


def names(answer):
    return [one.memory_id for one in answer]


@pytest.fixture(scope="module")
def after_a_merge(tmp_path_factory):
    """A store with two copies of a note, of which a run has made one; its folder, instant, copies and summary."""
    home, clock = tmp_path_factory.mktemp("merged"), Clock()
    with MemoryClient(home, clock=clock) as client:
        told(client, clock=clock)
        copies = told(client, COPIES, clock=clock)
        clock.pass_(days=1)
        plan = client.consolidate().plan
    summary = plan.filter(pl.col("action") == "summarise", pl.col("rule") == "near_duplicates")["memory_id"].to_list()
    if not summary:
        superseded = plan.filter(pl.col("action") == "supersede")
        summary = superseded["target_id"].unique().to_list()
    assert len(summary) == 1
    return home, clock.at, copies, summary[0]


def test_a_run_publishes_a_snapshot(after_a_merge):
    home, _, _, summary = after_a_merge
    with duckdb.connect(str(home / "snapshots" / "memories.duckdb"), read_only=True) as connection:
        assert (summary,) in connection.execute("select memory_id from memories").fetchall()


@pytest.fixture
def merged(after_a_merge, tmp_path, clock):
    """A copy of that store at that instant, made before it is opened; the ids of the copies and of the summary."""
    home, clock.at, copies, summary = after_a_merge
    shutil.copytree(home, tmp_path, symlinks=True, dirs_exist_ok=True)
    return copies, summary


def test_what_does_not_hold_yet_says_from_when_it_holds(client, clock):
    client.remember("The canteen serves pasta.")
    later = client.remember("The canteen serves ramen.", valid_from=NOON + timedelta(days=30))
    clock.pass_(days=1)
    assert client.recall("What does the canteen serve now?").text().splitlines() == [
        "- [2026-03-01] The canteen serves pasta.",
        "- [2026-03-01] The canteen serves ramen. (holds only from 2026-03-31)",
    ]
    clock.pass_(days=30)
    found = client.recall("What does the canteen serve now?")[0]
    assert (found.memory_id, found.current, found.holds_from) == (later, None, None)


def test_what_was_remembered_a_moment_ago_is_found(client):
    ids = told(client)
    assert client.recall("Where does Ana live?")[0].memory_id == ids[0]
    later = client.remember("Ana now works as a carpenter.")
    assert later in names(client.recall("What does Ana work as?", 2))


def test_the_package_exports_the_clients_and_what_they_return_and_raise(client):
    assert memory_pipeline.MemoryClient is MemoryClient
    assert memory_pipeline.AsyncMemoryClient.__name__ == "AsyncMemoryClient"
    client.remember("Ana keeps bees.", memory_id="bees")
    assert isinstance(client.recall("bees"), memory_pipeline.Answer)
    assert isinstance(client.get("bees"), memory_pipeline.Memory)
    with pytest.raises(memory_pipeline.UnknownMemory):
        client.get("wasps")
    assert all(getattr(memory_pipeline, name) for name in memory_pipeline.__all__)


def test_what_another_client_remembered_is_found(client, tmp_path, clock):
    told(client)
    client.recall("tea")
    with MemoryClient(tmp_path, clock=clock) as other:
        new = other.remember("Ben bought a samovar.")
        assert new in names(client.recall("samovar", 1))
        other.update(new, content="Ben bought a kettle.")
        assert client.recall("kettle", 1)[0].text == "Ben bought a kettle."


def test_profiles_see_nothing_of_each_other(client, tmp_path, clock):
    told(client)
    with MemoryClient(tmp_path, profile_id="other", clock=clock) as other:
        assert len(other.recall("Ana Lisbon tea")) == 0
        other.remember("Ana is my neighbour.")
        assert [one.text for one in other.recall("Ana")] == ["Ana is my neighbour."]
        assert "Ana is my neighbour." not in client.recall("Ana neighbour", 50).text()


def test_an_answer_says_what_each_score_consists_of(client):
    told(client, speaker="Ana")
    answer = client.recall("Who prefers green tea?", 3)
    first = answer[0]
    assert (first.rank, first.speaker, first.lifecycle, first.deep) == (1, "Ana", "active", False)
    assert first.text == first.content == OTHERS[1]
    assert 0 <= answer[-1].score <= first.score <= 1
    assert [part.name for part in first.parts if part.value]
    assert [one.rank for one in answer] == [1, 2, 3]
    assert answer.text().splitlines()[0] == f"- [2026-03-01] Ana: {OTHERS[1]}"
    assert answer.to_dict()["recalled"][0]["created_at"] == NOON.isoformat()
    assert [one.rank for one in answer[:2]] == [1, 2]


def test_a_token_budget_is_kept(client):
    told(client)
    answer = client.recall("Ana Ben deploy key cat Miro", token_budget=25)
    assert 0 < answer.tokens <= 25
    assert answer.tokens == sum(one.tokens for one in answer)


@pytest.mark.drill
def test_every_ranking_answers_before_and_after_a_run(tmp_path, clock):
    with MemoryClient(tmp_path, user_id="u", session_id="s", clock=clock) as client:

        def every_ranking_answers():
            for name in ("default", "engram", "automem", "cognitive", "cosine", "lexical"):
                assert len(client.recall("green tea", ranking=name)) > 0, name

        told(client)
        every_ranking_answers()
        clock.pass_(days=1)
        client.consolidate()
        clock.pass_(days=1)
        client.remember("Ben also likes black tea.")
        every_ranking_answers()


def test_the_weights_of_the_policy_count_in_the_score_of_engram(tmp_path, clock):
    def asked(name, **weights):
        home = tmp_path / name
        home.mkdir()
        values = "".join(f"{key} = {value}\n" for key, value in weights.items())
        (home / "memory_pipeline.toml").write_text(f"[policy]\n{values}")
        with MemoryClient(home, clock=clock, user_id="u", session_id="s") as client:
            client.remember("Ben prefers green tea over coffee.", importance=0.3)
            clock.pass_(days=1)
            (one,) = client.recall("green tea", ranking="engram")
            return one.score, {part.name: part.value for part in one.parts}

    score, parts = asked("plain")
    known = dict(zip(("recency", "importance", "relevance", "affinity"), (1.0, 1.0, 1.0, 0.5), strict=True))
    assert score == pytest.approx(sum(known[name] * parts[name] for name in known) / 3.5)
    for name in known:
        others = {f"w_{other}": 0 for other in known if other != name}
        score, parts = asked(name, **others)
        assert score == pytest.approx(parts[name])


@pytest.mark.drill
@pytest.mark.parametrize("runs", sampling.first(False, True))
def test_formulas_judge_by_the_scores_that_a_run_at_that_instant_gives(client, clock, lake, runs):
    client.remember("Ben prefers green tea.", importance=0.6, memory_type="Preference", category="semantic")
    clock.pass_(days=1)
    if runs:
        client.consolidate()
    clock.pass_(days=10)
    client.recall("green tea")
    clock.pass_(days=30)
    client.flush()
    parts = {}
    for name in ("automem", "cognitive", "engram"):
        (one,) = client.recall("green tea", ranking=name, record=False)
        parts[name] = {part.name: part.value for part in one.parts}
    client.consolidate()
    scored = lake.read("scored_memories").row(0, named=True)
    assert parts["automem"]["relevance"] == scored["relevance"] < 1
    assert parts["cognitive"]["retention"] == scored["retention"] < 1
    assert parts["engram"]["recency"] == scored["recency"] < 1
    assert parts["engram"]["importance"] == scored["importance"] < 1


def test_a_past_instant_is_judged_by_its_own_scores(client, clock):
    client.remember("Ben prefers green tea.")
    first = clock.at
    clock.pass_(days=20)
    (then,) = client.recall("green tea", ranking="cognitive", as_of=first, record=False)
    (now,) = client.recall("green tea", ranking="cognitive", record=False)
    assert now.score < then.score


def forgetful(tmp_path, clock, **policy):
    home = tmp_path / "home"
    home.mkdir()
    (home / "memory_pipeline.toml").write_text(
        "[policy]\n" + "".join(f"{name} = {value}\n" for name, value in policy.items())
    )
    return MemoryClient(home, clock=clock)


@pytest.mark.drill
def test_forgotten_memories_have_their_own_retention_and_stubs_are_found_by_vectors(tmp_path, clock):
    rules = {"forgetting": '["retention"]', "cold_after_days": 1, "stub_after_days": 1, "grace_period_days": 0}
    long = "Ben prefers green tea. " + "It was a grey day. " * 20 + "He also owns an old zither."
    with forgetful(tmp_path, clock, **rules) as client:
        client.remember(long, memory_id="tea", importance=0.1, category="episodic")
        clock.pass_(days=400)
        client.consolidate()
        clock.pass_(days=40)
        client.consolidate()
        assert client.get("tea").lifecycle == "stub"
        client.remember("The kettle is blue.", memory_id="kettle")
        found = {one.memory_id: one for one in client.recall("zither", ranking="cognitive", deep=True, record=False)}
        parts = {part.name: part.value for part in found["tea"].parts}
        assert 0.0 < parts["retention"] < 0.1
        assert parts["cosine"] > 0.0
        assert {part.name: part.value for part in found["kettle"].parts}["retention"] == pytest.approx(1.0)


def test_a_deep_recall_is_led_to_what_is_linked_and_records_that(client, clock, lake):
    told(client, [f"The inspection of lamp {number} is due." for number in range(30)])
    client.remember("The boiler inspection found a leak.", memory_id="leak")
    client.remember("It was so.", memory_id="so", session_id="another")
    link = {"event_type": "link.asserted", "memory_id": "leak"}
    payload = {"target_id": "so", "edge_type": "EXPLAINS", "weight": 0.9}
    lake.ledger.append([parse({"profile_id": "default", **link, "payload": payload}, recorded_at=clock.at, origin="t")])
    query = "What did the boiler inspection find?"
    assert "so" not in names(client.recall(query, 5, record=False))
    answer = client.recall(query, 5, deep=True)
    assert [one.memory_id for one in answer if one.expanded] == ["so"]
    client.flush()
    recorded = [event for event in lake.events(profiles=["default"]).to_dicts() if event["query"] == query]
    assert {row["memory_id"] for row in recorded if row["expanded"]} == {"so"}


def test_who_asks_counts_in_the_affinity_of_engram(client, clock):
    client.remember("Ada leads the Oslo office.", user_id="u", memory_id="own")
    client.remember("Ada was in Oslo.", user_id="v", memory_id="shared")
    client.remember("Somebody was in a city.", user_id="v", memory_id="other")
    clock.pass_(days=1)

    def affinity(**asker):
        found = client.recall("Who was where?", ranking="engram", record=False, **asker)
        return {one.memory_id: {part.name: part.value for part in one.parts}.get("affinity") for one in found}

    asked = affinity(user_id="u")
    assert asked["shared"] == pytest.approx(0.3)
    assert asked["other"] == 0.0
    assert asked["own"] == pytest.approx(0.4 * 0.7 + 0.3)
    assert set(affinity().values()) == {None}


def test_filters_admit_what_they_name(client, clock):
    plain = client.remember("The train to Porto leaves at nine.")
    clock.pass_(hours=1)
    full = client.remember(
        "The train to Porto is late.",
        session_id="s2",
        agent_id="a2",
        user_id="u2",
        memory_type="Insight",
        tags={"travel", "porto"},
        speaker="Ana",
    )
    for given in (
        {"session_id": "s2"},
        {"agent_id": "a2"},
        {"user_id": "u2"},
        {"memory_types": ["insight", "decision"]},
        {"tags": "travel"},
        {"tags": ("travel", "unknown")},
        {"speaker": "ana"},
        {"since": NOON + timedelta(minutes=30)},
        {"since": "2026-03-01T12:30:00"},
        Filters(session_id="s2", speaker="Ana"),
    ):
        assert names(client.recall("train to Porto", filters=given)) == [full], given
    assert names(client.recall("train to Porto", filters={"until": NOON + timedelta(minutes=1)})) == [plain]
    assert len(client.recall("train to Porto", filters={"session_id": "none"})) == 0
    assert len(client.recall("train to Porto", filters={})) == 2
    later = client.remember("Another train to Porto.", session_id="s2")
    assert later in names(client.recall("train to Porto", filters={"session_id": "s2"}))


@pytest.mark.drill
@pytest.mark.usefixtures("every_summary")
def test_a_summary_was_said_when_the_newest_of_its_members_was(client, clock):
    texts = ("We toured the salt mine.", "The guide was called Marek.", "We bought a salt lamp.")
    told(client, texts, session_id="mine")
    clock.pass_(days=30)
    between = clock.at
    garage = client.remember("I cleaned the garage.", session_id="home")
    clock.pass_(days=30)
    client.consolidate()
    made = {one.memory_id for one in client.list() if one.kind != "original"}
    assert made
    assert names(client.list({"since": between})) == [garage]
    assert names(client.recall("What did we tour?", filters={"since": between})) == [garage]
    assert made <= set(names(client.list({"until": between})))


def test_a_recall_is_an_access_that_the_next_run_counts(client, clock, lake):
    ids = told(client, clock=clock)
    clock.pass_(days=20)
    answer = client.recall("green tea", 1)
    client.recall("green tea", 1, record=False)
    client.flush()
    assert client.get(ids[1]).access_count == 1
    assert client.get(ids[1]).last_accessed_at == clock.at
    assert client.get(ids[0]).access_count == 0
    client.consolidate()
    assert client.get(ids[1]).access_count == 1
    scored = lake.read("scored_memories")
    stability = dict(scored.select("memory_id", "stability").iter_rows())
    assert stability[ids[1]] > 0.1
    event = lake.read("events").filter(pl.col("event_type") == "memory.accessed").row(0, named=True)
    assert (event["query"], event["rank"], event["memory_id"]) == ("green tea", 1, ids[1])
    assert (event["score"], event["unsure"]) == (round(answer[0].score, 6), not answer.confident)


def test_looking_is_no_access(client, lake):
    ids = told(client)
    before = lake.ledger.position()
    client.get(ids[0])
    client.list()
    client.explain(ids[0])
    client.recall("tea", record=False)
    client.flush()
    assert lake.ledger.position() == before


def test_a_memory_can_be_read_and_listed(client, clock):
    ids = told(client, clock=clock, tags=["x"], metadata={"page": 3}, importance=0.4)
    one = client.get(ids[2])
    assert (one.content, one.tags, one.metadata, one.importance) == (OTHERS[2], ("x",), {"page": 3}, 0.4)
    assert [one.memory_id for one in client.list()] == ids[::-1]
    assert [one.memory_id for one in client.list(limit=2)] == ids[:1:-1]
    assert client.list({"tags": "none"}) == []
    page = client.list(limit=2)
    client.remember("Stored between two pages.")
    assert [one.memory_id for one in client.list(after=page[-1].memory_id)] == ids[-3::-1]
    assert client.list(after=ids[0]) == []
    with pytest.raises(UnknownMemory, match="'none'"):
        client.list(after="none")
    assert one.to_dict()["created_at"] == one.created_at.isoformat()


def test_an_update_counts_at_once(client, clock):
    ids = told(client)
    client.recall("tea")
    clock.pass_(minutes=1)
    changed = client.update(ids[1], content="Ben prefers mate.", valid_until="2026-04-01")
    assert (changed.content, changed.valid_until) == ("Ben prefers mate.", datetime(2026, 4, 1, tzinfo=UTC))
    assert client.recall("mate", 1)[0].text == "Ben prefers mate."
    assert "green tea" not in client.recall("green tea", 50).text()


@pytest.mark.drill
def test_an_update_of_tags_importance_and_metadata_shows_at_once_and_after_a_run(client, clock):
    ids = told(client, clock=clock, tags=["x"], metadata={"page": 3}, importance=0.4)
    client.consolidate(task="decay")  # types follow from what a run reads
    clock.pass_(minutes=1)
    changed = client.update(ids[1], tags=("drinks", "ben"), importance=0.9, metadata={"source": [1]})
    assert (changed.tags, changed.importance, changed.metadata) == (("drinks", "ben"), 0.9, {"source": [1]})
    assert (changed.content, changed.updated_at) == (OTHERS[1], clock())
    assert names(client.recall("Who lives where?", filters={"tags": "drinks"})) == [ids[1]]
    cleared = client.update(ids[2], tags=[])
    assert (cleared.tags, cleared.importance, cleared.metadata) == ((), 0.4, {"page": 3})
    client.flush()
    before = {one: client.get(one) for one in ids}
    clock.pass_(hours=1)
    client.consolidate(task="decay")
    assert {one: client.get(one) for one in ids} == before
    assert ids[1] not in names(client.recall("Who lives where?", filters={"tags": "x"}))


def test_a_lowest_score_bounds_an_answer(client):
    told(client)
    whole = client.recall("Where does Ana live?", 50)
    limit = whole[1].score
    bounded = client.recall("Where does Ana live?", 50, min_score=limit)
    assert names(bounded) == [one.memory_id for one in whole if one.score >= limit]
    assert 0 < len(bounded) < len(whole)
    assert len(client.recall("Where does Ana live?", 50, min_score=0)) == len(whole)


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        ("original", "The launch is on Monday.", "- [2026-03-01] Ana: The launch is on Monday."),
        ("original", "2026-03-01: the launch.", "- [2026-03-01] Ana: the launch."),
        ("original", "2026-03-09: the launch.", "- [2026-03-01] Ana: 2026-03-09: the launch."),
        ("original", "2026-03-01", "- [2026-03-01] Ana: 2026-03-01"),
        ("episode", "2026-01-08: Ana: I keep bees.", "- [2026-01-08] Ana: Ana: I keep bees."),
    ],
)
def test_a_line_has_each_date_once(client, kind, text, line):
    client.remember("Ana keeps bees.")
    (found,) = client.recall("bees")
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert replace(found, kind=kind, text=text, created_at=at, speaker="Ana").line() == line


def test_feedback_counts_at_once(client):
    (one,) = told(client, OTHERS[:1], confidence=0.8)
    assert client.feedback(one, helpful=False).confidence == pytest.approx(0.7)
    assert client.feedback(one, helpful=True).access_count == 1


@pytest.mark.drill
def test_protection_bars_what_a_policy_would_archive(tmp_path, clock):
    settings = homes.settings(tmp_path, archive_threshold=0.5, max_archived_share=1.0)
    with MemoryClient(tmp_path, settings=settings, clock=clock) as client:
        ids = told(client, clock=clock)
        assert client.protect(ids[0], "asked for").protected_reason == "asked for"
        clock.pass_(days=300)
        client.consolidate()
        stand = {one.memory_id: one.lifecycle for one in client.list(deep=True)}
        assert stand[ids[0]] == "active"
        assert stand[ids[1]] == "archived"
        assert ids[1] not in names(client.recall("green tea"))
        assert ids[1] in names(client.recall("green tea", deep=True))
        assert client.restore(ids[1]).lifecycle == "active"
        assert ids[1] in names(client.recall("green tea"))
        with pytest.raises(ValueError, match="nothing to restore"):
            client.restore(ids[1])
        client.consolidate()
        assert client.get(ids[1]).lifecycle == "active"


def test_protection_can_be_lifted(client):
    (one,) = told(client, OTHERS[:1])
    assert client.protect(one, "asked for").protected
    lifted = client.protect(one, protected=False)
    assert (lifted.protected, lifted.protected_reason) == (False, None)
    with pytest.raises(ValueError, match="leave it out to lift the protection"):
        client.protect(one, "no reason", protected=False)


def test_deep_recall_finds_what_ordinary_recall_lacks_and_counts_it(merged, client, clock, lake):
    copies, summary = merged
    ordinary, deep = client.recall("Postgres database orders", 50), client.recall("Postgres database", 50, deep=True)
    assert summary in names(ordinary)
    assert not set(copies) & set(names(ordinary))
    assert set(copies) <= set(names(deep))
    assert {one.memory_id for one in deep if one.deep} == set(copies)
    client.flush()
    lake.project()
    settings = homes.settings(lake.home)
    assert f"{metrics.PREFIX}recall_regret_total 2.0\n" in metrics.render(lake, settings, now=clock.at)


@pytest.mark.drill
def test_a_member_comes_back_alone_and_a_merge_as_a_whole(merged, client, unpublished):
    copies, summary = merged
    back = client.restore(copies[0])
    assert (back.lifecycle, back.superseded_by) == ("active", None)
    assert client.get(copies[1]).lifecycle == "archived"
    found = names(client.recall("Postgres database orders", 50))
    assert {copies[0], summary} <= set(found)
    assert copies[1] not in found
    client.undo(summary, cascade=True)
    assert {client.get(one).lifecycle for one in copies} == {"active"}
    with pytest.raises(UnknownMemory):
        client.get(summary)
    assert unpublished == ["the memory is restored", "the undo is committed"], "each change is published"


def test_a_run_can_be_undone(merged, client, clock, lake):
    copies, _ = merged
    clock.pass_(days=1)
    run = lake.ledger.runs()["run_id"][0]
    assert client.undo(run).height > 0
    assert {client.get(one).lifecycle for one in copies} == {"active"}
    assert set(copies) <= set(names(client.recall("Postgres database orders", 50)))


@pytest.mark.drill
def test_a_past_instant_shows_what_stood_then_and_a_later_run_takes_the_undo_as_given(merged, client, clock, lake):
    _, summary = merged
    before, stood = clock.pass_(days=1), states(lake.read("memories"))
    undone = clock.pass_(days=1)
    client.undo(summary, cascade=True)
    assert states_at(lake, before) == stood
    assert states_at(lake, undone) == states(lake.read("memories")) != stood
    homes.night(lake, as_of=before, run_id="again")
    assert states_at(lake, before) == states(lake.read("memories"))
    with duckdb.connect(str(rebuild.snapshot_at(lake, before)), read_only=True) as connection:
        shown = connection.execute("select memory_id, lifecycle, superseded_by from memories").fetchall()
    assert set(shown) == states(lake.read("memories"))


def states(memories):
    return set(memories.select("memory_id", "lifecycle", "superseded_by").iter_rows())


def states_at(lake, as_of):
    """Return the states of the memories at a past instant."""
    lake.project()
    return states(rebuild.past_state(lake, as_of).tables["memories"])


@pytest.mark.drill
def test_the_past_is_searched_as_it_was(merged, client, clock):
    copies, summary = merged
    merged_at = clock.at
    clock.pass_(days=1)
    client.update(copies[1], content="The orders service has moved to SQLite.")
    clock.pass_(days=1)
    client.remember("The orders service was shut down.")
    now = names(client.recall("orders service", 50))
    assert len(now) > len(names(client.recall("orders service", 50, as_of=NOON)))
    assert names(client.recall("orders service", 50, as_of=NOON - timedelta(days=1))) == []
    then = client.recall("orders service", 50, as_of=merged_at)
    assert summary in names(then)
    assert copies[1] not in names(then)
    assert then.as_of == merged_at
    before = client.recall("orders service", 50, as_of=merged_at - timedelta(hours=1))
    assert set(copies) <= set(names(before))
    assert client.get(copies[1], as_of=merged_at).content == COPIES[1]
    assert client.get(copies[1]).content == "The orders service has moved to SQLite."
    client.undo(summary, cascade=True)
    again = client.recall("orders service", 50, as_of=merged_at)
    assert names(again) == names(then), "what is undone held in the past"
    assert client.explain(copies[1], as_of=merged_at).memory["superseded_by"] == summary
    clock.pass_(days=1)
    assert summary not in names(client.recall("orders service", 50, as_of=clock.at - timedelta(hours=1)))


@pytest.mark.drill
def test_a_session_starts_with_core_memory_and_what_is_relevant(tmp_path, clock, lake):
    with MemoryClient(tmp_path, session_id="s1", clock=clock) as client:
        told(client, OTHERS[:3], category="semantic")
        told(client, ["I prefer tea without milk.", "My sister Rosa lives in Porto."])
        clock.pass_(days=1)
        client.consolidate()
        opening = client.session_start("green tea")
        assert "preferences" in [block.name for block in opening.blocks]
        assert opening.answer[0].text == OTHERS[1]
        assert opening.text().startswith("## ")
        assert opening.to_dict()["session_id"] == "s1"
        assert client.session_start(session_id="s2").answer is None
        client.end_session()
        client.end_session("s2")
        rows = lake.events().filter(pl.col("event_type").str.starts_with("session."))
        assert rows.select("event_type", "session_id").rows() == [
            ("session.started", "s1"),
            ("session.started", "s2"),
            ("session.ended", "s1"),
            ("session.ended", "s2"),
        ]


@pytest.mark.drill
def test_a_dry_run_says_what_would_be_done_and_writes_nothing(client, clock, lake):
    told(client, COPIES, clock=clock)
    before = lake.ledger.position()
    dry = client.consolidate(dry_run=True)
    assert dry.run_id is None
    assert dry.actions["supersede"] == 2
    assert lake.ledger.position() == before
    done = client.consolidate()
    assert done.run_id is not None
    assert done.actions == dry.actions
    assert done.plan["memory_id"].to_list() == dry.plan["memory_id"].to_list()
    assert dry.document()["plan"]


@pytest.mark.drill
def test_tasks_run_by_themselves(client, clock, lake):
    told(client, clock=clock)
    assert client.consolidate(lightweight=True).task == "lightweight"
    assert client.consolidate(task="decay").task == "decay"
    assert client.tick().task == "tick"
    assert lake.ledger.runs()["task"].sort().to_list() == ["decay", "lightweight", "tick"]


def test_explain_knows_the_memories(merged, client):
    copies, summary = merged
    assert client.explain(copies[0]).memory["superseded_by"] == summary
    assert client.explain(summary).members


def test_an_erased_memory_is_gone_at_once(merged, client, tmp_path, clock):
    copies, summary = merged
    with MemoryClient(tmp_path, clock=clock) as other:
        assert summary in names(other.recall("Postgres", 50))
        receipt = client.erase(copies[0], reason="asked for by Ana")
        assert receipt.lines()
        assert receipt.reason == "asked for by Ana"
        for one in (client, other):
            found = one.recall("Postgres orders database", 50, deep=True, record=False)
            assert copies[0] not in names(found)
            with pytest.raises(UnknownMemory):
                one.get(copies[0])
        assert client.erase(profile=True).lines()
        assert len(other.recall("Postgres tea Ana", 50, deep=True)) == 0


@pytest.mark.drill
def test_what_an_erasure_that_broke_off_left_is_hidden_until_it_is_done(
    merged, client, tmp_path, clock, lake, monkeypatch
):
    def found(of):
        return names(of.recall("Postgres orders database", 50, record=False))

    copies, summary = merged
    with monkeypatch.context() as broken:
        broken.setattr("memory_pipeline.erasure.erase._finish", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            client.erase(copies[0])
    assert pending_erasure(lake).erased == (copies[0],)
    assert not {copies[0], summary} & set(found(client))
    resume_erasure(lake)
    assert pending_erasure(lake) is None
    with MemoryClient(tmp_path, clock=clock) as other:
        assert found(client) == found(other)
    assert {copies[1], summary} & set(found(client))


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """A client of a store that no test changes, and the store."""
    home = tmp_path_factory.mktemp("unchanged")
    with MemoryClient(home, clock=Clock()) as client, Lake(home) as lake:
        told(client)
        client.flush()
        yield client, lake


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda client: client.remember(" "), "text is ' '"),
        (lambda client: client.remember("x", importance=2.0), "payload.importance is 2.0"),
        (lambda client: client.remember("x", memry_type="Insight"), "memory_type"),
        (lambda client: client.remember("x", occurred_at="2030-01-01"), "occurred_at"),
        (lambda client: client.remember_many(["fine", {"text": "x", "confidence": 7}]), r"rows\[1\].*confidence is 7"),
        (lambda client: client.remember_many([3]), r"rows\[0\]: it is 3"),
        (lambda client: client.append([{"event_type": "memory.strd"}]), r"rows\[0\].*event_type is 'memory.strd'"),
        (lambda client: client.append(["x"]), r"rows\[0\]: it is 'x'; give an event"),
        (
            lambda client: client.append(
                [{"event_type": "session.started", "session_id": "s", "profile_id": "of another"}]
            ),
            r"rows\[0\]: profile_id is 'of another', but this client serves",
        ),
        (lambda client: client.recall("  "), "query is '  '"),
        (lambda client: client.recall("a \ud83d"), "query is 'a .*half of a surrogate pair"),
        (lambda client: client.remember("a \ud83d"), "text is 'a .*surrogate"),
        (lambda client: client.recall("x", 0), "k is 0"),
        (lambda client: client.recall("x", token_budget=0), "token_budget is 0"),
        (lambda client: client.recall("x", ranking="best"), "best"),
        (lambda client: client.recall("x", min_score=2), "min_score is 2; give a number from 0 to 1"),
        (lambda client: client.recall("x", min_score=float("nan")), "min_score is nan; give a number from 0 to 1"),
        (lambda client: client.recall("x", min_score="0.5"), "min_score is '0.5'; give a number from 0 to 1"),
        (lambda client: client.recall("x", min_score=True), "min_score is True; give a number from 0 to 1"),
        (lambda client: client.update(client.list()[0].memory_id), "changes nothing"),
        (lambda client: client.update(client.list()[0].memory_id, importance=2), "importance is 2; give a number"),
        (lambda client: client.update(client.list()[0].memory_id, tags="a"), "tags is 'a'; give a list"),
        (lambda client: client.update(client.list()[0].memory_id, tags=[5]), r"tags\[0\] is 5; give a string"),
        (lambda client: client.update(client.list()[0].memory_id, metadata=[1]), "metadata is"),
        (lambda client: client.session_start(5), "query is 5; give a text that is not blank"),
        (lambda client: client.session_start(" ", session_id="s"), "query is ' '; give a text that is not blank"),
        (lambda client: client.recall("x", as_of="tomorrow"), "as_of is 'tomorrow'"),
        (lambda client: client.recall("x", as_of="2030-01-01"), "future"),
        (lambda client: client.recall("x", filters={"sesion_id": "s"}), "'session_id'"),
        (lambda client: client.recall("x", filters={"tags": []}), "filters.tags"),
        (lambda client: client.recall("x", filters={"since": 3}), "filters.since is 3"),
        (lambda client: client.recall("x", filters={"user_id": 3}), "filters.user_id is 3"),
        (lambda client: client.recall("x", filters=["s"]), "filters is"),
        (lambda client: client.recall("x", filters={"since": NOON, "until": NOON}), "filters.until"),
        (lambda client: client.list(limit=0), "limit is 0"),
        (lambda client: client.get("nobody"), "nobody"),
        (lambda client: client.update("nobody", content="x"), "nobody"),
        (lambda client: client.protect("nobody"), "nobody"),
        (lambda client: client.feedback("nobody", helpful=True), "nobody"),
        (lambda client: client.restore("nobody"), "not a memory of profile"),
        (lambda client: client.explain("nobody"), "nobody"),
        (lambda client: client.undo("nobody"), "nobody"),
        (lambda client: client.end_session(), "session_id is missing"),
        (lambda client: client.consolidate(task="dream"), "dream"),
        (lambda client: client.consolidate(task="decay", lightweight=True), "cannot be combined"),
        (lambda client: client.consolidate(scope="some"), "some"),
        (lambda client: client.erase(), "exactly one"),
        (lambda client: client.erase("m", profile=True), "exactly one"),
        (lambda client: client.erase("nobody"), "nobody"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(unchanged, call, said):
    client, lake = unchanged
    before = lake.ledger.position()
    with pytest.raises(ValueError, match=said):
        call(client)
    client.flush()
    assert lake.ledger.position() == before


def test_ids_are_checked_when_the_client_is_opened(tmp_path):
    with pytest.raises(ValueError, match="user_id is 7"):
        MemoryClient(tmp_path, user_id=7)
    with pytest.raises(ValueError, match="profile_id"):
        MemoryClient(tmp_path, profile_id=" ")


def test_an_empty_store_answers_nothing(client):
    assert len(client.recall("anything")) == 0
    assert client.recall("anything").text() == ""
    assert client.list() == []
    assert client.session_start().text() == ""


def test_a_closed_client_says_so(tmp_path):
    client = MemoryClient(tmp_path)
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.recall("x")


def test_memories_that_contradict_each_other_say_so(client, lake, clock):
    one, other = told(client, ("The meeting room is on floor two.", "The meeting room is on floor five."))
    assert client.recall("Where is the meeting room?", 2)[0].conflicts == ()
    link = {"target_id": other, "edge_type": "contradicts", "kind": "conflict"}
    said = {"event_type": "link.asserted", "memory_id": one, "payload": link}
    lake.ledger.append([parse(said, recorded_at=clock.at, origin="test")])

    def flagged():
        return {hit.memory_id: hit.conflicts for hit in client.recall("Where is the meeting room?", 2)}

    assert flagged() == {one: (other,), other: (one,)}
    clock.pass_(days=1)
    client.consolidate()
    assert flagged() == {one: (other,), other: (one,)}
    assert "contradicts" in client.recall("Where is the meeting room?", 2).text()


@pytest.mark.drill
def test_a_version_of_a_core_memory_block_names_one_text_even_after_an_undo(tmp_path, clock):
    (tmp_path / "memory_pipeline.toml").write_text('[policy]\npreset = "superlocal"\n', "utf-8")
    seen = {}
    with MemoryClient(tmp_path, clock=clock) as client:
        for text in ("Ana likes tea in the morning.", "Ana works in Zurich.", "Ana has a dog called Rex."):
            client.remember(text, category="semantic", confidence=0.9)
            clock.pass_(hours=1)
            run = client.consolidate()
            for block in client.session_start().blocks:
                assert seen.setdefault((block.name, block.version), block.content) == block.content
            if "Zurich" in text:
                client.undo(run.run_id)
    assert max(version for _, version in seen) == 3


def test_events_that_belong_together_are_written_whole_or_not_at_all(tmp_path):
    with MemoryClient(tmp_path, session_id="s") as client:
        old = client.remember("Ana lives in Porto.")
        ends = {"event_type": "memory.updated", "memory_id": old, "payload": {"valid_until": "2026-01-01"}}
        new = {"event_type": "memory.stored", "memory_id": "new", "payload": {"content": "Ana lives in Lisbon."}}
        with pytest.raises(ValueError, match=r"rows\[1\]"):
            client.append([ends, new | {"memory_id": old}])
        assert client.get(old).valid_until is None
        client.append([ends, new])
        assert client.get(old).valid_until == datetime(2026, 1, 1, tzinfo=UTC)
        assert client.get("new").session_id == "s"
        assert client.core_memory() == client.session_start().blocks


def test_changes_made_of_what_was_read_lose_none_of_another_writer(tmp_path):
    def count(memory):
        def next_one():
            tag = str(int(memory.get("n").tags[0]) + 1)
            return [{"event_type": "memory.updated", "memory_id": "n", "payload": {"tags": [tag]}}]

        for _ in range(5):
            memory.append(next_one)

    with MemoryClient(tmp_path) as one, MemoryClient(tmp_path) as other:
        one.remember("A number is counted.", memory_id="n", tags=["0"])
        with ThreadPoolExecutor() as threads:
            list(threads.map(count, (one, one, other)))
        assert one.get("n").tags == ("15",)
