"""What a run leaves for the next one, what it reads of a text, and what it looks at: stages on tables made by hand."""

from datetime import timedelta
from typing import NamedTuple

import frames
import numpy as np
import polars as pl
import pytest
from frames import AS_OF, ago
from planned import NO_DECISIONS, NO_REVERTS, commit, found, profiles, propose, revert, rising, rows, state
from polars.testing import assert_frame_equal
from stage_calls import apply
from uses import changed

from memory_pipeline.consolidation import enrichments, pipeline, similarity
from memory_pipeline.consolidation.context import TASKS, Context
from memory_pipeline.consolidation.plans import invariants
from memory_pipeline.consolidation.stage import stage, tables_of
from memory_pipeline.schemas import TABLES, Deferred, Frame, Judgements, Memories
from memory_pipeline.settings import Policy

KEY = ["profile_id", "memory_id"]
NAMES = "abcdef"
TOMORROW = AS_OF + timedelta(days=1)


def context(as_of=AS_OF, task="full", scope="all", **policy):
    return Context(policy=Policy(**policy), as_of=as_of, plan_id="plan", actions=TASKS[task], scope=scope)


def store(*importance, **fields):
    """Memories a, b, ... of these importances."""
    return frames.memories(
        {"memory_id": name, "importance_given": value, **fields} for name, value in zip(NAMES, importance, strict=False)
    )


def deferred(memories, limit, decisions=NO_DECISIONS, reverted=NO_REVERTS, as_of=AS_OF, of=("p",)):
    """Ids and places of what a run with this row limit leaves."""
    table = apply(
        "defer",
        context(as_of),
        profiles=profiles(*of, row_limit=limit),
        memories=memories,
        memory_importance=frames.importance(memories),
        decisions=decisions,
        reverted=reverted,
    )
    assert TABLES["deferred"].violations(table).is_empty()
    return table.sort("profile_id", "place").select("memory_id", "place").rows()


def leave(*names, as_of=AS_OF, seq=101):
    """Committed decisions that these memories were deferred."""
    late = [{"memory_id": name, "place": index} for index, name in enumerate(names)]
    return commit(propose(state(*NAMES), late=late, of=profiles(as_of=as_of)), seq)


def test_a_run_without_a_limit_leaves_nothing():
    memories = store(0.1, 0.2, 0.3)
    for limit in (0, 3, 9):
        assert deferred(memories, limit) == []


def test_the_most_important_come_first_then_the_most_accessed_then_the_oldest_then_the_smaller_id():
    assert deferred(store(0.1, 0.9, 0.5), 1) == [("c", 1), ("a", 2)]
    alike = frames.memories(
        [
            {"memory_id": "a"},
            {"memory_id": "b"},
            {"memory_id": "c", "created_at": ago(200)},
            {"memory_id": "d", "access_count": 1},
            {"memory_id": "e", "access_count": 7},
        ]
    )
    assert deferred(alike, 1) == [("d", 1), ("c", 2), ("a", 3), ("b", 4)]
    assert deferred(alike[::-1], 4) == [("b", 4)]


def test_what_was_deferred_comes_first_next_time():
    memories = store(0.9, 0.8, 0.7, 0.6, 0.5)
    assert deferred(memories, 3) == [("d", 3), ("e", 4)]
    past = leave("d", "e")
    assert deferred(memories, 3, past, as_of=TOMORROW) == [("b", 3), ("c", 4)]
    assert deferred(memories, 3, past, revert(past), as_of=TOMORROW) == [("d", 3), ("e", 4)]
    assert deferred(memories, 3, past) == [("d", 3), ("e", 4)], "a second run at the same instant leaves the same"
    later = pl.concat([past, leave("b", "c", as_of=TOMORROW, seq=102)])
    assert deferred(memories, 3, later, as_of=TOMORROW + timedelta(days=1)) == [("d", 3), ("e", 4)]


def test_only_live_originals_are_counted_each_profile_by_its_own_limit():
    memories = frames.memories(
        [
            {"memory_id": "a", "importance_given": 0.2},
            {"memory_id": "b", "importance_given": 0.1, "lifecycle": "warm"},
            {"memory_id": "c", "importance_given": 0.9, "lifecycle": "cold"},
            {"memory_id": "S", "importance_given": 0.9, "kind": "meta_pattern"},
            {"memory_id": "a", "importance_given": 0.1, "profile_id": "q"},
            {"memory_id": "b", "importance_given": 0.2, "profile_id": "q"},
        ]
    )
    assert deferred(memories, 1, of=("p", "q")) == [("b", 1), ("a", 1)]
    assert deferred(memories, 1) == [("b", 1)]
    mixed = pl.concat([profiles("p", row_limit=0), profiles("q", row_limit=1)])
    table = apply("defer", context(), profiles=mixed, memories=memories, memory_importance=frames.importance(memories))
    assert table.select(*KEY).rows() == [("q", "a")]


ALIKE = {name: [1.0, 0.01 * place] for place, name in enumerate(NAMES)}


def alike():
    """Six memories that say nearly the same, with the tables that come from them."""
    memories = frames.memories(
        {"memory_id": name, "content": f"Ada lives in Bath, note {name}", "created_at": ago(200 - index)}
        for index, name in enumerate(NAMES)
    )
    scored = apply("score", context(), memories=memories, memory_importance=frames.importance(memories))
    return memories, scored, frames.enrichment({}, of=memories), frames.vectors(ALIKE, of=memories)


def rest(*names):
    return rows("deferred", [{"memory_id": name, "place": index} for index, name in enumerate(names)])


NO_EDGES = frames.edges([])


def test_what_is_deferred_is_neither_compared_nor_linked_nor_grouped():
    memories, scored, enrichment, vectors = alike()
    texts = {"a": "Ada lives in Porto.", "b": "Ada lives in Lisbon."}
    updated = memories.with_columns(
        content=pl.col("memory_id").replace(texts), content_hash=pl.col("memory_id").replace({"a": "x", "b": "y"})
    )

    def touched(*left):
        late = rest(*left)
        shared = {"deferred": late, "vectors": vectors}
        facts = apply("detect_changes", context(), memories=updated, enrichment=enrichment, **shared).fact_changes
        near = {"neighbours": apply("find_neighbours", context(), memories=memories, vectors=vectors).neighbours}
        links = apply("propose_edges", context(), memories=memories, scored_memories=scored, **shared, **near)
        groups = apply(
            "cluster",
            context(cluster_min_size=2),
            memories=memories,
            scored_memories=scored,
            enrichment=enrichment,
            **shared,
        )
        ends = set(facts["memory_id"]) | set(facts["other_id"])
        return ends, {*links["source"], *links["target"]}, set(groups.cluster_members["memory_id"])

    facts, links, members = touched()
    assert facts >= {"a", "b"}
    assert links == members == set(NAMES)
    facts, links, members = touched("b", "e")
    assert not facts & {"b", "e"}
    assert links == members == set(NAMES) - {"b", "e"}


def test_no_summary_is_stale_while_something_was_deferred():
    memories = frames.memories(
        [{"memory_id": name} for name in "ab"]
        + [
            {"memory_id": "S", "kind": "meta_pattern", "members": ["a", "b"], "cluster_id": "gone"},
            {"memory_id": "S", "kind": "meta_pattern", "members": [], "cluster_id": "gone", "profile_id": "q"},
        ]
    )
    scored = apply("score", context(), memories=memories, memory_importance=frames.importance(memories))

    def stale(late):
        left = apply(
            "forget", context(), profiles=profiles(), memories=memories, scored_memories=scored, deferred=late
        ).archived_set
        return left.filter(pl.col("rule") == "stale_summary").select(KEY).rows()

    assert stale(rest()) == [("p", "S"), ("q", "S")]
    assert stale(rest("b")) == [("q", "S")]


SWITCHES = {
    "keywords": ("keywords", []),
    "entities": ("entities", []),
    "importance": ("rule_importance", 0.5),
    "gist": ("gist", None),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_what_is_switched_off_is_as_if_nothing_had_been_read_out_of_the_text(name):
    memories = frames.memories([{"memory_id": "a"}])
    known = frames.enrichment({"a": ["Ada"]}, of=memories).with_columns(
        keywords=pl.lit(["home"], pl.List(pl.String)), rule_importance=pl.lit(0.9), gist=pl.lit("a gist")
    )
    every = Policy().enrichments
    assert_frame_equal(enrichments.enabled(known, context().policy), known)
    told = enrichments.enabled(known, context(enrichments=tuple(one for one in every if one != name)).policy)
    column, value = SWITCHES[name]
    assert told[column].to_list() == [value]
    assert_frame_equal(told.drop(column), known.drop(column))
    assert told.schema == known.schema
    nothing = enrichments.enabled(known, context(enrichments=()).policy)
    for column, value in SWITCHES.values():
        assert nothing[column].to_list() == [value]


def test_without_embeddings_texts_are_read_and_no_vector_is_made():
    memories = frames.memories([{"memory_id": "a", "content": "Ada lives in Bath."}])
    words, points = apply("enrich_texts", context(), memories=memories)
    assert (words.height, sorted(points["model"])) == (1, ["hashing", "reader"])
    same, read = apply("enrich_texts", context(enrichments=("keywords",)), memories=memories)
    assert read["model"].to_list() == ["reader"]  # what the judge reads
    unread = context(enrichments=("keywords",), fact_changes=False)
    assert apply("enrich_texts", unread, memories=memories)[1].is_empty()
    assert_frame_equal(same, words)
    again = apply("enrich_texts", context(), memories=memories, enrichment=words, vectors=points)
    assert again.enrichment.is_empty()
    assert again.vectors.is_empty()


def test_entities_that_are_switched_off_make_no_edge_and_importance_none_but_the_given():
    memories = frames.memories({"memory_id": name, "session_id": name} for name in NAMES)
    shared = frames.enrichment({name: ["Ada"] for name in NAMES}, of=memories)
    known = shared.with_columns(rule_importance=pl.lit(0.9))

    def edges(**policy):
        every = context(reference_share=1.0, **policy)
        return apply("derive_edges", every, memories=memories, enrichment=known)["edge_type"].to_list()

    assert "REFERENCES" in edges()
    assert "REFERENCES" not in edges(enrichments=("importance",))

    def importance(**policy):
        table = apply("measure_importance", context(**policy), memories=memories, enrichment=known)
        return table["importance"][0]

    assert (importance(), importance(enrichments=("entities",))) == (0.9, 0.5)


def plan(scope, since, *, task="full", **proposals):
    """What a run over sessions one (a, b) and two (c, d) and the lone e decides, by its scope."""
    sessions = {"a": "one", "b": "one", "c": "two", "d": "two"}
    memories = frames.memories({"memory_id": name, "session_id": sessions.get(name)} for name in "abcde")
    decided = apply(
        "plan",
        context(task=task, scope=scope),
        profiles=profiles(since=since, scope=scope, max_archived_share=1.0),
        memories=memories,
        **proposals,
    )
    return decided.consolidation_plan.sort("ordinal")


def moved(name, target=None):
    """A row of `archived_set`."""
    action = "supersede" if target else "archive"
    return {"memory_id": name, "action": action, "rule": action, "reason": "It goes.", "target_id": target}


def test_a_recent_run_decides_only_what_touches_sessions_with_something_new():
    old, mixed, new = (
        {"summary_id": name, "members": list(members), "cluster_id": name}
        for name, members in (("S", "ab"), ("T", "bc"), ("U", "de"))
    )
    proposals = {
        "summaries": frames.summaries([old, mixed, new]),
        "archived_set": rows(
            "archived_set", [moved("a", "S"), moved("b", "T"), moved("c", "T"), moved("d", "U"), moved("e")]
        ),
        "proposed_edges": frames.edges([found("a", "b"), found("a", "c"), found("d", "e")]),
    }

    def decided(since, scope="recent"):
        return plan(scope, since, **proposals).select("action", "memory_id", "target_id").rows()

    moves = [("supersede", "b", "T"), ("supersede", "c", "T"), ("supersede", "d", "U")]
    assert decided(3) == [
        ("link", "a", "c"),
        ("link", "d", "e"),
        ("summarise", "T", None),
        ("summarise", "U", None),
        *moves,
    ]
    assert decided(4) == [("link", "d", "e"), ("summarise", "U", None), ("supersede", "d", "U")]
    assert decided(5) == []
    everything = decided(5, "all")
    assert {("link", "a", "b"), ("summarise", "S", None), ("archive", "e", None)} <= set(everything)


def test_a_recent_run_closes_facts_of_which_one_memory_is_recent():
    changes = pl.concat([changed("a", "b", "update"), changed("b", "d", "update"), changed("c", "e", "update")])
    closed = plan("recent", 3, fact_changes=changes)
    assert closed.select("memory_id", "target_id").rows() == [("b", "d"), ("c", "e")]
    assert plan("recent", 4, fact_changes=changes)["memory_id"].to_list() == ["c"]


def test_every_reflection_is_recent_and_knows_since_when():
    policies = {"p": Policy()}
    known = {"ledger_digest": "l", "as_of": AS_OF, "seq": 9, "heads": {}, "since": {"p": 7}}
    for task, scope, told in (
        ("reflect", "all", ("recent", 7)),
        ("full", "recent", ("recent", 7)),
        ("full", "all", ("all", 0)),
    ):
        of = pipeline.participants(policies, **known, task=task, scope=scope)
        assert of.select("scope", "since").row(0) == told
    limited = pipeline.participants(policies, **known, row_limits={"p": 5, "q": 6})
    assert limited["row_limit"].to_list() == [5]


@pytest.mark.parametrize("task", TASKS)
def test_the_task_of_a_run_says_what_is_decided(task):
    proposals = {
        "summaries": frames.summaries([{"summary_id": "S", "members": ["a", "b"]}]),
        "archived_set": rows("archived_set", [moved("a", "S"), moved("b", "S"), moved("c")]),
        "proposed_edges": frames.edges([found("d", "e")]),
        "fact_changes": changed("d", "e", "update"),
        "promotions": rising([{"memory_id": "d", "lifecycle": "warm"}]),
        "deferred": rest("e"),
    }
    own = {action.value for action in TASKS[task]}
    everything = {"summarise", "supersede", "archive", "link", "close", "promote", "defer"}
    assert set(plan("all", 0, task=task, **proposals)["action"]) == everything & own


def test_a_summary_is_found_by_its_words_where_its_vector_can_be_compared():
    """However many lie in its very place: of the ten nearest one is it, or they are as near as it is."""
    names = [f"s{number:02}" for number in range(14)]
    kinds = dict.fromkeys(names, "episode") | {"o": "original"}
    memories = frames.memories(
        {"memory_id": name, "kind": kind, "content": name, "lifecycle": "archived" if name == "s00" else "active"}
        for name, kind in kinds.items()
    )
    odd = {"s01": [0.0, 0.0], "s02": [1.0], "s03": [float("nan"), 1.0]}
    points = frames.vectors(
        {name: odd.get(name, [3.0, 1.0]) for name in kinds if name != "s04"},
        of=memories,
    )
    told = invariants.retrievable(memories, points, context().policy.embedder)
    assert told.rows() == [("p", name) for name in names[5:]]
    live = memories.filter(pl.col("lifecycle") == "active").join(points, on=["profile_id", "content_hash"]).sort(KEY)
    space, one = similarity.matrix(live["vector"]), np.zeros(len(live), dtype=np.int64)
    nearest = similarity.top_k(space, space, one, one, 10)
    itself = similarity.pair_similarity(space, nearest.left, nearest.left)
    hit = live[np.unique(nearest.left[(nearest.left == nearest.right) | (nearest.similarity >= itself)])]
    assert hit.filter(pl.col("kind") != "original").select(KEY).rows() == told.rows()


class NoTable(NamedTuple):
    memory: Frame[Memories]


class OfAnother(NamedTuple):
    memories: Frame[Deferred]


class Takes(NamedTuple):
    memories: Frame[Memories]


def declared(inputs: Takes, context: Context) -> Takes:  # noqa: ARG001 - every stage takes one
    return inputs


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (NoTable, r"NoTable\.memory is no table; add Table\('memory'"),
        (OfAnother, r"OfAnother\.memories: annotate it with .*Frame\[Memories\]"),
    ],
)
def test_a_field_that_is_no_table_is_told_with_its_remedy(fields, said):
    with pytest.raises(TypeError, match=said):
        tables_of(fields)
    assert tables_of(Takes) == ("memories",)


@pytest.mark.parametrize("reused", [Memories, Judgements])
def test_what_a_stage_reuses_is_a_table_that_it_takes_and_gives_with_a_digest(reused):
    with pytest.raises(TypeError, match=rf"reuse={reused.__name__}: give `Inputs` and `Outputs` the field"):
        stage(reuse=[reused])(declared)
