"""Links between memories about the same fact: what is proposed, what it changes, and when it goes again."""

import json
from datetime import timedelta

import frames
import polars as pl
import pytest
import uses
from frames import AS_OF, ago
from planned import commit, profiles, propose, revert, said, state
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.edges import associations, centrality, edge_rows, links
from memory_pipeline.consolidation.plans import dependants
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

POLICY = Policy()
SAYS = {"conflict": "CONTRADICTS", "duplicate": "MAY_REPEAT", "update": "MAY_UPDATE"}


def pair(relation="update", **fields):
    """A finding that memory b, the newer one, relates to memory a, and is not sure enough to decide anything."""
    return {"memory_id": "a", "other_id": "b", "relation": relation, "decided": False, **fields}


def table(*rows):
    wanted = [{"decided": False} | row for row in rows]
    return pl.concat([uses.changed("a", "b", **row) for row in wanted])


def linked(*rows, of=None, as_of=AS_OF):
    memories = frames.memories([{"memory_id": name} for name in "abc"]) if of is None else of
    return links.about_facts(table(*rows), memories, as_of=as_of)


def edge(relation, **fields):
    """The link that a run makes of a finding."""
    ends = {"source": "b", "target": "a"} if relation == "update" else {"source": "a", "target": "b"}
    kind = "conflict" if relation == "conflict" else None
    return {
        **ends,
        "edge_type": SAYS[relation],
        "kind": kind,
        "origin": "decided",
        "algorithm": edge_rows.FACT_COMPARISON,
        "confidence": None,
        "base_weight": 1.0,
        **fields,
    }


@pytest.mark.parametrize("relation", SAYS)
def test_what_is_not_sure_is_a_link_whatever_its_confidence(relation):
    (found,), (surer,) = (linked(pair(relation, confidence=sure)).to_dicts() for sure in (0.7, 0.9))
    wanted = edge(relation)
    names = ("source", "target", "edge_type", "kind", "algorithm")
    assert {name: found[name] for name in names} == {name: wanted[name] for name in names}
    assert found["weight"] == 1.0
    assert found == surer


def test_a_doubt_links_nothing():
    assert linked(pair("doubt")).is_empty()


def test_an_update_that_is_decided_is_no_link_and_a_repetition_is_one_all_the_same():
    assert linked(pair(decided=True)).is_empty()
    assert linked(pair("duplicate", decided=True)).height == 1


@pytest.mark.parametrize("end", ["a", "b"])
@pytest.mark.parametrize("gone", [{"lifecycle": "archived"}, {"valid_until": ago(1)}])
def test_what_has_left_or_is_closed_has_no_link(end, gone):
    rows = [{"memory_id": name} | (gone if name == end else {}) for name in "ab"]
    for relation in SAYS:
        assert linked(pair(relation), of=frames.memories(rows)).is_empty()


def test_what_this_run_closes_has_no_link():
    other = pair(memory_id="b", other_id="c", decided=True)
    assert linked(pair(), other).is_empty()
    assert linked(pair(), other | {"statement": "A sentence."}).height == 1


def test_a_sentence_that_is_closed_has_no_link():
    ended = [{"sentence": "One.", "valid_until": ago(1), "closed_by": "c"}]
    of = frames.memories([{"memory_id": "a", "closed_statements": ended}, {"memory_id": "b"}])
    assert linked(pair(statement="One."), of=of).is_empty()
    assert linked(pair(statement="One.\nTwo."), of=of).height == 1
    assert linked(pair(), of=of).height == 1


def test_links_are_no_connections():
    memories = frames.memories([{"memory_id": name} for name in "abc"])
    known = memories.select("profile_id", "memory_id", importance=pl.lit(0.5))
    others = frames.edges([{"source": "a", "target": "c"}])
    proposals = frames.edges([edge(relation) for relation in SAYS])
    measured = [
        centrality.measure(memories, known, edges, POLICY, as_of=AS_OF)
        for edges in (others, pl.concat([others, proposals]))
    ]
    assert_frame_equal(*measured)
    asserted = frames.edges([edge("conflict", origin="asserted", algorithm="agent")])
    counted = centrality.measure(memories, known, pl.concat([others, asserted]), POLICY, as_of=AS_OF)
    assert counted["relationship_count"].to_list() == [2, 1, 1]


def test_a_run_proposes_a_link_once_and_says_why():
    before = state("a", "b")
    proposed = [edge("update", origin="decided")]
    plan = propose(before, links=proposed, changes=[pair(confidence=0.7)])
    assert said(plan) == [("link", "b", "a")]
    assert plan["rule"].to_list() == ["fact_comparison.MAY_UPDATE"]
    assert plan["reason"].to_list() == ["Ada's home was Bath and is Cork."]
    assert json.loads(plan["factors"].item())["confidence"] == 0.7
    after = projection.apply(before, commit(plan, 101))
    assert after.edges.select("source", "target", "edge_type", "confidence").rows() == [("b", "a", "MAY_UPDATE", None)]
    assert_frame_equal(after.memories, before.memories)
    assert propose(after, links=proposed, changes=[pair()]).is_empty()


def held(after, *rows, deferred=()):
    late = TABLES["deferred"].conform(
        pl.DataFrame([{"profile_id": "p", "memory_id": name, "place": 0, "plan_id": "plan"} for name in deferred])
        if deferred
        else TABLES["deferred"].empty()
    )
    changes = table(*rows) if rows else TABLES["fact_changes"].empty()
    return links.no_longer_held(after.edges, changes, after.memories, late, as_of=AS_OF)


def test_a_link_that_comparing_no_longer_finds_goes_and_can_come_back():
    linked_state = state("a", "b", edges=[edge("update", plan_id="first")])
    assert held(linked_state, pair()).is_empty()
    assert held(linked_state, deferred=["a"]).is_empty()
    retired = held(linked_state)
    plan = propose(linked_state, retired=retired.to_dicts())
    assert said(plan) == [("prune", "b", "a")]
    after = projection.apply(linked_state, commit(plan, 101))
    assert after.edges.is_empty()
    later = profiles(as_of=AS_OF + timedelta(days=1), seq=102)
    again = propose(after, links=[edge("update")], changes=[pair()], decisions=commit(plan, 101), of=later)
    assert said(again) == [("link", "b", "a")]
    undone = {"decisions": commit(plan, 101), "reverted": revert(commit(plan, 101))}
    assert propose(linked_state, retired=retired.to_dicts(), of=later, **undone).is_empty()


def test_an_asserted_link_stays():
    asserted = state("a", "b", edges=[edge("update", origin="asserted", algorithm="agent")])
    assert held(asserted).is_empty()


def test_a_closing_takes_the_link_away():
    before = state("a", "b", "c", edges=[edge("update"), edge("update", target="c")])
    plan = propose(before, changes=[pair(decided=True)])
    assert said(plan) == [("prune", "b", "a"), ("close", "a", "b")]
    part = propose(before, changes=[pair(decided=True, statement="A sentence.")])
    assert said(part) == [("close", "a", "b")]


@pytest.mark.parametrize("action", ["archive", "expire", "cold"])
def test_what_leaves_keeps_its_links_and_gets_those_found_in_the_same_run(action):
    leaving = [{"memory_id": "b", "action": action}]
    assert said(propose(state("a", "b", edges=[edge("duplicate")]), leaving=leaving)) == [(action, "b", None)]
    new = propose(state("a", "b"), links=[edge("duplicate")], changes=[pair("duplicate")], leaving=leaving)
    assert said(new) == [("link", "a", "b"), (action, "b", None)]


def test_what_is_merged_or_deleted_takes_its_links_along():
    for action in ("supersede", "delete"):
        leaving = [{"memory_id": "b", "action": action}]
        assert said(propose(state("a", "b", edges=[edge("duplicate")]), leaving=leaving))[0] == ("prune", "a", "b")
        new = propose(state("a", "b"), links=[edge("duplicate")], changes=[pair("duplicate")], leaving=leaving)
        assert said(new) == [(action, "b", None)]


@pytest.mark.parametrize(
    ("row", "stands"),
    [
        ({"lifecycle": "archived"}, True),
        ({"lifecycle": "cold"}, True),
        ({"lifecycle": "archived", "updated_at": AS_OF}, False),
        ({"lifecycle": "archived", "superseded_by": "c", "superseded_kind": "summary"}, False),
        ({"lifecycle": "archived", "superseded_by": "b", "superseded_kind": "update"}, False),
        ({"lifecycle": "deleted"}, False),
        ({"lifecycle": "active"}, False),
    ],
)
def test_a_link_to_what_has_left_stands_until_it_changes_is_closed_merged_or_deleted(row, stands):
    memories = frames.memories([{"memory_id": "a"} | row, {"memory_id": "b"}, {"memory_id": "c"}])
    kept = frames.edges([edge("update")])
    gone = links.no_longer_held(kept, table(pair()).clear(), memories, TABLES["deferred"].empty(), as_of=AS_OF)
    assert gone.is_empty() == stands


def test_a_shortcut_does_not_walk_over_a_link():
    memories = frames.memories([{"memory_id": name} for name in "ab"])
    four = uses.accesses([{"ids": ["a", "b"], "at": ago(10 - n), "session": f"s{n}"} for n in range(4)])
    policy = Policy(associations=("shortcut",))
    empty = {name: TABLES[name].empty() for name in ("enrichment", "neighbours")}
    for decided, many in ((frames.edges([]), 1), (frames.edges([edge("update")]), 1)):
        derived = associations.derive(
            memories, empty["enrichment"], empty["neighbours"], four, decided, policy, as_of=AS_OF
        )
        assert derived.filter(edge_type="SHORTCUT").height == many


CLOSED = {"decided": True, "statement": "The desk is in Bath.\nIts lamp is green."}


def after_closing(*changes, before=None):
    before = state("a", "b", "c") if before is None else before
    plan = propose(before, changes=changes)
    return plan, projection.apply(before, commit(plan, 101))


def statements(after, memory_id="a"):
    (rows,) = after.memories.filter(memory_id=memory_id)["closed_statements"].to_list()
    return rows


def test_a_closing_of_sentences_leaves_the_memory_current():
    plan, after = after_closing(pair(**CLOSED))
    assert said(plan) == [("close", "a", "b")]
    assert statements(after) == [
        {"sentence": "Its lamp is green.", "valid_until": ago(1), "closed_by": "b"},
        {"sentence": "The desk is in Bath.", "valid_until": ago(1), "closed_by": "b"},
    ]
    row = after.memories.filter(memory_id="a").row(0, named=True)
    unchanged = ("lifecycle", "valid_until", "superseded_by", "closed_by")
    assert [row[name] for name in unchanged] == ["active", None, None, None]
    assert said(propose(after, changes=[pair(**CLOSED)])) == []


def test_of_two_closings_of_a_sentence_the_earlier_counts():
    later = pair(other_id="c", decided=True, statement="Its lamp is green.", at=ago(0.5))
    plan, after = after_closing(later, pair(**CLOSED))
    assert said(plan) == [("close", "a", "b")]
    assert {row["closed_by"] for row in statements(after)} == {"b"}


def test_closings_of_sentences_add_up_over_runs_as_at_once():
    first, second = pair(decided=True, statement="One."), pair(other_id="c", decided=True, statement="Two.")
    before = state("a", "b", "c")
    plan = propose(before, changes=[first])
    then = projection.apply(before, commit(plan, 101))
    later = profiles(as_of=AS_OF + timedelta(days=1), seq=102)
    next_plan = propose(then, changes=[first, second], decisions=commit(plan, 101), of=later)
    assert said(next_plan) == [("close", "a", "c")]
    stepwise = projection.apply(then, commit(next_plan, 103))
    assert [row["sentence"] for row in statements(stepwise)] == ["One.", "Two."]
    both = pl.concat([commit(plan, 101), commit(next_plan, 103)])
    assert_frame_equal(projection.apply(before, both).memories, stepwise.memories)
    undone = projection.unmasked(both, revert(commit(plan, 101)))
    assert [row["sentence"] for row in statements(projection.apply(before, undone))] == ["Two."]


def test_a_closed_sentence_stays_closed_when_what_closed_it_leaves():
    for statement in (None, "One."):
        before = state("a", "b")
        change = pair(decided=True, statement=statement)
        decided = commit(propose(before, changes=[change]), 101)
        later = profiles(as_of=AS_OF + timedelta(days=1), seq=102)
        gone = commit(propose(projection.apply(before, decided), leaving=[{"memory_id": "b"}], of=later), 103)
        after = projection.apply(before, pl.concat([decided, gone]))
        assert after.memories.filter(memory_id="b")["lifecycle"].item() == "archived"
        row = after.memories.filter(memory_id="a").row(0, named=True)
        assert (row["valid_until"], bool(row["closed_statements"])) == ((None, True) if statement else (ago(1), False))


def test_another_text_opens_a_closed_sentence():
    before = state("a", "b")
    plan = commit(propose(before, changes=[pair(decided=True, statement="One.")]), 101)
    for end in "ab":
        changed = before.memories.with_columns(
            content_hash=pl.when(memory_id=end).then(pl.lit("other")).otherwise("content_hash")
        )
        assert statements(projection.apply(projection.State(changed, before.edges), plan)) is None


def test_an_older_decision_without_a_sentence_closes_the_whole_memory():
    before = state("a", "b")
    plan = commit(propose(before, changes=[pair(decided=True)]), 101)
    assert not plan["after"].str.contains("statement").any()
    assert projection.apply(before, plan).memories.filter(memory_id="a")["closed_by"].item() == "b"


def test_undoing_a_link_takes_it_away_and_it_is_not_proposed_again():
    before = state("a", "b")
    plan = commit(propose(before, links=[edge("update")], changes=[pair()]), 101)
    in_force = projection.unmasked(plan, revert(plan))
    assert projection.apply(before, in_force).edges.is_empty()
    later = profiles(as_of=AS_OF + timedelta(days=1), seq=102)
    again = propose(before, links=[edge("update")], changes=[pair()], decisions=plan, reverted=revert(plan), of=later)
    assert again.is_empty()
    assert dependants.of(plan, plan).is_empty()
