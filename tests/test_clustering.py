"""Clusters: what is grouped, what the merge guard keeps apart, and that nothing depends on order or other tenants."""

from datetime import timedelta
from itertools import combinations

import frames
import numpy as np
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.edges import neighbours
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.groups.strategies import near_duplicates
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich
from memory_pipeline.text.compare import merge_guard
from memory_pipeline.text.embed import embedding

DUPLICATES = Policy(methods=("near_duplicates",))
SIMILAR = Policy(methods=("similarity_components",), linkage="single")


def scores(memories, relevance=None):
    found = scoring.score(
        memories, frames.importance(memories), frames.edges([]), Policy(), as_of=AS_OF, plan_id="plan"
    )
    return found if relevance is None else found.with_columns(relevance=pl.Series(relevance, dtype=pl.Float64))


def clustered(memories, policy=None, *, vectors=None, relevance=None, edges=None, near=False, **said):
    """Cluster by real words; by the built-in vectors or, in a few dimensions, by given ones.

    With `near`, the neighbours are known. `said`: what was answered or read about pairs.
    """
    texts = enrich.texts(memories)
    if vectors is None:
        known = embedding.embed_texts(
            texts.select("profile_id", "content_hash", "speaker", content="embedded"), "hashing"
        )
    else:
        known = frames.vectors(vectors, of=memories)
    return clustering.cluster(
        memories,
        scores(memories, relevance),
        enrich.enrich(texts),
        known,
        frames.edges([]) if edges is None else edges,
        policy or Policy(),
        as_of=AS_OF,
        plan_id="plan",
        neighbours=neighbours.compare(memories, known, policy).neighbours if near else None,
        **said,
    )


def groups(found, *, profile="p", method=None):
    """Members of each cluster, sorted."""
    kept = found.clusters.filter(pl.col("profile_id") == profile)
    kept = kept if method is None else kept.filter(pl.col("method") == method)
    members = kept.join(found.cluster_members, on=["profile_id", "cluster_id"])
    return sorted(sorted(names) for names in members.group_by("cluster_id").agg("memory_id")["memory_id"])


def notes(*contents, **columns):
    return frames.memories({"content": content, **columns} for content in contents)


def at(*degrees):
    """Unit vectors in the plane, m0, m1, ..."""
    turned = np.deg2rad(degrees)
    return {f"m{index}": [float(np.cos(turn)), float(np.sin(turn))] for index, turn in enumerate(turned)}


# Near duplicates


def test_copies_are_grouped_and_other_facts_stay_out():
    memories = notes(
        "I bought a red car in May",
        "By the way, I bought a red car in May.",
        "I bought a red car in June",
        "I bought a red car in May",
        "Our cat sleeps all day",
    )
    found = clustered(memories, DUPLICATES, vectors=at(0, 10, 20, 0, 90))
    assert groups(found) == [["m0", "m1", "m3"]]
    assert set(found.merge_refusals.select("memory_id", "other_id", "reason").rows()) == {
        ("m0", "m2", "dates"),
        ("m1", "m2", "dates"),
    }
    assert found.merge_refusals["detail"].to_list() == ["[--05] / [--06]"] * 2
    (cluster,) = found.clusters.rows(named=True)
    assert cluster["method"] == "near_duplicates"
    assert cluster["cluster_size"] == 3
    assert cluster["dominant_type"] == "Context"
    assert 0.85 <= cluster["cohesion"] <= 1.0
    assert set(cluster["label"].split(", ")) == {"car", "red"}


def leased(*since):
    """The same statement, valid from other days or from a day that nobody said."""
    ends = (".", "!", "")
    rows = zip(ends, since, strict=True)
    return frames.memories({"content": f"The lease is with Mrs Duval{end}", "valid_from": start} for end, start in rows)


def test_a_middle_text_does_not_join_what_disagrees():
    """The one in the middle agrees with both; it goes with the closer one."""
    near = {"m0": [1.0, 0.0, 0.0], "m1": [0.95, 0.3122, 0.0], "m2": [0.9, 0.2, 0.387]}
    found = clustered(leased(ago(9), None, ago(5)), DUPLICATES, vectors=near)
    assert groups(found) == [["m0", "m1"]]
    assert found.merge_refusals.select("memory_id", "other_id").rows() == [("m0", "m2")]


def test_the_guard_also_looks_at_pairs_that_only_others_hold_together():
    """m0 and m2 are not near, but m1 would bring them into one group."""
    found = clustered(leased(ago(9), None, ago(5)), DUPLICATES, vectors=at(0, 25, 51))
    assert groups(found) == [["m0", "m1"]]
    assert found.merge_refusals.select("memory_id", "other_id", "reason").rows() == [("m0", "m2", "validity")]
    assert found.merge_refusals["similarity"][0] == pytest.approx(np.cos(np.deg2rad(51)), abs=1e-6)


def test_what_happened_or_was_measured_on_two_days_is_not_merged():
    """Twice on one day it is a copy; what is so is so on any day."""
    told = ("Took ibuprofen 400", "Weight 71.2", "Fed the cat again", "The bank is closed on Mondays")
    rows = [
        {"content": text, "memory_id": f"{index}{day}{half}", "created_at": ago(day) + timedelta(minutes=half)}
        for index, text in enumerate(told)
        for day in (8, 2)
        for half in (0, 1)
    ]
    found = clustered(frames.memories(rows), DUPLICATES)
    assert sorted(map(len, groups(found))) == [2, 2, 2, 2, 2, 2, 4]
    assert set(found.merge_refusals["reason"]) == {"dates"}


def test_agreeing_texts_chain():
    memories = notes("We had lunch", "We had lunch!", "so we had lunch.")
    assert groups(clustered(memories, DUPLICATES, vectors=at(0, 25, 50))) == [["m0", "m1", "m2"]]


def test_the_threshold_is_inclusive_and_sizes_hold():
    memories = notes("one thing", "One thing.", "one thing!")
    exact = {"m0": [1.0, 0.0], "m1": [0.75, 0.6614378277661477], "m2": [0.75, -0.6614378277661477]}
    policy = Policy(methods=("near_duplicates",), duplicate_similarity=0.75, duplicate_min_size=3)
    assert groups(clustered(memories, policy, vectors=exact)) == [["m0", "m1", "m2"]]
    above = Policy(methods=("near_duplicates",), duplicate_similarity=0.7500001, duplicate_min_size=3)
    assert groups(clustered(memories, above, vectors=exact)) == []
    assert groups(clustered(memories[:2], policy, vectors=exact)) == []


def test_protected_and_core_memories_are_not_merged():
    memories = frames.memories(
        [{"content": "We use Postgres"}, {"content": "We use Postgres."}]
        + [{"content": "We use Postgres", **columns} for columns in ({"protected": True}, {"category": "core"})]
    )
    assert groups(clustered(memories, DUPLICATES)) == [["m0", "m1"]]
    lenient = Policy(methods=("near_duplicates",), protect_flagged=False, protect_core=False)
    assert groups(clustered(memories, lenient)) == [["m0", "m1", "m2", "m3"]]


def test_only_live_originals_are_grouped():
    gone = [{"lifecycle": state} for state in ("archived", "deleted", "cold")]
    other = [{"kind": "compression", "members": ["x", "y"]}, {"kind": "meta_pattern", "members": ["x", "y"]}]
    memories = frames.memories({"content": "We use Postgres", **columns} for columns in [{}, *gone, *other])
    assert groups(clustered(memories)) == []


def superseded(live="active", kind="compression"):
    """a and b stand behind the summary s; c is a new copy."""
    gone = {"lifecycle": "archived", "superseded_by": "s", "superseded_kind": "summary"}
    return frames.memories(
        [
            {"memory_id": "a", "content": "We use Postgres", **gone},
            {"memory_id": "b", "content": "We use Postgres.", **gone, "protected": True},
            {"memory_id": "s", "content": "We use Postgres", "kind": kind, "members": ["a", "b"], "lifecycle": live},
            {"memory_id": "c", "content": "so, we use Postgres"},
        ]
    )


def test_what_a_live_compression_stands_for_is_grouped_again():
    assert groups(clustered(superseded())) == [["a", "b", "c"]]
    assert groups(clustered(superseded().filter(pl.col("memory_id") != "c"))) == [["a", "b"]]
    assert groups(clustered(superseded(live="archived"))) == []
    assert groups(clustered(superseded(kind="meta_pattern"))) == []


def test_unknown_vectors_are_in_no_group():
    """Not even with the very same words: no rule fires on an unknown similarity."""
    memories = notes("We use Postgres", "We use Postgres.", "we use Postgres", "We use Postgres!", "...", "...")
    known = {"m0": [1.0, 0.0], "m1": [1.0, 0.0], "m2": [0.0, 0.0], "m3": [1.0], "m4": [0.0, 0.0]}
    assert groups(clustered(memories, DUPLICATES, vectors=known)) == [["m0", "m1"]]
    assert groups(clustered(memories.head(0), DUPLICATES)) == []


def test_vectors_of_another_model_do_not_count():
    memories = notes("We use Postgres", "We use Postgres.")
    texts = enrich.texts(memories)
    other = frames.vectors(at(0, 0), of=memories).with_columns(model=pl.lit("other"))
    found = clustering.cluster(
        memories,
        scores(memories),
        enrich.enrich(texts),
        other,
        frames.edges([]),
        Policy(),
        as_of=AS_OF,
        plan_id="plan",
    )
    assert found.clusters.is_empty()


def test_yesterday_is_another_day_when_said_on_another_day():
    said = [ago(10), ago(9.9), ago(3)]
    memories = frames.memories({"content": "I saw Tom yesterday", "created_at": when} for when in said)
    found = clustered(memories, DUPLICATES)
    assert groups(found) == [["m0", "m1"]]
    assert found.merge_refusals.select("memory_id", "other_id", "reason").rows() == [("m0", "m2", "dates")]


def test_two_speakers_do_not_say_the_same():
    memories = frames.memories({"content": "I have a dog", "speaker": name} for name in ("Ann", "Ben", "Ann"))
    memories = memories.with_columns(content_hash="speaker")
    assert groups(clustered(memories, DUPLICATES, vectors=at(0, 0, 0))) == [["m0", "m2"]]


@pytest.mark.parametrize("name", ["user_id", "agent_id", "speaker"])
def test_a_merge_never_loses_whose_a_memory_is(name):
    """Word for word the same, and still two memories: nobody's and somebody's as well."""
    told = ["ann", "bob", "ann", None, None, "bob"]
    memories = frames.memories({"content": "I parked the car on level 4", name: owner} for owner in told)
    for order in (memories, memories[::-1]):
        found = clustered(order, DUPLICATES, vectors=at(0, 0, 0, 0, 0, 0))
        assert groups(found) == [["m0", "m2"], ["m1", "m5"], ["m3", "m4"]]


def test_validity_keeps_apart():
    held = {"valid_until": ago(5)}
    memories = frames.memories([{"content": "We use Postgres"}, {"content": "We use Postgres", **held}])
    found = clustered(memories, DUPLICATES)
    assert groups(found) == []
    assert found.merge_refusals["reason"].to_list() == ["validity"]


def test_texts_of_one_template_refuse_each_other_within_bounds():
    memories = notes(*(f"Order {number} has left the warehouse" for number in range(1000, 1040)))
    found = clustered(memories, Policy(methods=("near_duplicates",), duplicate_similarity=0.6))
    assert groups(found) == []
    assert set(found.merge_refusals["reason"]) == {"numbers"}
    assert 40 <= len(found.merge_refusals) <= 40 * near_duplicates.NEAREST_REFUSALS


# Similar memories


def test_clusters_are_described():
    memories = frames.memories(
        {"content": content, "memory_type": kind, "created_at": ago(age)}
        for content, kind, age in [
            ("hiking Rainier trail", "Insight", 20),
            ("hiking Rainier boots", "Habit", 12.5),
            ("hiking lakes trail", "Habit", 10),
            ("hiking snow", "Insight", 7.5),
            ("hiking", "Context", 8),
            ("cooking", "Context", 9),
        ]
    )
    found = clustered(memories, SIMILAR, vectors=at(0, 10, 20, 30, 40, 180))
    (cluster,) = found.clusters.rows(named=True)
    assert groups(found) == [["m0", "m1", "m2", "m3", "m4"]]
    assert cluster["label"] == "hiking, Rainier, trail"
    assert cluster["dominant_type"] == "Habit"
    assert cluster["temporal_span_days"] == 12.5
    pairs = [np.cos(np.deg2rad(10 * (two - one))) for one, two in combinations(range(5), 2)]
    assert cluster["cohesion"] == pytest.approx(np.mean(pairs), abs=1e-6)
    assert cluster["plan_id"] == "plan"
    assert cluster["cluster_id"] == clustering.cluster_id("similarity_components", ["m0", "m1", "m2", "m3", "m4"])


def test_only_relevance_above_the_threshold_takes_part():
    memories = notes(*(f"note {index}" for index in range(7)))
    relevance = [0.5, 0.5, 0.5, 0.5, 0.5, 0.3, 0.31]
    policy = Policy(methods=("similarity_components",), linkage="single", cluster_min_relevance=0.3)
    found = clustered(memories, policy, vectors=at(*[0.0] * 7), relevance=relevance)
    assert groups(found) == [["m0", "m1", "m2", "m3", "m4", "m6"]]


def test_sizes_and_linkage():
    """A chain of 12: components take it whole, a limit cuts it, average linkage parts it."""
    memories = notes(*(f"note {index}" for index in range(12)))
    chain = at(*(20.0 * index for index in range(12)))
    assert [len(group) for group in groups(clustered(memories, _similar("single", None), vectors=chain))] == [12]
    capped = groups(clustered(memories, _similar("single", 5), vectors=chain))
    assert all(2 <= len(group) <= 5 for group in capped)
    assert sum(map(len, capped)) == 12
    average = groups(clustered(memories, _similar("average", 30), vectors=chain))
    assert len(average) > 1
    assert max(map(len, average)) <= 5


def _similar(linkage, largest):
    return Policy(methods=("similarity_components",), linkage=linkage, cluster_min_size=2, cluster_max_size=largest)


def test_merged_members_are_left_out_of_later_methods():
    """They leave the live set in the same run; so the next run, which finds them gone, clusters alike.

    It does not matter in which order a policy names the methods. Where no summary takes their place, they stay.
    """
    memories = notes("alpha", "alpha.", "beta", "gamma", "delta", "epsilon", "zeta")
    angles = at(0, 0, 5, 10, 15, 20, 25)
    policy = Policy(linkage="single", duplicate_similarity=0.999999)
    found = clustered(memories, policy, vectors=angles)
    assert groups(found, method="near_duplicates") == [["m0", "m1"]]
    assert groups(found, method="similarity_components") == [["m2", "m3", "m4", "m5", "m6"]]
    turned = policy.model_copy(update={"methods": ("similarity_components", "near_duplicates")})
    assert clustered(memories, turned, vectors=angles).cluster_members.equals(found.cluster_members)
    kept = policy.model_copy(update={"summarised": ("similarity_components",)})
    both = clustered(memories, kept, vectors=angles)
    assert groups(both, method="similarity_components") == [[f"m{index}" for index in range(7)]]
    assert groups(both, method="near_duplicates") == [["m0", "m1"]]
    assert clustered(memories, Policy(methods=()), vectors=angles).clusters.is_empty()


# Properties

WORDS = ["I", "bought", "sold", "a", "red", "blue", "car", "bike", "in", "May", "June", "with", "Anna", "Tom", "2", "3"]
WORDS += ["not", "yesterday,", "really."]


@st.composite
def stores(draw):
    """Memories of two profiles that share ids and texts, from few words, so that many are near."""
    count = draw(st.integers(0, 14))
    return frames.memories(
        {
            "profile_id": draw(st.sampled_from("pq")),
            "memory_id": f"m{index}",
            "content": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7))),
            "created_at": AS_OF - timedelta(hours=draw(st.integers(0, 60))),
            "protected": draw(st.integers(0, 9)) == 0,
        }
        for index in range(count)
    )


LOOSE = Policy(duplicate_similarity=0.5, cluster_similarity=0.3, cluster_min_size=2, cluster_max_size=4)


@examples(2)
@given(stores(), st.randoms(use_true_random=False), st.sampled_from(["single", "average"]))
def test_clusters_depend_on_the_set_of_memories_alone(memories, random, linkage):
    policy = LOOSE.model_copy(update={"linkage": linkage})
    found = clustered(memories, policy)
    order = random.sample(range(len(memories)), len(memories))
    shuffled = clustered(memories[order], policy)
    for name in ("clusters", "cluster_members", "merge_refusals"):
        assert getattr(found, name).equals(getattr(shuffled, name))
        TABLES[name].schema.validate(getattr(found, name))
    alone = [clustered(memories.filter(pl.col("profile_id") == profile), policy) for profile in "pq"]
    for name in ("clusters", "cluster_members", "merge_refusals"):
        apart = pl.concat(getattr(part, name) for part in alone)
        assert getattr(found, name).drop("cohesion", strict=False).equals(apart.drop("cohesion", strict=False))


@examples(2)
@given(stores(), st.data())
def test_neighbours_that_are_known_change_nothing(memories, data):
    merged = data.draw(st.lists(st.booleans(), min_size=len(memories), max_size=len(memories)))
    gone = pl.Series(merged, dtype=pl.Boolean) & (memories["kind"] == "original")
    memories = memories.with_columns(
        lifecycle=pl.when(gone).then(pl.lit("superseded")).otherwise("lifecycle"),
        superseded_by=pl.when(gone).then(pl.lit("c")).otherwise("superseded_by"),
    )
    summaries = [{"profile_id": profile, "memory_id": "c", "kind": "compression"} for profile in "pq"]
    memories = pl.concat([memories, frames.memories(summaries)])
    policy = LOOSE.model_copy(update={"similar_to_threshold": LOOSE.duplicate_similarity})
    found, same = clustered(memories, policy), clustered(memories, policy, near=True)
    for name in ("clusters", "cluster_members", "merge_refusals", "groupings"):
        assert getattr(found, name).equals(getattr(same, name)), name


@examples(2)
@given(stores(), st.integers(0, 14))
def test_what_the_guard_said_of_others_changes_nothing(memories, count):
    before = clustered(memories[:count], LOOSE).groupings
    found, same = clustered(memories, LOOSE), clustered(memories, LOOSE, kept=before)
    for name in ("clusters", "cluster_members", "merge_refusals", "groupings"):
        assert getattr(found, name).equals(getattr(same, name)), name


@examples(2)
@given(stores())
def test_groups_hold_what_they_promise(memories):
    found = clustered(memories, LOOSE)
    refused = {
        (profile, frozenset(pair))
        for profile, *pair in found.merge_refusals.select("profile_id", "memory_id", "other_id").rows()
    }
    taken = set()
    for profile in "pq":
        for group in groups(found, profile=profile, method="near_duplicates"):
            assert len(group) >= LOOSE.duplicate_min_size
            assert not any((profile, frozenset(pair)) in refused for pair in combinations(group, 2))
            taken |= {(profile, name) for name in group}
        for group in groups(found, profile=profile, method="similarity_components"):
            assert LOOSE.cluster_min_size <= len(group) <= LOOSE.cluster_max_size
            assert not taken & {(profile, name) for name in group}
    flagged = memories.filter("protected").select("profile_id", "memory_id").rows()
    assert not taken & set(flagged)


def test_both_ends_of_a_refusal_are_in_order_and_near():
    memories = notes(*(f"I bought {n} red cars in May" for n in (2, 3, 4)), *("I bought 2 red cars in May",) * 2)
    found = clustered(memories, DUPLICATES, vectors=at(0, 5, 10, 0, 0))
    assert groups(found) == [["m0", "m3", "m4"]]
    refusals = found.merge_refusals
    assert (refusals["memory_id"] < refusals["other_id"]).all()
    assert (refusals["similarity"] >= np.float32(0.85)).all()
    assert len(refusals) == 3


def test_the_guard_is_asked_only_about_pairs_in_which_something_is_new(monkeypatch):
    asked, judge = [], merge_guard.disagreements

    def noted(pairs):
        asked.extend(pairs.select("left_content", "right_content").rows())
        return judge(pairs)

    monkeypatch.setattr(merge_guard, "disagreements", noted)
    texts = [f"Anna sold the {colour} car to Tom" for colour in ("red", "blue", "green", "black")]
    before = clustered(notes(*texts[:3]), DUPLICATES, vectors=at(0, 5, 10))
    assert len(asked) == len(set(asked)) == 3
    asked.clear()
    after = clustered(notes(*texts), DUPLICATES, vectors=at(0, 5, 10, 15), kept=before.groupings)
    assert len(asked) == 3
    assert all(texts[3] in pair for pair in asked)
    anew = clustered(notes(*texts), DUPLICATES, vectors=at(0, 5, 10, 15))
    assert after.groupings.equals(anew.groupings)
    asked.clear()
    other_program = before.groupings.with_columns(made_by=pl.lit("other"))
    clustered(notes(*texts), DUPLICATES, vectors=at(0, 5, 10, 15), kept=other_program)
    assert len(asked) == len(set(asked)) == 6
