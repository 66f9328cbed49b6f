"""A memory that took the place of near duplicates is found, listed and shown as they were."""

import shutil
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
import sampling

from memory_pipeline.lake import snapshot
from memory_pipeline.recall.client.memory_client import MemoryClient

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
FIRST, LAST = datetime(2026, 6, 10, 10, tzinfo=UTC), datetime(2026, 6, 10, 18, tzinfo=UTC)
WHOSE = {"user_id": "ana", "agent_id": "g1", "speaker": "Ana"}
FILTERS = [
    {"speaker": "ana"},
    {"session_id": "s1"},
    {"session_id": "s2"},
    {"user_id": "ana"},
    {"agent_id": "g1"},
    {"tags": ["boats"]},
    {"tags": "fun"},
    {"until": "2026-07-01"},
    {"until": "2026-06-10T12:00:00Z"},
    {"since": "2026-06-10", "user_id": "ana", "session_id": "s1"},
]
OTHERS = [{"speaker": "Ben"}, {"session_id": "x1"}, {"user_id": "ben"}, {"tags": ["a"]}, {"since": "2026-07-01"}]
ASKED = ["What did Ana buy in June 2026?", "When did Ana buy the kayak?", "What did Ana buy?"]


class Clock:
    at = NOON

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


def told(home, clock):
    client = MemoryClient(home, profile_id="u", clock=clock)
    said = [
        ("s1", FIRST, "Yesterday I bought a yellow kayak in Bergen.", ["boats"]),
        ("s2", LAST, "I bought a yellow kayak in Bergen yesterday.", ["boats", "fun"]),
    ]
    said += [
        (f"x{day}", NOON - timedelta(days=9 - day), f"The weather on day {day} was nice in the garden.", [])
        for day in range(8)
    ]
    client.remember_many(
        {"text": text, "session_id": session, "occurred_at": at, "tags": tags, **WHOSE}
        for session, at, text, tags in said
    )
    return client


@pytest.fixture(scope="module")
def consolidated(tmp_path_factory):
    """A store after a run, and where the kayaks ranked before it."""
    home = tmp_path_factory.mktemp("later")
    with told(home, Clock()) as opened:
        before = ranks(opened)
        opened.consolidate()
    return home, before


@pytest.fixture(scope="module")
def home(consolidated):
    return consolidated[0]


@pytest.fixture(scope="module")
def later(home):
    with MemoryClient(home, profile_id="u", clock=Clock()) as opened:
        yield opened


def kayaks(found):
    return [one for one in found if "yellow kayak" in one.content]


def the_one(client):
    """The one memory that stands for both."""
    (one,) = kayaks(client.list())
    return one


def ranks(client):
    return [kayaks(client.recall(question, record=False))[0].rank for question in ASKED]


def test_it_ranks_where_its_members_ranked(consolidated, later):
    assert ranks(later) == consolidated[1] == [1, 1, 1]


@pytest.mark.parametrize("filters", FILTERS)
def test_a_filter_admits_it_when_it_admits_a_member(later, filters):
    own = [the_one(later).memory_id]
    assert [one.memory_id for one in kayaks(later.recall("yellow kayak", filters=filters, record=False))] == own
    assert [one.memory_id for one in kayaks(later.list(filters))] == own


@pytest.mark.parametrize("filters", OTHERS)
def test_a_filter_that_admits_no_member_does_not_admit_it(later, filters):
    assert kayaks(later.recall("yellow kayak", filters=filters, deep=True, record=False)) == []
    assert kayaks(later.list(filters, deep=True)) == []


def test_it_is_shown_as_the_newest_of_them(later):
    one = the_one(later)
    (found,) = kayaks(later.recall("yellow kayak", record=False))
    for shown in (one, found, later.get(one.memory_id)):
        assert (shown.speaker, shown.session_id, shown.created_at) == ("Ana", "s2", LAST)
    assert (one.user_id, one.agent_id, one.tags, one.kind) == ("ana", "g1", ("boats", "fun"), "compression")
    assert found.line().startswith("- [2026-06-10] Ana: ")
    assert found.line().count("Ana") == 1
    assert "said by Ana" in later.explain(one.memory_id).text()
    assert later.list()[-1] == one, "newest first, by what was said"


def test_the_tables_say_so_too(later, home):
    one = the_one(later)
    with duckdb.connect(str(snapshot.newest(home)), read_only=True) as database:
        query = "SELECT speaker, user_id, session_id, said_at, created_at FROM memories WHERE memory_id = ?"
        (row,) = database.execute(query, [one.memory_id]).fetchall()
    assert row[:3] == ("Ana", "ana", "s2")
    assert [at.astimezone(UTC) for at in row[3:]] == [LAST, NOON]


@pytest.fixture
def client(home, tmp_path, clock):
    shutil.copytree(home, tmp_path / "copy", symlinks=True)
    with MemoryClient(tmp_path / "copy", profile_id="u", clock=clock) as opened:
        yield opened


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_an_undo_and_the_past_know_the_members_alone(client, clock):
    one = the_one(client)
    clock.at += timedelta(hours=1)
    past = kayaks(client.recall("yellow kayak", as_of=NOON - timedelta(hours=1), filters={"session_id": "s1"}))
    assert [found.created_at for found in past] == [FIRST]
    now = kayaks(client.recall("yellow kayak", as_of=clock.at, filters={"session_id": "s1"}, record=False))
    assert [(found.memory_id, found.created_at) for found in now] == [(one.memory_id, LAST)]
    client.undo(one.memory_id, cascade=True)
    assert sorted(found.session_id for found in kayaks(client.list())) == ["s1", "s2"]
    assert kayaks(client.recall("yellow kayak", filters={"session_id": "s1"}))[0].created_at == FIRST


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_what_is_erased_of_it_is_forgotten(tmp_path, clock):
    """The summary is made anew of what is left: nothing tells of the newest one's session, time or tags."""
    text = "I keep the spare key of the boat house under the blue flower pot"
    with MemoryClient(tmp_path, clock=clock) as client:
        ids = [
            client.remember(
                f"{text}{mark}", session_id=f"s{index}", tags=[tag], occurred_at=FIRST + timedelta(index), **WHOSE
            )
            for index, (mark, tag) in enumerate([(".", "home"), ("!", "home"), ("", "secret")])
        ]
        client.consolidate()
        (one,) = client.list()
        assert (one.session_id, one.tags) == ("s2", ("home", "secret"))
        client.erase(ids[2])
        (left,) = client.list()
        assert (left.memory_id, left.session_id, left.tags) == (one.memory_id, "s1", ("home",))
        assert (left.speaker, left.created_at) == ("Ana", FIRST + timedelta(1))
        assert [found.memory_id for found in client.list({"session_id": "s0"})] == [one.memory_id]
        assert client.list({"session_id": "s2"}) == []


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_two_people_keep_their_own_and_core_memory_says_who_said_it(tmp_path, clock):
    with MemoryClient(tmp_path, clock=clock) as client:
        for user in ("ann", "bob"):
            client.remember("I parked the car on level 4 of the garage.", user_id=user)
        for mark in (".", "!"):
            client.remember(f"I am allergic to shellfish{mark}", speaker="Ana", category="semantic")
        assert client.consolidate().actions["supersede"] == 2
        for user in ("ann", "bob"):
            own = {"user_id": user}
            assert [one.user_id for one in client.list(own)] == [user]
            assert len(client.recall("Where is the car parked?", filters=own)) == 1
        (block,) = client.session_start().blocks
        assert block.content == f"Ana: I am allergic to shellfish. ({clock.at:%Y-%m-%d})"


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_a_newer_memory_ends_what_was_merged_before(tmp_path, clock):
    with MemoryClient(tmp_path, clock=clock) as client:
        for hours, text in enumerate(("The rent of the studio is 900 euros.", "The rent of the studio is 900 euros!")):
            client.remember(text, speaker="Ana", session_id=f"s{hours}", occurred_at=FIRST + timedelta(hours=hours))
        assert client.consolidate().actions["supersede"] == 2
        newer = client.remember(
            "The rent of the studio is now 950 euros.", speaker="Ana", session_id="s9", occurred_at=NOON
        )
        clock.at += timedelta(days=1)
        assert client.consolidate().actions["close"] == 1
        first, second = client.recall("How much is the rent of the studio?", k=2)
    assert (first.memory_id, first.current) == (newer, True)
    assert (second.kind, second.current, second.closed_by) == ("compression", False, newer)


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
@pytest.mark.parametrize("apart", sampling.first({"days": 1}, {"agents": True}))
def test_equal_texts_with_a_number_of_two_days_or_agents_stay_two(tmp_path, clock, apart):
    texts = (
        "Weight this morning: 71.2 kg.",
        "Paid 18.90 for lunch.",
        "The backup job of the warehouse system wrote 4,120 files to the second disk, and nobody had to restart it.",
    )
    for index in range(2):
        with MemoryClient(tmp_path, clock=clock, agent_id=f"agent {index}" if "agents" in apart else None) as client:
            at = FIRST + timedelta(days=index * apart.get("days", 0), minutes=index)
            client.remember_many({"text": text, "occurred_at": at} for text in texts)
    with MemoryClient(tmp_path, clock=clock) as client:
        assert "supersede" not in client.consolidate().actions
        assert len(client.list()) == 2 * len(texts)


@pytest.mark.drill
@pytest.mark.usefixtures("unpublished")
def test_merged_copies_are_erased_by_the_id_that_recall_shows(tmp_path, clock):
    with MemoryClient(tmp_path, clock=clock) as client:
        copies = [client.remember(f"The till of the shop is by the door{mark}", speaker="Ana") for mark in (".", "!")]
        other = client.remember("The car is parked on level two.", speaker="Ana")
        assert client.consolidate().actions["supersede"] == 2
        shown = client.recall("Where is the till of the shop?")[0].memory_id
        assert shown not in copies
        assert client.erase(shown).erased == tuple(sorted(copies))
        assert [one.memory_id for one in client.list()] == [other]
        assert "till" not in client.recall("Where is the till of the shop?").text()
