"""How a token budget goes through plan, commit, fold, snapshot and undo, in real stores."""

import shutil
from datetime import UTC, datetime, timedelta
from io import StringIO

import duckdb
import frames
import homes
import polars as pl
import pytest
import sampling
from planned import commit, memory, profiles, propose, revert, said, state
from rich.console import Console

from memory_pipeline.consolidation.groups.strategies import KINDS, SUPERSEDING
from memory_pipeline.consolidation.plans import dependants, invariants, planning, quota
from memory_pipeline.consolidation.state import projection
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.recall.client import restoring
from memory_pipeline.recall.client.explain import explain
from memory_pipeline.runs import consolidate, inputs, rebuild, undo
from memory_pipeline.runs.commit import PUBLISHED
from memory_pipeline.schemas import LIVE, TABLES
from memory_pipeline.service import report_runs
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens

NOW = datetime(2026, 7, 1, tzinfo=UTC)
KEY = ["profile_id", "memory_id"]
NO_DECISIONS = TABLES["decisions"].empty()
BUDGET = 0.5
MINUTES = (
    "Ida Holm sold the boathouse in Lisbon to Peter Brandt on 3 March 2021. We had to be in and out for a while. "
    "All of us were there and had some more of the same."
)
"""A text of which a budget leaves the best sentence."""
SMALL = 0.2
"""A budget for which many memories have to leave."""
BREAD = (
    "My sister Ida taught me to bake rye bread in her kitchen. The neighbours came by with cheese and old records. "
    "Hello from all of them! What a lovely day! Great to be here."
)
CUTS = (0.95, 0.9, 5.0)
"""Budgets of three nights: the first two cut some of that text, the last one the rest."""
HARMFUL = tuple(
    (f"fact{index}", {"content": text})
    for index, text in enumerate(
        (
            "Peter is allergic to figs.",
            "Nadia carries an inhaler for her asthma.",
            "The twins must never swim without a grown-up.",
            "Grandfather takes 40 mg of his blue pills at noon.",
            "Our lawyer keeps the passports of the children.",
        )
    )
)
"""What it harms to forget, told beside that text."""


def told(memories):
    """Two people's events, so many memories each, and two long texts of both."""
    noted = [
        event
        for profile_id in ("sample-1", "sample-2")
        for event in events_of(("minutes", {"content": MINUTES}), ("bread", {"content": BREAD}), profile_id=profile_id)
    ]
    return [*homes.events(profiles=2, memories=memories, seed=5), *noted]


@pytest.fixture(scope="module")
def history():
    return told(50)


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory, history):
    """A store after a night with a budget, and every table of that night."""
    home = tmp_path_factory.mktemp("trimmed")
    homes.settings(home, token_budget=BUDGET, max_archived_share=1.0)
    with homes.filled(home, history) as lake:
        made = night(lake)
    return home, made


@pytest.fixture
def lake(trimmed, tmp_path):
    with homes.copied(trimmed[0], tmp_path) as opened:
        yield opened


@pytest.fixture
def made(trimmed):
    return trimmed[1]


def night(lake: Lake, **options):
    return homes.night(lake, policy=homes.settings(lake.home), **options)


def planned(lake: Lake, *, as_of=homes.NIGHT, **options) -> pl.DataFrame:
    settings = homes.settings(lake.home)
    own = inputs.select_profiles(lake, settings, as_of=as_of, **options)
    return consolidate.preview(lake, settings, own)["consolidation_plan"]


def tokens(memories: pl.DataFrame, column: pl.Expr) -> dict[str, int]:
    """Tokens of each profile's texts with their speakers."""
    named = pl.col("speaker").fill_null("") != ""
    texts = memories.select(
        "profile_id", text=pl.when(named).then(pl.concat_str("speaker", pl.lit(": "), column)).otherwise(column)
    )
    counted = texts.with_columns(tokens=count_tokens(texts["text"]))
    return dict(counted.group_by("profile_id").agg(pl.col("tokens").sum()).sort("profile_id").rows())


def shown(memories: pl.DataFrame) -> dict[str, int]:
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    return tokens(live, pl.coalesce("trimmed", "content"))


def cut(memories: pl.DataFrame) -> pl.DataFrame:
    return memories.drop_nulls("trimmed")


def originals_cut(lake: Lake) -> list[str]:
    """Trimmed memories of the second profile that an agent stored; that of which most was cut comes first."""
    trimmed = cut(lake.read("memories", profiles=["sample-2"])).filter(pl.col("kind") == "original")
    saved = pl.col("content").str.len_chars() - pl.col("trimmed").str.len_chars()
    return trimmed.sort(saved, descending=True)["memory_id"].to_list()


def row_of(lake: Lake, name: str) -> dict[str, object]:
    memories = lake.read("memories", profiles=["sample-2"])
    return memories.row(by_predicate=pl.col("memory_id") == name, named=True)


def same_as_rebuilt(lake: Lake, profile_id: str) -> None:
    rebuilt = rebuild.rebuild(lake, profile_id)
    for name in PUBLISHED:
        assert rebuilt[name].equals(lake.read(name, profiles=[profile_id])), name


def test_a_budget_trims_a_text_and_the_snapshot_shows_the_whole_one_too(tmp_path):
    homes.settings(tmp_path, token_budget=CUTS[0])
    with homes.filled(tmp_path, events_of(("bread", {"content": BREAD}), *HARMFUL)) as opened:
        trimmed_to(CUTS[0], opened, night(opened))
        shown_in_the_snapshot(opened)


@pytest.mark.drill
def test_a_run_trims_to_the_budget_and_keeps_the_whole_texts(lake, made):
    trimmed_to(BUDGET, lake, made)


def trimmed_to(budget, lake, made):
    memories = lake.read("memories")
    originals = made["memories"].filter(pl.col("kind") == "original")
    stored = tokens(originals, pl.col("content"))
    assert all(shown(memories)[name] <= budget * stored[name] for name in stored)
    trimmed = cut(memories)
    assert trimmed.height
    whole = trimmed.join(originals, on=KEY, suffix="_before")
    assert (whole["content"] == whole["content_before"]).all()
    assert (trimmed["trimmed"].str.len_chars() < trimmed["content"].str.len_chars()).all()
    decided = made["consolidation_plan"].filter(pl.col("action") == "trim")
    assert set(decided["rule"]) == {"token_budget"}
    assert made["trims"].select(KEY).equals(decided.select(KEY).sort(KEY))
    assert lake.read("trims").equals(made["trims"])
    assert trimmed.join(decided, on=[*KEY, "plan_id"], how="semi").height == trimmed.height


@pytest.mark.drill
def test_under_a_budget_only_summaries_are_made_that_take_the_place_of_others(made):
    kinds = {KINDS[name] for name in SUPERSEDING}
    assert made["summaries"].height
    assert set(made["summaries"]["kind"]) <= kinds


@pytest.mark.drill
def test_a_preview_is_what_is_then_committed_and_the_second_run_decides_nothing(tmp_path, history, made, lake):
    (tmp_path / "before").mkdir()
    homes.settings(tmp_path / "before", token_budget=BUDGET, max_archived_share=1.0)
    with homes.filled(tmp_path / "before", history) as before:
        foreseen = planned(before)
    assert made["consolidation_plan"].equals(foreseen)
    assert "trim" in set(foreseen["action"])
    assert planned(lake).is_empty()


@pytest.mark.drill
def test_a_narrower_budget_is_met_at_once_without_quota_and_undo_restores_the_one_before_and_then_the_texts(tmp_path):
    homes.settings(tmp_path, token_budget=BUDGET, max_archived_share=1.0)
    with homes.filled(tmp_path, told(60)) as lake:
        narrowed_and_undone(lake, night(lake))


def narrowed_and_undone(lake, made):
    first, least = lake.read("memories"), 0.17
    homes.settings(lake.home, token_budget=least)
    later = homes.NIGHT + timedelta(days=1)
    narrowed = night(lake, as_of=later, run_id="second", max_archived_share=1.0)["consolidation_plan"]
    leaving = for_room(narrowed, "archive").group_by("profile_id").len()
    assert leaving["len"].min() > quota.FLOOR
    second = lake.read("memories")
    stored = tokens(second.filter(pl.col("kind") == "original"), pl.col("content"))
    assert all(shown(second)[name] <= least * stored[name] < shown(first)[name] for name in stored)
    assert "token_budget" not in set(planned(lake, as_of=later + timedelta(hours=1))["rule"])
    same_as_rebuilt(lake, "sample-2")
    undo.undo(lake, "second", now=NOW)
    assert lake.read("memories").equals(first)
    undo.undo(lake, "run", now=NOW)
    assert lake.read("memories").equals(made["memories"])
    homes.settings(lake.home, token_budget=BUDGET, max_archived_share=1.0)
    again = planned(lake)
    assert not again.filter(pl.col("action") == "trim").join(made["trims"], on=KEY, how="semi").height


@pytest.mark.drill
def test_a_text_that_is_given_back_stays_whole_and_one_that_changes_is_shown_whole(lake):
    name, changed, *_ = originals_cut(lake)
    undone = undo.undo(lake, name, profile_id="sample-2", now=NOW)
    assert undone["action"].to_list() == ["trim"]
    assert row_of(lake, name)["trimmed"] is None
    homes.settings(lake.home, token_budget=0.485, max_archived_share=1.0)  # which that text is too much for
    later = planned(lake, as_of=homes.NIGHT + timedelta(hours=1))
    assert not for_room(later, "archive").is_empty() or not for_room(later, "trim").is_empty()
    assert later.filter(pl.col("memory_id") == name, pl.col("action") == "trim").is_empty()
    update = {
        "event_id": "late",
        "profile_id": "sample-2",
        "event_type": "memory.updated",
        "occurred_at": (homes.NIGHT + timedelta(hours=1)).isoformat(),
        "memory_id": changed,
        "payload": {"content": "Lisbon."},
    }
    lake.ledger.append([parse(update, recorded_at=NOW, origin="test", future=None)])
    night(lake, as_of=homes.NIGHT + timedelta(hours=2), run_id="later")
    assert row_of(lake, name)["trimmed"] is None
    row = row_of(lake, changed)
    assert (row["content"], row["trimmed"]) == ("Lisbon.", None)


@pytest.mark.drill
def test_the_snapshot_shows_both_texts(lake):
    shown_in_the_snapshot(lake)


def shown_in_the_snapshot(lake):
    trimmed = cut(lake.read("memories")).row(0, named=True)
    with duckdb.connect(str(snapshot.publish(lake)), read_only=True) as connection:
        asked = [trimmed["profile_id"], trimmed["memory_id"]]
        found = connection.execute(
            "SELECT content, trimmed FROM memories WHERE profile_id = ? AND memory_id = ?", asked
        ).fetchall()
        assert found == [(trimmed["content"], trimmed["trimmed"])]
        said_of = connection.execute(
            "SELECT value FROM explain($2, profile := $1) WHERE aspect = 'trimmed'", asked
        ).fetchall()
        assert said_of == [(trimmed["trimmed"],)]


@pytest.mark.drill
def test_a_run_that_forgets_trims_and_a_reflection_does_not(tmp_path, history):
    homes.settings(tmp_path, token_budget=BUDGET, max_archived_share=1.0)
    with homes.filled(tmp_path, history) as lake:
        forgetting, reflection = (planned(lake, task=task) for task in ("forget", "reflect"))
    assert "trim" in set(forgetting["action"])
    assert "trim" not in set(reflection["action"])
    assert "token_budget" not in set(reflection["rule"])


def for_room(plan: pl.DataFrame, action: str) -> pl.DataFrame:
    return plan.filter(pl.col("rule") == "token_budget", pl.col("action") == action)


def said_of(lake: Lake, run_id: str) -> str:
    """What the command line shows of a run, on lines without an end."""
    with Console(file=StringIO(), width=10_000) as console:
        done = report_runs.run_document(lake, run_id)
        report_runs.run(console, lake, done, report_runs.changes_of(lake, done, UTC), UTC)
    return str(console.file.getvalue())


@pytest.fixture(scope="module")
def chain(tmp_path_factory, history):
    """Nights under a small budget and the quota as it is, until one decides nothing: the store, and after each night
    its plan and what it published.
    """
    home = tmp_path_factory.mktemp("chain")
    homes.settings(home, token_budget=SMALL)
    with homes.filled(home, history) as lake:
        nights = []
        while not nights or nights[-1][0].height:
            assert len(nights) < 9
            at = homes.NIGHT + timedelta(hours=len(nights))
            plan = night(lake, as_of=at, run_id=f"night{len(nights)}")["consolidation_plan"]
            nights.append((plan, homes.published(lake)))
        yield lake, nights


@pytest.mark.drill
def test_a_token_budget_gets_no_profile_held_and_each_night_takes_what_the_quota_lets_leave(chain):
    _, nights = chain
    plans = [plan for plan, _ in nights]
    assert len(plans) > 3
    assert all("held" not in set(plan["status"]) for plan in plans)
    leaving = [for_room(plan, "archive").group_by("profile_id").len()["len"].to_list() for plan in plans]
    assert leaving[0] == [quota.FLOOR] * 2
    assert all(count <= quota.FLOOR for counts in leaving for count in counts)


@pytest.mark.drill
def test_nights_go_on_towards_the_budget_and_stop_when_it_holds(chain):
    _, nights = chain
    stored = tokens(nights[0][1]["memories"].filter(pl.col("kind") == "original"), pl.col("content"))
    used = [shown(tables["memories"]) for _, tables in nights]
    for name, whole in stored.items():
        falling = [one[name] for one in used]
        assert falling[0] > SMALL * whole >= falling[-1]
        assert falling == sorted(falling, reverse=True)
    assert nights[-1][0].is_empty()


@pytest.mark.drill
def test_a_run_says_where_its_token_budget_stands(chain):
    lake, nights = chain
    first, last = said_of(lake, "night0"), said_of(lake, f"night{len(nights) - 1}")
    line = next(one for one in first.splitlines() if one.startswith("token budget of sample-1"))
    memories = nights[0][1]["memories"].filter(profile_id="sample-1")
    stored = tokens(memories.filter(kind="original"), pl.col("content"))
    share = 100 * shown(memories)["sample-1"] / stored["sample-1"]
    assert line == (
        f"token budget of sample-1: 20 %, in use {share:.3g} %; the quota of 10 % per run (at least 20) leaves the "
        "excess to later runs; --max-archived-share 1 lifts it"
    )
    assert "token budget of sample-1: " in last
    assert "later runs" not in last
    assert "yield to a token budget" in first


@pytest.mark.drill
def test_a_plan_like_any_other_is_held_and_then_the_budget_takes_nothing_more(tmp_path, history):
    homes.settings(tmp_path, token_budget=SMALL, archive_threshold=1.0, grace_period_days=0.0)
    with homes.filled(tmp_path, history) as lake:
        plan = planned(lake)
        assert set(plan["status"]) == {"held"}
        assert for_room(plan, "archive").is_empty()


@pytest.mark.drill
def test_what_another_rule_takes_leaves_less_to_the_budget(tmp_path, history):
    homes.settings(tmp_path, token_budget=SMALL, archive_threshold=0.003)
    with homes.filled(tmp_path, history) as lake:
        plan = planned(lake)
        gone = plan.filter(pl.col("action") == "archive").group_by("profile_id", "rule").len().sort("profile_id")
        by_rule = {(name, rule): count for name, rule, count in gone.rows()}
        assert "held" not in set(plan["status"])
        assert by_rule["sample-1", "archive_threshold"] > 0
        assert by_rule["sample-1", "archive_threshold"] + by_rule["sample-1", "token_budget"] == quota.FLOOR


@pytest.mark.drill
def test_a_rebuild_gives_what_the_last_of_several_nights_published_and_each_is_undone_exactly(chain, tmp_path):
    lake, nights = chain
    copy = shutil.copytree(lake.home, tmp_path / "copy")
    with Lake(copy) as own:
        own_state = [tables["memories"] for _, tables in nights]
        same_as_rebuilt(own, "sample-1")
        for index in range(len(nights) - 1, len(nights) - 3, -1):
            undo.undo(own, f"night{index}", now=NOW)
            assert own.read("memories").equals(own_state[index - 1])


def events_of(*rows, profile_id="u"):
    """Events of a profile that stored memories two days ago: their ids and payloads."""
    made = [
        {
            "event_id": f"{profile_id} {name}",
            "profile_id": profile_id,
            "event_type": "memory.stored",
            "occurred_at": (homes.NIGHT - timedelta(days=2)).isoformat(),
            "memory_id": name,
            "payload": payload,
        }
        for name, payload in rows
    ]
    return [parse(one, recorded_at=NOW, origin="test", future=None) for one in made]


@pytest.fixture(scope="module")
def bread(tmp_path_factory):
    """A store in which one text was cut on two nights and archived on the third."""
    home = tmp_path_factory.mktemp("bread")
    with homes.filled(home, events_of(("bread", {"content": BREAD}), *HARMFUL)) as lake:
        texts, decided = [BREAD], []
        for index, budget in enumerate(CUTS):
            homes.settings(home, token_budget=budget)
            made = night(lake, as_of=homes.NIGHT + timedelta(hours=index), run_id=f"night{index}")
            decided.append(
                made["consolidation_plan"].filter(memory_id="bread", rule="token_budget")["action"].to_list()
            )
            row = memory_of(lake, "bread")
            texts.append(row["trimmed"])
        assert decided == [["trim"], ["trim"], ["archive"]]
        assert len(texts[0]) > len(texts[1]) > len(texts[2])
        assert texts[2] == texts[3]
        assert row["lifecycle"] == "archived"
    return home


@pytest.mark.drill
@pytest.mark.parametrize("back", ["undo", "restore"])
def test_a_text_that_several_nights_have_cut_comes_back_whole_and_stays(bread, tmp_path, back):
    with homes.copied(bread, tmp_path) as lake:
        if back == "restore":
            restoring.restore(lake, "bread", profile_id="u", now=NOW)
        else:
            undo.undo(lake, "night2", now=NOW)
            undo.undo(lake, "night0", cascade=True, now=NOW)
        row = memory_of(lake, "bread")
        assert (row["content"], row["trimmed"], row["lifecycle"]) == (BREAD, None, "active")
        later = planned(lake, as_of=homes.NIGHT + timedelta(days=1))
        assert "bread" not in set(for_room(later, "trim")["memory_id"]) | set(for_room(later, "archive")["memory_id"])


def memory_of(lake: Lake, name: str) -> dict[str, object]:
    return lake.read("memories").row(by_predicate=pl.col("memory_id") == name, named=True)


@pytest.mark.drill
@pytest.mark.parametrize("budget", sampling.first(10.0**9, 0.9))
def test_a_larger_budget_or_none_brings_nothing_back(chain, tmp_path, budget):
    lake, _ = chain
    copy = shutil.copytree(lake.home, tmp_path / "copy")
    with Lake(copy) as own:
        before = own.read("memories")
        homes.settings(copy, token_budget=budget)
        night(own, as_of=homes.NIGHT + timedelta(days=1), run_id="wide")
        assert cut(own.read("memories")).select(*KEY, "trimmed").equals(cut(before).select(*KEY, "trimmed"))


@pytest.mark.drill
def test_what_was_marked_as_important_is_never_archived_for_a_budget(tmp_path):
    cousins = ("Ana", "Boris", "Clara", "Dina", "Emil", "Flora", "Georg", "Hilda", "Ivan")
    rows = [
        ("decided", {"memory_type": "Decision", "content": "We decided to use PostgreSQL for the billing service."}),
        ("important", {"importance": 0.9, "content": "The customers churn after the second invoice."}),
        *((f"fact{n}", {"content": f"My cousin {name} is {30 + n} years old."}) for n, name in enumerate(cousins)),
        ("inferred", {"content": "Hm, well, so I decided to go on like that for a while, as we all do."}),
    ]
    homes.settings(tmp_path, token_budget=30.0, max_archived_share=1.0)
    with homes.filled(tmp_path, events_of(*rows)) as lake:
        night(lake)
        stands = dict(lake.read("memories").filter(kind="original").select("memory_id", "lifecycle").rows())
        assert {"decided", "important"} <= {name for name, lifecycle in stands.items() if lifecycle in LIVE}
        facts = [lifecycle for name, lifecycle in stands.items() if name.startswith("fact")]
        assert (stands["inferred"], "archived" in facts) == ("archived", True)
        reasons = dict(lake.read("scored_memories").select("memory_id", "protection_reason").rows())
        assert (reasons["decided"], reasons["important"]) == ("protected type: Decision", "importance at least 0.7")
        told_of = "\n".join(explain(lake, "inferred").lines())
        assert "It is archived; only a deep recall finds it. It says what is worth least" in told_of
        live = next(name for name, one in stands.items() if name.startswith("fact") and one in LIVE)
        told_of = "\n".join(explain(lake, live).lines())
        assert "It does not fade: younger than 90 days; a token budget goes before that." in told_of
        assert "the rest is protected" not in said_of(lake, "run")
        homes.settings(tmp_path, token_budget=5.0, max_archived_share=1.0)
        night(lake, as_of=homes.NIGHT + timedelta(hours=1), run_id="narrow")
        left = lake.read("memories").filter(pl.col("lifecycle").is_in(LIVE), kind="original")
        assert set(left["memory_id"]) == {"decided", "important"}
        assert "; the excess is protected or was restored by hand" in said_of(lake, "narrow")
        assert planned(lake, as_of=homes.NIGHT + timedelta(hours=2)).is_empty()


def trim(name, before, **fields):
    return {"memory_id": name, "content_hash": memory(before, name)["content_hash"], **fields}


def shows(after):
    return dict(after.memories.select("memory_id", "trimmed").rows())


def test_the_last_trim_of_a_text_holds_and_null_gives_it_back():
    before = state("a", "b")
    first = commit(propose(before, cut=[trim("a", before), trim("b", before)]), 101)
    after = projection.apply(before, first)
    assert shows(after) == {"a": "Ada.", "b": "Ada."}
    second = commit(propose(after, cut=[trim("a", before, trimmed=None)]), 102)
    assert shows(projection.apply(after, second)) == {"a": None, "b": "Ada."}
    both = pl.concat([first, second])
    assert projection.apply(before, both).memories.equals(projection.apply(after, second).memories)
    assert said(propose(after, cut=[trim("a", before), trim("b", before)])) == []
    other = state({"memory_id": "a", "content": "Another text."}, "b")
    assert shows(projection.apply(other, first)) == {"a": None, "b": "Ada."}


def test_a_trim_of_another_text_decides_nothing():
    assert propose(state("a"), cut=[{"memory_id": "a", "content_hash": "of a former text"}]).is_empty()


def test_what_leaves_is_not_trimmed_and_a_summary_that_is_not_made_neither():
    before = state("a", "b")
    plan = propose(before, cut=[trim("a", before), trim("b", before)], leaving=[{"memory_id": "a"}])
    assert said(plan) == [("trim", "b", None), ("archive", "a", None)]
    assert propose(before, cut=[{"memory_id": "S", "content_hash": "x"}]).is_empty()


def test_a_text_that_was_given_back_is_not_trimmed_otherwise_either():
    before = state("a")
    decided = commit(propose(before, cut=[trim("a", before)]), 101)
    undone = {"decisions": decided, "reverted": revert(decided)}
    assert propose(before, cut=[trim("a", before, trimmed="Bath.")], **undone).is_empty()
    asked = propose(before, cut=[trim("a", before)], of=profiles(retry_reverted=True), **undone)
    assert said(asked) == [("trim", "a", None)], "unless a run asks for it again"
    changed = state({"memory_id": "a", "content": "Another text."})
    assert said(propose(changed, cut=[trim("a", changed)], **undone)) == [("trim", "a", None)]


def test_a_later_trim_builds_on_the_one_before():
    before = state("a")
    first = commit(propose(before, cut=[trim("a", before)]), 101)
    after = projection.apply(before, first)
    second = commit(propose(after, cut=[trim("a", before, trimmed="A.")]), 102)
    assert said(dependants.of(pl.concat([first, second]), first)) == [("trim", "a", None)]


@pytest.mark.parametrize(
    ("fields", "firm", "wish"),
    [
        ({"protected": True}, False, "cut"),
        ({"protected": True}, False, "leaving"),
        ({"category": "core"}, False, "cut"),
        ({"category": "core"}, False, "leaving"),
        ({}, True, "leaving"),
    ],
)
def test_the_budget_may_take_what_is_protected_but_not_what_is_barred(fields, firm, wish):
    before = state({"memory_id": "a", **fields}, "b")
    rows = {
        "cut": [trim("a", before), trim("b", before)],
        "leaving": [{"memory_id": name, "rule": "token_budget"} for name in "ab"],
    }
    plan = propose(before, **{wish: rows[wish]})
    post = planning.post_state(before, plan, NO_DECISIONS)
    scored = before.memories.select(
        *KEY,
        strength=pl.lit(0.5),
        is_protected=pl.lit(value=True),
        budget_protected=pl.lit(firm) & (pl.col("memory_id") == "a"),
        protection_reason=pl.lit("younger than 90 days"),
    )
    bad = invariants.violations(
        plan,
        before,
        profiles(),
        policy=Policy(),
        scored=scored,
        post=post,
        retrievable=before.memories.select(KEY),
    )
    assert bad.select("check", "memory_id").rows() == [("protected", "a")]


def test_a_trim_to_nothing_breaks_an_invariant():
    before = state("a")
    plan = propose(before, cut=[trim("a", before, trimmed=" ")])
    post = planning.post_state(before, plan, NO_DECISIONS)
    bad = invariants.violations(
        plan,
        before,
        profiles(),
        policy=Policy(),
        scored=frames.memories([]).select(
            *KEY,
            is_protected=pl.lit(value=True),
            budget_protected=pl.lit(value=False),
            protection_reason=pl.lit(""),
        ),
        post=post,
        retrievable=before.memories.select(KEY),
    )
    assert bad.select("check", "detail").rows() == [("conservation", "It was trimmed to nothing.")]
