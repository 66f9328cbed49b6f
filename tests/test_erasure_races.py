"""What others do while an erasure goes on: they publish nothing of it, and it breaks none of them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import commands
import homes
import in_place
import polars as pl
import pytest
import sampling
from leftovers import found

from memory_pipeline.erasure.erase import erase_memories, resume_erasure
from memory_pipeline.erasure.survivors import remove_survivors, survivors
from memory_pipeline.lake import backup, compaction, files, publishing, snapshot, tables
from memory_pipeline.lake.tables import Conflict, Lake, LakeError
from memory_pipeline.ledger import redaction
from memory_pipeline.ledger.event import Event, parse
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.runs import consolidate, inputs, undo
from memory_pipeline.settings import load

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WORDS = ("zwirblquax", "about her knee")
TEXTS = {
    "a": "Ana met Doctor Zwirblquax in Lyon about her knee",
    "b": "Ana met Doctor Zwirblquax in Lyon about her knee.",
    "t": "Bo likes green tea in the morning",
    "u": "Bo likes green tea in the morning.",
}
OTHERS = {"r": "Rowing starts at seven on Mondays", "s": "Rowing starts at seven on Mondays!"}


def stored(profile_id: str, memory_id: str, content: str, *, days: float = 30) -> Event:
    raw = {"event_type": "memory.stored", "event_id": f"{profile_id} {memory_id}", "profile_id": profile_id}
    payload = {"memory_id": memory_id, "payload": {"content": content}}
    return parse(raw | payload, recorded_at=NOW - timedelta(days=days), origin="test")


def remembered(home: Path) -> Lake:
    lake, told = Lake(home), {"p": TEXTS, "q": OTHERS}
    lake.ledger.append([stored(name, key, text) for name, texts in told.items() for key, text in texts.items()])
    return lake


@pytest.fixture
def lake(tmp_path: Path):
    with remembered(tmp_path / "home") as opened:
        yield opened


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store after a run."""
    home = tmp_path_factory.mktemp("ran") / "home"
    with remembered(home) as lake:
        consolidated(lake)
    return home


@pytest.fixture
def after(ran: Path, tmp_path: Path):
    with homes.copied(ran, tmp_path / "after") as opened:
        yield opened


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch):
    """Do something once, in the middle of what another does: when it first writes a file of a table, or reads any."""

    def meanwhile(act: Callable[[], object], *, writes: str = "", reads: bool = False) -> None:
        waiting = [act]
        write, collect = files.write, files.collect

        def written(store, table_name, frame):
            if table_name == writes and waiting:
                waiting.pop()()
            return write(store, table_name, frame)

        def collected(*given, **named):
            if reads and waiting:
                waiting.pop()()
            return collect(*given, **named)

        monkeypatch.setattr(files, "write", written)
        monkeypatch.setattr(files, "collect", collected)

    return meanwhile


def erase(lake: Lake) -> None:
    with Lake(lake.home) as other:
        erase_memories(other, profile_id="p", memory_ids=["a", "b"], now=NOW)


def consolidated(lake: Lake, *, days: float = 5):
    settings = load(lake.home, environment={})
    profiles = inputs.select_profiles(lake, settings, as_of=NOW - timedelta(days=days))
    return consolidate.consolidate(lake, settings, profiles, run_id=f"run{days}")


def nothing_is_left(lake: Lake) -> None:
    assert lake.verify().is_empty()
    in_place.same(lake)
    assert resume_erasure(lake) is None
    lake.close()
    assert found(lake.home, *WORDS) == []


def test_a_projection_under_way_publishes_no_erased_words(lake, once):
    once(lambda: erase(lake), writes="events")
    lake.project()
    assert lake.read("events").filter(memory_id="a").height == 2, "what was said, and that it was erased"
    nothing_is_left(lake)


@pytest.mark.drill
def test_keywords_of_a_text_that_is_erased_meanwhile_are_not_kept(lake, once):
    settings = load(lake.home, environment={})
    profiles = inputs.select_profiles(lake, settings, as_of=NOW)
    made = consolidate.preview(lake, settings, profiles)["enrichment"]
    once(lambda: erase(lake), writes="enrichment")
    assert lake.append("enrichment", made, since=profiles["seq"][0]) == len(OTHERS)
    nothing_is_left(lake)


@pytest.mark.drill
@pytest.mark.parametrize("moment", sampling.first("memories", "events", "enrichment", "vectors", "scored_memories"))
def test_a_run_over_all_profiles_goes_on_without_what_is_erased(lake, once, moment):
    once(lambda: erase(lake), writes=moment)
    consolidated(lake, days=-1)
    assert lake.ledger.runs()["profile_id"].to_list() == ["p", "q"]
    assert lake.read("memories", profiles=["q"]).filter(kind="original").height == len(OTHERS)
    assert lake.read("memories", profiles=["p"]).filter(lifecycle="erased")["memory_id"].to_list() == ["a", "b"]
    nothing_is_left(lake)


@pytest.mark.drill
def test_compaction_under_way_moves_no_erased_words(lake, once):
    lake.project()
    once(lambda: erase(lake), writes="payloads")
    compaction.compact(lake.ledger, lake.store, before=NOW)
    compaction.archive(lake.ledger, lake.store, before=NOW)
    nothing_is_left(lake)


@pytest.mark.drill
def test_files_that_are_merged_during_an_erasure_are_redacted_once(lake, once, monkeypatch):
    monkeypatch.setattr(tables, "PROJECTED_AT_ONCE", 2)
    lake.project()
    assert len(lake.keys("events")) == 3
    monkeypatch.setattr(publishing, "MERGE_FILES", 2)
    once(lambda: publishing.merge_small(lake.ledger, lake.store, table=tables.TABLES["events"]), writes="events")
    erase(lake)
    seqs = lake.read("events")["seq"].to_list()
    assert len(seqs) == len(set(seqs))
    nothing_is_left(lake)


@pytest.mark.drill
@pytest.mark.parametrize("name", sampling.first("events", "memories"))
def test_a_reader_whose_files_an_erasure_replaces_reads_again(after, once, name):
    after.project()
    compaction.compact(after.ledger, after.store, before=NOW - timedelta(days=20))
    whole = after.read(name, profiles=["q"])
    position = after.ledger.position()
    once(lambda: erase(after), reads=True)
    assert after.read(name, profiles=["q"]).equals(whole)
    assert len(after.ledger.read(until=position)) == position


@pytest.mark.drill
def test_staged_tables_lose_the_profile_and_a_run_that_uses_earlier_tables_of_another_survives(after):
    whole = after.read("memories")
    after.stage("live", "memories", whole)
    settings = load(after.home, environment={})
    profiles = inputs.select_profiles(after, settings, as_of=NOW, profiles=["q"], task="lightweight")
    erase(after)
    kept = after.staged("live", "memories")
    assert kept.height
    assert kept.equals(whole.filter(profile_id="q"))
    consolidate.consolidate(after, settings, profiles, run_id="late")
    assert after.ledger.runs(["q"]).sort("commit_seq")["run_id"].to_list() == ["run5", "late"]
    nothing_is_left(after)


@pytest.mark.drill
def test_nothing_is_computed_of_a_profile_with_an_unfinished_erasure(after, monkeypatch):
    lake = after
    monkeypatch.setattr("memory_pipeline.erasure.erase._finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        erase(lake)
    monkeypatch.undo()
    with lake.ledger.reading() as transaction:
        assert redaction.profile_with_unfinished_erasure(transaction) == "p"
    settings = load(lake.home, environment={})
    with pytest.raises(Conflict, match="'p': an erasure was interrupted; finish it with"):
        inputs.select_profiles(lake, settings, as_of=NOW, profiles=["p"])
    with pytest.raises(Conflict, match="'p': an erasure was interrupted; finish it with"):
        undo.undo(lake, "run5", profile_id="p", now=NOW)
    with pytest.raises(Conflict, match="'p': an erasure was interrupted; finish it with"):
        backup.back_up(lake, lake.home.parent / "backup", now=NOW)
    assert not (lake.home.parent / "backup").exists()
    with pytest.raises(Conflict, match="'p': an erasure was interrupted; finish it with"):
        snapshot.export(lake, lake.home.parent / "export.duckdb")
    assert not (lake.home.parent / "export.duckdb").exists()
    assert inputs.select_profiles(lake, settings, as_of=NOW)["profile_id"].to_list() == ["q"]
    assert resume_erasure(lake) is not None
    assert inputs.select_profiles(lake, settings, as_of=NOW)["profile_id"].to_list() == ["p", "q"]
    nothing_is_left(lake)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


# --- what an erasure of an earlier version left behind, and questions that were asked since


TEXT_OF = {name: ["content"] for name in ("events", "memories")} | {
    name: ["content_hash"] for name in ("enrichment", "vectors")
}


def publish_again(lake: Lake, kept: dict[str, pl.DataFrame], *names: str) -> None:
    """Publish what was erased since, as programs did that did not look whether anything was."""
    for name in names:
        gone = kept[name].join(lake.read(name), on=["profile_id", *TEXT_OF[name]], how="anti", nulls_equal=True)
        with lake.ledger.writing() as transaction:
            seq = lake.ledger.position()
            file = files.write(lake.store, name, gone)
            publishing.add_file(transaction, lake.store, table_name=name, file=file, seq=seq)
    (lake.home / "snapshots" / "000000000003-abcdef01.duckdb").write_text("as it was")


@pytest.mark.drill
def test_what_is_said_and_changed_after_an_erasure_is_no_survivor(lake):
    lake.project()
    erase(lake)
    consolidated(lake)
    lake.ledger.append([stored("p", "later", "Trams stop near the harbour")])
    assert survivors(lake) == {}
    lake.ledger.append([asked("x", "where do trams stop?", "later")])
    change = {"event_type": "memory.updated", "event_id": "u", "profile_id": "p", "memory_id": "later"}
    lake.ledger.append([parse(change | {"payload": {"content": "Trams stop"}}, recorded_at=NOW, origin="test")])
    consolidated(lake, days=-1)
    assert survivors(lake) == {}, "keywords of a text that was replaced are none"


@pytest.mark.drill
def test_survivors_are_named_by_their_place_and_removed(after):
    after.project()
    kept = {name: after.read(name) for name in TEXT_OF}
    erase(after)
    for days, names in enumerate((("events", "memories"), ("enrichment", "vectors")), 1):
        publish_again(after, kept, *names)
        assert survivors(after) == {"p": [*(f"table {name}" for name in names), "snapshot 000000000003-abcdef01"]}
        remove_survivors(after, now=NOW + timedelta(days=days))
        assert survivors(after) == {}
    assert after.read("memories", profiles=["q"]).filter(kind="original").height == len(OTHERS)
    nothing_is_left(after)


@pytest.mark.drill
@pytest.mark.parametrize(
    "command",
    sampling.first(
        "export mem0 OUT -p p",
        "export markdown OUT -p p",
        "export langgraph OUT.db -p p",
        "export jsonl OUT -p p",
        "export jsonl OUT -p p --current",
        "export parquet OUT --table memories",
        "snapshot --export OUT",
        "dead-letters export OUT",
    ),
)
def test_an_erasure_waits_for_an_export_and_its_receipt_names_it(after, tmp_path, monkeypatch, command):
    note, refused = Ledger.note_export, []

    def meanwhile() -> None:
        with Lake(after.home, timeout=0.01) as other, pytest.raises(LakeError, match="stayed locked") as caught:
            erase_memories(other, profile_id="p", memory_ids=["a"], now=NOW)
        refused.append(caught)

    def noted(ledger: Ledger, path: Path, **named) -> None:
        with ThreadPoolExecutor() as pool:
            pool.submit(meanwhile).result()
        note(ledger, path, **named)

    monkeypatch.setattr(Ledger, "note_export", noted)
    commands.text(*command.replace("OUT", str(tmp_path / "out")).split(), home=after.home)
    assert refused
    receipt = erase_memories(after, profile_id="p", memory_ids=["a"], now=NOW)
    assert any(f"{tmp_path / 'out'}" in line for line in receipt.not_covered)


def asked(event_id: str, query: str, memory_id: str, *, days: float = 0) -> Event:
    raw = {"event_type": "memory.accessed", "event_id": event_id, "profile_id": "p"}
    payload = {"payload": {"memory_ids": [memory_id], "query": query}}
    return parse(raw | payload, recorded_at=NOW + timedelta(days=days), origin="test")


@pytest.mark.drill
def test_questions_asked_since_are_named_in_the_receipt_and_can_be_redacted(lake):
    lake.ledger.append([asked("x0", "which tea?", "t", days=-1), asked("x", "two Zwirblquaxes?", "t", days=-1)])
    lake.project()
    receipt = erase_memories(lake, profile_id="p", memory_ids=["a", "b"], now=NOW)
    offer = "erase --profile p --questions-since 2026-01-30T00:00:00.000000Z"
    assert any(offer in line for line in receipt.not_covered)
    lake.ledger.append([asked("x1", "did anybody call Zwirblquax?", "t", days=1), asked("x2", "when?", "u", days=1)])
    consolidated(lake, days=-2)
    later = NOW + timedelta(days=3)
    redacted = erase_memories(lake, profile_id="p", questions_since=NOW, now=later)
    assert (redacted.queries, redacted.events, redacted.erased) == (2, 0, ())
    rows = lake.read("events", profiles=["p"]).filter(event_type="memory.accessed").sort("seq")
    assert rows["query"].to_list() == ["which tea?", None, None, None]
    assert rows["memory_id"].to_list() == ["t", "t", "t", "u"], "who was found still counts"
    assert erase_memories(lake, profile_id="p", questions_since=NOW, now=later).queries == 0
    nothing_is_left(lake)
