"""A profile whose memories have not changed is not judged again, and its tables are those of a rebuild all the same."""

import re
from datetime import timedelta

import homes
import pytest
from encoders import encoder

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.interop.importing import import_events
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, inputs, rebuild, undo
from memory_pipeline.settings import program
from memory_pipeline.text.compare.judges import JUDGES

QUIET, BUSY = "p", "q"
SAID = (
    "The kiln is fired on Mondays.",
    "My sister Lea lives in Rostock.",
    "Lea has moved to Kiel, she no longer lives in Rostock.",
    "The night bus leaves at nine from the harbour.",
    "The night bus leaves at ten from the harbour.",
)


class Counting:
    """The judge by rules; it notes whose memories it read."""

    def __init__(self):
        self.rules, self.read = JUDGES["rules"], []

    def judge(self, reading, older, newer, *, least):
        self.read += reading.memories["profile_id"].unique().sort().to_list()
        return self.rules.judge(reading, older, newer, least=least)


def stored(profile_id, name, content, day):
    event = {
        "event_type": "memory.stored",
        "memory_id": name,
        "profile_id": profile_id,
        "occurred_at": homes.START + timedelta(days=day),
        "payload": {"content": content},
    }
    return parse(event, recorded_at=homes.RECORDED, origin="test", future=None)


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """A store of two people after two nights; in the second nothing was left to decide."""
    home = tmp_path_factory.mktemp("settled")
    told = [stored(owner, f"m{day}", text, day) for owner in (QUIET, BUSY) for day, text in enumerate(SAID)]
    with homes.filled(home, told) as lake:
        for number in range(2):
            homes.night(lake, as_of=night(number), run_id=f"night {number}")
    return home


@pytest.fixture
def lake(settled, tmp_path):
    with homes.copied(settled, tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def judge(monkeypatch):
    counting = Counting()
    monkeypatch.setitem(JUDGES, "rules", counting)
    return counting


def night(number):
    return homes.NIGHT + timedelta(days=number)


def judged(lake, judge, number, **options):
    """Whose memories a night judged."""
    judge.read.clear()
    homes.night(lake, as_of=night(number), run_id=f"night {number}", **options)
    return list(judge.read)


def assert_rebuilt(lake, *profiles):
    """The published tables are those made from event zero, where everything is judged."""
    for profile_id in profiles or (QUIET, BUSY):
        for name, rows in rebuild.rebuild(lake, profile_id).items():
            assert rows.equals(lake.read(name, profiles=[profile_id])), name


def test_only_a_profile_that_changed_is_judged(lake, judge):
    assert lake.read("judgements")["pairs"].list.len().min() > 0
    consolidate.preview(
        lake, homes.settings(lake.home), inputs.select_profiles(lake, homes.settings(lake.home), as_of=night(2))
    )
    assert judge.read == [], "nor in a preview"
    import_events(lake.ledger, [stored(BUSY, "late", "The kiln is fired on Fridays.", 2)])
    assert judged(lake, judge, 2) == [BUSY]
    assert_rebuilt(lake, BUSY)


def test_another_program_judges_again_even_if_nothing_is_decided(lake, judge, monkeypatch):
    monkeypatch.setattr(program, "digest", lambda: "the next version")
    before = lake.read("judgements")
    assert judged(lake, judge, 2) == [QUIET, BUSY]
    after = lake.read("judgements")
    assert not set(after["read"]) & set(before["read"]), "the next night finds them"
    assert after.drop("read").equals(before.drop("read"))


@pytest.mark.drill
def test_after_changes_of_every_kind_the_tables_are_those_of_a_rebuild(lake, judge, tmp_path):
    import_events(lake.ledger, [stored(BUSY, "late", "The kiln is fired on Fridays.", 2)])
    assert judged(lake, judge, 2) == [BUSY]
    judged(lake, judge, 3)
    assert judged(lake, judge, 4) == []
    assert_rebuilt(lake)
    undo.undo(lake, "night 2", cascade=True, now=homes.RECORDED)
    assert_rebuilt(lake)
    erase_memories(lake, profile_id=BUSY, memory_ids=["late"], now=homes.RECORDED)
    assert "Fridays" not in str(lake.read("judgements").rows())
    assert QUIET not in judged(lake, judge, 5)
    assert_rebuilt(lake)
    judged(lake, judge, 6)
    stricter = {"conflict_confidence": 0.9}
    assert judged(lake, judge, 7, policy=homes.settings(lake.home, **stricter)) == [QUIET, BUSY]
    assert_rebuilt(lake)
    without_blocks = homes.settings(lake.home, **stricter, core_blocks=False)
    assert judged(lake, judge, 8, policy=without_blocks) == [], "the judge reads no such setting"
    words = sorted({word for text in SAID for word in re.findall(r"\w+", text)})
    other = f"local:{encoder(tmp_path / 'tiny', words=words)}"
    moved = homes.settings(lake.home, **stricter, core_blocks=False, embedder=other)
    judged(lake, judge, 9, policy=moved)
    assert_rebuilt(lake)
    judged(lake, judge, 10, policy=moved)
    assert judged(lake, judge, 11, policy=moved) == []
    assert_rebuilt(lake)
