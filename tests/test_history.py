"""Runs, undo, rebuild and past states on a real store."""

import random
from datetime import UTC, datetime
from io import BytesIO

import duckdb
import homes
import polars as pl
import pytest

from memory_pipeline.consolidation import pipeline
from memory_pipeline.lake.tables import Conflict
from memory_pipeline.recall.client.explain import explain
from memory_pipeline.runs import commit, consolidate, inputs, rebuild, undo
from memory_pipeline.schemas import LIVE, TABLES

NOW = datetime(2026, 6, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def told():
    return homes.events(memories=40)


@pytest.fixture
def lake(tmp_path, told):
    with homes.filled(tmp_path, told) as opened:
        yield opened


@pytest.fixture(scope="module")
def night(tmp_path_factory, told):
    """A store after one night, with the tables of the run."""
    home = tmp_path_factory.mktemp("consolidated")
    random.seed(1)
    with homes.filled(home, told) as lake:
        made = homes.night(lake)
    return home, made


@pytest.fixture
def consolidated(night, tmp_path):
    """A store after one night, of a test's own."""
    with homes.copied(night[0], tmp_path / "consolidated") as lake:
        yield lake


@pytest.fixture(scope="module")
def month_before(tmp_path_factory):
    """A smaller store after one night, two months before the last event."""
    home = tmp_path_factory.mktemp("month_before")
    with homes.filled(home, homes.events(profiles=1, memories=12)) as lake:
        homes.night(lake, as_of=datetime(2026, 3, 1, tzinfo=UTC), run_id="first")
    return home


def test_a_run_finds_merges_and_links_in_each_profile(night, consolidated):
    _, tables = night
    decided = consolidated.ledger.decisions()
    assert set(decided["profile_id"]) == {"sample-1", "sample-2"}
    assert {"summarise", "supersede", "link"} <= set(decided["action"])
    assert tables["merge_refusals"].height > 0
    memories = consolidated.read("memories")
    superseded = memories.filter(pl.col("superseded_kind") == "summary")
    assert superseded.height > 0
    assert superseded.filter(pl.col("lifecycle").is_in(LIVE)).is_empty()
    for name, table in TABLES.items():
        if table.write_mode == "replaced":
            assert table.violations(consolidated.read(name)).is_empty(), name


@pytest.mark.drill
def test_the_second_plan_at_the_same_instant_is_empty(consolidated):
    before = homes.published(consolidated, but=("profiles", "consolidation_plan"))
    again = homes.night(consolidated, run_id="again")
    assert again["consolidation_plan"].is_empty()
    after = homes.published(consolidated, but=("profiles", "consolidation_plan"))
    for name, frame in before.items():
        assert frame.drop("plan_id", strict=False).equals(after[name].drop("plan_id", strict=False)), name


@pytest.mark.drill
def test_a_later_night_without_news_proposes_no_merge_again(consolidated):
    later = homes.night(consolidated, as_of=homes.NIGHT + homes.days(1), run_id="later")
    assert not {"summarise", "supersede", "archive"} & set(later["consolidation_plan"]["action"])


@pytest.mark.drill  # each push compares a run with one through Dagster: `test_assets.py`
def test_two_stores_with_the_same_events_make_the_same_tables(lake, consolidated):
    homes.night(lake)
    homes.same(homes.published(lake), homes.published(consolidated))


def test_neither_permuted_rows_nor_the_seed_of_random_modules_change_anything(lake, night):
    settings = homes.settings(lake.home)
    lake.project()
    profiles = inputs.select_profiles(lake, settings, as_of=homes.NIGHT)
    given = {name: inputs.read_table(lake, name, profiles) for name in ("events", "decisions", "reverted")}
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=5) for name, frame in given.items()}
    empty = {name: TABLES[name].empty() for name in pipeline.RECORDED}
    random.seed(2)
    made = pipeline.run({"profiles": profiles} | shuffled | empty, inputs.policies(settings, profiles))
    names = made.keys() - given.keys()
    assert names >= set(commit.PUBLISHED)
    homes.same({name: made[name] for name in names}, {name: night[1][name] for name in names})


@pytest.mark.drill  # each push runs two shards: `test_engines.py`
def test_groups_of_profiles_change_nothing_that_is_stored(lake, night, monkeypatch):
    """In memory, Polars may leave other unseen text under nulls; no file holds it."""
    settings = homes.settings(lake.home)
    lake.project()
    profiles = inputs.select_profiles(lake, settings, as_of=homes.NIGHT)
    given = {name: inputs.read_table(lake, name, profiles) for name in ("events", "decisions", "reverted")}
    empty = {name: TABLES[name].empty() for name in pipeline.RECORDED}
    monkeypatch.setattr(pipeline, "ROWS_AT_ONCE", 1)  # each profile by itself; the night had all in one group
    made = pipeline.run({"profiles": profiles} | given | empty, inputs.policies(settings, profiles))
    assert made.keys() >= set(commit.PUBLISHED)
    for name in made.keys() - given.keys():
        assert made[name].equals(night[1][name]), name
        assert stored(made[name]) == stored(night[1][name]), name


def stored(frame):
    file = BytesIO()
    frame.rechunk().write_parquet(file)
    return file.getvalue()


@pytest.mark.drill  # each push holds a dry run and a preview against a run: `test_assets.py`
def test_a_preview_writes_nothing_and_equals_what_is_committed(lake, night):
    settings = homes.settings(lake.home)
    profiles = inputs.select_profiles(lake, settings, as_of=homes.NIGHT)
    before = sorted(path for path in lake.home.rglob("*") if path.suffix == ".parquet")
    position = lake.ledger.position()
    planned = consolidate.preview(lake, settings, profiles)["consolidation_plan"]
    assert planned.height > 0
    assert lake.ledger.position() == position
    assert sorted(path for path in lake.home.rglob("*") if path.suffix == ".parquet") == before
    assert planned.equals(night[1]["consolidation_plan"])


def test_a_rebuild_gives_the_published_tables_and_undo_of_the_run_the_former_ones_exactly(month_before, tmp_path):
    with homes.copied(month_before, tmp_path) as lake:
        former = homes.published(lake)
        homes.night(lake, run_id="second")
        rebuilt = rebuild.rebuild(lake, "sample-1")
        for name in commit.PUBLISHED:
            assert rebuilt[name].equals(lake.read(name)), name
        assert not homes.published(lake)["memories"].equals(former["memories"])
        undo.undo(lake, "second", now=NOW)
        homes.same(former, homes.published(lake))


@pytest.mark.drill
def test_undo_within_a_profile_leaves_the_run_of_the_others_as_it_is(consolidated):
    stays = {name: consolidated.read(name, profiles=["sample-2"]) for name in commit.PUBLISHED}
    undone = undo.undo(consolidated, "run", profile_id="sample-1", now=NOW)
    assert set(undone["profile_id"]) == {"sample-1"}
    assert dict(consolidated.ledger.runs().select("profile_id", "outcome").iter_rows()) == {
        "sample-1": "reverted",
        "sample-2": "committed",
    }
    assert all(frame.equals(consolidated.read(name, profiles=["sample-2"])) for name, frame in stays.items())
    with pytest.raises(ValueError, match="no run, plan or decision in force is about 'run'"):
        undo.undo(consolidated, "run", profile_id="nobody", now=NOW)


def test_undo_of_the_only_run_leaves_every_memory_as_it_was_stored(night, consolidated):
    _, made = night
    undo.undo(consolidated, "run", now=NOW)
    left = homes.published(consolidated)
    assert left["memories"].equals(made["memories"])
    assert left["profiles"].equals(made["profiles"])
    assert left["derived_edges"].equals(made["derived_edges"])
    assert left["scored_memories"].equals(made["scored_memories"])
    assert left["decided_edges"].filter(pl.col("origin") == "decided").is_empty()
    shown = {name for name, frame in left.items() if frame.height}
    described = {"memory_importance", "association_edges", "derived_edges", "scored_memories"}
    described |= {"foldings", "comparisons", "core_sentences"}
    assert shown - {"decided_edges"} == {"profiles", "memories"} | described, "what was decided is gone"
    name = made["memories"]["memory_id"][0]
    assert explain(consolidated, name, profile_id=made["memories"]["profile_id"][0]).memory["lifecycle"] == "active"


@pytest.mark.drill
def test_a_rerun_after_the_undo_of_the_only_run_decides_nothing_again(consolidated):
    undo.undo(consolidated, "run", now=NOW)
    undone = consolidated.ledger.decisions()
    again = homes.night(consolidated, run_id="again")["consolidation_plan"]
    assert again.join(undone, on=["profile_id", "signature"], how="semi").is_empty()
    assert again.filter(~_concerns_members_of(undone)).is_empty(), "only what the merges had kept from being decided"
    wanted = homes.night(consolidated, run_id="asked", retry_reverted=True)
    assert wanted["consolidation_plan"].height > 0


def _concerns_members_of(undone):
    """Whether a decision is about a member of an undone merge: rises, is closed, is linked as a fact, is in a block."""
    freed = set(undone.filter(action="supersede").select("profile_id", "memory_id").iter_rows())
    about_facts = (pl.col("action") == "link") & pl.col("rule").str.starts_with("fact_comparison")
    ends = pl.concat_list("memory_id", "target_id")
    members = pl.col("after").str.json_decode(pl.Struct({"members": pl.List(pl.String)})).struct.field("members")
    concerned = (
        pl.when(about_facts | (pl.col("action") == "close"))
        .then(ends)
        .when(pl.col("action") == "promote")
        .then(pl.concat_list("memory_id"))
        .when(pl.col("action") == "compile")
        .then(members)
    )
    return pl.struct("profile_id", names=concerned).map_elements(
        lambda row: any((row["profile_id"], name) in freed for name in row["names"] or ()), return_dtype=pl.Boolean
    )


def test_one_merge_can_be_undone_and_the_others_stay(consolidated):
    merges = consolidated.ledger.decisions().filter(
        (pl.col("action") == "summarise") & (pl.col("rule") == "compression")
    )
    assert merges.height > 1
    chosen = merges.row(0, named=True)
    undone = undo.undo(consolidated, chosen["memory_id"], profile_id=chosen["profile_id"], now=NOW)
    assert set(undone["action"]) == {"summarise", "supersede"}
    memories = consolidated.read("memories")
    assert chosen["memory_id"] not in set(memories.filter(pl.col("profile_id") == chosen["profile_id"])["memory_id"])
    back = undone.filter(pl.col("action") == "supersede")
    stands = memories.join(back, on=["profile_id", "memory_id"], how="semi")
    assert set(stands["lifecycle"]) <= set(LIVE)
    assert memories.filter(pl.col("superseded_kind") == "summary").height > 0


def test_undo_of_something_unknown_says_so(consolidated):
    with pytest.raises(ValueError, match="nothing-like-this"):
        undo.undo(consolidated, "nothing-like-this", now=NOW)


@pytest.mark.drill
def test_a_late_event_lands_as_if_it_had_been_in_time(tmp_path, told, consolidated):
    stored = [event for event in told if event.event_type == "memory.stored"]
    late = stored[len(stored) // 3]
    with homes.filled(tmp_path / "late", [event for event in told if event != late]) as lake:
        homes.night(lake, as_of=datetime(2026, 2, 1, tzinfo=UTC), run_id="before")
        undo.undo(lake, "before", now=NOW)
        lake.ledger.append([late])
        homes.night(lake, run_id="after", retry_reverted=True)
        one = lake.read("memories")
    other = consolidated.read("memories")
    position = ["seq", "plan_id", "event_id"]
    assert one.drop(position).equals(other.drop(position))


@pytest.mark.drill
def test_rows_of_one_profile_never_depend_on_another(tmp_path, told, consolidated):
    both = {n: f.filter(pl.col("profile_id") == "sample-1") for n, f in homes.published(consolidated).items()}
    with homes.filled(tmp_path / "one", [event for event in told if event.profile_id == "sample-1"]) as lake:
        homes.night(lake)
        alone = homes.published(lake)
    for name, frame in alone.items():
        ids = {"plan_id", "decision_id", "ordinal", "event_id", "seq", "head", "after"}
        made = (ids | ({"read"} if name == "foldings" else set())) & set(frame.columns)
        order = ["signature"] if name == "consolidation_plan" else TABLES[name].key
        one, other = (part.drop(made).sort(order) for part in (frame, both[name]))
        assert one.equals(other), name


@pytest.mark.drill
def test_a_plan_made_before_another_commit_is_refused(night, consolidated):
    lake, tables, settings = consolidated, night[1], homes.settings(consolidated.home)
    profiles = tables["profiles"]
    with pytest.raises(Conflict, match="sample-1"):
        commit.commit(lake, tables, inputs.policies(settings, profiles), run_id="late")
    assert lake.ledger.runs()["run_id"].unique().to_list() == ["run"]
    again = consolidate.consolidate(lake, settings, profiles, run_id="again")
    assert again["consolidation_plan"].is_empty(), "the same night again plans nothing"
    assert again["profiles"]["seq"].min() > profiles["seq"].max()


def test_the_state_of_a_past_instant_is_a_snapshot_of_its_own(consolidated):
    month_ago = datetime(2026, 2, 1, tzinfo=UTC)
    path = rebuild.snapshot_at(consolidated, month_ago)
    with duckdb.connect(str(path), read_only=True) as connection:
        (latest,) = connection.execute("select max(created_at) from memories").fetchone()
        (count,) = connection.execute("select count(*) from memories").fetchone()
    assert latest <= month_ago
    assert 0 < count < consolidated.read("memories").height


def test_a_broken_invariant_stops_the_commit_and_names_the_rows(lake, night):
    tables = night[1]
    lake.project()
    protected = tables["scored_memories"].filter(pl.col("is_protected")).row(0, named=True)
    plan = tables["consolidation_plan"]
    forged = plan.head(1).with_columns(
        profile_id=pl.lit(protected["profile_id"]),
        plan_id=pl.lit(protected["plan_id"]),
        memory_id=pl.lit(protected["memory_id"]),
        target_id=pl.lit(None, pl.String),
        action=pl.lit("archive"),
        rule=pl.lit("archive_threshold"),
        after=pl.lit('{"lifecycle":"archived","superseded_by":null,"superseded_kind":null}'),
        decision_id=pl.lit("forged"),
    )
    broken = tables | {"consolidation_plan": pl.concat([plan, forged])}
    position = lake.ledger.position()
    with pytest.raises(commit.InvariantBroken, match=protected["memory_id"]) as caught:
        commit.commit(lake, broken, inputs.policies(homes.settings(lake.home), tables["profiles"]), run_id="broken")
    assert "protected" in set(caught.value.rows["check"])
    assert lake.ledger.position() == position
    assert lake.read("memories").is_empty()
