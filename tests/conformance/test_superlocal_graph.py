"""PageRank and communities, on the graphs of SuperLocalMemory.

It walks along the direction in which a link happens to be stored. Ours takes every edge for undirected, as most are,
and gives a memory without any a rank and a community of its own.
"""

import frames
import networkx as nx
import pytest

from memory_pipeline.consolidation.edges import centrality
from memory_pipeline.settings import Policy, preset

SUPERLOCAL = Policy(**preset("superlocal"))
TRIANGLES = ["ab", "bc", "ca", "de", "ef", "fd"]


def measured(names, edges):
    """Rank, community and degree of each memory; `edges` are (ends, type, weight)."""
    memories = frames.memories([{"memory_id": name} for name in names])
    rows = [
        {"source": min(ends), "target": max(ends), "edge_type": kind, "base_weight": weight}
        for ends, kind, weight in edges
    ]
    result = centrality.measure(
        memories, frames.importance(memories), frames.edges(rows), SUPERLOCAL, as_of=frames.AS_OF
    )
    return {name: tuple(rest) for name, *rest in result.select("memory_id", "pagerank", "community", "degree").rows()}


def peer(names, edges):
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((*ends, weight) for ends, _, weight in edges)
    return nx.pagerank(graph, tol=1e-12, max_iter=1000)


def two_triangles(bridge="RELATES_TO"):
    return [(ends, "RELATES_TO", 1.0) for ends in TRIANGLES] + [("cd", bridge, 0.5)]


@pytest.mark.parametrize("bridge", ["RELATES_TO", "ASSOCIATED"])
def test_two_triangles_and_a_bridge_are_two_communities(bridge):
    found = measured("abcdefi", two_triangles(bridge))
    assert {name: row[1] for name, row in found.items()} == dict(zip("abcdefi", "aaadddi", strict=True))
    assert {name: row[2] for name, row in found.items()} == dict(zip("abcdefi", (2, 2, 3, 3, 2, 2, 0), strict=True))
    ranks = {name: row[0] for name, row in found.items()}
    assert ranks == pytest.approx(peer("abcdefi", two_triangles()), abs=1e-9)
    assert ranks["i"] == pytest.approx((0.15 / 7) / (1 - 0.85 / 7))
    assert ranks["c"] == pytest.approx(ranks["d"])
    assert sum(ranks.values()) == pytest.approx(1.0)


def test_the_rank_is_the_same_after_every_run():
    edges = [("ah", "ASSOCIATED", 0.9), ("ah", "RELATES_TO", 1.0), ("az", "RELATES_TO", 1.0)]
    assert measured("ahz", edges) == measured("ahz", edges[::-1])


@pytest.mark.parametrize("case_id", ["slm-graph-1", "slm-graph-2"])
def test_communities_and_degrees_of_superlocal(real_system, case_id):
    """Ours: links count as the wiki says (slm-graph-2), and a rank does not depend on the direction of storage."""
    cases = real_system("superlocal")
    rows = cases["slm-graph-1"]["expected_by_code"]["rows"]
    found = measured(rows, two_triangles("ASSOCIATED" if case_id == "slm-graph-2" else "RELATES_TO"))
    groups = {name: community for name, (_, community, _) in rows.items() if community is not None}
    ours = {name: found[name][1] for name in groups}
    assert {(groups[a], groups[b]) for a in groups for b in groups if ours[a] == ours[b]} == {(0, 0), (1, 1)}
    assert len(set(ours.values())) == cases[case_id]["expected_by_code"]["summary"]["community_count"]
    assert {name: row[2] / (len(rows) - 1) for name, row in found.items()} == {
        name: pytest.approx(row[2], abs=1e-6) for name, row in rows.items()
    }
    assert found["i"][1] == "i"
    assert {name: row[0] for name, row in found.items()} == pytest.approx(peer(list(rows), two_triangles()), abs=1e-9)


def test_ranks_of_superlocal_do_not_move(real_system):
    """Its own ranks do not move between two runs either; ours are those of the undirected graph."""
    case = real_system("superlocal")["slm-idem-1"]
    assert case["expected_by_code"]["after_run_1"]["pagerank"] == case["expected_by_code"]["after_run_2"]["pagerank"]
    edges = [(link.split("-"), "RELATES_TO", 1.0) for link in case["input"]["graph_edges"]]
    names = sorted(case["input"]["facts"])
    found = {name: row[0] for name, row in measured(names, edges).items()}
    assert found == pytest.approx(peer(names, edges), abs=1e-9)
    assert found["hot"] == pytest.approx(found["z"])
