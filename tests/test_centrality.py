import frames
import networkx as nx
import polars as pl
import pytest
from frames import ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.edges import centrality
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

TYPES = ["RELATES_TO", "CAUSED_BY", "FOLLOWS", "SUMMARIZES", "SIMILAR_TO", "REFERENCES", "DISCOVERED", "ASSOCIATED"]


def measure(memories, edges, importance=None, policy=None):
    known = frames.importance(memories) if importance is None else importance
    return centrality.measure(memories, known, frames.edges(edges), policy or Policy(), as_of=frames.AS_OF)


def column(result, name):
    return dict(result.select("memory_id", name).rows())


@pytest.mark.parametrize(
    ("edge_type", "origin", "related", "pointed"),
    [
        ("RELATES_TO", "asserted", 1, 1),
        ("CAUSED_BY", "derived", 1, 1),
        ("DISCOVERED", "decided", 1, 0),
        ("CONTRADICTS", "decided", 1, 0),
        ("COACTIVATED", "derived", 0, 0),
        ("FOLLOWS", "derived", 0, 0),
        ("FOLLOWS", "asserted", 0, 0),
        ("SUMMARIZES", "decided", 0, 0),
        ("SIMILAR_TO", "derived", 0, 0),
        ("REFERENCES", "derived", 0, 0),
        ("ASSOCIATED", "decided", 0, 0),
        ("ASSOCIATED", "derived", 0, 0),
        ("ASSOCIATED", "asserted", 1, 0),
        ("REINFORCES", "decided", 1, 1),
        ("SHORTCUT", "derived", 0, 0),
    ],
)
def test_what_an_edge_counts_for(edge_type, origin, related, pointed):
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}])
    result = measure(memories, [{"source": "a", "target": "b", "edge_type": edge_type, "origin": origin}])
    assert column(result, "degree") == {"a": 1, "b": 1}
    assert column(result, "relationship_count") == {"a": related, "b": related}
    assert column(result, "in_degree") == {"a": 0, "b": pointed}


def test_a_neighbour_counts_once_and_a_memory_is_no_neighbour_of_itself():
    memories = frames.memories([{"memory_id": name} for name in "abc"])
    edges = [
        {"source": "a", "target": "b"},
        {"source": "b", "target": "a"},
        {"source": "a", "target": "b", "edge_type": "DEPENDS_ON"},
        {"source": "c", "target": "c"},
    ]
    result = measure(memories, edges)
    assert column(result, "relationship_count") == {"a": 1, "b": 1, "c": 0}
    assert column(result, "community") == {"a": "a", "b": "a", "c": "c"}


def test_memories_that_are_not_live_and_edges_that_have_faded_do_not_count():
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}, {"memory_id": "x", "lifecycle": "archived"}])
    edges = [
        {"source": "a", "target": "x"},
        {"source": "a", "target": "b", "edge_type": "DISCOVERED", "origin": "decided", "weight": 0.049},
    ]
    result = measure(memories, edges)
    assert column(result, "degree") == {"a": 0, "b": 0}
    assert column(result, "pagerank") == {"a": 0.5, "b": 0.5}


def test_importance_is_handed_on_and_one_half_stands_in():
    memories = frames.memories([{"memory_id": "a", "importance_given": 0.8}, {"memory_id": "b"}])
    known = frames.importance(memories).filter(pl.col("memory_id") == "a")
    result = measure(memories, [], known)
    assert column(result, "importance") == {"a": 0.8, "b": 0.5}
    assert column(result, "importance_score") == {"a": 8.0, "b": 5.0}


def test_a_link_too_weak_to_be_followed_does_not_count():
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}])
    edges = [{"source": "a", "target": "b", "edge_type": "ASSOCIATED", "origin": "derived", "weight": 0.29}]
    assert column(measure(memories, edges), "degree") == {"a": 1, "b": 1}
    assert column(measure(memories, edges, policy=Policy(link_lifetime_days=90)), "degree") == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("count", "given", "expected"),
    [(2, 0.1, 0.1), (3, 0.1, 0.6), (4, 0.6, 0.6), (5, 0.1, 0.8), (9, 0.3, 0.8), (10, 0.1, 1.0), (3, 0.9, 0.9)],
)
def test_what_many_point_at_is_important_and_never_less_than_before(count, given, expected):
    """A memory of importance .9 that three point at keeps it."""
    memories = frames.memories([{"memory_id": name} for name in ["m", *(f"n{index:02}" for index in range(count))]])
    edges = [{"source": f"n{index:02}", "target": "m"} for index in range(count)]
    edges += [{"source": f"n{index:02}", "target": "m", "edge_type": "FOLLOWS"} for index in range(count)]
    known = frames.importance(memories, importance=pl.lit(given))
    raised = measure(memories, edges, known, Policy(centrality_importance=True))
    assert column(raised, "importance")["m"] == expected
    assert column(raised, "importance_score")["m"] == 10 * expected
    assert column(raised, "importance")["n00"] == given
    assert set(column(measure(memories, edges, known), "importance").values()) == {given}
    assert set(column(measure(memories, edges, known), "in_degree").values()) == {0, count}


def test_pagerank_equals_networkx():
    names = [f"m{index:02}" for index in range(30)]
    edges = [
        {"source": names[index], "target": names[(index * index + 1) % 30], "base_weight": 0.1 + index / 40}
        for index in range(30)
    ]
    peer = nx.Graph()
    peer.add_nodes_from(names)
    for edge in edges:
        if edge["source"] != edge["target"]:
            pair = peer.get_edge_data(edge["source"], edge["target"], {"weight": 0.0})
            peer.add_edge(edge["source"], edge["target"], weight=pair["weight"] + edge["base_weight"])
    result = measure(frames.memories([{"memory_id": name} for name in names]), edges)
    assert column(result, "pagerank") == pytest.approx(nx.pagerank(peer, tol=1e-12, max_iter=1000), abs=1e-9)


@st.composite
def graphs(draw, profile="p"):
    names = [f"m{index}" for index in range(draw(st.integers(1, 7)))]
    found = draw(
        st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names), st.sampled_from(TYPES)), unique=True)
    )
    memories = [{"memory_id": name, "profile_id": profile, "created_at": ago(9)} for name in names]
    edges = [
        {"source": source, "target": target, "edge_type": edge_type, "profile_id": profile, "base_weight": 0.75}
        for source, target, edge_type in found
    ]
    return memories, edges


@given(graphs(), graphs(profile="q"), st.randoms())
def test_order_of_rows_and_other_profiles_change_nothing(graph, other, random):
    alone = measure(frames.memories(graph[0]), graph[1])
    assert TABLES["memory_importance"].violations(alone).is_empty()
    assert alone["pagerank"].sum() == pytest.approx(1.0)
    assert (alone["community"] <= alone["memory_id"]).all()
    memories, edges = graph[0] + other[0], graph[1] + other[1]
    random.shuffle(memories)
    random.shuffle(edges)
    assert_frame_equal(measure(frames.memories(memories), edges).filter(profile_id="p"), alone, check_exact=True)


def test_an_empty_store_gives_an_empty_table():
    assert measure(frames.memories([]), []).is_empty()
