"""What `doctor` finds in a home, and that `--repair` makes again what the ledger knows."""

import errno
import json
import logging
import shutil
from pathlib import Path

import duckdb
import homes
import polars as pl
import pytest
import sampling
import sqlalchemy as sa
from commands import as_json, call
from lake_rows import files_of
from typer.testing import CliRunner

from memory_pipeline import MemoryClient
from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.lake import compaction, snapshot
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger.tables import EVENTS
from memory_pipeline.runs import commit, undo
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import doctor, launch
from memory_pipeline.service.commands import app
from memory_pipeline.text.embed import encoder


@pytest.fixture(scope="module")
def home(consolidated, tmp_path_factory):
    """A home with one run and its snapshot, made without Dagster."""
    folder = tmp_path_factory.mktemp("home") / "data"
    with homes.copied(consolidated, folder) as lake:
        lake.project()
    doctor.examine(homes.settings(folder), repair=True)  # a copy has the snapshot of the original
    return folder


@pytest.fixture
def copy(home, tmp_path):
    shutil.copytree(home, tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def examined(home, *args):
    """Findings by subject, and the exit status, which is 0 exactly if all is well."""
    done = call("doctor", "--json", *args, home=home)
    found = {row["subject"]: (row["well"], row["detail"]) for row in json.loads(done.stdout)}
    assert done.returncode == (0 if all(well for well, _ in found.values()) else 1)
    return found


def tables(home):
    with Lake(home) as lake:
        return {name: lake.read(name) for name in (*commit.PUBLISHED, "events", "enrichment", "vectors")}


def test_a_sound_home(home):
    found = examined(home)
    assert list(found) == [
        "python",
        "hnswlib",
        "reader",
        "ledger",
        "lake",
        "snapshot",
        "credentials",
        "dead letters",
        "access",
        "disk",
        "dagster",
    ]
    assert all(well for well, _ in found.values())
    shown = call("doctor", home=home)
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["ok"] * len(found)


def test_no_home_at_all(tmp_path):
    assert examined(tmp_path / "nothing")["ledger"][0] is False
    assert not (tmp_path / "nothing").exists()


def test_a_new_home_is_sound(tmp_path):
    assert call("init", home=tmp_path).returncode == 0
    found = examined(tmp_path)
    assert found["snapshot"] == (True, "none yet; the first run writes it")
    assert found["dagster"] == (True, str(tmp_path / "dagster"))


REBUILT = ("memories", "scored_memories", "events", "enrichment", "vectors")


@pytest.mark.drill
@pytest.mark.parametrize("lost", [*((name,) for name in REBUILT), REBUILT])
@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_lost_files_of_the_lake_are_found_and_made_again(copy, lost, damage):
    found_and_made_again(copy, lost, damage)


@pytest.mark.drill
def test_files_of_many_tables_that_are_damaged_at_once_are_found_and_made_again(copy):
    found_and_made_again(copy, REBUILT, "damaged")


def found_and_made_again(copy, lost, damage):
    before = tables(copy)
    files = [next(copy.glob(f"lake/{name}/*.parquet")) for name in lost]
    for file in files:
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:-20] + b"\0" * 20)
    well, detail = examined(copy)["lake"]
    assert not well
    assert any(str(file) in detail for file in files), "the first is named"
    assert damage in detail
    assert "doctor --repair" in detail
    counted = "1 missing or damaged file" if len(files) == 1 else f"{len(files)} missing or damaged files"
    assert examined(copy, "--repair")["lake"] == (True, f"{counted} rebuilt")
    assert examined(copy)["lake"][0]
    homes.same(before, tables(copy))


@pytest.mark.drill
def test_a_repair_that_was_cut_off_is_said_and_finished(copy):
    before = tables(copy)
    next(copy.glob("lake/memories/*.parquet")).unlink()
    with Lake(copy) as lake:
        lake.mend()  # and no more: as if it was killed here
        assert lake.read("memories").is_empty()
    well, detail = examined(copy)["lake"]
    assert not well
    assert "a repair was cut off and left tables without rows (memories)" in detail
    assert examined(copy, "--repair")["lake"] == (True, "a repair that was cut off is finished")
    assert examined(copy)["lake"][0]
    homes.same(before, tables(copy))


@pytest.mark.drill
def test_rows_that_no_rebuild_makes_again_are_said_to_be_lost(copy):
    with Lake(copy) as lake:
        rows = lake.read("score_history").height
    next(copy.glob("lake/score_history/*.parquet")).unlink()
    assert "first restore lake/score_history from a backup" in examined(copy)["lake"][1]
    for args in (("--repair",), ()):
        well, detail = examined(copy, *args)["lake"]
        assert well
        assert f"lost for good, unless a backup has them: {rows} rows of score_history" in detail


def test_lost_payloads_are_said_to_need_a_backup(copy):
    with Lake(copy) as lake:
        compaction.compact(lake.ledger, lake.store, before=homes.RECORDED + homes.days(7))
        events = lake.read("events")
        files_of(lake, "payloads")[0].unlink()
        for repair in (False, True):
            found = doctor.examine(homes.settings(copy), repair=repair)
            lost = next(finding for finding in found if finding.subject == "lake")
            assert not lost.well
            assert lost.detail.endswith(
                "is missing; its payloads are nowhere else: restore lake/payloads from a backup"
            )
        assert lake.read("events").equals(events)


def test_a_file_with_any_damage_is_said_to_be_damaged(copy):
    """Some bytes lead Polars to other errors than its own for a damaged file."""
    file = next(copy.glob("lake/vectors/*.parquet"))
    whole = file.read_bytes()
    at = whole.index(b"ARROW:schema") + 20
    for harm in (whole[:at] + b"\x13\x0d" + whole[at + 2 :], whole[: at + 40] + b"*" + whole[at + 41 :]):
        file.write_bytes(harm)
        with Lake(copy) as lake, pytest.raises(LakeError, match="is damaged; `memory-pipeline doctor`"):
            lake.read("vectors")


@pytest.mark.drill
def test_a_copied_home_does_not_read_the_files_of_the_original(home, tmp_path):
    shutil.copytree(home, tmp_path / "data", symlinks=True)
    assert "of another data folder; rebuild it with" in examined(tmp_path / "data")["snapshot"][1]
    assert "rebuilt: " in examined(tmp_path / "data", "--repair")["snapshot"][1]
    assert examined(tmp_path / "data")["snapshot"][0]


def test_damaged_databases_of_dagster_are_not_blamed_on_its_configuration(copy):
    assert call("init", home=copy).returncode == 0
    with launch.instance(copy) as instance:
        assert instance.get_runs_count() == 0
    for file in (copy / "dagster").rglob("*.db"):
        file.write_bytes(b"no database")
    well, detail = examined(copy)["dagster"]
    assert not well
    assert "its databases cannot be read" in detail
    assert "dagster.yaml" not in detail


@pytest.mark.drill
def test_what_a_run_was_made_from_is_in_the_ledger(copy):
    before = tables(copy)
    next(copy.glob("lake/profiles/*.parquet")).unlink()
    assert examined(copy, "--repair")["lake"] == (True, "1 missing or damaged file rebuilt")
    homes.same(before, tables(copy))


def everything(home):
    shutil.rmtree(home / "lake")


def everything_and_snapshots(home):
    shutil.rmtree(home / "lake")
    shutil.rmtree(home / "snapshots")


def files_alone(home):
    for file in home.glob("lake/**/*.parquet"):
        file.unlink()


def truncated(home):
    for file in home.glob("lake/*/*.parquet"):
        file.write_bytes(file.read_bytes()[:100])


def half_of_them(home):
    for file in sorted(home.glob("lake/**/*.parquet"))[::2]:
        file.unlink()


@pytest.mark.parametrize(
    "loss", sampling.first(everything_and_snapshots, everything, files_alone, truncated, half_of_them)
)
@pytest.mark.parametrize("nights", sampling.first("one", "undone"))
def test_one_repair_makes_the_whole_lake_again(copy, loss, nights):
    """With merges and core memory, in one go, and the snapshot shows them."""
    if nights == "undone":  # the tables of the first profile are those of memories without a run
        with Lake(copy) as lake:
            plan = lake.ledger.runs(["sample-1"])["plan_id"][0]
            undo.undo(lake, plan, profile_id="sample-1", now=homes.RECORDED)
            snapshot.publish(lake)
    before = tables(copy)
    assert before["core_memory_blocks"].height
    assert before["memories"].filter(kind="compression").height or nights == "undone"
    loss(copy)
    assert not examined(copy)["lake"][0]
    repaired = examined(copy, "--repair")
    assert repaired["lake"][0], repaired
    assert repaired["snapshot"][0]
    found = examined(copy)
    assert found["lake"][0]
    assert found["snapshot"][0]
    homes.same(before, tables(copy))
    with duckdb.connect(snapshot.newest(copy), read_only=True) as connection:
        shown = dict(connection.execute("SELECT kind, count(*) FROM memories GROUP BY kind").fetchall())
    assert shown == dict(before["memories"].group_by("kind").len().iter_rows())


@pytest.mark.drill
def test_a_repair_after_questions_and_memories_since_the_last_run_leaves_nothing_to_repair(copy):
    """The snapshot shows the last run, before them, with all its rows."""
    with MemoryClient(copy, profile_id="sample-1") as client:
        client.remember("The boiler was serviced by Kowalski.")
        assert client.recall("Who serviced the boiler?").recalled
    everything(copy)
    repaired, found = examined(copy, "--repair"), examined(copy)
    assert (repaired["snapshot"][0], found["lake"][0]) == (True, True)
    assert found["snapshot"] == (True, str(snapshot.newest(copy)))


@pytest.mark.drill
def test_tables_that_an_earlier_repair_left_empty_are_found_and_rebuilt(copy):
    """It forgot the files and published an empty snapshot, and said that all was well."""
    before = tables(copy)
    with Lake(copy) as lake:
        files_alone(copy)
        lake.mend()
        lake.mended()
        snapshot.newest(copy).unlink()
        snapshot.publish(lake)
        assert "the tables of profile sample-1 and 1 more are not those of the last run" in examined(copy)["lake"][1]
        assert "tables of 2 profiles rebuilt" in examined(copy, "--repair")["lake"][1]
        assert all(well for well, _ in examined(copy).values())
        homes.same(before, tables(copy))


@pytest.mark.drill
def test_an_empty_snapshot_of_a_whole_lake_is_rebuilt(copy):
    examined(copy, "--repair")  # a copy has the snapshot of the original
    path = snapshot.newest(copy)
    with duckdb.connect(path) as connection:
        connection.execute("DELETE FROM core_memory_blocks")
    well, detail = examined(copy)["snapshot"]
    assert not well
    assert "has 0 rows of core_memory_blocks" in detail
    assert examined(copy, "--repair")["snapshot"][0]
    assert examined(copy)["snapshot"][0]


@pytest.mark.drill
def test_runs_of_versions_that_did_not_record_what_they_were_made_from(copy):
    """What the lake lost of it is inferred from the ledger."""
    before = tables(copy)
    with Lake(copy) as lake, lake.ledger.writing() as transaction:
        without = sa.func.json_remove(EVENTS.c.payload, "$.base")
        transaction.connection.execute(
            EVENTS.update().where(EVENTS.c.event_type == "run.committed").values(payload=without)
        )
    everything(copy)
    assert examined(copy, "--repair")["lake"][0]
    homes.same(before, tables(copy))


@pytest.mark.drill
def test_answers_of_a_language_model_that_only_the_lake_had_are_named(copy):
    answers = pl.DataFrame({"profile_id": "sample-1"}).join(TABLES["verdicts"].empty(), on="profile_id", how="left")
    filled = {
        name: pl.col(name).fill_null(pl.lit("x" if kind == pl.String else 1 if kind.is_numeric() else None, kind))
        for name, kind in answers.schema.items()
    }
    with Lake(copy) as lake:
        lake.append("verdicts", answers.with_columns(**filled))
    everything(copy)
    assert (
        "first restore lake/cluster_lineage, lake/score_history, lake/verdicts from a backup"
        in examined(copy)["lake"][1]
    )
    for args in (("--repair",), ()):
        well, detail = examined(copy, *args)["lake"]
        assert well
        assert "1 row of verdicts" in detail


@pytest.mark.drill
def test_a_snapshot_that_is_missing_damaged_or_behind_and_a_link_that_leads_astray(copy):
    first = snapshot.newest(copy)
    first.unlink()
    assert "missing" in examined(copy)["snapshot"][1]
    assert "rebuilt: " in examined(copy, "--repair")["snapshot"][1]
    first.write_bytes(b"no database")
    assert "cannot be read" in examined(copy)["snapshot"][1]
    examined(copy, "--repair")
    assert examined(copy)["snapshot"] == (True, str(first))
    with Lake(copy) as lake:
        homes.night(lake, as_of=homes.NIGHT + homes.days(1), run_id="later")
    assert "older than the last run" in examined(copy)["snapshot"][1]
    examined(copy, "--repair")
    newest = snapshot.newest(copy)
    assert newest != first
    assert examined(copy)["snapshot"] == (True, str(newest))
    link = copy / "snapshots" / snapshot.LINK
    link.unlink()
    assert "does not link to" in examined(copy)["snapshot"][1]
    examined(copy, "--repair")
    assert link.resolve() == snapshot.newest(copy)


def test_a_damaged_ledger_is_found_and_left_alone(copy):
    file = copy / "ledger.sqlite"
    whole = file.read_bytes()
    broken = whole[: len(whole) // 2] + b"\xff" * 4096 + whole[len(whole) // 2 + 4096 :]
    file.write_bytes(broken)
    for args in ((), ("--repair",)):
        well, detail = examined(copy, *args)["ledger"]
        assert not well
        assert "replace ledger.sqlite with a backup" in detail
    assert file.read_bytes() == broken


def test_dead_letters_are_counted(copy, tmp_path):
    (tmp_path / "bad.jsonl").write_text("{}\n", "utf-8")
    as_json("import", "jsonl", tmp_path / "bad.jsonl", "--allow-refused", home=copy)
    assert examined(copy)["dead letters"][1].startswith("1 refused event;")


def test_dagsters_storage(copy):
    assert call("init", home=copy).returncode == 0
    other = call("doctor", "--json", home=copy, DAGSTER_HOME="/elsewhere")
    assert "DAGSTER_HOME names /elsewhere, where `dg dev` looks: there is no such folder" in other.stdout
    assert not Path("/elsewhere").exists()
    Path(copy / "dagster" / "dagster.yaml").write_text("storage: [nonsense", "utf-8")
    well, detail = examined(copy)["dagster"]
    assert not well
    assert "the next run writes it again" in detail


def test_what_an_instance_lacks_is_said_as_it_is_to_be_written_there(copy, tmp_path, monkeypatch):
    """Of the folder that DAGSTER_HOME names, which is that of the project around the pipeline."""
    host = tmp_path / "host"
    host.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(host))
    assert call("init", home=copy).returncode == 0
    well, detail = doctor_of(copy)
    assert not well
    said, _, lines = detail.partition(f"add to {host / 'dagster.yaml'}: ")
    assert said.endswith("where `dg dev` looks: it lacks what the pipeline needs; ")
    assert [line.partition(":")[0] for line in lines.split("; ")] == ["concurrency", "run_retries", "run_monitoring"]
    (host / "dagster.yaml").write_text(lines.replace("; ", "\n"), "utf-8")
    assert doctor_of(copy) == (True, f"{copy / 'dagster'}; DAGSTER_HOME names {host}, where `dg dev` looks")


def doctor_of(home):
    """What is found about Dagster."""
    (found,) = (one for one in doctor.examine(homes.settings(home), repair=False) if one.subject == "dagster")
    return found.well, found.detail


@pytest.mark.drill
def test_an_erasure_that_was_broken_off_is_finished(copy, monkeypatch):
    def broken_off(*_):
        raise KeyboardInterrupt

    with Lake(copy) as lake:
        text = lake.read("memories", profiles=["sample-1"]).filter(kind="original").sort("memory_id").row(0, named=True)
        with monkeypatch.context() as patch:
            patch.setattr("memory_pipeline.erasure.erase._finish", broken_off)
            with pytest.raises(KeyboardInterrupt):
                erase_memories(lake, profile_id="sample-1", memory_ids=[text["memory_id"]], now=homes.RECORDED)
    assert examined(copy, "--repair")["erasure"][0]
    assert "erasure" not in examined(copy, "--repair")
    holding = [file for file in copy.rglob("*") if file.is_file() and text["content"].encode() in file.read_bytes()]
    assert holding == []


@pytest.mark.drill
@pytest.mark.parametrize(
    "stopped",
    sampling.first(
        OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EDQUOT, "quota"), RuntimeError("other")
    ),
)
def test_whatever_stops_an_erasure_it_says_that_the_ledger_is_redacted_and_how_to_finish(copy, monkeypatch, stopped):
    def fail(*_, **__):
        raise stopped

    with Lake(copy) as lake:
        memory_id = lake.read("memories", profiles=["sample-1"]).filter(kind="original")["memory_id"][0]
        with monkeypatch.context() as patch:
            patch.setattr("memory_pipeline.erasure.redact_files.drop_caches", fail)
            remedy = "the ledger is redacted already, finish the erasure with: memory-pipeline doctor --repair"
            with pytest.raises(LakeError, match=remedy):
                erase_memories(lake, profile_id="sample-1", memory_ids=[memory_id], now=homes.RECORDED)
    assert not examined(copy)["erasure"][0]
    assert examined(copy, "--repair")["erasure"] == (True, "an interrupted erasure was finished")


@pytest.mark.drill
def test_an_interrupted_erasure_in_a_lake_that_lost_its_files_is_finished_by_one_repair(copy, monkeypatch):
    with Lake(copy) as lake:
        memory_id = lake.read("memories", profiles=["sample-1"]).filter(kind="original")["memory_id"][0]
        with monkeypatch.context() as patch:
            patch.setattr("memory_pipeline.erasure.redact_files.drop_caches", lambda *_: 1 / 0)
            with pytest.raises(LakeError, match="finish the erasure"):
                erase_memories(lake, profile_id="sample-1", memory_ids=[memory_id], now=homes.RECORDED)
    everything(copy)
    assert all(well for well, _ in examined(copy, "--repair").values())
    assert all(well for well, _ in examined(copy).values())


@pytest.mark.drill
def test_a_snapshot_that_an_erasure_removes_meanwhile_is_built_again_and_no_repair_is_advised(copy, monkeypatch):
    examined(copy, "--repair")
    publish, left = snapshot.publish, [1]

    def removed(lake):
        path = publish(lake)
        if left:
            left.pop()
            path.unlink()
        return path

    monkeypatch.setattr(snapshot, "publish", removed)
    shown = CliRunner().invoke(app, ["--home", str(copy), "snapshot", "open"])
    assert shown.exit_code == 0, shown.output
    assert str(snapshot.newest(copy)) in shown.output
    left.extend([1] * 9)
    shown = CliRunner().invoke(app, ["--home", str(copy), "snapshot", "open"])
    assert isinstance(shown.exception, ValueError)
    assert "was removed by an erasure meanwhile; try again" in str(shown.exception)


@pytest.mark.drill
def test_without_the_readers_weights_a_sentence_says_so_and_a_run_promotes_nothing(monkeypatch, tmp_path, caplog):
    weights = tmp_path / "weights"
    weights.mkdir()
    for name in ("encoder.npz", "tokenizer.json"):
        (weights / name).symlink_to(Path(encoder.__file__).parents[2] / "models" / "reader" / name)
    home = tmp_path / "store"
    with MemoryClient(home) as memory:
        memory.remember("I live in a barn near Kells.")
        memory.remember("Always answer in full sentences.")
        monkeypatch.setattr(encoder, "_folder", lambda: weights)
        with caplog.at_level(logging.WARNING):
            memory.consolidate()
        assert "pairs.npz" in caplog.text
        assert "install the package anew" in caplog.text
        assert "barn" not in memory.session_start().text()
        assert memory.recall("Where is the barn?")
        (found,) = (one for one in doctor.examine(homes.settings(home), repair=False) if one.subject == "reader")
        assert not found.well
        monkeypatch.undo()
        memory.remember("The kettle is new.")
        memory.consolidate()
        assert "barn" in memory.session_start().text()


def test_without_hnswlib_all_is_well_and_a_sentence_says_what_it_costs(monkeypatch, home):
    monkeypatch.setattr(doctor.vector_graph, "available", lambda: False)
    (found,) = (one for one in doctor.examine(homes.settings(home), repair=False) if one.subject == "hnswlib")
    assert found.well
    assert found.detail.startswith("not installed: recall compares the vectors of profiles above 20,000 memories")
