import math
from datetime import timedelta

import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation.edges import associations, neighbours
from memory_pipeline.consolidation.state.folding import UNDIRECTED
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

TEXT = Policy(associations=())
CREATIVE = Policy(associations=("creative",))


def derive_from(memories, vectors, policy):
    none = TABLES["accesses"].empty(), TABLES["decided_edges"].empty()
    known, near = frames.enrichment({}, of=memories), neighbours.compare(memories, vectors, policy).neighbours
    return associations.derive(memories, known, near, *none, policy, as_of=AS_OF)


def derive(memories, *, vectors=None, entities=None, policy=TEXT, as_of=AS_OF):
    return associations.derive(
        memories,
        frames.enrichment(entities or {}, of=memories),
        neighbours.compare(memories, frames.vectors(vectors or {}, of=memories), policy).neighbours,
        TABLES["accesses"].empty(),
        TABLES["decided_edges"].empty(),
        policy,
        as_of=as_of,
    )


def links(edges, edge_type):
    return set(edges.filter(pl.col("edge_type") == edge_type).select("source", "target").rows())


def angle(degrees):
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


def discover(memories, *, vectors, edges=None, policy=CREATIVE, as_of=AS_OF, relevance=0.5):
    return associations.discover(
        memories,
        memories.select("profile_id", "memory_id", relevance=pl.lit(relevance)),
        frames.edges([]) if edges is None else edges,
        frames.vectors(vectors, of=memories),
        neighbours.compare(memories, frames.vectors(vectors, of=memories), policy).neighbours,
        TABLES["accesses"].empty(),
        TABLES["tier_changes"].empty(),
        TABLES["fact_changes"].empty(),
        policy,
        as_of=as_of,
        plan_id="plan",
    )


# What follows from the memories


def test_follows_joins_consecutive_originals_of_a_session_by_time_then_position():
    rows = [
        {"memory_id": "late", "session_id": "s", "created_at": ago(1)},
        {"memory_id": "second", "session_id": "s", "created_at": ago(3)},
        {"memory_id": "first", "session_id": "s", "created_at": ago(3), "seq": 1},
        {"memory_id": "other", "session_id": "t", "created_at": ago(2)},
        {"memory_id": "gone", "session_id": "s", "created_at": ago(2), "lifecycle": "deleted"},
        {"memory_id": "summary", "session_id": "s", "created_at": ago(2), "kind": "episode"},
        {"memory_id": "alone", "session_id": None},
        {"memory_id": "foreign", "session_id": "s", "profile_id": "q"},
    ]
    edges = derive(frames.memories(rows))
    assert links(edges, "FOLLOWS") == {("second", "first"), ("late", "second")}
    assert edges["discovered_at"].to_list() == [ago(1), ago(3)]
    assert edges["weight"].to_list() == [1.0, 1.0]


def test_follows_and_caused_by_tell_how_archived_memories_came_about():
    rows = [
        {"memory_id": "a", "session_id": "s", "event_id": "e1", "lifecycle": "archived"},
        {"memory_id": "b", "session_id": "s", "parent_event_id": "e1", "created_at": ago(1)},
    ]
    edges = derive(frames.memories(rows))
    assert links(edges, "FOLLOWS") == links(edges, "CAUSED_BY") == {("b", "a")}


def test_caused_by_points_at_the_memory_that_the_parent_event_stored():
    rows = [
        {"memory_id": "cause", "event_id": "e1", "created_at": ago(2)},
        {"memory_id": "effect", "parent_event_id": "e1", "created_at": ago(1)},
        {"memory_id": "orphan", "parent_event_id": "unheard of"},
        {"memory_id": "self", "event_id": "e2", "parent_event_id": "e2"},
        {"memory_id": "foreign", "parent_event_id": "e1", "profile_id": "q"},
    ]
    edges = derive(frames.memories(rows))
    assert edges.select("source", "target", "edge_type", "discovered_at").rows() == [
        ("effect", "cause", "CAUSED_BY", ago(1))
    ]


def test_similar_to_needs_a_cosine_strictly_above_the_threshold():
    memories = frames.memories([{"memory_id": name, "created_at": ago(5)} for name in "abc"])
    vectors = {"a": [1.0, 0.0], "b": [3.0, 4.0], "c": [0.61, math.sqrt(1 - 0.61**2)]}
    edges = derive(memories, vectors=vectors, policy=Policy(associations=(), similar_to_threshold=0.6))
    assert links(edges, "SIMILAR_TO") == {("a", "c"), ("b", "c")}
    assert edges["weight"].to_list() == pytest.approx(edges["similarity"].to_list())


def test_many_like_notes_are_joined_to_the_strongest_only():
    alike = [{"memory_id": f"m{n:04}", "created_at": ago(n)} for n in range(300)]
    others = [{"memory_id": f"o{n:04}", "created_at": ago(n), "profile_id": "q"} for n in range(20)]
    memories = frames.memories(alike + others)
    near = {row["memory_id"]: [1.0, n / 1000] for n, row in enumerate(alike + others)}
    same = {name: [1.0, 0.0] for name in near}
    policy = Policy(associations=(), similar_neighbours=4)
    for vectors in (near, same):
        edges = derive(memories, vectors=vectors, policy=policy).filter(edge_type="SIMILAR_TO")
        ends = pl.concat([edges["source"], edges["target"]]).value_counts()["count"]
        assert (len(ends), ends.min() >= 4, ends.max() <= 8) == (320, True, True)
        assert edges.filter(pl.col("profile_id") == "q").equals(
            derive(frames.memories(others), vectors=vectors, policy=policy).filter(edge_type="SIMILAR_TO")
        )
    assert ("m0000", "m0001") in links(derive(memories, vectors=same, policy=policy), "SIMILAR_TO")


@pytest.mark.parametrize("vector", [None, [0.0, 0.0], [1.0], [math.inf, 1.0]])
def test_an_unknown_vector_is_similar_to_nothing(vector):
    memories = frames.memories([{"memory_id": name} for name in "abc"])
    known = {"a": [1.0, 0.0], "b": [1.0, 0.0]}
    vectors = frames.vectors(known | ({"c": vector} if vector else {}), of=memories)
    edges = derive_from(memories, vectors, Policy(associations=(), similar_to_threshold=0.0))
    assert links(edges, "SIMILAR_TO") == {("a", "b")}


def test_similar_to_joins_live_memories_of_one_profile_and_one_model():
    rows = [{"memory_id": "a"}, {"memory_id": "b", "lifecycle": "archived"}, {"memory_id": "c", "profile_id": "q"}]
    memories = frames.memories(rows)
    vectors = frames.vectors({"a": [1.0], "b": [1.0], "c": [1.0]}, of=memories)
    other_model = vectors.with_columns(pl.lit("another").alias("model"), vector=pl.lit([0.5, 0.5], pl.List(pl.Float32)))
    edges = derive_from(memories, pl.concat([vectors, other_model]), TEXT)
    assert edges.is_empty()


def test_references_weigh_the_entities_that_two_memories_share():
    memories = frames.memories([{"memory_id": name, "created_at": ago(9)} for name in "abcd"])
    entities = {"a": ["Ada", "Bath", "Cork"], "b": ["Ada", "Bath"], "c": ["Cork"], "d": []}
    edges = derive(memories, entities=entities, policy=Policy(associations=(), reference_share=0.5))
    weights = {(source, target): weight for source, target, weight in edges.select("source", "target", "weight").rows()}
    assert weights == {("a", "b"): pytest.approx(2 / 3), ("a", "c"): 0.5}
    assert edges["edge_type"].unique().to_list() == ["REFERENCES"]


def test_a_summary_has_no_reference_to_its_own_member():
    rows = [{"memory_id": name, "session_id": name} for name in "ab"]
    rows.append({"memory_id": "sum", "kind": "episode", "members": ["a"], "session_id": "s"})
    memories = frames.memories(rows)
    entities = {name: ["Ada"] for name in ("a", "b", "sum")}
    vectors = {name: angle(0) for name in ("a", "b", "sum")}
    for kinds in ((), ("cross_session",)):
        policy = Policy(associations=kinds, reference_share=1.0)
        edges = derive(memories, vectors=vectors, entities=entities, policy=policy)
        assert links(edges, "REFERENCES") == {("a", "b"), ("b", "sum")}


def test_an_entity_of_too_many_memories_makes_no_reference():
    memories = frames.memories([{"memory_id": f"m{n}"} for n in range(40)])
    entities = {"m0": ["rare"], "m1": ["rare"]} | {f"m{n}": ["common"] for n in range(2, 5)}
    assert links(derive(memories, entities=entities), "REFERENCES") == {("m0", "m1")}


def test_an_entity_of_many_memories_links_each_to_the_five_before_it():
    count = 60
    memories = frames.memories([{"memory_id": f"m{n:02}", "created_at": ago(count - n)} for n in range(count)])
    entities = {f"m{n:02}": ["Ada"] for n in range(count)}
    edges = derive(memories, entities=entities, policy=TEXT.model_copy(update={"reference_share": 1.0}))
    apart = [int(target[1:]) - int(source[1:]) for source, target in links(edges, "REFERENCES")]
    assert sorted(apart) == sorted(lag for lag in range(1, 6) for _ in range(count - lag))


def across(memories, *, vectors, entities, **changes):
    policy = Policy(associations=("cross_session",), reference_share=1.0, similar_to_threshold=0.9, **changes)
    return derive(memories, vectors=vectors, entities=entities, policy=policy).filter(edge_type="REFERENCES")


def test_alike_memories_of_two_sessions_that_name_the_same_are_linked_across():
    rows = [{"memory_id": name, "session_id": session} for name, session in zip("abcde", "sstt", strict=False)]
    memories = frames.memories([*rows, {"memory_id": "e", "session_id": None}])
    vectors = {"a": angle(0), "b": angle(0), "c": angle(40), "d": angle(80), "e": angle(0)}
    entities = {name: ["Ada"] for name in "abde"} | {"c": ["Ada", "Bath"]}
    found = across(memories, vectors=vectors, entities=entities)
    linked = found.filter(kind="cross_session")
    assert linked.select("source", "target").rows() == [("a", "c"), ("b", "c")]
    assert linked["weight"].to_list() == pytest.approx([math.cos(math.radians(40))] * 2)
    assert linked["similarity"].to_list() == pytest.approx(linked["weight"].to_list())
    assert set(found.filter(pl.col("kind").is_null())["weight"]) == {0.5}
    assert len(found) == 10
    assert len(across(memories, vectors=vectors, entities=entities, reference_edges=False)) == 2
    assert across(memories, vectors=vectors, entities={"a": ["Ada"], "c": ["Bath"]}).is_empty()


def test_a_link_across_sessions_reaches_over_any_number_of_mentions_between():
    count = 20
    rows = [{"memory_id": f"m{n:02}", "session_id": "st"[n > 0], "created_at": ago(count - n)} for n in range(count)]
    memories = frames.memories(rows)
    entities = {row["memory_id"]: ["Ada"] for row in rows}
    vectors = {row["memory_id"]: angle(90) for row in rows} | {"m00": angle(0), "m19": angle(0)}
    found = across(memories, vectors=vectors, entities=entities).filter(kind="cross_session")
    assert found.select("source", "target").rows() == [("m00", "m19")]


def test_an_entity_of_too_many_memories_links_nothing_across_sessions():
    memories = frames.memories([{"memory_id": name, "session_id": name} for name in "ab"])
    policy = Policy(associations=("cross_session",), reference_share=0.5)
    edges = derive(memories, vectors={"a": [1.0], "b": [1.0]}, entities={"a": ["Ada"], "b": ["Ada"]}, policy=policy)
    assert edges["edge_type"].to_list() == ["SIMILAR_TO"]


@pytest.mark.parametrize(
    ("ages", "cosine", "kept"),
    [
        ((23.9, 1), 0.69, True),
        ((24, 1), 0.69, False),
        ((24, 1), 0.7, True),
        ((100, 100), 0.69, False),
        ((200, 1), 0.69, False),
        ((24 * 60, 24 * 50), 0.69, False),
        ((24 * 60, 24 * 50), 0.9, True),
    ],
)
def test_a_weak_similarity_does_not_outlive_the_first_day(ages, cosine, kept):
    """What was pruned in the warm tier stays pruned; what was not keeps fading like any edge."""
    memories = frames.memories(
        [{"memory_id": name, "created_at": ago(hours=hours)} for name, hours in zip("ab", ages, strict=True)]
    )
    vectors = {"a": [1.0, 0.0], "b": [cosine, math.sqrt(1 - cosine**2)]}
    policy = Policy(associations=(), similar_to_threshold=0.5, warm_prune_weight=0.7)
    assert derive(memories, vectors=vectors, policy=policy).is_empty() is not kept
    assert len(derive(memories, vectors=vectors, policy=policy.model_copy(update={"warm_prune_weight": None}))) == 1


@pytest.mark.parametrize(("switch", "edge_type"), [("similar_edges", "REFERENCES"), ("reference_edges", "SIMILAR_TO")])
def test_each_kind_of_edge_can_be_switched_off(switch, edge_type):
    memories = frames.memories([{"memory_id": name} for name in "ab"])
    policy = Policy(associations=(), reference_share=1.0, **{switch: False})
    edges = derive(memories, vectors={"a": [1.0], "b": [1.0]}, entities={"a": ["Ada"], "b": ["Ada"]}, policy=policy)
    assert edges["edge_type"].to_list() == [edge_type]


# How edges fade


def test_edges_keep_their_weight_for_thirty_idle_days_then_decay_from_the_base():
    days = [29.999, 30, 100]
    rows = [
        {"source": "a", "target": f"b{n}", "edge_type": "DISCOVERED", "origin": "decided", "discovered_at": ago(n)}
        for n in days
    ]
    decayed = associations.decay(frames.edges(rows), Policy(), as_of=AS_OF).sort("discovered_at", descending=True)
    assert decayed["weight"].to_list() == pytest.approx([1.0, math.exp(-0.3), math.exp(-1.0)])


@pytest.mark.parametrize(
    ("edge_type", "origin", "fades"),
    [
        ("DISCOVERED", "decided", True),
        ("SIMILAR_TO", "derived", True),
        ("ASSOCIATED", "decided", True),
        ("SHORTCUT", "derived", True),
        ("SIMILAR_TO", "asserted", False),
        ("SUMMARIZES", "decided", False),
        ("CONTRADICTS", "decided", False),
        ("FOLLOWS", "derived", False),
        ("CAUSED_BY", "derived", False),
        ("REFERENCES", "derived", False),
    ],
)
def test_only_associations_that_nobody_asserted_fade(edge_type, origin, fades):
    row = {"source": "a", "target": "b", "edge_type": edge_type, "origin": origin, "discovered_at": ago(900)}
    edges = associations.decay(frames.edges([row]), Policy(), as_of=AS_OF)
    assert len(associations.faded(edges, Policy())) == fades
    assert (edges["weight"].item() < 1.0) == fades


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 900)), max_size=6),
    st.lists(st.floats(0, 900), max_size=5),
    st.sampled_from(associations.FADING),
)
def test_decay_at_any_cadence_equals_decay_once(weights, instants, edge_type):
    rows = [
        {
            "source": "a",
            "target": f"b{n}",
            "edge_type": edge_type,
            "origin": "decided",
            "base_weight": weight,
            "discovered_at": ago(days),
        }
        for n, (weight, days) in enumerate(weights)
    ]
    edges = often = frames.edges(rows)
    for days in instants:
        often = associations.decay(often, Policy(), as_of=AS_OF - timedelta(days=days))
    once = associations.decay(edges, Policy(), as_of=AS_OF)
    assert_frame_equal(associations.decay(often, Policy(), as_of=AS_OF), once, check_exact=True)
    assert once["weight"].is_between(0.0, 1.0).all()


def test_derived_edges_that_have_faded_are_left_out():
    memories = frames.memories([{"memory_id": name, "created_at": ago(400)} for name in "ab"])
    vectors = {"a": [1.0], "b": [1.0]}
    assert derive(memories, vectors=vectors).is_empty()
    assert derive(memories, vectors=vectors, as_of=ago(101))["weight"].to_list() == pytest.approx([math.exp(-2.99)])


def test_of_equal_edges_the_table_named_first_stands():
    decided = frames.edges([{"source": "a", "target": "b", "origin": "decided"}])
    derived = frames.edges([{"source": "a", "target": "b", "origin": "derived"}, {"source": "a", "target": "c"}])
    edges = associations.union(decided, derived)
    assert edges.select("target", "origin").rows() == [("b", "decided"), ("c", "asserted")]


# What a run proposes


@pytest.mark.parametrize(
    ("types", "days", "degrees", "expected"),
    [
        (("Insight", "Pattern"), 60, 59, ("DISCOVERED", "explains", 0.7)),
        (("Pattern", "Insight"), 60, 10, ("DISCOVERED", "explains", 0.7)),
        (("Insight", "Pattern"), 60, 61, None),
        (("Insight", "Pattern"), 6, 70, ("DISCOVERED", "parallel_context", 0.5)),
        (("Context", "Pattern"), 60, 45, ("DISCOVERED", "shares_theme", math.cos(math.pi / 4))),
        (("Context", "Pattern"), 60, 46, None),
        (("Context", "Context"), 60, 5, None),
        (("Context", "Context"), 6.999, 90, ("DISCOVERED", "parallel_context", 0.5)),
        (("Context", "Context"), 7, 90, None),
        (("Context", "Context"), 6, 66, None),
        (("Context", "Habit"), 6, 30, ("DISCOVERED", "shares_theme", math.cos(math.pi / 6))),
        (("Decision", "Decision"), 60, 90, None),
        (("Decision", "Decision"), 6, 90, ("DISCOVERED", "parallel_context", 0.5)),
    ],
)
def test_the_first_creative_rule_that_matches_makes_the_edge(types, days, degrees, expected):
    created = [ago(100), ago(100 - days)]
    memories = frames.memories(
        [
            {"memory_id": name, "memory_type": kind, "created_at": at}
            for name, kind, at in zip("ab", types, created, strict=True)
        ]
    )
    found = discover(memories, vectors={"a": angle(0), "b": angle(degrees)})
    rows = found.select("edge_type", "kind", "confidence").rows()
    assert rows == ([] if expected is None else [(*expected[:2], pytest.approx(expected[2]))])


@pytest.mark.parametrize(("days", "degrees", "kinds"), [(60, 73, ["contrast"]), (6, 80, ["contrast"]), (6, 70, [])])
def test_with_contrast_two_decisions_contradict_or_nothing(days, degrees, kinds):
    rows = [{"memory_id": "a"}, {"memory_id": "b", "created_at": ago(100 - days)}]
    memories = frames.memories([row | {"memory_type": "Decision"} for row in rows])
    contrast = CREATIVE.model_copy(update={"creative_contrast": True})
    found = discover(memories, vectors={"a": angle(0), "b": angle(degrees)}, policy=contrast)
    assert found["kind"].to_list() == kinds
    assert found["edge_type"].to_list() == ["CONTRADICTS"] * len(kinds)


def test_a_proposed_edge_is_decided_by_its_plan_at_its_instant():
    memories = frames.memories([{"memory_id": name} for name in "ab"])
    edge = discover(memories, vectors={"a": angle(0), "b": angle(90)}).row(0, named=True)
    assert edge["algorithm"] == "creative_association"
    assert (edge["origin"], edge["plan_id"]) == ("decided", "plan")
    assert edge["discovered_at"] == edge["last_strengthened_at"] == AS_OF
    assert edge["weight"] == edge["base_weight"] == edge["confidence"] == 0.5
    assert edge["similarity"] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a")])
def test_a_pair_with_any_edge_in_any_direction_is_skipped(ends):
    memories = frames.memories([{"memory_id": name} for name in "ab"])
    edges = frames.edges([{"source": ends[0], "target": ends[1]}])
    vectors = {"a": angle(0), "b": angle(90)}
    assert discover(memories, vectors=vectors, edges=edges).is_empty()
    foreign = edges.with_columns(profile_id=pl.lit("q"))
    assert len(discover(memories, vectors=vectors, edges=foreign)) == 1


@pytest.mark.parametrize("vector", [None, [0.0, 0.0], [1.0, 0.0, 0.0]])
def test_no_creative_rule_fires_on_an_unknown_cosine(vector):
    memories = frames.memories([{"memory_id": name} for name in "abc"])
    vectors = {"a": angle(0), "b": angle(90)} | ({"c": vector} if vector else {})
    assert links(discover(memories, vectors=vectors), "DISCOVERED") == {("a", "b")}


@pytest.mark.parametrize(
    ("change", "relevance", "count"),
    [({}, 0.11, 1), ({}, 0.1, 0), ({"kind": "meta_pattern"}, 0.11, 0), ({"lifecycle": "archived"}, 0.11, 0)],
)
def test_only_live_originals_above_the_relevance_take_part(change, relevance, count):
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"} | change])
    policy = CREATIVE.model_copy(update={"creative_min_relevance": 0.1})
    assert len(discover(memories, vectors={"a": angle(0), "b": angle(90)}, policy=policy, relevance=relevance)) == count


def crowd(count, profile="p"):
    return frames.memories([{"memory_id": f"m{n:03}", "profile_id": profile} for n in range(count)])


def drawn(memories, policy=CREATIVE, as_of=AS_OF):
    vectors = {name: angle(50 * index) for index, name in enumerate(memories["memory_id"].unique().sort())}
    return discover(memories, vectors=vectors, policy=policy, as_of=as_of)


def test_the_sample_is_bounded_and_changes_with_interval_and_seed_alone():
    memories = crowd(200)
    found = drawn(memories, as_of=AS_OF)
    assert 0 < pl.concat([found["source"], found["target"]]).n_unique() <= 20
    ends = ["source", "target"]
    week = timedelta(days=7)
    start = AS_OF - (AS_OF - AS_OF.replace(year=1970)) % week
    same = [drawn(memories, as_of=start + shift).select(ends) for shift in (timedelta(0), week - timedelta(seconds=1))]
    assert same[0].equals(same[1])
    assert not same[0].equals(drawn(memories, as_of=start + week).select(ends))
    assert not found.select(ends).equals(drawn(memories, policy=CREATIVE.model_copy(update={"seed": 1})).select(ends))


@given(st.randoms())
def test_order_of_rows_and_other_profiles_change_no_edge(random):
    memories = pl.concat([crowd(40), crowd(40, "q")])
    places = list(range(len(memories)))
    random.shuffle(places)
    mixed = drawn(memories[places])
    assert_frame_equal(mixed.filter(profile_id="p"), drawn(crowd(40)), check_exact=True)
    vectors = {name: angle(5 * index) for index, name in enumerate(memories["memory_id"].unique().sort())}
    entities = {name: [f"E{int(name[1:]) % 7}"] for name in vectors}
    policy = Policy(associations=(), reference_share=1.0)
    assert_frame_equal(
        derive(memories[places], vectors=vectors, entities=entities, policy=policy).filter(profile_id="p"),
        derive(crowd(40), vectors=vectors, entities=entities, policy=policy),
        check_exact=True,
    )


def test_undirected_edges_are_stored_once_with_the_smaller_id_first():
    memories = crowd(60)
    vectors = {name: angle(7 * index) for index, name in enumerate(memories["memory_id"])}
    entities = {name: [f"E{index % 9}"] for index, name in enumerate(memories["memory_id"])}
    derived = derive(memories, vectors=vectors, entities=entities, policy=Policy(associations=(), reference_share=1.0))
    edges = associations.union(derived, drawn(memories))
    undirected = edges.filter(pl.col("edge_type").is_in(UNDIRECTED))
    assert set(undirected["edge_type"]) == {"SIMILAR_TO", "REFERENCES", "DISCOVERED"}
    assert (undirected["source"] < undirected["target"]).all()
    assert TABLES["association_edges"].violations(edges).is_empty()
    assert edges.select(pl.col("weight", "base_weight").is_nan().any()).row(0) == (False, False)


def test_an_empty_store_gives_empty_tables():
    memories = frames.memories([])
    assert derive(memories).is_empty()
    assert discover(memories, vectors={}).is_empty()
