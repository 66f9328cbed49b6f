"""What a profile keeps is not made again while its memories stay the same; its tables are a rebuild's all the same."""

import re
from dataclasses import replace
from datetime import timedelta

import homes
import polars as pl
import pytest
from encoders import encoder

from memory_pipeline.consolidation import pipeline, similarity
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.state import projection
from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, inputs, rebuild, undo
from memory_pipeline.settings import program
from memory_pipeline.text.compare.judges import JUDGES
from memory_pipeline.text.score import core_facts

QUIET, BUSY = "p", "q"
SAID = (
    "The kiln is fired on Mondays.",
    "My sister Lea lives in Rostock.",
    "Lea has moved to Kiel, she no longer lives in Rostock.",
    "The night bus leaves at nine from the harbour.",
    "The night bus leaves at ten from the harbour.",
    "Order 17 of the blue tiles was shipped from the warehouse.",
    "Order 18 of the blue tiles was shipped from the warehouse.",
    "I am allergic to peanuts.",
    "The glaze is kept in the dry cellar of the pottery.",
    "The glaze is kept in the dry cellar of the pottery.",
    "The glaze is kept in the dry cellar of the pottery!",
)


class Counting:
    """The default judge; it notes whose memories it read."""

    def __init__(self):
        self.default, self.read = JUDGES["reader"], []

    def judge(self, reading, older, newer, *, closeness, least):
        self.read += reading.memories["profile_id"].unique().sort().to_list()
        return self.default.judge(reading, older, newer, closeness=closeness, least=least)


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
    monkeypatch.setitem(JUDGES, "reader", counting)
    return counting


class Work:
    """What a night makes that could have been kept."""

    def __init__(self):
        self.folded, self.grouped, self.compared, self.read = [], [], 0, []

    def clear(self):
        self.__init__()

    @property
    def none(self):
        return (self.folded, self.grouped, self.compared, self.read) == ([], [], 0, [])


@pytest.fixture
def work(monkeypatch):
    """Notes who is folded, who is grouped by which method, how many vectors are compared, and which texts are read."""
    noted = Work()

    def noting(name, strategy):
        def find(inputs):
            rows = strategy.reads(inputs).rows
            noted.grouped += [(name, owner) for owner in inputs.points["profile_id"][rows].unique().sort()]
            return strategy.find(inputs)

        return replace(strategy, find=find)

    def join(vectors, *arguments, **options):
        noted.compared += len(vectors)
        return joined(vectors, *arguments, **options)

    def sentences(texts, speakers=None):
        noted.read += texts.to_list()
        return read(texts, speakers)

    def fold(events, decisions):
        noted.folded += events["profile_id"].unique().sort().to_list()
        return folded(events, decisions)

    joined, read, folded = similarity.threshold_join, core_facts.read, projection.fold
    for name, strategy in clustering.STRATEGIES.items():
        if strategy.reads:
            monkeypatch.setitem(clustering.STRATEGIES, name, noting(name, strategy))
    monkeypatch.setattr(similarity, "threshold_join", join)
    monkeypatch.setattr(core_facts, "read", sentences)
    monkeypatch.setattr(projection, "fold", fold)
    return noted


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


@pytest.mark.drill
def test_only_a_profile_that_changed_is_judged(lake, judge):
    assert lake.read("judgements")["pairs"].list.len().min() > 0
    consolidate.preview(
        lake, homes.settings(lake.home), inputs.select_profiles(lake, homes.settings(lake.home), as_of=night(2))
    )
    assert judge.read == [], "nor in a preview"
    import_events(lake.ledger, [stored(BUSY, "late", "The kiln is fired on Fridays.", 2)])
    assert judged(lake, judge, 2) == [BUSY]
    assert_rebuilt(lake, BUSY)


@pytest.mark.drill
def test_every_kept_table_holds_something_and_says_what_it_was_made_from(lake):
    assert lake.read("comparisons")["pairs"].list.len().min() > 0
    sentences = lake.read("core_sentences").explode("texts").unnest("texts")["sentences"].list.len()
    assert sentences.sum() > 0
    assert sentences.min() == 0, "a text without any is not read again either"
    groupings = lake.read("groupings")
    assert groupings.filter(pl.col("refusals").list.len() > 0)["profile_id"].unique().sort().to_list() == [QUIET, BUSY]
    assert groupings.filter(pl.col("groups").list.len() > 0)["profile_id"].unique().sort().to_list() == [QUIET, BUSY]
    for name in pipeline.REUSED:
        assert lake.read(name)["read"].str.len_chars().min() > 0, name


@pytest.mark.drill
def test_only_new_texts_are_read_and_only_a_profile_that_changed_is_folded_compared_and_grouped(lake, judge, work):
    assert judged(lake, judge, 2) == []
    assert work.none, vars(work)
    late = "The kiln is fired on Fridays."
    import_events(lake.ledger, [stored(BUSY, "late", late, 2)])
    judged(lake, judge, 3)
    assert work.folded == [BUSY]
    assert {owner for _, owner in work.grouped} == {BUSY}
    assert {method for method, _ in work.grouped} == {"near_duplicates", "similarity_components"}
    assert late in work.read
    assert 0 < work.compared <= 4 * (len(SAID) + 1)
    assert_rebuilt(lake)


@pytest.mark.drill
def test_a_commit_between_two_reads_of_a_preview_changes_nothing_of_it(lake, monkeypatch):
    import_events(lake.ledger, [stored(BUSY, "late", "Nobody has seen the grey heron.", 2)])
    lake.project()
    settings = homes.settings(lake.home)
    profiles = inputs.select_profiles(lake, settings, as_of=night(3))
    made = consolidate.preview(lake, settings, profiles)["memories"]
    read, waiting = Lake.read, ["memories"]

    def meanwhile(own, table, **options):
        rows = read(own, table, **options)
        if table in waiting:
            waiting.clear()
            with Lake(lake.home) as other:
                homes.night(other, as_of=night(2), run_id="meanwhile")
            assert lake.ledger.runs().filter(run_id="meanwhile")["decisions"].sum() == 0, "else no state is reused"
        return rows

    monkeypatch.setattr(Lake, "read", meanwhile)
    assert consolidate.preview(lake, settings, profiles)["memories"].equals(made)
    assert not waiting


@pytest.mark.drill
def test_a_run_about_a_part_of_a_profile_keeps_no_groups_and_the_next_one_makes_them(lake, judge, work):
    told = {
        "event_type": "memory.stored",
        "memory_id": "own",
        "profile_id": BUSY,
        "agent_id": "potter",
        "occurred_at": homes.START + timedelta(days=1),
        "payload": {"content": "The kiln is fired on Sundays."},
    }
    import_events(lake.ledger, [parse(told, recorded_at=homes.RECORDED, origin="test", future=None)])
    judged(lake, judge, 2, profiles=[BUSY], scope="agent:potter")
    assert lake.read("groupings", profiles=[BUSY]).is_empty()
    assert_rebuilt(lake, BUSY)
    work.clear()
    judged(lake, judge, 3)
    assert {owner for _, owner in work.grouped} == {BUSY}
    assert_rebuilt(lake)


@pytest.mark.drill
def test_another_program_judges_again_even_if_nothing_is_decided(lake, judge, monkeypatch):
    monkeypatch.setattr(program, "digest", lambda: "the next version")
    before = {name: lake.read(name) for name in pipeline.REUSED}
    assert judged(lake, judge, 2) == [QUIET, BUSY]
    for name, rows in before.items():
        after = lake.read(name)
        assert not set(after["read"]) & set(rows["read"]), f"{name}: the next night finds them"
        by = ["read", *({"made_by"} & {*rows.columns})]
        assert after.drop(by).equals(rows.drop(by))


@pytest.mark.drill
def test_after_changes_of_every_kind_the_tables_are_those_of_a_rebuild(lake, judge, work, tmp_path):
    import_events(lake.ledger, [stored(BUSY, "late", "The kiln is fired on Fridays.", 2)])
    assert judged(lake, judge, 2) == [BUSY]
    judged(lake, judge, 3)
    work.clear()
    assert judged(lake, judge, 4) == []
    assert work.none, vars(work)
    assert_rebuilt(lake)
    undo.undo(lake, "night 2", cascade=True, now=homes.RECORDED)
    assert_rebuilt(lake)
    erase_memories(lake, profile_id=BUSY, memory_ids=["late"], now=homes.RECORDED)
    for name in pipeline.FROM_LAST_RUN:
        assert "Fridays" not in str(lake.read(name).rows()), name
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
    work.clear()
    assert judged(lake, judge, 11, policy=moved) == []
    assert work.none, vars(work)
    assert_rebuilt(lake)
