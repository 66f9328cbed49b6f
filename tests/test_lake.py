"""The lake: immutable files, one catalogue, one commit; every past state stays readable."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow.parquet
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from lake_rows import (
    ACCUMULATED,
    POLICY,
    PROCESSES,
    REPLACED,
    T0,
    accessed,
    batch,
    commit_of,
    plans_seen,
    profiles,
    revert,
    rows,
    stored,
    tables,
    updated,
)

from memory_pipeline.lake import files, publishing
from memory_pipeline.lake import tables as lake_tables
from memory_pipeline.lake.object_store import LocalObjectStore
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import event
from memory_pipeline.ledger.commits import VERSION, Commit, Conflict, StaleInstant
from memory_pipeline.ledger.ledger import Revert
from memory_pipeline.schemas import PARSER, TABLES

DAY = timedelta(days=1)


@pytest.fixture
def lake(lake_home: Path) -> Iterator[Lake]:
    with Lake(lake_home) as opened:
        yield opened


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=PROCESSES) as pool:
        yield pool


# --- reading


def test_a_table_without_rows_is_empty_and_typed(lake: Lake) -> None:
    for name, table in TABLES.items():
        frame = lake.read(name)
        assert frame.equals(table.empty()), name
        assert frame.schema == table.empty().schema, name
        columns = ["profile_id"][: "profile_id" in frame.columns]
        assert lake.read(name, seq=0, profiles=["ana"], columns=columns).is_empty(), name


def test_columns_and_profiles_are_chosen(lake: Lake) -> None:
    lake.commit(commit_of(lake, ["ana", "bo"], "p"))
    assert lake.read("memories", profiles=["bo"], columns=["content", "profile_id"]).rows() == [("p", "bo")] * 2
    assert lake.read("decisions", profiles=["bo"])["profile_id"].to_list() == ["bo"]
    assert lake.read("consolidation_runs", profiles=["bo"], columns=["plan_id"]).rows() == [("p",)]


def test_a_home_with_odd_characters_works(tmp_path: Path) -> None:
    with Lake(tmp_path / "my [*] #home %41") as lake:
        lake.commit(commit_of(lake, ["ana"], "p"))
        assert lake.read("memories").height == 2


# --- tables that grow


def test_rows_whose_key_is_there_are_skipped(lake: Lake) -> None:
    first = rows("enrichment", "ana", "a")
    assert lake.append("enrichment", pl.concat([first, first])) == 2
    assert (
        lake.append("enrichment", pl.concat([first.with_columns(gist=pl.lit("x")), rows("enrichment", "bo", "a")])) == 2
    )
    assert lake.append("enrichment", first) == 0
    assert lake.append("enrichment", first.clear()) == 0
    assert lake.read("enrichment").equals(pl.concat([first, rows("enrichment", "bo", "a")]))


def test_what_an_older_parser_read_is_read_again(lake: Lake) -> None:
    now = rows("enrichment", "ana", "a")
    lake.append("enrichment", now.with_columns(parser=pl.lit(PARSER + 1), gist=pl.lit("another version")))
    assert lake.read("enrichment").is_empty()
    assert lake.append("enrichment", now) == now.height
    assert lake.read("enrichment").equals(now)
    assert lake.read("enrichment", columns=["gist"])["gist"].to_list() == now["gist"].to_list()


def test_two_processes_may_append_the_same_rows(tmp_path: Path, workers: ProcessPoolExecutor) -> None:
    added = list(workers.map(append_ten, [tmp_path] * 2))
    with Lake(tmp_path) as lake:
        assert sum(map(sum, added)) == lake.read("vectors").height == 20


def append_ten(home: Path) -> list[int]:
    with Lake(home) as lake:
        return [lake.append("vectors", rows("vectors", "ana", f"t{number}")) for number in range(10)]


@pytest.mark.parametrize("name", ["events", "memories", "decisions"])
def test_other_tables_take_no_rows_by_hand(lake: Lake, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be appended to"):
        lake.append(name, TABLES[name].empty())


def test_many_small_files_become_few_and_who_reads_the_old_ones_goes_on(lake: Lake) -> None:
    for number in range(publishing.MERGE_FILES):
        lake.append("vectors", rows("vectors", "ana", f"t{number:02}"))
    before, old = lake.read("vectors"), lake.keys("vectors")
    assert len(old) == publishing.MERGE_FILES
    lake.append("vectors", rows("vectors", "ana", "t99"))
    assert len(lake.keys("vectors")) == 1
    assert lake.read("vectors").equals(pl.concat([before, rows("vectors", "ana", "t99")]))
    assert all(map(lake.store.exists, old))
    assert lake.sweep() == []
    assert set(old) < set(lake.sweep(older_than=-DAY))
    assert lake.read("vectors").height == before.height + 2


def test_vectors_are_written_without_a_dictionary(lake: Lake) -> None:
    lake.append("vectors", rows("vectors", "ana", "p", count=5_000))
    with lake.store.get(lake.keys("vectors")[0]) as file:
        row_group = pyarrow.parquet.ParquetFile(file).metadata.row_group(0)
    encodings = {row_group.column(number).path_in_schema: row_group.column(number).encodings for number in range(4)}
    assert "RLE_DICTIONARY" not in encodings["vector.list.element"]
    assert "RLE_DICTIONARY" in encodings["model"] + encodings["profile_id"]


# --- projection


def test_the_projection_copies_each_event_once_in_any_number_of_steps(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_tables, "PROJECTED_AT_ONCE", 7)
    for number in range(5):
        lake.ledger.append(batch(10, profile_id=f"p{number}"))
        assert lake.project() == lake.project() == lake.ledger.position()
    assert lake.waiting() == (0, 0)
    assert lake.read("events").equals(event.frame(lake.ledger.read()))
    assert lake.read("events", seq=12).equals(event.frame(lake.ledger.read(until=12)))


def test_several_processes_may_project_at_once(tmp_path: Path, workers: ProcessPoolExecutor) -> None:
    with Lake(tmp_path) as lake:
        lake.ledger.append(batch(100))
        assert list(workers.map(project_in_steps, [tmp_path] * 2)) == [100, 100]
        assert lake.read("events").equals(event.frame(lake.ledger.read()))


def project_in_steps(home: Path) -> int:
    lake_tables.PROJECTED_AT_ONCE = 9  # type: ignore[misc]
    with Lake(home) as lake:
        return lake.project()


EVENT = st.tuples(st.sampled_from(["ana", "bo"]), st.integers(0, 9), st.integers(0, 9))


@examples(4)
@given(
    st.lists(EVENT, max_size=12),
    st.integers(0, 9),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from([None, ["bo"]]),
)
def test_a_state_has_the_events_up_to_its_instant_and_position_projected_or_not(
    given_events: list[tuple[str, int, int]], as_of: int, seq: int, projected: int, own: list[str] | None
) -> None:
    made = [
        stored(number, profile_id=profile_id).model_copy(
            update={"occurred_at": T0 + timedelta(hours=occurred), "recorded_at": T0 + timedelta(hours=recorded)}
        )
        for number, (profile_id, occurred, recorded) in enumerate(given_events)
    ]
    with TemporaryDirectory() as folder, Lake(Path(folder)) as lake:
        lake.ledger.append(made[:projected])
        lake.project()
        lake.ledger.append(made[projected:])
        found = lake.events(as_of=T0 + timedelta(hours=as_of), seq=seq, profiles=own)
    wanted = sorted(
        (T0 + timedelta(hours=min(occurred, recorded)), number + 1)
        for number, (profile_id, occurred, recorded) in enumerate(given_events)
        if min(occurred, recorded) <= as_of and number < seq and profile_id in (own or {"ana", "bo"})
    )
    assert found.select("occurred_at", "seq").rows() == wanted


def test_an_access_has_a_row_for_each_memory(lake: Lake) -> None:
    lake.ledger.append([accessed("a", "m1", "m0", occurred_at=T0 + DAY, recorded_at=T0), stored(0)])
    lake.project()
    assert lake.events().select("seq", "ordinal", "memory_id").rows() == [(1, 0, "m1"), (1, 1, "m0"), (2, 0, "m0")]
    assert lake.events()["occurred_at"].to_list() == [T0] * 3
    assert lake.read("events")["occurred_at"].to_list() == [T0 + DAY, T0 + DAY, T0]


def test_scores_are_kept_for_so_long_before_the_last_run_of_each_profile(lake: Lake) -> None:
    lake.ledger.append([stored(1), stored(2).model_copy(update={"profile_id": "ben"})])
    for plan_id, own, day in (("old", ["ana", "ben"], 0), ("mid", ["ana"], 5), ("new", ["ana"], 6)):
        as_of = T0 + day * DAY
        commit = commit_of(lake, own, plan_id, as_of=as_of)
        scores = commit.tables["score_history"].with_columns(as_of=pl.lit(as_of))
        lake.commit(replace(commit, tables={**commit.tables, "score_history": scores}))
    now = T0 + 6 * DAY
    assert lake.drop_scores(older_than=6 * DAY, now=now) == 0
    assert lake.drop_scores(older_than=5 * DAY, now=T0 + 4 * DAY) == 0, "a clock that ran ahead drops nothing"
    undo = Revert(profile_id="ana", decision_ids=[], plan_id="new", reason="", occurred_at=T0, recorded_at=T0)
    heads = profiles(lake.ledger.heads(["ana"]), "new")
    lake.republish(heads, tables(["ana"], "undone", names=REPLACED), revert=[undo])
    assert lake.drop_scores(older_than=5 * DAY, now=now) == 0, "nor does a run that was undone"
    assert lake.drop_scores(older_than=3 * DAY, now=now) == 2
    assert lake.drop_scores(older_than=3 * DAY, now=now) == 0
    left = lake.read("score_history").select("profile_id", "as_of").unique().sort(pl.all()).rows()
    assert left == [("ana", T0 + 5 * DAY), ("ana", T0 + 6 * DAY), ("ben", T0)]
    assert lake.verify().is_empty()


# --- staging


def test_a_stage_is_seen_by_its_run_alone_and_written_again(lake: Lake) -> None:
    frame = rows("memories", "ana", "p")
    assert lake.staged("run", "memories") is None
    lake.stage("run", "memories", frame.clear())
    lake.stage("run", "memories", frame.reverse())
    staged = lake.staged("run", "memories")
    assert staged is not None
    assert staged.equals(frame)
    assert lake.staged("other", "memories") is None
    assert lake.read("memories").is_empty()


def test_a_stage_of_an_older_version_has_the_current_columns(lake: Lake) -> None:
    frame = rows("fact_changes", "ana", "p")
    lake.stage("run", "fact_changes", frame)
    (stored_file,) = lake.store.list(lake_tables.STAGING_PREFIX)
    older = BytesIO()
    frame.drop("decided", "statement").with_columns(gone=1).write_parquet(older)
    lake.store.put(stored_file.key, older.getvalue())
    staged = lake.staged("run", "fact_changes")
    assert staged is not None
    assert staged.equals(frame.with_columns(decided=pl.lit(value=True), statement=pl.lit(None, pl.String)))


@pytest.mark.parametrize("run_id", ["../up", "a/b", "", "."])
def test_a_run_id_is_a_plain_name(lake: Lake, run_id: str) -> None:
    with pytest.raises(ValueError, match="plain name"):
        lake.stage(run_id, "memories", TABLES["memories"].empty())


# --- commits


def test_a_commit_makes_everything_visible_at_one_position(lake: Lake) -> None:
    lake.ledger.append(batch(3))
    commit = commit_of(lake, ["ana", "bo"], "p", decided=2, held=1)
    assert lake.commit(commit) == {"ana": 4, "bo": 5}
    for name, frame in commit.tables.items():
        assert lake.read(name, seq=3).is_empty()
        assert lake.read(name, seq=4).equals(lake.read(name))
        assert lake.read(name).equals(TABLES[name].conform(frame))
    decisions = lake.ledger.decisions()
    assert decisions.select("profile_id", "decision_id", "status", "seq").rows() == [
        (profile, f"p/{number}", "committed", seq) for profile, seq in (("ana", 4), ("bo", 5)) for number in range(2)
    ]
    assert lake.ledger.runs().row(0, named=True) == {
        "profile_id": "ana",
        "plan_id": "p",
        "run_id": "run-p",
        "task": "full",
        "scope": "p",
        "trigger": "p",
        "preset": "p",
        "policy_hash": POLICY.digest,
        "as_of": T0,
        "base_seq": 3,
        "commit_seq": 4,
        "committed_at": T0 + timedelta(seconds=3),
        "outcome": "held",
        "memories": 7,
        "decisions": 2,
        "held": 1,
        "duration_seconds": 3.0,
        "version": VERSION,
    }
    assert lake.ledger.attempts()["outcome"].to_list() == ["committed"]
    assert lake.waiting() == (3, 0)


def test_each_state_stays_readable(lake: Lake) -> None:
    one = lake.commit(commit_of(lake, ["ana", "bo"], "p1"))["ana"]
    two = lake.commit(commit_of(lake, ["ana"], "p2", as_of=T0 + DAY))["ana"]
    lake.ledger.append(batch(1))
    assert plans_seen(lake, one) == {"ana": {"p1"}, "bo": {"p1"}}
    assert plans_seen(lake, two) == {"ana": {"p2"}, "bo": {"p1"}}
    assert lake.ledger.decisions(seq=one)["plan_id"].unique().to_list() == ["p1"]
    assert lake.ledger.decisions(as_of=T0)["plan_id"].unique().to_list() == ["p1"]
    assert lake.ledger.decisions(profiles=["ana"])["plan_id"].to_list() == ["p1", "p2"]
    assert lake.ledger.runs(seq=one)["plan_id"].to_list() == ["p1"]
    assert lake.read("memories").equals(pl.concat([rows("memories", "ana", "p2"), rows("memories", "bo", "p1")]))


def test_an_empty_plan_is_committed_too(lake: Lake) -> None:
    assert lake.commit(commit_of(lake, ["ana"], "p", count=0, decided=0)) == {"ana": 1}
    assert lake.ledger.runs()["outcome"].to_list() == ["committed"]
    assert lake.read("memories").is_empty()
    nobody = {name: TABLES[name].empty() for name in (*REPLACED, *ACCUMULATED)}
    empty = {"profiles": nobody["profiles"], "decisions": TABLES["decisions"].empty(), "tables": nobody}
    commit = commit_of(lake, ["ana"], "q")
    assert lake.commit(type(commit)(**{**vars(commit), **empty})) == {}


def test_what_a_commit_does_not_change_is_not_written_again(lake: Lake) -> None:
    lake.commit(commit_of(lake, ["ana"], "p1"))
    old = lake.keys("memories")
    again = commit_of(lake, ["ana"], "p2")
    lake.commit(type(again)(**{**vars(again), "tables": {**again.tables, "memories": rows("memories", "ana", "p1")}}))
    assert lake.keys("memories") == old
    assert lake.keys("clusters", seq=1) != lake.keys("clusters")


def about(memory_id: str, commit: Commit) -> Commit:
    """The same commit, with every decision about one memory."""
    return replace(commit, decisions=commit.decisions.with_columns(memory_id=pl.lit(memory_id)))


MOVERS = pytest.mark.parametrize("mover", ["commit", "revert", "update"])
MOVED = r"'ana': the plan was made at head 0, the head is now 2; plan again"


def move(lake: Lake, mover: str) -> None:
    """Change what a plan about `m0` rests on."""
    if mover == "commit":
        lake.commit(commit_of(lake, ["ana"], "early"))
    elif mover == "revert":
        revert(lake.ledger, "ana", ["d"], reason="wrong", occurred_at=T0, recorded_at=T0)
    else:
        lake.ledger.append([updated("u")])


@MOVERS
def test_a_profile_that_moved_is_left_out_and_the_others_commit(lake: Lake, mover: str) -> None:
    lake.ledger.append(batch(1))
    late = about("m0", commit_of(lake, ["ana", "bo"], "late"))
    move(lake, mover)
    assert lake.commit(late) == {"bo": 3}
    assert lake.ledger.runs(["bo"])["plan_id"].to_list() == ["late"]
    assert "late" not in lake.ledger.runs(["ana"])["plan_id"]
    assert "late" not in plans_seen(lake, lake.ledger.position()).get("ana", ())
    assert lake.ledger.attempts()["outcome"].to_list()[-2:] == ["committed", "conflict"]


@MOVERS
@pytest.mark.parametrize("own", [["ana"], ["ana", "bo"]])
def test_a_commit_of_all_or_none_is_refused_whole(lake: Lake, mover: str, own: list[str]) -> None:
    lake.ledger.append(batch(1))
    late = about("m0", commit_of(lake, own, "late"))
    move(lake, mover)
    position = lake.ledger.position()
    with pytest.raises(Conflict, match=MOVED):
        lake.commit(replace(late, whole=len(own) > 1))
    assert lake.ledger.position() == position
    assert lake.read("memories", profiles=["bo"]).is_empty()
    assert lake.ledger.attempts()["outcome"].to_list()[-1] == "conflict"


def test_an_update_of_a_memory_that_the_plan_does_not_mention_stops_no_commit(lake: Lake) -> None:
    lake.ledger.append(batch(2))
    late = about("m1", commit_of(lake, ["ana"], "late"))
    lake.ledger.append([updated("u")])
    assert lake.commit(late) == {"ana": 4}


@pytest.mark.parametrize("column", ["target_id", "factors", "before", "after"])
def test_a_memory_is_mentioned_wherever_a_decision_names_it(lake: Lake, column: str) -> None:
    lake.ledger.append(batch(2))
    late = about("m1", commit_of(lake, ["ana"], "late"))
    named = "m0" if column == "target_id" else '{"members": ["m1", "m0"]}'
    lake.ledger.append([updated("u")])
    with pytest.raises(Conflict, match="plan again"):
        lake.commit(replace(late, decisions=late.decisions.with_columns(pl.lit(named).alias(column))))


def test_new_events_that_only_add_do_not_stop_a_commit(lake: Lake) -> None:
    commit = commit_of(lake, ["ana"], "p")
    lake.ledger.append(batch(5))
    assert lake.commit(commit) == {"ana": 6}


def test_the_same_plan_is_not_committed_twice(lake: Lake) -> None:
    lake.commit(commit_of(lake, ["ana"], "p"))
    with pytest.raises(Conflict, match="'p' is committed already"):
        lake.commit(commit_of(lake, ["ana"], "p"))


def test_a_commit_may_not_precede_the_last_one_that_stands(lake: Lake) -> None:
    lake.commit(commit_of(lake, ["ana"], "p1", as_of=T0 + DAY))
    with pytest.raises(StaleInstant, match=r"2026-01-01T00:00:00\+00:00 lies before.*2026-01-02"):
        lake.commit(commit_of(lake, ["ana"], "p2"))
    lake.commit(commit_of(lake, ["ana"], "p3", as_of=T0 + DAY))
    for plan_id in ("p1", "p3"):
        revert(lake.ledger, "ana", [f"{plan_id}/0"], plan_id=plan_id, reason="wrong", occurred_at=T0, recorded_at=T0)
    lake.commit(commit_of(lake, ["ana"], "p4"))


def test_tables_must_fit_the_profiles(lake: Lake) -> None:
    good = commit_of(lake, ["ana"], "p")

    def changed(**values: object) -> object:
        return lake.commit(type(good)(**{**vars(good), **values}))

    with pytest.raises(ValueError, match="'clusters' is missing"):
        changed(tables={name: frame for name, frame in good.tables.items() if name != "clusters"})
    with pytest.raises(ValueError, match="'vectors' is not written by commits"):
        changed(tables={**good.tables, "vectors": rows("vectors", "ana", "p")})
    with pytest.raises(ValueError, match="'memories' has rows of profile 'bo'"):
        changed(tables={**good.tables, "memories": rows("memories", "bo", "p")})
    with pytest.raises(ValueError, match="is not part of this commit"):
        changed(decisions=commit_of(lake, ["ana"], "q").decisions)
    assert lake.ledger.position() == 0


def test_processes_commit_disjoint_profiles_and_all_succeed(tmp_path: Path, workers: ProcessPoolExecutor) -> None:
    work = [[f"p{number}" for number in range(worker, 8, 2)] for worker in range(2)]
    list(workers.map(commit_each, [tmp_path] * 2, work))
    with Lake(tmp_path) as lake:
        assert lake.ledger.runs()["profile_id"].to_list() == sorted([*work[0], *work[1]])
        wanted = {profile_id: {f"plan-{profile_id}"} for profile_id in lake.ledger.heads()}
        assert plans_seen(lake, lake.ledger.position()) == wanted
        assert lake.verify().is_empty()


def commit_each(home: Path, own: list[str]) -> None:
    with Lake(home) as lake:
        for profile_id in own:
            lake.commit(commit_of(lake, [profile_id], f"plan-{profile_id}"))


def test_of_two_processes_with_the_same_profile_one_commits(tmp_path: Path, workers: ProcessPoolExecutor) -> None:
    outcomes = list(workers.map(commit_from_zero, [tmp_path] * 2, ["p1", "p2"]))
    assert sorted(outcomes) == ["committed", "conflict"]
    with Lake(tmp_path) as lake:
        winner = f"p{1 + outcomes.index('committed')}"
        assert plans_seen(lake, lake.ledger.position()) == {"ana": {winner}}
        assert lake.ledger.decisions()["plan_id"].to_list() == [winner]
        assert sorted(lake.ledger.attempts()["outcome"]) == ["committed", "conflict"]


def commit_from_zero(home: Path, plan_id: str) -> str:
    with Lake(home) as lake:
        try:
            lake.commit(commit_of(lake, ["ana"], plan_id, heads={"ana": 0}))
        except Conflict:
            return "conflict"
        return "committed"


def test_a_large_table_is_split_and_a_commit_rewrites_only_its_part(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [f"p{number}" for number in range(16)]
    lake.commit(commit_of(lake, own, "p1"))
    assert len(lake.keys("memories")) == 1
    monkeypatch.setattr(publishing, "BUCKET_ROWS", 33)
    lake.commit(commit_of(lake, ["p0"], "p2"))
    split = set(lake.keys("memories"))
    assert len(split) == len({publishing.bucket_of(profile_id) for profile_id in own}) > 5
    lake.commit(commit_of(lake, ["p1"], "p3"))
    assert len(split - set(lake.keys("memories"))) == 1
    expected = [rows("memories", name, {"p0": "p2", "p1": "p3"}.get(name, "p1")) for name in own]
    assert lake.read("memories").equals(TABLES["memories"].conform(pl.concat(expected)))
    lake.commit(commit_of(lake, own, "p4", count=0))
    assert lake.read("memories").is_empty()
    assert lake.read("memories", seq=1).height == 32


@examples(2)
@given(st.permutations(range(6)))
def test_the_same_rows_in_any_order_give_the_same_bytes(order: list[int]) -> None:
    frames = [rows("vectors", "ana", f"p{number}") for number in range(6)]
    names = []
    for shuffled in (frames, [frames[number] for number in order]):
        with TemporaryDirectory() as folder, Lake(Path(folder)) as lake:
            lake.append("vectors", pl.concat(shuffled))
            names.append(Path(lake.keys("vectors")[0]).name.partition("-")[0])
    assert names[0] == names[1]


# --- undo


def test_an_undo_masks_decisions_and_changes_tables_in_one_step(lake: Lake) -> None:
    first = lake.commit(commit_of(lake, ["ana"], "p1", decided=2))["ana"]
    undo = Revert(profile_id="ana", decision_ids=["p1/0"], plan_id="p1", reason="wrong", occurred_at=T0, recorded_at=T0)
    own = profiles(lake.ledger.heads(["ana"]), "p1")
    at = lake.republish(own, tables(["ana"], "undone", names=REPLACED), revert=[undo])
    assert at == {"ana": first + 1} == lake.ledger.heads()
    assert plans_seen(lake, first) == {"ana": {"p1"}}
    assert plans_seen(lake, first + 1) == {"ana": {"undone"}}
    assert lake.ledger.reverted().rows() == [("ana", "p1/0", first + 1)]
    assert lake.read("reverted", seq=first).is_empty()
    assert lake.ledger.runs()["outcome"].to_list() == ["reverted"]
    assert lake.ledger.runs(seq=first)["outcome"].to_list() == ["committed"]
    assert lake.ledger.decisions().height == 2
    with pytest.raises(Conflict, match="head"):
        lake.republish(own, tables(["ana"], "again", names=REPLACED), revert=[undo])
    with pytest.raises(ValueError, match="each profile"):
        lake.republish(own, tables(["ana"], "again", names=REPLACED), revert=[])


def test_values_in_lists_that_an_older_version_wrote_with_fewer_parts_are_read(tmp_path):
    sentence = {"place": 1, "sentence": "I live in Trim.", "section": "user_profile", "harm": 1.0}
    texts = [{"content_hash": "h", "numbers": [0.5], "sentences": [sentence]}]
    older = pl.DataFrame({"profile_id": ["a"], "read": ["r"], "model": ["m"], "texts": [texts]})
    store = LocalObjectStore(tmp_path)
    key = files.write(store, "core_sentences", older).key
    (read,) = files.collect(store, [key], TABLES["core_sentences"]).to_dicts()
    ((found,),) = [text["sentences"] for text in read["texts"]]
    assert sentence.items() <= found.items()
    assert found["introduces"] is None
