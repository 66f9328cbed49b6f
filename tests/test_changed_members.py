"""A summary says only what its members say: it goes when one of them changes or ends, and is made anew of the rest."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_pipeline.consolidation.groups.strategies import STRATEGIES, SUCCESSORS
from memory_pipeline.consolidation.state import derived_ids
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.runs import rebuild
from memory_pipeline.settings import Policy, Settings

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ENDED = NOON - timedelta(days=1)
KAYAK, ALSO_KAYAK = "I keep a yellow kayak in Bergen.", "In Bergen I keep a yellow kayak."
PIANO, ALSO_PIANO = "Ana teaches piano in Lyon on Tuesdays.", "On Tuesdays Ana teaches piano in Lyon."
OTHER = "I keep a red kayak in Oslo."


class Clock:
    at = NOON

    def __call__(self):
        return self.at


@pytest.fixture(scope="module")
def clock():
    return Clock()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("summaries")


@pytest.fixture(scope="module")
def client(home, clock):
    """A client of a store with two merges and a summary beside its members."""
    texts = [KAYAK, ALSO_KAYAK, PIANO, ALSO_PIANO]
    texts += [f"The weather on day {day} was nice in the garden." for day in range(8)]
    settings = Settings(home=home, policy=Policy(summaries="all"))
    with MemoryClient(home, profile_id="u", settings=settings, clock=clock) as client:
        client.remember_many(
            {"text": text, "occurred_at": NOON - timedelta(days=30 - day)} for day, text in enumerate(texts)
        )
        client.consolidate()
        clock.at += timedelta(hours=1)
        yield client


def shown(client, word, **options):
    found = client.recall(word, record=False, **options)
    return {hit.content: hit.kind for hit in found if word in hit.content}


def of_kind(client, kind, word):
    (one,) = (memory for memory in client.list() if memory.kind == kind and word in memory.content)
    return one


@pytest.mark.drill
def test_what_a_member_says_now_holds_at_once_and_after_the_next_run(client, clock, home):
    kayak, piano = (of_kind(client, "compression", word) for word in ("kayak", "piano"))
    weather = of_kind(client, "meta_pattern", "weather")
    assert shown(client, "kayak") == {kayak.content: "compression"}
    changed, kept = (client.get(name) for name in kayak.members)

    client.update(changed.memory_id, content=OTHER, tags=["boats"])
    own = {OTHER: "original", kept.content: "original"}
    assert shown(client, "kayak") == own
    client.update(changed.memory_id, content=changed.content)
    assert shown(client, "kayak") == {kayak.content: "compression"}, "what it was made of is said again"
    client.update(changed.memory_id, content=OTHER)

    client.update(piano.members[0], valid_until=ENDED)
    assert shown(client, "piano") == {PIANO: "original", ALSO_PIANO: "original"}
    client.update(piano.members[1], valid_until=ENDED)

    client.update(weather.members[0], importance=0.9)
    assert of_kind(client, "meta_pattern", "weather") == weather
    client.update(weather.members[0], content="The weather on day 0 was awful in the garden.")
    assert set(shown(client, "weather").values()) == {"original"}

    clock.at += timedelta(hours=1)
    client.consolidate()
    assert shown(client, "kayak") == own
    assert f"{kayak.content} (archived)" in client.recall("kayak", deep=True, record=False).text()
    assert "One of those it stands for says something else now." in client.explain(kayak.memory_id).text()
    assert "awful" in of_kind(client, "meta_pattern", "weather").content
    again = of_kind(client, "compression", "piano")
    assert (again.memory_id, again.valid_until) == (piano.memory_id, ENDED)

    with Lake(home) as lake:
        assert rebuild.rebuild(lake, "u")["memories"].equals(lake.read("memories"))
    client.undo(piano.memory_id, cascade=True)
    assert shown(client, "piano") == {PIANO: "original", ALSO_PIANO: "original"}


def test_the_ids_of_summaries_know_every_method():
    assert {derived_ids.METHODS[one.kind] for one in STRATEGIES.values()} == set(STRATEGIES)
    assert set(derived_ids.SUPERSEDING) == SUCCESSORS
