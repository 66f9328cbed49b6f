"""What sessions have in common: co-activation and shortcuts."""

from datetime import timedelta
from itertools import combinations, pairwise

import frames
import networkx as nx
import numpy as np
import polars as pl
import pytest
import uses
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.edges import associations, co_occurrence, coactivation, neighbours
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

USED = Policy(associations=("coactivation",), similar_edges=False, reference_edges=False)
NEAR = Policy(associations=("shortcut",), similar_edges=False, reference_edges=False)


def derive(memories, accesses, *, decided=(), policy=USED, vectors=None, as_of=AS_OF):
    return associations.derive(
        memories,
        frames.enrichment({}, of=memories),
        neighbours.compare(memories, frames.vectors(vectors or {}, of=memories), policy).neighbours,
        accesses,
        frames.edges(decided),
        policy,
        as_of=as_of,
    )


def of_type(edges, edge_type):
    return edges.filter(pl.col("edge_type") == edge_type)


def named(*names, **columns):
    return frames.memories([{"memory_id": name, **columns} for name in names])


def test_memories_count_the_sessions_that_accessed_both():
    sessions = {"s1": "ab", "s2": "ba", "s3": "abc", "s4": "c"}
    events = [{"session": session, "ids": list(ids)} for session, ids in sessions.items()]
    edges = derive(named(*"abc"), uses.accesses(events))
    assert edges.select("source", "target", "co_count", "weight").rows() == [
        ("a", "b", 3, pytest.approx(0.3)),
        ("a", "c", 1, pytest.approx(0.1)),
        ("b", "c", 1, pytest.approx(0.1)),
    ]
    assert set(edges["edge_type"]) == {"COACTIVATED"}
    assert set(edges["origin"]) == {"derived"}


def test_a_session_counts_once_however_often_it_accessed_both():
    events = [{"session": "s", "ids": ["a"]}, {"session": "s", "ids": ["b", "a"]}, {"session": "s", "ids": ["b"]}]
    assert derive(named(*"ab"), uses.accesses(events))["co_count"].to_list() == [1]


def test_accesses_without_a_session_or_in_two_sessions_make_no_pair():
    events = [{"ids": ["a", "b"]}, {"session": "s", "ids": ["a"]}, {"session": "t", "ids": ["b"]}]
    assert derive(named(*"ab"), uses.accesses(events)).is_empty()


def test_twelve_common_sessions_weigh_as_much_as_ten():
    events = [{"session": f"s{n}", "ids": ["a", "b"]} for n in range(12)]
    assert derive(named(*"ab"), uses.accesses(events)).select("co_count", "weight").rows() == [(12, 1.0)]


def test_a_coactivation_dates_from_the_first_and_was_strengthened_by_the_last_session_that_came_to_hold_both():
    events = [
        {"session": "s", "ids": ["a"], "at": ago(9)},
        {"session": "s", "ids": ["b"], "at": ago(8)},
        {"session": "t", "ids": ["b"], "at": ago(5)},
        {"session": "t", "ids": ["a"], "at": ago(4)},
        {"session": "t", "ids": ["b"], "at": ago(3)},
        {"session": "u", "ids": ["a"], "at": ago(1)},
    ]
    edge = derive(named(*"ab"), uses.accesses(events)).row(0, named=True)
    assert (edge["discovered_at"], edge["last_strengthened_at"]) == (ago(8), ago(4))


def test_only_live_memories_up_to_the_instant_count():
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}, {"memory_id": "c", "lifecycle": "archived"}])
    events = [{"session": "s", "ids": ["a", "c"]}, {"session": "t", "ids": ["a", "b"], "at": ago(1)}]
    assert derive(memories, uses.accesses(events), as_of=ago(2)).is_empty()
    assert derive(memories, uses.accesses(events)).select("source", "target").rows() == [("a", "b")]


def test_a_session_of_the_same_name_in_another_profile_is_another_session():
    memories = frames.memories([{"memory_id": name, "profile_id": profile} for name in "ab" for profile in "pq"])
    events = [
        {"session": "s", "ids": ["a"]},
        {"session": "s", "ids": ["b"], "profile_id": "q"},
        {"session": "t", "ids": ["a", "b"], "profile_id": "q"},
    ]
    edges = derive(memories, uses.accesses(events))
    assert edges.select("profile_id", "co_count").rows() == [("q", 1)]


def test_a_very_long_session_links_each_memory_to_the_hundred_before_it():
    names = [f"m{n:04}" for n in range(1500)]
    accesses = uses.accesses([{"session": "s", "ids": names}])
    edges = derive(named(*names), accesses)
    assert len(edges) == sum(min(index, coactivation.REACH) for index in range(1500))
    apart = edges.select(pl.col("target").str.tail(4).cast(int) - pl.col("source").str.tail(4).cast(int)).to_series()
    assert (apart.min(), apart.max()) == (1, coactivation.REACH)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["s", "t", "u", None]),
        st.sampled_from("pq"),
        st.lists(st.sampled_from("abcde"), unique=True, min_size=1),
        st.integers(0, 5),
    ),
    max_size=12,
)


@given(EVENTS, st.randoms())
def test_coactivation_is_that_of_a_count_by_hand_whatever_the_order_of_rows(events, random):
    accesses = uses.accesses(
        {"session": session, "profile_id": profile, "ids": ids, "at": ago(days)}
        for session, profile, ids, days in events
    )
    memories = frames.memories([{"memory_id": name, "profile_id": profile} for name in "abcd" for profile in "pq"])
    expected = {}
    for profile in "pq":
        held = {}
        for session, owner, ids, _ in events:
            if owner == profile and session:
                held.setdefault(session, set()).update(set(ids) - {"e"})
        for ids in held.values():
            for pair in combinations(sorted(ids), 2):
                expected[profile, *pair] = expected.get((profile, *pair), 0) + 1
    edges = derive(memories, accesses)
    assert {tuple(row[:3]): row[3] for row in edges.select("profile_id", "source", "target", "co_count").rows()} == (
        expected
    )
    order = list(range(len(accesses)))
    random.shuffle(order)
    assert_frame_equal(derive(memories[::-1], accesses[order]), edges, check_exact=True)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), unique=True, max_size=40),
    st.integers(1, 8),
    st.sampled_from([1, 5, 1 << 24]),
)
def test_pairs_do_not_depend_on_how_they_are_blocked(places, reach, block):
    groups = np.array([group for group, _ in places], dtype=np.int64)
    rows = np.array([row for _, row in places], dtype=np.int64)
    expected = {}
    for group in set(groups.tolist()):
        held = np.flatnonzero(groups == group).tolist()
        for one, other in combinations(range(len(held)), 2):
            if other - one <= reach:
                pair = tuple(sorted((int(rows[held[one]]), int(rows[held[other]]))))
                expected.setdefault(pair, []).append(held[other])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(co_occurrence, "_BLOCK", block)
        found = co_occurrence.count_pairs(rows, groups, count=8, reach=reach)
    columns = zip(found.left, found.right, found.times, found.first, found.last, strict=True)
    assert [tuple(map(int, row)) for row in columns] == [
        (*pair, len(at), min(at), max(at)) for pair, at in sorted(expected.items())
    ]


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)), unique=True, max_size=20))
def test_large_numbers_are_sorted_like_small_ones(pairs):
    major = np.array([one for one, _ in pairs], dtype=np.int64)
    minor = np.array([other for _, other in pairs], dtype=np.int64)
    assert co_occurrence.ordered(major, minor).tolist() == [other for _, other in sorted(pairs)]


# Shortcuts


def together(*pairs, times=4):
    return uses.accesses(
        {"session": f"{''.join(pair)}{n}", "ids": list(pair), "at": ago(n)} for pair in pairs for n in range(times)
    )


def chain(names, **columns):
    return [{"source": one, "target": other, "origin": "asserted", **columns} for one, other in pairwise(names)]


def test_a_shortcut_joins_what_is_used_together_and_more_than_two_hops_apart():
    edges = derive(named(*"abcdx"), together("ac", "ad", "ax"), decided=chain("abcd"), policy=NEAR)
    found = of_type(edges, "SHORTCUT")
    assert found.select("source", "target", "co_count", "weight").rows() == [("a", "d", 4, 0.4), ("a", "x", 4, 0.4)]
    assert found.select("discovered_at", "last_strengthened_at").row(0) == (ago(3), ago(0))


def test_three_common_sessions_are_too_few_for_a_shortcut():
    assert derive(named(*"ab"), together("ab", times=3), policy=NEAR).is_empty()


def test_coactivation_is_no_hop():
    policy = NEAR.model_copy(update={"associations": ("coactivation", "shortcut")})
    edges = derive(named(*"ab"), together("ab"), policy=policy)
    assert edges["edge_type"].to_list() == ["COACTIVATED", "SHORTCUT"]


def test_no_way_leads_over_an_edge_that_has_faded_or_a_memory_that_is_not_live():
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}, {"memory_id": "x", "lifecycle": "archived"}])
    over = chain("axb")
    faded = [{"source": "a", "target": "b", "edge_type": "DISCOVERED", "origin": "decided", "discovered_at": ago(400)}]
    assert len(of_type(derive(memories, together("ab"), decided=over + faded, policy=NEAR), "SHORTCUT")) == 1
    fresh = [faded[0] | {"discovered_at": ago(40)}]
    assert derive(memories, together("ab"), decided=over + fresh, policy=NEAR).is_empty()


def test_a_shortcut_that_is_not_used_fades():
    last = AS_OF
    for days, weight in ((29, 0.4), (100, 0.4 * np.exp(-1.0))):
        edges = derive(named(*"ab"), together("ab"), policy=NEAR, as_of=last + timedelta(days=days))
        assert edges["weight"].to_list() == pytest.approx([weight])
    assert derive(named(*"ab"), together("ab"), policy=NEAR, as_of=last + timedelta(days=300)).is_empty()


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=16))
def test_hops_are_those_of_networkx(hops, edges):
    peer = nx.Graph()
    peer.add_nodes_from(range(12))
    peer.add_edges_from(edges)
    left, right = np.array(list(combinations(range(12), 2))).T
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    found = coactivation.within(12, source, target, left, right, hops=hops)
    near = dict(nx.all_pairs_shortest_path_length(peer, cutoff=hops))
    assert found.tolist() == [other in near[one] for one, other in zip(left.tolist(), right.tolist(), strict=True)]


def test_edges_fit_their_table():
    edges = derive(named(*"abcd"), together("ab", "cd"), policy=Policy())
    assert TABLES["derived_edges"].violations(edges).is_empty()
    assert derive(frames.memories([]), uses.accesses([]), policy=Policy()).is_empty()
