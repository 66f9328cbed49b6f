"""What data scientists ask of a store after several nights: its tables tell the same as the runs themselves."""

# ruff: noqa: S608 - queries of constants
import re

import duckdb
import homes
import polars as pl
import pytest
import sampling
from polars.testing import assert_frame_equal
from stores import rows

from memory_pipeline.consolidation.groups.succession import succession
from memory_pipeline.lake import snapshot
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import consolidate, inputs
from memory_pipeline.schemas import TABLES

PRESETS = ("automem", "cognitive", "engram", "three_tier")
"""Each decides by another score."""
NIGHTS = [homes.START + homes.days(day) for day in (55, 101, 140)]
SCORES = ["relevance", "retention", "recency", "energy", "strength", "importance", "age_days", "idle_days"]
KEY = ["profile_id", "memory_id"]


ANALYSES = re.split(r"\n(?=-- \d+\. )", re.search(
    r"```sql\n(-- 1\. .*?)```", (homes.HERE.parent / "docs" / "data-scientists.md").read_text("utf-8"), re.DOTALL
).group(1))  # fmt: skip


def used(lake, memory_ids, at):
    """Note a recall of which the agent was told that perhaps nothing answers it."""
    payload = {
        "memory_ids": memory_ids,
        "query": "what rests?",
        "ranks": [*range(1, len(memory_ids) + 1)],
        "scores": [0.5] * len(memory_ids),
        "unsure": True,
    }
    event = {"event_type": "memory.accessed", "profile_id": "sample-2", "user_id": "ann", "occurred_at": at}
    lake.ledger.append([parse(event | {"payload": payload}, recorded_at=at, origin="test")])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of one profile for each preset after three nights; yields it with the states after each."""
    home = tmp_path_factory.mktemp("store")
    policies = "".join(f'[profiles.sample-{n}]\npreset = "{name}"\n' for n, name in enumerate(PRESETS, 1))
    (home / "memory_pipeline.toml").write_text(policies, "utf-8")
    with homes.filled(home, homes.events(profiles=len(PRESETS), memories=20)) as lake:
        states = {}
        for as_of in NIGHTS:
            homes.night(lake, as_of=as_of, run_id=f"{as_of:%m-%d}")
            states[as_of] = lake.read("memories").select(*KEY, "lifecycle"), lake.read("clusters")
            resting = lake.read("memories", profiles=["sample-2"]).filter(pl.col("lifecycle") == "cold")
            if resting.height and as_of != NIGHTS[-1]:
                used(lake, resting["memory_id"].head(2).to_list(), as_of + homes.days(10))
        asked = {"profile_id": "sample-1", "purpose": "relation", "input_tokens": 90, "output_tokens": 10}
        lake.append("verdicts", rows("verdicts", [asked | {"request_hash": "1", "model": "m", "subject": "a:b"}]))
        yield lake, states


@pytest.fixture(scope="module")
def query(store):
    with duckdb.connect(str(snapshot.publish(store[0])), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield lambda text: connection.sql(text).pl()


def test_rows_have_the_keys_and_the_nullability_that_the_dictionary_tells(query):
    dictionary = query("FROM data_dictionary")
    for (name,), columns in dictionary.group_by("table_name"):
        rows_of = query(f"FROM {name}")
        wrong = [
            column for column in columns.filter(~pl.col("nullable"))["column_name"] if rows_of[column].null_count()
        ]
        assert wrong == [], name
        key = columns.drop_nulls("key")["column_name"].to_list()
        assert not key or rows_of.select(key).is_unique().all(), name


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda text: text.split(".")[0].removeprefix("-- "))
def test_an_analysis_of_the_page_finds_something(query, analysis):
    assert not query(analysis.strip().removesuffix(";")).is_empty()


def test_there_are_ten_analyses():
    assert len(ANALYSES) == 10


@pytest.mark.parametrize("days", sampling.first(200, 0.25))
def test_scores_at_any_instant_are_those_that_a_run_would_compute(store, query, days):
    lake, states = store
    instant = max(states) + homes.days(days)
    settings = homes.settings(lake.home)
    profiles = inputs.select_profiles(lake, settings, as_of=instant)
    computed = consolidate.preview(lake, settings, profiles)["scored_memories"]
    told = query(f"FROM scores_at('{instant.isoformat()}')")
    assert told.height > 50
    assert_frame_equal(told.select(*KEY, *SCORES), computed.select(*KEY, *SCORES), abs_tol=1e-9)


def test_scores_of_an_instant_before_the_last_run_follow_from_the_run_before_it(store, query):
    _, states = store
    first, second = sorted(states)[:2]
    between = query(f"FROM scores_at('{(second - homes.days(1)).isoformat()}')")
    assert set(between["run_as_of"]) == {first}
    at_first = query(f"SELECT {', '.join(KEY + SCORES)} FROM score_history WHERE as_of = '{first}' ORDER BY ALL")
    told = query(f"SELECT {', '.join(KEY + SCORES)} FROM scores_at('{first}') ORDER BY ALL")
    assert_frame_equal(told, at_first, abs_tol=1e-9)
    assert query(f"FROM scores_at('{first - homes.days(1)}')").is_empty()


def test_the_history_of_lifecycles_gives_every_state_that_a_run_left(store, query):
    _, states = store
    history = query("FROM lifecycle_history ORDER BY profile_id, memory_id, ordinal")
    assert set(history["to_lifecycle"]) >= {"active", "cold", "archived"}
    woken = history.filter(from_lifecycle="cold", to_lifecycle="active")
    assert woken.height
    assert woken["action"].null_count() == woken.height
    for as_of, (memories, _) in states.items():
        last = history.filter(pl.col("changed_at") <= as_of).unique(KEY, keep="last", maintain_order=True)
        found = memories.join(last, on=KEY, how="left")
        assert found.filter(pl.col("lifecycle").ne_missing(pl.col("to_lifecycle"))).is_empty(), as_of


def test_lifecycle_changes_are_those_between_two_instants_with_their_reasons(store, query):
    _, states = store
    first, second, *_ = sorted(states)
    changed = query(f"FROM lifecycle_changes('{first}', '{second}')")
    before, after = (states[as_of][0] for as_of in (first, second))
    differing = after.join(before, on=[*KEY, "lifecycle"], how="anti").select(KEY).sort(KEY)
    assert differing.height
    assert set(differing.iter_rows()) <= set(changed.select(KEY).iter_rows())
    assert changed.filter(pl.col("action").is_not_null())["reason"].null_count() == 0


def test_the_lineage_of_clusters_leads_from_each_commit_to_the_next(store, query):
    _, states = store
    lineage = query("FROM cluster_lineage")
    cluster = ["profile_id", "cluster_id"]
    known = pl.DataFrame(schema={"profile_id": pl.String, "cluster_id": pl.String, "size": pl.Int64})
    for as_of, (_, clusters) in sorted(states.items()):
        rows = lineage.filter(as_of=as_of)
        ended = rows.select("profile_id", cluster_id="previous_id").drop_nulls()
        assert ended.join(known, on=cluster, how="anti").is_empty(), "what ended was there"
        new = rows.select(*cluster, "size").drop_nulls().unique()
        known = pl.concat([known.join(ended, on=cluster, how="anti"), new])
        assert_frame_equal(
            known.sort(cluster), clusters.select(*cluster, size="cluster_size").sort(cluster), check_row_order=True
        )
    assert lineage["plan_id"].n_unique() > 1


def clusters_of(groups, **columns):
    """Tables `clusters` and `cluster_members` of named groups of members."""
    members = [{"cluster_id": name, "memory_id": member} for name, group in groups.items() for member in group]
    found = [{"cluster_id": name, "cluster_size": len(group), **columns} for name, group in groups.items()]
    return rows("clusters", found), rows("cluster_members", members)


def succeeded(before, after, **columns):
    """What became of groups in a commit: previous id, id, change and shared members."""
    earlier_clusters, earlier_members = clusters_of(before, method="episodes")
    clusters, members = clusters_of(after, **({"method": "episodes"} | columns))
    changes = succession(
        rows("profiles", [{"plan_id": "plan", "as_of": homes.NIGHT}]),
        clusters=clusters,
        members=members,
        earlier_clusters=earlier_clusters,
        earlier_members=earlier_members,
    )
    assert TABLES["cluster_lineage"].violations(changes).is_empty()
    return changes.select("previous_id", "cluster_id", "change", "shared_members").rows()


def test_every_kind_of_succession_has_a_name():
    assert succeeded({"a": "123"}, {"a": "123"}) == []
    assert succeeded({}, {"a": "12"}) == [(None, "a", "formed", 0)]
    assert succeeded({"a": "12"}, {}) == [("a", None, "dissolved", 0)]
    assert succeeded({"a": "12"}, {"b": "123"}) == [("a", "b", "grown", 2)]
    assert succeeded({"a": "123"}, {"b": "12"}) == [("a", "b", "shrunk", 2)]
    assert succeeded({"a": "12"}, {"b": "23"}) == [("a", "b", "exchanged", 1)]
    assert succeeded({"a": "12", "b": "34"}, {"c": "1234"}) == [("a", "c", "merged", 2), ("b", "c", "merged", 2)]
    assert succeeded({"a": "1234"}, {"b": "12", "c": "34"}) == [("a", "b", "split", 2), ("a", "c", "split", 2)]
    assert succeeded({"a": "123", "b": "45"}, {"c": "12", "d": "345"}) == [
        ("a", "c", "split", 2), ("a", "d", "regrouped", 1), ("b", "d", "merged", 2)
    ]  # fmt: skip
    other = [("a", None, "dissolved", 0), (None, "b", "formed", 0)]
    assert succeeded({"a": "12"}, {"b": "123"}, method="coactivation") == other[::-1]
